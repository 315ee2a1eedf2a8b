"""Guards: what must still hold for a compiled program to be right.

A `Place` is an attribute, global or closure variable that the function read, and what it held: numbers and strings themselves, lists and
dicts by content, tensors and other objects by identity. Modules are compared when anything about any module has changed (a count says
so), optimizers by their groups. `nn/watch.py` finds them.

A call that finds nothing changed asks one generated function, in which a place is one comparison of identities.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable

import numpy as np

from ..core.cell import CHANGES
from ..core.statics import static_key
from .module import Module
from .origin import is_users
from .tensor import Tensor

MISSING = object()
_MANY = 1000  # elements of a container that are compared
_FEW = 16  # that are compared one by one
_DEPTH = 4  # of containers in containers


class Same:
    """An object that equals only itself."""

    __slots__ = ("object",)

    def __init__(self, value):
        self.object = value

    def __eq__(self, other) -> bool:
        return other.__class__ is Same and other.object is self.object

    def __hash__(self) -> int:
        return id(self.object)

    def __repr__(self) -> str:
        return f"<{type(self.object).__name__}>"


PLAIN = (int, float, complex, bool, str, bytes, type(None), type(Ellipsis))


def snapshot(value, depth: int = _DEPTH):
    """What a program depends on in a value: numbers and strings themselves, containers by content, tensors and objects by identity."""
    kind = value.__class__
    if kind in PLAIN:
        return kind, static_key(value)
    if kind is Tensor or isinstance(value, Tensor):
        return Same(value), value._wants, value.aval
    if depth and isinstance(value, (tuple, list, dict, set, frozenset)) and len(value) <= _MANY:
        if isinstance(value, dict):
            return kind, tuple([(snapshot(k, 0), snapshot(v, depth - 1)) for k, v in value.items()])
        if isinstance(value, (set, frozenset)):
            return kind, frozenset(snapshot(x, 0) for x in value)
        return kind, tuple([snapshot(x, depth - 1) for x in value])
    if isinstance(value, np.ndarray) and value.size <= 1 << 16 and not value.dtype.hasobject:
        return Same(value), value.tobytes()
    if isinstance(value, (list, dict, set)):
        return Same(value), len(value)
    if isinstance(value, types.MethodType):
        return value.__func__, Same(value.__self__)
    if 0 < depth < _DEPTH and not isinstance(value, (Module, type, types.ModuleType, types.FunctionType)) and is_users(kind):
        return Same(value), snapshot(getattr(value, "__dict__", None), depth - 1)  # an object in a container: its attributes too
    return Same(value)


def _copied(value):
    """A container's content, to restore it."""
    return value.copy() if value.__class__ in (list, dict, set) else None


def _elements(value) -> Callable | None:
    """What is in a small container, if that is fixed, so that it is as it was as long as these are the same: pairs (an expression for an
    element of what the container is called, the element)."""
    if value.__class__ not in (list, tuple, dict) or len(value) > _FEW:
        return None
    items = value.items() if value.__class__ is dict else enumerate(value)
    keys, found = zip(*items) if value else ((), ())
    fixed = isinstance(value, (list, tuple)) or all(k.__class__ in (str, int) for k in keys)
    if not fixed or not all(isinstance(x, (*PLAIN, Tensor, Module, type, types.ModuleType, types.FunctionType)) for x in found):
        return None
    return lambda called: [(f"{called}[{k!r}]", x) for k, x in zip(keys, found)]


class Place:
    """An attribute, global or closure variable that was read, and what it held."""

    __slots__ = ("holder", "name", "held", "content", "seen", "text", "members", "fixed")

    def __init__(self, holder, name: str, text: str):
        self.holder, self.name, self.text = holder, name, text
        self.held = self.now()
        self.content, self.seen = _copied(self.held), snapshot(self.held)
        self.members = holder if holder.__class__ is dict else None if holder.__class__ is types.CellType else _members(holder, name)
        self.fixed = not isinstance(self.held, (tuple, list, dict, set, frozenset, np.ndarray))  # the same as long as it is the same object

    def now(self):
        """What it holds."""
        holder = self.holder
        if holder.__class__ is types.CellType:
            try:
                return holder.cell_contents
            except ValueError:
                return MISSING
        if holder.__class__ is dict:
            return holder.get(self.name, MISSING)
        return found(holder, self.name)

    def test(self, name: Callable[[object], str]) -> str:
        """An expression for whether it is as it was, quick where it is the very same; `name` gives a name to an object in it."""
        if self.holder.__class__ is types.CellType:
            now = f"{name(self.holder)}.cell_contents"
        elif self.held is MISSING and self.members:
            return f"{self.name!r} not in {name(self.members)}"
        elif self.members is not None and self.name in self.members:
            now = f"{name(self.members)}[{self.name!r}]"
        else:
            return f"{name(self.holds)}()"
        before = self.held if self.content is None else self.content  # what was in it when the function was traced
        same, elements = f"{now} is {name(self.held)}", _elements(before)
        if not self.fixed and elements is None:
            return f"{name(self.holds)}()"
        if elements is not None:
            same += f" and len({name(self.held)}) == {len(before)}"
            same += "".join(f" and {x} is {name(known)}" for x, known in elements(name(self.held)))
        return f"({same} or {name(self.holds)}())"

    def holds(self) -> bool:
        """Whether it is as it was."""
        return snapshot(self.now()) == self.seen

    def restore(self) -> None:
        """Puts back what it held."""
        held = self.held
        if self.content is not None:
            held.clear()
            (held.extend if held.__class__ is list else held.update)(self.content)
        if self.now() is held:
            return
        if self.holder.__class__ is types.CellType:
            self.holder.cell_contents = held
        elif self.holder.__class__ is dict:
            _put(self.holder, self.name, held)
        elif isinstance(self.holder, type):
            setattr(self.holder, self.name, held)
        else:
            _put(_members(self.holder, self.name), self.name, held)

    def __repr__(self) -> str:
        return self.text


def _put(members: dict, name: str, held) -> None:
    if held is MISSING:
        members.pop(name, None)
    else:
        members[name] = held


def _members(holder, name: str) -> dict:
    """The dict in which an object keeps an attribute."""
    if isinstance(holder, Module):
        for registry in ("_parameters", "_buffers", "_modules"):
            if name in holder.__dict__.get(registry, ()):
                return holder.__dict__[registry]
    return getattr(holder, "__dict__", {})


def found(holder, name: str):
    """An attribute that an object keeps itself; MISSING for what its class has."""
    members = _members(holder, name)
    if name in members:
        return members[name]
    slot = getattr(type(holder), name, None)
    return slot.__get__(holder) if isinstance(slot, types.MemberDescriptorType) and hasattr(holder, name) else MISSING


def module_state(module: Module) -> tuple:
    """What a program depends on in a module besides the contents of its tensors."""
    members = module.__dict__
    tensors = tuple([(n, Same(t), t is not None and t._wants) for r in ("_parameters", "_buffers") for n, t in members[r].items()])
    parts = tuple([(n, Same(m)) for n, m in members["_modules"].items()])
    plain = tuple([(k, snapshot(v)) for k, v in members.items() if k not in ("_parameters", "_buffers", "_modules")])
    return tensors, parts, plain


class Guards:
    """What a program depends on: `broken()` says what no longer holds."""

    def __init__(self, places: list[Place], modules: list, optimizers: list):
        self.places, self.modules, self.optimizers = places, modules, optimizers
        self.mutations = CHANGES[0]
        self._tests = [*[p.test for p in places], *[_test_of(*o) for o in optimizers]]
        self._same: Callable[[], bool] | None = None  # generated of them when it is first asked

    def broken(self) -> str | None:
        """What has changed since, in words; None if nothing has."""
        if self.mutations == CHANGES[0]:
            if self._same is None:
                self._same = _generated(self._tests)
            if self._same():
                return None
        counted = CHANGES[0]
        for place in self.places:
            if not place.holds():
                return f"{place} was {shown(place.held)} and is {shown(place.now())}"
        for module, state in self.modules if self.mutations != counted else ():
            if module_state(module) != state:
                return f"the state of {type(module).__name__} has changed: {difference(state, module_state(module))}"
        for optimizer, state in self.optimizers:
            if optimizer.structure() != state:
                return f"the groups or state of {type(optimizer).__name__} have changed"
        self.mutations = counted
        return None

    def __str__(self) -> str:
        lines = [f"  {p} == {shown(p.held)}" for p in self.places]
        lines += [f"  the attributes of {len(self.modules)} module(s)"] if self.modules else []
        lines += [f"  the groups of {type(o).__name__}" for o, _ in self.optimizers]
        return "\n".join(lines)


def _test_of(optimizer, state: tuple) -> Callable:
    """An expression for whether the structure of an optimizer is as it was, as `Place.test` gives one."""
    lists = [(live, list(live())) for live in optimizer.parts()]

    def holds() -> bool:
        if optimizer.structure() != state:
            return False
        for live, known in lists:
            known[:] = live()  # other numbers, say
        return True

    def test(name: Callable[[object], str]) -> str:
        same = f"{name(optimizer)}.state is {name(optimizer.state)} and len({name(optimizer.state)}) == {len(optimizer.state)}"
        for live, known in lists:
            same += f" and len({name(known)}) == len({name(live)}()) and {name(all)}({name(map)}({name(operator.is_)}, {name(known)}, {name(live)}()))"
        return f"({same} or {name(holds)}())"

    return test


def _generated(tests: list[Callable]) -> Callable[[], bool]:
    """One function for all of some expressions, each given as a function of what names an object in it."""
    names: dict[str, object] = {}

    def name(value) -> str:
        names[f"a{len(names)}"] = value
        return f"a{len(names) - 1}"

    lines = [test(name) for test in tests]
    body = f"try: return {' and '.join(lines) or 'True'}\n except (KeyError, IndexError, ValueError): return False"  # an attribute or variable is gone
    exec(compile(f"def same({', '.join(f'{n}={n}' for n in names)}):\n {body}\n", "<functorch_lite guards>", "exec"), names)
    return names["same"]


def shown(value) -> str:
    """A value in a message."""
    if value is MISSING:
        return "absent"
    text = repr(value) if isinstance(value, (*PLAIN, tuple, list, dict)) else f"<{type(value).__name__} {getattr(value, '__name__', '')}>"
    return text if len(text) < 60 else text[:57] + "..."


def difference(old, new) -> str:
    """Which attributes differ between two states of a module."""
    before, after = dict(old[2]), dict(new[2])
    names = [k for k in {**before, **after} if before.get(k) != after.get(k)]
    return ", ".join(names) if names else "its parameters, their requires_grad, or its parts"

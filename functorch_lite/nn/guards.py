"""Guards: what must still hold for a compiled program to be right, found by watching the function while it is traced.

`Watch` sees each function of the user's that runs (by Python's own profiler hook) and keeps what its code reads: globals, closure
variables, attributes, the length and content of lists and dicts, the state of modules and optimizers. What is not the same when the
trace is over has been changed by it: a side effect, which is undone, and for which the function runs as it is written instead.
"""

from __future__ import annotations

import builtins
import io
import os
import random
import sys
import sysconfig
import time
import types
from collections.abc import Callable

import numpy as np

from ..core.array import Array
from ..core.cell import Cell
from ..core.interpreter import _HOME
from ..core.statics import static_key
from .module import Module
from .paths import paths_of
from .tensor import Tensor

_PYTHON = tuple({sysconfig.get_path(p) + os.sep for p in ("stdlib", "platstdlib")})
_PACKAGES = tuple({sysconfig.get_path(p) + os.sep for p in ("purelib", "platlib")})
_LIBRARY = (
    _HOME,
    "<functorch_lite",
    *(os.path.dirname(sys.modules[m].__file__) + os.sep for m in ("jax", "jaxlib", "numpy", "optree", "attr")),
)
_MISSING = object()
_MANY = 1000  # elements of a container that are compared
_DEPTH = 4  # of containers in containers


class SideEffect(Exception):
    """Something happened while tracing that a compiled program would not repeat."""

    def __init__(self, what: str, line: str):
        self.what, self.line = what, line
        super().__init__(f"{what} at {line}")


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


_PLAIN = (int, float, complex, bool, str, bytes, type(None), type(Ellipsis))


def snapshot(value, depth: int = _DEPTH):
    """What a program depends on in a value: numbers and strings themselves, containers by content, tensors and objects by identity."""
    kind = value.__class__
    if kind in _PLAIN:
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
                return _MISSING
        if holder.__class__ is dict:
            return holder.get(self.name, _MISSING)
        return found(holder, self.name)

    def kept(self) -> bool:
        """Whether it certainly is as it was: the same object, which does not change in what a program depends on without a count."""
        if self.members is not None:
            return self.fixed and self.members.get(self.name, _MISSING) is self.held
        return self.fixed and self.now() is self.held

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
    if held is _MISSING:
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
    """An attribute that an object keeps itself; _MISSING for what its class has."""
    members = _members(holder, name)
    if name in members:
        return members[name]
    slot = getattr(type(holder), name, None)
    return slot.__get__(holder) if isinstance(slot, types.MemberDescriptorType) and hasattr(holder, name) else _MISSING


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
        self.mutations = Module.mutations[0]

    def broken(self) -> str | None:
        """What has changed since, in words; None if nothing has."""
        counted = self.mutations == Module.mutations[0]
        for place in self.places:
            if not (counted and place.kept()) and not place.holds():
                return f"{place} was {_shown(place.held)} and is {_shown(place.now())}"
        if not counted:
            for module, state in self.modules:
                if module_state(module) != state:
                    return f"the state of {type(module).__name__} has changed: {_difference(state, module_state(module))}"
            self.mutations = Module.mutations[0]
        for optimizer, state in self.optimizers:
            if optimizer.structure() != state:
                return f"the groups or state of {type(optimizer).__name__} have changed"
        return None

    def __str__(self) -> str:
        lines = [f"  {p} == {_shown(p.held)}" for p in self.places]
        lines += [f"  the attributes of {len(self.modules)} module(s)"] if self.modules else []
        lines += [f"  the groups of {type(o).__name__}" for o, _ in self.optimizers]
        return "\n".join(lines)


def _shown(value) -> str:
    if value is _MISSING:
        return "absent"
    text = repr(value) if isinstance(value, (*_PLAIN, tuple, list, dict)) else f"<{type(value).__name__} {getattr(value, '__name__', '')}>"
    return text if len(text) < 60 else text[:57] + "..."


def _difference(old, new) -> str:
    before, after = dict(old[2]), dict(new[2])
    names = [k for k in {**before, **after} if before.get(k) != after.get(k)]
    return ", ".join(names) if names else "its parameters, their requires_grad, or its parts"


_READS = {
    "print": "print",
    "input": "input",
    "open": "open",
}


def _effect_of(function) -> str | None:
    """What a builtin function does besides giving a value, if anything."""
    name = getattr(function, "__name__", "")
    owner = getattr(function, "__self__", None)
    if owner is builtins and name in _READS:
        return f"{name}() was called"
    if owner is time or getattr(function, "__module__", None) == "time":
        return f"time.{name}() was called"
    if isinstance(owner, random.Random) or type(owner).__module__.startswith("numpy.random"):
        return f"a random number was drawn by {type(owner).__module__}.{name}"
    if isinstance(owner, io.TextIOBase) and name == "write":
        return "something was written to a file"
    return None


class Watch:
    """Sees what runs while a function is traced. A context; afterwards `guards()`, or `undo()`."""

    def __init__(self, function: Callable):
        self.places: dict = {}
        self.modules: dict = {}
        self.optimizers: dict = {}
        self.function = function
        self.functions: dict = {}  # code -> the function that runs it
        self.codes: dict = {}  # of the user's functions that ran
        self._learn(function)
        self._learn(getattr(type(function), "forward", None))
        self._before = None
        self.effect: SideEffect | None = None

    def __enter__(self) -> Watch:
        self._before = sys.getprofile()
        sys.setprofile(self._event)
        return self

    def __exit__(self, *_):
        sys.setprofile(self._before)

    def _event(self, frame, event: str, argument):
        if event == "call":
            code = frame.f_code
            if code is Module.__call__.__code__:
                self._module(frame.f_locals["self"])
            elif _is_users_code(frame):
                self._frame(frame)
            elif code.co_filename.startswith(_HOME):
                self._library(frame, code)
        elif event == "return":
            if _is_users_code(frame):
                self._locals(frame)
        elif event == "c_call":
            what = _effect_of(argument)
            if what is not None:
                while frame is not None and kind_of(frame.f_code.co_filename) == "python":  # print by way of logging, say
                    frame = frame.f_back
                if frame is not None and is_user(frame.f_code.co_filename):
                    self.effect = SideEffect(what, f"{frame.f_code.co_filename}:{frame.f_lineno}")
                    raise self.effect

    def _library(self, frame, code) -> None:
        name = os.path.basename(code.co_filename)
        if name == "lr_scheduler.py" and code.co_name == "step":
            self.effect = SideEffect("a learning rate scheduler steps", "step()")
            raise self.effect
        owner = frame.f_locals.get("self") if name == "optimizer.py" else None
        if hasattr(owner, "numbers") and id(owner) not in self.optimizers:
            self.optimizers[id(owner)] = owner, owner.numbers()

    def _module(self, module: Module) -> None:
        if id(module) not in self.modules:
            self.modules[id(module)] = module, module_state(module)

    def _frame(self, frame) -> None:
        code = frame.f_code
        values = frame.f_locals
        self.codes[code] = None
        for kind, name, attributes in paths_of(code):
            if kind == "local" and name in values:
                holder, text = values[name], name
                if not attributes:
                    continue
            elif kind == "free" and name in code.co_freevars:
                function = self._function_of(code)
                if function is not None:
                    cell = function.__closure__[code.co_freevars.index(name)]
                    holder, text = self._place(cell, name, name), name
                elif name in values:  # made while tracing: the function that made it has the variable
                    holder, text = values[name], name
                else:
                    continue
            elif kind == "global" and name in frame.f_globals:
                holder, text = self._place(frame.f_globals, name, name), name
            else:
                continue
            self._follow(holder, text, attributes)

    def _locals(self, frame) -> None:
        """When a function is done: what it read of objects that it found on the way (the results of calls, the items of loops)."""
        values = frame.f_locals
        for kind, name, attributes in paths_of(frame.f_code):
            if kind == "local" and attributes and name in values:
                self._follow(values[name], name, attributes, plain=True)

    def _follow(self, holder, text: str, attributes, plain: bool = False) -> None:
        """Places along a path; with ``plain`` only its end, if that is a number or string."""
        for i, attribute in enumerate(attributes):
            if isinstance(holder, (Tensor, Array, Cell)) or holder is _MISSING:
                return
            if isinstance(holder, (types.ModuleType, type)) and _is_foreign(holder):
                return
            text += "." + attribute
            value = found(holder, attribute)
            if value is _MISSING:
                owner = next((c for c in type(holder).__mro__ if attribute in c.__dict__), None)
                if owner is None or hasattr(owner.__dict__[attribute], "__get__"):
                    return  # a method or property: its own code is seen when it runs
                if not plain:
                    self._place(holder, attribute, text)  # which it does not have itself so far
                holder, value = owner, owner.__dict__[attribute]
            if not plain or i == len(attributes) - 1 and value.__class__ in _PLAIN:
                self._place(holder, attribute, text)
            holder = value

    def _place(self, holder, name: str, text: str):
        key = id(holder), name
        place = self.places.get(key)
        if place is None:
            place = self.places[key] = Place(holder, name, text)
            for value in place.held if place.held.__class__ in (list, tuple) else (place.held,):
                self._learn(value)
        return place.held

    def _learn(self, value) -> None:
        """Remembers a function, so that its closure is known when it runs."""
        function = _function_in(value)
        if function is not None:
            self.functions.setdefault(function.__code__, function)
            wrapped = getattr(function, "__wrapped__", None)
            if wrapped is not None:
                self._learn(wrapped)

    def _function_of(self, code):
        """The function that runs this code; None for one that was made while tracing."""
        if code not in self.functions:
            import gc

            here = [f for f in gc.get_referrers(code) if isinstance(f, types.FunctionType)]
            self.functions[code] = here[0] if len(here) == 1 and here[0].__closure__ and not self._made_inside(code) else None
        return self.functions[code]

    def _made_inside(self, code) -> bool:
        """Whether a function of this code was made by code that runs in the trace: it is a constant of code that was seen."""
        return any(code in seen.co_consts for seen in self.codes)

    def changed(self) -> SideEffect | None:
        """What the function has changed besides tensors, if anything."""
        if self.effect is not None:
            return self.effect
        for place in self.places.values():
            if not place.holds():
                return SideEffect(f"{place} was changed from {_shown(place.held)} to {_shown(place.now())}", _where(self.function))
        for module, state in self.modules.values():
            if module_state(module) != state:
                return SideEffect(f"{type(module).__name__} was changed: {_difference(state, module_state(module))}", _where(self.function))
        for optimizer, numbers in self.optimizers.values():
            if optimizer.numbers() != numbers:
                return SideEffect(f"a hyperparameter of {type(optimizer).__name__} was changed", _where(self.function))
        return None

    def undo(self) -> None:
        """Puts everything back that was seen before it changed."""
        for place in self.places.values():
            place.restore()

    def guards(self) -> Guards:
        """What the program that was traced depends on."""
        return Guards(
            [p for p in self.places.values() if not isinstance(p.held, types.ModuleType)],
            [(m, module_state(m)) for m, _ in self.modules.values()],
            [(o, o.structure()) for o, _ in self.optimizers.values()],
        )


def _function_in(value):
    """The Python function that a value is or calls."""
    value = getattr(value, "func", value)  # of a partial
    value = getattr(value, "__func__", value)
    return value if isinstance(value, types.FunctionType) else None


def _where(function) -> str:
    code = getattr(getattr(function, "forward", function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else "an unknown line"


def _is_foreign(holder) -> bool:
    name = getattr(holder, "__module__", None) or getattr(holder, "__name__", "")
    module = sys.modules.get(name)
    return not is_user(getattr(module, "__file__", None) or "<builtin>")


def is_users(kind: type) -> bool:
    """Whether a class is the user's."""
    return is_user(getattr(sys.modules.get(kind.__module__), "__file__", None) or "<frozen>")


def kind_of(filename: str) -> str:
    """Whose code is in this file: 'user', 'python' (its standard library), or 'library' (this one and those underneath)."""
    known = _KINDS.get(filename)
    if known is None:
        if filename.startswith(_LIBRARY):
            known = "library"
        elif filename.startswith(("<frozen", "<__array_function__", "<attrs")):
            known = "python"
        else:
            known = "python" if filename.startswith(_PYTHON) and not filename.startswith(_PACKAGES) else "user"
        _KINDS[filename] = known
    return known


def is_user(filename: str) -> bool:
    """Whether code in this file is the user's."""
    return kind_of(filename) == "user"


def _is_users_code(frame) -> bool:
    """Whether a frame runs the user's code. What was generated (the __init__ of a dataclass) belongs to the module whose globals it has."""
    name = frame.f_code.co_filename
    return is_user(name) and (name != "<string>" or is_user(frame.f_globals.get("__file__") or name))


_KINDS: dict[str, str] = {}

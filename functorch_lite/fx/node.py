"""Node: one step of a graph."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from ..core.interpreter import show_line
from ..core.op import Op
from .calls import op_of, read, show_target, spell


class Node:
    """One step of a graph.

    ``op`` is its kind ('placeholder', 'get_attr', 'call_function', 'call_method', 'output'); ``target`` the op it calls (an
    `Op`, or any Python function), or a name; ``args`` its array arguments in a flat tuple (nodes, numbers or None), ``params`` its static
    ones; ``aval`` the shape and dtype of its result (a tuple of them for an op with several outputs, None where nothing is
    known). ``kwargs`` shows params by name. For a Python function args are the leaves of its arguments.
    """

    __slots__ = ("graph", "op", "_target", "_args", "params", "aval", "line", "_name", "_meta")

    def __init__(self, graph, op, target, args, params, aval, line=None):
        self.graph = graph
        self.op = op
        self._target = target
        self._args = args
        self.params = params
        self.aval = aval
        self.line = line
        self._name = self._meta = None

    # ------------------------------------------------------------------------------------------- what it is and takes

    @property
    def name(self) -> str:
        """A name that no other node of the graph has; made when it is first asked for."""
        if self._name is None:
            self.graph.name_nodes(self)
        return self._name

    @name.setter
    def name(self, wanted: str):
        self._name = wanted  # so that naming the others first leaves it out
        self._name = self.graph.free_name(wanted)

    def _set_target(self, target):
        self._target = op_of(target) or target

    target = property(operator.attrgetter("_target"), _set_target, doc="What it calls, or the name of an input or attribute.")

    def _set_args(self, args):
        old, self._args = self._args, tuple(args)
        if self.graph is not None:
            self.graph.rewire(self, old)

    args = property(operator.attrgetter("_args"), _set_args, doc="Its array arguments, flat.")

    @property
    def kwargs(self) -> dict[str, Any]:
        """Its static parameters by name. Set it to a dict to change them; those left out take their defaults."""
        if self._target.__class__ is Op:
            return dict(zip(self._target.statics, self.params, strict=True))
        return self.params[0].unflatten(self._args)[1] if self.params else {}

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Any]):
        op = self._target
        if op.__class__ is not Op:
            args = self.params[0].unflatten(self._args)[0] if self.params else self._args
            _, args, self.params = read(op, args, kwargs, lambda x: isinstance(x, Node))
            self.args = args
            return
        if unknown := [k for k in kwargs if k not in op.statics]:
            raise TypeError(f"{op.qualname} has no static parameters {unknown}; it has {op.statics}")
        missing = [n for n in op.statics if n not in kwargs and op.signature.parameters[n].default is op.signature.empty]
        if missing:
            raise TypeError(f"{op.qualname} needs its static parameters {missing}, got {sorted(kwargs)}")
        full = [kwargs.get(n, op.signature.parameters[n].default) for n in op.statics]
        positional, keywords = spell(op, self._args, full)
        self.params = read(op, positional, keywords, lambda x: isinstance(x, Node))[2]

    def update_kwarg(self, key: str, value: Any) -> None:
        """Changes one static parameter."""
        self.kwargs = {**self.kwargs, key: value}

    def update_arg(self, index: int, value: Any) -> None:
        """Changes one array argument."""
        args = list(self._args)
        args[index] = value
        self.args = args

    @property
    def meta(self) -> dict:
        """A place for what passes want to remember of this node."""
        if self._meta is None:
            self._meta = {}
        return self._meta

    @meta.setter
    def meta(self, value: dict):
        self._meta = value

    @property
    def stack_trace(self) -> str | None:
        """'file.py:12', where the user's code made it; None where that is not known."""
        return self.line if self.line is None or isinstance(self.line, str) else show_line(self.line)

    def is_impure(self) -> bool:
        """Whether it must stay even if nothing uses its result."""
        if self.op == "call_function":
            return self._target.__class__ is Op and self._target.effect
        return self.op in ("placeholder", "output")

    def __repr__(self) -> str:
        return self.name if self.graph is not None else f"<erased {self._name or show_target(self._target)}>"

    # ------------------------------------------------------------------------------------------------- its neighbours

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes it takes, each once."""
        return list(dict.fromkeys([a for a in self._args if a.__class__ is Node]))

    @property
    def users(self) -> dict[Node, None]:
        """The nodes that take it, in order, as the keys of a dict."""
        return self.graph.uses()[self]

    @property
    def next(self) -> Node | None:
        """The node behind it."""
        nodes, i = self.graph.nodes, self.graph.position(self) + 1
        return nodes[i] if i < len(nodes) else None

    @property
    def prev(self) -> Node | None:
        """The node before it."""
        i = self.graph.position(self)
        return self.graph.nodes[i - 1] if i else None

    def prepend(self, node: Node) -> None:
        """Moves `node` to just before this one."""
        self.graph.move(node, self, 0)

    def append(self, node: Node) -> None:
        """Moves `node` to just behind this one."""
        self.graph.move(node, self, 1)

    def replace_all_uses_with(self, other: Node, delete_user_cb: Callable[[Node], bool] | None = None) -> list[Node]:
        """Makes every node that takes this one take `other`; returns them. `delete_user_cb` says of each whether it shall.

        Other things than nodes (numbers, None) may stand in for it too.
        """
        changed = [u for u in self.users if delete_user_cb is None or delete_user_cb(u)]
        for user in changed:
            user.replace_input_with(self, other)
        return changed

    def replace_input_with(self, old: Node, new: Any) -> None:
        """Takes `new` wherever it took `old`."""
        self.args = [new if a is old else a for a in self._args]

    # ---------------------------------------------------------------------------------------------------- how it looks

    def format_args(self, show: Callable[[Node], str]) -> str:
        """Its arguments as text: 'x, 1.0', with `show` for nodes."""
        return f"({_listing(self._args, show)})"

    def format_node(self) -> str:
        """One line: '%add : float32[3] [num_users=1] = call_function[target=fl.add](args = (%x, 1.0), kwargs = {})'."""
        if self.op == "output":
            return f"return {_results(self._args)}"
        kind = "" if self.aval is None else f" : {show_aval(self.aval)}"
        head = f"%{self.name}{kind} [num_users={len(self.users)}] = {self.op}[target={show_target(self._target)}]"
        if not self.op.startswith("call_"):
            return head
        return f"{head}(args = {self.format_args(lambda n: '%' + n.name)}, kwargs = {_mapping(self.kwargs)})"


def show_aval(aval) -> str:
    """'float32[3]', or '(float32[3], int64[3])'; '?' where nothing is known."""
    if aval.__class__ is tuple:
        return f"({', '.join(map(show_aval, aval))})"
    return "?" if aval is None else str(aval)


def _listing(values: Iterable, show: Callable[[Node], str]) -> str:
    texts = [show(a) if a.__class__ is Node else repr(a) for a in values]
    return ", ".join(texts) + ("," if len(texts) == 1 else "")


def _results(args) -> str:
    texts = [a.name if a.__class__ is Node else repr(a) for a in args]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _mapping(kwargs: dict) -> str:
    return "{" + ", ".join(f"{k}: {v!r}" for k, v in kwargs.items()) + "}"

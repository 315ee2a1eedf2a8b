"""The decomposition table: what an op can be written as, besides its own definition, and named sets of decompositions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..core.op import REGISTRY, Op

_TABLE: dict[Op, Callable] = {}


class _Everything:
    """A set that has every op with a decomposition."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"decomp.{self.name}"


core_prims = _Everything("core_prims")
"""Every op that has a decomposition, registered or its own: what is left are prims with an implementation."""


def register_decomposition(ops: Any) -> Callable:
    """Registers the decorated function, which takes what the op takes, as the decomposition of an op (or of several).

    It is used where a table asks for it; calls of the op go by its own definition as before. Raises ValueError if the op
    has one already.

    >>> import functorch_lite as fl
    >>> @register_decomposition(fl.tanh)
    ... def tanh_by_exp(input):
    ...     e = fl.exp(input * -2)
    ...     return (1 - e) / (1 + e)
    >>> gm = fl.make_fx(lambda x: fl.tanh(x), decompositions([fl.tanh]))(fl.asarray(0.5))
    >>> gm.graph.find_nodes(op="call_function", target=fl.tanh)
    []
    >>> del _TABLE[fl.tanh.op]
    """

    def register(function: Callable) -> Callable:
        for op in _ops(ops):
            if op in _TABLE:
                raise ValueError(f"{op.qualname} has a registered decomposition already: {_TABLE[op].__module__}.{_TABLE[op].__qualname__}")
            _TABLE[op] = function
        return function

    return register


def decompositions(ops: Any) -> dict[Op, Callable]:
    """A table with the decompositions of these ops (functions, Ops or names): the registered ones, else their own definitions.

    >>> import functorch_lite as fl
    >>> decompositions([fl.softmax]) == decompositions("fl.softmax") == {fl.softmax.op: fl.softmax.op.decompose}
    True
    """
    table = {op: _TABLE.get(op) or op.decompose for op in _ops(ops)}
    if missing := [op.qualname for op, function in table.items() if function is None]:
        raise ValueError(f"decompositions: {', '.join(missing)} have none: prims are what the others are made of")
    return table


def _ops(ops: Any) -> list[Op]:
    out = []
    for x in [ops] if isinstance(ops, (str, Op)) or callable(ops) else ops:
        op = REGISTRY.get(x) if isinstance(x, str) else x if x.__class__ is Op else getattr(x, "op", None)
        if op.__class__ is not Op:
            raise TypeError(f"expected ops (fl.softmax, or 'fl.softmax'), got {x!r}")
        out.append(op)
    return out


def expander(table: Mapping | _Everything | None, everything: bool = False) -> Callable[[Op], Callable | None] | None:
    """For a trace: op -> its expansion, a function of (args, params), or None where the op is recorded as it is.

    A table maps ops (or their functions, or names) to functions that take what the op takes. With `everything` (or
    `core_prims` as the table) ops that the table does not name are expanded too, wherever they have a decomposition.
    """
    if table is core_prims:
        table, everything = None, True
    if not isinstance(table, Mapping) and table is not None:
        raise TypeError(f"a decomposition table maps ops to functions, or is fl.decomp.core_prims; got {type(table).__name__}")
    functions = dict(zip(_ops(table), table.values())) if table else {}
    if not functions and not everything:
        return None
    found: dict[Op, Callable | None] = {}

    def expands(op: Op) -> Callable | None:
        if op not in found:
            function = functions.get(op) or (everything and (_TABLE.get(op) or op.decompose)) or None
            found[op] = None if function is None else op.run if function is op.decompose else _written_as(op, function)
        return found[op]

    return expands


def _written_as(op: Op, function: Callable) -> Callable:
    def expansion(args: tuple, params: tuple):
        out = op.spell(function, args, params)
        return tuple(out) if op.multi else out

    return expansion


__all__ = ["core_prims", "decompositions", "expander", "register_decomposition"]

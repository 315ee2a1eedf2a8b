"""Whether the length of x[start:stop] is known although its bounds are traced, as it is for x[k : k + 2]."""

from __future__ import annotations

import numpy as np

from ..core.array import Array
from ..core.dtype import INTEGER
from ..core.interpreter import Traced
from ..fx.graph import Node
from ..prims import elementwise
from .promotion import promoted

_DEPTH = 50  # how far back a bound's computation is followed


def known_difference(start, stop) -> int | None:
    """stop - start of two bounds (ints, or integer scalars) if it is one number for all values they stand for, else None.

    Inside a program it follows from how the bounds were computed; where the values are there (vmap of plain Arrays), from those.
    """
    a, b = _inside(start), _inside(stop)
    if a.__class__ in (int, Node) and b.__class__ in (int, Node):
        terms, constant = _combined(_affine(b), _affine(a), -1)
        return None if terms else constant
    if a.__class__ in (int, Array) and b.__class__ in (int, Array):
        values = np.asarray(_inside(elementwise.sub(*promoted(stop, start))).buffer)
        return int(values.flat[0]) if values.size and (values == values.flat[0]).all() else None
    return None


def _inside(x):
    """What a traced value stands for: the values of all rows, the node of a graph, or itself."""
    while x.__class__ is Traced and isinstance(x.value, (Array, Node)):
        x = x.value
    return x


# An affine form is ({id of node: factor}, constant): the sum of factor * node, plus the constant.


def _combined(a, b, factor: int):
    """a + factor * b."""
    terms = dict(a[0])
    for key, n in b[0].items():
        terms[key] = terms.get(key, 0) + factor * n
    return {k: n for k, n in terms.items() if n}, a[1] + factor * b[1]


def _affine(x, depth: int = 0):
    """The affine form of an integer node. Beyond additions and multiples of numbers a node is a term of its own."""
    if x.__class__ is int:
        return {}, x
    known = _rule(x, depth + 1) if x.__class__ is Node and x.op == "call_function" and depth < _DEPTH else None
    return ({id(x): 1}, 0) if known is None else known


def _rule(node: Node, depth: int):
    op = node.target
    name, args = getattr(op, "name", ""), node.args
    params = dict(zip(getattr(op, "statics", ()), node.params))
    if name in ("add", "sub") and params.get("alpha", 1) == 1:
        return _combined(_affine(args[0], depth), _affine(args[1], depth), 1 if name == "add" else -1)
    if name == "mul":
        for x, y in (args, args[::-1]):
            terms, number = _affine(y, depth)
            if not terms:
                return _combined(({}, 0), _affine(x, depth), number)
    if name == "neg":
        return _combined(({}, 0), _affine(args[0], depth), -1)
    if name == "full" and params["value"].__class__ is int:
        return {}, params["value"]
    if (
        name == "convert"
        and params["dtype"].category == INTEGER
        and getattr(args[0], "aval", None) is not None
        and args[0].aval.dtype.category == INTEGER
    ):
        return _affine(args[0], depth)
    if name == "broadcast":
        terms, number = _affine(args[0], depth)
        return None if terms else (terms, number)
    return None

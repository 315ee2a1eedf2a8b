"""What rules are written with: sums of tangents, zeros, and the moving and aligning of batch dimensions."""

from __future__ import annotations

from functools import reduce

from ..core.array import Array
from ..core.aval import Aval, aval
from ..core.dtype import int32
from ..core.op import Linear
from . import create, elementwise, shape  # used at call time only; prims/__init__ says why the order of imports matters

__all__ = [
    "Array",
    "Linear",
    "add",
    "align",
    "expand",
    "front",
    "full_like",
    "mul",
    "mul_no_nan",
    "move",
    "neg",
    "one_like",
    "total",
    "zero_index",
    "zeros",
]


def add(x, y):
    return elementwise.add(x, y)


def mul(x, y):
    return elementwise.mul(x, y)


def mul_no_nan(x, y):
    return elementwise.mul_no_nan(x, y)


def neg(x):
    return elementwise.neg(x)


def wanted(x) -> bool:
    """Whether a transpose rule is asked for the cotangent of this argument."""
    return x.__class__ is Linear and x.wanted


def total(terms):
    """The sum of tangents or cotangents; None for none at all."""
    terms = [t for t in terms if t is not None]
    return reduce(elementwise.add, terms) if terms else None


def zeros(like: Aval):
    """Zeros of this aval: what a symbolic zero is where an op needs data."""
    return create.full(like.shape, 0, like.dtype)


def full_like(x, number):
    """A constant of x's shape and dtype."""
    return create.full(x.shape, number, x.dtype)


def one_like(x):
    return create.full(x.shape, 1, x.dtype)


def zero_index():
    """The int32 scalar 0: where a dynamic slice starts along a dimension that it takes whole."""
    return create.full((), 0, int32)


def move(x, source: int, to: int):
    """x with its dimension `source` at position `to`."""
    if source == to:
        return x
    order = [i for i in range(x.ndim) if i != source]
    order.insert(to, source)
    return shape.permute(x, tuple(order))


def expand(x, size: int, dim: int = 0):
    """x with a new dimension of this size, along which it repeats."""
    old = x.shape
    return shape.broadcast(x, (*old[:dim], size, *old[dim:]), tuple(i if i < dim else i + 1 for i in range(len(old))))


def front(size: int, x, dim: int | None):
    """x with its batch dimension (None: a new one) at the front."""
    return expand(x, size) if dim is None else move(x, dim, 0)


def align(size: int, args, dims):
    """Args with one common batch dimension; returns them and its position."""
    dim = next(d for d in dims if d is not None)
    if all(d == dim for d in dims):
        return args, dim
    return [expand(x, size, dim) if d is None else move(x, d, dim) for x, d in zip(args, dims)], dim


def without(a: Aval, dim: int) -> Aval:
    """The aval of one row along `dim`."""
    return aval((*a.shape[:dim], *a.shape[dim + 1 :]), a.dtype)

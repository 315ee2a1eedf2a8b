"""x.at[index].set(value) and its like: changed copies. A boolean mask chooses by `where`, anything else writes into a view (plan.py)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..core.array import Array, Operable, asarray
from ..core.aval import aval_of
from ..core.dtype import BOOL, NUMBERS
from ..core.op import Tensor, composite
from ..errors import ConcretizationError
from ..prims import algebra, bits, compare, elementwise, scatters
from ..prims import shape as prims
from .arguments import require, shown
from .index import Mask, getitem, items, spec_of
from .plan import block, plan, write_view
from .promotion import array_of, cast, expand_to, result_type
from .shape import reshaped

# how -> what an element becomes of itself and the value
_COMBINE = {
    "set": lambda x, v: v,
    "add": lambda x, v: bits.bitwise_or(x, v) if x.dtype.category == BOOL else elementwise.add(x, v),
    "sub": elementwise.sub,
    "mul": lambda x, v: bits.bitwise_and(x, v) if x.dtype.category == BOOL else elementwise.mul(x, v),
    "div": elementwise.div,
    "min": compare.minimum,
    "max": compare.maximum,
}

# how -> the same at index arrays, where several values may meet at one element
_SCATTER = {
    "set": scatters.scatter,
    "add": scatters.scatter_add,
    "sub": lambda x, v, *where: scatters.scatter_add(x, elementwise.neg(v), *where),
    "mul": scatters.scatter_mul,
    "div": lambda x, v, *where: elementwise.div(x, scatters.scatter_mul(algebra.one_like(x), v, *where)),
    "min": scatters.scatter_min,
    "max": scatters.scatter_max,
}
_OF_BOOLS = {"add": "max", "mul": "min"}


def _value_of(x, value, target: tuple[int, ...], how: str):
    """The value in the dtype of x and the shape of what it changes."""
    name, dtype = f"x.at[...].{how}", result_type(x, value)
    ok = dtype.category <= x.dtype.category
    require(ok, name, f"the result type {dtype} can't be cast to {x.dtype}, which the array keeps; convert the array first")
    require(how != "div" or x.dtype.is_inexact, name, f"the quotient is a float, and the array keeps {x.dtype}; convert it first")
    require(how != "sub" or x.dtype.category != BOOL, name, "subtraction of bools is not defined; use ^")
    if seen := aval_of(value).shape:
        while len(seen) > len(target) and seen[0] == 1:
            seen = seen[1:]
        ok = len(seen) <= len(target) and all(a in (1, b) for a, b in zip(seen[::-1], target[::-1]))
        require(ok, name, f"shape mismatch: value {value.aval} cannot be broadcast to the indexing result of shape {list(target)}")
        value = reshaped(value, seen)
    return cast(value, x.dtype, target)


_NUMPY = {
    "set": lambda x, v: v,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "min": np.minimum,
    "max": np.maximum,
}


def _at_reference(x, value, *indices, spec, how):
    """By the places that the index reads, one after the other."""
    places = np.asarray(getitem.op.reference(np.arange(x.size).reshape(x.shape), *indices, spec=spec))
    out = x.flatten()
    for at, v in zip(places.flat, np.broadcast_to(value, places.shape).flat):
        out[at] = _NUMPY[how](out[at], v)
    return out.reshape(x.shape)


@composite(reference=_at_reference)
def at_update(input: Tensor, value: Tensor, *indices: Tensor, spec: Pairs, how: str) -> Tensor:  # noqa: F821
    """What ``x.at[...].set(value)`` becomes (`how` is 'set', 'add', 'sub', 'mul', 'div', 'min' or 'max'); indices and spec as in `getitem`."""
    x = array_of(input)
    p = plan(x.shape, indices, spec)
    value = _value_of(x, value, p.result, how)
    if not p.arrays and how == "set":
        return write_view(x, value, p)
    view = reshaped(block(x, p.windows), p.view)
    if not p.arrays:
        return write_view(x, _COMBINE[how](view, value), p)
    scatter = _SCATTER[_OF_BOOLS.get(how, how) if x.dtype.category == BOOL else how]
    return write_view(x, scatter(view, value, p.arrays, *p.where), p)


@composite(reference=lambda x, mask, value, how: np.where(mask, _NUMPY[how](x, value), x).astype(x.dtype))
def mask_update(input: Tensor, mask: Tensor, value: Tensor, how: str) -> Tensor:
    """What ``x.at[mask].set(value)`` becomes: elements where the mask (broadcast to input) holds are combined with value."""
    x = array_of(input)
    return compare.select(expand_to(array_of(mask), x.shape), _COMBINE[how](x, _value_of(x, value, x.shape, how)), x)


getitem.op.view = lambda base, new, *rest: at_update(base, new, *rest[:-1], spec=rest[-1], how="set")  # a write through a view


class At:
    """``x.at``: index it, then say what becomes of the elements there. x itself never changes.

    ``set, add, sub, mul, div, min, max`` take a number or an Array that broadcasts to ``x[index]``, and keep the dtype of x:
    RuntimeError for a value of a higher kind. ``apply(f)`` replaces the elements by f of them, ``get()`` reads them. Where an
    index array names an element twice, all its values are added (multiplied ...), and the last one is set.

    >>> import functorch_lite as fl
    >>> x = fl.asarray([1, 2, 3])
    >>> x.at[0].set(5).tolist(), x.at[[0, 0]].add(1).tolist(), x.at[x > 1].mul(10).tolist()
    ([5, 2, 3], [3, 2, 3], [1, 20, 30])
    """

    __slots__ = ("array",)

    def __init__(self, array: Array):
        self.array = array

    def __getitem__(self, key) -> Spot:
        return Spot(self.array, key)

    def __repr__(self) -> str:
        return f"<at of {self.array.aval}: index it, as in x.at[0].set(1)>"


class Spot:
    """``x.at[index]``; see `At`."""

    __slots__ = ("array", "key")

    def __init__(self, array: Array, key):
        self.array, self.key = array, key

    def get(self) -> Array:
        """The elements there: x[index]."""
        return self.array[self.key]

    def apply(self, f: Callable[[Array], Array]) -> Array:
        """A copy with the elements there replaced by f of them."""
        return self.set(f(self.get()))


def _method(how: str, doc: str):
    def method(self, value) -> Array:
        return _updated(self.array, self.key, value, how)

    method.__name__, method.__qualname__, method.__doc__ = how, f"Spot.{how}", doc
    setattr(Spot, how, method)


_method("set", "A copy with the elements there replaced by value.")
_method("add", "A copy with value added to the elements there.")
_method("sub", "A copy with value subtracted from the elements there.")
_method("mul", "A copy with the elements there multiplied by value.")
_method("div", "A copy with the elements there divided by value.")
_method("min", "A copy with the smaller of value and what is there.")
_method("max", "A copy with the larger of value and what is there.")
Spot.subtract, Spot.multiply, Spot.divide = Spot.sub, Spot.mul, Spot.div
Operable.at = property(At, doc=At.__doc__)


def _updated(x, key, value, how: str):
    if not isinstance(value, Operable) and value.__class__ not in NUMBERS:
        value = _listed(value, x.dtype)
    found = items(x, key)
    masks = [k for k in found if k.__class__ is Mask]
    if len(masks) == 1 and all(k.__class__ is Mask or _is_whole(k) for k in found):
        chosen = _by_choice(x, found, masks[0].array, value, how)
        if chosen is not None:
            return chosen
    try:
        operands, spec = spec_of(x, found)
    except ConcretizationError as error:
        if not masks:
            raise
        raise ConcretizationError(
            f"x.at[mask].{how}(value): a traced mask takes a value that is the same for every True element (a number, or an Array that "
            f"broadcasts along the dimensions behind the mask), and nothing but whole dimensions beside it, got {shown(value)}. "
            "Write fl.where(mask, other, x) with other in the shape of x, or fl.masked_scatter(x, mask, source)"
        ) from error
    return at_update(x, value, *operands, spec=spec, how=how)


def _listed(value, dtype):
    """Other data as an Array; Python numbers in lists take the dtype of the array that they go into."""
    out = asarray(value)
    return asarray(value, dtype) if isinstance(value, (list, tuple)) and out.dtype.category <= dtype.category else out


def _is_whole(k) -> bool:
    return k.__class__ is slice and k == slice(None)


def _by_choice(x, found, mask, value, how: str):
    """The update at one mask among whole dimensions; None where the value has a row for each True element, or the mask has no
    shape that fits (which is for `spec_of` to say)."""
    d = next(i for i, k in enumerate(found) if k.__class__ is Mask)
    if mask.shape != x.shape[d : d + mask.ndim]:
        return None
    behind = x.ndim - d - mask.ndim
    seen = aval_of(value).shape
    if len(seen) > behind:
        if seen[len(seen) - behind - 1] != 1:
            return None
        front = seen[: len(seen) - behind - 1]
        value = reshaped(array_of(value), (*front, *(1,) * mask.ndim, *seen[len(seen) - behind :]))
    return mask_update(x, prims.reshape(mask, (*mask.shape, *(1,) * behind)), value, how)

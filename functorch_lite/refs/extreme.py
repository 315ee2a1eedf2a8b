"""Extremes and medians, their positions, and which element gets the derivative where several tie."""

from __future__ import annotations

import builtins
from typing import NamedTuple

import numpy as np

from ..core.array import Array, Operable
from ..core.dtype import int64
from ..core.op import Dims, Tensor, composite
from ..core.out import takes_out
from ..prims import bits, compare, create, elementwise, index, order, reduce, shape
from .arguments import require
from .compare import maximum, minimum
from .families import method
from .promotion import array_of, canonical_dim, canonical_dims, to_dtype
from .reduce import by_numpy, kept

# -------------------------------------------------------------------------------------------------------- extremes


class ValuesIndices(NamedTuple):
    """What `max`, `sort`, `cummax` ... return of one dimension: the values and where they are (int64)."""

    values: Array
    indices: Array


def _extreme(name, prim, reference, which):
    def f(input: Tensor, dim: Dims | None = None, keepdim: bool = False) -> Tensor:
        x = array_of(input)
        dims = canonical_dims(name, dim, x.ndim)
        return kept(prim(x, dims), x, dims, keepdim)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"The {which} element over dim (None: all dimensions), NaN if any is. Elements that tie share the derivative evenly.\n\n"
        f"IndexError if there is none.\n\n>>> import functorch_lite as fl\n>>> fl.{name}(fl.asarray([[1, 5], [3, 2]]), dim=1).tolist()\n"
        f"{[5, 3] if which == 'largest' else [1, 2]}\n"
    )
    return composite(f, method=True, reference=by_numpy(reference))


amax = _extreme("amax", reduce.reduce_max, np.max, "largest")
amin = _extreme("amin", reduce.reduce_min, np.min, "smallest")


def _position(name, prim, reference, which):
    def f(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        x = array_of(input)
        if dim is None:
            flat = prim(shape.reshape(x, (x.aval.size,)), 0)
            return kept(flat, x, tuple(range(x.ndim)), keepdim)
        d = canonical_dim(name, dim, x.ndim)
        return kept(prim(x, d), x, (d,), keepdim) if x.ndim else create.full((), 0, int64)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"Where the first {which} element is along dim (int64), or in row-major order without dim. NaN counts as {which}.\n\n"
        f"IndexError if there is none.\n\n>>> import functorch_lite as fl\n>>> fl.{name}(fl.asarray([2, 7, 1])).item()\n"
        f"{1 if which == 'largest' else 2}\n"
    )
    return composite(f, method=True, reference=by_numpy(reference))


argmax = _position("argmax", reduce.argmax, np.argmax, "largest")
argmin = _position("argmin", reduce.argmin, np.argmin, "smallest")


def along(name, f, input, dim):
    """f(x, dim) of an array that has dimensions: a 0-dim one is made one of a single element, and back."""
    x = array_of(input)
    d = canonical_dim(name, dim, x.ndim)
    if x.ndim:
        return f(x, d)
    out = f(shape.reshape(x, (1,)), 0)
    return tuple([shape.reshape(y, ()) for y in out]) if out.__class__ is tuple else shape.reshape(out, ())


def _picked(name, position, reference):
    """An extreme along dim with its position: the derivative belongs to the element that is picked."""

    def f(input: Tensor, dim: int, keepdim: bool = False) -> tuple:
        def pick(x, d):
            where = shape.reshape(position(x, d), tuple([1 if i == d else n for i, n in enumerate(x.shape)]))
            return index.take_along(x, where, d), where

        out = along(name, pick, input, dim)
        rest = tuple([n for i, n in enumerate(input.shape) if i != dim % builtins.max(input.ndim, 1)])
        return out if keepdim or not input.ndim else tuple([shape.reshape(y, rest) for y in out])

    f.__name__ = f.__qualname__ = f"{name}_dim"
    f.__doc__ = f"The values of `{name}` along dim, and their positions."
    arg = {"max": np.argmax, "min": np.argmin}[name]

    def np_reference(x, dim, keepdim=False):
        return (by_numpy(reference)(x, dim, keepdim), by_numpy(arg)(x, dim, keepdim)) if x.ndim else (x, np.zeros((), np.int64))

    return composite(f, multi=True, returns=ValuesIndices, reference=np_reference)


max_dim = _picked("max", reduce.argmax, np.max)
min_dim = _picked("min", reduce.argmin, np.min)


def _three_forms(name, whole, picked, pairwise, which):
    def f(input, dim=None, keepdim=False, *, other=None):
        other = dim if isinstance(dim, Operable) else other
        if other is not None:
            return pairwise(input, other)
        return whole(input) if dim is None else picked(input, dim, keepdim)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"The {which} element, in PyTorch's three forms: of all, ``{name}(x)``; along dim, ``{name}(x, dim, keepdim)``, with its positions\n"
        f"as a named tuple (values, indices); and of two arrays, ``{name}(x, other)``, elementwise.\n\n"
        f"NaN is the result where any is. Of all, elements that tie share the derivative; along dim it belongs to the one returned.\n\n"
        f">>> import functorch_lite as fl\n>>> x = fl.asarray([[1, 5], [3, 2]])\n"
        f">>> fl.{name}(x).item(), fl.{name}(x, 1).indices.tolist(), fl.{name}(x, fl.asarray(3)).tolist()\n"
        + ("(5, [1, 0], [[3, 5], [3, 3]])\n" if name == "max" else "(1, [0, 1], [[1, 3], [3, 2]])\n")
    )
    return takes_out(method(f))


max = _three_forms("max", amax, max_dim, maximum, "largest")
min = _three_forms("min", amin, min_dim, minimum, "smallest")


class MinMax(NamedTuple):
    """What `aminmax` returns."""

    min: Array
    max: Array


@composite(
    method=True,
    multi=True,
    returns=MinMax,
    reference=lambda x, *, dim=None, keepdim=False: (by_numpy(np.min)(x, dim, keepdim), by_numpy(np.max)(x, dim, keepdim)),
)
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> tuple:
    """The smallest and the largest element along dim (None: of all), as a named tuple (min, max).

    >>> import functorch_lite as fl
    >>> fl.aminmax(fl.asarray([2, 7, 1])).max.item()
    7
    """
    return amin(input, dim, keepdim), amax(input, dim, keepdim)


# ---------------------------------------------------------------------------------------------------------- medians


def _median_along(x, d):
    """The lower median along d and where it is; NaN if any is."""
    require(not x.dtype.is_complex, "median", f"complex numbers have no order, got {x.aval}")
    require(x.shape[d] > 0, "median", f"expected at least one element along dim {d}, got {x.aval}", IndexError)
    values, where = order.sort([x, create.iota(x.shape, d, int64)], d, 1)
    middle = (x.shape[d] - 1) // 2
    value, place = [shape.part(y, d, middle, middle + 1) for y in (values, where)]
    if x.dtype.is_inexact:  # NaN is sorted last
        last = shape.part(values, d, x.shape[d] - 1, x.shape[d])
        nan = compare.ne(last, last)
        first = shape.reshape(reduce.argmax(compare.ne(x, x), d), place.shape)
        value, place = compare.select(nan, last, value), compare.select(nan, first, place)
    return value, place


def _median_reference(x):
    return np.sort(x, axis=None)[(x.size - 1) // 2] if not np.isnan(x).any() else np.asarray(np.nan, x.dtype)


def _median_jvp(ans, primals, tangents):
    (x,), (t,) = primals, tangents
    dims = tuple(range(x.ndim))
    value = reduce.spread(ans, x, dims)
    hit = bits.bitwise_or(compare.eq(x, value), bits.bitwise_and(compare.ne(x, x), compare.ne(value, value)))
    weight = to_dtype(hit, x.dtype)
    share = elementwise.div(weight, reduce.spread(reduce.reduce_sum(weight, dims), x, dims))
    return reduce.reduce_sum(elementwise.mul(t, share), dims)


@composite(name="median", jvp=_median_jvp, reference=_median_reference)
def _median(input: Tensor) -> Tensor:
    """The lower median of all elements; those equal to it share its derivative evenly."""
    x = array_of(input)
    require(x.aval.size > 0, "median", f"expected at least one element, got {x.aval}", IndexError)
    return shape.reshape(_median_along(shape.reshape(x, (x.aval.size,)), 0)[0], ())


def _median_dim_reference(x, dim, keepdim=False):
    if not x.ndim:
        return x, np.zeros((), np.int64)
    middle = [(x.shape[dim] - 1) // 2]
    where = np.take(np.argsort(x, axis=dim, kind="stable"), middle, dim)
    where = np.where(np.isnan(x).any(dim, keepdims=True), np.isnan(x).argmax(dim, keepdims=True), where)
    out = np.take_along_axis(x, where, dim), where
    return out if keepdim else tuple([np.squeeze(y, dim) for y in out])


@composite(multi=True, returns=ValuesIndices, reference=_median_dim_reference)
def median_dim(input: Tensor, dim: int, keepdim: bool = False) -> tuple:
    """The lower medians along dim, and their positions."""
    out = along("median", _median_along, input, dim)
    if keepdim or not input.ndim:
        return out
    d = dim % input.ndim
    return tuple([shape.reshape(y, tuple([n for i, n in enumerate(y.shape) if i != d])) for y in out])


@takes_out
@method
def median(input: Tensor, dim: int | None = None, keepdim: bool = False):
    """The lower median of all elements, or along dim with its positions as a named tuple (values, indices). NaN if any element is.

    >>> import functorch_lite as fl
    >>> fl.median(fl.asarray([4, 1, 3, 2])).item(), fl.median(fl.asarray([[4, 1, 3]]), dim=1).values.tolist()
    (2, [3])
    """
    return _median(input) if dim is None else median_dim(input, dim, keepdim)


__all__ = "amax amin aminmax argmax argmin max max_dim median median_dim min min_dim".split()

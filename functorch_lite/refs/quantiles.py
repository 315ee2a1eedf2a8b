"""Medians, quantiles and modes: what stands at a place of the sorted elements."""

from __future__ import annotations

import numpy as np

from ..core.dtype import NUMBERS, float32, float64, int64
from ..core.op import Tensor, composite
from ..core.out import takes_out
from ..prims import algebra, bits, checks, compare, create, elementwise, index, order, reduce, shape
from .arguments import require, shown
from .elementwise import lerp
from .extreme import ValuesIndices, along
from .families import method
from .promotion import array_of, canonical_dim, cast, expand_to, to_dtype
from .reduce import kept

# ---------------------------------------------------------------------------------------------------------- medians


def _isnan(x):
    return compare.ne(x, x)


def _sorted_with_places(name, x, d):
    """x in order along d, NaN last, and where each element was."""
    require(not x.dtype.is_complex, name, f"complex numbers have no order, got {x.aval}")
    require(x.shape[d] > 0, name, f"expected at least one element along dim {d}, got {x.aval}", IndexError)
    return order.sort([x, create.iota(x.shape, d, int64)], d, 1)


def _median_along(x, d):
    """The lower median along d and where it is; NaN if any is."""
    values, where = _sorted_with_places("median", x, d)
    middle = (x.shape[d] - 1) // 2
    value, place = [shape.part(y, d, middle, middle + 1) for y in (values, where)]
    if x.dtype.is_inexact:
        last = shape.part(values, d, x.shape[d] - 1, x.shape[d])
        nan = _isnan(last)
        first = shape.reshape(reduce.argmax(_isnan(x), d), place.shape)
        value, place = compare.select(nan, last, value), compare.select(nan, first, place)
    return value, place


def _nanmedian_along(x, d):
    """The lower median of the numbers along d and where it is; NaN if there are none."""
    if not x.dtype.is_inexact:
        return _median_along(x, d)
    values, where = _sorted_with_places("nanmedian", x, d)
    numbers = kept(reduce.reduce_sum(to_dtype(compare.eq(x, x), int64), (d,)), x, (d,), True)
    last = compare.maximum(elementwise.sub(numbers, algebra.one_like(numbers)), algebra.zeros(numbers.aval))
    middle = elementwise.trunc_div(last, algebra.full_like(last, 2))
    return tuple([index.take_along(y, middle, d, "inside") for y in (values, where)])


def _median_jvp(ans, primals, tangents):
    """Those that tie share it evenly; where the median is NaN, those that are NaN do."""
    (x,), (t,) = primals, tangents
    dims = tuple(range(x.ndim))
    value = reduce.spread(ans, x, dims)
    hit = bits.bitwise_or(compare.eq(x, value), bits.bitwise_and(_isnan(x), _isnan(value)))
    weight = to_dtype(hit, x.dtype)
    share = elementwise.div(weight, reduce.spread(reduce.reduce_sum(weight, dims), x, dims))
    return reduce.reduce_sum(elementwise.mul(t, share), dims)


def _median_reference(x):
    return np.sort(x, axis=None)[(x.size - 1) // 2] if not np.isnan(x).any() else np.asarray(np.nan, x.dtype)


def _nanmedian_reference(x):
    numbers = x[x == x]
    return _median_reference(numbers) if numbers.size else np.asarray(np.nan, x.dtype)


def _median_dim_reference(x, dim, keepdim=False):
    if not x.ndim:
        return x, np.zeros((), np.int64)
    middle = [(x.shape[dim] - 1) // 2]
    where = np.take(np.argsort(x, axis=dim, kind="stable"), middle, dim)
    where = np.where(np.isnan(x).any(dim, keepdims=True), np.isnan(x).argmax(dim, keepdims=True), where)
    out = np.take_along_axis(x, where, dim), where
    return out if keepdim else tuple([np.squeeze(y, dim) for y in out])


def _nanmedian_dim_reference(x, dim, keepdim=False):
    if not x.ndim:
        return x, np.zeros((), np.int64)
    middle = np.maximum((x == x).sum(dim, keepdims=True) - 1, 0) // 2
    where = np.take_along_axis(np.argsort(x, axis=dim, kind="stable"), middle, dim)
    out = np.take_along_axis(x, where, dim), where
    return out if keepdim else tuple([np.squeeze(y, dim) for y in out])


def _without(y, x, d: int, keepdim: bool):
    """The result of reducing dimension d of x, which y still has as one of size 1."""
    return y if keepdim or not x.ndim else shape.reshape(y, tuple([n for i, n in enumerate(y.shape) if i != d]))


def _picking(name, input, dim, keepdim, pick):
    """(values, places) of `pick` along dim."""
    x = array_of(input)
    d = canonical_dim(name, dim, x.ndim)
    return tuple([_without(y, x, d, keepdim) for y in along(name, pick, x, dim)])


def _whole(name, pick, reference, doc):
    def f(input: Tensor) -> Tensor:
        x = array_of(input)
        if x.aval.size == 0 and x.dtype.is_inexact:
            return create.full((), float("nan"), x.dtype)
        return shape.reshape(pick(shape.reshape(x, (x.aval.size,)), 0)[0], ())

    f.__name__ = f.__qualname__ = name
    f.__doc__ = doc
    return composite(f, jvp=_median_jvp, reference=reference)


_median = _whole("median", _median_along, _median_reference, "The lower median of all; those equal to it share its derivative.")
_nanmedian = _whole("nanmedian", _nanmedian_along, _nanmedian_reference, "The lower median of all that are not NaN.")


@composite(multi=True, returns=ValuesIndices, reference=_median_dim_reference)
def median_dim(input: Tensor, dim: int, keepdim: bool = False) -> tuple:
    """The lower medians along dim, and their positions."""
    return _picking("median", input, dim, keepdim, _median_along)


@composite(multi=True, returns=ValuesIndices, reference=_nanmedian_dim_reference)
def nanmedian_dim(input: Tensor, dim: int, keepdim: bool = False) -> tuple:
    """The lower medians along dim of what is not NaN, and their positions."""
    return _picking("nanmedian", input, dim, keepdim, _nanmedian_along)


@takes_out
@method
def median(input: Tensor, dim: int | None = None, keepdim: bool = False):
    """The lower median of all elements, or along dim with its positions as a named tuple (values, indices). NaN if any element is.

    >>> import functorch_lite as fl
    >>> fl.median(fl.asarray([4, 1, 3, 2])).item(), fl.median(fl.asarray([[4, 1, 3]]), dim=1).values.tolist()
    (2, [3])
    """
    return _median(input) if dim is None else median_dim(input, dim, keepdim)


@takes_out
@method
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False):
    """`median` of the elements that are not NaN; NaN if all are.

    >>> import functorch_lite as fl
    >>> fl.nanmedian(fl.asarray([4.0, float("nan"), 3.0])).item()
    3.0
    """
    return _nanmedian(input) if dim is None else nanmedian_dim(input, dim, keepdim)


# -------------------------------------------------------------------------------------------------------- quantiles

_ROUNDED = {"lower": elementwise.floor, "higher": elementwise.ceil, "nearest": elementwise.round}


def _quantile(name, input, q, dim, keepdim, interpolation, ignore_nan):
    x = array_of(input)
    require(x.dtype in (float32, float64), name, f"input must be float32 or float64, got {shown(x)}; convert with .to(fl.float32)")
    require(x.aval.size > 0, name, f"input must not be empty, got {shown(x)}")
    ok = interpolation in ("linear", "midpoint", *_ROUNDED)
    require(ok, name, f"interpolation must be one of linear, lower, higher, midpoint or nearest, got {interpolation!r}")
    places = _places(name, x, q)
    if dim is None:
        dims, rows = tuple(range(x.ndim)), shape.reshape(x, (x.aval.size,))
    else:
        d = canonical_dim(name, dim, x.ndim)
        dims, rows = (d,), reduce.flatten(x, (d,) if x.ndim else ())
    out = _at_quantiles(order.sort([rows], rows.ndim - 1)[0], shape.reshape(places, (places.aval.size,)), interpolation, ignore_nan)
    out = shape.permute(out, (out.ndim - 1, *range(out.ndim - 1)))
    left = tuple([1 if i in dims else n for i, n in enumerate(x.shape) if keepdim or i not in dims])
    return shape.reshape(out, (*places.shape, *left))


def _places(name, x, q):
    """q as an array of at most one dimension, in the dtype of x."""
    inside = "q must be in the range [0, 1]"
    if q.__class__ in NUMBERS:
        require(0 <= q <= 1, name, f"{inside}, got {q}")
        return cast(q, x.dtype, ())
    q = array_of(q, x.dtype) if q.aval.weak else q
    require(q.dtype is x.dtype, name, f"q must have the dtype of input, got q {shown(q)} and input {shown(x)}")
    require(q.ndim <= 1, name, f"q must be a number or have at most one dimension, got {shown(q)}")
    ok = bits.bitwise_and(compare.ge(q, algebra.zeros(q.aval)), compare.le(q, algebra.one_like(q)))
    return checks.expect(q, ok, "RuntimeError", f"{name}: {inside}")


def _at_quantiles(rows, q, interpolation, ignore_nan):
    """What stands at the quantiles q of sorted rows, in a last dimension of its own. Between two places, as much of either as it is near."""
    last, n = rows.ndim - 1, rows.shape[-1]
    sizes = (*rows.shape[:-1], q.shape[0])
    top = create.full((*rows.shape[:-1], 1), n - 1, rows.dtype)
    numbers = kept(reduce.reduce_sum(to_dtype(compare.eq(rows, rows), rows.dtype), (last,)), rows, (last,), True)
    if ignore_nan:
        top = compare.maximum(elementwise.sub(numbers, algebra.one_like(numbers)), algebra.zeros(numbers.aval))
    rank = elementwise.mul(expand_to(shape.reshape(q, (1,) * last + q.shape), sizes), _repeated(top, sizes))
    if not ignore_nan:  # NaN is sorted last, and is the result if there is any
        whole = compare.eq(numbers, algebra.full_like(numbers, n))
        rank = compare.select(_repeated(whole, sizes), rank, _repeated(top, sizes))
    if interpolation in _ROUNDED:
        return _standing(rows, _ROUNDED[interpolation](rank), last)
    below, above = elementwise.floor(rank), elementwise.ceil(rank)
    low, high = _standing(rows, below, last), _standing(rows, above, last)
    same = bits.bitwise_and(compare.eq(low, high), bits.bitwise_not(compare.isfinite(low)))  # equal infinities have no difference
    nothing = algebra.zeros(low.aval)
    weight = algebra.full_like(rank, 0.5) if interpolation == "midpoint" else elementwise.sub(rank, below)
    between = lerp(compare.select(same, nothing, low), compare.select(same, nothing, high), weight)
    return compare.select(same, low, between)


def _repeated(x, sizes):
    return shape.broadcast(shape.reshape(x, x.shape[:-1]), sizes, tuple(range(len(sizes) - 1)))


def _standing(rows, rank, last):
    return index.take_along(rows, to_dtype(rank, int64), last, "inside")


def _quantile_reference(f):
    def reference(x, q, dim=None, keepdim=False, *, interpolation="linear"):
        return np.asarray(f(x, q, axis=dim if x.ndim else None, method=interpolation, keepdims=keepdim))

    return reference


def _quantiles(name, ignore_nan, reference, what, example):
    def f(input: Tensor, q: Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Tensor:
        return _quantile(name, input, q, dim, keepdim, interpolation, ignore_nan)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"""The q-th quantiles along dim (None: of all elements), q in [0, 1]: what stands at the place q * (n - 1) of the n sorted elements{what}.

    Of several q, a 1-dim array of the dtype of input, the results stand along a first dimension. Between two places,
    ``interpolation`` is 'linear', 'lower', 'higher', 'midpoint' or 'nearest'. Input must be float32 or float64: RuntimeError.

    >>> import functorch_lite as fl
    >>> fl.{name}(fl.asarray([{example}]), 0.5).item()
    1.5
    """
    return composite(f, method=True, reference=_quantile_reference(reference))


quantile = _quantiles("quantile", False, np.quantile, ", NaN if any of them is", "2.0, 1.0")
nanquantile = _quantiles("nanquantile", True, np.nanquantile, " that are not NaN", '2.0, 1.0, float("nan")')

# ------------------------------------------------------------------------------------------------------------ modes


def _mode_along(x, d):
    """In sorted elements those that are equal stand together; of runs of one length the first counts, and of a run its last element."""
    values, where = _sorted_with_places("mode", create.detach(x), d)
    number = create.iota(x.shape, d, int64)
    goes_on = compare.eq(shape.part(values, d, 1, x.shape[d]), shape.part(values, d, 0, x.shape[d] - 1))
    begins = compare.select(goes_on, algebra.zeros(shape.part(number, d, 1, x.shape[d]).aval), shape.part(number, d, 1, x.shape[d]))
    begin, _ = order.cummax(shape.concatenate([shape.part(number, d, 0, 1), begins], d), d)
    ends = kept(reduce.argmax(elementwise.sub(number, begin), d), x, (d,), True)
    place = index.take_along(where, ends, d, "inside")
    return index.take_along(x, place, d, "inside"), place


def _mode_reference(x, dim=-1, keepdim=False):
    def of_row(row):
        values, counts = np.unique(row, return_counts=True)
        return np.flatnonzero(row == values[counts.argmax()])[-1]

    if not x.ndim:
        return x, np.zeros((), np.int64)
    where = np.expand_dims(np.apply_along_axis(of_row, dim, x), dim)
    out = np.take_along_axis(x, where, dim), where
    return out if keepdim else tuple([np.squeeze(y, dim) for y in out])


@composite(method=True, multi=True, returns=ValuesIndices, reference=_mode_reference)
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> tuple:
    """The element along dim that occurs most often, the smallest of several, and where it occurs last: a named tuple (values, indices).

    IndexError if dim is empty.

    >>> import functorch_lite as fl
    >>> fl.mode(fl.asarray([3, 1, 2, 1, 3])).values.item()
    1
    """
    return _picking("mode", input, dim, keepdim, _mode_along)


__all__ = "median median_dim mode nanmedian nanmedian_dim nanquantile quantile".split()

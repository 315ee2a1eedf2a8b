"""Histograms: how many elements, or how much of their weight, fall between edges."""

from __future__ import annotations

import math
from numbers import Number
from typing import NamedTuple

import numpy as np

from ..core.array import Array
from ..core.dtype import FLOAT, NUMBERS, bool_, float32, float64, int64
from ..core.op import Dims, Tensor, Tensors, composite
from ..prims import algebra, bits, checks, compare, create, elementwise, reduce, scatters, shape
from .arguments import accumulator, require, shown
from .create import linspace
from .families import method
from .gathers import rows_at
from .order import searchsorted
from .promotion import array_of, cast, to_dtype
from .shape import reshape, reshaped


class Histogram(NamedTuple):
    """What `histogram` and `histogramdd` return; of the latter, bin_edges has an Array for each dimension."""

    hist: Array
    bin_edges: Array


def _range(name, x, low, high, widen: float):
    """The outer edges: numbers, or (where they are None) the smallest and largest element, moved apart if they are equal."""
    if low is None:
        if not x.aval.size:
            return cast(0, x.dtype, ()), cast(1, x.dtype, ())
        every = tuple(range(x.ndim))
        low, high = reduce.reduce_min(x, every), reduce.reduce_max(x, every)
    else:
        require(math.isfinite(low) and math.isfinite(high), name, f"the range must be finite, got [{low}, {high}]")
        low, high = cast(low, x.dtype, ()), cast(high, x.dtype, ())
    same, some = compare.eq(low, high), algebra.full_like(low, widen)
    low, high = compare.select(same, elementwise.sub(low, some), low), compare.select(same, elementwise.add(high, some), high)
    ok = bits.bitwise_and(compare.isfinite(low), compare.isfinite(high))
    message = f"{name}: the range of the elements is not finite; give one"
    return checks.expect(low, ok, "RuntimeError", message), high


def _counted(places, total: int, weight, dtype):
    """How often (or with how much weight) each of 0 ... total - 1 occurs; further places are dropped."""
    w = create.full(places.shape, 1, int64) if weight is None else weight
    out = scatters.scatter_add(create.full((total,), 0, w.dtype), w, [places], *rows_at(0, "drop"), False)
    return to_dtype(out, dtype)


# ------------------------------------------------------------------------------------------------------------ histc


def _histc_reference(x, bins=100, min=0, max=0):
    x = x[~np.isnan(x)]
    if min == max:
        min, max = (x.min(initial=np.inf), x.max(initial=-np.inf)) if x.size else (min, max)
        min, max = (min - 1, max + 1) if min == max else (min, max)
    return np.histogram(x, bins, (min, max))[0].astype(x.dtype)


@composite(method=True, reference=_histc_reference)
def histc(input: Tensor, bins: int = 100, min: Number = 0, max: Number = 0) -> Tensor:
    """How many elements fall into each of `bins` equal parts of [min, max], in the dtype of input. If both are equal, between its smallest
    and largest element. Elements outside, and NaN, do not count. RuntimeError for integers.

    >>> import functorch_lite as fl
    >>> fl.histc(fl.asarray([1.0, 2.0, 2.0, 3.0]), bins=3).tolist()
    [1.0, 2.0, 1.0]
    """
    given = array_of(input)
    require(given.dtype.category == FLOAT, "histc", f"input must have a float dtype, got {shown(given)}; convert with .to(fl.float32)")
    require(bins > 0, "histc", f"bins must be positive, got {bins}")
    require(min <= max, "histc", f"max must not be smaller than min, got [{min}, {max}]")
    x = to_dtype(reshaped(given, (given.aval.size,)), accumulator(given.dtype))
    low, high = _range("histc", x, *((None, None) if min == max else (float(min), float(max))), 1.0)
    low, high = (shape.broadcast(y, x.shape, ()) for y in (low, high))
    inside = bits.bitwise_and(compare.ge(x, low), compare.le(x, high))
    part = elementwise.div(elementwise.scaled(elementwise.sub(x, low), bins), elementwise.sub(high, low))
    place = to_dtype(compare.select(inside, part, algebra.full_like(part, bins)), int64)
    place = compare.minimum(place, algebra.full_like(place, bins - 1))
    return _counted(compare.select(inside, place, algebra.full_like(place, bins)), bins, None, given.dtype)


# ------------------------------------------------------------------------------------------- in several dimensions


def _require_points(name, x):
    require(x.dtype in (float32, float64), name, f"input must be float32 or float64, got {shown(x)}; convert with .to(fl.float32)")
    require(x.ndim >= 2, name, f"input must have at least two dimensions, got {shown(x)}", RuntimeError if x.ndim else IndexError)


def _edges_reference(x, bins, limits=None):
    out = []
    for d, n in enumerate(bins):
        some = x[..., d].ravel()
        out.append(np.histogram_bin_edges(some, n, None if limits is None else limits[2 * d : 2 * d + 2]).astype(x.dtype))
    return tuple(out)


@composite(multi=True, reference=_edges_reference)
def bin_edges(input: Tensor, bins: Dims, limits: tuple | None = None) -> tuple:
    """For each coordinate of points (..., d) the edges of so many equal bins: between the limits (low, high, low, high ...), or its
    smallest and largest value."""
    name, x = "histogramdd", array_of(input)
    _require_points(name, x)
    d = x.shape[-1]
    require(len(bins) == d, name, f"expected a number of bins for each coordinate of input {shown(x)}, got {len(bins)}")
    require(all(n > 0 for n in bins), name, f"bins must be positive, got {bins}")
    ok = limits is None or len(limits) == 2 * d
    require(ok, name, f"range must have two numbers for each coordinate of input {shown(x)}, got {limits}")
    out = []
    for i, n in enumerate(bins):
        low, high = (None, None) if limits is None else (float(v) for v in limits[2 * i : 2 * i + 2])
        require(limits is None or low <= high, name, f"a range must not end before it begins, got [{low}, {high}] for coordinate {i}")
        low, high = _range(name, shape.part(x, x.ndim - 1, i, i + 1), low, high, 0.5)
        out.append(linspace(low, high, n + 1, dtype=x.dtype))
    return tuple(out)


def _counts_reference(x, weight, edges, density=False):
    if not x.size:
        return np.zeros([len(e) - 1 for e in edges], x.dtype)
    points = x.reshape(-1, x.shape[-1])
    return np.histogramdd(points, edges, weights=None if weight is None else weight.ravel(), density=density)[0].astype(x.dtype)


@composite(reference=_counts_reference)
def bin_counts(input: Tensor, weight: Tensor | None, edges: Tensors, density: bool = False) -> Tensor:
    """How many of the points (..., d), or how much of their weight, fall between the edges of each coordinate; the last edge belongs to
    the last bin. ``density``: over the total and the size of the bin."""
    name, x = "histogramdd", array_of(input)
    _require_points(name, x)
    d = x.shape[-1]
    require(len(edges) == d, name, f"expected edges for each coordinate of input {shown(x)}, got {len(edges)}")
    for e in edges:
        require(e.dtype is x.dtype, name, f"bins must have the dtype of input, got bins {shown(e)} and input {shown(x)}")
        require(e.ndim == 1 and e.shape[0] > 1, name, f"bins must be 1-dim, of at least two edges, got {shown(e)}")
    n = math.prod(x.shape[:-1])
    if weight is not None:
        weight = array_of(weight)
        ok = weight.shape == x.shape[:-1] and weight.dtype is x.dtype
        require(ok, name, f"weight must have the dtype of input and its shape but for the last dimension, got {shown(weight, x)}")
        weight = reshaped(weight, (n,))
    counts = tuple([e.shape[0] - 1 for e in edges])
    place, inside = create.full((n,), 0, int64), create.full((n,), True, bool_)
    for i, (e, size) in enumerate(zip(edges, counts)):
        column = reshaped(shape.part(x, x.ndim - 1, i, i + 1), (n,))
        first, last = (shape.broadcast(shape.reshape(shape.part(e, 0, k, k + 1), ()), (n,), ()) for k in (0, size))
        inside = bits.bitwise_and(inside, bits.bitwise_and(compare.ge(column, first), compare.le(column, last)))
        at = elementwise.sub(searchsorted(e, column, right=True), algebra.one_like(place))
        at = compare.minimum(at, algebra.full_like(at, size - 1))
        place = elementwise.add(elementwise.mul(place, algebra.full_like(place, size)), at)
    total = math.prod(counts)
    out = _counted(compare.select(inside, place, algebra.full_like(place, total)), total, weight, x.dtype)
    if density:
        out = elementwise.div(out, shape.broadcast(reduce.reduce_sum(out, (0,)), out.shape, ()))
    out = reshaped(out, counts)
    for i, (e, size) in enumerate(zip(edges, counts) if density else ()):
        width = elementwise.sub(shape.part(e, 0, 1, size + 1), shape.part(e, 0, 0, size))
        out = elementwise.div(out, shape.broadcast(width, counts, (i,)))
    return out


def histogramdd(input: Tensor, bins, range=None, weight: Tensor | None = None, density: bool = False) -> Histogram:
    """The histogram of points: input (..., d) holds their coordinates, which its last dimension counts. A named tuple (hist, bin_edges).

    ``bins``: how many bins each coordinate has (an int, or d of them; between the 2 d numbers of ``range``, or the smallest and
    largest value), or a sequence of d Arrays of rising edges. ``weight`` has the shape of input but for its last dimension.
    ``density``: hist is divided by its sum and the size of each bin. Points outside, and NaN, do not count. Float32 or float64.

    >>> import functorch_lite as fl
    >>> fl.histogramdd(fl.asarray([[0.0, 1.0], [2.0, 3.0]]), [2, 2]).hist.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if bins.__class__ in NUMBERS:
        bins = (bins,) * input.shape[-1] if input.ndim else (bins,)
    if all(n.__class__ in NUMBERS for n in bins):
        edges = bin_edges(input, tuple(bins), None if range is None else tuple(range))
    else:
        edges = tuple(bins)
        require(range is None, "histogramdd", f"a range goes with numbers of bins, not with edges, got {range}", TypeError)
    return Histogram(bin_counts(input, weight, edges, density), edges)


@method
def histogram(input: Tensor, bins, *, range=None, weight: Tensor | None = None, density: bool = False) -> Histogram:
    """The histogram of all elements: a named tuple (hist, bin_edges).

    ``bins``: how many (between the two numbers of ``range``, or the smallest and largest element), or the rising edges (1-dim).
    ``weight`` has the shape of input. ``density``: hist is divided by its sum and the width of each bin. Elements outside, and NaN,
    do not count; the last edge belongs to the last bin. Float32 or float64.

    >>> import functorch_lite as fl
    >>> fl.histogram(fl.asarray([1.0, 2.0, 2.0, 3.0]), 2).hist.tolist()
    [1.0, 3.0]
    """
    column = reshape(input, (-1, 1) if input.aval.size else (0, 1))
    ok = weight is None or weight.shape == input.shape
    require(ok, "histogram", f"weight must have the shape of input, got {shown(input, weight)}")
    weight = None if weight is None else reshape(weight, (-1,))
    hist, edges = histogramdd(column, (bins,), range, weight, density)
    return Histogram(hist, edges[0])


__all__ = "histc histogram histogramdd".split()

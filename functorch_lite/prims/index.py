"""Indexing prims: gather, the scatters, dynamic slices.

gather and the scatters share one description of *where*: `index` is a sequence of integer arrays of one shape I, one for each
of `dims`, the dimensions of x that they point into; then come the static parameters

    dims    the dimensions of x that are indexed
    sizes   how many elements from there on, for each of dims; 0 takes one and drops the dimension
    batch   (dims of x, dims of I) that run together: row i of I points into row i of x
    at      where the dimensions of I stand among the window's, in the result of gather and the updates of a scatter
    mode    what an index outside x means: "check" raises IndexError (unchecked under jit, and where it reaches then is undefined);
            "wrap" is "check" after a negative index has counted from the end; "clip" moves the window inside;
            "drop" reads zeros and writes nothing
    unique  a promise that no two windows overlap

The window has the other dimensions of x whole, and those of `dims` that are not dropped, in x's order. So x[i] is
gather(x, [i], (0,), (0,)), and torch.gather(x, dim, i) is take_along(x, i, dim).
"""

from __future__ import annotations

import numpy as np
from jax import lax

from ..core.aval import aval
from ..core.dtype import BOOL, INTEGER, int32
from . import algebra, compare, create, elementwise, reduce, shape
from .families import ANY, NUMERIC, ORDERED, general, linear, require, require_category

_MODES = {"check": None, "wrap": None, "clip": "clip", "drop": "fill"}
_WHERE = "dims: Dims, sizes: Dims, batch: Pairs = ((), ()), at: int = 0, mode: str = 'check', unique: bool = False"
_STATICS = 6


def _split(rest):
    """(index columns, the static parameters) of a rule's trailing arguments."""
    return rest[:-_STATICS], rest[-_STATICS:]


def _window(x, dims, sizes, batch):
    """The dimensions of x that make up the window, with their extents."""
    extent = dict(zip(dims, sizes))
    return [(d, extent.get(d, n)) for d, n in enumerate(x.shape) if d not in batch[0] and extent.get(d) != 0]


def _result_shape(name, x, index, dims, sizes, batch, at, mode, unique):
    """The shape of gather's result and of a scatter's updates."""
    require(len(index) > 0 and len(index) == len(dims) == len(sizes), name, f"expected one index array for each of dims={dims}, sizes={sizes}, got {len(index)}")
    ok = all(i.dtype.category == INTEGER for i in index) and len({i.shape for i in index}) == 1
    require(ok, name, f"index arrays must be integers of one shape, got {', '.join(map(str, index))}", IndexError)
    taken = (*dims, *batch[0])
    ok = len(set(taken)) == len(taken) and all(0 <= d < x.ndim for d in taken)
    ok = ok and all(0 <= n <= x.shape[d] for d, n in zip(dims, sizes))
    require(ok, name, f"dims={dims} with sizes={sizes}, and batch={batch}, must be distinct dimensions of {x} with windows that fit")
    ok = len(batch[0]) == len(batch[1]) and all(x.shape[i] == index[0].shape[j] for i, j in zip(*batch))
    require(ok, name, f"sizes along batch={batch} must be equal, got {x} and index {index[0]}")
    require(mode in _MODES, name, f"mode must be one of {', '.join(_MODES)}, got {mode!r}")
    window = [n for _, n in _window(x, dims, sizes, batch)]
    require(0 <= at <= len(window), name, f"at must be a position among the window's {len(window)} dimensions, got {at}")
    return (*window[:at], *index[0].shape, *window[at:])


# --------------------------------------------------------------------------------------------------------- lowering


def _columns(x, index, dims, mode):
    """The index arrays as lax takes them: stacked along a new last dimension."""
    wide = any(i.dtype.itemsize == 8 or i.dtype == np.uint32 for i in index)
    index = [lax.convert_element_type(i, np.int64 if wide else np.int32) for i in index]
    if mode == "wrap":
        index = [lax.select(i < 0, i + x.shape[d], i) for i, d in zip(index, dims)]
    return lax.concatenate([lax.expand_dims(i, (i.ndim,)) for i in index], index[0].ndim)


def _layout(x, rank, dims, sizes, batch, at):
    """(window's positions in the result, dropped dims, dims, dims of x and of I that run together) for lax."""
    window = len(_window(x, dims, sizes, batch))
    offsets = (*range(at), *range(at + rank, window + rank))
    pairs = sorted(zip(*batch))
    dropped = tuple(sorted(d for d, n in zip(dims, sizes) if n == 0))
    return offsets, dropped, tuple(dims), tuple([i for i, _ in pairs]), tuple([j for _, j in pairs])


def _gather_impl(x, *rest):
    index, (dims, sizes, batch, at, mode, unique) = _split(rest)
    whole = dict(zip(dims, [n or 1 for n in sizes])) | dict.fromkeys(batch[0], 1)
    out = _result_shape("gather", x, index, dims, sizes, batch, at, mode, unique) if x.size == 0 else ()
    if x.size == 0:
        return lax.full(out, 0, x.dtype)
    layout = lax.GatherDimensionNumbers(*_layout(x, index[0].ndim, dims, sizes, batch, at))
    slices = tuple([whole.get(d, n) for d, n in enumerate(x.shape)])
    return lax.gather(x, _columns(x, index, dims, mode), layout, slices, unique_indices=unique, mode=_MODES[mode] or "promise_in_bounds", fill_value=0)


def _scatter_impl(scatter):
    def impl(x, updates, *rest):
        index, (dims, sizes, batch, at, mode, unique) = _split(rest)
        if x.size == 0 or updates.size == 0:
            return x
        layout = lax.ScatterDimensionNumbers(*_layout(x, index[0].ndim, dims, sizes, batch, at))
        how = {"unique_indices": unique, "mode": _MODES[mode] or "promise_in_bounds"}
        return scatter(x, _columns(x, index, dims, mode), updates, layout, **how)

    return impl


def _checks(first):
    """What an index must keep to; `first` is the position of the index arrays among the arguments."""

    def checks(x, *rest):
        index, (dims, sizes, _, _, mode, _) = _split(rest[first - 1 :])
        if mode not in ("check", "wrap"):
            return []
        out = []
        for i, d, n in zip(index, dims, sizes):
            if i.size:
                size, wide = x.shape[d], lax.convert_element_type(i, np.int64)
                last = size - max(n, 1)
                bad = lax.bitwise_or(lax.lt(wide, lax.full_like(wide, -size if mode == "wrap" else 0)), lax.gt(wide, lax.full_like(wide, last)))
                ok = lax.bitwise_not(lax.reduce(bad, np.bool_(False), lax.bitwise_or, tuple(range(bad.ndim))))
                out.append((ok, IndexError, f"index out of bounds for dimension {d} with size {size}"))
        return out

    return checks


# --------------------------------------------------------------------------------------------------------- batching


def _batched(size, x, dx, index, d_index, dims, sizes, batch, at, mode, unique):
    """The index arrays and parameters of the batched op, and its window's and I's batch dimension: (index, parameters, where the
    batch stands in the result)."""
    fx = (lambda d: d) if dx is None else lambda d: d + (d >= dx)
    new_dims, bx = tuple(map(fx, dims)), tuple(map(fx, batch[0]))
    if all(d is None for d in d_index):
        before = sum(1 for d, _ in _window(x, new_dims, sizes, (bx, batch[1])) if d < dx)
        rank = index[0].ndim
        new_at = at + (before < at)
        return index, (new_dims, sizes, (bx, batch[1]), new_at, mode, unique), before if before < new_at else before + rank
    index = [algebra.front(size, i, d) for i, d in zip(index, d_index)]
    bi = tuple([j + 1 for j in batch[1]])
    pairs = (bx, bi) if dx is None else ((dx, *bx), (0, *bi))
    return index, (new_dims, sizes, pairs, at, mode, unique), at


def _gather_batch(size, args, dims, *params):
    (x, *index), (dx, *d_index) = args, dims
    index, params, out = _batched(size, x, dx, index, d_index, *params)
    return gather(x, index, *params), out


def _scatter_batch(op_of):
    def batch(size, args, dims, *params):
        (x, updates, *index), (dx, du, *d_index) = args, dims
        if dx is None:
            x, dx = algebra.expand(x, size), 0
        index, params, out = _batched(size, x, dx, index, d_index, *params)
        updates = algebra.expand(updates, size, out) if du is None else algebra.move(updates, du, out)
        return op_of()(x, updates, index, *params), dx

    return batch


# ----------------------------------------------------------------------------------------------------------- gather


def _gather_meta(x, *rest):
    index, where = _split(rest)
    return aval(_result_shape("gather", x, index, *where), x.dtype)


def _gather_transpose(ct, x, *rest):
    index, where = _split(rest)
    return (scatter_add(algebra.zeros(x.aval), ct, index, *where), *(None,) * len(index))


def _rows(x, ndarrays, dims, sizes, batch, at, mode, unique):
    """For each position of I that reaches into x: (its place in the result, its window in x), as NumPy indices."""
    index = [i.astype(np.int64) for i in ndarrays]
    window = [n for _, n in _window(x, dims, sizes, batch)]
    for where in np.ndindex(index[0].shape):
        spot = [slice(None)] * x.ndim
        for i, j in zip(*batch):
            spot[i] = where[j]
        inside = True
        for i, d, n in zip(index, dims, sizes):
            start, last = int(i[where]), x.shape[d] - max(n, 1)
            start += x.shape[d] if mode == "wrap" and start < 0 else 0
            start = min(max(start, 0), last) if mode == "clip" else start
            inside &= 0 <= start <= last
            spot[d] = slice(start, start + n) if n else start
        if inside:
            yield (*[slice(None)] * at, *where, *[slice(None)] * (len(window) - at)), tuple(spot)


def _gather_reference(x, *rest):
    index, where = _split(rest)
    out = np.zeros(_result_shape("gather", x, [aval_like(i) for i in index], *where), x.dtype)
    for place, spot in _rows(x, index, *where):
        out[place] = x[spot]
    return out


gather = linear(
    "gather",
    f"x: Tensor, index: Tensors, {_WHERE}",
    impl=_gather_impl,
    meta=_gather_meta,
    transpose=_gather_transpose,
    batch=_gather_batch,
    checks=_checks(1),
    reference=_gather_reference,
    doc="The windows of x that start at index; prims/index.py describes the parameters.",
)

"""Where gather reads and the scatters write.

They share one description of *where*: `index` is a sequence of integer arrays of one shape I, one for each
of `dims`, the dimensions of x that they point into; then come the static parameters

    dims    the dimensions of x that are indexed
    sizes   how many elements from there on, for each of dims; 0 takes one and drops the dimension
    batch   (dims of x, dims of I) that run together: row i of I points into row i of x
    at      where the dimensions of I stand among the window's, in the result of gather and the updates of a scatter
    mode    what an index outside x means: "check" raises IndexError (unchecked under jit, and where it reaches then is undefined);
            "wrap" does so after a negative index has counted from the end; "clip" moves the window inside; "drop" reads zeros
            and writes nothing; "inside" is a promise that there is none
    unique  a promise that no two windows overlap

The window has the other dimensions of x whole, and those of `dims` that are not dropped, in x's order. So x[i] is
gather(x, [i], (0,), (0,)), and torch.gather(x, dim, i) is take_along(x, i, dim).
"""

from __future__ import annotations

import jax
import numpy as np
from jax import lax

from ..core.dtype import INTEGER
from . import algebra
from .families import require

MODES = {"check": None, "inside": None, "wrap": None, "clip": "clip", "drop": "fill"}
WHERE = "dims: Dims, sizes: Dims, batch: Pairs = ((), ()), at: int = 0, mode: str = 'check', unique: bool = False"
_STATICS = 6


def split(rest):
    """(index columns, the static parameters) of a rule's trailing arguments."""
    return rest[:-_STATICS], rest[-_STATICS:]


def _window(x, dims, sizes, batch):
    """The dimensions of x that make up the window, with their extents."""
    extent = dict(zip(dims, sizes))
    return [(d, extent.get(d, n)) for d, n in enumerate(x.shape) if d not in batch[0] and extent.get(d) != 0]


def result_shape(x, rows_shape, dims, sizes, batch=((), ()), at=0, *_):
    """The shape of gather's result and of a scatter's updates, for index arrays of this shape."""
    window = [n for _, n in _window(x, dims, sizes, batch)]
    return (*window[:at], *rows_shape, *window[at:])


def where_ok(name, x, index, dims, sizes, batch, at, mode, unique):
    """Raises for a description that makes no sense; gives the shape of gather's result."""
    ok = 0 < len(index) == len(dims) == len(sizes)
    require(ok, name, f"expected an index array for each of dims={dims}, sizes={sizes}, got {len(index)}")
    ok = all(i.dtype.category == INTEGER for i in index) and len({i.shape for i in index}) == 1
    require(ok, name, f"index arrays must be integers of one shape, got {', '.join(map(str, index))}", IndexError)
    taken = (*dims, *batch[0])
    ok = len(set(taken)) == len(taken) and all(0 <= d < x.ndim for d in taken) and all(0 <= n <= x.shape[d] for d, n in zip(dims, sizes))
    require(ok, name, f"dims={dims} with sizes={sizes}, and batch={batch}, must be distinct dimensions of {x}, with windows that fit")
    ok = len(batch[0]) == len(batch[1]) and all(x.shape[i] == index[0].shape[j] for i, j in zip(*batch))
    require(ok, name, f"sizes along batch={batch} must be equal, got {x} and index {index[0]}")
    require(mode in MODES, name, f"mode must be one of {', '.join(MODES)}, got {mode!r}")
    require(0 <= at <= len(_window(x, dims, sizes, batch)), name, f"at must be a position among the window's dimensions, got {at}")
    return result_shape(x, index[0].shape, dims, sizes, batch, at)


# --------------------------------------------------------------------------------------------------------- lowering


def columns(x, index, dims, mode):
    """The index arrays as lax takes them: int32, stacked along a new last dimension."""
    index = [_counted(i, x.shape[d], mode) for i, d in zip(index, dims)]
    if all(isinstance(i, np.ndarray) for i in index):
        return np.stack(index, -1)
    return lax.concatenate([lax.expand_dims(i, (i.ndim,)) for i in index], index[0].ndim)


def _counted(index, size, mode):
    index = narrow(index, -size - 1, size)
    if mode == "wrap" and isinstance(index, np.ndarray):
        return np.where(index < 0, index + np.int32(size), index)
    return lax.select(index < 0, index + size, index) if mode == "wrap" else index


def one_window(x, index, dims, sizes, batch, mode):
    """(starts, its shape in x) if all of index is one window, else None. XLA makes better code of dynamic slices then; and of a gather,
    an elementwise op and a scatter at one index its CPU compiler (jax 0.10.2) has made wrong code."""
    if batch[0] or mode == "drop" or index[0].size != 1 or x.size == 0:
        return None
    starts = {d: _counted(lax.reshape(i, ()), x.shape[d], mode) for i, d in zip(index, dims)}
    extents = {d: n or 1 for d, n in zip(dims, sizes)}
    return [starts.get(d, np.int32(0)) for d in range(x.ndim)], tuple([extents.get(d, n) for d, n in enumerate(x.shape)])


def narrow(index, low: int, high: int):
    """An index as int32; one that could be beyond is clamped to [low, high] first, where what is out of range stays so. One that is known
    gives a NumPy array, which is a constant of the program."""
    if not isinstance(index, jax.core.Tracer):
        known = np.asarray(index)
        known = np.minimum(known, np.uint64(high)) if known.dtype == np.uint64 else known
        return np.clip(known.astype(np.int64), low, high).astype(np.int32)
    if index.dtype == np.uint64:
        index = lax.min(index, np.uint64(high))
    if index.dtype.itemsize == 8 or index.dtype == np.uint32:
        index = lax.clamp(np.int64(low), lax.convert_element_type(index, np.int64), np.int64(high))
    return lax.convert_element_type(index, np.int32)


def layout_of(x, rank, dims, sizes, batch, at):
    """(window's positions in the result, dropped dims, dims, dims of x and of I that run together) for lax."""
    window = len(_window(x, dims, sizes, batch))
    offsets = (*range(at), *range(at + rank, window + rank))
    pairs = sorted(zip(*batch))
    dropped = tuple(sorted(d for d, n in zip(dims, sizes) if n == 0))
    return offsets, dropped, tuple(dims), tuple([i for i, _ in pairs]), tuple([j for _, j in pairs])


def checks_of(first):
    """What an index must keep to; `first` is the position of the index arrays among the arguments."""

    def checks(x, *rest):
        index, (dims, sizes, _, _, mode, _) = split(rest[first - 1 :])
        if mode not in ("check", "wrap"):
            return []
        return [_inside(i, x.shape[d], max(n, 1), d, mode) for i, d, n in zip(index, dims, sizes) if i.size]

    return checks


def _inside(index, size, extent, dim, mode):
    """Whether every element is in range, else the first that is not."""
    index = lax.reshape(lax.convert_element_type(index, np.int64), (index.size,))
    low, high = np.int64(-size if mode == "wrap" else 0), np.int64(size - extent)
    bad = lax.bitwise_or(lax.lt(index, low), lax.gt(index, high))
    ok = lax.bitwise_not(lax.reduce(bad, np.bool_(False), lax.bitwise_or, (0,)))
    first = lax.dynamic_index_in_dim(index, lax.argmax(bad, 0, np.int32), keepdims=False)
    return ok, IndexError, f"index {{}} is out of bounds for dimension {dim} with size {size}", first


# --------------------------------------------------------------------------------------------------------- batching


def batched(size, x, dx, index, d_index, dims, sizes, batch, at, mode, unique):
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
    if dx is None:  # windows of different rows may overlap in the one x
        return index, (new_dims, sizes, (bx, bi), at, mode, False), at
    return index, (new_dims, sizes, ((dx, *bx), (0, *bi)), at, mode, unique), at


def along(ndim: int, dim: int, mode: str, unique: bool):
    """The parameters by which an index array of x's rank points along one dimension."""
    others = tuple([d for d in range(ndim) if d != dim])
    return (dim,), (0,), (others, others), 0, mode, unique


# -------------------------------------------------------------------------------------------------- NumPy reference


def rows(x, ndarrays, dims, sizes, batch=((), ()), at=0, mode="check", unique=False):
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

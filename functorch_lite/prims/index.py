"""Indexing prims: gather and dynamic slices. (The scatters, which write where gather reads, are in scatters.py.)"""

from __future__ import annotations

import numpy as np
from jax import lax

from ..core.aval import aval
from ..core.dtype import INTEGER
from . import algebra, create, scatters
from .families import linear, require
from .places import MODES, WHERE, along, batched, checks_of, columns, layout_of, narrow, one_window, result_shape, rows, split, where_ok

# ----------------------------------------------------------------------------------------------------------- gather


def gather_impl(x, *rest):
    index, (dims, sizes, batch, at, mode, unique) = split(rest)
    whole = dict(zip(dims, [n or 1 for n in sizes])) | dict.fromkeys(batch[0], 1)
    if x.size == 0:
        return lax.full(result_shape(x, index[0].shape, dims, sizes, batch, at), 0, x.dtype)
    if (window := one_window(x, index, dims, sizes, batch, mode)) is not None:
        return lax.reshape(lax.dynamic_slice(x, *window), result_shape(x, index[0].shape, dims, sizes, batch, at))
    layout = lax.GatherDimensionNumbers(*layout_of(x, index[0].ndim, dims, sizes, batch, at))
    slices = tuple([whole.get(d, n) for d, n in enumerate(x.shape)])
    return lax.gather(
        x, columns(x, index, dims, mode), layout, slices, unique_indices=unique, mode=MODES[mode] or "promise_in_bounds", fill_value=0
    )


def _gather_meta(x, *rest):
    index, where = split(rest)
    return aval(where_ok("gather", x, index, *where), x.dtype)


def _gather_transpose(ct, x, *rest):
    index, where = split(rest)
    return (scatters.scatter_add(algebra.zeros(x.aval), ct, index, *where), *(None,) * len(index))


def _gather_batch(size, args, dims, *params):
    (x, *index), (dx, *d_index) = args, dims
    index, params, out = batched(size, x, dx, index, d_index, *params)
    return gather(x, index, *params), out


def _gather_reference(x, index, *where):
    out = np.zeros(result_shape(x, index[0].shape, *where), x.dtype)
    for place, spot in rows(x, index, *where):
        out[place] = x[spot]
    return out


gather = linear(
    "gather",
    f"x: Tensor, index: Tensors, {WHERE}",
    impl=gather_impl,
    meta=_gather_meta,
    transpose=_gather_transpose,
    batch=_gather_batch,
    checks=checks_of(1),
    traits={"reads": 1},
    reference=_gather_reference,
    doc="The windows of x that start at index; prims/places.py describes the parameters.",
)


def take_along(x, index, dim: int, mode: str = "check", unique: bool = False):
    """x at `index` along one dimension; their other sizes are equal."""
    return gather(x, [index], *along(x.ndim, dim, mode, unique))


# --------------------------------------------------------------------------------------------------- dynamic slices


def _starts_ok(name, x, starts):
    ok = len(starts) == x.ndim and all(s.shape == () and s.dtype.category == INTEGER for s in starts)
    require(ok, name, f"expected one integer scalar a dimension of {x} as starts, got {', '.join(map(str, starts))}", TypeError)


def _int32(x, starts, sizes):
    """lax takes starts of one dtype of 32 bits."""
    return [narrow(s, 0, m - n) for s, m, n in zip(starts, x.shape, sizes)]


def _windowed(x, starts, sizes, d):
    """The index arrays and parameters by which gather and scatter do what a dynamic slice does a row, or None where it takes x whole.
    d is x's batch dimension."""
    dims = [i for i, (n, m) in enumerate(zip(sizes, algebra.without(x.aval, d).shape if d is not None else x.shape)) if n != m]
    at_x = tuple([i + (d is not None and i >= d) for i in dims])
    batch = ((), ()) if d is None else ((d,), (0,))
    return [starts[i] for i in dims], (at_x, tuple([sizes[i] for i in dims]), batch, 0, "clip", d is not None)


def _dynamic_slice_meta(x, *rest):
    *starts, sizes = rest
    _starts_ok("dynamic_slice", x, starts)
    ok = len(sizes) == x.ndim and all(0 <= n <= m for n, m in zip(sizes, x.shape))
    require(ok, "dynamic_slice", f"sizes must be at most the shape of {x}, got {sizes}")
    return aval(tuple(sizes), x.dtype)


def _dynamic_slice_transpose(ct, x, *rest):
    starts = rest[:-1]
    return (dynamic_update_slice(algebra.zeros(x.aval), ct, starts), *(None,) * len(starts))


def _dynamic_slice_batch(size, args, dims, sizes):
    (x, *starts), (d, *d_starts) = args, dims
    if all(s is None for s in d_starts):
        starts.insert(d, algebra.zero_index())
        return dynamic_slice(x, starts, (*sizes[:d], size, *sizes[d:])), d
    if 0 in sizes:
        return create.full((size, *sizes), 0, x.dtype), 0
    index, where = _windowed(x, [algebra.front(size, s, e) for s, e in zip(starts, d_starts)], sizes, d)
    return (gather(x, index, *where), 0) if index else (x, d)


dynamic_slice = linear(
    "dynamic_slice",
    "x: Tensor, starts: Tensors, sizes: Shape",
    impl=lambda x, *rest: lax.dynamic_slice(x, _int32(x, rest[:-1], rest[-1]), rest[-1], allow_negative_indices=False),
    meta=_dynamic_slice_meta,
    transpose=_dynamic_slice_transpose,
    batch=_dynamic_slice_batch,
    reference=lambda x, starts, sizes: x[_block(x, starts, sizes)],
    doc="The block of these sizes that starts at `starts` (integer scalars), moved inside x where it would leave it.",
)


def _block(x, starts, sizes):
    starts = [min(max(int(s), 0), m - n) for s, m, n in zip(starts, x.shape, sizes)]
    return tuple([slice(s, s + n) for s, n in zip(starts, sizes)])


def _update_meta(x, update, *starts):
    _starts_ok("dynamic_update_slice", x, starts)
    ok = update.dtype is x.dtype and update.ndim == x.ndim and all(n <= m for n, m in zip(update.shape, x.shape))
    require(ok, "dynamic_update_slice", f"update must have the dtype of {x} and fit into it, got {update}")
    return aval(x.shape, x.dtype)


def _update_transpose(ct, x, update, *starts):
    to_x = dynamic_update_slice(ct, algebra.zeros(aval(update.shape, ct.dtype)), starts) if algebra.wanted(x) else None
    return (to_x, dynamic_slice(ct, starts, update.shape) if algebra.wanted(update) else None, *(None,) * len(starts))


def _update_batch(size, args, dims):
    (x, update, *starts), (d, du, *d_starts) = args, dims
    if d is None:
        x, d = algebra.expand(x, size), 0
    if all(s is None for s in d_starts):
        update = algebra.expand(update, size, d) if du is None else algebra.move(update, du, d)
        starts.insert(d, algebra.zero_index())
        return dynamic_update_slice(x, update, starts), d
    update = algebra.front(size, update, du)
    if 0 in update.shape:
        return x, d
    index, where = _windowed(x, [algebra.front(size, s, e) for s, e in zip(starts, d_starts)], update.shape[1:], d)
    return (scatters.scatter(x, update, index, *where), d) if index else (update, 0)


def _update_reference(x, update, starts):
    out = x.copy()
    out[_block(x, starts, update.shape)] = update
    return out


dynamic_update_slice = linear(
    "dynamic_update_slice",
    "x: Tensor, update: Tensor, starts: Tensors",
    impl=lambda x, update, *starts: lax.dynamic_update_slice(x, update, _int32(x, starts, update.shape), allow_negative_indices=False),
    meta=_update_meta,
    transpose=_update_transpose,
    batch=_update_batch,
    over=(0, 1),
    reference=_update_reference,
    doc="x with the block that starts at `starts` (integer scalars) replaced by update; moved inside x where it would leave it.",
)

"""Prims that rearrange elements."""

from __future__ import annotations

import math

import numpy as np
from jax import lax

from ..core.aval import aval
from ..core.dtype import bool_
from . import algebra, compare, create, orders, reduce
from .families import DIM, DIMS, SAME, SIZES, dims_batch, each, linear, require

# ------------------------------------------------------------------------------------------------------- broadcast


def _broadcast_meta(x, shape, dims):
    ok = len(dims) == x.ndim and all(b > a for a, b in zip(dims, dims[1:])) and all(0 <= d < len(shape) for d in dims)
    require(ok, "broadcast", f"dims must name a rising output dimension for each of {x}, got shape={shape}, dims={dims}")
    ok = all(n == shape[d] or n == 1 for n, d in zip(x.shape, dims))
    require(ok, "broadcast", f"cannot broadcast {x} to {shape} along {dims}: each size must be equal or 1")
    return aval(shape, x.dtype)


def _broadcast_transpose(ct, x, shape, dims):
    new = [d for d in range(len(shape)) if d not in dims]
    stretched = [d for n, d in zip(x.shape, dims) if n == 1 and shape[d] != 1]
    ct = reduce.reduce_sum(ct, tuple(sorted(new + stretched))) if new or stretched else ct
    return (ct if ct.shape == x.shape else reshape(ct, x.shape),)


def _broadcast_batch(size, args, dims, shape, where):
    (x,), (d,) = args, dims
    return broadcast(algebra.move(x, d, 0), (size, *shape), (0, *(i + 1 for i in where))), 0


broadcast = linear(
    "broadcast",
    "x: Tensor, shape: Shape, dims: Dims",
    impl=lambda x, shape, dims: lax.broadcast_in_dim(x, shape, dims),
    meta=_broadcast_meta,
    transpose=_broadcast_transpose,
    batch=_broadcast_batch,
    reference=lambda x, shape, dims: np.broadcast_to(
        x.reshape([x.shape[dims.index(i)] if i in dims else 1 for i in range(len(shape))]), shape
    ),
    doc="Repeats x along new dimensions and those of size 1: dimension i of x becomes dimension dims[i] of the result.",
)

# --------------------------------------------------------------------------------------------------------- permute


def _permute_meta(x, dims):
    require(sorted(dims) == list(range(x.ndim)), "permute", f"dims must name each dimension of {x} once, got {dims}")
    return aval(tuple([x.shape[d] for d in dims]), x.dtype)


def inverse(order):
    out = [0] * len(order)
    for i, d in enumerate(order):
        out[d] = i
    return tuple(out)


def _permute_batch(size, args, dims, order):
    (x,), (d,) = args, dims
    return permute(x, (d, *(i + (i >= d) for i in order))), 0


permute = linear(
    "permute",
    "x: Tensor, dims: Dims",
    impl=lax.transpose,
    meta=_permute_meta,
    transpose=lambda ct, x, dims: (permute(ct, inverse(dims)),),
    batch=_permute_batch,
    reference=np.transpose,
    traits={"ordered": orders.permuted},
    doc="x with its dimensions in another order.",
)

# --------------------------------------------------------------------------------------------------------- reshape


def _reshape_meta(x, shape):
    require(math.prod(shape) == x.size, "reshape", f"{x} has {x.size} elements, shape {list(shape)} has {math.prod(shape)}", RuntimeError)
    return aval(shape, x.dtype)


reshape = linear(
    "reshape",
    "x: Tensor, shape: Shape",
    impl=lambda x, shape: lax.reshape(x, shape),
    meta=_reshape_meta,
    transpose=lambda ct, x, shape: (reshape(ct, x.shape),),
    batch=lambda size, args, dims, shape: (reshape(algebra.move(args[0], dims[0], 0), (size, *shape)), 0),
    reference=np.reshape,
    traits={"ordered": orders.reshaped},
    doc="The same elements in row-major order under another shape.",
)

# ------------------------------------------------------------------------------------------------------------ flip


def _flip_meta(x, dims):
    require(
        len(set(dims)) == len(dims) and all(0 <= d < x.ndim for d in dims),
        "flip",
        f"dims must be distinct dimensions of {x}, got {dims}",
        IndexError,
    )
    return aval(x.shape, x.dtype)


flip = linear(
    "flip",
    "x: Tensor, dims: Dims",
    impl=lax.rev,
    meta=_flip_meta,
    transpose=lambda ct, x, dims: (flip(ct, dims),),
    batch=dims_batch(lambda: flip, DIMS),
    reference=np.flip,
    traits={"ordered": orders.along(lax.rev)},
    doc="x in reverse order along dims.",
)

# ----------------------------------------------------------------------------------------------------------- slice


def _slice_meta(x, starts, limits, strides):
    ok = len(starts) == len(limits) == len(strides) == x.ndim
    ok = ok and all(0 <= a <= b <= n and s > 0 for a, b, s, n in zip(starts, limits, strides, x.shape))
    require(
        ok,
        "slice",
        f"expected 0 <= start <= limit <= size and stride > 0 along each dimension of {x}, got {starts=}, {limits=}, {strides=}",
    )
    return aval(tuple([-(-(b - a) // s) for a, b, s in zip(starts, limits, strides)]), x.dtype)


def _slice_transpose(ct, x, starts, limits, strides):
    high = [n - a - extent(m, s) for n, m, a, s in zip(x.shape, ct.shape, starts, strides)]
    return (pad(ct, algebra.zeros(aval((), ct.dtype)), starts, tuple(high), tuple([s - 1 for s in strides])),)


def extent(n: int, stride: int) -> int:
    """The extent of n elements that are `stride` apart."""
    return (n - 1) * stride + 1 if n else 0


def insert(at: int, value: int, *each):
    """Each tuple with `value` put in at position `at`: a window's numbers with those of a batch dimension."""
    return [(*t[:at], value, *t[at:]) for t in each]


slice_ = linear(
    "slice",
    "x: Tensor, starts: Dims, limits: Dims, strides: Dims",
    impl=lax.slice,
    traits={
        "ordered": orders.per_dim(lax.slice, 3),
        "block": lambda shape, rest, starts, limits, strides: (starts, limits) if all(s == 1 for s in strides) else None,
    },
    meta=_slice_meta,
    transpose=_slice_transpose,
    batch=dims_batch(lambda: slice_, each(0), SIZES, each(1)),
    reference=lambda x, starts, limits, strides: x[tuple(map(slice, starts, limits, strides))],
    doc="Every strides[i]-th element from starts[i] up to limits[i], along each dimension i.",
)

# ------------------------------------------------------------------------------------------------------------- pad


def _pad_meta(x, value, low, high, interior):
    require(value.shape == () and value.dtype is x.dtype, "pad", f"value must be a scalar of the dtype of {x}, got {value}", TypeError)
    ok = len(low) == len(high) == len(interior) == x.ndim and all(i >= 0 for i in interior)
    sizes = [a + extent(n, i + 1) + b for n, a, b, i in zip(x.shape, low, high, interior)] if ok else [-1]
    require(
        min(sizes, default=0) >= 0,
        "pad",
        f"expected padding of each dimension of {x} that leaves no negative size, got {low=}, {high=}, {interior=}",
    )
    return aval(tuple(sizes), x.dtype)


def _pad_impl(x, value, low, high, interior):
    return lax.pad(x, value, tuple(zip(low, high, interior)))


def _pad_transpose(ct, x, value, low, high, interior):
    """What padding put around x is cut off again; value's cotangent is the sum of that."""
    nothing = algebra.zeros(aval((), ct.dtype))
    to_x = to_value = None
    if algebra.wanted(x):
        inner = pad(ct, nothing, tuple([-n for n in low]), tuple([-n for n in high]), (0,) * ct.ndim)
        to_x = inner if inner.shape == x.shape else slice_(inner, (0,) * ct.ndim, inner.shape, tuple([i + 1 for i in interior]))
    if algebra.wanted(value):
        outside = pad(create.full(x.shape, False, bool_), create.full((), True, bool_), low, high, interior)
        to_value = reduce.reduce_sum(compare.select(outside, ct, algebra.zeros(ct.aval)), tuple(range(ct.ndim)))
    return to_x, to_value


def _pad_batch(size, args, dims, low, high, interior):
    (x, value), (d, dv) = args, dims
    if dv is None:
        return pad(x, value, *insert(d, 0, low, high, interior)), d
    padding = insert(0, 0, low, high, interior)
    outside = pad(
        create.full((1, *x.shape) if d is None else (1, *algebra.without(x.aval, d).shape), False, bool_),
        create.full((), True, bool_),
        *padding,
    )
    padded = pad(algebra.front(size, x, d), algebra.zeros(aval((), x.dtype)), *padding)
    every = tuple(range(padded.ndim))
    return compare.select(broadcast(outside, padded.shape, every), broadcast(value, padded.shape, (0,)), padded), 0


pad = linear(
    "pad",
    "x: Tensor, value: Tensor, low: Dims, high: Dims, interior: Dims",
    impl=_pad_impl,
    traits={"ordered": orders.per_dim(_pad_impl, 3)},
    meta=_pad_meta,
    transpose=_pad_transpose,
    batch=_pad_batch,
    over=None,
    reference=lambda *args: _pad_reference(*args),
    doc="x with `value` before (low), behind (high) and between (interior) its elements; a negative number cuts off.",
)


def _pad_reference(x, value, low, high, interior):
    wide = np.full([max(a, 0) + extent(n, i + 1) + max(b, 0) for n, a, b, i in zip(x.shape, low, high, interior)], value, x.dtype)
    wide[tuple([slice(max(a, 0), max(a, 0) + extent(n, i + 1), i + 1) for n, a, i in zip(x.shape, low, interior)])] = x
    return wide[tuple([slice(max(-a, 0), n - max(-b, 0)) for n, a, b in zip(wide.shape, low, high)])]


# ----------------------------------------------------------------------------------------------------- concatenate


def _concatenate_meta(*rest):
    *xs, dim = rest
    require(len(xs) > 0, "concatenate", "expected at least one array")
    first = xs[0]
    require(0 <= dim < first.ndim, "concatenate", f"dim must be a dimension of {first}, got {dim}", IndexError)
    rest = [(*x.shape[:dim], *x.shape[dim + 1 :]) for x in xs]
    ok = all(x.dtype is first.dtype and x.ndim == first.ndim and r == rest[0] for x, r in zip(xs, rest))
    require(ok, "concatenate", f"expected equal dtypes and shapes, except along dim={dim}, got {', '.join(map(str, xs))}", RuntimeError)
    return aval((*first.shape[:dim], sum(x.shape[dim] for x in xs), *first.shape[dim + 1 :]), first.dtype)


def _concatenate_transpose(ct, *rest):
    *xs, dim = rest
    cts, start = [], 0
    for x in xs:
        end = start + x.shape[dim]
        cts.append(part(ct, dim, start, end) if algebra.wanted(x) else None)
        start = end
    return tuple(cts)


def _pieces_meta(x, ends, dim):
    require(0 <= dim < x.ndim, "pieces", f"dim must be a dimension of {x}, got {dim}", IndexError)
    rising = all(a <= b for a, b in zip((0, *ends), ends)) and (ends or (0,))[-1] == x.shape[dim]
    require(rising, "pieces", f"ends must rise to the size of {x} along dim={dim}, got {ends}")
    return tuple([aval((*x.shape[:dim], end - start, *x.shape[dim + 1 :]), x.dtype) for start, end in zip((0, *ends), ends)])


def _pieces_transpose(cts, x, ends, dim):
    cts = [algebra.zeros(a) if ct is None else ct for ct, a in zip(cts, _pieces_meta(x.aval, ends, dim))]
    return (concatenate(cts, dim),)


pieces = linear(
    "pieces",
    "x: Tensor, ends: Dims, dim: int",
    multi=True,
    impl=lambda x, ends, dim: tuple([lax.slice_in_dim(x, start, end, axis=dim) for start, end in zip((0, *ends), ends)]),
    meta=_pieces_meta,
    transpose=_pieces_transpose,
    batch=dims_batch(lambda: pieces, SAME, DIM),
    reference=lambda x, ends, dim: tuple(np.split(x, ends[:-1], dim)),
    doc="x cut along dim at these rising positions, the last of which is its size. In reverse the pieces are joined (a slice each would be "
    "padded, and the paddings added: four times as slow).",
)


def part(x, dim: int, start: int, limit: int):
    """x from `start` up to `limit` along one dimension."""
    return slice_(x, (*(0,) * dim, start, *(0,) * (x.ndim - dim - 1)), (*x.shape[:dim], limit, *x.shape[dim + 1 :]), (1,) * x.ndim)


concatenate = linear(
    "concatenate",
    "operands: Tensors, dim: int",
    impl=lambda *rest: lax.concatenate(rest[:-1], rest[-1]),
    meta=_concatenate_meta,
    transpose=_concatenate_transpose,
    batch=dims_batch(lambda: concatenate, DIM),
    over=None,
    reference=np.concatenate,
    traits={"ordered": orders.concatenated},
    doc="The operands one behind the other along dim.",
)

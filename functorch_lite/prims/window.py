"""Prims that combine sliding windows: what pooling is made of.

A window has `window[d]` elements, `window_dilation[d]` apart, along each dimension d of x; it advances by `strides[d]`. Before,
`base_dilation[d] - 1` neutral elements are put between those of x, and padding[d] = (low, high) of them around (negative: cut off).
"""

from __future__ import annotations

import functools
import math

import numpy as np
from jax import lax

from ..core.aval import aval
from ..core.dtype import int32
from . import algebra, index, orders, shape
from .families import DIMS, NUMERIC, ORDERED, dims_batch, general, linear, require, require_category, zero
from .reduce import flatten, limit
from .window_choice import window_pick, window_winner
from .window_spec import SPEC, SPEC_KINDS, counts_of, dilated, padded_shape, spec_ok, windows

_COMPARED = 16  # elements of a window up to which a gradient is a selection for each
_UNROLLED = 64  # elements of a window up to which a program has a term for each; a larger window is a loop over them


def _meta(name, categories):
    def meta(x, *spec):
        require_category(name, [x], categories)
        spec_ok(name, x, *spec)
        return aval(counts_of(x, *spec), x.dtype)

    return meta


def _batch(op_of):
    return dims_batch(op_of, *SPEC_KINDS)


# --------------------------------------------------------------------------------------------------------- lowering


def _fold(arrays, counts, window, strides, dilation, term, combine):
    """combine(..., term(arrays at one element of each window)) over the elements of the windows, in row-major order."""
    spans = [shape.extent(n, s) for n, s in zip(counts, strides)]

    def at(offset):
        blocks = [lax.dynamic_slice(a, offset, spans, allow_negative_indices=False) for a in arrays]
        return term(*[lax.slice(b, [0] * b.ndim, b.shape, strides) for b in blocks])

    if math.prod(window) <= _UNROLLED:
        out = None
        for element in np.ndindex(*window):
            new = at([np.int32(e * d) for e, d in zip(element, dilation)])
            out = new if out is None else combine(out, new)
        return out

    def step(number, out):
        offset, rest = [], lax.convert_element_type(number, np.int32)
        for n, d in zip(reversed(window), reversed(dilation)):
            offset.insert(0, lax.rem(rest, np.int32(n)) * np.int32(d))
            rest = lax.div(rest, np.int32(n))
        return combine(out, at(offset))

    return lax.fori_loop(1, math.prod(window), step, at([np.int32(0)] * len(window)))


def _impl(combine, neutral):
    def impl(x, window, strides, padding, base_dilation, window_dilation):
        counts = counts_of(x, window, strides, padding, base_dilation, window_dilation)
        if 0 in counts:
            return lax.full(counts, 0, x.dtype)
        x = lax.pad(x, neutral(x.dtype), [(low, high, d - 1) for (low, high), d in zip(padding, base_dilation)])
        return _fold([x], counts, window, strides, window_dilation, lambda x: x, combine)

    return impl


def _reference(reduction, neutral):
    def reference(x, *spec):
        out = np.empty(counts_of(x, *spec), x.dtype)
        for place, elements in windows(dilated(x, neutral(x.dtype), *spec), *spec):
            out[place] = reduction(elements)
        return out

    return reference


# ------------------------------------------------------------------------------------------------------------- sum


def _sum_transpose(ct, x, window, strides, padding, base_dilation, window_dilation):
    """Window sums again: of the cotangents, the strides apart, those whose window an element of x is in."""
    if ct.aval.size == 0 or 0 in x.shape:
        return (algebra.zeros(x.aval),)
    sizes = zip(x.shape, ct.shape, window, strides, padding, base_dilation, window_dilation)
    low_high = []
    for n, m, w, s, (low, _), base, dilation in sizes:
        reach = shape.extent(w, dilation)
        before = reach - 1 - low
        low_high.append((before, shape.extent(n, base) + reach - 1 - shape.extent(m, s) - before))
    return (window_sum(ct, window, base_dilation, tuple(low_high), strides, window_dilation),)


_sum = _impl(lax.add, lambda dtype: np.zeros((), dtype)[()])
window_sum = linear(
    "window_sum",
    f"x: Tensor, {SPEC}",
    impl=_sum,
    traits={"ordered": orders.per_dim(_sum, 5)},
    meta=_meta("window_sum", NUMERIC),
    transpose=_sum_transpose,
    batch=_batch(lambda: window_sum),
    reference=_reference(np.sum, lambda dtype: np.zeros((), dtype)[()]),
    doc="The sum of each window of x. prims/window.py describes the parameters.",
)

# ------------------------------------------------------------------------------------------------- maximum, minimum


def _plane_positions(x, padding, dilation, dims):
    """At each element of the padded x, its row-major position in the plane of these dims; the plane's size where there is none."""
    sizes = padded_shape(x, padding, dilation)
    plane = math.prod(x.shape[d] for d in dims)
    position, inside = lax.full(sizes, 0, np.int32), lax.full(sizes, True, np.bool_)
    for d, n in enumerate(x.shape):
        at = lax.broadcasted_iota(np.int32, sizes, d) - np.int32(padding[d][0])
        base = np.int32(dilation[d])
        inside = inside & (at >= 0) & (at < n * base) & (lax.rem(at, base) == 0)
        if d in dims:
            position = position * np.int32(n) + lax.div(at, base)
    return lax.select(inside, position, lax.full_like(position, plane))


def _position_impl(x, y, window, strides, padding, base_dilation, window_dilation, dims):
    if 0 in y.shape:
        return lax.full(y.shape, 0, np.int32)
    none = lax.full(y.shape, math.prod(x.shape[d] for d in dims), np.int32)
    where = _plane_positions(x, padding, base_dilation, sorted(dims))
    x = lax.pad(x, np.zeros((), x.dtype)[()], [(low, high, d - 1) for (low, high), d in zip(padding, base_dilation)])

    def hit(x, where):
        return lax.select(lax.bitwise_or(lax.eq(x, y), lax.ne(x, x)), where, none)

    return _fold([x, where], y.shape, window, strides, window_dilation, hit, lax.min)


def _position_meta(x, y, *rest):
    *spec, dims = rest
    spec_ok("window_position", x, *spec)
    expected = aval(counts_of(x, *spec), x.dtype)
    require(y is expected, "window_position", f"expected y to have one element a window, {expected}, got {y}")
    require(all(0 <= d < x.ndim for d in dims), "window_position", f"dims must be dimensions of {x}, got {dims}", IndexError)
    return aval(y.shape, int32)


def _position_reference(x, y, *rest):
    *spec, dims = rest
    plane = np.arange(math.prod(x.shape[d] for d in dims), dtype=np.int32).reshape([n if d in dims else 1 for d, n in enumerate(x.shape)])
    none = np.int32(plane.size)
    positions = dilated(np.broadcast_to(plane, x.shape), none, *spec)
    out = np.full(y.shape, none, np.int32)
    for (place, elements), (_, where) in zip(windows(dilated(x, x.dtype.type(0), *spec), *spec), windows(positions, *spec)):
        out[place] = np.where((elements == y[place]) | (elements != elements), where, none).min(initial=none)
    return out


window_position = zero(
    "window_position",
    f"x: Tensor, y: Tensor, {SPEC}, dims: Dims",
    impl=_position_impl,
    meta=_position_meta,
    batch=dims_batch(lambda: window_position, *SPEC_KINDS, DIMS),
    reference=_position_reference,
    doc="""Where in the plane of these dims of x the first element of each window is that equals y (one for each window) or is NaN: its
    row-major number, or the plane's size where there is none.""",
)


def _extremum_jvp(largest, ans, primals, tangents, *spec):
    """The tangent of the first element that is the extremum, as in PyTorch; of a small window by comparing each, which is several times
    as fast as to gather (and, in reverse, to scatter)."""
    (x,), (t,) = primals, tangents
    trivial = (1, 1, (0, 0), 1)
    dims = tuple([d for d, part in enumerate(zip(*spec)) if part[:4] != trivial])
    if not dims:
        return t
    if math.prod(spec[0]) <= _COMPARED:
        return window_pick(t, window_winner(x, *spec, largest), *spec)
    position = window_position(x, ans, *spec, dims)
    picked = index.take_along(flatten(t, dims), flatten(position, dims), x.ndim - len(dims), "drop")
    kept = [d for d in range(x.ndim) if d not in dims]
    picked = shape.reshape(picked, tuple([ans.shape[d] for d in (*kept, *dims)]))
    return shape.permute(picked, shape.inverse((*kept, *dims)))


def _extremum(name, combine, largest, reduction, doc):
    impl = _impl(combine, lambda dtype: limit(dtype, largest))
    function = general(
        name,
        f"x: Tensor, {SPEC}",
        impl=impl,
        traits={"ordered": orders.per_dim(impl, 5)},
        meta=_meta(name, ORDERED),
        jvp=functools.partial(_extremum_jvp, not largest),
        batch=_batch(lambda: function),
        reference=_reference(reduction, lambda dtype: limit(dtype, largest)),
        doc=doc + " prims/window.py describes the parameters.",
    )
    return function


window_max = _extremum("window_max", lax.max, False, np.max, "The largest element of each window of x; NaN if any is.")
window_min = _extremum("window_min", lax.min, True, np.min, "The smallest element of each window of x; NaN if any is.")

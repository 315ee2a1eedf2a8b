"""Prims that take one element of each window: which it is, the taking, and its transpose. For small windows: a program has a term for each
element of a window. prims/window_spec.py describes the parameters.

They compare and select. max_pool2d of 32 images of 64 channels, 32x32, forward and backward on one core of a CPU, in ms:

                                 in the usual order    channels last, after a convolution    PyTorch    by gather and scatter
    windows of 2x2                       10                            1                        17               10
    windows of 3x3, two apart            22                            3                        24               26
"""

from __future__ import annotations

import functools
import math

import numpy as np
from jax import lax

from ..core.aval import aval
from ..core.dtype import int32
from . import orders, shape, target
from .families import NUMERIC, ORDERED, SAME, SIZES, dims_batch, linear, require, require_category, zero
from .reduce import limit
from .window_spec import SPEC, SPEC_KINDS, counts_of, dilated, spec_ok, windows


def _elements(window, order):
    """(the number of an element in a window, where it stands) for each. In another order of dimensions they keep their numbers."""
    sizes = window if order is None else [window[order.index(d)] for d in range(len(window))]
    for number, place in enumerate(np.ndindex(*sizes)):
        yield np.int32(number), place if order is None else orders.by_place(order, place)


def _wide(x, padding, base_dilation):
    return lax.pad(x, np.zeros((), x.dtype)[()], [(low, high, d - 1) for (low, high), d in zip(padding, base_dilation)])


def _element(wide, start, counts, strides):
    """One element of each window; `start` is where that of the first window stands."""
    return lax.slice(wide, start, [a + shape.extent(n, s) for a, n, s in zip(start, counts, strides)], strides)


def _ordered(impl):
    """The rule of orders.py for arrays of one order and parameters with a number for each dimension."""

    def rule(values, stored, *params):
        order = next(o for o in stored if o is not None)
        values = [orders.moved(v, o, order) for v, o in zip(values, stored)]
        return impl(*values, *[orders.by_place(order, p) for p in params], order=order), order

    return rule


def _check(name, x, y, spec, dtype):
    spec_ok(name, x, *spec)
    expected = aval(counts_of(x, *spec), dtype)
    require(y is expected, name, f"expected one element a window, {expected}, got {y}")


# ---------------------------------------------------------------------------------------------------- which element


def _inside(counts, start, sizes, strides, padding, base_dilation):
    """Whether each window's element is one of x, not of what is put around and between; None if all are."""
    ok = None
    for d, (a, s, n, (low, high), base) in enumerate(zip(start, strides, sizes, padding, base_dilation)):
        if low > 0 or high > 0 or base > 1:
            at = lax.broadcasted_iota(np.int32, counts, d) * np.int32(s) + np.int32(a - low)
            here = (at >= 0) & (at <= (n - 1) * base) & (lax.rem(at, np.int32(base)) == 0)
            ok = here if ok is None else ok & here
    return ok


def _winner_impl(x, window, strides, padding, base_dilation, window_dilation, largest, order=None):
    """Where windows overlap a loop over images on the CPU: otherwise XLA finds the winner again for each of the elements that are
    compared with it, which takes six times as long (a barrier does not keep it from that)."""
    spec = window, strides, padding, base_dilation, window_dilation
    alone = x.ndim > 1 and x.shape[0] > 1 and [s[0] for s in spec] == [1, 1, (0, 0), 1, 1]
    if not alone or window == strides or target.platform() != "cpu":
        return _winner(x, *spec, largest, order)
    order = None if order is None else tuple([d - (d > order[0]) for d in order[1:]])
    return lax.map(lambda row: _winner(row, *[s[1:] for s in spec], largest, order), x)


def _winner(x, window, strides, padding, base_dilation, window_dilation, largest, order):
    """As in PyTorch: the first element holds until a better one comes, or NaN."""
    counts = counts_of(x, window, strides, padding, base_dilation, window_dilation)
    if 0 in counts:
        return lax.full(counts, 0, np.int32)
    worst = limit(x.dtype, not largest)
    wide = lax.pad(x, worst, [(low, high, d - 1) for (low, high), d in zip(padding, base_dilation)])
    better = lax.gt if largest else lax.lt
    elements = [(number, [e * d for e, d in zip(place, window_dilation)]) for number, place in _elements(window, order)]
    out = lax.full(counts, np.int32(0))
    for number, start in reversed(elements):  # the first that is inside
        inside = _inside(counts, start, x.shape, strides, padding, base_dilation)
        out = lax.full(counts, number) if inside is None else lax.select(inside, lax.full(counts, number), out)
    best = lax.full(counts, worst)
    for number, start in elements:
        element = _element(wide, start, counts, strides)
        wins = better(element, best) | ((element != element) & (best == best))
        best, out = lax.select(wins, element, best), lax.select(wins, lax.full(counts, number), out)
    return out


def _winner_meta(x, *rest):
    *spec, largest = rest
    require_category("window_winner", [x], ORDERED)
    spec_ok("window_winner", x, *spec)
    return aval(counts_of(x, *spec), int32)


def _winner_reference(x, *rest):
    *spec, largest = rest
    reduction, out = np.argmax if largest else np.argmin, np.zeros(counts_of(x, *spec), np.int32)
    inside = dilated(np.ones(x.shape, bool), False, *spec)
    for (place, elements), (_, ok) in zip(windows(dilated(x, x.dtype.type(0), *spec), *spec), windows(inside, *spec)):
        if ok.any():
            out[place] = np.flatnonzero(ok)[reduction(elements[ok])]
    return out


def _winner_ordered(values, stored, *rest):
    *spec, largest = rest
    order = stored[0]
    return _winner_impl(*values, *[orders.by_place(order, p) for p in spec], largest, order=order), order


window_winner = zero(
    "window_winner",
    f"x: Tensor, {SPEC}, largest: bool",
    impl=_winner_impl,
    traits={"ordered": _winner_ordered},
    meta=_winner_meta,
    batch=dims_batch(lambda: window_winner, *SPEC_KINDS, SAME),
    reference=_winner_reference,
    doc="""The row-major number, in each window of x, of its first largest (or smallest) element, or of its first NaN; padding never wins, and
    a window of nothing else has number 0.""",
)

# ------------------------------------------------------------------------------------------------ taking, and putting


def _pick_impl(x, winner, window, strides, padding, base_dilation, window_dilation, order=None):
    out = lax.full(winner.shape, 0, x.dtype)
    wide = _wide(x, padding, base_dilation)
    for number, place in _elements(window, order) if 0 not in winner.shape else ():
        element = _element(wide, [e * d for e, d in zip(place, window_dilation)], winner.shape, strides)
        out = lax.select(winner == number, element, out)
    return out


def _put_impl(y, winner, window, strides, padding, base_dilation, window_dilation, sizes, order=None):
    """Windows that stand side by side, without others between them, interleave; else each element of them is spread and added."""
    if 0 in y.shape or 0 in sizes:
        return lax.full(sizes, 0, y.dtype)
    apart, zero, nothing = window == strides and set(window_dilation) <= {1}, np.zeros((), y.dtype)[()], lax.full_like(y, 0)
    parts, spans = {}, [shape.extent(w, d) + (m - 1) * s for w, d, m, s in zip(window, window_dilation, y.shape, strides)]
    for number, place in _elements(window, order):
        part = lax.select(winner == number, y, nothing)
        if not apart:
            starts = [e * d for e, d in zip(place, window_dilation)]
            part = lax.pad(part, zero, [(a, n - a - shape.extent(m, s), s - 1) for a, n, m, s in zip(starts, spans, y.shape, strides)])
        parts[place] = part
    wide = _interleaved(parts, window) if apart else functools.reduce(lax.add, parts.values())
    low, sizes = [-low for low, _ in padding], [shape.extent(n, b) for n, b in zip(sizes, base_dilation)]
    wide = lax.pad(wide, zero, [(a, n - a - m, 0) for a, n, m in zip(low, sizes, wide.shape)])
    return lax.slice(wide, [0] * wide.ndim, wide.shape, base_dilation)


def _interleaved(parts: dict, window):
    """One array of its parts, which are by their places in a window."""
    for d in reversed(range(len(window))):
        if window[d] > 1:
            groups: dict[tuple, list] = {}
            for place, x in parts.items():
                groups.setdefault((*place[:d], 0, *place[d + 1 :]), []).append(lax.expand_dims(x, (d + 1,)))
            parts = {place: lax.concatenate(xs, d + 1) for place, xs in groups.items()}
            parts = {place: lax.reshape(x, (*x.shape[:d], x.shape[d] * window[d], *x.shape[d + 2 :])) for place, x in parts.items()}
    return next(iter(parts.values()))


def _pick_meta(x, winner, *spec):
    require_category("window_pick", [x], NUMERIC)
    _check("window_pick", x, winner, spec, int32)
    return aval(winner.shape, x.dtype)


def _put_meta(y, winner, *rest):
    *spec, sizes = rest
    require_category("window_put", [y], NUMERIC)
    out = aval(tuple(sizes), y.dtype)
    _check("window_put", out, y, spec, y.dtype)
    _check("window_put", out, winner, spec, int32)
    return out


def _pick_reference(x, winner, *spec):
    out = np.zeros(winner.shape, x.dtype)
    for place, elements in windows(dilated(x, x.dtype.type(0), *spec), *spec):
        if winner[place] < elements.size:
            out[place] = elements.flat[winner[place]]
    return out


def _put_reference(y, winner, *rest):
    *spec, sizes = rest
    wide = dilated(np.arange(math.prod(sizes)).reshape(sizes), -1, *spec)  # where in the result each element of a window stands
    out = np.zeros(math.prod(sizes), y.dtype)
    for place, elements in windows(wide, *spec):
        if winner[place] < elements.size and elements.flat[winner[place]] >= 0:
            out[elements.flat[winner[place]]] += y[place]
    return out.reshape(sizes)


window_pick = linear(
    "window_pick",
    f"x: Tensor, winner: Tensor, {SPEC}",
    impl=_pick_impl,
    traits={"ordered": _ordered(_pick_impl)},
    meta=_pick_meta,
    transpose=lambda ct, x, winner, *spec: (window_put(ct, winner, *spec, x.shape), None),
    batch=dims_batch(lambda: window_pick, *SPEC_KINDS),
    reference=_pick_reference,
    doc="The element of each window of x that has the number `winner` in it (int32, one for each window); 0 where there is none.",
)

window_put = linear(
    "window_put",
    f"y: Tensor, winner: Tensor, {SPEC}, sizes: Shape",
    impl=_put_impl,
    traits={"ordered": _ordered(_put_impl)},
    meta=_put_meta,
    transpose=lambda ct, y, winner, *rest: (window_pick(ct, winner, *rest[:-1]), None),
    batch=dims_batch(lambda: window_put, *SPEC_KINDS, SIZES),
    reference=_put_reference,
    doc="Zeros of shape `sizes` to which each y is added where its window's element of number `winner` stands: the transpose of window_pick.",
)

"""What windows are, for the prims that combine or pick elements of sliding windows.

A window has `window[d]` elements, `window_dilation[d]` apart, along each dimension d of x; it advances by `strides[d]`. Before,
`base_dilation[d] - 1` neutral elements are put between those of x, and padding[d] = (low, high) of them around (negative: cut off).
"""

from __future__ import annotations

import numpy as np

from . import shape
from .families import each, require

SPEC = "window: Dims, strides: Dims, padding: Pairs, base_dilation: Dims, window_dilation: Dims"


def padded_shape(x, padding, dilation):
    return [low + shape.extent(n, d) + high for n, (low, high), d in zip(x.shape, padding, dilation)]


def counts_of(x, window, strides, padding, base_dilation, window_dilation):
    """How many windows there are along each dimension."""
    sizes = padded_shape(x, padding, base_dilation)
    return tuple([max(0, (n - shape.extent(w, d)) // s + 1) for n, w, s, d in zip(sizes, window, strides, window_dilation)])


def spec_ok(name, x, *spec):
    window, strides, padding, base_dilation, window_dilation = spec
    ok = all(len(part) == x.ndim for part in spec) and min((*window, *strides, *base_dilation, *window_dilation), default=1) > 0
    ok = ok and min(padded_shape(x, padding, base_dilation), default=0) >= 0
    seen = f"{window=}, {strides=}, {padding=}, {base_dilation=}, {window_dilation=}"
    require(ok, name, f"expected positive sizes for each dimension of {x} and padding that leaves no negative one, got {seen}")


SPEC_KINDS = (each(1), each(1), each((0, 0)), each(1), each(1))  # how the parameters speak of dimensions


def dilated(x, neutral, window, strides, padding, base_dilation, window_dilation):
    low, high = zip(*padding) if padding else ((), ())
    return shape.pad.op.reference(x, neutral, low, high, tuple([d - 1 for d in base_dilation]))


def windows(x, window, strides, padding, base_dilation, window_dilation):
    """(where, the window's elements) for each window of an array that is padded already."""
    counts = counts_of(x, window, strides, ((0, 0),) * x.ndim, (1,) * x.ndim, window_dilation)
    for place in np.ndindex(*counts):
        yield place, x[tuple([slice(p * s, p * s + shape.extent(w, d), d) for p, s, w, d in zip(place, strides, window, window_dilation)])]

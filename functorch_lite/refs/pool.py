"""Pooling over sliding windows, in one, two and three dimensions: maximum and average, with fixed or adaptive windows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.array import Array
from ..core.dtype import INTEGER, int64
from ..core.op import Dims, Tensor, composite
from ..prims import algebra, create, elementwise, shape, window
from .arguments import accumulator, per_dim, require, require_arrays, shown
from .conv import batched, unbatched
from .promotion import to_dtype

_F = "fl.nn.functional"


class MaxPool(NamedTuple):
    """What max pooling with indices returns: the maxima, and where each stood in its row-major flattened image (int64)."""

    output: Array
    indices: Array


# ------------------------------------------------------------------------------------------------------ the windows


def _windows(name, x, n, kernel_size, stride, padding, dilation, ceil_mode):
    """(window, strides, padding, base dilation, window dilation) of prims/window.py, and the padding asked for."""
    kernel = per_dim(name, "kernel_size", kernel_size, n)
    stride = kernel if stride is None or stride == () else per_dim(name, "stride", stride, n)
    pad, dilation = per_dim(name, "padding", padding, n), per_dim(name, "dilation", dilation, n)
    seen = f"{kernel=}, {stride=}, {dilation=}"
    require(min(*kernel, *stride, *dilation) > 0, name, f"kernel_size, stride and dilation must be positive, got {seen}")
    require(0 not in x.shape[1:], name, f"expected input whose dimensions apart from the batch have positive length, got {shown(x)}")
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    ok = all(0 <= p <= r // 2 for p, r in zip(pad, reach))
    require(ok, name, f"padding must be from 0 to half of the kernel's extent {reach}, got {pad}")
    pads = []
    for m, r, s, p in zip(x.shape[2:], reach, stride, pad):
        count = (m + 2 * p - r + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (count - 1) * s >= m + p:  # a window must start inside the input or the padding before it
            count -= 1
        require(count > 0, name, f"no window fits: input {shown(x)}, {seen}, padding={pad}")
        pads.append((p, (count - 1) * s + r - m - p))
    ones = (1, 1)
    return ((*ones, *kernel), (*ones, *stride), ((0, 0), (0, 0), *pads), (1,) * (n + 2), (*ones, *dilation)), pad


# ---------------------------------------------------------------------------------------------------------- maximum


def _max_pool_reference(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, *, n):
    wide = x if x.ndim == n + 2 else x[None]
    spec, _ = _windows("", wide, n, kernel_size, stride, padding, dilation, ceil_mode)
    out = window.window_max.op.reference(wide, *spec)
    where = window.window_position.op.reference(wide, out, *spec, tuple(range(2, n + 2))).astype(np.int64)
    return (out, where) if x.ndim == n + 2 else (out[0], where[0])


def _max_pooling(n: int):
    name = f"max_pool{n}d"
    s = "s" if n > 1 else ""

    def pool(
        input: Tensor,
        kernel_size: Dims,
        stride: Dims | None = None,
        padding: Dims = 0,
        dilation: Dims = 1,
        ceil_mode: bool = False,
    ) -> Tensor:
        require_arrays(name, input=input)
        x, added = batched(name, input, n)
        return unbatched(window.window_max(x, *_windows(name, x, n, kernel_size, stride, padding, dilation, ceil_mode)[0]), added)

    def pool_with_indices(
        input: Tensor,
        kernel_size: Dims,
        stride: Dims | None = None,
        padding: Dims = 0,
        dilation: Dims = 1,
        ceil_mode: bool = False,
    ) -> tuple:
        require_arrays(name, input=input)
        x, added = batched(name, input, n)
        spec, _ = _windows(name, x, n, kernel_size, stride, padding, dilation, ceil_mode)
        out = window.window_max(x, *spec)
        where = to_dtype(window.window_position(x, out, *spec, tuple(range(2, n + 2))), int64)
        return unbatched(out, added), unbatched(where, added)

    pool.__name__, pool_with_indices.__name__ = name, f"{name}_with_indices"
    pool.__doc__ = f"""The largest element of each window of input [N, C, *] (or [C, *]) with {n} spatial dimension{s}; NaN if any is.

    stride is kernel_size unless given; padding, up to half of the kernel, counts as -inf; dilation spaces a window's elements.
    ceil_mode also takes windows that reach beyond the end. The gradient goes to the first largest element. With return_indices
    also where each stood, as a named tuple (output, indices).

    >>> import functorch_lite as fl
    >>> fl.nn.functional.{name}(fl.ones(1, 2, {", ".join(["5"] * n)}), 2).shape
    (1, 2, {", ".join(["2"] * n)})
    """
    pool_with_indices.__doc__ = (
        f"`{name}` with where each maximum stood in its flattened image (int64), as a named tuple (output, indices)."
    )
    plain = composite(pool, namespace=_F, reference=lambda *args, **kwargs: _max_pool_reference(*args, **kwargs, n=n)[0])
    pair = composite(
        pool_with_indices,
        namespace=_F,
        multi=True,
        returns=MaxPool,
        reference=lambda *args, **kwargs: _max_pool_reference(*args, **kwargs, n=n),
    )

    def max_pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return (pair if return_indices else plain)(input, kernel_size, stride, padding, dilation, ceil_mode)

    max_pool.__name__ = max_pool.__qualname__ = name
    max_pool.__doc__, max_pool.op = pool.__doc__, plain.op
    return max_pool, pair


max_pool1d, max_pool1d_with_indices = _max_pooling(1)
max_pool2d, max_pool2d_with_indices = _max_pooling(2)
max_pool3d, max_pool3d_with_indices = _max_pooling(3)

# ---------------------------------------------------------------------------------------------------------- average


def _divisor(name, x, n, spec, pad, count_include_pad):
    """How many elements each window counts, as an array [1, 1, *windows], or an int where all count the same."""
    kernel, strides, pads, base, dilation = spec
    if all(p == (0, 0) for p in pads) or (count_include_pad and all(high <= p for (_, high), p in zip(pads[2:], pad))):
        return math.prod(kernel)
    around = pad if count_include_pad else (0,) * n
    ones = create.full((1, 1, *[m + 2 * p for m, p in zip(x.shape[2:], around)]), 1, x.dtype)
    pads = (*pads[:2], *[(low - p, high - p) for (low, high), p in zip(pads[2:], around)])
    return window.window_sum(ones, kernel, strides, pads, base, dilation)


def _avg_pool(name, n, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    require_arrays(name, input=input)
    whole = input.dtype.category == INTEGER and input.dtype is int64  # PyTorch averages int64, rounding toward zero
    require(whole or input.dtype.is_floating_point, name, f"input must have a float dtype or int64, got {shown(input)}")
    require(divisor_override != 0, name, "divisor_override must not be 0")
    x, added = batched(name, to_dtype(input, accumulator(input.dtype)), n)
    spec, pad = _windows(name, x, n, kernel_size, stride, padding, 1, ceil_mode)
    total = window.window_sum(x, *spec)
    by = divisor_override or _divisor(name, x, n, spec, pad, count_include_pad)
    if isinstance(by, int) and not whole:
        out = elementwise.scaled(total, 1 / by)
    else:
        by = algebra.full_like(total, by) if isinstance(by, int) else shape.broadcast(by, total.shape, tuple(range(n + 2)))
        out = (elementwise.trunc_div if whole else elementwise.div)(total, by)
    return unbatched(to_dtype(out, input.dtype), added)


def _avg_pool_reference(x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None, *, n):
    wide = x if x.ndim == n + 2 else x[None]
    (kernel, strides, pads, _, _), pad = _windows("", wide, n, kernel_size, stride, padding, 1, ceil_mode)
    total = window.window_sum.op.reference(wide, kernel, strides, pads, (1,) * (n + 2), (1,) * (n + 2))
    for at in np.ndindex(*total.shape[2:]):
        size = 1
        for i, s, k, m, p in zip(at, strides[2:], kernel[2:], wide.shape[2:], pad):
            start, stop = i * s - p, min(i * s - p + k, m + p)
            size *= stop - start if count_include_pad else min(stop, m) - max(start, 0)
        total[(..., *at)] /= divisor_override or size
    return total if x.ndim == n + 2 else total[0]


def _avg_pooling(n: int):
    name = f"avg_pool{n}d"

    def f(
        input: Tensor,
        kernel_size: Dims,
        stride: Dims | None = None,
        padding: Dims = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        return _avg_pool(name, n, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    f.__name__ = name
    f.__doc__ = f"""The mean of each window of input [N, C, *] (or [C, *]) with {n} spatial dimension{"s" if n > 1 else ""}.

    stride is kernel_size unless given; padding counts as zeros, or, without count_include_pad, not at all. ceil_mode also takes
    windows that reach beyond the end, which are divided by what they have inside. divisor_override divides in place of a size.

    >>> import functorch_lite as fl
    >>> fl.nn.functional.{name}(fl.ones(1, 2, {", ".join(["4"] * n)}), 2).shape
    (1, 2, {", ".join(["2"] * n)})
    """
    return composite(f, namespace=_F, reference=lambda *args, **kwargs: _avg_pool_reference(*args, **kwargs, n=n))


avg_pool1d, avg_pool2d, avg_pool3d = map(_avg_pooling, (1, 2, 3))

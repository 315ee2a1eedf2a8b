"""Pooling over sliding windows, in one, two and three dimensions: maximum and average, with fixed or adaptive windows."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from ..core.array import Array
from ..core.dtype import int64
from ..core.op import Dims, Tensor, composite
from ..prims import create, elementwise, reduce, shape, window
from .arguments import per_dim, require, require_arrays, require_floating, shown
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
    require_floating(name, input)
    require(divisor_override != 0, name, "divisor_override must not be 0")
    x, added = batched(name, input, n)
    spec, pad = _windows(name, x, n, kernel_size, stride, padding, 1, ceil_mode)
    total = window.window_sum(x, *spec)
    by = divisor_override or _divisor(name, x, n, spec, pad, count_include_pad)
    if isinstance(by, int):
        return unbatched(elementwise.scaled(total, 1 / by), added)
    return unbatched(elementwise.div(total, shape.broadcast(by, total.shape, tuple(range(n + 2)))), added)


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

# --------------------------------------------------------------------------------------------------------- adaptive


def _bounds(size: int, outputs: int):
    """Where the windows of adaptive pooling start and stop: from floor(i size / outputs) up to ceil((i + 1) size / outputs)."""
    return [(i * size // outputs, -(-(i + 1) * size // outputs)) for i in range(outputs)]


def _output_size(name, x, output_size, n):
    sizes = output_size if output_size.__class__ is tuple else (output_size,) * n
    require(len(sizes) == n, name, f"output_size must be an int or {n} ints or None, got {output_size}")
    sizes = tuple([m if s is None else s for s, m in zip(sizes, x.shape[2:])])
    ok = all(s.__class__ is int and s >= 0 for s in sizes) and 0 not in x.shape[2:]
    require(ok, name, f"output_size must not be negative and input not be empty, got output_size={output_size}, {shown(x)}")
    return sizes


def _mean_along(x, dim):
    return elementwise.scaled(reduce.reduce_sum(x, (dim,)), 1 / x.shape[dim])


def _max_along(x, dim):
    """By a window as long as the dimension: unlike a reduction it gives the gradient to one element, as PyTorch does."""
    n = x.ndim
    size = tuple([x.shape[dim] if d == dim else 1 for d in range(n)])
    out = window.window_max(x, size, (1,) * n, ((0, 0),) * n, (1,) * n, (1,) * n)
    return shape.reshape(out, (*x.shape[:dim], *x.shape[dim + 1 :]))


def _adaptive(name, n, along, input, output_size):
    """A dimension at a time, which a mean or maximum over a box allows."""
    require_arrays(name, input=input)
    x, added = batched(name, input, n)
    for dim, outputs in enumerate(_output_size(name, x, output_size, n), 2):
        size = x.shape[dim]
        if outputs == size:
            continue
        if outputs and size % outputs == 0:
            x = along(shape.reshape(x, (*x.shape[:dim], outputs, size // outputs, *x.shape[dim + 1 :])), dim + 1)
            continue
        parts = [along(shape.part(x, dim, a, b), dim) for a, b in _bounds(size, outputs)]
        parts = [shape.reshape(p, (*p.shape[:dim], 1, *p.shape[dim:])) for p in parts]
        x = shape.concatenate(parts, dim) if parts else shape.part(x, dim, 0, 0)
    return unbatched(x, added)


def _adaptive_reference(x, output_size, *, n, reduction):
    wide = x if x.ndim == n + 2 else x[None]
    sizes = _output_size("", wide, output_size if isinstance(output_size, int | None) else tuple(output_size), n)
    out = np.empty((*wide.shape[:2], *sizes), x.dtype)
    for at in itertools.product(*map(range, sizes)):
        box = [slice(*_bounds(m, s)[i]) for i, m, s in zip(at, wide.shape[2:], sizes)]
        out[(..., *at)] = reduction(wide[(..., *box)], axis=tuple(range(2, n + 2)))
    return out if x.ndim == n + 2 else out[0]


def _adaptive_pooling(kind: str, n: int, along, reduction, floats: bool):
    name = f"adaptive_{kind}_pool{n}d"

    def f(input: Tensor, output_size: object) -> Tensor:
        if floats:
            require_arrays(name, input=input)
            require_floating(name, input)
        return _adaptive(name, n, along, input, output_size)

    what = {"avg": "mean", "max": "largest element"}[kind]
    f.__name__ = name
    f.__doc__ = f"""The {what} of each of output_size windows that cover input [N, C, *] (or [C, *]) evenly.

    output_size is an int or one for each of the {n} spatial dimension{"s" if n > 1 else ""}; None keeps that size. Window i is
    from floor(i size / outputs) up to ceil((i + 1) size / outputs).

    >>> import functorch_lite as fl
    >>> fl.nn.functional.{name}(fl.ones(1, 2, {", ".join(["5"] * n)}), 2).shape
    (1, 2, {", ".join(["2"] * n)})
    """
    return composite(f, namespace=_F, reference=lambda x, output_size: _adaptive_reference(x, output_size, n=n, reduction=reduction))


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive_pooling("avg", n, _mean_along, np.mean, True) for n in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive_pooling("max", n, _max_along, np.max, False) for n in (1, 2, 3))

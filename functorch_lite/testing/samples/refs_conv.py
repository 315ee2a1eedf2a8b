"""Samples of convolution, pooling and resizing with PyTorch's arguments: padding by name, groups, ceil_mode, without a batch, ties."""

from __future__ import annotations

import numpy as np

from ...refs import adaptive as adaptive_pools
from ...refs import conv, pool, resize
from ..table import Sample, array, row


def convolutions(*cases):
    """Samples of (input, weight, bias, keyword arguments)."""

    def sampler(rng, dtype):
        for x, w, b, kwargs in cases:
            yield Sample(array(rng, x, dtype), array(rng, w, dtype), None if b is None else array(rng, b, dtype), **kwargs)

    return sampler


row(
    conv.conv1d,
    convolutions(
        ((2, 2, 5), (2, 2, 3), (2,), {"padding": 1, "stride": 2}),
        ((2, 5), (2, 2, 2), None, {"padding": "same", "dilation": 2}),
        ((1, 2, 4), (4, 1, 2), (4,), {"groups": 2, "padding": "valid"}),
    ),
    tolerance=4,
)
row(
    conv.conv2d,
    convolutions(
        ((2, 2, 4, 3), (2, 2, 3, 2), (2,), {"padding": (1, 0), "stride": (2, 1)}),
        ((0, 2, 4, 3), (2, 2, 2, 2), None, {}),
    ),
    tolerance=4,
)
row(conv.conv3d, convolutions(((1, 2, 3, 3, 2), (2, 2, 2, 2, 2), (2,), {"padding": (0, 1, 0)})), tolerance=4)
row(
    conv.conv_transpose1d,
    convolutions(
        ((2, 2, 3), (2, 2, 3), (2,), {"stride": 2, "padding": 1, "output_padding": 1}),
        ((2, 3), (2, 1, 2), (2,), {"groups": 2, "dilation": 2}),
    ),
    tolerance=4,
)
row(conv.conv_transpose2d, convolutions(((1, 2, 2, 3), (2, 2, 2, 3), (2,), {"stride": (2, 1), "padding": (0, 1)})), tolerance=4)
row(conv.conv_transpose3d, convolutions(((1, 2, 2, 2, 1), (2, 1, 2, 1, 2), (1,), {"stride": 2})), tolerance=4)

WINDOWS = ({"kernel_size": 2}, {"kernel_size": (2, 1), "dilation": (1, 2), "padding": (1, 0), "stride": 2})


def unfolds(rng, dtype):
    return [Sample(array(rng, shape, dtype), **kwargs) for shape, kwargs in zip(((2, 2, 3, 4), (2, 3, 4)), WINDOWS)]


def folds(rng, dtype):
    for sample in unfolds(rng, dtype):
        columns = conv.unfold.op.reference(*sample.args, **sample.kwargs).shape
        yield Sample(array(rng, columns, dtype), (3, 4), **sample.kwargs)


row(conv.unfold, unfolds)
row(conv.fold, folds)

# ----------------------------------------------------------------------------------------------------------- pooling

POOLS = (
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 2, "padding": 1},
    {"kernel_size": 2, "stride": 3, "ceil_mode": True},
)


def sizes(n: int):
    return (5,) if n == 1 else (5, 4) if n == 2 else (3, 4, 3)


def distinct(rng, shape, dtype):
    """No two elements are near each other: no maximum is a tie."""
    return np.asarray(rng.permutation(int(np.prod(shape))).reshape(shape) * 0.1, dtype.dtype)


def pools(n: int, values, *extra):
    def sampler(rng, dtype):
        for i, kwargs in enumerate((*POOLS, *extra)):
            yield Sample(values(rng, (2, *sizes(n)) if i == 1 else (1, 2, *sizes(n)), dtype), **kwargs)

    return sampler


def with_ties(n: int):
    def sampler(rng, dtype):
        yield from pools(n, distinct, {"kernel_size": 2, "dilation": 2, "stride": 1})(rng, dtype)
        x = np.asarray(rng.integers(0, 2, (1, 2, *sizes(n))), dtype.dtype)
        x.flat[0] = np.nan
        yield Sample(x, 2, differentiable=False)

    return sampler


def adaptive(n: int, values):
    def sampler(rng, dtype):
        for size in (2, (None,) * (n - 1) + (1,), 3):
            yield Sample(values(rng, (1, 2, *sizes(n)), dtype), size)

    return sampler


MEANS = ({"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False}, {"kernel_size": 2, "divisor_override": 3})
for n in (1, 2, 3):
    row(getattr(pool, f"max_pool{n}d"), with_ties(n))
    row(getattr(pool, f"max_pool{n}d_with_indices"), with_ties(n))
    row(getattr(pool, f"avg_pool{n}d"), pools(n, array, *MEANS))
    row(getattr(adaptive_pools, f"adaptive_avg_pool{n}d"), adaptive(n, array))
    row(getattr(adaptive_pools, f"adaptive_max_pool{n}d"), adaptive(n, distinct))

# ---------------------------------------------------------------------------------------------------------- resizing


def _keys(t):
    """Keys's cubic kernel with PyTorch's parameter."""
    t, a = abs(t), -0.75
    return (a + 2) * t**3 - (a + 3) * t**2 + 1 if t <= 1 else a * (t**3 - 5 * t**2 + 8 * t - 4) if t < 2 else 0.0


def _resampling(size, out, step, mode, align):
    """The matrix [out, size] that interpolates along one dimension, an entry at a time."""
    matrix = np.zeros((out, size))
    for i in range(out):
        if mode.startswith("nearest"):
            matrix[i, min(int((i + 0.5 * (mode != "nearest")) * step), size - 1)] = 1
            continue
        at = i * (size - 1) / max(out - 1, 1) if align else (i + 0.5) * step - 0.5
        at = at if mode == "bicubic" else max(at, 0)
        for j in range(int(np.floor(at)) - 1, int(np.floor(at)) + 3):
            matrix[i, min(max(j, 0), size - 1)] += _keys(at - j) if mode == "bicubic" else max(1 - abs(at - j), 0)
    return matrix


def _interpolated(x, size=None, scale_factor=None, mode="nearest", align_corners=None):
    if mode == "area":
        return getattr(adaptive_pools, f"adaptive_avg_pool{x.ndim - 2}d").op.reference(x, size)
    for d in range(2, x.ndim):
        n = x.shape[d]
        out = int(n * scale_factor) if size is None else size[d - 2]
        step = 1 / scale_factor if size is None else n / out
        x = np.moveaxis(np.moveaxis(x, d, -1) @ _resampling(n, out, step, mode, align_corners).T.astype(x.dtype), -1, d)
    return x


def resizings(rng, dtype):
    for shape, kwargs in (
        ((1, 2, 3), {"scale_factor": 1.7}),
        ((1, 2, 3), {"size": (5,), "mode": "linear"}),
        ((1, 2, 3, 4), {"size": (5, 2), "mode": "bilinear", "align_corners": True}),
        ((1, 1, 4, 3), {"scale_factor": 2.0, "mode": "bicubic"}),
        ((1, 1, 2, 3, 2), {"scale_factor": 1.5, "mode": "trilinear"}),
        ((1, 2, 3, 4), {"size": (2, 5), "mode": "nearest-exact"}),
        ((1, 2, 3, 4), {"size": (2, 3), "mode": "area"}),
    ):
        yield Sample(array(rng, shape, dtype), **kwargs)


row(resize.interpolate, resizings, reference=_interpolated)
row(resize.pixel_shuffle, lambda rng, dtype: [Sample(array(rng, (2, 4, 2, 3), dtype), 2), Sample(array(rng, (9, 1, 1), dtype), 3)])
row(resize.pixel_unshuffle, lambda rng, dtype: [Sample(array(rng, (2, 1, 4, 2), dtype), 2), Sample(array(rng, (1, 3, 3), dtype), 3)])

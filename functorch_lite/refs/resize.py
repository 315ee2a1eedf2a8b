"""Images of another size: interpolation along each spatial dimension in turn, and the exchange of channels for pixels."""

from __future__ import annotations

import math

import numpy as np

from ..core.dtype import float64, int64
from ..core.op import Dims, Tensor, composite
from ..prims import algebra, compare, create, elementwise, index, shape
from .adaptive import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from .arguments import accumulator, per_dim, require, require_arrays, require_floating, shown
from .promotion import to_dtype

_F = "fl.nn.functional"
_LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3}
_AREA = {1: adaptive_avg_pool1d, 2: adaptive_avg_pool2d, 3: adaptive_avg_pool3d}
_CUBIC = -0.75  # the free parameter of Keys's kernel, as PyTorch has it

# -------------------------------------------------------------------------------------------------------- coordinates


def _coordinates(size: int, out: int, step: float, align: bool, centred: bool):
    """Where output i stands among the inputs (float64 [out]): at i step, or, from centre to centre, at (i + 1/2) step - 1/2."""
    i = create.iota((out,), 0, float64)
    if align:
        return elementwise.scaled(i, (size - 1) / (out - 1) if out > 1 else 0.0)
    if not centred:
        return elementwise.scaled(i, step)
    half = algebra.full_like(i, 0.5)
    return elementwise.sub(elementwise.scaled(elementwise.add(i, half), step), half)


def _taken(x, dim: int, at):
    """The elements of x along dim at these positions (whole floats), the nearest edge for those outside."""
    return index.gather(x, [to_dtype(at, int64)], (dim,), (0,), at=dim, mode="clip")


def _mixed(x, dim: int, first, weights):
    """The sum of weights [out] times the elements of x from `first` on."""
    terms = []
    for k, weight in enumerate(weights):
        piece = _taken(x, dim, elementwise.add(first, algebra.full_like(first, k)))
        terms.append(elementwise.mul(piece, shape.broadcast(to_dtype(weight, x.dtype), piece.shape, (dim,))))
    return algebra.total(terms)


def _nearest(x, dim, out, step, exact):
    at = _coordinates(x.shape[dim], out, step, False, False)
    at = elementwise.add(at, algebra.full_like(at, step / 2)) if exact else at
    return _taken(x, dim, elementwise.floor(at))


def _linear(x, dim, out, step, align):
    at = _coordinates(x.shape[dim], out, step, align, True)
    at = compare.maximum(at, algebra.zeros(at.aval))
    first = elementwise.floor(at)
    weight = elementwise.sub(at, first)
    return _mixed(x, dim, first, (elementwise.sub(algebra.one_like(weight), weight), weight))


def _polynomial(t, *coefficients):
    """By Horner's rule, the highest power first."""
    out = algebra.full_like(t, coefficients[0])
    for c in coefficients[1:]:
        out = elementwise.add(elementwise.mul(out, t), algebra.full_like(t, c))
    return out


def cubic_weights(t):
    """Of the four neighbours of a place t behind the second: Keys's kernel (Cubic convolution interpolation for digital image processing,
    1981)."""
    one = algebra.one_like(t)
    far = lambda t: _polynomial(t, _CUBIC, -5 * _CUBIC, 8 * _CUBIC, -4 * _CUBIC)  # of distances from 1 to 2
    near = lambda t: _polynomial(t, _CUBIC + 2, -_CUBIC - 3, 0.0, 1.0)  # of distances up to 1
    back = elementwise.sub(one, t)
    return far(elementwise.add(t, one)), near(t), near(back), far(elementwise.add(back, one))


def _cubic(x, dim, out, step, align):
    at = _coordinates(x.shape[dim], out, step, align, True)
    first = elementwise.floor(at)
    return _mixed(x, dim, elementwise.sub(first, algebra.one_like(first)), cubic_weights(elementwise.sub(at, first)))


# -------------------------------------------------------------------------------------------------------- interpolation


def _sizes(name, spatial, size, scale_factor, recompute):
    """(the output's size, the step between outputs) of each dimension."""
    n = len(spatial)
    require((size is None) != (scale_factor is None), name, "exactly one of size and scale_factor must be given", ValueError)
    if size is not None:
        sizes = per_dim(name, "size", size, n)
        steps = [m / s if s else 0.0 for m, s in zip(spatial, sizes)]
    else:
        factors = scale_factor if scale_factor.__class__ is tuple else (scale_factor,) * n
        require(
            len(factors) == n and min(factors) > 0,
            name,
            f"scale_factor must be a positive number or {n} of them, got {scale_factor}",
            ValueError,
        )
        sizes = tuple([math.floor(m * f) for m, f in zip(spatial, factors)])
        steps = [m / s if recompute and s else 1 / f for m, s, f in zip(spatial, sizes, factors)]
    require(min((*sizes, *spatial)) > 0, name, f"sizes must be positive, got {list(spatial)} to {list(sizes)}")
    return sizes, steps


@composite(namespace=_F)
def interpolate(
    input: Tensor,
    size: Dims | None = None,
    scale_factor: float | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """input [N, C, *spatial] resampled to `size`, or to floor(spatial * scale_factor).

    mode is 'nearest' (the input at floor(i * step)), 'nearest-exact' (the one whose centre is nearest), 'linear', 'bilinear',
    'trilinear' or 'bicubic' (by the number of spatial dimensions), or 'area' (adaptive averages). Pixels are squares that share the
    image's edges, or, with align_corners, points of which the outer ones coincide. The step between outputs is 1 / scale_factor
    where that is given, unless recompute_scale_factor asks for spatial / size.

    >>> import functorch_lite as fl
    >>> fl.nn.functional.interpolate(fl.asarray([[[0.0, 2.0]]]), scale_factor=2, mode="linear").tolist()
    [[[0.0, 0.5, 1.5, 2.0]]]
    """
    name = "interpolate"
    require_arrays(name, input=input)
    n = input.ndim - 2
    require(
        n in (1, 2, 3), name, f"expected input [N, C, *spatial] with 1 to 3 spatial dimensions, got {shown(input)}", NotImplementedError
    )
    require(not antialias, name, "antialias=True is not implemented: blur first, or use mode='area'", NotImplementedError)
    sizes, steps = _sizes(name, input.shape[2:], size, scale_factor, recompute_scale_factor)
    cornered = mode in _LINEAR or mode == "bicubic"
    require(
        cornered or align_corners is None, name, f"align_corners is an option of the linear and cubic modes, got mode={mode!r}", ValueError
    )
    fits = _LINEAR.get(mode, 2 if mode == "bicubic" else n) == n
    known = cornered or mode in ("nearest", "nearest-exact", "area")
    require(fits and known, name, f"mode={mode!r} is not known for {n} spatial dimensions: {shown(input)}", NotImplementedError)
    if mode == "area":
        return _AREA[n](input, sizes)
    if mode.startswith("nearest"):
        for dim, (out, step) in enumerate(zip(sizes, steps), 2):
            input = _nearest(input, dim, out, step, mode == "nearest-exact")
        return input
    require_floating(name, input)
    x = to_dtype(input, accumulator(input.dtype))
    for dim, (out, step) in enumerate(zip(sizes, steps), 2):
        x = (_cubic if mode == "bicubic" else _linear)(x, dim, out, step, bool(align_corners))
    return to_dtype(x, input.dtype)


def upsample(
    input: Tensor,
    size: Dims | None = None,
    scale_factor: float | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """`interpolate`, under its old name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Dims | None = None, scale_factor: float | None = None) -> Tensor:
    """`interpolate` by the nearest pixel."""
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input: Tensor, size: Dims | None = None, scale_factor: float | None = None) -> Tensor:
    """`interpolate` of images between four pixels, with align_corners."""
    return interpolate(input, size, scale_factor, "bilinear", True)


upsample.op = upsample_nearest.op = upsample_bilinear.op = interpolate.op

# ------------------------------------------------------------------------------------------------- channels for pixels


def _shuffled_reference(x, r):
    *lead, c, h, w = x.shape
    return np.moveaxis(x.reshape(*lead, c // r**2, r, r, h, w), (-4, -3), (-3, -1)).reshape(*lead, c // r**2, h * r, w * r)


def _unshuffled_reference(x, r):
    *lead, c, h, w = x.shape
    return np.moveaxis(x.reshape(*lead, c, h // r, r, w // r, r), (-3, -1), (-4, -3)).reshape(*lead, c * r**2, h // r, w // r)


def _rearranged(x, split, order, merged):
    """x [..., a, b, c] with its last three dimensions split, reordered and merged."""
    n = x.ndim - 3
    lead = x.shape[:n]
    x = shape.permute(shape.reshape(x, (*lead, *split)), (*range(n), *[n + d for d in order]))
    return shape.reshape(x, (*lead, *merged))


@composite(namespace=_F, reference=_shuffled_reference)
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """[..., C r^2, H, W] as [..., C, H r, W r]: each pixel becomes r by r, from r^2 channels (Shi et al., 2016)."""
    require_arrays("pixel_shuffle", input=input)
    r = upscale_factor
    ok = input.ndim >= 3 and r > 0 and input.shape[-3] % r**2 == 0
    require(ok, "pixel_shuffle", f"expected input [..., a multiple of {r}^2, H, W], got {shown(input)}")
    c, h, w = input.shape[-3:]
    return _rearranged(input, (c // r**2, r, r, h, w), (0, 3, 1, 4, 2), (c // r**2, h * r, w * r))


@composite(namespace=_F, reference=_unshuffled_reference)
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """[..., C, H r, W r] as [..., C r^2, H, W]: `pixel_shuffle` undone."""
    require_arrays("pixel_unshuffle", input=input)
    r = downscale_factor
    ok = input.ndim >= 3 and r > 0 and input.shape[-1] % r == 0 == input.shape[-2] % r
    require(ok, "pixel_unshuffle", f"expected input [..., C, H, W] with H and W multiples of {r}, got {shown(input)}")
    c, h, w = input.shape[-3:]
    return _rearranged(input, (c, h // r, r, w // r, r), (0, 2, 4, 1, 3), (c * r**2, h // r, w // r))


def _channel_shuffled_reference(x, groups):
    return np.moveaxis(x.reshape(len(x), groups, -1, *x.shape[2:]), 1, 2).reshape(x.shape)


@composite(reference=_channel_shuffled_reference)
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of input [N, C, *] in another order: as [groups, C / groups], turned (Zhang et al., ShuffleNet, 2018).

    RuntimeError for a C that groups does not divide, or fewer than 3 dimensions.

    >>> import functorch_lite as fl
    >>> fl.channel_shuffle(fl.asarray([[[0], [1], [2], [3]]]), 2).flatten().tolist()
    [0, 2, 1, 3]
    """
    name = "channel_shuffle"
    require_arrays(name, input=input)
    require(input.ndim > 2, name, f"expects input with > 2 dims, but got {shown(input)}")
    ok = groups > 0 and input.shape[1] % groups == 0
    require(ok, name, f"number of channels must be divisible by groups={groups} (which is positive), got {shown(input)}")
    n, c, *rest = input.shape
    x = shape.reshape(input, (n, groups, c // groups, *rest))
    return shape.reshape(shape.permute(x, (0, 2, 1, *range(3, x.ndim))), input.shape)


__all__ = ["channel_shuffle"]

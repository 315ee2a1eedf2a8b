"""Images sampled at the points of a grid, and the grids of affine maps (Jaderberg et al., Spatial transformer networks, 2015)."""

from __future__ import annotations

import itertools

import numpy as np

from ..core.dtype import int64
from ..core.op import Dims, Tensor, composite
from ..prims import algebra, compare, contract, create, elementwise, index, shape
from .arguments import accumulator, require, require_arrays, require_floating, shown
from .promotion import to_dtype
from .resize import cubic_weights

_F = "fl.nn.functional"
_MODES = "bilinear", "nearest", "bicubic"
_PADDINGS = "zeros", "border", "reflection"

# ------------------------------------------------------------------------------------------------------- coordinates


def _plus(x, number):
    return elementwise.add(x, algebra.full_like(x, number))


def _pixels(at, size: int, align: bool):
    """Coordinates from -1 to 1 as pixels: of the outer ones' centres if aligned, else of the image's edges."""
    if align:
        return elementwise.scaled(_plus(at, 1), (size - 1) / 2)
    return elementwise.scaled(_plus(elementwise.scaled(_plus(at, 1), size), -1), 0.5)


def _clipped(at, size: int):
    """Moved inside; the derivative is 0 at the bounds, and where it was moved."""
    low, high = algebra.zeros(at.aval), algebra.full_like(at, size - 1)
    return compare.select(compare.gt(at, low), compare.select(compare.lt(at, high), at, high), low)


def _reflected(at, low: float, high: float):
    """Mirrored at both bounds until it is between them."""
    span = high - low
    if span == 0:
        return algebra.zeros(at.aval)
    away = elementwise.abs(_plus(at, -low))
    width = algebra.full_like(away, span)
    rest, flips = elementwise.rem(away, width), elementwise.floor(elementwise.div(away, width))
    even = compare.eq(elementwise.rem(flips, algebra.full_like(flips, 2)), algebra.zeros(flips.aval))
    return _plus(compare.select(even, rest, elementwise.sub(width, rest)), low)


def _inside(at, size: int, padding: str, align: bool):
    """Pixels after padding: those that are outside for 'zeros' stay there."""
    if padding == "zeros":
        return at
    if padding == "reflection":
        at = _reflected(at, 0.0, size - 1.0) if align else _reflected(at, -0.5, size - 0.5)
    return _clipped(at, size)


# ---------------------------------------------------------------------------------------------------------- sampling


def _read(x, places):
    """The pixels [N, *out, C] of x [N, *spatial, C] at whole places, one [N, *out] for each dimension; 0 outside."""
    dims = tuple(range(1, 1 + len(places)))
    return index.gather(x, [to_dtype(p, int64) for p in places], dims, (0,) * len(dims), ((0,), (0,)), 0, "drop")


def _weighted(pieces, x):
    """The sum of weight [N, *out] times pixels [N, *out, C]."""
    terms = []
    for weight, places in pieces:
        pixels = _read(x, places)
        terms.append(elementwise.mul(pixels, shape.broadcast(weight, pixels.shape, tuple(range(weight.ndim)))))
    return algebra.total(terms)


def _neighbours(at):
    """The two pixels around a place along one dimension, with their weights."""
    low = elementwise.floor(at)
    t = elementwise.sub(at, low)
    return (elementwise.sub(algebra.one_like(t), t), low), (t, _plus(low, 1))


def _combined(per_dim):
    """(weight, places) of each combination of a neighbour along each dimension."""
    for several in itertools.product(*per_dim):
        weight = several[0][0]
        for other, _ in several[1:]:
            weight = elementwise.mul(weight, other)
        yield weight, [place for _, place in several]


def _cubic_neighbours(at, size, padding, align):
    """Four pixels, each of which is padded on its own."""
    first = elementwise.floor(at)
    weights = cubic_weights(elementwise.sub(at, first))
    return [(w, _inside(_plus(first, k - 1), size, padding, align)) for k, w in enumerate(weights)]


@composite(namespace=_F, reference=lambda *args, **kwargs: _grid_sample_reference(*args, **kwargs))
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """input [N, C, *spatial] at the points of grid [N, *out, 2] (or 3): [N, C, *out].

    A point is (x, y) (or (x, y, z)), from -1 at one edge of the image (or with align_corners at the centre of its outer pixels) to 1 at
    the other. mode is 'bilinear' (between the 4 or 8 pixels around), 'nearest', or 'bicubic' (for images, of 16); outside, padding_mode
    puts 'zeros', the 'border' or a 'reflection'. ValueError for other modes, RuntimeError for shapes that do not fit.

    >>> import functorch_lite as fl
    >>> x, grid = fl.asarray([[[[1.0, 3.0]]]]), fl.asarray([[[[0.0, 0.0], [2.0, 0.0]]]])
    >>> fl.nn.functional.grid_sample(x, grid, align_corners=True).tolist()
    [[[[2.0, 0.0]]]]
    """
    name = "grid_sample"
    require(mode in _MODES, name, f"expected mode to be one of {', '.join(_MODES)}, got {mode!r}", ValueError)
    require(padding_mode in _PADDINGS, name, f"expected padding_mode to be one of {', '.join(_PADDINGS)}, got {padding_mode!r}", ValueError)
    require_arrays(name, input=input, grid=grid)
    require_floating(name, input)
    n = input.ndim - 2
    ok = n in (2, 3) and grid.ndim == input.ndim and grid.shape[0] == input.shape[0] and grid.shape[-1] == n
    require(ok, name, f"expected input [N, C, H, W] and grid [N, *, *, 2], or with one more dimension, got {shown(input, grid)}")
    require(input.dtype is grid.dtype, name, f"expected input and grid of one dtype, got {shown(input, grid)}")
    require(0 not in input.shape[2:], name, f"expected input with non-empty spatial dimensions, got {shown(input)}")
    require(mode != "bicubic" or n == 2, name, f"bicubic interpolation is for 4D input, got {shown(input)}")
    align, spatial = bool(align_corners), input.shape[2:]
    x, g = (to_dtype(a, accumulator(input.dtype)) for a in (input, grid))
    x = shape.permute(x, (0, *range(2, n + 2), 1))
    outs = grid.shape[:-1]
    at = [shape.reshape(shape.part(g, n + 1, n - 1 - d, n - d), outs) for d in range(n)]
    at = [_pixels(a, size, align) for a, size in zip(at, spatial)]
    if mode == "bicubic":
        out = _weighted(_combined([_cubic_neighbours(a, size, padding_mode, align) for a, size in zip(at, spatial)]), x)
    else:
        at = [_inside(a, size, padding_mode, align) for a, size in zip(at, spatial)]
        if mode == "nearest":
            out = _read(x, [elementwise.round(a) for a in at])
        else:
            out = _weighted(_combined([_neighbours(a) for a in at]), x)
    return to_dtype(shape.permute(out, (0, n + 1, *range(1, n + 1))), input.dtype)


def _grid_sample_reference(x, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """By the definitions, a point at a time."""
    sizes = np.array(x.shape[2:])
    at = grid[..., ::-1].astype(np.float64)
    at = (at + 1) / 2 * (sizes - 1) if align_corners else ((at + 1) * sizes - 1) / 2
    low, high = (0 * sizes, sizes - 1) if align_corners else (-0.5 + 0 * sizes, sizes - 0.5)

    def padded(at):
        if padding_mode == "reflection":
            span = high - low
            away = np.abs(at - low) % np.where(span, 2 * span, 1)
            at = np.where(span, low + np.minimum(away, 2 * span - away), 0)
        return at if padding_mode == "zeros" else np.clip(at, 0, sizes - 1)

    def pixel(image, place):
        place = np.asarray(place, int)
        return image[(slice(None), *place)] if ((place >= 0) & (place < sizes)).all() else 0

    def weights(t):
        if mode == "nearest":
            return {int(np.round(t)): 1.0}
        reach, kernel = ((0, 2), lambda s: 1 - abs(s)) if mode == "bilinear" else ((-1, 3), _keys)
        return {int(np.floor(t)) + k: kernel(t - np.floor(t) - k) for k in range(*reach)}

    out = np.zeros((x.shape[0], *grid.shape[1:-1], x.shape[1]))
    for place in np.ndindex(*grid.shape[:-1]):
        point = at[place] if mode == "bicubic" else padded(at[place])
        for several in itertools.product(*[weights(t).items() for t in point]):
            where = np.array([k for k, _ in several], float)
            where = padded(where) if mode == "bicubic" else where
            out[place] += np.prod([w for _, w in several]) * pixel(x[place[0]], where)
    return np.moveaxis(out, -1, 1).astype(x.dtype)


def _keys(s, a=-0.75):
    s = abs(s)
    return (a + 2) * s**3 - (a + 3) * s**2 + 1 if s <= 1 else a * (s**3 - 5 * s**2 + 8 * s - 4)


def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    """`nn.functional.grid_sample` with its modes by number: 0 to 2 are bilinear, nearest, bicubic, and zeros, border, reflection.

    >>> import functorch_lite as fl
    >>> fl.grid_sampler(fl.ones(1, 1, 2, 2), fl.zeros(1, 1, 1, 2), 0, 0, False).tolist()
    [[[[1.0]]]]
    """
    ok = interpolation_mode in (0, 1, 2) and padding_mode in (0, 1, 2)
    require(ok, "grid_sampler", f"modes are numbers from 0 to 2, got {interpolation_mode=}, {padding_mode=}", ValueError)
    return grid_sample(input, grid, _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners)


grid_sampler.op = grid_sample.op

# ------------------------------------------------------------------------------------------------------- affine maps


def _affine_grid_reference(theta, size, align_corners=None):
    axes = []
    for n in size[2:]:
        line = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
        axes.append(line if align_corners else line * (n - 1) / n)
    points = np.stack([*np.meshgrid(*axes, indexing="ij")[::-1], np.ones(size[2:])], -1)
    return np.einsum("nij,...j->n...i", theta, points).astype(theta.dtype)


@composite(namespace=_F, reference=_affine_grid_reference)
def affine_grid(theta: Tensor, size: Dims, align_corners: bool | None = None) -> Tensor:
    """The grid [N, *spatial, 2] (or 3) for `grid_sample` that maps images of ``size`` [N, C, *spatial] by theta [N, 2, 3] (or [N, 3, 4]).

    Row i of theta gives coordinate i from (x, y, 1) (or (x, y, z, 1)). RuntimeError for shapes that do not fit.

    >>> import functorch_lite as fl
    >>> fl.nn.functional.affine_grid(fl.asarray([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2)).tolist()
    [[[[-0.5, 0.0], [0.5, 0.0]]]]
    """
    name = "affine_grid"
    require_arrays(name, theta=theta)
    require_floating(name, theta, "theta")
    n = len(size) - 2
    require(n in (2, 3), name, f"expected size [N, C, H, W] or [N, C, D, H, W], got {list(size)}", NotImplementedError)
    ok = theta.shape == (size[0], n, n + 1)
    require(
        ok,
        name,
        f"expected a batch of {n}D affine matrices [{size[0]}, {n}, {n + 1}] for size {list(size)}, got {shown(theta)}",
        ValueError,
    )
    require(min(size) > 0, name, f"expected a non-zero, positive size, got {list(size)}", ValueError)
    spatial = tuple(size[2:])
    wide = accumulator(theta.dtype)
    whole = (*spatial, 1)
    columns = [_axis(whole, d, size=spatial[d], dtype=wide, align=bool(align_corners)) for d in reversed(range(n))]
    points = shape.concatenate([*columns, create.full(whole, 1, wide)], n)
    out = contract.dot_general(points, to_dtype(theta, wide), ((n,), (2,)), ((), ()))  # [*spatial, N, n]
    return to_dtype(shape.permute(out, (n, *range(n), n + 1)), theta.dtype)


def _axis(whole, d, size, dtype, align):
    """Coordinates from -1 to 1 along dimension d: of the outer pixels' centres, or of the edges."""
    i = create.iota(whole, d, dtype)
    if align:
        return _plus(elementwise.scaled(i, 2 / (size - 1)), -1) if size > 1 else algebra.zeros(i.aval)
    return _plus(elementwise.scaled(i, 2 / size), 1 / size - 1)


__all__ = ["grid_sampler"]

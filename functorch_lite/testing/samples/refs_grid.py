"""Samples of grids and of what samples images at their points; of channels in another order."""

from __future__ import annotations

import itertools

import numpy as np

from ...core.dtype import int64
from ...refs import grid, rearrange, resize
from ..table import REAL, Sample, array, row


def points(rng, shape, sizes, dtype, align):
    """Points inside and outside, none near a pixel's centre or edge, where the derivative jumps."""
    n = len(sizes)
    at = [rng.integers(-2, m + 1, shape) + rng.uniform(0.1, 0.4, shape) for m in reversed(sizes)]
    at = [2 * a / (m - 1) - 1 if align else (2 * a + 1) / m - 1 for a, m in zip(at, reversed(sizes))]
    return np.stack(at, n + 1).astype(dtype.dtype)


def samplings(rng, dtype):
    for mode, padding, align in itertools.product(grid._MODES, grid._PADDINGS, (False, True)):
        x = array(rng, (2, 2, 3, 4), dtype)
        yield Sample(x, points(rng, (2, 2, 3), (3, 4), dtype, align), mode, padding, align)
    for mode, padding in (("bilinear", "zeros"), ("nearest", "border"), ("bilinear", "reflection")):
        yield Sample(array(rng, (1, 2, 3, 2, 2), dtype), points(rng, (1, 2, 1, 2), (3, 2, 2), dtype, True), mode, padding, True)


row(grid.grid_sample, samplings, tolerance=20)


def affine_maps(rng, dtype):
    for size, align in (((2, 1, 2, 3), False), ((1, 1, 1, 2), True), ((2, 1, 2, 1, 3), True)):
        n = len(size) - 2
        yield Sample(array(rng, (size[0], n, n + 1), dtype), size, align)


row(grid.affine_grid, affine_maps, tolerance=4)
row(resize.channel_shuffle, lambda rng, dtype: [Sample(array(rng, (2, 4, 3), dtype), 2), Sample(array(rng, (1, 6, 1, 2), dtype), 3)])


def pads(rng, dtype):
    return [Sample(array(rng, (2, 3), dtype), (1, 2, -1, 0), 3), Sample(array(rng, (2, 3), dtype), (1, 0))]


row(rearrange.constant_pad_nd, pads, (*REAL, int64))

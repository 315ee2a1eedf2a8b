"""Samples of comparison, selection, minimum, maximum and clamp."""

from __future__ import annotations

import numpy as np

from ...core.dtype import bool_, complex128, float32, float64, int64, uint8
from ...prims import compare
from ..table import REAL, SHAPES, Sample, array, row

ORDERED = (float32, float64, int64, uint8, bool_)


def pairs(rng, dtype):
    """Some equal elements, some not."""
    for s in SHAPES:
        x, y = array(rng, s, dtype), array(rng, s, dtype)
        yield Sample(x, np.where(rng.random(s) < 0.3, x, y), differentiable=False)


def apart(rng, dtype):
    """No ties, which are kinks; and a sample with ties and NaN."""
    for s in SHAPES:
        x, y = array(rng, s, dtype), array(rng, s, dtype)
        yield Sample(x, y, differentiable=dtype.is_inexact)
    if dtype.is_inexact:
        yield Sample(np.array([1, np.nan, 2, -0.0], dtype.dtype), np.array([1, 2, np.nan, 0.0], dtype.dtype), differentiable=False)


def intervals(rng, dtype):
    for s in SHAPES:
        x, low = array(rng, s, dtype), array(rng, s, dtype, -1, 0)
        yield Sample(x, low, array(rng, s, dtype, 1, 2), differentiable=dtype.is_inexact)
    if dtype.is_inexact:
        x, low, high = [-1, 1, np.nan, 0, 0, 5], [-1, 0, 0, np.nan, 2, 2], [1, 1, 1, 1, np.nan, 1]
        yield Sample(*[np.array(v, dtype.dtype) for v in (x, low, high)], differentiable=False)


def selections(rng, dtype):
    for s in SHAPES:
        yield Sample(array(rng, s, bool_), array(rng, s, dtype), array(rng, s, dtype))


def not_all_finite(rng, dtype):
    return [Sample(np.array([1, np.nan, np.inf, -np.inf], dtype.dtype)), *[Sample(array(rng, s, dtype)) for s in SHAPES]]


for function in (compare.eq, compare.ne):
    row(function, pairs, (*ORDERED, complex128))
for function in (compare.lt, compare.le, compare.gt, compare.ge):
    row(function, pairs, ORDERED)
row(compare.isfinite, not_all_finite, REAL)
row(compare.select, selections, (*ORDERED, complex128))
row(compare.maximum, apart, ORDERED)
row(compare.minimum, apart, ORDERED)
row(compare.clamp, intervals, (float32, float64, int64, uint8))

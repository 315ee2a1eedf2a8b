"""Samples of medians, quantiles and modes, of differences and integrals, of histograms, and of what differs."""

from __future__ import annotations

import numpy as np

from ...core.dtype import bool_, float32, float64, int64
from ...refs import calculus, distinct, histograms, quantiles
from ..table import INEXACT, NUMBERS, Sample, array, row
from .reduce import distinct as untied_values
from .refs_reduce import ORDERED, one_dim, untied

# -------------------------------------------------------------------------------------------------------- medians

GAPS = ([[1, np.nan, 2], [np.nan, np.nan, np.nan]],)  # numbers missing, and all of them


def whole(rng, dtype):
    for s in ((3,), (2, 3), ()):
        yield Sample(untied_values(rng, s, dtype))
    for x in GAPS if dtype.is_inexact else ():
        yield Sample(np.array(x, dtype.dtype), differentiable=False)


def gaps(rng, dtype):
    yield from untied(one_dim(untied_values))(rng, dtype)
    for x in GAPS if dtype.is_inexact else ():
        yield Sample(np.array(x, dtype.dtype), 1, differentiable=False)


for function in (quantiles._median, quantiles._nanmedian):
    row(function, whole, ORDERED)
for function in (quantiles.median_dim, quantiles.nanmedian_dim):
    row(function, gaps, ORDERED)


def modes(rng, dtype):
    for s, d, k in (((5,), 0, False), ((2, 3), -1, True), ((2, 3), 0, False), ((), 0, False)):
        yield Sample(array(rng, s, int64).astype(dtype.dtype), d, k, differentiable=False)
        if dtype.is_inexact:
            yield Sample(untied_values(rng, s, dtype), d, k)


row(quantiles.mode, modes, (float64, int64, bool_))


def shares(rng, dtype):
    """Places between elements, so that a small step passes none."""
    for i in ("linear", "lower", "higher", "midpoint", "nearest"):
        for s, q, d, k in (((4,), (2,), 0, False), ((2, 3), (), -1, True), ((2, 3), (2,), None, False), ((2, 3), (1,), 0, True)):
            share = np.asarray((0.2 + 0.1 * np.arange(max(sum(q), 1))).reshape(q) + rng.uniform(0, 0.02), dtype.dtype)
            yield Sample(untied_values(rng, s, dtype), share, d, k, interpolation=i)
    yield Sample(untied_values(rng, (3,), dtype), 0.3)
    yield Sample(np.array([[1, np.nan, 3], [2, 4, 1]], dtype.dtype), np.array([0, 0.4, 1], dtype.dtype), 1, differentiable=False)


row(quantiles.quantile, shares)
row(quantiles.nanquantile, shares)

# ------------------------------------------------------------------------------------------ differences and integrals


def differences(rng, dtype):
    for s, n, d in (((3,), 1, -1), ((2, 3), 2, 1), ((2, 3), 1, 0), ((3,), 0, 0), ((2,), 3, 0), ((0, 2), 1, 1)):
        yield Sample(array(rng, s, dtype), n, d)
    yield Sample(array(rng, (2, 3), dtype), 1, 1, prepend=array(rng, (2, 1), dtype), append=array(rng, (2, 2), dtype))


row(calculus.diff, differences, (*NUMBERS, bool_))


def slopes(rng, dtype):
    real = dtype.to_real() if dtype.is_inexact else float64
    for edge in (1, 2):
        yield Sample(array(rng, (4,), dtype), [0.5], None, edge)
        yield Sample(array(rng, (3, 4), dtype), [2.0, 1.5], (1, 0), edge)
        places = [np.cumsum(array(rng, (n,), real, 0.5, 1.5)) for n in (3, 4)]
        yield Sample(array(rng, (3, 4), dtype), places, None, edge)


row(calculus._gradient, slopes, INEXACT)


def integrals(rng, dtype):
    real = dtype.to_real() if dtype.is_inexact else dtype
    for s, of_x, d in (((4,), (4,), -1), ((2, 3), (2, 3), 1), ((2, 3), (2,), 0)):
        yield Sample(array(rng, s, dtype), array(rng, of_x, real), dim=d)
    yield Sample(array(rng, (2, 3), dtype), dx=0.5, dim=0)


row(calculus.trapezoid, integrals, INEXACT)
row(calculus.cumulative_trapezoid, integrals, INEXACT)

# --------------------------------------------------------------------------------------------------------- histograms


def parts(rng, dtype):
    for s in ((5,), (2, 3), ()):
        yield Sample(untied_values(rng, s, dtype), 4, -1.51, 1.49)
    yield Sample(np.array([1, np.nan, 3, 0.5], dtype.dtype), 3, 0.4, 3.1, differentiable=False)
    yield Sample(np.array([1, 2, 2, 3], dtype.dtype), 3, differentiable=False)
    yield Sample(np.array([2, 2], dtype.dtype), 3, differentiable=False)
    yield Sample(array(rng, (0, 2), dtype), 2)


row(histograms.histc, parts)


def points(rng, dtype):
    yield Sample(untied_values(rng, (5, 2), dtype), (2, 3))
    yield Sample(untied_values(rng, (2, 3, 1), dtype), (4,), (-1.0, 2.0))
    yield Sample(np.full((2, 1), 3, dtype.dtype), (2,), differentiable=False)
    yield Sample(array(rng, (0, 1), dtype), (2,))


row(histograms.bin_edges, points)


def counts(rng, dtype):
    edges = [np.array([-1.53, 0.07, 1.51], dtype.dtype), np.array([-1.3, 0.31, 0.9, 2.03], dtype.dtype)]
    for density in (False, True):
        yield Sample(untied_values(rng, (6, 2), dtype), None, edges, density)
        yield Sample(untied_values(rng, (2, 3, 1), dtype), array(rng, (2, 3), dtype, 0.5, 1.5), edges[:1], density)
    yield Sample(np.array([[1.51], [-1.53], [np.nan], [9]], dtype.dtype), None, edges[:1], differentiable=False)  # on edges, and beyond


row(histograms.bin_counts, counts)

# ---------------------------------------------------------------------------------------------------- what differs


def words(rng, dtype):
    for consecutive in (False, True):
        for s, size, dim in (((6,), 4, None), ((2, 3), 8, None), ((4, 2), 3, 0), ((2, 3), 4, 1), ((), 1, None), ((0,), 2, None)):
            x = untied_values(rng, s, dtype) if dtype.is_inexact else rng.integers(0, 2, s)
            yield Sample(np.asarray(x, dtype.dtype), size, 7, dim=dim, consecutive=consecutive)
    yield Sample(np.array([1, np.nan, 1, np.nan] if dtype.is_inexact else [1, 0, 1, 0], dtype.dtype), 4, differentiable=False)


row(distinct.unique_static, words, (float32, float64, int64, bool_))

"""Samples of matrices made of data: traces, covariances, blocks, powers, distances and bounded norms."""

from __future__ import annotations

import numpy as np

from ...core.dtype import complex128, float32, float64, int64
from ...refs import matrices
from ..table import INEXACT, NUMBERS, REAL, Sample, array, row


def covariances(rng, dtype):
    counts, weights = rng.integers(1, 4, 3), rng.uniform(0.5, 1.5, 3)
    for fweights in (None, counts):
        for aweights in (None, weights):
            for shape, correction in (((2, 3), 1), ((3,), 0)):
                yield Sample(array(rng, shape, dtype), correction=correction, fweights=fweights, aweights=aweights)
    yield Sample(array(rng, (2, 1), dtype), differentiable=False)  # 0 / 0
    yield Sample(array(rng, (), dtype), correction=0)


def correlations(rng, dtype):
    return [Sample(array(rng, s, dtype)) for s in ((2, 3), (3, 4), (4,))]


def blocks(rng, dtype):
    for shapes in (((2, 3), (3,), ()), ((0, 2), (2, 1)), ((3,),)):
        yield Sample(*[array(rng, s, dtype) for s in shapes])
    yield Sample()


row(matrices.trace, lambda rng, dtype: [Sample(array(rng, s, dtype)) for s in ((3, 3), (2, 3), (3, 2), (0, 2))], NUMBERS)
row(matrices.cov, covariances, INEXACT, tolerance=4)
row(matrices.cov, lambda rng, dtype: [Sample(array(rng, (2, 3), dtype))], (int64,), tolerance=4)
row(matrices.corrcoef, correlations, (float32, float64, complex128), tolerance=10)
row(matrices.block_diag, blocks, NUMBERS)
row(
    matrices.vander_rows,
    lambda rng, dtype: [Sample(array(rng, s, dtype), N=n) for s, n in (((3,), None), ((2, 3), 2), ((3,), 4), ((0, 2), 3))],
    NUMBERS,
    tolerance=4,
)
row(
    matrices.vander,
    lambda rng, dtype: [Sample(array(rng, (3,), dtype), n, up) for n, up in ((None, False), (4, True), (1, False), (0, True))],
    NUMBERS,
    tolerance=4,
)


def crosses(rng, dtype):
    for a, b, dim in (((3,), (3,), None), ((2, 3), (2, 3), None), ((3, 3), (3, 3), 1), ((3, 2), (3, 1), 0)):
        yield Sample(array(rng, a, dtype), array(rng, b, dtype), dim)


def rows_apart(rng, dtype):
    for p in (2.0, 1.0, 0.0, 3.0, np.inf):
        for n, d in ((3, 2), (1, 2), (0, 2)):
            yield Sample(np.asarray(np.arange(n)[:, None] * 3 + np.arange(d) ** 2 + rng.uniform(-0.2, 0.2, (n, d)), dtype.dtype), p)


def slices(rng, dtype):
    for shape, p, dim, bound in (
        ((2, 3), 2, 0, 1.0),
        ((2, 3), 1, -1, 2.0),
        ((2, 3, 2), 3, 1, 0.5),
        ((0, 2), 2, 1, 1.0),
        ((2, 3), np.inf, 0, 9.0),
    ):
        yield Sample(array(rng, shape, dtype), p, dim, bound)


row(matrices.cross, crosses, NUMBERS)
row(matrices.pdist, rows_apart, REAL, tolerance=2)
row(matrices.renorm, slices, INEXACT, tolerance=2)

"""Samples of packed factors: reflectors, L D L^T and LU in LAPACK's form, torch's older spellings, and factors of low rank."""

from __future__ import annotations

import numpy as np

from ...core.dtype import complex128, float64
from ...prims import linalg as prims
from ...prims import reflectors
from ...refs import former, lowrank, packed
from ..table import INEXACT, Sample, array, row
from .linalg import OBLONGS, PHASE
from .reflectors import symmetric
from .refs_linalg import factor, spread

_REFLECTED = (((3, 3), 3), ((3, 2), 2), ((3, 3), 1), ((2, 3, 2), 2), ((3, 2), 0), ((0, 0), 0))


def reflected(rng, dtype):
    for shape, k in _REFLECTED:
        yield Sample(array(rng, shape, dtype), array(rng, (*shape[:-2], k), dtype))


def multiplied(rng, dtype):
    for left in (True, False):
        for transpose in (True, False):
            for shape, k in (((3, 3), 3), ((3, 2), 2), ((2, 3, 2), 2)):
                other = (*shape[:-2], 3, 2) if left else (*shape[:-2], 2, 3)
                yield Sample(array(rng, shape, dtype), array(rng, (*shape[:-2], k), dtype), array(rng, other, dtype), left, transpose)


def symmetrics(rng, dtype):
    for shape in ((3, 3), (2, 4, 4), (0, 0)):
        for hermitian in (False, True):
            yield Sample(symmetric(rng, shape, dtype, hermitian, False), hermitian=hermitian, held=(0,))


def symmetric_systems(rng, dtype):
    for zero_diagonal in (False, True):
        for hermitian in (False, True):
            for shape, b in (((4, 4), (4, 2)), ((2, 4, 4), (4, 1)), ((4, 4), (2, 4, 1)), ((0, 0), (0, 2))):
                x = symmetric(rng, shape, dtype, hermitian, zero_diagonal)
                x = x + 3 * np.tril(np.eye(shape[-1], k=-1), -1).astype(x.dtype)
                factors, pivots, _ = reflectors.ldl.op.reference(x, hermitian)
                yield Sample(factors, pivots, array(rng, b, dtype), hermitian=hermitian)


def packed_lus(rng, dtype):
    for shape in OBLONGS:
        factors, pivots, _ = prims.lu.op.reference(spread(rng, shape, dtype))
        for what in ((), (False,), (True, False)):
            yield Sample(factors, pivots + np.int32(1), *what)


row(packed.householder_product, reflected, INEXACT, tolerance=10)
row(packed.ormqr, multiplied, INEXACT, tolerance=10)
row(packed.geqrf, lambda rng, dtype: [Sample(array(rng, s, dtype), held=(0,)) for s in OBLONGS], INEXACT, tolerance=10)
row(packed.ldl_factor, symmetrics, INEXACT, tolerance=100)
row(packed.ldl_factor_ex, symmetrics, INEXACT, tolerance=100)
row(packed.ldl_solve, symmetric_systems, (float64, complex128), tolerance=100)
row(packed.lu_unpack, packed_lus, INEXACT, tolerance=10)

# ----------------------------------------------------------------------------------------------------- older spellings


def triangles(rng, dtype):
    for i, (b, a) in enumerate((((3, 2), (3, 3)), ((3, 1), (2, 3, 3)), ((2, 3, 2), (3, 3)), ((0, 2), (0, 0))) * 2):
        yield Sample(array(rng, b, dtype), factor(rng, a, dtype), bool(i & 1), i > 3, i % 3 == 0)


def decompositions(rng, dtype):
    return [Sample(spread(rng, s, dtype)) for s in OBLONGS]


row(former.svd, decompositions, (float64,), tolerance=10, skip={"value": PHASE})
row(former.svd, lambda rng, dtype: [Sample(spread(rng, s, dtype), True, False) for s in OBLONGS], INEXACT, tolerance=10)
row(former.triangular_solve, triangles, INEXACT, tolerance=10)

# --------------------------------------------------------------------------------------------------------------- low rank

DRAWN = "a draw has no reference: tests/refs/test_factored.py compares what it says of the matrix"


def low(rng, dtype, *, m: bool):
    key = rng.integers(0, 2**32, 2, np.uint32)
    for shape in ((3, 2), (2, 3), (2, 3, 3)):
        x = spread(rng, shape, dtype)
        yield Sample(x, 2, 1, array(rng, shape, dtype, -0.1, 0.1), key=key) if m else Sample(x, 2, False, 1, key=key)
    if not m:
        yield Sample(spread(rng, (4, 3), dtype), key=key)


for function, has_m in ((lowrank.svd_lowrank, True), (lowrank.pca_lowrank, False)):
    row(function, lambda rng, dtype, m=has_m: low(rng, dtype, m=m), (float64,), tolerance=100, skip={"value": DRAWN})

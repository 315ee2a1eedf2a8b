"""Samples of the refs that make arrays."""

from __future__ import annotations

import numpy as np

from ...core.dtype import bool_, complex64, float32, float64, int64
from ...refs import create
from ..table import NUMBERS, REAL, Sample, array, row

STEPS = (0, 1, 2, 5)


def fillings(rng, dtype):
    for size in ((3,), (2, 3), (), (0, 2)):
        yield Sample(size, array(rng, (), dtype))
        yield Sample(size, array(rng, (), dtype), dtype=dtype)


def ends(rng, dtype):
    for n in STEPS:
        yield Sample(array(rng, (), dtype, -2, 0), array(rng, (), dtype, 1, 3), n, dtype=dtype)
    yield Sample(array(rng, (), dtype, -2, 0), 3, 5, differentiable=False)  # float32, too coarse for differences


def ramps(rng, dtype):
    for n in STEPS:
        yield Sample(array(rng, (), dtype), array(rng, (), dtype, 1, 2), n, dtype)


def identities(rng, dtype):
    for n, m in ((3, None), (2, 3), (0, 2)):
        yield Sample(n, m, dtype)


def triangles(rng, dtype):
    for s in ((2, 3), (3, 2), (2, 3, 3), (0, 2)):
        for k in (-1, 0, 1):
            yield Sample(array(rng, s, dtype), k)


def whole_ends(rng, dtype):
    for first, last, steps in ((50, 1, 50), (-5, 3, 6), (3, -8, 7), (2, 9, 1), (0, 5, 0)):
        yield Sample(np.asarray(first, dtype.dtype), np.asarray(last, dtype.dtype), steps, dtype=dtype)


row(create.full, fillings, (float32, float64, int64, bool_))
row(create.ramp, ramps, (float32, float64, int64))
row(create.linspace, ends, REAL)
row(create.linspace, whole_ends, (int64,))
row(create.logspace, ends, REAL, tolerance=8)
row(create.eye, identities, (float32, int64, bool_, complex64))
for function in (create.tril, create.triu):
    row(function, triangles, (*NUMBERS, bool_))

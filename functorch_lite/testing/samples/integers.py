"""Samples of divisors, multiples, and floats taken apart."""

from __future__ import annotations

import numpy as np

from ...core.dtype import int32, int64, uint8
from ...prims import integers as prims
from ...refs import integers, parts
from ..table import COMPLEXES, REAL, SHAPES, Sample, array, row


def pairs(rng, dtype):
    for s in SHAPES:
        yield Sample(array(rng, s, dtype, -12, 12), array(rng, s, dtype, -12, 12))
    yield Sample(np.asarray([0, 0, 7, 12], dtype.dtype), np.asarray([0, 5, 0, 18], dtype.dtype))


for function in (prims.gcd, integers.gcd, integers.lcm):
    row(function, pairs, (int32, int64, uint8))


def floats(rng, dtype):
    """Away from powers of two, where the mantissa jumps."""
    for s in SHAPES:
        yield Sample(np.asarray(rng.uniform(0.55, 0.95, s) * 2.0 ** rng.integers(-9, 9, s) * rng.choice([-1, 1], s), dtype.dtype))
    tiny = np.finfo(dtype.dtype).smallest_subnormal
    yield Sample(np.asarray([0, -0.0, 1, np.inf, -np.inf, np.nan, 5 * tiny, -tiny, 0.3], dtype.dtype), differentiable=False)


for function in (prims.mantissa, prims.exponent, integers.frexp):
    row(function, floats, REAL)


for function in (parts.resolve_conj, parts.resolve_neg):
    row(function, lambda rng, dtype: [Sample(array(rng, s, dtype)) for s in SHAPES], COMPLEXES)

"""Samples of special functions."""

from __future__ import annotations

import numpy as np

from ...prims import special
from ..table import REAL, SHAPES, Sample, array, row, unary

NO_SECOND = dict.fromkeys(("second", "jvp_vjp"), "the second derivative in a has no closed form")


def several(*ranges, held=(), **statics):
    """Samples of a function of several arrays, each in a range of its own."""
    return lambda rng, dtype: [Sample(*[array(rng, s, dtype, *r) for r in ranges], held=held, **statics) for s in SHAPES]


def left_of_zero(rng, dtype):
    """Negative numbers away from the poles at the integers."""
    return [Sample(np.asarray(rng.uniform(0.2, 0.8, s) - rng.integers(1, 4, s), dtype.dtype)) for s in SHAPES]


def orders(rng, dtype):
    return [Sample(array(rng, s, dtype, 0.3, 4), n=n) for n in (0, 1, 2, 3) for s in ((2, 3), (0, 2))]


def tails(rng, dtype):
    """Probabilities from the far tails to the middle."""
    far = np.array([0, 1e-30, 1e-12, 1e-4, 0.5, 0.999, 1], dtype.dtype)
    return [*[Sample(array(rng, s, dtype, 0.02, 0.98)) for s in SHAPES], Sample(far, differentiable=False)]


row(special.erf, unary(-3, 3))
row(special.erfc, unary(-3, 3), tolerance=4)
row(special.erfcx, unary(-1, 8), tolerance=4)
row(special.erfinv, unary(-0.95, 0.95), tolerance=4)
row(special.log_ndtr, unary(-12, 3), tolerance=4)
row(special.ndtri, tails, tolerance=8)

row(special.lgamma, unary(0.3, 6), tolerance=4)
row(special.lgamma, left_of_zero, tolerance=16)
row(special.digamma, unary(0.3, 6), tolerance=4)
row(special.digamma, left_of_zero, tolerance=16)
row(special.polygamma, orders, tolerance=8)
row(special.zeta, several((1.5, 4), (0.4, 3), held=(0,)), tolerance=4)

row(special.igamma, several((0.5, 4), (0.3, 5)), tolerance=8, skip=NO_SECOND)
row(special.igamma, several((0.5, 4), (0.3, 5), held=(0,)), tolerance=8)
row(special.igammac, several((0.5, 4), (0.3, 5)), tolerance=8, skip=NO_SECOND)
row(special.igammac, several((0.5, 4), (0.3, 5), held=(0,)), tolerance=8)
row(special.igamma_grad_a, several((0.5, 4), (0.3, 5), held=(0,)), tolerance=64)
row(special.random_gamma_grad, several((0.5, 4), (0.3, 5), held=(0,)), tolerance=256)
row(special.betainc, several((0.5, 4), (0.5, 4), (0.1, 0.9), held=(0, 1)), tolerance=8)

for function in (special.i0, special.i0e, special.i1, special.i1e):
    row(function, unary(-3, 3), REAL, tolerance=4)

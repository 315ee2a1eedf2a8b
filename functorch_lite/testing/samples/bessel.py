"""Samples of Bessel and Airy functions and of orthogonal polynomials, on both sides of where their formulas change."""

from __future__ import annotations

import numpy as np

from ...core.dtype import float32, float64
from ...prims import bessel as prims
from ...prims.polynomials import KINDS, polynomial
from ...refs import bessel as refs
from ...refs import special
from ..table import SHAPES, Sample, array, row, unary


def both_sides(low, high):
    """Values near the origin and far from it."""

    def sampler(rng, dtype):
        yield from unary(low, high)(rng, dtype)
        yield from unary(9, 30)(rng, dtype)

    return sampler


OSCILLATING = "bessel_j0 bessel_j1 bessel_y0 bessel_y1".split()
DECAYING = "modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1".split()
for name in OSCILLATING:
    row(getattr(prims, name), both_sides(0.2, 7.5), tolerance=32)
    row(getattr(refs, name), unary(0.2, 7.5), tolerance=32)
for name in DECAYING:
    row(getattr(prims, name), unary(0.2, 4), tolerance=8)
    row(getattr(refs, name), unary(0.2, 4), tolerance=8)
for function in (prims.spherical_bessel_j0, prims.spherical_bessel_j1):
    row(function, both_sides(-3, 3), tolerance=8)
row(refs.spherical_bessel_j0, unary(-3, 3), tolerance=8)


def _held(*ranges):
    return lambda rng, dtype: [Sample(array(rng, s, dtype, *r), held=(0,)) for r in ranges for s in SHAPES]


row(prims.airy_ai, _held((-20, -9), (-7, 1), (1, 6)), tolerance=32)
row(refs.airy_ai, _held((-7, 6)), tolerance=32)
row(special.i0, unary(-3, 3), tolerance=4)


def degrees(kind=None):
    """Degrees below and above those of the closed forms, and negative ones."""

    def sampler(rng, dtype):
        statics = {} if kind is None else {"kind": kind}
        for low, high, most in ((-0.9, 0.9, 20), (-2, 2, 6)):
            for s in SHAPES:
                n = np.asarray(rng.integers(-1, most, s), dtype.dtype)
                yield Sample(array(rng, s, dtype, low, high), n, held=(0, 1), **statics)
        yield Sample(np.asarray([-1, 1, -1, 1, 0.5], dtype.dtype), np.asarray([9, 9, 8, 2, 2.7], dtype.dtype), held=(0, 1), **statics)

    return sampler


for kind in KINDS:
    row(polynomial, degrees(kind), (float32, float64), tolerance=64)
POLYNOMIALS = [name for name in vars(refs) if "polynomial_" in name]
for name in POLYNOMIALS:
    row(getattr(refs, name), degrees(), (float32, float64), tolerance=256 if "shifted" in name else 64)

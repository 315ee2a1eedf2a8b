"""Samples of elementwise arithmetic, powers, exponentials, logarithms and rounding, and of the parts of complex numbers."""

from __future__ import annotations

import numpy as np

from ...core.dtype import bool_, complex128, float32, float64, int32, int64, uint8
from ...prims import elementwise, parts
from ..table import COMPLEXES, INEXACT, INTS, NUMBERS, REAL, SHAPES, Sample, array, binary, row, unary

NUMBERS_AND_BOOLS = (*NUMBERS, bool_, uint8)
REAL_NUMBERS = (float32, float64, int64)


def away_from_zero(rng, shape, dtype, high=3.0):
    """Values of either sign whose magnitude is at least 1/2 (1, for integers); complex ones of any angle."""
    if dtype.is_complex:
        return np.asarray(rng.uniform(0.5, high, shape) * np.exp(1j * rng.uniform(-3, 3, shape)), dtype.dtype)
    magnitude = rng.uniform(0.5, high, shape) if dtype.is_inexact else rng.integers(1, int(high) + 1, shape)
    sign = rng.choice([-1, 1] if dtype.is_signed else [1], shape)
    return np.asarray(magnitude * sign, dtype.dtype)


def nonzero(rng, dtype):
    """Samples of a function of one array that is singular or has a kink at 0."""
    return [Sample(away_from_zero(rng, s, dtype)) for s in SHAPES]


def at_kink(sampler, *values):
    """The samples of `sampler`, and one that sits on a kink."""
    return lambda rng, dtype: [*sampler(rng, dtype), Sample(*[np.asarray(v, dtype.dtype) for v in values], differentiable=False)]


def quotients(rng, dtype):
    return [Sample(array(rng, s, dtype), away_from_zero(rng, s, dtype)) for s in SHAPES]


def remainders(rng, dtype):
    """Pairs whose quotient is not near an integer, where the remainder jumps."""
    for s in SHAPES:
        y = away_from_zero(rng, s, dtype)
        if dtype.is_inexact:
            yield Sample(np.asarray((rng.integers(-3, 4, s) + rng.uniform(0.1, 0.9, s)) * y, dtype.dtype), y)
        else:
            yield Sample(array(rng, s, dtype, -9, 9), y)


def powers(rng, dtype):
    """Positive real or any complex bases; integers to powers that fit, negative ones of units among them."""
    for s in SHAPES:
        if dtype.is_inexact:
            base = away_from_zero(rng, s, dtype) if dtype.is_complex else array(rng, s, dtype, 0.3, 3)
            yield Sample(base, array(rng, s, dtype))
        else:
            yield Sample(array(rng, s, dtype, -3, 3), array(rng, s, dtype, 0, 5))
    if not dtype.is_inexact and dtype.is_signed:
        yield Sample(np.array([-1, 1, 3], dtype.dtype), np.array([-3, -2, -1], dtype.dtype))


def integer_powers(rng, dtype):
    for n in (0, 1, 2, 3, 5) if not dtype.is_inexact else (0, 1, 2, 3, -1, -2):
        yield Sample(away_from_zero(rng, (2, 3), dtype), n=n)


def fractions(rng, dtype):
    """Values that are no integers: rounding jumps there."""
    for s in SHAPES:
        yield Sample(np.asarray(rng.integers(-4, 5, s) + rng.uniform(0.1, 0.4, s), dtype.dtype))
    yield Sample(np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], dtype.dtype), differentiable=False)


def singular_products(rng, dtype):
    for s in SHAPES:
        yield Sample(array(rng, s, dtype), array(rng, s, dtype))
    yield Sample(np.array([0, 0, 2], dtype.dtype), np.array([np.inf, np.nan, 3], dtype.dtype), differentiable=False)


def positive(low=0.2, high=4.0):
    """Samples of a function of one array that is real for positive numbers only (and has its branch cut on the others)."""

    def sampler(rng, dtype):
        for s in SHAPES:
            if dtype.is_complex:
                yield Sample(np.asarray(rng.uniform(low, high, s) * np.exp(1j * rng.uniform(-2.5, 2.5, s)), dtype.dtype))
            else:
                yield Sample(array(rng, s, dtype, low, high))

    return sampler


row(elementwise.add, binary(), NUMBERS_AND_BOOLS)
row(elementwise.sub, binary(), NUMBERS)
row(elementwise.neg, unary(), NUMBERS)
row(elementwise.mul, binary(), NUMBERS_AND_BOOLS)
row(elementwise.mul_no_nan, singular_products, REAL)
row(elementwise.mul_no_nan, binary(), (complex128,))
row(elementwise.div, quotients, INEXACT)
row(elementwise.reciprocal, nonzero, INEXACT)
row(elementwise.trunc_div, quotients, (*INTS, uint8))
row(elementwise.rem, remainders, REAL_NUMBERS)
row(elementwise.sign, at_kink(nonzero, 0), (*NUMBERS, uint8))
row(elementwise.abs, at_kink(nonzero, 0), (*NUMBERS, uint8))

row(elementwise.sqrt, positive(), INEXACT)
row(elementwise.rsqrt, positive(), INEXACT)
row(elementwise.cbrt, nonzero, REAL)
row(elementwise.pow, powers, (*NUMBERS, int32))
row(elementwise.integer_pow, integer_powers, NUMBERS)

row(elementwise.exp, unary(), INEXACT)
row(elementwise.exp2, unary(), INEXACT)
row(elementwise.expm1, unary(), INEXACT)
row(elementwise.log, positive(), INEXACT)
row(elementwise.log1p, positive(0.2, 0.9), INEXACT)
row(elementwise.log2, positive(), INEXACT)
row(elementwise.log10, positive(), INEXACT)
row(elementwise.sigmoid, unary(), INEXACT)

row(elementwise.floor, fractions)
row(elementwise.ceil, fractions)
row(elementwise.round, fractions)
row(elementwise.trunc, fractions)
row(elementwise.nextafter, binary())

row(parts.conj, unary(), COMPLEXES)
row(parts.real, unary(), COMPLEXES)
row(parts.imag, unary(), COMPLEXES)
row(parts.complex, binary(), REAL)

"""Samples of elementwise refs: what they add to their prims is promotion and broadcasting, so mixed shapes and dtypes are among them."""

from __future__ import annotations

import numpy as np

from ...core.dtype import bool_, complex128, float32, float64, int32, int64, uint8
from ...refs import activation, compare, elementwise, parts, special
from ..table import COMPLEXES, INEXACT, NUMBERS, REAL, SHAPES, Sample, array, row, unary
from .elementwise import away_from_zero, fractions, nonzero, positive, powers, remainders

REAL_NUMBERS = (float32, float64, int64)
ORDERED = (float32, float64, int64, uint8, bool_)


def broadcast(first=away_from_zero, second=away_from_zero, shapes=(((2, 3), (3,)), ((3,), ()), ((2, 1), (1, 3)), ((0, 2), (2,)))):
    """Samples of a function of two arrays of different shapes."""
    return lambda rng, dtype: [Sample(first(rng, a, dtype), second(rng, b, dtype)) for a, b in shapes]


def mixed(sampler, other=int32):
    """The samples of `sampler`, and one whose second array has another dtype, and one where it is a number."""

    def both(rng, dtype):
        yield from sampler(rng, dtype)
        if dtype in (float32, float64):
            x = away_from_zero(rng, (2, 3), dtype)
            yield Sample(x, away_from_zero(rng, (3,), other))
            yield Sample(x, 2.5)

    return both


def between(low, high):
    return lambda rng, shape, dtype: array(rng, shape, dtype, low, high)


def with_special(rng, dtype):
    """NaN and infinities among the others."""
    if dtype.is_inexact:
        yield Sample(np.array([1, np.nan, np.inf, -np.inf, -0.0], dtype.dtype), differentiable=False)
    for s in SHAPES:
        yield Sample(array(rng, s, dtype))


def equal_pairs(rng, dtype):
    """Some elements equal, broadcast."""
    x = array(rng, (2, 3), dtype)
    yield Sample(x, np.where(rng.random((2, 3)) < 0.5, x, array(rng, (2, 3), dtype)), differentiable=False)
    yield Sample(x, array(rng, (3,), dtype), differentiable=False)
    yield Sample(array(rng, (0, 2), dtype), array(rng, (), dtype))


# --------------------------------------------------------------------------------------------------------- of one array

for name in "exp exp2 expm1 sin cos sinh cosh tanh sigmoid asinh".split():
    row(getattr(elementwise, name), unary(-0.9, 0.9), (*INEXACT, int64))
for name in "log log2 log10 log1p sqrt rsqrt".split():
    row(getattr(elementwise, name), positive(0.2, 0.9), INEXACT)
row(elementwise.cbrt, positive())
row(elementwise.reciprocal, nonzero, (*INEXACT, int64))
for name in "tan asin acos atan atanh".split():
    row(getattr(elementwise, name), unary(-0.9, 0.9))
row(elementwise.acosh, unary(1.2, 3))
for name in "neg positive square sgn".split():
    row(getattr(elementwise, name), nonzero, (*NUMBERS, uint8))
row(elementwise.abs, nonzero, (*NUMBERS, uint8))
row(elementwise.sign, nonzero, (float32, float64, int64, uint8))
for name in "floor ceil trunc".split():
    row(getattr(elementwise, name), fractions)
    row(getattr(elementwise, name), unary(), (int64, uint8))
row(elementwise.frac, fractions)
row(elementwise.deg2rad, unary(-180, 180), REAL_NUMBERS)
row(elementwise.rad2deg, unary(-3, 3), REAL_NUMBERS)
row(elementwise.sinc, nonzero, tolerance=4)


def decimals(rng, dtype):
    yield from fractions(rng, dtype)
    for n in (1, -1):
        yield Sample(array(rng, (2, 3), dtype, 10, 90), decimals=n)


row(elementwise.round, decimals)

# ------------------------------------------------------------------------------------------------------ of two arrays


def scaled_pairs(rng, dtype):
    yield from mixed(broadcast())(rng, dtype)
    yield Sample(array(rng, (2, 3), dtype), array(rng, (3,), dtype), alpha=2)


row(elementwise.add, scaled_pairs, (*NUMBERS, uint8))
row(elementwise.sub, scaled_pairs, NUMBERS)
row(elementwise.rsub, broadcast(), NUMBERS)
row(elementwise.mul, mixed(broadcast()), (*NUMBERS, uint8))
row(elementwise.div, mixed(broadcast()), (*NUMBERS, uint8))


def rounded_quotients(rng, dtype):
    for mode in ("trunc", "floor"):
        for sample in remainders(rng, dtype):
            yield Sample(*sample.args, rounding_mode=mode)


row(elementwise.div, rounded_quotients, REAL_NUMBERS)
for name in "floor_divide remainder fmod".split():
    row(getattr(elementwise, name), remainders, (float32, float64, int64))
row(elementwise._pow, powers, NUMBERS)
row(elementwise._pow, broadcast(between(0.3, 3), between(-2, 2)))
row(elementwise.integer_pow, lambda rng, dtype: [Sample(away_from_zero(rng, (2, 3), dtype), n) for n in (0, 1, 2, 3)], NUMBERS)
row(elementwise.float_power, broadcast(between(0.3, 3), between(-2, 2)), REAL_NUMBERS)
row(elementwise.ldexp, lambda rng, dtype: [Sample(array(rng, s, dtype), rng.integers(-3, 4, s).astype(np.int32)) for s in SHAPES])
row(elementwise.hypot, broadcast())
row(elementwise.atan2, broadcast())
row(elementwise.nextafter, broadcast())
row(elementwise.logaddexp, broadcast())
row(elementwise.logaddexp2, broadcast())
row(compare.copysign, broadcast())
for name in "maximum minimum fmax fmin".split():
    row(getattr(compare, name), broadcast(between(-2, 2), between(-2, 2)), REAL_NUMBERS)


def triples(first, second, third, **statics):
    shapes = (((2, 3), (3,), (3,)), ((3,), (3,), ()), ((0, 2), (2,), (2,)))
    return lambda rng, dtype: [Sample(*[f(rng, s, dtype) for f, s in zip((first, second, third), each)], **statics) for each in shapes]


row(elementwise.addcmul, triples(between(-2, 2), between(-2, 2), between(-2, 2)), NUMBERS)
row(elementwise.addcmul, triples(between(-2, 2), between(-2, 2), between(-2, 2), value=3), NUMBERS)
row(elementwise.addcdiv, triples(between(-2, 2), between(-2, 2), away_from_zero, value=2), INEXACT)
row(elementwise.lerp, triples(between(-2, 2), between(-2, 2), between(0.1, 0.9)))
row(compare.clamp, triples(away_from_zero, between(-0.9, -0.1), between(0.1, 0.4)))


def one_bound(rng, dtype):
    for s in SHAPES:
        yield Sample(away_from_zero(rng, s, dtype), min=np.asarray(0, dtype.dtype))
        yield Sample(away_from_zero(rng, s, dtype), max=0)


row(compare.clamp, one_bound, REAL_NUMBERS)

# ------------------------------------------------------------------------------------------------------ bools and bits

for name in "eq ne".split():
    row(getattr(compare, name), equal_pairs, (*ORDERED, complex128))
for name in "lt le gt ge".split():
    row(getattr(compare, name), equal_pairs, ORDERED)
row(compare.isclose, equal_pairs, (*ORDERED, complex128))
for name in "isnan isinf isfinite isreal".split():
    row(getattr(compare, name), with_special, (*ORDERED, complex128))
for name in "isposinf isneginf signbit".split():
    row(getattr(compare, name), with_special, REAL)
for name in "logical_and logical_or logical_xor".split():
    row(getattr(compare, name), equal_pairs, (*ORDERED, complex128))
row(compare.logical_not, with_special, (*ORDERED, complex128))
for name in "bitwise_and bitwise_or bitwise_xor".split():
    row(getattr(compare, name), equal_pairs, (int32, int64, uint8, bool_))
row(compare.bitwise_not, unary(), (int32, int64, uint8, bool_))


def shifts(rng, dtype):
    for s in SHAPES:
        yield Sample(array(rng, s, dtype, -9, 9), array(rng, s, dtype, 0, 5))


row(compare.bitwise_left_shift, shifts, (int32, int64, uint8))
row(compare.bitwise_right_shift, shifts, (int32, int64, uint8))


def choices(rng, dtype):
    for mask, a, b in (((2, 3), (3,), (2, 1)), ((), (3,), (3,)), ((3,), (), ()), ((0, 2), (2,), ())):
        yield Sample(array(rng, mask, bool_), array(rng, a, dtype), array(rng, b, dtype))


row(compare.where, choices, (*ORDERED, complex128))
row(
    compare.masked_fill,
    lambda rng, dtype: [Sample(array(rng, (2, 3), dtype), array(rng, m, bool_), array(rng, (), dtype)) for m in ((2, 3), (3,), ())],
    NUMBERS,
)
row(compare.nan_to_num, with_special, REAL)
row(compare.heaviside, broadcast(), (float64, float32))
row(compare.isin, equal_pairs, ORDERED)

# ------------------------------------------------------------------------------------------------------- complex parts

row(parts.real, unary(), (*COMPLEXES, float64))
row(parts.imag, unary(), COMPLEXES)
row(parts.conj, unary(), (*COMPLEXES, float64))
row(parts.angle, nonzero, (complex128, float64, int64))
row(parts.complex, broadcast())
row(parts.polar, broadcast())
row(parts.view_as_real, unary(), COMPLEXES)
row(parts.view_as_complex, unary(shapes=((2,), (3, 2), (0, 2))))

# --------------------------------------------------------------------------------------------------- special functions

for name in "erf erfc i0 i0e i1 i1e".split():
    row(getattr(special, name), unary(-2, 2), tolerance=4)
for name in "lgamma digamma".split():
    row(getattr(special, name), unary(0.3, 6), tolerance=4)
row(special.erfinv, unary(-0.9, 0.9), tolerance=4)
for name in "ndtr log_ndtr erfcx".split():
    row(getattr(special, name), unary(-2, 2), tolerance=4)
row(special.ndtri, unary(0.1, 0.9), tolerance=8)
row(special.entr, unary(0.2, 3))
row(special.logit, unary(0.1, 0.9), tolerance=2)
row(special.logit, lambda rng, dtype: [Sample(array(rng, (2, 3), dtype, 0.2, 0.8), eps=0.1)], tolerance=2)
row(special.polygamma, lambda rng, dtype: [Sample(n, array(rng, s, dtype, 0.3, 4)) for n in (0, 1, 2) for s in ((2, 3), ())], tolerance=8)
row(special.mvlgamma, lambda rng, dtype: [Sample(array(rng, s, dtype, 2, 5), p=2) for s in SHAPES], tolerance=8)
for name in "xlogy xlog1py".split():
    row(getattr(special, name), broadcast(between(-2, 2), between(0.2, 3)))


def held_first(n, *ranges):
    """The arrays before the last have no derivative (of second order, at least)."""
    return lambda rng, dtype: [Sample(*[array(rng, s, dtype, *r) for r in ranges], held=tuple(range(n))) for s in SHAPES]


row(special.igamma, held_first(1, (0.5, 4), (0.3, 5)), tolerance=8)
row(special.igammac, held_first(1, (0.5, 4), (0.3, 5)), tolerance=8)
row(special.zeta, held_first(1, (1.5, 4), (0.4, 3)), tolerance=4)
row(special.betainc, held_first(2, (0.5, 4), (0.5, 4), (0.1, 0.9)), tolerance=8)

# --------------------------------------------------------------------------------------------------------- activations

for name in "elu selu celu softplus logsigmoid silu mish tanhshrink softsign".split():
    row(getattr(activation, name), nonzero, tolerance=2)
row(activation.relu, nonzero, REAL_NUMBERS)
for name in "leaky_relu hardtanh hardshrink softshrink".split():  # 1/2 and 1 are their kinks
    row(getattr(activation, name), lambda rng, dtype: [Sample(away_from_zero(rng, s, dtype) * dtype.dtype.type(1.21)) for s in SHAPES])
for name in "relu6 hardsigmoid hardswish".split():
    row(getattr(activation, name), unary(0.2, 2.8))
row(activation.gelu, lambda rng, dtype: [Sample(array(rng, s, dtype), a) for s in SHAPES for a in ("none", "tanh")], tolerance=2)
row(activation.threshold, lambda rng, dtype: [Sample(away_from_zero(rng, s, dtype), 0.1, 7.0) for s in SHAPES])
row(activation.prelu, lambda rng, dtype: [Sample(away_from_zero(rng, (2, 3), dtype), array(rng, (n,), dtype)) for n in (1, 3)])
row(activation.glu, lambda rng, dtype: [Sample(array(rng, s, dtype), d) for s, d in (((4,), 0), ((2, 3), 0), ((3, 2), -1), ((0, 2), 1))])

"""The greatest common divisor, and the parts of which a float is made."""

from __future__ import annotations

import numpy as np
from jax import lax

from ..core.dtype import int32
from .convert import convert
from .elementwise import exp2, neg
from .families import FLOATING, INTEGERS, elementwise, pointwise


def _gcd_impl(x, y):
    """By Euclid's algorithm, on all elements until the last has ended."""
    zero = lax.full_like(x, 0)

    def step(pair):
        x, y = pair
        over = lax.eq(y, zero)
        rest = lax.rem(x, lax.select(over, lax.full_like(y, 1), y))
        return lax.select(over, x, y), lax.select(over, y, rest)

    def more(pair):
        return lax.reduce(lax.ne(pair[1], zero), np.bool_(False), lax.bitwise_or, range(x.ndim))

    if x.dtype.kind == "i":
        x, y = lax.abs(x), lax.abs(y)
    x = lax.while_loop(more, step, (x, y))[0]
    return lax.abs(x) if x.dtype.kind == "i" else x


gcd = pointwise("gcd", 2, _gcd_impl, INTEGERS, out=None, reference=np.gcd, doc="The greatest common divisor, which is not negative.")

# ---------------------------------------------------------------------------------------------------- a float's parts

_LAYOUT = {"float16": (10, 15), "bfloat16": (7, 127), "float32": (23, 127), "float64": (52, 1023)}  # (bits of the fraction, bias)


def _taken_apart(x):
    """(mantissa, exponent) as C's frexp has them: mantissa in [0.5, 1), and (x, 0) for 0, infinities and NaN. By bits, so that
    numbers below the normal ones, which XLA's arithmetic may take for 0, come out right."""
    fraction_bits, bias = _LAYOUT[x.dtype.name]
    integer = np.dtype(f"int{8 * x.dtype.itemsize}")
    number = lambda n: lax.full_like(bits, n)
    bits = lax.bitcast_convert_type(x, integer)
    ones = 2 * bias + 1
    field = lax.bitwise_and(lax.shift_right_logical(bits, number(fraction_bits)), number(ones))
    fraction = lax.bitwise_and(bits, number(2**fraction_bits - 1))
    low = lax.eq(field, number(0))
    up = lax.sub(lax.clz(fraction), number(8 * x.dtype.itemsize - 1 - fraction_bits))  # how far the first one is below its place
    exponent = lax.sub(lax.select(low, lax.sub(number(1), up), field), number(bias - 1))
    fraction = lax.select(low, lax.bitwise_and(lax.shift_left(fraction, up), number(2**fraction_bits - 1)), fraction)
    sign = lax.bitwise_and(bits, number(np.iinfo(integer).min))
    mantissa = lax.bitcast_convert_type(lax.bitwise_or(lax.bitwise_or(sign, number((bias - 1) << fraction_bits)), fraction), x.dtype)
    plain = lax.bitwise_or(lax.eq(field, number(ones)), lax.eq(lax.bitwise_and(bits, number(np.iinfo(integer).max)), number(0)))
    return lax.select(plain, x, mantissa), lax.convert_element_type(lax.select(plain, number(0), exponent), np.int32)


exponent = pointwise(
    "exponent",
    1,
    lambda x: _taken_apart(x)[1],
    FLOATING,
    out=int32,
    reference=lambda x: np.frexp(np.where(np.isfinite(x), x, 0))[1].astype(np.int32),
    doc="The power of two that x is a mantissa in [0.5, 1) times of, as int32; 0 for 0, infinities and NaN.",
)
mantissa = elementwise(
    "mantissa",
    lambda x: _taken_apart(x)[0],
    lambda ans, x: exp2(neg(convert(exponent(x), x.dtype))),
    categories=FLOATING,
    reference=lambda x: np.frexp(x)[0],
    doc="x over the power of two that takes it into [0.5, 1); 0, infinities and NaN as they are. The power counts as constant.",
)

"""Elementwise arithmetic, powers, exponentials, logarithms and rounding: a table, one line each where one line says it all."""

from __future__ import annotations

import math

import numpy as np
from jax import lax

from . import algebra, bits, compare
from .families import (
    ANY,
    FLOATING,
    INEXACT,
    INTEGERS,
    NUMERIC,
    ONE,
    REAL_NUMERIC,
    ZERO,
    bilinear,
    elementwise,
    general,
    linear_pointwise,
    pointwise,
    pointwise_batch,
    require,
    same_meta,
)
from .parts import complex, conj, conj_of, imag, real


def scaled(x, number):
    """x times a constant."""
    return mul(x, algebra.full_like(x, number))


# ------------------------------------------------------------------------------------------------- sums and products


def _on_bools(logical, arithmetic):
    """What XLA has for numbers only: of bools, PyTorch's sum is `or` and its product `and`."""
    return lambda x, y: (logical if x.dtype == np.bool_ else arithmetic)(x, y)


def _ct_each(ct, *args):
    return tuple([ct if x.__class__ is algebra.Linear else None for x in args])


add = linear_pointwise(
    "add", _on_bools(lax.bitwise_or, lax.add), _ct_each, arity=2, categories=ANY, reference=np.add, doc="x + y; of bools, x or y."
)
add.op.jvp = lambda ans, primals, tangents: algebra.total(tangents)


def _sub_jvp(ans, primals, tangents):
    tx, ty = tangents
    return tx if ty is None else neg(ty) if tx is None else sub(tx, ty)


def _sub_transpose(ct, x, y):
    return ct if x.__class__ is algebra.Linear else None, neg(ct) if y.__class__ is algebra.Linear else None


sub = linear_pointwise("sub", lax.sub, _sub_transpose, arity=2, reference=np.subtract, doc="x - y.")
sub.op.jvp = _sub_jvp

neg = linear_pointwise("neg", lax.neg, lambda ct, x: (neg(ct),), reference=np.negative, doc="-x.")


def _product(name, impl, categories, reference, doc):
    function = bilinear(
        name,
        "x: Tensor, y: Tensor",
        impl=impl,
        meta=same_meta(name, categories),
        left=lambda ct, x, y: function(ct, conj_of(y)),
        right=lambda ct, x, y: function(conj_of(x), ct),
        batch=pointwise_batch(lambda: function),
        reference=reference,
        doc=doc,
    )
    return function


mul = _product("mul", _on_bools(lax.bitwise_and, lax.mul), ANY, np.multiply, "x * y; of bools, x and y.")
mul_no_nan = _product(
    "mul_no_nan",
    lambda x, y: lax.select(lax.eq(x, lax.full_like(x, 0)), lax.full_like(x, 0), lax.mul(x, y)),
    INEXACT,
    lambda x, y: np.where(x == 0, np.zeros((), x.dtype), x * y),
    "x * y, and 0 where x is 0 even if y is infinite or NaN: the product of a tangent with a singular partial.",
)

# --------------------------------------------------------------------------------------------------------- quotients

div = elementwise(
    "div",
    lax.div,
    lambda ans, x, y: reciprocal(y),
    lambda ans, x, y: neg(div(ans, y)),
    singular=True,
    reference=np.divide,
    doc="x / y, of floats and complex numbers.",
)
reciprocal = elementwise(
    "reciprocal", lax.reciprocal, lambda ans, x: neg(mul(ans, ans)), singular=True, reference=np.reciprocal, doc="1 / x."
)


def _integer_safe(impl):
    """XLA's compiler dies of a constant integer zero as divisor, so it never sees one."""

    def safe(x, y):
        if x.dtype.kind not in "iu":
            return impl(x, y)
        return impl(x, lax.select(lax.eq(y, lax.full_like(y, 0)), lax.full_like(y, 1), y))

    return safe


def _divisor_check(name):
    message = f"{name}: ZeroDivisionError: an integer was divided by zero; replace the zeros first, for example by fl.where(y == 0, 1, y)"

    def checks(x, y):
        if y.dtype.kind not in "iu":
            return []
        return [(lax.reduce(lax.ne(y, lax.full_like(y, 0)), np.bool_(True), lax.bitwise_and, range(y.ndim)), RuntimeError, message)]

    return checks


trunc_div = pointwise(
    "trunc_div",
    2,
    _integer_safe(lax.div),
    INTEGERS,
    out=None,
    checks=_divisor_check("trunc_div"),
    traits={"reads": 1},
    reference=lambda x, y: (np.sign(x) * np.sign(y) * (np.abs(x) // np.abs(y))).astype(x.dtype),
    doc="The quotient of integers, rounded toward zero.",
)
rem = elementwise(
    "rem",
    _integer_safe(lax.rem),
    ONE,
    lambda ans, x, y: neg(trunc(div(x, y))),
    categories=REAL_NUMERIC,
    singular=True,
    checks=_divisor_check("rem"),
    traits={"reads": 1},
    reference=np.fmod,
    doc="The remainder of x / y rounded toward zero: it has the sign of x (C's fmod).",
)

# ------------------------------------------------------------------------------------------- sign and absolute value


def _sign_impl(x):
    if np.issubdtype(x.dtype, np.complexfloating):
        return lax.sign(x)
    zero = lax.full_like(x, 0)
    positive, negative = (lax.convert_element_type(test(x, zero), x.dtype) for test in (lax.gt, lax.lt))
    return lax.sub(positive, negative) if x.dtype.kind != "u" else positive


def _sign_jvp(ans, primals, tangents):
    """The sign turns with the part of the tangent that is perpendicular to it, over the radius; it stays 0 at 0."""
    (x,), (t,) = primals, tangents
    if not x.dtype.is_complex:
        return None
    turn = imag(mul(conj(ans), t))
    radius = abs(x)
    radius = compare.select(compare.eq(radius, algebra.zeros(radius.aval)), algebra.one_like(radius), radius)
    return mul(ans, complex(algebra.zeros(turn.aval), mul(turn, reciprocal(radius))))


def _sign_reference(x):
    if np.iscomplexobj(x):
        return x / np.where(x == 0, 1, np.abs(x))
    return np.where(x == x, np.sign(x), 0).astype(x.dtype)


sign = general(
    "sign",
    "x: Tensor",
    impl=_sign_impl,
    meta=same_meta("sign", NUMERIC),
    jvp=_sign_jvp,
    batch=pointwise_batch(lambda: sign),
    reference=_sign_reference,
    doc="-1, 0 or 1 (0 for NaN, as in PyTorch); of complex numbers x / |x|, and 0 at 0.",
)


def _abs_jvp(ans, primals, tangents):
    (x,), (t,) = primals, tangents
    return real(mul(t, conj(sign(x)))) if x.dtype.is_complex else mul(t, sign(x))


abs = general(
    "abs",
    "x: Tensor",
    impl=lambda x: x if x.dtype.kind == "u" else lax.abs(x),
    meta=same_meta("abs", NUMERIC, out_of=lambda d: d.to_real()),
    jvp=_abs_jvp,
    batch=pointwise_batch(lambda: abs),
    reference=np.abs,
    doc="The absolute value; its derivative at 0 is 0.",
)

# ------------------------------------------------------------------------------------------------------------ powers

sqrt = elementwise(
    "sqrt", lax.sqrt, lambda ans, x: div(algebra.full_like(x, 0.5), ans), singular=True, reference=np.sqrt, doc="The square root."
)
rsqrt = elementwise(
    "rsqrt",
    lax.rsqrt,
    lambda ans, x: scaled(div(ans, x), -0.5),
    singular=True,
    reference=lambda x: np.reciprocal(np.sqrt(x)),
    doc="1 / sqrt(x).",
)
cbrt = elementwise(
    "cbrt",
    lax.cbrt,
    lambda ans, x: div(algebra.full_like(x, 1 / 3), mul(ans, ans)),
    categories=FLOATING,
    singular=True,
    reference=np.cbrt,
    doc="The real cube root.",
)


def _pow_impl(x, y):
    if x.dtype.kind in "iu":
        return _integer_power(x, y)
    if not np.issubdtype(x.dtype, np.complexfloating):
        return lax.pow(x, y)
    positive = lax.gt(lax.real(y), lax.full_like(lax.real(y), 0))
    zero = lax.full_like(x, 0)  # to a power right of 0 stays 0; XLA goes through its logarithm
    return lax.select(lax.bitwise_and(lax.eq(x, zero), positive), zero, lax.pow(x, y))


def _integer_power(x, y):
    """By repeated squaring. A negative exponent gives 0 unless the base is 1 or -1, as in PyTorch."""
    zero, one = lax.full_like(x, 0), lax.full_like(x, 1)
    unit = lax.eq(lax.mul(x, x), one)  # then only the parity of the exponent counts
    left = lax.select(lax.lt(y, zero), lax.select(unit, lax.bitwise_and(y, one), zero), y)

    def step(state):
        out, base, left = state
        odd = lax.eq(lax.bitwise_and(left, one), one)
        return lax.select(odd, lax.mul(out, base), out), lax.mul(base, base), lax.shift_right_logical(left, one)

    def more(state):
        return lax.reduce(lax.ne(state[2], zero), np.bool_(False), lax.bitwise_or, range(x.ndim))

    out = lax.while_loop(more, step, (one, x, left))[0]
    return lax.select(lax.bitwise_and(lax.lt(y, zero), lax.bitwise_not(unit)), zero, out)


def _pow_reference(x, y):
    if x.dtype.kind not in "iu":
        return np.power(x, y)
    exact = [int(int(a) ** int(b)) if b >= 0 or a in (1, -1) else 0 for a, b in zip(x.flat, y.flat)]
    bits = 8 * x.itemsize
    shift = 2 ** (bits - 1) if x.dtype.kind == "i" else 0
    return np.array([(n + shift) % 2**bits - shift for n in exact], x.dtype).reshape(x.shape)


def _pow_in_exponent(ans, x, y):
    """ans log x, and 0 where x is 0 and the power finite: as in PyTorch."""
    exponent = real(y) if y.dtype.is_complex else y
    finite = compare.ge(exponent, algebra.zeros(exponent.aval))
    flat = bits.bitwise_and(compare.eq(x, algebra.zeros(x.aval)), finite)
    return mul(ans, log(compare.select(flat, algebra.one_like(x), x)))


pow = elementwise(
    "pow",
    _pow_impl,
    lambda ans, x, y: mul_no_nan(y, pow(x, sub(y, algebra.one_like(y)))),
    _pow_in_exponent,
    categories=NUMERIC,
    singular=True,
    reference=_pow_reference,
    doc="x ** y. The derivative in x is 0 where y is 0, and the derivative in y is 0 where x is 0 and y is not negative.",
)


def _integer_pow_meta(x, n):
    require(n >= 0 or x.dtype.is_inexact, "integer_pow", f"integers have no negative powers, got {x} and n={n}; convert to a float first")
    return _integer_pow_same(x)


_integer_pow_same = same_meta("integer_pow", NUMERIC)


def _integer_pow_jvp(ans, primals, tangents, n):
    (x,), (t,) = primals, tangents
    if n == 0:
        return None
    if n == 1:
        return t
    product = mul if n > 1 else mul_no_nan  # singular at 0 only where n is negative
    return product(t, scaled(integer_pow(x, n - 1) if n != 2 else x, n))


integer_pow = general(
    "integer_pow",
    "x: Tensor, n: int",
    impl=lax.integer_pow,
    meta=_integer_pow_meta,
    jvp=_integer_pow_jvp,
    batch=pointwise_batch(lambda: integer_pow),
    reference=lambda x, n: x**n,
    doc="x to a static integer power, by multiplication.",
)

# ----------------------------------------------------------------------------------------- exponentials and logarithms


def _exact_log(base):
    """The logarithm to a base other than e; exact where x is an exact power of the base."""

    def impl(x):
        y = lax.log(x)
        if np.issubdtype(x.dtype, np.complexfloating):  # part by part: -inf + 0j would become NaN
            return lax.complex(*(lax.div(part, lax.full_like(part, math.log(base))) for part in (lax.real(y), lax.imag(y))))
        y = lax.div(y, lax.full_like(x, math.log(base)))
        n = lax.round(y, lax.RoundingMethod.TO_NEAREST_EVEN)
        return lax.select(lax.eq(lax.pow(lax.full_like(x, base), n), x), n, y)

    return impl


def _log_to(base, reference):
    partial = lambda ans, x: reciprocal(scaled(x, math.log(base)))
    doc = f"The logarithm to base {base}."
    return elementwise(f"log{base}", _exact_log(base), partial, singular=True, reference=reference, doc=doc)


exp = elementwise("exp", lax.exp, lambda ans, x: ans, reference=np.exp, doc="The exponential.")
exp2 = elementwise(
    "exp2",
    lambda x: lax.pow(lax.full_like(x, 2), x),  # lax.exp2 misses the exact powers of two
    lambda ans, x: scaled(ans, math.log(2)),
    reference=np.exp2,
    doc="2 to the power of x.",
)
expm1 = elementwise("expm1", lax.expm1, lambda ans, x: exp(x), reference=np.expm1, doc="exp(x) - 1, accurate near 0.")
log = elementwise("log", lax.log, lambda ans, x: reciprocal(x), singular=True, reference=np.log, doc="The natural logarithm.")
log1p = elementwise(
    "log1p",
    lax.log1p,
    lambda ans, x: reciprocal(add(x, algebra.one_like(x))),
    singular=True,
    reference=np.log1p,
    doc="log(1 + x), accurate near 0.",
)
log2, log10 = _log_to(2, np.log2), _log_to(10, np.log10)
sigmoid = elementwise(
    "sigmoid",
    lax.logistic,
    lambda ans, x: mul(ans, sub(algebra.one_like(ans), ans)),
    reference=lambda x: 1 / (1 + np.exp(-x)),
    doc="1 / (1 + exp(-x)).",
)

# ---------------------------------------------------------------------------------------------------------- rounding


def _rounding(name, impl, reference, doc):
    return pointwise(name, 1, impl, FLOATING, out=None, reference=reference, doc=doc)


floor = _rounding("floor", lax.floor, np.floor, "The largest integer that is not above x.")
ceil = _rounding("ceil", lax.ceil, np.ceil, "The smallest integer that is not below x.")
round = _rounding(
    "round", lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), np.round, "The nearest integer; halves to the even one."
)
trunc = _rounding(
    "trunc", lambda x: lax.select(lax.lt(x, lax.full_like(x, 0)), lax.ceil(x), lax.floor(x)), np.trunc, "x without its fraction."
)
nextafter = elementwise(
    "nextafter",
    lax.nextafter,
    ONE,
    ZERO,
    categories=FLOATING,
    reference=np.nextafter,
    doc="The float that follows x in the direction of y: x moved by next to nothing, so its derivative in x is 1 and in y 0.",
)

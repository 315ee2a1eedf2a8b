"""Elementwise arithmetic, powers, exponentials, logarithms, trigonometry and rounding: tables where one line says it all."""

from __future__ import annotations

import math

import numpy as np

from ..core.aval import aval_of
from ..core.dtype import BOOL, INTEGER, NUMBERS, complex128, float64
from ..core.op import Tensor, composite
from ..prims import algebra, bits, compare, create, elementwise, parts, trig
from .arguments import require, shown
from .families import BOTH, FIRST, ONE, alias, binary, method, unary
from .promotion import array_of, float_of, in_float32, promoted, result_type, to_dtype

# --------------------------------------------------------------------------------------------------------- of one array

exp = unary("exp", elementwise.exp, "fl.exp(fl.asarray([0.0])) -> [1.0]", inexact=True)
exp2 = unary("exp2", elementwise.exp2, "fl.exp2(fl.asarray([3])) -> [8.0]", inexact=True)
expm1 = unary("expm1", elementwise.expm1, "fl.expm1(fl.asarray([0.0])) -> [0.0]", inexact=True)
log = unary("log", elementwise.log, "fl.log(fl.asarray([1.0])) -> [0.0]", inexact=True)
log2 = unary("log2", elementwise.log2, "fl.log2(fl.asarray([8])) -> [3.0]", inexact=True)
log10 = unary("log10", elementwise.log10, "fl.log10(fl.asarray([1000])) -> [3.0]", inexact=True)
log1p = unary("log1p", elementwise.log1p, "fl.log1p(fl.asarray([0.0])) -> [0.0]", inexact=True)
sqrt = unary("sqrt", elementwise.sqrt, "fl.sqrt(fl.asarray([4, 9])) -> [2.0, 3.0]", inexact=True)
rsqrt = unary("rsqrt", elementwise.rsqrt, "fl.rsqrt(fl.asarray([4.0])) -> [0.5]", inexact=True)
cbrt = unary("cbrt", elementwise.cbrt, inexact=True)
reciprocal = unary(
    "reciprocal", elementwise.reciprocal, "fl.reciprocal(fl.asarray([4])) -> [0.25]", inexact=True, reference=lambda x: 1 / x
)
sigmoid = unary("sigmoid", elementwise.sigmoid, "fl.sigmoid(fl.asarray([0.0])) -> [0.5]", inexact=True)

sin = unary("sin", trig.sin, "fl.sin(fl.asarray([0])) -> [0.0]", inexact=True)
cos = unary("cos", trig.cos, "fl.cos(fl.asarray([0])) -> [1.0]", inexact=True)
tan = unary("tan", trig.tan, inexact=True)
sinh = unary("sinh", trig.sinh, inexact=True)
cosh = unary("cosh", trig.cosh, inexact=True)
tanh = unary("tanh", trig.tanh, "fl.tanh(fl.asarray([0.0])) -> [0.0]", inexact=True)
asin = unary("asin", trig.asin, inexact=True)
acos = unary("acos", trig.acos, "fl.acos(fl.asarray([1.0])) -> [0.0]", inexact=True)
atan = unary("atan", trig.atan, inexact=True)
asinh = unary("asinh", trig.asinh, inexact=True)
acosh = unary("acosh", trig.acosh, inexact=True)
atanh = unary("atanh", trig.atanh, inexact=True)
arcsin, arccos, arctan, arcsinh, arccosh, arctanh = asin, acos, atan, asinh, acosh, atanh
alias(arcsin=asin, arccos=acos, arctan=atan, arcsinh=asinh, arccosh=acosh, arctanh=atanh)

abs = unary("abs", elementwise.abs, "fl.abs(fl.asarray([-2, 3])) -> [2, 3]")
absolute = abs
floor = unary("floor", elementwise.floor, "fl.floor(fl.asarray([-1.5, 1.5])) -> [-2.0, 1.0]", whole=True)
ceil = unary("ceil", elementwise.ceil, "fl.ceil(fl.asarray([-1.5, 1.5])) -> [-1.0, 2.0]", whole=True)
trunc = unary("trunc", elementwise.trunc, "fl.trunc(fl.asarray([-1.5, 1.5])) -> [-1.0, 1.0]", whole=True)
fix = trunc
alias(absolute=abs, fix=trunc)


@composite(method=True, reference=np.negative)
def neg(input: Tensor) -> Tensor:
    """-input, of integer, float or complex dtype. Raises RuntimeError for bools.

    >>> import functorch_lite as fl
    >>> fl.neg(fl.asarray([1, -2])).tolist()
    [-1, 2]
    """
    x = array_of(input)
    require(x.dtype.category != BOOL, "neg", "negation of a bool Array is not supported; use ~ or logical_not")
    return elementwise.neg(x)


negative = neg


@composite(method=True, reference=np.positive)
def positive(input: Tensor) -> Tensor:
    """Input itself. Raises RuntimeError for bools, as in PyTorch.

    >>> import functorch_lite as fl
    >>> fl.positive(fl.asarray([1, -2])).tolist()
    [1, -2]
    """
    x = array_of(input)
    require(x.dtype.category != BOOL, "positive", "the + operator on a bool Array is not supported")
    return x


@composite(method=True, reference=np.square)
def square(input: Tensor) -> Tensor:
    """Input times itself; bools become int64.

    >>> import functorch_lite as fl
    >>> fl.square(fl.asarray([-3, 2])).tolist()
    [9, 4]
    """
    return elementwise.integer_pow(to_dtype(array_of(input), result_type(input, 2)), 2)


@composite(method=True, reference=lambda x: np.where(np.isnan(x), 0, np.sign(x)).astype(x.dtype))
def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1 by the sign of each element (0 for NaN); bools are returned as they are.

    Raises RuntimeError for complex numbers: their direction is `sgn`.

    >>> import functorch_lite as fl
    >>> fl.sign(fl.asarray([-2.0, 0.0, 3.0])).tolist()
    [-1.0, 0.0, 1.0]
    """
    x = array_of(input)
    require(not x.dtype.is_complex, "sign", f"a complex number has no sign, got {x.aval}; use sgn, input / abs(input)")
    return x if x.dtype.category == BOOL else elementwise.sign(x)


@composite(method=True, reference=elementwise.sign.op.reference)
def sgn(input: Tensor) -> Tensor:
    """`sign`, and for complex numbers input / abs(input) (0 at 0).

    >>> import functorch_lite as fl
    >>> fl.sgn(fl.asarray([3 + 4j, 0j])).tolist()[1]
    0j
    """
    x = array_of(input)
    return x if x.dtype.category == BOOL else elementwise.sign(x)


@composite(method=True, reference=lambda x: x - np.trunc(x))
def frac(input: Tensor) -> Tensor:
    """The part behind the point, with the sign of input: input - trunc(input), of float dtype.

    >>> import functorch_lite as fl
    >>> fl.frac(fl.asarray([1.5, -1.5])).tolist()
    [0.5, -0.5]
    """
    x = array_of(input)
    return elementwise.sub(x, elementwise.trunc(x))


@composite(method=True, reference=lambda x, decimals=0: np.round(x, decimals))
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest integer, halves to the even one; or the nearest number with so many decimals (or, negative, trailing zeros).

    Integers are returned as they are, and have no decimals: RuntimeError.

    >>> import functorch_lite as fl
    >>> fl.round(fl.asarray([0.5, 1.5, -2.4])).tolist(), fl.round(fl.asarray([1234.0]), decimals=-2).tolist()
    ([0.0, 2.0, -2.0], [1200.0])
    """
    x = array_of(input)
    if x.dtype.category == INTEGER:
        require(decimals == 0, "round", f"integers have no decimals to round to, got {x.aval} and decimals={decimals}")
        return x
    if decimals == 0:
        return elementwise.round(x)
    scale = algebra.full_like(x, 10.0 ** (decimals if decimals > 0 else -decimals))
    to, back = (elementwise.mul, elementwise.div) if decimals > 0 else (elementwise.div, elementwise.mul)
    return back(elementwise.round(to(x, scale)), scale)


def _scaled(name, factor, doc, reference):
    def f(input: Tensor) -> Tensor:
        x = float_of(input)
        require(x.dtype.is_floating_point, name, f"expected a real dtype, got {x.aval}")
        return elementwise.scaled(x, factor)

    f.__name__, f.__doc__ = name, doc
    return composite(f, method=True, reference=reference)


deg2rad = _scaled("deg2rad", math.pi / 180, "Degrees as radians: input * pi / 180; integers become float32.", np.deg2rad)
rad2deg = _scaled("rad2deg", 180 / math.pi, "Radians as degrees: input * 180 / pi; integers become float32.", np.rad2deg)

# ---------------------------------------------------------------------------------------------------- sums and products

mul = binary("mul", elementwise.mul, "fl.mul(fl.asarray([1, 2]), 1.5) -> [1.5, 3.0]")
multiply = mul


@composite(method=True, reference=lambda x, y, *, alpha=1: x + alpha * y)
def add(input: Tensor, other: Tensor, *, alpha: Tensor | None = None) -> Tensor:
    """input + alpha * other, promoted and broadcast (alpha, a number, is 1 unless given); of bools, `or`.

    >>> import functorch_lite as fl
    >>> fl.add(fl.asarray([1, 2]), 1.5).tolist(), fl.add(fl.asarray([1, 2]), fl.asarray([10, 10]), alpha=2).tolist()
    ([2.5, 3.5], [21, 22])
    """
    return elementwise.add(*promoted(input, _times("add", input, other, alpha)))


@composite(method=True, reference=lambda x, y, *, alpha=1: x - alpha * y)
def sub(input: Tensor, other: Tensor, *, alpha: Tensor | None = None) -> Tensor:
    """input - alpha * other, promoted and broadcast (alpha, a number, is 1 unless given). Raises RuntimeError for bools.

    >>> import functorch_lite as fl
    >>> fl.sub(fl.asarray([1, 2]), 3).tolist()
    [-2, -1]
    """
    some = [x for x in (input, other) if aval_of(x).dtype.category == BOOL]
    remedy = "use ^ or logical_xor" if len(some) == 2 else "to invert a mask use ~ or logical_not, or convert it with .to(dtype)"
    require(not some, "sub", f"subtraction with a bool Array is not supported, got {shown(input, other)}; {remedy}")
    return elementwise.sub(*promoted(input, _times("sub", input, other, alpha)))


def _times(name, input, other, alpha):
    """alpha * other, in a dtype of at most the category of both."""
    if alpha is None:
        return other
    dtype = result_type(input, other)
    ok = aval_of(alpha).dtype.category <= max(dtype.category, INTEGER)
    require(ok, name, f"for {dtype} arguments, alpha must be no {aval_of(alpha).dtype} number, got alpha={shown(alpha)}")
    return elementwise.mul(*promoted(other, alpha, dtype=dtype))


@composite(method=True, reference=lambda x, y, *, alpha=1: y - alpha * x, traits=FIRST)
def rsub(input: Tensor, other: Tensor, *, alpha: Tensor | None = None) -> Tensor:
    """other - alpha * input: `sub` with its arguments exchanged."""
    return sub(other, input, alpha=alpha)


def _added(name, doc, term, reference):
    def f(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Tensor | None = None) -> Tensor:
        x, y, z = promoted(input, tensor1, tensor2)
        t = term(y, z, aval_of(tensor1).dtype.is_inexact or aval_of(tensor2).dtype.is_inexact)
        return elementwise.add(x, t if value is None else elementwise.mul(*promoted(t, value, dtype=x.dtype)))

    f.__name__, f.__doc__ = name, f"{doc} All are promoted and broadcast; value, a number, is 1 unless given."
    return composite(f, method=True, reference=reference, traits={"arrays": ("input", "tensor1", "tensor2")})


def _quotient(y, z, inexact: bool):
    ok = y.dtype.is_inexact and inexact
    require(ok, "addcdiv", f"tensor1 and tensor2 must not both be integers, got {y.aval} and {z.aval}; convert with .to(fl.float32)")
    return elementwise.div(y, z)


addcmul = _added(
    "addcmul", "input + value * tensor1 * tensor2.", lambda y, z, _: elementwise.mul(y, z), lambda x, y, z, *, value=1: x + value * y * z
)
addcdiv = _added("addcdiv", "input + value * tensor1 / tensor2.", _quotient, lambda x, y, z, *, value=1: x + value * y / z)


@composite(method=True, reference=lambda x, y, w: x + w * (y - x), traits={"arrays": ("input", "end")})
def lerp(input: Tensor, end: Tensor, weight: Tensor) -> Tensor:
    """input + weight * (end - input), of float or complex dtype: exact at both ends, since it starts from the nearer one.

    >>> import functorch_lite as fl
    >>> fl.lerp(fl.asarray([0.0]), fl.asarray([10.0]), 0.25).tolist()
    [2.5]
    """
    x, y, w = promoted(input, end, weight)
    require(x.dtype.is_inexact, "lerp", f"expected a float or complex dtype, got {shown(input, end, weight)}; convert with .to(fl.float32)")
    step = elementwise.sub(y, x)
    size = elementwise.abs(w)
    near = compare.lt(size, algebra.full_like(size, 0.5))
    start = compare.select(near, x, y)
    return elementwise.add(start, elementwise.mul(compare.select(near, w, elementwise.sub(w, algebra.one_like(w))), step))


# --------------------------------------------------------------------------------------------------------- quotients


@composite(method=True, reference=lambda x, y, *, rounding_mode=None: _div_reference(x, y, rounding_mode))
def div(input: Tensor, other: Tensor, *, rounding_mode: str | None = None) -> Tensor:
    """input / other, promoted and broadcast; integers give float32.

    ``rounding_mode='trunc'`` rounds toward zero and ``'floor'`` down; both keep integers, and raise for an integer zero divisor.

    >>> import functorch_lite as fl
    >>> fl.div(fl.asarray([7, -7]), 2).tolist(), fl.div(fl.asarray([7, -7]), 2, rounding_mode="trunc").tolist()
    ([3.5, -3.5], [3, -3])
    """
    if rounding_mode is None:
        return elementwise.div(*promoted(input, other, inexact=True))
    if rounding_mode == "floor":
        return floor_divide(input, other)
    require(rounding_mode == "trunc", "div", f"rounding_mode must be None, 'trunc' or 'floor', got {rounding_mode!r}")
    x, y = promoted(input, other)
    return elementwise.trunc_div(x, y) if x.dtype.category == INTEGER else elementwise.trunc(elementwise.div(x, y))


divide = true_divide = div


def _div_reference(x, y, rounding_mode):
    q = np.true_divide(x, y)
    return q if rounding_mode is None else {"trunc": np.trunc, "floor": np.floor}[rounding_mode](q).astype(x.dtype)


def _opposite(r, y):
    """Where a remainder is not 0 and has not the divisor's sign."""
    zero = algebra.zeros(r.aval)
    return bits.bitwise_and(compare.ne(r, zero), compare.ne(compare.lt(r, zero), compare.lt(y, zero)))


@composite(method=True, reference=np.floor_divide)
def floor_divide(input: Tensor, other: Tensor) -> Tensor:
    """input / other, rounded down (Python's //), promoted and broadcast. Integers stay integers, and raise for a zero divisor.

    >>> import functorch_lite as fl
    >>> fl.floor_divide(fl.asarray([7, -7]), 2).tolist()
    [3, -4]
    """
    x, y = promoted(input, other)
    if x.dtype.category == INTEGER:
        down = to_dtype(_opposite(elementwise.rem(x, y), y), x.dtype)
        return elementwise.sub(elementwise.trunc_div(x, y), down)
    r = elementwise.rem(x, y)  # as Python does: the quotient of what is left when the remainder is taken away
    q = elementwise.round(elementwise.div(elementwise.sub(x, r), y))
    q = elementwise.sub(q, to_dtype(_opposite(r, y), q.dtype))
    zero, quotient = algebra.zeros(q.aval), elementwise.div(x, y)
    q = compare.select(compare.eq(q, zero), elementwise.mul(quotient, zero), q)  # a zero has the quotient's sign
    return elementwise.floor(compare.select(compare.eq(y, zero), quotient, q))


@composite(method=True, reference=np.remainder, traits=ONE)
def remainder(input: Tensor, other: Tensor) -> Tensor:
    """input - other * floor(input / other): Python's %, with the sign of other. Raises for an integer zero divisor.

    >>> import functorch_lite as fl
    >>> fl.remainder(fl.asarray([-3, 3]), 2).tolist(), fl.remainder(fl.asarray([3.0]), -2).tolist()
    ([1, 1], [-1.0])
    """
    x, y = promoted(input, other)
    r = elementwise.rem(x, y)
    return compare.select(_opposite(r, y), elementwise.add(r, y), r)


fmod = binary("fmod", elementwise.rem, "fl.fmod(fl.asarray([-3, 3]), 2) -> [-1, 1]", traits=FIRST)
alias(negative=neg, multiply=mul, subtract=sub, divide=div, true_divide=div)
subtract = sub

# ------------------------------------------------------------------------------------------------------------ powers

_SMALL = 8  # exponents up to which multiplying is as exact as the power function


@composite(name="pow", reference=elementwise.pow.op.reference, traits=ONE)
def _pow(input: Tensor, exponent: Tensor) -> Tensor:
    """input ** exponent, promoted and broadcast."""
    x, y = promoted(input, exponent)
    return bits.bitwise_or(x, bits.bitwise_not(y)) if x.dtype.category == BOOL else elementwise.pow(x, y)


@composite(reference=lambda x, n: x**n)
def integer_pow(input: Tensor, n: int) -> Tensor:
    """input ** n for a static integer n, by multiplication; what `pow` uses for small ones."""
    x = to_dtype(array_of(input), result_type(input, n))
    require(
        n >= 0 or x.dtype.is_inexact,
        "pow",
        f"integers to negative integer powers are not allowed, got {shown(input)} ** {n}; convert to a float first",
    )
    return elementwise.integer_pow(x, n)


@method
def pow(input: Tensor, exponent: Tensor) -> Tensor:
    """input ** exponent, promoted and broadcast.

    A Python integer as exponent means repeated multiplication, so that derivatives of x ** 2 and x ** 0 are exact everywhere, and a
    negative one raises RuntimeError for integer arrays. The derivative in input is 0 where exponent is 0.

    >>> import functorch_lite as fl
    >>> fl.pow(fl.asarray([1, -2, 3]), 2).tolist(), fl.pow(2, fl.asarray([0.0, 3.0])).tolist()
    ([1, 4, 9], [1.0, 8.0])
    """
    if exponent.__class__ in (int, float) and input.__class__ not in NUMBERS:
        x = array_of(input)
        whole = x.dtype.category <= INTEGER
        if exponent.__class__ is int or exponent.is_integer() and not whole:
            n = int(exponent)
            if n.bit_length() <= 63 and whole or -_SMALL <= n <= _SMALL:
                return integer_pow(x, n)
        elif exponent == 0.5:
            return sqrt(x)
    return _pow(input, exponent)


pow.op = _pow.op


@composite(method=True, reference=lambda x, y: np.float_power(x, y), traits=ONE)
def float_power(input: Tensor, exponent: Tensor) -> Tensor:
    """input ** exponent in float64, or complex128 if either is complex.

    >>> import functorch_lite as fl
    >>> fl.float_power(fl.asarray([4]), -1).tolist()
    [0.25]
    """
    dtype = complex128 if result_type(input, exponent).is_complex else float64
    return elementwise.pow(*promoted(input, exponent, dtype=dtype))


@composite(method=True, reference=np.ldexp, traits=BOTH)
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """input * 2 ** other, of float dtype; integers become float32.

    >>> import functorch_lite as fl
    >>> fl.ldexp(fl.asarray([1.0, 3.0]), fl.asarray([2, -1])).tolist()
    [4.0, 1.5]
    """
    return mul(input, elementwise.exp2(float_of(other)))


@composite(method=True, reference=np.hypot, traits=BOTH)
def hypot(input: Tensor, other: Tensor) -> Tensor:
    """sqrt(input**2 + other**2) without overflow, of float dtype; its derivative at (0, 0) is 0.

    >>> import functorch_lite as fl
    >>> fl.hypot(fl.asarray([3.0]), fl.asarray([4.0])).tolist()
    [5.0]
    """
    x, y = promoted(input, other)
    size = create.detach(compare.maximum(elementwise.abs(x), elementwise.abs(y)))
    zero, one = algebra.zeros(x.aval), algebra.one_like(x)
    scale = compare.select(bits.bitwise_and(compare.gt(size, zero), compare.isfinite(size)), size, one)
    x, y = elementwise.div(x, scale), elementwise.div(y, scale)
    return elementwise.mul(scale, root(elementwise.add(elementwise.mul(x, x), elementwise.mul(y, y))))


def root(x):
    """The square root whose derivative at 0 is 0: the norm of a vector that vanishes."""
    zero = compare.eq(x, algebra.zeros(x.aval))
    return compare.select(zero, x, elementwise.sqrt(compare.select(zero, algebra.one_like(x), x)))


# ------------------------------------------------------------------------------------------------------------- others

atan2 = binary("atan2", trig.atan2, "fl.atan2(fl.asarray([0.0]), fl.asarray([1.0])) -> [0.0]", inexact=True, traits=BOTH)
arctan2 = atan2
alias(arctan2=atan2)
nextafter = binary("nextafter", elementwise.nextafter, traits=BOTH)


@composite(method=True, reference=lambda x, y: np.logaddexp(x, y), traits=BOTH)
def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """log(exp(input) + exp(other)) without overflow, of float or complex dtype.

    >>> import functorch_lite as fl
    >>> fl.logaddexp(fl.asarray([1000.0]), fl.asarray([0.0])).tolist()
    [1000.0]
    """
    return in_float32(_logaddexp, *promoted(input, other, inexact=True))


@composite(method=True, reference=np.logaddexp2, traits=BOTH)
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """log2(2**input + 2**other) without overflow, of float dtype.

    >>> import functorch_lite as fl
    >>> fl.logaddexp2(fl.asarray([1.0]), fl.asarray([1.0])).tolist()
    [2.0]
    """
    return in_float32(_logaddexp2, *promoted(input, other, inexact=True))


def _logaddexp(x, y):
    top, gap = _apart(x, y)
    return elementwise.add(top, elementwise.log1p(elementwise.exp(gap)))


def _logaddexp2(x, y):
    top, gap = _apart(x, y)
    return elementwise.add(top, elementwise.scaled(elementwise.log1p(elementwise.exp2(gap)), 1 / math.log(2)))


def _apart(x, y):
    """(the larger, by how much the other is below it). Both choices at a tie are the same smooth function, so no derivative is lost."""
    rx, ry = (parts.real(x), parts.real(y)) if x.dtype.is_complex else (x, y)
    first = compare.gt(rx, ry)
    equal = bits.bitwise_and(compare.eq(rx, ry), bits.bitwise_not(compare.isfinite(rx)))  # infinities have no difference
    gap = elementwise.sub(compare.select(first, y, x), compare.select(first, x, y))
    return compare.select(first, x, y), compare.select(equal, algebra.zeros(x.aval), gap)


@composite(method=True, reference=lambda x: np.sinc(x))
def sinc(input: Tensor) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0; integers become float32.

    >>> import functorch_lite as fl
    >>> fl.sinc(fl.asarray([0.0])).tolist()
    [1.0]
    """
    return in_float32(_sinc, float_of(input))


def _sinc(x):
    x = elementwise.scaled(x, math.pi)
    origin = compare.eq(x, algebra.zeros(x.aval))
    safe = compare.select(origin, algebra.one_like(x), x)
    return compare.select(origin, algebra.one_like(x), elementwise.div(trig.sin(safe), safe))


__all__ = (
    "abs absolute acos acosh add addcdiv addcmul arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh "
    "cbrt ceil cos cosh deg2rad div divide exp exp2 expm1 fix float_power floor floor_divide fmod frac hypot integer_pow ldexp lerp "
    "log log10 log1p log2 logaddexp logaddexp2 mul multiply neg negative nextafter positive pow rad2deg reciprocal remainder round "
    "rsqrt rsub sgn sigmoid sign sin sinc sinh sqrt square sub subtract tan tanh true_divide trunc"
).split()

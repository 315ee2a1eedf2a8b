"""Bessel functions of orders 0 and 1, and Airy's Ai: by Chebyshev series near the origin, by modulus and phase far from it.

The coefficients are in bessel_tables.py. Errors are a few units in the last place, of the function's envelope where it oscillates (as with
SciPy's); near the zeros of J0 and J1 below 8 of the value itself.
"""

from __future__ import annotations

import math

import numpy as np
from jax import lax

from . import algebra, bessel_tables, compare
from .elementwise import add, div, neg, scaled, sub
from .special import real_function, scipy_function, unknown


def _number(x, n):
    return lax.full_like(x, n)


def _poly(x, coefficients):
    """The polynomial with these coefficients, lowest first."""
    out = _number(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        out = lax.add(lax.mul(out, x), _number(x, c))
    return out


def _series(t, coefficients):
    """The Chebyshev series at t in [-1, 1], by Clenshaw's recurrence, with as many terms as the dtype can tell from nothing."""
    least = float(np.finfo(t.dtype).eps) / 64 * max(map(abs, coefficients))
    while abs(coefficients[-1]) < least:
        coefficients = coefficients[:-1]
    twice, last, before = lax.add(t, t), _number(t, 0), _number(t, 0)
    for c in coefficients[:0:-1]:
        last, before = lax.add(lax.sub(lax.mul(twice, last), before), _number(t, c)), last
    return lax.add(lax.sub(lax.mul(t, last), before), _number(t, coefficients[0]))


def _from_unit(w):
    """[0, 1] to [-1, 1]."""
    return lax.sub(lax.add(w, w), _number(w, 1))


def _wide(f):
    """f in float32 at least."""

    def impl(x):
        if x.dtype.itemsize >= 4:
            return f(x)
        return lax.convert_element_type(f(lax.convert_element_type(x, np.float32)), x.dtype)

    return impl


# ------------------------------------------------------------------------------------------------------- J and Y

_EDGE = 8.0


def _small(x):
    """x below the edge, and its square's place in [-1, 1]."""
    x = lax.min(x, _number(x, _EDGE))
    return x, lax.sub(lax.mul(lax.mul(x, x), _number(x, 2 / _EDGE**2)), _number(x, 1))


def _j_near(order, x):
    """By its first two zeros and what is left."""
    x, t = _small(x)
    out = _series(t, getattr(bessel_tables, f"J{order}"))
    for high, low in getattr(bessel_tables, f"J{order}_ZEROS"):
        head = float(x.dtype.type(high))
        distance = lax.sub(lax.sub(x, _number(x, head)), _number(x, high - head + low))
        out = lax.mul(out, lax.mul(distance, lax.add(x, _number(x, high))))
    return lax.mul(out, x) if order else out


def _far(order, x):
    """(J, Y) by Hankel's expansion: sqrt(2 / (pi x)) times P and Q turned by x - (2 order + 1) pi / 4."""
    x = lax.max(x, _number(x, _EDGE))
    r = lax.div(_number(x, _EDGE), x)
    t = _from_unit(lax.mul(r, r))
    p = _series(t, getattr(bessel_tables, f"P{order}"))
    q = lax.div(_series(t, getattr(bessel_tables, f"Q{order}")), x)
    sin, cos = lax.sin(x), lax.cos(x)
    along, across = lax.add(cos, sin), lax.sub(sin, cos)  # sqrt(2) times the cosine and sine of x - pi / 4
    if order:
        along, across = across, lax.neg(along)
    size = lax.div(_number(x, 1 / math.sqrt(math.pi)), lax.sqrt(x))
    j, y = lax.sub(lax.mul(p, along), lax.mul(q, across)), lax.add(lax.mul(p, across), lax.mul(q, along))
    nothing = lax.eq(x, _number(x, math.inf))
    return [lax.select(nothing, _number(x, 0), lax.mul(size, part)) for part in (j, y)]


def _j(order, x):
    r = lax.abs(x)
    value = lax.select(lax.gt(r, _number(x, _EDGE)), _far(order, r)[0], _j_near(order, r))
    value = lax.select(lax.ne(x, x), x, value)
    return lax.select(lax.lt(x, _number(x, 0)), lax.neg(value), value) if order else value


def _y(order, x):
    """NaN left of 0, and -inf there."""
    near, t = _small(x)
    regular = _series(t, getattr(bessel_tables, f"Y{order}"))
    singular = lax.mul(lax.log(near), _j_near(order, near))
    if order:
        regular, singular = lax.mul(regular, near), lax.sub(singular, lax.div(_number(x, 1), near))
    value = lax.add(regular, lax.mul(singular, _number(x, 2 / math.pi)))
    value = lax.select(lax.gt(x, _number(x, _EDGE)), _far(order, x)[1], value)
    return lax.select(lax.eq(x, _number(x, 0)), _number(x, -math.inf), lax.select(lax.lt(x, _number(x, 0)), _number(x, math.nan), value))


def _over(f, x, limit):
    """f / x, with its limit at 0."""
    origin = compare.eq(x, algebra.zeros(x.aval))
    return compare.select(origin, algebra.full_like(x, limit), div(f, compare.select(origin, algebra.one_like(x), x)))


def _declared(name, f, partial, reference, doc):
    return real_function(name, _wide(f), partial, reference=reference, doc=doc)


bessel_j0 = _declared(
    "bessel_j0", lambda x: _j(0, x), lambda ans, x: neg(bessel_j1(x)), "j0", "The Bessel function of the first kind and order 0."
)
bessel_j1 = _declared(
    "bessel_j1",
    lambda x: _j(1, x),
    lambda ans, x: sub(bessel_j0(x), _over(ans, x, 0.5)),
    "j1",
    "The Bessel function of the first kind and order 1.",
)
bessel_y0 = _declared(
    "bessel_y0",
    lambda x: _y(0, x),
    lambda ans, x: neg(bessel_y1(x)),
    "y0",
    "The Bessel function of the second kind and order 0: -inf at 0, NaN left of it.",
)
bessel_y1 = _declared(
    "bessel_y1",
    lambda x: _y(1, x),
    lambda ans, x: sub(bessel_y0(x), div(ans, x)),
    "y1",
    "The Bessel function of the second kind and order 1: -inf at 0, NaN left of it.",
)

# ------------------------------------------------------------------------------------------------- spherical J


def _spherical_j0(x):
    origin = lax.eq(x, _number(x, 0))
    value = lax.div(lax.sin(x), lax.select(origin, _number(x, 1), x))
    return lax.select(origin, _number(x, 1), lax.select(lax.eq(lax.abs(x), _number(x, math.inf)), _number(x, 0), value))


_SPHERICAL_J1 = [(-0.5) ** k / math.factorial(k) / math.prod(range(3, 2 * k + 4, 2)) for k in range(10)]  # DLMF 10.53.1, in x²


def _spherical_j1(x):
    """(sin(x) / x - cos(x)) / x, which is x / 3 near 0."""
    near = lax.lt(lax.abs(x), _number(x, 1))
    z = lax.select(near, x, _number(x, 1))
    far = lax.div(lax.sub(_spherical_j0(x), lax.cos(x)), lax.select(near, _number(x, 1), x))
    far = lax.select(lax.eq(lax.abs(x), _number(x, math.inf)), _number(x, 0), far)
    return lax.select(near, lax.mul(z, _poly(lax.mul(z, z), _SPHERICAL_J1)), far)


def _by_scipy(order):
    spherical = scipy_function("spherical_jn")
    return lambda x: spherical(order, x.astype(np.float64)).astype(x.dtype)


spherical_bessel_j0 = _declared(
    "spherical_bessel_j0", _spherical_j0, lambda ans, x: neg(spherical_bessel_j1(x)), _by_scipy(0), "sin(x) / x, and 1 at 0."
)
spherical_bessel_j1 = _declared(
    "spherical_bessel_j1",
    _spherical_j1,
    lambda ans, x: sub(spherical_bessel_j0(x), scaled(_over(ans, x, 1 / 3), 2)),
    _by_scipy(1),
    "(sin(x) / x - cos(x)) / x, and 0 at 0: minus the derivative of spherical_bessel_j0.",
)

# ------------------------------------------------------------------------------------------------------------- K

_TERMS = 14
_FACTORIALS = [math.factorial(k) for k in range(_TERMS + 1)]
_PSI = [-0.57721566490153286061 + sum(1 / j for j in range(1, k + 1)) for k in range(_TERMS + 1)]  # digamma(k + 1)
# DLMF 10.25.2 and 10.31: in (x / 2)², the series of I and what K has besides its logarithm times I, both over (x / 2) ** order
_I = [[1 / (_FACTORIALS[k] * _FACTORIALS[k + n]) for k in range(_TERMS)] for n in (0, 1)]
_K_REST = [[_PSI[k] * c for k, c in enumerate(_I[0])], [-(_PSI[k] + _PSI[k + 1]) / 2 * c for k, c in enumerate(_I[1])]]


def _k(order, is_scaled):
    def f(x):
        two = _number(x, 2)
        half = lax.mul(lax.min(x, two), _number(x, 0.5))
        z = lax.mul(half, half)
        singular = lax.mul(lax.log(half), _poly(z, _I[order]))
        if order:
            near = lax.add(lax.mul(half, lax.add(singular, _poly(z, _K_REST[1]))), lax.div(_number(x, 0.5), half))
        else:
            near = lax.sub(_poly(z, _K_REST[0]), singular)
        x2 = lax.max(x, two)
        far = lax.div(_series(_from_unit(lax.div(two, x2)), getattr(bessel_tables, f"K{order}")), lax.sqrt(x2))
        if is_scaled:
            near = lax.mul(near, lax.exp(lax.min(x, two)))
        else:
            far = lax.mul(far, lax.exp(lax.neg(x2)))
        value = lax.select(lax.gt(x, two), far, near)
        zero = _number(x, 0)
        return lax.select(lax.eq(x, zero), _number(x, math.inf), lax.select(lax.lt(x, zero), _number(x, math.nan), value))

    return f


modified_bessel_k0 = _declared(
    "modified_bessel_k0",
    _k(0, False),
    lambda ans, x: neg(modified_bessel_k1(x)),
    "k0",
    "The modified Bessel function of the second kind and order 0: inf at 0, NaN left of it.",
)
modified_bessel_k1 = _declared(
    "modified_bessel_k1",
    _k(1, False),
    lambda ans, x: neg(add(modified_bessel_k0(x), div(ans, x))),
    "k1",
    "The modified Bessel function of the second kind and order 1: inf at 0, NaN left of it.",
)
scaled_modified_bessel_k0 = _declared(
    "scaled_modified_bessel_k0",
    _k(0, True),
    lambda ans, x: sub(ans, scaled_modified_bessel_k1(x)),
    "k0e",
    "exp(x) modified_bessel_k0(x), without underflow.",
)
scaled_modified_bessel_k1 = _declared(
    "scaled_modified_bessel_k1",
    _k(1, True),
    lambda ans, x: sub(sub(ans, scaled_modified_bessel_k0(x)), div(ans, x)),
    "k1e",
    "exp(x) modified_bessel_k1(x), without underflow.",
)

# ------------------------------------------------------------------------------------------------------------ Ai


def _airy(x):
    one, left = _number(x, 1), _number(x, -_EDGE)

    def on(low, high, coefficients):
        v = lax.clamp(_number(x, low), x, _number(x, high))
        return _series(lax.mul(lax.sub(v, _number(x, (low + high) / 2)), _number(x, 2 / (high - low))), coefficients)

    def zeta_of(v):
        return lax.mul(lax.mul(v, lax.sqrt(v)), _number(x, 2 / 3))

    right = lax.max(x, one)
    s = lax.div(one, lax.mul(right, lax.sqrt(right)))
    decaying = lax.mul(_series(_from_unit(s), bessel_tables.AI_RIGHT), lax.exp(lax.neg(zeta_of(right))))
    decaying = lax.div(decaying, lax.sqrt(lax.sqrt(right)))
    r = lax.max(lax.neg(x), lax.neg(left))
    zeta, w = zeta_of(r), lax.div(lax.neg(left), r)
    t = _from_unit(lax.mul(w, lax.mul(w, w)))
    p, q = _series(t, bessel_tables.AI_P), lax.div(_series(t, bessel_tables.AI_Q), zeta)
    sin, cos = lax.sin(zeta), lax.cos(zeta)
    turned = lax.add(lax.mul(p, lax.add(cos, sin)), lax.mul(q, lax.sub(sin, cos)))
    turning = lax.div(lax.mul(turned, _number(x, 1 / math.sqrt(2 * math.pi))), lax.sqrt(lax.sqrt(r)))
    value = lax.select(lax.lt(x, _number(x, -3)), on(-8, -3, bessel_tables.AI_LEFT), on(-3, 1, bessel_tables.AI_MIDDLE))
    value = lax.select(lax.lt(x, left), turning, lax.select(lax.gt(x, one), decaying, value))
    return lax.select(lax.eq(lax.abs(x), _number(x, math.inf)), _number(x, 0), lax.select(lax.ne(x, x), x, value))


airy_ai = _declared(
    "airy_ai",
    _airy,
    unknown("airy_ai", "x"),
    lambda x: scipy_function("airy")(x)[0],
    "Airy's function Ai: the solution of y'' = x y that vanishes far to the right.",
)

"""Trigonometric and hyperbolic prims, and their inverses."""

from __future__ import annotations

import numpy as np
from jax import lax

from . import algebra, compare
from .elementwise import add, div, mul, neg, reciprocal, rsqrt, sub
from .families import FLOATING, elementwise


def _one_minus_square(x):
    """1 - x² by its factors, which is accurate where x is near 1 or -1."""
    one = algebra.one_like(x)
    return mul(sub(one, x), add(one, x))


def _one_plus_square(x):
    return add(algebra.one_like(x), mul(x, x))


def _acosh_partial(ans, x):
    """By two roots: of complex numbers left of 0, the root of x² - 1 is the other one; of reals below 1 there is none."""
    one = algebra.one_like(x)
    return mul(rsqrt(sub(x, one)), rsqrt(add(x, one)))


sin = elementwise("sin", lax.sin, lambda ans, x: cos(x), reference=np.sin, doc="The sine.")
cos = elementwise("cos", lax.cos, lambda ans, x: neg(sin(x)), reference=np.cos, doc="The cosine.")
tan = elementwise("tan", lax.tan, lambda ans, x: _one_plus_square(ans), reference=np.tan, doc="The tangent.")
sinh = elementwise("sinh", lax.sinh, lambda ans, x: cosh(x), reference=np.sinh, doc="The hyperbolic sine.")
cosh = elementwise("cosh", lax.cosh, lambda ans, x: sinh(x), reference=np.cosh, doc="The hyperbolic cosine.")
tanh = elementwise("tanh", lax.tanh, lambda ans, x: _one_minus_square(ans), reference=np.tanh, doc="The hyperbolic tangent.")

asin = elementwise(
    "asin", lax.asin, lambda ans, x: rsqrt(_one_minus_square(x)), singular=True, reference=np.arcsin, doc="The inverse of the sine."
)
acos = elementwise(
    "acos", lax.acos, lambda ans, x: neg(rsqrt(_one_minus_square(x))), singular=True, reference=np.arccos, doc="The inverse of the cosine."
)
atan = elementwise(
    "atan", lax.atan, lambda ans, x: reciprocal(_one_plus_square(x)), singular=True, reference=np.arctan, doc="The inverse of the tangent."
)
asinh = elementwise(
    "asinh",
    lax.asinh,
    lambda ans, x: rsqrt(_one_plus_square(x)),
    singular=True,
    reference=np.arcsinh,
    doc="The inverse of the hyperbolic sine.",
)
acosh = elementwise("acosh", lax.acosh, _acosh_partial, singular=True, reference=np.arccosh, doc="The inverse of the hyperbolic cosine.")
atanh = elementwise(
    "atanh",
    lax.atanh,
    lambda ans, x: reciprocal(_one_minus_square(x)),
    singular=True,
    reference=np.arctanh,
    doc="The inverse of the hyperbolic tangent.",
)


def _over_square(x, y, part):
    """part / (x² + y²), and 0 at the origin."""
    square = add(mul(x, x), mul(y, y))
    nothing = algebra.zeros(square.aval)
    origin = compare.eq(square, nothing)
    return compare.select(origin, nothing, div(part, compare.select(origin, algebra.one_like(square), square)))


atan2 = elementwise(
    "atan2",
    lax.atan2,
    lambda ans, y, x: _over_square(x, y, x),
    lambda ans, y, x: neg(_over_square(x, y, y)),
    categories=FLOATING,
    names="y x",
    reference=np.arctan2,
    doc="The angle of the point (x, y). Both derivatives are 0 at the origin.",
)

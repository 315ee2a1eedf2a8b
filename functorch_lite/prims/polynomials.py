"""Orthogonal polynomials of a degree that is data: their recurrences (DLMF 18.9), and for Chebyshev's between -1 and 1 closed forms (18.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jax import lax

from .families import FLOATING, elementwise
from .special import scipy_function, unknown


def _number(x, n):
    return lax.full_like(x, n)


def _linear(slope, shift):
    """The polynomial of degree 1."""
    return lambda x: lax.add(lax.mul(_number(x, slope), x), _number(x, shift))


class Kind(NamedTuple):
    """One family of polynomials."""

    first: Callable  # x -> that of degree 1; that of degree 0 is 1
    following: Callable  # (k, x, of degree k, of degree k - 1) -> of degree k + 1
    closed: Callable | None = None  # (degree, angle) -> the value at the cosine of this angle
    ends: Callable | None = None  # degree -> its absolute values at 1 and at -1


def _combined(a, q, c, p):
    return lax.sub(lax.mul(a, q), lax.mul(c, p))


def _chebyshev(k, x, q, p):
    return lax.sub(lax.mul(lax.add(x, x), q), p)


def _hermite_h(k, x, q, p):
    return _combined(lax.add(x, x), q, lax.add(k, k), p)


def _hermite_he(k, x, q, p):
    return _combined(x, q, k, p)


def _laguerre(k, x, q, p):
    one = _number(k, 1)
    return lax.div(_combined(lax.add(lax.add(k, k), lax.sub(one, x)), q, k, p), lax.add(k, one))


def _legendre(k, x, q, p):
    one = _number(k, 1)
    return lax.div(_combined(lax.mul(lax.add(lax.add(k, k), one), x), q, k, p), lax.add(k, one))


def _half(v):
    return lax.mul(v, _number(v, 0.5))


def _plus(v, number):
    return lax.add(v, _number(v, number))


KINDS = {
    "chebyshev_t": Kind(_linear(1, 0), _chebyshev, lambda n, a: lax.cos(lax.mul(n, a)), lambda n: (_number(n, 1), _number(n, 1))),
    "chebyshev_u": Kind(
        _linear(2, 0), _chebyshev, lambda n, a: lax.div(lax.sin(lax.mul(_plus(n, 1), a)), lax.sin(a)), lambda n: (_plus(n, 1), _plus(n, 1))
    ),
    "chebyshev_v": Kind(
        _linear(2, -1),
        _chebyshev,
        lambda n, a: lax.div(lax.cos(lax.mul(_plus(n, 0.5), a)), lax.cos(_half(a))),
        lambda n: (_number(n, 1), _plus(lax.add(n, n), 1)),
    ),
    "chebyshev_w": Kind(
        _linear(2, 1),
        _chebyshev,
        lambda n, a: lax.div(lax.sin(lax.mul(_plus(n, 0.5), a)), lax.sin(_half(a))),
        lambda n: (_plus(lax.add(n, n), 1), _number(n, 1)),
    ),
    "hermite_h": Kind(_linear(2, 0), _hermite_h),
    "hermite_he": Kind(_linear(1, 0), _hermite_he),
    "laguerre_l": Kind(_linear(-1, 1), _laguerre),
    "legendre_p": Kind(_linear(1, 0), _legendre),
}
_DIRECT = 8  # degrees above which the closed form is as exact as the recurrence


def _impl(x, n, kind):
    given, table = x.dtype, KINDS[kind]
    if x.dtype.itemsize < 4:
        x, n = (lax.convert_element_type(v, np.float32) for v in (x, n))
    n = lax.select(lax.lt(n, _number(n, 0)), lax.ceil(n), lax.floor(n))
    one, zero = _number(x, 1), _number(x, 0)
    open_to, answer = lax.ge(n, _number(n, 2)), None  # whether the recurrence has to go on for it
    if table.closed is not None:
        even = lax.eq(_half(n), lax.floor(_half(n)))
        at_one, at_minus_one = table.ends(n)
        inside = lax.bitwise_and(lax.lt(lax.abs(x), one), lax.gt(n, _number(n, _DIRECT)))
        answer = table.closed(n, lax.acos(lax.select(inside, x, zero)))
        at_end = lax.eq(lax.abs(x), one)
        answer = lax.select(at_end, lax.select(lax.gt(x, zero), at_one, lax.select(even, at_minus_one, lax.neg(at_minus_one))), answer)
        known = lax.bitwise_or(inside, at_end)
        open_to = lax.bitwise_and(open_to, lax.bitwise_not(known))

    def going(k, q):
        return lax.bitwise_and(lax.bitwise_and(open_to, lax.lt(lax.broadcast(k, x.shape), n)), lax.eq(q, q))

    def more(state):
        k, _, q = state
        return lax.reduce(going(k, q), np.bool_(False), lax.bitwise_or, range(x.ndim))

    def step(state):
        k, p, q = state
        on = going(k, q)
        following = table.following(lax.broadcast(k, x.shape), x, q, p)
        return lax.add(k, _number(k, 1)), lax.select(on, q, p), lax.select(on, following, q)

    _, _, value = lax.while_loop(more, step, (lax.full((), 1, x.dtype), one, table.first(x)))
    value = lax.select(lax.eq(n, zero), one, value)
    if answer is not None:
        value = lax.select(known, answer, value)
    value = lax.select(lax.ge(n, zero), value, zero)
    return lax.convert_element_type(value, given)


def _second(sign):
    """V and W by U: they are the difference and the sum of two that follow one another."""
    u = scipy_function("eval_chebyu")
    return lambda n, x: u(n, x) + sign * np.where(n > 0, u(np.maximum(n - 1, 0), x), 0)


_SCIPY = {
    "chebyshev_t": scipy_function("eval_chebyt"),
    "chebyshev_u": scipy_function("eval_chebyu"),
    "chebyshev_v": _second(-1),
    "chebyshev_w": _second(1),
    "hermite_h": scipy_function("eval_hermite"),
    "hermite_he": scipy_function("eval_hermitenorm"),
    "laguerre_l": scipy_function("eval_laguerre"),
    "legendre_p": scipy_function("eval_legendre"),
}


def _reference(x, n, kind):
    degree = np.trunc(n).astype(np.int64)
    return np.where(degree < 0, 0, _SCIPY[kind](np.maximum(degree, 0), x.astype(np.float64))).astype(x.dtype)


polynomial = elementwise(
    "polynomial",
    _impl,
    unknown("polynomial", "x"),
    unknown("polynomial", "n"),
    categories=FLOATING,
    names="x n",
    statics="kind: str",
    reference=_reference,
    doc="""The polynomial of degree n (truncated to an integer; 0 for negative ones) of this kind at x: chebyshev_t, chebyshev_u, chebyshev_v,
    chebyshev_w, hermite_h, hermite_he, laguerre_l or legendre_p. It has no derivative.""",
)

"""Special functions. Where a derivative has no closed form and no series here, asking for it raises and says so."""

from __future__ import annotations

import math

import numpy as np
from jax import lax

from ..errors import MissingRuleError
from . import algebra, compare
from .elementwise import add, div, exp, log, log1p, mul, mul_no_nan, neg, scaled, sign, sub
from .families import FLOATING, elementwise


def scipy_function(name):
    """The SciPy function of this name, imported when it is first called."""

    def reference(*args):
        import scipy.special

        return getattr(scipy.special, name)(*args)

    return reference


def real_function(name, impl, *partials, reference, **slots):
    reference = scipy_function(reference) if isinstance(reference, str) else reference
    return elementwise(name, impl, *partials, categories=FLOATING, singular=True, reference=reference, **slots)


def unknown(name, arg):
    """The partial of a derivative that nobody has."""

    def partial(ans, *args):
        raise MissingRuleError(
            f"{name}: its derivative with respect to '{arg}' is not implemented, because it has no closed form; "
            f"hold that argument constant, for example by fl.stop_gradient({arg})"
        )

    return partial


# -------------------------------------------------------------------------------------------------- error functions

_ROOT_PI = math.sqrt(math.pi)


def _bell(x):
    """exp(-x²)."""
    return exp(neg(mul(x, x)))


def _erfcx_impl(x):
    """Of large x by the continued fraction of Laplace, else by its definition, whose error grows with x² (DLMF 7.9.1)."""
    half_root = lax.full_like(x, 1 / _ROOT_PI)
    split = lax.full_like(x, 4.0)
    large = lax.max(x, split)
    fraction = large
    for k in range(30, 0, -1):
        fraction = lax.add(large, lax.div(lax.full_like(x, k / 2), fraction))
    small = lax.min(x, split)
    return lax.select(lax.gt(x, split), lax.div(half_root, fraction), lax.mul(lax.exp(lax.mul(small, small)), lax.erfc(small)))


def _log_ndtr_impl(x):
    """Left of -1 by erfcx, where the normal distribution function itself would underflow."""
    u = lax.mul(x, lax.full_like(x, -math.sqrt(0.5)))
    half = lax.full_like(x, 0.5)
    below = lax.sub(lax.log(lax.mul(half, _erfcx_impl(u))), lax.mul(u, u))
    return lax.select(lax.lt(x, lax.full_like(x, -1)), below, lax.log1p(lax.neg(lax.mul(half, lax.erfc(lax.neg(u))))))


def _ndtri_impl(p):
    """By erfinv in the middle. In the tails Newton's iteration on the logarithm of both sides, which there is nearly a parabola."""
    half, one, two = (lax.full_like(p, n) for n in (0.5, 1, 2))
    upper = lax.gt(p, half)
    tail = lax.select(upper, lax.sub(one, p), p)
    goal = lax.log(tail)

    def step(_, u):  # u = -x / sqrt(2), and exp(goal) = erfcx(u) exp(-u²) / 2
        e = _erfcx_impl(u)
        miss = lax.sub(lax.sub(lax.log(lax.mul(half, e)), lax.mul(u, u)), goal)
        return lax.add(u, lax.mul(miss, lax.mul(e, lax.full_like(p, _ROOT_PI / 2))))

    u = lax.fori_loop(0, 5, step, lax.sqrt(lax.neg(goal)))
    x = lax.mul(u, lax.select(upper, lax.sqrt(two), lax.neg(lax.sqrt(two))))
    middle = lax.mul(lax.sqrt(two), lax.erf_inv(lax.sub(lax.mul(two, p), one)))
    return lax.select(lax.bitwise_and(lax.lt(tail, lax.full_like(p, 0.1)), lax.gt(tail, lax.full_like(p, 0))), x, middle)


erf = real_function("erf", lax.erf, lambda ans, x: scaled(_bell(x), 2 / _ROOT_PI), reference="erf", doc="The error function.")
erfc = real_function(
    "erfc", lax.erfc, lambda ans, x: scaled(_bell(x), -2 / _ROOT_PI), reference="erfc", doc="1 - erf(x), accurate for large x."
)
erfcx = real_function(
    "erfcx",
    _erfcx_impl,
    lambda ans, x: sub(scaled(mul(x, ans), 2), algebra.full_like(x, 2 / _ROOT_PI)),
    reference="erfcx",
    doc="exp(x²) erfc(x): the error function's tail without its exponential.",
)
erfinv = real_function(
    "erfinv", lax.erf_inv, lambda ans, x: scaled(exp(mul(ans, ans)), _ROOT_PI / 2), reference="erfinv", doc="The inverse of erf."
)
log_ndtr = real_function(
    "log_ndtr",
    _log_ndtr_impl,
    lambda ans, x: div(algebra.full_like(x, math.sqrt(2 / math.pi)), erfcx(scaled(x, -math.sqrt(0.5)))),
    reference="log_ndtr",
    doc="The logarithm of the normal distribution function.",
)
ndtri = real_function(
    "ndtri",
    _ndtri_impl,
    lambda ans, p: scaled(exp(scaled(mul(ans, ans), 0.5)), math.sqrt(2 * math.pi)),
    reference="ndtri",
    names="p",
    doc="The normal distribution's quantile: the inverse of its distribution function.",
)

# -------------------------------------------------------------------------------------------------- gamma functions


def _digamma_impl(x):
    return lax.select(lax.eq(x, lax.full_like(x, 0)), lax.neg(lax.reciprocal(x)), lax.digamma(x))  # at ±0, -±inf as in PyTorch


def _zeta_impl(x, q):
    """With its poles at all integers q <= 0, its limit 0 for large q, and negative q, of which XLA's has not all.

    For integer x, what is left of 0 is a finite sum, and that a difference of two values at its right: with f the fraction of q,
    zeta(x, q) = zeta(x, f) + (-1)^x (zeta(x, 1 - f) - zeta(x, 1 - q)). For other x there is no real value there.
    """
    number = lambda n: lax.full_like(q, n)
    whole = lambda v: lax.eq(v, lax.floor(v))
    proper = lax.bitwise_not(lax.le(x, number(1)))
    left = lax.bitwise_and(lax.lt(q, number(0)), proper)
    pole = lax.bitwise_and(lax.bitwise_and(lax.le(q, number(0)), whole(q)), proper)
    far = lax.bitwise_and(lax.eq(q, number(math.inf)), lax.gt(x, number(1)))
    at = lambda v: lax.zeta(x, lax.select(lax.bitwise_and(left, lax.bitwise_not(pole)), v, number(1)))
    even = whole(lax.mul(x, number(0.5)))
    signed = lambda v: lax.select(even, v, lax.neg(v))
    reflected = lax.add(at(lax.sub(q, lax.floor(q))), signed(at(lax.sub(lax.ceil(q), q))))
    reflected = lax.sub(reflected, signed(at(lax.sub(number(1), q))))
    reflected = lax.select(whole(x), reflected, number(math.nan))
    value = lax.select(left, reflected, lax.zeta(x, lax.select(lax.le(q, number(0)), number(1), q)))
    return lax.select(pole, number(math.inf), lax.select(far, number(0), value))


def _polygamma_impl(x, n):
    """(-1)ⁿ⁺¹ n! zeta(n + 1, x) (DLMF 5.15.1 and 25.11.12), wide for even n, of which the sum left of 0 cancels."""
    if n == 0:
        return _digamma_impl(x)
    factorial = float(math.factorial(n)) if n <= 170 else math.inf
    wide = lax.convert_element_type(x, np.float32 if n % 2 and x.dtype != np.float64 else np.float64)
    value = lax.mul(lax.full_like(wide, (-1) ** (n + 1) * factorial), _zeta_impl(lax.full_like(wide, n + 1), wide))
    return lax.convert_element_type(value, x.dtype)


def _polygamma_reference(x, n):
    zeta, digamma = scipy_function("zeta"), scipy_function("digamma")
    return digamma(x) if n == 0 else ((-1) ** (n + 1) * math.factorial(n) * zeta(n + 1, x)).astype(x.dtype)


lgamma = real_function("lgamma", lax.lgamma, lambda ans, x: digamma(x), reference="gammaln", doc="log |gamma(x)|.")
digamma = real_function("digamma", _digamma_impl, lambda ans, x: polygamma(x, 1), reference="digamma", doc="The derivative of lgamma.")
polygamma = real_function(
    "polygamma",
    _polygamma_impl,
    lambda ans, x, n: polygamma(x, n + 1),
    names="x",
    statics="n: int",
    reference=_polygamma_reference,
    doc="The n-th derivative of digamma, n a static number.",
)
zeta = real_function(
    "zeta",
    _zeta_impl,
    unknown("zeta", "x"),
    lambda ans, x, q: neg(mul(x, zeta(add(x, algebra.one_like(x)), q))),
    names="x q",
    reference="zeta",
    doc="Hurwitz's zeta function: the sum of (q + k) ** -x over k >= 0. It can be differentiated in q.",
)

# ------------------------------------------------------------------------------------------- incomplete gamma and beta


def _power_of(x, a):
    """The exponent of x ** (a - 1), which is 0 where a is 1 whatever x."""
    return mul_no_nan(sub(a, algebra.one_like(a)), log(x))


def _gamma_density(a, x):
    """The density at x of the gamma distribution of shape a: the derivative of igamma in x (DLMF 8.8.13)."""
    return exp(sub(sub(_power_of(x, a), x), lgamma(a)))


def _beta_density(a, b, x):
    """The density at x of the beta distribution: the derivative of betainc in x (DLMF 8.17.1)."""
    other = mul_no_nan(sub(b, algebra.one_like(b)), log1p(neg(x)))
    log_beta = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
    return exp(sub(add(_power_of(x, a), other), log_beta))


def _igamma_grad_a_reference(a, x):
    """Central differences of the sixth order: SciPy has no such function."""
    gammainc, h = scipy_function("gammainc"), 1e-3 * a
    return sum(c * (gammainc(a + k * h, x) - gammainc(a - k * h, x)) for k, c in ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))) / h


igamma = real_function(
    "igamma",
    lax.igamma,
    lambda ans, a, x: igamma_grad_a(a, x),
    lambda ans, a, x: _gamma_density(a, x),
    names="a x",
    reference="gammainc",
    doc="The regularized lower incomplete gamma function.",
)
igammac = real_function(
    "igammac",
    lax.igammac,
    lambda ans, a, x: neg(igamma_grad_a(a, x)),
    lambda ans, a, x: neg(_gamma_density(a, x)),
    names="a x",
    reference="gammaincc",
    doc="The regularized upper incomplete gamma function, 1 - igamma(a, x).",
)
igamma_grad_a = real_function(
    "igamma_grad_a",
    lax.igamma_grad_a,
    unknown("igamma_grad_a", "a"),
    lambda ans, a, x: mul(_gamma_density(a, x), sub(log(x), digamma(a))),
    names="a x",
    reference=lambda a, x: _igamma_grad_a_reference(a.astype(np.float64), x).astype(a.dtype),
    doc="The derivative of igamma with respect to a. It can be differentiated in x.",
)
random_gamma_grad = real_function(
    "random_gamma_grad",
    lax.random_gamma_grad,
    unknown("random_gamma_grad", "a"),
    lambda ans, a, x: _random_gamma_grad_in_x(ans, a, x),
    names="a x",
    reference=lambda a, x: _random_gamma_grad_reference(a, x),
    doc="""How a draw x of the gamma distribution moves with its shape a: -igamma_grad_a(a, x) over the density at x.
    It can be differentiated in x.""",
)
betainc = real_function(
    "betainc",
    lax.betainc,
    unknown("betainc", "a"),
    unknown("betainc", "b"),
    lambda ans, a, b, x: _beta_density(a, b, x),
    names="a b x",
    reference="betainc",
    doc="The regularized incomplete beta function. It can be differentiated in x.",
)


def _random_gamma_grad_in_x(ans, a, x):
    """By the quotient rule on its definition; the density's logarithm has the slope (a - 1) / x - 1."""
    one = algebra.one_like(a)
    slope = sub(div(sub(a, one), x), one)
    return sub(sub(digamma(a), log(x)), mul(ans, slope))


def _random_gamma_grad_reference(a, x):
    gammaln = scipy_function("gammaln")
    a, kind = a.astype(np.float64), a.dtype
    density = np.exp((a - 1) * np.log(x) - x - gammaln(a))
    return (-_igamma_grad_a_reference(a, x) / density).astype(kind)


# ------------------------------------------------------------------------------------------------- Bessel functions


def _i1_over_x(i1, x):
    """i1 / x, which is 1/2 at 0 (scaled or not)."""
    origin = compare.eq(x, algebra.zeros(x.aval))
    return compare.select(origin, algebra.full_like(x, 0.5), div(i1, compare.select(origin, algebra.one_like(x), x)))


def _unscaled(scaled_bessel):
    return lambda x: lax.mul(lax.exp(lax.abs(x)), scaled_bessel(x))


i0 = real_function("i0", _unscaled(lax.bessel_i0e), lambda ans, x: i1(x), reference="i0", doc="The modified Bessel function of order 0.")
i0e = real_function("i0e", lax.bessel_i0e, lambda ans, x: sub(i1e(x), mul(sign(x), ans)), reference="i0e", doc="exp(-|x|) i0(x).")
i1 = real_function(
    "i1",
    _unscaled(lax.bessel_i1e),
    lambda ans, x: sub(i0(x), _i1_over_x(ans, x)),
    reference="i1",
    doc="The modified Bessel function of order 1.",
)
i1e = real_function(
    "i1e",
    lax.bessel_i1e,
    lambda ans, x: sub(sub(i0e(x), _i1_over_x(ans, x)), mul(sign(x), ans)),
    reference="i1e",
    doc="exp(-|x|) i1(x).",
)

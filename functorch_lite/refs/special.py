"""Special functions: this module is `fl.special`; those that PyTorch has at its top level too are in `fl`."""

from __future__ import annotations

import math
from numbers import Number

import numpy as np

from ..core.op import Tensor, composite
from ..prims import algebra, bits, compare, elementwise, special
from ..prims.special import scipy_function
from .arguments import require, require_floating
from .elementwise import exp2, expm1, log1p, round, sigmoid, sinc  # noqa: F401  # fl.special has them too
from .families import BOTH, ONE, alias, binary, unary
from .promotion import float_of, in_float32, promoted

erf = unary("erf", special.erf, "fl.erf(fl.asarray([0.0])) -> [0.0]", inexact=True)
erfc = unary("erfc", special.erfc, "fl.erfc(fl.asarray([0.0])) -> [1.0]", inexact=True)
erfinv = unary("erfinv", special.erfinv, "fl.erfinv(fl.asarray([0.0])) -> [0.0]", inexact=True)
lgamma = unary("lgamma", special.lgamma, "fl.lgamma(fl.asarray([3.0])) -> [0.69314...]", inexact=True)
digamma = unary("digamma", special.digamma, inexact=True)
i0 = unary("i0", special.i0, inexact=True)
igamma = binary("igamma", special.igamma, "fl.igamma(fl.asarray([1.0]), fl.asarray([0.0])) -> [0.0]", inexact=True, traits=BOTH)
igammac = binary("igammac", special.igammac, "fl.igammac(fl.asarray([1.0]), fl.asarray([0.0])) -> [1.0]", inexact=True, traits=BOTH)

_ours = {"namespace": "fl.special", "method": False, "inexact": True}
erfcx = unary("erfcx", special.erfcx, "fl.special.erfcx(fl.asarray([0.0])) -> [1.0]", **_ours)
log_ndtr = unary("log_ndtr", special.log_ndtr, **_ours)
ndtri = unary("ndtri", special.ndtri, "fl.special.ndtri(fl.asarray([0.5])) -> [0.0]", **_ours)
i0e = unary("i0e", special.i0e, **_ours)
i1 = unary("i1", special.i1, "fl.special.i1(fl.asarray([0.0])) -> [0.0]", **_ours)
i1e = unary("i1e", special.i1e, "fl.special.i1e(fl.asarray([0.0])) -> [0.0]", **_ours)
zeta = binary("zeta", special.zeta, **_ours, traits=ONE)


@composite(namespace="fl.special", reference=scipy_function("betainc"))
def betainc(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """The regularized incomplete beta function of x in [0, 1], promoted and broadcast; it can be differentiated in x.

    >>> import functorch_lite as fl
    >>> fl.special.betainc(fl.asarray([1.0]), 1.0, 0.25).round(decimals=3).tolist()
    [0.25]
    """
    return special.betainc(*promoted(a, b, x, inexact=True))


@composite(reference=lambda n, x: special.polygamma.op.reference(x, n))
def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of `digamma`, n a static number; integers become float32.

    >>> import functorch_lite as fl
    >>> fl.polygamma(0, fl.asarray([1.0])).tolist() == fl.digamma(fl.asarray([1.0])).tolist()
    True
    """
    require(n >= 0, "polygamma", f"n must not be negative, got {n}")
    return special.polygamma(float_of(input), n)


alias(polygamma=lambda self, n: polygamma(n, self))


@composite(namespace="fl.special", reference=scipy_function("ndtr"))
def ndtr(input: Tensor) -> Tensor:
    """The distribution function of the normal distribution: (1 + erf(x / sqrt(2))) / 2, accurate in the left tail.

    >>> import functorch_lite as fl
    >>> fl.special.ndtr(fl.asarray([0.0])).tolist()
    [0.5]
    """
    return in_float32(lambda x: elementwise.scaled(special.erfc(elementwise.scaled(x, -math.sqrt(0.5))), 0.5), float_of(input))


@composite(namespace="fl.special", reference=scipy_function("entr"))
def entr(input: Tensor) -> Tensor:
    """-x log(x), 0 at 0 and -inf for negative x; integers become float32.

    >>> import functorch_lite as fl
    >>> fl.special.entr(fl.asarray([0.0, 1.0])).tolist()
    [0.0, -0.0]
    """
    x = float_of(input)
    zero = algebra.zeros(x.aval)
    positive = bits.bitwise_not(compare.le(x, zero))
    safe = compare.select(positive, x, algebra.one_like(x))
    below = compare.select(compare.lt(x, zero), algebra.full_like(x, float("-inf")), zero)
    value = in_float32(lambda x: elementwise.neg(elementwise.mul(x, elementwise.log(x))), safe)
    return compare.select(positive, value, below)


def _weighted_log(name, log, pole, reference, doc, namespace):
    """x * log(y), and 0 where x is 0 (unless y is NaN); there the logarithm is read only where it is finite."""

    def f(input: Tensor, other: Tensor) -> Tensor:
        x, y = promoted(input, other, inexact=True)
        nothing = compare.eq(x, algebra.zeros(x.aval))
        wild = bits.bitwise_or(compare.le(y, algebra.full_like(y, pole)), compare.eq(y, algebra.full_like(y, float("inf"))))
        safe = compare.select(bits.bitwise_and(nothing, wild), algebra.full_like(y, pole + 1), y)
        return in_float32(lambda x, y: elementwise.mul(x, log(y)), x, safe)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"{doc}, and 0 where input is 0, whatever other (unless NaN); promoted and broadcast, integers become float32."
    return composite(f, namespace=namespace, method=namespace == "fl", reference=reference, traits=ONE)


xlogy = _weighted_log("xlogy", elementwise.log, 0, scipy_function("xlogy"), "input * log(other)", "fl")
xlog1py = _weighted_log("xlog1py", elementwise.log1p, -1, scipy_function("xlog1py"), "input * log(1 + other)", "fl.special")


@composite(method=True, reference=lambda x, eps=None: scipy_function("logit")(x if eps is None else np.clip(x, eps, 1 - eps)))
def logit(input: Tensor, eps: Number = None) -> Tensor:
    """log(x / (1 - x)), the inverse of `sigmoid`; with ``eps``, x is first moved into [eps, 1 - eps]. Integers become float32.

    >>> import functorch_lite as fl
    >>> fl.logit(fl.asarray([0.5])).tolist()
    [0.0]
    """
    x = float_of(input)
    require_floating("logit", x)

    def value(x):
        if eps is not None:
            x = compare.clamp(x, algebra.full_like(x, eps), algebra.full_like(x, 1 - eps))
        return elementwise.sub(elementwise.log(x), elementwise.log1p(elementwise.neg(x)))

    return in_float32(value, x)


@composite(method=True, reference=lambda x, p: _multigammaln(x, p))
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p; input must be greater than (p - 1) / 2.

    >>> import functorch_lite as fl
    >>> fl.mvlgamma(fl.asarray([3.0]), 1).tolist()
    [0.69314...]
    """
    require(p >= 1, "mvlgamma", f"p must be at least 1, got {p}")
    x = float_of(input)
    out = algebra.full_like(x, p * (p - 1) / 4 * math.log(math.pi))
    for j in range(p):
        out = elementwise.add(out, special.lgamma(elementwise.sub(x, algebra.full_like(x, j / 2))))
    return out


def _multigammaln(x, p):
    return p * (p - 1) / 4 * math.log(math.pi) + sum(scipy_function("gammaln")(x - j / 2) for j in range(p))


gammaln, psi, multigammaln, expit = lgamma, digamma, mvlgamma, sigmoid
gammainc, gammaincc = igamma, igammac
__all__ = "digamma erf erfc erfinv i0 igamma igammac lgamma logit mvlgamma polygamma xlogy".split()

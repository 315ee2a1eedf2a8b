"""Samples of draws of many distributions: by formulas and quantile functions of the same bits, written in NumPy and SciPy.

How they are distributed is for tests/refs/test_samplers.py to say; here it is that each is the function of its key that it claims to be.
"""

from __future__ import annotations

import math

import numpy as np

from ...core.dtype import bfloat16, float64, int64
from ...prims import rejection
from ...refs import samplers
from ..table import Sample, array, row
from .random import LEADS, _bits, _exponential, _fold, _keys, _normal, _unit, _wide, plain_draws

# --------------------------------------------------------------------------------------------------------- rejection


def _uniforms(key, i, n, shape):
    """The n uniforms of proposal i for each element."""
    words = _bits(_fold(key, np.full(key.shape[:-1], i, np.uint64)), (n, *shape), 64)
    return np.moveaxis(((words >> np.uint64(11)) | np.uint64(1)).astype(np.float64) * 2.0**-53, key.ndim - 1, 0)


_LAST = 2**63 - 1


def _log_gamma(key, a):
    """Marsaglia and Tsang, an element at a time."""
    from scipy.special import erfinv

    out, shape = np.empty(a.shape), a.shape[key.ndim - 1 :]
    drawn = [_uniforms(key, i, 2, shape) for i in range(40)]
    extra = np.log(_uniforms(key, _LAST, 1, shape)[0])
    for at in np.ndindex(a.shape):
        small = a[at] < 1
        d = a[at] + small - 1 / 3
        for u, w in drawn:
            x = math.sqrt(2) * erfinv(2 * u[at] - 1)
            root = 1 + x / math.sqrt(9 * d)
            v = root**3
            if v > 0 and math.log(w[at]) < 0.5 * x * x + d * (1 - v + math.log(v)):
                out[at] = math.log(d * v) + (extra[at] / a[at] if small else 0)
                break
    return out.astype(a.dtype)


def _poisson(key, rate):
    """The quantile function of uniforms: what the search for small rates finds."""
    from scipy.stats import poisson

    u = _uniforms(key, _LAST, 1, rate.shape[key.ndim - 1 :])[0]
    return np.where(rate == 0, 0, poisson.ppf(u, rate)).astype(rate.dtype)


def _binomial(key, count, p):
    from scipy.stats import binom

    u = _uniforms(key, _LAST, 1, p.shape[key.ndim - 1 :])[0]
    out = binom.ppf(u, count, np.minimum(p, 1 - p))
    return np.where(p > 0.5, count - out, out).astype(p.dtype)


_IMPLICIT = "the derivative keeps the quantile (tests/refs/test_samplers.py compares it), it is not that of the path by which x was drawn"
_ONCE = "its derivative has none in the shape parameter: that of the incomplete gamma function is not known in closed form"
IMPLICIT = {"jvp": _IMPLICIT, "second": _ONCE, "jvp_vjp": _ONCE}
SIZES = ((3,), (2, 3), (), (0, 2))


def of_rates(low, high, leads=LEADS):
    """Draws by one parameter in [low, high), of one key and of rows of keys."""

    def sampler(rng, dtype):
        for lead in leads:
            for s in SIZES:
                yield Sample(_keys(rng, lead), array(rng, (*lead, *s), dtype, low, high))

    return sampler


def of_counts(rng, dtype):
    for lead in LEADS:
        for s in SIZES:
            shape = (*lead, *s)
            yield Sample(_keys(rng, lead), np.floor(array(rng, shape, dtype, 1, 12)), array(rng, shape, dtype, 0, 1))


row(rejection.log_gamma_draw, of_rates(0.2, 4), tolerance=8, skip=IMPLICIT, reference=_log_gamma)
row(rejection.poisson_draw, of_rates(0, 9), reference=_poisson)
row(rejection.binomial_draw, of_counts, reference=_binomial, skip={"jvp": "its derivative is zero by definition, its values jump"})

# ------------------------------------------------------------------------------------------------------- by formulas


def _cauchy(key, shape, dtype, median=0.0, sigma=1.0):
    unit = _unit(key, shape, _wide(dtype), 1)
    return (median + sigma * np.tan(np.pi * (unit - 0.5))).astype(dtype.dtype)


def _log_normal(key, shape, dtype, mean=0.0, std=1.0):
    return np.exp(mean + std * _normal(key, shape, _wide(dtype))).astype(dtype.dtype)


def _geometric(key, p, shape=None, dtype=int64):
    p = np.asarray(p, np.float64)
    shape = p.shape if shape is None else shape
    fails = _exponential(key, shape, float64) / -np.log1p(-p)
    return np.maximum(np.ceil(fails), 1).astype(dtype.dtype)


def two_parameters(*lows):
    def sampler(rng, dtype):
        yield from plain_draws(rng, dtype)
        yield Sample(_keys(rng), (2, 3), dtype, array(rng, (3,), dtype, -2, 2), array(rng, (2, 1), dtype, 0.5, 2))
        yield Sample(_keys(rng), (3,), dtype, 1.5, 2)

    return sampler


def chances(rng, dtype):
    yield Sample(_keys(rng), array(rng, (3,), dtype, 0.1, 0.9))
    yield Sample(_keys(rng), array(rng, (3,), dtype, 0.1, 0.9), (2, 3), dtype)
    yield Sample(_keys(rng), 0.25, (2, 3))


row(samplers.cauchy, two_parameters(), tolerance=16, reference=_cauchy)
row(samplers.cauchy, plain_draws, dtypes=(bfloat16,), reference=_cauchy)
row(samplers.log_normal, two_parameters(), tolerance=8, reference=_log_normal)
row(samplers.geometric, chances, reference=_geometric)

# ---------------------------------------------------------------------------------------------- by gamma and counts


def _sized(p, shape):
    return np.broadcast_to(np.asarray(p), np.shape(p) if shape is None else shape)


def _gamma(key, a, shape=None):
    a = _sized(a, shape)
    return np.exp(_log_gamma(key, a.astype(np.float64))).astype(a.dtype)


def _beta(key, a, b, shape=None):
    a, b = (_sized(p, np.broadcast_shapes(np.shape(a), np.shape(b)) if shape is None else shape) for p in (a, b))
    x, y = (_log_gamma(_fold(key, np.full(key.shape[:-1], i)), p.astype(np.float64)) for i, p in enumerate((a, b)))
    return (1 / (1 + np.exp(y - x))).astype(a.dtype)


def _dirichlet(key, alpha, shape=None):
    x = np.exp(_log_gamma(key, _sized(alpha, shape).astype(np.float64)))
    return (x / x.sum(-1, keepdims=True)).astype(alpha.dtype)


def _multinomial(key, weights, num_samples, replacement=False):
    batch, n = weights.shape[:-1], weights.shape[-1]
    w = weights.astype(np.float64)
    if not replacement:
        noise = -np.log(_exponential(key, (*batch, n), float64))
        return np.argsort(-(noise + np.log(w)), -1, kind="stable")[..., :num_samples]
    u = _unit(key, (*batch, num_samples), float64)
    ends = np.broadcast_to(np.cumsum(w, -1), (*u.shape[:-1], n))
    return np.sum(ends[..., None, :] <= (u * ends[..., -1:])[..., None], -1)


def shapes_of(*counts):
    def sampler(rng, dtype):
        params = [array(rng, (3,), dtype, 0.4, 3) for _ in range(*counts)]
        yield Sample(_keys(rng), *params)
        yield Sample(_keys(rng), *params, (2, 3))

    return sampler


def weights(rng, dtype):
    for replacement in (False, True):
        yield Sample(_keys(rng), array(rng, (4,), dtype, 0.1, 1), 3, replacement)
        yield Sample(_keys(rng), array(rng, (2, 3), dtype, 0.1, 1), 2, replacement)


def counted(rng, dtype):
    yield Sample(_keys(rng), np.floor(array(rng, (3,), dtype, 0, 9)), array(rng, (2, 1), dtype, 0, 1), (2, 3))


row(samplers.gamma, shapes_of(1), tolerance=8, skip=IMPLICIT, reference=_gamma)
row(samplers.beta, shapes_of(2), tolerance=8, skip=IMPLICIT, reference=_beta)
row(samplers.dirichlet, shapes_of(1), tolerance=8, skip=IMPLICIT, reference=_dirichlet)
row(samplers.poisson, of_rates(0, 9, leads=LEADS[:1]), reference=lambda key, rate: _poisson(key, rate))
row(
    samplers.binomial,
    counted,
    reference=lambda key, count, p, shape: _binomial(key, *(np.broadcast_to(x, shape).astype(np.float64) for x in (count, p))).astype(
        p.dtype
    ),
)
row(samplers.multinomial, weights, reference=_multinomial)

"""Draws that are proposed and then accepted or drawn again: gamma, Poisson, binomial.

Proposal i of a key uses the bits of its key ``fold_in(key, i)``; an element keeps the first that it accepts, so what it is does not
depend on its neighbours. All is computed in float64, in one loop that ends when every element has accepted.
"""

from __future__ import annotations

import math

import numpy as np
from jax import lax

from ..core.aval import aval
from ..core.dtype import FLOAT
from . import algebra, compare, elementwise
from .families import general, require, zero
from .random import _bits, _check_key, _fold, split_rows
from .special import random_gamma_grad

_WIDE = np.float64


def _number(like, x):
    return lax.full_like(like, x)


def _uniforms(key, i, n: int, shape):
    """n arrays of floats in (0, 1), of proposal i."""
    at = lax.full(key.shape[:-1], i, np.uint64)
    words = _bits(_fold(key, at), (n, *shape), 64)
    words = lax.bitwise_or(lax.shift_right_logical(words, _number(words, 11)), _number(words, 1))
    units = lax.mul(lax.convert_element_type(words, _WIDE), lax.full(words.shape, 2.0**-53, _WIDE))
    lead = key.ndim - 1
    return [lax.squeeze(lax.slice_in_dim(units, k, k + 1, axis=lead), (lead,)) for k in range(n)]


def _accepted(key, valid, n: int, propose):
    """For each element the first value of propose(n uniforms) -> (value, whether to accept it) that is accepted; NaN where not valid."""
    shape = valid.shape[key.ndim - 1 :]

    def more(state):
        return lax.bitwise_not(lax.reduce_and(state[2], range(state[2].ndim)))

    def again(state):
        i, out, done = state
        value, ok = propose(*_uniforms(key, i, n, shape))
        return i + np.uint64(1), lax.select(done, out, value), lax.bitwise_or(done, ok)

    start = (np.uint64(0), lax.full(valid.shape, np.nan, _WIDE), lax.bitwise_not(valid))
    return lax.while_loop(more, again, start)[1]


def _normal(u):
    return lax.mul(_number(u, math.sqrt(2)), lax.erf_inv(lax.sub(lax.mul(u, _number(u, 2)), _number(u, 1))))


def _inside(x, low: float, high: float = math.inf):
    """Whether low <= x < high."""
    return lax.bitwise_and(lax.ge(x, _number(x, low)), lax.lt(x, _number(x, high)))


# --------------------------------------------------------------------------------------------------------- declaring


def _draw_meta(name: str):
    def meta(key, *params):
        _check_key(name, key)
        first = params[0]
        ok = all(p.dtype.category == FLOAT and p == first for p in params)
        require(ok, name, f"expected parameters of one float dtype and shape, got {', '.join(map(str, params))}", TypeError)
        lead = key.shape[:-1]
        ok = first.shape[: len(lead)] == lead
        require(ok, name, f"expected parameters for each row of keys, got {first} for keys {key}")
        return aval(first.shape, first.dtype)

    return meta


def _draw_batch(op_of):
    def batch(size, args, dims):
        return op_of()(*[algebra.front(size, x, d) for x, d in zip(args, dims)]), 0

    return batch


def _draw(name: str, names: str, impl, doc: str, *allowed, jvp=None):
    """A draw a place of its parameters, which have one shape that begins with that of the rows of keys; `allowed` says of each whether
    its values are, and what is expected of them."""

    def run(key, *params):
        return lax.convert_element_type(impl(key, *[lax.convert_element_type(p, _WIDE) for p in params]), params[0].dtype)

    def checks(key, *params):
        return [(lax.reduce_and(ok(p), range(p.ndim)), RuntimeError, f"{name}: {what}") for p, (ok, what) in zip(params, allowed)]

    slots = {"impl": run, "meta": _draw_meta(name), "batch": _draw_batch(lambda: function), "checks": checks, "draws": 0, "doc": doc}
    slots |= {"traits": {"split": split_rows, "reads": 1}}
    signature = ", ".join(f"{n}: Tensor" for n in ("key", *names.split()))
    function = zero(name, signature, **slots) if jvp is None else general(name, signature, jvp=jvp, **slots)
    return function


# ------------------------------------------------------------------------------------------------------------- gamma


def _log_gamma(key, a):
    """Marsaglia, Tsang: A simple method for generating gamma variables (2000); for a < 1 a draw for a + 1 times u^(1/a)."""
    one = _number(a, 1)
    small = lax.lt(a, one)
    d = lax.sub(lax.select(small, lax.add(a, one), a), _number(a, 1 / 3))
    c = lax.rsqrt(lax.mul(_number(a, 9), d))

    def propose(u, w):
        x = _normal(u)
        root = lax.add(one, lax.mul(c, x))
        positive = lax.gt(root, _number(a, 0))
        log_v = lax.mul(_number(a, 3), lax.log(lax.select(positive, root, one)))
        v = lax.exp(log_v)
        bound = lax.add(lax.mul(_number(a, 0.5), lax.mul(x, x)), lax.mul(d, lax.add(lax.sub(one, v), log_v)))
        return log_v, lax.bitwise_and(positive, lax.lt(lax.log(w), bound))

    out = lax.add(lax.log(d), _accepted(key, _inside(a, np.finfo(_WIDE).tiny), 2, propose))
    extra = lax.log(_uniforms(key, np.uint64(2**63 - 1), 1, a.shape[key.ndim - 1 :])[0])
    return lax.select(small, lax.add(out, lax.div(extra, a)), out)


def _log_gamma_jvp(ans, primals, tangents):
    """The draw x moves with a as `random_gamma_grad` says, its logarithm by that over x."""
    t = tangents[1]
    if t is None:
        return None
    x = elementwise.exp(ans)
    tiny = compare.lt(x, algebra.full_like(x, float(np.finfo(x.dtype.to_real().dtype if x.dtype.itemsize > 2 else np.float32).tiny)))
    safe = compare.select(tiny, algebra.one_like(x), x)
    slope = elementwise.div(random_gamma_grad(primals[1], safe), safe)
    # where x underflows, log x = log(u) / a + ... and its slope is -log(u) / a**2, about -log(x) / a
    slope = compare.select(tiny, elementwise.neg(elementwise.div(ans, primals[1])), slope)
    return algebra.mul(t, slope)


log_gamma_draw = _draw(
    "log_gamma_draw",
    "a",
    _log_gamma,
    "The logarithm of a draw of the gamma distribution with this shape parameter, which is positive.",
    (lambda a: lax.gt(a, _number(a, 0)), "expected a shape parameter that is positive"),
    jvp=_log_gamma_jvp,
)

# ----------------------------------------------------------------------------------------------------------- Poisson

_FEW = 10.0  # below this mean a search from 0 takes few steps, above it the transformed rejection accepts


def _search(u, first, ratio):
    """The smallest k at which the sum of probabilities p(0) = first, p(k) = p(k - 1) * ratio(k) exceeds u."""

    def more(state):
        k, p, left = state
        return lax.reduce_or(lax.bitwise_and(lax.ge(left, p), lax.gt(p, _number(p, 0))), range(p.ndim))

    def step(state):
        k, p, left = state
        go = lax.bitwise_and(lax.ge(left, p), lax.gt(p, _number(p, 0)))
        next_k = lax.add(k, _number(k, 1))
        return lax.select(go, next_k, k), lax.select(go, lax.mul(p, ratio(next_k)), p), lax.select(go, lax.sub(left, p), left)

    return lax.while_loop(more, step, (_number(u, 0), first, u))[0]


def _poisson(key, rate):
    """Hörmann: The transformed rejection method for generating Poisson random variables (1993), PTRS; a search for small rates."""
    few = lax.lt(rate, _number(rate, _FEW))
    low = lax.select(few, rate, _number(rate, 0))
    u = _uniforms(key, np.uint64(2**63 - 1), 1, rate.shape[key.ndim - 1 :])[0]
    counted = _search(u, lax.exp(lax.neg(low)), lambda k: lax.div(low, k))
    mean = lax.select(few, _number(rate, 100), rate)
    b = 0.931 + 2.53 * lax.sqrt(mean)
    a = -0.059 + 0.02483 * b
    fast = 0.9277 - 3.6224 / (b - 2)
    scale = lax.log(1.1239 + 1.1328 / (b - 3.4))
    log_mean = lax.log(mean)

    def propose(u, v):
        u = u - 0.5
        us = 0.5 - lax.abs(u)
        k = lax.floor((2 * a / us + b) * u + mean + 0.43)
        quick = lax.bitwise_and(lax.ge(us, _number(us, 0.07)), lax.le(v, fast))
        none = lax.bitwise_or(lax.lt(k, _number(k, 0)), lax.bitwise_and(lax.lt(us, _number(us, 0.013)), lax.gt(v, us)))
        exact = lax.le(lax.log(v) + scale - lax.log(a / (us * us) + b), k * log_mean - mean - lax.lgamma(k + 1))
        return k, lax.bitwise_or(quick, lax.bitwise_and(lax.bitwise_not(none), exact))

    return lax.select(few, counted, _accepted(key, _inside(mean, _FEW), 2, propose))


poisson_draw = _draw(
    "poisson_draw",
    "rate",
    _poisson,
    "A draw of the Poisson distribution with this mean, which is not negative.",
    (lambda rate: _inside(rate, 0), "invalid Poisson rate, expected rate to be non-negative"),
)


# ---------------------------------------------------------------------------------------------------------- binomial


def _binomial(key, count, p):
    """Hörmann: The generation of binomial random variates (1993), BTRD's simpler form BTRS; a search for small means."""
    flipped = lax.gt(p, _number(p, 0.5))
    p = lax.select(flipped, 1 - p, p)
    few = lax.lt(count * p, _number(p, _FEW))
    u = _uniforms(key, np.uint64(2**63 - 1), 1, p.shape[key.ndim - 1 :])[0]
    n, low = lax.select(few, count, _number(p, 0)), lax.select(few, p, _number(p, 0))
    odds = low / (1 - low)
    counted = lax.min(_search(u, lax.exp(n * lax.log1p(-low)), lambda k: odds * (n - k + 1) / k), n)
    n, q = lax.select(few, _number(p, 1000), count), lax.select(few, _number(p, 0.25), p)
    spread = lax.sqrt(n * q * (1 - q))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * q
    center, fast = n * q + 0.5, 0.92 - 4.2 / b
    scale = (2.83 + 5.1 / b) * spread
    mode, log_odds = lax.floor((n + 1) * q), lax.log(q / (1 - q))
    at_mode = lax.lgamma(mode + 1) + lax.lgamma(n - mode + 1)

    def propose(u, v):
        u = u - 0.5
        us = 0.5 - lax.abs(u)
        k = lax.floor((2 * a / us + b) * u + center)
        quick = lax.bitwise_and(lax.ge(us, _number(us, 0.07)), lax.le(v, fast))
        inside = lax.bitwise_and(lax.ge(k, _number(k, 0)), lax.le(k, n))
        bound = at_mode - lax.lgamma(k + 1) - lax.lgamma(n - k + 1) + (k - mode) * log_odds
        exact = lax.le(lax.log(v * scale / (a / (us * us) + b)), bound)
        return k, lax.bitwise_and(inside, lax.bitwise_or(quick, exact))

    valid = lax.bitwise_and(_inside(n, 0), _inside(n * q, _FEW))
    out = lax.select(few, counted, _accepted(key, valid, 2, propose))
    return lax.select(flipped, count - out, out)


binomial_draw = _draw(
    "binomial_draw",
    "count p",
    _binomial,
    "How many of `count` trials succeed, each with probability p: a draw of the binomial distribution.",
    (lambda n: _inside(n, 0), "expected a count that is not negative"),
    (lambda p: lax.bitwise_and(lax.ge(p, _number(p, 0)), lax.le(p, _number(p, 1))), "expected a probability between 0 and 1"),
)

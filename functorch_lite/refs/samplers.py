"""Random draws of distributions beyond the uniform and the normal: pure functions of a key, made of what random.py draws.

Parameters are numbers or arrays; without a shape the draws have that to which they broadcast. Floats are computed in float32 at
least, and half-width ones rounded at the end.
"""

from __future__ import annotations

import math

from ..core.aval import aval_of
from ..core.dtype import FLOAT, INTEGER, DType, float32, float64, int64
from ..core.op import Shape, Tensor, composite
from ..prims import algebra, checks, compare, create, elementwise, order, reduce, rejection, trig
from ..prims import shape as shapes
from ..prims.random import fold_in
from .arguments import require, shown
from .order import searchsorted
from .promotion import array_of, broadcast_shapes, cast, expand_to, result_type, to_dtype
from .random import _RANDOM, _centered, _require_float, _require_key, _shape, _sizes, _unit, _wide, gumbel, normal


def _where_drawn(name: str, key, shape, *params):
    """(the dtype, and the sizes of the result with the rows of keys in front) of a draw with these parameters."""
    _require_key(name, key)
    dtype = result_type(*params)
    dtype = dtype if dtype.is_inexact else float32
    _require_float(name, dtype)
    shape = broadcast_shapes(*(aval_of(p).shape for p in params)) if shape is None else _shape(shape)
    return dtype, _sizes(key, shape)


@composite(namespace=_RANDOM)
def cauchy(key: Tensor, shape: Shape = (), dtype: DType = float32, median: Tensor = 0.0, sigma: Tensor = 1.0) -> Tensor:
    """Floats of the Cauchy distribution: density 1 / (pi sigma (1 + ((x - median) / sigma)^2)). Its parameters have gradients.

    >>> import functorch_lite as fl
    >>> fl.random.cauchy(fl.random.key(0), (2, 3)).shape
    (2, 3)
    """
    _require_key("cauchy", key)
    _require_float("cauchy", dtype)
    wide = _wide(dtype)
    c = _centered(key, shape, wide)
    size = elementwise.abs(c)
    rest = elementwise.sub(algebra.one_like(c), size)  # exact, so that the tails are: tan(pi/2 c) = sin(pi/2 c) / sin(pi/2 (1 - |c|))
    up, down = (trig.sin(elementwise.scaled(x, math.pi / 2)) for x in (c, rest))
    median, sigma = (cast(x, wide, c.shape) for x in (median, sigma))
    return to_dtype(elementwise.add(median, elementwise.mul(sigma, elementwise.div(up, down))), dtype)


@composite(namespace=_RANDOM)
def log_normal(key: Tensor, shape: Shape = (), dtype: DType = float32, mean: Tensor = 0.0, std: Tensor = 1.0) -> Tensor:
    """Positive floats whose logarithms are normally distributed with this mean and standard deviation, which have gradients.

    >>> import functorch_lite as fl
    >>> bool((fl.random.log_normal(fl.random.key(0), (100,)) > 0).all())
    True
    """
    _require_key("log_normal", key)
    _require_float("log_normal", dtype)
    x = normal(key, shape, _wide(dtype))
    mean, std = (cast(p, x.dtype, x.shape) for p in (mean, std))
    return to_dtype(elementwise.exp(elementwise.add(mean, elementwise.mul(std, x))), dtype)


@composite(namespace=_RANDOM)
def geometric(key: Tensor, p: Tensor, shape: Shape | None = None, dtype: DType = int64) -> Tensor:
    """How many trials it takes to succeed, each with probability p: 1, 2, 3 ..., k with probability p (1 - p)^(k - 1).

    >>> import functorch_lite as fl
    >>> fl.random.geometric(fl.random.key(0), 1.0, (3,)).tolist()
    [1, 1, 1]
    """
    _, sizes = _where_drawn("geometric", key, shape, p)
    require(dtype.category in (FLOAT, INTEGER), "geometric", f"dtype must be an integer or float dtype, got {dtype}", TypeError)
    u = _unit(key, sizes[key.ndim - 1 :], float64, odd=True)
    p = cast(p, float64, sizes)
    ok = compare.select(compare.gt(p, algebra.zeros(p.aval)), compare.le(p, algebra.one_like(p)), compare.lt(p, p))
    p = checks.expect(p, ok, "RuntimeError", "geometric: expected a probability p in (0, 1]")
    fails = elementwise.div(elementwise.log(u), elementwise.log1p(elementwise.neg(p)))
    return to_dtype(compare.maximum(elementwise.ceil(fails), algebra.one_like(u)), dtype)


# -------------------------------------------------------------------------------------------------- gamma and its kin


def _log_gamma(name: str, key, a, shape):
    dtype, sizes = _where_drawn(name, key, shape, a)
    return rejection.log_gamma_draw(key, cast(a, _wide(dtype), sizes)), dtype


@composite(namespace=_RANDOM)
def gamma(key: Tensor, a: Tensor, shape: Shape | None = None) -> Tensor:
    """Positive floats of the gamma distribution with shape parameter a and rate 1: density x^(a - 1) exp(-x) / gamma(a).

    It has a gradient in a: how a draw moves (Figurnov, Mohamed, Mnih: Implicit reparameterization gradients, 2018). The draws are
    Marsaglia's and Tsang's (2000).

    >>> import functorch_lite as fl
    >>> bool((fl.random.gamma(fl.random.key(0), 0.5, (100,)) >= 0).all())
    True
    """
    x, dtype = _log_gamma("gamma", key, a, shape)
    return to_dtype(elementwise.exp(x), dtype)


@composite(namespace=_RANDOM)
def beta(key: Tensor, a: Tensor, b: Tensor, shape: Shape | None = None) -> Tensor:
    """Floats in [0, 1] of the beta distribution: density proportional to x^(a - 1) (1 - x)^(b - 1). It has gradients in a and b.

    >>> import functorch_lite as fl
    >>> x = fl.random.beta(fl.random.key(0), 2.0, 0.5, (100,))
    >>> bool(((x >= 0) & (x <= 1)).all())
    True
    """
    dtype, sizes = _where_drawn("beta", key, shape, a, b)
    a, b = (cast(p, _wide(dtype), sizes) for p in (a, b))
    x, y = (rejection.log_gamma_draw(_part(key, i), p) for i, p in enumerate((a, b)))
    return to_dtype(elementwise.sigmoid(elementwise.sub(x, y)), dtype)


def _part(key, i: int):
    """The i-th of several keys that one draw is made of."""
    return fold_in(key, create.full(key.shape[:-1], i, int64))


@composite(namespace=_RANDOM)
def dirichlet(key: Tensor, alpha: Tensor, shape: Shape | None = None) -> Tensor:
    """Points of the simplex [..., n] with the Dirichlet distribution of alpha [..., n]; shape, if given, ends in that of alpha.

    >>> import functorch_lite as fl
    >>> abs(fl.random.dirichlet(fl.random.key(0), fl.asarray([0.5, 1.0, 2.0])).sum().item() - 1) < 1e-6
    True
    """
    alpha = array_of(alpha)
    require(alpha.ndim > 0, "dirichlet", f"alpha must have at least one dimension, got {shown(alpha)}")
    x, dtype = _log_gamma("dirichlet", key, alpha, shape)
    last = (x.ndim - 1,)
    top = along_last(reduce.reduce_max(x, last), x)
    weights = elementwise.exp(elementwise.sub(x, top))
    return to_dtype(elementwise.div(weights, along_last(reduce.reduce_sum(weights, last), x)), dtype)


def along_last(x, like):
    """x [...] repeated along the last dimension of like."""
    return shapes.broadcast(x, like.shape, tuple(range(x.ndim)))


# ------------------------------------------------------------------------------------------------------------- counts


@composite(namespace=_RANDOM)
def poisson(key: Tensor, rate: Tensor, shape: Shape | None = None) -> Tensor:
    """Counts of the Poisson distribution with this mean, as floats in its dtype; they have no gradient.

    Raises RuntimeError for a negative rate (eager mode). Hörmann's transformed rejection (1993), and a search where the rate is small.

    >>> import functorch_lite as fl
    >>> fl.random.poisson(fl.random.key(0), fl.asarray([0.0, 0.0])).tolist()
    [0.0, 0.0]
    """
    dtype, sizes = _where_drawn("poisson", key, shape, rate)
    return to_dtype(rejection.poisson_draw(key, cast(rate, _wide(dtype), sizes)), dtype)


@composite(namespace=_RANDOM)
def binomial(key: Tensor, count: Tensor, p: Tensor, shape: Shape | None = None) -> Tensor:
    """How many of `count` trials succeed, each with probability p, as floats; they have no gradient.

    Raises RuntimeError for a negative count or a p outside [0, 1] (eager mode). Hörmann's transformed rejection (1993).

    >>> import functorch_lite as fl
    >>> fl.random.binomial(fl.random.key(0), fl.asarray([3.0, 3.0]), fl.asarray([0.0, 1.0])).tolist()
    [0.0, 3.0]
    """
    dtype, sizes = _where_drawn("binomial", key, shape, count, p)
    return to_dtype(rejection.binomial_draw(key, *(cast(x, _wide(dtype), sizes) for x in (count, p))), dtype)


@composite(namespace=_RANDOM)
def multinomial(key: Tensor, weights: Tensor, num_samples: int, replacement: bool = False) -> Tensor:
    """Indices (int64) of num_samples draws for each row of weights [..., n], i with a probability in proportion to weight i.

    Without replacement each index comes once, in the order in which it was drawn (Gumbel top k: Kool, van Hoof, Welling, 2019).
    Raises RuntimeError for weights that are negative, infinite, NaN or all 0 (eager mode), or if there are fewer than num_samples.

    >>> import functorch_lite as fl
    >>> sorted(fl.random.multinomial(fl.random.key(0), fl.asarray([1.0, 0.0, 3.0]), 2).tolist())
    [0, 2]
    """
    _require_key("multinomial", key)
    w = array_of(weights)
    require(w.dtype.is_floating_point, "multinomial", f"expected weights of a float dtype, got {shown(w)}")
    require(w.ndim > 0, "multinomial", f"expected weights of at least one dimension, got {shown(w)}")
    require(num_samples > 0, "multinomial", f"cannot sample num_samples <= 0, got {num_samples}")
    n, last = w.shape[-1], w.ndim - 1
    ok = replacement or num_samples <= n
    require(ok, "multinomial", f"cannot sample num_samples={num_samples} > {n} weights without replacement")
    w = to_dtype(w, float64)
    zero = algebra.zeros(w.aval)
    fine = compare.select(compare.isfinite(w), compare.ge(w, zero), compare.lt(w, w))
    w = checks.expect(w, fine, "RuntimeError", "multinomial: weights contain either inf, nan or an element < 0")
    total = reduce.reduce_sum(w, (last,))
    some = compare.gt(total, algebra.zeros(total.aval))
    w = checks.expect(w, some, "RuntimeError", "multinomial: invalid distribution (a sum of weights <= 0)")
    lead = key.shape[:-1]
    batch = w.shape[len(lead) : -1] if lead and w.shape[: len(lead)] == lead else w.shape[:-1]
    if not replacement:
        noise = gumbel(key, (*batch, n), float64)
        return order.top_k(elementwise.add(noise, expand_to(elementwise.log(w), noise.shape)), num_samples)[1]
    ends = order.cumsum(w, last)
    u = _unit(key, (*batch, num_samples), float64)
    ends = expand_to(ends, (*u.shape[:-1], n))
    at = elementwise.mul(u, along_last(shapes.reshape(shapes.part(ends, u.ndim - 1, n - 1, n), u.shape[:-1]), u))
    found = searchsorted(ends, at, right=True)
    # rounding may have reached the end: the last that has a weight is meant
    places = create.iota(w.shape, last, int64)
    place = compare.select(compare.gt(w, zero), places, algebra.zeros(places.aval))
    final = expand_to(shapes.reshape(reduce.reduce_max(place, (last,)), (*w.shape[:-1], 1)), (*u.shape[:-1], 1))
    return compare.minimum(found, expand_to(final, found.shape))


__all__ = ["beta", "binomial", "cauchy", "dirichlet", "gamma", "geometric", "log_normal", "multinomial", "poisson"]

"""Losses by margins and distances, and of distributions: what torch.nn.functional has beyond the common ones of `loss`."""

from __future__ import annotations

import math

import numpy as np

from ..core.dtype import INTEGER, int32
from ..core.op import Tensor, composite
from ..prims import algebra, checks, compare, create, elementwise, index, reduce, shape
from .arguments import require, require_arrays, require_floating, shown
from .loss import constant, pair, pick, reduced, reduced_reference, softplus_of_minus
from .promotion import canonical_dim, promoted, to_dtype
from .reduce import norm

_F = "fl.nn.functional"


def _floats(name, *xs):
    """Floats of one dtype and shape."""
    require_arrays(name, **{f"argument {i}": x for i, x in enumerate(xs)})
    out = promoted(*xs)
    require_floating(name, out[0])
    return out


def _positive(x):
    """max(x, 0), with the derivative 1 at 0 that PyTorch's clamp has."""
    return compare.select(compare.lt(x, algebra.zeros(x.aval)), algebra.zeros(x.aval), x)


def _plus(x, number):
    return elementwise.add(x, constant(x, number))


def _is(y, number):
    return compare.eq(y, constant(y, number))


# --------------------------------------------------------------------------------------------------------- distances


def _cosine_reference(x1, x2, dim=1, eps=1e-8):
    sizes = [np.maximum(np.linalg.norm(x, axis=dim), eps) for x in (x1, x2)]
    return (x1 * x2).sum(dim) / (sizes[0] * sizes[1])


@composite(reference=_cosine_reference)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along dim, with broadcasting.

    >>> import functorch_lite as fl
    >>> fl.cosine_similarity(fl.asarray([[1.0, 0.0]]), fl.asarray([[2.0, 0.0]])).tolist()
    [1.0]
    """
    a, b = _floats("cosine_similarity", x1, x2)
    dim = canonical_dim("cosine_similarity", dim, a.ndim)
    a, b = (_over(x, compare.maximum(n, constant(n, eps)), dim) for x, n in ((x, norm(x, 2, dim)) for x in (a, b)))
    return reduce.reduce_sum(elementwise.mul(a, b), (dim,))


def _over(x, size, dim):
    return elementwise.div(x, reduce.spread(size, x, (dim,)))


def _pairwise_reference(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    return np.linalg.norm(x1 - x2 + eps, p, -1, keepdim)


@composite(reference=_pairwise_reference)
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps over the last dimension, with broadcasting."""
    return norm(_plus(elementwise.sub(*_floats("pairwise_distance", x1, x2)), eps), p, -1, keepdim)


_COMPUTE_MODES = (None, "use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


def _cdist_reference(x1, x2, p=2.0, compute_mode=None):
    return np.linalg.norm(x1[..., :, None, :] - x2[..., None, :, :], p, -1)


@composite(reference=_cdist_reference)
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """The p-norm of the difference of every row of x1 [..., n, d] with every row of x2 [..., m, d]: [..., n, m].

    By differences, whatever PyTorch's compute_mode, which are exact where rows are near each other; the derivative where they coincide
    is 0.

    >>> import functorch_lite as fl
    >>> fl.cdist(fl.asarray([[0.0, 0.0]]), fl.asarray([[3.0, 4.0], [0.0, 1.0]])).tolist()
    [[5.0, 1.0]]
    """
    require_arrays("cdist", x1=x1, x2=x2)
    ok = x1.ndim >= 2 and x2.ndim >= 2 and x1.shape[-1] == x2.shape[-1]
    require(ok, "cdist", f"expected x1 [..., n, d] and x2 [..., m, d], got {shown(x1, x2)}")
    require(compute_mode in _COMPUTE_MODES, "cdist", f"{compute_mode!r} is not a valid value for compute_mode", ValueError)
    require(p >= 0, "cdist", f"p must not be negative, got {p}")
    rows, columns = (shape.reshape(x, (*x.shape[:-at], 1, *x.shape[-at:])) for x, at in ((x1, 1), (x2, 2)))
    return norm(elementwise.sub(*_floats("cdist", rows, columns)), p, -1)


# ----------------------------------------------------------------------------------------------------------- margins


def _cosine_embedding_reference(x1, x2, y, margin=0.0, reduction="mean"):
    cos = (x1 * x2).sum(-1) / np.sqrt(((x1 * x1).sum(-1) + 1e-12) * ((x2 * x2).sum(-1) + 1e-12))
    return reduced_reference(np.where(y == 1, 1 - cos, np.where(y == -1, np.maximum(cos - margin, 0), 0)), reduction)


@composite(namespace=_F, reference=_cosine_embedding_reference)
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean") -> Tensor:
    """1 - cos(input1, input2) over the last dimension where target is 1, and max(0, cos - margin) where it is -1."""
    name = "cosine_embedding_loss"
    a, b = _floats(name, input1, input2)
    require_arrays(name, target=target)
    require(a.ndim in (1, 2) and target.shape == a.shape[:-1], name, f"expected inputs [N, D] and target [N], got {shown(a, b, target)}")
    last = (a.ndim - 1,)
    squares = [_plus(reduce.reduce_sum(elementwise.mul(x, x), last), 1e-12) for x in (a, b)]
    cos = elementwise.div(reduce.reduce_sum(elementwise.mul(a, b), last), elementwise.sqrt(elementwise.mul(*squares)))
    nothing = algebra.zeros(cos.aval)
    apart = compare.select(_is(target, -1), _positive(_plus(cos, -margin)), nothing)
    return reduced(name, compare.select(_is(target, 1), _plus(elementwise.neg(cos), 1), apart), reduction)


def _hinge_reference(x, y, margin=1.0, reduction="mean"):
    return reduced_reference(np.where(y == 1, x, np.maximum(margin - x, 0)), reduction)


@composite(namespace=_F, reference=_hinge_reference)
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """input where target is 1, and max(0, margin - input) where it is -1."""
    x, y = pair("hinge_embedding_loss", input, target)
    nothing = algebra.zeros(x.aval)
    close = compare.select(_is(y, -1), nothing, x)
    far = compare.select(_is(y, 1), nothing, _positive(_plus(elementwise.neg(x), margin)))
    return reduced("hinge_embedding_loss", elementwise.add(close, far), reduction)


@composite(
    namespace=_F,
    reference=lambda a, b, y, margin=0.0, reduction="mean": reduced_reference(np.maximum(margin - y * (a - b), 0), reduction),
)
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean") -> Tensor:
    """max(0, margin - target (input1 - input2)): target is 1 where input1 should rank higher, else -1."""
    a, b, y = _floats("margin_ranking_loss", input1, input2, target)
    loss = _positive(_plus(elementwise.neg(elementwise.mul(y, elementwise.sub(a, b))), margin))
    return reduced("margin_ranking_loss", loss, reduction)


@composite(namespace=_F, reference=lambda x, y, reduction="mean": reduced_reference(np.logaddexp(0, -y * x), reduction))
def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target input)), for target 1 or -1."""
    return reduced("soft_margin_loss", softplus_of_minus(elementwise.mul(*pair("soft_margin_loss", input, target))), reduction)


def _multi_margin_reference(x, y, p=1, margin=1.0, weight=None, reduction="mean"):
    wide, rows = np.atleast_2d(x), np.atleast_1d(y)
    at = np.arange(len(rows))
    loss = np.maximum(margin - wide[at, rows][:, None] + wide, 0) ** p
    loss = loss if weight is None else loss * weight[rows][:, None]
    loss[at, rows] = 0
    loss = loss.sum(1) / wide.shape[1]
    return reduced_reference(loss if x.ndim == 2 else loss[0], reduction)


@composite(namespace=_F, reference=_multi_margin_reference)
def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """The mean over classes j other than the target y of weight[y] max(0, margin - input[y] + input[j])^p, for input [N, C] or [C]."""
    name = "multi_margin_loss"
    require_arrays(name, input=input, target=target, weight=weight)
    require_floating(name, input)
    require(p in (1, 2), name, f"p must be 1 or 2, got {p}", ValueError)
    ok = input.ndim in (1, 2) and target.shape == input.shape[:-1] and target.dtype.category == INTEGER
    require(ok, name, f"expected input [N, C] or [C] and integer target [N] or [], got {shown(input, target)}")
    last = input.ndim - 1
    gap = elementwise.sub(input, reduce.spread(pick(input, target, last), input, (last,)))
    loss = _positive(_plus(gap, margin))
    loss = elementwise.mul(loss, loss) if p == 2 else loss
    own = compare.eq(reduce.spread(to_dtype(target, int32), input, (last,)), create.iota(input.shape, last, int32))
    loss = elementwise.scaled(reduce.reduce_sum(compare.select(own, algebra.zeros(loss.aval), loss), (last,)), 1 / max(input.shape[-1], 1))
    if weight is not None:
        loss = elementwise.mul(loss, index.gather(to_dtype(weight, loss.dtype), [target], (0,), (0,)))
    return reduced(name, loss, reduction)


def _multilabel_reference(x, y, weight=None, reduction="mean"):
    loss = y * np.logaddexp(0, -x) + (1 - y) * np.logaddexp(0, x)
    return reduced_reference((loss if weight is None else loss * weight).mean(-1), reduction)


@composite(namespace=_F, reference=_multilabel_reference)
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean") -> Tensor:
    """The mean over the last dimension of the binary cross entropy of sigmoid(input) with target (0 or 1), weighted by class."""
    x, y = pair("multilabel_soft_margin_loss", input, target)
    loss = elementwise.add(elementwise.mul(_plus(elementwise.neg(y), 1), x), softplus_of_minus(x))
    if weight is not None:
        loss = elementwise.mul(*promoted(loss, weight))
    last = loss.ndim - 1
    mean = elementwise.scaled(reduce.reduce_sum(loss, (last,)), 1 / max(loss.shape[-1], 1))
    return reduced("multilabel_soft_margin_loss", mean, reduction)


def _triplet_reference(a, b, c, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction="mean"):
    near, far = _pairwise_reference(a, b, p, eps), _pairwise_reference(a, c, p, eps)
    far = np.minimum(far, _pairwise_reference(b, c, p, eps)) if swap else far
    return reduced_reference(np.maximum(near - far + margin, 0), reduction)


@composite(namespace=_F, reference=_triplet_reference)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d being `pairwise_distance`; with swap the smaller of the distances
    from anchor and from positive to negative counts (Balntas et al., 2016)."""
    require(margin > 0, "triplet_margin_loss", f"margin must be positive, got {margin}", ValueError)
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = compare.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced("triplet_margin_loss", _positive(_plus(elementwise.sub(near, far), margin)), reduction)


# ----------------------------------------------------------------------------------------------------- distributions


def _poisson_reference(x, y, log_input=True, full=False, eps=1e-8, reduction="mean"):
    loss = np.exp(x) - y * x if log_input else x - y * np.log(x + eps)
    safe = np.where(y > 1, y, 1)
    return reduced_reference(loss + (y > 1) * (safe * np.log(safe) - safe + 0.5 * np.log(2 * np.pi * safe)) * full, reduction)


@composite(namespace=_F, reference=_poisson_reference)
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean"
) -> Tensor:
    """The negative log-likelihood of counts target under a Poisson distribution whose rate (or, with log_input, its log) is input.

    Without the constant log(target!), or, if full, with Stirling's approximation of it where target > 1.
    """
    x, y = pair("poisson_nll_loss", input, target)
    if log_input:
        loss = elementwise.sub(elementwise.exp(x), elementwise.mul(y, x))
    else:
        loss = elementwise.sub(x, elementwise.mul(y, elementwise.log(_plus(x, eps))))
    if full:
        large = compare.gt(y, constant(y, 1))
        safe = compare.select(large, y, constant(y, 1))
        log = elementwise.log(safe)
        stirling = elementwise.add(
            elementwise.sub(elementwise.mul(safe, log), safe), elementwise.scaled(_plus(log, math.log(2 * math.pi)), 0.5)
        )
        loss = elementwise.add(loss, compare.select(large, stirling, algebra.zeros(y.aval)))
    return reduced("poisson_nll_loss", loss, reduction)


def _gaussian_reference(x, y, var, full=False, eps=1e-6, reduction="mean"):
    var = np.maximum(var if np.ndim(var) in (0, x.ndim) else var[..., None], eps)
    return reduced_reference(0.5 * (np.log(var) + (x - y) ** 2 / var) + 0.5 * np.log(2 * np.pi) * full, reduction)


@composite(namespace=_F, reference=_gaussian_reference)
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Tensor:
    """(log(v) + (input - target)^2 / v) / 2 with v = max(var, eps), plus log(2 pi) / 2 if full; var may lack the last dimension.

    ValueError for a negative variance (unchecked under jit).
    """
    name = "gaussian_nll_loss"
    x, y = pair(name, input, target)
    if not isinstance(var, (int, float)) and var.shape == x.shape[:-1] and x.ndim:
        var = shape.reshape(var, (*var.shape, 1))
    v = promoted(var, x, dtype=x.dtype)[0]
    require(v.shape == x.shape, name, f"var must have the shape of input, or that without the last dimension, got {shown(x, v)}")
    v = checks.expect(v, compare.ge(v, algebra.zeros(v.aval)), "ValueError", f"{name}: var has a negative entry")
    v = compare.maximum(v, constant(v, eps))
    d = elementwise.sub(x, y)
    loss = elementwise.scaled(elementwise.add(elementwise.log(v), elementwise.div(elementwise.mul(d, d), v)), 0.5)
    return reduced(name, _plus(loss, 0.5 * math.log(2 * math.pi)) if full else loss, reduction)


__all__ = ["cdist", "cosine_similarity", "pairwise_distance"]

"""Losses by margins and distances, and of distributions: what torch.nn.functional has beyond the common ones of `loss`."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from ..core.dtype import INTEGER, int32
from ..core.op import Tensor, composite
from ..prims import algebra, bits, checks, compare, create, elementwise, index, order, reduce, shape
from .arguments import accumulator, require, require_arrays, require_floating, require_reduction, shown
from .loss import constant, pair, pick, reduced, reduced_reference, softplus_of_minus
from .promotion import canonical_dim, promoted, to_dtype
from .reduce import norm

_F = "fl.nn.functional"


def floats(name, *xs):
    """Floats of one dtype and shape; integers become the default float."""
    require_arrays(name, **{f"argument {i}": x for i, x in enumerate(xs)})
    out = promoted(*xs, inexact=True)
    require_floating(name, out[0])
    return out


def _positive(x):
    """max(x, 0), with the derivative 1 at 0 that PyTorch's clamp has."""
    return compare.select(compare.lt(x, algebra.zeros(x.aval)), algebra.zeros(x.aval), x)


def plus(x, number):
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
    a, b = floats("cosine_similarity", x1, x2)
    dim = canonical_dim("cosine_similarity", dim, a.ndim)
    sizes = (*a.shape[:dim], *a.shape[dim + 1 :])
    result, wide = a.dtype, accumulator(a.dtype)
    a, b = (to_dtype(x if x.ndim else shape.reshape(x, (1,)), wide) for x in (a, b))
    a, b = (_over(x, compare.maximum(n, constant(n, eps)), dim) for x, n in ((x, norm(x, 2, dim)) for x in (a, b)))
    return to_dtype(shape.reshape(reduce.reduce_sum(elementwise.mul(a, b), (dim,)), sizes), result)


def _over(x, size, dim):
    return elementwise.div(x, reduce.spread(size, x, (dim,)))


def _pairwise_reference(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    return np.linalg.norm(x1 - x2 + eps, p, -1, keepdim)


@composite(reference=_pairwise_reference)
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps over the last dimension, with broadcasting."""
    return norm(plus(elementwise.sub(*floats("pairwise_distance", x1, x2)), eps), p, -1, keepdim)


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
    return norm(elementwise.sub(*floats("cdist", rows, columns)), p, -1)


# ----------------------------------------------------------------------------------------------------------- margins


def _cosine_embedding_reference(x1, x2, y, margin=0.0, reduction="mean"):
    cos = (x1 * x2).sum(-1) / np.sqrt(((x1 * x1).sum(-1) + 1e-12) * ((x2 * x2).sum(-1) + 1e-12))
    return reduced_reference(np.where(y == 1, 1 - cos, np.where(y == -1, np.maximum(cos - margin, 0), 0)), reduction)


@composite(namespace=_F, reference=_cosine_embedding_reference)
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean") -> Tensor:
    """1 - cos(input1, input2) over the last dimension where target is 1, and max(0, cos - margin) where it is -1."""
    name = "cosine_embedding_loss"
    a, b = floats(name, input1, input2)
    require_arrays(name, target=target)
    require(a.ndim in (1, 2) and target.shape == a.shape[:-1], name, f"expected inputs [N, D] and target [N], got {shown(a, b, target)}")
    last = (a.ndim - 1,)
    squares = [plus(reduce.reduce_sum(elementwise.mul(x, x), last), 1e-12) for x in (a, b)]
    cos = elementwise.div(reduce.reduce_sum(elementwise.mul(a, b), last), elementwise.sqrt(elementwise.mul(*squares)))
    nothing = algebra.zeros(cos.aval)
    apart = compare.select(_is(target, -1), _positive(plus(cos, -margin)), nothing)
    return reduced(name, compare.select(_is(target, 1), plus(elementwise.neg(cos), 1), apart), reduction)


def _hinge_reference(x, y, margin=1.0, reduction="mean"):
    return reduced_reference(np.where(y == 1, x, np.maximum(margin - x, 0)), reduction)


@composite(namespace=_F, reference=_hinge_reference)
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """input where target is 1, and max(0, margin - input) where it is -1."""
    x, y = pair("hinge_embedding_loss", input, target)
    nothing = algebra.zeros(x.aval)
    close = compare.select(_is(y, -1), nothing, x)
    far = compare.select(_is(y, 1), nothing, _positive(plus(elementwise.neg(x), margin)))
    return reduced("hinge_embedding_loss", elementwise.add(close, far), reduction)


@composite(
    namespace=_F,
    reference=lambda a, b, y, margin=0.0, reduction="mean": reduced_reference(np.maximum(margin - y * (a - b), 0), reduction),
)
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean") -> Tensor:
    """max(0, margin - target (input1 - input2)): target is 1 where input1 should rank higher, else -1."""
    a, b, y = floats("margin_ranking_loss", input1, input2, target)
    loss = _positive(plus(elementwise.neg(elementwise.mul(y, elementwise.sub(a, b))), margin))
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


def _require_classes(name, input):
    """input [N, C], [C] or [], that is C = 1, with classes."""
    ok = input.ndim <= 2 and 0 not in input.shape[-1:]
    require(ok, name, f"expected non-empty vector or matrix with optional 0-dim batch size, got {shown(input)}")


@composite(namespace=_F, reference=_multi_margin_reference)
def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """The mean over classes j other than the target y of weight[y] max(0, margin - input[y] + input[j])^p, for input [N, C] or [C]."""
    name = "multi_margin_loss"
    require_arrays(name, input=input, target=target, weight=weight)
    require_reduction(name, reduction)
    require(p in (1, 2), name, f"only p == 1 and p == 2 supported, got {p}", ValueError)
    require_floating(name, input)
    _require_classes(name, input)
    rows = input.shape[0] if input.ndim == 2 else 1
    ok = target.aval.size == rows and target.ndim <= 1
    require(ok, name, f"target should be 1-D with size equal to the batch size, [{rows}], got {shown(input, target)}")
    require(target.dtype.category == INTEGER, name, f"expected integer class indices as target, got {shown(target)}")
    classes = input.shape[-1] if input.ndim else 1
    x, y = shape.reshape(input, (rows, classes)), shape.reshape(target, (rows,))
    if weight is not None:
        require(weight.ndim == 1, name, f"weight must be one-dimensional, got {shown(weight)}", ValueError)
        require(weight.shape == (classes,), name, f"inconsistent weight size, expected {classes} but got {shown(weight)}")
    gap = elementwise.sub(x, reduce.spread(pick(x, y, 1), x, (1,)))
    loss = _positive(plus(gap, margin))
    loss = elementwise.mul(loss, loss) if p == 2 else loss
    own = compare.eq(reduce.spread(to_dtype(y, int32), x, (1,)), create.iota(x.shape, 1, int32))
    loss = elementwise.scaled(reduce.reduce_sum(compare.select(own, algebra.zeros(loss.aval), loss), (1,)), 1 / classes)
    if weight is not None:
        loss = elementwise.mul(loss, index.gather(to_dtype(weight, loss.dtype), [y], (0,), (0,)))
    return reduced(name, shape.reshape(loss, target.shape), reduction)


def _multilabel_margin_reference(x, y, reduction="mean"):
    wide, rows = np.atleast_2d(x), np.atleast_2d(y)
    out = np.zeros(len(wide), x.dtype)
    for n, (values, targets) in enumerate(zip(wide, rows)):
        named = list(itertools.takewhile(lambda t: t >= 0, targets))
        others = [i for i in range(len(values)) if i not in named]
        out[n] = sum(max(0, 1 - values[j] + values[i]) for j in named for i in others) / len(values)
    return reduced_reference(out if x.ndim == 2 else out[0], reduction)


@composite(namespace=_F, reference=_multilabel_margin_reference)
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """The sum over classes j that target names and classes i that it does not of max(0, 1 - input[j] + input[i]), over the number of classes.

    input is [N, C] or [C], target, of its shape, holds class indices up to the first that is negative. RuntimeError for a class that is
    not there (unchecked under jit).

    >>> import functorch_lite as fl
    >>> fl.nn.functional.multilabel_margin_loss(fl.asarray([0.0, 1.0]), fl.asarray([1, -1])).item()
    0.0
    """
    name = "multilabel_margin_loss"
    require_arrays(name, input=input, target=target)
    require_reduction(name, reduction)
    require_floating(name, input)
    _require_classes(name, input)
    ok = target.shape == input.shape or (input.ndim < 2 and target.ndim < 2 and target.aval.size == input.aval.size)
    require(ok, name, f"inconsistent target size: {list(target.shape)} for input of size {list(input.shape)}")
    require(target.dtype.category == INTEGER, name, f"expected integer class indices as target, got {shown(target)}")
    rows, classes = input.shape if input.ndim == 2 else (1, input.aval.size)
    x, y = shape.reshape(input, (rows, classes)), to_dtype(shape.reshape(target, (rows, classes)), int32)
    inside = bits.bitwise_and(compare.ge(y, constant(y, -1)), compare.lt(y, constant(y, classes)))
    y = checks.expect(y, inside, "RuntimeError", f"{name}: target is out of range: classes are from 0 to {classes - 1}")
    negative = to_dtype(compare.lt(y, constant(y, 0)), int32)
    live = compare.eq(order.cumsum(negative, 1), constant(y, 0))  # up to the first negative one
    whole = (rows, classes, classes)
    named = bits.bitwise_and(_along(live, whole), compare.eq(_along(y, whole), create.iota(whole, 2, int32)))
    other = bits.bitwise_not(reduce.reduce_any(named, (1,)))
    at = index.take_along(x, y, 1, "clip")
    gap = _positive(plus(elementwise.sub(shape.broadcast(x, whole, (0, 2)), _along(at, whole)), 1))
    counted = bits.bitwise_and(_along(live, whole), shape.broadcast(other, whole, (0, 2)))
    loss = reduce.reduce_sum(compare.select(counted, gap, algebra.zeros(gap.aval)), (1, 2))
    return reduced(name, shape.reshape(elementwise.scaled(loss, 1 / classes), input.shape[:-1] if input.ndim == 2 else ()), reduction)


def _along(x, whole):
    """x [rows, targets] repeated over classes."""
    return shape.broadcast(x, whole, (0, 1))


def _multilabel_reference(x, y, weight=None, reduction="mean"):
    loss = y * np.logaddexp(0, -x) + (1 - y) * np.logaddexp(0, x)
    return reduced_reference((loss if weight is None else loss * weight).mean(-1), reduction)


@composite(namespace=_F, reference=_multilabel_reference)
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean") -> Tensor:
    """The mean over the last dimension of the binary cross entropy of sigmoid(input) with target (0 or 1), weighted by class."""
    x, y = pair("multilabel_soft_margin_loss", input, target)
    loss = elementwise.add(elementwise.mul(plus(elementwise.neg(y), 1), x), softplus_of_minus(x))
    if weight is not None:
        loss = elementwise.mul(*promoted(loss, weight))
    last = loss.ndim - 1
    total = reduce.reduce_sum(to_dtype(loss, accumulator(loss.dtype)), (last,))
    mean = elementwise.scaled(total, 1 / max(loss.shape[-1], 1))
    return to_dtype(reduced("multilabel_soft_margin_loss", mean, reduction), loss.dtype)


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
    return reduced("triplet_margin_loss", _positive(plus(elementwise.sub(near, far), margin)), reduction)


@composite(namespace=_F, name="triplet_margin_with_distance_loss")
def _of_distances(near: Tensor, far: Tensor, other: Tensor | None, margin: float, reduction: str) -> Tensor:
    """max(0, near - far + margin), with the smaller of far and other."""
    name = "triplet_margin_with_distance_loss"
    near, far = floats(name, near, far)
    if other is not None:
        far = compare.minimum(far, floats(name, other, far)[0])
    return reduced(name, _positive(plus(elementwise.sub(near, far), margin)), reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with a distance of one's own, a function of two arrays; `pairwise_distance` if there is none.

    ValueError for a margin that is not positive, RuntimeError for arguments of different rank.

    >>> import functorch_lite as fl
    >>> a, b, c = fl.asarray([[0.0]]), fl.asarray([[1.0]]), fl.asarray([[3.0]])
    >>> far = lambda x, y: (x - y).abs().sum(-1)
    >>> fl.nn.functional.triplet_margin_with_distance_loss(a, b, c, distance_function=far, margin=2.5).item()
    0.5
    """
    name = "triplet_margin_with_distance_loss"
    require_reduction(name, reduction)
    require(margin > 0, name, f"margin must be greater than 0, got {margin}", ValueError)
    ranks = [x.ndim for x in (anchor, positive, negative)]
    seen = "anchor {}D, positive {}D, and negative {}D inputs".format(*ranks)
    require(len(set(ranks)) == 1, name, f"anchor, positive, and negative are expected to have the same number of dimensions, got {seen}")
    distance = pairwise_distance if distance_function is None else distance_function
    other = distance(positive, negative) if swap else None
    return _of_distances(distance(anchor, positive), distance(anchor, negative), other, margin, reduction)


triplet_margin_with_distance_loss.op = _of_distances.op


__all__ = ["cdist", "cosine_similarity", "pairwise_distance"]

"""Losses between an input and a target, with PyTorch's reductions."""

from __future__ import annotations

import math

import numpy as np

from ..core.dtype import INTEGER, int32
from ..core.op import Tensor, composite
from ..prims import algebra, bits, checks, compare, create, elementwise, index, reduce, shape
from .arguments import accumulator, require, require_arrays, require_floating, require_reduction, shown
from .promotion import promoted, to_dtype
from .softmaxes import log_softmax, shifted

_F = "fl.nn.functional"


def total_of(loss):
    """The sum of all elements, kept in float32 where they are narrower."""
    return reduce.reduce_sum(to_dtype(loss, accumulator(loss.dtype)), tuple(range(loss.ndim)))


def reduced(name: str, loss, reduction: str):
    """A loss with its elements kept, averaged or summed."""
    require_reduction(name, reduction)
    if reduction == "none":
        return loss
    total, n = total_of(loss), loss.aval.size
    return to_dtype(total if reduction == "sum" else elementwise.scaled(total, 1 / n if n else math.nan), loss.dtype)


def reduced_reference(loss, reduction):
    return loss if reduction == "none" else getattr(np, reduction)(loss).astype(loss.dtype)


def pair(name: str, input, target):
    """input and target as floats of one dtype and shape."""
    require_arrays(name, input=input, target=target)
    x, y = promoted(input, target)
    require_floating(name, x)
    return x, y


def constant(like, number):
    return algebra.full_like(like, number)


# ------------------------------------------------------------------------------------------------------- distances


def _distance(name, doc, of, numpy_of):
    """A loss that is a function of input - target alone."""

    def f(input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
        loss = of(elementwise.sub(*pair(name, input, target)))
        if weight is not None:
            loss = elementwise.mul(*promoted(loss, weight))
        return reduced(name, loss, reduction)

    def reference(input, target, reduction="mean", weight=None):
        loss = numpy_of(input - target)
        return reduced_reference(loss if weight is None else loss * weight, reduction)

    f.__name__, f.__doc__ = name, doc
    return composite(f, namespace=_F, reference=reference)


mse_loss = _distance(
    "mse_loss",
    """The squared difference (input - target)^2, with broadcasting; reduction is 'none', 'mean' or 'sum'.

    >>> import functorch_lite as fl
    >>> fl.nn.functional.mse_loss(fl.asarray([1.0, 3.0]), fl.asarray([0.0, 0.0])).item()
    5.0
    """,
    lambda d: elementwise.mul(d, d),
    np.square,
)
l1_loss = _distance(
    "l1_loss", "The absolute difference |input - target|, with broadcasting; its derivative is 0 where they meet.", elementwise.abs, np.abs
)


def _bent(d, at: float):
    """Half the square of d up to |d| = at, from there on its tangent: at (|d| - at / 2)."""
    size = elementwise.abs(d)
    line = elementwise.scaled(elementwise.sub(size, constant(size, at / 2)), at)
    return compare.select(compare.lt(size, constant(size, at)), elementwise.scaled(elementwise.mul(d, d), 0.5), line)


def _bent_reference(d, at):
    return np.where(np.abs(d) < at, d * d / 2, at * (np.abs(d) - at / 2)).astype(d.dtype)


@composite(
    namespace=_F,
    reference=lambda x, y, reduction="mean", beta=1.0: reduced_reference(
        _bent_reference(x - y, beta) / beta if beta else np.abs(x - y), reduction
    ),
)
def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """(d^2 / 2) / beta where d = |input - target| < beta, else d - beta / 2; with beta=0 the L1 loss (Girshick, 2015)."""
    require(beta >= 0, "smooth_l1_loss", f"beta must not be negative, got {beta}")
    if beta == 0:
        return l1_loss(input, target, reduction)
    d = elementwise.sub(*pair("smooth_l1_loss", input, target))
    return reduced("smooth_l1_loss", elementwise.scaled(_bent(d, beta), 1 / beta), reduction)


@composite(namespace=_F, reference=lambda x, y, reduction="mean", delta=1.0: reduced_reference(_bent_reference(x - y, delta), reduction))
def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """d^2 / 2 where d = |input - target| < delta, else delta (d - delta / 2) (Huber, 1964)."""
    require(delta > 0, "huber_loss", f"delta must be positive, got {delta}", ValueError)
    return reduced("huber_loss", _bent(elementwise.sub(*pair("huber_loss", input, target)), delta), reduction)


# --------------------------------------------------------------------------------------------------------- classes


def _picked_jvp(ans, primals, tangents, dim):
    """By a mask instead of an index, so that the transpose is a product and no scatter."""
    (_, target), (t, _) = primals, tangents
    ndim = t.ndim
    dim %= max(ndim, 1)
    at = to_dtype(target, int32)
    at = shape.broadcast(at, t.shape, tuple([d for d in range(ndim) if d != dim]))
    hit = compare.eq(at, create.iota(t.shape, dim, int32))
    return reduce.reduce_sum(compare.select(hit, t, algebra.zeros(t.aval)), (dim,))


@composite(
    namespace=_F,
    jvp=_picked_jvp,
    reference=lambda x, target, dim=1: np.take_along_axis(x, np.expand_dims(target, dim), dim).squeeze(dim),
)
def pick(input: Tensor, target: Tensor, dim: int = 1) -> Tensor:
    """The element of input along dim that target names, at each position of the other dimensions: [N, C, *], [N, *] -> [N, *].

    IndexError for a target that is out of range (unchecked under jit).
    """
    dim %= input.ndim
    others = tuple([d for d in range(input.ndim) if d != dim])
    return index.gather(input, [target], (dim,), (0,), (others, tuple(range(len(others)))))


def _class_dim(name, input, target):
    """The dimension of the classes, for class indices as target."""
    dim = min(input.ndim - 1, 1)
    fits = input.ndim >= 1 and (*input.shape[:dim], *input.shape[dim + 1 :]) == target.shape
    expected = "expected input [C], [N, C] or [N, C, *] and target [], [N] or [N, *] of class indices"
    require(fits, name, f"{expected}, got {shown(input, target)}", ValueError)
    require(target.dtype.category == INTEGER, name, f"expected integer class indices as target, got {shown(target)}")
    return dim


def _class_weights(name, weight, input, dim):
    if weight is not None:
        n = input.shape[dim]
        require(weight.shape == (n,), name, f"weight must have an element for each of the {n} classes, got {weight.aval}")
        weight = to_dtype(weight, input.dtype)
    return weight


def _masked(x, keep):
    return compare.select(keep, x, algebra.zeros(x.aval))


def _nll(logp, target, weight, ignore_index, dim, log_total=None):
    """(log_total - logp at target, weighted, the weight of each), both 0 where target is ignore_index."""
    keep = compare.ne(target, constant(target, ignore_index)) if _representable(ignore_index, target) else None
    safe = target if keep is None else _masked(target, keep)
    picked = pick(logp, safe, dim)
    loss = elementwise.neg(picked) if log_total is None else elementwise.sub(log_total, picked)
    w = constant(loss, 1)
    if weight is not None:
        w = index.gather(weight, [safe], (0,), (0,))
        loss = elementwise.mul(loss, w)
    return (loss, w) if keep is None else (_masked(loss, keep), _masked(w, keep))


def _representable(number, like):
    return like.dtype.is_signed or number >= 0


def _averaged(name, loss, w, reduction):
    """As `reduced`, but the mean is the weighted one: divided by the sum of the weights."""
    if reduction != "mean":
        return reduced(name, loss, reduction)
    return to_dtype(elementwise.div(total_of(loss), total_of(w)), loss.dtype)


def _nll_reference(logp, target, weight=None, ignore_index=-100, reduction="mean"):
    dim = min(logp.ndim - 1, 1)
    keep = target != ignore_index
    safe = np.where(keep, target, 0)
    w = keep * (np.ones(target.shape, logp.dtype) if weight is None else weight[safe])
    loss = (-w * np.take_along_axis(logp, np.expand_dims(safe, dim), dim).squeeze(dim)).astype(logp.dtype)
    return loss.sum() / w.sum() if reduction == "mean" else reduced_reference(loss, reduction)


@composite(namespace=_F, reference=_nll_reference)
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean") -> Tensor:
    """-input at the target class, for log-probabilities input [N, C, *] and class indices target [N, *] (or [C] and []).

    ``weight`` [C] scales each class, and the mean is divided by the sum of the weights. A target of ignore_index counts nothing.
    IndexError for another target out of range (unchecked under jit).
    """
    require_arrays("nll_loss", input=input, target=target, weight=weight)
    require_reduction("nll_loss", reduction)
    require_floating("nll_loss", input)
    dim = _class_dim("nll_loss", input, target)
    weight = _class_weights("nll_loss", weight, input, dim)
    return _averaged("nll_loss", *_nll(input, target, weight, ignore_index, dim), reduction)


def _cross_entropy_reference(x, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    from scipy.special import log_softmax

    dim = min(x.ndim - 1, 1)
    logp, c = log_softmax(x, axis=dim), x.shape[dim]
    w = np.ones(c, x.dtype) if weight is None else weight
    if target.dtype.kind in "iu":
        keep = target != ignore_index
        safe = np.where(keep, target, 0)
        classes = np.moveaxis(np.eye(c, dtype=x.dtype)[safe], -1, dim) * np.expand_dims(keep, dim)
        total = (keep * w[safe]).sum()
    else:
        classes, keep, total = target, 1.0, x.size / c
    classes = classes * (1 - label_smoothing) + label_smoothing / c * np.expand_dims(np.asarray(keep), dim if np.ndim(keep) else 0)
    lead = [1] * x.ndim
    lead[dim] = c
    loss = -(logp * classes * w.reshape(lead)).sum(dim).astype(x.dtype)
    return (loss.sum() / total).astype(x.dtype) if reduction == "mean" else reduced_reference(loss, reduction)


@composite(namespace=_F, reference=_cross_entropy_reference)
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The cross entropy of log_softmax(input) with target: class indices, or probabilities of input's shape.

    input is [N, C, *] or [C]. For class indices [N, *] or []: -log_softmax(input)[target] * weight[target], and the mean is divided
    by the sum of the weights; a target of ignore_index counts nothing. For probabilities: -sum(target * weight * log_softmax(input))
    over classes, the mean over positions. ``label_smoothing`` mixes that share of the uniform distribution into the target
    (Szegedy et al., 2016). IndexError for a class index out of range (unchecked under jit).

    >>> import functorch_lite as fl
    >>> fl.nn.functional.cross_entropy(fl.asarray([[0.0, 0.0]]), fl.asarray([1])).item()
    0.6931471824645996
    """
    name = "cross_entropy"
    require_arrays(name, input=input, target=target, weight=weight)
    require_reduction(name, reduction)
    require_floating(name, input)
    require(0 <= label_smoothing <= 1, name, f"label_smoothing must be between 0 and 1, got {label_smoothing}")
    soft = target.dtype.is_floating_point
    dim = min(input.ndim - 1, 1)
    if soft:
        require(target.shape == input.shape, name, f"probabilities must have the shape of input, got {shown(input, target)}")
    else:
        _class_dim(name, input, target)
    x = to_dtype(input, accumulator(input.dtype))
    weight = _class_weights(name, weight, x, dim)
    if soft or label_smoothing:
        loss = _smoothed(x, target, weight, ignore_index, label_smoothing, dim, soft)
    else:
        loss = _log_loss(x, target, weight, ignore_index, dim)
    return to_dtype(reduced(name, loss[0], reduction) if soft else _averaged(name, *loss, reduction), input.dtype)


def _log_loss(x, target, weight, ignore_index, dim):
    """log(sum(exp(s))) - s[target] of logits s that are shifted by their maximum: one exponential an element, for the gradient too."""
    if 0 in x.shape:
        return _nll(x, target, weight, ignore_index, dim)
    x = shifted(x, dim)
    return _nll(x, target, weight, ignore_index, dim, elementwise.log(reduce.reduce_sum(elementwise.exp(x), (dim,))))


def _smoothed(x, target, weight, ignore_index, smoothing, dim, soft):
    """(the loss, the weight of each position) against probabilities, or classes mixed with the uniform distribution."""
    logp = log_softmax(x, dim)
    weighted = logp if weight is None else elementwise.mul(logp, shape.broadcast(weight, logp.shape, (dim,)))
    share = smoothing / max(x.shape[dim], 1)
    if soft:
        target = to_dtype(target, x.dtype)
        target = elementwise.add(elementwise.scaled(target, 1 - smoothing), constant(target, share)) if smoothing else target
        return elementwise.neg(reduce.reduce_sum(elementwise.mul(weighted, target), (dim,))), None
    loss, w = _nll(logp, target, weight, ignore_index, dim)
    smooth = elementwise.neg(reduce.reduce_sum(weighted, (dim,)))
    if _representable(ignore_index, target):
        smooth = _masked(smooth, compare.ne(target, constant(target, ignore_index)))
    return elementwise.add(elementwise.scaled(loss, 1 - smoothing), elementwise.scaled(smooth, share)), w


# --------------------------------------------------------------------------------------------------- probabilities


def _weighted(name, loss, weight, reduction):
    return reduced(name, loss if weight is None else elementwise.mul(*promoted(loss, weight)), reduction)


def _equal_shapes(name, input, target):
    require_arrays(name, input=input, target=target)
    require(input.shape == target.shape, name, f"input and target must have one shape, got {shown(input, target)}", ValueError)
    return pair(name, input, target)


def _bce_reference(x, y, weight=None, reduction="mean"):
    with np.errstate(divide="ignore"):
        loss = -(y * np.maximum(np.log(x), -100) + (1 - y) * np.maximum(np.log1p(-x), -100))
    return reduced_reference(loss if weight is None else loss * weight, reduction)


@composite(namespace=_F, reference=_bce_reference)
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean") -> Tensor:
    """-(target log(input) + (1 - target) log(1 - input)), for probabilities input; logarithms are at least -100, as in PyTorch.

    `binary_cross_entropy_with_logits` is accurate where probabilities are near 0 or 1. RuntimeError for an input that is not between
    0 and 1 (unchecked under jit).
    """
    x, y = _equal_shapes("binary_cross_entropy", input, target)
    inside = bits.bitwise_and(compare.ge(x, constant(x, 0)), compare.le(x, constant(x, 1)))
    x = checks.expect(x, inside, "RuntimeError", "binary_cross_entropy: all elements of input should be between 0 and 1")
    one, floor = constant(x, 1), constant(x, -100)
    yes = elementwise.mul(y, compare.maximum(elementwise.log(x), floor))
    no = elementwise.mul(elementwise.sub(one, y), compare.maximum(elementwise.log1p(elementwise.neg(x)), floor))
    return _weighted("binary_cross_entropy", elementwise.neg(elementwise.add(yes, no)), weight, reduction)


def softplus_of_minus(x):
    """log(1 + exp(-x)) without overflow: max(-x, 0) + log1p(exp(-|x|))."""
    tail = elementwise.log1p(elementwise.exp(elementwise.neg(elementwise.abs(x))))
    return elementwise.add(compare.maximum(elementwise.neg(x), algebra.zeros(x.aval)), tail)


def _bce_logits_reference(x, y, weight=None, reduction="mean", pos_weight=None):
    p = 1.0 if pos_weight is None else pos_weight
    loss = p * y * np.logaddexp(0, -x) + (1 - y) * np.logaddexp(0, x)
    return reduced_reference((loss if weight is None else loss * weight).astype(x.dtype), reduction)


@composite(namespace=_F, reference=_bce_logits_reference)
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean", pos_weight: Tensor | None = None
) -> Tensor:
    """`binary_cross_entropy` of sigmoid(input), computed from the logits: (1 - t) x + (1 + (pos_weight - 1) t) log(1 + exp(-x)).

    ``pos_weight`` scales the loss of positive targets, ``weight`` that of each element; both broadcast.
    """
    x, y = _equal_shapes("binary_cross_entropy_with_logits", input, target)
    one = constant(x, 1)
    tail = softplus_of_minus(x)
    if pos_weight is not None:
        p, _ = promoted(pos_weight, x, dtype=x.dtype)
        tail = elementwise.mul(tail, elementwise.add(one, elementwise.mul(elementwise.sub(p, one), y)))
    loss = elementwise.add(elementwise.mul(elementwise.sub(one, y), x), tail)
    return _weighted("binary_cross_entropy_with_logits", loss, weight, reduction)


def _kl_reference(x, y, reduction="mean", log_target=False):
    from scipy.special import xlogy

    loss = np.exp(y) * (y - x) if log_target else xlogy(y, y) - y * x
    return loss.sum() / (len(x) if x.ndim else 1) if reduction == "batchmean" else reduced_reference(loss, reduction)


@composite(namespace=_F, reference=_kl_reference)
def kl_div(input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """The Kullback-Leibler divergence target (log(target) - input), for log-probabilities input; with log_target target is one too.

    A target of 0 counts nothing. 'mean' divides by all elements; 'batchmean' by the first dimension, which is the divergence's mean.
    """
    x, y = pair("kl_div", input, target)
    if log_target:
        loss = elementwise.mul(elementwise.exp(y), elementwise.sub(y, x))
    else:
        nothing = compare.eq(y, algebra.zeros(y.aval))
        entropy = elementwise.mul(y, elementwise.log(compare.select(nothing, constant(y, 1), y)))
        loss = elementwise.sub(entropy, elementwise.mul(y, x))
    if reduction == "batchmean":
        return elementwise.scaled(reduced("kl_div", loss, "sum"), 1 / max(x.shape[0], 1) if x.ndim else 1.0)
    return reduced("kl_div", loss, reduction)

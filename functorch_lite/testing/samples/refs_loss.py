"""Samples of losses: every reduction, classes as indices and as probabilities, weights, ignored targets."""

from __future__ import annotations

import numpy as np

from ...core.dtype import int64
from ...refs import likelihoods, loss, margins
from ..table import Sample, array, row

REDUCTIONS = ("none", "mean", "sum")


def pairs(low=-2.0, high=2.0, low2=None, high2=None, **statics):
    """Samples (input, target), with every reduction."""

    def sampler(rng, dtype):
        low_2, high_2 = (low, high) if low2 is None else (low2, high2)
        for shape, reduction in zip(((2, 3), (2, 3), (3,)), REDUCTIONS):
            yield Sample(array(rng, shape, dtype, low, high), array(rng, shape, dtype, low_2, high_2), reduction=reduction, **statics)

    return sampler


def both(*samplers):
    return lambda rng, dtype: [s for sampler in samplers for s in sampler(rng, dtype)]


row(loss.mse_loss, pairs())
row(loss.l1_loss, pairs(low2=3, high2=4))
row(loss.smooth_l1_loss, both(pairs(), pairs(beta=0.5), pairs(low2=3, high2=4, beta=0.0)))
row(loss.huber_loss, both(pairs(), pairs(delta=0.5)))


def certain(rng, dtype):
    """Probabilities of 0 and 1."""
    yield Sample(np.array([0, 1], dtype.dtype), np.array([1, 1], dtype.dtype), differentiable=False)


def impossible(rng, dtype):
    """Targets of probability 0."""
    target = np.array([[0, 1, 0], [0.5, 0.5, 0]], dtype.dtype)
    yield Sample(array(rng, (2, 3), dtype), target, reduction="batchmean", differentiable=False)


row(loss.binary_cross_entropy, both(pairs(0.1, 0.9), certain))
row(loss.kl_div, both(pairs(-2, 0, 0.1, 1), pairs(-2, 0, -2, 0, log_target=True), impossible))


def logits(rng, dtype):
    x, y = array(rng, (2, 3), dtype), array(rng, (2, 3), dtype, 0, 1)
    yield from pairs(-3, 3, 0, 1)(rng, dtype)
    yield Sample(x, y, array(rng, (3,), dtype, 0.5, 2), pos_weight=array(rng, (3,), dtype, 0.5, 2))
    yield Sample(x * 50, y, reduction="sum")


row(loss.binary_cross_entropy_with_logits, logits)


def classes(**statics):
    """Samples (input, class indices) of every rank."""

    def sampler(rng, dtype):
        for shape, target, reduction in (((4, 3), (4,), "mean"), ((3,), (), "none"), ((2, 3, 2), (2, 2), "sum")):
            yield Sample(array(rng, shape, dtype), array(rng, target, int64, 0, 2), reduction=reduction, **statics)

    return sampler


def ignoring(**statics):
    """Of four targets the second is ignored."""

    def sampler(rng, dtype):
        x, weight = array(rng, (4, 3), dtype), array(rng, (3,), dtype, 0.5, 2)
        return [Sample(x, np.array([0, -100, 2, 1]), weight, reduction=r, **statics) for r in REDUCTIONS]

    return sampler


def probabilities(rng, dtype):
    for smoothing in (0.0, 0.2):
        for reduction in REDUCTIONS:
            x, y = array(rng, (2, 3), dtype), array(rng, (2, 3), dtype, 0, 1)
            yield Sample(x, y, array(rng, (3,), dtype, 0.5, 2), reduction=reduction, label_smoothing=smoothing)


row(loss.nll_loss, both(classes(), ignoring()))
row(loss.cross_entropy, both(classes(), ignoring(), classes(label_smoothing=0.1), ignoring(label_smoothing=0.1), probabilities))
row(
    loss.pick,
    lambda rng, dtype: [
        Sample(array(rng, (2, 3), dtype), array(rng, (2,), int64, 0, 2)),
        Sample(array(rng, (3,), dtype), np.asarray(1), 0),
    ],
)

# --------------------------------------------------------------------------------------------------------- the others


def distances(rng, dtype):
    yield Sample(array(rng, (2, 3), dtype), array(rng, (2, 3), dtype))
    yield Sample(array(rng, (2, 3), dtype), array(rng, (1, 3), dtype))


row(margins.cosine_similarity, both(distances, lambda rng, dtype: [Sample(array(rng, (3,), dtype), array(rng, (3,), dtype), 0)]))
row(
    margins.pairwise_distance,
    both(distances, lambda rng, dtype: [Sample(array(rng, (3,), dtype), array(rng, (3,), dtype), 1.0, keepdim=True)]),
)


row(margins.cdist, both(distances, lambda rng, dtype: [Sample(array(rng, (2, 3, 2), dtype), array(rng, (1, 2, 2), dtype), 1.0)]))


def signed(arrays, shape, **statics):
    """Samples (arrays..., target of 1 and -1)."""

    def sampler(rng, dtype):
        for reduction in REDUCTIONS:
            target = np.where(np.arange(shape[0]) % 2, 1, -1).astype(dtype.dtype)
            yield Sample(*[array(rng, shape, dtype) for _ in range(arrays)], target, reduction=reduction, **statics)

    return sampler


def holding_target(function, sampler, at):
    """The target is no variable: its derivative is of no use, and where it is not 1 or -1 the function jumps."""

    def held(rng, dtype):
        for s in sampler(rng, dtype):
            yield Sample(*s.args, held=(at,), **s.kwargs)

    row(function, held)


holding_target(margins.cosine_embedding_loss, signed(2, (4, 3), margin=0.1), 2)
holding_target(margins.hinge_embedding_loss, signed(1, (4,)), 1)
row(margins.margin_ranking_loss, signed(2, (4,), margin=0.1))
row(margins.soft_margin_loss, signed(1, (4,)))
row(margins.multilabel_soft_margin_loss, pairs(-2, 2, 0, 1))


def multi_margins(rng, dtype):
    for p, reduction in ((1, "mean"), (2, "none")):
        yield Sample(array(rng, (4, 3), dtype), array(rng, (4,), int64, 0, 2), p, 0.5, array(rng, (3,), dtype, 0.5, 2), reduction=reduction)
    yield Sample(array(rng, (3,), dtype), np.asarray(1))


row(margins.multi_margin_loss, multi_margins)


def multilabel_margins(rng, dtype):
    for reduction in REDUCTIONS:
        yield Sample(array(rng, (2, 4), dtype), np.array([[1, 3, -1, 0], [2, 2, 0, -1]]), reduction)
    yield Sample(array(rng, (3,), dtype), np.array([0, -1, 2]))
    yield Sample(array(rng, (), dtype), np.asarray(0))


row(margins.multilabel_margin_loss, multilabel_margins)


def triplets(rng, dtype):
    for swap, reduction in ((False, "mean"), (True, "none")):
        yield Sample(*[array(rng, (2, 3), dtype) for _ in range(3)], swap=swap, reduction=reduction, margin=5.0)


row(margins.triplet_margin_loss, triplets)


def distances_of_triplets(rng, dtype):
    near, far, other = (array(rng, (4,), dtype, 0, 2) for _ in range(3))
    return [Sample(near, far, None, 5.0, "mean"), Sample(near, far, other, 5.0, "none")]


def _triplet_reference(near, far, other, margin, reduction):
    loss = np.maximum(near - (far if other is None else np.minimum(far, other)) + margin, 0)
    return loss.mean().astype(loss.dtype) if reduction == "mean" else loss


row(margins._of_distances, distances_of_triplets, reference=_triplet_reference)
row(likelihoods.poisson_nll_loss, both(pairs(0.5, 2, 2, 5), pairs(0.5, 2, 2, 5, log_input=False, full=True)))


def gaussians(rng, dtype):
    for full, reduction, shape in ((False, "mean", (2, 3)), (True, "none", (2,))):
        yield Sample(array(rng, (2, 3), dtype), array(rng, (2, 3), dtype), array(rng, shape, dtype, 0.5, 2), full=full, reduction=reduction)


row(likelihoods.gaussian_nll_loss, gaussians)

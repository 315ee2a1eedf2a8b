"""Losses as modules: the functions of `functional`, with their settings."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from ...core.array import Array
from .. import functional as F
from ..tensor import Tensor
from .distance import PairwiseDistance
from .layer import Layer, layer


class _Loss(Layer):
    """`reduction` is 'mean', 'sum' or 'none'; size_average and reduce are its old names, which warn."""

    _buffered = ("weight", "pos_weight")

    def _ready(self) -> None:
        size_average, reduce = (self.__dict__.pop(name, None) for name in ("size_average", "reduce"))
        if size_average is not None or reduce is not None:
            self.reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
            warnings.warn(
                f"{type(self).__name__}: size_average and reduce are deprecated; write reduction={self.reduction!r}", stacklevel=3
            )


@layer()
class _Plain(_Loss):
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


@layer()
class _Weighted(_Loss):
    weight: Tensor | None = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


@layer()
class _Margin(_Loss):
    margin: float = 0.0
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


@layer(F.l1_loss)
class L1Loss(_Plain):
    """|input - target|."""


@layer(F.mse_loss)
class MSELoss(_Plain):
    """(input - target)^2.

    >>> import functorch_lite as fl
    >>> fl.nn.MSELoss(reduction="sum")(fl.asarray([1.0, 2.0]), fl.asarray([0.0, 0.0])).item()
    5.0
    """


@layer(F.smooth_l1_loss)
class SmoothL1Loss(_Plain):
    """(d^2 / 2) / beta where d = |input - target| < beta, else d - beta / 2."""

    beta: float = 1.0


@layer(F.huber_loss)
class HuberLoss(_Loss):
    """d^2 / 2 where d = |input - target| < delta, else delta (d - delta / 2)."""

    reduction: str = "mean"
    delta: float = 1.0


# ---------------------------------------------------------------------------------------------------- of probabilities


@layer(F.cross_entropy)
class CrossEntropyLoss(_Loss):
    """The cross entropy of log_softmax(input) with target: class indices or probabilities. See `functional.cross_entropy`.

    >>> import functorch_lite as fl
    >>> round(fl.nn.CrossEntropyLoss()(fl.asarray([[0.0, 0.0]]), fl.asarray([1])).item(), 3)
    0.693
    """

    weight: Tensor | None = None
    size_average: bool | None = None
    ignore_index: int = -100
    reduce: bool | None = None
    reduction: str = "mean"
    label_smoothing: float = 0.0


@layer(F.nll_loss)
class NLLLoss(_Loss):
    """-input at the target class, for log-probabilities input [N, C, *]. See `functional.nll_loss`."""

    weight: Tensor | None = None
    size_average: bool | None = None
    ignore_index: int = -100
    reduce: bool | None = None
    reduction: str = "mean"


@layer(F.binary_cross_entropy)
class BCELoss(_Weighted):
    """-(target log(input) + (1 - target) log(1 - input)), for probabilities input."""


@layer(F.binary_cross_entropy_with_logits)
class BCEWithLogitsLoss(_Weighted):
    """`BCELoss` of sigmoid(input), computed from the logits; `pos_weight` scales the loss of positive targets."""

    pos_weight: Tensor | None = None


@layer(F.kl_div)
class KLDivLoss(_Plain):
    """target (log(target) - input), for log-probabilities input; reduction='batchmean' divides by the batch only."""

    log_target: bool = False


@layer(F.poisson_nll_loss)
class PoissonNLLLoss(_Loss):
    """exp(input) - target input: the negative log-likelihood of Poisson counts whose log-rate is input."""

    log_input: bool = True
    full: bool = False
    size_average: bool | None = None
    eps: float = 1e-8
    reduce: bool | None = None
    reduction: str = "mean"


class GaussianNLLLoss(_Loss):
    """(log(var) + (input - target)^2 / var) / 2: the negative log-likelihood of normal targets, called with (input, target, var)."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__()
        self.full, self.eps, self.reduction = full, eps, reduction

    def forward(self, input: Tensor | Array, target: Tensor | Array, var: Tensor | Array | float) -> Tensor | Array:
        """See the class."""
        return F.gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)


# --------------------------------------------------------------------------------------------------------- by margins


@layer(F.hinge_embedding_loss)
class HingeEmbeddingLoss(_Margin):
    """input where target is 1, max(0, margin - input) where it is -1."""

    margin: float = 1.0


@layer(F.soft_margin_loss)
class SoftMarginLoss(_Plain):
    """log(1 + exp(-target input)), for targets 1 and -1."""


@layer(F.margin_ranking_loss)
class MarginRankingLoss(_Margin):
    """max(0, -target (input1 - input2) + margin)."""


@layer(F.cosine_embedding_loss)
class CosineEmbeddingLoss(_Margin):
    """1 - cos(input1, input2) where target is 1, max(0, cos - margin) where it is -1."""


@layer(F.multi_margin_loss)
class MultiMarginLoss(_Loss):
    """The mean over classes of max(0, margin - input[target] + input)^p."""

    p: int = 1
    margin: float = 1.0
    weight: Tensor | None = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


@layer(F.multilabel_margin_loss)
class MultiLabelMarginLoss(_Plain):
    """The sum over pairs of a class that target names and one that it does not of max(0, 1 - input[named] + input[other])."""


@layer(F.multilabel_soft_margin_loss)
class MultiLabelSoftMarginLoss(_Weighted):
    """The mean over classes of the binary cross entropy of each, from logits."""


@layer(F.triplet_margin_loss)
class TripletMarginLoss(_Loss):
    """max(0, |anchor - positive| - |anchor - negative| + margin), distances being p-norms."""

    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with a distance of one's own."""

    def __init__(
        self, *, distance_function: Callable | None = None, margin: float = 1.0, swap: bool = False, reduction: str = "mean"
    ) -> None:
        super().__init__()
        if margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: margin must be greater than 0, got {margin}")
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap, self.reduction = margin, swap, reduction

    def forward(self, anchor: Tensor | Array, positive: Tensor | Array, negative: Tensor | Array) -> Tensor | Array:
        """See the class."""
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


# -------------------------------------------------------------------------------------------------------- of sequences


@layer(F.ctc_loss)
class CTCLoss(_Loss):
    """-log of the probability of all alignments of targets to log_probs, called with (log_probs, targets, input_lengths, target_lengths).

    See `functional.ctc_loss`.
    """

    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False

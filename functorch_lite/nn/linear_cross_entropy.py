"""`linear_cross_entropy` a few rows at a time: the logits of all of them, [N, C], never exist at once, forward or backward."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from ..core.op import Tensor, composite
from ..prims import create, elementwise, index, shape
from ..refs.arguments import require_arrays
from ..refs.linear_loss import linear_cross_entropy as whole
from ..refs.loss import total_of
from ..refs.promotion import to_dtype
from ..transforms.checkpoint import checkpoint
from ..transforms.control_flow import scan

_POLICIES = "auto", "accurate", "balanced", "compact"


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How `linear_cross_entropy` goes through its rows: ``batch_chunk_size`` at a time, or as many as ``chunking_method`` says.

    The methods are PyTorch's: 'aspect_ratio' takes as many rows as make their logits as large as the input, 'aspect_ratio:n' an n-th of
    them, 'auto' means 'aspect_ratio:2'. Sums are kept in float32 in any case, and gradients may be taken again, so that the other
    settings, which are checked, change nothing. ValueError for settings that do not exist.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"LinearCrossEntropyOptions: acc_policy must be one of {', '.join(_POLICIES)}, got {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto"):
            name, _, factor = self.chunking_method.partition(":")
            if name != "aspect_ratio" or not (factor or "1").isdigit() or int(factor or 1) < 1:
                raise ValueError(f"LinearCrossEntropyOptions: unknown chunking_method {self.chunking_method!r}")
        n = self.batch_chunk_size
        if n is not None and (n.__class__ is not int or n < 1):
            raise ValueError(f"LinearCrossEntropyOptions: batch_chunk_size must be a positive int or None, got {n!r}")

    def rows(self, batch: int, features: int, classes: int) -> int:
        """How many rows to take at a time."""
        method = self.chunking_method
        if method == "auto":
            method = "aspect_ratio:2" if self.batch_chunk_size is None else None
        size = batch if self.batch_chunk_size is None else min(self.batch_chunk_size, batch)
        if method is not None:
            target = -(-batch // max(-(-classes // max(features, 1)), 1))
            by_method = min((1 << (target - 1).bit_length()) // int(method.partition(":")[2] or 1), batch) if target else 1
            if self.batch_chunk_size is not None and by_method != size:
                raise ValueError(
                    f"LinearCrossEntropyOptions: batch_chunk_size={size} and {method!r}, which gives {by_method}, exclude each other"
                )
            size = by_method
        return max(size, 1)


@composite(namespace="fl.nn.functional")
def linear_cross_entropy_rows(
    input: Tensor, linear_weight: Tensor, target: Tensor, linear_bias: Tensor | None, weight: Tensor | None, ignore_index: int, rows: int
) -> Tensor:
    """The loss of each row of input [N, in], `rows` of them at a time: a loop, whose logits are computed again on the way back."""
    n = input.shape[0]
    steps = -(-n // rows)
    missing = steps * rows - n
    if missing:
        input, target = (_longer(x, missing) for x in (input, target))
    parts = tuple([shape.reshape(x, (steps, rows, *x.shape[1:])) for x in (input, target)])

    @checkpoint
    def some(x, y, *given):
        w, *given = given
        b = given.pop(0) if linear_bias is not None else None
        c = given.pop(0) if weight is not None else None
        return whole(x, w, y, linear_bias=b, weight=c, reduction="none", ignore_index=ignore_index)

    given = [x for x in (linear_weight, linear_bias, weight) if x is not None]
    _, loss = scan(lambda _, part: (None, some(*part, *given)), None, parts)
    return shape.part(shape.reshape(loss, (steps * rows,)), 0, 0, n)


def _longer(x, more):
    rest = (0,) * (x.ndim - 1)
    return shape.pad(x, create.full((), 0, x.dtype), (0, *rest), (more, *rest), (0, *rest))


@composite(namespace="fl.nn.functional")
def weighted_mean_of_rows(loss: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int) -> Tensor:
    """The sum of the losses over that of the weights of their targets, of which ignore_index has none."""
    keep = to_dtype(target.ne(ignore_index), loss.dtype)
    if weight is not None:
        keep = elementwise.mul(keep, index.gather(to_dtype(weight, loss.dtype), [target], (0,), (0,), mode="clip"))
    return to_dtype(elementwise.div(total_of(loss), total_of(keep)), loss.dtype)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    given = {"linear_bias": linear_bias, "weight": weight, "ignore_index": ignore_index}
    if options is None:
        return whole(input, linear_weight, target, reduction=reduction, label_smoothing=label_smoothing, **given)
    require_arrays("linear_cross_entropy", input=input, linear_weight=linear_weight, target=target)
    indices = not target.dtype.is_floating_point
    if not indices or label_smoothing or linear_weight.ndim != 2 or input.ndim not in (1, 2) or reduction not in ("none", "mean", "sum"):
        warnings.warn(
            "linear_cross_entropy: options are ignored; going by chunks needs class indices as target, label_smoothing=0, a matrix "
            f"linear_weight and reduction 'none', 'mean' or 'sum', got target {target.dtype}, {label_smoothing=}, linear_weight "
            f"{list(linear_weight.shape)}, {reduction=}",
            stacklevel=2,
        )
        return whole(input, linear_weight, target, reduction=reduction, label_smoothing=label_smoothing, **given)
    single = input.ndim == 1
    x, y = (input.unsqueeze(0), target.unsqueeze(0)) if single else (input, target)
    rows = options.rows(x.shape[0], x.shape[1], linear_weight.shape[0])
    if rows >= x.shape[0]:
        return whole(input, linear_weight, target, reduction=reduction, **given)
    ignored = -100 if ignore_index is None else ignore_index
    loss = linear_cross_entropy_rows(x, linear_weight, y, linear_bias, weight, ignored, rows)
    if reduction == "mean":
        return weighted_mean_of_rows(loss, y, weight, ignored)
    return loss.sum() if reduction == "sum" else loss


linear_cross_entropy.op = whole.op
linear_cross_entropy.__doc__ = (
    whole.__doc__
    + """
    With ``options`` rows are gone through a few at a time (a `LinearCrossEntropyOptions` says how many), which takes less memory; that is
    for class indices without label_smoothing and a matrix linear_weight, else options are ignored with a warning.
    """
)

"""Cross entropy of logits that are a linear function of the input."""

from __future__ import annotations

import numpy as np

from ..core.op import Tensor, composite
from ..prims import contract, elementwise, shape
from .arguments import require, require_one_dtype, shown
from .loss import cross_entropy

_F = "fl.nn.functional"


def _checked(name, input, linear_weight, target, linear_bias, ignore_index):
    """ignore_index, for arguments that fit."""
    require_one_dtype(name, input=input, linear_weight=linear_weight, linear_bias=linear_bias)
    require(input.ndim in (1, 2), name, f"expected input with dimensionality 1 or 2, got {shown(input)}")
    require(linear_weight.ndim >= 2, name, f"expected linear_weight with dimensionality at least 2, got {shown(linear_weight)}")
    ok = input.shape[-1] == linear_weight.shape[-1]
    require(ok, name, f"expected equal last dimensions (in_features) of input and linear_weight, got {shown(input, linear_weight)}")
    sizes = linear_weight.shape[:-1]
    ok = linear_bias is None or linear_bias.shape == sizes
    require(ok, name, f"expected linear_bias {list(sizes)} for linear_weight {shown(linear_weight)}, got {shown(linear_bias)}")
    ok = len(sizes) == 1 or input.ndim == 2
    require(ok, name, f"K-dimensional loss defined by linear_weight {shown(linear_weight)} requires batched input, got {shown(input)}")
    probabilities = target.shape == (*input.shape[:-1], *sizes)
    ok = not probabilities or ignore_index is None
    require(ok, name, f"ignore_index={ignore_index} cannot be specified when target {shown(target)} contains probabilities")
    return -100 if ignore_index is None else ignore_index


def _logits(input, linear_weight, linear_bias):
    last = input.ndim - 1
    out = contract.dot_general(input, linear_weight, ((last,), (linear_weight.ndim - 1,)), ((), ()))
    if linear_bias is None:
        return out
    return elementwise.add(out, shape.broadcast(linear_bias, out.shape, tuple(range(last, out.ndim))))


def _reference(x, w, target, *, linear_bias=None, weight=None, reduction="mean", ignore_index=None, label_smoothing=0.0):
    logits = np.tensordot(x, w, (-1, -1)) + (0 if linear_bias is None else linear_bias)
    return cross_entropy.op.reference(logits, target, weight, -100 if ignore_index is None else ignore_index, reduction, label_smoothing)


@composite(namespace=_F, reference=_reference)
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
) -> Tensor:
    """`cross_entropy` of the logits input @ linear_weight^T + linear_bias with target.

    input is [in] or [N, in], linear_weight [C, in] or [C, d1, ..., in], for logits [C], [N, C] or [N, C, d1, ...]; target and the other
    arguments are those of `cross_entropy`, but ignore_index is for class indices only. RuntimeError for shapes that do not fit.

    >>> import functorch_lite as fl
    >>> x, w = fl.asarray([[1.0, 0.0]]), fl.zeros(2, 2)
    >>> round(fl.nn.functional.linear_cross_entropy(x, w, fl.asarray([1])).item(), 4)
    0.6931
    """
    ignore_index = _checked("linear_cross_entropy", input, linear_weight, target, linear_bias, ignore_index)
    return cross_entropy(_logits(input, linear_weight, linear_bias), target, weight, ignore_index, reduction, label_smoothing)

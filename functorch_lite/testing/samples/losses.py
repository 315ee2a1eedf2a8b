"""Samples of losses that are loops: of sequences of labels, of logits a few rows at a time."""

from __future__ import annotations

import numpy as np

from ...core.dtype import int64
from ...nn import ctc, linear_cross_entropy
from ...refs import linear_loss
from ..table import Sample, array, row


def three(rng, dtype):
    x, y, z = (array(rng, (2, 3), dtype) for _ in range(3))
    yield Sample(x, y, z)
    x, y, z = x.copy(), y.copy(), z.copy()
    x[0, 0] = y[0] = z[0, :2] = -np.inf
    yield Sample(x, y, z, differentiable=False)


row(ctc.log_sum_of_three, three)


def alignments(rng, dtype):
    """Of three sequences the last cannot be aligned: its loss is infinite, or 0."""
    x = array(rng, (4, 3, 4), dtype)
    lengths = np.array([4, 3, 2]), np.array([2, 0, 2])
    rows = np.array([[1, 3], [2, 2], [1, 1]])
    for reduction, targets, infinite in (("none", rows, False), ("mean", rows, True), ("sum", np.array([1, 3, 1, 1]), True)):
        yield Sample(x, targets, *lengths, 0, reduction, infinite, 2, differentiable=infinite)
    yield Sample(x, rows % 3, np.array([4, 4, 4]), np.array([2, 1, 2]), 3, "sum", False, 2)


LOGITS = "its derivative is that of log_softmax too, by PyTorch's definition: tests/refs/test_nn.py compares that"
row(ctc._ctc_loss, alignments, tolerance=10, skip={"jvp": LOGITS})


def logits(rng, dtype):
    x, w, b = array(rng, (5, 3), dtype), array(rng, (4, 3), dtype), array(rng, (4,), dtype)
    y, weight = array(rng, (5,), int64, 0, 3), array(rng, (4,), dtype, 0.5, 2)
    yield Sample(x, w, y)
    yield Sample(x, w, y, linear_bias=b, weight=weight, reduction="sum", ignore_index=1)
    yield Sample(x[0], w, np.asarray(y[0]), reduction="none", label_smoothing=0.1)
    yield Sample(x, w, array(rng, (5, 4), dtype, 0, 1), linear_bias=b)
    yield Sample(x, array(rng, (4, 2, 3), dtype), array(rng, (5, 2), int64, 0, 3), linear_bias=array(rng, (4, 2), dtype))


row(linear_loss.linear_cross_entropy, logits, tolerance=4)


def rows_of_logits(rng, dtype):
    x, w, b = array(rng, (5, 3), dtype), array(rng, (4, 3), dtype), array(rng, (4,), dtype)
    y, weight = array(rng, (5,), int64, 0, 3), array(rng, (4,), dtype, 0.5, 2)
    yield Sample(x, w, y, None, None, -100, 2)
    yield Sample(x, w, y, b, weight, 1, 3)


def _rows_reference(x, w, y, b, weight, ignore_index, rows):
    return linear_loss.linear_cross_entropy.op.reference(x, w, y, linear_bias=b, weight=weight, reduction="none", ignore_index=ignore_index)


row(linear_cross_entropy.linear_cross_entropy_rows, rows_of_logits, tolerance=4, reference=_rows_reference)


def means(rng, dtype):
    y = np.array([0, 1, 3, 1])
    yield Sample(array(rng, (4,), dtype), y, None, 1)
    yield Sample(array(rng, (4,), dtype), y, array(rng, (4,), dtype, 0.5, 2), -100)


def _mean_reference(x, y, weight, ignore_index):
    w = (y != ignore_index) * (1 if weight is None else weight[y])
    return (x.sum() / w.sum()).astype(x.dtype)


row(linear_cross_entropy.weighted_mean_of_rows, means, reference=_mean_reference)

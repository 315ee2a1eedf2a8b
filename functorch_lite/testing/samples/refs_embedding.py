"""Samples of lookups: embeddings with all that changes them, bags, classes as rows; and of attention between projections."""

from __future__ import annotations

import numpy as np

from ...core.dtype import int32, int64
from ...refs import attention, embedding
from ..table import INEXACT, Sample, array, row


def embeddings(rng, dtype):
    for size in ((3,), (2, 2), (), (0,)):
        yield Sample(array(rng, size, int64, 0, 3), array(rng, (4, 2), dtype))
    yield Sample(array(rng, (3,), int32, 0, 3), array(rng, (4, 2), dtype), padding_idx=-1, differentiable=False)


def renormed(rng, dtype):
    """A gradient that does not see the norm, or is scaled, is no derivative."""
    index, weight = array(rng, (2, 3), int64, 0, 3), array(rng, (4, 2), dtype)
    yield Sample(index, weight, max_norm=1.0, differentiable=False)
    yield Sample(index, weight, max_norm=0.5, norm_type=1.0, scale_grad_by_freq=True, differentiable=False)


row(embedding.embedding, embeddings, INEXACT)
row(embedding.embedding, renormed)
row(embedding._one_hot, lambda rng, dtype: [Sample(array(rng, s, dtype, 0, 3), 4) for s in ((3,), (2, 2), (), (0,))], (int32, int64))


def bags(rng, dtype):
    weight, offsets = array(rng, (4, 2), dtype), np.array([0, 3, 3])
    for mode in ("sum", "mean", "max"):
        yield Sample(rng.permutation(4)[None, :3].repeat(2, 0), weight, mode=mode)
        yield Sample(rng.permutation(4), weight, offsets, mode=mode)
        yield Sample(rng.permutation(4), weight, offsets, mode=mode, include_last_offset=True)
        yield Sample(rng.permutation(4), weight, offsets, mode=mode, padding_idx=-2, differentiable=False)
        yield Sample(np.array([[1, 2], [1, 1]]), weight, mode=mode, padding_idx=1, differentiable=False)
    index = array(rng, (4,), int64, 0, 3)
    yield Sample(index, weight, offsets, mode="sum", per_sample_weights=array(rng, (4,), dtype))
    yield Sample(index, weight, offsets, max_norm=1.0, mode="sum", differentiable=False)
    yield Sample(index, weight, offsets, scale_grad_by_freq=True, differentiable=False)


row(embedding.embedding_bag, bags)


def heads(rng, dtype):
    def given(*shapes):
        return [None if s is None else array(rng, s, dtype) for s in shapes]

    q, k, v = given((2, 2, 4), (3, 2, 4), (3, 2, 4))
    inner, outer, more = given((12, 4), (12,)), given((4, 4), (4,)), given((4,), (1, 1, 4))
    yield Sample(q, k, v, 4, 2, *inner, None, None, False, 0.0, *outer)
    yield Sample(q, k, v, 4, 1, *inner, *more, False, 0.0, *outer, average_attn_weights=False)
    mask = np.array([[False, True, False], [False, False, True]])
    yield Sample(q, k, v, 4, 2, *inner, None, None, False, 0.5, *outer, training=False, need_weights=False, attn_mask=mask)
    yield Sample(q, k, v, 4, 2, *inner, *more, False, 0.0, *outer, attn_mask=array(rng, (2, 3), dtype))


row(attention._multi_head_attention, heads, tolerance=10)

"""Kernels that jax offers for whole composites, by platform: the trait ``kernels`` of an op names one, and the lowering asks it first.

A kernel gets jax values and the op's static parameters, and gives the result, or None for a call that it does not do: that call is
lowered by the op's decomposition, as everywhere else.
"""

from __future__ import annotations

import functools

import jax
import ml_dtypes
import numpy as np

_HALF = (np.dtype(ml_dtypes.bfloat16), np.dtype(np.float16))
_WIDEST_HEAD = 128  # what cuDNN's flash attention takes on every device that has it


def flash_attention(query, key, value, attn_mask, dropout_key, dropout_p, is_causal, scale, enable_gqa):
    """cuDNN's flash attention, through `jax.nn.dot_product_attention`: [batch, heads, length, width] of a half type, without a mask
    of the user's and without dropout."""
    shapes = [x.shape for x in (query, key, value)]
    plain = attn_mask is None and dropout_p == 0 and all(len(s) == 4 for s in shapes) and shapes[0][0] == shapes[1][0] == shapes[2][0]
    heads = shapes[0][1] == shapes[1][1] == shapes[2][1] or enable_gqa
    width = shapes[0][-1]
    fits = plain and heads and shapes[2][-1] == width and width % 8 == 0 and width <= _WIDEST_HEAD
    if not (fits and query.dtype in _HALF and _has_cudnn()):
        return None
    q, k, v = (jax.lax.transpose(x, (0, 2, 1, 3)) for x in (query, key, value))
    out = jax.nn.dot_product_attention(q, k, v, is_causal=is_causal, scale=scale, implementation="cudnn")
    return jax.lax.transpose(out, (0, 2, 1, 3))


@functools.cache
def _has_cudnn() -> bool:
    """Whether jax finds a cuDNN with the kernel: it says so when a call is traced."""
    x = jax.ShapeDtypeStruct((1, 8, 1, 8), ml_dtypes.bfloat16)
    try:
        jax.eval_shape(lambda q: jax.nn.dot_product_attention(q, q, q, implementation="cudnn"), x)
    except (RuntimeError, NotImplementedError):
        return False
    return True

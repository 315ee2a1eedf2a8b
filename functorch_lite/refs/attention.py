"""Attention: of queries to keys and values, and with the projections of several heads around it."""

from __future__ import annotations

import inspect
import math

import numpy as np

from ..core.dtype import BOOL, int32
from ..core.op import Tensor, composite
from ..prims import algebra, compare, contract, create, elementwise, kernels, reduce, shape
from .arguments import require, require_arrays, require_floating, require_one_dtype, shown
from .contract import linear
from .dropout import dropout
from .promotion import broadcast_shapes, expand_to, to_dtype
from .softmaxes import safe_softmax, softmax

_F = "fl.nn.functional"

# -------------------------------------------------------------------------------------------------------- attention


def _causal(rows: int, columns: int):
    """Whether column <= row: a query sees no later key."""
    whole = (rows, columns)
    return compare.le(create.iota(whole, 1, int32), create.iota(whole, 0, int32))


def _masked(scores, mask):
    """Scores with -inf where a bool mask is False, or plus a float mask."""
    if mask.dtype.category == BOOL:
        return compare.select(expand_to(mask, scores.shape), scores, algebra.full_like(scores, -math.inf))
    return elementwise.add(scores, expand_to(to_dtype(mask, scores.dtype), scores.shape))


def _attention_reference(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False, dropout_key=None):
    from scipy.special import softmax

    if enable_gqa:
        key, value = (np.repeat(x, query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = np.einsum("...ie,...je->...ij", query, key) * scale
    if is_causal:
        attn_mask = np.tril(np.ones(scores.shape[-2:], bool))
    if attn_mask is not None:
        scores = np.where(attn_mask, scores, -np.inf) if attn_mask.dtype == bool else scores + attn_mask
    with np.errstate(invalid="ignore"):
        return (np.nan_to_num(softmax(scores, -1)) @ value).astype(query.dtype)


@composite(
    namespace=_F,
    reference=_attention_reference,
    traits={"key": "dropout_key", "drawing": lambda dropout_p, *rest: dropout_p > 0, "kernels": {"gpu": kernels.flash_attention}},
)
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    dropout_key: Tensor | None = None,
) -> Tensor:
    """softmax(query key^T * scale + mask) value (Vaswani et al., 2017), for query [..., L, E], key [..., S, E], value [..., S, D].

    scale is 1 / sqrt(E) unless given. ``attn_mask`` broadcasts to [..., L, S]: bool, where False hides a key, or float, added to
    the scores; a query from which all keys are hidden gives 0. ``is_causal`` hides the keys behind a query's own position.
    ``enable_gqa`` lets each head of key and value serve several of query (dimension -3). dropout_p > 0 needs ``dropout_key``.

    >>> import functorch_lite as fl
    >>> q = fl.ones(1, 2, 4)
    >>> fl.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).shape
    (1, 2, 4)
    """
    name = "scaled_dot_product_attention"
    require_one_dtype(name, query=query, key=key, value=value)
    require_floating(name, query, "query")
    require(not (is_causal and attn_mask is not None), name, "attn_mask and is_causal=True exclude each other")
    ok = min(query.ndim, key.ndim, value.ndim) >= 2 and query.shape[-1] == key.shape[-1] and key.shape[-2] == value.shape[-2]
    require(ok, name, f"expected query [..., L, E], key [..., S, E] and value [..., S, D], got {shown(query, key, value)}")
    if enable_gqa:
        key, value = (_repeated_heads(name, x, query) for x in (key, value))
    lead = broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    q, k, v = (expand_to(x, (*lead, *x.shape[-2:])) for x in (query, key, value))
    n = len(lead)
    batch = tuple(range(n))
    q = elementwise.scaled(q, 1 / math.sqrt(max(query.shape[-1], 1)) if scale is None else scale)
    scores = contract.dot_general(q, k, ((n + 1,), (n + 1,)), (batch, batch))
    if is_causal:
        scores = _masked(scores, _causal(*scores.shape[-2:]))
    if attn_mask is not None:
        require_arrays(name, attn_mask=attn_mask)
        fits = broadcast_shapes(attn_mask.shape, scores.shape) == scores.shape
        require(fits, name, f"attn_mask {attn_mask.aval} does not broadcast to the scores' shape {list(scores.shape)}")
        scores = _masked(scores, attn_mask)
    weights = softmax(scores, -1) if attn_mask is None else safe_softmax(scores, -1)
    if dropout_p > 0:
        require(dropout_key is not None, name, "dropout_p > 0 needs dropout_key=, a key from fl.random.key", TypeError)
        weights = dropout(weights, dropout_p, key=dropout_key)
    return contract.dot_general(weights, v, ((n + 1,), (n,)), (batch, batch))


def _repeated_heads(name, x, query):
    """x [..., H, S, E] with each head repeated so that there are as many as in query."""
    ok = x.ndim >= 3 and query.ndim >= 3 and query.shape[-3] % x.shape[-3] == 0
    require(ok, name, f"with enable_gqa the heads of query must be a multiple of those of key and value, got {shown(query, x)}")
    times = query.shape[-3] // x.shape[-3]
    at = x.ndim - 2
    wide = algebra.expand(x, times, at)
    return shape.reshape(wide, (*x.shape[: at - 1], query.shape[-3], *x.shape[at:]))


# ------------------------------------------------------------------------------------------------------- several heads


def _require_heads(name, query, key, value, key_padding_mask, attn_mask, num_heads):
    """Raises for ranks that do not fit one another, as PyTorch does; whether there is a batch."""
    n = query.ndim
    require(n in (2, 3), name, f"query should be unbatched 2D or batched 3D, got {shown(query)}", AssertionError)
    kind = "batched (3-D)" if n == 3 else "unbatched (2-D)"
    ok = key.ndim == value.ndim == n
    require(ok, name, f"for {kind} query expected key and value to be {n}-D, got {shown(query, key, value)}", AssertionError)
    ok = key_padding_mask is None or key_padding_mask.ndim == n - 1
    require(ok, name, f"for {kind} query expected key_padding_mask to be None or {n - 1}-D, got {shown(key_padding_mask)}", AssertionError)
    ok = attn_mask is None or attn_mask.ndim in (2, 3)
    require(ok, name, f"expected attn_mask to be None, 2-D or 3-D, got {shown(attn_mask)}", AssertionError)
    if n == 2 and attn_mask is not None and attn_mask.ndim == 3:
        expected = (num_heads, query.shape[0], key.shape[0])
        require(attn_mask.shape == expected, name, f"expected attn_mask shape to be {expected}, got {shown(attn_mask)}", AssertionError)
    return n == 3


def _hidden(name, mask, argument, dtype):
    """A mask as numbers to add: -inf where a bool one holds (PyTorch's masks here say what is hidden)."""
    if mask is None or mask.dtype.is_floating_point:
        return None if mask is None else to_dtype(mask, dtype)
    require(
        mask.dtype.category == BOOL, name, f"only bool and floating types of {argument} are supported, got {shown(mask)}", AssertionError
    )
    return compare.select(mask, create.full(mask.shape, -math.inf, dtype), create.full(mask.shape, 0, dtype))


def _projected(query, key, value, weights, biases):
    return [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases)]


def _thirds(x):
    if x is None:
        return [None] * 3
    n = x.shape[0] // 3
    return [shape.part(x, 0, i * n, (i + 1) * n) for i in range(3)]


def _longer(x, dim, row):
    """x with `row` behind it along dim."""
    return shape.concatenate([x, expand_to(row, (*x.shape[:dim], 1, *x.shape[dim + 1 :]))], dim)


def _multi_head_reference(query, key, value, embed_dim, heads, w, b, bias_k, bias_v, zero_attn, dropout_p, w_out, b_out, **rest):
    """One projection for all, batched, no dropout."""
    from scipy.special import softmax

    (wq, wk, wv), (bq, bk, bv) = np.split(w, 3), np.split(b, 3)
    q, k, v = query @ wq.T + bq, key @ wk.T + bk, value @ wv.T + bv
    if bias_k is not None:
        k, v = (np.concatenate([x, np.broadcast_to(y, (1, *x.shape[1:]))]) for x, y in ((k, bias_k), (v, bias_v)))
    q, k, v = (x.reshape(*x.shape[:2], heads, -1) for x in (q, k, v))
    scores = np.einsum("lbhd,sbhd->bhls", q, k) / math.sqrt(embed_dim // heads)
    mask = rest.get("attn_mask")
    if mask is not None:
        mask = np.where(mask, -np.inf, 0) if mask.dtype == bool else mask
        scores[..., : mask.shape[-1]] += mask
    attention = softmax(scores, -1)
    out = np.einsum("bhls,sbhd->lbhd", attention, v).reshape(query.shape) @ w_out.T + b_out
    if rest.get("need_weights", True):
        return out, attention.mean(1) if rest.get("average_attn_weights", True) else attention
    return (out,)


def _drops(embed_dim, num_heads, add_zero_attn, dropout_p, training, *rest):
    return training and dropout_p > 0


@composite(
    namespace=_F,
    name="multi_head_attention_forward",
    multi=True,
    reference=_multi_head_reference,
    traits={"key": "dropout_key", "drawing": _drops},
)
def _multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
    dropout_key: Tensor | None = None,
) -> tuple:
    """See the function of this name; without need_weights the output alone."""
    name = "multi_head_attention_forward"
    require_one_dtype(name, query=query, key=key, value=value)
    batched = _require_heads(name, query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = (shape.reshape(x, (x.shape[0], 1, x.shape[1])) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else shape.reshape(key_padding_mask, (1, *key_padding_mask.shape))
    length, batch, width = query.shape
    require(not is_causal or attn_mask is not None, name, "is_causal=True is a hint: it needs attn_mask too")
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        is_causal = False
    padding = _hidden(name, key_padding_mask, "key_padding_mask", query.dtype)
    mask = _hidden(name, attn_mask, "attn_mask", query.dtype)
    ok = width == embed_dim_to_check
    require(ok, name, f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}", AssertionError)
    head = width // num_heads
    require(head * num_heads == width, name, f"embed_dim {width} not divisible by num_heads={num_heads}", AssertionError)
    same = key.shape[:2] == value.shape[:2] if use_separate_proj_weight else key.shape == value.shape
    require(same, name, f"the shapes of key and value do not match: {shown(key, value)}", AssertionError)
    weights = [q_proj_weight, k_proj_weight, v_proj_weight] if use_separate_proj_weight else _thirds(in_proj_weight)
    ok = all(w is not None for w in weights)
    needed = "q_proj_weight, k_proj_weight and v_proj_weight" if use_separate_proj_weight else "in_proj_weight"
    require(ok, name, f"use_separate_proj_weight is {use_separate_proj_weight} but {needed} is None", AssertionError)
    if query is key is value and not use_separate_proj_weight:
        row = linear(query, in_proj_weight, in_proj_bias)
        q, k, v = (shape.part(row, 2, i * width, (i + 1) * width) for i in range(3))
    else:
        q, k, v = _projected(query, key, value, weights, _thirds(in_proj_bias))

    rows = batch * num_heads
    if mask is not None:
        expected = (length, key.shape[0]) if mask.ndim == 2 else (rows, length, key.shape[0])
        require(mask.shape == expected, name, f"the shape of the {mask.ndim}D attn_mask is {mask.aval}, but should be {list(expected)}")
        mask = shape.reshape(mask, (1, *mask.shape)) if mask.ndim == 2 else mask
    require((bias_k is None) == (bias_v is None), name, "bias_k and bias_v go together", AssertionError)
    more = 0
    if bias_k is not None:
        require(static_k is None and static_v is None, name, "bias cannot be added to static key and value", AssertionError)
        k, v = _longer(k, 0, bias_k), _longer(v, 0, bias_v)
        more += 1
    q = _by_head(q, rows, head)
    k = _by_head(k, rows, head) if static_k is None else _static(name, "static_k", static_k, rows, head)
    v = _by_head(v, rows, head) if static_v is None else _static(name, "static_v", static_v, rows, head)
    if add_zero_attn:
        nothing = create.full((1, 1, 1), 0, k.dtype)
        k, v = _longer(k, 1, nothing), _longer(v, 1, nothing)
        more += 1
    mask, padding = (_seeing(m, more) for m in (mask, padding))
    if padding is not None:
        expected = (batch, k.shape[1])
        require(padding.shape == expected, name, f"expected key_padding_mask [{batch}, {k.shape[1] - more}], got {shown(key_padding_mask)}",
                AssertionError)  # fmt: skip
        padding = shape.reshape(algebra.expand(padding, num_heads, 1), (rows, 1, k.shape[1]))
        mask = padding if mask is None else _sum_of(mask, padding)
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        scores = contract.dot_general(elementwise.scaled(q, math.sqrt(1 / head)), k, ((2,), (2,)), ((0,), (0,)))
        attention = softmax(scores if mask is None else elementwise.add(scores, expand_to(mask, scores.shape)), -1)
        if dropout_p > 0:
            attention = dropout(attention, dropout_p, key=dropout_key)
        out = contract.dot_general(attention, v, ((2,), (1,)), ((0,), (0,)))
    else:
        if mask is not None:
            lead = (batch, num_heads) if mask.shape[0] == rows else (1, 1)
            mask = shape.reshape(mask, (*lead, *mask.shape[1:]))
        q, k, v = (shape.reshape(x, (batch, num_heads, *x.shape[1:])) for x in (q, k, v))
        out = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal, dropout_key=dropout_key if dropout_p > 0 else None)
        out = shape.reshape(out, (rows, length, head))
    out = linear(shape.reshape(shape.permute(out, (1, 0, 2)), (length, batch, width)), out_proj_weight, out_proj_bias)
    out = out if batched else shape.reshape(out, (length, out.shape[2]))
    if not need_weights:
        return (out,)
    attention = shape.reshape(attention, (batch, num_heads, *attention.shape[1:]))
    if average_attn_weights:
        attention = elementwise.scaled(reduce.reduce_sum(attention, (1,)), 1 / num_heads)
    return out, attention if batched else shape.reshape(attention, attention.shape[1:])


def _by_head(x, rows, head):
    """x [length, batch, heads * head] as [batch * heads, length, head]."""
    return shape.permute(shape.reshape(x, (x.shape[0], rows, head)), (1, 0, 2))


def _static(name, argument, x, rows, head):
    ok = x.ndim == 3 and x.shape[0] == rows and x.shape[2] == head
    require(ok, name, f"expecting {argument} [{rows}, length, {head}], got {shown(x)}", AssertionError)
    return x


def _seeing(mask, more):
    """The mask for `more` further keys, which it does not hide."""
    if mask is None or more == 0:
        return mask
    n = mask.ndim - 1
    return shape.pad(mask, create.full((), 0, mask.dtype), (0,) * (n + 1), (*(0,) * n, more), (0,) * (n + 1))


def _sum_of(mask, padding):
    target = broadcast_shapes(mask.shape, padding.shape)
    return elementwise.add(expand_to(mask, target), expand_to(padding, target))


def multi_head_attention_forward(*args, **kwargs):
    out = _multi_head_attention(*args, **kwargs)
    return out if len(out) == 2 else (out[0], None)


multi_head_attention_forward.__signature__ = inspect.signature(_multi_head_attention.op.decompose)
multi_head_attention_forward.op = _multi_head_attention.op
multi_head_attention_forward.__doc__ = """Attention of several heads between projections (Vaswani et al., 2017): (output, weights).

query [L, N, E], key and value [S, N, E] (or all without the batch N) are projected by ``in_proj_weight`` [3 E, E] (or by three weights,
with use_separate_proj_weight), split into num_heads heads, and put together by ``out_proj_weight``. ``attn_mask`` ([L, S] or
[N num_heads, L, S]) and ``key_padding_mask`` [N, S] hide where a bool one holds; float ones are added to the scores. ``bias_k`` and
``bias_v`` are one more key and value, ``add_zero_attn`` adds one of zeros. ``is_causal`` says that attn_mask is causal. The weights,
[N, L, S] (of each head with average_attn_weights=False), are None unless need_weights. AssertionError for shapes that do not fit.

>>> import functorch_lite as fl
>>> x = fl.ones(3, 1, 2)
>>> out, weights = fl.nn.functional.multi_head_attention_forward(
...     x, x, x, 2, 1, fl.ones(6, 2), None, None, None, False, 0.0, fl.eye(2), None)
>>> out.shape, weights.shape
((3, 1, 2), (1, 3, 3))
"""

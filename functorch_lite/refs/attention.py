"""Attention, embeddings, and dropout by an explicit key."""

from __future__ import annotations

import math

import numpy as np

from ..core.dtype import BOOL, INTEGER, int32, int64, uint32
from ..core.op import Tensor, composite
from ..prims import algebra, compare, contract, create, elementwise, index, kernels, random, reduce, shape
from .arguments import require, require_arrays, require_floating, require_one_dtype, shown
from .promotion import broadcast_shapes, canonical_dim, expand_to, to_dtype
from .random import gumbel
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


# -------------------------------------------------------------------------------------------------------- embedding


def _embedding_jvp(ans, primals, tangents, padding_idx):
    """The rows of the weight's tangent; the padding's row does not move."""
    (input, _), (_, t) = primals, tangents
    rows = _rows(t, input)
    if padding_idx is None:
        return rows
    padding_idx = padding_idx + t.shape[0] if padding_idx < 0 else padding_idx
    at_padding = compare.eq(input, algebra.full_like(input, padding_idx))
    return compare.select(shape.broadcast(at_padding, rows.shape, tuple(range(input.ndim))), algebra.zeros(rows.aval), rows)


def _rows(weight, input):
    return index.gather(weight, [input], (0,), (0,), at=0)


@composite(namespace=_F, jvp=_embedding_jvp, reference=lambda input, weight, padding_idx=None: weight[input])
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """The rows of weight [rows, D] that the integers input [*] name: [*, D]. The row padding_idx gets no gradient.

    IndexError for a row that is not there (unchecked under jit).

    >>> import functorch_lite as fl
    >>> fl.nn.functional.embedding(fl.asarray([1, 0]), fl.asarray([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[3.0, 4.0], [1.0, 2.0]]
    """
    require_arrays("embedding", input=input, weight=weight)
    ok = input.dtype.category == INTEGER
    require(ok, "embedding", f"input must have an integer dtype, got {shown(input)}")
    require(weight.ndim == 2, "embedding", f"weight must be a matrix [rows, D], got {weight.aval}")
    ok = padding_idx is None or -weight.shape[0] <= padding_idx < weight.shape[0]
    require(ok, "embedding", f"padding_idx must name a row of weight {weight.aval}, got {padding_idx}")
    return _rows(weight, input)


@composite(namespace=_F, reference=lambda input, num_classes: np.eye(num_classes, dtype=np.int64)[input])
def one_hot(input: Tensor, num_classes: int) -> Tensor:
    """1 (int64) at position input[*] of a new last dimension of num_classes, else 0; a class that is not there gives zeros only.

    num_classes must be given: counting the classes would need the data, which transforms do not have.
    """
    require_arrays("one_hot", input=input)
    require(input.dtype.category == INTEGER, "one_hot", f"input must have an integer dtype, got {shown(input)}")
    require(num_classes > 0, "one_hot", f"num_classes must be given and positive, got {num_classes}")
    target = (*input.shape, num_classes)
    at = shape.broadcast(to_dtype(input, int64), target, tuple(range(input.ndim)))
    return to_dtype(compare.eq(at, create.iota(target, input.ndim, int64)), int64)


# ---------------------------------------------------------------------------------------------------------- dropout


def _kept(name, key, sizes, p):
    """A mask that holds with probability 1 - p: 32 random bits an element, at least p * 2^32."""
    require(key is not None, name, f"training with p={p} needs key=, a key from fl.random.key", TypeError)
    bits = random.random_bits(key, sizes, 32)
    return compare.ge(bits, create.full(sizes, min(math.ceil(p * 2**32), 2**32 - 1), uint32))


def _dropped(name, input, p, training, key, mask_shape):
    require_arrays(name, input=input)
    require_floating(name, input)
    require(0 <= p <= 1, name, f"p must be between 0 and 1, got {p}", ValueError)
    if not training or p == 0:
        return input
    if p == 1:
        return algebra.zeros(input.aval)
    keep = expand_to(_kept(name, key, mask_shape, p), input.shape)
    return compare.select(keep, elementwise.scaled(input, 1 / (1 - p)), algebra.zeros(input.aval))


# PyTorch's face has a generator, which gives a key when a draw needs one and has none
_DRAWN = {"key": "key", "drawing": lambda p, training: training and p > 0}


@composite(namespace=_F, traits=_DRAWN)
def dropout(input: Tensor, p: float = 0.5, training: bool = True, *, key: Tensor | None = None) -> Tensor:
    """Zeroes each element with probability p and scales the others by 1 / (1 - p) (Srivastava et al., 2014).

    Pure: the draw is a function of key (from fl.random.key), which training with p > 0 needs (TypeError otherwise); the same
    key drops the same elements.
    """
    return _dropped("dropout", input, p, training, key, input.shape)


def _channel_dropout(name: str, n: int):
    def f(input: Tensor, p: float = 0.5, training: bool = True, *, key: Tensor | None = None) -> Tensor:
        ok = input.ndim in (n + 1, n + 2)
        require(ok, name, f"expected input [N, C, *{n} spatial sizes] or [C, *spatial], got {shown(input)}")
        lead = input.shape[: input.ndim - n]
        return _dropped(name, input, p, training, key, (*lead, *[1] * n))

    f.__name__ = name
    f.__doc__ = (
        f"`dropout` of whole channels of input [N, C, *spatial] with {n} spatial dimension{'s' if n > 1 else ''} (Tompson et al., 2015)."
    )
    return composite(f, namespace=_F, traits=_DRAWN)


dropout1d, dropout2d, dropout3d = (_channel_dropout(f"dropout{n}d", n) for n in (1, 2, 3))


@composite(namespace=_F)
def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, dim: int = -1, *, key: Tensor) -> Tensor:
    """softmax((logits + Gumbel noise) / tau): a differentiable draw of a class (Jang, Gu, Poole, 2017).

    With ``hard`` the result is one-hot at the largest, while the gradient is that of the soft draw. The draw is a function of key.
    """
    require_arrays("gumbel_softmax", logits=logits)
    require_floating("gumbel_softmax", logits, "logits")
    noisy = elementwise.add(logits, gumbel(key, logits.shape, logits.dtype))
    soft = softmax(elementwise.scaled(noisy, 1 / tau), dim)
    if not hard:
        return soft
    dim = canonical_dim("gumbel_softmax", dim, soft.ndim)
    at = reduce.spread(reduce.argmax(soft, dim), soft, (dim,))
    one_at = to_dtype(compare.eq(at, create.iota(soft.shape, dim, int64)), soft.dtype)
    return elementwise.add(create.detach(elementwise.sub(one_at, soft)), soft)

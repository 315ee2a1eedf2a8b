"""Attention of several heads, and the layers of transformers that are made of it (Vaswani et al., Attention is all you need, 2017)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ...core.array import Array
from .. import functional as F
from .. import init
from ..create import empty, full
from ..module import Module
from ..parameter import Parameter
from ..tensor import Tensor
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .normalization import LayerNorm

_ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu}


class NonDynamicallyQuantizableLinear(Linear):
    """A `Linear`, under the name that PyTorch shows for the projection behind attention."""


class MultiheadAttention(Module):
    """Attention of num_heads heads between projections: called with (query, key, value) it gives (output, weights).

    query is [L, N, E], key [S, N, kdim], value [S, N, vdim] (with batch_first the batch comes first; or all without a batch).
    ``key_padding_mask`` [N, S] and ``attn_mask`` ([L, S] or [N num_heads, L, S]) hide where a bool one holds; float ones are added to the
    scores. The weights are averaged over heads unless average_attn_weights=False, and None with need_weights=False.
    See `functional.multi_head_attention_forward`.

    >>> import functorch_lite as fl
    >>> x = fl.ones(5, 2, 4)
    >>> out, weights = fl.nn.MultiheadAttention(4, 2)(x, x, x)
    >>> out.shape, weights.shape
    (torch.Size([5, 2, 4]), torch.Size([2, 5, 5]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device=None,
        dtype=None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"MultiheadAttention: {embed_dim=} and {num_heads=} must be greater than 0")
        if embed_dim % num_heads:
            raise AssertionError(f"MultiheadAttention: embed_dim={embed_dim} must be divisible by num_heads={num_heads}")
        super().__init__()
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim

        def weight(*sizes):
            return Parameter(empty(*sizes, device=device, dtype=dtype))

        together = self._qkv_same_embed_dim
        for name, width in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            self.register_parameter(f"{name}_proj_weight", None if together else weight(embed_dim, width))
        self.register_parameter("in_proj_weight", weight(3 * embed_dim, embed_dim) if together else None)
        self.register_parameter("in_proj_bias", weight(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.bias_k, self.bias_v = [weight(1, 1, embed_dim) if add_bias_kv else None for _ in "kv"]
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the projections anew, by Glorot's rule."""
        for w in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if w is not None:
                init.xavier_uniform_(w)
        for b in (self.in_proj_bias, self.out_proj.bias):
            if b is not None:
                init.zeros_(b)
        for b in (self.bias_k, self.bias_v):
            if b is not None:
                init.xavier_normal_(b)

    def forward(
        self,
        query: Tensor | Array,
        key: Tensor | Array,
        value: Tensor | Array,
        key_padding_mask: Tensor | Array | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | Array | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple:
        """See the class."""
        turned = self.batch_first and query.ndim == 3
        if turned:
            q = query.transpose(0, 1)
            k = q if key is query else key.transpose(0, 1)
            value = q if value is query else k if value is key else value.transpose(0, 1)
            query, key = q, k
        out, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (out.transpose(0, 1) if turned else out), weights


# ---------------------------------------------------------------------------------------------------------- layers


class _TransformerLayer(Module):
    """Attention to itself, for a decoder also to a memory, then two linear layers: each with dropout, a sum, and a norm."""

    _crosses = False

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        if isinstance(activation, str):
            if activation not in _ACTIVATIONS:
                raise RuntimeError(f"{type(self).__name__}: activation should be relu/gelu, not {activation}")
            activation = _ACTIVATIONS[activation]
        where = {"device": device, "dtype": dtype}
        for name in ("self_attn", "multihead_attn") if self._crosses else ("self_attn",):
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **where))
        self.linear1 = Linear(d_model, dim_feedforward, bias, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **where)
        self.norm_first = norm_first
        parts = range(1, 3 + self._crosses)
        for i in parts:
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias, **where))
        for i in parts:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = activation

    def _through(self, x, steps):
        """Each step's result, dropped, added to what it was given, with its norm before or behind."""
        for i, step in enumerate(steps, 1):
            norm, drop = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
            x = x + drop(step(norm(x))) if self.norm_first else norm(x + drop(step(x)))
        return x

    def _feed(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


def _attend(attention, mask, padding, is_causal, memory=None):
    def step(x):
        to = x if memory is None else memory
        return attention(x, to, to, padding, False, mask, is_causal=is_causal)[0]

    return step


class TransformerEncoderLayer(_TransformerLayer):
    """One layer of an encoder: attention of src [S, N, E] to itself and two linear layers; each added to its input and normalized.

    ``norm_first`` normalizes before instead of behind, ``batch_first`` takes [N, S, E]. is_causal says that src_mask is causal.

    >>> import functorch_lite as fl
    >>> fl.nn.TransformerEncoderLayer(4, 2, 8)(fl.ones(5, 2, 4)).shape
    torch.Size([5, 2, 4])
    """

    def forward(
        self,
        src: Tensor | Array,
        src_mask: Tensor | Array | None = None,
        src_key_padding_mask: Tensor | Array | None = None,
        is_causal: bool = False,
    ) -> Tensor | Array:
        """See the class."""
        return self._through(src, (_attend(self.self_attn, src_mask, src_key_padding_mask, is_causal), self._feed))


class TransformerDecoderLayer(_TransformerLayer):
    """One layer of a decoder: attention of tgt [T, N, E] to itself, then to memory [S, N, E], and two linear layers.

    >>> import functorch_lite as fl
    >>> fl.nn.TransformerDecoderLayer(4, 2, 8)(fl.ones(3, 2, 4), fl.ones(5, 2, 4)).shape
    torch.Size([3, 2, 4])
    """

    _crosses = True

    def forward(
        self,
        tgt: Tensor | Array,
        memory: Tensor | Array,
        tgt_mask: Tensor | Array | None = None,
        memory_mask: Tensor | Array | None = None,
        tgt_key_padding_mask: Tensor | Array | None = None,
        memory_key_padding_mask: Tensor | Array | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor | Array:
        """See the class."""
        own = _attend(self.self_attn, tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        cross = _attend(self.multihead_attn, memory_mask, memory_key_padding_mask, memory_is_causal, memory)
        return self._through(tgt, (own, cross, self._feed))


# ----------------------------------------------------------------------------------------------------------- stacks


class _Stack(Module):
    """num_layers copies of a layer, and a norm."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm


class TransformerEncoder(_Stack):
    """num_layers copies of encoder_layer in turn, then norm if there is one.

    (enable_nested_tensor and mask_check are about a path of PyTorch's that does not exist here: results do not depend on them.)

    >>> import functorch_lite as fl
    >>> layer = fl.nn.TransformerEncoderLayer(4, 2, 8)
    >>> fl.nn.TransformerEncoder(layer, 2)(fl.ones(5, 2, 4)).shape
    torch.Size([5, 2, 4])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(
        self,
        src: Tensor | Array,
        mask: Tensor | Array | None = None,
        src_key_padding_mask: Tensor | Array | None = None,
        is_causal: bool | None = None,
    ) -> Tensor | Array:
        """See the class."""
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(_Stack):
    """num_layers copies of decoder_layer in turn, all with one memory, then norm if there is one."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Tensor | Array,
        memory: Tensor | Array,
        tgt_mask: Tensor | Array | None = None,
        memory_mask: Tensor | Array | None = None,
        tgt_key_padding_mask: Tensor | Array | None = None,
        memory_key_padding_mask: Tensor | Array | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor | Array:
        """See the class."""
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=bool(tgt_is_causal),
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder of src [S, N, E] and a decoder of tgt [T, N, E] that attends to it: [T, N, E].

    RuntimeError where the batches differ or E is not d_model.

    >>> import functorch_lite as fl
    >>> model = fl.nn.Transformer(4, 2, 1, 1, 8)
    >>> model(fl.ones(5, 2, 4), fl.ones(3, 2, 4)).shape
    torch.Size([3, 2, 4])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        given = d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype

        def norm():
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(TransformerEncoderLayer(*given), num_encoder_layers, norm())
        self.decoder = custom_decoder or TransformerDecoder(TransformerDecoderLayer(*given), num_decoder_layers, norm())
        self.reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def reset_parameters(self) -> None:
        """Draws all matrices anew, by Glorot's rule."""
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p)

    def forward(
        self,
        src: Tensor | Array,
        tgt: Tensor | Array,
        src_mask: Tensor | Array | None = None,
        tgt_mask: Tensor | Array | None = None,
        memory_mask: Tensor | Array | None = None,
        src_key_padding_mask: Tensor | Array | None = None,
        tgt_key_padding_mask: Tensor | Array | None = None,
        memory_key_padding_mask: Tensor | Array | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor | Array:
        """See the class."""
        batch = 0 if self.batch_first else 1
        seen = f"src {list(src.shape)} and tgt {list(tgt.shape)}"
        if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError(f"Transformer: the batch number of src and tgt must be equal, got {seen}")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError(f"Transformer: the feature number of src and tgt must be equal to d_model={self.d_model}, got {seen}")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device=None, dtype=None) -> Tensor:
        """A float mask [sz, sz] that hides what is later: -inf above the diagonal, 0 elsewhere."""
        return full((sz, sz), float("-inf"), device=device, dtype=dtype).triu(1)

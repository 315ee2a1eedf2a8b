"""Lookup tables."""

from __future__ import annotations

from ...core.array import Array
from .. import functional as F
from .. import init
from ..create import empty
from ..grad_mode import no_grad
from ..module import Module
from ..parameter import Parameter
from ..tensor import Tensor


class Embedding(Module):
    """Rows of weight [num_embeddings, embedding_dim] by integer: input [*] -> [*, embedding_dim].

    Rows begin normal with variance 1. The row of `padding_idx` begins at 0 and has no gradient. With `max_norm` rows are scaled down to
    that norm when they are read; `scale_grad_by_freq` divides a row's gradient by how often it is read. Gradients are dense.

    >>> import functorch_lite as fl
    >>> fl.nn.Embedding(10, 3)(fl.asarray([[1, 2]])).shape
    torch.Size([1, 2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise ValueError(f"Embedding: padding_idx must be within num_embeddings={num_embeddings}, got {padding_idx}")
            padding_idx %= num_embeddings
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = max_norm, norm_type, scale_grad_by_freq, sparse
        if _weight is None:
            self.weight = Parameter(empty(num_embeddings, embedding_dim, device=device, dtype=dtype), requires_grad=not _freeze)
            self.reset_parameters()
        elif tuple(_weight.shape) != (num_embeddings, embedding_dim):
            raise ValueError(f"Embedding: weight must have shape [{num_embeddings}, {embedding_dim}], got {list(_weight.shape)}")
        else:
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor | Array, freeze: bool = True, padding_idx: int | None = None, **settings) -> Embedding:
        """An Embedding with these rows, which, unless freeze=False, are not learned."""
        if embeddings.ndim != 2:
            raise ValueError(f"Embedding.from_pretrained: expected a matrix of rows, got shape {list(embeddings.shape)}")
        rows, columns = embeddings.shape
        return cls(rows, columns, padding_idx, _weight=embeddings, _freeze=freeze, **settings)

    def reset_parameters(self) -> None:
        """Draws all rows anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None and str(self.weight.device) != "meta":
            with no_grad():
                self.weight[self.padding_idx] = 0

    def forward(self, input: Tensor | Array) -> Tensor | Array:
        """See the class."""
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse)

    def extra_repr(self) -> str:
        return _shown(self, ("padding_idx", None), ("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False), ("sparse", False))


def _shown(module, *settings) -> str:
    """The sizes of a table, and the settings that are not the usual ones."""
    changed = [f", {name}={getattr(module, name)!r}" for name, usual in settings if getattr(module, name) != usual]
    return f"{module.num_embeddings}, {module.embedding_dim}{''.join(changed)}"


class EmbeddingBag(Embedding):
    """The sum, mean or maximum of the rows that each bag names: [bags, embedding_dim]; called with (input, offsets, per_sample_weights).

    Bags are the rows of input [bags, n], or stretches of input [n] that begin at offsets. See `functional.embedding_bag`.

    >>> import functorch_lite as fl
    >>> fl.nn.EmbeddingBag(10, 3)(fl.asarray([1, 2, 4]), fl.asarray([0, 2])).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device=None,
        dtype=None,
    ) -> None:
        self.mode, self.include_last_offset = mode, include_last_offset
        super().__init__(
            num_embeddings,
            embedding_dim,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight,
            device=device,
            dtype=dtype,
        )

    @classmethod
    def from_pretrained(cls, embeddings: Tensor | Array, freeze: bool = True, **settings) -> EmbeddingBag:
        """An EmbeddingBag with these rows, which, unless freeze=False, are not learned."""
        if embeddings.ndim != 2:
            raise ValueError(f"EmbeddingBag.from_pretrained: expected a matrix of rows, got shape {list(embeddings.shape)}")
        out = cls(*embeddings.shape, _weight=embeddings, **settings)
        out.weight.requires_grad = not freeze
        return out

    def forward(
        self, input: Tensor | Array, offsets: Tensor | Array | None = None, per_sample_weights: Tensor | Array | None = None
    ) -> Tensor | Array:
        """See the class."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        usual = ("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False)
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{_shown(self, *usual)}, mode={self.mode!r}{padding}"

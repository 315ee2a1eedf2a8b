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

    Rows begin normal with variance 1. The row of `padding_idx` begins at 0 and has no gradient.

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
        for name, value in (("max_norm", max_norm), ("scale_grad_by_freq", scale_grad_by_freq), ("sparse", sparse)):
            if value:
                raise NotImplementedError(
                    f"Embedding: {name}={value} is not supported; gradients are dense and rows keep their norm: leave it out"
                )
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
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"

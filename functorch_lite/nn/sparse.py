"""Sparse tensors in coordinate form: indices and values of what is not zero, for products with dense ones (graph networks)."""

from __future__ import annotations

import numpy as np

from ..core.dtype import INTEGER, int64
from ..refs.arguments import require
from .create import as_tensor, tensor, zeros
from .layout import Size
from .queries import sparse_coo
from .tensor import Tensor


class SparseTensor:
    """A sparse tensor in coordinate form; make one with `torch.sparse_coo_tensor` or `x.to_sparse()`.

    It has `to_dense`, `coalesce`, `t`, `to`, `@` with a dense matrix, and sums of its kind; anything else asks for `to_dense()`.

    >>> import functorch_lite.torch as torch
    >>> x = torch.sparse_coo_tensor([[0, 1], [1, 0]], [3.0, 4.0], (2, 2))
    >>> (x @ torch.ones(2, 1)).flatten()
    tensor([3., 4.])
    """

    is_sparse, layout = True, sparse_coo

    def __init__(self, indices: Tensor, values: Tensor, shape: tuple[int, ...], coalesced: bool = False):
        self._where, self._held, self._shape, self._coalesced = indices, values, tuple(shape), coalesced

    shape = property(lambda self: Size(self._shape), doc="The sizes of its dimensions.")
    dtype = property(lambda self: self._held.dtype, doc="The dtype of its values.")
    device = property(lambda self: self._held.device, doc="Where its values are.")
    ndim = property(lambda self: len(self._shape), doc="The number of its dimensions.")
    requires_grad = property(lambda self: self._held.requires_grad, doc="Whether gradients flow into its values.")

    def size(self, dim: int | None = None):
        """Its shape, or the size of one dimension."""
        return self.shape if dim is None else self._shape[dim]

    def dim(self) -> int:
        """The number of its dimensions."""
        return len(self._shape)

    def sparse_dim(self) -> int:
        """How many leading dimensions are given by coordinates."""
        return self._where.shape[0]

    def dense_dim(self) -> int:
        """How many dimensions each value has."""
        return len(self._shape) - self.sparse_dim()

    def is_coalesced(self) -> bool:
        """Whether no coordinates stand twice."""
        return self._coalesced

    def _indices(self) -> Tensor:
        """The coordinates [sparse dimensions, count]."""
        return self._where

    def _values(self) -> Tensor:
        """The values [count, dense dimensions ...]."""
        return self._held

    def _nnz(self) -> int:
        """How many values it holds."""
        return self._held.shape[0]

    def indices(self) -> Tensor:
        """The coordinates of a coalesced tensor."""
        self._require_coalesced("indices")
        return self._where

    def values(self) -> Tensor:
        """The values of a coalesced tensor."""
        self._require_coalesced("values")
        return self._held

    def _require_coalesced(self, name: str) -> None:
        require(self._coalesced, name, f"cannot get {name} on an uncoalesced tensor, please call .coalesce() first")

    def to_dense(self) -> Tensor:
        """The tensor with zeros everywhere else; values at the same coordinates are added."""
        return zeros(*self._shape, dtype=self.dtype).index_put(tuple(self._where.unbind(0)), self._held, accumulate=True)

    def coalesce(self) -> SparseTensor:
        """The same with each coordinates once and in order; their number depends on data, so not under jit or vmap."""
        if self._coalesced:
            return self
        n = self.sparse_dim()
        flat = np.ravel_multi_index(tuple(self._where.array.numpy()), self._shape[:n]) if n else np.zeros(self._nnz(), int)
        found, back = np.unique(flat, return_inverse=True)
        held = zeros(len(found), *self._held.shape[1:], dtype=self.dtype).index_add(0, tensor(back.reshape(-1)), self._held)
        return SparseTensor(tensor(np.stack(np.unravel_index(found, self._shape[:n]))), held, self._shape, True)

    def t(self) -> SparseTensor:
        """The transpose of a matrix."""
        require(self.ndim == 2 and self.sparse_dim() == 2, "t", f"expected a sparse matrix, got the shape {list(self._shape)}")
        return SparseTensor(self._where.flip(0), self._held, self._shape[::-1])

    def transpose(self, dim0: int, dim1: int) -> SparseTensor:
        """`t` of a matrix."""
        return self if dim0 % 2 == dim1 % 2 else self.t()

    def with_values(self, values: Tensor) -> SparseTensor:
        """The same coordinates with other values."""
        return SparseTensor(self._where, values, self._shape, self._coalesced)

    def to(self, *args, **named) -> SparseTensor:
        """In another dtype or on another device, as `Tensor.to`."""
        return self.with_values(self._held.to(*args, **named))

    def float(self) -> SparseTensor:
        """As float32."""
        return self.with_values(self._held.float())

    def double(self) -> SparseTensor:
        """As float64."""
        return self.with_values(self._held.double())

    def cuda(self, *args, **named) -> SparseTensor:
        """On the GPU."""
        return self.with_values(self._held.cuda(*args, **named))

    def cpu(self) -> SparseTensor:
        """On the CPU."""
        return self.with_values(self._held.cpu())

    def detach(self) -> SparseTensor:
        """Without history."""
        return self.with_values(self._held.detach())

    def __matmul__(self, other) -> Tensor:
        return spmm(self, other)

    matmul = mm = __matmul__

    def __mul__(self, number) -> SparseTensor:
        if getattr(number, "ndim", 0):
            raise TypeError(
                f"SparseTensor * x: expected a number or a 0-dim tensor, got a tensor of shape {list(number.shape)}; use .to_dense()"
            )
        return self.with_values(self._held * number)

    __rmul__ = __mul__

    def __add__(self, other) -> SparseTensor:
        if not isinstance(other, SparseTensor) or other.shape != self.shape:
            raise TypeError("SparseTensor + x: expected a sparse tensor of the same shape; use .to_dense() for dense ones")
        from ..refs import cat

        return SparseTensor(cat([self._where, other._where], 1), cat([self._held, other._held]), self._shape)

    def __getattr__(self, name: str):
        raise AttributeError(f"a sparse tensor has no {name!r} here; use .to_dense().{name}")

    def __repr__(self) -> str:
        return f"tensor(indices={self._where}, values={self._held}, size={self._shape}, nnz={self._nnz()}, layout=torch.sparse_coo)"


def sparse_coo_tensor(indices, values, size=None, *, dtype=None, device=None, requires_grad: bool = False, **named) -> SparseTensor:
    """A sparse tensor with these values [count, ...] at these coordinates [dimensions, count]; see `SparseTensor`.

    RuntimeError for coordinates that are no integers, are outside of size, or are not as many as the values.
    """
    indices, values = as_tensor(indices), as_tensor(values, dtype=dtype, device=device)
    ok = indices.dtype.category == INTEGER and indices.ndim == 2
    require(ok, "sparse_coo_tensor", f"indices must be integers [dimensions, count], got {indices.aval}")
    ok = values.ndim > 0 and values.shape[0] == indices.shape[1]
    require(ok, "sparse_coo_tensor", f"expected a value for each of the coordinates, got {indices.aval} and {values.aval}")
    if size is None:
        size = (*[int(n) + 1 for n in indices.amax(1).tolist()], *values.shape[1:])
    size = tuple(size)
    ok = len(size) == indices.shape[0] + values.ndim - 1 and tuple(values.shape[1:]) == size[indices.shape[0] :]
    require(ok, "sparse_coo_tensor", f"size {list(size)} does not fit indices {indices.aval} and values {values.aval}")
    inside = not indices.numel() or all(0 <= a and b < n for a, b, n in zip(indices.amin(1).tolist(), indices.amax(1).tolist(), size))
    require(inside, "sparse_coo_tensor", f"found coordinates outside of size {list(size)}")
    return SparseTensor(indices.to(int64), values.requires_grad_() if requires_grad else values, size)


def to_sparse(self) -> SparseTensor:
    """The elements that are not zero, with their coordinates."""
    where = self.nonzero(as_tuple=True)
    indices = tensor(np.stack([i.array.numpy() for i in where])) if where else zeros(0, 1, dtype=int64)
    return SparseTensor(indices, self[where], tuple(self.shape), True)


def spmm(input: SparseTensor, mat2: Tensor) -> Tensor:
    """The product of a sparse matrix and a dense matrix or vector: rows of the dense one, weighted, gathered and added.

    Its derivatives are those of the values and of the dense factor. RuntimeError for sizes that do not fit.
    """
    require(isinstance(input, SparseTensor), "spmm", f"expected a sparse matrix as the first factor, got {type(input).__name__}", TypeError)
    if isinstance(mat2, SparseTensor):
        raise TypeError("spmm: the second factor must be dense; use .to_dense()")
    ok = input.ndim == 2 and input.sparse_dim() == 2 and mat2.ndim in (1, 2) and input._shape[1] == mat2.shape[0]
    require(ok, "spmm", f"mat1 and mat2 shapes cannot be multiplied ({list(input._shape)} and {list(mat2.shape)})")
    rows, columns = input._where.unbind(0)
    weights = input._held if mat2.ndim == 1 else input._held.unsqueeze(1)
    parts = weights * mat2.index_select(0, columns)
    return zeros(input._shape[0], *mat2.shape[1:], dtype=parts.dtype).index_add(0, rows, parts)


Tensor.to_sparse = Tensor.to_sparse_coo = to_sparse
Tensor.to_dense = lambda self: self

"""Reading elements by index arrays along a dimension."""

from __future__ import annotations

import numpy as np

from ..core.dtype import INTEGER
from ..core.op import Tensor, composite
from ..prims import create
from ..prims import index as prims
from ..prims import shape as shapes
from .arguments import require, shown
from .promotion import array_of, broadcast_shapes, canonical_dim, expand_to
from .shape import reshaped


def at_least_1d(x):
    """A 0-dim array counts as having one dimension."""
    return x if x.ndim else shapes.reshape(x, (1,))


def index_of(name: str, index, argument: str = "index"):
    """An index argument as an integer array."""
    index = array_of(index)
    require(index.dtype.category == INTEGER, name, f"expected an integer dtype for {argument}, got {shown(index)}")
    return index


def index_row(name: str, index):
    """The index argument of an index_* op: one dimension of integers."""
    index = index_of(name, index)
    require(index.ndim <= 1, name, f"index must have at most one dimension, got {shown(index)}", IndexError)
    return at_least_1d(index)


def rows_at(d: int, mode: str = "check") -> tuple:
    """The parameters by which one index array names whole rows along dimension d."""
    return (d,), (0,), ((), ()), d, mode


def corner(x, shape: tuple[int, ...]):
    """The block of x of this shape that starts at the origin."""
    return x if x.shape == shape else shapes.slice_(x, (0,) * x.ndim, shape, (1,) * x.ndim)


def same_rank(name: str, x, index, d: int) -> tuple[int, ...]:
    """The shape of the block of x that an index of as many dimensions points into along d."""
    require(x.ndim == index.ndim, name, f"index must have as many dimensions as input, got {shown(x, index)}")
    ok = all(i <= n for k, (i, n) in enumerate(zip(index.shape, x.shape)) if k != d)
    require(ok, name, f"expected index to be no larger than input apart from dimension {d}, got input and index {shown(x, index)}")
    return (*index.shape[:d], x.shape[d], *index.shape[d + 1 :])


def _corner_like(x, index, d: int):
    """(NumPy) the block of x that a smaller index points into."""
    return x[tuple([slice(None) if k == d else slice(n) for k, n in enumerate(index.shape)])]


def _gather_reference(x, dim, index):
    if not index.size:
        return np.zeros(index.shape, x.dtype)
    a, i = np.atleast_1d(x), np.atleast_1d(index)
    return np.take_along_axis(_corner_like(a, i, dim % a.ndim), i, dim).reshape(index.shape)


@composite(method=True, reference=_gather_reference, traits={"exact": True, "apart": True})
def gather(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Elements of input at `index` along dim: ``out[i, j] = input[index[i, j], j]`` for dim 0. The result has the shape of index.

    Index may be smaller than input along the other dimensions. Raises RuntimeError where it is larger, IndexError for an index
    out of range (eager mode only).

    >>> import functorch_lite as fl
    >>> fl.gather(fl.asarray([[1, 2], [3, 4]]), 1, fl.asarray([[0], [1]])).tolist()
    [[1], [4]]
    """
    x, i = array_of(input), index_of("gather", index)
    d = canonical_dim("gather", dim, x.ndim)
    if i.aval.size == 0:
        return create.full(i.shape, 0, x.dtype)
    x, j = at_least_1d(x), at_least_1d(i)
    return reshaped(prims.take_along(corner(x, same_rank("gather", x, j, d)), j, d), i.shape)


@composite(method=True, reference=lambda x, index: np.take(x, index), traits={"exact": True, "apart": True})
def take(input: Tensor, index: Tensor) -> Tensor:
    """Elements of the flattened input, in the shape of index; negative ones count from the end.

    >>> import functorch_lite as fl
    >>> fl.take(fl.asarray([[1, 2], [3, 4]]), fl.asarray([0, -1])).tolist()
    [1, 4]
    """
    x, i = array_of(input), index_of("take", index)
    return prims.gather(reshaped(x, (x.aval.size,)), [i], *rows_at(0, "wrap"))


def along_dim(name: str, input, indices, dim):
    """(x, indices, d) of ops that broadcast the two against one another along all dimensions but one; flat without dim."""
    x, i = array_of(input), index_of(name, indices, "indices")
    if dim is None:
        return reshaped(x, (x.aval.size,)), reshaped(i, (i.aval.size,)), 0
    require(x.ndim == i.ndim, name, f"input and indices must have the same number of dimensions, got {shown(x, i)}")
    d = canonical_dim(name, dim, x.ndim)
    x, i = at_least_1d(x), at_least_1d(i)
    shape = broadcast_shapes(*((*a.shape[:d], 1, *a.shape[d + 1 :]) for a in (x, i)))
    x, i = (expand_to(a, (*shape[:d], a.shape[d], *shape[d + 1 :])) for a in (x, i))
    return x, i, d


@composite(method=True, reference=lambda x, indices, dim=None: np.take_along_axis(x, indices, dim))
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Elements of input at indices along dim, as argmax or argsort gives them; other dimensions broadcast. Without dim, of the flat input.

    >>> import functorch_lite as fl
    >>> fl.take_along_dim(fl.asarray([[1, 2], [3, 4]]), fl.asarray([[1], [0]]), dim=1).tolist()
    [[2], [3]]
    """
    x, i, d = along_dim("take_along_dim", input, indices, dim)
    return prims.take_along(x, i, d, "wrap")


@composite(method=True, reference=lambda x, dim, index: np.take(x, np.atleast_1d(index), dim) if x.ndim else x)
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The rows of input along dim that a 1-dim index names, in its order.

    Raises IndexError for an index out of range (eager mode only).

    >>> import functorch_lite as fl
    >>> fl.index_select(fl.asarray([[1, 2], [3, 4]]), 1, fl.asarray([1, 1])).tolist()
    [[2, 2], [4, 4]]
    """
    x, i = array_of(input), index_row("index_select", index)
    d = canonical_dim("index_select", dim, x.ndim)
    if not x.ndim:
        require(i.shape == (1,), "index_select", f"index of a 0-dim array must have one element, got {shown(i)}")
        return reshaped(prims.gather(at_least_1d(x), [i], *rows_at(0)), ())
    return prims.gather(x, [i], *rows_at(d))


__all__ = ["gather", "index_select", "take", "take_along_dim"]

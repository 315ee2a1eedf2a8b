"""What PyTorch says by strides, said by places: an array's elements in row-major order are its storage."""

from __future__ import annotations

import math

import numpy as np

from ..core.array import Operable
from ..core.dtype import int64
from ..core.op import Dims, Shape, Tensor, composite
from ..prims import algebra, compare, create, elementwise, index, scatters
from .arguments import require, shown
from .gathers import rows_at
from .promotion import array_of, cast
from .shape import as_tuple, reshaped


def _checked(name: str, x, size, stride, offset: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    size, stride = as_tuple(size), as_tuple(stride)
    require(len(size) == len(stride), name, f"mismatch in length of strides and shape, got size={list(size)}, stride={list(stride)}")
    ok = all(n >= 0 for n in size) and all(s >= 0 for s in stride) and offset >= 0
    require(ok, name, f"sizes, strides and the offset must not be negative, got {list(size)}, {list(stride)}, {offset}")
    last = offset + sum((n - 1) * s for n, s in zip(size, stride)) if 0 not in size else -1
    require(
        last < x.aval.size,
        name,
        f"size {list(size)}, stride {list(stride)} and storage offset {offset} are out of bounds for a storage of {x.aval.size} elements",
    )
    return size, stride


def _places(size, stride, offset: int):
    """The position in the storage of each element."""
    out = create.full(size, offset, int64)
    for d, s in enumerate(stride):
        if s:
            at = create.iota(size, d, int64)
            out = elementwise.add(out, elementwise.mul(at, algebra.full_like(at, s)))
    return out


def overlaps(size, stride, offset: int = 0) -> bool:
    """Whether two elements may lie in one place."""
    span = 0
    for s, n in sorted(zip(as_tuple(stride), as_tuple(size))):
        if n > 1:
            if s <= span:
                return True
            span += (n - 1) * s
    return False


def _as_strided_reference(x, size, stride, storage_offset=0):
    flat = np.lib.stride_tricks.as_strided(x, (max(x.size, 1) + storage_offset,), (x.itemsize,))[storage_offset:]
    return np.lib.stride_tricks.as_strided(flat, as_tuple(size), [s * x.itemsize for s in as_tuple(stride)])


@composite(name="as_strided", reference=_as_strided_reference, view=True, traits={"overlaps": overlaps})
def as_strided(input: Tensor, size: Shape, stride: Dims, storage_offset: int = 0) -> Tensor:
    """The elements of input, in row-major order, that lie at ``storage_offset + i * stride[0] + j * stride[1] + ...``, under a shape.

    Of a Tensor it is a view of the storage, so strides and offset count there as PyTorch's do. Raises RuntimeError for places out of
    the storage.

    >>> import functorch_lite as fl
    >>> fl.as_strided(fl.arange(6), (2, 2), (1, 2)).tolist()
    [[0, 2], [1, 3]]
    """
    x = array_of(input)
    size, stride = _checked("as_strided", x, size, stride, storage_offset)
    flat = reshaped(x, (x.aval.size,))
    if 0 in size:
        return create.full(size, 0, x.dtype)
    where = rows_at(0, "inside")
    return index.gather(flat, [_places(size, stride, storage_offset)], *where, not overlaps(size, stride))


def _as_strided_scatter_reference(x, src, size, stride, storage_offset=0):
    out = x.copy()
    _as_strided_reference(out, size, stride, storage_offset)[...] = src
    return out


@composite(reference=_as_strided_scatter_reference)
def as_strided_scatter(input: Tensor, src: Tensor, size: Shape, stride: Dims, storage_offset: int = 0) -> Tensor:
    """Input with src at the places that `as_strided` reads. Raises RuntimeError for a src of another shape.

    >>> import functorch_lite as fl
    >>> fl.as_strided_scatter(fl.arange(4), fl.asarray([8, 9]), (2,), (2,)).tolist()
    [8, 1, 9, 3]
    """
    x, src = array_of(input), array_of(src)
    size, stride = _checked("as_strided_scatter", x, size, stride, storage_offset)
    require(src.shape == size, "as_strided_scatter", f"expected src to have the shape {list(size)}, got {shown(src)}")
    flat = reshaped(x, (x.aval.size,))
    places, src = (reshaped(a, (a.aval.size,)) for a in (_places(size, stride, storage_offset), cast(src, x.dtype, size)))
    return reshaped(scatters.scatter(flat, src, [places], *rows_at(0, "inside"), False), x.shape)


def _fill_diagonal_reference(x, value, wrap=False):
    out = x.copy()
    np.fill_diagonal(out, value, wrap)
    return out


@composite(method=True, reference=_fill_diagonal_reference)
def fill_diagonal(input: Tensor, fill_value: Tensor, wrap: bool = False) -> Tensor:
    """Input with a value on its main diagonal, where all indices are equal; wrap starts anew below the square of a tall matrix.

    Raises RuntimeError for fewer than 2 dimensions, or more that are not of one size.

    >>> import functorch_lite as fl
    >>> fl.fill_diagonal(fl.zeros(2, 2), 5).tolist()
    [[5.0, 0.0], [0.0, 5.0]]
    """
    x = array_of(input)
    require(x.ndim >= 2, "fill_diagonal", f"expected at least 2 dimensions, got {shown(x)}")
    same = x.ndim == 2 or len(set(x.shape)) == 1
    require(same, "fill_diagonal", f"all dimensions of an array of more than 2 must have one size, got {shown(x)}")
    flat = create.iota((x.aval.size,), 0, int64)
    n, m = x.shape[0], x.shape[-1]
    step = sum(math.prod(x.shape[d + 1 :]) for d in range(x.ndim))
    on = compare.eq(elementwise.rem(flat, algebra.full_like(flat, max(step, 1))), algebra.zeros(flat.aval))
    if x.ndim == 2 and not wrap and n > m:
        on = compare.select(compare.lt(flat, algebra.full_like(flat, m * m)), on, compare.lt(flat, flat))
    return compare.select(reshaped(on, x.shape), cast(fill_value, x.dtype, x.shape), x)


Operable.as_strided_scatter = as_strided_scatter

__all__ = ["as_strided", "as_strided_scatter", "fill_diagonal"]

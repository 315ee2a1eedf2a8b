"""Elements, or rows, that differ. How many there are depends on data: eager mode finds out, programs are given a size."""

from __future__ import annotations

import math

import numpy as np

from ..core.array import asarray
from ..core.dtype import bool_, int64
from ..core.face import faced
from ..core.op import Tensor, composite
from ..prims import algebra, compare, create, elementwise, order, reduce, scatters, shape
from .arguments import require, shown
from .families import alias
from .gathers import index_select, rows_at
from .masked import data_of
from .promotion import array_of, canonical_dim, cast, to_dtype
from .shape import reshaped


def _rows(x, dim):
    """x as rows, one for each element, or for each place along dim."""
    if dim is None:
        return reshaped(x, (x.aval.size, 1))
    moved = shape.permute(x, (dim, *[i for i in range(x.ndim) if i != dim]))
    return reshaped(moved, (x.shape[dim], math.prod(moved.shape[1:])))


def _found(x, dim, consecutive: bool):
    """(NumPy) where the first of the rows that differ stand, which of them each row is, and how often each occurs."""
    rest = [] if dim is None else [m for i, m in enumerate(x.shape) if i != dim]
    rows = (x if dim is None else np.moveaxis(x, dim, 0)).reshape(x.size if dim is None else x.shape[dim], math.prod(rest))
    n = len(rows)
    source = np.arange(n) if consecutive else np.lexsort(rows.T[::-1])
    rows = rows[source]
    first = np.concatenate([np.full(min(n, 1), True), (rows[1:] != rows[:-1]).any(1)])
    group = np.cumsum(first) - 1
    inverse = np.empty(n, np.int64)
    inverse[source] = group
    return source[first], inverse.reshape(x.shape if dim is None else (n,)), np.bincount(group, minlength=first.sum())


def _static_reference(x, size, fill_value=0, *, dim=None, consecutive=False):
    first, inverse, counts = _found(x, dim, consecutive)
    found = np.take(x, first[:size], dim)
    widths = [(0, size - len(first[:size]) if i == (dim or 0) else 0) for i in range(found.ndim)]
    filled = np.pad(found, widths, constant_values=np.asarray(fill_value, x.dtype))
    return filled, inverse, np.pad(counts[:size], widths[dim or 0])


@composite(multi=True, reference=_static_reference)
def unique_static(input: Tensor, size: int, fill_value: Tensor = 0, *, dim: int | None = None, consecutive: bool = False) -> tuple:
    """The first `size` of what differs, where each went, and how often each occurs; fill_value, and 0 times, where there is no more.
    Rows are compared as words are in a dictionary; NaN differs from everything."""
    x = array_of(input)
    rows = _rows(x, dim)
    n, width = rows.shape
    source = create.iota((n,), 0, int64)
    if not consecutive:
        columns = [reshaped(shape.part(rows, 1, i, i + 1), (n,)) for i in range(width)]
        *columns, source = order.sort([*columns, source], 0, width)
        rows = shape.concatenate([reshaped(c, (n, 1)) for c in columns], 1)
    differs = reduce.reduce_any(compare.ne(shape.part(rows, 0, min(n, 1), n), shape.part(rows, 0, 0, max(n - 1, 0))), (1,))
    first = shape.concatenate([create.full((min(n, 1),), True, bool_), differs], 0)
    number = order.cumsum(to_dtype(first, int64), 0)
    number = elementwise.sub(number, algebra.one_like(number))
    place = compare.select(first, number, algebra.full_like(number, max(size, n)))  # those that are not the first are dropped
    found = scatters.scatter(cast(fill_value, x.dtype, (size, width)), rows, [place], *rows_at(0, "drop"), False)
    inverse = scatters.scatter(create.full((n,), 0, int64), number, [source], *rows_at(0, "inside"), True)
    counts = scatters.scatter_add(create.full((size,), 0, int64), create.full((n,), 1, int64), [number], *rows_at(0, "drop"), False)
    if dim is None:
        return reshaped(found, (size,)), reshaped(inverse, x.shape), counts
    rest = [i for i in range(x.ndim) if i != dim]
    found = reshaped(found, (size, *[x.shape[i] for i in rest]))
    return shape.permute(found, shape.inverse((dim, *rest))), inverse, counts


def _distinct(name: str, input, return_inverse, return_counts, dim, size, fill_value, consecutive):
    x = asarray(input)
    require(not x.dtype.is_complex, name, f"complex numbers have no order, got {shown(x)}; use fl.view_as_real(input) and dim")
    if dim is not None:
        require(x.ndim > 0, name, f"a 0-dim Array has no dimension {dim}, got {shown(x)}", IndexError)
        dim = canonical_dim(name, dim, x.ndim)
        rest = [n for i, n in enumerate(x.shape) if i != dim]
        ok = 0 not in rest or x.shape[dim] == 0 and x.shape.count(0) == 1
        require(ok, name, f"rows along dimension {dim} must have elements, got {shown(x)}")
    if size is None:
        data = data_of(name, x, "give size=, the number of results wanted, or sort it and compare neighbours")
        first, inverse, counts = map(asarray, _found(data, dim, consecutive))
        found = index_select(x if dim is not None else reshaped(x, (x.aval.size,)), dim or 0, first)
    else:
        found, inverse, counts = unique_static(x, size, fill_value, dim=dim, consecutive=consecutive)
    out = (found, *[y for y, wanted in ((inverse, return_inverse), (counts, return_counts)) if wanted])
    return out if len(out) > 1 else found


@faced
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
    *,
    size: int | None = None,
    fill_value: Tensor = 0,
):
    """The elements that differ (or, along dim, the rows that differ), sorted; with them, if asked for, where each element of input went
    (int64, of its shape; along dim, of that size) and how often each occurs: a tuple then. Every NaN is another.

    How many there are depends on data: under jit and vmap give ``size``; further ones are left out, missing ones are fill_value.

    >>> import functorch_lite as fl
    >>> fl.unique(fl.asarray([3, 1, 3])).tolist(), [x.tolist() for x in fl.unique(fl.asarray([3, 1, 3]), return_counts=True)]
    ([1, 3], [[1, 3], [1, 2]])
    """
    return _distinct("unique", input, return_inverse, return_counts, dim, size, fill_value, False)


@faced
def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
    *,
    size: int | None = None,
    fill_value: Tensor = 0,
):
    """`unique` of neighbours only: each element (or row along dim) that differs from the one before it, in their order.

    >>> import functorch_lite as fl
    >>> fl.unique_consecutive(fl.asarray([3, 3, 1, 3])).tolist()
    [3, 1, 3]
    """
    return _distinct("unique_consecutive", input, return_inverse, return_counts, dim, size, fill_value, True)


alias(unique=unique, unique_consecutive=unique_consecutive)

__all__ = ["unique", "unique_consecutive"]

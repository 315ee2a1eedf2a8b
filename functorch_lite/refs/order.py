"""Along one dimension: cumulative sums and their like, sorting, the largest k, and searching in what is sorted."""

from __future__ import annotations

import numpy as np

from ..core.dtype import DType, int32, int64
from ..core.op import Tensor, composite
from ..prims import bits, compare, create, elementwise, index, order, shape
from .arguments import accumulator, require, require_inexact, shown
from .extreme import ValuesIndices, along
from .families import method
from .promotion import array_of, result_type, to_dtype
from .reduce import sum_dtype

# ------------------------------------------------------------------------------------------------------- cumulative


def _cumulative(name, prim, reference, what):
    def f(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
        def run(x, d):
            dtype_out = sum_dtype(x, dtype)
            return to_dtype(prim(to_dtype(x, accumulator(dtype_out)), d), dtype_out)

        return along(name, run, input, dim)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"The {what} of the elements up to each along dim. Integers and bools give int64; ``dtype`` is converted to first.\n\n"
        f">>> import functorch_lite as fl\n>>> fl.{name}(fl.asarray([1, 2, 3]), dim=0).tolist()\n"
        f"{[1, 3, 6] if what == 'sum' else [1, 2, 6]}\n"
    )
    return composite(f, method=True, reference=lambda x, dim, *, dtype=None: reference(x, dim) if x.ndim else x)


cumsum = _cumulative("cumsum", order.cumsum, np.cumsum, "sum")
cumprod = _cumulative("cumprod", order.cumprod, np.cumprod, "product")


def _cumulative_extreme(name, prim, which):
    def f(input: Tensor, dim: int) -> tuple:
        return along(name, lambda x, d: prim(x, d), input, dim)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"The {which} of the elements up to each along dim, NaN from the first NaN on, and where it is: the last that ties, to which the\n"
        f"derivative belongs. A named tuple (values, indices).\n\n>>> import functorch_lite as fl\n"
        f">>> fl.{name}(fl.asarray([2, 1, 3]), dim=0).values.tolist()\n{[2, 2, 3] if which == 'largest' else [2, 1, 1]}\n"
    )
    reference = prim.op.reference
    return composite(
        f,
        method=True,
        multi=True,
        returns=ValuesIndices,
        reference=lambda x, dim: reference(x, dim % x.ndim, False) if x.ndim else (x, np.zeros((), np.int64)),
    )


cummax = _cumulative_extreme("cummax", order.cummax, "largest")
cummin = _cumulative_extreme("cummin", order.cummin, "smallest")


@composite(method=True, reference=lambda x, dim: order.cumlogsumexp.op.reference(x, dim % x.ndim, False) if x.ndim else x)
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """log(cumsum(exp(input))) along dim, without overflow, of float or complex dtype.

    >>> import functorch_lite as fl
    >>> fl.logcumsumexp(fl.asarray([0.0, -1000.0]), dim=0).tolist()
    [0.0, 0.0]
    """
    require_inexact("logcumsumexp", array_of(input))
    return along("logcumsumexp", lambda x, d: order.cumlogsumexp(x, d), input, dim)


# --------------------------------------------------------------------------------------------------------------- sort


def _sorted(x, d, descending):
    require(not x.dtype.is_complex, "sort", f"complex numbers have no order, got {x.aval}; sort their real parts or absolute values")
    return order.sort([x, create.iota(x.shape, d, int64)], d, 1, descending)


def _sort_reference(x, dim=-1, descending=False, stable=False):
    if not x.ndim:
        return x, np.zeros((), np.int64)
    flip = (lambda y: np.flip(y, dim)) if descending else (lambda y: y)
    where = flip(np.argsort(flip(x), axis=dim, kind="stable"))
    where = x.shape[dim] - 1 - where if descending else where
    return np.take_along_axis(x, where, dim), where


@composite(method=True, multi=True, returns=ValuesIndices, reference=_sort_reference)
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> tuple:
    """The elements in rising (or falling) order along dim, and where they come from: a named tuple (values, indices).

    It is always stable; NaN counts as the largest. RuntimeError for complex numbers.

    >>> import functorch_lite as fl
    >>> s = fl.sort(fl.asarray([3, 1, 2]), descending=True)
    >>> s.values.tolist(), s.indices.tolist()
    ([3, 2, 1], [0, 2, 1])
    """
    return along("sort", lambda x, d: _sorted(x, d, descending), input, dim)


@composite(method=True, reference=lambda x, dim=-1, descending=False, stable=False: _sort_reference(x, dim, descending)[1])
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Where the elements of the sorted array come from: the indices of `sort`.

    >>> import functorch_lite as fl
    >>> fl.argsort(fl.asarray([3, 1, 2])).tolist()
    [1, 2, 0]
    """
    return along("argsort", lambda x, d: _sorted(create.detach(x), d, descending)[1], input, dim)


@composite(method=True, reference=lambda x: np.sort(x, 0) if x.ndim else x)
def msort(input: Tensor) -> Tensor:
    """The elements in rising order along the first dimension: the values of `sort`.

    >>> import functorch_lite as fl
    >>> fl.msort(fl.asarray([[3, 1], [1, 2]])).tolist()
    [[1, 1], [3, 2]]
    """
    return along("msort", lambda x, d: _sorted(x, d, False)[0], input, 0)


def _topk_reference(x, k, dim=-1, largest=True, sorted=True):
    values, where = _sort_reference(x, dim, largest)
    return (np.take(values, range(k), dim), np.take(where, range(k), dim)) if x.ndim else (values, where)


@composite(method=True, multi=True, returns=ValuesIndices, reference=_topk_reference)
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple:
    """The k largest (or smallest) elements along dim, in order, and where they are: a named tuple (values, indices).

    NaN counts as the largest. RuntimeError if there are fewer than k.

    >>> import functorch_lite as fl
    >>> fl.topk(fl.asarray([3.0, 1.0, 2.0]), 2).values.tolist()
    [3.0, 2.0]
    """

    def take(x, d):
        require(0 <= k <= x.shape[d], "topk", f"k must be in [0, {x.shape[d]}], the size along dim={dim} of {x.aval}, got {k}")
        require(k or input.ndim, "topk", "a 0-dim Array has one element: k must be 1, got 0")
        require(not x.dtype.is_complex, "topk", f"complex numbers have no order, got {x.aval}")
        if largest and d == x.ndim - 1:
            return order.top_k(x, k)
        return tuple([shape.part(y, d, 0, k) for y in _sorted(x, d, largest)])

    return along("topk", take, input, dim)


@composite(method=True, multi=True, returns=ValuesIndices, reference=lambda x, k, dim=-1, keepdim=False: _kth_reference(x, k, dim, keepdim))
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple:
    """The k-th smallest element along dim (k counts from 1), and where it is: a named tuple (values, indices).

    >>> import functorch_lite as fl
    >>> fl.kthvalue(fl.asarray([3.0, 1.0, 2.0]), 2).values.item()
    2.0
    """

    def pick(x, d):
        require(1 <= k <= x.shape[d], "kthvalue", f"k must be in [1, {x.shape[d]}], the size along dim={dim} of {x.aval}, got {k}")
        out = [shape.part(y, d, k - 1, k) for y in _sorted(x, d, False)]
        rest = (*x.shape[:d], *x.shape[d + 1 :])
        return tuple([y if keepdim or not array_of(input).ndim else shape.reshape(y, rest) for y in out])

    return along("kthvalue", pick, input, dim)


def _kth_reference(x, k, dim, keepdim):
    out = _sort_reference(x, dim)
    return tuple([np.take(y, [k - 1] if keepdim else k - 1, dim) if x.ndim else y for y in out])


# ------------------------------------------------------------------------------------------------------------- search


def _search_reference(edges, x, *, out_int32=False, right=False, side=None, sorter=None):
    right = right or side == "right"
    if sorter is not None:
        edges = np.take_along_axis(edges, sorter, -1)
    rows = np.broadcast_to(edges, (*x.shape[:-1], edges.shape[-1])) if x.ndim else edges
    out = np.empty(x.shape, np.int32 if out_int32 else np.int64)
    for i in np.ndindex(x.shape):
        out[i] = np.searchsorted(rows[i[:-1]] if x.ndim else edges, x[i], "right" if right else "left")
    return out


@composite(reference=_search_reference)
def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where each element of input would go into a sequence that rises along its last dimension: the first place (or, with ``right`` or
    ``side='right'``, the last) that keeps the order. Int64, or int32 with ``out_int32``.

    The sequence is 1-dim, or has input's leading dimensions; ``sorter`` holds the indices that sort it. By bisection.

    >>> import functorch_lite as fl
    >>> fl.searchsorted(fl.asarray([1, 3, 5]), fl.asarray([0, 3, 9])).tolist()
    [0, 1, 3]
    """
    edges, x = array_of(sorted_sequence), array_of(input)
    require(edges.ndim > 0, "searchsorted", f"sorted_sequence must have a dimension, got {edges.aval}")
    ok = edges.ndim == 1 or edges.shape[:-1] == x.shape[:-1] and edges.ndim == x.ndim
    require(ok, "searchsorted", f"sorted_sequence must be 1-dim or have the leading dimensions of input, got {shown(edges, x)}")
    require(side in (None, "left", "right"), "searchsorted", f"side must be 'left' or 'right', got {side!r}", ValueError)
    require(not (right and side == "left"), "searchsorted", "side='left' contradicts right=True", ValueError)
    if sorter is not None:
        require(sorter.shape == edges.shape, "searchsorted", f"sorter must have the shape of sorted_sequence, got {shown(sorter, edges)}")
        edges = index.take_along(edges, sorter, edges.ndim - 1)
    n = edges.shape[-1]
    dtype = result_type(edges, x)
    edges, x = to_dtype(edges, dtype), to_dtype(x, dtype)
    found = create.full(x.shape, 0, int64)
    step = 1 << (n.bit_length() - 1) if n else 0
    while step:  # from the largest power of two down: go on as long as what is passed is smaller
        ahead = elementwise.add(found, create.full(x.shape, step, int64))
        here = compare.minimum(ahead, create.full(x.shape, n, int64))
        edge = _take(edges, elementwise.sub(here, create.full(x.shape, 1, int64)))
        stop = compare.gt(edge, x) if right or side == "right" else compare.ge(edge, x)
        go = bits.bitwise_and(compare.le(ahead, create.full(x.shape, n, int64)), bits.bitwise_not(stop))
        found = compare.select(go, ahead, found)
        step //= 2
    return to_dtype(found, int32) if out_int32 else found


def _take(edges, at):
    if edges.ndim == 1:
        return index.gather(edges, [at], (0,), (0,))
    return index.take_along(edges, at, edges.ndim - 1)


@method
def bucketize(input: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The bucket between `boundaries` (1-dim, rising) to which each element belongs: the i with boundaries[i-1] < x <= boundaries[i],
    or, with ``right``, boundaries[i-1] <= x < boundaries[i].

    >>> import functorch_lite as fl
    >>> fl.bucketize(fl.asarray([1, 2, 9]), fl.asarray([2, 4])).tolist()
    [0, 0, 2]
    """
    require(array_of(boundaries).ndim == 1, "bucketize", f"boundaries must be 1-dim, got {shown(boundaries)}")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


__all__ = "argsort bucketize cummax cummin cumprod cumsum kthvalue logcumsumexp msort searchsorted sort topk".split()

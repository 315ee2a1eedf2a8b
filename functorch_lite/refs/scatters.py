"""Writing elements at index arrays along a dimension: the scatter_* and index_* families, which give changed copies."""

from __future__ import annotations

import numpy as np

from ..core.array import asarray
from ..core.aval import aval_of
from ..core.dtype import BOOL, NUMBERS, bool_
from ..core.face import faced
from ..core.op import Tensor, composite
from ..prims import algebra, compare, create, elementwise, index, scatters
from ..prims.places import along
from ..prims.reduce import limit
from .arguments import require, require_fits, require_one_dtype, shown
from .elementwise import floor_divide
from .families import alias
from .gathers import along_dim, at_least_1d, corner, index_of, index_row, rows_at, same_rank
from .promotion import array_of, canonical_dim, cast
from .shape import reshaped

# ------------------------------------------------------------------------------------------------------ reductions

_COMBINE = {
    "set": scatters.scatter,
    "sum": scatters.scatter_add,
    "mean": scatters.scatter_add,
    "prod": scatters.scatter_mul,
    "amax": scatters.scatter_max,
    "amin": scatters.scatter_min,
}
_OF_BOOLS = {"sum": "amax", "prod": "amin"}  # a sum of bools is their disjunction, a product their conjunction


def _combined(reduce: str, x, src, places, where):
    """x with src combined into its places."""
    return _COMBINE[_OF_BOOLS.get(reduce, reduce) if x.dtype.category == BOOL else reduce](x, src, places, *where)


def _identity(reduce: str, dtype):
    """What a reduction starts from."""
    if reduce in ("amax", "amin"):
        return limit(dtype.dtype, reduce == "amin").item()
    return 1 if reduce == "prod" else 0


def _require_reduce(name: str, reduce: str) -> None:
    require(reduce in _COMBINE and reduce != "set", name, f"reduce must be 'sum', 'prod', 'mean', 'amax' or 'amin', got {reduce!r}")


def _reduced(x, src, places, where, reduce: str, include_self: bool):
    """x with src combined into its places; without include_self what was there counts only where nothing is written."""
    if not include_self:
        touched = scatters.scatter(create.full(x.shape, False, bool_), create.full(src.shape, True, bool_), places, *where)
        x = compare.select(touched, create.full(x.shape, _identity(reduce, x.dtype), x.dtype), x)
    out = _combined(reduce, x, src, places, where)
    if reduce != "mean":
        return out
    count = scatters.scatter_add(create.full(x.shape, int(include_self), x.dtype), algebra.one_like(src), places, *where)
    if not include_self:
        count = compare.maximum(count, algebra.one_like(count)) if not x.dtype.is_complex else _at_least_one(count)
    return elementwise.div(out, count) if x.dtype.is_inexact else floor_divide(out, count)


def _at_least_one(count):
    none = compare.eq(count, algebra.full_like(count, 0))
    return compare.select(none, algebra.one_like(count), count)


_NUMPY = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum, "set": lambda a, b: b}


def _reference(x, places, values, reduce, include_self=True):
    """(NumPy) values combined into the flat positions `places` of x, one after the other."""
    out, count = x.flatten(), np.full(x.size, int(include_self))
    for at, v in zip(np.ravel(places), np.broadcast_to(values, np.shape(places)).flat):
        out[at] = v if count[at] == 0 else _NUMPY[reduce](out[at], v)
        count[at] += 1
    if reduce == "mean":
        count = np.maximum(count, 1)
        out = out // count if x.dtype.kind in "iu" else (out / count).astype(x.dtype)
    return out.reshape(x.shape)


# ------------------------------------------------------------------------------------------- scatter: one index an element


def _scattered(name: str, input, dim: int, index_, src, write):
    """write(block, index, src, parameters) on the block of input that a (perhaps smaller) index points into along dim."""
    x, i = array_of(input), index_of(name, index_)
    d = canonical_dim(name, dim, x.ndim)
    if i.aval.size == 0:
        return x
    if not aval_of(src).shape and (i.ndim or aval_of(src).weak):
        require_fits(name, src, x)
        src = cast(src, x.dtype, i.shape)
    require_one_dtype(name, input=x, src=src)
    shape = x.shape
    x, i, src = at_least_1d(x), at_least_1d(i), at_least_1d(src)
    block = same_rank(name, x, i, d)
    ok = src.ndim == i.ndim and all(a <= b for a, b in zip(i.shape, src.shape))
    require(ok, name, f"expected index to be no larger than src, got index and src {shown(i, src)}")
    new = write(corner(x, block), [i], corner(src, i.shape), along(x.ndim, d, "check", False))
    if block != x.shape:
        new = index.dynamic_update_slice(x, new, [algebra.zero_index()] * x.ndim)
    return reshaped(new, shape)


def _scatter_reference(x, dim, index, src, reduce, include_self=True):
    a, i = np.atleast_1d(x), np.atleast_1d(index)
    if not i.size:
        return x
    at = list(np.indices(i.shape))
    at[dim % a.ndim] = i
    values = np.atleast_1d(src)[tuple(map(slice, i.shape))] if np.ndim(src) else src
    return _reference(a, np.arange(a.size).reshape(a.shape)[tuple(at)], values, reduce, include_self).reshape(x.shape)


def _plain_scatter_reference(x, dim, index, src=None, *, value=None, reduce=None):
    return _scatter_reference(x, dim, index, value if src is None else src, _REDUCE.get(reduce, "set"))


@composite(method=True, reference=_plain_scatter_reference)
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Tensor | None = None, *, value: Tensor | None = None, reduce: str | None = None
) -> Tensor:
    """Input with src (an Array at least as large as index, or a number) written at index along dim: ``out[index[i, j], j] = src[i, j]``
    for dim 0. Of several values for one element the last is kept. ``reduce='add'`` or ``'multiply'`` combines instead.

    Raises RuntimeError for sizes or dtypes that do not fit, IndexError for an index out of range (eager mode only).

    >>> import functorch_lite as fl
    >>> fl.scatter(fl.asarray([[0, 0], [0, 0]]), 1, fl.asarray([[0], [1]]), 5).tolist()
    [[5, 0], [0, 5]]
    """
    require((src is None) != (value is None), "scatter", "expected either src or value", TypeError)
    require(reduce in (None, *_REDUCE), "scatter", f"reduce must be None, 'add' or 'multiply', got {reduce!r}")
    src = value if src is None else src
    return _scattered("scatter", input, dim, index, src, lambda x, i, s, where: _combined(_REDUCE.get(reduce, "set"), x, s, i, where))


_REDUCE = {"add": "sum", "multiply": "prod"}


@composite(method=True, reference=lambda x, dim, index, src: _scatter_reference(x, dim, index, src, "sum"))
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Input with the elements of src added at index along dim; see `scatter`.

    >>> import functorch_lite as fl
    >>> fl.scatter_add(fl.asarray([0, 0]), 0, fl.asarray([1, 1]), fl.asarray([2, 3])).tolist()
    [0, 5]
    """
    return _scattered("scatter_add", input, dim, index, src, lambda x, i, s, where: _combined("sum", x, s, i, where))


@composite(method=True, reference=_scatter_reference)
def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """Input with the elements of src reduced into it at index along dim; see `scatter`.

    reduce: 'sum', 'prod', 'mean', 'amax' or 'amin'. Without include_self, the elements of input that are written to do not count.
    At a tie of amax or amin all that tie share the gradient.

    >>> import functorch_lite as fl
    >>> fl.scatter_reduce(fl.asarray([1.0, 1.0]), 0, fl.asarray([0, 0]), fl.asarray([2.0, 4.0]), "mean", include_self=False).tolist()
    [3.0, 1.0]
    """
    _require_reduce("scatter_reduce", reduce)
    return _scattered("scatter_reduce", input, dim, index, src, lambda x, i, s, where: _reduced(x, s, i, where, reduce, include_self))


@composite(reference=lambda x, indices, values, dim: _put_along_reference(x, indices, values, dim))
def put_along_axis(input: Tensor, indices: Tensor, values: Tensor, dim: int | None) -> Tensor:
    """Input with values (which broadcast to indices) at indices along dim: what `take_along_dim` reads. Without dim, in the flat input.

    >>> import functorch_lite as fl
    >>> fl.put_along_axis(fl.asarray([[1, 2], [3, 4]]), fl.asarray([[1], [0]]), 9, 1).tolist()
    [[1, 9], [9, 4]]
    """
    shape = array_of(input).shape
    x, i, d = along_dim("put_along_axis", input, indices, dim)
    return reshaped(
        scatters.put_along(scatters.scatter, x, i, cast(values, x.dtype, i.shape), d, "wrap"), shape if dim is None else x.shape
    )


def _put_along_reference(x, indices, values, dim):
    out = x.copy()
    np.put_along_axis(out, indices, values, dim)
    return out


# ----------------------------------------------------------------------------------------- index_*: one index a row


def _rows(name: str, input, dim: int, index_, source):
    """(x, [index], source, parameters) of ops in which a 1-dim index names rows, for which source has one each."""
    x, i, source = array_of(input), index_row(name, index_), array_of(source)
    require_one_dtype(name, input=x, source=source)
    d = canonical_dim(name, dim, x.ndim)
    x, source = at_least_1d(x), at_least_1d(source)
    expected = (*x.shape[:d], i.shape[0], *x.shape[d + 1 :])
    require(source.shape == expected, name, f"expected source of shape {list(expected)}, a row for each index, got {shown(source)}")
    return x, [i], source, (*rows_at(d), False)


def _rows_reference(x, dim, index, source, reduce, include_self=True):
    a = np.atleast_1d(x)
    places = np.take(np.arange(a.size).reshape(a.shape), np.atleast_1d(index), dim)
    return _reference(a, places, np.reshape(source, places.shape) if np.ndim(source) else source, reduce, include_self).reshape(x.shape)


@composite(method=True, reference=lambda x, dim, index, source, alpha=1: _rows_reference(x, dim, index, alpha * source, "sum"))
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Tensor = 1) -> Tensor:
    """Input with alpha times the rows of source added to those that a 1-dim index names along dim.

    >>> import functorch_lite as fl
    >>> fl.index_add(fl.asarray([1, 2]), 0, fl.asarray([0, 0]), fl.asarray([5, 6])).tolist()
    [12, 2]
    """
    x, i, source, where = _rows("index_add", input, dim, index, source)
    if alpha.__class__ not in NUMBERS or alpha != 1:
        source = elementwise.mul(source, cast(alpha, source.dtype, source.shape))
    return reshaped(_combined("sum", x, source, i, where), array_of(input).shape)


@composite(method=True, reference=lambda x, dim, index, source: _rows_reference(x, dim, index, source, "set"))
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Input with the rows that a 1-dim index names along dim replaced by those of source.

    >>> import functorch_lite as fl
    >>> fl.index_copy(fl.asarray([1, 2, 3]), 0, fl.asarray([2, 0]), fl.asarray([8, 9])).tolist()
    [9, 2, 8]
    """
    x, i, source, where = _rows("index_copy", input, dim, index, source)
    return reshaped(scatters.scatter(x, source, i, *where), array_of(input).shape)


@composite(method=True, reference=_rows_reference)
def index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """Input with the rows of source reduced into those that a 1-dim index names along dim; reduce as in `scatter_reduce`.

    >>> import functorch_lite as fl
    >>> fl.index_reduce(fl.asarray([1.0, 2.0]), 0, fl.asarray([0, 0]), fl.asarray([5.0, 6.0]), "amax").tolist()
    [6.0, 2.0]
    """
    _require_reduce("index_reduce", reduce)
    x, i, source, where = _rows("index_reduce", input, dim, index, source)
    return reshaped(_reduced(x, source, i, where, reduce, include_self), array_of(input).shape)


@composite(method=True, reference=lambda x, dim, index, value: _rows_reference(x, dim, index, value, "set"))
def index_fill(input: Tensor, dim: int, index: Tensor, value: Tensor) -> Tensor:
    """Input with the rows that a 1-dim index names along dim filled with value, a number or 0-dim Array.

    >>> import functorch_lite as fl
    >>> fl.index_fill(fl.asarray([1, 2, 3]), 0, fl.asarray([0, 2]), 9).tolist()
    [9, 2, 9]
    """
    x, i, v = array_of(input), index_row("index_fill", index), array_of(value)
    require(v.ndim == 0, "index_fill", f"value must be a number or a 0-dim Array, got {shown(v)}")
    require_fits("index_fill", value, x)
    d = canonical_dim("index_fill", dim, x.ndim)
    flat = at_least_1d(x)
    rows = cast(value, x.dtype, (*flat.shape[:d], i.shape[0], *flat.shape[d + 1 :]))
    return reshaped(scatters.scatter(flat, rows, [i], *rows_at(d, "wrap"), False), x.shape)


# --------------------------------------------------------------------------------------------- positions in the flat array


@composite(
    method=True,
    reference=lambda x, index, source, accumulate=False: _reference(x, np.ravel(index), np.ravel(source), "sum" if accumulate else "set"),
)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Input with the elements of source at these positions of the flat array; with accumulate they are added.

    >>> import functorch_lite as fl
    >>> fl.put(fl.asarray([[1, 2], [3, 4]]), fl.asarray([0, -1]), fl.asarray([8, 9])).tolist()
    [[8, 2], [3, 9]]
    """
    x, i, s = array_of(input), index_of("put", index), array_of(source)
    require_one_dtype("put", input=x, source=s)
    require(i.aval.size == s.aval.size, "put", f"expected as many elements of source as of index, got {shown(i, s)}")
    i, s = (reshaped(a, (a.aval.size,)) for a in (i, s))
    flat, where = reshaped(x, (x.aval.size,)), (*rows_at(0, "wrap"), False)
    return reshaped(_combined("sum" if accumulate else "set", flat, s, [i], where), x.shape)


@faced
def index_put(input: Tensor, indices: tuple, values: Tensor, accumulate: bool = False) -> Tensor:
    """Input with values at ``input[indices]``: ``input.at[indices].set(values)``, or ``.add`` with accumulate.

    >>> import functorch_lite as fl
    >>> fl.index_put(fl.asarray([1, 2]), (fl.asarray([0, 0]),), fl.asarray([5, 6]), accumulate=True).tolist()
    [12, 2]
    """
    spot = asarray(input).at[tuple(indices)]
    return spot.add(values) if accumulate else spot.set(values)


@faced
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """Input with src at one index along dim: what `select` reads.

    >>> import functorch_lite as fl
    >>> fl.select_scatter(fl.asarray([[1, 2], [3, 4]]), fl.asarray([8, 9]), 0, 0).tolist()
    [[8, 9], [3, 4]]
    """
    x = asarray(input)
    return x.at[(slice(None),) * canonical_dim("select_scatter", dim, x.ndim) + (index,)].set(src)


@faced
def slice_scatter(input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """Input with src in a slice along dim.

    >>> import functorch_lite as fl
    >>> fl.slice_scatter(fl.asarray([1, 2, 3]), fl.asarray([8, 9]), start=1).tolist()
    [1, 8, 9]
    """
    x = asarray(input)
    return x.at[(slice(None),) * canonical_dim("slice_scatter", dim, x.ndim) + (slice(start, end, step),)].set(src)


alias(index_put=index_put, select_scatter=select_scatter, slice_scatter=slice_scatter)

__all__ = (
    "index_add index_copy index_fill index_put index_reduce put put_along_axis scatter scatter_add scatter_reduce select_scatter slice_scatter"
).split()

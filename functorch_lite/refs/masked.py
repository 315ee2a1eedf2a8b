"""What a mask picks out: results whose shape depends on data (eager mode), and their forms of a static size (everywhere)."""

from __future__ import annotations

import numpy as np

from ..core.array import asarray
from ..core.dtype import BOOL, INTEGER, bool_, float64, int64
from ..core.face import faced
from ..core.op import Tensor, composite
from ..errors import ConcretizationError
from ..prims import algebra, compare, create, elementwise, index, order, scatters
from ..prims import shape as prims
from .arguments import require, shown
from .families import alias
from .gathers import rows_at
from .promotion import array_of, broadcast_shapes, cast, expand_to, to_dtype
from .shape import reshaped


def data_of(name: str, x, wanted: str) -> np.ndarray:
    """The data that decides a shape."""
    try:
        return np.asarray(x.concrete(f"the data of {name}").buffer)
    except ConcretizationError as error:
        raise ConcretizationError(
            f"{name}: the shape of the result depends on data, and a traced value has none; {wanted}. ({error})"
        ) from None


def _true(x):
    """Which elements are not zero."""
    return x if x.dtype is bool_ else compare.ne(x, algebra.zeros(x.aval))


def _flat(x):
    return reshaped(x, (x.aval.size,))


def _rank(mask):
    """For each True of a flat mask how many came before it (int64)."""
    counts = order.cumsum(to_dtype(mask, int64), 0, False)
    return elementwise.sub(counts, algebra.one_like(counts))


def _positions(mask, size: int):
    """The flat positions of the first `size` True elements, -1 behind the last."""
    flat = _flat(mask)
    n = flat.shape[0]
    if n == 0:
        return create.full((size,), -1, int64)
    place = compare.select(flat, _rank(flat), create.full((n,), size, int64))  # those beyond are dropped
    return scatters.scatter(create.full((size,), -1, int64), create.iota((n,), 0, int64), [place], *rows_at(0, "drop"), True)


# ---------------------------------------------------------------------------------------------------------- nonzero


def _nonzero_reference(x, size, fill_value=-1):
    out = np.full((size, x.ndim), fill_value, np.int64)
    found = np.argwhere(x)[:size]
    out[: len(found)] = found
    return out


@composite(reference=_nonzero_reference)
def nonzero_static(input: Tensor, size: int, fill_value: int = -1) -> Tensor:
    """The indices of the elements that are not zero, a row each (int64), as `nonzero`, but exactly `size` rows: further ones are left
    out, missing ones filled with fill_value. Works under jit and vmap.

    >>> import functorch_lite as fl
    >>> fl.nonzero_static(fl.asarray([0, 5, 7]), size=3).tolist()
    [[1], [2], [-1]]
    """
    x = array_of(input)
    require(size >= 0, "nonzero_static", f"size must not be negative, got {size}")
    rest = _positions(_true(x), size)
    missing = compare.lt(rest, algebra.zeros(rest.aval))
    columns = []
    for n in reversed(x.shape):
        n = algebra.full_like(rest, max(n, 1))
        columns.insert(0, elementwise.rem(rest, n))
        rest = elementwise.trunc_div(rest, n)
    if not columns:
        return create.full((size, 0), 0, int64)
    columns = [reshaped(compare.select(missing, create.full((size,), fill_value, int64), c), (size, 1)) for c in columns]
    return prims.concatenate(columns, 1)


@faced
def nonzero(input: Tensor, *, as_tuple: bool = False, size: int | None = None, fill_value: int = -1):
    """The indices of the elements that are not zero: int64 of shape (count, dimensions), or with as_tuple one Array a dimension.

    The count depends on data: under jit and vmap give ``size``, the number of rows wanted (see `nonzero_static`).

    >>> import functorch_lite as fl
    >>> fl.asarray([[0, 1], [2, 0]]).nonzero().tolist()
    [[0, 1], [1, 0]]
    """
    x = asarray(input)
    if size is not None:
        out = nonzero_static(x, size, fill_value)
    else:
        data = data_of("nonzero", x, "give size=, the number of rows wanted, or choose with fl.where")
        out = asarray(np.stack(np.nonzero(data), 1) if x.ndim else np.zeros((int(data != 0), 0), np.int64))
    if as_tuple and not x.ndim:  # as if it had one dimension
        return (asarray(np.zeros(out.shape[0], np.int64)),)
    return tuple([out[:, d] for d in range(x.ndim)]) if as_tuple else out


def argwhere(input: Tensor, *, size: int | None = None, fill_value: int = -1) -> Tensor:
    """The indices of the elements that are not zero, a row each; the same as `nonzero`.

    >>> import functorch_lite as fl
    >>> fl.argwhere(fl.asarray([0, 1])).tolist()
    [[1]]
    """
    return nonzero(input, size=size, fill_value=fill_value)


@faced
def flatnonzero(input: Tensor, *, size: int | None = None, fill_value: int = -1) -> Tensor:
    """The positions in the flat input of the elements that are not zero.

    >>> import functorch_lite as fl
    >>> fl.flatnonzero(fl.asarray([[0, 1], [2, 0]])).tolist()
    [1, 2]
    """
    return nonzero(_flat(asarray(input)), size=size, fill_value=fill_value)[:, 0]


# ------------------------------------------------------------------------------------------------- masked selections


def _masked(name: str, input, mask):
    """Input and mask broadcast to one shape."""
    x, m = array_of(input), array_of(mask)
    require(m.dtype.category == BOOL, name, f"expected a bool mask, got {shown(m)}")
    target = broadcast_shapes(x.shape, m.shape)
    return expand_to(x, target), expand_to(m, target)


def _select_reference(x, mask, size, fill_value=0):
    x, mask = np.broadcast_arrays(x, mask)
    found = x[mask][:size]
    return np.concatenate([found, np.full(size - len(found), fill_value, x.dtype)])


@composite(name="masked_select_static", reference=_select_reference)
def _masked_select_static(input: Tensor, mask: Tensor, size: int, fill_value: Tensor = 0) -> Tensor:
    """The first `size` elements of input where mask holds, fill_value where there are fewer."""
    x, m = _masked("masked_select", input, mask)
    if not x.aval.size:
        return cast(fill_value, x.dtype, (size,))
    places = _positions(m, size)
    missing = compare.lt(places, algebra.zeros(places.aval))
    found = index.gather(_flat(x), [compare.select(missing, algebra.zeros(places.aval), places)], *rows_at(0, "inside"))
    return compare.select(missing, cast(fill_value, x.dtype, (size,)), found)


@faced
def masked_select(input: Tensor, mask: Tensor, *, size: int | None = None, fill_value: Tensor = 0) -> Tensor:
    """The elements of input where the bool mask holds (both broadcast), in one dimension.

    Their number depends on data: under jit and vmap give ``size``; further elements are left out, missing ones are fill_value.

    >>> import functorch_lite as fl
    >>> x = fl.asarray([1.0, -2.0, 3.0])
    >>> fl.masked_select(x, x > 0).tolist(), fl.masked_select(x, x > 0, size=3).tolist()
    ([1.0, 3.0], [1.0, 3.0, 0.0])
    """
    if size is not None:
        return _masked_select_static(input, mask, size, fill_value)
    x, m = _masked("masked_select", asarray(input), asarray(mask))
    data = data_of("masked_select", m, "give size=, the number of elements wanted, or choose with fl.where(mask, x, other)")
    return index.gather(_flat(x), [asarray(np.flatnonzero(data))], *rows_at(0, "inside"), True)


def _scatter_reference(x, mask, source):
    x, mask = np.broadcast_arrays(x, mask)
    out = x.copy()
    out[mask] = source.ravel()[: mask.sum()]
    return out


@composite(method=True, reference=_scatter_reference)
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Input with its elements where mask holds replaced by those of source, in order. Works under jit and vmap.

    Raises IndexError in eager mode where source has too few elements.

    >>> import functorch_lite as fl
    >>> fl.masked_scatter(fl.asarray([1, 2, 3]), fl.asarray([True, False, True]), fl.asarray([8, 9])).tolist()
    [8, 2, 9]
    """
    x, m = _masked("masked_scatter", input, mask)
    s = array_of(source)
    require(s.dtype is x.dtype, "masked_scatter", f"expected input and source of one dtype, got {shown(x, s)}")
    if not x.aval.size or not s.aval.size:
        return x
    flat = _flat(m)
    place = compare.select(flat, _rank(flat), create.full(flat.shape, 0, int64))
    found = index.gather(_flat(s), [place], *rows_at(0, "check"))
    return compare.select(m, reshaped(found, x.shape), x)


# ---------------------------------------------------------------------------------------------------------- bincount


def _bincount_reference(x, weights=None, *, length):
    return np.bincount(x[(x >= 0) & (x < length)], None if weights is None else weights[(x >= 0) & (x < length)], length)


@composite(name="bincount_static", reference=_bincount_reference)
def _bincount_static(input: Tensor, weights: Tensor | None = None, *, length: int) -> Tensor:
    """How often (or with how much weight) each of 0 ... length - 1 occurs; other values do not count."""
    x = array_of(input)
    if weights is None:
        w = create.full(x.shape, 1, int64)
    else:
        w = array_of(weights)
        require(w.shape == x.shape, "bincount", f"expected weights of the shape of input, got {shown(x, w)}")
        w = w if w.dtype.is_floating_point else to_dtype(w, float64)
    x = to_dtype(x, int64)
    inside = compare.select(compare.lt(x, algebra.zeros(x.aval)), create.full(x.shape, length, int64), x)
    return scatters.scatter_add(create.full((length,), 0, w.dtype), w, [inside], *rows_at(0, "drop"), False)


@faced
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0, *, length: int | None = None) -> Tensor:
    """How often each of 0, 1, 2 ... occurs in a 1-dim input of integers (int64), or the sum of their weights.

    The result is as long as the largest value asks for, at least minlength. Under jit and vmap give ``length``; values beyond
    do not count.

    >>> import functorch_lite as fl
    >>> fl.bincount(fl.asarray([1, 1, 3]), minlength=5).tolist()
    [0, 2, 0, 1, 0]
    """
    x = asarray(input)
    require(x.ndim == 1 and x.dtype.category == INTEGER, "bincount", f"expected a 1-dim array of integers, got {shown(x)}")
    require(minlength >= 0, "bincount", f"minlength must not be negative, got {minlength}")
    if length is None:
        data = data_of("bincount", x, "give length=, the number of bins")
        require(not data.size or data.min() >= 0, "bincount", "expected no negative values")
        length = max(int(data.max()) + 1 if data.size else 0, minlength)
    return _bincount_static(x, weights, length=length)


alias(nonzero=nonzero, nonzero_static=nonzero_static, argwhere=argwhere, masked_select=masked_select, bincount=bincount)

__all__ = "argwhere bincount flatnonzero masked_scatter masked_select nonzero nonzero_static".split()

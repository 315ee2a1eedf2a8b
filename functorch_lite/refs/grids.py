"""Arrays combined with one another: grids, products, combinations, and the places of flat positions."""

from __future__ import annotations

import itertools
import math

import numpy as np

from ..core.array import Operable, asarray
from ..core.dtype import INTEGER
from ..core.face import faced
from ..core.op import Shape, Tensor, composite
from ..prims import algebra, elementwise
from .arguments import require, shown
from .gathers import index_select
from .join import cat
from .promotion import array_of
from .shape import as_tuple, reshaped, stretched


def _spread(function):
    """A function of several arrays that takes them as one sequence too."""

    def f(*tensors, **named):
        if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
            tensors = tensors[0]
        return function(*tensors, **named)

    f.__name__ = f.__qualname__ = function.__name__
    f.__doc__, f.op, f.__wrapped__ = function.__doc__, function.op, function.__wrapped__
    return f


@_spread
@composite(reference=lambda *xs, indexing="ij": tuple(np.meshgrid(*xs, indexing=indexing)), multi=True)
def meshgrid(*tensors: Tensor, indexing: str = "ij") -> tuple:
    """Coordinate arrays of 1-dim arrays (or a sequence of them): result i repeats array i along all other dimensions (a tuple).

    ``indexing='xy'`` exchanges the first two dimensions. Raises RuntimeError for arrays of several dimensions or of several dtypes.

    >>> import functorch_lite as fl
    >>> [x.tolist() for x in fl.meshgrid(fl.asarray([1, 2]), fl.asarray([3, 4]))]
    [[[1, 1], [2, 2]], [[3, 4], [3, 4]]]
    """
    xs = [array_of(x) for x in tensors]
    require(indexing in ("ij", "xy"), "meshgrid", f"indexing must be 'ij' or 'xy', got {indexing!r}")
    require(len(xs) > 0, "meshgrid", "expected a non-empty sequence of arrays", ValueError)
    require(all(x.ndim <= 1 for x in xs), "meshgrid", f"expected arrays of at most 1 dimension, got {shown(*xs)}")
    require(len({x.dtype for x in xs}) == 1, "meshgrid", f"expected all arrays to have the same dtype, got {shown(*xs)}")
    place = list(range(len(xs)))
    if indexing == "xy" and len(xs) > 1:
        place[:2] = 1, 0
    sizes = [0] * len(xs)
    for p, x in zip(place, xs):
        sizes[p] = math.prod(x.shape)
    return tuple(
        [stretched("meshgrid", reshaped(x, (math.prod(x.shape), *(1,) * (len(xs) - p - 1))), tuple(sizes)) for p, x in zip(place, xs)]
    )


@_spread
@composite(reference=lambda *xs: np.stack([x.ravel() for x in np.meshgrid(*xs, indexing="ij")], -1) if len(xs) > 1 else xs[0])
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All choices of one element of each 1-dim array, as the rows of a matrix, the last array's changing fastest; of one array itself.

    Raises RuntimeError for arrays that are not 1-dim.

    >>> import functorch_lite as fl
    >>> fl.cartesian_prod(fl.asarray([1, 2]), fl.asarray([3, 4])).tolist()
    [[1, 3], [1, 4], [2, 3], [2, 4]]
    """
    xs = [array_of(x) for x in tensors]
    require(len(xs) > 0, "cartesian_prod", "expected at least one array")
    require(all(x.ndim == 1 for x in xs), "cartesian_prod", f"expected 1-dim arrays, got {shown(*xs)}")
    if len(xs) == 1:
        return xs[0]
    return cat([reshaped(x, (x.aval.size, 1)) for x in meshgrid(*xs)], 1)


def _chosen(n: int, r: int, with_replacement: bool) -> np.ndarray:
    every = (itertools.combinations_with_replacement if with_replacement else itertools.combinations)(range(n), r)
    return np.asarray(list(every), np.int64).reshape(-1, r)


@faced
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements of a 1-dim input, in its order, as the rows of a matrix; with_replacement lets one stand several times.

    >>> import functorch_lite as fl
    >>> fl.combinations(fl.asarray([1, 2, 3])).tolist()
    [[1, 2], [1, 3], [2, 3]]
    """
    x = asarray(input)
    require(x.ndim == 1, "combinations", f"expected a 1-dim array, got {shown(x)}")
    require(r >= 0, "combinations", f"expected a number r that is not negative, got {r}")
    which = _chosen(x.aval.size, r, with_replacement) if r else np.zeros(0, np.int64)
    return reshaped(index_select(x, 0, which.reshape(-1)), which.shape)


Operable.combinations = combinations


def _unravelled(indices, shape):
    return tuple([np.asarray(i, indices.dtype) for i in np.unravel_index(indices, as_tuple(shape))])


@composite(multi=True, reference=_unravelled)
def unravel_index(indices: Tensor, shape: Shape) -> tuple:
    """The coordinates, an integer array for each dimension of an array of this shape (a tuple), of positions in its flat form.

    Raises ValueError for a negative size or indices that are no integers.

    >>> import functorch_lite as fl
    >>> [i.tolist() for i in fl.unravel_index(fl.asarray([4, 2]), (2, 3))]
    [[1, 0], [1, 2]]
    """
    x, sizes = array_of(indices), as_tuple(shape)
    require(x.dtype.category == INTEGER, "unravel_index", f"expected 'indices' to be integers, got {shown(x)}", ValueError)
    require(all(n >= 0 for n in sizes), "unravel_index", f"'shape' cannot have negative values, got {list(sizes)}", ValueError)
    out, left = [], x
    for n in reversed(sizes):
        each = algebra.full_like(left, n)
        out.append(elementwise.rem(left, each))
        left = elementwise.trunc_div(left, each)
    return tuple(out[::-1])


__all__ = ["cartesian_prod", "combinations", "meshgrid", "unravel_index"]

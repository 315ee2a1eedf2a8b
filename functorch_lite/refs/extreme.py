"""Extremes, their positions, and which element gets the derivative where several tie."""

from __future__ import annotations

import builtins
from typing import NamedTuple

import numpy as np

from ..core.array import Array, Operable
from ..core.dtype import int64
from ..core.op import Dims, Tensor, composite
from ..core.out import takes_out
from ..prims import create, index, reduce, shape
from .arguments import require_arrays
from .compare import maximum, minimum
from .families import method
from .promotion import array_of, canonical_dim, canonical_dims
from .reduce import by_numpy, kept

# -------------------------------------------------------------------------------------------------------- extremes


class ValuesIndices(NamedTuple):
    """What `max`, `sort`, `cummax` ... return of one dimension: the values and where they are (int64)."""

    values: Array
    indices: Array


def _extreme(name, prim, reference, which):
    def f(input: Tensor, dim: Dims | None = None, keepdim: bool = False) -> Tensor:
        x = array_of(input)
        dims = canonical_dims(name, dim, x.ndim)
        return kept(prim(x, dims), x, dims, keepdim)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"The {which} element over dim (None: all dimensions), NaN if any is. Elements that tie share the derivative evenly.\n\n"
        f"IndexError if there is none.\n\n>>> import functorch_lite as fl\n>>> fl.{name}(fl.asarray([[1, 5], [3, 2]]), dim=1).tolist()\n"
        f"{[5, 3] if which == 'largest' else [1, 2]}\n"
    )
    return composite(f, method=True, reference=by_numpy(reference))


amax = _extreme("amax", reduce.reduce_max, np.max, "largest")
amin = _extreme("amin", reduce.reduce_min, np.min, "smallest")


def _position(name, prim, reference, which):
    def f(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        x = array_of(input)
        if dim is None:
            flat = prim(shape.reshape(x, (x.aval.size,)), 0)
            return kept(flat, x, tuple(range(x.ndim)), keepdim)
        d = canonical_dim(name, dim, x.ndim)
        return kept(prim(x, d), x, (d,), keepdim) if x.ndim else create.full((), 0, int64)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"Where the first {which} element is along dim (int64), or in row-major order without dim. NaN counts as {which}.\n\n"
        f"IndexError if there is none.\n\n>>> import functorch_lite as fl\n>>> fl.{name}(fl.asarray([2, 7, 1])).item()\n"
        f"{1 if which == 'largest' else 2}\n"
    )
    return composite(f, method=True, reference=by_numpy(reference))


argmax = _position("argmax", reduce.argmax, np.argmax, "largest")
argmin = _position("argmin", reduce.argmin, np.argmin, "smallest")


def along(name, f, input, dim):
    """f(x, dim) of an array that has dimensions: a 0-dim one is made one of a single element, and back."""
    x = array_of(input)
    d = canonical_dim(name, dim, x.ndim)
    if x.ndim:
        return f(x, d)
    out = f(shape.reshape(x, (1,)), 0)
    return tuple([shape.reshape(y, ()) for y in out]) if out.__class__ is tuple else shape.reshape(out, ())


def _picked(name, position, reference):
    """An extreme along dim with its position: the derivative belongs to the element that is picked."""

    def f(input: Tensor, dim: int, keepdim: bool = False) -> tuple:
        def pick(x, d):
            where = shape.reshape(position(x, d), tuple([1 if i == d else n for i, n in enumerate(x.shape)]))
            return index.take_along(x, where, d), where

        out = along(name, pick, input, dim)
        rest = tuple([n for i, n in enumerate(input.shape) if i != dim % builtins.max(input.ndim, 1)])
        return out if keepdim or not input.ndim else tuple([shape.reshape(y, rest) for y in out])

    f.__name__ = f.__qualname__ = f"{name}_dim"
    f.__doc__ = f"The values of `{name}` along dim, and their positions."
    arg = {"max": np.argmax, "min": np.argmin}[name]

    def np_reference(x, dim, keepdim=False):
        return (by_numpy(reference)(x, dim, keepdim), by_numpy(arg)(x, dim, keepdim)) if x.ndim else (x, np.zeros((), np.int64))

    return composite(f, multi=True, returns=ValuesIndices, reference=np_reference)


max_dim = _picked("max", reduce.argmax, np.max)
min_dim = _picked("min", reduce.argmin, np.min)


def _three_forms(name, whole, picked, pairwise, which):
    def f(input, dim=None, keepdim=False, *, other=None):
        other = dim if isinstance(dim, Operable) else other
        if other is not None:
            require_arrays(name, input=input)
            return pairwise(input, other)
        return whole(input) if dim is None else picked(input, dim, keepdim)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"The {which} element, in PyTorch's three forms: of all, ``{name}(x)``; along dim, ``{name}(x, dim, keepdim)``, with its positions\n"
        f"as a named tuple (values, indices); and of two arrays, ``{name}(x, other)``, elementwise.\n\n"
        f"NaN is the result where any is. Of all, elements that tie share the derivative; along dim it belongs to the one returned.\n\n"
        f">>> import functorch_lite as fl\n>>> x = fl.asarray([[1, 5], [3, 2]])\n"
        f">>> fl.{name}(x).item(), fl.{name}(x, 1).indices.tolist(), fl.{name}(x, fl.asarray(3)).tolist()\n"
        + ("(5, [1, 0], [[3, 5], [3, 3]])\n" if name == "max" else "(1, [0, 1], [[1, 3], [3, 2]])\n")
    )
    return takes_out(method(f))


max = _three_forms("max", amax, max_dim, maximum, "largest")
min = _three_forms("min", amin, min_dim, minimum, "smallest")


class MinMax(NamedTuple):
    """What `aminmax` returns."""

    min: Array
    max: Array


@composite(
    method=True,
    multi=True,
    returns=MinMax,
    reference=lambda x, *, dim=None, keepdim=False: (by_numpy(np.min)(x, dim, keepdim), by_numpy(np.max)(x, dim, keepdim)),
)
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> tuple:
    """The smallest and the largest element along dim (None: of all), as a named tuple (min, max).

    >>> import functorch_lite as fl
    >>> fl.aminmax(fl.asarray([2, 7, 1])).max.item()
    7
    """
    return amin(input, dim, keepdim), amax(input, dim, keepdim)


__all__ = "amax amin aminmax argmax argmin max max_dim min min_dim".split()

"""ravel: a tree of Arrays as one vector, and back."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..core import pytree
from ..core.array import Array, asarray
from ..prims import create, shape
from ..refs.promotion import result_type, to_dtype
from .arguments import is_array


def ravel(tree) -> tuple[Array, Callable]:
    """All elements of a tree in one vector, and the function that makes such a tree of such a vector.

    The vector has the dtype to which the leaves promote; `unravel` gives each leaf its own dtype again.

    >>> import functorch_lite as fl
    >>> flat, unravel = fl.tree.ravel({"w": fl.ones((2, 2)), "b": fl.zeros(1)})
    >>> flat.tolist(), unravel(flat * 2)["w"].shape
    ([1.0, 1.0, 1.0, 1.0, 0.0], (2, 2))
    """
    leaves, spec = pytree.flatten(tree)
    for path, x in pytree.leaves_with_path(tree):
        if not is_array(x):
            raise TypeError(
                f"ravel: the leaf at {path} must be an Array or a number, got {pytree.describe(x)}; separate others with fl.partition"
            )
    leaves = [asarray(x) for x in leaves]
    avals = [x.aval for x in leaves]
    if not leaves:
        return create.full((0,), 0, asarray(0.0).dtype), lambda flat: spec.unflatten([])
    dtype = result_type(*leaves)
    flat = shape.concatenate([to_dtype(shape.reshape(x, (math.prod(x.shape),)), dtype) for x in leaves], 0)
    total = flat.shape[0]

    def unravel(flat):
        flat = asarray(flat)
        if flat.shape != (total,):
            raise ValueError(f"unravel: expected shape [{total}], got {flat.aval}")
        out, at = [], 0
        for a in avals:
            out.append(to_dtype(shape.reshape(shape.part(flat, 0, at, at + a.size), a.shape), a.dtype))
            at += a.size
        return spec.unflatten(out)

    return flat, unravel

"""functionalize: a function that changes cells, as one that does not until it is done."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from ..core import pytree
from ..core.cell import Cell
from ..core.face import Face
from .arguments import Written, callable_or_raise


def functionalize(f: Callable) -> Callable:
    """f run on fresh cells (and Tensors) in the places of its arguments'; each changed one is written back once, when f has returned.

    So transforms inside f may change them freely, one cell passed twice stays one cell, and an exception in the middle of f
    leaves every cell as it was.

    >>> import functorch_lite as fl
    >>> def count(calls, x):
    ...     calls.value = calls.value + 1
    ...     return x * calls.value
    >>> calls = fl.Cell(0)
    >>> fl.functionalize(count)(calls, 3).item(), calls.value.item()
    (3, 1)
    """
    callable_or_raise("functionalize", f)

    @wraps(f)
    def functional(*args, **kwargs):
        fresh: dict[int, tuple[Cell, Cell]] = {}

        def renew(leaf):
            if isinstance(leaf, Face):
                return leaf.stand_in(leaf.read())
            if not isinstance(leaf, Cell):
                return leaf
            if id(leaf) not in fresh:
                fresh[id(leaf)] = leaf, Cell(leaf.value)
            return fresh[id(leaf)][1]

        given, spec = pytree.flatten((args, kwargs))
        inside = list(map(renew, given))
        written = Written(given, inside)
        args, kwargs = spec.unflatten(inside)
        out = f(*args, **kwargs)
        for i, value in written.found():
            written.back(i, value)
        for cell, new in fresh.values():
            if new.value is not cell.value:
                cell.value = new.value
        back = {id(new): cell for cell, new in fresh.values()}
        return pytree.map(lambda x: back.get(id(x), x), out)

    return functional

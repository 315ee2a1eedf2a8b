"""debug.print: values printed when the program runs."""

from __future__ import annotations

import builtins

from ..core import pytree
from ..core.array import asarray
from ..core.record import Record
from ..prims.callback import host_effect
from ..transforms.arguments import is_array


class _Print(Record):
    format: str
    spec: pytree.TreeSpec
    statics: tuple  # leaves that are no arrays, by position

    def __call__(self, *arrays):
        leaves, supply = [], iter(arrays)
        fixed = dict(self.statics)
        for i in range(self.spec.num_leaves):
            leaves.append(fixed[i] if i in fixed else next(supply))
        args, kwargs = self.spec.unflatten(leaves)
        builtins.print(self.format.format(*args, **kwargs))


def print(format: str, *args, **kwargs) -> None:
    """Prints ``format.format(*args, **kwargs)`` with the values that Arrays have when the program runs.

    Under `jit` it prints at each run, under `vmap` once a row, under `grad` the primal value.

    >>> import functorch_lite as fl
    >>> fl.block_until_ready(fl.jit(lambda x: (fl.debug.print("x = {}", x), x * 2)[1])(3.0)).item()
    x = 3.0
    6.0
    """
    if not isinstance(format, str):
        raise TypeError(f"debug.print: the first argument is a format string, got {pytree.describe(format)}")
    leaves, spec = pytree.flatten((args, kwargs))
    statics = tuple([(i, x) for i, x in enumerate(leaves) if not is_array(x)])
    host_effect([asarray(x) for x in leaves if is_array(x)], _Print(format, spec, statics))

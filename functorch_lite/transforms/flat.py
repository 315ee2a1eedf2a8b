"""A call of a function of trees, as one of flat arrays."""

from __future__ import annotations

from collections.abc import Callable

from ..core import pytree
from ..core.face import like, read
from ..core.interpreter import name_of
from .arguments import Outputs, class_of, is_array, label_of, leaving
from .body import Body, capture


class FlatCall:
    """``f(*args, **kwargs)`` with its arrays taken out: `values` are they, `flat` is f of so many others, `result` puts flat
    outputs into the tree that f returned. Leaves that are no arrays stay where they are."""

    def __init__(self, transform: str, f: Callable, args: tuple, kwargs: dict, value: Callable = read):
        self._transform, self._f = transform, f
        self._leaves, self._spec = pytree.flatten((args, kwargs))
        self._places = [i for i, x in enumerate(self._leaves) if is_array(x)]
        self.values = [value(self._leaves[i]) for i in self._places]
        self.out_spec: Outputs | None = None  # known once `flat` has run

    def flat(self, *xs) -> list:
        """f's outputs, as a flat list."""
        leaves = list(self._leaves)
        for i, x in zip(self._places, xs):
            leaves[i] = like(leaves[i], x)
        args, kwargs = self._spec.unflatten(leaves)
        outs, spec = pytree.flatten(self._f(*args, **kwargs))
        for x in outs:
            if not is_array(x):
                raise TypeError(f"{self._transform}: {name_of(self._f)} must return Arrays (in any pytree), got {pytree.describe(x)}")
        self.out_spec = Outputs(spec, [class_of(x) for x in outs])
        return [leaving(x) for x in outs]

    def capture(self, avals=None) -> tuple[Body, list]:
        """The program of this call, with what f closes over as its first inputs, and those values."""
        avals = tuple([x.aval for x in self.values]) if avals is None else tuple(avals)
        return capture(self.flat, avals, label_of(self._transform, self._f))

    def result(self, outs):
        """Flat outputs in the tree that f returned."""
        return self.out_spec.unflatten(outs)

"""Views: a tensor that is an op over another, and how a write to it goes back.

The inverse of a view follows from the op: its transpose puts the new elements where they came from, and the transpose of ones says
which places those are. An op may bring a rule of its own (`view=` in its declaration) where that is cheaper or there is no transpose.
"""

from __future__ import annotations

from ..core.array import Array
from ..core.dtype import BOOL, bool_, uint8
from ..core.interpreter import STATE
from ..prims import algebra, compare, convert
from ..transforms.linearize import Tape


class View:
    """An op over a base: `index` says which of its results, if it has several."""

    __slots__ = ("base", "op", "rest", "params", "index", "aval", "seen", "made", "strides")

    def __init__(self, base, op, rest, params, index, aval):
        self.base, self.op, self.rest, self.params, self.index, self.aval = base, op, rest, params, index, aval
        self.seen = self.made = self.strides = None

    def read(self) -> Array:
        """What the base's elements look like through it."""
        value = self.base.read()
        if value is not self.seen:
            self.made, self.seen = self.forth(value), value
        return self.made

    def forth(self, value: Array) -> Array:
        """The view of a value."""
        out = STATE.current.bind(self.op, (value, *self.rest), self.params)
        return out if self.index is None else out[self.index]

    def back(self, base: Array, new: Array) -> Array:
        """The base after the view was given these elements."""
        if callable(self.op.view):
            return self.op.view(base, new, *self.rest, *self.params)
        size, whole = new.aval.size, base.aval.size
        if size > whole:
            raise RuntimeError(
                f"unsupported operation: more than one element of the written-to tensor refers to a single memory location ({self.op.name} of "
                f"{base.aval} as {new.aval}). Please clone() the tensor before performing the operation."
            )
        is_bool = base.dtype.category == BOOL
        if is_bool:
            base, new = convert.convert(base, uint8), convert.convert(new, uint8)
        out = self._transposed(base.aval, new)
        if size != whole:
            places = self._transposed(algebra.aval(base.shape, uint8), algebra.full_like(convert.convert(new, uint8), 1))
            out = compare.select(compare.ne(places, algebra.zeros(places.aval)), out, base)
        return convert.convert(out, bool_) if is_bool else out

    def _transposed(self, aval, new: Array) -> Array:
        tape = Tape(STATE.current, self.op.name)
        variable = tape.variable(aval)
        before, STATE.current = STATE.current, tape
        try:
            out = self.forth(variable)
        finally:
            STATE.current = before
        return tape.pull([out], [new], [variable])[0]

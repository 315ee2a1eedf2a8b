"""Views: a tensor that is an op over another, and how a write to it goes back.

The inverse of a view follows from the op: its transpose puts the new elements where they came from, and the transpose of ones says
which places those are. An op may bring a rule of its own (`view=` in its declaration) where that is cheaper or there is no transpose.
"""

from __future__ import annotations

from ..core.array import Array
from ..core.cell import Cell
from ..core.dtype import BOOL, bool_, uint8
from ..core.interpreter import STATE, Traced, body, use
from ..prims import algebra, compare, convert
from ..transforms.ambient import same
from ..transforms.linearize import Tape


class View:
    """An op over a base: `index` says which of its results, if it has several."""

    __slots__ = ("base", "op", "rest", "params", "index", "aval", "unrecorded", "seen", "made", "strides", "__weakref__")

    def __init__(self, base, op, rest, params, index, aval):
        self.base, self.op, self.rest, self.params, self.index, self.aval = base, op, rest, params, index, aval
        self.unrecorded = STATE.stopped > body(STATE.current).born  # made under `no_grad`
        self.seen = self.made = self.strides = None

    def read(self) -> Array:
        """What the base's elements look like through it: the same value, with the same history, until the base changes."""
        value = self.base.read()
        here = STATE.current
        if body(here) is not self.base.home:
            return self._read_in(here, value) if here.ambient else self.forth(value)
        seen, made = self.seen, self.made
        if seen is not None:
            if same(value, seen):
                return made
            if seen.__class__ is Traced and seen.owner.ambient and value is seen.value:  # recording is off
                return made.value if made.__class__ is Traced and made.owner is seen.owner else made
        self.made, self.seen = self.forth(value), value
        return self.made

    def _read_in(self, here, value: Array) -> Array:
        """The same in a body that is not its own: what it is there, its recording remembers."""
        found = here.looks.get(self)
        if found is None or not same(value, found[0]):
            found = here.looks[self] = value, self.forth(value)
        return found[1]

    def forth(self, value: Array) -> Array:
        """The view of a value."""
        out = STATE.current.bind(self.op, (value, *self.rest), self.params)
        out = out if self.index is None else out[self.index]
        if out.aval.shape != self.aval.shape:
            raise RuntimeError(
                f"a view by {self.op.name} of shape {list(self.aval.shape)} is used after its base was resized (by out=): take it again from the base"
            )
        return out

    def back(self, base: Array, new: Array) -> Array:
        """The base after the view was given these elements."""
        if callable(self.op.view):
            return self.op.view(base, new, *self.rest, *self.params)
        size, whole = new.aval.size, base.aval.size
        if size > whole or "overlaps" in self.op.traits and self.op.traits["overlaps"](*self.params):
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


class Shown(Cell):
    """What a leaf reads that is a view, or a detached name of another's storage: those elements, and no history but the leaf's.

    It is a cell, so that programs take it as an input which carries the leaf's gradient.
    """

    __slots__ = ("source",)
    plain = packed = None  # it cannot lie in a pack

    def __init__(self, source):
        self.source, self.home, self.version, self.name = source, source.home, 0, source.name

    def seen_in(self, interpreter) -> Array:
        """The elements as the body of `interpreter` sees them."""
        with use(interpreter):
            return self.source.read()

    @property
    def held(self) -> Array:
        """The elements, where the leaf was made."""
        return self.seen_in(self.home)

    @held.setter
    def held(self, value: Array) -> None:
        self.source = self.source.over(value)

    @property
    def root(self) -> Cell:
        return self.source.storage

"""Pack: small values of many cells in a few buffers, as a compiled step takes and leaves them.

What a launch costs grows with the number of its buffers. So the small state that a program replaces lies in one buffer for each dtype,
which the program takes and gives back. A cell in a pack holds a `Part`, which says where its value lies. An Array of its own
is made when somebody looks, with a buffer of its own: what a pack holds is nobody else's, so a program may always take it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from ..errors import DonatedBufferError
from .array import Array, constant, put, wrap_as
from .aval import Aval, aval
from .interpreter import Interpreter, use

SMALL = 4096  # elements of a value that is packed: to copy them costs less than a buffer of its own


class Layout:
    """Where values of these avals lie: flat, in their order, in one buffer for each dtype. `buffers` are the avals of those."""

    __slots__ = ("avals", "groups", "buffers", "places")

    def __init__(self, avals: Sequence[Aval]):
        self.avals = tuple(avals)
        found: dict = {}
        for i, a in enumerate(self.avals):
            found.setdefault(a.dtype, []).append(i)
        self.groups = list(found.values())  # numbers of the values in each buffer
        self.buffers = [aval((sum(self.avals[i].size for i in group),), dtype) for dtype, group in found.items()]
        self.places: list = [None] * len(self.avals)  # (which buffer, from, to) of each value
        for k, group in enumerate(self.groups):
            at = 0
            for i in group:
                self.places[i] = k, at, at + self.avals[i].size
                at += self.avals[i].size

    def __eq__(self, other) -> bool:
        return other.__class__ is Layout and other.avals == self.avals

    __hash__ = None


class Pack:
    """Buffers with values of some cells. `stamp` says how often they were replaced, `whole` whether no cell has left.

    ``home`` is the body that its cells belong to: the bottom of the stack.
    """

    __slots__ = ("layout", "buffers", "stamp", "whole", "lock", "home")

    def __init__(self, layout: Layout, home: Interpreter):
        self.layout, self.home = layout, home
        self.buffers: list = []
        self.stamp, self.whole = 0, True
        self.lock = threading.RLock()  # held while a program has the buffers, and while one looks into them

    @classmethod
    def of(cls, layout: Layout, values: Sequence[Array], home: Interpreter) -> Pack:
        """A pack of these values."""
        out = cls(layout, home)
        data = [np.asarray(x.buffer).reshape(-1) for x in values]
        places = {x.buffer.device if x.buffer.committed else None for x in values}
        joined = [np.concatenate([data[i] for i in group]) for group in layout.groups]
        [place] = places if len(places) == 1 else [None]
        out.buffers = [constant(x) if place is None else put(x, place) for x in joined]
        return out

    def replace(self, buffers: list) -> None:
        """New values for all."""
        self.buffers = buffers
        self.stamp += 1

    def value(self, number: int) -> Array:
        """One of the values, in a buffer of its own."""
        k, start, stop = self.layout.places[number]
        buffer, known = self.buffers[k], self.layout.avals[number]
        if buffer.is_deleted():
            raise DonatedBufferError(
                f"a {known} value was lost: a compiled step that had been given its buffer failed before it gave it back"
            )
        data = np.asarray(buffer)[start:stop].reshape(known.shape)
        return wrap_as(known, put(data, buffer.device) if buffer.committed else constant(data))


class RecordedPack(Pack):
    """A pack whose buffers are those of `arrays`, which may be recorded and not computed yet: that of a step that runs eagerly."""

    __slots__ = ("arrays",)

    @property
    def buffers(self) -> list:
        return [x.buffer for x in self.arrays]

    @buffers.setter
    def buffers(self, buffers: list) -> None:
        self.arrays = list(map(wrap_as, self.layout.buffers, buffers))

    def record(self, arrays: Sequence[Array]) -> None:
        """New values for all, in these arrays."""
        self.arrays = list(arrays)
        self.stamp += 1


class Part:
    """What a cell holds while its value lies in a pack. ``face`` is the class of what a slot holds: a tensor over the value."""

    __slots__ = ("pack", "number", "face", "seen", "made")

    def __init__(self, pack: Pack, number: int, face=None):
        self.pack, self.number, self.face = pack, number, face
        self.seen, self.made = None, None  # what was made when somebody last looked, and the pack's stamp then

    @property
    def aval(self) -> Aval:
        """The shape and dtype, without a look at the value."""
        return self.pack.layout.avals[self.number]

    def force(self):
        """The value as an Array of its own (for a slot a tensor over it): the same one until it is replaced."""
        pack = self.pack
        with pack.lock:
            if self.seen != pack.stamp:
                made = pack.value(self.number)
                if self.face is not None:
                    with use(pack.home):
                        made = self.face.made(made)
                self.made, self.seen = made, pack.stamp
            return self.made

    def leave(self) -> None:
        """The cell gets another value."""
        self.pack.whole = False

"""The eager step of a group of parameters whose small state lies in a pack: it takes and gives that in one piece, which costs less than a
buffer for each."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_

from ..core.aval import aval_of
from ..core.cell import Cell
from ..core.interpreter import STATE, body
from ..core.pack import SMALL, Layout, Part, RecordedPack
from ..nn.tensor import Tensor
from ..prims.control import call
from ..prims.shape import concatenate, part, reshape
from ..transforms.body import Body, close

_PATIENCE = 8  # how often a pack is made, until it is asked whether that pays: others may write its state all the time
_BODIES = 64


class PackedStep:
    """``rule(*numbers, tensors, *flags)`` for some parameters, as one program over their gradients and packed state."""

    __slots__ = ("rule", "params", "flags", "cells", "pack", "places", "calls", "made", "bodies")

    def __init__(self, rule: Callable, params: list[Tensor], flags: tuple[bool, ...]):
        self.rule, self.params, self.flags = rule, params, flags
        self.cells: list[Cell] = []  # of the state,
        self.places: tuple[int, ...] = ()  # and which of it are packed
        self.pack: RecordedPack | None = None
        self.calls = self.made = 0  # how often the step was taken, and the pack made
        self.bodies: dict[tuple, Body] = {}  # by the avals of their inputs

    def __call__(self, numbers: tuple, states: list[Tensor]) -> bool:
        """Takes the step; False, and nothing has happened, where the state is not packed."""
        here = body(STATE.current)
        if here.parent is not None:
            return False
        cells = [t.cell for t in states]
        self.calls += 1
        pack = self.pack
        if pack is None or not pack.whole or len(cells) != len(self.cells) or not all(map(is_, cells, self.cells)):
            pack = self._gathered(here, states, cells)
            if pack is None:
                return False
        params, places = self.params, self.places
        apart = [t for i, t in enumerate(states) if i not in places] if len(places) < len(states) else []
        with pack.lock:
            arrays = [*[t.array for t in (*params, *[p.grad for p in params], *apart)], *pack.arrays]
            operands = *[x for x in numbers if x is not None], *arrays
            outs = STATE.current.bind(call.op, operands, (self._body(numbers, arrays, len(states)), self.rule.op.name, (), False))
            count = len(params) + len(apart)
            pack.record(outs[count:])
        for t, value in zip((*params, *apart), outs):
            t.assign_(value)
        return True

    def _gathered(self, here, states: list[Tensor], cells: list[Cell]) -> RecordedPack | None:
        """A pack of the small state as it is; None where it is better left as it is."""
        if self.made >= _PATIENCE and 4 * self.made > self.calls:
            return None
        n = len(self.params)
        places = [i for i, t in enumerate(states) if self.params[i % n].numel() <= SMALL and _packs(t, here)]
        if len(places) < 2 or len({states[i].device for i in places}) > 1 or states[places[0]].device == "meta":
            return None
        pack = RecordedPack(Layout([cells[i].aval for i in places]), here)
        pack.arrays = _joined(pack.layout, [cells[i].held for i in places])
        for k, i in enumerate(places):
            cells[i].pack(Part(pack, k))
        self.pack, self.cells, self.places = pack, cells, tuple(places)
        self.made += 1
        self.bodies.clear()
        return pack

    def _body(self, numbers: tuple, arrays: list, states: int) -> Body:
        """The program for operands of these kinds."""
        key = *map(aval_of, numbers), *[x.aval for x in arrays]
        found = self.bodies.get(key)
        if found is None:
            if len(self.bodies) >= _BODIES:
                self.bodies.clear()
            found = self.bodies[key] = self._traced(key[: len(numbers)], key[len(numbers) :], states)
        return found

    def _traced(self, numbers: tuple, arrays: tuple, states: int) -> Body:
        layout, n, places = self.pack.layout, len(self.params), self.places

        def run(*xs):
            xs = iter(xs)
            values = [None if a is None else next(xs) for a in numbers]
            tensors = [next(xs) for _ in range(2 * n)]
            apart = [None if i in places else next(xs) for i in range(states)]
            packs = list(xs)
            for i, a, (k, start, stop) in zip(places, layout.avals, layout.places):
                apart[i] = reshape(part(packs[k], 0, start, stop), a.shape)
            outs = self.rule(*values, [*tensors, *apart], *self.flags, True)
            news, kept = outs[:n], outs[n:]
            return [*news, *[x for i, x in enumerate(kept) if i not in places], *_joined(layout, [kept[i] for i in places])]

        return close(run, (*[a for a in numbers if a is not None], *arrays), self.rule.op.name)


def _joined(layout: Layout, values: list) -> list:
    """The buffers of a layout with these values, as Arrays."""
    flat = [reshape(x, (a.size,)) for x, a in zip(values, layout.avals)]
    return [concatenate([flat[i] for i in group], 0) for group in layout.groups]


def _packs(t: Tensor, here) -> bool:
    """Whether the value of a tensor is its own cell's at the bottom of the stack, so that it may lie in a pack."""
    return t.plain() is not None and t.cell.home is here

"""Plan: how a program is called at the bottom of the stack, where no gradient flows through it: all that can be is ready.

The small state that it replaces lies in a pack, which the executable takes and gives back whole; the small gradients that it leaves lie
in another, since nobody may ever read them. Of other state that it replaces it takes the buffer, or a copy where somebody else holds
that. Whatever happens meanwhile, the cells have all their old values, or all their new ones.
"""

from __future__ import annotations

import operator
import threading
from collections import Counter

from ..core.array import META, Array, wrap_as
from ..core.aval import Aval
from ..core.cell import CHANGES, Cell, Number, Slot
from ..core.dtype import NUMBERS
from ..core.holders import holders, is_shared
from ..core.interpreter import STATE, Traced, body, lowered
from ..core.pack import Pack, Part
from .packing import Packing

MISS = object()  # what a call gives whose arguments or state are not what a plan takes
_FIXED = (float, int, bool, tuple)  # what holds another number only if it is another object
_CHANGING = object()
_PATIENCE = 8  # how often a pack is made anew until the cells that others write all the time are left out of it


class Plan:
    """The executable of a program, what it takes from where, and where its results go.

    ``loose`` are cells that are not packed. ``restless`` says that others write cells so often that the next plan should have them there.
    """

    def __init__(self, program, loose: frozenset = frozenset()):
        self.program, self.loose, self.restless = program, loose, False
        self.lock = threading.RLock()
        self.leaves = [s for s in program.sources.values() if s.leaf is not None]
        self.changes = -1  # CHANGES when their marks were last compared
        self.ends = {w.target.cell: w for w in program.writes if w.is_state}  # by cell: where its new value comes from
        mine = [(i, s.cell) for i, s in program.sources.items() if s.cell in self.ends and s.slot is None and s.cell not in loose]
        mine.sort(key=lambda item: program.turns[item[1]])  # then what was computed as one vector lies as one
        state = [(i, self.ends[cell].output) for i, cell in mine]
        learns = any(s.cell in self.ends for s in self.leaves)  # then its gradients are for itself
        gradients = [w for w in program.writes if w.face is not None] if learns else []
        numbers = [i for i, s in program.sources.items() if s.cell.__class__ is Number]
        self.packing = packing = Packing.of(program.body, state, [w.output for w in gradients], numbers)
        self.cells = [program.sources[i].cell for i in packing.inputs]
        self.gradients = [w for w in gradients if w.output in packing.left]
        self.pack: Pack | None = None  # of the cells
        self.left: Pack | None = None  # of the gradients
        self.calls = self.packed = 0
        self.strays: Counter = Counter()  # cells that were not where they had been left
        self.first = len(packing.state.buffers)
        self.after = self.first + len(packing.gradients.buffers)
        self._wire_inputs()
        self._wire_outputs()
        self.donated = [at for at, i in self.arguments if i in program.donated]
        self.runner = program.body.runner(packing, (*range(self.first), *[at for at, _ in self.taken], *self.donated))
        if self.runner is not None:
            self.template += self.runner.places
        self.stateless = not (program.sources or program.slots or program.writes or program.touched or self.donated)

    def _wire_inputs(self) -> None:
        """Which buffer of the executable comes from where."""
        program = self.program
        captures = len(program.captures)
        self.template: list = [None] * (self.first + len(self.packing.rest))  # the buffers, as far as they are always the same
        self.read, self.taken, self.others, self.arguments = [], [], [], []
        for at, i in enumerate(self.packing.rest, self.first):
            source = program.sources.get(i)
            if i >= captures:
                self.arguments.append((at, program.dynamic[i - captures]))
            elif source is None:
                self.template[at] = program.captures[i].buffer
            elif source.cell in self.ends:
                self.taken.append((at, source))
            elif source.slot is None:
                self.read.append((at, source.cell, source.aval))
            else:
                self.others.append((at, source))
        self.numbers = [program.sources[i].cell for i in self.packing.numbers]
        self.template += [None] * bool(self.numbers)
        self.dicts, self.keys = [n.where for n in self.numbers], [n.key for n in self.numbers]
        self.seen: list = [_CHANGING] * len(self.numbers)  # what stood there last

    def _wire_outputs(self) -> None:
        """What becomes of which buffer that it gives."""
        program, packing, avals = self.program, self.packing, self.program.body.outs
        place = {o: at for at, o in enumerate(packing.kept, self.after)}
        outputs = program.outputs
        self.results = [(place[i], avals[i]) for i in range(len(outputs.classes) - len(program.constants))]
        self.single = len(outputs.classes) == 1 and len(self.results) == 1 and not program.same and outputs.spec.is_leaf()
        self.arrays = not program.constants and not program.same and not any(outputs.classes)  # it gives Arrays only
        self.given, self.written = [], []
        for w in program.writes:
            if w.target.__class__ is int:
                self.given.append((w.target, place[w.output], avals[w.output]))
            elif w.output is None:
                self.written.append((w, None, None))
            elif w.output in place:
                self.written.append((w, place[w.output], avals[w.output]))

    # -------------------------------------------------------------------------------------------------------- a call

    def __call__(self, given: list, leaves: list, storages: list):
        """The function's output; MISS where the state or the arguments are not as they must be."""
        if self.stateless:
            buffers = self._inputs(leaves)
            return MISS if buffers is None else self._output(self.runner.launch(buffers), given)
        program = self.program
        for slot, empty in program.slots.items():
            if (slot.__class__ is Slot and slot.held is None) is not empty:
                return MISS
        if not program.touched.isdisjoint(storages):
            return MISS
        if self.changes != CHANGES[0]:
            changes = CHANGES[0]
            if any(s.leaf.marks != s.marks for s in self.leaves):
                return MISS
            self.changes = changes
        buffers = self._inputs(leaves)
        if buffers is None:
            return MISS
        pack = self.pack
        if pack is not None and pack.whole and not self.taken and not self.donated:  # as nearly always, for a small model
            with pack.lock:
                if pack.whole:
                    self.calls += 1
                    buffers[: self.first] = pack.buffers
                    return self._output(self._run(buffers, pack), given)
        with self.lock:
            if self.taken and not self._take(buffers) or self.cells and not self._gathered():
                return MISS
            if self.donated:
                self.runner.flush()  # what is recorded and reads them runs first
            for at in self.donated:
                once_or_raise(program.label, buffers[at], buffers)
            pack = self.pack
            if pack is None:
                outs = self._run(buffers, None)
            else:
                with pack.lock:
                    buffers[: self.first] = pack.buffers
                    outs = self._run(buffers, pack)
        return self._output(outs, given)

    def _output(self, outs: list, given: list):
        """The function's output, of what the executable gave; what it wrote to its arguments is given to the caller's."""
        for i, at, aval in self.given:
            given[i].replace(wrap_as(aval, outs[at]))
        if self.single:
            at, aval = self.results[0]
            out, face = wrap_as(aval, outs[at]), self.program.outputs.classes[0]
            return out if face is None else face.made(out)
        values = [wrap_as(aval, outs[at]) for at, aval in self.results]
        return self.program.outputs.spec.unflatten(values) if self.arrays else self.program.result(values, given)

    def _inputs(self, leaves: list) -> list | None:
        """The buffers, but for the state that is taken."""
        if self.numbers and not all(map(operator.is_, map(operator.getitem, self.dicts, self.keys), self.seen)):
            self._read_numbers()
        buffers = self.template.copy()
        for at, cell, known in self.read:
            buffer = buffers[at] = _buffer(cell.held, known)
            if buffer is None:
                return None
        for at, source in self.others:
            buffer = buffers[at] = _buffer(source.current().held, source.aval)
            if buffer is None:
                return None
        for at, i in self.arguments:
            x = leaves[i]
            if x.__class__ is Traced:
                x = lowered(x, body(STATE.current))
            if x.__class__ is Array:
                buffers[at] = x.buffer
                if buffers[at] is META:
                    return None
            elif x.__class__ in NUMBERS:
                buffers[at] = self.runner.number(x)
            else:
                return None
        return buffers

    def _read_numbers(self) -> None:
        """Puts the numbers as they are now into the template."""
        seen = list(map(operator.getitem, self.dicts, self.keys))
        self.template[self.first + len(self.packing.rest)] = self.runner.vector([n.held for n in self.numbers])
        self.seen = [x if x.__class__ in _FIXED else _CHANGING for x in seen]

    def _take(self, buffers: list) -> bool:
        """Puts the state that is replaced and not packed among the buffers; False if it is not what it should be."""
        arrays = [source.current().held for _, source in self.taken]
        found = [_buffer(x, source.aval) for x, (_, source) in zip(arrays, self.taken)]
        if any(b is None for b in found):
            return False
        once = [n <= 1 and m <= 1 for n, m in zip(holders(arrays), holders(found))]  # the cell holds the Array, that its buffer
        for (at, _), buffer, alone in zip(self.taken, found, once):
            buffers[at] = buffer if alone and not is_shared(buffer) else self.runner.copy(buffer)
        return True

    def _run(self, buffers: list, pack: Pack | None) -> list:
        """Runs it and gives the cells their new values."""
        box: list = []
        try:
            self.runner.run(buffers, box)
            self._commit(box[0], pack)
        except BaseException:
            if box:
                self._commit(box[0], pack)  # it was interrupted: once more, to its end
            raise
        return box[0]

    def _commit(self, outs: list, pack: Pack | None) -> None:
        if pack is not None:
            pack.replace(outs[: self.first])
        left = self.left
        if left is not None and left.whole:
            left.replace(outs[self.first : self.after])
        elif self.gradients:
            self._leave(outs[self.first : self.after])
        for write, at, known in self.written:
            write.put(write.held if at is None else wrap_as(known, outs[at]))

    # --------------------------------------------------------------------------------------------------------- packs

    def _leave(self, buffers: list) -> None:
        """Each slot holds a part of the gradients' pack, which becomes a tensor when somebody looks."""
        left = self.left
        if left is None:
            left = self.left = Pack(self.packing.gradients, body(STATE.current))
            left.whole = False
        left.replace(buffers)
        if not left.whole:
            for i, write in enumerate(self.gradients):
                write.target.pack(Part(left, i, write.face))
            left.whole = True

    def _gathered(self) -> bool:
        """Sees to it that the pack has all its cells; False if their values are not what they should be."""
        self.calls += 1
        before = self.pack
        if before is not None and before.whole:
            return True
        found = _common(self.cells)
        if found is not None and found.layout == self.packing.state:  # another program's
            self.pack = found
            return True
        values = [cell.held for cell in self.cells]
        if any(_buffer(x, known) is None for x, known in zip(values, self.packing.state.avals)):
            return False
        if before is not None:
            self.packed += 1
            self.strays.update(c for c in self.cells if c.part is None or c.part.pack is not before)
            self.restless = self.packed >= _PATIENCE and 4 * self.packed > self.calls
        self.pack = Pack.of(self.packing.state, values, body(STATE.current))
        for i, cell in enumerate(self.cells):
            cell.pack(Part(self.pack, i))
        self.pack.whole = True
        return True

    def calmer(self) -> Plan:
        """A plan that packs only cells that stay where they are."""
        return Plan(self.program, self.loose | {c for c, n in self.strays.items() if 2 * n >= self.packed})


def once_or_raise(label: str, donated, buffers: list) -> None:
    """Raises for a donated buffer that is among the inputs a second time."""
    if sum(b is donated for b in buffers) > 1:
        raise ValueError(f"{label}: an Array is donated and passed a second time in one call; pass a copy (x.clone())")


def _buffer(held, known: Aval):
    """The buffer of what a cell holds, if that is an Array of this aval, with data."""
    return held.buffer if held.__class__ is Array and held.aval is known and held._buffer is not META else None


def _common(cells: list[Cell]) -> Pack | None:
    """The pack that has just these cells, in this order."""
    parts = [cell.part for cell in cells]
    pack = parts[0] and parts[0].pack
    if pack is None or not pack.whole or len(pack.layout.avals) != len(cells):
        return None
    return pack if all(p is not None and p.pack is pack and p.number == i for i, p in enumerate(parts)) else None

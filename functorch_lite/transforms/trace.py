"""Staging: the Trace interpreter writes every op into a graph."""

from __future__ import annotations

import operator

from ..core.aval import aval_of
from ..core.cell import Slot, State
from ..core.interpreter import STATE, Interpreter, Traced, live, user_line
from ..fx.record import Recorder
from ..prims.create import detach
from .arguments import done


class Trace(Recorder):
    """Every op becomes a node, those on constants too, its shape inferred.

    ``expands`` says which ops are written down as they are and which by what they are made of: it gives for an op its
    expansion, a function of (args, params), or None.
    """

    __slots__ = ("expands", "entered", "names", "sources", "lifted", "overlay")
    writable = False  # whether its function may write cells from outside

    def __init__(self, parent: Interpreter, label: str, expands=None):
        super().__init__(parent, label)
        self.expands = expands
        self.entered = STATE.stopped
        self.names: dict[str, int] = {}  # in use for cells -> the last number behind it
        self.lifted: dict = {}  # cell from outside -> its value here
        self.sources: dict = {}  # which capture is the value of a cell -> (the cell, whose gradient it carries)
        self.overlay: dict = {}  # cell from outside -> what was written to it

    # ------------------------------------------------------------------------------------------------------- cells

    def fetch(self, cell, leaf=None):
        """A cell from outside is an input of the program."""
        if cell.home is self:
            return cell.held
        if cell in self.overlay:
            return self.overlay[cell]
        if cell.root in self.overlay:
            return cell.seen_in(self)
        if cell not in self.lifted:
            self.lifted[cell] = self.lift(cell, leaf)
        elif leaf is not None:
            self._claim(cell, leaf)
        return self.lifted[cell]

    def _claim(self, cell, leaf) -> None:
        """A tensor wants the gradient of a cell that was first read by a name that wants none."""
        for i, (known, whose) in self.sources.items():
            if known is cell and whose is None:
                self.sources[i] = cell, leaf
                self.captures[i] = self.parent.fetch(cell, leaf)

    def constants(self) -> dict:
        """The captures by name; a tensor that wants a gradient is itself one, so that it gets one, and so is a state, which goes on."""
        found = super().constants()
        names = list(found)
        for i, (cell, leaf) in self.sources.items():
            if leaf is not None or isinstance(cell, State):
                found[names[i]] = cell.face if leaf is None else leaf
        return found

    def glance(self, cell):
        if cell in self.overlay or cell in self.lifted:
            return self.fetch(cell)
        return super().glance(cell)

    def lift(self, cell, leaf):
        """The value here of a cell from outside."""
        outside = self.parent.fetch(cell, leaf)
        if isinstance(cell, Slot):
            return outside
        self.sources[len(self.captures)] = cell, leaf
        return Traced(self, aval_of(outside), self.capture(outside, self._name(cell), key=cell))

    def _name(self, cell) -> str | None:
        """What the input that a cell becomes is called in the program."""
        if not cell.name:
            return None
        base = "".join([c if c.isalnum() else "_" for c in cell.name])
        name, i, names = base, self.names.get(base, 0), self.names
        while name in names:
            i += 1
            name = f"{base}_{i}"
        names[base] = i
        names.setdefault(name, 0)
        return name

    def keeps(self, cell) -> bool:
        return cell.home is self or self.writable

    def store(self, cell, value) -> None:
        if cell.home is self:
            cell.held = value
        else:
            self.refuse(cell, value)
            self.overlay[cell] = value

    def refuse(self, cell, value) -> None:
        if not self.writable:
            what = f"the tensor {cell.name!r}" if cell.name else "a tensor"
            raise RuntimeError(f"{what} that was made outside {self.label} would be changed inside it; return the new value instead")

    # --------------------------------------------------------------------------------------------------------- ops

    def bind(self, op, args, params):
        if STATE.stopped > self.entered and op is not detach.op:
            return self._stopped(op, args, params)
        if self.expands is not None:
            expansion = self.expands(op)
            if expansion is not None:
                return expansion(args, params)
        out = op.infer(args, params)
        places = []
        for x in args:
            places.append(x.value if x.__class__ is Traced and x.owner is self else self.place(x))
        line = STATE.line or user_line()
        append = self.graph.append
        node = append("call_function", op, tuple(places), params, out, line)
        if out.__class__ is not tuple:
            return self.keep(Traced(self, out, node, None, line))
        parts = [append("call_function", operator.getitem, (node, i), (), a, line) for i, a in enumerate(out)]
        return tuple([self.keep(Traced(self, a, part, None, line)) for a, part in zip(out, parts)])

    def _stopped(self, op, args, params):
        """An op inside `no_grad`: no derivative of the program passes its results."""
        stopped, STATE.stopped = STATE.stopped, self.entered
        try:
            out = self.bind(op, args, params)
            if out.__class__ is tuple:
                return tuple([self.bind(detach.op, (x,), ()) if x.aval.dtype.is_inexact else x for x in out])
            return self.bind(detach.op, (out,), ()) if out.aval.dtype.is_inexact else out
        finally:
            STATE.stopped = stopped


def stage(f, avals, label: str, names=None, trace: Trace | None = None):
    """Traces f (flat list in, flat list out): the graph, the values it captured, and the avals of its results."""
    trace = trace or Trace(STATE.current, label)
    inputs = [trace.input(a, names[i] if names else f"x{i}") for i, a in enumerate(avals)]
    with live(trace):
        outs = list(f(*inputs))
    graph, out_avals = trace.finish(outs), tuple(map(aval_of, outs))
    if trace.made is not None:
        del inputs, outs
        done(trace)
    return graph, trace.captures, out_avals

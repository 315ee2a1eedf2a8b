"""Program: one traced version of a function of trees, with the state it met: what `fl.jit` and `torch.compile` run.

A cell that the function reads is an input, read anew at each call; what it writes to cells is a result, which is committed when the
executable has run. So an exception anywhere leaves every cell as it was.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import cached_property

from ..core import pytree
from ..core.array import Array, is_meta
from ..core.aval import aval_of
from ..core.cell import Cell, Number, Slot
from ..core.face import Face, like, read
from ..core.holders import holders, is_shared
from ..core.interpreter import STATE, Traced, body, ground, lowered
from ..core.record import Record
from ..errors import GraphBreak
from ..prims.control import call
from .ambient import Node, history
from .arguments import Outputs, Written, class_of, is_array, leaving
from .body import Body, captures_first, intern
from .plan import MISS, Plan, once_or_raise
from .trace import Trace, stage


class Recording(Trace):
    """A trace whose function may write cells from outside: an overlay keeps what it writes."""

    __slots__ = ("slots", "held_by", "continued", "obstacle")
    writable = True

    def __init__(self, parent, label: str):
        super().__init__(parent, label)
        self.slots: dict = {}  # slot from outside -> whether it was empty
        self.held_by: dict = {}  # cell of what a slot holds -> the slot
        self.continued: set = set()  # cells whose value has history outside
        self.obstacle: str | None = None  # why gradients may not flow through it

    def hinder(self, what: str) -> None:
        self.obstacle = what

    def fetch(self, cell, leaf=None):
        if leaf is not None and cell in self.overlay and cell.home is not self:
            self.hinder("a tensor that requires grad is changed in it, and used afterwards")
        return super().fetch(cell, leaf)

    def lift(self, cell, leaf):
        if isinstance(cell, Slot):
            held = self.parent.fetch(cell)
            self.slots[cell] = held is None
            if held is not None:
                self.held_by[held.cell] = cell
            return held
        value = super().lift(cell, leaf)
        outside = self.captures[-1]
        if leaf is None and outside.__class__ is Traced and outside.owner.ambient and outside.aval.dtype.is_inexact:
            self.continued.add(cell)
        return value

    def source(self, cell, leaf=None, aval=None) -> Source:
        """Where a cell is found at a later call."""
        leaf = leaf if leaf is not None and leaf.requires_grad else None
        return Source(cell, self.held_by.get(cell), leaf, aval, cell in self.continued, None if leaf is None else leaf.marks)

    def inputs(self) -> dict[int, Source]:
        """Where the captures that are cells come from at a later call, by their number."""
        return {i: self.source(cell, leaf, aval_of(self.captures[i])) for i, (cell, leaf) in self.sources.items()}


class Source(Record, eq=False):
    """Where an input of a program comes from at each call: a cell, or the cell of what a slot holds."""

    cell: Cell
    slot: Slot | None
    leaf: Face | None  # whose gradient it carries, if recording is on
    aval: object
    continued: bool  # whether its value has history where the program is called
    marks: tuple | None  # of the leaf: see `Face.marks`

    __repr__ = object.__repr__

    def current(self) -> Cell:
        """The cell now."""
        return self.cell if self.slot is None else self.slot.read().cell

    def value(self, recorded: bool, low: bool, recording: bool):
        """What the program gets, or None where it is not what the program was traced for. ``low``: the call is at the bottom of the
        stack; ``recording``: with gradients recorded."""
        cell = self.current()
        held = cell.held
        if cell.__class__ is Number:
            return held
        if self.leaf is not None:
            if self.leaf.marks != self.marks:
                return None
        elif low and recording and (held.__class__ is Traced) is not self.continued and held.dtype.is_inexact:
            return None
        if held.__class__ is not Array or recorded or not low:
            held = cell.read(self.leaf if recorded else None)
        return held if held.aval is self.aval else None


class Write(Record, eq=False):
    """Something that the function wrote: to a cell or slot, or (``argument``) to what it was given."""

    target: Source | Slot | int
    output: int | None  # which result of the program it is; None: `held`
    held: object = None
    face: type[Face] | None = None  # the class of what a slot gets

    @property
    def is_state(self) -> bool:
        """Whether it is a new value for a cell of Arrays."""
        return self.target.__class__ is Source and self.target.cell.of_arrays

    def commit(self, outs, given, low: bool) -> None:
        """Does it; at the bottom of the stack (``low``) nothing has to be asked first."""
        value = self.held if self.output is None else outs[self.output]
        if self.target.__class__ is int:
            given[self.target].replace(value)
        elif low:
            self.put(value)
        else:
            cell = self.target.current() if self.target.__class__ is Source else self.target
            cell.write(value if self.face is None else self.face.made(value))

    def put(self, value) -> None:
        """Gives the cell or slot this value, at the bottom of the stack."""
        cell = self.target.current() if self.target.__class__ is Source else self.target
        cell.held = value if self.face is None else self.face.made(value)
        cell.version += 1

    def check(self, outs, here) -> None:
        """Raises, before anything is committed, for a cell that cannot be written from here."""
        if self.target.__class__ is not int and self.output is not None:
            here.admit(self.target.current() if self.target.__class__ is Source else self.target, outs[self.output])


class Program(Record, eq=False):
    """One traced version of a function: its body, where its inputs come from, and what becomes of its results."""

    label: str
    body: Body
    captures: list  # its first inputs: values it closed over, None where a Source gives them
    sources: dict[int, Source]
    outputs: Outputs
    constants: dict  # outputs that are no arrays: position -> value
    quiet: frozenset  # results through which no gradient flows
    writes: list[Write]
    turns: dict  # cells and slots that it writes -> in which order
    slots: dict  # slot -> whether it was empty
    recorded: bool  # whether gradients may flow through it from outside
    touched: frozenset  # cells that no argument may have for storage: one of both names is written
    same: dict  # outputs that are tensors from outside: position -> which argument, or the tensor itself
    dynamic: list  # which leaves of a call are its other inputs
    donated: frozenset = frozenset()  # which of them are given away to it
    guards: object = None  # what else it depends on (nn/guards.py)

    def __repr__(self) -> str:
        state = f", {len(self.sources)} cells read, {len(self.writes)} written" if self.sources or self.writes else ""
        return f"<program {self.label}: {len(self.body.graph.nodes)} nodes{state}>"

    def operands(self, storages: list) -> list | None:
        """Its first inputs now; None if the state is not what it was traced for. ``storages`` are those of the arguments."""
        if not (self.sources or self.slots or self.touched):
            return list(self.captures)
        if not self.touched.isdisjoint(storages):
            return None
        for slot, empty in self.slots.items():
            if (slot.read() is None) is not empty:
                return None
        first, low = list(self.captures), _at_the_bottom()
        recording = STATE.stopped <= STATE.current.born
        for i, source in self.sources.items():
            value = first[i] = source.value(self.recorded, low, recording)
            if value is None:
                return None
        return first

    @cached_property
    def plan(self) -> Plan | None:
        """How it is called at the bottom of the stack; None where that is not so simple: gradients flow through it, it calls the host,
        it holds values of a transform, or arrays may be in several places."""
        simple = not (self.recorded or self.body.hosted or any(s.continued for s in self.sources.values()))
        if not simple or not all(x is None or x.__class__ is Array and not is_meta(x) for x in self.captures):
            return None
        plan = Plan(self)
        return None if plan.runner is None else plan

    def __call__(self, given: list, leaves: list, storages: list, name: str, checked: bool = False):
        """The function's output; MISS where the state is not what the program was traced for.

        ``given`` are the leaves of the arguments, ``leaves`` their values, and ``storages`` those of the tensors among them.
        """
        here = STATE.current
        plan = self.plan if (here.parent is None or here.base is not None) and not checked else None  # at the bottom of the stack
        if plan is not None:
            if plan.restless:
                plan = self.__dict__["plan"] = plan.calmer()
            out = plan(given, leaves, storages)
            if out is not MISS:
                return out
        first = self.operands(storages)
        if first is None:
            return MISS
        operands = [*first, *[leaves[i] for i in self.dynamic]]
        given_away = [len(first) + k for k, i in enumerate(self.dynamic) if i in self.donated]
        for i in given_away:
            once_or_raise(self.label, operands[i].buffer, [x.buffer for x in operands if x.__class__ is Array])
        donate = () if checked or self.body.hosted else (*self.spare(held=2), *given_away)  # by `first` and `operands`
        return self.run(operands, given, name, donate, checked)

    def run(self, operands, given, name: str, donate: tuple[int, ...] = (), checked: bool = False):
        """Runs it, commits what it wrote, and gives the function's output."""
        here, low = STATE.current, _at_the_bottom()
        if not self.recorded:
            operands = [lowered(x, body(here)) if x.__class__ is Traced else x for x in operands]
        launch = self.body.launch(donate, checked) if low else None
        outs = launch(operands) if launch is not None else None
        if outs is None:
            outs = call(operands, self.body, name, donate, checked)
            outs = [lowered(x, body(here)) if i in self.quiet else x for i, x in enumerate(outs)]
        if low and self.writes and self.body.hosted:
            for x in outs:
                x.block_until_ready()  # what a host function raises comes out here, before anything is committed
        if not low:
            for write in self.writes:
                write.check(outs, here)
        for write in self.writes:
            write.commit(outs, given, low)
        return self.result(outs, given)

    def result(self, outs, given=None):
        """The function's output, of the program's results."""
        outs = list(outs[: len(self.outputs.classes) - len(self.constants)])
        for i, value in sorted(self.constants.items()):
            outs.insert(i, value)
        return self.outputs.unflatten(
            outs, {i: given[x] if x.__class__ is int else x for i, x in self.same.items()} if given is not None else {}
        )

    def spare(self, held: int = 0) -> tuple[int, ...]:
        """Which inputs are state that is replaced when it has run, and that nothing else holds now: their buffers may be taken.

        ``held`` says how many references to each the caller has itself.
        """
        if self.recorded:
            return ()
        replaced = {w.target.current() for w in self.writes if w.target.__class__ is Source}
        cells = [(i, s.current()) for i, s in self.sources.items() if s.cell.of_arrays]
        places = [i for i, cell in cells if cell in replaced and cell.held.__class__ is Array]
        arrays = [cell.held for _, cell in cells if cell in replaced and cell.held.__class__ is Array]
        buffers = [x.buffer for x in arrays]
        found = zip(places, holders(arrays), buffers, holders(buffers))  # the cell holds the Array, that its buffer
        return tuple([i for i, n, buffer, m in found if n <= 1 + held and m <= 1 and not is_shared(buffer)])


def _at_the_bottom() -> bool:
    """Whether no transform is active."""
    return body(STATE.current).parent is None


class _Results:
    """The flat results of a program while it is traced, and through which of them no gradient flows."""

    def __init__(self):
        self.values: list = []
        self.quiet: set[int] = set()

    def add(self, value) -> int:
        """Takes one; its number."""
        if not _flows(value):
            self.quiet.add(len(self.values))
        self.values.append(leaving(value))
        return len(self.values) - 1

    def taken(self) -> list:
        """All of them, handed over: values of a trace are not kept beyond it."""
        values, self.values = self.values, []
        return values


def traced(f, given, dynamic, spec, label: str, names, arguments, watch=None) -> Program:
    """The program of f on these leaves: those that `dynamic` numbers are inputs; `arguments(filled leaves)` are (args, kwargs).

    ``watch`` is a context in which f runs.
    """
    trace = Recording(ground(), label)
    results, found = _Results(), {}

    def flat(*xs):
        filled = list(given)
        for i, x in zip(dynamic, xs):
            filled[i] = like(given[i], x)
        written = Written(given, filled)
        args, kwargs = arguments(spec.unflatten(filled))
        with watch or nullcontext():
            out = f(*args, **kwargs)
        leaves, out_spec = pytree.flatten(out)
        found["outputs"] = Outputs(out_spec, [class_of(x) for x in leaves])
        inside = {id(x): i for i, x in enumerate(filled) if isinstance(x, Face)}
        found["same"] = {
            i: inside.get(id(x), x) for i, x in enumerate(leaves) if isinstance(x, Face) and (id(x) in inside or _is_outside(trace, x))
        }
        found["constants"] = {i: x for i, x in enumerate(leaves) if not is_array(x)}
        for x in leaves:
            if is_array(x):
                results.add(read(x))
        changed = written.changed()
        found["writes"] = [Write(i, results.add(y.read())) for i, y in changed]
        found["touched"] = _touched(trace, given, bool(changed))
        found["writes"] += [_write(trace, results, cell, value) for cell, value in _paired(trace)]
        found["turns"] = {cell: k for k, cell in enumerate(trace.overlay)}
        found["recorded"] = len(results.quiet) < len(results.values)
        if found["recorded"] and trace.obstacle is not None:
            raise GraphBreak(f"{trace.obstacle}, while gradients flow through the whole from outside")
        return results.taken()

    ins = tuple([aval_of(given[i]) for i in dynamic])
    graph, captures, out_avals = stage(flat, ins, label, names, trace)
    sources = trace.inputs()
    program = Program(
        label,
        intern(captures_first(graph), (*map(aval_of, captures), *ins), out_avals, label),
        [None if i in sources else x for i, x in enumerate(captures)],
        sources,
        dynamic=dynamic,
        slots=trace.slots,
        quiet=frozenset(results.quiet),
        **found,
    )
    captures.clear()  # the trace lives until the collector finds it; it must not hold the state, or the first call could not take its buffers
    return program


def _paired(trace: Recording) -> list:
    """The overlay: what is an input too first, in the order of the inputs. For XLA gives the buffer of a donated input to the first output
    of its shape, and copies (all of Adam's state, for example) where that is not its successor."""
    place = {cell: i for i, (cell, _) in trace.sources.items()}
    return sorted(trace.overlay.items(), key=lambda item: place.get(item[0], len(place)))


def _write(trace: Recording, results: _Results, cell: Cell, value) -> Write:
    """What becomes of an entry of the overlay."""
    if not isinstance(cell, Slot):
        return Write(trace.source(cell), results.add(value))
    if value is not None and value.home is trace:
        return Write(cell, results.add(value.read()), face=type(value))
    return Write(cell, None, held=value)


def _is_outside(trace: Recording, x: Face) -> bool:
    """Whether a tensor was there before the function was traced."""
    interpreter = trace.parent
    while interpreter is not None and interpreter is not x.home:
        interpreter = interpreter.parent
    return interpreter is not None


def _touched(trace: Recording, given, writes: bool) -> frozenset:
    """The cells from outside that an argument must not have for storage; raises if one has."""
    written = {cell.root or cell for cell in trace.overlay if not isinstance(cell, Slot)}
    cells = written | ({cell.root or cell for cell in trace.lifted if not isinstance(cell, Slot)} if writes else set())
    for x in given:
        if isinstance(x, Face) and x.storage in cells:
            raise GraphBreak(f"an argument {x.aval} is also used as a variable from outside, and changed by one of the two names")
    return frozenset(cells)


def _flows(value) -> bool:
    """Whether a gradient may flow into a result from outside: it has history, and `backward` has not given that away."""
    found = history(value)
    if found is None:
        return False
    seen, stack = set(), [found[1][0]]
    while stack:
        node = stack.pop()
        if node in seen or node.__class__ is not Node:
            continue
        seen.add(node)
        if node.saved is None:
            return False
        stack.extend([e[0] for e in node.edges if e is not None])
    return True

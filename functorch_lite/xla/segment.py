"""A segment: ops of one thread that were recorded and have not run, and how they run.

A structure that is new runs op by op, each intermediate freed after its last use. One that comes again, and has cost as much that way as
compiling it may, is compiled whole: results that nobody holds are left out, and inputs that nothing else can see are donated.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from weakref import ref

from ..core.array import Array
from ..core.holders import lonely
from ..core.interpreter import STATE
from ..core.pack import SMALL
from ..core.pending import Failed, Pending
from .compile import Executable, compile_flat
from .launch import one_place
from .single import single
from .steps import STEPS, Step, period

_COMPILING = 5e-3, 5e-4  # seconds that it takes to compile a program, at the least: for any, and for each op in it
_LATEST: dict[int, ref[Segment]] = {}  # of each thread


class Stats:
    """What `fl.eager_stats` shows."""

    __slots__ = ("segments", "ops", "whole", "one_by_one", "compiled", "compiling")

    def __init__(self):
        self.segments = self.ops = self.whole = self.one_by_one = self.compiled = 0
        self.compiling = 0.0  # seconds that programs took to compile, the latest counting half


STATS = Stats()


class Segment(Pending):
    """Pending ops: where the path of their structure has led, the buffers they read, and weak references to the Arrays they give.

    The thread that records it appends, and moves `step` on when an op is complete; whichever thread needs a value closes it and runs what
    is there then. What was recorded too late is recorded again by its thread (`Eval.bind`).
    """

    __slots__ = ("step", "buffers", "index", "refs", "closed", "ran", "lock", "several", "mark", "__weakref__")

    def __init__(self, device=None):
        self.device = device
        self.step: Step = STEPS.start()
        self.buffers: list = []
        self.index: dict[int, int] = {}  # id of a buffer -> its place as an input
        self.refs: list[ref] = []
        self.closed = False
        self.ran: Step | None = None  # up to where, once it has run
        self.lock = threading.RLock()
        self.several = not one_place()
        self.mark: Step | None = None  # where a part of the program ended
        _LATEST[threading.get_ident()] = ref(self)

    def force(self, x: Array):
        self.run()
        buffer = x._buffer
        if buffer is self:
            raise AssertionError(f"a {x.aval} Array was not computed by the segment that it waits for")
        return buffer.force(x) if isinstance(buffer, Pending) else buffer

    def boundary(self, final: bool) -> None:
        """A part of the program ends: see `core.interpreter.boundary`."""
        if final:
            self.run()
        elif self.step.ops:
            self.mark = self.step

    def pause(self) -> None:
        """Much is pending: ends the segment where a part of the program ended, if that can be told; at the cap anyhow."""
        end = self.mark or _repeated(self.step)
        if end is not None or self.step.full:
            self.run(end)

    def run(self, end: Step | None = None) -> None:
        """Computes what is still wanted of it, once; what stands after `end` waits in the segment that follows."""
        if STATE.segment is self:
            STATE.segment = None
        self.closed = True
        with self.lock:
            if self.ran is None:
                step = self.step
                try:
                    self._run(step, end or step)
                except BaseException as error:
                    failed = Failed(error)
                    for r in self.refs[: step.outs]:
                        x = r()
                        if x is not None and x._buffer is self:
                            x._buffer = failed
                    raise
                finally:
                    self.ran = step
                    self.buffers, self.index, self.refs = [], {}, []

    def _run(self, step: Step, end: Step) -> None:
        refs, buffers = self.refs, self.buffers
        self.buffers = []  # should its thread record still, that goes nowhere
        tail = [s for s in step.path()[end.ops + end.ins :] if s.op is not None] if end is not step else []
        wanted = {p for s in tail for p in s.places if p is not None and p < end.outs}
        kept = {p: buffers[~p] for p in wanted if p < 0}
        del buffers[end.ins :]
        live = tuple([i for i, r in enumerate(refs[: end.outs]) if r() is not None or i in wanted])
        outs = self._computed(end, live, buffers) if live else ()
        kept |= zip(live, outs)
        if tail:
            STATE.segment = self._follow(tail, kept, end.outs)
        for i, out in zip(live, outs):
            x = refs[i]()
            if x is not None:
                x._buffer = out

    def _computed(self, step: Step, live: tuple[int, ...], buffers: list) -> list:
        STATS.segments += 1
        STATS.ops += step.ops
        if step.ops == 1:
            STATS.one_by_one += 1
            return one_by_one(step, live, buffers, self.device)
        key = live, takeable(step, live, buffers)
        found = step.runs.get(key)
        if found.__class__ is Executable:
            STEPS.used(step, key)
        elif STATE.lazy != "whole" and (found is None or found < compiling(step)):
            STATS.one_by_one += 1
            began = time.perf_counter()
            outs = one_by_one(step, live, buffers, self.device)
            if found is not None:  # not what it took to compile the ops
                for out in outs:
                    out.block_until_ready()
                found += time.perf_counter() - began
            step.runs[key] = found or 0.0
            return outs
        else:
            found = whole(step, live, key[1], self.device)
            STEPS.keep(step, key, found)
        STATS.whole += 1
        return found(buffers)

    def _follow(self, tail: list[Step], kept: dict, done: int) -> Segment:
        """The segment of the ops in `tail`, whose inputs are `kept` and whose results counted from `done` on in this one."""
        segment, place_of = Segment(self.device), {}
        avals = dict(enumerate(avals_of(self.step)[1])) | {~i: a for i, a in enumerate(avals_of(self.step)[0])}
        for s in tail:
            places = []
            for p in s.places:
                if p is not None and p not in place_of:
                    place_of[p] = segment.enter(kept[p], avals[p])
                places.append(None if p is None else place_of[p])
            segment.step = segment.step.like(s, places)
            for k in range(len(s.avals)):
                r = self.refs[s.place + k]
                place_of[s.place + k] = place = segment.step.place + k
                segment.refs.append(r)
                x = r()
                if x is not None:
                    x.place, x._buffer = place, segment
        return segment

    def forget(self, start: Step) -> None:
        """Takes back the inputs since `start`: the call that they were for is not recorded after all."""
        if not self.closed:
            for buffer in self.buffers[start.ins :]:
                self.index.pop(id(buffer), None)
            del self.buffers[start.ins :]
            self.step = start

    def enter(self, buffer, known) -> int:
        """The place of one more input."""
        self.index[id(buffer)] = place = ~len(self.buffers)
        self.buffers.append(buffer)
        self.step = self.step.next.get(known) or self.step.input(known)
        return place


def compiling(step: Step) -> float:
    """How many seconds of running op by op it takes until compiling a structure that has come again is no waste: as many as that may
    take. So a loop is compiled soon, but a program that never does the same for long seldom."""
    return max(_COMPILING[0] + _COMPILING[1] * step.ops, STATS.compiling)


def whole(step: Step, live: tuple[int, ...], donated: tuple[int, ...], device) -> Executable:
    """A path as one executable."""
    path = step.path()

    def program(*values):
        made: list = []
        for s in path:
            if s.op is not None:
                args = [None if p is None else made[p] if p >= 0 else values[~p] for p in s.places]
                out = s.op.bind(*args, params=s.params)
                made.extend(out) if s.op.multi else made.append(out)
        return [made[i] for i in live]

    began = time.perf_counter()
    ins, outs = avals_of(step)
    calls = tuple([(s.op, s.params, s.places) for s in path if s.op is not None])
    exact = (calls, live), tuple([outs[i] for i in live])
    executable = compile_flat(program, ins, "eager", device=device, donate=donated, repeated=True, exact=exact)[1]
    STATS.compiling += (time.perf_counter() - began - STATS.compiling) / 2
    STATS.compiled += 1
    return executable


def _repeated(step: Step) -> Step | None:
    """Where the last whole round of a loop ended, if the ops are those of one."""
    calls = [s for s in step.path() if s.op is not None]
    n = period(calls)
    return calls[len(calls) - len(calls) % n - 1] if n else None


def takeable(step: Step, live: tuple[int, ...], buffers: list) -> tuple[int, ...]:
    """The inputs whose buffers a result may take: nothing else holds them, and some result is of that kind. Small ones are not worth it:
    what still reads an input whose buffer is taken needs a copy of it."""
    ins, outs = avals_of(step)
    large = step.plan[2]
    alone = [i for i in lonely(buffers) if i in large] if large else ()
    if not alone:
        return ()
    wanted = Counter([outs[i] for i in live])
    taken = []
    for i in alone:
        if wanted[ins[i]] > 0:
            wanted[ins[i]] -= 1
            taken.append(i)
    return tuple(taken)


def avals_of(step: Step) -> tuple[list, list]:
    """What the inputs are, and what the results are."""
    if step.plan is None:
        path = step.path()
        ins = [s.avals[0] for s in path if s.op is None]
        large = {i for i, a in enumerate(ins) if a.size > SMALL}
        step.plan = ins, [a for s in path if s.op is not None for a in s.avals], large, {}
    return step.plan[:2]


def one_by_one(step: Step, live: tuple[int, ...], buffers: list, device) -> list:
    """The results, each op by an executable of its own. What no result needs is left out, and what no later op needs is freed."""
    ins, outs = avals_of(step)
    made: list = [None] * step.outs
    schedules = step.plan[3]
    if live not in schedules:
        schedules[live] = _schedule(step, live)
    for s, frees in schedules[live]:
        if s.single is None:
            s.single = single(s.op, [None if p is None else outs[p] if p >= 0 else ins[~p] for p in s.places], s.params, device)
        made[s.place : s.place + len(s.avals)] = s.single([made[p] if p >= 0 else buffers[~p] for p in s.places if p is not None])
        for p in frees:
            if p >= 0:
                made[p] = None
            else:
                buffers[~p] = None
    return [made[i] for i in live]


def _schedule(step: Step, live: tuple[int, ...]) -> list[tuple[Step, list[int]]]:
    """The op calls that these results need, each with the places that are not read any more when it has run."""
    wanted, calls = set(live), []
    for s in reversed(step.path()):
        results = range(s.place, s.place + len(s.avals)) if s.op is not None else ()
        if not wanted.isdisjoint(results):
            used = {p for p in s.places if p is not None}
            calls.append((s, [p for p in used.union(results) if p not in wanted]))
            wanted |= used
    return calls[::-1]


def flush() -> None:
    """Runs what this thread has recorded."""
    if STATE.segment is not None:
        STATE.segment.run()


def flush_all() -> None:
    """Runs what any thread has recorded: somebody is about to take a buffer away that it may read."""
    for r in list(_LATEST.values()):
        segment = r()
        if segment is not None:
            segment.run()


os.register_at_fork(before=flush)

"""Steps: the structures of pending work, as a tree of paths. Each edge is one input or one op call.

Recording an op is one look into a dict: the step that it leads to knows what follows from the whole path, so the shapes of the
results, the program and its executables are found without building or hashing a key.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from ..core.aval import Aval
from ..core.op import Op, static_key
from .checks import check_of

MOST_OPS = 2000  # that are pending at once
MOST_BYTES = 1 << 30
_PAUSE = 250  # ops between looks for a place to end a segment
_STEPS = 1 << 16  # that are remembered before all are forgotten
_PROGRAMS = 512  # compiled ones that are kept


class Step:
    """One more input (`op` is None), or one more op call, after the path to `parent`.

    `places` are those of the op's arguments: results of earlier ops count from 0, inputs from -1 down, None is an absent argument.
    """

    __slots__ = (
        "parent",
        "next",
        "op",
        "params",
        "places",
        "avals",
        "place",
        "outs",
        "ins",
        "ops",
        "bytes",
        "pause",
        "check",
        "single",
        "runs",
        "plan",
    )

    def __init__(self, parent: Step | None, op: Op | None, params: tuple, places: tuple, avals: tuple[Aval, ...], check=None):
        self.parent, self.op, self.params, self.places, self.avals, self.check = parent, op, params, places, avals, check
        self.next: dict = {}  # an input's aval, or (op, params, *places) -> Step
        called = op is not None
        before = (0, 0, 0, 0) if parent is None else (parent.outs, parent.ins, parent.ops, parent.bytes)
        self.place = before[0]  # of its first result
        self.outs = before[0] + (len(avals) if called else 0)
        self.ins = before[1] + (0 if called or parent is None else 1)
        self.ops = before[2] + called
        self.bytes = before[3] + sum(a.size * a.dtype.itemsize for a in avals)
        self.pause = called and (self.ops % _PAUSE == 0 or self.full)
        self.single = None  # the executable of this op alone
        self.runs: dict = {}  # (which results live, which inputs may be taken) -> seconds spent op by op, or the executable
        self.plan = None

    def input(self, known: Aval) -> Step:
        """The step to one more input."""
        found = self.next.get(known)
        return found or self._grow(known, Step(self, None, (), (), (known,)))

    def call(self, key: tuple, args: tuple, params: tuple) -> Step:
        """The step to one more op call, for a key that is new here; raises what a bad call raises."""
        op = key[0]
        avals = op.infer(args, params)
        return self._grow(key, Step(self, op, params, key[2:], avals if op.multi else (avals,), check_of(op, args, params)))

    def _grow(self, key, step: Step) -> Step:
        STEPS.count += 1
        return self.next.setdefault(key, step)

    @property
    def full(self) -> bool:
        """Whether so much is pending that it must run."""
        return self.ops >= MOST_OPS or self.bytes >= MOST_BYTES

    def like(self, step: Step, places: list) -> Step:
        """The step to the op call of another step, at other places."""
        key = (step.op, static_key(step.params) if step.op.keyed and step.params else step.params, *places)
        found = self.next.get(key)
        return found or self._grow(key, Step(self, step.op, step.params, tuple(places), step.avals, step.check))

    def path(self) -> list[Step]:
        """The steps from the root to here."""
        steps, step = [], self
        while step.parent is not None:
            steps.append(step)
            step = step.parent
        return steps[::-1]

    def __repr__(self) -> str:
        return f"<step {self.op.name if self.op else 'input'}: {self.ops} ops on {self.ins} inputs>"


class Steps:
    """The tree, and the executables that hang on it; both bounded."""

    def __init__(self):
        self.root, self.count, self.lock = Step(None, None, (), (), ()), 0, threading.Lock()
        self.programs: OrderedDict[tuple, None] = OrderedDict()  # (step, key of its `runs`), the last used one at the end

    def start(self) -> Step:
        """Where a path begins."""
        if self.count > _STEPS:
            self.clear()
        return self.root

    def clear(self) -> None:
        """Forgets all."""
        with self.lock:
            self.root, self.count = Step(None, None, (), (), ()), 0
            self.programs.clear()

    def keep(self, step: Step, key: tuple, executable) -> None:
        """Puts an executable on its step; that which was not used for longest goes."""
        with self.lock:
            step.runs[key] = executable
            self.programs[step, key] = None
            if len(self.programs) > _PROGRAMS:
                (old, stale), _ = self.programs.popitem(last=False)
                old.runs.pop(stale, None)

    def used(self, step: Step, key: tuple) -> None:
        """Notes that an executable was used."""
        with self.lock:
            if (step, key) in self.programs:
                self.programs.move_to_end((step, key))


STEPS = Steps()


def period(calls: list[Step]) -> int:
    """How many calls the sequence repeats after, if it does so from its beginning and at least twice; else 0.

    By the failure function of Knuth, Morris and Pratt.
    """
    kinds = [(s.op, s.params, s.avals) for s in calls]
    border = [0] * len(kinds)
    k = 0
    for i in range(1, len(kinds)):
        while k and kinds[i] != kinds[k]:
            k = border[k - 1]
        k += kinds[i] == kinds[k]
        border[i] = k
    found = len(kinds) - k
    return found if kinds and 2 * found <= len(kinds) else 0

"""How ops run that no transform takes: `eager` chooses, `eager_stats` tells what came of it."""

from __future__ import annotations

from typing import NamedTuple

from ..core.interpreter import STATE
from .segment import STATS, flush
from .steps import STEPS

MODES = ("lazy", "whole", "op")


class eager:
    """Chooses how this thread's eager ops run, from now on or, as a context, inside a block.

    "lazy" (the usual): ops are recorded until a value is wanted, and what comes again runs as one program. "whole": the same, but
    what is new is compiled as one program too; for loops that are known to go on. "op": each op runs at once, whatever came before;
    for looking closely, and for programs that never do the same twice. Raises ValueError for another mode.

    >>> import functorch_lite as fl
    >>> with fl.eager("op"):
    ...     y = fl.asarray(1.0) + 1
    >>> y.item()
    2.0
    """

    def __init__(self, mode: str):
        if mode not in MODES:
            raise ValueError(f"eager: expected a mode of {', '.join(map(repr, MODES))}, got {mode!r}")
        self.mode, self.before = mode, STATE.lazy
        flush()
        STATE.lazy = mode if mode != "op" else None

    def __enter__(self) -> eager:
        return self

    def __exit__(self, *_) -> None:
        flush()
        STATE.lazy = self.before

    def __repr__(self) -> str:
        return f"eager({self.mode!r})"


class EagerStats(NamedTuple):
    """What `eager_stats` gives: counts since the process began, of all threads."""

    segments: int  # that have run
    ops: int  # in them
    whole: int  # segments that ran as one executable
    one_by_one: int  # segments that ran op by op, since their structure was new (or they are one op)
    compiles: int  # executables of whole segments that were made
    programs: int  # of these, the ones that are kept now
    pending: int  # ops of this thread that have not run yet


def eager_stats() -> EagerStats:
    """How the lazy eager mode has run so far.

    >>> import functorch_lite as fl
    >>> x = fl.asarray([1.0, 2.0]) + 1
    >>> fl.eager_stats().pending > 0
    True
    """
    segment = STATE.segment
    pending = segment.step.ops if segment is not None else 0
    return EagerStats(STATS.segments, STATS.ops, STATS.whole, STATS.one_by_one, STATS.compiled, len(STEPS.programs), pending)

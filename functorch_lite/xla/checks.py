"""What an op call demands of its data, asked as soon as the call is recorded: an exception stands where the user wrote the op.

A check reads few of the operands (an index, seldom what is indexed): those are computed at once, the op itself is not.
"""

from __future__ import annotations

from collections import OrderedDict

import jax

from ..core.array import Array
from ..core.aval import aval_of
from ..core.interpreter import STATE, Traced
from ..core.op import cache_key
from .compile import compile_flat
from .lower import Lower
from .operands import buffer_of

_LIMIT = 4096
_FOUND: OrderedDict[tuple, Check | None] = OrderedDict()


class Check:
    """The checks of one op call as a program of the operands that they read."""

    __slots__ = ("reads", "whole", "executable")

    def __init__(self, reads: tuple[int, ...], whole: bool, executable):
        self.reads, self.whole, self.executable = reads, whole, executable

    def __call__(self, args) -> None:
        """Raises what the data of these arguments deserve."""
        self.executable([buffer_of(args[i]) for i in self.reads])


def check_of(op, args, params) -> Check | None:
    """The check of a call; None if there is nothing to check in it."""
    if op.checks is None and not op.checked:
        return None
    key = cache_key(op, args, params)
    if key not in _FOUND:
        while len(_FOUND) >= _LIMIT:
            _FOUND.popitem(last=False)
        _FOUND[key] = _made(op, tuple(map(aval_of, args)), params, tuple([isinstance(x, Array) for x in args]))
    return _FOUND[key]


def _made(op, avals, params, arrays) -> Check | None:
    given = [i for i, a in enumerate(avals) if a is not None]
    probe = Probe(op.name)

    def trace(*buffers):
        values = dict(zip(given, [Traced(probe, avals[i], b, None, frozenset((i,))) for i, b in zip(given, buffers)]))
        before, STATE.current = STATE.current, probe
        try:
            op.bind(*[values.get(i) for i in range(len(avals))], params=params)
        finally:
            STATE.current = before
        return ()

    with jax.enable_x64(True):
        jax.eval_shape(trace, *[jax.ShapeDtypeStruct(avals[i].shape, avals[i].dtype.dtype) for i in given])
    if not probe.failures:
        return None
    reads = tuple(sorted(probe.read))

    def check(*values):
        known, here = dict(zip(reads, values)), STATE.current
        for i in given:
            if i not in known:  # only its shape counts
                known[i] = Traced(here, avals[i], jax.lax.full(avals[i].shape, 0, avals[i].dtype.dtype))
        op.bind(*[known.get(i) for i in range(len(avals))], params=params)
        return ()

    executable = compile_flat(check, [avals[i] for i in reads], op.name, checked=True, quick=True)[1]
    return Check(reads, all(i in probe.read for i, a in enumerate(arrays) if a), executable)


class Probe(Lower):
    """Finds which operands the checks of a call read: `line` is the set of operands that a value depends on."""

    __slots__ = ("read",)

    def __init__(self, label: str):
        super().__init__(label, [])
        self.read: set[int] = set()

    def bind(self, op, args, params):
        before = len(self.failures)
        out = super().bind(op, args, params)
        if op.impl is None:
            return out
        on = [x.line or frozenset() if x.__class__ is Traced else frozenset() for x in args]
        if len(self.failures) > before:
            self.read.update(*on[op.traits.get("reads", 0) :])
        together = frozenset().union(*on)
        for x in out if op.multi else (out,):
            x.line = together
        return out

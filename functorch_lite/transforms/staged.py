"""Staged: a function whose calls run as programs. What `fl.jit` and `torch.compile` have in common: they read the leaves of a call into
a key, look for a program of that key whose state is as it was, and keep the programs that they trace."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper

from ..core.array import Array, asarray
from ..core.aval import aval_of
from ..core.face import Face
from ..core.interpreter import STATE, Traced, body
from ..core.op import static_key
from .arguments import is_array, shared
from .program import Program


class Staged:
    """The base of `Jitted` and `Compiled`. ``numbers`` are the Python numbers that are inputs of a program; others belong to it."""

    verb = "staged"
    numbers: frozenset = frozenset()
    limit = 256  # keys whose programs are remembered

    def __init__(self, function: Callable, name: str):
        self._function, self._name = function, name
        self._programs: dict = {}
        update_wrapper(self, function, updated=())  # the function's own attributes stay its own

    @property
    def programs(self) -> list[Program]:
        """What has been traced so far."""
        return [p for found in self._programs.values() for p in found]

    def __repr__(self) -> str:
        return f"<{self.verb} {self._name}, {len(self.programs)} program(s)>"

    def __get__(self, instance, owner=None):
        return self if instance is None else _Bound(self, instance)

    def clear_cache(self) -> None:
        """Forgets every program traced so far."""
        self._programs.clear()

    def _read(self, given: list, *key) -> tuple[list, list[int], tuple]:
        """The leaves of a call as values, which of them are inputs, and what a program for them depends on besides `key`."""
        leaves, dynamic, parts = list(given), [], [*key, STATE.stopped > body(STATE.current).born]
        for i, x in enumerate(given):
            if isinstance(x, Array):
                parts.append(x.aval)
            elif isinstance(x, Face):
                leaves[i] = value = x.read()
                parts.append((value.aval, x.__class__, x.requires_grad))
            elif x.__class__ in self.numbers:
                parts.append(aval_of(x))
            elif x.__class__ in _WHOLE or not is_array(x):
                parts.append(("static", type(x), self._static(x)))  # a function or a string in a tree belongs to the program
                continue
            else:
                given[i] = leaves[i] = asarray(x)
                parts.append(leaves[i].aval)
            dynamic.append(i)
        return leaves, dynamic, (*parts, *shared(given))

    def _static(self, x):
        """A leaf that belongs to the program, as a part of its key."""
        try:
            hash(x)
        except TypeError:
            raise TypeError(
                f"{self.verb} {self._name}: a leaf of type {type(x).__name__} is neither an array nor hashable; convert it with fl.asarray"
            ) from None
        return static_key(x)

    def _find(self, key: tuple, given: list) -> tuple[Program | None, list | None, list[str]]:
        """The program for a key whose guards hold, with its first inputs; and why others do not serve."""
        reasons, known = [], self._programs.get(key, ())
        for i, program in enumerate(known):
            reason = program.guards.broken() if program.guards is not None else None
            if reason is None:
                first = program.operands(given)
                if first is not None:
                    if i:
                        known.insert(0, known.pop(i))  # most likely the next call's too
                    return program, first, reasons
                reason = "a tensor that it uses has another shape, dtype, history, gradient or hooks, or is an argument too"
            reasons.append(reason)
        return None, None, reasons

    def _keep(self, key: tuple, program: Program) -> None:
        if any(x.__class__ is Traced for x in program.captures):  # values of an outer transform die with it
            return
        if key not in self._programs and len(self._programs) >= self.limit:
            self._programs.pop(next(iter(self._programs)))
        known = self._programs.setdefault(key, [])
        known.insert(0, program)
        del known[self.limit :]


_WHOLE = (bool, int)


class _Bound:
    """A staged method of an instance, whose leaves are inputs."""

    def __init__(self, staged: Staged, instance):
        self.staged, self.instance = staged, instance

    def __call__(self, *args, **kwargs):
        return self.staged(self.instance, *args, **kwargs)

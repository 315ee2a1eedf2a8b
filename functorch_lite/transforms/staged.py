"""Staged: a function whose calls run as programs. What `fl.jit` and `torch.compile` have in common: they read the leaves of a call into
a key, look for a program of that key whose state is as it was, and keep the programs that they trace."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper

from ..core import pytree
from ..core.array import Array, Operable, asarray
from ..core.aval import aval_of
from ..core.dtype import NUMBERS
from ..core.face import Face
from ..core.interpreter import STATE, Traced
from ..core.op import static_key
from .arguments import is_array, shared
from .program import MISS, Program


class Staged:
    """The base of `Jitted` and `Compiled`. ``numbers`` are the Python numbers that are inputs of a program; others belong to it."""

    verb = "staged"
    numbers: frozenset = frozenset()
    limit = 256  # keys whose programs are remembered
    _checked = False  # whether the ops' checks of data are made

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

    def _flat(self, args: tuple, kwargs: dict) -> tuple[list, object]:
        """The leaves of a call, and its structure: a `TreeSpec`, or the number of arguments where each of them is a leaf."""
        if kwargs:
            return pytree.flatten((args, kwargs))
        for x in args:
            if not isinstance(x, _LEAVES):
                return pytree.flatten((args, kwargs))
        return list(args), len(args)

    def _read(self, given: list, *key) -> tuple[list, list, tuple]:
        """The leaves of a call as values, the storages of the tensors among them, and what a program depends on besides `key`."""
        here = STATE.current
        low = here.parent is None or here.base is not None
        leaves, storages, parts = list(given), [], [*key, STATE.stopped > here.born]
        for i, x in enumerate(given):
            kind = x.__class__
            if kind is Array:
                parts.append(x.aval)
            elif isinstance(x, Face):
                found = x.plain() if low else None
                if found is not None:
                    value, storage = found
                    parts += (value.aval, kind)
                else:
                    value, storage = x.read(), x.storage
                    parts.append((value.aval, kind, x.requires_grad))
                leaves[i] = value
                storages.append(storage)
            elif self._is_static(x):
                parts.append(("static", kind, self._static(x)))  # a function or a string in a tree belongs to the program
            elif kind in self.numbers or isinstance(x, Array):
                parts.append(aval_of(x))
            else:
                given[i] = leaves[i] = asarray(x)
                parts.append(leaves[i].aval)
        if len(storages) > 1 and len(set(storages)) < len(storages):
            parts += shared(storages)
        return leaves, storages, tuple(parts)

    def _is_static(self, x) -> bool:
        """Whether a leaf belongs to the program; others are its inputs."""
        return x.__class__ not in self.numbers and (x.__class__ in _WHOLE or not is_array(x))

    def _static(self, x):
        """A leaf that belongs to the program, as a part of its key."""
        try:
            hash(x)
        except TypeError:
            raise TypeError(
                f"{self.verb} {self._name}: a leaf of type {type(x).__name__} is neither an array nor hashable; convert it with fl.asarray"
            ) from None
        return static_key(x)

    def _serve(self, key: tuple, given: list, leaves: list, storages: list):
        """The output of the program for a key whose guards hold, or MISS; and why others do not serve."""
        reasons, known = [], self._programs.get(key, ())
        for program in known:
            reason = program.guards.broken() if program.guards is not None else None
            if reason is None:
                out = program(given, leaves, storages, self._name, self._checked)
                if out is not MISS:
                    if reasons:
                        known.insert(0, known.pop(len(reasons)))  # most likely the next call's too
                    return out, reasons
                reason = _OTHER_STATE
            reasons.append(reason)
        return MISS, reasons

    def _find(self, key: tuple, storages: list) -> tuple[Program | None, list | None, list[str]]:
        """The program for a key whose guards hold, with its first inputs, to look at; and why others do not serve."""
        reasons, known = [], self._programs.get(key, ())
        for program in known:
            reason = program.guards.broken() if program.guards is not None else None
            if reason is None:
                first = program.operands(storages)
                if first is not None:
                    return program, first, reasons
                reason = _OTHER_STATE
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
_LEAVES = (Operable, *NUMBERS)  # classes that are no pytrees
_OTHER_STATE = "a tensor that it uses has another shape, dtype, history, gradient or hooks, or is an argument too"


class _Bound:
    """A staged method of an instance, whose leaves are inputs."""

    def __init__(self, staged: Staged, instance):
        self.staged, self.instance = staged, instance

    def __call__(self, *args, **kwargs):
        return self.staged(self.instance, *args, **kwargs)

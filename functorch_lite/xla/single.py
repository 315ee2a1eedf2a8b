"""Executables of single op calls: what runs when a structure is new, and in the mode that runs each op at once."""

from __future__ import annotations

import threading
from collections import OrderedDict

import numpy as np

from ..core.array import constant
from ..core.op import static_key
from .compile import Executable, compile_call, inferred

_LIMIT = 1 << 14
EXECUTABLES: OrderedDict[tuple, Executable] = OrderedDict()
_LOCK = threading.Lock()


class Constant:
    """What runs an op of numbers alone (trait ``constant``): NumPy makes the array, and there is nothing to compile for each shape."""

    __slots__ = ("op", "given", "params", "avals")

    def __init__(self, op, avals, params):
        self.op, self.given, self.params = op, [a is not None for a in avals], params
        self.avals = inferred(op, avals, params)

    def __call__(self, buffers):
        numbers = iter(buffers)
        args = [np.asarray(next(numbers)).item() if g else None for g in self.given]
        return [constant(np.asarray(self.op.spell(self.op.reference, args, self.params), self.avals[0].dtype.dtype))]


def single(op, avals, params, device) -> Executable:
    """The executable of a call with arguments of these avals (None for an absent one), on a device (None: where they are)."""
    key = (op, device, *avals, static_key(params) if op.keyed else params)
    found = EXECUTABLES.get(key)
    if found is None:
        of_numbers = "constant" in op.traits and all(a is None or a.weak for a in avals)
        found = Constant(op, avals, params) if of_numbers and device is None else compile_call(op, avals, params, device)
        with _LOCK:
            if len(EXECUTABLES) >= _LIMIT:
                EXECUTABLES.popitem(last=False)
            EXECUTABLES[key] = found
    return found

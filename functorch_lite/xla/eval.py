"""Eval: the bottom of the stack. Each op is one executable, found by op, static parameters, avals and device."""

from __future__ import annotations

import threading
from collections import OrderedDict

import jax
import numpy as np

from ..core.array import META, Array, constant, meta, wrap_as
from ..core.aval import aval_of
from ..core.dtype import NUMBERS, WIDEST, category_of
from ..core.interpreter import Interpreter, Traced, install_bottom, leak_error
from ..core.op import static_key
from ..transforms.body import Body
from .compile import ALWAYS_QUICK, Executable, compile_call, compile_flat

_LIMIT = 1 << 14


class Eval(Interpreter):
    """Runs ops on Arrays. At first simple: each op at once.

    An op runs where its arguments are. What no argument places (constants, and what was made of constants alone) is
    *uncommitted*, in jax's words: it follows the others.
    """

    __slots__ = ("executables", "lock", "_placed")

    def __init__(self):
        super().__init__(None, "eager")
        self.executables: OrderedDict[tuple, Executable] = OrderedDict()
        self.lock = threading.Lock()
        self._placed = None  # whether arrays may be in different places at all

    def bind(self, op, args, params):
        if op.inline:
            return op.run(args, params)
        buffers, described = [], False
        for x in args:
            kind = x.__class__
            if kind is Array:
                buffer = x.buffer
                described = described or buffer is META
                buffers.append(buffer)
            elif kind in NUMBERS:
                buffers.append(_number(x))
            elif isinstance(x, Traced):
                raise self._refuse(op, x)
            elif x is not None:
                raise TypeError(f"{op.name}: expected Arrays, got {type(x).__name__}")
        if described:
            out = op.infer(args, params)
            return tuple(map(meta, out)) if op.multi else meta(out)
        device = None if self._placed is False else self._place(op, args, buffers)
        key = (op, device, *map(aval_of, args), static_key(params) if op.keyed else params)
        found = self.executables.get(key)
        if found is None:
            found = self._compile(key, op, args, params, device)
        outs = found(buffers)
        return tuple(map(wrap_as, found.avals, outs)) if op.multi else wrap_as(found.avals[0], outs[0])

    def _compile(self, key, op, args, params, device):
        op.infer(args, params)  # what the user did wrong surfaces here, in the op's name
        found = compile_call(op, args, params, device)
        with self.lock:
            if len(self.executables) >= _LIMIT:
                self.executables.popitem(last=False)
            self.executables[key] = found
        return found

    def _place(self, op, args, buffers):
        """The device of the committed arguments; None if there is none, or no choice."""
        if self._placed is None:
            self._placed = jax.default_backend() != "cpu" or jax.device_count() > 1
        found = None
        for buffer in buffers if self._placed else ():
            if buffer.committed:
                mine = _device_of(buffer)
                if found is None:
                    found = mine
                elif mine is not found:
                    raise _devices_differ(op, args)
        return found

    def _refuse(self, op, x):
        if not x.owner.alive:
            return leak_error(x)
        return RuntimeError(
            f"{op.name}: a {x.aval} value of {x.owner.label} reached the bottom: it was used outside its transform, or in another thread"
        )


def _device_of(buffer):
    sharding = buffer.sharding
    return next(iter(sharding.device_set)) if len(sharding.device_set) == 1 else sharding


def _devices_differ(op, args):
    seen = ", ".join(f"{x.aval} on {x.device}" for x in args if isinstance(x, Array))
    return RuntimeError(f"{op.name}: expected all arrays on one device, got {seen}; move them with .to(device)")


_NUMBER_BUFFERS: OrderedDict[tuple, jax.Array] = OrderedDict()


def _number(x):
    """A Python number as a 0-dim input that holds it exactly: a changed number is no new program."""
    key = static_key(x), x.__class__
    out = _NUMBER_BUFFERS.get(key)
    if out is None:
        try:
            out = constant(np.asarray(x, WIDEST[category_of(x)].dtype))
        except OverflowError:
            raise OverflowError(f"the Python int {x} does not fit in int64") from None
        if len(_NUMBER_BUFFERS) > 1024:
            _NUMBER_BUFFERS.popitem(last=False)
        _NUMBER_BUFFERS[key] = out
    return out


def _stages(self: Body):
    """(lowered, compiled, the function that runs it on Arrays) of a whole program."""
    lowered, executable = compile_flat(self, list(self.ins), self.label)

    def run(operands):
        buffers = [_number(x) if x.__class__ in NUMBERS else x.buffer for x in operands]
        return list(map(wrap_as, executable.avals, executable(buffers)))

    return lowered, executable.compiled, run


def _launch(self: Body, donate: tuple[int, ...], checked: bool):
    """The program as one executable, without the way of an op call; where there is one device only."""

    def make():
        _, executable = compile_flat(self, list(self.ins), self.label, donate=donate, checked=checked, quick=ALWAYS_QUICK)
        avals, run = executable.avals, executable

        def launch(operands):
            buffers = []
            for x in operands:
                kind = x.__class__
                if kind is Array:
                    buffer = x.buffer
                    if buffer is META:
                        return None
                    buffers.append(buffer)
                elif kind in NUMBERS:
                    buffers.append(_number(x))
                else:
                    return None
            return list(map(wrap_as, avals, run(buffers)))

        return launch

    return self.remember(("launch", donate, checked), make) if one_device() else None


def one_device() -> bool:
    """Whether arrays can be in one place only."""
    if EVAL._placed is None:
        EVAL._placed = jax.default_backend() != "cpu" or jax.device_count() > 1
    return not EVAL._placed


Body.launch = _launch
Body.stages = _stages
EVAL = Eval()
install_bottom(EVAL)

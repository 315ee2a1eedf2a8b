"""debug.find_nan: where the NaN in a function's results came from."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import numpy as np

from ..core import pytree
from ..core.array import Array, Operable
from ..core.face import Face, read
from ..core.interpreter import STATE, Interpreter, Traced, ground, live, lowered, show_line, user_line
from ..core.record import Record
from ..errors import ConcretizationError
from ..prims import control, shape
from ..transforms.arguments import callable_or_raise, given_back, label_of, settled, value_of


class Origin(Record, eq=False):
    """What gave a value that is not a number, and at which line of the user's code; no op where it came from outside."""

    op: str | None
    line: tuple | None
    of: str  # the arguments, as messages show them

    def __str__(self) -> str:
        if self.op is None:
            return f"it was there already in a value from outside, {self.of}, which was first used at {show_line(self.line)}"
        return f"it came from {self.op}({self.of}) at {show_line(self.line)}"


class Finder(Interpreter):
    """Hands each op on to what is below and looks at what it gave. Programs and loops it takes apart, so that their ops come here too."""

    __slots__ = ("origins", "bad", "stored")

    def __init__(self, parent: Interpreter, label: str, bad: Callable):
        super().__init__(parent, label)
        self.bad = bad
        self.origins: dict = {}  # id of a bad value -> (the value, which keeps the id its own; where it came from)
        self.stored: list = []  # bad values that were written to tensors from outside

    def bind(self, op, args, params):
        before, line = STATE.current, STATE.line
        STATE.line = line or user_line()
        try:
            apart = _APART.get(op)
            if apart is not None:
                STATE.current = self
                return apart(*args, *params)
            STATE.current = self.parent
            out = self.parent.bind(op, args, params)
            for y in out if out.__class__ is tuple else (out,):
                self.look(op, args, y)
            return out
        finally:
            STATE.current, STATE.line = before, line

    def look(self, op, args, y) -> None:
        if self.bad(y):
            self.origins[id(y)] = y, self.origin(op, args)

    def origin(self, op, args) -> Origin:
        """That of an argument that was bad already, else the op."""
        known = [x for x in args if isinstance(x, Array)]
        for x in known:
            if id(x) in self.origins:
                return self.origins[id(x)][1]
        for x in known:
            if self.bad(x):
                return Origin(None, STATE.line, str(x.aval))
        return Origin(op.qualname, STATE.line, ", ".join(str(x.aval) if isinstance(x, Array) else repr(x) for x in args))

    def of(self, x) -> Origin:
        """Where a bad value came from."""
        return self.origins[id(x)][1] if id(x) in self.origins else Origin(None, None, str(x.aval))

    def keeps(self, cell) -> bool:
        """What is below is written to as it is there: this only looks on."""
        return super().keeps(cell) or self.parent.keeps(cell)

    def store(self, cell, value) -> None:
        if cell.home is not self:
            value = lowered(value, self)
            held = lowered(value.read(), self) if isinstance(value, Face) else value  # a gradient is a tensor
            if isinstance(held, Array) and self.bad(held):
                self.stored.append(held)
        super().store(cell, value)

    def concrete(self, x, what):
        return x.value.concrete(what)


def _number(x) -> np.ndarray:
    """The data of a value at the bottom, or of all rows of one inside vmap; of the primal inside grad."""
    while x.__class__ is Traced and isinstance(x.value, Array):
        x = x.value
    if x.__class__ is Traced:
        raise ConcretizationError(
            f"debug.find_nan: a {x.aval} value inside {x.owner.label} has no data to look at; put find_nan outside: find_nan(jit(f))"
        )
    return np.asarray(x.buffer)


def _test(inf: bool) -> Callable:
    def bad(x) -> bool:
        if not x.aval.dtype.is_inexact or not x.aval.size:
            return False
        data = _number(x)
        return bool((~np.isfinite(data) if inf else np.isnan(data)).any())

    return bad


# ------------------------------------------------------------------------------------------ programs and loops, in steps


def _scan(*rest):
    *operands, body, consts, carry, length, reverse = rest
    fixed, state, xs = operands[:consts], operands[consts : consts + carry], operands[consts + carry :]
    rows = [None] * length
    for k in reversed(range(length)) if reverse else range(length):
        row = [shape.reshape(shape.part(x, 0, k, k + 1), x.shape[1:]) for x in xs]
        out = body(*fixed, *state, *row)
        state, rows[k] = out[:carry], out[carry:]
    if not length:
        return _scan_of_nothing(operands, body, consts, carry, length, reverse)
    stacked = [shape.concatenate([shape.reshape(y, (1, *y.shape)) for y in ys], 0) for ys in zip(*rows)]
    return (*state, *stacked)


def _scan_of_nothing(*args):
    STATE.current = STATE.current.parent
    return control.scan(*args)


def _while_loop(*rest):
    *operands, test, body, test_consts, body_consts = rest
    of_test, of_body = operands[:test_consts], operands[test_consts : test_consts + body_consts]
    state = tuple(operands[test_consts + body_consts :])
    while _number(test(*of_test, *state)[0]).item():
        state = body(*of_body, *state)
    return state


def _switch(which, *rest):
    *operands, bodies = rest
    return bodies[min(max(int(_number(which)), 0), len(bodies) - 1)](*operands)


_APART = {
    control.call.op: lambda *rest: rest[-4](*rest[:-4]),
    control.scan.op: _scan,
    control.while_loop.op: _while_loop,
    control.switch.op: _switch,
}

# ---------------------------------------------------------------------------------------------------------- find_nan


def find_nan(f: Callable, *, inf: bool = False) -> Callable:
    """f with each op watched: where its results hold a NaN, FloatingPointError names the op that gave the first one, and the line of code.

    Calls of f give what f gives. A NaN that does not reach a result (in a branch of `where` that is not taken) is none; what f writes
    to tensors is a result (gradients by `backward` are). It looks into `grad`, `vmap`, `jit` and loops inside f, and is slow. With
    ``inf``, infinities count too. Raises ConcretizationError inside `jit`, where there is no data.

    >>> import functorch_lite as fl
    >>> fl.debug.find_nan(lambda x: fl.log(x) * 2)(fl.asarray([1.0, -1.0]))
    Traceback (most recent call last):
    ...
    FloatingPointError: find_nan(<lambda>): the result has a NaN; it came from fl.log(float32[2]) at ...
    """
    callable_or_raise("find_nan", f)

    @wraps(f)
    def watched(*args, **kwargs):
        label = label_of("find_nan", f)
        finder = Finder(ground(), label, _test(inf))
        with live(finder):
            out = pytree.map(settled, f(*args, **kwargs))
        what = "a NaN or infinity" if inf else "a NaN"
        for path, leaf in pytree.leaves_with_path(out):
            value = value_of(leaf)
            if isinstance(value, Operable) and finder.bad(read(value)):
                raise FloatingPointError(f"{label}: the result{path} has {what}; {finder.of(value)}")
        for value in finder.stored:
            if finder.bad(value):
                raise FloatingPointError(f"{label}: {what} was written to a tensor; {finder.of(value)}")
        return pytree.map(lambda leaf: given_back(leaf, value_of(leaf)), out)

    return watched

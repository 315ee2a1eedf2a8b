"""The values of a program that is traced without example inputs: their shapes and dtypes are not known."""

from __future__ import annotations

import dis
import operator
import sys
import types

from ..core.array import Array, Operable
from ..core.interpreter import Traced, leak_error, show_line
from ..errors import TraceError
from .calls import PYTHON


class Unknown:
    """The aval of a value whose shape and dtype are not known; asking for them raises."""

    __slots__ = ("owner", "line")
    weak = False

    def __init__(self, owner, line):
        self.owner, self.line = owner, line

    def __repr__(self) -> str:
        return "?"

    def missing(self, what: str) -> Exception:
        if not self.owner.alive:
            return leak_error(Traced(self.owner, self, None, None, self.line))
        return TraceError(
            f"{what} of a value inside {self.owner.label} was asked for, made at {show_line(self.line)}: tracing without example inputs "
            "knows no shapes and dtypes. Trace with them: fl.make_fx(f)(*example_inputs), or keep this part one call with fl.fx.wrap"
        )

    @property
    def shape(self):
        raise self.missing("the shape")

    @property
    def dtype(self):
        raise self.missing("the dtype")

    @property
    def ndim(self):
        raise self.missing("the number of dimensions")

    @property
    def size(self):  # what Python asks first on its way to a number
        raise self.owner.no_data(Traced(self.owner, self, None, None, self.line), "a number, or how many there are,")


class Several:
    """The results of an op with several outputs whose number is not known: index it, or unpack it into as many names."""

    __slots__ = ("owner", "value", "line")

    def __init__(self, owner, value, line):
        self.owner, self.value, self.line = owner, value, line

    def __getitem__(self, index: int) -> Traced:
        return self.owner.item(self.value, operator.index(index), self.line)

    def __iter__(self):
        frame = sys._getframe(1)
        for step in dis.get_instructions(frame.f_code):
            if step.offset == frame.f_lasti and step.opname == "UNPACK_SEQUENCE":
                return iter([self[i] for i in range(step.argval)])
        raise TraceError(
            f"{self.owner.label}: how many results {self.value._target!r} has, called at {show_line(self.line)}, is not known: "
            "index them (out[0]), unpack them (a, b = out), or trace with example inputs: fl.make_fx(f)(*example_inputs)"
        )

    def __repr__(self) -> str:
        return f"Several({self.value._target!r}, {self.owner.label})"


class Proxy(Traced):
    """A value of unknown shape. Its operators and methods are those of Array; one that asks for a shape is recorded as it was called."""

    __slots__ = ()


def cover() -> None:
    """Gives Proxy its own version of whatever has been installed on Operable that is no op (an op is recorded as it is called anyway)."""
    for name, found in vars(Operable).items():
        function = found.fget if isinstance(found, property) else found
        installed = isinstance(function, types.FunctionType) and function.__module__ != Array.__module__ and not hasattr(function, "op")
        if installed and name not in vars(Proxy) and (not name.startswith("_") or _operator(name)[0] is not None):
            setattr(Proxy, name, _recording(name, found))


def _recording(name: str, found):
    if isinstance(found, property):
        return property(lambda self: self.owner.attempt(lambda: found.fget(self), lambda: self.owner.leaf(getattr, (self, name), {})))
    function, reflected = _operator(name)

    def method(self, *args, **kwargs):
        def whole():
            if function is None:
                return self.owner.leaf(name, (self, *args), kwargs)
            return self.owner.leaf(function, (*args, self) if reflected else (self, *args), kwargs)

        return self.owner.attempt(lambda: found(self, *args, **kwargs), whole)

    method.__name__ = name
    return method


def _operator(name: str):
    """The function behind a special method, and whether it takes its operands the other way round; (None, False) for another method."""
    if not name.startswith("__"):
        return None, False
    plain = getattr(operator, name, None)
    function = plain or getattr(operator, f"__{name[3:]}", None)
    return (function if function in PYTHON else None), plain is None

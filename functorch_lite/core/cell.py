"""Cell: a name for a changing immutable value."""

from __future__ import annotations

from .array import Array, asarray
from .interpreter import STATE, Interpreter, Traced


def chain(interpreter: Interpreter | None):
    """An interpreter and everything below it."""
    while interpreter is not None:
        yield interpreter
        interpreter = interpreter.parent


class Cell:
    """State: holds one Array, which can be replaced.

    A cell belongs to the body it was made in. A value of a transform cannot be kept in a cell from outside it, where it would
    outlive the transform: `functionalize` runs a function on fresh cells instead and hands the results out.

    >>> import functorch_lite as fl
    >>> count = fl.Cell(0)
    >>> count.value = count.value + 1
    >>> count
    Cell(Array(1, dtype=int64))
    """

    __slots__ = ("_value", "home", "__weakref__")

    def __init__(self, value):
        self.home = STATE.current
        self._value = asarray(value)

    @property
    def value(self) -> Array:
        """What the cell holds."""
        return self._value

    @value.setter
    def value(self, new) -> None:
        new = asarray(new)
        if new.__class__ is Traced and new.owner not in chain(self.home):
            raise RuntimeError(
                f"a Cell that was made outside {new.owner.label} would keep a {new.aval} value of it; return the value as an output, "
                "or pass the cell as an argument to fl.functionalize(f)"
            )
        self._value = new

    def __repr__(self) -> str:
        return f"Cell({self._value!r})"

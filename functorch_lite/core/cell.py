"""Cell: a name for a changing value. Each interpreter says what a cell holds in its body and where a write goes (`fetch`, `store`)."""

from __future__ import annotations

from .array import Array, asarray
from .interpreter import STATE, Interpreter, Traced, body


class Cell:
    """State: holds one Array, which can be replaced.

    A cell belongs to the body it was made in. A value of a transform cannot be kept in a cell from outside it, where it would
    outlive the transform. Under `fl.jit` a cell is an input, and what is written to it is committed after the program has run.

    >>> import functorch_lite as fl
    >>> count = fl.Cell(0)
    >>> count.value = count.value + 1
    >>> count
    Cell(Array(1, dtype=int64))
    """

    __slots__ = ("held", "home", "version", "name", "__weakref__")
    root = None  # the cell in which its value really lies, where that is another

    def __init__(self, value, name: str | None = None):
        self.held = value if value.__class__ is Array or value.__class__ is Traced else asarray(value)
        self.home = body(STATE.current)
        self.version = 0
        self.name = name  # what to call it in messages

    def read(self, leaf=None) -> Array:
        """What the cell holds, as the current body sees it. ``leaf`` is whose gradient recording starts here, if any."""
        here = STATE.current
        if leaf is None and (here is self.home or here.base is self.home):
            value = self.held
            if value.__class__ is Array or value.owner is here:
                return value
        if leaf is not None:
            if STATE.stopped > here.born:
                leaf = None
            elif not here.ambient:
                here = STATE.current = here.recording()
        if here is self.home:
            value = self.held
        else:
            value = here.fetch(self, leaf)
            if self in here.continued and STATE.stopped <= here.born:
                here = STATE.current = here.recording()
                value = here.fetch(self, leaf)
        if value.__class__ is Traced and value.owner.ambient and value.owner.parent is here:
            STATE.current = value.owner  # made where recording was on: it is on again from here
        return value

    def write(self, value) -> None:
        """Replaces what the cell holds."""
        here = STATE.current
        if here is self.home or here.base is self.home:
            self.held = value
        else:
            here.store(self, value)
        self.version += 1

    @property
    def value(self) -> Array:
        """What the cell holds."""
        return self.read()

    @value.setter
    def value(self, new) -> None:
        self.write(asarray(new))

    def __repr__(self) -> str:
        return f"Cell({self.held!r})"


def cell_of(value: Array) -> Cell:
    """A new nameless Cell with this Array, in as few steps as it can be made: each result of an op on Tensors gets one."""
    cell, here = _new(Cell), STATE.current
    cell.held, cell.version, cell.name = value, 0, None
    cell.home = here.parent if here.ambient else here
    return cell


_new = Cell.__new__


class Slot(Cell):
    """A cell that holds an object instead of an Array: a leaf's gradient, or None."""

    __slots__ = ()

    def __init__(self, value=None, name: str | None = None):
        self.held, self.home, self.version, self.name = value, body(STATE.current), 0, name

    def read(self, leaf=None):
        here = STATE.current
        return self.held if here is self.home else here.fetch(self)


class Number(Cell):
    """A Python number that programs take as an input, so that another value is no new program: `now()` says what it is."""

    __slots__ = ("now",)

    def __init__(self, now, name: str | None = None):
        self.now, self.home, self.version, self.name = now, None, 0, name

    @property
    def held(self):
        """The number now."""
        return self.now()

    def read(self, leaf=None):
        return STATE.current.fetch(self)


def in_program() -> bool:
    """Whether what runs now is being traced into a program that lifts cells."""
    interpreter = STATE.current
    while interpreter is not None:
        if getattr(interpreter, "writable", False):
            return True
        interpreter = interpreter.parent
    return False


def bottom() -> Interpreter:
    """What this thread's stack stands on."""
    interpreter = STATE.current
    while interpreter.parent is not None:
        interpreter = interpreter.parent
    return interpreter

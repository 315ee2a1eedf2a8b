"""Cell: a name for a changing value. Each interpreter says what a cell holds in its body and where a write goes (`fetch`, `store`)."""

from __future__ import annotations

from .array import Array, asarray
from .aval import Aval
from .interpreter import STATE, Interpreter, Traced, body
from .pack import Part

CHANGES = [0]  # how often something that programs depend on has changed: an attribute of a module, a hook, whether a tensor requires grad


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
    def aval(self) -> Aval:
        """The shape and dtype of what it holds where it was made."""
        return self.held.aval

    @property
    def part(self) -> Part | None:
        """Where its value lies, if that is in a pack."""
        return None

    def pack(self, part: Part) -> None:
        """From here on its value is that of a part of a pack, until another is written."""
        version, before = self.version, self.part
        if before is not None:
            before.leave()
        self.__class__ = self.packed
        _held.__set__(self, part)
        self.version = version

    @property
    def value(self) -> Array:
        """What the cell holds."""
        return self.read()

    @value.setter
    def value(self, new) -> None:
        self.write(asarray(new))

    def __repr__(self) -> str:
        return f"Cell({self.held!r})"

    def __copy__(self) -> Cell:
        return self.plain(self.held, self.name)

    def __deepcopy__(self, memo) -> Cell:
        return memo.setdefault(id(self), self.__copy__())

    def __reduce__(self):
        return self.plain, (self.held, self.name)


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
        return self.held if here is self.home or here.base is self.home else here.fetch(self)


class State(Cell):
    """A cell that programs of `make_fx` may change too, each time they run, though it is from outside: the state of a generator.
    ``face`` stands for it among their constants."""

    __slots__ = ("face",)


_held, _version = Cell.held, Cell.version


class InPack:
    """What is different of a cell or slot while its value lies in a pack. It has this class only so long: others pay nothing for it.

    The class comes before the part and goes after it, so that another thread may look at any moment.
    """

    __slots__ = ()

    @property
    def part(self) -> Part | None:
        found = _held.__get__(self)
        return found if found.__class__ is Part else None

    @property
    def held(self):
        """What it holds in the body that it was made in."""
        found = _held.__get__(self)
        return found.force() if found.__class__ is Part else found

    @held.setter
    def held(self, value) -> None:
        version, part = self.version, self.part
        if part is not None:
            part.leave()
        _held.__set__(self, value)
        self.__class__ = self.plain
        self.version = version

    @property
    def aval(self) -> Aval:
        """The shape and dtype of what it holds where it was made."""
        return _held.__get__(self).aval

    @property
    def version(self) -> int:
        """How often it was written to: what it keeps itself does not count the writes to the pack."""
        part = self.part
        return _version.__get__(self) + (0 if part is None else part.pack.stamp)

    @version.setter
    def version(self, value: int) -> None:
        part = self.part
        _version.__set__(self, value - (0 if part is None else part.pack.stamp))


class PackedCell(InPack, Cell):
    """A cell whose value lies in a pack."""

    __slots__ = ()


class PackedSlot(InPack, Slot):
    """A slot whose gradient lies in a pack, and becomes a tensor when somebody looks."""

    __slots__ = ()


class PackedState(InPack, State):
    """A state whose value lies in a pack."""

    __slots__ = ()


Cell.plain, Cell.packed = Cell, PackedCell
State.plain, State.packed = State, PackedState
Slot.plain, Slot.packed = Slot, PackedSlot


class Number(Cell):
    """A Python number that programs take as an input, so that another value is no new program: what stands in a dict under a key,
    or at an index there."""

    __slots__ = ("where", "key", "index")
    plain = packed = None

    def __init__(self, where: dict, key, index: int | None = None, name: str | None = None):
        self.where, self.key, self.index = where, key, index
        self.home, self.version, self.name = None, 0, name

    @property
    def held(self) -> float:
        """The number now."""
        value = self.where[self.key]
        return float(value if self.index is None else value[self.index])

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

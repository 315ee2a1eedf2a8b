"""The stack: interpreters linked to their parents, the current one of each thread, and the values they trace.

An op call goes to the current interpreter, which does its part with the op's rule and hands the rest to its parent.
A traced value belongs to exactly one interpreter object; to every other interpreter it is a constant.
"""

from __future__ import annotations

import gc
import itertools
import os
import sys
import threading
import weakref
from contextlib import contextmanager

from ..errors import ConcretizationError, LeakedValueError
from .array import Array
from .aval import Aval

_HOME = os.path.dirname(os.path.dirname(__file__)) + os.sep


class _State(threading.local):
    current: Interpreter = None  # the bottom, until a transform is entered; set once by `install_bottom`
    leak_check = False
    line = None  # where the op call that is being handled stands, once some interpreter has looked
    stopped = 0  # interpreters born before this number do not record for gradients now (`no_grad`)
    segment = None  # the ops that this thread has recorded and not run yet
    lazy = "lazy"  # how recorded ops run; None: each runs at once instead (`fl.eager`)
    watch = None  # Python's profiler hook that sees what the user's code does, where there is one (`nn/watch.py`)
    pulling = False  # whether `backward` runs without a graph of its own: no ambient records its work


STATE = _State()
serial = itertools.count(1).__next__  # the order in which recording was begun and stopped


class unseen:
    """A context: work in which no code runs but this library's. Whoever watches the user's code is not called for it, which takes
    several times as long as the work."""

    __slots__ = ("watch",)

    def __enter__(self) -> None:
        self.watch = STATE.watch
        if self.watch is not None:
            STATE.watch = None
            sys.setprofile(None)

    def __exit__(self, *_) -> None:
        if self.watch is not None:
            STATE.watch = self.watch
            sys.setprofile(self.watch)


def install_bottom(interpreter: Interpreter) -> None:
    """Makes `interpreter` what every thread starts with."""
    _State.current = interpreter


def current() -> Interpreter:
    """The interpreter that handles this thread's next op call."""
    return STATE.current


class Traced(Array):
    """A value inside one interpreter.

    ``value`` is what the owner keeps (a primal, a batched value, a graph node) and ``extra`` what it keeps beside it
    (a tangent, a batch dimension). ``line`` is where the user's code made it: a (code, instruction) pair, or None.
    """

    __slots__ = ("owner", "value", "extra", "line")

    def __init__(self, owner, aval, value, extra=None, line=None):
        self.owner = owner  # one by one: five values at once would build a tuple, for each value that is traced
        self.aval = aval
        self.value = value
        self.extra = extra
        self.line = line

    @property
    def buffer(self):
        raise self.owner.no_data(self, "its data")

    def concrete(self, what: str) -> Array:
        """The Array inside, for Python that needs a number; raises where there is none."""
        if not self.owner.alive:
            raise leak_error(self)
        return self.owner.concrete(self, what)

    @property
    def device(self) -> str | None:
        """That of the data behind it; None inside a program, which runs where its inputs are."""
        return self.value.device if isinstance(self.value, Array) else None

    def is_deleted(self) -> bool:
        """Whether the data has been given away: there is none of its own."""
        return False

    def block_until_ready(self) -> Array:
        """Itself: there is nothing to wait for."""
        return self

    def __repr__(self) -> str:
        state = "" if self.owner.alive else ", dead"
        return f"Traced({self.aval}, {self.owner.label}{state})"


VALUES = frozenset((Array, Traced))


def user_line():
    """Where the innermost frame outside this library stands, in a form that costs little and keeps nothing alive."""
    frame = sys._getframe(3)  # past this, the interpreter and the op's binder
    ours = _OURS
    while frame is not None:
        code = frame.f_code
        name = code.co_filename
        inside = ours.get(name)
        if inside is None:
            inside = ours[name] = name.startswith((_HOME, "<functorch_lite"))
        if not inside:
            return code, frame.f_lasti
        frame = frame.f_back
    return None


_OURS: dict[str, bool] = {}  # file name -> belongs to this library


def show_line(line) -> str:
    """'file.py:12' for what `user_line` returned; 'In[3]:12' in a notebook."""
    if line is None:
        return "an unknown line"
    code, instruction = line
    number = next((n for start, stop, n in code.co_lines() if start <= instruction < stop and n), code.co_firstlineno)
    return f"{_place(code.co_filename)}:{number}"


def _place(filename: str) -> str:
    """The path of a file; of a notebook's cell, whose file is a temporary one, the name that IPython shows."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    cell = shell and shell.compile.format_code_name(filename)
    return cell[1] if cell else filename


class Interpreter:
    """One level of the stack. ``label`` names it to the user, for example 'vmap(f)'."""

    __slots__ = ("parent", "alive", "label", "made", "born", "above", "__weakref__")
    ambient = False  # whether it records a body for `backward` (see transforms/ambient.py)
    base = None  # of one that records the bottom of the stack: that bottom, whose cells it reads and writes as they are
    continued = ()  # cells from outside whose history goes on in this body, as an input of its program

    def __init__(self, parent: Interpreter | None, label: str):
        self.parent, self.alive, self.label = parent, True, label
        self.made = weakref.WeakSet() if STATE.leak_check else None
        self.born = parent.born if parent is not None else 0  # compared with STATE.stopped
        self.above = None  # what records this body for `backward`, once something has asked for it

    def bind(self, op, args: tuple, params: tuple):
        """Handles one op call: args are Arrays, Python numbers or None, params are static."""
        raise NotImplementedError

    def trace(self, aval: Aval, value, extra=None) -> Traced:
        """A new value of this interpreter."""
        return self.keep(Traced(self, aval, value, extra, STATE.line or user_line()))

    def keep(self, value: Traced) -> Traced:
        """The value, noted while leaks are being checked."""
        if self.made is not None:
            self.made.add(value)
        return value

    def owns(self, x) -> bool:
        return x.__class__ is Traced and x.owner is self

    # ------------------------------------------------------------------------------------------------------- cells

    def recording(self) -> Interpreter:
        """The interpreter that records this body for `backward`, made when it is first asked for."""
        if self.above is None:
            self.above = _RECORDERS[0](self)
        return self.above

    def fetch(self, cell, leaf=None):
        """What a cell holds in this body; `leaf` is whose gradient is recorded where recording is on."""
        if cell.home is self or self.parent is None:
            return cell.held
        return self.parent.fetch(cell, leaf)

    def glance(self, cell):
        """What a cell holds, to look at its shape or history only: no program depends on it yet."""
        return cell.held if cell.home is self or self.parent is None else self.parent.glance(cell)

    def keeps(self, cell) -> bool:
        """Whether a write to the cell in this body stays in this body."""
        return cell.home is self or self.parent is None

    def store(self, cell, value) -> None:
        """Writes a cell from this body; a value of this interpreter stays inside it."""
        if cell.home is self or self.parent is None:
            cell.held = value
        else:
            self.refuse(cell, value)
            self.parent.store(cell, value)

    def admit(self, cell, value) -> None:
        """Raises what `store` would raise."""
        if not self.keeps(cell):
            self.refuse(cell, value)
            self.parent.admit(cell, value)

    def refuse(self, cell, value) -> None:
        """Raises where a cell from outside would be left with a value of this interpreter."""
        if self.contains(value):
            what = f"the tensor {cell.name!r}" if cell.name else "a tensor"
            raise RuntimeError(
                f"{what} that was made outside {self.label} would be changed inside it to a value that exists only there "
                f"({_described(value)}). Pass it to the function as an argument (or give it to functional_call with the parameters) "
                "and return the new value, or change it after the transform"
            )

    def hinder(self, what: str) -> None:
        """Told of something that a program cannot do where gradients flow through it from outside."""

    def contains(self, value) -> bool:
        """Whether a value, or what an object over a value holds, belongs to this interpreter."""
        value = getattr(value, "held", value)
        return value.__class__ is Traced and lowered(value, self).owner is self

    def concrete(self, x: Traced, what: str) -> Array:
        raise self.no_data(x, what)

    def no_data(self, x: Traced, what: str) -> Exception:
        if not self.alive:
            return leak_error(x)
        return ConcretizationError(
            f"{what} of a {x.aval} value inside {self.label} was asked for, made at {show_line(x.line)}: a traced value has no data. "
            "Choose with fl.where or fl.cond instead of `if`, loop with fl.scan, fl.fori_loop or fl.while_loop, keep it an Array "
            "instead of a number, or make the argument static (jit: static_argnums)"
        )


def _described(value) -> str:
    return str(getattr(value, "aval", None) or value)


_RECORDERS: list = [None]  # the class that records bodies for `backward`; transforms/ambient.py sets it


def body(interpreter: Interpreter) -> Interpreter:
    """The body in which code runs: the interpreter itself, or what it records."""
    return interpreter.parent if interpreter.ambient else interpreter


def lowered(x, interpreter: Interpreter):
    """x without what recorded the body of `interpreter`: a value that leaves the body falls back to its primal."""
    while x.__class__ is Traced and x.owner.ambient and x.owner.parent is interpreter:
        x = x.value
    return x


def ground() -> Interpreter:
    """What a transform of user code stands on: the current interpreter, with recording on where some value needs it."""
    here = STATE.current
    if _FACES and not here.ambient and STATE.stopped <= here.born:
        here = STATE.current = here.recording()
    return here


_FACES: list = []  # not empty once anything in this process wants a gradient by `backward`


def boundary(final: bool) -> None:
    """Says that a part of the program has ended here: what was recorded is a whole. ``final``: its results are, so it is time to run."""
    segment = STATE.segment
    if segment is not None and body(STATE.current).parent is None:
        segment.boundary(final)


def leak_error(x: Traced) -> LeakedValueError:
    return LeakedValueError(
        f"a {x.aval} value of {x.owner.label} was used after that transform had ended; it was made at {show_line(x.line)}. "
        "Return it as an output of the transformed function instead of storing it"
    )


class use:
    """Runs its block with `interpreter` as the current one. For whole functions; an op call sets STATE.current by hand."""

    __slots__ = ("interpreter", "before")

    def __init__(self, interpreter: Interpreter):
        self.interpreter = interpreter

    def __enter__(self):
        self.before = STATE.current
        STATE.current = self.interpreter
        return self.interpreter

    def __exit__(self, *_):
        STATE.current = self.before


class live(use):
    """Runs a transformed function's block under `interpreter`, which is dead afterwards, whatever happens."""

    __slots__ = ()

    def __exit__(self, *_):
        STATE.current = self.before
        self.interpreter.alive = False
        if self.interpreter.above is not None:
            self.interpreter.above.alive = False
            self.interpreter.above = None  # they referred to one another


@contextmanager
def checking_leaks():
    """Inside this context every transform verifies, when it ends, that no traced value of it is still held.

    >>> import functorch_lite as fl
    >>> kept = []
    >>> with fl.checking_leaks():
    ...     fl.grad(lambda x: kept.append(x) or x * x)(3.0)
    Traceback (most recent call last):
    ...
    functorch_lite.errors.LeakedValueError: ...
    """
    before, STATE.leak_check = STATE.leak_check, True
    try:
        yield
    finally:
        STATE.leak_check = before


def check_leaks(interpreter: Interpreter) -> None:
    """Called by a transform when its outputs are unwrapped: raises if a value of it survives (only while checking)."""
    if interpreter.made is None:
        return
    gc.collect()
    survivors = list(interpreter.made)
    if survivors:
        lines = ", ".join(f"{x.aval} made at {show_line(x.line)}" for x in survivors[:5])
        raise LeakedValueError(
            f"{len(survivors)} value(s) of {interpreter.label} are still held after it ended: {lines}. "
            "Return them as outputs of the transformed function instead of storing them"
        )


def name_of(f) -> str:
    """What to call a user's function in messages."""
    return getattr(f, "__name__", None) or type(f).__name__


class Abstract(Interpreter):
    """Knows shapes and dtypes only: the shape rule of a composite is its decomposition run here."""

    __slots__ = ("checked",)

    def __init__(self, label: str):
        super().__init__(None, label)
        self.checked = False  # whether some op in it has something to check of its data

    def bind(self, op, args, params):
        out = op.infer(args, params)
        self.checked = self.checked or op.checks is not None or op.checked
        if op.multi:
            return tuple([Traced(self, a, None) for a in out])
        return Traced(self, out, None)

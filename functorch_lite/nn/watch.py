"""Watch: what a function of the user's does while it is traced, seen by Python's own profiler hook.

Each function that runs is looked up in `nn/paths.py`, which says what its code reads; what is found there becomes a place to guard
(`nn/guards.py`). What is not the same when the trace is over has been changed by the function: a side effect. Builtins that do more than
give a value (print, a clock, Python's random numbers) are stopped before they do it.
"""

from __future__ import annotations

import builtins
import gc
import io
import os
import random
import sys
import time
import types
from collections.abc import Callable

from ..core.array import Array
from ..core.cell import Cell
from ..core.interpreter import _HOME, STATE
from .guards import MISSING, PLAIN, Guards, Place, difference, found, module_state, shown
from .module import Module
from .origin import is_user, is_users, is_users_code, kind_of
from .paths import paths_of
from .tensor import Tensor


class SideEffect(Exception):
    """Something happened while tracing that a compiled program would not repeat."""

    def __init__(self, what: str, line: str):
        self.what, self.line = what, line
        super().__init__(f"{what} at {line}")


_EFFECTS = frozenset(("print", "input", "open"))


def _effect_of(function) -> str | None:
    """What a builtin function does besides giving a value, if anything."""
    name = getattr(function, "__name__", "")
    owner = getattr(function, "__self__", None)
    if owner is builtins and name in _EFFECTS:
        return f"{name}() was called"
    if owner is time or getattr(function, "__module__", None) == "time":
        return f"time.{name}() was called"
    if isinstance(owner, random.Random) or type(owner).__module__.startswith("numpy.random"):
        return f"a random number was drawn by {type(owner).__module__}.{name}"
    if isinstance(owner, io.TextIOBase) and name == "write":
        return "something was written to a file"
    return None


class Watch:
    """Sees what runs while a function is traced. A context; afterwards `guards()`, or `undo()`."""

    def __init__(self, function: Callable):
        self.places: dict = {}
        self.modules: dict = {}
        self.optimizers: dict = {}
        self.function = function
        self.functions: dict = {}  # code -> the function that runs it
        self.codes: dict = {}  # of the user's functions that ran
        self._learn(function)
        self._learn(getattr(type(function), "forward", None))
        self._before = None
        self.effect: SideEffect | None = None

    def __enter__(self) -> Watch:
        self._before = sys.getprofile(), STATE.watch
        STATE.watch = self._event
        sys.setprofile(STATE.watch)
        return self

    def __exit__(self, *_):
        hook, STATE.watch = self._before
        sys.setprofile(hook)

    def _event(self, frame, event: str, argument):
        if event == "call":
            code = frame.f_code
            if code is Module.__call__.__code__:
                self._module(frame.f_locals["self"])
            elif is_users_code(frame):
                self._frame(frame)
            elif code.co_filename.startswith(_HOME):
                self._library(frame, code)
        elif event == "return":
            if is_users_code(frame):
                self._locals(frame)
        elif event == "c_call":
            what = _effect_of(argument)
            if what is not None:
                while frame is not None and kind_of(frame.f_code.co_filename) == "python":  # print by way of logging, say
                    frame = frame.f_back
                if frame is not None and is_user(frame.f_code.co_filename):
                    self.effect = SideEffect(what, f"{frame.f_code.co_filename}:{frame.f_lineno}")
                    raise self.effect

    def _library(self, frame, code) -> None:
        name = os.path.basename(code.co_filename)
        if name == "lr_scheduler.py" and code.co_name == "step":
            self.effect = SideEffect("a learning rate scheduler steps", "step()")
            raise self.effect
        owner = frame.f_locals.get("self") if name == "optimizer.py" else None
        if hasattr(owner, "numbers") and id(owner) not in self.optimizers:
            self.optimizers[id(owner)] = owner, owner.numbers()

    def _module(self, module: Module) -> None:
        if id(module) not in self.modules:
            self.modules[id(module)] = module, module_state(module)

    def _frame(self, frame) -> None:
        code = frame.f_code
        values = frame.f_locals
        self.codes[code] = None
        for kind, name, attributes in paths_of(code):
            if kind == "local" and name in values:
                holder, text = values[name], name
                if not attributes:
                    continue
            elif kind == "free" and name in code.co_freevars:
                function = self._function_of(code)
                if function is not None:
                    cell = function.__closure__[code.co_freevars.index(name)]
                    holder, text = self._place(cell, name, name), name
                elif name in values:  # made while tracing: the function that made it has the variable
                    holder, text = values[name], name
                else:
                    continue
            elif kind == "global" and name in frame.f_globals:
                holder, text = self._place(frame.f_globals, name, name), name
            else:
                continue
            self._follow(holder, text, attributes)

    def _locals(self, frame) -> None:
        """When a function is done: what it read of objects that it found on the way (the results of calls, the items of loops)."""
        values = frame.f_locals
        for kind, name, attributes in paths_of(frame.f_code):
            if kind == "local" and attributes and name in values:
                self._follow(values[name], name, attributes, plain=True)

    def _follow(self, holder, text: str, attributes, plain: bool = False) -> None:
        """Places along a path; with ``plain`` only its end, if that is a number or string."""
        for i, attribute in enumerate(attributes):
            if isinstance(holder, (Tensor, Array, Cell)) or holder is MISSING:
                return
            if isinstance(holder, (types.ModuleType, type)) and not is_users(holder):
                return
            text += "." + attribute
            value = found(holder, attribute)
            if value is MISSING:
                owner = next((c for c in type(holder).__mro__ if attribute in c.__dict__), None)
                if owner is None or hasattr(owner.__dict__[attribute], "__get__"):
                    return  # a method or property: its own code is seen when it runs
                if not plain:
                    self._place(holder, attribute, text)  # which it does not have itself so far
                holder, value = owner, owner.__dict__[attribute]
            if not plain or i == len(attributes) - 1 and value.__class__ in PLAIN:
                self._place(holder, attribute, text)
            holder = value

    def _place(self, holder, name: str, text: str):
        key = id(holder), name
        place = self.places.get(key)
        if place is None:
            place = self.places[key] = Place(holder, name, text)
            for value in place.held if place.held.__class__ in (list, tuple) else (place.held,):
                self._learn(value)
        return place.held

    def _learn(self, value) -> None:
        """Remembers a function, so that its closure is known when it runs."""
        function = _function_in(value)
        if function is not None:
            self.functions.setdefault(function.__code__, function)
            wrapped = getattr(function, "__wrapped__", None)
            if wrapped is not None:
                self._learn(wrapped)

    def _function_of(self, code):
        """The function that runs this code; None for one that was made while tracing."""
        if code not in self.functions:
            here = [f for f in gc.get_referrers(code) if isinstance(f, types.FunctionType)]
            self.functions[code] = here[0] if len(here) == 1 and here[0].__closure__ and not self._made_inside(code) else None
        return self.functions[code]

    def _made_inside(self, code) -> bool:
        """Whether a function of this code was made by code that runs in the trace: it is a constant of code that was seen."""
        return any(code in seen.co_consts for seen in self.codes)

    def changed(self) -> SideEffect | None:
        """What the function has changed besides tensors, if anything."""
        if self.effect is not None:
            return self.effect
        for place in self.places.values():
            if not place.holds():
                return SideEffect(f"{place} was changed from {shown(place.held)} to {shown(place.now())}", _where(self.function))
        for module, state in self.modules.values():
            if module_state(module) != state:
                return SideEffect(f"{type(module).__name__} was changed: {difference(state, module_state(module))}", _where(self.function))
        for optimizer, numbers in self.optimizers.values():
            if optimizer.numbers() != numbers:
                return SideEffect(f"a hyperparameter of {type(optimizer).__name__} was changed", _where(self.function))
        return None

    def undo(self) -> None:
        """Puts everything back that was seen before it changed."""
        for place in self.places.values():
            place.restore()

    def guards(self) -> Guards:
        """What the program that was traced depends on."""
        return Guards(
            [p for p in self.places.values() if not isinstance(p.held, types.ModuleType)],
            [(m, module_state(m)) for m, _ in self.modules.values()],
            [(o, o.structure()) for o, _ in self.optimizers.values()],
        )


def _function_in(value):
    """The Python function that a value is or calls."""
    value = getattr(value, "func", value)  # of a partial
    value = getattr(value, "__func__", value)
    return value if isinstance(value, types.FunctionType) else None


def _where(function) -> str:
    code = getattr(getattr(function, "forward", function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else "an unknown line"

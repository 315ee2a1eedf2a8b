"""compile: a function of tensors, or a module, as programs: forward, backward, optimizer, buffers and random state in one of them.

The function is traced with the state it meets as inputs (`transforms/program.py`) while its Python is watched (`nn/watch.py`). A
call runs a program whose guards hold, or traces another. A function with side effects in Python, or that reads a value to decide
something, runs as it is written, with one warning that says where.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

from ..core import pytree
from ..core.cell import in_program
from ..core.interpreter import STATE, name_of
from ..core.statics import static_key
from ..errors import ConcretizationError, GraphBreak, SharedStorageError
from ..transforms.arguments import callable_or_raise
from ..transforms.program import MISS, Program, traced
from ..transforms.staged import Staged
from .create import DEFAULTS
from .guards import Same
from .module import Module
from .watch import SideEffect, Watch


class Compiled(Staged):
    """What `compile` makes of a function: call it like the function."""

    verb = "compiled"
    numbers = frozenset((float, complex))
    limit = 64

    def __init__(self, function: Callable, fullgraph: bool):
        super().__init__(function, name_of(getattr(function, "__self__", function)))
        self._fullgraph = fullgraph
        self.breaks: dict = {}  # key -> why calls like it run as they are written
        self.recompiles: list[str] = []  # why programs were traced anew

    def __call__(self, *args, **kwargs):
        here = STATE.current
        if here.parent is not None and here.base is None and in_program():
            return self._function(*args, **kwargs)
        given, spec = self._flat(args, kwargs)
        leaves, storages, key = self._read(given, spec, *DEFAULTS.values())
        if self.breaks and key in self.breaks:
            return self._function(*args, **kwargs)
        out, reasons = self._serve(key, given, leaves, storages)
        if out is MISS:
            try:
                program = self._trace(given, args, kwargs)
            except GraphBreak as broken:
                return self._as_written(broken, key, args, kwargs)
            self._note(key, program, reasons)
            out = program(given, leaves, storages, self._name)
        return out

    def examine(self, *args, **kwargs) -> tuple[Program | None, str | None]:
        """The program that a call with these arguments would run (traced if need be, but not run), or why it runs as it is written."""
        given, spec = self._flat(args, kwargs)
        _, storages, key = self._read(given, spec, *DEFAULTS.values())
        if key not in self.breaks:
            program, _, reasons = self._find(key, storages)
            try:
                if program is None:
                    program = self._trace(given, args, kwargs)
                    self._note(key, program, reasons)
                return program, None
            except GraphBreak as broken:
                self.breaks[key] = str(broken)
        return None, self.breaks[key]

    def _note(self, key, program, reasons) -> None:
        """Keeps a program, and why it had to be traced."""
        if reasons:
            self.recompiles.append(reasons[0])
        elif self._programs:
            self.recompiles.append("the arguments have other shapes, dtypes or static values, or the grad mode has changed")
        self._keep(key, program)

    def _static(self, x):
        """What cannot be hashed is known by identity: the guards see what is read of it."""
        try:
            hash(x)
        except TypeError:
            return Same(x)
        return static_key(x)

    def _trace(self, given, args, kwargs) -> Program:
        watch, spec = Watch(self._function), pytree.structure((args, kwargs))
        dynamic = [i for i, x in enumerate(given) if not self._is_static(x)]
        names = [f"x{i}" for i in range(len(dynamic))]
        try:
            program = traced(self._function, given, dynamic, spec, f"compile({self._name})", names, lambda tree: tree, watch)
        except ConcretizationError as error:
            watch.undo()
            raise GraphBreak(str(error)) from error
        except (SideEffect, SharedStorageError) as effect:
            watch.undo()
            raise GraphBreak(str(effect)) from effect
        except BaseException:
            watch.undo()
            raise
        effect = watch.changed()
        if effect is not None:
            watch.undo()
            raise GraphBreak(str(effect))
        return program.but(guards=watch.guards())

    def _as_written(self, broken: GraphBreak, key, args, kwargs):
        if self._fullgraph:
            raise GraphBreak(
                f"compile({self._name}, fullgraph=True): it cannot be one program: {broken}. Choose with torch.where or torch.cond instead of "
                "`if`, and return values instead of printing or storing them; or leave out fullgraph to run it as it is written"
            ) from broken.__cause__
        self.breaks[key] = str(broken)
        warnings.warn(f"compile({self._name}): runs as it is written, since {broken}", stacklevel=4)
        return self._function(*args, **kwargs)


class CompiledModule(Module):
    """A module whose calls are compiled; everything else is the module's. It has `_orig_mod`, as in PyTorch."""

    def __init__(self, module: Module, fullgraph: bool):
        super().__init__()
        self._orig_mod = module
        self.__dict__["_compiled"] = Compiled(module.__call__, fullgraph)
        self.training = module.training

    def __call__(self, *args, **kwargs):
        return self.__dict__["_compiled"](*args, **kwargs)

    def __getattr__(self, name: str):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_orig_mod"), name)


def compile(model=None, *, fullgraph: bool = False, dynamic=None, backend="xla", mode=None, options=None, disable: bool = False):
    """A function or module whose calls run as compiled programs.

    State is whatever tensors the call touches: parameters, buffers, gradients, optimizer and random state. They are inputs of the
    program, and what it changes is written back after it has run; so a whole training step is one program, and where only the
    model is compiled, `loss.backward()` outside runs its backward program. A program is traced anew when something that it depends
    on has changed: shapes, `training`, attributes, globals, closure variables, lists, grad mode. Floats and hyperparameters of
    optimizers are inputs. What has side effects in Python, or reads a value (`item`, `if loss > 0`), runs as it is written, with a
    warning; with ``fullgraph`` it raises `GraphBreak`. `fl.explain` shows what happened. backend, mode, dynamic and options are
    accepted and change nothing.

    >>> import functorch_lite as fl
    >>> import functorch_lite.torch as torch
    >>> @torch.compile
    ... def double(x):
    ...     return x * 2
    >>> double(torch.tensor([1.0, 2.0]))
    tensor([2., 4.])
    """
    if model is None:
        return lambda model: compile(model, fullgraph=fullgraph, disable=disable)
    if disable:
        return model
    if isinstance(model, Module):
        return CompiledModule(model, fullgraph)
    callable_or_raise("compile", model)
    return Compiled(model, fullgraph)

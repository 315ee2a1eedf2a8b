"""Tracing without example inputs: `symbolic_trace`, and `wrap` for functions that stay one call."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from ..core import pytree
from ..core.aval import Aval
from ..core.dtype import NUMBERS
from ..core.interpreter import STATE, Traced, leak_error, live, name_of, show_line, user_line
from ..errors import ConcretizationError, TraceError
from .calls import read
from .codec import Codec, is_input
from .graph_module import GraphModule
from .node import Node
from .proxy import Proxy, Several, Unknown, cover
from .record import Recorder


class Symbolic(Recorder):
    """Records ops as they are called. A shape is inferred where all that it depends on is known."""

    __slots__ = ()

    def bind(self, op, args, params):
        line = user_line()
        places = tuple([self.place(x) for x in args])
        known = all(x is None or x.__class__ in NUMBERS or x.aval.__class__ is Aval for x in args)
        out = op.infer(args, params) if known else None
        node = self.graph.append("call_function", op, places, params, out, line)
        if not op.multi:
            return self.value(node, out, line)
        if out is None and op.returns is None:
            return Several(self, node, line)
        return tuple([self.item(node, i, line) for i in range(len(op.returns._fields if out is None else out))])

    def value(self, node, aval, line) -> Traced:
        return Proxy(self, Unknown(self, line), node, None, line) if aval is None else Traced(self, aval, node, None, line)

    def item(self, node, i: int, line) -> Traced:
        """One of several results."""
        aval = None if node.aval is None else node.aval[i]
        return self.value(self.graph.append("call_function", operator.getitem, (node, i), (), aval, line), aval, line)

    def place(self, x):
        return x.value if x.__class__ in (Proxy, Several) and x.owner is self else super().place(x)

    def input(self, aval, name: str = "x") -> Traced:
        line = user_line()
        return self.value(self.graph.append("placeholder", name, (), (), aval, line), aval, line)

    def leaf(self, function: Callable | str, args, kwargs, multi: bool = False):
        """A call of a Python function, or of a method by its name, as one node."""
        line = user_line()
        mapped = pytree.map(self.place, (tuple(args), dict(kwargs)))
        target, places, params = read(function, *mapped, lambda x: isinstance(x, Node))
        node = self.graph.append("call_method" if isinstance(function, str) else "call_function", target, places, params, None, line)
        return Several(self, node, line) if multi else self.value(node, None, line)

    def attempt(self, f: Callable, whole: Callable):
        """f(), or whole() where f asks for a shape; what f has recorded until then is forgotten."""
        count = len(self.graph.nodes)
        try:
            return f()
        except TraceError:
            if STATE.current is not self or not self.alive:
                raise
            del self.graph.nodes[count:]
            return whole()

    def no_data(self, x: Traced, what: str) -> Exception:
        if not self.alive:
            return leak_error(x)
        return ConcretizationError(
            f"{what} of a value inside {self.label} was asked for, made at {show_line(x.line)}: tracing without inputs knows no data. "
            "Choose with fl.where or fl.cond instead of `if`, or fix the argument: symbolic_trace(f, concrete_args={'name': value})"
        )


class _PlaceholderMark:
    """Marks, in concrete_args, the leaves of a tree that are inputs."""

    def __repr__(self) -> str:
        return "fx.PH"

    def __reduce__(self):
        return "PH"


PH = _PlaceholderMark()


def symbolic_trace(f: Callable, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """The program of f as a GraphModule, traced without example inputs.

    Each parameter of f is one array, unless `concrete_args` says otherwise: a value fixes it (Python may branch on it then),
    a tree with `fl.fx.PH` at its leaves makes each of them an input. Parameters whose default is a string, a bool, None or a
    function are fixed at it. Ops are recorded as they are called; what needs a shape or a dtype raises TraceError, and what
    needs a number (`if x > 0`) ConcretizationError: `fl.make_fx` traces with example inputs instead.

    >>> import functorch_lite as fl
    >>> gm = fl.fx.symbolic_trace(lambda x, y: fl.sin(x) * y)
    >>> print(gm.code)
    def forward(self, x, y):
        sin = fl.sin(x)
        mul = fl.mul(sin, y)
        return mul
    <BLANKLINE>
    """
    if not callable(f):
        raise TypeError(f"symbolic_trace: expected a function, got {pytree.describe(f)}")
    label = f"symbolic_trace({name_of(f)})"
    cover()
    names, values, defaults = _parameters(f, dict(concrete_args or {}), label)
    leaves = pytree.leaves(values)
    codec = Codec(label=label).reading(names, values, {i: x for i, x in enumerate(leaves) if x is not PH}, defaults)
    recorder = Symbolic(STATE.current, label)
    inputs = iter([recorder.input(None, name) for name in codec.leaf_names()])
    filled = codec.in_tree.unflatten([next(inputs) if x is PH else x for x in leaves])
    with live(recorder):
        out = _call(f, names, filled)
        outs, out_tree = pytree.flatten(out)
        graph = recorder.finish(outs)
    graph.codec = codec.returning(out_tree)
    return GraphModule(recorder.constants(), graph)


def _parameters(f: Callable, concrete: dict[str, Any], label: str) -> tuple[list[str], tuple, dict[str, Any]]:
    """Names of f's parameters, the tree of each with PH where an input is, and the values of those that may be left out."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except ValueError:
        raise TypeError(f"{label}: the signature of {f!r} cannot be read; wrap it in a function with named parameters") from None
    names, values, defaults = [], [], {}
    for p in parameters:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise TypeError(
                f"{label}: the parameter {p} has no fixed number of values; give a function with named parameters, or use fl.make_fx"
            )
        names.append(p.name)
        if p.name in concrete:
            values.append(concrete[p.name])
            if not any(x is PH for x in pytree.leaves(values[-1])):
                defaults[p.name] = values[-1]
        elif p.default is p.empty:
            values.append(PH)
        else:
            defaults[p.name] = p.default
            values.append(PH if is_input(p.default) else p.default)
    if unknown := [n for n in concrete if n not in names]:
        raise ValueError(f"{label}: concrete_args names {unknown}, which are no parameters; the parameters are {names}")
    return names, tuple(values), defaults


def _call(f: Callable, names, values):
    keyword_only = {p.name for p in inspect.signature(f).parameters.values() if p.kind is p.KEYWORD_ONLY}
    positional = [v for n, v in zip(names, values) if n not in keyword_only]
    return f(*positional, **{n: v for n, v in zip(names, values) if n in keyword_only})


def wrap(f: Callable, *, multi: bool = False) -> Callable:
    """f as a leaf: `symbolic_trace` records a call of it as one node instead of looking inside. A decorator.

    Its arguments may be any pytree. With ``multi`` it returns a tuple, whose elements can be indexed or unpacked while tracing.

    >>> import functorch_lite as fl
    >>> clip = fl.fx.wrap(lambda x, limit: fl.minimum(x, limit) if x.shape else x)
    >>> fl.fx.symbolic_trace(lambda x: clip(x, limit=2.0) * 2)(fl.asarray([1.0, 3.0])).tolist()
    [2.0, 4.0]
    """
    if isinstance(f, str) or not callable(f):
        raise TypeError(f"wrap: expected a function, got {f!r}; write `name = fl.fx.wrap(name)`, or decorate its definition")

    def leaf(*args, **kwargs):
        for x in pytree.leaves((args, kwargs)):
            owner = x.owner if x.__class__ in (Traced, Proxy, Several) else None
            if owner.__class__ is Symbolic and owner is STATE.current:
                return owner.leaf(f, args, kwargs, multi)
        return f(*args, **kwargs)

    return update_wrapper(leaf, f)


__all__ = ["PH", "Symbolic", "symbolic_trace", "wrap"]

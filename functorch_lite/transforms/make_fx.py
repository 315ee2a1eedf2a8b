"""make_fx: the program that a function runs on example inputs, as a GraphModule."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps

from ..core import pytree
from ..core.aval import aval_of
from ..core.cell import State
from ..core.dtype import NUMBERS
from ..core.face import like
from ..core.interpreter import ground, live
from ..decomp.table import expander
from ..fx.codec import Codec, as_input, is_input
from ..fx.graph_module import GraphModule
from .arguments import Written, callable_or_raise, done, is_array, label_of, leaving
from .body import Body, intern
from .trace import Trace


def make_fx(f: Callable, decomposition_table: Mapping | None = None, *, prims: bool = False) -> Callable:
    """The function of example inputs that gives f's program for them as a `fl.fx.GraphModule`.

    Arrays and numbers in the arguments (any pytrees) are inputs of the program; strings, bools, None and functions belong to
    it. Arrays that f closes over become its constants. Ops are recorded as the user called them, where a transform has not
    taken them apart; compiled functions stay one call. ``decomposition_table`` maps ops to functions that are recorded in
    their places (see `fl.decomp`); with ``prims`` every op is written as the prims it is made of, also inside loops and
    compiled functions. What no result needs is left out. The program itself changes nothing: a Tensor that f changes in place is
    given its new value when the program has run, and so is the generator that f draws from: each run draws anew.

    Works under and over every transform: ``make_fx(grad(f))``, ``make_fx(vmap(f))``, ``grad(make_fx(f)(x))``.

    >>> import functorch_lite as fl
    >>> gm = fl.make_fx(fl.grad(lambda x: x * x))(3.0)
    >>> gm(5.0).item()
    10.0
    >>> print(fl.make_fx(lambda x, y: fl.tanh(x) + y)(fl.ones(3), 2.0).code)
    def forward(self, x, y):
        tanh = fl.tanh(x)
        add = fl.add(tanh, y)
        return add
    <BLANKLINE>
    """
    callable_or_raise("make_fx", f)
    expands = expander(decomposition_table, prims)
    label = label_of("make_fx", f)

    @wraps(f)
    def traced(*args, **kwargs) -> GraphModule:
        names, values = _names(f, len(args)) + list(kwargs), (*args, *kwargs.values())
        leaves, spec = pytree.flatten(values)
        codec = Codec(label=label).reading(names, values, {i: x for i, x in enumerate(leaves) if not is_input(x)})
        trace = Recorded(ground(), label) if expands is None else Lowering(ground(), label, expands)
        supply = iter(codec.leaf_names())
        with live(trace):
            inside = [like(x, trace.input(_aval(x), next(supply))) if is_input(x) else x for x in leaves]
            written = Written(leaves, inside)
            filled = spec.unflatten(inside)
            out = f(*filled[: len(args)], **dict(zip(kwargs, filled[len(args) :])))
            outs, out_tree = pytree.flatten(out)
            outs = [leaving(x) if is_array(x) and x.__class__ not in NUMBERS else x for x in outs]
            changes = written.found()
            states = [(cell.face, leaving(value)) for cell, value in trace.overlay.items()]
        graph = trace.finish([*outs, *[value for _, value in (*changes, *states)]])
        graph.eliminate_dead_code()
        places = [i for i, x in enumerate(leaves) if is_input(x)]
        writes = *[places.index(i) for i, _ in changes], *range(len(places), len(places) + len(states))
        graph.codec = codec.returning(out_tree, writes, tuple([face for face, _ in states]))
        gm = GraphModule(trace.constants(), graph)
        if trace.made is not None:
            del filled, inside, written, out, outs, changes, states
            done(trace)
        return gm

    return traced


def _aval(x):
    return aval_of(x) if x.__class__ in NUMBERS else as_input(x).aval


def _names(f: Callable, count: int) -> list[str]:
    """A name for each positional argument, by the signature where it can be read."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:count]
    rest = next((p.name + "_" for p in parameters if p.kind is p.VAR_POSITIONAL), "x")
    return names + [f"{rest}{i}" for i in range(count - len(names))]


class Recorded(Trace):
    """A trace whose function may change a state from outside, as a draw does: so does the program, whenever it runs."""

    __slots__ = ()

    def keeps(self, cell) -> bool:
        return isinstance(cell, State) or super().keeps(cell)

    def refuse(self, cell, value) -> None:
        if not isinstance(cell, State):
            super().refuse(cell, value)


class Lowering(Recorded):
    """A trace that expands ops, also in the bodies of loops, branches and compiled functions."""

    __slots__ = ("lowered",)

    def __init__(self, parent, label: str, expands):
        super().__init__(parent, label, expands)
        self.lowered: dict[Body, Body] = {}

    def bind(self, op, args, params):
        if self.expands(op) is None:
            params = tuple(map(self.lowered_param, params))
        return super().bind(op, args, params)

    def lowered_param(self, param):
        """A static parameter with its bodies lowered."""
        if param.__class__ is Body:
            return self.lower(param)
        return tuple(map(self.lower, param)) if param.__class__ is tuple and param and param[0].__class__ is Body else param

    def lower(self, body: Body) -> Body:
        """The body with its ops expanded."""
        out = self.lowered.get(body)
        if out is None:
            inner = Lowering(self.parent, body.label, self.expands)
            inputs = [inner.input(a, n.target) for a, n in zip(body.ins, body.graph.placeholders)]
            with live(inner):
                outs = body(*inputs)
            graph = inner.finish(outs)
            graph.eliminate_dead_code()
            if inner.captures:
                seen = [x.aval for x in inner.captures]
                raise RuntimeError(
                    f"{body.label}: a decomposition closed over {seen}; inside loops, branches and compiled functions none may"
                )
            out = self.lowered[body] = intern(graph, body.ins, tuple([aval_of(x) for x in outs]), body.label)
        return out

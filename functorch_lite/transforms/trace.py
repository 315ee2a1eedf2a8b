"""Staging: the Trace interpreter writes every op into a graph."""

from __future__ import annotations

import operator

from ..core.aval import aval_of
from ..core.interpreter import STATE, Interpreter, Traced, live, user_line
from ..fx.record import Recorder
from .arguments import done


class Trace(Recorder):
    """Every op becomes a node, those on constants too, its shape inferred.

    ``expands`` says which ops are written down as they are and which by what they are made of: it gives for an op its
    expansion, a function of (args, params), or None.
    """

    __slots__ = ("expands",)

    def __init__(self, parent: Interpreter, label: str, expands=None):
        super().__init__(parent, label)
        self.expands = expands

    def bind(self, op, args, params):
        if self.expands is not None:
            expansion = self.expands(op)
            if expansion is not None:
                return expansion(args, params)
        out = op.infer(args, params)
        places = []
        for x in args:
            places.append(x.value if x.__class__ is Traced and x.owner is self else self.place(x))
        line = STATE.line or user_line()
        append = self.graph.append
        node = append("call_function", op, tuple(places), params, out, line)
        if out.__class__ is not tuple:
            return self.keep(Traced(self, out, node, None, line))
        parts = [append("call_function", operator.getitem, (node, i), (), a, line) for i, a in enumerate(out)]
        return tuple([self.keep(Traced(self, a, part, None, line)) for a, part in zip(out, parts)])


def stage(f, avals, label: str, names=None, expands=None):
    """Traces f (flat list in, flat list out): the graph, the values it captured, and the avals of its results."""
    trace = Trace(STATE.current, label, expands)
    inputs = [trace.input(a, names[i] if names else f"x{i}") for i, a in enumerate(avals)]
    with live(trace):
        outs = list(f(*inputs))
    graph, out_avals = trace.finish(outs), tuple(map(aval_of, outs))
    if trace.made is not None:
        del inputs, outs
        done(trace)
    return graph, trace.captures, out_avals

"""Staging: the Trace interpreter writes every op into a graph."""

from __future__ import annotations

import operator

from ..core.array import Array
from ..core.interpreter import STATE, Interpreter, Traced, leak_error, live
from ..fx.graph import Graph, Node


class Trace(Interpreter):
    """Every op becomes a node, those on constants too. A value from outside becomes a capture: a `get_attr` node.

    ``prims_only`` (and a decomposition ``table``) say which composites are written down as they are and which by what
    they are made of.
    """

    __slots__ = ("graph", "captures", "expands", "_captured")

    def __init__(self, parent: Interpreter, label: str, expands=None):
        super().__init__(parent, label)
        self.graph = Graph()
        self.captures: list = []  # the values from outside, in order of their get_attr nodes
        self.expands = expands  # op -> its decomposition, or None to record it as it is
        self._captured: dict[int, Node] = {}

    def input(self, aval, name: str = "x") -> Traced:
        return self.trace(aval, self.graph.placeholder(name, aval))

    def place(self, x):
        """What stands for x in the graph: its node, a literal, or a capture."""
        if x.__class__ is Traced and x.owner is self:
            return x.value
        if not isinstance(x, Array):
            return x
        node = self._captured.get(id(x))
        if node is None:
            if x.__class__ is Traced and not x.owner.alive:
                raise leak_error(x)
            node = self._captured[id(x)] = Node(self.graph, "get_attr", f"_constant{len(self.captures)}", (), (), x.aval)
            self.captures.append(x)
        return node

    def bind(self, op, args, params):
        if self.expands is not None and op.decompose is not None:
            expansion = self.expands(op)
            if expansion is not None:
                return expansion(args, params)
        out = op.infer(args, params)
        places = []
        for x in args:
            places.append(x.value if x.__class__ is Traced and x.owner is self else self.place(x))
        graph = self.graph
        if out.__class__ is not tuple:
            traced = self.trace(out, None)
            traced.value = graph.append("call_function", op, tuple(places), params, out, traced.line)
            return traced
        node = graph.append("call_function", op, tuple(places), params, out)
        outs = []
        for i, a in enumerate(out):
            traced = self.trace(a, None)
            node.line = traced.line
            traced.value = graph.append("call_function", operator.getitem, (node, i), (), a, traced.line)
            outs.append(traced)
        return tuple(outs)

    def finish(self, outs) -> Graph:
        """The graph with these results, its captures placed behind the placeholders."""
        places = [self.place(x) for x in outs]
        if self._captured:
            nodes = self.graph.nodes
            at = next((i for i, n in enumerate(nodes) if n.op != "placeholder"), len(nodes))
            nodes[at:at] = self._captured.values()
        self.graph.output(tuple(places))
        return self.graph


def stage(f, avals, label: str, names=None, expands=None):
    """Traces f (flat list in, flat list out): the graph, the values it captured, and the avals of its results."""
    trace = Trace(STATE.current, label, expands)
    inputs = [trace.input(a, names[i] if names else f"x{i}") for i, a in enumerate(avals)]
    with live(trace):
        outs = list(f(*inputs))
    graph = trace.finish(outs)
    return graph, trace.captures, outs

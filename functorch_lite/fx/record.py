"""Recorder: an interpreter that writes ops into a graph; what tracing with shapes and tracing without them share."""

from __future__ import annotations

from ..core.array import Array
from ..core.aval import aval_of
from ..core.interpreter import Interpreter, Traced, leak_error
from .graph import Graph, Node


class Recorder(Interpreter):
    """Values are nodes of `graph`. A value from outside becomes a capture: a `get_attr` node."""

    __slots__ = ("graph", "captures", "_captured")

    def __init__(self, parent: Interpreter | None, label: str):
        super().__init__(parent, label)
        self.graph = Graph()
        self.captures: list = []  # the values from outside, in order of their get_attr nodes
        self._captured: dict[int, Node] = {}

    def input(self, aval, name: str = "x") -> Traced:
        return self.trace(aval, self.graph.append("placeholder", name, (), (), aval))

    def place(self, x):
        """What stands for x in the graph: its node, a literal, or a capture."""
        if x.__class__ is Traced and x.owner is self:
            return x.value
        return self.capture(x) if isinstance(x, Array) else x

    def capture(self, x: Array, name: str | None = None, key=None) -> Node:
        """The node that stands for a value from outside; the same for the same value (or `key`)."""
        key = id(x) if key is None else key
        node = self._captured.get(key)
        if node is None:
            if isinstance(x, Traced) and not x.owner.alive:
                raise leak_error(x)
            node = self._captured[key] = Node(self.graph, "get_attr", name or f"_constant{len(self.captures)}", (), (), aval_of(x))
            self.captures.append(x)
        return node

    def finish(self, outs) -> Graph:
        """The graph with these results, its captures placed behind the placeholders."""
        places = [self.place(x) for x in outs]
        if self._captured:
            nodes = self.graph.nodes
            at = next((i for i, n in enumerate(nodes) if n.op != "placeholder"), len(nodes))
            nodes[at:at] = self._captured.values()
        self.graph.output(tuple(places))
        return self.graph

    def constants(self) -> dict[str, Array]:
        """The captures by name."""
        return {node._target: x for node, x in zip(self._captured.values(), self.captures)}

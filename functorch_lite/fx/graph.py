"""Graph and Node: a program as a list of op calls."""

from __future__ import annotations

import operator

from ..core.aval import Aval
from ..core.op import Op


class Node:
    """One step of a graph.

    ``op`` is its kind ('placeholder', 'get_attr', 'call_function', 'output'); ``target`` the op it calls (or a name);
    ``args`` its array arguments (nodes, numbers or None), ``params`` its static ones; ``aval`` the shape and dtype of
    its result (a tuple of them for an op with several outputs, None where nothing is known).
    """

    __slots__ = ("graph", "op", "target", "args", "params", "aval", "line", "_name", "meta")

    def __init__(self, graph, op, target, args, params, aval, line=None):
        self.graph, self.op, self.target, self.args, self.params, self.aval, self.line = graph, op, target, args, params, aval, line
        self._name = None
        self.meta = None


class Graph:
    """A program: placeholders, then op calls in order, then one output node whose args are the results."""

    __slots__ = ("nodes",)

    def __init__(self):
        self.nodes: list[Node] = []

    def append(self, op: str, target, args: tuple, params: tuple, aval, line=None) -> Node:
        node = Node(self, op, target, args, params, aval, line)
        self.nodes.append(node)
        return node

    def placeholder(self, name: str, aval: Aval | None = None) -> Node:
        """A new input. Call it before any op is appended."""
        return self.append("placeholder", name, (), (), aval)

    def output(self, values: tuple) -> Node:
        """Ends the graph with its results."""
        return self.append("output", "output", tuple(values), (), None)

    @property
    def placeholders(self) -> list[Node]:
        return [n for n in self.nodes if n.op == "placeholder"]

    @property
    def outputs(self) -> tuple:
        return self.nodes[-1].args


def evaluate(graph: Graph, inputs, constants=()):
    """Runs a graph op by op at the current interpreter: the values of its outputs. Intermediates are freed after their last use."""
    env: dict[Node, object] = {}
    supply, attrs = iter(inputs), iter(constants)
    last = last_uses(graph)
    for node in graph.nodes:
        kind = node.op
        if kind == "call_function":
            target, args = node.target, node.args
            if target.__class__ is Op:
                env[node] = target.bind(*[env[a] if a.__class__ is Node else a for a in args], params=node.params)
            elif target is operator.getitem:
                env[node] = env[args[0]][args[1]]
            else:
                env[node] = target(*[env[a] if a.__class__ is Node else a for a in args])
            for done in last.get(node, ()):
                del env[done]
        elif kind == "placeholder":
            env[node] = next(supply)
        elif kind == "get_attr":
            env[node] = next(attrs)
        else:
            return [env[a] if a.__class__ is Node else a for a in node.args]
    raise ValueError("the graph has no output node: call graph.output(...) last")


def last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """For each node, the nodes whose values are not needed after it."""
    seen, out = set(), {}
    for node in reversed(graph.nodes):
        done = [a for a in dict.fromkeys(node.args) if a.__class__ is Node and a not in seen]
        seen.update(done)
        if node.op == "call_function" and node not in seen:
            seen.add(node)
            done.append(node)  # nothing uses it
        if done:
            out[node] = done
    return out

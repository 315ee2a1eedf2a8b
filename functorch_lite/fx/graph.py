"""Graph: a program as a list of op calls, and the loop that runs it."""

from __future__ import annotations

import builtins
import keyword
import operator
import re
from collections.abc import Callable, Iterable
from typing import Any

from ..core import pytree
from ..core.aval import Aval
from ..core.op import Op
from .calls import call_python, op_of, read, result_aval, show_target
from .codec import Codec
from .node import Node, show_aval

_KINDS = ("placeholder", "get_attr", "call_function", "call_method", "output")
_RESERVED = frozenset([*keyword.kwlist, *dir(builtins), "fl", "prims", "self"])


class NodeList(list):
    """The nodes of a graph in order. Edits make a new list, so a loop over it goes on undisturbed, leaving out what was erased."""

    __slots__ = ()

    def __iter__(self):
        return (n for n in list.__iter__(self) if n.graph is not None)

    def __reversed__(self):
        return (n for n in list.__reversed__(self) if n.graph is not None)


class Graph:
    """A program: placeholders, then op calls in order, then one output node whose args are the results.

    ``codec`` says how arguments and results that are pytrees become flat lists of arrays; None where they are flat.

    >>> import functorch_lite as fl
    >>> g = fl.fx.Graph()
    >>> x = g.placeholder("x")
    >>> y = g.call_function(fl.mul, (x, 2.0))
    >>> _ = g.output(y)
    >>> print(g)
    graph():
        %x [num_users=1] = placeholder[target=x]
        %mul [num_users=1] = call_function[target=fl.mul](args = (%x, 2.0), kwargs = {})
        return mul
    """

    __slots__ = ("nodes", "codec", "_point", "_users", "_counted", "_names")

    def __init__(self):
        self.nodes: list[Node] = NodeList()
        self.codec: Codec | None = None
        self._point: Node | None = None  # new nodes go before it (None: to the end)
        self._users: dict[Node, dict[Node, None]] | None = None  # made on demand, of the first `_counted` nodes
        self._counted = 0
        self._names: dict[str, int] | None = None  # names in use, with the suffix to try next

    # -------------------------------------------------------------------------------------------------- making nodes

    def append(self, op: str, target, args: tuple, params: tuple, aval, line=None) -> Node:
        """A new node at the end, everything given as the graph holds it: the fast way, which tracing takes."""
        node = Node(self, op, target, args, params, aval, line)
        self.nodes.append(node)
        return node

    def create_node(self, op: str, target, args: tuple = (), params: tuple = (), aval=None, name: str | None = None) -> Node:
        """A new node at the insertion point."""
        if self._point is None:
            node = self.append(op, target, args, params, aval)
        else:
            node = Node(self, op, target, args, params, aval)
            self._insert(node, self.position(self._point))
        if name is not None:
            node.name = name
        return node

    def placeholder(self, name: str, aval: Aval | None = None) -> Node:
        """A new input."""
        return self.create_node("placeholder", name, aval=aval)

    def get_attr(self, name: str, aval: Aval | None = None) -> Node:
        """A constant: the attribute `name` of the GraphModule."""
        return self.create_node("get_attr", name, aval=aval)

    def call_function(self, function: Callable, args: tuple = (), kwargs: dict | None = None, name: str | None = None) -> Node:
        """A call of an op's function (`fl.softmax`) or of any Python function, with nodes in the places of arrays."""
        target, args, params = read(function, args, kwargs or {}, _is_node)
        return self.create_node("call_function", target, args, params, result_aval(target, args, params), name)

    def call_method(self, method: str, args: tuple, kwargs: dict | None = None, name: str | None = None) -> Node:
        """A call of the method of that name of the first argument."""
        target, args, params = read(method, args, kwargs or {}, _is_node)
        return self.create_node("call_method", target, args, params, None, name)

    def output(self, values: Any) -> Node:
        """Ends the graph with its results: a tuple of nodes and numbers, or another pytree of them."""
        if values.__class__ is not tuple or any(isinstance(v, (tuple, list, dict)) for v in values):
            values, out_tree = pytree.flatten(values)
            self.codec = (self.codec or Codec()).returning(out_tree)
        elif self.codec is not None:
            self.codec = self.codec.returning(None)
        return self.create_node("output", "output", tuple(values))

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda n: n) -> Node:
        """A copy of a node of any graph; `arg_transform` says what stands for each node it takes."""
        args = tuple([arg_transform(a) if a.__class__ is Node else a for a in node._args])
        new = self.create_node(node.op, node._target, args, node.params, node.aval)
        new.line, new._meta = node.line, None if node._meta is None else dict(node._meta)
        if node._name is not None:
            new.name = node._name
        return new

    def graph_copy(self, graph: Graph, val_map: dict[Node, Any]) -> Any:
        """Copies the nodes of another graph to the insertion point, all but its output; returns what it returns.

        `val_map` maps its nodes to what stands for them here; nodes that it has already are not copied, the others are added.
        """
        for node in graph.nodes:
            if node.op == "output":
                outs = [val_map[a] if a.__class__ is Node else a for a in node._args]
                tree = graph.codec and graph.codec.out_tree
                return tree.unflatten(outs) if tree else tuple(outs)
            if node not in val_map:
                val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def inserting_before(self, node: Node | None = None) -> _Insertion:
        """From now on, or inside a `with` block, new nodes go before `node` (None: to the beginning)."""
        return _Insertion(self, node or next(iter(self.nodes), None))

    def inserting_after(self, node: Node | None = None) -> _Insertion:
        """From now on, or inside a `with` block, new nodes go behind `node` (None: to the beginning), in order."""
        return _Insertion(self, node.next) if node is not None else self.inserting_before()

    # ---------------------------------------------------------------------------------------------------- editing

    def _insert(self, node: Node, at: int) -> None:
        if self._users is not None:
            self.uses()[node] = {}
            self._counted += 1
        self.nodes = NodeList([*self.nodes[:at], node, *self.nodes[at:]])
        self.rewire(node, ())

    def move(self, node: Node, beside: Node, offset: int) -> None:
        """Puts `node` before (offset 0) or behind (1) another node of this graph."""
        if node is beside:
            return
        rest = [n for n in self.nodes if n is not node]
        if len(rest) == len(self.nodes):
            raise ValueError(f"{node} is no node of this graph")
        at = rest.index(beside) + offset
        if self._users is not None:
            self.uses()  # counts all nodes, whatever their order
        self.nodes = NodeList([*rest[:at], node, *rest[at:]])

    def erase_node(self, node: Node) -> None:
        """Takes a node out. Raises RuntimeError if another node takes it."""
        if node.graph is not self:
            raise RuntimeError(f"{node!r} is no node of this graph" + (": it was erased before" if node.graph is None else ""))
        if node.users:
            raise RuntimeError(
                f"tried to erase {node.name}, which is used by {', '.join(u.name for u in node.users)}: replace those uses first"
            )
        if self._point is node:
            self._point = node.next
        self.discard({node})

    def discard(self, nodes: set[Node]) -> None:
        """Takes out several nodes that only they themselves use."""
        if self._users is not None:
            self.uses()
        self.nodes = NodeList([n for n in self.nodes if n not in nodes])
        if self._users is not None:
            for node in nodes:
                for a in node._args:
                    if a.__class__ is Node and a not in nodes:
                        self._users[a].pop(node, None)
                del self._users[node]
            self._counted = len(self.nodes)
        for node in nodes:
            node.graph = None

    def eliminate_dead_code(self) -> bool:
        """Takes out every node that no result needs; placeholders and ops with effects stay. Says whether there was one.

        >>> import functorch_lite as fl
        >>> gm = fl.fx.symbolic_trace(lambda x: (fl.sin(x), fl.cos(x))[0])
        >>> gm.graph.eliminate_dead_code(), gm.graph.eliminate_dead_code()
        (True, False)
        """
        needed: set = set()
        dead: set[Node] = set()
        for node in list.__reversed__(self.nodes):
            if node in needed or node.is_impure():
                for a in node._args:
                    if a.__class__ is Node:
                        needed.add(a)
            else:
                dead.add(node)
        if dead:
            self.discard(dead)
        return bool(dead)

    # -------------------------------------------------------------------------------------------------- asking

    @property
    def placeholders(self) -> list[Node]:
        return [n for n in self.nodes if n.op == "placeholder"]

    @property
    def outputs(self) -> tuple:
        return self.nodes[-1].args

    def output_node(self) -> Node:
        """The last node, which holds the results."""
        if not self.nodes or self.nodes[-1].op != "output":
            raise ValueError("the graph has no output node at its end: call graph.output(...) last")
        return self.nodes[-1]

    def find_nodes(self, *, op: str, target=None) -> list[Node]:
        """The nodes of a kind, and with a target: `find_nodes(op="call_function", target=fl.softmax)`."""
        wanted = op_of(target) or target
        return [n for n in self.nodes if n.op == op and (wanted is None or n._target is wanted or n._target == wanted)]

    def position(self, node: Node) -> int:
        """Where a node stands in `nodes`."""
        try:
            return self.nodes.index(node)
        except ValueError:
            raise ValueError(f"{node!r} is no node of this graph") from None

    def uses(self) -> dict[Node, dict[Node, None]]:
        """For each node, the nodes that take it. Kept up to date from the first call on."""
        if self._users is None:
            self._users, self._counted = {}, 0
        nodes = self.nodes
        if self._counted < len(nodes):
            new = nodes[self._counted :]
            self._counted = len(nodes)
            for node in new:
                self._users[node] = {}
            for node in new:
                for a in node._args:
                    if a.__class__ is Node:
                        self._users.setdefault(a, {})[node] = None
        return self._users

    def rewire(self, node: Node, old: tuple) -> None:
        """Takes note that a node's args are others than `old` now."""
        if self._users is None or node not in self._users:
            return
        for a in old:
            if a.__class__ is Node and a in self._users:
                self._users[a].pop(node, None)
        for a in node._args:
            if a.__class__ is Node:
                self.uses().setdefault(a, {})[node] = None

    def free_name(self, wanted: str) -> str:
        """`wanted` as an identifier, with a suffix if it is in use; it is in use from now on."""
        if self._names is None:
            self.name_nodes()
        names, base = self._names, re.sub(r"\W", "_", wanted)
        base = base if base.isidentifier() else f"_{base}"
        name, i = base, names.get(base, 0)
        while name in names or name in _RESERVED:
            i += 1
            name = f"{base}_{i}"
        names[base] = i
        names.setdefault(name, 0)
        return name

    def name_nodes(self, node: Node | None = None) -> None:
        """Names a node, and before it, the first time, all nodes in order."""
        if self._names is None:
            self._names = {}
            for n in self.nodes:
                if n._name is None:
                    n._name = self.free_name(_base_name(n))
        if node is not None and node._name is None:
            node._name = self.free_name(_base_name(node))

    def lint(self) -> None:
        """Raises RuntimeError if the graph is not well formed: a node from elsewhere, one used before it is made, a name given
        twice, no output at the end, or a number of arguments that its op does not take."""
        seen, names = set(), set()
        for i, node in enumerate(self.nodes):
            where = f"node {i} ({node.name}, {node.op}[target={show_target(node._target)}])"
            if node.graph is not self:
                raise RuntimeError(f"{where} belongs to another graph")
            if node.op not in _KINDS:
                raise RuntimeError(f"{where} has an unknown op; there are {', '.join(_KINDS)}")
            for a in node._args:
                if a.__class__ is Node and a not in seen:
                    raise RuntimeError(
                        f"{where} takes {a!r}, which is " + ("made after it" if a.graph is self else "no node of this graph")
                    )
            if node.name in names:
                raise RuntimeError(f"{where}: the name is given twice")
            if (node.op == "output") != (i == len(self.nodes) - 1):
                raise RuntimeError(f"{where}: the output node must be the last one, and the only one")
            if node.op == "call_function":
                _lint_call(node, where)
            seen.add(node)
            names.add(node.name)
        if not self.nodes:
            raise RuntimeError("the graph is empty: it needs an output node")

    # ------------------------------------------------------------------------------------------------ how it looks

    def python_code(self, root_module: str = "self", *, verbose: bool = False):
        """The program as Python that runs: a PythonCode with `src`, `globals`, and the `attributes` of self that it needs."""
        from .printing import python_code

        return python_code(self, root_module, verbose=verbose)

    def __str__(self) -> str:
        return "\n    ".join(["graph():", *(n.format_node() for n in self.nodes)])

    def _repr_pretty_(self, p, cycle: bool) -> None:
        from .printing import readable

        p.text("Graph(...)" if cycle else readable(self, "Graph"))

    def _repr_html_(self) -> str:
        from .display import html

        return html(self, "Graph")

    def print_tabular(self) -> None:
        """Prints the nodes as a table."""
        print(self.tabular())

    def tabular(self) -> str:
        """The nodes as a table: kind, name, target, args, kwargs, shape and dtype."""
        rows = [("opcode", "name", "target", "args", "kwargs", "aval")]
        for n in self.nodes:
            call = n.op.startswith("call_")
            args = n.format_args(lambda n: n.name) if n._args else "()"
            rows.append(
                (n.op, n.name, show_target(n._target), args, str(n.kwargs if call else {}), show_aval(n.aval) if n.op != "output" else "")
            )
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows]
        return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])

    # -------------------------------------------------------------------------------------------- copies and pickles

    def __getstate__(self):
        """Nodes by number: a long chain of them would be too deep to pickle or copy as it is."""
        number = {n: _Ref(i) for i, n in enumerate(self.nodes)}
        rows = [
            (
                n.op,
                n._target,
                tuple([number[a] if a.__class__ is Node else a for a in n._args]),
                n.params,
                n.aval,
                n.stack_trace,
                n._name,
                n._meta,
            )
            for n in self.nodes
        ]
        return rows, self.codec

    def __setstate__(self, state):
        rows, codec = state
        self.__init__()
        self.codec = codec
        nodes = self.nodes
        for op, target, args, params, aval, line, name, meta in rows:
            node = self.append(
                op, target, tuple([list.__getitem__(nodes, a.index) if a.__class__ is _Ref else a for a in args]), params, aval, line
            )
            node._name, node._meta = name, meta
        taken = [n._name for n in nodes if n._name is not None]
        if taken:
            self._names = dict.fromkeys(taken, 0)

    def __copy__(self) -> Graph:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo) -> Graph:
        """A graph of its own nodes; ops, static parameters and constants are immutable and shared."""
        new = Graph.__new__(Graph)
        new.__setstate__(self.__getstate__())
        for old, node in zip(self.nodes, new.nodes):
            node.line, node._meta = old.line, None if old._meta is None else dict(old._meta)
            memo[id(old)] = node
        memo[id(self)] = new
        return new


class _Ref:
    """The number of a node, in a pickled graph."""

    __slots__ = ("index",)

    def __init__(self, index: int):
        self.index = index

    def __reduce__(self):
        return _Ref, (self.index,)


class _Insertion:
    """Sets the insertion point; as a context it puts the old one back."""

    def __init__(self, graph: Graph, point: Node | None):
        if point is not None and point.graph is not graph:
            raise ValueError(f"{point!r} is no node of this graph")
        self.graph, self.before = graph, graph._point
        graph._point = point

    def __enter__(self) -> Graph:
        return self.graph

    def __exit__(self, *_):
        self.graph._point = self.before if self.before is None or self.before.graph is self.graph else None


def _is_node(x) -> bool:
    return x.__class__ is Node


def _base_name(node: Node) -> str:
    if node.op != "call_function":
        return node._target
    return node._target.name if node._target.__class__ is Op else getattr(node._target, "__name__", type(node._target).__name__)


def _lint_call(node: Node, where: str) -> None:
    op = node._target
    if op.__class__ is not Op:
        if not callable(op):
            raise RuntimeError(f"{where}: the target must be an op or a function, got {op!r}")
        return
    least = len(op.tensors) - (op.variadic is not None)
    if len(node._args) < least or op.variadic is None and len(node._args) != least:
        raise RuntimeError(f"{where}: {op.qualname} takes the arrays {op.tensors}, got {len(node._args)} args")
    if len(node.params) != len(op.statics):
        raise RuntimeError(f"{where}: {op.qualname} takes the static parameters {op.statics}, got {len(node.params)}: {node.params}")


# ------------------------------------------------------------------------------------------------------------ running


def is_part(node: Node) -> bool:
    """Whether it is one result of an op that has several: its args are the op's node, and which."""
    return node._target is operator.getitem and not node.params


def evaluate(graph: Graph, inputs: Iterable, constants: Iterable = (), entering: Callable | None = None) -> list:
    """Runs a graph op by op at the current interpreter: the values of its outputs. Intermediates are freed after their last use.
    `entering` is given each node that calls something before it does."""
    env: dict[Node, object] = {}
    supply, attrs = iter(inputs), iter(constants)
    last = last_uses(graph)
    for node in list.__iter__(graph.nodes):
        kind = node.op
        if kind == "call_function" or kind == "call_method":
            target, args = node._target, node._args
            if entering is not None:
                entering(node)
            if target.__class__ is Op:
                env[node] = target.bind(*[env[a] if a.__class__ is Node else a for a in args], params=node.params)
            elif is_part(node):
                env[node] = env[args[0]][args[1]]
            else:
                env[node] = call_python(target, [env[a] if a.__class__ is Node else a for a in args], node.params)
            for done in last.get(node, ()):
                del env[done]
        elif kind == "placeholder":
            env[node] = next(supply)
        elif kind == "get_attr":
            env[node] = next(attrs)
        else:
            return [env[a] if a.__class__ is Node else a for a in node._args]
    raise ValueError("the graph has no output node: call graph.output(...) last")


def last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """For each node, the nodes whose values are not needed after it."""
    seen, out = set(), {}
    for node in list.__reversed__(graph.nodes):
        done = list(dict.fromkeys([a for a in node._args if a.__class__ is Node and a not in seen]))
        seen.update(done)
        if node not in seen and node.op.startswith("call_"):
            seen.add(node)
            done.append(node)  # nothing uses it
        if done:
            out[node] = done
    return out

"""Passes: dead code, common subexpressions, constant folding. Each works on a GraphModule in place and says whether it changed."""

from __future__ import annotations

import operator

from ..core.array import Array
from ..core.op import Op
from ..core.statics import static_key
from .graph import Graph, Node
from .graph_module import GraphModule


def eliminate_dead_code(gm: GraphModule) -> bool:
    """Takes out every node that no result needs, and the constants that only they took.

    >>> import functorch_lite as fl
    >>> gm = fl.fx.symbolic_trace(lambda x: (fl.sin(x), fl.cos(x))[0])
    >>> eliminate_dead_code(gm), len(gm.graph.nodes)
    (True, 3)
    """
    before = gm.constants
    changed = gm.graph.eliminate_dead_code()
    for name in before.keys() - gm.constants.keys():
        place, _, last = name.rpartition(".")
        delattr(operator.attrgetter(place)(gm) if place else gm, last)
    return changed


def common_subexpressions(gm: GraphModule) -> bool:
    """Computes what is computed twice once: calls of the same op with the same arguments and static parameters.

    Ops with effects, and Python functions, of which nothing is known, stay as they are.

    >>> import functorch_lite as fl
    >>> gm = fl.fx.symbolic_trace(lambda x: fl.sin(x) + fl.sin(x))
    >>> common_subexpressions(gm)
    True
    >>> print(gm.code)
    def forward(self, x):
        sin = fl.sin(x)
        add = fl.add(sin, sin)
        return add
    <BLANKLINE>
    """
    graph, seen, same = gm.graph, {}, {}
    for node in graph.nodes:
        if any(a in same for a in node.args if a.__class__ is Node):
            node.args = [same.get(a, a) if a.__class__ is Node else a for a in node.args]
        key = _key(node)
        if key is not None:
            first = seen.setdefault(key, node)
            if first is not node:
                same[node] = first
    graph.discard(set(same))
    return bool(same)


def _key(node: Node):
    """What a node's value depends on; None where that is not known."""
    if node.op == "get_attr":
        return node.op, node.target
    if node.op != "call_function" or node.is_impure() or not _is_known(node.target):
        return None
    key = (node.target, tuple([a if a.__class__ is Node else static_key(a) for a in node.args]), static_key(node.params))
    try:
        hash(key)
    except TypeError:  # a static parameter that cannot be compared
        return None
    return key


def _is_known(target) -> bool:
    """Whether calls of it depend on nothing but their arguments."""
    return target.__class__ is Op or target is operator.getitem


def fold_constants(gm: GraphModule) -> bool:
    """Computes what depends on constants only now, and keeps the results as constants.

    Ops without arguments (`full`, `iota`) are left where their value is taken as it is: they are cheaper than data.

    >>> import functorch_lite as fl
    >>> w = fl.asarray([1.0, 2.0])
    >>> gm = fl.fx.symbolic_trace(lambda x: x * fl.exp(w + 1.0))
    >>> fold_constants(gm)
    True
    >>> print(gm.code)
    def forward(self, x):
        _folded0 = self._folded0
        mul = fl.mul(x, _folded0)
        return mul
    <BLANKLINE>
    """
    graph = gm.graph
    values: dict[Node, object] = {}
    for node in graph.nodes:
        if node.op == "get_attr":
            values[node] = gm.constants[node.target]
        elif node.op == "call_function" and not node.is_impure() and _is_known(node.target):
            if all(a in values for a in node.args if a.__class__ is Node):
                args = [values[a] if a.__class__ is Node else a for a in node.args]
                values[node] = node.target.bind(*args, params=node.params) if node.target.__class__ is Op else args[0][args[1]]
    frontier = [n for n, v in values.items() if n.all_input_nodes and isinstance(v, Array) and any(u not in values for u in n.users)]
    for node in frontier:
        name = _unused(gm, graph)
        setattr(gm, name, values[node])
        with graph.inserting_before(node):
            node.replace_all_uses_with(graph.get_attr(name, values[node].aval), delete_user_cb=lambda u: u not in values)
    if frontier:
        eliminate_dead_code(gm)
    return bool(frontier)


def _unused(gm: GraphModule, graph: Graph) -> str:
    i = 0
    while hasattr(gm, f"_folded{i}"):
        i += 1
    return f"_folded{i}"

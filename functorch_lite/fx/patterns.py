"""replace_pattern: finding subgraphs that look like a pattern, and putting others in their place."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any

from ..core.op import Op
from ..core.record import Record
from .calls import result_aval, same
from .graph import Graph, Node, NodeList
from .graph_module import GraphModule
from .symbolic import symbolic_trace


class Match(Record, eq=False):
    """One place where a pattern was found: the node of its (first) result, and what stands for each node of the pattern."""

    anchor: Node
    nodes_map: dict[Node, Any]


def replace_pattern(
    gm: GraphModule,
    pattern: Callable | GraphModule | Graph,
    replacement: Callable | GraphModule | Graph,
    *,
    match_filters: tuple[Callable[[Match], bool], ...] = (),
    ignore_literals: bool = False,
) -> list[Match]:
    """Replaces each part of gm that looks like `pattern` by `replacement`, in place; gives the matches.

    Both are functions of as many arrays (traced by `symbolic_trace`), or graphs. A parameter of the pattern stands for any
    value; everything else must be equal: ops, static parameters, numbers (any number with `ignore_literals`), and where one
    value is used twice. What the pattern computes on the way must not be used elsewhere. Matches do not overlap. Each of
    `match_filters` may turn a match down.

    >>> import functorch_lite as fl
    >>> gm = fl.fx.symbolic_trace(lambda x, y: fl.exp(fl.sin(x) * fl.sin(x) + y))
    >>> len(replace_pattern(gm, lambda a: fl.sin(a) * fl.sin(a), lambda a: 1 - fl.cos(a) ** 2))
    1
    >>> [n.name for n in gm.graph.nodes]
    ['x', 'y', 'cos', 'pow_1', 'sub', 'add', 'exp', 'output']
    """
    pattern, replacement = _graph_of(pattern), _graph_of(replacement)
    holes, fills = pattern.placeholders, replacement.placeholders
    if len(holes) != len(fills):
        raise ValueError(f"replace_pattern: pattern and replacement must take as many arrays, got {len(holes)} and {len(fills)}")
    results, new_results = _results(pattern), replacement.output_node().args
    if len(results) != len(new_results):
        raise ValueError(f"replace_pattern: pattern and replacement must give as many results, got {len(results)} and {len(new_results)}")
    for n in (*pattern.nodes, *replacement.nodes):
        if n.op == "get_attr":
            raise ValueError("replace_pattern: the pattern and its replacement may not close over Arrays; pass them as parameters")
    matches, taken = [], set()
    for anchor in gm.graph.nodes:
        for found in _matches(results, anchor, gm.graph, ignore_literals):
            match = Match(anchor, found)
            if _stands_alone(match, results, taken) and all(accept(match) for accept in match_filters):
                taken.update(_inside(found))
                matches.append(match)
                break
    stands_for: dict[Node, Any] = {}  # results of earlier replacements, which later matches may take
    for match in matches:
        _replace(gm.graph, match, results, holes, replacement, fills, stands_for)
    if len(results) > 1 and matches:
        _sort(gm.graph)
    return matches


def _graph_of(program) -> Graph:
    if isinstance(program, Graph):
        return program
    gm = program if isinstance(program, GraphModule) else symbolic_trace(program)
    gm.graph.eliminate_dead_code()
    return gm.graph


def _results(pattern: Graph) -> tuple[Node, ...]:
    results = pattern.output_node().args
    if not results or any(r.__class__ is not Node or r.op != "call_function" for r in results):
        raise ValueError("replace_pattern: each result of the pattern must be computed by an op")
    return results


def _matches(results, anchor: Node, graph: Graph, ignore_literals: bool) -> Iterator[dict[Node, Any]]:
    """The ways in which the pattern's results can be found with the first of them at `anchor`."""
    found = _match(results[0], anchor, {}, ignore_literals)
    return iter(()) if found is None else _rest(results[1:], found, graph, ignore_literals)


def _rest(results, found: dict, graph: Graph, ignore_literals: bool) -> Iterator[dict[Node, Any]]:
    if not results:
        yield found
        return
    first, *others = results
    for candidate in [found[first]] if first in found else graph.nodes:
        more = _match(first, candidate, found, ignore_literals)
        if more is not None:
            yield from _rest(others, more, graph, ignore_literals)


def _match(pattern, node, found: dict, ignore_literals: bool) -> dict | None:
    """`found` with what `node` adds if it looks like `pattern`, else None."""
    found = dict(found)
    stack = [(pattern, node)]
    while stack:
        p, n = stack.pop()
        if p.__class__ is not Node:
            if n.__class__ is Node or not (ignore_literals and p is not None and n is not None or same(p, n)):
                return None
        elif p in found:
            if found[p] is not n and (n.__class__ is Node or not same(found[p], n)):
                return None
        else:
            if p.op != "placeholder":
                if n.__class__ is not Node or n.op != p.op or n.target != p.target or len(n.args) != len(p.args) or not _same_params(p, n):
                    return None
                stack.extend(zip(p.args, n.args))
            found[p] = n
    return found


def _same_params(p: Node, n: Node) -> bool:
    return all(map(same, p.params, n.params)) if p.target.__class__ is Op else p.params == n.params


def _inside(found: dict[Node, Any]) -> list[Node]:
    """The nodes that a match would take away."""
    return [n for p, n in found.items() if p.op != "placeholder"]


def _stands_alone(match: Match, results, taken: set[Node]) -> bool:
    """Whether nothing else uses what the match computes on the way, and no other match has any of it."""
    found = match.nodes_map
    inside = set(_inside(found))
    ends = {found[r] for r in results}
    return not inside & taken and all(u in inside for n in inside - ends for u in n.users)


def _replace(graph: Graph, match: Match, results, holes, replacement: Graph, fills, stands_for: dict) -> None:
    found = match.nodes_map

    def now(x):
        while x.__class__ is Node and x in stands_for:
            x = stands_for[x]
        return x

    val_map = {f: now(found.get(h)) for f, h in zip(fills, holes)}
    ends = [found[r] for r in results]
    first = min(ends, key=graph.position)
    with graph.inserting_before(first):
        for node in replacement.nodes:
            if node.op == "call_function":
                val_map[node] = copy = graph.node_copy(node, val_map.__getitem__)
                copy.line = first.line
                copy.aval = result_aval(copy.target, copy.args, copy.params)
    for end, value in zip(ends, replacement.output_node().args):
        value = val_map[value] if value.__class__ is Node else value
        stands_for[end] = value
        end.replace_all_uses_with(value)
    graph.discard(set(_inside(found)))


def _sort(graph: Graph) -> None:
    """Puts every node behind those it takes, and changes the order no more than that."""
    place = {n: i for i, n in enumerate(graph.nodes)}
    nodes = list(graph.nodes)
    waiting = {n: len(n.all_input_nodes) for n in nodes}
    ready = [place[n] for n in nodes if not waiting[n]]
    heapq.heapify(ready)
    order = []
    while ready:
        node = nodes[heapq.heappop(ready)]
        order.append(node)
        for user in node.users:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, place[user])
    if len(order) != len(nodes):
        raise RuntimeError(
            "replace_pattern: a result of the pattern depends on another through nodes outside of it; give a pattern with one result"
        )
    graph.nodes = NodeList(order)

"""Changing trees and taking them apart: `tree_at`, `partition`, `combine`, `filter`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import pytree

_ABSENT = object()


def filter(tree: Any, predicate: Callable[[Any], bool] | Any, *, inverse: bool = False) -> Any:
    """The tree with None in place of each leaf for which `predicate` is false (true, with `inverse`).

    `predicate` is a function of a leaf, or a tree of bools (or such functions) that is a prefix of `tree`.

    >>> filter({"w": 2.0, "name": "layer"}, lambda leaf: isinstance(leaf, float))
    {'w': 2.0, 'name': None}
    >>> filter({"w": 2.0, "b": 1.0}, {"w": True, "b": False})
    {'w': 2.0, 'b': None}
    """
    leaves, spec = pytree.flatten(tree)
    wanted = _wanted(leaves, tree, predicate)
    return spec.unflatten([leaf if keep != inverse else None for leaf, keep in zip(leaves, wanted)])


def partition(tree: Any, predicate: Callable[[Any], bool] | Any) -> tuple[Any, Any]:
    """The leaves for which `predicate` is true and the others, as two trees with None where the leaf is in the other one.

    >>> partition({"w": 2.0, "name": "layer"}, lambda leaf: isinstance(leaf, float))
    ({'w': 2.0, 'name': None}, {'w': None, 'name': 'layer'})
    """
    leaves, spec = pytree.flatten(tree)
    wanted = _wanted(leaves, tree, predicate)
    chosen = [leaf if keep else None for leaf, keep in zip(leaves, wanted)]
    others = [None if keep else leaf for leaf, keep in zip(leaves, wanted)]
    return spec.unflatten(chosen), spec.unflatten(others)


def combine(*trees: Any) -> Any:
    """The tree that has at each place the leaf of the first of the trees in which it is not None: the inverse of `partition`.

    >>> combine({"w": 2.0, "name": None}, {"w": None, "name": "layer"})
    {'w': 2.0, 'name': 'layer'}
    """
    if not trees:
        raise TypeError("combine: expected at least one tree")
    leaves, spec = pytree.flatten(trees[0], _is_none)
    others = [pytree.match(spec, tree, f"combine: tree {i}") for i, tree in enumerate(trees[1:], 2)]
    return spec.unflatten([next((x for x in leaf if x is not None), None) for leaf in zip(leaves, *others)])


def tree_at(where: Callable[[Any], Any], tree: Any, replace: Any = _ABSENT, *, replace_fn: Callable[[Any], Any] | None = None) -> Any:
    """A copy of the tree with one or several of its nodes replaced. No converter or validator runs.

    where: a function of the tree that returns the node (a leaf, a subtree, or a None), or a tuple or list of nodes.
    replace: the new node, or as many as `where` returns. replace_fn: instead, a function of each old node.

    >>> tree_at(lambda t: t["layers"][1]["w"], {"layers": [{"w": 1}, {"w": 2}]}, 20)
    {'layers': [{'w': 1}, {'w': 20}]}
    >>> tree_at(lambda t: (t["a"], t["b"]), {"a": 1, "b": None, "c": 3}, (10, 20))
    {'a': 10, 'b': 20, 'c': 3}
    """
    if (replace is _ABSENT) == (replace_fn is None):
        raise TypeError("tree_at: give either replace or replace_fn")
    leaves, spec = pytree.flatten(tree, _is_none)
    marks = [_Mark(leaf) for leaf in leaves]
    marked = spec.unflatten(marks)  # every node is an object of its own now, and known by its identity
    places = {}

    def visit(node):
        places.setdefault(id(node), []).append(node)
        return False

    pytree.structure(marked, visit)
    chosen = where(marked)
    several = id(chosen) not in places and isinstance(chosen, (tuple, list))
    chosen = list(chosen) if several else [chosen]
    for node in chosen:
        if len(places.get(id(node), ())) != 1:
            raise ValueError(
                f"tree_at: `where` must return nodes of the tree, or a tuple of them; it returned {_what(node)}. "
                "A static field is no node: change it with replace(obj, name=...)"
            )
    if len({id(node) for node in chosen}) != len(chosen):
        raise ValueError("tree_at: `where` returned the same node twice")
    if replace_fn is not None:
        new = [replace_fn(pytree.map(_Mark.leaf_of, node)) for node in chosen]
    elif not several:
        new = [replace]
    elif isinstance(replace, (tuple, list)) and len(replace) == len(chosen):
        new = list(replace)
    else:
        raise ValueError(f"tree_at: `where` returns {len(chosen)} nodes, so replace must be as many, got {pytree.describe(replace)}")
    news = {id(node): value for node, value in zip(chosen, new)}
    return pytree.map(lambda node: news[id(node)] if id(node) in news else node.leaf, marked, is_leaf=lambda node: id(node) in news)


class _Mark:
    """Stands for one leaf while `where` looks at the tree."""

    __slots__ = ("leaf",)

    def __init__(self, leaf):
        self.leaf = leaf

    def leaf_of(self):
        return self.leaf

    def __getattr__(self, name):
        raise _misuse(self, f"read its attribute {name!r}")

    def __getitem__(self, index):
        raise _misuse(self, f"index it with {index!r}")


def _misuse(mark: _Mark, did: str) -> Exception:
    kind = AttributeError if "attribute" in did else TypeError
    return kind(f"tree_at: `where` reached a leaf ({pytree.describe(mark.leaf)}) and tried to {did}; it may only select nodes of the tree")


def _what(node) -> str:
    return f"a leaf of the tree ({pytree.describe(node.leaf)})" if isinstance(node, _Mark) else pytree.describe(node)


def _is_none(x) -> bool:
    return x is None


def _wanted(leaves: list, tree, predicate) -> list[bool]:
    if callable(predicate) and pytree.structure(predicate).type is None:
        return [bool(predicate(leaf)) for leaf in leaves]
    tests = pytree.broadcast_prefix(predicate, tree, "filter: the tree, for the prefix given as predicate,")
    for test in tests:
        if not (isinstance(test, bool) or callable(test)):
            got = pytree.describe(test)
            raise TypeError(f"filter: a predicate is a function of a leaf, or a tree of bools and such functions; it has {got} in it")
    return [test if isinstance(test, bool) else bool(test(leaf)) for leaf, test in zip(leaves, tests)]

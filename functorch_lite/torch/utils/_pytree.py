"""torch.utils._pytree: functions over nested containers as PyTorch has them. None is a leaf here (on `fl.tree` it is an empty subtree)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import optree

from ...core.pytree import NAMESPACE, TreeSpec, register

_TORCH = {"none_is_leaf": True, "namespace": NAMESPACE}


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list, TreeSpec]:
    """(leaves, structure).

    >>> tree_flatten({"b": [1, None], "a": 2})[0]
    [1, None, 2]
    """
    return optree.tree_flatten(tree, is_leaf, **_TORCH)


def tree_unflatten(leaves: Iterable, treespec: TreeSpec) -> Any:
    """The tree of this structure with these leaves."""
    return treespec.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list:
    """The leaves."""
    return optree.tree_leaves(tree, is_leaf, **_TORCH)


def tree_iter(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterable:
    """The leaves, one by one."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The structure."""
    return optree.tree_structure(tree, is_leaf, **_TORCH)


def tree_map(func: Callable, tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """func of each leaf, and of what stands there in the other trees.

    >>> tree_map(lambda x: x is None, (1, None))
    (False, True)
    """
    return optree.tree_map(func, tree, *rests, is_leaf=is_leaf, **_TORCH)


def tree_map_(func: Callable, tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The same for what func does; returns the tree itself."""
    return optree.tree_map_(func, tree, *rests, is_leaf=is_leaf, **_TORCH)


def tree_map_only(kind: type | tuple[type, ...], func: Callable, tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """func of each leaf of this type; others stay.

    >>> tree_map_only(int, lambda x: x + 1, [1, "a"])
    [2, 'a']
    """
    return tree_map(lambda x: func(x) if isinstance(x, kind) else x, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether pred holds of every leaf."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether pred holds of some leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def register_pytree_node(cls: type, flatten_fn: Callable, unflatten_fn: Callable, **names: Any) -> None:
    """Makes a class a node: flatten_fn(object) -> (list of children, context), unflatten_fn(children, context) -> object.

    For all transforms of functorch_lite too. The keyword arguments of PyTorch's, about serialization, are not used.
    """
    register(cls, flatten_fn, lambda context, children: unflatten_fn(list(children), context))


__all__ = [
    "TreeSpec",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_structure",
    "tree_unflatten",
]

"""`fl.tree`: functions over pytrees (nested dicts, lists, tuples, dataclasses, `@fl.struct` classes ...)."""

from .core.pytree import (
    Path,
    TreeSpec,
    all,
    all_equal,
    broadcast_prefix,
    flatten,
    flatten_with_path,
    leaves,
    leaves_with_path,
    map,
    map_with_path,
    reduce,
    register,
    structure,
    transpose,
    unflatten,
)
from .transforms.ravel import ravel

__all__ = [
    "Path",
    "TreeSpec",
    "all",
    "all_equal",
    "broadcast_prefix",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "ravel",
    "reduce",
    "register",
    "structure",
    "transpose",
    "unflatten",
]

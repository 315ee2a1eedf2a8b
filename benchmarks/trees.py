"""Results as numpy arrays by name, whatever library they come from."""

from __future__ import annotations

import numpy as np


def named(tree, prefix: str = "") -> dict[str, np.ndarray]:
    """The leaves of nested dicts, lists and tuples by their paths."""
    if isinstance(tree, dict):
        return {k: v for key, x in tree.items() for k, v in named(x, f"{prefix}.{key}").items()}
    if isinstance(tree, (list, tuple)):
        return {k: v for i, x in enumerate(tree) for k, v in named(x, f"{prefix}.{i}").items()}
    return {prefix.lstrip("."): np.array(tree.detach() if hasattr(tree, "detach") else tree)}


def mapped(f, tree):
    """f of each leaf of nested dicts, lists and tuples."""
    if isinstance(tree, dict):
        return {key: mapped(f, x) for key, x in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)([mapped(f, x) for x in tree])
    return f(tree)

"""How trees are shown: arrays by dtype and shape (never by value, which may not be there yet), one line where it fits."""

from __future__ import annotations

import inspect
from typing import Any


def array_type(x: Any) -> str | None:
    """'float32[2,3]' for whatever has a shape and a dtype, else None."""
    shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
    if shape is None or dtype is None or isinstance(x, type):
        return None
    return f"{str(dtype).rpartition('.')[2]}[{','.join(map(str, shape))}]"


def pretty(value: Any, width: int = 100) -> str:
    """A tree of attrs objects, dicts, lists and tuples as text.

    >>> import numpy as np
    >>> print(pretty({"w": np.zeros((2, 3), np.float32), "f": abs, "b": None}))
    {'w': float32[2,3], 'f': abs, 'b': None}
    """
    return _pretty(value, 0, width)


def _pretty(value, indent: int, width: int) -> str:
    parts = _parts(value)
    if parts is None:
        return _leaf(value)
    head, items, tail = parts
    flat = head + ", ".join(name + _pretty(child, 0, 10**9) for name, child in items) + tail
    if indent + len(flat) <= width or not items:
        return flat
    pad = " " * (indent + 2)
    lines = [f"{pad}{name}{_pretty(child, indent + 2, width)}," for name, child in items]
    return "\n".join([head, *lines, " " * indent + tail.lstrip(",")])


def _parts(value) -> tuple[str, list[tuple[str, Any]], str] | None:
    """What opens a container, its named children, and what closes it; None for a leaf."""
    kind = type(value)
    if hasattr(kind, "__attrs_attrs__"):
        items = []
        for a in kind.__attrs_attrs__:
            if a.repr:
                child = getattr(value, a.name, "<not set>")
                items.append((f"{a.name}=", _Text(a.repr(child)) if callable(a.repr) else child))
        return f"{kind.__name__}(", items, ")"
    if kind is dict:
        return "{", [(f"{k!r}: ", v) for k, v in value.items()], "}"
    if kind is list:
        return "[", [("", v) for v in value], "]"
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return f"{kind.__name__}(", [(f"{name}=", v) for name, v in zip(kind._fields, value)], ")"
    if kind is tuple:
        return "(", [("", v) for v in value], ",)" if len(value) == 1 else ")"
    return None


class _Text(str):
    """Text that is shown as it is."""


def _leaf(value) -> str:
    if isinstance(value, _Text):
        return str(value)
    if inspect.isroutine(value) or isinstance(value, type):
        return getattr(value, "__name__", None) or repr(value)
    return array_type(value) or repr(value)

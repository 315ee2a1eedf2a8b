"""How an Array is shown: its values where they are few or can be summarized, and always its dtype."""

from __future__ import annotations

import numpy as np

from .aval import Aval

_MANY = 1000  # elements beyond which only the corners are shown
_OPTIONS = {"separator": ", ", "precision": 4, "threshold": _MANY, "edgeitems": 3, "floatmode": "maxprec"}


def array(a: Aval, data: np.ndarray | None) -> str:
    """The text of an Array; without data (it was donated) its shape and dtype.

    >>> from functorch_lite.core.aval import aval
    >>> from functorch_lite.core.dtype import float32
    >>> print(array(aval((2,), float32), np.array([1, 0.5], np.float32)))
    Array([1. , 0.5], dtype=float32)
    >>> print(array(aval((2,), float32), None))
    Array(donated, shape=(2,), dtype=float32)
    """
    shape = f", shape={a.shape}" if data is None or a.size == 0 and a.shape != (0,) or a.size > _MANY else ""
    head, tail = "Array(", f"{shape}, dtype={a.dtype})"
    if data is None:
        return f"{head}donated{tail}"
    if a.size == 0:
        return f"{head}[]{tail}"
    if data.dtype.kind == "V" or data.dtype.name == "bfloat16":
        data = data.astype(np.float32)
    text = np.array2string(data, prefix=head, suffix=tail, max_line_width=100, **_OPTIONS)
    if len(text.rpartition("\n")[2]) + len(head) + len(tail) > 100:
        return f"{head}{text},\n{' ' * len(head)}{tail.removeprefix(', ')}"
    return head + text + tail

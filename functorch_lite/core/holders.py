"""Who else holds a buffer: what may be donated is what nothing else can see.

Views by NumPy and DLPack protect themselves (XLA copies what has outside references). A jax array does not: two of them may share
one buffer without a trace. So whatever was handed to jax, or came from it, is *shared* for good.
"""

from __future__ import annotations

import sys
import weakref

_SHARED: dict[int, weakref.ref] = {}


def share(buffer):
    """Marks a jax array that somebody else may hold, or hold in part, and gives it: it is never donated."""
    key = id(buffer)
    if key not in _SHARED:
        _SHARED[key] = weakref.ref(buffer, lambda _: _SHARED.pop(key, None))
    return buffer


def is_shared(buffer) -> bool:
    """Whether a jax array is marked so."""
    return id(buffer) in _SHARED


def _counts(xs: list) -> list[int]:
    return [sys.getrefcount(xs[i]) for i in range(len(xs))]


_ALONE = _counts([object()])[0]  # what the count says of something that only such a list holds: it differs between versions


def holders(xs: list) -> list[int]:
    """For each element, how many other places hold it besides this list."""
    return [count - _ALONE for count in _counts(xs)]


def lonely(buffers: list) -> list[int]:
    """The positions of the jax arrays that nothing but this list holds."""
    return [i for i, n in enumerate(holders(buffers)) if not n and id(buffers[i]) not in _SHARED]

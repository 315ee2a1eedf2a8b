"""Which buffers a program may take over: those that nothing else can see.

Views by NumPy and DLPack protect themselves (XLA copies what has outside references). A jax array does not: two of them may share
one buffer without a trace. So whatever was handed to jax, or came from it, is *shared* for good.
"""

from __future__ import annotations

import sys
import weakref

_SHARED: dict[int, weakref.ref] = {}


def share(buffer) -> None:
    """Marks a jax array that somebody else may hold, or hold in part: it is never donated."""
    key = id(buffer)
    if key not in _SHARED:
        _SHARED[key] = weakref.ref(buffer, lambda _: _SHARED.pop(key, None))


def is_shared(buffer) -> bool:
    """Whether a jax array is marked so."""
    return id(buffer) in _SHARED


def _references(buffers: list) -> list[int]:
    return [sys.getrefcount(buffers[i]) for i in range(len(buffers))]


_ALONE = _references([object()])[0]  # what the count says of something that only such a list holds: it differs between versions


def lonely(buffers: list) -> list[int]:
    """The positions of those that nothing but this list holds."""
    return [i for i, count in enumerate(_references(buffers)) if count == _ALONE and id(buffers[i]) not in _SHARED]

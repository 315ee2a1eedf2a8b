"""From an op's arguments to the buffers that an executable takes, and where they are."""

from __future__ import annotations

from collections import OrderedDict

import jax
import numpy as np

from ..core.array import META, Array, constant
from ..core.dtype import NUMBERS, WIDEST, category_of
from ..core.interpreter import leak_error
from ..core.pending import Pending
from ..core.statics import static_key

_KEPT = 1024
_BUFFERS: dict[type, OrderedDict] = {kind: OrderedDict() for kind in NUMBERS}


def number(x) -> jax.Array:
    """A Python number as a 0-dim input that holds it exactly: a changed number is no new program."""
    known = _BUFFERS[x.__class__]
    key = x if x and x.__class__ is not complex else static_key(x)  # the zeros compare equal
    out = known.get(key)
    if out is None:
        try:
            out = constant(np.asarray(x, WIDEST[category_of(x)].dtype))
        except OverflowError:
            raise OverflowError(f"the Python int {x} does not fit in int64") from None
        if len(known) > _KEPT:
            known.popitem(last=False)
        known[key] = out
    return out


def buffer_of(x) -> jax.Array:
    """The jax array of an Array or number."""
    return number(x) if x.__class__ in NUMBERS else x.buffer


def place_of(op, args):
    """The device of the committed arguments; None if there is none. An op runs where its arguments are.

    What no argument places (constants, and what was made of constants alone) is *uncommitted*, in jax's words: it follows the others.
    """
    found = None
    for x in args:
        mine = where(x) if x.__class__ is Array else None
        if mine is not None:
            if found is None:
                found = mine
            elif mine is not found:
                raise _devices_differ(op, args)
    return found


def where(x: Array):
    """The device (or sharding, over several) that an Array is committed to, or None."""
    buffer = x._buffer
    if isinstance(buffer, Pending):
        return buffer.device
    if buffer is META or not buffer.committed:
        return None
    sharding = buffer.sharding
    return next(iter(sharding.device_set)) if len(sharding.device_set) == 1 else sharding


def _devices_differ(op, args):
    seen = ", ".join(f"{x.aval} on {x.device}" for x in args if isinstance(x, Array))
    return RuntimeError(f"{op.name}: expected all arrays on one device, got {seen}; move them with .to(device)")


def refusal(op, x) -> Exception:
    """For a traced value that reached the bottom."""
    if not x.owner.alive:
        return leak_error(x)
    return RuntimeError(
        f"{op.name}: a {x.aval} value of {x.owner.label} reached the bottom: it was used outside its transform, or in another thread"
    )

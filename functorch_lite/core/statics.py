"""Static values: what a compiled program depends on besides its arrays, compared by type and bits."""

from __future__ import annotations

import math
import struct


def static_key(value):
    """A hashable key that tells 1, 1.0, True, 0.0 and -0.0 apart and finds nan again.

    >>> static_key(1) == static_key(1.0), static_key(0.0) == static_key(-0.0), static_key(math.nan) == static_key(math.nan)
    (False, False, True)
    """
    kind = value.__class__
    if kind is tuple:
        return tuple([static_key(v) for v in value])
    if kind is float:
        return float, struct.pack("d", value) if not math.isnan(value) else "nan"
    if kind is complex:
        return complex, static_key(value.real), static_key(value.imag)
    if kind is bool:
        return bool, value
    return value


class Statics:
    """The static fields of one pytree node, as its metadata in a tree structure."""

    __slots__ = ("names", "values", "key")

    def __init__(self, names: tuple[str, ...], values: tuple):
        self.names, self.values, self.key = names, values, static_key(values)

    def __eq__(self, other):
        if self is other:
            return True
        return other.__class__ is Statics and self.key == other.key

    def __hash__(self):
        return hash(self.key)

    def __repr__(self):
        return ", ".join(f"{n}={v!r}" for n, v in zip(self.names, self.values, strict=True))

    def __reduce__(self):  # the keys of callables and classes pickle with them
        return Statics, (self.names, self.values)

    def difference(self, other: Statics) -> str:
        """The first field in which they differ: "activation=relu, got activation=tanh"."""
        for name, a, b in zip(self.names, self.values, other.values, strict=True):
            if static_key(a) != static_key(b):
                return f"{name}={a!r}, got {name}={b!r}"
        return "equal static fields"

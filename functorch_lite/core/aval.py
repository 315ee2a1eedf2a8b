"""What is known of a value without its data: an interned (shape, dtype) record."""

from __future__ import annotations

import weakref

from .dtype import BOOL, COMPLEX, FLOAT, INTEGER, WIDEST, DType


class Aval:
    """An abstract value. Interned by `aval()`, so identity is equality and hashing is free.

    ``weak`` marks a traced Python number: it has its category's widest dtype (so its value stays exact), and yields
    to every array in promotion.
    """

    __slots__ = ("shape", "dtype", "weak", "__weakref__")

    def __init__(self, shape: tuple[int, ...], dtype: DType, weak: bool):
        self.shape, self.dtype, self.weak = shape, dtype, weak

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        n = 1
        for d in self.shape:
            n *= d
        return n

    def __repr__(self) -> str:
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"

    def __reduce__(self):
        return aval, (self.shape, self.dtype, self.weak)


_INTERNED: weakref.WeakValueDictionary[tuple, Aval] = weakref.WeakValueDictionary()


def aval(shape: tuple[int, ...], dtype: DType, weak: bool = False) -> Aval:
    """The one Aval of this shape and dtype."""
    key = shape, dtype, weak
    out = _INTERNED.get(key)
    if out is None:
        out = _INTERNED.setdefault(key, Aval(shape, dtype, weak))
    return out


_NUMBER = {kind: aval((), WIDEST[category], True) for kind, category in ((bool, BOOL), (int, INTEGER), (float, FLOAT), (complex, COMPLEX))}


def aval_of(x) -> Aval | None:
    """The aval of an op's argument: of an array its own, of a Python number the weak one, of an absent argument None."""
    return None if x is None else _NUMBER[x.__class__] if x.__class__ in _NUMBER else x.aval

"""Dtypes: one interned object each, PyTorch's names, PyTorch's promotion.

A dtype compares equal to what NumPy and jax call it (``fl.float32 == np.float32``) and NumPy accepts it wherever it
takes a dtype (``np.zeros(3, fl.float32)``).
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

BOOL, INTEGER, FLOAT, COMPLEX = range(4)  # promotion categories, in rising order


class DType:
    """The element type of an array. Interned: compare with ``is`` or ``==``.

    >>> import functorch_lite as fl
    >>> fl.bfloat16.itemsize, fl.bfloat16.is_floating_point, fl.complex64.to_real()
    (2, True, fl.float32)
    """

    __slots__ = ("dtype", "name", "category", "itemsize", "is_floating_point", "is_complex", "is_signed", "is_inexact", "_hash")

    def __init__(self, name: str, dtype, category: int, signed: bool = True):
        self.name, self.dtype, self.category = name, np.dtype(dtype), category
        self.itemsize = self.dtype.itemsize
        self.is_floating_point, self.is_complex = category == FLOAT, category == COMPLEX
        self.is_inexact, self.is_signed = category >= FLOAT, signed
        self._hash = hash(self.dtype)

    def __repr__(self) -> str:
        return f"fl.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other) -> bool:
        if self is other:
            return True
        if isinstance(other, DType) or other is None:
            return False
        try:
            return self.dtype == np.dtype(other)
        except TypeError:
            return NotImplemented

    def __reduce__(self):
        return as_dtype, (self.name,)

    def to_real(self) -> DType:
        """The dtype of the real part."""
        return _REAL.get(self, self)

    def to_complex(self) -> DType:
        """The complex dtype that holds values of this one."""
        return self if self.is_complex else complex128 if self is float64 else complex64


bool_ = DType("bool", np.bool_, BOOL, signed=False)
uint8, uint16, uint32, uint64 = (DType(f"uint{n}", f"uint{n}", INTEGER, signed=False) for n in (8, 16, 32, 64))
int8, int16, int32, int64 = (DType(f"int{n}", f"int{n}", INTEGER) for n in (8, 16, 32, 64))
float16, float32, float64 = (DType(f"float{n}", f"float{n}", FLOAT) for n in (16, 32, 64))
bfloat16 = DType("bfloat16", ml_dtypes.bfloat16, FLOAT)
complex64, complex128 = (DType(f"complex{n}", f"complex{n}", COMPLEX) for n in (64, 128))

ALL = (bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64, complex128)
_REAL = {complex64: float32, complex128: float64}
_BY_NAME = {d.name: d for d in ALL} | {"float": float32, "double": float64, "half": float16, "long": int64, "int": int32}
_BY_NUMPY = {d.dtype: d for d in ALL}
_BY_PYTHON = {bool: bool_, int: int64, float: float32, complex: complex64}
DEFAULT = (bool_, int64, float32, complex64)  # by category: what a Python number becomes
WIDEST = (bool_, int64, float64, complex128)  # by category: what holds a Python number exactly
NUMBERS = frozenset((bool, int, float, complex))


def as_dtype(x) -> DType:
    """The DType that `x` names: a DType, a name, a Python type, or anything NumPy takes for a dtype.

    >>> as_dtype("bfloat16"), as_dtype(int), as_dtype(np.float64)
    (fl.bfloat16, fl.int64, fl.float64)
    """
    if x.__class__ is DType:
        return x
    if x in _BY_PYTHON:
        return _BY_PYTHON[x]
    if isinstance(x, str) and x in _BY_NAME:
        return _BY_NAME[x]
    try:
        return _BY_NUMPY[np.dtype(x)]
    except (TypeError, KeyError):
        raise TypeError(f"{x!r} is no dtype of functorch_lite; there are {', '.join(d.name for d in ALL)}") from None


def category_of(number) -> int:
    """The promotion category of a Python number."""
    return _BY_PYTHON[type(number)].category


_SIGNED_FOR = {1: int16, 2: int32, 4: int64}  # the signed dtype that holds an unsigned one of that many bytes


def _promote_pair(a: DType, b: DType) -> DType:
    if a is b:
        return a
    if a.category != b.category:
        low, high = (a, b) if a.category < b.category else (b, a)
        if high.is_complex and low is float64:
            return complex128
        return high
    if a.category == INTEGER:
        if a.is_signed == b.is_signed:
            return a if a.itemsize > b.itemsize else b
        signed, unsigned = (a, b) if a.is_signed else (b, a)
        if signed.itemsize > unsigned.itemsize:
            return signed
        if unsigned.itemsize > 1:
            raise TypeError(f"promotion of {a} with {b} is not defined: convert one of them with .to(dtype)")
        return _SIGNED_FOR[unsigned.itemsize]
    if a.itemsize == b.itemsize:  # float16 with bfloat16
        return float32
    return a if a.itemsize > b.itemsize else b


_PROMOTED: dict[tuple[DType, DType], DType] = {}


def promote_types(a, b) -> DType:
    """The smallest dtype to which PyTorch promotes both.

    >>> promote_types("int32", "float16"), promote_types("uint8", "int8"), promote_types("float16", "bfloat16")
    (fl.float16, fl.int16, fl.float32)
    """
    key = a, b
    out = _PROMOTED.get(key)
    if out is None:
        out = _PROMOTED[key] = _promote_pair(as_dtype(a), as_dtype(b))
    return out


def can_cast(from_, to) -> bool:
    """Whether PyTorch converts the one to the other by itself (in `out=` and in-place results): never to a lower category.

    >>> can_cast("float64", "float16"), can_cast("float32", "int64"), can_cast("int64", "bool")
    (True, False, False)
    """
    return as_dtype(from_).category <= as_dtype(to).category


def _yield_to(higher: DType | None, lower: DType | None) -> DType | None:
    """A lower tier changes a higher one only by its category."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    if higher.is_complex or higher.is_floating_point:
        return higher.to_complex() if lower.is_complex else higher
    return promote_types(higher, lower) if higher.category == BOOL or lower.is_inexact else higher


def result_dtype(dimensioned: DType | None, zero_dim: DType | None, number_category: int | None) -> DType:
    """PyTorch's three tiers of promotion: arrays with dimensions, 0-dim arrays, Python numbers (see PyTorch's tensor attributes page)."""
    number = None if number_category is None else DEFAULT[number_category]
    return _yield_to(dimensioned, _yield_to(zero_dim, number))


def finfo(dtype) -> ml_dtypes.finfo:
    """Limits of a floating-point dtype (``max``, ``min``, ``eps``, ``tiny``)."""
    d = as_dtype(dtype)
    if not d.is_inexact:
        raise TypeError(f"finfo: expected a floating-point dtype, got {d}")
    return ml_dtypes.finfo(d.to_real().dtype)


def iinfo(dtype) -> np.iinfo:
    """Limits of an integer dtype (``max``, ``min``, ``bits``)."""
    d = as_dtype(dtype)
    if d.category != INTEGER:
        raise TypeError(f"iinfo: expected an integer dtype, got {d}")
    return np.iinfo(d.dtype)

"""Conversion to other dtypes and devices, and copies."""

from __future__ import annotations

from ..core import dtype as dtypes
from ..core.array import Array, Operable, is_device, to_device
from ..core.dtype import NUMBERS, DType, as_dtype
from ..core.op import Tensor, composite
from .promotion import array_of, to_dtype


@composite(name="to", reference=lambda x, dtype: x.real.astype(dtype) if dtype.category < dtypes.COMPLEX else x.astype(dtype))
def _to_dtype(input: Tensor, dtype: DType) -> Tensor:
    """Input as another dtype."""
    return to_dtype(array_of(input), dtype)


def to(input: Tensor, *args, dtype=None, device=None, copy: bool = False, non_blocking: bool = False, memory_format=None) -> Tensor:
    """Input with another dtype, on another device, or both: `x.to(dtype)`, `x.to(device)`, `x.to(device, dtype)`, `x.to(other)`.

    `memory_format` means nothing here: XLA chooses how elements lie. Itself where nothing changes. Floats become ints by truncation, a
    complex number keeps its real part, and whatever is not zero is True. RuntimeError for moving a traced value, since a program runs on
    one device: move its inputs.

    >>> import functorch_lite as fl
    >>> fl.asarray([1.5, -2.5]).to(fl.int64).tolist(), fl.asarray([0, 2]).to("bool").tolist()
    ([1, -2], [False, True])
    """
    for x in args:
        if isinstance(x, Operable):
            dtype, device = x.dtype, x.device if x.__class__ is Array else device
        elif is_device(x):
            device = x
        elif x.__class__ is not bool and x is not None:  # a bool is PyTorch's non_blocking
            dtype = x
    weak = input.__class__ in NUMBERS or input.aval.weak  # a number goes to its dtype at once, exactly
    x = array_of(input, None if dtype is None or not weak else as_dtype(dtype))
    wanted = x.dtype if dtype is None else as_dtype(dtype)
    out = _to_dtype(x, wanted) if wanted is not x.dtype else x
    if device is not None:
        out = to_device(out, device)
    return clone(out) if copy and out is x else out


Operable.to = to


def chalf(self, memory_format=None):
    """Not possible: neither NumPy nor XLA has complex numbers of half-width parts."""
    raise TypeError("chalf: there is no dtype complex32 here; use .cfloat(), or a float16 array with a last dimension of 2")


Operable.chalf = chalf


def type_as(input: Tensor, other: Tensor) -> Tensor:
    """Input in the dtype of other."""
    return to(input, dtype=other.dtype)


Operable.type_as = type_as


def _method(name: str, dtype: DType):
    def method(self, memory_format=None):
        return to(self, dtype=dtype)

    method.__name__, method.__qualname__, method.__doc__ = (
        name,
        f"Array.{name}",
        f"As {dtype}. XLA chooses how elements lie, whatever memory_format.",
    )
    setattr(Operable, name, method)


_METHODS = {
    "bool": dtypes.bool_,
    "byte": dtypes.uint8,
    "char": dtypes.int8,
    "short": dtypes.int16,
    "int": dtypes.int32,
    "long": dtypes.int64,
    "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16,
    "float": dtypes.float32,
    "double": dtypes.float64,
    "cfloat": dtypes.complex64,
    "cdouble": dtypes.complex128,
}
for _name, _dtype in _METHODS.items():
    _method(_name, _dtype)


# ----------------------------------------------------------------------------------------------------------- copies


@composite(method=True, reference=lambda x: x.copy())
def clone(input: Tensor) -> Tensor:
    """A copy. (Arrays never change, so it is needed only to keep data whose Array is donated.)

    >>> import functorch_lite as fl
    >>> fl.clone(fl.asarray([1, 2])).tolist()
    [1, 2]
    """
    return array_of(input)


def _itself(self, memory_format=None):
    """The array itself: it has no strides."""
    return self


Operable.contiguous = _itself
Operable.is_contiguous = lambda self, memory_format=None: True

__all__ = ["clone", "type_as"]

"""PyTorch's older spellings: tensor types by name (`torch.FloatTensor`), `x.type()`, and constructors that take sizes or data."""

from __future__ import annotations

from ..core import dtype as dtypes
from ..core.array import Array, Operable, asarray
from ..core.dtype import DType, as_dtype
from ..core.face import Face
from ..refs.create import zeros
from .layout import Size
from .tensor import Tensor

_TYPES = {
    "FloatTensor": dtypes.float32,
    "DoubleTensor": dtypes.float64,
    "HalfTensor": dtypes.float16,
    "BFloat16Tensor": dtypes.bfloat16,
    "LongTensor": dtypes.int64,
    "IntTensor": dtypes.int32,
    "ShortTensor": dtypes.int16,
    "CharTensor": dtypes.int8,
    "ByteTensor": dtypes.uint8,
    "BoolTensor": dtypes.bool_,
    "ComplexFloatTensor": dtypes.complex64,
    "ComplexDoubleTensor": dtypes.complex128,
}
_NAME = {dtype: name for name, dtype in _TYPES.items()}


def begun(data: tuple) -> Array:
    """What `torch.Tensor(...)` holds: sizes and lists make the default dtype; arrays, tensors, floats and NumPy's keep theirs."""
    from .create import DEFAULTS

    given = data[0] if data else ()
    return value_of(data, None if isinstance(given, (Array, Face)) or given.__class__ in (float, complex, bool) else DEFAULTS["dtype"])


def value_of(args: tuple, dtype: DType | None) -> Array:
    """What such a constructor holds: zeros of these sizes (PyTorch's are uninitialized), or the data in this dtype."""
    if len(args) == 1 and not _is_size(args[0]) and not isinstance(args[0], Size):
        data = args[0]
        value = data.array if isinstance(data, Tensor) else asarray(data)
        return value if dtype is None else value.to(dtype)
    sizes = args[0] if len(args) == 1 and isinstance(args[0], Size) else args or (0,)
    return zeros(*sizes, dtype=dtype) if sizes else zeros((), dtype=dtype)


def _is_size(x) -> bool:
    return hasattr(x, "__index__") and not isinstance(x, Operable) and getattr(x, "ndim", 0) == 0 and x.__class__ is not bool


class LegacyType(type):
    """The type of `torch.FloatTensor` and its like: a tensor is an instance of the one of its dtype."""

    def __call__(cls, *args, device=None) -> Tensor:
        out = Tensor.over(value_of(args, cls.dtype))
        return out if device is None else out.to(device=device)

    def __instancecheck__(cls, x) -> bool:
        return isinstance(x, Tensor) and x.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


def _legacy(name: str, dtype: DType) -> LegacyType:
    doc = f"Makes a {dtype} tensor of these sizes, or of this data; a tensor of this dtype is an instance of it."
    return LegacyType(name, (), {"dtype": dtype, "__doc__": doc})


LEGACY = {name: _legacy(name, dtype) for name, dtype in _TYPES.items()}


def named_dtype(kind) -> DType:
    """The dtype that a dtype, a legacy type, or the name of either stands for."""
    if isinstance(kind, LegacyType):
        return kind.dtype
    if isinstance(kind, str) and kind.startswith("torch.") and (found := _TYPES.get(kind.rpartition(".")[2])) is not None:
        return found
    return as_dtype(kind)


def tensor_type(self, dtype=None, non_blocking: bool = False):
    """The name of its type ('torch.FloatTensor'), or the tensor in another dtype, given as such, as a type or as a name.

    >>> import functorch_lite.torch as torch
    >>> torch.zeros(2).type(), torch.zeros(2).type("torch.LongTensor").dtype
    ('torch.FloatTensor', fl.int64)
    """
    if dtype is None:
        place = "cuda." if isinstance(self, Tensor) and self.is_cuda else ""
        name = _NAME.get(self.dtype) or f"{self.dtype.name.upper().replace('UINT', 'UInt')}Tensor"
        return f"torch.{place}{name}"
    return self.to(named_dtype(dtype))


def typename(obj) -> str:
    """The name of a tensor's type, or the full name of another object's.

    >>> import functorch_lite.torch as torch
    >>> torch.typename(torch.zeros(2))
    'torch.FloatTensor'
    """
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if isinstance(obj, type) else type(obj)
    return kind.__qualname__ if kind.__module__ in ("builtins", None) else f"{kind.__module__}.{kind.__qualname__}"


def _new(self, *args, device=None) -> Tensor:
    """A tensor of its dtype with these sizes, or of this data: PyTorch's older `new_empty` and `new_tensor`."""
    return LegacyType.__call__(LEGACY[_NAME[self.dtype]], *args, device=device)


Operable.type = tensor_type
Tensor.new = _new

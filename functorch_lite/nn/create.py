"""Constructors of Tensors: the functional face's, with PyTorch's default dtype and device, and `requires_grad`. Draws are in draws.py."""

from __future__ import annotations

from builtins import range as _count

import numpy as np

from ..core.array import Array, meta
from ..core.array import asarray as array_of
from ..core.array import from_dlpack as of_dlpack
from ..core.dtype import DType, as_dtype, float32
from ..core.face import Face
from ..core.out import into
from ..refs import create
from ..transforms.shapes import eval_shape
from .queries import strided
from .tensor import Tensor, without_history

DEFAULTS: dict = {"dtype": float32, "device": None}  # on which programs depend


def set_default_dtype(dtype) -> None:
    """The float dtype of constructors of this face (`torch.*`) that are given none. The functional face is not affected."""
    wanted = as_dtype(dtype)
    if not wanted.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, got {wanted}")
    DEFAULTS["dtype"] = wanted


def get_default_dtype() -> DType:
    """See `set_default_dtype`."""
    return DEFAULTS["dtype"]


def set_default_device(device) -> None:
    """The device of constructors of this face that are given none."""
    DEFAULTS["device"] = None if device is None else str(device)


def get_default_device() -> str:
    """See `set_default_device`."""
    return DEFAULTS["device"] or "cpu"


def made(make, device, requires_grad: bool, out: Tensor | None = None, name: str = "") -> Tensor:
    """What `make(device)` gives, as a Tensor; without data on the device 'meta'. It is written into `out`, if there is one."""
    if out is not None:
        return into(name, lambda: Tensor.over(make(device or out.device)), out, (), {}, traits=("exact",))
    device = DEFAULTS["device"] if device is None else str(device)
    if device == "meta":
        out = Tensor.over(meta(eval_shape(lambda: make(None))))
    else:
        out = Tensor.over(make(device))
    return out.requires_grad_() if requires_grad else out


def dtype_for(name: str, dtype, out: Tensor | None) -> DType:
    """The dtype asked for, else that of `out`, else the default float."""
    if out is None:
        return as_dtype(dtype or DEFAULTS["dtype"])
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}: argument 'out' must be a Tensor, got {type(out).__name__}")
    if dtype is not None and as_dtype(dtype) is not out.dtype:
        raise RuntimeError(f"{name}: dtype {as_dtype(dtype)} does not match dtype of out parameter ({out.dtype})")
    return out.dtype


# ------------------------------------------------------------------------------------------------------------ of data


def tensor(data, *, dtype=None, device=None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A Tensor with a copy of `data`: numbers in nested lists (float32 or the default dtype, int64, bool), arrays, tensors.

    >>> import functorch_lite.torch as torch
    >>> torch.tensor([[1, 2], [3, 4]]).dtype
    fl.int64
    """
    source = data.array if isinstance(data, Tensor) else data
    value = array_of(_with_arrays(source), None if dtype is None else as_dtype(dtype))
    if (
        dtype is None
        and value.dtype is float32
        and not isinstance(source, (Array, np.ndarray, np.generic))
        and not hasattr(source, "__dlpack__")
    ):
        value = value.to(DEFAULTS["dtype"])
    return made(lambda device: value if device is None else value.to(device=device), device, requires_grad)


def _with_arrays(x):
    """Nested lists with tensors in them, as nested lists of arrays."""
    if isinstance(x, (list, tuple)):
        return [_with_arrays(y) for y in x]
    return x.array if isinstance(x, Tensor) else x


def as_tensor(data, dtype=None, device=None) -> Tensor:
    """`data` itself if it is a Tensor of that dtype and device, else a Tensor of it. Memory of NumPy is never shared."""
    if isinstance(data, Tensor):
        return data if dtype is None and device is None else data.to(dtype=dtype, device=device)
    return tensor(data, dtype=dtype, device=device)


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A Tensor with a copy of a NumPy array (PyTorch shares the memory; here nothing does)."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    return tensor(ndarray)


def asarray(obj, *, dtype=None, device=None, copy: bool | None = None, requires_grad: bool = False) -> Tensor:
    """A Tensor of numbers, lists, NumPy, DLPack or buffers; a Tensor is itself unless something is to change. Memory is never shared.

    >>> import functorch_lite.torch as torch
    >>> torch.asarray([1, 2]).dtype
    fl.int64
    """
    if isinstance(obj, Tensor) and not copy:
        out = as_tensor(obj, dtype, device)
        return out.requires_grad_() if requires_grad else out
    if copy is False:
        raise ValueError("asarray: memory is never shared here, so copy=False cannot be had of what is no Tensor")
    if isinstance(obj, (bytes, bytearray, memoryview)):
        return frombuffer(obj, dtype=dtype or DEFAULTS["dtype"], requires_grad=requires_grad)
    return tensor(obj, dtype=dtype, device=device, requires_grad=requires_grad)


def frombuffer(buffer, *, dtype, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A Tensor with a copy of `count` numbers of this dtype (-1: all) that a buffer of bytes holds from `offset` bytes on.

    ValueError where the buffer is too short, or holds no whole number of them.

    >>> import functorch_lite.torch as torch
    >>> torch.frombuffer(bytearray([1, 0, 2, 0]), dtype=torch.int16)
    tensor([1, 2], dtype=torch.int16)
    """
    kind = as_dtype(dtype)
    size = memoryview(buffer).nbytes
    if not 0 <= offset < size:
        raise ValueError(f"frombuffer: offset must be non-negative and smaller than the buffer of {size} bytes, got {offset}")
    if count < 0 and (size - offset) % kind.itemsize or count > 0 and offset + count * kind.itemsize > size or count == 0:
        raise ValueError(f"frombuffer: a buffer of {size} bytes does not hold count={count} elements of {kind} from offset {offset} on")
    return tensor(np.frombuffer(buffer, kind.dtype, count, offset), requires_grad=requires_grad)


def from_dlpack(ext_tensor) -> Tensor:
    """A Tensor with a copy of the data of an object with ``__dlpack__``: a tensor of PyTorch, a NumPy array ..."""
    return Tensor.over(of_dlpack(ext_tensor))


def range(start=0, end=None, step=1, **named) -> Tensor:
    """The numbers from start to end, both included, in the default dtype: PyTorch's older `arange`.

    >>> import functorch_lite.torch as torch
    >>> torch.range(1, 3)
    tensor([1., 2., 3.])
    """
    if end is None:
        start, end = 0, start
    if step == 0 or (end - start) * step < 0:
        raise RuntimeError(f"range: upper bound and lower bound inconsistent with step sign, got start={start}, end={end}, step={step}")
    n = int((end - start) / step) + 1
    dtype = as_dtype(named.pop("dtype", None) or DEFAULTS["dtype"])
    return made(lambda device: create.ramp(start, step, n, dtype), named.pop("device", None), named.pop("requires_grad", False))


def empty_strided(size, stride, **named) -> Tensor:
    """A tensor of zeros with this shape and these strides, a view of storage that is large enough."""
    whole = sum((n - 1) * s for n, s in zip(size, stride)) + 1 if 0 not in size else 0
    return empty(whole, **named).as_strided(tuple(size), tuple(stride))


def empty_permuted(size, physical_layout, **named) -> Tensor:
    """A tensor of zeros with this shape, whose dimensions lie in memory in this order."""
    back = sorted(_count(len(size)), key=lambda d: physical_layout[d])
    return empty(tuple([size[d] for d in physical_layout]), **named).permute(back)


def scalar_tensor(s, *, dtype=None, device=None, requires_grad: bool = False) -> Tensor:
    """A 0-dim Tensor of the default dtype."""
    return tensor(s, dtype=dtype or DEFAULTS["dtype"], device=device, requires_grad=requires_grad)


# --------------------------------------------------------------------------------------------------------- of numbers


def constructor(function, *, floats: bool):
    """A constructor of the functional face as one of Tensors. ``floats``: it makes floats, of the default dtype."""
    name = function.__name__

    def f(*args, dtype=None, device=None, requires_grad: bool = False, layout=None, pin_memory: bool = False, out=None, **named):
        if layout is not None and layout is not strided:
            raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
        args = [a.array if isinstance(a, Tensor) else a for a in args]
        if out is not None:
            dtype = dtype_for(name, dtype, out)
        elif dtype is None and (floats or name in ("arange", "full") and any(isinstance(a, float) for a in (*args, *named.values()))):
            dtype = DEFAULTS["dtype"]
        return made(lambda device: function(*args, dtype=dtype, device=device, **named), device, requires_grad, out, name)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"A Tensor made by `fl.{name}`, of the default dtype where it makes floats."
    return f


def _constructor(name: str, *, floats: bool):
    return constructor(getattr(create, name), floats=floats)


zeros, ones, eye, linspace, logspace = (_constructor(n, floats=True) for n in ("zeros", "ones", "eye", "linspace", "logspace"))
empty = _constructor("empty", floats=True)
arange, full, tril_indices, triu_indices = (_constructor(n, floats=False) for n in ("arange", "full", "tril_indices", "triu_indices"))


def _like(name: str):
    function = getattr(create, name)

    def f(input, *args, dtype=None, device=None, requires_grad: bool = False, layout=None, memory_format=None, pin_memory=False, **named):
        source = without_history(input.read()) if isinstance(input, Face) else input
        on = device or (input.device if isinstance(input, Tensor) and input.device == "meta" else None)
        return made(lambda device: function(source, *args, dtype=dtype, device=device, **named), on, requires_grad)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"A Tensor of the shape and dtype of input, made by `fl.{name}`."
    return f


zeros_like, ones_like, full_like, empty_like = (_like(n) for n in ("zeros_like", "ones_like", "full_like", "empty_like"))

# ------------------------------------------------------------------------------------------------------- new_* methods


def _new(name: str, function) -> None:
    def method(self, *args, dtype=None, device=None, requires_grad: bool = False, **named):
        return function(*args, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad, **named)

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = f"`{name.removeprefix('new_')}` in the dtype of this tensor."
    setattr(Tensor, name, method)


_NEW = {"zeros": zeros, "ones": ones, "empty": empty, "full": full, "tensor": tensor, "empty_strided": empty_strided}
for _name, _function in _NEW.items():
    _new(f"new_{_name}", _function)

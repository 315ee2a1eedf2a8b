"""Constructors of Tensors: the functional face's, with PyTorch's default dtype and device, and `requires_grad`. Draws are in draws.py."""

from __future__ import annotations

import numpy as np

from ..core.array import Array, asarray, meta
from ..core.dtype import DType, as_dtype, float32
from ..core.face import Face
from ..refs import create
from ..transforms.shapes import eval_shape
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


def made(make, device, requires_grad: bool) -> Tensor:
    """What `make(device)` gives, as a Tensor; without data on the device 'meta'."""
    device = DEFAULTS["device"] if device is None else str(device)
    if device == "meta":
        out = Tensor.over(meta(eval_shape(lambda: make(None))))
    else:
        out = Tensor.over(make(device))
    return out.requires_grad_() if requires_grad else out


# ------------------------------------------------------------------------------------------------------------ of data


def tensor(data, *, dtype=None, device=None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A Tensor with a copy of `data`: numbers in nested lists (float32 or the default dtype, int64, bool), arrays, tensors.

    >>> import functorch_lite.torch as torch
    >>> torch.tensor([[1, 2], [3, 4]]).dtype
    fl.int64
    """
    source = data.array if isinstance(data, Tensor) else data
    value = asarray(_with_arrays(source), None if dtype is None else as_dtype(dtype))
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


def scalar_tensor(s, *, dtype=None, device=None, requires_grad: bool = False) -> Tensor:
    """A 0-dim Tensor of the default dtype."""
    return tensor(s, dtype=dtype or DEFAULTS["dtype"], device=device, requires_grad=requires_grad)


# --------------------------------------------------------------------------------------------------------- of numbers


def _constructor(name: str, *, floats: bool):
    function = getattr(create, name)

    def f(*args, dtype=None, device=None, requires_grad: bool = False, layout=None, pin_memory: bool = False, **named):
        args = [a.array if isinstance(a, Tensor) else a for a in args]
        if dtype is None and (floats or name in ("arange", "full") and any(isinstance(a, float) for a in (*args, *named.values()))):
            dtype = DEFAULTS["dtype"]
        return made(lambda device: function(*args, dtype=dtype, device=device, **named), device, requires_grad)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"A Tensor made by `fl.{name}`, of the default dtype where it makes floats."
    return f


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


for _name, _function in (("zeros", zeros), ("ones", ones), ("empty", empty), ("full", full), ("tensor", tensor)):
    _new(f"new_{_name}", _function)

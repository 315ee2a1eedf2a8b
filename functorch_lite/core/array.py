"""Array: an immutable array over a `jax.Array`, and the ways into and out of it.

The class is bare: its methods and operators are installed from the ops that declare them (`Op.method`). Everything that
touches a buffer goes through `put`, `wrap` and `Array.buffer`.
"""

from __future__ import annotations

import jax
import numpy as np

from .aval import Aval, aval
from .dtype import DEFAULT, NUMBERS, DType, as_dtype, category_of


class Array:
    """An immutable n-dimensional array. Make one with `fl.asarray`, `fl.zeros`, `fl.random.normal` ...

    >>> import functorch_lite as fl
    >>> x = fl.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> x.shape, x.dtype, (x @ x).sum().item()
    ((2, 2), fl.float32, 54.0)
    """

    __slots__ = ("aval", "_buffer", "__weakref__")
    __array_ufunc__ = None  # so that `numpy_array * x` asks x
    __array_priority__ = 1000

    @property
    def buffer(self) -> jax.Array:
        """The jax array that holds the data."""
        return self._buffer

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> DType:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    def concrete(self, what: str) -> Array:
        """Itself: an Array has data. (A traced value overrides this.)"""
        return self

    @property
    def device(self) -> str:
        """'cpu', 'cuda:0' ..."""
        return device_name(next(iter(self.buffer.devices())))


def device_name(device: jax.Device) -> str:
    platform = "cuda" if device.platform in ("gpu", "cuda") else device.platform
    return platform if platform == "cpu" and device.id == 0 else f"{platform}:{device.id}"


def wrap(buffer: jax.Array) -> Array:
    """An Array over a jax array."""
    out = Array.__new__(Array)
    out.aval = aval(buffer.shape, as_dtype(buffer.dtype))
    out._buffer = buffer
    return out


def wrap_as(known: Aval, buffer: jax.Array) -> Array:
    """An Array over a jax array whose aval is known."""
    out = Array.__new__(Array)
    out.aval, out._buffer = known, buffer
    return out


def put(data: np.ndarray, device: jax.Device | None = None) -> jax.Array:
    """A jax array with a copy of `data`, 64-bit types kept, whatever jax's global setting."""
    with jax.enable_x64(True):
        return jax.device_put(np.array(data), device)


def asarray(x, dtype=None, device=None) -> Array:
    """An Array of numbers, nested lists, NumPy, jax, DLPack or Array data; a copy unless `x` is already immutable.

    Python numbers take the default dtypes (bool, int64, float32, complex64); NumPy and jax keep theirs.

    >>> import functorch_lite as fl
    >>> fl.asarray([1, 2]).dtype, fl.asarray(1.5).dtype, fl.asarray(np.ones(2)).dtype
    (fl.int64, fl.float32, fl.float64)
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(x, Array):
        out = x
    elif isinstance(x, jax.Array):
        out = wrap(x)
    else:
        out = wrap(put(_to_numpy(x, wanted), None if device is None else as_device(device)))
    if wanted is not None and out.dtype is not wanted or device is not None:
        return out.to(dtype=wanted, device=device)
    return out


def _to_numpy(x, wanted: DType | None) -> np.ndarray:
    if x.__class__ in NUMBERS:
        return np.asarray(x, (wanted or DEFAULT[category_of(x)]).dtype)
    if isinstance(x, (np.ndarray, np.generic)):
        data = np.asarray(x)
    elif hasattr(x, "__array__"):
        data = np.asarray(x)
    elif hasattr(x, "__dlpack__"):
        data = np.from_dlpack(x)
    elif isinstance(x, (list, tuple, range)):
        return _nested_to_numpy(x, wanted)
    else:
        raise TypeError(f"asarray: expected a number, a nested list, or an array of NumPy, jax or DLPack, got {type(x).__name__}")
    as_dtype(data.dtype)  # a dtype that we do not have (strings, objects) says so here
    return data


def _nested_to_numpy(x, wanted: DType | None) -> np.ndarray:
    """Numbers in nested lists take our defaults; arrays among them are stacked as they are."""
    leaves, stack = [], list(x)
    while stack:
        leaf = stack.pop()
        if isinstance(leaf, (list, tuple, range)):
            stack.extend(leaf)
        else:
            leaves.append(leaf)
    try:
        data = np.asarray(x if all(leaf.__class__ in NUMBERS for leaf in leaves) else _with_arrays(x))
    except ValueError as error:
        raise ValueError(f"asarray: expected nested lists of one shape at each depth: {error}") from None
    if wanted is not None:
        return data.astype(wanted.dtype)
    if all(leaf.__class__ in NUMBERS for leaf in leaves):
        return data.astype(DEFAULT[max((category_of(leaf) for leaf in leaves), default=2)].dtype)
    as_dtype(data.dtype)
    return data


def _with_arrays(x):
    return [_with_arrays(y) for y in x] if isinstance(x, (list, tuple)) else np.asarray(x)


def as_device(device) -> jax.Device:
    """The jax device that 'cpu', 'cuda', 'cuda:1', or a jax.Device names."""
    if isinstance(device, jax.Device):
        return device
    kind, _, index = str(device).partition(":")
    platform = {"cuda": "gpu"}.get(kind, kind)
    try:
        devices = jax.devices(platform)
        return devices[int(index or 0)]
    except (RuntimeError, IndexError, ValueError):
        have = ", ".join(device_name(d) for d in jax.devices())
        raise RuntimeError(f"device {device!r} is not available here; there are: {have}") from None

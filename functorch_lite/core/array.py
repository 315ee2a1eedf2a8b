"""Array: an immutable array over a `jax.Array`, and the ways into and out of it.

What is here needs no op: an Array's description, its way to Python, NumPy, DLPack and jax, and how it is shown (`core/show.py`).
Every other method and operator is installed by the op that declares it (``method=`` of `composite`; `refs/operators.py`).
Everything that touches a buffer goes through `put`, `wrap` and `Array.buffer`.
"""

from __future__ import annotations

import functools

import jax
import numpy as np

from ..errors import DonatedBufferError
from . import pytree, show
from .aval import Aval, aval
from .dtype import BOOL, DEFAULT, INTEGER, NUMBERS, DType, as_dtype, category_of
from .holders import share
from .pending import Pending


class Operable:
    """What an Array and a Tensor have in common: a description that follows from the aval, and the methods and operators that ops install."""

    __slots__ = ()
    __array_ufunc__ = None  # so that `numpy_array * x` asks x
    __array_priority__ = 1000
    __hash__ = object.__hash__

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        return self.aval.shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.aval.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.aval.size * self.aval.dtype.itemsize

    def size(self, dim: int | None = None) -> tuple[int, ...] | int:
        """The shape, or the size of one dimension (a method, as in PyTorch; the number of elements is `numel()`)."""
        if dim is None:
            return self.aval.shape
        n = max(self.ndim, 1)
        if not -n <= dim < n or not self.ndim:
            raise IndexError(f"size: dimension out of range for {self.aval}, got {dim}")
        return self.aval.shape[dim]

    def dim(self) -> int:
        """The number of dimensions."""
        return len(self.aval.shape)

    def numel(self) -> int:
        """The number of elements."""
        return self.aval.size

    nelement = numel
    ndimension = dim

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.aval.dtype.itemsize

    def is_floating_point(self) -> bool:
        """Whether the dtype is a real float."""
        return self.aval.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the dtype is complex."""
        return self.aval.dtype.is_complex

    def is_signed(self) -> bool:
        """Whether the dtype holds negative numbers."""
        return self.aval.dtype.is_signed


class Array(Operable):
    """An immutable n-dimensional array. Make one with `fl.asarray`, `fl.zeros`, `fl.random.normal` ...

    It compares and hashes by identity in sets and dicts; ``==`` is elementwise. Nothing changes it in place:
    ``x.at[i].set(v)`` gives a changed copy.

    >>> import functorch_lite as fl
    >>> x = fl.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> x.shape, x.dtype, (x @ x).sum().item()
    ((2, 2), fl.float32, 54.0)
    """

    __slots__ = ("aval", "_buffer", "place", "__weakref__")  # `place`: among the results of the segment that is to compute it

    # ------------------------------------------------------------------------------------------------- description

    @property
    def buffer(self) -> jax.Array:
        """The jax array that holds the data (`META` where there is none)."""
        buffer = self._buffer
        if isinstance(buffer, Pending):
            buffer = buffer.force(self)
        if buffer.is_deleted():
            raise DonatedBufferError(
                f"a {self.aval} Array was used after its buffer had been given away by donate_argnums; use the result of that call, "
                "or do not donate this argument"
            )
        return buffer

    @property
    def device(self) -> str:
        """'cpu', 'cuda:0' ..."""
        buffer = self.concrete("the device")._buffer
        if buffer is META:
            return "meta"
        if isinstance(buffer, Pending):
            if buffer.device is None:
                return default_device_name()
            buffer = self.buffer
        return device_name(next(iter(buffer.devices())))

    def is_deleted(self) -> bool:
        """Whether the data has been given away by ``donate_argnums``."""
        return not isinstance(self._buffer, Pending) and self._buffer.is_deleted()

    def block_until_ready(self) -> Array:
        """Waits until the data is computed; returns the Array."""
        self.buffer.block_until_ready()
        return self

    # --------------------------------------------------------------------------------------------------- to Python

    def concrete(self, what: str) -> Array:
        """Itself: an Array has data. (A traced value overrides this.)"""
        return self

    def item(self) -> bool | int | float | complex:
        """The only element as a Python number."""
        if self.aval.size != 1:
            raise RuntimeError(
                f"item: an Array with {self.aval.size} elements cannot be converted to a number, got {self.aval}; index it first"
            )
        return np.asarray(self.concrete("the number").buffer).item()

    def tolist(self):
        """The elements as Python numbers in nested lists (a number, for a 0-dim Array)."""
        return np.asarray(self.concrete("the elements").buffer).tolist()

    def numpy(self) -> np.ndarray:
        """The data as a read-only NumPy array (bfloat16 in the dtype of `ml_dtypes`); `np.array(x)` makes a copy that can be written."""
        return self.__array__()

    def __array__(self, dtype=None, copy: bool | None = None) -> np.ndarray:
        data = np.asarray(self.concrete("the data").buffer)
        if dtype is not None and data.dtype != dtype:
            if copy is False:
                raise ValueError(f"asarray: a {self.aval} Array as {np.dtype(dtype)} needs a copy, and copy=False forbids it")
            return data.astype(dtype)
        return data.copy() if copy else data

    def __bool__(self) -> bool:
        if self.aval.size != 1:
            many = "more than one value" if self.aval.size else "no values"
            raise RuntimeError(f"Boolean value of Array with {many} is ambiguous, got {self.aval}; use .any() or .all()")
        return bool(np.asarray(self.concrete("the truth").buffer).item())

    def __int__(self) -> int:
        return int(self._number("int()"))

    def __float__(self) -> float:
        return float(self._number("float()"))

    def __complex__(self) -> complex:
        return complex(self._number("complex()"))

    def _number(self, what: str):
        if self.aval.size != 1:
            raise RuntimeError(
                f"{what}: an Array with {self.aval.size} elements cannot be converted to a number, got {self.aval}; index it first"
            )
        out = np.asarray(self.concrete(what).buffer).item()
        if what != "complex()" and out.__class__ is complex:
            if out.imag:
                raise RuntimeError(f"{what}: {out} has an imaginary part; take .real or abs() first")
            return out.real
        return out

    def __index__(self) -> int:
        if self.aval.size != 1 or self.aval.dtype.category not in (BOOL, INTEGER):
            raise TypeError(f"only an integer Array with one element can be used as an index, got {self.aval}")
        return int(np.asarray(self.concrete("the index").buffer).item())

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of a 0-d Array")
        return self.aval.shape[0]

    def __setitem__(self, index, value):
        raise TypeError("an Array is immutable: write x = x.at[index].set(value) instead of x[index] = value (also .add, .mul, .min, .max)")

    def __repr__(self) -> str:
        if self._buffer is META:
            return f"Array(meta, shape={self.shape}, dtype={self.dtype})"
        return show.array(self.aval, None if self.is_deleted() else np.asarray(self.buffer))

    def __format__(self, spec: str) -> str:
        if not self.aval.shape and self.__class__ is Array or spec and self.aval.size == 1:
            return format(self.item(), spec)
        if spec:
            raise TypeError(
                f"unsupported format string {spec!r} for a {self.aval} Array: only one with a single element has a number to format"
            )
        return repr(self)

    # ------------------------------------------------------------------------------------- to other libraries, copies

    def __jax_array__(self) -> jax.Array:
        return share(self.concrete("the data").buffer)

    def __dlpack__(self, **options):
        return self.concrete("the data").buffer.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.concrete("the data").buffer.__dlpack_device__()

    def __copy__(self) -> Array:
        return self

    def __deepcopy__(self, memo) -> Array:
        return self

    def __reduce__(self):
        return _unpickle, (np.asarray(self.concrete("pickling").buffer),)


def _unpickle(data: np.ndarray) -> Array:
    return wrap(put(data))


class _Meta:
    """The buffer of an Array that has a shape and dtype only."""

    def is_deleted(self) -> bool:
        return False

    def block_until_ready(self) -> None:
        """There is nothing to wait for."""

    def __array__(self, dtype=None, copy=None):
        raise NotImplementedError(
            "an Array on the device 'meta' has a shape and dtype but no data; make one with data, as by .to_empty(device='cpu')"
        )

    def devices(self):
        return {self}


META = _Meta()


def meta(known: Aval) -> Array:
    """An Array without data, on the device 'meta'."""
    return wrap_as(known, META)


def is_meta(x: Array) -> bool:
    """Whether an Array has no data."""
    return x.__class__ is Array and x._buffer is META


ARRAYS = (Operable, jax.Array, np.ndarray, np.generic)  # arrays of ours, of jax and of NumPy


def device_name(device: jax.Device) -> str:
    """What we call a jax device: 'cpu', 'cpu:1', 'cuda:0' ..."""
    platform = "cuda" if device.platform in ("gpu", "cuda") else device.platform
    return platform if platform == "cpu" and device.id == 0 else f"{platform}:{device.id}"


def default_device_name() -> str:
    """Where a program runs whose inputs are nowhere in particular."""
    return device_name(jax.config.jax_default_device or jax.local_devices()[0])


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
    return _placed(np.array(data), device or jax.config.jax_default_device or jax.local_devices()[0], True)


def constant(data: np.ndarray) -> jax.Array:
    """Like `put`, but uncommitted: an op runs where its other arguments are."""
    return _placed(np.array(data), None, False)


def _placed(data: np.ndarray, device: jax.Device | None, committed: bool) -> jax.Array:
    """A jax array over data that nobody else has, by a call of jax's that is half private and takes a tenth of the public one's time."""
    quick, where = _quick(), device or jax.config.jax_default_device or jax.local_devices()[0]
    if quick is None or not isinstance(where, jax.Device):
        with jax.enable_x64(True):
            return jax.device_put(data, device)
    return quick(_described(data.shape, data.dtype), _on(where), [data], [where], committed, enable_x64=True)


@functools.cache
def _quick():
    """That call, if this jax has it and it keeps 64 bits."""
    device, data = jax.local_devices()[0], np.arange(3) + 2**40
    try:
        from jax._src.lib import xla_client

        call = xla_client.batched_device_put
        found = call(_described(data.shape, data.dtype), _on(device), [data], [device], False, enable_x64=True)
        return call if np.asarray(found).tolist() == data.tolist() and not found.committed else None
    except (ImportError, AttributeError, TypeError, ValueError, RuntimeError):  # another version of jax
        return None


@functools.lru_cache(maxsize=4096)
def _described(shape: tuple[int, ...], dtype: np.dtype):
    with jax.enable_x64(True):
        return jax.core.ShapedArray(shape, dtype)


@functools.cache
def _on(device: jax.Device):
    return jax.sharding.SingleDeviceSharding(device)


# ------------------------------------------------------------------------------------------------------- ways into it


def asarray(x, dtype=None, device=None) -> Array:
    """An Array of numbers, nested lists, NumPy, jax, DLPack or Array data; a copy unless `x` is already immutable.

    Python numbers take the default dtypes (bool, int64, float32, complex64); NumPy and jax keep theirs.
    Raises TypeError for what is no data, ValueError for ragged lists.

    >>> import functorch_lite as fl
    >>> fl.asarray([1, 2]).dtype, fl.asarray(1.5).dtype, fl.asarray(np.ones(2)).dtype
    (fl.int64, fl.float32, fl.float64)
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if hasattr(x, "__array_value__"):  # a Tensor's
        x = x.__array_value__()
    if isinstance(x, Array):
        out = x.to(wanted or DEFAULT[x.dtype.category]) if x.aval.weak else x  # weak: a number that a program has as input
    elif isinstance(x, jax.Array):
        out = wrap(share(x))
    elif hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray):
        out = from_dlpack(x)
    else:
        out = wrap(put(_to_numpy(x, wanted), None if device is None else as_device(device)))
    if wanted is not None and out.dtype is not wanted or device is not None:
        return out.to(dtype=wanted, device=device)
    return out


def from_dlpack(x, *, device=None, copy: bool | None = None) -> Array:
    """An Array of the data of any object with ``__dlpack__`` (a torch tensor, a cupy array ...), 64-bit types kept.

    The data is copied, since its owner may write to it. ``copy=False`` shares it without a copy: then nobody may write to it again.

    >>> import functorch_lite as fl
    >>> fl.from_dlpack(np.arange(3)).tolist()
    [0, 1, 2]
    """
    if isinstance(x, Array):
        return x if device is None else x.to(device=device)
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"from_dlpack: expected an object with __dlpack__, got {type(x).__name__}; use asarray")
    with jax.enable_x64(True):
        buffer = jax.dlpack.from_dlpack(x)
        if copy is False or isinstance(x, jax.Array):
            share(buffer)
        else:  # its copy=True shares memory now and then (jax 0.10)
            buffer = jax.device_put(buffer, may_alias=False).block_until_ready()  # the owner may write as soon as this returns
    out = wrap(buffer)
    return out if device is None else out.to(device=device)


def _to_numpy(x, wanted: DType | None) -> np.ndarray:
    if x.__class__ in NUMBERS:
        return _numbers_as(x, wanted or DEFAULT[category_of(x)])
    if isinstance(x, (np.ndarray, np.generic)) or hasattr(x, "__array__"):
        data = np.asarray(x)
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
    numbers = all(leaf.__class__ in NUMBERS for leaf in leaves)
    try:
        data = np.asarray(x if numbers else _with_arrays(x))
    except ValueError as error:
        raise ValueError(f"asarray: expected nested lists of one shape at each depth: {error}") from None
    if wanted is None and numbers:
        wanted = DEFAULT[max((category_of(leaf) for leaf in leaves), default=2)]
    if numbers and wanted.category == INTEGER and data.dtype.kind in "iuO":
        return _numbers_as(x, wanted)
    if wanted is not None:
        return data.astype(wanted.dtype)
    as_dtype(data.dtype)
    return data


def _numbers_as(x, wanted: DType) -> np.ndarray:
    """Python numbers in this dtype; an integer that it does not hold raises, as in PyTorch, instead of wrapping around."""
    try:
        return np.asarray(x, wanted.dtype)
    except OverflowError as error:
        raise RuntimeError(f"asarray: {error}; it does not fit into {wanted}: choose a wider dtype, or a float") from None


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


def is_device(x) -> bool:
    """Whether x names a device: 'cpu', 'cuda:1', or a jax.Device."""
    return isinstance(x, jax.Device) or isinstance(x, str) and x.partition(":")[0] in ("cpu", "cuda", "gpu", "tpu")


def to_device(x: Array, device) -> Array:
    """x on a device; x itself if it is there. A traced value cannot move: a program runs on one device."""
    device = as_device(device)
    if x.__class__ is Array:
        if x.buffer.devices() == {device}:
            return x
        with jax.enable_x64(True):
            return wrap(jax.device_put(x.buffer, device))
    if jax.devices() == [device]:
        return x
    raise RuntimeError(
        f"to: the traced value {x.aval} cannot be moved to {device} inside a transform; move the inputs before it, or its result after it"
    )


def block_until_ready(tree):
    """Waits until every Array in a tree is computed; returns the tree. For timing.

    >>> import functorch_lite as fl
    >>> fl.block_until_ready({"x": fl.asarray(1.0)})["x"].item()
    1.0
    """
    for leaf in pytree.leaves(tree):
        if hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    return tree

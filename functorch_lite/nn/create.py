"""Constructors of Tensors: the functional face's, with PyTorch's default dtype and device, `requires_grad`, and a generator for draws."""

from __future__ import annotations

import numpy as np

from ..core.array import Array, asarray, meta
from ..core.dtype import DType, as_dtype, float32, int64
from ..core.face import Face
from ..core.out import into
from ..refs import create, random
from ..transforms.shapes import eval_shape
from .generator import Generator, default_generator
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


def _made(make, device, requires_grad: bool, out: Tensor | None = None, name: str = "") -> Tensor:
    """What `make(device)` gives, as a Tensor; without data on the device 'meta'. It is written into `out`, if there is one."""
    if out is not None:
        return into(name, lambda: Tensor.over(make(device or out.device)), out, (), {}, traits=("exact",))
    device = DEFAULTS["device"] if device is None else str(device)
    if device == "meta":
        out = Tensor.over(meta(eval_shape(lambda: make(None))))
    else:
        out = Tensor.over(make(device))
    return out.requires_grad_() if requires_grad else out


def _dtype(name: str, dtype, out: Tensor | None) -> DType:
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
    value = asarray(_with_arrays(source), None if dtype is None else as_dtype(dtype))
    if (
        dtype is None
        and value.dtype is float32
        and not isinstance(source, (Array, np.ndarray, np.generic))
        and not hasattr(source, "__dlpack__")
    ):
        value = value.to(DEFAULTS["dtype"])
    return _made(lambda device: value if device is None else value.to(device=device), device, requires_grad)


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

    def f(*args, dtype=None, device=None, requires_grad: bool = False, layout=None, pin_memory: bool = False, out=None, **named):
        args = [a.array if isinstance(a, Tensor) else a for a in args]
        if out is not None:
            dtype = _dtype(name, dtype, out)
        elif dtype is None and (floats or name in ("arange", "full") and any(isinstance(a, float) for a in (*args, *named.values()))):
            dtype = DEFAULTS["dtype"]
        return _made(lambda device: function(*args, dtype=dtype, device=device, **named), device, requires_grad, out, name)

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
        return _made(lambda device: function(source, *args, dtype=dtype, device=device, **named), on, requires_grad)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"A Tensor of the shape and dtype of input, made by `fl.{name}`."
    return f


zeros_like, ones_like, full_like, empty_like = (_like(n) for n in ("zeros_like", "ones_like", "full_like", "empty_like"))

# --------------------------------------------------------------------------------------------------------------- draws


def _size(size) -> tuple[int, ...]:
    size = size[0] if len(size) == 1 and not hasattr(size[0], "__index__") else size
    return tuple([n.__index__() for n in size])


def _drawn(draw, generator: Generator | None, device, requires_grad: bool, out: Tensor | None = None, name: str = "") -> Tensor:
    key = (generator or default_generator).next_key()
    return _made(lambda device: draw(key) if device is None else draw(key).to(device=device), device, requires_grad, out, name)


def rand(*size, generator=None, out=None, dtype=None, device=None, requires_grad: bool = False, layout=None, pin_memory=False) -> Tensor:
    """Uniform draws from [0, 1)."""
    shape, dtype = _size(size), _dtype("rand", dtype, out)
    return _drawn(lambda key: random.uniform(key, shape, dtype), generator, device, requires_grad, out, "rand")


def randn(*size, generator=None, out=None, dtype=None, device=None, requires_grad: bool = False, layout=None, pin_memory=False) -> Tensor:
    """Draws from the standard normal distribution."""
    shape, dtype = _size(size), _dtype("randn", dtype, out)
    return _drawn(lambda key: random.normal(key, shape, dtype), generator, device, requires_grad, out, "randn")


def randint(low, high=None, size=None, *, generator=None, out=None, dtype=None, device=None, requires_grad: bool = False) -> Tensor:
    """Integers from [low, high): `randint(high, size)` or `randint(low, high, size)`."""
    if size is None:
        low, high, size = 0, low, high
    shape, dtype = tuple(size), _dtype("randint", dtype or (int64 if out is None else None), out)
    if not low < high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return _drawn(lambda key: random.randint(key, shape, low, high).to(dtype), generator, device, requires_grad, out, "randint")


def randperm(n: int, *, generator=None, out=None, dtype=None, device=None, requires_grad: bool = False) -> Tensor:
    """The numbers below n, in random order."""
    dtype = _dtype("randperm", dtype or (int64 if out is None else None), out)
    return _drawn(lambda key: random.permutation(key, n).to(dtype), generator, device, requires_grad, out, "randperm")


def normal(mean=0.0, std=1.0, size=None, *, generator=None, out=None, dtype=None, device=None, requires_grad: bool = False) -> Tensor:
    """Draws from normal distributions with these means and standard deviations, which broadcast (or are numbers, with a size)."""
    if out is not None:
        return into("normal", normal, out, (mean, std, size), {"generator": generator, "dtype": dtype, "device": device})
    if size is not None:
        return randn(*size, generator=generator, dtype=dtype, device=device) * std + mean
    shape = np.broadcast_shapes(*(tuple(x.shape) for x in (mean, std) if isinstance(x, Tensor)))
    like = mean if isinstance(mean, Tensor) else std
    out = randn(*shape, generator=generator, dtype=like.dtype, device=device) * std + mean
    return out.requires_grad_() if requires_grad else out


def bernoulli(input: Tensor, p: float | None = None, *, generator=None, out=None) -> Tensor:
    """1 with the probability that stands in each element of input (or p), else 0."""
    chances = input.array if p is None else p
    return _drawn(lambda key: random.bernoulli(key, chances, input.aval.shape).to(input.dtype), generator, None, False, out, "bernoulli")


def _draw_like(name: str, draw):
    def f(input, *args, dtype=None, device=None, requires_grad: bool = False, generator=None, layout=None, memory_format=None):
        return draw(input, *args, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad, generator=generator)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"`{name.removesuffix('_like')}` in the shape and dtype of input."
    return f


rand_like = _draw_like("rand_like", lambda x, **named: rand(*x.shape, **named))
randn_like = _draw_like("randn_like", lambda x, **named: randn(*x.shape, **named))
randint_like = _draw_like(
    "randint_like", lambda x, *bounds, **named: randint(*(bounds if len(bounds) == 2 else (0, *bounds)), tuple(x.shape), **named)
)

# ------------------------------------------------------------------------------------------------------ in-place draws


def _draw_in_place(name: str, doc: str, draw) -> None:
    def method(self, *args, generator=None, **named):
        key = (generator or default_generator).next_key()
        return self._assign(draw(key, self, *args, **named))

    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", doc
    setattr(Tensor, name, method)


def _normal(key, x, mean: float = 0.0, std: float = 1.0):
    return random.normal(key, x.aval.shape, x.dtype) * std + mean


def _uniform(key, x, a: float = 0.0, b: float = 1.0, **named):
    low, high = named.get("from", a), named.get("to", b)
    return random.uniform(key, x.aval.shape, x.dtype, low, high)


def _bernoulli(key, x, p=0.5):
    return random.bernoulli(key, p.array if isinstance(p, Tensor) else p, x.aval.shape).to(x.dtype)


def _random(key, x, low: int = 0, high: int | None = None):
    if high is None:
        low, high = (0, low) if low else (0, 2 ** (24 if x.dtype.is_floating_point else 8 * x.dtype.itemsize - 1))
    return random.randint(key, x.aval.shape, low, high).to(x.dtype)


def _exponential(key, x, lambd: float = 1.0):
    return random.exponential(key, x.aval.shape, x.dtype) / lambd


_draw_in_place("normal_", "Fills it with draws from a normal distribution.", _normal)
_draw_in_place("uniform_", "Fills it with uniform draws from [a, b).", _uniform)
_draw_in_place("bernoulli_", "Fills it with 1 (with probability p) and 0.", _bernoulli)
_draw_in_place("random_", "Fills it with integers from [low, high).", _random)
_draw_in_place("exponential_", "Fills it with draws from an exponential distribution.", _exponential)


# ------------------------------------------------------------------------------------------------------- new_* methods


def _new(name: str, function) -> None:
    def method(self, *args, dtype=None, device=None, requires_grad: bool = False, **named):
        return function(*args, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad, **named)

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = f"`{name.removeprefix('new_')}` in the dtype of this tensor."
    setattr(Tensor, name, method)


for _name, _function in (("zeros", zeros), ("ones", ones), ("empty", empty), ("full", full), ("tensor", tensor)):
    _new(f"new_{_name}", _function)

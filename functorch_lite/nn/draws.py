"""Random Tensors: the draws of the functional face, by keys of a generator, as new tensors, of tensors, and in place."""

from __future__ import annotations

import numpy as np

from ..core.dtype import BOOL, FLOAT, INTEGER, as_dtype, int64
from ..core.face import Face
from ..core.out import into
from ..refs import random, samplers
from ..refs.arguments import require, shown
from .create import DEFAULTS, dtype_for, made
from .generator import Generator, default_generator
from .tensor import Tensor, without_history

DRAWS: dict = {}  # every draw of this face by its name: each has a test of its distribution


def _named(f, name: str, doc: str | None, place: str = "torch"):
    f.__name__ = f.__qualname__ = name
    f.__doc__ = doc
    DRAWS[f"{place}.{name}"] = f
    return f


def _key(generator: Generator | None):
    return (generator or default_generator).next_key()


def _value(x):
    """A parameter of a draw, through which no gradient passes: those of PyTorch's draws are 0."""
    return without_history(x.read()) if isinstance(x, Face) else x


def _size(name: str, args, size) -> tuple[int, ...]:
    """A shape given as ints, as one sequence of them, or by its name."""
    args = args if size is None else (size,)
    args = args[0] if len(args) == 1 and not hasattr(args[0], "__index__") else args
    out = tuple([n.__index__() for n in args])
    require(all(n >= 0 for n in out), name, f"sizes must not be negative, got {list(out)}")
    return out


# ---------------------------------------------------------------------------------------------------------- new tensors


def _new(draw):
    """A function that makes a new tensor of ``draw(key, dtype, *args)``; its docstring is the draw's."""

    def f(
        *args,
        generator=None,
        out=None,
        dtype=None,
        device=None,
        requires_grad: bool = False,
        layout=None,
        pin_memory=False,
        memory_format=None,
        **named,
    ) -> Tensor:
        dtype, args, named = dtype and as_dtype(dtype), [_value(a) for a in args], {k: _value(v) for k, v in named.items()}
        if out is not None:
            dtype = dtype_for(draw.__name__, dtype, out)
        key = _key(generator)
        return made(lambda device: _on(draw(key, dtype, *args, **named), device), device, requires_grad, out, draw.__name__)

    return _named(f, draw.__name__, draw.__doc__)


def _on(x, device):
    return x if device is None else x.to(device=device)


@_new
def rand(key, dtype, *sizes, size=None):
    """Uniform draws from [0, 1) of this size, in the default dtype unless one is given.

    >>> import functorch_lite.torch as torch
    >>> torch.rand(2, 3).shape
    torch.Size([2, 3])
    """
    return random.uniform(key, _size("rand", sizes, size), dtype or DEFAULTS["dtype"])


@_new
def randn(key, dtype, *sizes, size=None):
    """Draws from the standard normal distribution of this size, in the default dtype unless one is given; complex ones have variance 1.

    >>> import functorch_lite.torch as torch
    >>> torch.randn(2, 3).shape
    torch.Size([2, 3])
    """
    return random.normal(key, _size("randn", sizes, size), dtype or DEFAULTS["dtype"])


@_new
def randint(key, dtype, *bounds, low=None, high=None, size=None):
    """Integers from [low, high), int64 unless a dtype is given: `randint(high, size)` or `randint(low, high, size)`.

    >>> import functorch_lite.torch as torch
    >>> torch.randint(5, (2,)).dtype
    fl.int64
    """
    if size is None and bounds:
        *bounds, size = bounds
    given = [b for b in (low, *bounds, high) if b is not None]
    low, high = (0, *given) if len(given) == 1 else given
    return _integers("random_", key, _size("randint", (), size), low, high, dtype or int64)


def _integers(name: str, key, shape, low, high, dtype):
    ok = low < high
    require(ok, name, f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return random.randint(key, shape, int(low), int(high)).to(dtype)


@_new
def randperm(key, dtype, n: int):
    """The numbers below n in random order, int64 unless a dtype is given.

    >>> import functorch_lite.torch as torch
    >>> sorted(torch.randperm(3).tolist())
    [0, 1, 2]
    """
    require(n >= 0, "randperm", f"n must be non-negative, got {n}")
    return random.permutation(key, n).to(dtype or int64)


def _normal(key, dtype, mean, std, size):
    return _scaled_normal("normal", key, _size("normal", (), size), dtype or DEFAULTS["dtype"], mean, std)


_normal.__name__ = "normal"
_normal_of_numbers = _new(_normal)


def normal(mean=0.0, std=1.0, size=None, **named) -> Tensor:
    """Draws from normal distributions with these means and standard deviations, which broadcast (or are numbers, with a size).

    >>> import functorch_lite.torch as torch
    >>> torch.normal(torch.zeros(2, 1), torch.ones(3)).shape, torch.normal(0.0, 1.0, (2,)).shape
    (torch.Size([2, 3]), torch.Size([2]))
    """
    if size is not None:
        return _normal_of_numbers(mean, std, size, **named)
    shape = np.broadcast_shapes(*(tuple(x.shape) for x in (mean, std) if isinstance(x, Tensor)))
    like = mean if isinstance(mean, Tensor) else std
    return _normal_of_numbers(mean, std, shape, **{"dtype": like.dtype, **named})


def _scaled_normal(name: str, key, shape, dtype, mean, std):
    require(isinstance(std, Face) or getattr(std, "ndim", 0) or std >= 0, name, f"normal expects std >= 0.0, but found std {std}")
    return (random.normal(key, shape, dtype) * std + mean).to(dtype)


DRAWS["torch.normal"] = normal

# -------------------------------------------------------------------------------------------------------- like a tensor


def _like(name: str, function):
    def f(input, *args, dtype=None, **named):
        return function(*args, tuple(input.shape), dtype=dtype or input.dtype, **named)

    return _named(f, name, f"`{name.removesuffix('_like')}` in the shape of input, and in its dtype unless one is given.")


rand_like, randn_like, randint_like = _like("rand_like", rand), _like("randn_like", randn), _like("randint_like", randint)


def _of(draw, *, method: bool = True):
    """A function that draws as its first tensor says, ``draw(key, *arrays and numbers)``; its docstring is the draw's."""

    def f(*args, generator=None, out=None, **named) -> Tensor:
        x = args[0] if args else named["input"]
        if isinstance(x, Tensor) and x.device == "meta":
            raise NotImplementedError(f"{draw.__name__}: a tensor on the device 'meta' has no data to draw by; use one on 'cpu'")
        key = _key(generator)
        drawn = Tensor.over(draw(key, *map(_value, args), **{k: _value(v) for k, v in named.items()}))
        return drawn if out is None else into(draw.__name__, lambda: drawn, out, (), {}, traits=("exact",))

    if method:
        setattr(Tensor, draw.__name__, f)
    return _named(f, draw.__name__, draw.__doc__)


@_of
def bernoulli(key, input, p=None):
    """1 with the probability that stands in each element of input (or p), else 0, in the dtype of input.

    >>> import functorch_lite.torch as torch
    >>> torch.bernoulli(torch.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    return random.bernoulli(key, input if p is None else p, input.shape).to(input.dtype)


@_of
def multinomial(key, input, num_samples: int, replacement: bool = False):
    """Indices of num_samples draws for each row of weights; see `fl.random.multinomial`.

    >>> import functorch_lite.torch as torch
    >>> torch.multinomial(torch.tensor([0.0, 2.0]), 3, replacement=True)
    tensor([1, 1, 1])
    """
    require(1 <= input.ndim <= 2, "multinomial", f"prob_dist must be 1 or 2 dim, got {shown(input)}")
    return samplers.multinomial(key, input, num_samples, replacement)


def _of_parameters(name: str, function, least: int):
    def draw(key, *params):
        if len(params) != least:
            raise TypeError(f"{name}: expected {least} tensor(s), got {len(params)} arguments")
        return function(key, *params)

    draw.__name__ = name
    draw.__doc__ = f"A draw for each element: `fl.random.{function.__name__}` with a key of the generator."
    return _of(draw, method=False)


poisson = _of_parameters("poisson", samplers.poisson, 1)
binomial = _of_parameters("binomial", samplers.binomial, 2)
_standard_gamma = _of_parameters("_standard_gamma", samplers.gamma, 1)
_sample_dirichlet = _of_parameters("_sample_dirichlet", samplers.dirichlet, 1)

# ------------------------------------------------------------------------------------------------------------- in place


def _in_place(draw) -> None:
    """The method that fills a tensor with ``draw(key, name, shape, dtype, ...)``, in the dtype that the draw gives or its own."""
    name = draw.__name__.removeprefix("_fill_")

    def method(self, *args, generator=None, **named):
        key, args, named = _key(generator), [_value(a) for a in args], {k: _value(v) for k, v in named.items()}
        out = draw(key, name, self.aval.shape, self.dtype, *args, **named)
        return self if self.device == "meta" else self._assign(out.to(self.dtype))

    setattr(Tensor, name, _named(method, name, draw.__doc__, "Tensor"))


def _require_float(name: str, dtype, *more: int) -> None:
    require(dtype.category in (FLOAT, *more), name, f"expected a tensor of float dtype, got {dtype}")


@_in_place
def _fill_normal_(key, name, shape, dtype, mean=0.0, std=1.0):
    """Fills it with draws of the normal distribution with this mean and standard deviation.

    RuntimeError for a std below 0 or an integer dtype.
    """
    require(dtype.is_inexact, name, f"expected a tensor of float or complex dtype, got {dtype}")
    return _scaled_normal(name, key, shape, dtype, mean, std)


@_in_place
def _fill_uniform_(key, name, shape, dtype, a=0.0, b=1.0, **named):
    """Fills it with uniform draws from [from, to), by default [0, 1). RuntimeError for from > to."""
    low, high = named.get("from", a), named.get("to", b)
    _require_float(name, dtype)
    require(low <= high, name, f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    return random.uniform(key, shape, dtype, low, high)


@_in_place
def _fill_bernoulli_(key, name, shape, dtype, p=0.5):
    """Fills it with 1, with probability p (a number, or a tensor that broadcasts to it), and 0. RuntimeError for p outside [0, 1]."""
    return random.bernoulli(key, p, shape)


@_in_place
def _fill_random_(key, name, shape, dtype, low=0, high=None, **named):
    """Fills it with integers: from [0, the largest that its dtype holds exactly], [0, to), or [from, to)."""
    low, high = named.get("from", low), named.get("to", high)
    if high is None:
        low, high = (0, low) if low else (0, _exact(dtype))
    return _integers(name, key, shape, low, high, dtype)


def _exact(dtype) -> int:
    """One more than the integers that a dtype holds all of: for floats 2 to the number of their digits."""
    if dtype.category == BOOL:
        return 2
    if dtype.category == INTEGER:
        return 2 ** (8 * dtype.itemsize - dtype.is_signed) if dtype.itemsize < 8 else 2**63 - 1
    return {2: 2**8, 4: 2**24, 8: 2**53}[dtype.to_real().itemsize] if dtype.name != "float16" else 2**11


@_in_place
def _fill_exponential_(key, name, shape, dtype, lambd=1.0):
    """Fills it with draws of the exponential distribution with this rate. RuntimeError unless lambd > 0."""
    _require_float(name, dtype)
    require(lambd > 0, name, f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return random.exponential(key, shape, dtype) / lambd


@_in_place
def _fill_cauchy_(key, name, shape, dtype, median=0.0, sigma=1.0):
    """Fills it with draws of the Cauchy distribution. RuntimeError unless sigma > 0."""
    _require_float(name, dtype)
    require(sigma > 0, name, f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    return samplers.cauchy(key, shape, dtype, median, sigma)


@_in_place
def _fill_log_normal_(key, name, shape, dtype, mean=1.0, std=2.0):
    """Fills it with draws whose logarithms are normally distributed with this mean and standard deviation. RuntimeError unless std > 0."""
    _require_float(name, dtype)
    require(std > 0, name, f"log_normal_ expects std > 0.0, but found std={std}")
    return samplers.log_normal(key, shape, dtype, mean, std)


@_in_place
def _fill_geometric_(key, name, shape, dtype, p):
    """Fills it with the numbers of trials until one succeeds with probability p. RuntimeError unless 0 < p < 1."""
    require(0 < p < 1, name, f"geometric_ expects p to be in (0, 1), but got p={p}")
    return samplers.geometric(key, p, shape, dtype if dtype.category in (INTEGER, FLOAT) else int64)

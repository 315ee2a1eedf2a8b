"""Initialisation: functions that fill a tensor in place with the values with which training begins well. PyTorch's torch.nn.init."""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from collections.abc import Callable

import numpy as np

from .. import random
from ..core.array import Array
from ..refs.compare import where
from ..refs.create import eye, full
from ..refs.linalg import qr
from ..refs.order import argsort
from .generator import Generator, default_generator
from .grad_mode import no_grad
from .tensor import Tensor


def _filling(values: Callable) -> Callable:
    """values(tensor, ...) says with what; it is drawn and written without gradients, and a meta tensor stays as it is."""

    @functools.wraps(values)
    def fill(tensor: Tensor, *args, **kwargs) -> Tensor:
        if str(tensor.device) == "meta":
            inspect.signature(values).bind(tensor, *args, **kwargs)
            return tensor
        with no_grad():
            new = values(tensor, *args, **kwargs)
            return tensor if new is None else tensor.copy_(new)

    return fill


def _key(generator: Generator | None) -> Array:
    return (default_generator if generator is None else generator).next_key()


def _uniform(tensor: Tensor, low: float, high: float, generator: Generator | None) -> Array:
    return random.uniform(_key(generator), tuple(tensor.shape), tensor.dtype, low, high)


def _normal(tensor: Tensor, mean: float, std: float, generator: Generator | None) -> Array:
    return random.normal(_key(generator), tuple(tensor.shape), tensor.dtype) * std + mean


# ------------------------------------------------------------------------------------------------------------ constants


@_filling
def constant_(tensor: Tensor, val: float) -> Tensor:
    """One value everywhere.

    >>> import functorch_lite as fl
    >>> fl.nn.init.constant_(fl.nn.Parameter(fl.zeros(2)), 0.5).tolist()
    [0.5, 0.5]
    """
    return full(tuple(tensor.shape), val, dtype=tensor.dtype)


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return constant_(tensor, 0.0)


@_filling
def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix: a Linear layer that gives back its input. ValueError unless there are 2 dimensions."""
    if tensor.ndim != 2:
        raise ValueError(f"eye_: only tensors with 2 dimensions are supported, got shape {tuple(tensor.shape)}")
    return eye(*tensor.shape, dtype=tensor.dtype)


@_filling
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Kernels [O, C, *kernel] of a convolution that gives back its input, in each group, as far as there are channels."""
    shape = tuple(tensor.shape)
    if len(shape) not in (3, 4, 5):
        raise ValueError(f"dirac_: only tensors with 3, 4, or 5 dimensions are supported, got shape {shape}")
    if shape[0] % groups:
        raise ValueError(f"dirac_: dimension 0 must be divisible by groups={groups}, got shape {shape}")
    kernels = np.zeros(shape, tensor.dtype.dtype)
    outputs = shape[0] // groups
    middle = tuple(n // 2 for n in shape[2:])
    for group in range(groups):
        for channel in range(min(outputs, shape[1])):
            kernels[(group * outputs + channel, channel, *middle)] = 1
    return kernels


# --------------------------------------------------------------------------------------------------------------- draws


@_filling
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform draws from [a, b)."""
    return _uniform(tensor, a, b, generator)


@_filling
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal draws.

    >>> import functorch_lite as fl
    >>> w = fl.nn.Parameter(fl.zeros(1000))
    >>> bool(abs(fl.nn.init.normal_(w, std=0.02)).max() < 0.2)
    True
    """
    return _normal(tensor, mean, std, generator)


@_filling
def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Generator | None = None
) -> Tensor:
    """Normal draws given that they lie in [a, b], bounds that are values and not numbers of standard deviations."""
    if not a - 2 * std <= mean <= b + 2 * std:
        warnings.warn(f"trunc_normal_: {mean=} is more than 2 std from [{a}, {b}], where little of the distribution lies", stacklevel=3)
    low, high = (a - mean) / std, (b - mean) / std
    draws = random.truncated_normal(_key(generator), low, high, tuple(tensor.shape), tensor.dtype)
    return (draws * std + mean).clamp(a, b)


@_filling
def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """A random orthogonal matrix times gain (Saxe, McClelland, Ganguli, 2013); dimensions after the first count as one.

    Its rows are orthonormal if there are fewer of them than columns, else its columns. The signs of the factorisation are
    made unique, which makes the distribution uniform (Mezzadri, 2007).

    >>> import functorch_lite as fl
    >>> w = fl.nn.init.orthogonal_(fl.nn.Parameter(fl.zeros(2, 5)))
    >>> bool((w @ w.T - fl.eye(2)).abs().max() < 1e-5)
    True
    """
    if tensor.ndim < 2:
        raise ValueError(f"orthogonal_: only tensors with 2 or more dimensions are supported, got shape {tuple(tensor.shape)}")
    if not tensor.numel():
        return None
    rows = tensor.shape[0]
    draws = _normal(tensor, 0.0, 1.0, generator).reshape(rows, -1)
    wide = rows < draws.shape[1]
    q, r = qr(draws.T if wide else draws)
    q = q * r.diagonal().sign()
    return (q.T if wide else q).reshape(tuple(tensor.shape)) * gain


@_filling
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Normal draws with a share `sparsity` of each column zero, which ones being random (Martens, 2010)."""
    if tensor.ndim != 2:
        raise ValueError(f"sparse_: only tensors with 2 dimensions are supported, got shape {tuple(tensor.shape)}")
    zeros = math.ceil(sparsity * tensor.shape[0])
    order = argsort(random.uniform(_key(generator), tuple(tensor.shape)), dim=0)  # a random permutation of the rows in each column
    return where(order < zeros, 0.0, _normal(tensor, 0.0, std, generator))


# -------------------------------------------------------------------------------------------------- scaled by the layer

_GAINS = dict.fromkeys([*[f"conv{t}{n}d" for t in ("", "_transpose") for n in (1, 2, 3)], "linear", "sigmoid"], 1)
_GAINS |= {"tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By what factor weights grow so that a layer with this nonlinearity keeps the variance of its input.

    ``param`` is the negative slope of leaky_relu, by default 0.01.

    >>> from functorch_lite.nn.init import calculate_gain
    >>> calculate_gain("leaky_relu", 1)
    1.0
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if slope.__class__ not in (int, float):
            raise ValueError(f"calculate_gain: the negative slope must be a number, got {param!r}")
        return math.sqrt(2 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}; there are {', '.join(_GAINS)} and leaky_relu")
    return _GAINS[nonlinearity]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """(inputs that one output depends on, outputs that one input goes into) of a weight [O, I, *kernel]."""
    if tensor.ndim < 2:
        raise ValueError(f"Fan in and fan out can not be computed for tensor with fewer than 2 dimensions, got shape {tuple(tensor.shape)}")
    outputs, inputs, *kernel = tensor.shape
    return inputs * math.prod(kernel), outputs * math.prod(kernel)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode.lower() == "fan_out"]


def _spread(draw: Callable, tensor: Tensor, std: float, generator: Generator | None) -> Array:
    """Draws of mean 0 and this standard deviation."""
    if draw is _uniform:
        bound = math.sqrt(3) * std
        return _uniform(tensor, -bound, bound, generator)
    return _normal(tensor, 0.0, std, generator)


def _xavier(name: str, draw: Callable, what: str) -> Callable:
    def fill(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
        return _spread(draw, tensor, gain * math.sqrt(2 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)

    fill.__name__ = fill.__qualname__ = name
    fill.__doc__ = f"""{what} draws of standard deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot, Bengio, 2010)."""
    return _filling(fill)


def _kaiming(name: str, draw: Callable, what: str) -> Callable:
    def fill(
        tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Generator | None = None
    ) -> Tensor:
        if 0 in tensor.shape:
            warnings.warn(f"{name}: the tensor has no elements, nothing to initialise: shape {tuple(tensor.shape)}", stacklevel=3)
            return None
        return _spread(draw, tensor, calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode)), generator)

    fill.__name__ = fill.__qualname__ = name
    fill.__doc__ = f"""{what} draws of standard deviation gain / sqrt(fan) (He, Zhang, Ren, Sun, 2015).

    The gain is that of the nonlinearity behind the layer, of which `a` is the negative slope; mode 'fan_in' keeps the variance
    of the forward pass, 'fan_out' that of the backward pass.
    """
    return _filling(fill)


xavier_uniform_ = _xavier("xavier_uniform_", _uniform, "Uniform")
xavier_normal_ = _xavier("xavier_normal_", _normal, "Normal")
kaiming_uniform_ = _kaiming("kaiming_uniform_", _uniform, "Uniform")
kaiming_normal_ = _kaiming("kaiming_normal_", _normal, "Normal")

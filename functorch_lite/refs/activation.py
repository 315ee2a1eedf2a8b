"""Activation functions: `fl.nn.functional`'s elementwise ones. Where a derivative jumps, it is PyTorch's."""

from __future__ import annotations

import math
from numbers import Number

import numpy as np

from ..core.dtype import BOOL
from ..core.op import Tensor, composite
from ..prims import algebra, compare, elementwise, shape, special, trig
from .arguments import require, require_floating, require_inexact
from .promotion import array_of, canonical_dim, expand_to, float_of, to_dtype

F = "fl.nn.functional"
IN_PLACE = {"inplace": True}  # as in PyTorch: `relu(x, inplace=True)` writes into a Tensor x


def _zero(x):
    return algebra.zeros(x.aval)


def _positive(x):
    return compare.gt(x, _zero(x))


def _below(x, positive):
    """x where it is not positive, else 0: the safe argument of an exponential."""
    return compare.select(positive, _zero(x), x)


def _float(name, input):
    x = array_of(input)
    require_floating(name, x)
    return x


def _number(name, input):
    x = array_of(input)
    require(x.dtype.category != BOOL, name, f"bool Arrays are not supported, got {x.aval}; convert with .to(dtype)")
    return x


# ----------------------------------------------------------------------------------------------------- rectified ones


@composite(method=True, reference=lambda x: np.maximum(x, 0), traits=IN_PLACE)
def relu(input: Tensor) -> Tensor:
    """max(input, 0), of integer or float dtype; its derivative at 0 is 0.

    >>> import functorch_lite as fl
    >>> fl.relu(fl.asarray([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    x = _number("relu", input)
    return compare.select(compare.le(x, _zero(x)), _zero(x), x)  # NaN stays


@composite(namespace=F, reference=lambda x, low=-1.0, high=1.0: np.clip(x, low, high), traits=IN_PLACE)
def hardtanh(input: Tensor, min_val: Number = -1.0, max_val: Number = 1.0) -> Tensor:
    """Input moved into [min_val, max_val]; its derivative at the bounds is 0.

    >>> import functorch_lite as fl
    >>> fl.nn.functional.hardtanh(fl.asarray([-3.0, 0.5])).tolist()
    [-1.0, 0.5]
    """
    x = _number("hardtanh", input)
    require(min_val <= max_val, "hardtanh", f"min_val cannot be greater than max_val, got {min_val} and {max_val}", ValueError)
    low, high = algebra.full_like(x, min_val), algebra.full_like(x, max_val)
    return compare.select(compare.le(x, low), low, compare.select(compare.ge(x, high), high, x))


@composite(namespace=F, reference=lambda x: np.clip(x, 0, 6), traits=IN_PLACE)
def relu6(input: Tensor) -> Tensor:
    """Input moved into [0, 6]; its derivative at the bounds is 0."""
    return hardtanh(input, 0, 6)


@composite(namespace=F, reference=lambda x, slope=0.01: np.where(x > 0, x, slope * x), traits=IN_PLACE)
def leaky_relu(input: Tensor, negative_slope: Number = 0.01) -> Tensor:
    """Input where positive, else negative_slope * input; its derivative at 0 is the slope.

    >>> import functorch_lite as fl
    >>> fl.nn.functional.leaky_relu(fl.asarray([-2.0, 3.0]), 0.5).tolist()
    [-1.0, 3.0]
    """
    x = _float("leaky_relu", input)
    return compare.select(_positive(x), x, elementwise.scaled(x, negative_slope))


@composite(method=True, reference=lambda x, w: np.where(x > 0, x, w.reshape([-1] + [1] * (x.ndim - 2) if x.ndim > 1 else -1) * x))
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Input where positive, else weight * input: `weight` has one element, or one for each channel (dimension 1 of input).

    >>> import functorch_lite as fl
    >>> fl.nn.functional.prelu(fl.asarray([[-2.0, -2.0]]), fl.asarray([0.5, 1.0])).tolist()
    [[-1.0, -2.0]]
    """
    x, w = _float("prelu", input), array_of(weight)
    channels = x.shape[1] if x.ndim > 1 else 1
    require(
        w.ndim <= 1 and w.aval.size in (1, channels), "prelu", f"weight must have 1 or {channels} elements for input {x.aval}, got {w.aval}"
    )
    size = (w.aval.size, *(1,) * (x.ndim - 2)) if x.ndim > 1 else () if x.ndim == 0 else (1,)
    w = expand_to(shape.reshape(to_dtype(w, x.dtype), size), x.shape)
    return compare.select(_positive(x), x, elementwise.mul(w, x))


@composite(namespace=F, reference=lambda x, threshold, value: np.where(x > threshold, x, value).astype(x.dtype), traits=IN_PLACE)
def threshold(input: Tensor, threshold: Number, value: Number) -> Tensor:
    """Input where it is greater than the threshold, else value."""
    x = array_of(input)
    return compare.select(compare.le(x, algebra.full_like(x, threshold)), algebra.full_like(x, value), x)


@composite(namespace=F, reference=lambda x, lambd=0.5: np.where(np.abs(x) > lambd, x, 0))
def hardshrink(input: Tensor, lambd: Number = 0.5) -> Tensor:
    """Input, and 0 where it is within [-lambd, lambd]."""
    x = _float("hardshrink", input)
    return compare.select(compare.le(elementwise.abs(x), algebra.full_like(x, lambd)), _zero(x), x)


@composite(namespace=F, reference=lambda x, lambd=0.5: np.sign(x) * np.maximum(np.abs(x) - lambd, 0))
def softshrink(input: Tensor, lambd: Number = 0.5) -> Tensor:
    """Input moved by lambd toward 0, where what is within [-lambd, lambd] ends. lambd must not be negative."""
    require(lambd >= 0, "softshrink", f"lambd must not be negative, got {lambd}")
    x = _float("softshrink", input)
    by = algebra.full_like(x, lambd)
    down, up = elementwise.sub(x, by), elementwise.add(x, by)
    inside = compare.le(elementwise.abs(x), by)
    return compare.select(inside, elementwise.mul(x, _zero(x)), compare.select(_positive(x), down, up))


@composite(namespace=F, reference=lambda x: np.clip(x + 3, 0, 6) / 6, traits=IN_PLACE)
def hardsigmoid(input: Tensor) -> Tensor:
    """relu6(input + 3) / 6: a sigmoid of straight lines."""
    x = _float("hardsigmoid", input)
    return elementwise.div(relu6(elementwise.add(x, algebra.full_like(x, 3))), algebra.full_like(x, 6))


@composite(namespace=F, reference=lambda x: x * np.clip(x + 3, 0, 6) / 6, traits=IN_PLACE)
def hardswish(input: Tensor) -> Tensor:
    """input * relu6(input + 3) / 6: a `silu` of parts of a parabola."""
    x = _float("hardswish", input)
    three = algebra.full_like(x, 3)
    middle = elementwise.mul(x, elementwise.div(elementwise.add(x, three), algebra.full_like(x, 6)))
    above = compare.select(compare.ge(x, three), x, middle)
    return compare.select(compare.le(x, elementwise.neg(three)), _zero(x), above)


# ------------------------------------------------------------------------------------------------ exponential ones


def _elu(x, positive_factor, negative_factor, rate):
    """positive_factor * x where positive, else negative_factor * (exp(rate * x) - 1)."""
    positive = _positive(x)
    bend = elementwise.expm1(elementwise.scaled(_below(x, positive), rate))
    line = x if positive_factor == 1 else elementwise.scaled(x, positive_factor)
    return compare.select(positive, line, elementwise.scaled(bend, negative_factor))


@composite(namespace=F, reference=lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))), traits=IN_PLACE)
def elu(input: Tensor, alpha: Number = 1.0) -> Tensor:
    """Input where positive, else alpha * (exp(input) - 1) (Clevert et al., 2015).

    >>> import functorch_lite as fl
    >>> fl.nn.functional.elu(fl.asarray([2.0, 0.0])).tolist()
    [2.0, 0.0]
    """
    return _elu(_float("elu", input), 1, alpha, 1)


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@composite(method=True, reference=lambda x: _SELU_SCALE * np.where(x > 0, x, _SELU_ALPHA * np.expm1(np.minimum(x, 0))), traits=IN_PLACE)
def selu(input: Tensor) -> Tensor:
    """`elu` with the scale and alpha under which activations keep mean 0 and variance 1 (Klambauer et al., 2017)."""
    return _elu(_float("selu", input), _SELU_SCALE, _SELU_SCALE * _SELU_ALPHA, 1)


@composite(method=True, reference=lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha)), traits=IN_PLACE)
def celu(input: Tensor, alpha: Number = 1.0) -> Tensor:
    """Input where positive, else alpha * (exp(input / alpha) - 1) (Barron, 2017). alpha must not be 0."""
    require(alpha != 0, "celu", "alpha must not be 0")
    return _elu(_float("celu", input), 1, alpha, 1 / alpha)


@composite(namespace=F, reference=lambda x, beta=1.0, threshold=20.0: np.logaddexp(0, beta * x) / beta)
def softplus(input: Tensor, beta: Number = 1.0, threshold: Number = 20.0) -> Tensor:
    """log(1 + exp(beta * input)) / beta, and input where beta * input is greater than threshold.

    >>> import functorch_lite as fl
    >>> fl.nn.functional.softplus(fl.asarray([100.0])).tolist()
    [100.0]
    """
    x = _float("softplus", input)
    scaled = x if beta == 1 else elementwise.scaled(x, beta)
    straight = compare.gt(scaled, algebra.full_like(x, threshold))
    bend = elementwise.log1p(elementwise.exp(compare.select(straight, _zero(x), scaled)))
    return compare.select(straight, x, bend if beta == 1 else elementwise.scaled(bend, 1 / beta))


@composite(namespace=F, reference=lambda x: -np.logaddexp(0, -x))
def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(input)), accurate for large input of either sign.

    >>> import functorch_lite as fl
    >>> fl.nn.functional.logsigmoid(fl.asarray([-1000.0])).tolist()
    [-1000.0]
    """
    x = _float("logsigmoid", input)
    negative = compare.lt(x, _zero(x))  # both forms are the same smooth function: no derivative jumps between them
    tail = elementwise.log1p(elementwise.exp(compare.select(negative, x, elementwise.neg(x))))
    return elementwise.sub(compare.select(negative, x, _zero(x)), tail)


@composite(namespace=F, reference=lambda x: x / (1 + np.exp(-x)), traits=IN_PLACE)
def silu(input: Tensor) -> Tensor:
    """input * sigmoid(input), of float or complex dtype (Elfwing et al., 2017).

    >>> import functorch_lite as fl
    >>> fl.nn.functional.silu(fl.asarray([0.0])).tolist()
    [0.0]
    """
    x = array_of(input)
    require_inexact("silu", x)
    return elementwise.mul(x, elementwise.sigmoid(x))


swish = silu


@composite(namespace=F, reference=lambda x: x * np.tanh(np.logaddexp(0, x)), traits=IN_PLACE)
def mish(input: Tensor) -> Tensor:
    """input * tanh(softplus(input)) (Misra, 2019)."""
    x = _float("mish", input)
    return elementwise.mul(x, trig.tanh(softplus(x)))


# ------------------------------------------------------------------------------------------------------------- gelu

_ROOT_HALF, _BELL = math.sqrt(0.5), 1 / math.sqrt(2 * math.pi)
_TANH_SCALE, _TANH_CUBIC = math.sqrt(2 / math.pi), 0.044715


def _gelu_reference(x, approximate="none"):
    from scipy.special import ndtr

    return x * ndtr(x) if approximate == "none" else x / 2 * (1 + np.tanh(_TANH_SCALE * (x + _TANH_CUBIC * x**3)))


def _gate(x, approximate):
    """(the factor of x in gelu, what its derivative needs)."""
    one = algebra.one_like(x)
    if approximate == "none":
        bend = special.erf(elementwise.scaled(x, _ROOT_HALF))
    else:
        x2 = elementwise.mul(x, x)
        bend = trig.tanh(elementwise.scaled(elementwise.mul(x, elementwise.add(one, elementwise.scaled(x2, _TANH_CUBIC))), _TANH_SCALE))
    return elementwise.scaled(elementwise.add(one, bend), 0.5), bend


@composite(namespace=F, reference=_gelu_reference)
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """input times the normal distribution function of input (Hendrycks and Gimpel, 2016); ``approximate='tanh'`` by a tanh of a cubic.

    >>> import functorch_lite as fl
    >>> fl.nn.functional.gelu(fl.asarray([0.0])).tolist()
    [0.0]
    """
    x = _float("gelu", input)
    require(approximate in ("none", "tanh"), "gelu", f"approximate must be 'none' or 'tanh', got {approximate!r}")
    return elementwise.mul(x, _gate(x, approximate)[0])


@gelu.defvjp
def _gelu_vjp(wanted, ct, ans, x, approximate):
    """Only x is kept: the gate is cheap to compute again. d gelu = gate + x * gate'."""
    gate, bend = _gate(x, approximate)
    x2 = elementwise.mul(x, x)
    if approximate == "none":
        slope = elementwise.scaled(elementwise.exp(elementwise.scaled(x2, -0.5)), _BELL)
    else:
        one = algebra.one_like(x)
        inner = elementwise.scaled(elementwise.add(one, elementwise.scaled(x2, 3 * _TANH_CUBIC)), _TANH_SCALE / 2)
        slope = elementwise.mul(elementwise.sub(one, elementwise.mul(bend, bend)), inner)
    return (elementwise.mul(ct, elementwise.add(gate, elementwise.mul(x, slope))),)


# ----------------------------------------------------------------------------------------------------------- others


@composite(namespace=F, reference=lambda x: x - np.tanh(x))
def tanhshrink(input: Tensor) -> Tensor:
    """input - tanh(input), of float or complex dtype; integers become float32."""
    x = float_of(input)
    return elementwise.sub(x, trig.tanh(x))


@composite(namespace=F, reference=lambda x: x / (1 + np.abs(x)))
def softsign(input: Tensor) -> Tensor:
    """input / (1 + |input|), of float or complex dtype; integers become float32."""
    x = float_of(input)
    size = to_dtype(elementwise.abs(x), x.dtype)
    return elementwise.div(x, elementwise.add(algebra.one_like(x), size))


def _glu_reference(x, dim=-1):
    a, b = np.split(x, 2, dim)
    return a / (1 + np.exp(-b))


@composite(namespace=F, reference=_glu_reference)
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of input along dim, times the sigmoid of the second (Dauphin et al., 2016). The size must be even.

    >>> import functorch_lite as fl
    >>> fl.nn.functional.glu(fl.asarray([4.0, 0.0])).tolist()
    [2.0]
    """
    x = _float("glu", input)
    require(x.ndim > 0, "glu", "expected an array with dimensions, got a 0-dim one")
    d = canonical_dim("glu", dim, x.ndim)
    n = x.shape[d]
    require(n % 2 == 0, "glu", f"the size along dim={dim} must be even, got {x.aval}")
    return elementwise.mul(shape.part(x, d, 0, n // 2), elementwise.sigmoid(shape.part(x, d, n // 2, n)))


__all__ = ["celu", "prelu", "relu", "selu"]

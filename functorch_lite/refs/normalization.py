"""Normalization. All is built on `standardize`, whose derivative has a closed form that is its own transpose."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.array import Array
from ..core.dtype import finfo
from ..core.op import Dims, Shape, Tensor, composite
from ..prims import algebra, create, elementwise, reduce, shape
from .arguments import accumulator, require, require_arrays, require_floating, shown
from .promotion import canonical_dims, to_dtype

_F = "fl.nn.functional"


# ------------------------------------------------------------------------------------------------------ the core


class Standardized(NamedTuple):
    """What `standardize` returns."""

    output: Array
    mean: Array
    var: Array


def _mean(x, dims):
    n = math.prod(x.shape[d] for d in dims)
    return elementwise.scaled(reduce.reduce_sum(x, dims), 1 / n if n else math.nan)


def _standardize_jvp(ans, primals, tangents, dim, eps, center):
    """With y = (x - mean) r and r = (var + eps)^(-1/2):  dy = r (t - mean(t) - y mean(y t)),  dvar = 2 mean(y t) / r.

    (Ioffe and Szegedy, 2015, there in reverse. As a matrix it is symmetric.) Without center, mean(t) is left out.
    """
    (y, _, var), (t,) = ans, tangents
    dims = canonical_dims("standardize", dim, y.ndim)
    y_t = _mean(elementwise.mul(y, t), dims)
    rest = elementwise.sub(t, elementwise.mul(y, reduce.spread(y_t, y, dims)))
    d_mean = None
    if center:
        d_mean = _mean(t, dims)
        rest = elementwise.sub(rest, reduce.spread(d_mean, y, dims))
    shifted = elementwise.add(var, algebra.full_like(var, eps))
    d_var = elementwise.mul(y_t, elementwise.scaled(elementwise.sqrt(shifted), 2.0))
    return elementwise.mul(rest, reduce.spread(elementwise.rsqrt(shifted), y, dims)), d_mean, d_var


def _standardize_batch(size, args, dims, dim, eps, center):
    (x,), (d,) = args, dims
    over = tuple([i + (i >= d) for i in canonical_dims("standardize", dim, x.ndim - 1)])
    small = d - sum(i < d for i in over)
    return tuple(standardize(x, over, eps, center)), (d, small, small)


def _standardize_reference(x, dim, eps=1e-5, center=True):
    dims = tuple(range(x.ndim)) if dim in (None, ()) else dim
    mean = x.mean(dims, keepdims=True) if center else np.zeros_like(x.mean(dims, keepdims=True))
    var = ((x - mean) ** 2).mean(dims, keepdims=True)
    squeeze = dims if isinstance(dims, tuple) else (dims,)
    return (x - mean) / np.sqrt(var + eps), mean.squeeze(squeeze), var.squeeze(squeeze)


@composite(namespace=_F, multi=True, returns=Standardized, jvp=_standardize_jvp, batch=_standardize_batch, reference=_standardize_reference)
def standardize(input: Tensor, dim: Dims, eps: float = 1e-5, center: bool = True) -> tuple:
    """(input - mean) / sqrt(var + eps) over dim, with the mean and the (biased) variance, their dimensions dropped.

    The variance is taken about the mean in a second pass, which loses no digits to a large mean. Without ``center`` mean is
    0 and var the mean of squares. Returns a named tuple (output, mean, var).

    >>> import functorch_lite as fl
    >>> fl.nn.functional.standardize(fl.asarray([1.0, 3.0]), 0, eps=0.0).output.tolist()
    [-1.0, 1.0]
    """
    require_arrays("standardize", input=input)
    require_floating("standardize", input)
    dims = canonical_dims("standardize", dim, input.ndim)
    if center:
        mean = _mean(input, dims)
        input = elementwise.sub(input, reduce.spread(mean, input, dims))
    var = _mean(elementwise.mul(input, input), dims)
    mean = mean if center else algebra.zeros(var.aval)
    scale = elementwise.rsqrt(elementwise.add(var, algebra.full_like(var, eps)))
    return elementwise.mul(input, reduce.spread(scale, input, dims)), mean, var


def _along(v, x, dims):
    """v, whose dimensions are x's `dims`, in x's shape and dtype."""
    return shape.broadcast(to_dtype(v, x.dtype), x.shape, tuple(dims))


def _affine(x, weight, bias, dims, dtype):
    """x * weight + bias, both along `dims`, in this dtype."""
    if weight is not None:
        x = elementwise.mul(x, _along(weight, x, dims))
    if bias is not None:
        x = elementwise.add(x, _along(bias, x, dims))
    return to_dtype(x, dtype)


def _wide(name, input, **affine):
    """input in the dtype of computing; it and weight and bias are floats."""
    require_arrays(name, input=input, **affine)
    for argument, x in {"input": input, **affine}.items():
        if x is not None:
            require_floating(name, x, argument)
    return to_dtype(input, accumulator(input.dtype))


# --------------------------------------------------------------------------------------- over trailing dimensions


def _trailing(name, input, normalized_shape, **affine):
    normalized = (normalized_shape,) if normalized_shape.__class__ is int else normalized_shape
    n = len(normalized)
    require(n > 0, name, f"normalized_shape must have at least one dimension, got {normalized_shape}")
    fits = input.shape[input.ndim - n :] == normalized and input.ndim >= n
    expected = f"given normalized_shape={list(normalized)}, expected input with shape [*, {', '.join(map(str, normalized))}]"
    require(fits, name, f"{expected}, got {shown(input)}")
    for argument, x in affine.items():
        ok = x is None or x.shape == normalized
        require(ok, name, f"{argument} must have the shape normalized_shape={list(normalized)}, got {shown(x)}")
    return tuple(range(input.ndim - n, input.ndim))


def _layer_norm_reference(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    n = 1 if isinstance(normalized_shape, int) else len(normalized_shape)
    y = _standardize_reference(x, tuple(range(x.ndim - n, x.ndim)), eps)[0]
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


@composite(reference=_layer_norm_reference)
def layer_norm(
    input: Tensor,
    normalized_shape: Shape,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes over the last dimensions, which are normalized_shape, then scales and shifts (Ba, Kiros, Hinton, 2016).

    (x - mean) / sqrt(var + eps) * weight + bias, with the biased variance. RuntimeError for shapes that do not fit.

    >>> import functorch_lite as fl
    >>> fl.layer_norm(fl.asarray([[1.0, 3.0]]), [2], eps=0.0).tolist()
    [[-1.0, 1.0]]
    """
    x = _wide("layer_norm", input, weight=weight, bias=bias)
    dims = _trailing("layer_norm", input, normalized_shape, weight=weight, bias=bias)
    return _affine(standardize(x, dims, eps).output, weight, bias, dims, input.dtype)


def _rms_norm_reference(x, normalized_shape, weight=None, eps=None):
    n = 1 if isinstance(normalized_shape, int) else len(normalized_shape)
    eps = np.finfo(x.dtype).eps if eps is None else eps
    y = x / np.sqrt((x * x).mean(tuple(range(x.ndim - n, x.ndim)), keepdims=True) + eps)
    return y if weight is None else y * weight


@composite(reference=_rms_norm_reference)
def rms_norm(input: Tensor, normalized_shape: Shape, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """input / sqrt(mean(input^2) + eps) * weight over the last dimensions, which are normalized_shape (Zhang, Sennrich, 2019).

    eps=None is the dtype's machine epsilon.
    """
    x = _wide("rms_norm", input, weight=weight)
    dims = _trailing("rms_norm", input, normalized_shape, weight=weight)
    eps = float(finfo(x.dtype).eps) if eps is None else eps
    return _affine(standardize(x, dims, eps, False).output, weight, None, dims, input.dtype)


# --------------------------------------------------------------------------------------------- over channels


def _require_channels(name, input, channels, **vectors):
    for argument, x in vectors.items():
        ok = x is None or x.shape == (channels,)
        require(ok, name, f"{argument} must have one element a channel, [{channels}], for input {shown(input)}, got {shown(x)}")


def _group_norm_reference(x, num_groups, weight=None, bias=None, eps=1e-5):
    y = x.reshape(x.shape[0], num_groups, -1)
    y = _standardize_reference(y, (2,), eps)[0].reshape(x.shape)
    lead = (-1, *[1] * (x.ndim - 2))
    y = y if weight is None else y * weight.reshape(lead)
    return y if bias is None else y + bias.reshape(lead)


@composite(reference=_group_norm_reference)
def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Normalizes each of num_groups groups of channels of input [N, C, *], an image at a time (Wu, He, 2018); weight and bias are [C]."""
    x = _wide("group_norm", input, weight=weight, bias=bias)
    require(input.ndim >= 2, "group_norm", f"expected input with at least 2 dimensions, got {shown(input)}")
    n, channels = input.shape[:2]
    ok = num_groups > 0 and channels % num_groups == 0
    require(ok, "group_norm", f"expected the number of channels of input {shown(input)} to be divisible by num_groups={num_groups}")
    _require_channels("group_norm", input, channels, weight=weight, bias=bias)
    grouped = shape.reshape(x, (n, num_groups, math.prod(input.shape[1:]) // num_groups))
    y = shape.reshape(standardize(grouped, (2,), eps).output, x.shape)
    return _affine(y, weight, bias, (1,), input.dtype)


class BatchNorm(NamedTuple):
    """What `batch_norm_stats` returns."""

    output: Array
    running_mean: Array
    running_var: Array


def _batch_normed(name, input, mean, var, weight, bias, training, eps, dims):
    """(the output, the batch's mean and variance or None). `dims` are those that statistics run over."""
    x = _wide(name, input, running_mean=mean, running_var=var, weight=weight, bias=bias)
    require(input.ndim >= 2, name, f"expected input with at least 2 dimensions [N, C, *], got {shown(input)}")
    _require_channels(name, input, input.shape[1], running_mean=mean, running_var=var, weight=weight, bias=bias)
    if training:
        size = math.prod(input.shape[d] for d in dims)
        require(size > 1, name, f"expected more than 1 value per channel when training, got input {shown(input)}", ValueError)
        y, mean, var = standardize(x, dims, eps)
        return _affine(y, weight, bias, (1,), input.dtype), mean, var
    require(mean is not None and var is not None, name, "running_mean and running_var are needed where the batch's statistics are not used")
    var = to_dtype(var, x.dtype)
    scale = elementwise.rsqrt(elementwise.add(var, algebra.full_like(var, eps)))
    y = elementwise.mul(elementwise.sub(x, _along(mean, x, (1,))), _along(scale, x, (1,)))
    return _affine(y, weight, bias, (1,), input.dtype), None, None


def _moved(running, batch, momentum):
    """running + momentum (batch - running), in running's dtype."""
    batch = to_dtype(batch, running.dtype)
    return elementwise.add(elementwise.scaled(running, 1 - momentum), elementwise.scaled(batch, momentum))


def _unbiased(var, n):
    return elementwise.scaled(var, n / (n - 1))


def _batch_norm_reference(x, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    lead = (-1, *[1] * (x.ndim - 2))
    over = (0, *range(2, x.ndim))
    mean, var = (x.mean(over), x.var(over)) if training else (mean, var)
    y = (x - mean.reshape(lead)) / np.sqrt(var.reshape(lead) + eps)
    y = y if weight is None else y * weight.reshape(lead)
    return y if bias is None else y + bias.reshape(lead)


def _batch_norm_stats_reference(x, mean, var, weight=None, bias=None, training=True, momentum=0.1, eps=1e-5):
    y = _batch_norm_reference(x, mean, var, weight, bias, training, momentum, eps)
    if not training:
        return y, mean, var
    over = (0, *range(2, x.ndim))
    return y, mean + momentum * (x.mean(over) - mean), var + momentum * (x.var(over, ddof=1) - var)


@composite(reference=_batch_norm_reference)
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes each channel of input [N, C, *]: by the batch's statistics in training, else by the running ones (Ioffe, Szegedy, 2015).

    Pure: the running statistics are read, never written, so momentum has no effect here; `batch_norm_stats` also returns the
    new ones. ValueError for a single value a channel in training.
    """
    dims = (0, *range(2, input.ndim))
    return _batch_normed("batch_norm", input, running_mean, running_var, weight, bias, training, eps, dims)[0]


@composite(namespace=_F, multi=True, returns=BatchNorm, reference=_batch_norm_stats_reference)
def batch_norm_stats(
    input: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> tuple:
    """`batch_norm` with the running statistics that follow: a named tuple (output, running_mean, running_var).

    In training they move by momentum toward the batch's mean and unbiased variance; else they are returned as they are.

    >>> import functorch_lite as fl
    >>> out = fl.nn.functional.batch_norm_stats(fl.asarray([[1.0], [3.0]]), fl.zeros(1), fl.ones(1), momentum=0.5)
    >>> out.running_mean.tolist(), out.running_var.tolist()
    ([1.0], [1.5])
    """
    dims = (0, *range(2, input.ndim))
    out, mean, var = _batch_normed("batch_norm_stats", input, running_mean, running_var, weight, bias, training, eps, dims)
    if not training:
        return out, running_mean, running_var
    n = math.prod(input.shape[d] for d in dims)
    new_mean = _moved(running_mean, mean, momentum)
    return out, new_mean, _moved(running_var, _unbiased(var, n), momentum)


def _instance_norm_reference(x, mean=None, var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    if not use_input_stats:
        return _batch_norm_reference(x, mean, var, weight, bias, False, momentum, eps)
    return _group_norm_reference(x, x.shape[1], weight, bias, eps)


@composite(reference=_instance_norm_reference)
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes each channel of each image of input [N, C, *] by its own statistics, or by the running ones.

    Pure, as `batch_norm` is: running statistics are read, never written.
    """
    require(input.ndim >= 3 or not use_input_stats, "instance_norm", f"expected input [N, C, *spatial], got {shown(input)}", ValueError)
    dims = tuple(range(2, input.ndim))
    return _batch_normed("instance_norm", input, running_mean, running_var, weight, bias, use_input_stats, eps, dims)[0]


def _local_response_norm_reference(x, size, alpha=1e-4, beta=0.75, k=1.0):
    padded = np.pad(x * x, [(0, 0), (size // 2, (size - 1) // 2), *[(0, 0)] * (x.ndim - 2)])
    total = sum(padded[:, i : i + x.shape[1]] for i in range(size))
    return x / (k + alpha * total / size) ** beta


@composite(namespace=_F, reference=_local_response_norm_reference)
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """input / (k + alpha * mean of squares over `size` neighbouring channels) ** beta, for input [N, C, *] (Krizhevsky, 2012).

    Channels that are not there count as zeros.
    """
    require_arrays("local_response_norm", input=input)
    require_floating("local_response_norm", input)
    require(input.ndim >= 3, "local_response_norm", f"expected input with at least 3 dimensions [N, C, *], got {shown(input)}", ValueError)
    none = (0,) * (input.ndim - 2)
    squares = elementwise.mul(input, input)
    padded = shape.pad(squares, create.full((), 0, input.dtype), (0, size // 2, *none), (0, (size - 1) // 2, *none), (0, 0, *none))
    total = algebra.total([shape.part(padded, 1, i, i + input.shape[1]) for i in range(size)])
    base = elementwise.add(elementwise.scaled(total, alpha / size), algebra.full_like(total, k))
    return elementwise.div(input, elementwise.pow(base, algebra.full_like(base, beta)))


__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"]

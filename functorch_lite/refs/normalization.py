"""Normalization over trailing dimensions, and over neighbours; `channel_norm` has what belongs to channels.

The first is built on `standardize`, whose derivative has a closed form that is its own transpose."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.array import Array
from ..core.dtype import finfo, float32, int64
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


def standardize_reference(x, dim, eps=1e-5, center=True):
    dims = tuple(range(x.ndim)) if dim in (None, ()) else dim
    mean = x.mean(dims, keepdims=True) if center else np.zeros_like(x.mean(dims, keepdims=True))
    var = ((x - mean) ** 2).mean(dims, keepdims=True)
    squeeze = dims if isinstance(dims, tuple) else (dims,)
    return (x - mean) / np.sqrt(var + eps), mean.squeeze(squeeze), var.squeeze(squeeze)


@composite(namespace=_F, multi=True, returns=Standardized, jvp=_standardize_jvp, batch=_standardize_batch, reference=standardize_reference)
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


def along(v, x, dims):
    """v, whose dimensions are x's `dims`, in x's shape and dtype."""
    return shape.broadcast(to_dtype(v, x.dtype), x.shape, tuple(dims))


def affine_of(x, weight, bias, dims, dtype):
    """x * weight + bias, both along `dims`, in this dtype."""
    if weight is not None:
        x = elementwise.mul(x, along(weight, x, dims))
    if bias is not None:
        x = elementwise.add(x, along(bias, x, dims))
    return to_dtype(x, dtype)


def wide(name, input, **affine):
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
    y = standardize_reference(x, tuple(range(x.ndim - n, x.ndim)), eps)[0]
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
    x = wide("layer_norm", input, weight=weight, bias=bias)
    dims = _trailing("layer_norm", input, normalized_shape, weight=weight, bias=bias)
    return affine_of(standardize(x, dims, eps).output, weight, bias, dims, input.dtype)


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
    x = wide("rms_norm", input, weight=weight)
    dims = _trailing("rms_norm", input, normalized_shape, weight=weight)
    eps = float(finfo(x.dtype).eps) if eps is None else eps
    return affine_of(standardize(x, dims, eps, False).output, weight, None, dims, input.dtype)


# ------------------------------------------------------------------------------------------------ over neighbours


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
    whole = input.dtype is int64
    require(whole or input.dtype.is_floating_point, "local_response_norm", f"input must have a float dtype or int64, got {shown(input)}")
    require(input.ndim >= 3, "local_response_norm", f"expected input with at least 3 dimensions [N, C, *], got {shown(input)}", ValueError)
    if not input.aval.size:
        return input
    none = (0,) * (input.ndim - 2)
    x = to_dtype(input, accumulator(input.dtype))
    squares = elementwise.mul(x, x)
    padded = shape.pad(squares, create.full((), 0, x.dtype), (0, size // 2, *none), (0, (size - 1) // 2, *none), (0, 0, *none))
    total = algebra.total([shape.part(padded, 1, i, i + input.shape[1]) for i in range(size)])
    if whole:  # PyTorch's mean of integers is rounded toward zero
        mean, x = (to_dtype(y, float32) for y in (elementwise.trunc_div(total, algebra.full_like(total, size)), x))
    else:
        mean = elementwise.scaled(total, 1 / size)
    base = elementwise.add(elementwise.scaled(mean, alpha), algebra.full_like(mean, k))
    out = elementwise.div(x, elementwise.pow(base, algebra.full_like(base, beta)))
    return out if whole else to_dtype(out, input.dtype)


__all__ = ["layer_norm", "rms_norm"]

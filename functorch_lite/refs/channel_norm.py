"""Normalization of channels: by the batch, by groups of channels of an image, by each channel of an image.

All is built on `standardize_channels`, whose reverse rule has a closed form. What is done to an element is only ever to scale and shift
it by numbers of its channel, so that layers around (a convolution, relu) fuse with it; those numbers are made apart, on small arrays.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.array import Array
from ..core.op import Tensor, composite
from ..prims import algebra, elementwise, reduce, shape
from .arguments import require, require_arrays, require_floating, shown
from .normalization import affine_of, along, standardize, standardize_reference, wide
from .promotion import to_dtype

_F = "fl.nn.functional"


# ------------------------------------------------------------------------------------------------------ the core


class StandardizedChannels(NamedTuple):
    """What `standardize_channels` returns."""

    output: Array
    mean: Array
    var: Array


class _Statistics:
    """How the elements of x [N, C, *] are summed: by channel ([C], or [N, C] for each image), then by group of channels."""

    def __init__(self, x, groups: int, batch: bool):
        self.shape, self.groups = x.shape, groups
        self.over = (0, *range(2, x.ndim)) if batch else tuple(range(2, x.ndim))
        self.along = (1,) if batch else (0, 1)
        self.count = math.prod(x.shape[d] for d in self.over) * x.shape[1] // groups

    def sum(self, x):
        """Of each channel."""
        return reduce.reduce_sum(x, self.over) if self.over else x

    def mean(self, sums):
        """Of each group, from the sums of channels."""
        if self.groups != self.shape[1]:
            sums = shape.reshape(sums, (*sums.shape[:-1], self.groups, self.shape[1] // self.groups))
            sums = reduce.reduce_sum(sums, (sums.ndim - 1,))
        return elementwise.scaled(sums, 1 / self.count if self.count else math.nan)

    def each(self, v):
        """Numbers of groups, for each of their channels."""
        if self.groups == self.shape[1]:
            return v
        wide = (*v.shape, self.shape[1] // self.groups)
        return shape.reshape(shape.broadcast(v, wide, tuple(range(v.ndim))), (*v.shape[:-1], self.shape[1]))

    def beside(self, v, like):
        """Numbers [C] beside those of channels."""
        return v if v.shape == like.shape else shape.broadcast(v, like.shape, (1,))

    def spread(self, v):
        """Numbers of channels, for each element."""
        return v if v.shape == self.shape else shape.broadcast(v, self.shape, self.along)

    def line(self, x, scale, shift):
        """x scale + shift."""
        return elementwise.add(elementwise.mul(x, self.spread(scale)), self.spread(shift))


def _standardize_channels_reference(x, weight=None, bias=None, groups=1, batch=False, eps=1e-5):
    n, c = x.shape[:2]
    y = x.reshape(n, groups, c // groups, -1)
    y, mean, var = standardize_reference(y, (0, 2, 3) if batch else (2, 3), eps)
    lead = (-1, *[1] * (x.ndim - 2))
    y = y.reshape(x.shape)
    y = y if weight is None else y * weight.reshape(lead)
    return y if bias is None else y + bias.reshape(lead), mean, var


@composite(namespace=_F, multi=True, returns=StandardizedChannels, reference=_standardize_channels_reference)
def standardize_channels(
    input: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, groups: int = 1, batch: bool = False, eps: float = 1e-5
) -> tuple:
    """(input - mean) / sqrt(var + eps) * weight + bias for input [N, C, *], weight and bias [C].

    Each of `groups` groups of channels has its own mean and (biased) variance, those of each image or, with ``batch``, of all
    images together. Returns a named tuple (output, mean, var); the latter are [N, groups], or [groups].

    >>> import functorch_lite as fl
    >>> fl.nn.functional.standardize_channels(fl.asarray([[1.0], [3.0]]), batch=True, eps=0.0).output.tolist()
    [[-1.0], [1.0]]
    """
    require_arrays("standardize_channels", input=input, weight=weight, bias=bias)
    require_floating("standardize_channels", input)
    by = _Statistics(input, groups, batch)
    mean = by.mean(by.sum(input))
    center = by.each(mean)
    rest = elementwise.sub(input, by.spread(center))
    var = by.mean(by.sum(elementwise.mul(rest, rest)))
    scale = by.each(elementwise.rsqrt(elementwise.add(var, algebra.full_like(var, eps))))
    if weight is not None:
        scale = elementwise.mul(scale, by.beside(weight, scale))
    shift = elementwise.neg(elementwise.mul(center, scale))
    if bias is not None:
        shift = elementwise.add(by.beside(bias, shift), shift)
    return by.line(input, scale, shift), mean, var


@standardize_channels.defvjp
def _standardize_channels_vjp(wanted, ct, ans, x, weight, bias, groups, batch, eps):
    """With r = (var + eps)^(-1/2), z = (x - mean) r and y = z w + b, where mean() is that over a group (Ioffe, Szegedy, 2015):

        dw = sum(ct z), db = sum(ct), dx = r (ct w - mean(ct w) - z mean(ct w z))

    which for one channel is ct, x and 1, each times a number. Two sums and one pass over the elements, as against four and three of
    the derived rule (with relu, and forward: 0.45 of PyTorch's time on the CPU against 0.6).
    """
    y_ct, mean_ct, var_ct = ct
    _, mean, var = ans
    by = _Statistics(x, groups, batch)
    mul, add, neg = elementwise.mul, elementwise.add, elementwise.neg
    center, r = by.each(mean), by.each(elementwise.rsqrt(add(var, algebra.full_like(var, eps))))
    to_x = to_weight = to_bias = by_x = by_one = None
    if y_ct is not None:
        by_ct = r if weight is None else mul(r, by.beside(weight, r))
        total = by.sum(y_ct)
        # + -mean: were it the difference that the forward pass has too, XLA would keep that instead of fusing it into the sum
        product = by.sum(mul(y_ct, add(x, by.spread(neg(center)))))
        images = lambda v: v if batch else reduce.reduce_sum(v, (0,))
        to_bias = images(total) if wanted[2] else None
        to_weight = images(mul(product, r)) if wanted[1] else None
        if wanted[0]:
            by_x = neg(mul(mul(r, r), by.each(by.mean(mul(product, by_ct)))))
            by_one = neg(by.each(by.mean(mul(total, by_ct))))
    if wanted[0]:
        part = lambda c: None if c is None else elementwise.scaled(by.each(c), 1 / by.count if by.count else math.nan)
        by_x = algebra.total([by_x, None if var_ct is None else elementwise.scaled(part(var_ct), 2.0)])
        by_one = algebra.total([by_one, part(mean_ct), None if by_x is None else neg(mul(center, by_x))])
        terms = [None if y_ct is None else mul(y_ct, by.spread(by_ct)), None if by_x is None else mul(x, by.spread(by_x))]
        to_x = algebra.total([*terms, None if by_one is None else by.spread(by_one)])
    return to_x, to_weight, to_bias


# --------------------------------------------------------------------------------------------- over channels


def _require_channels(name, input, channels, **vectors):
    for argument, x in vectors.items():
        ok = x is None or x.shape == (channels,)
        require(ok, name, f"{argument} must have one element a channel, [{channels}], for input {shown(input)}, got {shown(x)}")


def _group_norm_reference(x, num_groups, weight=None, bias=None, eps=1e-5):
    y = x.reshape(x.shape[0], num_groups, -1)
    y = standardize_reference(y, (2,), eps)[0].reshape(x.shape)
    lead = (-1, *[1] * (x.ndim - 2))
    y = y if weight is None else y * weight.reshape(lead)
    return y if bias is None else y + bias.reshape(lead)


@composite(reference=_group_norm_reference)
def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Normalizes each of num_groups groups of channels of input [N, C, *], an image at a time (Wu, He, 2018); weight and bias are [C]."""
    x = wide("group_norm", input, weight=weight, bias=bias)
    require(input.ndim >= 2, "group_norm", f"expected input with at least 2 dimensions, got {shown(input)}")
    channels = input.shape[1]
    ok = num_groups > 0 and channels % num_groups == 0
    require(ok, "group_norm", f"expected the number of channels of input {shown(input)} to be divisible by num_groups={num_groups}")
    _require_channels("group_norm", input, channels, weight=weight, bias=bias)
    return to_dtype(standardize_channels(x, *_as(x, weight, bias), num_groups, False, eps).output, input.dtype)


def _as(x, *vectors):
    """Weight and bias in x's dtype."""
    return [None if v is None else to_dtype(v, x.dtype) for v in vectors]


class BatchNorm(NamedTuple):
    """What `batch_norm_stats` returns."""

    output: Array
    running_mean: Array
    running_var: Array


def _batch_normed(name, input, mean, var, weight, bias, training, eps, dims):
    """(the output, the batch's mean and variance or None). `dims` are those that statistics run over."""
    x = wide(name, input, running_mean=mean, running_var=var, weight=weight, bias=bias)
    if input.shape == (0,):  # PyTorch takes nothing at all for an empty batch
        return input, None, None
    require(input.ndim >= 2, name, f"expected input with at least 2 dimensions [N, C, *], got {shown(input)}")
    _require_channels(name, input, input.shape[1], running_mean=mean, running_var=var, weight=weight, bias=bias)
    if training:
        size = math.prod(input.shape[d] for d in dims)
        require(size > 1, name, f"expected more than 1 value per channel when training, got input {shown(input)}", ValueError)
        y, mean, var = standardize_channels(x, *_as(x, weight, bias), input.shape[1], 0 in dims, eps)
        return to_dtype(y, input.dtype), mean, var
    require(mean is not None and var is not None, name, "running_mean and running_var are needed where the batch's statistics are not used")
    var = to_dtype(var, x.dtype)
    scale = elementwise.rsqrt(elementwise.add(var, algebra.full_like(var, eps)))
    y = elementwise.mul(elementwise.sub(x, along(mean, x, (1,))), along(scale, x, (1,)))
    return affine_of(y, weight, bias, (1,), input.dtype), None, None


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


def _batch_renewed(args, params):
    """What PyTorch writes: the running statistics, in training."""
    (input, mean, var, *affine), (training, momentum, eps) = args, params
    if not training or mean is None or var is None or input.aval.size == 0:
        return {}
    return dict(enumerate(batch_norm_stats(input, mean, var, *affine, True, momentum, eps)[1:], 1))


@composite(reference=_batch_norm_reference, traits={"writes": _batch_renewed})
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

    Pure for Arrays: the running statistics are read, never written, so momentum has no effect; `batch_norm_stats` also returns the
    new ones. Tensors of them are written in training, as in PyTorch. ValueError for a single value a channel in training.
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


def _instance_renewed(args, params):
    """What PyTorch writes: running statistics, which follow the means over images."""
    (input, mean, var, *_), (use_input_stats, momentum, _) = args, params
    if not use_input_stats or mean is None or var is None:
        return {}
    over = tuple(range(2, input.ndim))
    n = math.prod(input.shape[2:])
    _, *of_images = standardize(wide("instance_norm", input), over, 0.0)
    mean_of, var_of = (elementwise.scaled(reduce.reduce_sum(x, (0,)), 1 / max(x.shape[0], 1)) for x in of_images)
    return {1: _moved(mean, mean_of, momentum), 2: _moved(var, _unbiased(var_of, n), momentum)}


@composite(reference=_instance_norm_reference, traits={"writes": _instance_renewed})
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

    Pure for Arrays, as `batch_norm` is; Tensors of running statistics are written, as in PyTorch.
    """
    require(input.ndim >= 3 or not use_input_stats, "instance_norm", f"expected input [N, C, *spatial], got {shown(input)}", ValueError)
    dims = tuple(range(2, input.ndim))
    return _batch_normed("instance_norm", input, running_mean, running_var, weight, bias, use_input_stats, eps, dims)[0]


__all__ = ["batch_norm", "group_norm", "instance_norm"]

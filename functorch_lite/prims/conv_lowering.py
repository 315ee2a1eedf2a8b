"""Convolutions in the forms in which XLA is fast on a CPU.

It hands a convolution to Eigen, at the speed of PyTorch's, if that has channels last. Others it turns so, but not those inside of loops,
which then run a hundred times longer. Groups, and with them a convolution for each row of a batch, it has no fast form for. In ms, on one
core, of 32 images and 3x3 kernels in float32:

                                                     a group each, as XLA has it    here    PyTorch
    64 channels, 32x32, a kernel a channel                                   160       9          3
        and the gradient of the kernel                                        42       8          6
    a gradient of the kernel for each image: 32 to 32 channels, 32x32         62       8          7
        and 128 to 128 channels, 8x8                                          33      11         10

Here x is [N, C, *space] and w [O, C, *kernel]; for rows, both have one more dimension in front.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from jax import lax

from . import orders

_TERMS = 64  # elements of a kernel, or of a result, up to which a program has a term for each
_DEPTH = 8  # from so many channels on Eigen packs them well


def conv(x, w, strides, padding, x_dilation, w_dilation, groups):
    """lax's convolution, for any platform."""
    return lax.conv_general_dilated(x, w, strides, padding, x_dilation, w_dilation, feature_group_count=groups)


def rows(x, w, strides, padding, x_dilation, w_dilation):
    """A convolution for each row, for any platform: one with a group for each."""
    r, n = x.shape[:2]
    space = tuple(range(3, x.ndim))
    if r == 0:  # no number of groups
        counts = [_count(n, k, *s) for n, k, *s in zip(x.shape[3:], w.shape[3:], strides, padding, x_dilation, w_dilation)]
        return lax.full((0, n, w.shape[1], *[max(m, 0) for m in counts]), 0, x.dtype)
    x = lax.reshape(lax.transpose(x, (1, 0, 2, *space)), (n, r * x.shape[2], *x.shape[3:]))
    out = conv(x, lax.reshape(w, (r * w.shape[1], *w.shape[2:])), strides, padding, x_dilation, w_dilation, r)
    return lax.transpose(lax.reshape(out, (n, r, w.shape[1], *out.shape[2:])), (1, 0, 2, *space))


# ------------------------------------------------------------------------------------------------------ on the CPU


def ordered_conv(values, stored, strides, padding, x_dilation, w_dilation, groups):
    """The rule of orders.py for `conv`."""
    x, w = values
    space = tuple(range(2, x.ndim))
    last, spec = (0, *space, 1), (strides, padding, x_dilation, w_dilation)
    x, w = orders.moved(x, stored[0], last), orders.moved(w, stored[1], (*space, 1, 0))  # w is [*kernel, C / groups, groups O]
    counts = [_count(n, k, *s) for n, k, *s in zip(x.shape[1:-1], w.shape, *spec)]
    if not space or min(*x.shape, *w.shape, *counts) <= 0:
        return None
    if groups == 1:
        out = _last(x, w, *spec)
        return _for_weight(out) if _is_weight(counts, w.shape[:-2]) else (out, last)
    if w.shape[-2] == 1 and math.prod(w.shape[:-2]) <= _TERMS:
        return _products(x, w, *spec), last
    x = lax.reshape(x, (*x.shape[:-1], groups, x.shape[-1] // groups))
    w = lax.reshape(w, (*w.shape[:-1], groups, w.shape[-1] // groups))
    x, w = (lax.transpose(a, (at, *[d for d in range(a.ndim) if d != at])) for a, at in ((x, x.ndim - 2), (w, w.ndim - 2)))
    out = _each(lambda x, w: _last(x, w, *spec), x, w)  # [groups, N, *space, O]
    out = lax.transpose(out, (*range(1, out.ndim - 1), 0, out.ndim - 1))
    return lax.reshape(out, (*out.shape[:-2], out.shape[-2] * out.shape[-1])), last


def ordered_rows(values, stored, strides, padding, x_dilation, w_dilation):
    """The rule of orders.py for `rows`."""
    x, w = values
    spec = strides, padding, x_dilation, w_dilation
    space, rank = tuple(range(3, x.ndim)), x.ndim
    kernel = [w.shape[i] for i, d in enumerate(orders.spelled(stored[1], rank)) if d > 2]
    size = dict(zip(orders.spelled(stored[0], rank), x.shape))
    out = [_count(size[d], k, *s) for d, k, *s in zip(space, kernel, *spec)]
    if not space or min(*x.shape, *w.shape, *out) <= 0:
        return None
    usual = (0, 1, *space, 2)
    if _is_weight(out, kernel) and math.prod(out) <= _TERMS and size[2] < _DEPTH:
        x, w = orders.moved(x, stored[0], (0, 2, *space, 1)), orders.moved(w, stored[1], (0, 2, *space, 1))
        return _each(lambda x, w: _of_patches(x, w, out, *spec), x, w), (0, 2, 1, *space)
    x, w = orders.moved(x, stored[0], usual), orders.moved(w, stored[1], (0, *space, 2, 1))
    return _each(lambda x, w: _last(x, w, *spec), x, w), usual


def _count(n, k, stride, pads, x_dilation, w_dilation):
    """How many elements a convolution has along one dimension."""
    return ((n - 1) * x_dilation + 1 + sum(pads) - (k - 1) * w_dilation - 1) // stride + 1


def _is_weight(out, kernel) -> bool:
    """Whether a convolution gives the gradient of a kernel: then its own kernel is an image, and the result small."""
    return math.prod(out) < math.prod(kernel)


def _for_weight(out):
    """[C, *kernel, O] as it goes to a weight [O, C, *kernel], in the usual order there."""
    n = out.ndim
    return lax.transpose(out, (n - 1, *range(n - 1))), (1, 0, *range(2, n))


def _last(x, w, strides, padding, x_dilation, w_dilation):
    """x [N, *space, C] with w [*kernel, C, O]: [N, *space, O]."""
    spec, kernel = (strides, padding, x_dilation, w_dilation), w.shape[:-2]
    if w.shape[-2] < _DEPTH and kernel[-1] > 1 and math.prod(kernel) <= _TERMS and x_dilation[-1] == 1:
        x, w, *spec = _deepened(x, w, *spec)
    n, space = x.ndim, tuple(range(1, x.ndim - 1))
    places = lax.ConvDimensionNumbers((0, n - 1, *space), (n - 1, n - 2, *range(n - 2)), (0, n - 1, *space))
    return lax.conv_general_dilated(x, w, *spec, places)


def _deepened(x, w, strides, padding, x_dilation, w_dilation):
    """The same with the kernel's last dimension among the channels, whose number is made a multiple of eight: for the few channels that
    an image has it takes 0.55 to 0.85 of the time."""
    *kernel, c, o = w.shape
    k, s, d, at = kernel[-1], strides[-1], w_dilation[-1], x.ndim - 2
    x = _padded(x, {at: padding[-1]})
    reach = (x.shape[at] - (k - 1) * d - 1) // s * s + 1
    x = lax.concatenate([lax.slice_in_dim(x, i * d, i * d + reach, s, at) for i in range(k)], at + 1)
    w = lax.reshape(w, (*kernel[:-1], 1, k * c, o))
    more = 0, -k * c % _DEPTH
    x, w = lax.optimization_barrier(_padded(x, {at + 1: more})), _padded(w, {w.ndim - 2: more})
    return x, w, (*strides[:-1], 1), (*padding[:-1], (0, 0)), x_dilation, (*w_dilation[:-1], 1)


def _padded(x, pads: dict):
    """x with zeros, (low, high) for some dimensions."""
    return lax.pad(x, np.zeros((), x.dtype)[()], [(*pads.get(d, (0, 0)), 0) for d in range(x.ndim)])


def _each(f, x, w):
    """f on each row. Dimensions of size one stay outside: for a loop XLA would copy what comes with them in another order."""
    row = lambda pair: f(lax.reshape(pair[0], x.shape[1:]), lax.reshape(pair[1], w.shape[1:]))
    if x.shape[0] == 1:
        return lax.expand_dims(row((x, w)), (0,))
    return lax.map(row, tuple([lax.reshape(a, (a.shape[0], *[n for n in a.shape[1:] if n != 1])) for a in (x, w)]))


def _spread(x, padding, dilation):
    """x [N, *space, C], padded, and with zeros between its elements."""
    return lax.pad(x, np.zeros((), x.dtype)[()], ((0, 0, 0), *[(low, high, d - 1) for (low, high), d in zip(padding, dilation)], (0, 0, 0)))


def _windows(x, counts, steps, shifts):
    """For every tuple of shifts: the elements of x [N, *space, C] from there on, `steps` apart."""
    ends = [(n - 1) * s + 1 for n, s in zip(counts, steps)]
    for at in itertools.product(*shifts):
        limits = [a + e for a, e in zip(at, ends)]
        yield lax.slice(x, (0, *at, 0), (x.shape[0], *limits, x.shape[-1]), (1, *steps, 1))


def _products(x, w, strides, padding, x_dilation, w_dilation):
    """A convolution with one channel a group, x [N, *space, C] and w [*kernel, 1, C O]: the shifted x, each times its element of w."""
    kernel, c, o = w.shape[:-2], x.shape[-1], w.shape[-1] // x.shape[-1]
    counts = [_count(n, k, *s) for n, k, *s in zip(x.shape[1:-1], kernel, strides, padding, x_dilation, w_dilation)]
    x = _spread(x, padding, x_dilation)
    w = lax.reshape(w, (math.prod(kernel), c, o))
    total, shape = None, (x.shape[0], *counts, c, o)
    for i, part in enumerate(_windows(x, counts, strides, [range(0, k * d, d) for k, d in zip(kernel, w_dilation)])):
        factor = lax.broadcast_in_dim(w[i], shape, (len(shape) - 2, len(shape) - 1))
        term = lax.mul(lax.broadcast_in_dim(part, shape, tuple(range(part.ndim))), factor)
        total = term if total is None else lax.add(total, term)
    return lax.reshape(total, (*shape[:-2], c * o))


def _of_patches(x, w, out, strides, padding, x_dilation, w_dilation):
    """The gradient of a kernel: x [N, *space, C] and w [N, *kernel, O], as large: [O, C, *out], by one product over N and space.

    Shifts of x along the first dimension are shifts of w the other way, so that each is repeated for some only. That takes a tenth to a
    third off the time, where the rows that it adds are few.
    """
    *kernel, o = w.shape[1:]
    x = _spread(x, padding, x_dilation)
    steps, counts, shifts = list(w_dilation), list(kernel), [range(0, n * s, s) for n, s in zip(out, strides)]
    aside = 1
    if strides[0] == w_dilation[0] == 1 and 8 * (out[0] - 1) <= kernel[0]:
        aside, counts[0], shifts[0] = out[0], out[0] + kernel[0] - 1, range(1)
    patches = lax.concatenate(list(_windows(x, counts, steps, shifts)), x.ndim - 1)
    w = lax.transpose(w, (w.ndim - 1, *range(w.ndim - 1)))
    if aside > 1:
        w = lax.optimization_barrier(_padded(w, {2: (aside - 1, aside - 1)}))
        w = lax.concatenate([lax.slice_in_dim(w, aside - 1 - i, aside - 1 - i + counts[0], axis=2) for i in range(aside)], 0)
    w, patches = lax.optimization_barrier((w, patches))
    summed = x.shape[0] * math.prod(counts)
    product = lax.dot(lax.reshape(w, (aside * o, summed)), lax.reshape(patches, (summed, patches.shape[-1])))
    product = lax.reshape(product, (aside, o, math.prod(out) // aside, x.shape[-1]))
    return lax.reshape(lax.transpose(product, (1, 3, 0, 2)), (o, x.shape[-1], *out))

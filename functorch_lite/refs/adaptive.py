"""Adaptive pooling: as many windows as wanted, which cover the input evenly; of means and of maxima."""

from __future__ import annotations

import itertools
import math

import numpy as np

from ..core.dtype import int64
from ..core.op import Tensor, composite
from ..prims import algebra, compare, create, elementwise, index, reduce, shape, window
from .arguments import accumulator, require, require_arrays, require_floating, shown
from .conv import batched, unbatched
from .pool import MaxPool
from .promotion import to_dtype

_F = "fl.nn.functional"


def _bounds(size: int, outputs: int):
    """Where the windows of adaptive pooling start and stop: from floor(i size / outputs) up to ceil((i + 1) size / outputs)."""
    return [(i * size // outputs, -(-(i + 1) * size // outputs)) for i in range(outputs)]


def _output_size(name, x, output_size, n):
    sizes = output_size if output_size.__class__ is tuple else (output_size,) * n
    require(len(sizes) == n, name, f"output_size must be an int or {n} ints or None, got {output_size}")
    sizes = tuple([m if s is None else s for s, m in zip(sizes, x.shape[2:])])
    ok = all(s.__class__ is int and s >= 0 for s in sizes) and 0 not in x.shape[2:]
    require(ok, name, f"output_size must not be negative and input not be empty, got output_size={output_size}, {shown(x)}")
    return sizes


def _mean_along(x, dim):
    return elementwise.scaled(reduce.reduce_sum(x, (dim,)), 1 / x.shape[dim])


def _adaptive_mean(name, n, input, output_size):
    """A dimension at a time, which a mean over a box allows."""
    require_arrays(name, input=input)
    require_floating(name, input)
    x, added = batched(name, to_dtype(input, accumulator(input.dtype)), n)
    for dim, outputs in enumerate(_output_size(name, x, output_size, n), 2):
        size = x.shape[dim]
        if outputs == size:
            continue
        if outputs and size % outputs == 0:
            x = _mean_along(shape.reshape(x, (*x.shape[:dim], outputs, size // outputs, *x.shape[dim + 1 :])), dim + 1)
            continue
        parts = [_mean_along(shape.part(x, dim, a, b), dim) for a, b in _bounds(size, outputs)]
        parts = [shape.reshape(p, (*p.shape[:dim], 1, *p.shape[dim:])) for p in parts]
        x = shape.concatenate(parts, dim) if parts else shape.part(x, dim, 0, 0)
    return unbatched(to_dtype(x, input.dtype), added)


def _adaptive_reference(x, output_size, *, n, reduction):
    wide = x if x.ndim == n + 2 else x[None]
    sizes = _output_size("", wide, output_size if isinstance(output_size, int | None) else tuple(output_size), n)
    out = np.empty((*wide.shape[:2], *sizes), x.dtype)
    for at in itertools.product(*map(range, sizes)):
        box = [slice(*_bounds(m, s)[i]) for i, m, s in zip(at, wide.shape[2:], sizes)]
        out[(..., *at)] = reduction(wide[(..., *box)], axis=tuple(range(2, n + 2)))
    return out if x.ndim == n + 2 else out[0]


def _document_adaptive(f, name, n, what, more=""):
    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"""The {what} of each of output_size windows that cover input [N, C, *] (or [C, *]) evenly.

    output_size is an int or one for each of the {n} spatial dimension{"s" if n > 1 else ""}; None keeps that size. Window i is
    from floor(i size / outputs) up to ceil((i + 1) size / outputs).{more}

    >>> import functorch_lite as fl
    >>> fl.nn.functional.{name}(fl.ones(1, 2, {", ".join(["5"] * n)}), 2).shape
    (1, 2, {", ".join(["2"] * n)})
    """


def _adaptive_averaging(n: int):
    name = f"adaptive_avg_pool{n}d"

    def f(input: Tensor, output_size: object) -> Tensor:
        return _adaptive_mean(name, n, input, output_size)

    _document_adaptive(f, name, n, "mean")
    return composite(f, namespace=_F, reference=lambda x, output_size: _adaptive_reference(x, output_size, n=n, reduction=np.mean))


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = map(_adaptive_averaging, (1, 2, 3))


def _even(x, sizes, n):
    """The windows, where all are alike and none overlap; else None."""
    if 0 in sizes or any(m % s for m, s in zip(x.shape[2:], sizes)):
        return None
    steps = (1, 1, *[m // s for m, s in zip(x.shape[2:], sizes)])
    return steps, steps, ((0, 0),) * (n + 2), (1,) * (n + 2), (1,) * (n + 2)


def _starts_of(size: int, outputs: int):
    """Where each of the windows starts, and the length of the longest."""
    i = create.iota((outputs,), 0, int64)
    starts = elementwise.trunc_div(elementwise.mul(i, algebra.full_like(i, size)), algebra.full_like(i, max(outputs, 1)))
    return starts, max((b - a for a, b in _bounds(size, outputs)), default=1)


def _taken_windows(x, dim, outputs):
    """x with the windows along dim as two dimensions [outputs, longest]; a shorter one repeats its last element."""
    starts, longest = _starts_of(x.shape[dim], outputs)
    i = create.iota((outputs,), 0, int64)
    m = algebra.full_like(i, max(outputs, 1))
    stops = elementwise.mul(elementwise.add(i, algebra.one_like(i)), algebra.full_like(i, x.shape[dim]))
    last = elementwise.trunc_div(elementwise.sub(stops, algebra.one_like(i)), m)  # ceil((i + 1) size / outputs) - 1
    sizes = (outputs, longest)
    at = elementwise.add(shape.broadcast(starts, sizes, (0,)), create.iota(sizes, 1, int64))
    at = compare.minimum(at, shape.broadcast(last, sizes, (0,)))
    return index.gather(x, [at], (dim,), (0,), at=dim, mode="inside")


def _uneven_indices(x, sizes, n):
    """Where in its flat image the largest element of each window stands: the first of them in row-major order."""
    x = create.detach(x)
    spatial = x.shape[2:]
    for d, s in enumerate(sizes):
        x = _taken_windows(x, 2 + 2 * d, s)
    outs, inner = [2 + 2 * d for d in range(n)], [3 + 2 * d for d in range(n)]
    lengths = [x.shape[d] for d in inner]
    x = shape.permute(x, (0, 1, *outs, *inner))
    out = x.shape[: n + 2]
    where = reduce.argmax(shape.reshape(x, (*out, math.prod(lengths))), n + 2)
    place, stride = create.full(out, 0, int64), 1
    for d in reversed(range(n)):
        length = algebra.full_like(where, lengths[d])
        at = elementwise.add(elementwise.rem(where, length), shape.broadcast(_starts_of(spatial[d], sizes[d])[0], out, (d + 2,)))
        place = elementwise.add(place, elementwise.mul(at, algebra.full_like(at, stride)))
        where, stride = elementwise.trunc_div(where, length), stride * spatial[d]
    return place


def flat_images(x):
    """Images [N, C, *] as [N, C, elements]."""
    return shape.reshape(x, (*x.shape[:2], math.prod(x.shape[2:])))


def picked(x, place):
    """The elements of each image of x [N, C, *] at these places of it, flat, [N, C, *outputs]."""
    return shape.reshape(index.take_along(flat_images(x), flat_images(place), 2, "inside"), place.shape)


def _adaptive_max(name, n, input, output_size, indices: bool):
    require_arrays(name, input=input)
    x, added = batched(name, input, n)
    sizes = _output_size(name, x, output_size, n)
    spec = _even(x, sizes, n)
    if spec is None:
        place = _uneven_indices(x, sizes, n) if 0 not in sizes else create.full((*x.shape[:2], *sizes), 0, int64)
        out = picked(x, place)
    else:
        out = window.window_max(x, *spec)
        place = to_dtype(window.window_position(x, out, *spec, tuple(range(2, n + 2))), int64) if indices else None
    return (unbatched(out, added), unbatched(place, added)) if indices else unbatched(out, added)


def _adaptive_indices_reference(x, output_size, *, n):
    """By an image of which each element is its own flat position, looked up at the maxima."""
    wide = x if x.ndim == n + 2 else x[None]
    sizes = _output_size("", wide, output_size if isinstance(output_size, int | None) else tuple(output_size), n)
    where = np.zeros((*wide.shape[:2], *sizes), np.int64)
    positions = np.arange(math.prod(wide.shape[2:])).reshape(wide.shape[2:])
    for at in itertools.product(*map(range, sizes)):
        box = tuple([slice(*_bounds(m, s)[i]) for i, m, s in zip(at, wide.shape[2:], sizes)])
        best = wide[(..., *box)].reshape(*wide.shape[:2], -1).argmax(-1)
        where[(..., *at)] = positions[box].reshape(-1)[best]
    return where if x.ndim == n + 2 else where[0]


def _adaptive_maximum(n: int):
    name = f"adaptive_max_pool{n}d"

    def pool(input: Tensor, output_size: object) -> Tensor:
        return _adaptive_max(name, n, input, output_size, False)

    def pool_with_indices(input: Tensor, output_size: object) -> tuple:
        return _adaptive_max(name, n, input, output_size, True)

    def reference(x, output_size):
        return _adaptive_reference(x, output_size, n=n, reduction=np.max)

    more = " The gradient goes to\n    the first largest element. With return_indices also where each stood, as a named tuple (output, indices)."
    _document_adaptive(pool, name, n, "largest element", more)
    pool_with_indices.__name__ = f"{name}_with_indices"
    pool_with_indices.__doc__ = (
        f"`{name}` with where each maximum stood in its flattened image (int64), as a named tuple (output, indices)."
    )
    plain = composite(pool, namespace=_F, reference=reference)
    pair = composite(
        pool_with_indices,
        namespace=_F,
        multi=True,
        returns=MaxPool,
        reference=lambda x, output_size: (reference(x, output_size), _adaptive_indices_reference(x, output_size, n=n)),
    )

    def max_pool(input, output_size, return_indices=False):
        return (pair if return_indices else plain)(input, output_size)

    _document_adaptive(max_pool, name, n, "largest element", more)
    max_pool.op = plain.op
    return max_pool, pair


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive_maximum(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive_maximum(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive_maximum(3)

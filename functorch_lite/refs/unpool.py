"""Pooling of other kinds: maxima put back, windows at random places, norms of windows."""

from __future__ import annotations

import math

import numpy as np

from ..core.dtype import int64
from ..core.op import Dims, Shape, Tensor, composite
from ..prims import algebra, bits, checks, compare, create, elementwise, index, reduce, scatters, shape
from .adaptive import picked
from .arguments import per_dim, require, require_arrays, require_floating, shown
from .conv import batched, unbatched
from .elementwise import pow
from .pool import MaxPool, avg_pool1d, avg_pool2d, avg_pool3d
from .promotion import to_dtype
from .random import uniform

_F = "fl.nn.functional"

# ------------------------------------------------------------------------------------------------------- unpooling


def _unpooled_reference(x, indices, sizes):
    lead = x.shape[: x.ndim - len(sizes)]
    out = np.zeros((math.prod(lead), math.prod(sizes)), x.dtype)
    for row, values, at in zip(out, x.reshape(len(out), -1), indices.reshape(len(out), -1)):
        row[at] = values
    return out.reshape(*lead, *sizes)


@composite(namespace=_F, name="max_unpool", reference=_unpooled_reference)
def _max_unpool(input: Tensor, indices: Tensor, sizes: Shape) -> Tensor:
    """Zeros [*, *sizes] with each image's elements at indices, flat positions in it."""
    require_arrays("max_unpool", input=input, indices=indices)
    lead = input.shape[: input.ndim - len(sizes)]
    images, n = math.prod(lead), math.prod(sizes)
    values, at = (shape.reshape(x, (images, x.aval.size // images if images else 0)) for x in (input, indices))
    ok = bits.bitwise_and(compare.ge(at, algebra.zeros(at.aval)), compare.lt(at, algebra.full_like(at, n)))
    at = checks.expect(at, ok, "RuntimeError", f"max_unpool: found an invalid max index: indices must be from 0 to {n - 1}")
    out = scatters.put_along(scatters.scatter, create.full((images, n), 0, input.dtype), at, values, 1, "drop")
    return shape.reshape(out, (*lead, *sizes))


@_max_unpool.defvjp
def _max_unpool_vjp(wanted, ct, ans, input, indices, sizes):
    """Each element gets the gradient of its place, also those that were written over, as in PyTorch."""
    lead = input.shape[: input.ndim - len(sizes)]
    n, images = math.prod(sizes), math.prod(lead)
    at = shape.reshape(indices, (images, indices.aval.size // images if images else 0))
    return shape.reshape(index.take_along(shape.reshape(ct, (images, n)), at, 1, "drop"), input.shape), None


def _unpooled_sizes(name, spatial, kernel, stride, padding, output_size):
    default = [(m - 1) * s + k - 2 * p for m, s, k, p in zip(spatial, stride, kernel, padding)]
    if output_size is None:
        sizes, n = default, len(kernel)
    else:
        sizes, n = (output_size,) if output_size.__class__ is int else tuple(output_size), len(kernel)
        require(len(sizes) in (n, n + 2), name, f"output_size must have {n} or {n + 2} elements, got {list(sizes)}", ValueError)
        sizes = sizes[-n:]
        for d, (m, size, s) in enumerate(zip(default, sizes, stride)):
            ok = m - s < size < m + s
            require(ok, name, f"invalid output_size {list(sizes)} (dim {d} must be between {m - s} and {m + s})", ValueError)
    require(min(sizes) >= 0, name, f"output_size must not be negative, got {list(sizes)}", ValueError)
    return tuple(sizes)


def _unpooling(n: int):
    name = f"max_unpool{n}d"

    def unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        require_arrays(name, input=input, indices=indices)
        require(indices.dtype is int64, name, f"elements in indices should be of type int64, got {shown(indices)}")
        kernel = per_dim(name, "kernel_size", kernel_size, n)
        stride = kernel if stride is None or stride == () else per_dim(name, "stride", stride, n)
        require(min(stride) > 0, name, f"strides should be greater than zero, got stride={stride}")
        require(input.ndim in (n + 1, n + 2), name, f"expected {n + 1}D (unbatched) or {n + 2}D (batched) input, got {shown(input)}")
        ok = input.shape == indices.shape
        require(ok, name, f"expected shape of indices to be that of input, {list(input.shape)}, got {shown(indices)}")
        sizes = _unpooled_sizes(name, input.shape[-n:], kernel, stride, per_dim(name, "padding", padding, n), output_size)
        return _max_unpool(input, indices, sizes)

    unpool.__name__ = unpool.__qualname__ = name
    unpool.op = _max_unpool.op
    unpool.__doc__ = f"""`max_pool{n}d` undone, as far as it can be: zeros with the elements of input at indices, as return_indices gives them.

    The size is (size - 1) stride - 2 padding + kernel_size unless output_size says otherwise (by less than a stride; ValueError).
    RuntimeError for indices of another shape, or out of range (unchecked under jit).

    >>> import functorch_lite as fl
    >>> F = fl.nn.functional
    >>> F.max_unpool1d(fl.asarray([[[5.0]]]), fl.asarray([[[1]]]), 2).tolist()
    [[[0.0, 5.0]]]
    """
    return unpool


max_unpool1d, max_unpool2d, max_unpool3d = map(_unpooling, (1, 2, 3))

# ---------------------------------------------------------------------------------------------------- at random places


@composite(namespace=_F, traits={"key": "key", "drawing": lambda n: True})
def pooling_fractions(input: Tensor, n: int, *, key: Tensor | None = None) -> Tensor:
    """Uniform numbers [N, C, n] for the images of input: what decides where `fractional_max_pool2d` puts its windows."""
    require(key is not None, "fractional_max_pool", "a draw needs key=, a key from fl.random.key, or _random_samples=", TypeError)
    lead = input.shape[: input.ndim - n]
    return uniform(key, (*(1,) * (2 - len(lead)), *lead, n), input.dtype)


def _window_starts(fractions, size, outputs, kernel):
    """Where the windows [N, C, outputs] along one dimension start: steps of alpha from a fraction on, the last at the end."""
    lead = (*fractions.shape, outputs)
    last = create.full(lead, size - kernel, int64)
    if outputs == 1:
        return last
    u = shape.broadcast(fractions, lead, (0, 1))
    i, step = create.iota(lead, 2, u.dtype), algebra.full_like(u, (size - kernel) / (outputs - 1))
    whole = lambda x: to_dtype(elementwise.mul(x, step), int64)
    starts = elementwise.sub(whole(elementwise.add(i, u)), whole(u))
    return compare.select(compare.eq(create.iota(lead, 2, int64), create.full(lead, outputs - 1, int64)), last, starts)


def _fractional_reference(x, samples, kernel, sizes):
    n = len(kernel)
    wide = x if x.ndim == n + 2 else x[None]
    out, where = np.zeros((*wide.shape[:2], *sizes), x.dtype), np.zeros((*wide.shape[:2], *sizes), np.int64)
    for image in np.ndindex(*wide.shape[:2]):
        starts = []
        for d in range(n):
            room, u = wide.shape[2 + d] - kernel[d], samples[image][_sample_of(d, n)]
            alpha = x.dtype.type(room / max(sizes[d] - 1, 1))
            starts.append([int((x.dtype.type(i) + u) * alpha) - int(u * alpha) for i in range(sizes[d] - 1)] + [room])
        for at in np.ndindex(*sizes):
            corner = [starts[d][i] for d, i in enumerate(at)]
            box = wide[(*image, *[slice(c, c + k) for c, k in zip(corner, kernel)])]
            best = np.unravel_index(box.argmax(), box.shape)
            out[(*image, *at)] = box[best]
            where[(*image, *at)] = np.ravel_multi_index([c + b for c, b in zip(corner, best)], wide.shape[2:])
    return (out, where) if x.ndim == n + 2 else (out[0], where[0])


def _sample_of(d, n):
    """Which of the fractions belongs to dimension d: PyTorch counts an image's backward, a volume's forward."""
    return n - 1 - d if n == 2 else d


@composite(namespace=_F, name="fractional_max_pool", multi=True, returns=MaxPool, reference=_fractional_reference)
def _fractional(input: Tensor, samples: Tensor, kernel: Dims, sizes: Dims) -> tuple:
    """The largest element of each window, and where it stood; `samples` decide where the windows start (Graham, 2014)."""
    n, name = len(kernel), f"fractional_max_pool{len(kernel)}d"
    require_arrays(name, input=input, _random_samples=samples)
    require_floating(name, input)
    x, added = batched(name, input, n)
    require(0 not in x.shape[1:], name, f"expected input whose dimensions apart from the batch have positive length, got {shown(input)}")
    require(samples.dtype is input.dtype, name, f"expected _random_samples to have the dtype of input, got {shown(input, samples)}")
    ok = samples.ndim == 3 and samples.shape[0] >= x.shape[0] and samples.shape[1:] == (x.shape[1], n)
    require(ok, name, f"expected _random_samples [N, C, {n}] = {[*x.shape[:2], n]}, or for more images, got {shown(samples)}")
    samples = shape.part(samples, 0, 0, x.shape[0])
    ok = min(*kernel, *sizes) > 0 and all(s + k - 1 <= m for s, k, m in zip(sizes, kernel, x.shape[2:]))
    require(ok, name, f"kernel_size={kernel} and output_size={sizes} are too large for input {shown(input)}, or not positive")
    whole = (*x.shape[:2], *sizes, *kernel)
    place, stride = create.full(whole, 0, int64), 1
    for d in reversed(range(n)):
        k = _sample_of(d, n)
        fractions = shape.reshape(shape.part(create.detach(samples), 2, k, k + 1), samples.shape[:2])
        starts = shape.broadcast(_window_starts(fractions, x.shape[d + 2], sizes[d], kernel[d]), whole, (0, 1, d + 2))
        at = elementwise.add(starts, create.iota(whole, n + 2 + d, int64))
        place = elementwise.add(place, elementwise.mul(at, algebra.full_like(at, stride)))
        stride *= x.shape[d + 2]
    outs = (*x.shape[:2], *sizes)
    place = shape.reshape(place, (*x.shape[:2], math.prod(sizes), math.prod(kernel)))
    values = picked(create.detach(x), place)
    best = shape.reshape(reduce.argmax(values, 3), (*place.shape[:3], 1))
    place = shape.reshape(index.take_along(place, best, 3, "inside"), outs)
    return unbatched(picked(x, place), added), unbatched(place, added)


def _fractional_sizes(name, spatial, output_size, output_ratio, n):
    ok = (output_size is None) != (output_ratio is None)
    require(ok, name, "requires specifying either an output_size or an output_ratio", ValueError)
    if output_size is not None:
        return per_dim(name, "output_size", output_size, n)
    ratios = tuple(output_ratio) if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * n
    ok = len(ratios) == n and all(0 < r < 1 for r in ratios)
    require(ok, name, f"output_ratio must be a number between 0 and 1 or {n} of them, got {output_ratio}", ValueError)
    return tuple([int(m * r) for m, r in zip(spatial, ratios)])


def _fractional_pooling(n: int):
    name = f"fractional_max_pool{n}d"

    def pool_with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None, *, key=None):
        sizes = _fractional_sizes(name, input.shape[-n:], output_size, output_ratio, n)
        samples = pooling_fractions(input, n, key=key) if _random_samples is None else _random_samples
        return _fractional(input, samples, per_dim(name, "kernel_size", kernel_size, n), sizes)

    def pool(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None, *, key=None):
        out = pool_with_indices(input, kernel_size, output_size, output_ratio, True, _random_samples, key=key)
        return out if return_indices else out.output

    pool.__doc__ = f"""The largest element of each of output_size windows at random places of input [N, C, *] (or [C, *]) (Graham, 2014).

    output_size, or output_ratio of input's size; windows are kernel_size. Where they are depends on numbers [N, C, {n}] in [0, 1):
    ``_random_samples``, or drawn by key (a function of it; TypeError without either). With return_indices also where each maximum
    stood in its flattened image, as a named tuple (output, indices).

    >>> import functorch_lite as fl
    >>> fl.nn.functional.{name}(fl.ones(1, 2, {", ".join(["6"] * n)}), 2, 3, key=fl.random.key(0)).shape
    (1, 2, {", ".join(["3"] * n)})
    """
    pool.__name__ = pool.__qualname__ = name
    pool_with_indices.__name__ = pool_with_indices.__qualname__ = f"{name}_with_indices"
    pool_with_indices.__doc__ = f"`{name}` with return_indices."
    pool.op = pool_with_indices.op = _fractional.op
    return pool, pool_with_indices


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional_pooling(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional_pooling(3)

# ------------------------------------------------------------------------------------------------------------ norms


def _norm_pooling(n: int, average):
    name = f"lp_pool{n}d"

    def f(input: Tensor, norm_type: float, kernel_size: Dims, stride: Dims | None = None, ceil_mode: bool = False) -> Tensor:
        require_arrays(name, input=input)
        require_floating(name, input)
        mean = average(pow(input, norm_type), kernel_size, stride, 0, ceil_mode)
        total = elementwise.scaled(mean, math.prod(per_dim(name, "kernel_size", kernel_size, n)))
        return pow(total, 1 / norm_type)

    def reference(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        mean = average.op.reference(input**norm_type, kernel_size, stride, 0, ceil_mode)
        return (mean * math.prod(per_dim("", "", kernel_size, n))) ** (1 / norm_type)

    f.__name__ = name
    f.__doc__ = f"""(sum of x^norm_type)^(1 / norm_type) over each window of input [N, C, *] (or [C, *]) with {n} spatial dimensions.

    Windows are those of `avg_pool{n}d`; one that ceil_mode lets reach beyond the end counts as if it were full, as in PyTorch.

    >>> import functorch_lite as fl
    >>> fl.nn.functional.lp_pool1d(fl.asarray([[3.0, 4.0]]), 2, 2).tolist()
    [[5.0]]
    """
    return composite(f, namespace=_F, reference=reference)


lp_pool1d, lp_pool2d, lp_pool3d = (_norm_pooling(n, average) for n, average in enumerate((avg_pool1d, avg_pool2d, avg_pool3d), 1))

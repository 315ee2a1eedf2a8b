"""associative_scan: prefix results of an associative function in logarithmic depth."""

from __future__ import annotations

from collections.abc import Callable

from ..core import pytree
from ..core.array import asarray
from ..core.interpreter import name_of
from ..prims import shape
from .arguments import callable_or_raise, is_array


def associative_scan(f: Callable, elems, dim: int = 0, reverse: bool = False):
    """``[e0, f(e0, e1), f(f(e0, e1), e2), ...]`` along `dim`, f associative, in a logarithmic number of batched calls.

    `elems` is a pytree of Arrays of one size along `dim`; f takes two such trees (of any size along `dim`) and works on them
    elementwise along it. With ``reverse`` it runs from the end. (Blelloch, "Prefix sums and their applications", 1990.)

    >>> import functorch_lite as fl
    >>> fl.associative_scan(lambda a, b: a + b, fl.asarray([1.0, 2.0, 3.0])).tolist()
    [1.0, 3.0, 6.0]
    """
    callable_or_raise("associative_scan", f)
    leaves, spec = pytree.flatten(elems)
    for path, x in pytree.leaves_with_path(elems):
        if not is_array(x) or asarray(x).ndim == 0:
            raise TypeError(f"associative_scan: elems{path} must be an Array with at least one dimension, got {pytree.describe(x)}")
    leaves = [asarray(x) for x in leaves]
    dims = []
    for x in leaves:
        if not -x.ndim <= dim < x.ndim:
            raise IndexError(f"associative_scan: dim={dim} is no dimension of {x.aval}")
        dims.append(dim % x.ndim)
    sizes = {x.shape[d] for x, d in zip(leaves, dims)}
    if len(sizes) != 1:
        raise ValueError(f"associative_scan: expected one size along dim={dim}, got {sorted(sizes)}")

    def combine(xs, ys):
        out = f(spec.unflatten(ys), spec.unflatten(xs)) if reverse else f(spec.unflatten(xs), spec.unflatten(ys))
        return [asarray(x) for x in pytree.match(spec, out, f"associative_scan: the output of {name_of(f)}", exact=True)]

    def every_other(xs, start, stop):
        return [_strided(x, d, start, stop) for x, d in zip(xs, dims)]

    def prefixes(xs):
        n = xs[0].shape[dims[0]]
        if n < 2:
            return xs
        odd = prefixes(combine(every_other(xs, 0, n - 1), every_other(xs, 1, n)))  # prefixes that end at odd places
        later = every_other(xs, 2, n)  # the elements at even places but the first
        count = (n - 1) // 2
        even = combine([shape.part(x, d, 0, count) for x, d in zip(odd, dims)], later) if count else later
        first = [shape.part(x, d, 0, 1) for x, d in zip(xs, dims)]
        even = [shape.concatenate([a, b], d) for a, b, d in zip(first, even, dims)]
        return [_interleaved(a, b, d) for a, b, d in zip(even, odd, dims)]

    if reverse:
        leaves = [shape.flip(x, (d,)) for x, d in zip(leaves, dims)]
    out = prefixes(leaves)
    return spec.unflatten([shape.flip(x, (d,)) for x, d in zip(out, dims)] if reverse else out)


def _strided(x, d: int, start: int, stop: int):
    """Every second element along one dimension."""
    starts, limits, strides = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts[d], limits[d], strides[d] = start, max(stop, start), 2
    return shape.slice_(x, tuple(starts), tuple(limits), tuple(strides))


def _interleaved(a, b, d: int):
    """a0 b0 a1 b1 ... along one dimension, where a has as many elements as b or one more."""
    n = b.shape[d]
    pair = [shape.reshape(shape.part(x, d, 0, n), (*x.shape[:d], n, 1, *x.shape[d + 1 :])) for x in (a, b)]
    woven = shape.concatenate(pair, d + 1)
    woven = shape.reshape(woven, (*b.shape[:d], 2 * n, *b.shape[d + 1 :]))
    return woven if a.shape[d] == n else shape.concatenate([woven, shape.part(a, d, n, n + 1)], d)

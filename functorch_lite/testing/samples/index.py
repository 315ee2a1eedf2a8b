"""Samples of gather, the scatters and dynamic slices."""

from __future__ import annotations

import numpy as np

from ...core.dtype import bool_, complex128, float32, float64, int64
from ...prims import index, scatters
from ...prims.places import result_shape
from ..table import NUMBERS, Sample, array, row
from .reduce import distinct

ANY = (float32, float64, int64, complex128, bool_)
APART = ((), ())
PLACES = (  # shape of x, shape of the index arrays, dims, sizes, batch, at
    ((3,), (2,), (0,), (0,), APART, 0),
    ((2, 3), (2, 2), (1,), (0,), APART, 1),
    ((2, 3), (3,), (1, 0), (0, 0), APART, 0),
    ((2, 4, 3), (2,), (1, 2), (2, 0), APART, 1),
    ((2, 4, 3), (2, 3), (1,), (0,), ((0,), (0,)), 1),
    ((2, 4, 3), (3, 2), (1,), (0,), ((2, 0), (0, 1)), 0),
    ((3,), (), (0,), (2,), APART, 0),
    ((2, 3), (0,), (0,), (0,), APART, 0),
    ((0, 2), (3,), (1,), (0,), APART, 0),
)
BEYOND = ("wrap", "clip", "drop")


def places(rng):
    """(shape of x, index arrays, parameters), with indices that may repeat; then those outside x, and those that are unique."""
    for s, i, dims, sizes, *rest in PLACES:
        columns = [rng.integers(0, s[d] - max(n, 1) + 1, i) for d, n in zip(dims, sizes)]
        yield s, columns, (dims, sizes, *rest)
    for mode in BEYOND:
        columns = [rng.integers(-3, 3, (2, 2)) if mode == "wrap" else rng.integers(-5, 9, (2, 2))]
        yield (3, 2), columns, ((0,), (0,), APART, 1, mode)
    yield (3, 2), [rng.permutation(3)[:2].astype(np.int32)], ((0,), (0,), APART, 0, "check", True)


def gathers(rng, dtype):
    for s, columns, rest in places(rng):
        yield Sample(array(rng, s, dtype), columns, *rest)


def writes(values, differentiable=lambda dtype: True):
    def samples(rng, dtype):
        for s, columns, rest in places(rng):
            updates = result_shape(np.empty(s), columns[0].shape, *rest)
            both = values(rng, (int(np.prod(s)) + int(np.prod(updates)),), dtype)  # drawn together, so that they differ
            x, u = np.split(both, [int(np.prod(s))])
            yield Sample(x.reshape(s), u.reshape(updates), columns, *rest, differentiable=differentiable(dtype))

    return samples


def factors(rng, dtype):
    """Also several updates to one element, zeros among them."""
    yield from writes(array)(rng, dtype)
    for updates in ([0, 2, 1.5, 3], [0, 2, 0, 3]):
        yield Sample(array(rng, (2,), dtype), np.array(updates, dtype.dtype), [np.array([0, 0, 1, 0])], (0,), (0,))


BLOCKS = (((3,), (2,)), ((4, 5), (2, 5)), ((4, 5), (3, 2)), ((), ()), ((0, 2), (0, 1)), ((2, 3), (2, 3)))


def starts(rng, shape):
    """Before, in and behind x; of several integer dtypes."""
    return [np.asarray(rng.integers(-2, n + 2), np.int64 if d else np.int32) for d, n in enumerate(shape)]


def blocks(rng, dtype):
    for s, sizes in BLOCKS:
        yield Sample(array(rng, s, dtype), starts(rng, s), sizes)


def updates(rng, dtype):
    for s, sizes in BLOCKS:
        yield Sample(array(rng, s, dtype), array(rng, sizes, dtype), starts(rng, s))


row(index.gather, gathers, ANY)
row(scatters.scatter, writes(array), ANY)
row(scatters.scatter_add, writes(array), NUMBERS)
row(scatters.scatter_mul, factors, NUMBERS)
for function in (scatters.scatter_max, scatters.scatter_min):
    row(function, writes(distinct, lambda dtype: dtype.is_inexact), (float32, float64, int64))
row(index.dynamic_slice, blocks, ANY)
row(index.dynamic_update_slice, updates, ANY)

"""Samples of reductions."""

from __future__ import annotations

import numpy as np

from ...core.dtype import bool_, float32, float64, int64, uint8
from ...prims import reduce
from ..table import NUMBERS, Sample, array, row

ORDERED = (float32, float64, int64, uint8, bool_)
REDUCTIONS = (((3,), (0,)), ((2, 3), (1,)), ((2, 3), (0, 1)), ((2, 3, 2), (2, 0)), ((2, 3), ()), ((), ()))
EMPTY = (((0, 2), (0,)), ((0, 2), (1,)))


def reductions(rng, dtype):
    return [Sample(array(rng, s, dtype), dims) for s, dims in (*REDUCTIONS, *EMPTY)]


def products(rng, dtype):
    """Also with a zero, and with two."""
    yield from reductions(rng, dtype)
    x = array(rng, (3, 3), dtype, 1, 2)
    x[0, 1] = x[1, 0] = x[1, 2] = 0
    yield Sample(x, (1,))


def extrema(rng, dtype):
    """Elements in a random order, so that none tie where they are differentiated; ties and NaN."""
    for s, dims in (*REDUCTIONS, EMPTY[1]):
        if 0 not in [s[d] for d in dims]:
            yield Sample(distinct(rng, s, dtype), dims, differentiable=dtype.is_inexact)
    if dtype.is_inexact:
        for x in UNUSUAL:
            yield Sample(np.array(x, dtype.dtype), (1,), differentiable=False)
            yield Sample(np.array(x, dtype.dtype), (0,), differentiable=False)


def numbers(rng, dtype):
    """The extrema without NaN."""
    return [s for s in extrema(rng, dtype) if not np.isnan(s.args[0]).any()]


def positions(rng, dtype):
    for sample in extrema(rng, dtype):
        if len(sample.args[1]) == 1:
            yield Sample(sample.args[0], sample.args[1][0])


def distinct(rng, shape, dtype):
    """Values of which no two are near."""
    n = int(np.prod(shape))
    if not dtype.is_inexact:
        return array(rng, shape, dtype)
    return ((rng.permutation(n) + rng.uniform(-0.3, 0.3, n)) / max(n, 1) * 4 - 2).reshape(shape).astype(dtype.dtype)


UNUSUAL = (([1, np.nan, 2], [2, 2, 1]), ([np.inf, -np.nan, -np.inf], [-np.inf, -np.inf, -np.inf]))

row(reduce.reduce_sum, reductions, NUMBERS)
row(reduce.reduce_prod, products, NUMBERS)
for function in (reduce.reduce_max, reduce.reduce_min):
    row(function, extrema, ORDERED)
row(reduce.peak, numbers, ORDERED, skip={"jvp": "it has no derivative by definition, its values move"})
for function in (reduce.argmax, reduce.argmin):
    row(function, positions, ORDERED)
for function in (reduce.reduce_any, reduce.reduce_all):
    row(function, reductions, (bool_,))

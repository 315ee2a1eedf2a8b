"""Samples of cumulative prims, sorting and top k."""

from __future__ import annotations

import numpy as np

from ...core.dtype import bool_, complex128, float32, float64, int64, uint8
from ...prims import order
from ..table import INEXACT, NUMBERS, Sample, array, row
from .reduce import UNUSUAL, distinct

ALONG = (((3,), 0), ((2, 3), 0), ((2, 3), 1), ((0, 2), 0), ((0, 2), 1))


def along(rng, dtype):
    for s, dim in ALONG:
        for reverse in (False, True):
            yield Sample(array(rng, s, dtype), dim, reverse)


def with_zeros(rng, dtype):
    yield from along(rng, dtype)
    x = array(rng, (2, 5), dtype, 1, 2)
    x[0, 1] = x[1, 2] = x[1, 4] = 0
    for reverse in (False, True):
        yield Sample(x, 1, reverse)


def pairs_along(rng, dtype):
    for s, dim in ALONG:
        for reverse in (False, True):
            yield Sample(array(rng, s, dtype), array(rng, s, dtype), dim, reverse)


def distinct_along(rng, dtype):
    for s, dim in ALONG:
        for reverse in (False, True):
            yield Sample(distinct(rng, s, dtype), dim, reverse, differentiable=dtype.is_inexact)
    yield Sample(np.array([1, 1, 0, 1, 0, 0], dtype.dtype), 0, differentiable=False)
    if dtype.is_inexact:
        for x in UNUSUAL:
            yield Sample(np.array(x, dtype.dtype), 1, differentiable=False)


def sorts(rng, dtype):
    for s, dim in ALONG:
        for descending in (False, True):
            yield Sample([keys(rng, s, dtype)], dim, 1, descending)
    for descending in (False, True):  # ties are told apart by a second key, or keep their order
        x, first = keys(rng, (2, 5), dtype), array(rng, (2, 5), bool_)
        yield Sample([first, x, array(rng, (2, 5), float64)], 1, 2, descending)
        yield Sample([first, array(rng, (2, 5), dtype)], 1, 1, descending)
    if dtype.is_inexact and not dtype.is_complex:
        for x in UNUSUAL:
            yield Sample([np.array(x, dtype.dtype), np.arange(6).reshape(2, 3)], 1, differentiable=False)


def keys(rng, shape, dtype):
    return array(rng, shape, dtype) if dtype.is_complex else distinct(rng, shape, dtype)


def tops(rng, dtype):
    for s, k in (((3,), 2), ((2, 3), 3), ((2, 3), 0), ((0, 2), 1)):
        yield Sample(distinct(rng, s, dtype), k, differentiable=dtype.is_inexact)
    yield Sample(np.array([1, 0, 1, 0, 1], dtype.dtype), 4, differentiable=False)
    if dtype.is_inexact:
        for x in UNUSUAL:
            yield Sample(np.array(x, dtype.dtype), 2, differentiable=False)


row(order.cumsum, along, NUMBERS)
row(order.cumprod, with_zeros, NUMBERS)
row(order.cumlogsumexp, along, INEXACT)
row(order.linear_recurrence, pairs_along, INEXACT)
for function in (order.cummax, order.cummin):
    row(function, distinct_along, (float32, float64, int64, bool_))
row(order.sort, sorts, (float32, float64, int64, uint8, complex128, bool_))
row(order.top_k, tops, (float32, float64, int64, uint8))

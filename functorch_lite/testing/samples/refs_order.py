"""Samples of the refs along one dimension: cumulative ones, sorting, selecting, searching."""

from __future__ import annotations

import numpy as np

from ...core.dtype import bool_, float32, float64, int64, uint8
from ...refs import order
from ..table import INEXACT, NUMBERS, REAL, Sample, array, row
from .reduce import UNUSUAL, distinct

ORDERED = (float32, float64, int64, uint8)
ALONG = (((3,), 0), ((2, 3), 0), ((2, 3), -1), ((0, 2), 0), ((), -1))


def along(values=array, **statics):
    """Samples of an op along a dimension."""
    return lambda rng, dtype: [Sample(values(rng, s, dtype), d, **statics) for s, d in ALONG]


def untied(rng, dtype):
    for s, d in ALONG:
        yield Sample(distinct(rng, s, dtype), d, differentiable=dtype.is_inexact)
    if dtype.is_inexact:
        for x in UNUSUAL:
            yield Sample(np.array(x, dtype.dtype), 1, differentiable=False)


def sorts(rng, dtype):
    for descending in (False, True):
        for sample in untied(rng, dtype):
            yield Sample(*sample.args, descending, differentiable=sample.differentiable)


def tops(rng, dtype):
    for s, k, d in (((3,), 2, -1), ((2, 3), 1, 0), ((2, 3), 2, -1), ((), 1, 0)):
        for largest in (True, False):
            yield Sample(distinct(rng, s, dtype), k, d, largest, differentiable=dtype.is_inexact)


def kths(rng, dtype):
    for s, k, d, keep in (((3,), 2, -1, False), ((2, 3), 1, 0, True), ((2, 3), 3, -1, False), ((), 1, 0, False)):
        yield Sample(distinct(rng, s, dtype), k, d, keep, differentiable=dtype.is_inexact)


def searches(rng, dtype):
    for edges, x in (((5,), (2, 3)), ((5,), ()), ((2, 4), (2, 3)), ((0,), (3,)), ((1,), (3,))):
        for right in (False, True):
            yield Sample(np.sort(array(rng, edges, dtype), -1), array(rng, x, dtype), right=right)


row(order.cumsum, along(), NUMBERS)
row(order.cumprod, along(), NUMBERS)
row(order.logcumsumexp, along(), INEXACT)
for function in (order.cummax, order.cummin):
    row(function, untied, (float32, float64, int64, bool_))
row(order.sort, sorts, ORDERED)
row(order.argsort, sorts, ORDERED)
row(order.msort, lambda rng, dtype: [Sample(distinct(rng, s, dtype)) for s in ((3,), (2, 3))], REAL)
row(order.topk, tops, ORDERED)
row(order.kthvalue, kths, ORDERED)
row(order.searchsorted, searches, (float32, float64, int64))

"""Samples of the refs that reduce dimensions: dims in every form, kept or not; no elements, no dimensions, ties and NaN."""

from __future__ import annotations

import numpy as np

from ...core.dtype import bool_, float32, float64, int64, uint8
from ...refs import extreme, reduce
from ..table import INEXACT, NUMBERS, REAL, Sample, array, row
from .elementwise import away_from_zero
from .reduce import UNUSUAL, distinct

ORDERED = (float32, float64, int64, uint8)
FORMS = (((3,), None, False), ((2, 3), -1, True), ((2, 3), (1, 0), False), ((2, 3), 0, False), ((), None, False), ((), -1, True))
NONE = (((0, 2), 0, False), ((0, 2), None, False))


def forms(values=array, empty=True, **statics):
    """Samples of a reduction: (input, dim, keepdim)."""
    return lambda rng, dtype: [Sample(values(rng, s, dtype), d, k, **statics) for s, d, k in (*FORMS, *(NONE if empty else NONE[:1]))]


def one_dim(values=array):
    """Samples of a reduction along one dimension."""
    shapes = (((3,), 0, False), ((2, 3), -1, True), ((2, 3), 0, False), ((), 0, False))
    return lambda rng, dtype: [Sample(values(rng, s, dtype), d, k) for s, d, k in shapes]


def untied(sampler):
    """The samples are differentiable where no elements tie; and some that are not, with ties and NaN."""

    def both(rng, dtype):
        for sample in sampler(rng, dtype):
            yield Sample(*sample.args, differentiable=dtype.is_inexact, **sample.kwargs)
        for x in UNUSUAL if dtype.is_inexact else ():
            yield Sample(np.array(x, dtype.dtype), 1, differentiable=False)

    return both


def without_empty(values):
    return lambda rng, dtype: [s for s in forms(values)(rng, dtype) if s.args[0].size]


def means(rng, dtype):
    yield from without_empty(array)(rng, dtype)
    for d in (0, 1):  # the mean of no elements is NaN
        yield Sample(array(rng, (0, 2), dtype), d, differentiable=False)


for function in (reduce.sum, reduce.nansum):
    row(function, forms(), (*NUMBERS, bool_, uint8))
row(reduce.prod, forms(away_from_zero), NUMBERS)
row(reduce.mean, means, INEXACT)
row(reduce.nanmean, without_empty(array), REAL)
for function in (reduce.any, reduce.all):
    row(function, forms(), (bool_, int64, float64))
row(reduce.count_nonzero, lambda rng, dtype: [Sample(array(rng, s, dtype), d) for s, d, _ in (*FORMS, *NONE)], (*NUMBERS, bool_))


def variances(rng, dtype):
    for s, d, k in (((3,), None, False), ((2, 3), -1, True), ((4, 3), (0, 1), False)):
        for correction in (0, 1):
            yield Sample(array(rng, s, dtype), d, correction=correction, keepdim=k)


for function in (reduce.var, reduce.std, reduce.var_mean, reduce.std_mean):
    row(function, variances, INEXACT)


def log_sums(rng, dtype):
    for s, d, k in (((3,), 0, False), ((2, 3), -1, True), ((2, 3), (1, 0), False), ((), 0, False)):
        yield Sample(array(rng, s, dtype), d, k)
    yield Sample(np.array([[-np.inf, 1, 0], [-np.inf, -np.inf, -np.inf], [np.inf, 1, 2]], dtype.dtype), 1, differentiable=False)


row(reduce.logsumexp, log_sums, REAL)


def norms(rng, dtype):
    for p in ("fro", 1, 2, 3.5, 0, np.inf, -np.inf):
        for s, d, k in (((3,), None, False), ((2, 3), -1, True), ((2, 3), (0, 1), False)):
            x = away_from_zero(rng, s, dtype)
            yield Sample(x * (1 + np.arange(x.size).reshape(s)).astype(dtype.dtype), p, d, k)


row(reduce.norm, norms, INEXACT)

for function in (extreme.amax, extreme.amin):
    row(function, untied(without_empty(distinct)), ORDERED)
for function in (extreme.argmax, extreme.argmin):
    row(function, one_dim(distinct), ORDERED)
    row(function, lambda rng, dtype: [Sample(distinct(rng, s, dtype), None, True) for s in ((2, 3), ())], ORDERED)
for function in (extreme.max_dim, extreme.min_dim):
    row(function, untied(one_dim(distinct)), ORDERED)
row(
    extreme.aminmax,
    lambda rng, dtype: [Sample(distinct(rng, (2, 3), dtype), dim=d, keepdim=k) for d in (None, 1) for k in (False, True)],
    ORDERED,
)

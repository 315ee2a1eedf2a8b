"""Samples of sliding windows."""

from __future__ import annotations

import numpy as np

from ...core.dtype import bool_, float32, float64, int64, uint8
from ...prims import window, window_choice
from ..table import NUMBERS, Sample, array, row
from .reduce import distinct

WINDOWS = (  # shape; window, strides, padding, base dilation, window dilation
    ((2, 5, 6), ((1, 2, 2), (1, 2, 2), ((0, 0), (0, 0), (0, 0)), (1, 1, 1), (1, 1, 1))),
    ((5, 6), ((3, 3), (2, 1), ((1, 1), (0, 2)), (1, 1), (1, 1))),
    ((5, 6), ((2, 3), (1, 2), ((-1, 1), (2, -1)), (1, 1), (2, 2))),
    ((4,), ((2,), (1,), ((1, 1),), (2,), (1,))),
    ((2, 3), ((1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1))),
    ((2, 3), ((3, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1))),  # larger than x: there is none
    ((70,), ((66,), (2,), ((1, 1),), (1,), (1,))),
    ((), ((), (), (), (), ())),
    ((0, 2), ((1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1))),
)


def sums(rng, dtype):
    return [Sample(array(rng, s, dtype), *spec) for s, spec in WINDOWS]


def extrema(rng, dtype):
    for s, spec in WINDOWS:
        yield Sample(distinct(rng, s, dtype), *spec, differentiable=dtype.is_inexact)
    for x in ([1, 1, 0, 0, 1], [np.nan, 1, 2, 3, np.nan], [-np.inf, -np.inf, 1, np.inf, np.inf])[: 3 if dtype.is_inexact else 1]:
        yield Sample(np.array(x, dtype.dtype), (2,), (1,), ((1, 0),), (1,), (1,), differentiable=False)


def positions(rng, dtype):
    for sample in extrema(rng, dtype):
        x, *spec = sample.args
        yield Sample(x, window.window_max.op.reference(x, *spec), *spec, tuple(range(x.ndim))[-2:])


row(window.window_sum, sums, NUMBERS)
for function in (window.window_max, window.window_min):
    row(function, extrema, (float32, float64, int64, uint8, bool_))
row(window.window_position, positions, (float32, int64))


def winners(rng, dtype):
    for sample in extrema(rng, dtype):
        for largest in (True, False):
            yield Sample(*sample.args, largest)


def picks(rng, dtype):
    for s, spec in WINDOWS:
        x = array(rng, s, dtype)
        counts = window.window_sum.op.reference(x, *spec).shape
        yield Sample(x, rng.integers(0, np.prod(spec[0], dtype=int) + 1, counts).astype(np.int32), *spec)


def puts(rng, dtype):
    for sample in picks(rng, dtype):
        x, winner, *spec = sample.args
        yield Sample(array(rng, winner.shape, dtype), winner, *spec, x.shape)


row(window_choice.window_winner, winners, (float32, int64))
row(window_choice.window_pick, picks, NUMBERS)
row(window_choice.window_put, puts, NUMBERS)

"""Samples of what prims/reflectors.py factors: reflectors, pivoted L D L^T, and leading minors."""

from __future__ import annotations

import numpy as np

from ...core.dtype import float64, int32
from ...prims import reflectors
from ..table import Sample, array, row
from .linalg import EVERY, OBLONGS, SQUARES


def oblongs(rng, dtype):
    return [Sample(array(rng, s, dtype), held=(0,)) for s in (*OBLONGS, (1, 1))]


def symmetric(rng, shape, dtype, hermitian: bool, zero_diagonal: bool):
    """A matrix that is given by its lower triangle; with zeros on the diagonal, it needs pivots of 2."""
    x = array(rng, shape, dtype)
    mask = np.eye(shape[-1], dtype=bool)
    return np.where(mask, 0 if zero_diagonal else x.real if hermitian else x, x).astype(x.dtype)


def symmetrics(rng, dtype):
    for shape in (*SQUARES, (5, 5)):
        for hermitian in (False, True):
            for zero_diagonal in (False, True):
                yield Sample(symmetric(rng, shape, dtype, hermitian, zero_diagonal), hermitian, held=(0,))


def ldl_pivots(rng, dtype):
    for shape in ((5, 5), (2, 4, 4), (0, 0), (1, 1)):
        yield Sample(reflectors.ldl.op.reference(symmetric(rng, shape, float64, False, True), False)[1])
        yield Sample(reflectors.ldl.op.reference(symmetric(rng, shape, float64, False, False), False)[1])


def indefinite(rng, dtype):
    for shape in SQUARES:
        x = array(rng, shape, dtype)
        positive = x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1], dtype=x.dtype)
        yield Sample(positive)
        positive[..., 1:2, 1:2] -= 40
        yield Sample(positive)


row(reflectors.geqrf, oblongs, dtypes=EVERY, tolerance=10)
row(reflectors.ldl, symmetrics, dtypes=EVERY, tolerance=100)
row(reflectors.interchanges, ldl_pivots, dtypes=(int32,))
row(reflectors.leading_minor, indefinite, dtypes=EVERY)

"""Samples of conversion between dtypes, by value and by bits."""

from __future__ import annotations

import numpy as np

from ...core.dtype import bool_, complex64, complex128, float16, float32, float64, int8, int32, int64, uint8
from ...prims import convert
from ..table import SHAPES, Sample, array, row

TARGETS = (bool_, uint8, int8, int32, int64, float16, float32, float64, complex64, complex128)


def targets(rng, dtype):
    for s in SHAPES:
        for target in TARGETS:
            # a derivative in less than float64 is too coarse for finite differences
            yield Sample(array(rng, s, dtype, -9, 9), dtype=target, differentiable=target in (float64, complex128))


def narrowing(rng, dtype):
    """Numbers that do not fit: integers wrap around."""
    yield Sample(np.array([300, -1.5, 127.9, -129], dtype.dtype), dtype=uint8, differentiable=False)
    yield Sample(np.array([300, -1.5, 127.9, -129], dtype.dtype), dtype=int8, differentiable=False)


def to_bool(rng, dtype):
    parts = [0, 1, np.nan, 0.25] if not dtype.is_complex else [0, 1j, np.nan, 2]
    yield Sample(np.array(parts, dtype.dtype), dtype=bool_, differentiable=False)


def bits_as(*dtypes):
    """To dtypes of other categories only: between floats, finite differences would see the identity."""
    return lambda rng, dtype: [Sample(array(rng, s, dtype), dtype=d) for d in dtypes for s in SHAPES]


def joined(target):
    """Pairs of elements that make one twice as wide."""
    return lambda rng, dtype: [Sample(array(rng, s, dtype), dtype=target) for s in ((3, 2), (2,), (0, 2))]


row(convert.convert, targets, (float32, float64, int64, uint8, bool_, complex128))
row(convert.convert, narrowing, (float32, float64))
row(convert.convert, to_bool, (float32, float64, complex64, complex128))
row(convert.bitcast, bits_as(uint8, int32, int64), (float64,))
row(convert.bitcast, bits_as(int8, bool_), (uint8,))
row(convert.bitcast, bits_as(uint8, float32), (int32,))
row(convert.bitcast, joined(float64), (int32,))
row(convert.bitcast, joined(int32), (float16,))
row(convert.bitcast, bits_as(uint8, int8, bool_), (bool_,))

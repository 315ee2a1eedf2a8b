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


def same_width(*dtypes):
    return lambda rng, dtype: [Sample(array(rng, s, dtype), dtype=d, differentiable=False) for d in dtypes for s in SHAPES]


def other_width(rng, dtype):
    yield Sample(array(rng, (2, 3), dtype), dtype=uint8)
    yield Sample(array(rng, (2, 2), dtype), dtype=float64)
    yield Sample(array(rng, (2,), dtype), dtype=int64)


row(convert.convert, targets, (float32, float64, int64, uint8, bool_, complex128))
row(convert.convert, narrowing, (float32, float64))
row(convert.convert, to_bool, (float32, float64, complex64, complex128))
row(convert.bitcast, same_width(int32, float32), (float32, int32))
row(convert.bitcast, same_width(int64, float64), (float64, int64))
row(convert.bitcast, same_width(uint8, int8, bool_), (bool_,))
row(convert.bitcast, other_width, (float32, int32))
row(convert.bitcast, same_width(complex128), (complex128,))

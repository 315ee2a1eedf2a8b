"""Samples of bit operations."""

from __future__ import annotations

import numpy as np

from ...core.dtype import bool_, int8, int32, int64, uint8
from ...prims import bits
from ..table import SHAPES, Sample, array, binary, row, unary

INTEGERS = (int8, uint8, int32, int64)


def shifts(rng, dtype):
    for s in SHAPES:
        yield Sample(array(rng, s, dtype, -100, 100), array(rng, s, dtype, 0, 7))
    width = 8 * dtype.itemsize
    yield Sample(np.array([1, 100, 5, 5], dtype.dtype), np.array([width - 1, width, width + 1, 100], dtype.dtype))


for function in (bits.bitwise_and, bits.bitwise_or, bits.bitwise_xor):
    row(function, binary(-100, 100), (*INTEGERS, bool_))
row(bits.bitwise_not, unary(-100, 100), (*INTEGERS, bool_))
for function in (bits.shift_left, bits.shift_right_arithmetic, bits.shift_right_logical):
    row(function, shifts, INTEGERS)
for function in (bits.population_count, bits.clz):
    row(function, unary(-100, 100), INTEGERS)

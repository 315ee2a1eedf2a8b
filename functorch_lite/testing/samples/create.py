"""Samples of what makes arrays of nothing, and of `detach` and `graft`."""

from __future__ import annotations

from ... import prims
from ...core.dtype import bool_, complex128, float32, float64, int32, int64
from ..table import INEXACT, NUMBERS, Sample, binary, row, unary

row(
    prims.create.full,
    lambda rng, dtype: [Sample(s, 3, dtype) for s in ((3,), (), (0, 2))],
    dtypes=(bool_, int64, float32, float64, complex128),
)
row(
    prims.create.iota,
    lambda rng, dtype: [Sample((3,), 0, dtype), Sample((2, 3), 0, dtype), Sample((2, 3), 1, dtype), Sample((0, 2), 1, dtype)],
    dtypes=(int32, int64, float32, float64),
)
row(
    prims.create.graft,
    binary(),
    dtypes=INEXACT,
    skip={"jvp": "its derivative is that of another function by definition"},
)
row(prims.create.detach, unary(), dtypes=NUMBERS, skip={"jvp": "its derivative is zero by definition, its values move"})

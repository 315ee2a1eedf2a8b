"""Samples of contractions."""

from __future__ import annotations

import numpy as np

from ...core.dtype import bfloat16, int32, uint8
from ...prims.contract import dot_general
from ..table import NUMBERS, Sample, array, row

DOTS = (  # shapes, contract, batch
    ((2, 3), (3, 4), ((1,), (0,)), ((), ())),
    ((3,), (3,), ((0,), (0,)), ((), ())),
    ((2, 3, 2), (2, 2, 3), ((1,), (2,)), ((0,), (0,))),
    ((3, 2, 4), (4, 3, 2, 2), ((2, 0), (0, 1)), ((1,), (3,))),
    ((2, 3, 5), (2, 5, 3), ((), ()), ((2, 0), (1, 0))),
    ((2,), (3,), ((), ()), ((), ())),
    ((), (3,), ((), ()), ((), ())),
    ((0, 2), (2, 3), ((1,), (0,)), ((), ())),
    ((2, 0), (0, 3), ((1,), (0,)), ((), ())),
)


def dots(rng, dtype):
    return [Sample(array(rng, x, dtype), array(rng, y, dtype), contract, batch) for x, y, contract, batch in DOTS]


def _in_float32(x, y, *rest):
    """NumPy's einsum takes no bfloat16."""
    return dot_general.op.reference(x.astype(np.float32), y.astype(np.float32), *rest).astype(x.dtype)


row(dot_general, dots, dtypes=(*NUMBERS, int32, uint8))
row(dot_general, lambda rng, dtype: dots(rng, dtype)[:3], dtypes=(bfloat16,), reference=_in_float32)

"""Samples of conditions that hold (tests/refs test those that do not)."""

from __future__ import annotations

import numpy as np

from ...prims.checks import expect
from ..table import NUMBERS, Sample, array, row


def expectations(rng, dtype):
    return [Sample(array(rng, (2, 3), dtype), np.ones(s, bool), "ValueError", "a condition") for s in ((2, 3), (), (0,))]


row(expect, expectations, NUMBERS)

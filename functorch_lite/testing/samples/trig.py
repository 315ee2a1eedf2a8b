"""Samples of trigonometric and hyperbolic functions, and of their inverses."""

from __future__ import annotations

import numpy as np

from ...core.dtype import complex128
from ...prims import trig
from ..table import INEXACT, REAL, SHAPES, Sample, binary, row, unary
from .elementwise import at_kink

for function in (trig.sin, trig.cos, trig.sinh, trig.cosh, trig.tanh):
    row(function, unary(), INEXACT)
row(trig.tan, unary(-1.2, 1.2), INEXACT)
for function in (trig.asin, trig.acos, trig.atanh):
    row(function, unary(-0.9, 0.9), INEXACT)
row(trig.atan, unary(), REAL)
row(trig.asinh, unary(), REAL)
row(trig.acosh, unary(1.2, 3), REAL)


def right_half(rng, dtype):
    """Complex numbers away from the branch cuts of atan, asinh and acosh, which lie on the axes."""
    for s in SHAPES:
        yield Sample(np.asarray(rng.uniform(0.3, 2, s) + 1j * rng.uniform(0.2, 2, s) * rng.choice([-1, 1], s), dtype.dtype))


def left_half(rng, dtype):
    return [Sample(np.asarray(-sample.args[0])) for sample in right_half(rng, dtype)]


for function in (trig.atan, trig.asinh, trig.acosh):
    row(function, right_half, (complex128,))
    row(function, left_half, (complex128,))
row(trig.atan2, at_kink(binary(0.3, 2, -2, 2), 0, 0), REAL)
row(trig.atan2, at_kink(binary(-2, -0.3, -2, 2), np.inf, 1), REAL)

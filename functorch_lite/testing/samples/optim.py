"""Samples of the steps of optimizers: every flag, numbers as Python's and as arrays, two parameters of different shapes, and none."""

from __future__ import annotations

import numpy as np

from ...core.dtype import complex128, float32, float64
from ...optim.rules import adam_step, sgd_step
from ..table import Sample, array, row

SHAPES = ((2, 3), ())
DTYPES = (float32, float64, complex128)


def number(rng, dtype, low: float, high: float) -> np.ndarray:
    """A hyperparameter as a 0-dim array of real dtype."""
    return array(rng, (), dtype.to_real(), low, high)


def likes(rng, dtype, kinds: int, shapes=SHAPES, low: float = -2.0, high: float = 2.0) -> list[np.ndarray]:
    """One array of each shape for each kind."""
    return [array(rng, shape, dtype, low, high) for _ in range(kinds) for shape in shapes]


def descents(rng, dtype):
    yield Sample(0.1, None, None, None, likes(rng, dtype, 2))
    yield Sample(0.1, 0.9, None, 0.01, likes(rng, dtype, 3), nesterov=True)
    yield Sample(number(rng, dtype, 0, 1), number(rng, dtype, 0, 1), 0.25, number(rng, dtype, 0, 1), likes(rng, dtype, 3, ((3,),)))
    yield Sample(0.1, 0.9, number(rng, dtype, 0, 1), None, likes(rng, dtype, 3, ((0, 2),)), maximize=True)
    yield Sample(0.1, None, None, None, [])


row(sgd_step, descents, DTYPES)


def moments(rng, dtype, amsgrad=False, shapes=SHAPES):
    """All parameters, gradients, averages, averages of squares far from 0, where a root has a derivative, and steps."""
    greatest = likes(rng, dtype, 1, shapes, 4, 5) if amsgrad else []  # above all averages: a maximum has no tie there
    steps = [number(rng, dtype, 1, 9) for _ in shapes]
    return [*likes(rng, dtype, 3, shapes), *likes(rng, dtype, 1, shapes, 1, 3), *greatest, *steps]


def adams(rng, dtype):
    yield Sample(0.1, 0.9, 0.999, 1e-8, None, moments(rng, dtype))
    yield Sample(0.1, 0.9, 0.99, 1e-3, 0.01, moments(rng, dtype, amsgrad=True), amsgrad=True, decoupled=True)
    betas = number(rng, dtype, 0.5, 0.9), number(rng, dtype, 0.5, 0.9)
    yield Sample(
        number(rng, dtype, 0, 1), *betas, number(rng, dtype, 0.1, 1), number(rng, dtype, 0, 1), moments(rng, dtype, shapes=((3,),))
    )
    yield Sample(0.1, 0.9, 0.99, 1e-8, 0.1, moments(rng, dtype, shapes=((0, 2),)), maximize=True)
    yield Sample(0.1, 0.9, 0.99, 1e-8, None, [])


row(adam_step, adams, DTYPES)

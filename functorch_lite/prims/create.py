"""Prims that make arrays of nothing: constants and counters."""

from __future__ import annotations

import numpy as np
from jax import lax

from ..core.aval import aval
from .families import ONE, ZERO, elementwise, pointwise_batch, zero


def _no_batch(size, args, dims, *params):
    raise AssertionError("an op without array arguments is never batched")


def _number(value, dtype):
    return np.asarray(value).astype(dtype.dtype)


full = zero(
    "full",
    "shape: Shape, value: Number, dtype: DType",
    impl=lambda shape, value, dtype: lax.full(shape, _number(value, dtype)),
    meta=lambda shape, value, dtype: aval(shape, dtype),
    batch=_no_batch,
    traits={"constant": True},
    reference=lambda shape, value, dtype: np.full(shape, _number(value, dtype)),
    doc="An array of this shape filled with one number; an integer that does not fit wraps around, as everywhere in PyTorch.",
)

iota = zero(
    "iota",
    "shape: Shape, dim: int, dtype: DType",
    impl=lambda shape, dim, dtype: lax.broadcasted_iota(dtype.dtype, shape, dim),
    meta=lambda shape, dim, dtype: aval(shape, dtype),
    batch=_no_batch,
    traits={"constant": True},
    reference=lambda shape, dim, dtype: np.broadcast_to(
        np.arange(shape[dim]).astype(dtype.dtype).reshape([-1 if i == dim else 1 for i in range(len(shape))]), shape
    ),
    doc="The index along `dim`, at each position.",
)

detach = zero(
    "detach",
    "x: Tensor",
    impl=lambda x: x,
    meta=lambda x: aval(x.shape, x.dtype),
    batch=pointwise_batch(lambda: detach),
    reference=lambda x: x,
    doc="x, through which no derivative passes.",
)

graft = elementwise(
    "graft",
    lambda x, value: value,
    ONE,
    ZERO,
    names="x value",
    reference=lambda x, value: value,
    doc="`value` in the place of x: derivatives pass to x as if nothing had happened, and none to `value`.",
)

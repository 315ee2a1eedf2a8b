"""A condition on data, tied to the value that depends on it."""

from __future__ import annotations

import numpy as np
from jax import lax

from ..core.aval import aval
from ..core.dtype import BOOL
from ..errors import LinAlgError
from .families import general, require

ERRORS = {error.__name__: error for error in (IndexError, LinAlgError, RuntimeError, ValueError)}


def _meta(x, ok, error, message):
    require(ok.dtype.category == BOOL, "expect", f"ok must be bool, got {ok}", TypeError)
    require(error in ERRORS, "expect", f"error must be one of {', '.join(ERRORS)}, got {error!r}")
    return aval(x.shape, x.dtype)


def _checks(x, ok, error, message):
    return [(lax.reduce(ok, np.bool_(True), lax.bitwise_and, tuple(range(ok.ndim))), ERRORS[error], message)]


expect = general(
    "expect",
    "x: Tensor, ok: Tensor, error: str, message: str",
    impl=lambda x, ok, error, message: x,
    meta=_meta,
    jvp=lambda ans, primals, tangents, error, message: tangents[0],
    batch=lambda size, args, dims, error, message: (expect(*args, error, message), dims[0]),
    checks=_checks,
    traits={"reads": 1},
    reference=lambda x, ok, error, message: x,
    doc="x, where all of ok holds; else, in eager mode, the exception of this name with this message is raised.",
)

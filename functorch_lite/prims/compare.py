"""Comparison, minimum and maximum, and selection."""

from __future__ import annotations

import numpy as np
from jax import lax

from ..core.aval import aval
from ..core.dtype import BOOL
from . import algebra, bits
from .families import ANY, FLOATING, ORDERED, REAL_NUMERIC, elementwise, linear, pointwise, pointwise_batch, require

eq = pointwise("eq", 2, lax.eq, ANY, reference=np.equal, doc="x == y.")
ne = pointwise("ne", 2, lax.ne, ANY, reference=np.not_equal, doc="x != y.")
lt = pointwise("lt", 2, lax.lt, ORDERED, reference=np.less, doc="x < y.")
le = pointwise("le", 2, lax.le, ORDERED, reference=np.less_equal, doc="x <= y.")
gt = pointwise("gt", 2, lax.gt, ORDERED, reference=np.greater, doc="x > y.")
ge = pointwise("ge", 2, lax.ge, ORDERED, reference=np.greater_equal, doc="x >= y.")
isfinite = pointwise("isfinite", 1, lax.is_finite, FLOATING, reference=np.isfinite, doc="Whether x is neither infinite nor NaN.")


# ------------------------------------------------------------------------------------------------------- selection


def _select_meta(mask, x, y):
    require(mask.dtype.category == BOOL, "select", f"the mask must be bool, got {mask}", TypeError)
    ok = mask.shape == x.shape == y.shape and x.dtype is y.dtype
    require(ok, "select", f"expected equal shapes and dtypes, got {mask}, {x}, {y}")
    return aval(x.shape, x.dtype)


def _select_jvp(ans, primals, tangents):
    mask, x, _ = primals
    _, tx, ty = tangents
    if tx is None and ty is None:
        return None
    nothing = algebra.zeros(x.aval)
    return select(mask, nothing if tx is None else tx, nothing if ty is None else ty)


def _select_transpose(ct, mask, x, y):
    nothing = algebra.zeros(ct.aval)
    return (
        None,
        select(mask, ct, nothing) if x.__class__ is algebra.Linear else None,
        select(mask, nothing, ct) if y.__class__ is algebra.Linear else None,
    )


select = linear(
    "select",
    "mask: Tensor, x: Tensor, y: Tensor",
    impl=lax.select,
    meta=_select_meta,
    transpose=_select_transpose,
    batch=pointwise_batch(lambda: select),
    over=(1, 2),
    reference=np.where,
    doc="x where mask holds, else y.",
)
select.op.jvp = _select_jvp


# --------------------------------------------------------------------------------------------- minimum and maximum


def _share(x, y, loses):
    """1 where x wins, 1/2 at a tie, 0 where it loses; 1 beside NaN: PyTorch's gradient."""
    one, half, nothing = (algebra.full_like(x, n) for n in (1, 0.5, 0))
    return select(eq(x, y), half, select(loses(x, y), nothing, one))


def _extremum(name, impl, loses, reference, doc):
    partials = (lambda ans, x, y: _share(x, y, loses), lambda ans, x, y: _share(y, x, loses))
    return elementwise(name, impl, *partials, categories=ORDERED, reference=reference, doc=doc)


maximum = _extremum("maximum", lax.max, lt, np.maximum, "The larger of x and y; NaN if either is.")
minimum = _extremum("minimum", lax.min, gt, np.minimum, "The smaller of x and y; NaN if either is.")


def _where(ok, like):
    """The partial that is 1 where `ok` holds and 0 elsewhere."""
    return select(ok, algebra.one_like(like), algebra.zeros(like.aval))


clamp = elementwise(
    "clamp",
    lambda x, low, high: lax.clamp(low, x, high),
    lambda ans, x, low, high: _where(bits.bitwise_and(ge(x, low), le(x, high)), x),
    lambda ans, x, low, high: _where(bits.bitwise_and(lt(x, low), lt(low, high)), x),
    lambda ans, x, low, high: _where(bits.bitwise_or(gt(x, high), gt(low, high)), x),
    categories=REAL_NUMERIC,
    names="x low high",
    reference=lambda x, low, high: np.minimum(np.maximum(x, low), high),
    doc="x moved into [low, high] (high if that is empty). The derivative in x is 1 at the bounds; NaN in any argument gives NaN.",
)

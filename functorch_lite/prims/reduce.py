"""Prims that reduce dimensions."""

from __future__ import annotations

import math

import numpy as np
from jax import lax

from ..core.aval import aval
from ..core.dtype import BOOL, int64
from . import algebra, compare, elementwise, order, orders, shape
from .families import DIM, DIMS, NUMERIC, ORDERED, dims_batch, general, linear, require, require_category, zero


def reduced(x, dims):
    """The shape that is left of x when `dims` are reduced."""
    return tuple([n for i, n in enumerate(x.shape) if i not in dims])


def reduce_meta(name, categories, empty: bool = True):
    """The shape rule of a reduction; without `empty`, of one that has no value for no elements."""

    def meta(x, dims, *params):
        require_category(name, [x], categories)
        ok = len(set(dims)) == len(dims) and all(0 <= d < x.ndim for d in dims)
        require(ok, name, f"dims must be distinct dimensions of {x}, got {dims}", IndexError)
        for d in dims if not empty else ():
            require(x.shape[d] > 0, name, f"expected a dimension {d} that is not empty, got {x}", IndexError)
        return aval(reduced(x, dims), x.dtype)

    return meta


def reduce_batch(op_of):
    return dims_batch(op_of, DIMS, reduces=True)


def spread(x, like, dims):
    """x, whose `dims` were reduced away, repeated along them again to the shape of `like`."""
    return shape.broadcast(x, like.shape, tuple([i for i in range(len(like.shape)) if i not in dims]))


def _sum(x, dims):
    return lax.reduce(x, np.zeros((), x.dtype)[()], lax.add, dims)


reduce_sum = linear(
    "reduce_sum",
    "x: Tensor, dims: Dims",
    impl=_sum,
    traits={"ordered": orders.over(_sum)},
    meta=reduce_meta("reduce_sum", NUMERIC),
    transpose=lambda ct, x, dims: (spread(ct, x, dims),),
    batch=reduce_batch(lambda: reduce_sum),
    reference=lambda x, dims: np.sum(x, axis=dims, dtype=x.dtype),
    doc="The sum over dims.",
)

# --------------------------------------------------------------------------------------------------------- product


def _prod_jvp(ans, primals, tangents, dims):
    """Each tangent times the product of all *other* elements: no division, so zeros are no exception."""
    (x,), (t,) = primals, tangents
    x, t = flatten(x, dims), flatten(t, dims)
    last = x.ndim - 1
    others = algebra.mul(*[order.shift(order.cumprod(x, last, back), last, back, 1) for back in (False, True)])
    return reduce_sum(algebra.mul(t, others), (last,))


def flatten(x, dims):
    """x with `dims` as one, behind the others."""
    kept = [i for i in range(x.ndim) if i not in dims]
    moved = shape.permute(x, (*kept, *dims))
    return shape.reshape(moved, (*moved.shape[: len(kept)], math.prod(moved.shape[len(kept) :])))


reduce_prod = general(
    "reduce_prod",
    "x: Tensor, dims: Dims",
    impl=lambda x, dims: lax.reduce(x, np.ones((), x.dtype)[()], lax.mul, dims),
    meta=reduce_meta("reduce_prod", NUMERIC),
    jvp=_prod_jvp,
    batch=reduce_batch(lambda: reduce_prod),
    reference=lambda x, dims: np.prod(x, axis=dims, dtype=x.dtype),
    doc="The product over dims.",
)

# ------------------------------------------------------------------------------------------------ maximum, minimum


def limit(dtype, largest: bool):
    """The largest (or smallest) value of a NumPy dtype: what a minimum (or maximum) starts from."""
    if dtype == np.bool_:
        return np.bool_(largest)
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return dtype.type(info.max if largest else info.min)
    return np.asarray(np.inf if largest else -np.inf, dtype)[()]


def _extremum_impl(combine, largest):
    """lax.max and lax.min keep NaN everywhere but in XLA's fast reduction on the CPU, which drops it; a flag reduced beside them is
    nearly as fast (columns: a comparator of one's own is faster)."""

    def plain(x, dims):
        return lax.reduce(x, limit(x.dtype, largest), combine, dims)

    def flagged(x, dims):
        start = limit(x.dtype, largest), np.bool_(False)
        out, nan = lax.reduce((x, lax.ne(x, x)), start, lambda a, b: (combine(a[0], b[0]), lax.bitwise_or(a[1], b[1])), dims)
        return lax.select(nan, lax.full_like(out, np.nan), out)

    def compared(x, dims):
        before = lax.lt if largest else lax.gt
        return lax.reduce(x, limit(x.dtype, largest), lambda a, b: lax.select(lax.bitwise_or(before(b, a), lax.ne(b, b)), b, a), dims)

    def impl(x, dims):
        if not dims or x.dtype == np.bool_ or np.issubdtype(x.dtype, np.integer):
            return plain(x, dims)
        kept = flagged if x.ndim - 1 in dims else compared
        return lax.platform_dependent(x, cpu=lambda x: kept(x, dims), default=lambda x: plain(x, dims))

    return impl


def _extremum_jvp(ans, primals, tangents, dims):
    """Elements that tie share the tangent evenly, as in PyTorch's amax; where the result is NaN, those that are NaN do."""
    (x,), (t,) = primals, tangents
    one, nothing = algebra.full_like(x, 1), algebra.full_like(x, 0)
    hit = compare.select(compare.ne(x, x), one, compare.select(compare.eq(x, spread(ans, x, dims)), one, nothing))
    share = elementwise.div(hit, spread(reduce_sum(hit, dims), x, dims))
    return reduce_sum(algebra.mul(t, share), dims)


def _extremum(name, combine, largest, reference, doc):
    impl = _extremum_impl(combine, largest)
    function = general(
        name,
        "x: Tensor, dims: Dims",
        impl=impl,
        traits={"ordered": orders.over(impl)},
        meta=reduce_meta(name, ORDERED, empty=False),
        jvp=_extremum_jvp,
        batch=reduce_batch(lambda: function),
        reference=lambda x, dims: reference(x, axis=dims),
        doc=doc,
    )
    return function


reduce_max = _extremum("reduce_max", lax.max, False, np.max, "The largest element over dims; NaN if any is.")
reduce_min = _extremum("reduce_min", lax.min, True, np.min, "The smallest element over dims; NaN if any is.")

peak = zero(
    "peak",
    "x: Tensor, dims: Dims",
    impl=lambda x, dims: lax.reduce(x, limit(x.dtype, False), lax.max, dims),
    meta=reduce_meta("peak", ORDERED, empty=False),
    batch=reduce_batch(lambda: peak),
    reference=lambda x, dims: np.max(x, axis=dims),
    doc="The largest element over dims, and any number where one is NaN: what exponentials are shifted by, on which their ratios do not "
    "depend. So it has no derivative, and XLA may reduce it as it likes (see `reduce_max`).",
)

# ------------------------------------------------------------------------------------------------- logical, positions


def _logical(name, init, combine, reference, doc):
    function = zero(
        name,
        "x: Tensor, dims: Dims",
        impl=lambda x, dims: lax.reduce(x, np.bool_(init), combine, dims),
        meta=reduce_meta(name, frozenset((BOOL,))),
        batch=reduce_batch(lambda: function),
        reference=lambda x, dims: reference(x, axis=dims),
        doc=doc,
    )
    return function


reduce_any = _logical("reduce_any", False, lax.bitwise_or, np.any, "Whether any element over dims holds.")
reduce_all = _logical("reduce_all", True, lax.bitwise_and, np.all, "Whether all elements over dims hold.")


def _position_meta(name):
    def meta(x, dim):
        require_category(name, [x], ORDERED)
        require(0 <= dim < x.ndim, name, f"dim must be a dimension of {x}, got {dim}", IndexError)
        require(x.shape[dim] > 0, name, f"expected a non-empty dimension {dim}, got {x}", IndexError)
        return aval(reduced(x, (dim,)), int64)

    return meta


def _position(name, impl, reference, doc):
    function = zero(
        name,
        "x: Tensor, dim: int",
        impl=lambda x, dim: impl(x.astype(np.int8) if x.dtype == np.bool_ else x, dim, np.int64),
        meta=_position_meta(name),
        batch=dims_batch(lambda: function, DIM, reduces=True),
        reference=reference,
        doc=doc,
    )
    return function


argmax = _position("argmax", lax.argmax, np.argmax, "The position of the first largest element along dim (int64); NaN counts as largest.")
argmin = _position("argmin", lax.argmin, np.argmin, "The position of the first smallest element along dim (int64); NaN counts as smallest.")

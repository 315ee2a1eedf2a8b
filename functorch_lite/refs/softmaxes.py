"""The softmax family, shifted by the maximum so that no exponential overflows. Each has its derivative in closed form."""

from __future__ import annotations

import numpy as np

from ..core.dtype import DType
from ..core.op import Tensor, composite
from ..prims import algebra, compare, elementwise, reduce, shape
from .arguments import accumulator, require_arrays, require_floating
from .promotion import canonical_dim, to_dtype


def _prepared(name, input, dim, dtype):
    """(input in the dtype in which to compute, dim, the dtype of the result)."""
    require_arrays(name, input=input)
    if dtype is None:
        require_floating(name, input)
    dtype = dtype or input.dtype
    x = to_dtype(input, accumulator(dtype))
    return x, canonical_dim(name, dim, x.ndim), dtype


def over(x, dims, f):
    """f(x) repeated along the dimensions that f reduced away."""
    return reduce.spread(f(x), x, dims)


def _total(x, dim):
    return over(x, (dim,), lambda y: reduce.reduce_sum(y, (dim,)))


def shifted(x, dim):
    """x minus its maximum along dim."""
    return elementwise.sub(x, over(x, (dim,), lambda y: reduce.peak(y, (dim,))))


def _softmax_of(x, dim):
    e = elementwise.exp(shifted(x, dim))
    return elementwise.div(e, _total(e, dim))


def _log_softmax_of(x, dim):
    x = shifted(x, dim)
    return elementwise.sub(x, over(x, (dim,), lambda y: elementwise.log(reduce.reduce_sum(elementwise.exp(y), (dim,)))))


def _safe_softmax_of(x, dim):
    """A row of nothing but -inf gives zeros."""
    minus_inf, nothing = algebra.full_like(x, float("-inf")), algebra.zeros(x.aval)
    top = over(x, (dim,), lambda y: reduce.peak(y, (dim,)))
    e = elementwise.exp(elementwise.sub(x, compare.select(compare.eq(top, minus_inf), nothing, top)))
    total = _total(e, dim)
    return elementwise.div(e, compare.select(compare.eq(total, nothing), algebra.one_like(total), total))


def _applied(name, f, input, dim, dtype):
    x, d, dtype = _prepared(name, input, dim, dtype)
    if x.ndim == 0:
        return to_dtype(shape.reshape(f(shape.reshape(x, (1,)), 0), ()), dtype)
    return to_dtype(f(x, d) if 0 not in x.shape else x, dtype)


def _tangent(product):
    """A JVP rule, of `product(ans, t, dim)`, in the dtype of computing."""

    def jvp(ans, primals, tangents, dim, dtype):
        (t,) = tangents
        if not ans.dtype.is_floating_point or not t.dtype.is_floating_point:
            return None
        wide = accumulator(ans.dtype)
        return to_dtype(product(to_dtype(ans, wide), to_dtype(t, wide), dim % max(ans.ndim, 1)), ans.dtype)

    return jvp


def _sum(x, dim):
    return _total(x, dim) if x.ndim else x


@_tangent
def _softmax_jvp(y, t, dim):
    """dy = y (t - sum(y t)); its transpose is of the same form (Bridle, 1990)."""
    return elementwise.mul(y, elementwise.sub(t, _sum(elementwise.mul(y, t), dim)))


@_tangent
def _log_softmax_jvp(y, t, dim):
    """dy = t - sum(exp(y) t)."""
    return elementwise.sub(t, _sum(elementwise.mul(elementwise.exp(y), t), dim))


def _batch(op_of):
    """Rows are rows: only dim moves."""

    def batch(size, args, dims, dim, dtype):
        (x,), (d,) = args, dims
        if x.ndim == 1:
            return shape.reshape(op_of()(shape.reshape(x, (size, 1)), 1, dtype), (size,)), 0
        dim = canonical_dim(op_of().op.name, dim, x.ndim - 1)
        return op_of()(x, dim + (dim >= d), dtype), d

    return batch


def _scipy(name):
    def reference(x, dim, dtype=None):
        import scipy.special

        x = x if dtype is None else x.astype(dtype.dtype)
        return np.reshape(getattr(scipy.special, name)(np.atleast_1d(x), axis=dim), x.shape) if x.size else x

    return reference


_softmax_reference = _scipy("softmax")


@composite(method=True, jvp=_softmax_jvp, batch=_batch(lambda: softmax), reference=_softmax_reference)
def softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """exp(input) / sum(exp(input)) along dim: positive, with sum 1. ``dtype`` is converted to first.

    Integers raise RuntimeError unless a dtype is given. Half-width floats are computed in float32.

    >>> import functorch_lite as fl
    >>> fl.softmax(fl.asarray([0.0, 0.0]), dim=0).tolist()
    [0.5, 0.5]
    """
    return _applied("softmax", _softmax_of, input, dim, dtype)


@composite(method=True, jvp=_log_softmax_jvp, batch=_batch(lambda: log_softmax), reference=_scipy("log_softmax"))
def log_softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """The logarithm of `softmax`, accurate where that is small: input - max - log(sum(exp(input - max))) along dim.

    Arguments and errors are those of `softmax`.

    >>> import functorch_lite as fl
    >>> fl.log_softmax(fl.asarray([0.0, -1000.0]), dim=0).tolist()
    [0.0, -1000.0]
    """
    return _applied("log_softmax", _log_softmax_of, input, dim, dtype)


@composite(namespace="fl.nn.functional", jvp=_softmax_jvp, batch=_batch(lambda: safe_softmax))
def safe_softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """`softmax`, but a row of nothing but -inf gives zeros instead of NaN: what attention to nothing gives."""
    return _applied("safe_softmax", _safe_softmax_of, input, dim, dtype)


@composite(namespace="fl.nn.functional", reference=lambda x, dim, dtype=None: _softmax_reference(-x, dim, dtype))
def softmin(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """`softmax` of -input."""
    require_arrays("softmin", input=input)
    return softmax(elementwise.neg(input), dim, dtype)


__all__ = ["log_softmax", "softmax"]

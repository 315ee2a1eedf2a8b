"""Ops under a mask, which says which elements count: this module is `fl.masked`, as torch.masked has it.

They are one family: an op, and the number that stands where the mask does not hold, which the op does not notice. (A mean and a
variance have no such number: they count the mask.)
"""

from __future__ import annotations

import math
from numbers import Number

import numpy as np

from ..core.dtype import DType, bool_, float32
from ..core.op import Dims, Tensor, composite
from ..prims import algebra, checks, compare, create, elementwise, parts, reduce
from ..prims.reduce import limit
from . import elementwise as refs
from . import extreme, norms, order, quantiles, softmaxes
from . import reduce as reductions
from .arguments import accumulator, require, shown
from .elementwise import root
from .promotion import array_of, broadcast_shapes, canonical_dims, expand_to, to_dtype

NAMESPACE = "fl.masked"


def _mask_of(name: str, x, mask):
    """The mask as bool, in the shape of x."""
    m = array_of(mask)
    require(m.ndim <= x.ndim, name, f"mask must have at most as many dimensions as input, got {shown(m)} for {shown(x)}", IndexError)
    ok = broadcast_shapes(m.shape, x.shape) == x.shape
    require(ok, name, f"mask {shown(m)} cannot be broadcast to the shape of input {shown(x)}")
    return expand_to(to_dtype(m, bool_), x.shape)


def _filled(name: str, input, mask, identity):
    """Input with the identity, a number or a function of the dtype, where the mask does not hold."""
    x = array_of(input)
    if mask is None:
        return x
    number = identity(x.dtype.dtype) if callable(identity) else identity
    return compare.select(_mask_of(name, x, mask), x, create.full(x.shape, number, x.dtype))


def _lowest(dtype):
    return limit(dtype, False).item()


def _highest(dtype):
    return limit(dtype, True).item()


def _kept_dtype(op):
    """A reduction whose result has the dtype of the input unless another is given."""
    return lambda x, dim, keepdim, dtype: to_dtype(op(x, dim, keepdim), dtype or x.dtype)


# ------------------------------------------------------------------------------------------------------ references


def _by_row(of_row, nothing):
    """(NumPy) of_row of the elements that count of each row; `nothing` of none."""

    def reference(x, dim=None, *, keepdim=False, dtype=None, mask=None):
        x = x if dtype is None else x.astype(dtype.dtype)
        counts = np.broadcast_to(True if mask is None else mask, x.shape)
        dims = range(x.ndim) if dim is None or dim == () else sorted({d % max(x.ndim, 1) for d in np.atleast_1d(dim).tolist()})
        dims = [d for d in dims if d < x.ndim]
        left = [d for d in range(x.ndim) if d not in dims]
        rows, which = (np.transpose(a, (*left, *dims)).reshape(*(x.shape[d] for d in left), -1) for a in (x, counts))
        out = np.array([of_row(rows[i][which[i]]) if which[i].any() else nothing for i in np.ndindex(rows.shape[:-1])])
        out = out.astype(x.dtype) if x.dtype.kind in "fc" else out
        return out.reshape([1 if d in dims else n for d, n in enumerate(x.shape) if keepdim or d not in dims])

    return reference


def _position_reference(of_row):
    def reference(x, dim=None, *, keepdim=False, dtype=None, mask=None):
        filled = np.ma.array(x, mask=False if mask is None else ~np.broadcast_to(mask, x.shape))
        axis = dim if x.ndim else None
        return np.asarray(getattr(np.ma.MaskedArray, of_row)(filled, axis=axis, keepdims=keepdim)).astype(dtype.dtype if dtype else x.dtype)

    return reference


def _along_reference(f):
    """(NumPy) f(x, mask, dim) along a dimension."""

    def reference(x, dim, *, dtype=None, mask=None):
        with np.errstate(divide="ignore"):
            a, m = np.atleast_1d(x if dtype is None else x.astype(dtype.dtype)), np.broadcast_to(True if mask is None else mask, x.shape)
            return np.asarray(f(a, np.atleast_1d(m), dim)).reshape(x.shape).astype(a.dtype)

    return reference


def _weights(x, mask, dim):
    e = np.exp(x) * mask
    return e / e.sum(dim, keepdims=True)


# ------------------------------------------------------------------------------------------------------- reductions


def _document(f, name, text, example):
    f.__name__ = f.__qualname__ = name
    shown = "\n\n>>> import functorch_lite as fl\n>>> x, mask = fl.asarray([3.0, 1.0, 2.0]), fl.asarray([False, True, True])\n>>> "
    f.__doc__ = f"{text} (torch.masked.{name}){shown}fl.masked.{name}({example[0]}).tolist()\n{example[1]}\n"
    return f


_REDUCED = (
    "{} over dim (None: all dimensions) of the elements for which ``mask`` holds (broadcast to input; None: all of them); {} where it "
    "holds for none. ``dtype``: that of the result. IndexError for a mask of more dimensions than input."
)


def _reduction(name, run, identity, reference, what, nothing, example):
    def f(
        input: Tensor, dim: Dims | None = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
    ) -> Tensor:
        return run(_filled(name, input, mask, identity), dim, bool(keepdim), dtype)

    _document(f, name, _REDUCED.format(what, nothing), ("x, mask=mask", example))
    return composite(f, namespace=NAMESPACE, reference=reference)


def _log_sum(x):
    return np.log(np.exp(x).sum())


_inf = math.inf
_REDUCTIONS = {  # name: run(filled, dim, keepdim, dtype), identity, reference, what it is, of nothing, example
    "sum": (
        lambda x, dim, keepdim, dtype: reductions.sum(x, dim, keepdim, dtype=dtype),
        0,
        _by_row(np.sum, 0),
        "The sum",
        "0",
        "3.0",
    ),
    "prod": (
        lambda x, dim, keepdim, dtype: reductions.prod(x, dim, keepdim, dtype=dtype),
        1,
        _by_row(np.prod, 1),
        "The product",
        "1",
        "2.0",
    ),
    "amax": (_kept_dtype(extreme.amax), _lowest, _by_row(np.max, -_inf), "The largest", "the lowest value", "2.0"),
    "amin": (_kept_dtype(extreme.amin), _highest, _by_row(np.min, _inf), "The smallest", "the highest value", "1.0"),
    "argmax": (_kept_dtype(extreme.argmax), _lowest, _position_reference("argmax"), "Where the largest is", "0", "2.0"),
    "argmin": (_kept_dtype(extreme.argmin), _highest, _position_reference("argmin"), "Where the smallest is", "0", "1.0"),
    "logsumexp": (
        _kept_dtype(reductions.logsumexp),
        _lowest,
        _by_row(_log_sum, -_inf),
        "log(sum(exp(input)))",
        "-inf",
        "2.31326...",
    ),
}
sum, prod, amax, amin, argmax, argmin, logsumexp = [_reduction(name, *entry) for name, entry in _REDUCTIONS.items()]


def _norm_of_row(x, ord):
    return np.linalg.norm(x, ord) if x.size else math.inf if ord == -math.inf else 0


@composite(
    namespace=NAMESPACE, reference=lambda x, ord=2.0, dim=None, **rest: _by_row(lambda row: _norm_of_row(row, ord), 0)(x, dim, **rest)
)
def norm(
    input: Tensor,
    ord: Number = 2.0,
    dim: Dims | None = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The vector norm of order ``ord`` over dim (None: all dimensions) of the elements for which ``mask`` holds; 0 where it holds for
    none, inf for ord = -inf. (torch.masked.norm)

    >>> import functorch_lite as fl
    >>> fl.masked.norm(fl.asarray([3.0, 9.0, 4.0]), mask=fl.asarray([True, False, True])).item()
    5.0
    """
    x = _filled("norm", input, mask, math.inf if ord == -math.inf else 0)
    return norms.vector_norm(x, ord, dim, bool(keepdim), dtype=dtype)


# --------------------------------------------------------------------------------------- of which elements there are


def _counted(name, input, dim, mask, dtype):
    """(input in a wide dtype, its mask, its dims, how many elements of each row count)."""
    x = to_dtype(array_of(input), accumulator(dtype))
    dims = canonical_dims(name, dim, x.ndim)
    real = x.dtype.to_real()
    if mask is None:
        return x, None, dims, create.full(reduce.reduced(x, dims), reductions.count(x, dims), real)
    m = _mask_of(name, x, mask)
    return x, m, dims, reduce.reduce_sum(to_dtype(m, real), dims)


def _only(x, mask):
    return x if mask is None else compare.select(mask, x, algebra.zeros(x.aval))


@composite(namespace=NAMESPACE, reference=_by_row(np.mean, math.nan))
def mean(
    input: Tensor, dim: Dims | None = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The mean over dim (None: all dimensions) of the elements for which ``mask`` holds, NaN where it holds for none. ValueError for
    integers, unless a float dtype is given. (torch.masked.mean)

    >>> import functorch_lite as fl
    >>> fl.masked.mean(fl.asarray([1.0, 9.0, 3.0]), mask=fl.asarray([True, False, True])).item()
    2.0
    """
    dtype = dtype or array_of(input).dtype
    require(dtype.is_inexact, "mean", f"expected a float or complex dtype, got {shown(input)} and dtype {dtype}", ValueError)
    x, m, dims, n = _counted("mean", input, dim, mask, dtype)
    out = elementwise.div(reduce.reduce_sum(_only(x, m), dims), to_dtype(n, x.dtype))
    return reductions.kept(to_dtype(out, dtype), x, dims, keepdim)


def _variance(name, input, dim, unbiased, correction, dtype, mask, keepdim, take_root):
    """Sums of squares of what is left of the mean, over count - correction."""
    require(unbiased is None or correction is None, name, "give one of unbiased and correction, not both", AssertionError)
    correction = (1 if unbiased is None else int(unbiased)) if correction is None else correction
    given = array_of(input).dtype
    dtype = dtype or (given if given.is_inexact else float32)
    x, m, dims, n = _counted(name, input, dim, mask, dtype if dtype.is_inexact else float32)
    center = elementwise.div(reduce.reduce_sum(_only(x, m), dims), to_dtype(n, x.dtype))
    rest = _only(elementwise.sub(x, reduce.spread(center, x, dims)), m)
    power = parts.real(elementwise.mul(rest, parts.conj(rest))) if x.dtype.is_complex else elementwise.mul(rest, rest)
    freedom = compare.maximum(elementwise.sub(n, algebra.full_like(n, correction)), algebra.zeros(n.aval))
    out = elementwise.div(reduce.reduce_sum(power, dims), freedom)
    return reductions.kept(to_dtype(root(out) if take_root else out, dtype), x, dims, keepdim)


def _variance_reference(of_row):
    def reference(x, dim=None, unbiased=None, *, correction=None, **rest):
        ddof = (1 if unbiased is None else int(unbiased)) if correction is None else correction

        def of_elements(row):
            with np.errstate(divide="ignore", invalid="ignore"):
                return of_row(((abs(row - row.mean()) ** 2).sum()) / np.float64(max(row.size - ddof, 0)))

        return _by_row(of_elements, math.nan)(x, dim, **rest)

    return reference


def _spread(name, take_root, reference, what, example):
    def f(
        input: Tensor,
        dim: Dims | None = None,
        unbiased: bool | None = None,
        *,
        correction: Number = None,
        keepdim: bool = False,
        dtype: DType | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        return _variance(name, input, dim, unbiased, correction, dtype, mask, keepdim, take_root)

    text = _REDUCED.format(what, "NaN") + " Sums are divided by n - correction (1 unless given; ``unbiased=False`` means 0)."
    return composite(_document(f, name, text, ("x, mask=mask", example)), namespace=NAMESPACE, reference=_variance_reference(reference))


var = _spread("var", False, lambda v: v, "The variance", "0.5")
std = _spread("std", True, np.sqrt, "The standard deviation", "0.70710...")


@composite(
    namespace=NAMESPACE,
    reference=lambda x, dim=-1, **rest: _by_row(lambda row: np.sort(row)[(row.size - 1) // 2], math.nan)(x, dim, **rest),
)
def median(input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """The lower median along dim of the elements for which ``mask`` holds (NaN does not count), NaN where it holds for none; of
    integers that raises ValueError (eager mode). (torch.masked.median)

    >>> import functorch_lite as fl
    >>> fl.masked.median(fl.asarray([1.0, 9.0, 3.0]), mask=fl.asarray([True, False, True])).item()
    1.0
    """
    given = array_of(input)
    x = given if given.dtype.is_floating_point else to_dtype(given, float32)
    out = quantiles.nanmedian_dim(_filled("median", x, mask, math.nan), dim, keepdim)[0]
    if x is given:
        return out
    message = "median: input of integers must have an element that counts in each row; convert it with .to(fl.float32) to get NaN there"
    return to_dtype(checks.expect(out, compare.eq(out, out), "ValueError", message), dtype or given.dtype)


# ---------------------------------------------------------------------------------------------------- along a dimension


def _along(name, op, identity, reference, what, example):
    def f(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
        x = _filled(name, input, mask, identity)
        return op(x, dim, dtype=dtype or x.dtype)

    text = f"{what} of the elements along dim for which ``mask`` holds (broadcast to input; None: all of them). ``dtype``: of the result."
    return composite(_document(f, name, text, ("x, 0, mask=mask", example)), namespace=NAMESPACE, reference=_along_reference(reference))


_ALONG = {  # name: op, identity, reference, what it is, example
    "cumsum": (order.cumsum, 0, lambda x, m, d: np.cumsum(x * m, d), "The sums up to each", "[0.0, 1.0, 3.0]"),
    "cumprod": (order.cumprod, 1, lambda x, m, d: np.cumprod(x**m, d), "The products up to each", "[1.0, 1.0, 2.0]"),
    "softmax": (
        softmaxes.softmax,
        _lowest,
        _weights,
        "`softmax`, 0 for the others and NaN without any,",
        "[0.0, 0.26894..., 0.73105...]",
    ),
    "log_softmax": (
        softmaxes.log_softmax,
        _lowest,
        lambda x, m, d: np.log(_weights(x, m, d)),
        "`log_softmax`, -inf for the others and NaN without any,",
        "[-inf, -1.31326..., -0.31326...]",
    ),
    "softmin": (
        softmaxes.softmin,
        _highest,
        lambda x, m, d: _weights(-x, m, d),
        "`softmax` of -input, 0 for the others and NaN without any,",
        "[0.0, 0.73105..., 0.26894...]",
    ),
}
cumsum, cumprod, softmax, log_softmax, softmin = [_along(name, *entry) for name, entry in _ALONG.items()]


def _normalize_reference(x, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    size = norm.op.reference(x, ord, dim, keepdim=True, mask=mask)
    return x * (True if mask is None else mask) / np.maximum(size, eps)


@composite(namespace=NAMESPACE, reference=_normalize_reference)
def normalize(
    input: Tensor, ord: Number, dim: int, *, eps: Number = 1e-12, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """input / max(norm, eps), the vector norm of order ``ord`` along dim being that of the elements for which ``mask`` holds; 0 where it
    does not. (torch.masked.normalize)

    >>> import functorch_lite as fl
    >>> fl.masked.normalize(fl.asarray([3.0, 9.0, 4.0]), 2.0, 0, mask=fl.asarray([True, False, True])).tolist()
    [0.6..., 0.0, 0.8...]
    """
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return refs.div(_filled("normalize", input, mask, 0), compare.maximum(size, algebra.full_like(size, eps)))


def _logaddexp_reference(x, y, *, dtype=None, input_mask=None, other_mask=None):
    x, y = (a if m is None else np.where(m, a, -np.inf) for a, m in ((x, input_mask), (y, other_mask)))
    return np.logaddexp(x, y)


@composite(namespace=NAMESPACE, reference=_logaddexp_reference)
def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: DType | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(input) + exp(other)), elementwise, where each mask says which elements of its array count: of one, the other; of none,
    -inf. (torch.masked.logaddexp)

    >>> import functorch_lite as fl
    >>> fl.masked.logaddexp(fl.asarray([1.0]), fl.asarray([2.0]), other_mask=fl.asarray([False])).tolist()
    [1.0]
    """
    x, y = _filled("logaddexp", input, input_mask, _lowest), _filled("logaddexp", other, other_mask, _lowest)
    return to_dtype(refs.logaddexp(x, y), dtype or x.dtype)


__all__ = (
    "amax amin argmax argmin cumprod cumsum log_softmax logaddexp logsumexp mean median norm normalize prod softmax softmin std sum var"
).split()

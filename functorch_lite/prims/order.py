"""Prims along one dimension: cumulative ones, sorting, the largest k."""

from __future__ import annotations

import numpy as np
from jax import lax

from ..core.aval import aval
from ..core.dtype import int32, int64
from . import algebra, compare, create, elementwise, index, shape
from .families import DIM, INEXACT, NUMERIC, ORDERED, SAME, dims_batch, general, linear, require, require_category, rows_batch


def shift(x, dim: int, reverse: bool = False, fill: float = 0):
    """x one place further along dim (`reverse`: back), `fill` taking the place that falls free."""
    low = tuple([int(d == dim) * (-1 if reverse else 1) for d in range(x.ndim)])
    return shape.pad(x, create.full((), fill, x.dtype), low, tuple([-n for n in low]), (0,) * x.ndim)


def _along(name, categories, outs=None):
    """The shape rule of an op along dim that keeps shapes; `outs` makes the result of the aval."""

    def meta(x, *rest):
        *others, dim, _ = rest
        require_category(name, [x], categories)
        require(0 <= dim < x.ndim, name, f"dim must be a dimension of {x}, got {dim}", IndexError)
        ok = all(y.shape == x.shape and y.dtype is x.dtype for y in others)
        require(ok, name, f"expected equal shapes and dtypes, got {', '.join(map(str, (x, *others)))}")
        return aval(x.shape, x.dtype) if outs is None else outs(x)

    return meta


def _along_batch(op_of):
    return dims_batch(op_of, DIM, SAME)


def _backward(reference, reverse, x, dim):
    """A NumPy function along dim, run from the end."""
    return np.flip(reference(np.flip(x, dim), dim), dim) if reverse else reference(x, dim)


# --------------------------------------------------------------------------------------------------- linear recurrence


def _recurrence_impl(a, b, dim, reverse):
    def step(first, then):
        (a1, b1), (a2, b2) = first, then
        return lax.mul(a1, a2), lax.add(lax.mul(a2, b1), b2)

    return lax.associative_scan(step, (a, b), reverse=reverse, axis=dim)[1] if b.size else b


def _recurrence_jvp(ans, primals, tangents, dim, reverse):
    (a, _), (ta, tb) = primals, tangents
    moved = None if ta is None else algebra.mul(ta, shift(ans, dim, reverse))
    return linear_recurrence(a, algebra.total([moved, tb]), dim, reverse)


def _recurrence_transpose(ct, a, b, dim, reverse):
    """Backward in time, by the factor that carried each value on."""
    onward = shift(elementwise.conj_of(a), dim, not reverse)
    return None, linear_recurrence(onward, ct, dim, not reverse)


def _recurrence_reference(a, b, dim, reverse=False):
    a, b = (np.moveaxis(np.flip(x, dim) if reverse else x, dim, 0) for x in (a, b))
    out = b.copy()
    for k in range(1, len(out)):
        out[k] += a[k] * out[k - 1]
    out = np.moveaxis(out, 0, dim)
    return np.flip(out, dim) if reverse else out


linear_recurrence = general(
    "linear_recurrence",
    "a: Tensor, b: Tensor, dim: int, reverse: bool = False",
    impl=_recurrence_impl,
    meta=_along("linear_recurrence", INEXACT),
    jvp=_recurrence_jvp,
    transpose=_recurrence_transpose,
    batch=_along_batch(lambda: linear_recurrence),
    reference=_recurrence_reference,
    doc="h with h[k] = a[k] * h[k-1] + b[k] along dim, h[-1] being 0; reverse runs from the end.",
)

# --------------------------------------------------------------------------------------------------------- cumulative

cumsum = linear(
    "cumsum",
    "x: Tensor, dim: int, reverse: bool = False",
    impl=lambda x, dim, reverse: lax.cumsum(x, dim, reverse),
    meta=_along("cumsum", NUMERIC),
    transpose=lambda ct, x, dim, reverse: (cumsum(ct, dim, not reverse),),
    batch=_along_batch(lambda: cumsum),
    reference=lambda x, dim, reverse=False: _backward(lambda x, d: np.cumsum(x, d, x.dtype), reverse, x, dim),
    doc="The sum of the elements up to each along dim (reverse: from each on).",
)


def _cumprod_jvp(ans, primals, tangents, dim, reverse):
    """y[k] = x[k] * y[k-1], differentiated: no division, so zeros are no exception."""
    before = shift(ans, dim, reverse, 1)
    return linear_recurrence(primals[0], algebra.mul(tangents[0], before), dim, reverse)


cumprod = general(
    "cumprod",
    "x: Tensor, dim: int, reverse: bool = False",
    impl=lambda x, dim, reverse: lax.cumprod(x, dim, reverse),
    meta=_along("cumprod", NUMERIC),
    jvp=_cumprod_jvp,
    batch=_along_batch(lambda: cumprod),
    reference=lambda x, dim, reverse=False: _backward(lambda x, d: np.cumprod(x, d, x.dtype), reverse, x, dim),
    doc="The product of the elements up to each along dim (reverse: from each on).",
)


def _cumulative_extremum_impl(before):
    """The last of those that tie is kept; NaN beats all."""

    def step(first, then):
        (x, i), (y, j) = first, then
        take = lax.bitwise_or(lax.ne(y, y), lax.bitwise_and(lax.eq(x, x), lax.bitwise_not(before(y, x))))
        return lax.select(take, y, x), lax.select(take, j, i)

    def impl(x, dim, reverse):
        number = lax.broadcasted_iota(np.int64, x.shape, dim)
        return lax.associative_scan(step, (x, number), reverse=reverse, axis=dim) if x.size else (x, number)

    return impl


def _picked_jvp(ans, primals, tangents, dim, *_):
    """The tangent of values that were picked along dim, at the positions that are the second output."""
    return index.take_along(tangents[0], ans[1], dim, "inside"), None


def _cumulative_extremum_reference(accumulate):
    def values_and_positions(x, dim):
        values = accumulate(x, dim)
        number = np.arange(x.shape[dim]).reshape([-1 if d == dim else 1 for d in range(x.ndim)])
        hit = (x == values) | (x != x)
        return values, np.maximum.accumulate(np.where(hit, number, 0), dim)

    def reference(x, dim, reverse=False):
        values, positions = values_and_positions(np.flip(x, dim) if reverse else x, dim)
        return (np.flip(values, dim), x.shape[dim] - 1 - np.flip(positions, dim)) if reverse else (values, positions)

    return reference


def _cumulative_extremum(name, before, accumulate, doc):
    function = general(
        name,
        "x: Tensor, dim: int, reverse: bool = False",
        multi=True,
        impl=_cumulative_extremum_impl(before),
        meta=_along(name, ORDERED, outs=lambda x: (aval(x.shape, x.dtype), aval(x.shape, int64))),
        jvp=_picked_jvp,
        batch=_along_batch(lambda: function),
        reference=_cumulative_extremum_reference(accumulate),
        doc=doc + " along dim (reverse: from each on), NaN if any is, and where it is (int64), the last of those that tie.",
    )
    return function


cummax = _cumulative_extremum("cummax", lax.lt, np.maximum.accumulate, "The largest element up to each")
cummin = _cumulative_extremum("cummin", lax.gt, np.minimum.accumulate, "The smallest element up to each")


def _log_add(a, b):
    """log(exp(a) + exp(b)), from the one with the larger real part on."""
    swap = lax.lt(lax.real(a), lax.real(b)) if np.iscomplexobj(a) else lax.lt(a, b)
    high, low = lax.select(swap, b, a), lax.select(swap, a, b)
    gap = lax.select(lax.eq(high, low), lax.full_like(a, 0), lax.sub(low, high))  # equal infinities have no difference
    return lax.add(high, lax.log1p(lax.exp(gap)))


def _cumlogsumexp_impl(x, dim, reverse):
    if not x.size:
        return x
    out = lax.associative_scan(_log_add, x, reverse=reverse, axis=dim)
    if not np.iscomplexobj(x):
        return out
    turn = np.asarray(2 * np.pi, lax.imag(out).dtype)
    return lax.complex(lax.real(out), lax.imag(out) - turn * lax.round(lax.imag(out) / turn))  # the principal value


def _cumlogsumexp_jvp(ans, primals, tangents, dim, reverse):
    """The weights exp(x[i] - y[k]), made step by step of factors that are at most 1: y[k] is the sum of what came before, weighted
    exp(y[k-1] - y[k]), and of x[k], weighted exp(x[k] - y[k]). Where y[k] is -inf, a sum of nothing, both are 0."""
    nowhere = compare.eq(ans, algebra.full_like(ans, float("-inf")))
    level = compare.select(nowhere, algebra.full_like(ans, 0), ans)
    kept = _exp_difference(shift(ans, dim, reverse, float("-inf")), level)
    return linear_recurrence(kept, algebra.mul(tangents[0], _exp_difference(primals[0], level)), dim, reverse)


def _exp_difference(x, y):
    """exp(x - y), equal infinities having no difference."""
    return elementwise.exp(compare.select(compare.eq(x, y), algebra.full_like(x, 0), algebra.add(x, algebra.neg(y))))


cumlogsumexp = general(
    "cumlogsumexp",
    "x: Tensor, dim: int, reverse: bool = False",
    impl=_cumlogsumexp_impl,
    meta=_along("cumlogsumexp", INEXACT),
    jvp=_cumlogsumexp_jvp,
    batch=_along_batch(lambda: cumlogsumexp),
    reference=lambda x, dim, reverse=False: _backward(_log_cumsum_exp, reverse, x, dim),
    doc="log of the sum of exp of the elements up to each along dim (reverse: from each on).",
)


def _log_cumsum_exp(x, dim):
    top = np.where(np.isneginf(x.real), 0, x.real).max(axis=dim, keepdims=True, initial=0).astype(x.dtype)
    with np.errstate(divide="ignore"):
        return np.log(np.cumsum(np.exp(x - top), dim, x.dtype)) + top


# --------------------------------------------------------------------------------------------------------------- sort


def _sort_meta(*rest):
    *xs, dim, num_keys, descending = rest
    require(0 < num_keys <= len(xs), "sort", f"num_keys must be between 1 and the number of operands, {len(xs)}, got {num_keys}")
    require(0 <= dim < xs[0].ndim, "sort", f"dim must be a dimension of {xs[0]}, got {dim}", IndexError)
    require(all(x.shape == xs[0].shape for x in xs), "sort", f"expected operands of one shape, got {', '.join(map(str, xs))}")
    return tuple([aval(x.shape, x.dtype) for x in xs])


def _sort_impl(*rest):
    *xs, dim, num_keys, descending = rest
    if descending:  # backward twice, so that elements that tie keep their order
        xs = [lax.rev(x, (dim,)) for x in xs]
    out = lax.sort(tuple(xs), dimension=dim, is_stable=True, num_keys=num_keys)
    return tuple([lax.rev(x, (dim,)) for x in out]) if descending else tuple(out)


def _sort_permuted(operands, dim, num_keys, descending):
    """The sorted operands and where each element comes from."""
    *out, source = sort([*operands, create.iota(operands[0].shape, dim, int32)], dim, num_keys, descending)
    return tuple(out), source


def _permute_tangents(tangents, source, dim):
    return tuple([None if t is None else index.take_along(t, source, dim, "inside", True) for t in tangents])


def _sort_jvp(ans, primals, tangents, dim, num_keys, descending):
    _, source = _sort_permuted(primals[:num_keys], dim, num_keys, descending)
    return _permute_tangents(tangents, source, dim)


def _sort_linearize(primals, nonzero, dim, num_keys, descending):
    """One sort for values and permutation."""
    out, source = _sort_permuted(primals, dim, num_keys, descending)
    return out, lambda tangents: _permute_tangents(tangents, source, dim)


def _sort_reference(xs, dim, num_keys=1, descending=False):
    flip = (lambda x: np.flip(x, dim)) if descending else (lambda x: x)
    xs = [flip(x) for x in xs]
    keys = [k for x in reversed(xs[:num_keys]) for k in ((x.imag, x.real) if np.iscomplexobj(x) else (x,))]
    order = np.lexsort(keys, axis=dim)
    return tuple([flip(np.take_along_axis(x, order, dim)) for x in xs])


sort = general(
    "sort",
    "operands: Tensors, dim: int, num_keys: int = 1, descending: bool = False",
    multi=True,
    impl=_sort_impl,
    meta=_sort_meta,
    jvp=_sort_jvp,
    linearize=_sort_linearize,
    batch=dims_batch(lambda: sort, DIM, SAME, SAME),
    reference=_sort_reference,
    doc="""The operands in the order along dim of the first num_keys of them; stable. NaN counts as the largest; complex numbers are
    ordered by their real, then imaginary part.""",
)

# -------------------------------------------------------------------------------------------------------------- top k


def _top_k_meta(x, k):
    require_category("top_k", [x], ORDERED)
    require(
        x.ndim > 0 and 0 <= k <= x.shape[-1], "top_k", f"k must be at most the size of the last dimension of {x}, got {k}", RuntimeError
    )
    sizes = (*x.shape[:-1], k)
    return aval(sizes, x.dtype), aval(sizes, int64)


def _top_k_impl(x, k):
    if not np.issubdtype(x.dtype, np.integer) and x.dtype != np.bool_:  # lax counts a NaN with a sign as the smallest
        x = lax.select(lax.ne(x, x), lax.full_like(x, np.nan), x)
    values, positions = lax.top_k(x, k)
    return values, lax.convert_element_type(positions, np.int64)


def _top_k_reference(x, k):
    order = np.flip(np.argsort(np.flip(x, -1), axis=-1, kind="stable"), -1)
    positions = x.shape[-1] - 1 - order[..., :k]
    return np.take_along_axis(x, positions, -1), positions


top_k = general(
    "top_k",
    "x: Tensor, k: int",
    multi=True,
    impl=_top_k_impl,
    meta=_top_k_meta,
    jvp=lambda ans, primals, tangents, k: _picked_jvp(ans, primals, tangents, primals[0].ndim - 1),
    batch=rows_batch(lambda: top_k),
    reference=_top_k_reference,
    doc="The k largest elements along the last dimension, in falling order, and their positions (int64); NaN counts as the largest.",
)

"""The scatters: writing where gather reads. places.py describes the parameters that say where."""

from __future__ import annotations

import math

import numpy as np
from jax import lax

from ..core.aval import aval
from ..core.dtype import int32
from . import algebra, compare, create, elementwise, order, shape
from . import index as indexing
from .families import ANY, NUMERIC, ORDERED, general, linear, require, require_category
from .places import MODES, WHERE, along, batched, checks_of, columns, layout_of, one_window, rows, split, where_ok


def _scatter_impl(scatter):
    def impl(x, updates, *rest):
        index, (dims, sizes, batch, at, mode, unique) = split(rest)
        if x.size == 0 or updates.size == 0:
            return x
        layout = lax.ScatterDimensionNumbers(*layout_of(x, index[0].ndim, dims, sizes, batch, at))
        how = {"unique_indices": unique, "mode": MODES[mode] or "promise_in_bounds"}
        return scatter(x, columns(x, index, dims, mode), updates, layout, **how)

    return impl


def _scatter_batch(op_of):
    def batch(size, args, dims, *params):
        (x, updates, *index), (dx, du, *d_index) = args, dims
        if dx is None:
            x, dx = algebra.expand(x, size), 0
        index, params, out = batched(size, x, dx, index, d_index, *params)
        updates = algebra.expand(updates, size, out) if du is None else algebra.move(updates, du, out)
        return op_of()(x, updates, index, *params), dx

    return batch


def _scatter_meta(name, categories):
    def meta(x, updates, *rest):
        index, where = split(rest)
        require_category(name, [x], categories)
        expected = aval(where_ok(name, x, index, *where), x.dtype)
        require(updates.shape == expected.shape and updates.dtype is x.dtype, name, f"expected updates {expected} for {x}, got {updates}")
        return aval(x.shape, x.dtype)

    return meta


def _scatter_reference(combine):
    def reference(x, updates, index, *where):
        out = x.copy()
        for place, spot in rows(x, index, *where):
            out[spot] = combine(out[spot], updates[place])
        return out

    return reference


def _scatter(constructor, name, impl, categories, combine, doc, **slots):
    function = constructor(
        name,
        f"x: Tensor, updates: Tensor, index: Tensors, {WHERE}",
        impl=_scatter_impl(impl),
        meta=_scatter_meta(name, categories),
        batch=_scatter_batch(lambda: function),
        checks=checks_of(2),
        traits={"reads": 2},
        reference=_scatter_reference(combine),
        doc=doc + " See gather.",
        **slots,
    )
    return function


def _add_transpose(ct, x, updates, *rest):
    index, where = split(rest)
    to_updates = indexing.gather(ct, index, *where) if algebra.wanted(updates) else None
    return (ct if algebra.wanted(x) else None, to_updates, *(None,) * len(index))


scatter_add = _scatter(
    linear,
    "scatter_add",
    lax.scatter_add,
    NUMERIC,
    np.add,
    "x with updates added to its windows at index.",
    transpose=_add_transpose,
    over=(0, 1),
)


def _set_transpose(ct, x, updates, *rest):
    """Of updates to one element only the one that was kept gets a cotangent."""
    index, where = split(rest)
    to_x = to_updates = None
    if algebra.wanted(x):
        to_x = scatter(ct, algebra.zeros(aval(updates.shape, ct.dtype)), index, *where)
    if algebra.wanted(updates):
        to_updates = indexing.gather(ct, index, *where)
        if not where[-1]:
            number = _numbered(updates.shape)
            kept = indexing.gather(scatter(create.full(ct.shape, -1, int32), number, index, *where), index, *where)
            to_updates = compare.select(compare.eq(kept, number), to_updates, algebra.zeros(to_updates.aval))
    return (to_x, to_updates, *(None,) * len(index))


def _numbered(sizes):
    """0, 1, 2 ... in this shape."""
    return shape.reshape(create.iota((math.prod(sizes),), 0, int32), sizes)


def _set_impl(x, updates, *rest):
    """The last of the updates to one element wins. The CPU writes in order; elsewhere the order is undefined, so that the highest
    number of an update is found first, and then what it wrote."""
    index, (*where, unique) = split(rest)
    dims, sizes, batch, _, mode = where
    if updates.size and (window := one_window(x, index, dims, sizes, batch, mode)) is not None:
        return lax.dynamic_update_slice(x, lax.reshape(updates, window[1]), window[0])
    in_order = _scatter_impl(lax.scatter)

    def by_number(x, updates, *index):
        number = lax.reshape(lax.iota(np.int32, updates.size), updates.shape)
        last = _scatter_impl(lax.scatter_max)(lax.full(x.shape, np.int32(-1)), number, *index, *where, unique)
        kept = indexing.gather_impl(lax.reshape(updates, (updates.size,)), last, (0,), (0,), ((), ()), 0, "clip", False)
        return lax.select(last < 0, x, kept)

    if unique or updates.size < 2:
        return in_order(x, updates, *index, *where, unique)
    return lax.platform_dependent(x, updates, *index, cpu=lambda x, u, *i: in_order(x, u, *i, *where, unique), default=by_number)


scatter = _scatter(
    linear,
    "scatter",
    None,
    ANY,
    lambda old, new: new,
    "x with its windows at index replaced by updates, the last of those to one element.",
    transpose=_set_transpose,
    over=(0, 1),
)
scatter.op.impl = _set_impl


def _mul_jvp(ans, primals, tangents, *where):
    """An update's partial is x times the *other* updates to its element."""
    (x, updates, *index), (tx, tu, *_) = primals, tangents
    terms = []
    if tx is not None:
        terms.append(algebra.mul(tx, scatter_mul(algebra.one_like(x), updates, index, *where)))
    if tu is not None:
        others = indexing.gather(x, index, *where)
        if not where[-1]:
            element = indexing.gather(algebra.add(_numbered(x.shape), create.full(x.shape, 1, int32)), index, *where)
            others = algebra.mul(others, _other_factors(updates, element))
        terms.append(scatter_add(algebra.full_like(x, 0), algebra.mul(tu, others), index, *where))
    return algebra.total(terms)


def _other_factors(updates, element):
    """For each update the product of the others to its element, without division: zeros are no exception. In the order of the
    elements these are the products of what comes before and behind, each run of equal elements on its own."""
    (n,), u = (updates.aval.size,), shape.reshape(updates, (updates.aval.size,))
    element, source = order.sort([shape.reshape(element, (n,)), _numbered((n,))], 0)
    u = indexing.take_along(u, source, 0, "inside", True)
    one, nothing = algebra.one_like(u), algebra.full_like(u, 0)

    def product(reverse):
        joined = compare.eq(element, order.shift(element, 0, reverse, -1))
        factor = compare.select(joined, order.shift(u, 0, reverse), nothing)
        return order.linear_recurrence(factor, compare.select(joined, nothing, one), 0, reverse)

    others = put_along(scatter, nothing, source, algebra.mul(product(False), product(True)), 0, "inside", True)
    return shape.reshape(others, updates.shape)


scatter_mul = _scatter(
    general, "scatter_mul", lax.scatter_mul, NUMERIC, np.multiply, "x with its windows at index multiplied by updates.", jvp=_mul_jvp
)


def _extremum_jvp(ans, primals, tangents, *where):
    """All that tie at an element share its tangent evenly, as in PyTorch's scatter_reduce."""
    (x, updates, *index), (tx, tu, *_) = primals, tangents
    hit_x, hit_u = _hit(x, ans), _hit(updates, indexing.gather(ans, index, *where))
    share = elementwise.div(algebra.one_like(x), scatter_add(hit_x, hit_u, index, *where))
    nothing = algebra.full_like(x, 0)
    terms = [algebra.mul(tx, hit_x)] if tx is not None else []
    if tu is not None:
        terms.append(scatter_add(nothing, algebra.mul(tu, hit_u), index, *where))
    return algebra.mul(algebra.total(terms), share)


def _hit(x, ans):
    """1 where x is the extremum or NaN."""
    one, nothing = algebra.one_like(x), algebra.full_like(x, 0)
    return compare.select(compare.ne(x, x), one, compare.select(compare.eq(x, ans), one, nothing))


scatter_max = _scatter(
    general,
    "scatter_max",
    lax.scatter_max,
    ORDERED,
    np.maximum,
    "x with its windows at index, or updates where they are larger.",
    jvp=_extremum_jvp,
)
scatter_min = _scatter(
    general,
    "scatter_min",
    lax.scatter_min,
    ORDERED,
    np.minimum,
    "x with its windows at index, or updates where they are smaller.",
    jvp=_extremum_jvp,
)


def put_along(scatter, x, index, updates, dim: int, mode: str = "check", unique: bool = False):
    """What take_along reads, written by one of the scatters."""
    return scatter(x, updates, [index], *along(x.ndim, dim, mode, unique))

"""Factorizations that stand column by column: Householder reflectors, pivoted L D L^T, and which leading minor is not positive.

Each is a loop over columns in which all matrices of a batch take the same steps, what differs being chosen by masks. The conventions
are LAPACK's (xGEQR2, xSYTF2 and xHETF2: Bunch and Kaufman, Some stable methods for calculating inertia and solving symmetric linear
systems, 1977). What they give has no derivative rule, as in PyTorch.
"""

from __future__ import annotations

import math

import numpy as np
from jax import lax

from ..core.aval import aval
from ..core.dtype import bool_, int32
from ..errors import NonDifferentiableError
from .families import general, require, rows_batch, zero
from .linalg import require_matrices

# ------------------------------------------------------------------------------------------ of a batch [b, m, n] of matrices


def _flat(x, rank: int = 2):
    return lax.reshape(x, (math.prod(x.shape[: x.ndim - rank]), *x.shape[x.ndim - rank :]))


def _unflat(x, lead):
    return lax.reshape(x, (*lead, *x.shape[1:]))


def _count(shape, dim):
    return lax.broadcasted_iota(np.int32, shape, dim)


def _wide(v, like, *dims):
    """v along these dimensions of `like`."""
    return lax.broadcast_in_dim(v, like.shape, dims)


def _zero(x):
    return lax.full_like(x, 0)


def _where(mask, x, otherwise=None):
    return lax.select(mask, x, _zero(x) if otherwise is None else otherwise)


def _sum(x, dim):
    return lax.reduce(x, np.zeros((), x.dtype)[()], lax.add, (dim,))


def _peak(x, dim):
    return lax.reduce(x, np.asarray(-np.inf, x.dtype)[()], lax.max, (dim,))


def _at(x, k, dim: int):
    """The row or column k, the same for all."""
    return lax.dynamic_index_in_dim(x, k, dim, keepdims=False)


def _picked(x, where, dim: int):
    """Of each matrix (or vector) what stands at its own `where` along dim."""
    return _sum(_where(lax.eq(_count(x.shape, dim), _wide(where, x, 0)), x), dim)


def _each(n, step, begin):
    """The state after a step for each of n columns."""
    return lax.fori_loop(0, n, lambda k, state: step(lax.convert_element_type(k, np.int32), state), begin)


def _next(like, k):
    """k + 1, for all."""
    return lax.full_like(like, lax.add(k, np.int32(1)))


def _conj(x, conjugate: bool = True):
    return lax.conj(x) if conjugate and np.iscomplexobj(x) else x


def _modulus(x):
    """|re| + |im|: how LAPACK compares complex numbers."""
    return lax.add(lax.abs(lax.real(x)), lax.abs(lax.imag(x))) if np.iscomplexobj(x) else lax.abs(x)


def _outer(column, row):
    n, m = column.shape[1], row.shape[1]
    whole = (column.shape[0], n, m)
    return lax.mul(lax.broadcast_in_dim(column, whole, (0, 1)), lax.broadcast_in_dim(row, whole, (0, 2)))


def _no_derivative(name):
    def jvp(ans, primals, tangents, *params):
        raise NonDifferentiableError(
            f"{name}: the derivative of its packed factors is not implemented, got {primals[0].aval}; {_INSTEAD[name]}"
        )

    return jvp


_INSTEAD = {"geqrf": "fl.linalg.qr has one", "ldl": "fl.linalg.cholesky and fl.linalg.solve have one"}

# ------------------------------------------------------------------------------------------------------------- geqrf


def _geqrf_meta(x):
    require_matrices("geqrf", x)
    *lead, m, n = x.shape
    return x, aval((*lead, min(m, n)), x.dtype)


def _geqrf_impl(x):
    *lead, m, n = x.shape
    a = _flat(x)
    rows, columns = (_count(a.shape, d) for d in (1, 2))
    i = _count(a.shape[:2], 1)

    def step(k, state):
        a, taus = state
        x = _at(a, k, 2)
        below, on = lax.gt(i, k), lax.eq(i, k)
        alpha = _sum(_where(on, x), 1)
        tail = _norm(_where(below, x))
        real = lax.real(alpha) if np.iscomplexobj(alpha) else alpha
        beta = _hypot(lax.abs(alpha), tail)
        beta = lax.select(lax.lt(real, _zero(real)), beta, lax.neg(beta))
        idle = lax.eq(tail, _zero(tail))
        if np.iscomplexobj(alpha):
            idle = lax.bitwise_and(idle, lax.eq(lax.imag(alpha), _zero(real)))
        beta = lax.select(idle, real, beta)
        safe = lax.convert_element_type(lax.select(idle, lax.full_like(beta, 1), beta), alpha.dtype)
        tau = _where(lax.bitwise_not(idle), lax.div(lax.sub(safe, alpha), safe))
        shift = lax.sub(alpha, lax.convert_element_type(beta, alpha.dtype))
        v = lax.div(x, _wide(lax.select(idle, lax.full_like(shift, 1), shift), x, 0))
        v = lax.select(on, lax.full_like(v, 1), _where(below, v))
        v_h = _sum(lax.mul(_wide(_conj(v), a, 0, 1), a), 1)
        later = lax.gt(columns, k)
        moved = lax.sub(a, _outer(lax.mul(v, _wide(_conj(tau), v, 0)), v_h))
        a = lax.select(later, moved, a)
        column = lax.select(on, _wide(lax.convert_element_type(beta, a.dtype), v, 0), lax.select(below, v, x))
        a = lax.select(lax.eq(columns, k), _wide(column, a, 0, 1), a)
        return a, lax.dynamic_update_index_in_dim(taus, tau, k, 1)

    taus = lax.full((a.shape[0], min(m, n)), 0, x.dtype)
    a, taus = _each(min(m, n), step, (a, taus)) if a.size else (a, taus)
    return _unflat(a, lead), _unflat(taus, lead)


def _norm(x):
    """The 2-norm of each row, without overflow."""
    size = lax.abs(x)
    top = _peak(size, 1)
    top = lax.select(lax.gt(top, _zero(top)), top, lax.full_like(top, 1))
    scaled = lax.div(size, _wide(top, size, 0))
    return lax.mul(top, lax.sqrt(_sum(lax.mul(scaled, scaled), 1)))


def _hypot(x, y):
    top = lax.max(x, y)
    safe = lax.select(lax.gt(top, _zero(top)), top, lax.full_like(top, 1))
    x, y = lax.div(x, safe), lax.div(y, safe)
    return lax.mul(top, lax.sqrt(lax.add(lax.mul(x, x), lax.mul(y, y))))


def _geqrf_reference(x):
    from scipy.linalg import lapack

    *lead, m, n = x.shape
    packed, taus = x.copy(), np.zeros((*lead, min(m, n)), x.dtype)
    for i in np.ndindex(*lead):
        if x[i].size:
            packed[i], taus[i] = lapack.get_lapack_funcs(("geqrf",), (x,))[0](x[i])[:2]
    return packed, taus


geqrf = general(
    "geqrf",
    "x: Tensor",
    multi=True,
    impl=_geqrf_impl,
    meta=_geqrf_meta,
    jvp=_no_derivative("geqrf"),
    batch=rows_batch(lambda: geqrf),
    reference=_geqrf_reference,
    doc="""The QR factorization of x [m, n] as LAPACK packs it: R on and above the diagonal; below, the vectors of the reflectors
    1 - tau v v^H whose product is Q (v is 1 on the diagonal); and the min(m, n) numbers tau.""",
)

# --------------------------------------------------------------------------------------------------------------- ldl

_ALPHA = (1 + math.sqrt(17)) / 8


def _ldl_meta(x, hermitian):
    require_matrices("ldl", x, square=True)
    return x, aval(x.shape[:-1], int32), aval(x.shape[:-2], int32)


def _ldl_impl(x, hermitian):
    *lead, n, _ = x.shape
    conjugate = hermitian and np.iscomplexobj(x)
    a = _flat(x)
    rows, columns = (_count(a.shape, d) for d in (1, 2))
    i = _count(a.shape[:2], 1)
    mirrored = _conj(lax.transpose(a, (0, 2, 1)), conjugate)
    a = lax.select(lax.ge(rows, columns), a, mirrored)
    real = (lambda v: lax.complex(lax.real(v), _zero(lax.real(v)))) if conjugate else (lambda v: v)
    a = lax.select(lax.eq(rows, columns), real(a), a)

    def exchanged(a, p, q, k):
        """Rows and columns p and q exchanged, from k on."""
        for dim, ours, others in ((1, rows, columns), (2, columns, rows)):
            at_p, at_q = (_wide(_picked(a, w, dim), a, 0, 3 - dim) for w in (p, q))
            new = lax.select(lax.eq(ours, _wide(p, a, 0)), at_q, lax.select(lax.eq(ours, _wide(q, a, 0)), at_p, a))
            a = lax.select(lax.ge(others, k), new, a)
        return a

    def step(k, state):
        a, pivots, info, second = state
        column = _at(a, k, 2)
        size = _modulus(column)
        on = _picked(size, lax.full_like(info, k), 1)
        below = lax.select(lax.gt(i, k), size, lax.full_like(size, -1))
        largest = lax.max(_peak(below, 1), _zero(on))
        far = lax.argmax(below, 1, np.int32)
        row = _modulus(_picked(a, far, 1))
        others = lax.bitwise_and(lax.ge(i, k), lax.ne(i, _wide(far, i, 0)))
        row_largest = _peak(lax.select(others, row, lax.full_like(row, -1)), 1)
        alpha = lax.full_like(on, _ALPHA)
        nothing = lax.eq(lax.max(on, largest), _zero(on))
        stay = lax.ge(on, lax.mul(alpha, largest))
        ratio = lax.div(largest, lax.select(lax.gt(row_largest, _zero(on)), row_largest, lax.full_like(on, 1)))
        stay = lax.bitwise_or(stay, lax.ge(on, lax.mul(lax.mul(alpha, largest), ratio)))
        stay = lax.bitwise_or(stay, nothing)
        single = lax.bitwise_or(stay, lax.ge(_picked(row, far, 1), lax.mul(alpha, row_largest)))
        twice = lax.bitwise_and(lax.bitwise_not(single), lax.bitwise_not(second))
        here = lax.full_like(far, k)
        target = lax.select(stay, here, far)
        slot = lax.add(here, lax.convert_element_type(twice, np.int32))
        new = exchanged(a, slot, target, k)
        after = lax.min(lax.add(k, np.int32(1)), np.int32(n - 1))
        u, w = _at(new, k, 2), _at(new, after, 2)  # columns
        u_row, w_row = _at(new, k, 1), _at(new, after, 1)
        d, e, c = (_picked(v, at, 1) for v, at in ((u, here), (u, lax.full_like(here, after)), (w, lax.full_like(here, after))))
        one = lax.full_like(d, 1)
        # one pivot: l = u / d
        by = lax.div(one, lax.select(nothing, one, d))
        l1 = lax.mul(u, _wide(by, u, 0))
        # two: [l1 l2] = [u w] D^-1, by what stands outside the diagonal of D, e and e_up, so that nothing overflows
        e = lax.select(twice, e, one)
        e_up = _conj(e, conjugate)
        c_e, d_e = lax.div(c, e), lax.div(d, e_up)
        t = lax.div(one, lax.select(twice, lax.sub(lax.mul(c_e, d_e), one), one))
        pair1 = lax.mul(_wide(lax.div(t, e_up), u, 0), lax.sub(lax.mul(_wide(c_e, u, 0), u), w))
        pair2 = lax.mul(_wide(lax.div(t, e), u, 0), lax.sub(lax.mul(_wide(d_e, u, 0), w), u))
        two = _wide(twice, u, 0)
        l1 = lax.select(two, pair1, l1)
        last = lax.gt(i, _wide(slot, i, 0))
        l1, l2 = _where(last, l1), _where(lax.bitwise_and(two, last), pair2)
        idle = lax.bitwise_or(nothing, second)
        whole = lambda v: _wide(v, a, 0)
        eliminated = lax.sub(lax.sub(new, _outer(l1, u_row)), _outer(l2, w_row))
        trailing = lax.bitwise_and(lax.gt(rows, whole(slot)), lax.gt(columns, whole(slot)))
        out = lax.select(trailing, eliminated, new)
        out = lax.select(lax.eq(rows, columns), real(out), out)
        under = lax.gt(rows, whole(slot))
        out = lax.select(lax.bitwise_and(under, lax.eq(columns, k)), _wide(l1, a, 0, 1), out)
        pair = lax.bitwise_and(lax.bitwise_and(under, lax.eq(columns, after)), whole(twice))
        out = lax.select(pair, _wide(l2, a, 0, 1), out)
        a = lax.select(whole(idle), a, out)
        number = lax.add(target, lax.full_like(target, 1))
        number = lax.select(twice, lax.neg(number), number)
        mine = lax.bitwise_or(lax.eq(i, k), lax.bitwise_and(lax.eq(i, after), two))
        pivots = lax.select(lax.bitwise_and(mine, lax.bitwise_not(_wide(second, i, 0))), _wide(number, i, 0), pivots)
        found = lax.bitwise_and(lax.bitwise_and(nothing, lax.bitwise_not(second)), lax.eq(info, _zero(info)))
        info = lax.select(found, _next(info, k), info)
        return a, pivots, info, twice

    b = a.shape[0]
    begin = a, lax.full((b, n), 0, np.int32), lax.full((b,), 0, np.int32), lax.full((b,), False, np.bool_)
    a, pivots, info, _ = _each(n, step, begin) if a.size else begin
    return _unflat(_where(lax.ge(rows, columns), a), lead), _unflat(pivots, lead), _unflat(info, lead)


def _ldl_reference(x, hermitian):
    from scipy.linalg import lapack

    conjugate = hermitian and np.iscomplexobj(x)
    (factor,) = lapack.get_lapack_funcs(("hetrf" if conjugate else "sytrf",), (x,))
    packed, pivots, info = x.copy(), np.zeros(x.shape[:-1], np.int32), np.zeros(x.shape[:-2], np.int32)
    for i in np.ndindex(*x.shape[:-2]):
        if x[i].size:
            packed[i], pivots[i], info[i] = factor(x[i], lower=1)
    return np.tril(packed), pivots, info


ldl = general(
    "ldl",
    "x: Tensor, hermitian: bool",
    multi=True,
    impl=_ldl_impl,
    meta=_ldl_meta,
    jvp=_no_derivative("ldl"),
    batch=rows_batch(lambda: ldl),
    reference=_ldl_reference,
    doc="""x = L D L^T (D L^H if `hermitian`) with the pivoting of Bunch and Kaufman, for symmetric or Hermitian x [n, n], of which the
    lower triangle is read: (L and D packed, pivots, info). D has blocks of 1 and 2; pivots (int32, from 1) are LAPACK's: row k was
    exchanged with row pivots[k] or, of a block of 2, its second with row -pivots[k]; info is the first zero block of D, or 0.""",
)

# ------------------------------------------------------------------------------------------------------- interchanges


def _interchanges_meta(pivots):
    ok = pivots.dtype is int32 and pivots.ndim >= 1
    require(ok, "interchanges", f"expected int32 pivots [..., n], got {pivots}")
    n = pivots.shape[-1]
    return aval((*pivots.shape, n + 1), int32), aval(pivots.shape, bool_)


def _interchanges_impl(pivots):
    *lead, n = pivots.shape
    pivots = _flat(pivots, 1)
    b = pivots.shape[0]
    orders = _count((b, n, n + 1), 1)
    rows, columns = _count(orders.shape, 1), _count(orders.shape, 2)

    def step(k, state):
        orders, firsts, second = state
        pivot = _at(pivots, k, 1)
        paired = lax.lt(pivot, _zero(pivot))
        first = lax.bitwise_and(paired, lax.bitwise_not(second))
        here, target = lax.full_like(pivot, k), lax.sub(lax.abs(pivot), lax.full_like(pivot, 1))
        at_here, at_target = (_wide(_picked(orders, w, 1), orders, 0, 2) for w in (here, target))
        is_target = lax.eq(rows, _wide(target, rows, 0))
        new = lax.select(lax.eq(rows, k), at_target, lax.select(is_target, at_here, orders))
        block = lax.sub(here, lax.convert_element_type(second, np.int32))  # where the block of this pivot begins
        earlier = lax.bitwise_or(lax.lt(columns, _wide(block, rows, 0)), lax.eq(columns, np.int32(n)))
        orders = lax.select(lax.bitwise_and(earlier, lax.bitwise_not(_wide(first, rows, 0))), new, orders)
        return orders, lax.dynamic_update_index_in_dim(firsts, first, k, 1), first

    begin = orders, lax.full((b, n), False, np.bool_), lax.full((b,), False, np.bool_)
    orders, firsts, _ = _each(n, step, begin) if pivots.size else begin
    return _unflat(orders, lead), _unflat(firsts, lead)


def _interchanges_reference(pivots):
    n = pivots.shape[-1]
    orders = np.broadcast_to(np.arange(n, dtype=np.int32)[:, None], (*pivots.shape, n + 1)).copy()
    firsts = np.zeros(pivots.shape, np.bool_)
    for i in np.ndindex(*pivots.shape[:-1]):
        k = 0
        while k < n:
            pair = pivots[i][k] < 0
            firsts[i][k] = pair
            slot, target = k + pair, abs(pivots[i][k]) - 1
            for column in (*range(k), n):
                orders[i][[slot, target], column] = orders[i][[target, slot], column]
            k += 1 + pair
    return orders, firsts


interchanges = zero(
    "interchanges",
    "pivots: Tensor",
    multi=True,
    impl=_interchanges_impl,
    meta=_interchanges_meta,
    batch=rows_batch(lambda: interchanges),
    reference=_interchanges_reference,
    doc="""What the pivots of `ldl` say: (orders [..., n, n + 1], firsts). Column j of orders is where the rows of column j of the packed
    L come from if the exchanges after it are made in it too, and the last column where those of the whole do; firsts marks where a
    block of 2 begins.""",
)

# ------------------------------------------------------------------------------------------------------ leading minors


def _minor_meta(x):
    require_matrices("leading_minor", x, square=True)
    return aval(x.shape[:-2], int32)


def _minor_impl(x):
    *lead, n, _ = x.shape
    a = _flat(x)
    rows, columns = (_count(a.shape, d) for d in (1, 2))
    a = lax.select(lax.ge(rows, columns), a, _conj(lax.transpose(a, (0, 2, 1))))

    def step(k, state):
        a, info = state
        column = _at(a, k, 2)
        d = _at(column, k, 1)
        d = lax.real(d) if np.iscomplexobj(d) else d
        positive = lax.gt(d, _zero(d))
        info = lax.select(lax.bitwise_or(positive, lax.gt(info, _zero(info))), info, _next(info, k))
        by = lax.convert_element_type(lax.select(positive, d, lax.full_like(d, 1)), a.dtype)
        return lax.sub(a, _outer(lax.div(column, _wide(by, column, 0)), _at(a, k, 1))), info

    info = lax.full(a.shape[:1], 0, np.int32)
    return _unflat(_each(n, step, (a, info))[1] if a.size else info, lead)


def _minor_reference(x):
    info = np.zeros(x.shape[:-2], np.int32)
    for i in np.ndindex(*x.shape[:-2]):
        lower = np.tril(x[i], -1)
        whole = lower + np.conj(lower.T) + np.diag(np.diag(x[i]).real)
        info[i] = next((k for k in range(1, len(whole) + 1) if np.linalg.eigvalsh(whole[:k, :k])[0] <= 0), 0)
    return info


leading_minor = zero(
    "leading_minor",
    "x: Tensor",
    impl=_minor_impl,
    meta=_minor_meta,
    batch=rows_batch(lambda: leading_minor),
    reference=_minor_reference,
    doc="The order (int32, from 1) of the first leading minor of Hermitian x, of which the lower triangle is read, that is not positive; or 0.",
)

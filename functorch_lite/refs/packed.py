"""Factors as LAPACK packs them: Householder reflectors, symmetric factorizations with pivots, and the parts of a packed LU.

A product of reflectors H_1 ... H_k = 1 - V T V^H, with T = (1 + D S)^-1 D, D = diag(tau) and S what V^H V has above its diagonal
(Joffrain, Low, Quintana-Ortí, van de Geijn, Robey: Accumulating Householder transformations, revisited, 2006; here without 1 / tau,
so that tau = 0 is no exception). So products and derivatives are those of matrix products and one triangular solve.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.array import Array
from ..core.dtype import int32
from ..core.op import Tensor, composite
from ..prims import algebra, checks, compare, create, elementwise, index, linalg, matrix, order, parts, reflectors, shape
from .arguments import require, require_arrays, require_one_dtype, shown
from .linalg import LU, NAMESPACE, aligned, swaps_of, unpacked
from .promotion import expand_to, to_dtype


class GEQRF(NamedTuple):
    """R and the reflectors' vectors packed in one matrix, and the reflectors' numbers."""

    a: Array
    tau: Array


class LDLFactor(NamedTuple):
    """L and D packed in one matrix, and LAPACK's pivots (int32, from 1)."""

    LD: Array
    pivots: Array


class LDLFactorEx(NamedTuple):
    """L and D packed in one matrix, LAPACK's pivots, and the number of the first zero block of D (0: none)."""

    LD: Array
    pivots: Array
    info: Array


# --------------------------------------------------------------------------------------------------------- reflectors


def _reflectors(name, a, tau):
    """(V [..., m, k], T [..., k, k]) of packed reflectors."""
    require_one_dtype(name, input=a, tau=tau)
    linalg.require_matrices(name, a.aval)
    require(
        tau.ndim == a.ndim - 1 and tau.shape[:-1] == a.shape[:-2], name, f"tau must be [..., k] for input [..., m, n], got {shown(a, tau)}"
    )
    m, k = a.shape[-2], tau.shape[-1]
    lower = matrix.keep(matrix.block(a, m, k), compare.lt)
    v = elementwise.add(lower, matrix.eye(lower))
    s = matrix.keep(matrix.matmul(matrix.adjoint(v), v), compare.gt)
    ds = elementwise.mul(matrix.along_columns(tau, s), s)
    d = matrix.keep(matrix.along_columns(tau, s), compare.eq)
    return v, linalg.triangular_solve(ds, d, True, False, False, False, True)


def _times_q(v, t, x, adjoint: bool):
    """Q x, or Q^H x."""
    t = matrix.adjoint(t) if adjoint else t
    return elementwise.sub(x, matrix.matmul(v, matrix.matmul(t, matrix.matmul(matrix.adjoint(v), x))))


def _whole_q_reference(a, tau):
    """The square Q."""
    m = a.shape[-2]
    q = np.broadcast_to(np.eye(m, dtype=a.dtype), (*a.shape[:-2], m, m))
    for k in range(tau.shape[-1]):
        v = np.where(np.arange(m) == k, 1, np.where(np.arange(m) > k, a[..., :, k], 0))
        q = q - tau[..., k, None, None] * (q @ v[..., :, None]) @ np.conj(v[..., None, :])
    return q


@composite(namespace=NAMESPACE, method="orgqr", reference=lambda a, tau: _whole_q_reference(a, tau)[..., : a.shape[-1]])
def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first n columns of the product of the reflectors 1 - tau[k] v v^H that `geqrf` gives: input [..., m, n], tau [..., k <= n].

    RuntimeError unless m >= n >= k.

    >>> import functorch_lite as fl
    >>> a, tau = fl.geqrf(fl.asarray([[3.0], [4.0]]))
    >>> fl.linalg.householder_product(a, tau).tolist()
    [[-0.6...], [-0.8...]]
    """
    name = "householder_product"
    require_arrays(name, input=input, tau=tau)
    require(input.ndim >= 2, name, f"input must have at least 2 dimensions, got {shown(input)}")
    m, n = input.shape[-2:]
    require(m >= n, name, f"input.shape[-2] must be greater than or equal to input.shape[-1], got {shown(input)}")
    ok = tau.ndim > 0 and n >= tau.shape[-1]
    require(ok, name, f"input.shape[-1] must be greater than or equal to tau.shape[-1], got {shown(input, tau)}")
    v, t = _reflectors(name, input, tau)
    return _times_q(v, t, matrix.eye(input), False)


orgqr = householder_product


def _ormqr_reference(a, tau, c, left=True, transpose=False):
    q = _whole_q_reference(a, tau)
    q = np.conj(np.swapaxes(q, -1, -2)) if transpose else q
    return q @ c if left else c @ q


@composite(method=True, reference=_ormqr_reference)
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """Q other (or other Q, unless left), Q being the square product of the reflectors (input, tau) of `geqrf`, or its adjoint if
    ``transpose``; Q itself is never formed."""
    name = "ormqr"
    require_arrays(name, input=input, tau=tau, other=other)
    require(input.ndim >= 2, name, f"input must have at least 2 dimensions, got {shown(input)}")
    require(other.ndim >= 2, name, f"other must have at least 2 dimensions, got {shown(other)}")
    side, of = (-2 if left else -1), input.shape[-2]
    least = min(other.shape[side], input.shape[-1])
    ok = tau.ndim > 0 and tau.shape[-1] <= input.shape[-1]
    require(ok, name, f"tau.shape[-1] must be less than or equal to input.shape[-1], got {shown(input, tau)}")
    message = f"tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1]) = {least}, got {shown(input, tau, other)}"
    require(tau.shape[-1] == least, name, message)
    require(other.shape[side] == of, name, f"other.shape[{side}] must be equal to input.shape[-2], got {shown(input, other)}")
    ok = other.ndim == input.ndim and other.shape[:-2] == input.shape[:-2]
    require(ok, name, f"other must have the leading dimensions of input, got {shown(input, other)}")
    require_one_dtype(name, input=input, tau=tau, other=other)
    v, t = _reflectors(name, input, tau)
    if left:
        return _times_q(v, t, other, transpose)
    return matrix.adjoint(_times_q(v, t, matrix.adjoint(other), not transpose))


@composite(method=True, multi=True, returns=GEQRF, reference=reflectors.geqrf.op.reference)
def geqrf(input: Tensor) -> tuple:
    """The QR factorization of input [..., m, n] as LAPACK packs it: a named tuple (a, tau), for `householder_product` and `ormqr`.

    R stands on and above the diagonal of a, the reflectors' vectors below it. Not differentiable: see `linalg.qr`.
    """
    require_arrays("geqrf", input=input)
    return reflectors.geqrf(input)


# --------------------------------------------------------------------------------------------------------------- ldl


@composite(
    namespace=NAMESPACE,
    multi=True,
    returns=LDLFactorEx,
    reference=lambda a, *, hermitian=False, **_: reflectors.ldl.op.reference(a, hermitian),
)
def ldl_factor_ex(input: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> tuple:
    """`ldl_factor` that says what it found instead of raising: a named tuple (LD, pivots, info), info being 0 or the number (int32, from
    1) of the first block of D that is zero. With ``check_errors`` it raises as well."""
    name = "ldl_factor_ex"
    require_arrays(name, input=input)
    linalg.require_matrices(name, input.aval, square=True)
    packed, pivots, info = reflectors.ldl(input, hermitian)
    return (_factored(name, packed, info) if check_errors else packed), pivots, info


def _factored(name, packed, info):
    message = f"{name}: the factorization has a zero block in D, so it cannot be used to solve a system"
    return checks.expect(packed, compare.eq(info, algebra.zeros(info.aval)), "RuntimeError", message)


@composite(
    namespace=NAMESPACE,
    multi=True,
    returns=LDLFactor,
    reference=lambda a, *, hermitian=False: reflectors.ldl.op.reference(a, hermitian)[:2],
)
def ldl_factor(input: Tensor, *, hermitian: bool = False) -> tuple:
    """input = P L D L^T P^T (or, for Hermitian complex input, L^H) with Bunch and Kaufman's pivoting, in LAPACK's packed form for `ldl_solve`: a
    named tuple (LD, pivots). It is symmetric or Hermitian; its lower triangle is read. RuntimeError where a block of D is zero.

    >>> import functorch_lite as fl
    >>> LD, pivots = fl.linalg.ldl_factor(fl.asarray([[4.0, 2.0], [2.0, 3.0]]))
    >>> LD.tolist(), pivots.tolist()
    ([[4.0, 0.0], [0.5, 2.0]], [1, 2])
    """
    name = "ldl_factor"
    require_arrays(name, input=input)
    linalg.require_matrices(name, input.aval, square=True)
    packed, pivots, info = reflectors.ldl(input, hermitian)
    return _factored(name, packed, info), pivots


def _ldl_solve_reference(packed, pivots, b, *, hermitian=False):
    lead = np.broadcast_shapes(packed.shape[:-2], b.shape[:-2])
    packed, b = (np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (packed, b))
    pivots = np.broadcast_to(pivots, packed.shape[:-1])
    turned = (lambda x: np.conj(x.T)) if hermitian else (lambda x: x.T)
    out = np.empty_like(b)
    for i in np.ndindex(*lead):
        n = packed.shape[-1]
        orders, firsts = reflectors.interchanges.op.reference(pivots[i])
        at = np.flatnonzero(firsts[:-1]) if n else np.array([], int)
        lower, d = np.tril(packed[i], -1).copy(), np.diag(np.diag(packed[i])).astype(packed.dtype)
        d[at + 1, at] = lower[at + 1, at]
        d[at, at + 1] = np.conj(lower[at + 1, at]) if hermitian else lower[at + 1, at]
        lower[at + 1, at] = 0
        lower = np.take_along_axis(lower, orders[:, :n], 0) + np.eye(n)
        whole = np.empty((n, n), packed.dtype)
        whole[np.ix_(orders[:, n], orders[:, n])] = lower @ d @ turned(lower)
        out[i] = np.linalg.solve(whole, b[i])
    return out


@composite(namespace=NAMESPACE, reference=_ldl_solve_reference)
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """X with A X = B, given `ldl_factor(A)`, for B [..., n, k]; leading dimensions broadcast."""
    name = "ldl_solve"
    require_arrays(name, LD=LD, pivots=pivots, B=B)
    require(B.ndim >= 2, name, f"B must have at least 2 dimensions, got {shown(B)}")
    packed, b = aligned(name, LD, B)
    linalg.require_matrices(name, packed.aval, square=True)
    n = packed.shape[-1]
    require(b.shape[-2] == n, name, f"B must have as many rows as LD, got {shown(LD, B)}")
    ok = pivots.dtype.category == int32.category and pivots.shape == LD.shape[:-1]
    require(ok, name, f"pivots must be those of ldl_factor, int32{list(LD.shape[:-1])}, got {shown(pivots)}")
    orders, firsts = reflectors.interchanges(expand_to(to_dtype(pivots, int32), packed.shape[:-1]))
    lead = orders.ndim - 2
    total = shape.reshape(shape.part(orders, lead + 1, n, n + 1), orders.shape[:-1])
    diagonal, off = matrix.diagonal(packed), _under(packed)
    off = compare.select(firsts, off, algebra.zeros(off.aval))
    lower = matrix.keep(packed, compare.lt)
    lower = elementwise.sub(lower, _shifted_diagonal(off, lower))
    lower = index.take_along(lower, shape.part(orders, lead + 1, 0, n), lead, "inside")
    conjugate = hermitian and packed.dtype.is_complex
    x = linalg.triangular_solve(lower, linalg.permuted(total, b), True, True, False, False, True)
    x = _solve_blocks(diagonal, off, firsts, x, conjugate)
    x = linalg.triangular_solve(lower, x, True, True, True, conjugate, True)
    return matrix.matmul(matrix.transposed(swaps_of(total, packed)), x)


def _under(x):
    """What stands under each element of the diagonal, 0 under the last."""
    return matrix.diagonal(order.shift(x, x.ndim - 2, True))


def _shifted_diagonal(v, like):
    """v [..., n] under the diagonal of matrices like `like`."""
    return order.shift(matrix.keep(matrix.along_rows(v, like), compare.eq), like.ndim - 2)


def _solve_blocks(d, e, firsts, y, conjugate):
    """x with D x = y, of which e stands under the diagonal where blocks of 2 begin. Divided by e first, so that nothing overflows."""
    last, rows = d.ndim - 1, y.ndim - 2
    one = algebra.one_like(d)
    e = compare.select(firsts, e, one)
    e_up = parts.conj_of(e) if conjugate else e
    back = lambda v: order.shift(v, last, True)  # of the next element
    seconds = order.shift(firsts, last)
    single = elementwise.div(one, compare.select(_either(firsts, seconds), one, d))
    q = elementwise.sub(elementwise.mul(elementwise.div(d, e_up), elementwise.div(back(d), e)), one)
    q = compare.select(firsts, q, one)
    wide = lambda v: matrix.along_columns(v, y)
    ahead = order.shift(y, rows, True)
    first = elementwise.sub(
        elementwise.mul(wide(elementwise.div(back(d), e)), elementwise.div(y, wide(e_up))), elementwise.div(ahead, wide(e))
    )
    second = elementwise.sub(
        elementwise.mul(wide(elementwise.div(d, e_up)), elementwise.div(ahead, wide(e))), elementwise.div(y, wide(e_up))
    )
    first, second = elementwise.div(first, wide(q)), order.shift(elementwise.div(second, wide(q)), rows)
    along = lambda mask: shape.broadcast(mask, y.shape, tuple(range(y.ndim - 1)))
    return compare.select(along(firsts), first, compare.select(along(seconds), second, elementwise.mul(y, wide(single))))


def _either(a, b):
    return compare.select(a, a, b)


# ----------------------------------------------------------------------------------------------------------------- lu


def _lu_unpack_reference(packed, pivots, unpack_data=True, unpack_pivots=True):
    *lead, m, n = packed.shape
    k, none = min(m, n), np.empty((0,), packed.dtype)
    out = [none] * 3
    if unpack_pivots:
        permutation = linalg.permutation_of.op.reference(pivots - np.int32(1), m)
        out[0] = np.swapaxes(np.eye(m, dtype=packed.dtype)[permutation], -1, -2)
    if unpack_data:
        out[1:] = np.tril(packed[..., :k], -1) + np.eye(m, k, dtype=packed.dtype), np.triu(packed[..., :k, :])
    return tuple(out)


@composite(multi=True, returns=LU, reference=_lu_unpack_reference)
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> tuple:
    """The matrices of a packed factorization, `linalg.lu_factor`: a named tuple (P, L, U) with A = P L U. What is not to be unpacked is
    empty."""
    name = "lu_unpack"
    require_arrays(name, LU_data=LU_data, LU_pivots=LU_pivots)
    linalg.require_matrices(name, LU_data.aval)
    m, n = LU_data.shape[-2:]
    none = create.full((0,), 0, LU_data.dtype)
    p, lower, upper = none, none, none
    if unpack_pivots:
        ok = LU_pivots.dtype is int32 and LU_pivots.shape == (*LU_data.shape[:-2], min(m, n))
        require(ok, name, f"LU_pivots must be those of lu_factor, int32 with min(m, n) elements a matrix, got {shown(LU_data, LU_pivots)}")
        from_zero = elementwise.sub(LU_pivots, algebra.one_like(LU_pivots))
        square = create.full((*LU_data.shape[:-1], m), 1, LU_data.dtype)
        p = matrix.transposed(swaps_of(linalg.permutation_of(from_zero, m), square))
    if unpack_data:
        lower, upper = unpacked(LU_data)
    return p, lower, upper


__all__ = ["geqrf", "lu_unpack", "orgqr", "ormqr"]

"""Triangular solves and the factorizations cholesky, lu and qr, over matrices in the last two dimensions.

Formulas of derivatives: Giles, An extended collection of matrix derivative results (2008); Murray, Differentiation of the
Cholesky decomposition (2016); Walter and Lehmann, Algorithmic differentiation of linear algebra functions (2010); for complex
matrices with the gauge that PyTorch takes.
"""

from __future__ import annotations

import numpy as np
from jax import lax

from ..core.aval import aval
from ..core.dtype import int32
from ..errors import NonDifferentiableError
from . import algebra, compare, convert, create, elementwise, matrix, parts, shape
from .families import general, require, rows_batch, zero
from .parts import conj_of


def require_matrices(name: str, *avals, square: bool = False) -> None:
    """Raises unless these are matrices of a dtype that LAPACK knows."""
    for a in avals:
        ok = a.dtype.is_inexact and a.dtype.to_real().itemsize >= 4
        require(ok, name, f"expected float32, float64, complex64 or complex128, got {a}; convert with .to(dtype)", RuntimeError)
        require(a.ndim >= 2, name, f"expected at least 2 dimensions, got {a}", RuntimeError)
        if square:
            m, n = a.shape[-2:]
            require(m == n, name, f"expected batches of square matrices, but they are {m} by {n} matrices: {a}", RuntimeError)


# -------------------------------------------------------------------------------------------------- triangular solve


def _solve_meta(a, b, left, lower, transpose, conjugate, unit_diagonal):
    require_matrices("triangular_solve", a, square=True)
    require_matrices("triangular_solve", b)
    ok = a.dtype is b.dtype and a.shape[:-2] == b.shape[:-2] and a.shape[-1] == b.shape[-2 if left else -1]
    side = "rows" if left else "columns"
    require(
        ok,
        "triangular_solve",
        f"expected one dtype, equal leading dimensions and as many {side} of b as of a, got {a} and {b}",
        RuntimeError,
    )
    return b


def _operated(a, transpose, conjugate):
    a = matrix.transposed(a) if transpose else a
    return conj_of(a) if conjugate else a


def _solve_jvp(ans, primals, tangents, left, lower, transpose, conjugate, unit_diagonal):
    """d(op(a) x) = db gives op(a) dx = db - op(da) x, where only the triangle of da that is read counts."""
    (a, _), (da, db) = primals, tangents
    rhs = db
    if da is not None:
        strict, whole = (compare.lt, compare.le) if lower else (compare.gt, compare.ge)
        da = _operated(matrix.keep(da, strict if unit_diagonal else whole), transpose, conjugate)
        moved = elementwise.neg(matrix.matmul(da, ans) if left else matrix.matmul(ans, da))
        rhs = moved if db is None else elementwise.add(db, moved)
    return triangular_solve(a, rhs, left, lower, transpose, conjugate, unit_diagonal)


def _solve_transpose(ct, a, b, left, lower, transpose, conjugate, unit_diagonal):
    conjugate = a.dtype.is_complex and not conjugate
    return None, triangular_solve(a, ct, left, lower, not transpose, conjugate, unit_diagonal)


def _solve_batch(size, args, dims, left, *params):
    (a, b), (da, db) = args, dims
    if da is not None:
        return triangular_solve(algebra.move(a, da, 0), algebra.front(size, b, db), left, *params), 0
    lines = b.ndim - (2 if left else 3)  # rows of b alone are more right-hand sides: where they go
    b = algebra.move(b, db, lines)
    whole = b.shape
    merged = (*whole[:lines], whole[lines] * whole[lines + 1], *whole[lines + 2 :])
    return shape.reshape(triangular_solve(a, shape.reshape(b, merged), left, *params), whole), lines


def _solve_reference(a, b, left, lower, transpose, conjugate, unit_diagonal):
    a = np.tril(a, -unit_diagonal) if lower else np.triu(a, int(unit_diagonal))
    a = a + np.eye(a.shape[-1], dtype=a.dtype) if unit_diagonal else a
    a = np.swapaxes(a, -1, -2) if transpose else a
    a = np.conj(a) if conjugate else a
    return np.linalg.solve(a, b) if left else np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)


triangular_solve = general(
    "triangular_solve",
    "a: Tensor, b: Tensor, left: bool, lower: bool, transpose: bool, conjugate: bool, unit_diagonal: bool",
    impl=lambda a, b, left, lower, transpose, conjugate, unit_diagonal: lax.linalg.triangular_solve(
        a, b, left_side=left, lower=lower, transpose_a=transpose, conjugate_a=conjugate, unit_diagonal=unit_diagonal
    ),
    meta=_solve_meta,
    jvp=_solve_jvp,
    transpose=_solve_transpose,
    batch=_solve_batch,
    reference=_solve_reference,
    doc="""x with op(a) x = b (left) or x op(a) = b, where op transposes and conjugates a as asked. Only the lower (else the upper)
    triangle of a is read, and its diagonal taken for ones if `unit_diagonal`.""",
)


def solve(factored, permutation, b):
    """x with a x = b, from the packed LU factorization of a."""
    x = triangular_solve(factored, permuted(permutation, b), True, True, False, False, True)
    return triangular_solve(factored, x, True, False, False, False, False)


def permuted(permutation, x):
    """x [..., m, n] with row permutation[..., i] as its row i. A product with ones and zeros, so it transposes by itself."""
    m = x.shape[-2]
    whole, n = (*permutation.shape, m), permutation.ndim
    chosen = compare.eq(shape.broadcast(permutation, whole, tuple(range(n))), create.iota(whole, n, int32))
    return matrix.matmul(convert.convert(chosen, x.dtype), x)


# ---------------------------------------------------------------------------------------------------------- cholesky


def _square_meta(name):
    def meta(x, *params):
        require_matrices(name, x, square=True)
        return x

    return meta


def _cholesky_impl(x):
    return lax.linalg.cholesky(x, symmetrize_input=False)


def _cholesky_jvp(factor, primals, tangents):
    """L phi(L^-1 da L^-H), phi taking the lower triangle and half the diagonal (Murray); da counts by its Hermitian part."""
    (da,) = tangents
    inner = triangular_solve(factor, matrix.hermitian(da), True, True, False, False, False)
    inner = triangular_solve(factor, inner, False, True, True, factor.dtype.is_complex, False)
    half = elementwise.scaled(matrix.keep(inner, compare.eq), 0.5)
    return matrix.matmul(factor, elementwise.add(matrix.keep(inner, compare.lt), half))


cholesky = general(
    "cholesky",
    "x: Tensor",
    impl=_cholesky_impl,
    meta=_square_meta("cholesky"),
    jvp=_cholesky_jvp,
    batch=rows_batch(lambda: cholesky),
    reference=lambda x: np.linalg.cholesky(x),
    doc="""The lower triangular L with L L^H = x, for Hermitian positive-definite x, of which the lower triangle is read; else NaN. Its
    derivative is that of a function of Hermitian matrices: gradients are Hermitian.""",
)

# ---------------------------------------------------------------------------------------------------------------- lu


def _lu_meta(x):
    require_matrices("lu", x)
    *lead, m, n = x.shape
    return x, aval((*lead, min(m, n)), int32), aval((*lead, m), int32)


def _lu_jvp(ans, primals, tangents):
    """With Y = L^-1 P da and S = tril(Y U^-1, -1): dL = L S and dU = Y - S U, L completed to a square by the identity."""
    packed, _, permutation = ans
    (da,) = tangents
    m, n = packed.shape[-2:]
    k = min(m, n)
    lower = matrix.padded(matrix.keep(matrix.block(packed, m, k), compare.lt), m, m)
    lower = elementwise.add(lower, matrix.eye(lower))
    upper = matrix.block(packed, k, n)
    y = triangular_solve(lower, permuted(permutation, da), True, True, False, False, True)
    s = triangular_solve(matrix.block(upper, k, k), matrix.block(y, m, k), False, False, False, False, False)
    s = matrix.keep(s, compare.lt)
    d_lower = matrix.padded(matrix.matmul(lower, s), m, n)
    d_upper = elementwise.sub(y, matrix.matmul(s, matrix.keep(upper, compare.ge)))
    return elementwise.add(d_lower, matrix.keep(d_upper, compare.ge)), None, None


def _lu_reference(x):
    from scipy.linalg import lu_factor

    *lead, m, n = x.shape
    packed, pivots = np.zeros_like(x), np.zeros((*lead, min(m, n)), np.int32)
    for i in np.ndindex(*lead):
        if x[i].size:
            packed[i], pivots[i] = lu_factor(x[i])
    return packed, pivots, _permutation_reference(pivots, m)


lu = general(
    "lu",
    "x: Tensor",
    multi=True,
    impl=lambda x: tuple(lax.linalg.lu(x)),
    meta=_lu_meta,
    jvp=_lu_jvp,
    batch=rows_batch(lambda: lu),
    reference=_lu_reference,
    doc="""The LU factorization with partial pivoting of x [m, n]: L (unit diagonal, below) and U packed in one matrix; pivots
    (int32, from 0): row i was swapped with row pivots[i]; and the permutation (int32) with x[permutation] = L U.""",
)


def _permutation_meta(pivots, size):
    ok = pivots.dtype is int32 and pivots.ndim >= 1 and pivots.shape[-1] <= size
    require(ok, "permutation_of", f"expected int32 pivots [..., at most {size}], got {pivots}")
    return aval((*pivots.shape[:-1], size), int32)


def _permutation_reference(pivots, size):
    order = np.broadcast_to(np.arange(size, dtype=np.int32), (*pivots.shape[:-1], size)).copy()
    for i in np.ndindex(*pivots.shape[:-1]):
        for j, p in enumerate(pivots[i]):
            order[i][[j, p]] = order[i][[p, j]]
    return order


permutation_of = zero(
    "permutation_of",
    "pivots: Tensor, size: int",
    impl=lambda pivots, size: lax.linalg.lu_pivots_to_permutation(pivots, size),
    meta=_permutation_meta,
    batch=rows_batch(lambda: permutation_of),
    reference=_permutation_reference,
    doc="The permutation of `size` rows that results from swapping row i with row pivots[i] (int32, from 0), one after another.",
)

# ---------------------------------------------------------------------------------------------------------------- qr


def _qr_meta(x, full_matrices):
    require_matrices("qr", x)
    *lead, m, n = x.shape
    k = m if full_matrices else min(m, n)
    return aval((*lead, m, k), x.dtype), aval((*lead, k, n), x.dtype)


def _qr_jvp(ans, primals, tangents, full_matrices):
    """X = Q^H da R^-1 = Q^H dQ + dR R^-1 is skew-Hermitian plus upper triangular with a real diagonal, which determines both.

    If there are more columns than rows, the leading square block is factored, and the others follow: R = Q^H a.
    """
    (q, r), (da,) = ans, tangents
    m, n = primals[0].shape[-2:]
    if full_matrices and m > n:
        raise NonDifferentiableError(
            f"qr: of a matrix with more rows than columns ({primals[0].aval}) the additional columns that full_matrices=True gives Q are "
            "arbitrary, so they have no derivative. Use the reduced factorization"
        )
    k = min(m, n)
    first = triangular_solve(matrix.block(r, k, k), matrix.block(da, m, k), False, False, False, False, False)
    x = matrix.matmul(matrix.adjoint(q), first)
    below = matrix.keep(x, compare.lt)
    skew = elementwise.sub(below, matrix.adjoint(below))
    if x.dtype.is_complex:
        on = matrix.keep(x, compare.eq)
        skew = elementwise.add(skew, elementwise.sub(on, convert.convert(parts.real(on), x.dtype)))
    dq = elementwise.add(elementwise.sub(first, matrix.matmul(q, x)), matrix.matmul(q, skew))
    if m >= n:
        return dq, matrix.matmul(elementwise.sub(x, skew), r)
    # dR = Q^H da - (Q^H dQ) R, where Q is square, so that dQ = Q skew; below the diagonal of the block it is 0 to rounding
    dr = elementwise.sub(matrix.matmul(matrix.adjoint(q), da), matrix.matmul(skew, r))
    return dq, matrix.keep(dr, compare.ge)


qr = general(
    "qr",
    "x: Tensor, full_matrices: bool",
    multi=True,
    impl=lambda x, full_matrices: tuple(lax.linalg.qr(x, full_matrices=full_matrices)),
    meta=_qr_meta,
    jvp=_qr_jvp,
    batch=rows_batch(lambda: qr),
    reference=lambda x, full_matrices: tuple(np.linalg.qr(x, "complete" if full_matrices else "reduced")),
    doc="""x [m, n] = Q R, Q with orthonormal columns, R upper triangular with a real diagonal; Q is [m, m] if `full_matrices`, else
    [m, min(m, n)]. Differentiable where the leading min(m, n) columns are independent, but not the full form of a tall matrix.""",
)

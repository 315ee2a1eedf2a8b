"""Linear systems, inverses and determinants of matrices [..., n, n], as torch.linalg has them.

Derivatives are in closed form (Giles, An extended collection of matrix derivative results, 2008; Golub and Pereyra, The
differentiation of pseudo-inverses, 1973). That of a determinant also holds where a matrix is singular: its cofactors are
polynomials, which a zero pivot replaced by epsilon changes by no more than epsilon.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.array import Array
from ..core.dtype import finfo, int32, int64
from ..core.op import Tensor, composite
from ..prims import algebra, checks, compare, create, elementwise, linalg, matrix, parts, reduce, shape, spectral
from .arguments import require, require_arrays, require_one_dtype, shown
from .linalg import NAMESPACE, aligned
from .promotion import expand_to, to_dtype


class SlogDet(NamedTuple):
    """The sign (of modulus 1, or 0) and the logarithm of the absolute value of a determinant."""

    sign: Array
    logabsdet: Array


class LstSq(NamedTuple):
    """A least-squares solution, the residuals' squared norms, the rank, and (empty, as in PyTorch's default) the singular values."""

    solution: Array
    residuals: Array
    rank: Array
    singular_values: Array


# ------------------------------------------------------------------------------------------------------------- solve


def _regular(x, pivots, message):
    """x, unless a pivot is zero."""
    return checks.expect(x, compare.ne(pivots, algebra.zeros(pivots.aval)), "LinAlgError", message)


def _solve_square_jvp(x, primals, tangents):
    """A dx = dB - dA x."""
    (a, _), (da, db) = primals, tangents
    rhs = None if da is None else elementwise.neg(matrix.matmul(da, x))
    factored, _, permutation = linalg.lu(a)
    return linalg.solve(factored, permutation, algebra.total([db, rhs]))


@composite(namespace=NAMESPACE, jvp=_solve_square_jvp, reference=np.linalg.solve)
def solve_square(A: Tensor, B: Tensor) -> Tensor:
    """X with A X = B, for A [..., n, n] and B [..., n, k] of equal leading dimensions: what `solve` is, broadcasting aside."""
    factored, _, permutation = linalg.lu(A)
    message = "solve: the solver failed because the input matrix is singular"
    return _regular(linalg.solve(factored, permutation, B), matrix.diagonal(factored), message)


def _is_vector(a, b):
    return b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])


def _solve_reference(a, b, *, left=True):
    if _is_vector(a, b):
        return np.linalg.solve(a, b[..., None])[..., 0]
    turned = (lambda x: x) if left else (lambda x: np.swapaxes(x, -1, -2))
    return turned(np.linalg.solve(turned(a), turned(b)))


@composite(namespace=NAMESPACE, reference=_solve_reference)
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X with A X = B (or, if not left, X A = B), for square A [..., n, n]; B is [..., n, k], or a vector [n], or vectors [..., n].

    Leading dimensions broadcast. LinAlgError if A is singular (unchecked under jit).

    >>> import functorch_lite as fl
    >>> fl.linalg.solve(fl.asarray([[2.0, 0.0], [0.0, 4.0]]), fl.asarray([2.0, 2.0])).tolist()
    [1.0, 0.5]
    """
    name = "solve"
    require_one_dtype(name, A=A, B=B)
    linalg.require_matrices(name, A.aval, square=True)
    vector = _is_vector(A, B)
    require(left or not vector, name, f"B must be a matrix where left=False, got {shown(A, B)}")
    b = shape.reshape(B, (*B.shape, 1)) if vector else B
    fits = b.ndim >= 2 and b.shape[-2 if left else -1] == A.shape[-1]
    require(fits, name, f"B must have as many {'rows' if left else 'columns'} as A, got {shown(A, B)}")
    a, b = aligned(name, A, b)
    x = solve_square(a, b) if left else matrix.transposed(solve_square(matrix.transposed(a), matrix.transposed(b)))
    return shape.reshape(x, x.shape[:-1]) if vector else x


def _solve_triangular_reference(a, b, *, upper, left=True, unitriangular=False):
    a, b = (np.broadcast_to(x, (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *x.shape[-2:])) for x in (a, b))
    return linalg.triangular_solve.op.reference(a, b, left, not upper, False, False, unitriangular)


@composite(namespace=NAMESPACE, reference=_solve_triangular_reference)
def solve_triangular(input: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """X with input X = B (or X input = B), of triangular input, whose other half (and, if unitriangular, diagonal) is not read."""
    a, b = aligned("solve_triangular", input, B)
    return linalg.triangular_solve(a, b, left, not upper, False, False, unitriangular)


def _lu_solve_reference(packed, pivots, b, *, left=True, adjoint=False):
    n = packed.shape[-1]
    order = linalg.permutation_of.op.reference(pivots - np.int32(1), n)
    lower, upper = np.tril(packed, -1) + np.eye(n, dtype=packed.dtype), np.triu(packed)
    a = np.swapaxes(np.eye(n, dtype=packed.dtype)[order], -1, -2) @ lower @ upper
    a = np.conj(np.swapaxes(a, -1, -2)) if adjoint else a
    return np.linalg.solve(a, b) if left else b @ np.linalg.inv(a)


@composite(namespace=NAMESPACE, reference=_lu_solve_reference)
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """X with A X = B, given `lu_factor(A)`; or X A = B, if not left; A^H takes A's place if adjoint. Leading dimensions broadcast."""
    name = "lu_solve"
    packed, b = aligned(name, LU, B)
    linalg.require_matrices(name, packed.aval, square=True)
    ok = pivots.dtype is int32 and pivots.shape == LU.shape[:-1]
    require(ok, name, f"pivots must be those of lu_factor, int32{list(LU.shape[:-1])}, got {shown(pivots)}")
    pivots = expand_to(elementwise.sub(pivots, create.full(pivots.shape, 1, int32)), packed.shape[:-1])
    permutation = linalg.permutation_of(pivots, packed.shape[-1])
    rhs = b if left else matrix.adjoint(b)  # X A = B is A^H X^H = B^H
    x = linalg.solve(packed, permutation, rhs) if left != adjoint else _solve_adjoint(packed, permutation, rhs)
    return x if left else matrix.adjoint(x)


def _solve_adjoint(packed, permutation, b):
    """x with A^H x = b, where A^H = U^H L^H P^H."""
    conjugate = packed.dtype.is_complex
    x = linalg.triangular_solve(packed, b, True, False, True, conjugate, False)
    x = linalg.triangular_solve(packed, x, True, True, True, conjugate, True)
    swaps = linalg.permuted(permutation, matrix.eye(packed))
    return matrix.matmul(matrix.transposed(swaps), x)


# ---------------------------------------------------------------------------------------------------------- inverses


def _inv_jvp(inverse, primals, tangents):
    """-A^-1 dA A^-1."""
    return elementwise.neg(matrix.matmul(matrix.matmul(inverse, tangents[0]), inverse))


@composite(namespace=NAMESPACE, jvp=_inv_jvp, reference=np.linalg.inv)
def inv(A: Tensor) -> Tensor:
    """The inverse of square A. LinAlgError if A is singular (unchecked under jit).

    >>> import functorch_lite as fl
    >>> fl.linalg.inv(fl.asarray([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    require_arrays("inv", A=A)
    linalg.require_matrices("inv", A.aval, square=True)
    factored, _, permutation = linalg.lu(A)
    message = "inv: the inversion could not be completed because the input matrix is singular"
    return _regular(linalg.solve(factored, permutation, matrix.eye(A)), matrix.diagonal(factored), message)


def _threshold(values, sizes, atol, rtol):
    """What singular values must exceed: max(atol, rtol * the largest); rtol is max(m, n) eps unless one of them is given."""
    rtol = (0.0 if atol else max(sizes) * float(finfo(values.dtype).eps)) if rtol is None else rtol
    top = shape.broadcast(reduce.reduce_max(values, (values.ndim - 1,)), values.shape, tuple(range(values.ndim - 1)))
    relative = elementwise.scaled(top, rtol)
    return compare.maximum(relative, algebra.full_like(values, atol)) if atol else relative


def _sizes_of_values(x, hermitian):
    """(singular values, or absolute eigenvalues)."""
    return elementwise.abs(spectral.eigh(x, True)[0]) if hermitian else spectral.svd(x, False, False)[0]


def _pinv_jvp(p, primals, tangents, rcond, hermitian, atol, rtol):
    """-P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P (Golub and Pereyra)."""
    (a,), (da,) = primals, tangents
    mm, adjoint = matrix.matmul, matrix.adjoint
    da_h, p_h = adjoint(da), adjoint(p)
    left, right = mm(mm(p, p_h), da_h), mm(mm(da_h, p_h), p)
    moved = elementwise.neg(mm(mm(p, da), p))
    return algebra.total([moved, elementwise.sub(left, mm(mm(left, a), p)), elementwise.sub(right, mm(p, mm(a, right)))])


def _pinv_reference(a, rcond=None, hermitian=False, *, atol=None, rtol=None):
    return np.linalg.pinv(a, rcond=max(a.shape[-2:]) * np.finfo(a.dtype).eps, hermitian=hermitian)


@composite(namespace=NAMESPACE, jvp=_pinv_jvp, reference=_pinv_reference)
def pinv(
    input: Tensor, rcond: float | None = None, hermitian: bool = False, *, atol: float | None = None, rtol: float | None = None
) -> Tensor:
    """The Moore-Penrose inverse [..., n, m] of input [..., m, n], in which singular values up to max(atol, rtol * the largest) are 0.

    rtol (rcond is another name) is max(m, n) times the dtype's epsilon unless atol is given. With ``hermitian`` input is taken for
    Hermitian and its lower triangle is read. The derivative is that at constant rank.
    """
    name = "pinv"
    require_arrays(name, input=input)
    linalg.require_matrices(name, input.aval, square=hermitian)
    m, n = input.shape[-2:]
    if 0 in input.shape:
        return create.full((*input.shape[:-2], n, m), 0, input.dtype)
    if hermitian:
        values, v = spectral.eigh(input, True)
        u_h, size = matrix.adjoint(v), elementwise.abs(values)
    else:
        u, values, v_h = spectral.svd(input, False, True)
        u_h, v, size = matrix.adjoint(u), matrix.adjoint(v_h), values
    keep = compare.gt(size, _threshold(size, (m, n), atol, rcond if rtol is None else rtol))
    inverse = compare.select(
        keep, elementwise.reciprocal(compare.select(keep, values, algebra.one_like(values))), algebra.zeros(values.aval)
    )
    return matrix.matmul(elementwise.mul(v, matrix.along_rows(inverse, v)), u_h)


def _rank_reference(a, tol=None, hermitian=False, *, atol=None, rtol=None):
    return np.asarray(np.linalg.matrix_rank(a, tol=atol, hermitian=hermitian), np.int64)


@composite(namespace=NAMESPACE, reference=_rank_reference)
def matrix_rank(
    input: Tensor, tol: float | None = None, hermitian: bool = False, *, atol: float | None = None, rtol: float | None = None
) -> Tensor:
    """How many singular values exceed max(atol, rtol * the largest) (int64); defaults are those of `pinv`, tol is another name of atol."""
    require_arrays("matrix_rank", input=input)
    linalg.require_matrices("matrix_rank", input.aval, square=hermitian)
    if 0 in input.shape:
        return create.full(input.shape[:-2], 0, int64)
    size = _sizes_of_values(input, hermitian)
    above = compare.gt(size, _threshold(size, input.shape[-2:], tol if atol is None else atol, rtol))
    return reduce.reduce_sum(to_dtype(above, int64), (size.ndim - 1,))


def _lstsq_reference(a, b, rcond=None, *, driver=None):
    if b.ndim == a.ndim - 1:
        x, *others = _lstsq_reference(a, b[..., None], rcond)
        return x[..., 0], *others
    x = np.linalg.pinv(a) @ b
    m, n = a.shape[-2:]
    residuals = (np.abs(b - a @ x) ** 2).sum(-2) if m > n else np.empty((0,), x.real.dtype)
    return x, residuals, np.asarray(np.linalg.matrix_rank(a), np.int64), np.empty((0,), x.real.dtype)


@composite(namespace=NAMESPACE, multi=True, returns=LstSq, reference=_lstsq_reference)
def lstsq(input: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None) -> tuple:
    """X that minimizes |input X - b|, the one of least norm: a named tuple (solution, residuals, rank, singular_values).

    Computed by `pinv`, so every driver gives the same. residuals [..., k] are squared norms where input has more rows than columns,
    else empty; singular_values are empty.
    """
    name = "lstsq"
    vector = b.ndim == input.ndim - 1
    a, rhs = aligned(name, input, shape.reshape(b, (*b.shape, 1)) if vector else b)
    m, n = a.shape[-2:]
    require(rhs.shape[-2] == m, name, f"input and b must have as many rows, got {shown(input, b)}")
    x = matrix.matmul(pinv(a, rcond), rhs)
    none = create.full((0,), 0, a.dtype.to_real())
    residuals = none
    if m > n:
        size = elementwise.abs(elementwise.sub(rhs, matrix.matmul(a, x)))
        residuals = reduce.reduce_sum(elementwise.mul(size, size), (size.ndim - 2,))
    x = shape.reshape(x, x.shape[:-1]) if vector else x
    return x, residuals, matrix_rank(input, rtol=rcond), none


# ------------------------------------------------------------------------------------------------------- determinants


def _embedded(v, like):
    """v [..., n] on the diagonal of matrices like `like`."""
    return matrix.keep(matrix.along_rows(v, like), compare.eq)


def _parity(pivots, dtype):
    """The sign of the permutation: each row that was swapped with another changes it."""
    stayed = compare.eq(pivots, create.iota(pivots.shape, pivots.ndim - 1, int32))
    one = create.full(pivots.shape, 1, dtype)
    return reduce.reduce_prod(compare.select(stayed, one, elementwise.neg(one)), (pivots.ndim - 1,))


def _product(factored, pivots):
    """The determinant, from the packed factors."""
    d = matrix.diagonal(factored)
    return elementwise.mul(reduce.reduce_prod(d, (d.ndim - 1,)), _parity(pivots, d.dtype))


def _without_zero_pivots(factored):
    """The packed factors with epsilon in place of a pivot that is zero."""
    d = matrix.diagonal(factored)
    eps = algebra.full_like(d, float(finfo(d.dtype).eps))
    nothing = algebra.zeros(d.aval)
    return elementwise.add(factored, _embedded(compare.select(compare.eq(d, nothing), eps, nothing), factored))


def _trace_of_solved(factored, permutation, da):
    """tr(A^-1 dA)."""
    on = matrix.diagonal(linalg.solve(factored, permutation, da))
    return reduce.reduce_sum(on, (on.ndim - 1,))


def _det_jvp(ans, primals, tangents):
    """tr(adj(A) dA) (Jacobi), with adj(A) = det(A) A^-1."""
    factored, pivots, permutation = linalg.lu(primals[0])
    factored = _without_zero_pivots(factored)
    return elementwise.mul(_trace_of_solved(factored, permutation, tangents[0]), _product(factored, pivots))


@composite(namespace=NAMESPACE, jvp=_det_jvp, method=True, reference=np.linalg.det)
def det(A: Tensor) -> Tensor:
    """The determinant of square A, by LU factorization. Its gradient also holds where A is singular.

    >>> import functorch_lite as fl
    >>> fl.linalg.det(fl.asarray([[2.0, 1.0], [0.0, 3.0]])).item()
    6.0
    """
    require_arrays("det", A=A)
    linalg.require_matrices("det", A.aval, square=True)
    factored, pivots, _ = linalg.lu(A)
    return _product(factored, pivots)


def _slogdet_jvp(ans, primals, tangents):
    """With w = tr(A^-1 dA): the logarithm moves by Re w, the sign turns by i Im w."""
    factored, _, permutation = linalg.lu(primals[0])
    w = _trace_of_solved(_without_zero_pivots(factored), permutation, tangents[0])
    if not w.dtype.is_complex:
        return None, w
    turn = parts.imag(w)
    return elementwise.mul(ans[0], parts.complex(algebra.zeros(turn.aval), turn)), parts.real(w)


@composite(
    namespace=NAMESPACE,
    jvp=_slogdet_jvp,
    method=True,
    multi=True,
    returns=SlogDet,
    reference=lambda a: tuple(map(np.asarray, np.linalg.slogdet(a))),
)
def slogdet(A: Tensor) -> tuple:
    """The sign and the logarithm of the absolute value of A's determinant, without overflow: a named tuple (sign, logabsdet).

    (0, -inf) for singular A.
    """
    require_arrays("slogdet", A=A)
    linalg.require_matrices("slogdet", A.aval, square=True)
    factored, pivots, _ = linalg.lu(A)
    d = matrix.diagonal(factored)
    last = (d.ndim - 1,)
    sign = elementwise.mul(reduce.reduce_prod(elementwise.sign(d), last), _parity(pivots, d.dtype))
    return sign, reduce.reduce_sum(elementwise.log(elementwise.abs(d)), last)


def _logdet_reference(a):
    with np.errstate(invalid="ignore"):
        return np.log(np.linalg.det(a))


@composite(method=True, reference=_logdet_reference)
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant of square input: -inf for 0, and NaN for a negative one."""
    sign, size = slogdet(input)
    if sign.dtype.is_complex:
        return elementwise.add(elementwise.log(sign), to_dtype(size, sign.dtype))
    negative = compare.lt(sign, algebra.zeros(sign.aval))
    return compare.select(negative, algebra.full_like(size, float("nan")), size)


inverse = inv
pinverse = pinv
__all__ = ["det", "inverse", "logdet", "pinverse", "slogdet"]

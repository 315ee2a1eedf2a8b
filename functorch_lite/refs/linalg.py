"""Factorizations, eigenvalues and singular values of matrices [..., m, n], as torch.linalg has them. Their formulas are the prims'."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.array import Array
from ..core.dtype import int32
from ..core.op import Tensor, composite
from ..prims import algebra, checks, compare, create, elementwise, linalg, matrix, reduce, reflectors, spectral
from .arguments import require, require_arrays, require_one_dtype
from .promotion import broadcast_shapes, expand_to

NAMESPACE = "fl.linalg"


class QR(NamedTuple):
    """Q with orthonormal columns and upper triangular R."""

    Q: Array
    R: Array


class Eigen(NamedTuple):
    """Eigenvalues, and eigenvectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


class SVD(NamedTuple):
    """Orthonormal columns U, falling singular values S, and orthonormal rows Vh."""

    U: Array
    S: Array
    Vh: Array


class LU(NamedTuple):
    """A permutation matrix, unit lower triangular L, and upper triangular U."""

    P: Array
    L: Array
    U: Array


class CholeskyEx(NamedTuple):
    """The factor, and the order of the first leading minor that is not positive (0: none; int32)."""

    L: Array
    info: Array


class LUFactorEx(NamedTuple):
    """L and U packed in one matrix, the pivots, and the number of U's first zero pivot (0: none; int32)."""

    LU: Array
    pivots: Array
    info: Array


class LUFactor(NamedTuple):
    """L and U packed in one matrix, and the pivots (int32, from 1) that LAPACK counts."""

    LU: Array
    pivots: Array


def aligned(name, *xs):
    """Matrices of one dtype with their leading dimensions broadcast to one shape."""
    require_one_dtype(name, **{f"argument {i}": x for i, x in enumerate(xs)})
    linalg.require_matrices(name, *[x.aval for x in xs])
    lead = broadcast_shapes(*[x.shape[:-2] for x in xs])
    return [expand_to(x, (*lead, *x.shape[-2:])) for x in xs]


def _adjoint_of(x):
    return np.conj(np.swapaxes(x, -1, -2))


# ---------------------------------------------------------------------------------------------------------- cholesky


def _cholesky_reference(x, *, upper=False):
    factor = np.linalg.cholesky(x)
    return _adjoint_of(factor) if upper else factor


@composite(namespace=NAMESPACE, reference=_cholesky_reference)
def cholesky(input: Tensor, *, upper: bool = False) -> Tensor:
    """The lower triangular L with L L^H = input, for Hermitian positive-definite input; or, if upper, the U = L^H with U^H U = input.

    LinAlgError if input is not positive-definite (unchecked under jit). The gradient is Hermitian.

    >>> import functorch_lite as fl
    >>> fl.linalg.cholesky(fl.asarray([[4.0, 2.0], [2.0, 2.0]])).tolist()
    [[2.0, 0.0], [1.0, 1.0]]
    """
    require_arrays("cholesky", input=input)
    return _cholesky("cholesky", input, upper, True)


def _cholesky(name, x, upper, check):
    factor = linalg.cholesky(x)
    if check:  # a failure leaves NaN
        message = f"{name}: the factorization could not be completed because the input is not positive-definite"
        factor = checks.expect(factor, compare.eq(factor, factor), "LinAlgError", message)
    return matrix.adjoint(factor) if upper else factor


def _cholesky_ex_reference(x, *, upper=False, check_errors=False):
    return _cholesky_reference(x, upper=upper), reflectors.leading_minor.op.reference(x)


@composite(namespace=NAMESPACE, multi=True, returns=CholeskyEx, reference=_cholesky_ex_reference)
def cholesky_ex(input: Tensor, *, upper: bool = False, check_errors: bool = False) -> tuple:
    """`cholesky` that says whether it could be instead of raising: a named tuple (L, info). info is 0, or the order of the first leading
    minor that is not positive; then L is NaN. With ``check_errors`` it raises as well.

    >>> import functorch_lite as fl
    >>> fl.linalg.cholesky_ex(fl.asarray([[1.0, 2.0], [2.0, 1.0]])).info.item()
    2
    """
    require_arrays("cholesky_ex", input=input)
    return _cholesky("cholesky_ex", input, upper, check_errors), reflectors.leading_minor(create.detach(input))


def _triangular_twice(b, factor, upper):
    """x with L L^H x = b (or U^H U x = b)."""
    conjugate = factor.dtype.is_complex
    first, second = (True, conjugate), (False, False)  # transpose and conjugate of the upper factor, in the order of the solves
    for transpose, conj in (first, second) if upper else (second, first):
        b = linalg.triangular_solve(factor, b, True, not upper, transpose, conj, False)
    return b


def _cholesky_solve_reference(b, factor, upper=False):
    factor = _adjoint_of(np.triu(factor)) if upper else np.tril(factor)
    return np.linalg.solve(factor @ _adjoint_of(factor), b)


@composite(method=True, reference=_cholesky_solve_reference)
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """x with A x = input, given A's Cholesky factor input2 (lower, or upper), [..., n, n]; input is [..., n, k]."""
    b, factor = aligned("cholesky_solve", input, input2)
    return _triangular_twice(b, factor, upper)


@composite(
    method=True,
    reference=lambda factor, upper=False: _cholesky_solve_reference(np.broadcast_to(np.eye(len(factor.T)), factor.shape), factor, upper),
)
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is input (lower, or upper)."""
    require_arrays("cholesky_inverse", input=input)
    linalg.require_matrices("cholesky_inverse", input.aval, square=True)
    return _triangular_twice(matrix.eye(input), input, upper)


# ----------------------------------------------------------------------------------------------------------------- lu


def _no_pivoting(name, pivot):
    require(pivot, name, "LU without pivoting is not implemented: leave pivot=True")


def first_zero(pivots):
    """The number (int32, from 1) of the first of pivots [..., n] that is zero; 0 if none is."""
    n, last = pivots.shape[-1], pivots.ndim - 1
    if n == 0:
        return create.full(pivots.shape[:-1], 0, int32)
    numbers = elementwise.add(create.iota(pivots.shape, last, int32), create.full(pivots.shape, 1, int32))
    beyond = create.full(pivots.shape, n + 1, int32)
    first = reduce.reduce_min(compare.select(compare.eq(pivots, algebra.zeros(pivots.aval)), numbers, beyond), (last,))
    return compare.select(compare.gt(first, algebra.full_like(first, n)), algebra.zeros(first.aval), first)


def _lu_factor(name, a, pivot, check):
    """(packed factors, pivots from 1, info)."""
    require_arrays(name, A=a)
    _no_pivoting(name, pivot)
    packed, pivots, _ = linalg.lu(a)
    on = matrix.diagonal(matrix.block(packed, *[min(a.shape[-2:])] * 2))
    if check:
        message = f"{name}: U has a zero on its diagonal, and using it in lu_solve would divide by zero; linalg.lu and lu_factor_ex give it"
        packed = checks.expect(packed, compare.ne(on, algebra.zeros(on.aval)), "RuntimeError", message)
    return packed, elementwise.add(pivots, create.full(pivots.shape, 1, pivots.dtype)), first_zero(create.detach(on))


def _lu_factor_reference(a, *, pivot=True):
    packed, pivots, _ = linalg.lu.op.reference(a)
    return packed, pivots + np.int32(1)


@composite(namespace=NAMESPACE, multi=True, returns=LUFactor, reference=_lu_factor_reference)
def lu_factor(A: Tensor, *, pivot: bool = True) -> tuple:
    """The LU factorization with partial pivoting in LAPACK's packed form, for `lu_solve`: a named tuple (LU, pivots).

    pivots are int32 and count from 1: row i was swapped with row pivots[i] - 1. RuntimeError if U has a zero on its diagonal
    (unchecked under jit).
    """
    return _lu_factor("lu_factor", A, pivot, True)[:2]


@composite(
    namespace=NAMESPACE,
    multi=True,
    returns=LUFactorEx,
    reference=lambda a, *, pivot=True, check_errors=False: (*_lu_factor_reference(a), np.zeros(a.shape[:-2], np.int32)),
)
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> tuple:
    """`lu_factor` that says what it found instead of raising: a named tuple (LU, pivots, info), info being 0 or the number (int32, from
    1) of the first zero on U's diagonal. With ``check_errors`` it raises as well.

    >>> import functorch_lite as fl
    >>> fl.linalg.lu_factor_ex(fl.asarray([[1.0, 0.0], [0.0, 0.0]])).info.item()
    2
    """
    return _lu_factor("lu_factor_ex", A, pivot, check_errors)


def unpacked(packed):
    """(L [..., m, k], U [..., k, n]) of packed factors, k = min(m, n)."""
    m, n = packed.shape[-2:]
    k = min(m, n)
    lower = matrix.keep(matrix.block(packed, m, k), compare.lt)
    return elementwise.add(lower, matrix.eye(lower)), matrix.keep(matrix.block(packed, k, n), compare.ge)


def swaps_of(permutation, like):
    """The matrix that permutes rows (row i of its product is row permutation[i]), in the shape and dtype of square `like`."""
    return linalg.permuted(permutation, matrix.eye(like))


def _lu_reference(a, *, pivot=True):
    packed, _, permutation = linalg.lu.op.reference(a)
    *lead, m, n = a.shape
    k = min(m, n)
    lower = np.tril(packed[..., :, :k], -1) + np.eye(m, k, dtype=a.dtype)
    return np.swapaxes(np.eye(m, dtype=a.dtype)[permutation], -1, -2), lower, np.triu(packed[..., :k, :])


@composite(namespace=NAMESPACE, multi=True, returns=LU, reference=_lu_reference)
def lu(A: Tensor, *, pivot: bool = True) -> tuple:
    """A = P L U with partial pivoting: a named tuple (P, L, U), for A [..., m, n]."""
    require_arrays("lu", A=A)
    _no_pivoting("lu", pivot)
    packed, _, permutation = linalg.lu(A)
    square = create.full((*A.shape[:-1], A.shape[-2]), 1, A.dtype)
    return matrix.transposed(swaps_of(permutation, square)), *unpacked(packed)


# ----------------------------------------------------------------------------------------------------------------- qr


def _qr_reference(a, mode="reduced"):
    if mode == "r":
        return np.empty((0,), a.dtype), np.linalg.qr(a, "r")
    return tuple(np.linalg.qr(a, mode))


@composite(namespace=NAMESPACE, multi=True, returns=QR, reference=_qr_reference)
def qr(A: Tensor, mode: str = "reduced") -> tuple:
    """A = Q R as a named tuple (Q, R): 'reduced' with min(m, n) columns in Q, 'complete' with m, or 'r' with an empty Q.

    Differentiable where the leading min(m, n) columns are independent, but not the complete form of a tall matrix.
    """
    require_arrays("qr", A=A)
    require(mode in ("reduced", "complete", "r"), "qr", f"mode must be 'reduced', 'complete' or 'r', got {mode!r}")
    q, r = linalg.qr(A, mode == "complete")
    return (create.full((0,), 0, A.dtype) if mode == "r" else q), r


# ------------------------------------------------------------------------------------------------------- eigenvalues


def _lower(name, UPLO):
    require(UPLO in ("L", "U", "l", "u"), name, f"UPLO must be 'L' or 'U', got {UPLO!r}")
    return UPLO in ("L", "l")


@composite(namespace=NAMESPACE, multi=True, returns=Eigen, reference=lambda a, UPLO="L": tuple(np.linalg.eigh(a, UPLO)))
def eigh(input: Tensor, UPLO: str = "L") -> tuple:
    """The eigenvalues (real, rising) and eigenvectors of Hermitian input, of which one triangle is read: (eigenvalues, eigenvectors).

    The derivative of eigenvectors is infinite where eigenvalues coincide; that of the eigenvalues alone is not.

    >>> import functorch_lite as fl
    >>> fl.linalg.eigh(fl.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
    [1.0, 2.0]
    """
    require_arrays("eigh", input=input)
    return spectral.eigh(input, _lower("eigh", UPLO))


@composite(namespace=NAMESPACE, reference=lambda a, UPLO="L": np.linalg.eigvalsh(a, UPLO))
def eigvalsh(input: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues (real, rising) of Hermitian input, of which one triangle is read."""
    require_arrays("eigvalsh", input=input)
    return spectral.eigh(input, _lower("eigvalsh", UPLO))[0]


@composite(namespace=NAMESPACE, multi=True, returns=Eigen, reference=spectral.eig.op.reference)
def eig(input: Tensor) -> tuple:
    """The eigenvalues and eigenvectors (columns of norm 1) of square input, both complex, in no order: (eigenvalues, eigenvectors)."""
    require_arrays("eig", input=input)
    return spectral.eig(input)


@composite(namespace=NAMESPACE, reference=lambda a: spectral.eig.op.reference(a)[0])
def eigvals(input: Tensor) -> Tensor:
    """The eigenvalues of square input, complex, in no order."""
    require_arrays("eigvals", input=input)
    return spectral.eig(input)[0]


# --------------------------------------------------------------------------------------------------- singular values


def _no_driver(name, driver):
    require(driver is None, name, f"driver= chooses among cuSOLVER's algorithms, which are not used here: leave it out, got {driver!r}")


def _svd_reference(a, full_matrices=True, *, driver=None):
    return tuple(np.linalg.svd(a, full_matrices))


@composite(namespace=NAMESPACE, multi=True, returns=SVD, reference=_svd_reference)
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> tuple:
    """A = U diag(S) Vh as a named tuple (U, S, Vh): S real and falling; U and Vh square, or of min(m, n) columns and rows.

    The derivative of U and Vh is infinite where singular values coincide, and the additional vectors of full matrices have none.

    >>> import functorch_lite as fl
    >>> fl.linalg.svd(fl.asarray([[0.0, 2.0], [1.0, 0.0]])).S.tolist()
    [2.0, 1.0]
    """
    require_arrays("svd", A=A)
    _no_driver("svd", driver)
    return spectral.svd(A, full_matrices, True)


@composite(namespace=NAMESPACE, reference=lambda a, *, driver=None: np.linalg.svd(a, compute_uv=False))
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values of A, falling."""
    require_arrays("svdvals", A=A)
    _no_driver("svdvals", driver)
    return spectral.svd(A, False, False)[0]


__all__ = ["cholesky_inverse", "cholesky_solve"]

"""torch's older spellings of torch.linalg: other names, orders of arguments and flags for the same ops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.array import Array
from ..core.op import Tensor, composite
from ..prims import create, matrix
from .arguments import require, require_arrays
from .families import method
from .linalg import QR, LUFactor, LUFactorEx, aligned, lu_factor, lu_factor_ex, svdvals
from .linalg import cholesky as cholesky_of
from .linalg import qr as qr_of
from .linalg import svd as svd_of
from .norms import multi_dot
from .systems import lu_solve as lu_solved
from .systems import solve_triangular


class SVD(NamedTuple):
    """Orthonormal columns U, falling singular values S, and orthonormal columns V."""

    U: Array
    S: Array
    V: Array


class TriangularSolve(NamedTuple):
    """The solution, and the matrix as it was broadcast."""

    solution: Array
    cloned_coefficient: Array


@method
def cholesky(input: Array, upper: bool = False) -> Array:
    """`linalg.cholesky`.

    >>> import functorch_lite as fl
    >>> fl.cholesky(fl.asarray([[4.0]]), True).tolist()
    [[2.0]]
    """
    return cholesky_of(input, upper=upper)


@method
def qr(input: Array, some: bool = True) -> QR:
    """`linalg.qr`, reduced if ``some``, else complete: a named tuple (Q, R).

    >>> import functorch_lite as fl
    >>> fl.qr(fl.ones(3, 2), some=False).Q.shape
    (3, 3)
    """
    return qr_of(input, "reduced" if some else "complete")


def _svd_reference(a, some=True, compute_uv=True):
    u, s, vh = np.linalg.svd(a, full_matrices=not some)
    if not compute_uv:
        (m, n), lead = a.shape[-2:], a.shape[:-2]
        return np.zeros((*lead, m, m), a.dtype), s, np.zeros((*lead, n, n), a.dtype)
    return u, s, np.conj(np.swapaxes(vh, -1, -2))


@composite(method=True, multi=True, returns=SVD, reference=_svd_reference)
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> tuple:
    """input = U diag(S) V^H as a named tuple (U, S, V): `linalg.svd`, which gives V^H instead; with min(m, n) columns if ``some``.

    Without ``compute_uv`` the square U and V are zero.

    >>> import functorch_lite as fl
    >>> fl.svd(fl.asarray([[0.0, 2.0], [1.0, 0.0]])).S.tolist()
    [2.0, 1.0]
    """
    require_arrays("svd", input=input)
    if compute_uv:
        u, s, vh = svd_of(input, not some)
        return u, s, matrix.adjoint(vh)
    s = svdvals(input)
    *lead, m, n = input.shape
    return create.full((*lead, m, m), 0, input.dtype), s, create.full((*lead, n, n), 0, input.dtype)


@method
def lu(A: Array, pivot: bool = True, get_infos: bool = False) -> LUFactor | LUFactorEx:
    """`linalg.lu_factor`, or with ``get_infos`` `linalg.lu_factor_ex`.

    >>> import functorch_lite as fl
    >>> fl.lu(fl.asarray([[2.0]]))[1].tolist()
    [1]
    """
    return lu_factor_ex(A, pivot=pivot) if get_infos else lu_factor(A, pivot=pivot)


@method
def lu_solve(input: Array, LU_data: Array, LU_pivots: Array) -> Array:
    """`linalg.lu_solve(LU_data, LU_pivots, input)`.

    >>> import functorch_lite as fl
    >>> fl.lu_solve(fl.asarray([[4.0]]), *fl.lu(fl.asarray([[2.0]]))).tolist()
    [[2.0]]
    """
    return lu_solved(LU_data, LU_pivots, input)


def _triangular_solve_reference(b, a, upper=True, transpose=False, unitriangular=False):
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (a, b))
    turned, upper = (np.swapaxes(a, -1, -2), not upper) if transpose else (a, upper)
    return solve_triangular.op.reference(turned, b, upper=upper, unitriangular=unitriangular), a


@composite(method=True, multi=True, returns=TriangularSolve, reference=_triangular_solve_reference)
def triangular_solve(input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> tuple:
    """X with A X = input (A^T X = input if ``transpose``) for triangular A, and A broadcast: see `linalg.solve_triangular`.

    >>> import functorch_lite as fl
    >>> fl.triangular_solve(fl.asarray([[4.0]]), fl.asarray([[2.0]])).solution.tolist()
    [[2.0]]
    """
    a, b = aligned("triangular_solve", A, input)
    turned = matrix.transposed(a) if transpose else a
    return solve_triangular(turned, b, upper=upper != transpose, unitriangular=unitriangular), a


def chain_matmul(*matrices: Array) -> Array:
    """The product of one or more matrices: `linalg.multi_dot`.

    >>> import functorch_lite as fl
    >>> fl.chain_matmul(fl.ones(1, 2), fl.ones(2, 3), fl.ones(3, 1)).tolist()
    [[6.0]]
    """
    require(len(matrices) > 0, "chain_matmul", "expected one or more matrices")
    return matrices[0] if len(matrices) == 1 else multi_dot(matrices)


__all__ = "chain_matmul cholesky lu lu_solve qr svd triangular_solve".split()

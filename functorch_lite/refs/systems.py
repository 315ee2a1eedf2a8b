"""Linear systems, inverses and determinants of matrices [..., n, n], as torch.linalg has them.

Derivatives are in closed form (Giles, An extended collection of matrix derivative results, 2008). That of a determinant also holds
where a matrix is singular: its cofactors are polynomials, which a zero pivot replaced by epsilon changes by no more than epsilon.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..core.array import Array
from ..core.dtype import finfo, int32
from ..core.op import Dims, Tensor, composite
from ..prims import algebra, checks, compare, create, elementwise, linalg, matrix, parts, reduce, shape
from .arguments import require, require_arrays, require_one_dtype, shown
from .linalg import NAMESPACE, aligned, first_zero, swaps_of
from .promotion import canonical_dim, expand_to, to_dtype


class SlogDet(NamedTuple):
    """The sign (of modulus 1, or 0) and the logarithm of the absolute value of a determinant."""

    sign: Array
    logabsdet: Array


class InvEx(NamedTuple):
    """The inverse, and the number of the first zero pivot (0: none; int32)."""

    inverse: Array
    info: Array


class SolveEx(NamedTuple):
    """The solution, and the number of the first zero pivot (0: none; int32)."""

    result: Array
    info: Array


# ------------------------------------------------------------------------------------------------------------- solve


def _regular(x, pivots, message):
    """x, unless a pivot is zero."""
    return checks.expect(x, compare.ne(pivots, algebra.zeros(pivots.aval)), "LinAlgError", message)


def _solve_square_jvp(ans, primals, tangents, check):
    """A dx = dB - dA x."""
    (a, _), (da, db), x = primals, tangents, ans[0]
    rhs = None if da is None else elementwise.neg(matrix.matmul(da, x))
    factored, _, permutation = linalg.lu(a)
    return linalg.solve(factored, permutation, algebra.total([db, rhs])), None


def _solve_square_reference(a, b, check="solve"):
    return np.linalg.solve(a, b), np.zeros(a.shape[:-2], np.int32)


@composite(namespace=NAMESPACE, multi=True, jvp=_solve_square_jvp, reference=_solve_square_reference)
def solve_square(A: Tensor, B: Tensor, check: str = "solve") -> tuple:
    """X with A X = B, for A [..., n, n] and B [..., n, k] of equal leading dimensions, and the number of A's first zero pivot (0: none).

    If there is one, LinAlgError in the name of the op `check`, unless that is empty.
    """
    factored, _, permutation = linalg.lu(A)
    x, pivots = linalg.solve(factored, permutation, B), matrix.diagonal(factored)
    x = _regular(x, pivots, f"{check}: the solver failed because the input matrix is singular") if check else x
    return x, first_zero(create.detach(pivots))


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
    return _solve("solve", A, B, left, True)[0]


@composite(
    namespace=NAMESPACE,
    multi=True,
    returns=SolveEx,
    reference=lambda a, b, *, left=True, check_errors=False: (_solve_reference(a, b, left=left), np.zeros(a.shape[:-2], np.int32)),
)
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> tuple:
    """`solve` that says what it found instead of raising: a named tuple (result, info), info being 0 or the number (int32, from 1) of the
    first zero pivot. With ``check_errors`` it raises as well."""
    x, info = _solve("solve_ex", A, B, left, check_errors)
    return x, _before_spreading(info, A.shape[:-2])


def _before_spreading(x, target):
    """x, which was broadcast from this shape, as it was."""
    if x.shape == target or 0 in x.shape:
        return x if x.shape == target else create.full(target, 0, x.dtype)
    limits = (*[1] * (x.ndim - len(target)), *target)
    return shape.reshape(shape.slice_(x, (0,) * x.ndim, limits, (1,) * x.ndim), target)


def _solve(name, A, B, left, check):
    require_one_dtype(name, A=A, B=B)
    linalg.require_matrices(name, A.aval, square=True)
    vector = _is_vector(A, B)
    require(left or not vector, name, f"B must be a matrix where left=False, got {shown(A, B)}")
    b = shape.reshape(B, (*B.shape, 1)) if vector else B
    fits = b.ndim >= 2 and b.shape[-2 if left else -1] == A.shape[-1]
    require(fits, name, f"B must have as many {'rows' if left else 'columns'} as A, got {shown(A, B)}")
    a, b = aligned(name, A, b)
    turned = (lambda x: x) if left else matrix.transposed
    x, info = solve_square(turned(a), turned(b), name if check else "")
    x = turned(x)
    return shape.reshape(x, x.shape[:-1]) if vector else x, info


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
    return matrix.matmul(matrix.transposed(swaps_of(permutation, packed)), x)


# ---------------------------------------------------------------------------------------------------------- inverses


def _inv_jvp(ans, primals, tangents, check):
    """-A^-1 dA A^-1."""
    inverse = ans[0]
    return elementwise.neg(matrix.matmul(matrix.matmul(inverse, tangents[0]), inverse)), None


@composite(
    namespace=NAMESPACE, multi=True, jvp=_inv_jvp, reference=lambda a, check="inv": (np.linalg.inv(a), np.zeros(a.shape[:-2], np.int32))
)
def inverse_square(A: Tensor, check: str = "inv") -> tuple:
    """The inverse, and the number of the first zero pivot (0: none). If there is one, LinAlgError in the name of the op `check`, unless
    that is empty."""
    linalg.require_matrices(check or "inv_ex", A.aval, square=True)
    factored, _, permutation = linalg.lu(A)
    x, pivots = linalg.solve(factored, permutation, matrix.eye(A)), matrix.diagonal(factored)
    message = f"{check}: the inversion could not be completed because the input matrix is singular"
    return _regular(x, pivots, message) if check else x, first_zero(create.detach(pivots))


@composite(namespace=NAMESPACE, method="inverse", reference=np.linalg.inv)
def inv(A: Tensor) -> Tensor:
    """The inverse of square A. LinAlgError if A is singular (unchecked under jit).

    >>> import functorch_lite as fl
    >>> fl.linalg.inv(fl.asarray([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    require_arrays("inv", A=A)
    return inverse_square(A, "inv")[0]


@composite(
    namespace=NAMESPACE,
    multi=True,
    returns=InvEx,
    reference=lambda a, *, check_errors=False: (np.linalg.inv(a), np.zeros(a.shape[:-2], np.int32)),
)
def inv_ex(A: Tensor, *, check_errors: bool = False) -> tuple:
    """`inv` that says what it found instead of raising: a named tuple (inverse, info), info being 0 or the number (int32, from 1) of the
    first zero pivot. With ``check_errors`` it raises as well."""
    require_arrays("inv_ex", A=A)
    return inverse_square(A, "inv_ex" if check_errors else "")


# ------------------------------------------------------------------------------------------------------------ tensors


@composite(namespace=NAMESPACE, reference=lambda a, ind=2: np.linalg.tensorinv(a, ind))
def tensorinv(input: Tensor, ind: int = 2) -> Tensor:
    """The inverse of input as a map from its last dimensions to its first `ind`: X with tensordot(input, X, input.ndim - ind) the identity.

    input's first `ind` sizes and the others must have one product; X has their shapes exchanged.
    """
    name = "tensorinv"
    require_arrays(name, input=input)
    require(ind > 0, name, f"expected a strictly positive integer for 'ind', but got {ind}")
    rows, columns = input.shape[:ind], input.shape[ind:]
    n = math.prod(rows)
    require(n == math.prod(columns), name, f"expected prod(input.shape[ind:]) == prod(input.shape[:ind]), got ind={ind} and {shown(input)}")
    return shape.reshape(inv(shape.reshape(input, (n, n))), (*columns, *rows))


@composite(namespace=NAMESPACE, reference=lambda a, b, dims=None: np.linalg.tensorsolve(a, b, dims))
def tensorsolve(input: Tensor, other: Tensor, dims: Dims | None = None) -> Tensor:
    """X with tensordot(input, X, X.ndim) = other; `dims` are dimensions of input that are first moved behind the others.

    input is [*other.shape, *X.shape] then, and both shapes have one product.
    """
    name = "tensorsolve"
    require_one_dtype(name, input=input, other=other)
    if dims is not None:
        last = [canonical_dim(name, d, input.ndim) for d in ((dims,) if dims.__class__ is int else dims)]
        input = shape.permute(input, (*[d for d in range(input.ndim) if d not in last], *last))
    rows, columns = input.shape[: other.ndim], input.shape[other.ndim :]
    n = math.prod(rows)
    expected = "expected prod(input.shape[other.ndim:]) == prod(input.shape[:other.ndim]) == other.numel()"
    require(n == math.prod(columns) == other.aval.size, name, f"{expected}, got {shown(input, other)}")
    return shape.reshape(solve(shape.reshape(input, (n, n)), shape.reshape(other, (n,))), columns)


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
__all__ = ["det", "inverse", "logdet", "slogdet"]

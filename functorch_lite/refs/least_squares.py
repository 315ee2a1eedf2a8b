"""Pseudo-inverses, ranks and least squares, by singular values.

The derivative of a pseudo-inverse is that at constant rank (Golub and Pereyra, The differentiation of pseudo-inverses and nonlinear
least squares problems whose variables separate, 1973).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.array import Array
from ..core.dtype import finfo, int64
from ..core.op import Tensor, composite
from ..prims import algebra, compare, create, elementwise, linalg, matrix, reduce, shape, spectral
from .arguments import require, require_arrays, require_one_dtype, shown
from .linalg import NAMESPACE, aligned
from .promotion import array_of, broadcast_shapes, expand_to, to_dtype


class LstSq(NamedTuple):
    """A least-squares solution, the residuals' squared norms, the rank, and the singular values: empty where the driver does not give them."""

    solution: Array
    residuals: Array
    rank: Array
    singular_values: Array


def _threshold(values, sizes, atol, rtol):
    """What singular values must exceed: max(atol, rtol * the largest); rtol is max(m, n) eps unless it or a positive atol is given."""
    top = shape.broadcast(reduce.reduce_max(values, (values.ndim - 1,)), values.shape, tuple(range(values.ndim - 1)))
    absolute = None if atol is None else _tolerance(atol, values)
    if rtol is None:
        relative = _tolerance(max(sizes) * float(finfo(values.dtype).eps), values)
        if absolute is not None:
            nothing = algebra.zeros(values.aval)
            relative = compare.select(compare.gt(absolute, nothing), nothing, relative)
    else:
        relative = _tolerance(rtol, values)
    relative = elementwise.mul(top, relative)
    return relative if absolute is None else compare.maximum(relative, absolute)


def _tolerance(v, like):
    """A tolerance, a number or one for each matrix, along the values of each."""
    v = to_dtype(array_of(v), like.dtype)
    lead = like.shape[:-1]
    return shape.broadcast(expand_to(v, broadcast_shapes(v.shape, lead)), like.shape, tuple(range(len(lead))))


def _sizes_of_values(x, hermitian):
    """(singular values, or absolute eigenvalues)."""
    return elementwise.abs(spectral.eigh(x, True)[0]) if hermitian else spectral.svd(x, False, False)[0]


def _pinv_jvp(p, primals, tangents, hermitian):
    """-P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P (Golub and Pereyra)."""
    a, da = primals[0], tangents[0]
    if da is None:
        return None
    mm, adjoint = matrix.matmul, matrix.adjoint
    da_h, p_h = adjoint(da), adjoint(p)
    left, right = mm(mm(p, p_h), da_h), mm(mm(da_h, p_h), p)
    moved = elementwise.neg(mm(mm(p, da), p))
    return algebra.total([moved, elementwise.sub(left, mm(mm(left, a), p)), elementwise.sub(right, mm(p, mm(a, right)))])


def _pinv_reference(a, rcond=None, hermitian=False, *, atol=None, rtol=None):
    return np.linalg.pinv(a, rcond=max(a.shape[-2:]) * np.finfo(a.dtype).eps, hermitian=hermitian)


@composite(namespace=NAMESPACE, method="pinverse", jvp=_pinv_jvp, reference=_pinv_reference)
def pinv(
    input: Tensor,
    rcond: Tensor | None = None,
    hermitian: bool = False,
    *,
    atol: Tensor | None = None,
    rtol: Tensor | None = None,
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
    input: Tensor, tol: Tensor | None = None, hermitian: bool = False, *, atol: Tensor | None = None, rtol: Tensor | None = None
) -> Tensor:
    """How many singular values exceed max(atol, rtol * the largest) (int64); defaults are those of `pinv`, tol is another name of atol."""
    require_arrays("matrix_rank", input=input)
    linalg.require_matrices("matrix_rank", input.aval, square=hermitian)
    if 0 in input.shape:
        return create.full(input.shape[:-2], 0, int64)
    size = _sizes_of_values(input, hermitian)
    above = compare.gt(size, _threshold(size, input.shape[-2:], tol if atol is None else atol, rtol))
    return reduce.reduce_sum(to_dtype(above, int64), (size.ndim - 1,))


_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _lstsq_reference(a, b, rcond=None, *, driver=None):
    if b.ndim == a.ndim - 1:
        x, *others = _lstsq_reference(a, b[..., None], rcond, driver=driver)
        return x[..., 0], *others
    x, driver = np.linalg.pinv(a) @ b, driver or "gelsy"
    m, n = a.shape[-2:]
    none = np.empty((0,), x.real.dtype)
    residuals = (np.abs(b - a @ x) ** 2).sum(-2) if m > n and driver != "gelsy" else none
    rank = none.astype(np.int64) if driver == "gels" else np.asarray(np.linalg.matrix_rank(a), np.int64)
    return x, residuals, rank, np.linalg.svd(a, compute_uv=False) if driver in ("gelsd", "gelss") else none


@composite(namespace=NAMESPACE, multi=True, returns=LstSq, reference=_lstsq_reference)
def lstsq(input: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None) -> tuple:
    """X that minimizes |input X - b|, the one of least norm: a named tuple (solution, residuals, rank, singular_values).

    Computed by `pinv` whatever the driver ('gels', 'gelsy', which is the default, 'gelsd' or 'gelss'), which says only what is not
    empty, as in PyTorch: residuals [..., k], squared norms, for more rows than columns and not 'gelsy'; the rank, for all but 'gels';
    the singular values, for 'gelsd' and 'gelss'. (PyTorch's residuals are empty, too, where the rank is not full.)
    """
    name = "lstsq"
    require_arrays(name, input=input, b=b)
    require(input.ndim >= 2, name, f"input must have at least 2 dimensions, got {shown(input)}")
    require(b.ndim >= 1, name, f"b must have at least 1 dimension, got {shown(b)}")
    require(driver is None or driver in _DRIVERS, name, f"parameter 'driver' should be one of {', '.join(_DRIVERS)}, got {driver!r}")
    require_one_dtype(name, input=input, b=b)
    driver, vector = driver or "gelsy", b.ndim == input.ndim - 1
    a, rhs = aligned(name, input, shape.reshape(b, (*b.shape, 1)) if vector else b)
    m, n = a.shape[-2:]
    require(rhs.shape[-2] == m, name, f"input and b must have as many rows, got {shown(input, b)}")
    x = matrix.matmul(pinv(a, rcond), rhs)
    none = create.full((0,), 0, a.dtype.to_real())
    residuals, rank, values = none, create.full((0,), 0, int64), none
    if m > n and driver != "gelsy":
        size = elementwise.abs(elementwise.sub(rhs, matrix.matmul(a, x)))
        residuals = reduce.reduce_sum(elementwise.mul(size, size), (size.ndim - 2,))
    if driver != "gels":
        rank = matrix_rank(input, rtol=rcond)
    if driver in ("gelsd", "gelss"):
        values = spectral.svd(input, False, False)[0]
    x = shape.reshape(x, x.shape[:-1]) if vector else x
    return x, residuals, rank, values


pinverse = pinv
__all__ = ["pinverse"]

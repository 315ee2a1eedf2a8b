"""Eigenvalues and singular values, over matrices in the last two dimensions.

Derivatives are those of PyTorch: where vectors are determined only up to a phase, the tangent that moves no phase; where values
coincide, their vectors' derivatives are infinite (and a zero cotangent of a vector gives zero, so functions of the values are
safe). Formulas: Boeddeker et al., On the computation of complex-valued gradients (2017); Wan and Zhang, Automatic
differentiation for complex valued SVD (2019).
"""

from __future__ import annotations

import numpy as np
from jax import lax

from ..core.aval import aval
from ..errors import LinAlgError
from . import compare, convert, elementwise, linalg, matrix, parts
from .families import general, rows_batch


def _finite(name):
    def checks(x, *params):
        ok = lax.reduce(lax.is_finite(lax.abs(x)), np.bool_(True), lax.bitwise_and, tuple(range(x.ndim)))
        return [(ok, LinAlgError, f"{name}: the algorithm failed to converge because the input matrix contained non-finite values")]

    return checks


# -------------------------------------------------------------------------------------------------------------- eigh


def _eigh_meta(x, lower):
    linalg.require_matrices("eigh", x, square=True)
    return aval(x.shape[:-1], x.dtype.to_real()), x


def _eigh_impl(x, lower):
    vectors, values = lax.linalg.eigh(x, lower=lower, symmetrize_input=False)
    return values, vectors


def _eigh_jvp(ans, primals, tangents, lower):
    """With X = V^H da V: dw = diag(X) and dV = V (X / gaps); da counts by its Hermitian part."""
    values, v = ans
    x = matrix.matmul(matrix.matmul(matrix.adjoint(v), matrix.hermitian(tangents[0])), v)
    turn = elementwise.mul_no_nan(x, convert.convert(matrix.reciprocal_gaps(values), x.dtype))
    return matrix.real_of(matrix.diagonal(x)), matrix.matmul(v, turn)


def _eigh_reference(x, lower):
    values, vectors = np.linalg.eigh(x, "L" if lower else "U")
    return values, vectors


eigh = general(
    "eigh",
    "x: Tensor, lower: bool",
    multi=True,
    impl=_eigh_impl,
    meta=_eigh_meta,
    jvp=_eigh_jvp,
    batch=rows_batch(lambda: eigh),
    checks=_finite("eigh"),
    reference=_eigh_reference,
    doc="""The eigenvalues (real, rising) and orthonormal eigenvectors (columns) of Hermitian x, of which one triangle is read. Its
    derivative is that of a function of Hermitian matrices: gradients are Hermitian.""",
)

# --------------------------------------------------------------------------------------------------------------- eig


def _eig_meta(x):
    linalg.require_matrices("eig", x, square=True)
    dtype = x.dtype.to_complex()
    return aval(x.shape[:-1], dtype), aval(x.shape, dtype)


def _eig_jvp(ans, primals, tangents):
    """With X = V^-1 da V: dw = diag(X) and dV = V (X / gaps), less what would change the columns' norm."""
    values, v = ans
    da = convert.convert(tangents[0], v.dtype)
    factored, _, permutation = linalg.lu(v)
    x = linalg.solve(factored, permutation, matrix.matmul(da, v))
    dv = matrix.matmul(v, elementwise.mul_no_nan(x, matrix.reciprocal_gaps(values)))
    growth = parts.real(matrix.diagonal(matrix.matmul(matrix.adjoint(v), dv)))
    return matrix.diagonal(x), elementwise.sub(dv, elementwise.mul(v, matrix.along_rows(growth, v)))


eig = general(
    "eig",
    "x: Tensor",
    multi=True,
    impl=lambda x: tuple(lax.linalg.eig(x, compute_left_eigenvectors=False)),
    meta=_eig_meta,
    jvp=_eig_jvp,
    batch=rows_batch(lambda: eig),
    checks=_finite("eig"),
    reference=lambda x: tuple([y.astype(np.result_type(x.dtype, np.complex64)) for y in np.linalg.eig(x)]),
    doc="The eigenvalues and eigenvectors (columns of norm 1) of x, both complex, in no particular order.",
)

# --------------------------------------------------------------------------------------------------------------- svd


def _svd_meta(x, full_matrices, compute_uv):
    linalg.require_matrices("svd", x)
    *lead, m, n = x.shape
    k = min(m, n)
    values = aval((*lead, k), x.dtype.to_real())
    if not compute_uv:
        return (values,)
    return aval((*lead, m, m if full_matrices else k), x.dtype), values, aval((*lead, n if full_matrices else k, n), x.dtype)


def _svd_impl(x, full_matrices, compute_uv):
    out = lax.linalg.svd(x, full_matrices=full_matrices, compute_uv=compute_uv)
    return tuple(out) if compute_uv else (out,)


def _svd_jvp(ans, primals, tangents, full_matrices, compute_uv):
    """With X = U^H da V: ds = Re diag(X), and of what is left of X, E holding s[j]^2 - s[i]^2:

        dU = U (sym(X S) / E + i Im diag(X) / 2S) + (1 - U U^H) da V / S
        dV = V (sym(S X) / E - i Im diag(X) / 2S) + (1 - V V^H) da^H U / S

    The additional vectors of full matrices are arbitrary: as in PyTorch, they are constants.
    """
    (a,), (da,) = primals, tangents
    m, n = a.shape[-2:]
    k = min(m, n)
    u, s, vh = ans if compute_uv else svd(a, False, True)
    u, vh = matrix.block(u, m, k), matrix.block(vh, k, n)
    da_v = matrix.matmul(da, matrix.adjoint(vh))
    x = matrix.matmul(matrix.adjoint(u), da_v)
    ds = matrix.real_of(matrix.diagonal(x))
    if not compute_uv:
        return (ds,)
    inverse_gaps = convert.convert(matrix.reciprocal_gaps(elementwise.mul(s, s)), x.dtype)
    inverse = elementwise.reciprocal(s)

    def turn(xs, sign):
        """sym(xs) / E and the phase's share."""
        out = elementwise.mul_no_nan(elementwise.add(xs, matrix.adjoint(xs)), inverse_gaps)
        if not x.dtype.is_complex:
            return out
        on = matrix.keep(x, compare.eq)
        phase = elementwise.scaled(elementwise.sub(on, convert.convert(parts.real(on), x.dtype)), sign * 0.5)
        return elementwise.add(out, elementwise.mul_no_nan(phase, matrix.along_rows(inverse, phase)))

    du = matrix.matmul(u, turn(elementwise.mul(x, matrix.along_rows(s, x)), 1))
    dv = matrix.matmul(matrix.adjoint(vh), turn(elementwise.mul(x, matrix.along_columns(s, x)), -1))
    if m > k:
        rest = elementwise.sub(da_v, matrix.matmul(u, x))
        du = elementwise.add(du, elementwise.mul_no_nan(rest, matrix.along_rows(inverse, rest)))
    if n > k:
        rest = elementwise.sub(matrix.matmul(matrix.adjoint(da), u), matrix.matmul(matrix.adjoint(vh), matrix.adjoint(x)))
        dv = elementwise.add(dv, elementwise.mul_no_nan(rest, matrix.along_rows(inverse, rest)))
    dvh = matrix.adjoint(dv)
    if full_matrices:
        du, dvh = matrix.padded(du, m, m), matrix.padded(dvh, n, n)
    return du, ds, dvh


def _svd_reference(x, full_matrices, compute_uv):
    out = np.linalg.svd(x, full_matrices, compute_uv)
    return tuple(out) if compute_uv else (out,)


svd = general(
    "svd",
    "x: Tensor, full_matrices: bool, compute_uv: bool",
    multi=True,
    impl=_svd_impl,
    meta=_svd_meta,
    jvp=_svd_jvp,
    batch=rows_batch(lambda: svd),
    checks=_finite("svd"),
    reference=_svd_reference,
    doc="""The singular value decomposition x = U S V^H as (U, S, V^H), or (S,) alone: S real and falling; U and V^H square if
    `full_matrices`, else of min(m, n) columns and rows.""",
)

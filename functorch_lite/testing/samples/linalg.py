"""Samples of linear algebra.

Finite differences ask more of a function than some of these are: cholesky and eigh are functions of Hermitian matrices, and
eigenvectors and singular vectors are determined up to a phase only. Their differences are taken of composites that mend this:
functions of the Hermitian part, and of what no phase changes.
"""

from __future__ import annotations

import numpy as np

from ...core.dtype import float64, int32
from ...core.op import Tensor, composite
from ...prims import elementwise, linalg, matrix, parts, reduce, spectral
from ..table import COMPLEXES, REAL, Sample, array, row

SQUARES = ((3, 3), (2, 2, 2), (0, 0), (0, 2, 2))
OBLONGS = ((3, 2), (2, 3), (3, 3), (2, 3, 2), (0, 2), (2, 0))
HERMITIAN = "a function of Hermitian matrices, which a random direction leaves: see the row of its Hermitian part"
PHASE = "vectors are determined up to a phase, which two calls choose freely: see the row of what no phase changes"


DIFFERENCES = ("jvp", "second", "jvp_vjp")  # the axes that take finite differences
EVERY = (*REAL, *COMPLEXES)


def general_matrices(shapes):
    def sampler(rng, dtype, *statics):
        return [Sample(_spread(array(rng, s, dtype)), *statics) for s in shapes]

    return sampler


def _spread(x):
    """x with a diagonal that keeps eigenvalues and singular values apart from one another and from zero."""
    return x + np.asarray(np.eye(*x.shape[-2:]) * (3 * np.arange(1, x.shape[-1] + 1)), x.dtype)


def with_statics(sampler, *choices):
    """The samples of `sampler` with each choice of static arguments."""
    return lambda rng, dtype: [s for statics in choices for s in sampler(rng, dtype, *statics)]


def hermitian_matrices(rng, dtype, *statics):
    for sample in general_matrices(SQUARES)(rng, dtype):
        (x,) = sample.args
        yield Sample((x + np.conj(np.swapaxes(x, -1, -2))) / 2, *statics)


def positive_matrices(rng, dtype):
    for shape in SQUARES:
        x = array(rng, shape, dtype)
        yield Sample(x @ np.conj(np.swapaxes(x, -1, -2)) + 2 * np.eye(shape[-1], dtype=x.dtype))


def triangular_systems(rng, dtype):
    """Every flag both ways, and together with every other."""
    for i, shape in enumerate(((3, 3), (2, 2, 2), (3, 3), (2, 2), (3, 3), (2, 2), (0, 0), (2, 2, 2))):
        left, lower, transpose = bool(i & 1), bool(i & 2), bool(i & 4)
        conjugate, unit = (i + 1) % 3 == 0, i % 4 == 1
        sizes = (shape[-1], 0 if i == 7 else 2) if left else (2, shape[-1])
        yield Sample(
            _spread(array(rng, shape, dtype, -1, 1)), array(rng, (*shape[:-2], *sizes), dtype), left, lower, transpose, conjugate, unit
        )


row(linalg.triangular_solve, triangular_systems, dtypes=EVERY, tolerance=10)
row(linalg.cholesky, positive_matrices, tolerance=10, skip=dict.fromkeys(DIFFERENCES, HERMITIAN))
row(linalg.lu, general_matrices(OBLONGS), dtypes=EVERY, tolerance=10)
row(
    linalg.permutation_of,
    lambda rng, dtype: [Sample(array(rng, s, dtype, 0, 2), n) for s, n in (((3,), 3), ((2, 3), 4), ((2, 0), 2))],
    dtypes=(int32,),
)
row(linalg.qr, with_statics(general_matrices(OBLONGS), (False,)), dtypes=EVERY, tolerance=10)
row(linalg.qr, with_statics(general_matrices(((2, 3), (3, 3))), (True,)), dtypes=EVERY, tolerance=10)
row(
    linalg.qr,
    lambda rng, dtype: [Sample(array(rng, (3, 2), dtype), True, held=(0,)), Sample(array(rng, (2, 0), dtype), True, held=(0,))],
    dtypes=EVERY,
    tolerance=10,
)
row(
    spectral.eigh,
    with_statics(hermitian_matrices, (True,), (False,)),
    dtypes=(float64,),
    tolerance=10,
    skip=dict.fromkeys(DIFFERENCES, HERMITIAN) | {"value": PHASE},
)
row(spectral.eig, general_matrices(SQUARES), dtypes=(float64,), tolerance=10, skip=dict.fromkeys(("value", *DIFFERENCES), PHASE))
row(spectral.svd, with_statics(general_matrices(OBLONGS), (False, True)), dtypes=(float64,), tolerance=10, skip={"value": PHASE})
row(spectral.svd, with_statics(general_matrices(OBLONGS), (True, False)), dtypes=EVERY, tolerance=10)


# ------------------------------------------------------------------------------ what finite differences may be taken of


def _adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


@composite(namespace="samples", reference=lambda x: np.linalg.cholesky((x + _adjoint(x)) / 2))
def cholesky_of_hermitian_part(x: Tensor) -> Tensor:
    """The Cholesky factor of the Hermitian part."""
    return linalg.cholesky(matrix.hermitian(x))


def _eigh_reference(x, lower):
    values, v = np.linalg.eigh((x + _adjoint(x)) / 2)
    return values, _unphased_reference(v), (v * np.exp(values / 4)[..., None, :]) @ _adjoint(v)


def _unphased(v):
    """Columns times the conjugate of their sum."""
    sums = reduce.reduce_sum(parts.conj_of(v), (v.ndim - 2,))
    return elementwise.mul(v, matrix.along_rows(sums, v))


def _unphased_reference(v):
    return v * np.conj(v.sum(-2, keepdims=True))


@composite(namespace="samples", multi=True, reference=_eigh_reference)
def eigh_invariants(x: Tensor, lower: bool):
    """Of the Hermitian part: the eigenvalues w, the vectors without their phase, and V exp(w / 4) V^H."""
    values, v = spectral.eigh(matrix.hermitian(x), lower)
    powers = matrix.along_rows(elementwise.exp(elementwise.scaled(values, 0.25)), v)
    return values, _unphased(v), matrix.matmul(elementwise.mul(v, powers), matrix.adjoint(v))


def _eig_reference(x):
    values, v = [y.astype(np.result_type(x, np.complex64)) for y in np.linalg.eig(x)]
    return values, _unphased_reference(v)


@composite(namespace="samples", multi=True, reference=_eig_reference)
def eig_invariants(x: Tensor):
    """The eigenvalues, and the vectors without their phase."""
    values, v = spectral.eig(x)
    return values, _unphased(v)


def _svd_reference(x, full_matrices):
    u, s, vh = np.linalg.svd(x, False)
    return s, _unphased_reference(u), _unphased_reference(_adjoint(vh)), (u * s[..., None, :] ** 2) @ vh


@composite(namespace="samples", multi=True, reference=_svd_reference)
def svd_invariants(x: Tensor, full_matrices: bool):
    """The singular values, U and V without their phases, and U S^2 V^H; of the leading vectors."""
    u, s, vh = spectral.svd(x, full_matrices, True)
    k = s.shape[-1]
    u, vh = matrix.block(u, x.shape[-2], k), matrix.block(vh, k, x.shape[-1])
    return (
        s,
        _unphased(u),
        _unphased(matrix.adjoint(vh)),
        matrix.matmul(elementwise.mul(u, matrix.along_rows(elementwise.mul(s, s), u)), vh),
    )


row(cholesky_of_hermitian_part, positive_matrices, dtypes=EVERY, tolerance=10)
row(eigh_invariants, with_statics(hermitian_matrices, (True,), (False,)), dtypes=EVERY, tolerance=100)
row(eig_invariants, general_matrices(SQUARES), dtypes=EVERY, tolerance=100)
row(svd_invariants, with_statics(general_matrices(OBLONGS), (False,), (True,)), dtypes=EVERY, tolerance=100)

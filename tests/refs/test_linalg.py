"""What the op table cannot say of linear algebra and Fourier transforms: singular matrices, named results, errors."""

import itertools

import numpy as np
import pytest

import functorch_lite as fl

RNG = np.random.default_rng(21)
RANK_TWO = np.array([[1.0, 2, 3], [2, 4, 6], [1, 0, 1]])
SINGULAR = {
    "zero last": RANK_TWO,
    "zero first": np.diag([0.0, 1, 2]),
    "rank one": np.outer([1.0, 2, 3], [1.0, 1, 2]),
    "zero": np.zeros((3, 3)),
}


def cofactors(a):
    minors = {(i, j): np.delete(np.delete(a, i, 0), j, 1) for i, j in itertools.product(range(len(a)), repeat=2)}
    return np.array([[(-1) ** (i + j) * np.linalg.det(minors[i, j]) for j in range(len(a))] for i in range(len(a))])


@pytest.mark.parametrize("name", SINGULAR)
def test_the_gradient_of_a_determinant_is_its_cofactors(name):
    a = SINGULAR[name]
    np.testing.assert_allclose(fl.grad(fl.linalg.det)(a), cofactors(a), atol=1e-12)
    batch = np.stack([a, RNG.normal(size=(3, 3))])
    np.testing.assert_allclose(fl.grad(lambda x: fl.linalg.det(x).sum())(batch), np.stack([cofactors(x) for x in batch]), atol=1e-12)


def test_slogdet_of_a_singular_matrix():
    sign, log = fl.linalg.slogdet(fl.zeros(2, 2))
    assert sign.item() == 0 and log.item() == -np.inf


def test_gradients_of_spectra_hold_where_values_coincide():
    """The values of the identity coincide: their vectors have no derivative, but functions of the values do."""
    eye = np.eye(3)
    np.testing.assert_allclose(fl.grad(lambda x: fl.linalg.eigvalsh(x).sum())(eye), eye, atol=1e-12)
    np.testing.assert_allclose(fl.grad(lambda x: fl.linalg.matrix_norm(x, "nuc"))(eye), eye, atol=1e-12)
    assert np.isfinite(np.asarray(fl.grad(lambda x: fl.linalg.pinv(x).sum())(eye))).all()
    assert fl.grad(fl.linalg.norm)(np.zeros((2, 2))).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_results_have_names():
    a = fl.asarray(RNG.normal(size=(3, 3)))
    assert fl.linalg.qr(a)._fields == ("Q", "R")
    assert fl.linalg.svd(a)._fields == ("U", "S", "Vh")
    assert fl.linalg.eigh(a)._fields == fl.linalg.eig(a)._fields == ("eigenvalues", "eigenvectors")
    assert fl.linalg.slogdet(a)._fields == ("sign", "logabsdet")
    assert fl.linalg.lu_factor(a)._fields == ("LU", "pivots")
    assert fl.linalg.lstsq(a, a)._fields == ("solution", "residuals", "rank", "singular_values")


def test_solving_composes():
    a, b = RNG.normal(size=(4, 3, 3)), RNG.normal(size=(3,))
    rows = fl.vmap(fl.linalg.solve, in_dims=(0, None))(a, b)
    np.testing.assert_allclose(rows, np.stack([np.linalg.solve(x, b) for x in a]))
    hessian = fl.hessian(lambda x: fl.linalg.solve(fl.asarray(a[0]) + fl.diag(x), b).sum())(fl.zeros(3, dtype=fl.float64))
    np.testing.assert_allclose(hessian, np.asarray(hessian).T, atol=1e-10)


def test_single_precision_stays_single():
    for x, complex_dtype in ((fl.ones(4), fl.complex64), (fl.ones(4, dtype=fl.float64), fl.complex128), (fl.asarray([1, 2]), fl.complex64)):
        assert fl.fft.fft(x).dtype is fl.fft.rfft(x).dtype is complex_dtype
        assert fl.fft.irfft(fl.fft.rfft(x)).dtype is complex_dtype.to_real()


def test_more_than_three_dimensions_are_transformed():
    x = RNG.normal(size=(2, 3, 2, 3, 2))
    np.testing.assert_allclose(fl.fft.fftn(x), np.fft.fftn(x), atol=1e-10)
    np.testing.assert_allclose(fl.fft.rfftn(x), np.fft.rfftn(x), atol=1e-10)
    np.testing.assert_allclose(fl.fft.irfftn(fl.fft.rfftn(x), x.shape), x, atol=1e-12)


BAD = {
    "inv": (lambda: fl.linalg.inv(RANK_TWO), fl.linalg.LinAlgError, "inv: .*singular"),
    "solve": (lambda: fl.linalg.solve(np.zeros((2, 2)), np.ones(2)), fl.linalg.LinAlgError, "solve.*singular"),
    "cholesky": (lambda: fl.linalg.cholesky(-np.eye(2)), fl.linalg.LinAlgError, "not positive-definite"),
    "cholesky, batched": (lambda: fl.vmap(fl.linalg.cholesky)(-np.ones((2, 1, 1))), fl.linalg.LinAlgError, "not positive-definite"),
    "cholesky of NaN": (lambda: fl.linalg.cholesky(np.full((2, 2), np.nan)), fl.linalg.LinAlgError, "not positive-definite"),
    "square": (lambda: fl.linalg.det(np.ones((2, 3))), RuntimeError, r"square matrices.*float64\[2,3\]"),
    "vector": (lambda: fl.linalg.inv(np.ones(3)), RuntimeError, "at least 2 dimensions"),
    "integers": (lambda: fl.linalg.det(np.eye(2, dtype=int)), RuntimeError, r"int64.*\.to\(dtype\)"),
    "sizes": (lambda: fl.linalg.solve(np.eye(2), np.ones((3, 1))), RuntimeError, "as many rows as A"),
    "mode": (lambda: fl.linalg.qr(np.eye(2), "full"), RuntimeError, "'reduced', 'complete' or 'r'"),
    "triangle": (lambda: fl.linalg.eigh(np.eye(2), "X"), RuntimeError, "UPLO must be 'L' or 'U'"),
    "order": (lambda: fl.linalg.matrix_norm(np.eye(2), 3), RuntimeError, "ord must be one of"),
    "cross": (lambda: fl.linalg.cross(np.ones(2), np.ones(2)), RuntimeError, "must have size 3"),
    "points": (lambda: fl.fft.fft(np.ones(3), 0), RuntimeError, "number of data points must be positive"),
    "real": (lambda: fl.fft.rfft(np.ones(3) * 1j), RuntimeError, "expected a real input"),
    "norm": (lambda: fl.fft.fft(np.ones(3), norm="unitary"), RuntimeError, "norm must be 'forward', 'backward' or 'ortho'"),
    "dim": (lambda: fl.fft.fft2(np.ones(3)), IndexError, "dimension out of range"),
    "half": (lambda: fl.fft.fft(fl.ones(4, dtype=fl.float16)), RuntimeError, "half-width"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    f, error, message = BAD[name]
    with pytest.raises(error, match=message):
        f()

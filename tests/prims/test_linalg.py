"""Linear algebra where the op table does not look: matrices that have no factorization, and spectra that coincide."""

import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite.errors import LinAlgError, NonDifferentiableError
from functorch_lite.prims import elementwise, linalg, reduce, reflectors, spectral

NOT_FINITE = np.array([[1.0, np.nan], [np.nan, 1.0]])


def total(x):
    return reduce.reduce_sum(x, tuple(range(x.ndim)))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: fl.grad(lambda x: total(reflectors.geqrf(x)[0]))(fl.ones(3, 2)), NonDifferentiableError, "fl.linalg.qr has one"),
        (lambda: fl.grad(lambda x: total(reflectors.ldl(x, False)[0]))(fl.eye(2)), NonDifferentiableError, "fl.linalg.solve"),
        (lambda: reflectors.interchanges(fl.ones(3)), ValueError, "int32 pivots"),
        (lambda: spectral.eigh(fl.asarray(NOT_FINITE), True), LinAlgError, "non-finite"),
        (lambda: spectral.eig(fl.asarray(NOT_FINITE)), LinAlgError, "non-finite"),
        (lambda: spectral.svd(fl.asarray(NOT_FINITE), False, True), LinAlgError, "non-finite"),
        (lambda: linalg.cholesky(fl.ones(2, 3)), RuntimeError, "2 by 3"),
        (lambda: linalg.cholesky(fl.ones(2, 2, dtype=fl.int64)), RuntimeError, "float32, float64"),
        (lambda: linalg.lu(fl.ones(3)), RuntimeError, "at least 2 dimensions"),
        (lambda: linalg.triangular_solve(fl.eye(3), fl.ones(2, 3), True, True, False, False, False), RuntimeError, "as many rows"),
        (lambda: fl.grad(lambda x: total(linalg.qr(x, True)[0]))(fl.ones(3, 2)), NonDifferentiableError, "reduced"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


SPECTRA = {
    "eigh": lambda x: spectral.eigh(x, True)[0],
    "eig": lambda x: spectral.eig(x)[0].real,
    "svd": lambda x: spectral.svd(x, False, True)[1],
    "svd, values alone": lambda x: spectral.svd(x, False, False)[0],
}


@pytest.mark.parametrize("name", SPECTRA)
def test_values_that_coincide_have_gradients(name):
    """The sum of squares of the spectrum of 2 I: its gradient is 4 I, though the vectors' derivatives are infinite."""

    def f(x):
        values = SPECTRA[name](x)
        return total(elementwise.mul(values, values))

    np.testing.assert_allclose(np.asarray(fl.grad(f)(fl.asarray(2 * np.eye(3)))), 4 * np.eye(3), atol=1e-12)


def test_gradients_of_hermitian_functions_are_hermitian():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
    a = a @ a.conj().T + np.eye(3)
    w = fl.asarray(rng.normal(size=(3, 3)) + 0j)
    for f in (linalg.cholesky, lambda x: spectral.eigh(x, True)[1]):
        g = np.asarray(fl.grad(lambda x, f=f: total(elementwise.mul(f(x), w)).real)(fl.asarray(a)))
        np.testing.assert_allclose(g, g.conj().T, atol=1e-12)
        assert abs(g).max() > 1e-3

"""What the op table cannot say of factorizations: matrices that have none, systems with every kind of pivot, draws, half width."""

import numpy as np
import pytest

import functorch_lite as fl

RNG = np.random.default_rng(22)
INDEFINITE = np.stack([np.eye(3), -np.eye(3), np.array([[1.0, 0, 0], [0, 1, 2], [0, 2, 1]]), np.full((3, 3), np.nan)])
SINGULAR = np.stack([np.eye(2), np.zeros((2, 2)), np.diag([1.0, 0])])


def test_failures_are_told_by_number():
    factor, info = fl.linalg.cholesky_ex(INDEFINITE)
    assert info.tolist() == [0, 1, 3, 1]
    assert fl.isnan(factor[1]).diagonal().all() and factor[0].tolist() == np.eye(3).tolist()
    assert fl.jit(fl.linalg.cholesky_ex)(INDEFINITE).info.tolist() == [0, 1, 3, 1]
    assert fl.linalg.inv_ex(SINGULAR).info.tolist() == [0, 1, 2]
    assert fl.linalg.lu_factor_ex(SINGULAR).info.tolist() == [0, 1, 2]
    assert fl.linalg.solve_ex(SINGULAR, np.ones((3, 2))).info.tolist() == [0, 1, 2]
    assert fl.linalg.ldl_factor_ex(SINGULAR).info.tolist() == [0, 1, 2]


RAISING = {
    "cholesky_ex": (lambda: fl.linalg.cholesky_ex(INDEFINITE, check_errors=True), fl.linalg.LinAlgError, "not positive-definite"),
    "inv_ex": (lambda: fl.linalg.inv_ex(SINGULAR, check_errors=True), fl.linalg.LinAlgError, "inv_ex.*singular"),
    "solve_ex": (lambda: fl.linalg.solve_ex(SINGULAR, np.ones(2), check_errors=True), fl.linalg.LinAlgError, "solve_ex.*singular"),
    "lu_factor": (lambda: fl.linalg.lu_factor(SINGULAR), RuntimeError, "zero on its diagonal"),
    "ldl_factor": (lambda: fl.linalg.ldl_factor(SINGULAR), RuntimeError, "zero block"),
    "ldl_factor_ex": (lambda: fl.linalg.ldl_factor_ex(SINGULAR, check_errors=True), RuntimeError, "zero block"),
    "lu, unpivoted": (lambda: fl.lu(np.eye(2), pivot=False), RuntimeError, "leave pivot=True"),
    "reflectors": (lambda: fl.linalg.householder_product(np.ones((2, 3)), np.ones(2)), RuntimeError, r"float64\[2,3\]"),
    "too many": (lambda: fl.linalg.householder_product(np.ones((3, 3)), np.ones(4)), RuntimeError, r"float64\[4\]"),
    "ormqr": (lambda: fl.ormqr(np.ones((3, 3)), np.ones(3), np.ones((4, 3))), RuntimeError, r"other.shape\[-2\]"),
    "pivots": (lambda: fl.linalg.ldl_solve(np.eye(2), np.ones(3, np.int32), np.eye(2)), RuntimeError, "int32.*pivots|pivots.*int32"),
    "vector": (lambda: fl.linalg.ldl_solve(np.eye(2), np.ones(2, np.int32), np.ones(2)), RuntimeError, "at least 2 dimensions"),
    "driver": (lambda: fl.linalg.lstsq(np.eye(2), np.eye(2), driver="geqrf"), RuntimeError, "gels, gelsy, gelsd, gelss"),
    "tensorinv": (lambda: fl.linalg.tensorinv(np.ones((2, 2, 3))), RuntimeError, r"ind=2 and float64\[2,2,3\]"),
    "tensorsolve": (lambda: fl.linalg.tensorsolve(np.ones((2, 2, 3)), np.ones(2)), RuntimeError, r"float64\[2\]"),
    "no key": (lambda: fl.svd_lowrank(np.eye(3)), TypeError, "fl.random.key"),
    "too low": (lambda: fl.pca_lowrank(np.eye(3), 4, key=fl.random.key(0)), ValueError, "q=4"),
    "counts": (lambda: fl.cov(np.ones((2, 3)), fweights=np.array([1, -1, 2])), RuntimeError, "fweights cannot be negative"),
    "one dimension": (lambda: fl.cov(np.ones((2, 2, 2))), RuntimeError, "two or fewer"),
    "cross": (lambda: fl.cross(np.ones((2, 2)), np.ones((2, 2))), RuntimeError, "no dimension of size 3"),
    "trace": (lambda: fl.trace(np.ones(2)), RuntimeError, "expected a matrix"),
    "addr": (lambda: fl.addr(np.ones((2, 2), int), np.ones(2, int), np.ones(2, int), beta=0.5), RuntimeError, "beta must not be"),
    "cdist": (lambda: fl.cdist(np.eye(2), np.eye(2), 2.0, "exactly"), ValueError, "compute_mode"),
}


@pytest.mark.parametrize("name", RAISING)
def test_bad_input(name):
    call, error, message = RAISING[name]
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("hermitian", [False, True])
def test_symmetric_systems_with_pivots_of_every_kind(hermitian):
    a = RNG.normal(size=(2, 17, 17)) + 1j * RNG.normal(size=(2, 17, 17))
    a = a + (np.conj(a) if hermitian else a).swapaxes(1, 2)
    a[:, range(17), range(17)] *= 0.1
    b = RNG.normal(size=(17, 2)) + 0j
    factors, pivots = fl.linalg.ldl_factor(a, hermitian=hermitian)
    assert (np.asarray(pivots) < 0).any() and (np.asarray(pivots) > 0).any()
    np.testing.assert_allclose(fl.linalg.ldl_solve(factors, pivots, b, hermitian=hermitian), np.linalg.solve(a, b[None]), atol=1e-9)


def test_an_orthogonal_factor_is_the_product_of_its_reflectors():
    a = RNG.normal(size=(2, 4, 3)) + 1j * RNG.normal(size=(2, 4, 3))
    packed, tau = fl.geqrf(a)
    q, r = fl.linalg.qr(a)
    np.testing.assert_allclose(fl.linalg.householder_product(packed, tau), q, atol=1e-12)
    np.testing.assert_allclose(fl.triu(packed)[:, :3], r, atol=1e-12)
    np.testing.assert_allclose(fl.ormqr(packed, tau, a, True, True), np.concatenate([r, np.zeros((2, 1, 3))], 1), atol=1e-12)


def test_least_squares_of_a_vector_has_the_drivers_results():
    a, b = RNG.normal(size=(2, 4, 3)), RNG.normal(size=(2, 4))
    shapes = {d: [x.shape for x in fl.linalg.lstsq(a, b[..., None], driver=d)[1:]] for d in (None, "gels", "gelsy", "gelsd", "gelss")}
    assert shapes[None] == shapes["gelsy"] == [(0,), (2,), (0,)]
    assert shapes["gels"] == [(2, 1), (0,), (0,)]
    assert shapes["gelsd"] == shapes["gelss"] == [(2, 1), (2,), (2, 3)]


def test_low_rank_factors_are_exact_where_the_rank_is_low():
    a = RNG.normal(size=(2, 9, 2)) @ RNG.normal(size=(2, 2, 5))
    for x in (a, a.swapaxes(1, 2)):
        u, s, v = fl.svd_lowrank(x, 3, key=fl.random.key(1))
        np.testing.assert_allclose((u * s[..., None, :]) @ v.mT, x, atol=1e-9)
        np.testing.assert_allclose(s[..., :2], np.linalg.svd(x, compute_uv=False)[..., :2], rtol=1e-9)
    u, s, v = fl.pca_lowrank(a[0], key=fl.random.key(2))
    assert (u.shape, s.shape, v.shape) == ((9, 5), (5,), (5, 5))
    np.testing.assert_allclose((u * s) @ v.mT, a[0] - a[0].mean(0), atol=1e-9)


def test_a_gradient_through_low_rank_factors():
    """The sum of the squares of all singular values is the sum of those of the elements, whatever was drawn."""
    a = RNG.normal(size=(5, 2)) @ RNG.normal(size=(2, 4))
    total = lambda x: (fl.svd_lowrank(x, 2, key=fl.random.key(3))[1] ** 2).sum()
    np.testing.assert_allclose(fl.grad(total)(a), 2 * a, atol=1e-9)


@pytest.mark.parametrize("dtype", [fl.float16, fl.bfloat16])
def test_products_of_half_width_are_rounded_once(dtype):
    a, b = (fl.asarray(RNG.normal(size=(4, 300))).to(dtype) for _ in range(2))
    wide = [x.to(fl.float64) for x in (a, b)]
    exact = (wide[0] * wide[1]).sum(1)
    tolerance = 1.1 * float(fl.finfo(dtype).eps)
    np.testing.assert_allclose(fl.linalg.vecdot(a, b).to(fl.float64), exact, rtol=tolerance, atol=tolerance)
    start, by = fl.ones(4, 4, dtype=dtype), wide[0] @ wide[1].mT
    np.testing.assert_allclose(fl.addmm(start, a, b.mT, beta=0, alpha=0.7).to(fl.float64), 0.7 * by, rtol=2 * tolerance, atol=tolerance)


def test_factors_are_cut_for_integers():
    m, v = np.ones((2, 2), int), np.ones(2, int)
    assert fl.addmv(v, m, v, beta=1.5, alpha=2.6).tolist() == [5, 5]
    assert fl.addr(m > 0, v > 0, v > 0).tolist() == [[True, True], [True, True]]


def test_tolerances_may_differ_by_matrix():
    a = np.stack([np.diag([1.0, 1e-3])] * 2)
    assert fl.linalg.matrix_rank(a, rtol=np.array([1e-2, 1e-4])).tolist() == [1, 2]
    assert fl.linalg.matrix_rank(a, atol=np.array([0.0, 1e-2])).tolist() == [2, 1]
    assert fl.linalg.pinv(a, rtol=np.array([1e-2, 1e-4]))[:, 1, 1].tolist() == [0.0, 1000.0]


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 3), (3, 0)])
def test_the_largest_of_no_values_is_zero(shape):
    x = np.zeros(shape)
    for order in ("fro", "nuc", np.inf, 1, 2):
        np.testing.assert_array_equal(fl.linalg.matrix_norm(x, order), np.zeros(shape[:-2]))
    np.testing.assert_array_equal(fl.linalg.cond(x), np.zeros(shape[:-2]))
    with pytest.raises(IndexError, match="not empty"):
        fl.linalg.matrix_norm(x, -2)

"""Samples of the refs of torch.linalg: factorizations, systems, inverses, determinants, norms and products.

Matrices are well-conditioned: their singular values and eigenvalues keep apart from one another and from zero. Differences of
what is a function of Hermitian matrices, or determined up to a phase, are taken beside the prims (see `linalg`).
"""

from __future__ import annotations

import numpy as np

from ...core.dtype import complex128, float64
from ...prims import linalg as prims
from ...refs import least_squares, linalg, norms, systems
from ..table import INEXACT, NUMBERS, Sample, array, row
from .linalg import DIFFERENCES, HERMITIAN, PHASE, SQUARES, _spread, general_matrices, hermitian_matrices, positive_matrices, with_statics

OBLONGS = ((2, 3), (3, 2), (2, 3, 3), (0, 2))
FULL = ((2, 3), (3, 2), (2, 3, 3))
INVERTIBLE = ((3, 3), (2, 3, 3), (0, 0))


def squares(rng, shape, dtype):
    """A well-conditioned matrix whose factorization swaps rows."""
    return np.roll(_spread(array(rng, shape, dtype, -1, 1)), 1, axis=-2)


def of(make, shapes, *choices, **statics):
    """Samples of an op of one matrix, with each choice of other arguments."""
    return lambda rng, dtype: [Sample(make(rng, s, dtype), *c, **statics) for c in choices or ((),) for s in shapes]


def spread(rng, shape, dtype):
    return _spread(array(rng, shape, dtype))


# ------------------------------------------------------------------------------------------------------- factorizations


def cholesky_inputs(rng, dtype):
    for upper in (False, True):
        for sample in list(positive_matrices(rng, dtype))[:3]:
            yield Sample(*sample.args, upper=upper)


for function in (linalg.cholesky, linalg.cholesky_ex):
    row(function, cholesky_inputs, INEXACT, tolerance=10, skip=dict.fromkeys(DIFFERENCES, HERMITIAN))
for function in (linalg.lu_factor, linalg.lu_factor_ex, linalg.lu):
    row(function, general_matrices(OBLONGS), INEXACT, tolerance=10)
    row(function, of(squares, INVERTIBLE[:2]), INEXACT, tolerance=10)
row(linalg.qr, of(spread, OBLONGS, ("reduced",), ("r",)), INEXACT, tolerance=10)
row(linalg.qr, of(spread, ((2, 3), (2, 3, 3)), ("complete",)), INEXACT, tolerance=10)
row(
    linalg.eigh,
    with_statics(hermitian_matrices, ("L",), ("U",)),
    (float64,),
    tolerance=10,
    skip=dict.fromkeys(DIFFERENCES, HERMITIAN) | {"value": PHASE},
)
row(
    linalg.eigvalsh,
    with_statics(hermitian_matrices, ("L",), ("U",)),
    INEXACT,
    tolerance=10,
    skip=dict.fromkeys(DIFFERENCES, HERMITIAN),
)
row(linalg.eig, general_matrices(SQUARES), (float64,), tolerance=10, skip=dict.fromkeys(("value", *DIFFERENCES), PHASE))
row(linalg.eigvals, general_matrices(SQUARES), INEXACT, tolerance=10)
row(linalg.svd, of(spread, OBLONGS, (False,)), (float64,), tolerance=10, skip={"value": PHASE})
row(linalg.svdvals, general_matrices(OBLONGS), INEXACT, tolerance=10)

# -------------------------------------------------------------------------------------------------------------- systems


def factor(rng, shape, dtype):
    """A triangular factor, with something in the half that is not read."""
    return _spread(array(rng, shape, dtype, -1, 1))


def cholesky_systems(rng, dtype):
    for upper in (False, True):
        for b, a in (((3, 2), (3, 3)), ((3, 1), (2, 3, 3)), ((2, 3, 2), (3, 3)), ((0, 2), (0, 0))):
            yield Sample(array(rng, b, dtype), factor(rng, a, dtype), upper)


row(linalg.cholesky_solve, cholesky_systems, INEXACT, tolerance=10)
row(linalg.cholesky_inverse, of(factor, INVERTIBLE, (False,), (True,)), INEXACT, tolerance=10)

RIGHT_SIDES = (((3, 3), (3, 2)), ((3, 3), (2, 3, 1)), ((2, 3, 3), (3, 1)), ((0, 0), (0, 2)))


def systems_of(make, *kinds):
    """Samples (A, B) for each kind of keywords; of X A = B where left is False."""

    def sampler(rng, dtype):
        for kind in kinds:
            for a, b in RIGHT_SIDES:
                b = b if kind.get("left", True) else (*b[:-2], b[-1], b[-2])
                yield Sample(make(rng, a, dtype), array(rng, b, dtype), **kind)

    return sampler


def vector_systems(rng, dtype):
    for a, b in (((3, 3), (3,)), ((2, 3, 3), (2, 3))):
        yield Sample(squares(rng, a, dtype), array(rng, b, dtype))


def plain_systems(rng, dtype):
    for a, b in (((3, 3), (3, 2)), ((2, 3, 3), (2, 3, 1)), ((0, 0), (0, 2))):
        yield Sample(squares(rng, a, dtype), array(rng, b, dtype))


def factored_systems(rng, dtype):
    for left, adjoint in ((True, False), (False, False), (True, True), (False, True)):
        for a, b in RIGHT_SIDES[:3]:
            packed, pivots, _ = prims.lu.op.reference(squares(rng, a, dtype))
            b = b if left else (*b[:-2], b[-1], b[-2])
            yield Sample(packed, pivots + np.int32(1), array(rng, b, dtype), left=left, adjoint=adjoint)


TRIANGLES = [{"upper": u, "left": left, "unitriangular": u is not left} for u in (False, True) for left in (True, False)]

row(systems.solve_square, plain_systems, INEXACT, tolerance=10)
row(systems.solve, systems_of(squares, {}, {"left": False}), INEXACT, tolerance=10)
row(systems.solve, vector_systems, INEXACT, tolerance=10)
row(systems.solve_triangular, systems_of(factor, *TRIANGLES), INEXACT, tolerance=10)
row(systems.lu_solve, factored_systems, INEXACT, tolerance=10)
for function in (systems.inv, systems.inv_ex, systems.inverse_square):
    row(function, of(squares, INVERTIBLE), INEXACT, tolerance=10)
row(systems.solve_ex, systems_of(squares, {}, {"left": False}), INEXACT, tolerance=10)
row(
    systems.tensorinv,
    lambda rng, dtype: [Sample(np.reshape(squares(rng, (4, 4), dtype), s), ind) for s, ind in (((2, 2, 4), 2), ((4, 2, 2), 1))],
    INEXACT,
    tolerance=10,
)


def tensor_systems(rng, dtype):
    for shape, b, dims in (((2, 2, 4), (2, 2), None), ((2, 4, 2), (4,), (0, 2)), ((4, 4), (4,), None)):
        yield Sample(np.reshape(squares(rng, (4, 4), dtype), shape), array(rng, b, dtype), dims)


row(systems.tensorsolve, tensor_systems, INEXACT, tolerance=10)


def rank_one(rng, shape, dtype):
    return array(rng, (*shape[:-1], 1), dtype, 1, 2) @ array(rng, (*shape[:-2], 1, shape[-1]), dtype, 1, 2)


def pseudoinverses(rng, dtype):
    for shape in OBLONGS:
        yield Sample(spread(rng, shape, dtype))
    for shape in ((2, 3), (3, 3)):  # a random direction changes the rank
        yield Sample(rank_one(rng, shape, dtype), differentiable=False)


def fits(rng, dtype):
    for driver in (None, "gels", "gelsy", "gelsd"):
        for a, b in (((3, 2), (3, 2)), ((2, 3), (2, 1)), ((2, 3, 2), (2, 3, 1)), ((2, 3, 3), (2, 3)), ((3, 2), (3,))):
            yield Sample(spread(rng, a, dtype), array(rng, b, dtype), driver=driver)


row(least_squares.pinv, pseudoinverses, INEXACT, tolerance=10)
row(least_squares.matrix_rank, general_matrices(OBLONGS), INEXACT)
row(least_squares.matrix_rank, of(rank_one, FULL), INEXACT)
row(least_squares.matrix_rank, hermitian_matrices, (float64, complex128))
row(least_squares.lstsq, fits, INEXACT, tolerance=10)

# --------------------------------------------------------------------------------------------------------- determinants


def determinants(rng, dtype):
    for shape in INVERTIBLE:
        yield Sample(squares(rng, shape, dtype))
    yield Sample(np.asarray(np.diag([1, 2, 0]), dtype.dtype), differentiable=False)


row(systems.det, determinants, INEXACT, tolerance=10)
row(systems.slogdet, determinants, INEXACT, tolerance=10)
row(systems.logdet, positive_matrices, INEXACT, tolerance=10)
row(systems.logdet, of(squares, INVERTIBLE), (complex128,), tolerance=10)

# ---------------------------------------------------------------------------------------------------------------- norms

ORDERS = (None, "fro", "nuc", np.inf, -np.inf, 1, -1, 2, -2)


def apart(rng, shape, dtype):
    """Elements of distinct sizes, none zero, whose rows and columns have distinct sums and singular values."""
    signs = np.where(rng.random(shape) < 0.5, -1, 1)
    x = signs * (1 + np.arange(np.prod(shape)).reshape(shape) ** 1.5 + rng.uniform(-0.1, 0.1, shape))
    return np.asarray(x * (1 + 0.5j) if dtype is complex128 else x, dtype.dtype)


def vector_norms(rng, dtype):
    for ord in (2, 1, 0, 3.5, np.inf, -np.inf):
        for shape, dim, keepdim in (((3,), None, False), ((2, 3), -1, True), ((2, 3), (0, 1), False)):
            yield Sample(apart(rng, shape, dtype), ord, dim, keepdim)


def matrix_norms(rng, dtype):
    for ord in ORDERS[1:]:
        for shape, dim, keepdim in (((2, 3), (-2, -1), False), ((2, 3, 3), (0, 2), True)):
            yield Sample(apart(rng, shape, dtype), ord, dim, keepdim)


def any_norms(rng, dtype):
    for ord, shape, dim, keepdim in (
        (None, (2, 3), None, False),
        (None, (2, 3), 0, True),
        (3, (3,), None, False),
        (1, (2, 3), -1, False),
        ("nuc", (2, 3), None, True),
        (np.inf, (2, 3, 3), (1, 2), False),
    ):
        yield Sample(apart(rng, shape, dtype), ord, dim, keepdim)


def directions(rng, dtype):
    for shape, p, dim in (((2, 3), 2.0, 1), ((2, 3), 1.0, 0), ((2, 3), 3.0, (0, 1)), ((3,), np.inf, -1)):
        yield Sample(apart(rng, shape, dtype), p, dim)
    yield Sample(np.zeros((2, 3), dtype.dtype), differentiable=False)


row(norms.vector_norm, vector_norms, INEXACT, tolerance=2)
row(norms.matrix_norm, matrix_norms, INEXACT, tolerance=10)
row(norms.norm, any_norms, INEXACT, tolerance=10)
row(norms.cond, of(squares, ((3, 3), (2, 3, 3)), *((p,) for p in ORDERS)), INEXACT, tolerance=10)
row(norms.cond, of(spread, ((2, 3),), (None,), (-2,)), INEXACT, tolerance=10)
row(norms.normalize, directions, INEXACT)

# ------------------------------------------------------------------------------------------------------------- products


def chains(rng, dtype):
    for shapes in (((2, 3), (3, 2)), ((2, 3), (3, 2), (2, 4)), ((3,), (3, 2), (2,)), ((2, 3), (3, 2), (2, 3), (3,))):
        yield Sample([array(rng, s, dtype) for s in shapes])


def crosses(rng, dtype):
    for a, b, dim in (((3,), (3,), -1), ((2, 3), (1, 3), 1), ((3, 2), (3, 2), 0), ((0, 3), (0, 3), -1)):
        yield Sample(array(rng, a, dtype), array(rng, b, dtype), dim=dim)


def inner_products(rng, dtype):
    for a, b, dim in (((3,), (3,), -1), ((2, 3), (3,), -1), ((2, 3), (2, 3), 0), ((0, 2), (0, 2), 0)):
        yield Sample(array(rng, a, dtype), array(rng, b, dtype), dim=dim)


row(
    norms.matrix_exp,
    lambda rng, dtype: [Sample(array(rng, s, dtype, -1, 1) * f) for s, f in (((3, 3), 1), ((2, 2, 2), 8), ((0, 0), 1))],
    INEXACT,
    tolerance=100,
)
row(norms.matrix_power, of(squares, INVERTIBLE[:2], (3,), (-2,), (1,), (0,)), INEXACT, tolerance=10)
row(norms.multi_dot, chains, INEXACT, tolerance=2)
row(norms.cross, crosses, NUMBERS)
row(norms.vecdot, inner_products, NUMBERS)

"""Matrices made of data: traces, covariances, blocks, powers of a vector, distances of rows, and norms that are bounded."""

from __future__ import annotations

import numpy as np

from ..core.array import Operable
from ..core.dtype import BOOL, INTEGER, int64
from ..core.op import Tensor, composite
from ..prims import algebra, checks, compare, create, elementwise, index, matrix, parts, reduce, shape
from .arguments import accumulator, require, require_arrays, require_floating, require_inexact, shown
from .compare import clamp
from .contract import outer
from .linalg import NAMESPACE
from .norms import cross as cross_along
from .order import cumprod, searchsorted
from .promotion import array_of, canonical_dim, float_of, result_type, to_dtype
from .reduce import norm

# ------------------------------------------------------------------------------------------------------------- trace


@composite(method=True, reference=lambda x: np.trace(x))
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal; of integers as int64.

    >>> import functorch_lite as fl
    >>> fl.trace(fl.asarray([[1, 2, 3], [4, 5, 6]])).item()
    6
    """
    x = array_of(input)
    require(x.ndim == 2, "trace", f"expected a matrix, got {shown(x)}")
    require(x.dtype.category != BOOL, "trace", f"is not implemented for bool, got {shown(x)}; convert with .to(dtype)", NotImplementedError)
    on = matrix.keep(to_dtype(x, int64) if x.dtype.category == INTEGER else x, compare.eq)
    return to_dtype(reduce.reduce_sum(to_dtype(on, accumulator(on.dtype)), (0, 1)), on.dtype)


# -------------------------------------------------------------------------------------------------------- covariance


def _weights_of(name, w, what: str, ok: bool, kind: str, n: int):
    """Weights of n observations, checked."""
    require_arrays(name, **{what: w})
    require(w.ndim <= 1, name, f"expected {what} to have one or fewer dimensions, got {shown(w)}")
    require(ok, name, f"expected {what} to have {kind} dtype, got {shown(w)}")
    require(w.aval.size == n, name, f"expected {what} to have the same numel as there are observations, {n}, got {shown(w)}")
    w = shape.reshape(w, (n,))
    return checks.expect(w, compare.ge(w, algebra.zeros(w.aval)), "RuntimeError", f"{name}: {what} cannot be negative")


def _cov_reference(x, *, correction=1, fweights=None, aweights=None):
    with np.errstate(all="ignore"):
        return np.asarray(np.cov(x, ddof=correction, fweights=fweights, aweights=aweights), np.result_type(x, np.float32))


@composite(method=True, reference=_cov_reference)
def cov(input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariances of the rows of input (variables), whose columns are observations: [n, n] for [n, k], 0-dim for one row.

    Sums are divided by k - correction. ``fweights`` (integers) count how often each observation was seen, ``aweights`` (floats) say
    how much each matters; neither may be negative. Integers become float32. RuntimeError for more than two dimensions.

    >>> import functorch_lite as fl
    >>> fl.cov(fl.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    name, x = "cov", float_of(input)
    require(x.ndim <= 2, name, f"expected input to have two or fewer dimensions, got {shown(x)}")
    rows = x if x.ndim == 2 else shape.reshape(x, (1, x.aval.size))
    n, dtype = rows.shape[1], x.dtype.to_real() if aweights is None else aweights.dtype  # in which weights are added up
    weights, total, scale = None, create.full((), n, dtype), None
    if fweights is not None:
        weights = to_dtype(_weights_of(name, fweights, "fweights", fweights.dtype.category == INTEGER, "integral", n), dtype)
    if aweights is not None:
        scale = _weights_of(name, aweights, "aweights", aweights.dtype.is_floating_point, "floating point", n)
        weights = scale if weights is None else elementwise.mul(weights, scale)
    weighted = rows
    if weights is not None:
        total = reduce.reduce_sum(weights, (0,))
        weighted = elementwise.mul(rows, matrix.along_rows(weights, rows))
    mean = elementwise.div(reduce.reduce_sum(weighted, (1,)), _spread(total, rows, (rows.shape[0],)))
    off = elementwise.sub(rows, matrix.along_columns(mean, rows))
    left = off if weights is None else elementwise.mul(off, matrix.along_rows(weights, off))
    free = create.full((), correction, dtype)
    if scale is not None and correction:
        free = elementwise.mul(free, elementwise.div(reduce.reduce_sum(elementwise.mul(weights, scale), (0,)), total))
    count = compare.maximum(elementwise.sub(total, free), algebra.zeros(total.aval))
    products = matrix.matmul(left, matrix.adjoint(off))
    out = elementwise.div(products, _spread(count, products, products.shape))
    return shape.reshape(out, ()) if rows.shape[0] == 1 else out


def _spread(number, like, target):
    return shape.broadcast(to_dtype(number, like.dtype), target, ())


def _corrcoef_reference(x):
    with np.errstate(all="ignore"):
        return np.asarray(np.corrcoef(x), np.result_type(x, np.float32))


@composite(method=True, reference=_corrcoef_reference)
def corrcoef(input: Tensor) -> Tensor:
    """Pearson's correlation coefficients of the rows of input: `cov` over the products of standard deviations, clipped to [-1, 1].

    >>> import functorch_lite as fl
    >>> fl.corrcoef(fl.asarray([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    c = cov(input)
    if c.ndim == 0:
        return elementwise.div(c, c)
    deviations = elementwise.sqrt(matrix.real_of(matrix.diagonal(c)))
    c = elementwise.div(elementwise.div(c, matrix.along_columns(deviations, c)), matrix.along_rows(deviations, c))
    if c.dtype.is_complex:
        return parts.complex(clamp(parts.real(c), -1, 1), clamp(parts.imag(c), -1, 1))
    return clamp(c, -1, 1)


# ------------------------------------------------------------------------------------------------------------- blocks


def _block_diag_reference(*xs):
    from scipy.linalg import block_diag

    return block_diag(*xs) if xs else np.empty((1, 0), np.float32)


@composite(reference=_block_diag_reference)
def block_diag(*tensors: Tensor) -> Tensor:
    """The matrix with these matrices on its diagonal, in the dtype to which they promote; a vector is a row, a number 1 by 1.

    >>> import functorch_lite as fl
    >>> fl.block_diag(fl.asarray([[1], [2]]), fl.asarray([3, 4])).tolist()
    [[1, 0, 0], [2, 0, 0], [0, 3, 4]]
    """
    if not tensors:
        return create.full((1, 0), 0, float_of(0).dtype)
    xs, dtype = [array_of(x) for x in tensors], result_type(*tensors)
    for i, x in enumerate(xs):
        require(x.ndim <= 2, "block_diag", f"expected arrays of at most 2 dimensions, got {shown(x)} at position {i}")
    blocks = [to_dtype(shape.reshape(x, (*(1,) * (2 - x.ndim), *x.shape)), dtype) for x in xs]
    columns, before, rows = sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        n = x.shape[1]
        rows.append(shape.pad(x, create.full((), 0, dtype), (0, before), (0, columns - before - n), (0, 0)))
        before += n
    return shape.concatenate(rows, 0)


# ------------------------------------------------------------------------------------------------------------- powers


def _powers(x, n: int):
    """[..., n] of x ** 0, x ** 1, ..., as products: so that derivatives at 0 are right and integers exact."""
    x = to_dtype(x, int64) if x.dtype.category in (BOOL, INTEGER) else x
    if n == 0:
        return create.full((*x.shape, 0), 0, x.dtype)
    one = create.full((*x.shape, 1), 1, x.dtype)
    return one if n == 1 else shape.concatenate([one, cumprod(algebra.expand(x, n - 1, x.ndim), -1)], x.ndim)


@composite(namespace=NAMESPACE, name="vander", reference=lambda x, *, N=None: np.stack([x**k for k in range(N or x.shape[-1])], -1))
def vander_rows(x: Tensor, *, N: int | None = None) -> Tensor:
    """Vandermonde matrices [..., n, N] of x [..., n]: each element to the powers 0, 1, ..., N - 1 (N = n unless given, and at least 2).

    >>> import functorch_lite as fl
    >>> fl.linalg.vander(fl.asarray([2, 3]), N=3).tolist()
    [[1, 2, 4], [1, 3, 9]]
    """
    x = array_of(x)
    require(N is None or N > 1, "vander", f"N must be greater than 1, got {N}")
    x = x if x.ndim else shape.reshape(x, (1,))
    return _powers(x, x.shape[-1] if N is None else N)


@composite(reference=lambda x, N=None, increasing=False: np.vander(x, N, increasing))
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The Vandermonde matrix [n, N] of a vector: its elements to the powers N - 1, ..., 1, 0, or rising if ``increasing``.

    >>> import functorch_lite as fl
    >>> fl.vander(fl.asarray([2, 3]), 3).tolist()
    [[4, 2, 1], [9, 3, 1]]
    """
    x = array_of(x)
    require(x.ndim == 1, "vander", f"x must be a one-dimensional array, got {shown(x)}")
    require(N is None or N >= 0, "vander", f"N must be non-negative, got {N}")
    out = _powers(x, x.aval.size if N is None else N)
    return out if increasing else shape.flip(out, (1,))


# ------------------------------------------------------------------------------------------------------------ products


def _cross_reference(a, b, dim=None):
    return np.cross(a, b, axis=a.shape.index(3) if dim is None else dim)


@composite(method=True, reference=_cross_reference)
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross product along dim, of size 3: without dim, the first of that size (see `linalg.cross`, which takes the last).

    >>> import functorch_lite as fl
    >>> fl.cross(fl.asarray([1.0, 0.0, 0.0]), fl.asarray([0.0, 1.0, 0.0])).tolist()
    [0.0, 0.0, 1.0]
    """
    if dim is None:
        require_arrays("cross", input=input, other=other)
        dim = next((d for d, (n, m) in enumerate(zip(input.shape, other.shape)) if n == m == 3), None)
        require(dim is not None, "cross", f"no dimension of size 3 in input, got {shown(input, other)}")
    return cross_along(input, other, dim=dim)


ger = Operable.ger = outer

# ---------------------------------------------------------------------------------------------------- distances, norms


def _pdist_reference(x, p=2.0):
    rows, columns = np.triu_indices(len(x), 1)
    return norm.op.reference(x[rows] - x[columns], p, 1)


def _pairs(n: int):
    """The row and the column (int64) of each element above the diagonal of an n by n matrix, row by row."""
    i = create.iota((max(n, 1),), 0, int64)
    # before row i stand i (2n - i - 1) / 2 elements
    before = elementwise.trunc_div(elementwise.mul(i, elementwise.sub(algebra.full_like(i, 2 * n - 1), i)), algebra.full_like(i, 2))
    k = create.iota((n * (n - 1) // 2,), 0, int64)
    one = algebra.one_like(k)
    row = elementwise.sub(searchsorted(before, k, right=True), one)
    row = compare.minimum(row, algebra.full_like(k, max(n - 2, 0)))  # the last row has none
    return row, algebra.total([elementwise.sub(k, index.gather(before, [row], (0,), (0,), mode="inside")), row, one])


@composite(reference=_pdist_reference)
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norms of the differences of every two rows of input [n, d], in the order of the upper triangle: [n (n - 1) / 2].

    The derivative where rows coincide is 0.

    >>> import functorch_lite as fl
    >>> fl.pdist(fl.asarray([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])).tolist()[:2]
    [5.0, 1.0]
    """
    name = "pdist"
    require_arrays(name, input=input)
    require(input.ndim == 2, name, f"expected a matrix, got {shown(input)}")
    require_floating(name, input)
    require(p >= 0, name, f"p must not be negative, got {p}")
    rows, columns = (index.gather(input, [i], (0,), (0,), at=0, mode="inside") for i in _pairs(input.shape[0]))
    return norm(elementwise.sub(rows, columns), p, -1)


def _renorm_reference(x, p, dim, maxnorm):
    size = norm.op.reference(x, p, tuple(d for d in range(x.ndim) if d != dim % x.ndim), True)
    return x * np.where(size > maxnorm, maxnorm / (size + 1e-7), 1)


@composite(method=True, reference=_renorm_reference)
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """input with each of its slices along dim whose p-norm is above maxnorm scaled down to it.

    >>> import functorch_lite as fl
    >>> fl.renorm(fl.asarray([[3.0, 4.0], [0.6, 0.8]]), 2, 0, 1.0).tolist()
    [[0.6..., 0.8...], [0.6..., 0.8...]]
    """
    name, x = "renorm", array_of(input)
    require(x.ndim >= 2, name, f"input needs at least 2 dimensions, got {x.ndim} dimensions: {shown(x)}")
    require_inexact(name, x)
    require(p > 0, name, f"p must be positive, got {p}")
    require(maxnorm >= 0, name, f"expected maxnorm to be >= 0 but got {maxnorm}")
    dim = canonical_dim(name, dim, x.ndim)
    others = tuple([d for d in range(x.ndim) if d != dim])
    size = norm(to_dtype(x, accumulator(x.dtype)), p, others)
    bound, one = algebra.full_like(size, maxnorm), algebra.one_like(size)
    above = compare.gt(size, bound)
    shrink = elementwise.div(bound, compare.select(above, elementwise.add(size, algebra.full_like(size, 1e-7)), one))
    factor = compare.select(above, shrink, one)
    return elementwise.mul(x, reduce.spread(to_dtype(factor, x.dtype), x, others))


__all__ = "block_diag corrcoef cov cross ger pdist renorm trace vander".split()

"""Factorizations of low rank, by random projection (Halko, Martinsson, Tropp: Finding structure with randomness, 2009; algorithms
4.4 and 5.1)."""

from __future__ import annotations

from ..core.op import Tensor, composite
from ..prims import elementwise, linalg, matrix, reduce, spectral
from .arguments import require, require_arrays, shown
from .promotion import broadcast_shapes, expand_to
from .random import normal

# PyTorch's face has a generator, which gives the key where a call has none
_DRAWN = {"key": "key", "drawing": lambda *params: True}


def _range(x, q: int, niter: int, key):
    """An orthonormal basis [..., m, q] of most of the range of x [..., m, n]: that of x times a random matrix, refined by `niter` steps
    of subspace iteration."""
    probes = normal(key, (x.shape[-1], q), x.dtype)
    probes = expand_to(probes, (*x.shape[:-2], *probes.shape[-2:]))
    basis = lambda y: linalg.qr(y, False)[0]
    found = basis(matrix.matmul(x, probes))
    for _ in range(niter):
        found = basis(matrix.matmul(x, basis(matrix.matmul(matrix.adjoint(x), found))))
    return found


def _svd(name, x, q, niter, key):
    require(key is not None, name, "needs key=, a key from fl.random.key", TypeError)
    m, n = x.shape[-2:]
    if m < n:  # so that the smaller side is projected to
        v, s, u = _svd(name, matrix.adjoint(x), q, niter, key)
        return u, s, v
    found = _range(x, q, niter, key)
    u, s, vh = spectral.svd(matrix.matmul(matrix.adjoint(found), x), False, True)
    return matrix.matmul(found, u), s, matrix.adjoint(vh)


@composite(multi=True, traits=_DRAWN)
def svd_lowrank(A: Tensor, q: int = 6, niter: int = 2, M: Tensor | None = None, *, key: Tensor | None = None) -> tuple:
    """The q largest singular values of A [..., m, n] (of A - M, if M is given) and their vectors, nearly: (U [..., m, q], S, V [..., n, q]).

    Exact where A's rank is at most q; else the error falls with niter. The draw is a function of key (from fl.random.key; TypeError
    without one). q may be larger than min(m, n), which is then as many as there are.

    >>> import functorch_lite as fl
    >>> U, S, V = fl.svd_lowrank(fl.ones(3, 2), 1, key=fl.random.key(0))
    >>> U.shape, (S**2).round(decimals=4).tolist()
    ((3, 1), [6.0])
    """
    name = "svd_lowrank"
    require_arrays(name, A=A, M=M)
    linalg.require_matrices(name, A.aval)
    if M is not None:
        A = elementwise.sub(*[expand_to(x, broadcast_shapes(A.shape, M.shape)) for x in (A, M)])
    return _svd(name, A, min(q, *A.shape[-2:]), niter, key)


@composite(multi=True, traits=_DRAWN)
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2, *, key: Tensor | None = None) -> tuple:
    """Principal components of the rows of A [..., m, n]: `svd_lowrank` (q is min(6, m, n) unless given) of A less its column means, if
    ``center``. V's columns are the principal directions, S ** 2 / (m - 1) their variances.

    >>> import functorch_lite as fl
    >>> U, S, V = fl.pca_lowrank(fl.asarray([[1.0, 0.0], [3.0, 0.0]]), 1, key=fl.random.key(0))
    >>> (S**2).round(decimals=4).tolist()
    [2.0]
    """
    name = "pca_lowrank"
    require_arrays(name, A=A)
    linalg.require_matrices(name, A.aval)
    least = min(A.shape[-2:])
    q = min(6, least) if q is None else q
    require(0 <= q <= least, name, f"q must be from 0 to min(m, n) = {least}, got q={q} and {shown(A)}", ValueError)
    require(niter >= 0, name, f"niter must not be negative, got {niter}", ValueError)
    if center:
        rows = A.ndim - 2
        mean = elementwise.scaled(reduce.reduce_sum(A, (rows,)), 1 / max(A.shape[-2], 1))
        A = elementwise.sub(A, reduce.spread(mean, A, (rows,)))
    return _svd(name, A, q, niter, key)


__all__ = ["pca_lowrank", "svd_lowrank"]

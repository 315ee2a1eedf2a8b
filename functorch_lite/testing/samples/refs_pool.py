"""Samples of pooling of other kinds: maxima with indices, put back, at random places, norms of windows."""

from __future__ import annotations

import numpy as np

from ...refs import adaptive, unpool
from ..table import Sample, array, row
from .refs_conv import distinct, sizes


def adaptive_sizes(n: int):
    def sampler(rng, dtype):
        for size in (2, (None,) * (n - 1) + (1,), 3, (1,) * n):
            yield Sample(distinct(rng, (1, 2, *sizes(n)), dtype), size)
        yield Sample(distinct(rng, (2, *sizes(n)), dtype), 2)
        x = np.asarray(rng.integers(0, 2, (1, 2, *sizes(n))), dtype.dtype)
        yield Sample(x, 2, differentiable=False)  # ties: the first counts

    return sampler


for n in (1, 2, 3):
    row(getattr(adaptive, f"adaptive_max_pool{n}d_with_indices"), adaptive_sizes(n))


def unpools(rng, dtype):
    for lead, inner, outer in (((2, 2), (3,), (7,)), ((1, 2), (2, 2), (4, 5)), ((2,), (2, 1, 2), (4, 3, 4))):
        n = int(np.prod(outer))
        count = int(np.prod(inner))
        rows = [rng.permutation(n)[:count] for _ in range(int(np.prod(lead)))]
        yield Sample(array(rng, (*lead, *inner), dtype), np.reshape(rows, (*lead, *inner)), outer)


row(unpool._max_unpool, unpools)


def fractions(rng, dtype):
    for shape, kernel, out in (((1, 2, 6, 5), (2, 2), (3, 2)), ((2, 6, 6), (3, 2), (1, 3)), ((1, 1, 5, 4, 4), (2, 2, 1), (2, 2, 3))):
        n = len(kernel)
        lead = shape[:2] if len(shape) == n + 2 else (1, shape[0])
        yield Sample(distinct(rng, shape, dtype), array(rng, (*lead, n), dtype, 0, 1), kernel, out, held=(1,))


row(unpool._fractional, fractions)


def drawn_fractions(rng, dtype):
    key = rng.integers(0, 2**32, 2, np.uint32)
    return [Sample(array(rng, (2, 3, 4, 4), dtype), 2, key=key), Sample(array(rng, (3, 4, 4, 4), dtype), 3, key=key)]


row(unpool.pooling_fractions, drawn_fractions, skip={"value": "a draw has no reference: tests/refs/test_nn.py tests its distribution"})


def norm_pools(n: int):
    def sampler(rng, dtype):
        x = array(rng, (1, 2, *sizes(n)), dtype, 0.5, 2)
        return [Sample(x, 2.0, 2), Sample(x, 3.0, 2, 3, True), Sample(x[0], 1.5, (1,) * (n - 1) + (3,), 1)]

    return sampler


for n in (1, 2, 3):
    row(getattr(unpool, f"lp_pool{n}d"), norm_pools(n), tolerance=4)

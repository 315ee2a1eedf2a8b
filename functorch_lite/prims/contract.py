"""Contractions: dot_general."""

from __future__ import annotations

import numpy as np

from ..core.aval import aval
from . import products, shape
from .families import NUMERIC, bilinear, require, require_category
from .parts import conj_of


def _free(x, *taken):
    used = {d for dims in taken for d in dims}
    return [d for d in range(x.ndim) if d not in used]


def _dot_meta(x, y, contract, batch):
    require_category("dot_general", [x, y], NUMERIC)
    (cx, cy), (bx, by) = contract, batch
    require(x.dtype is y.dtype, "dot_general", f"expected one dtype, got {x} and {y}; convert one with .to(dtype)", RuntimeError)
    for a, dims in ((x, (*cx, *bx)), (y, (*cy, *by))):
        ok = len(set(dims)) == len(dims) and all(0 <= d < a.ndim for d in dims)
        require(ok, "dot_general", f"contract={contract} and batch={batch} must name distinct dimensions, got {a} for {dims}", IndexError)
    ok = len(cx) == len(cy) and len(bx) == len(by)
    ok = ok and all(x.shape[i] == y.shape[j] for i, j in zip((*cx, *bx), (*cy, *by)))
    require(ok, "dot_general", f"sizes along contract={contract} and batch={batch} must be equal, got {x} and {y}", RuntimeError)
    sizes = [x.shape[d] for d in bx] + [x.shape[d] for d in _free(x, cx, bx)] + [y.shape[d] for d in _free(y, cy, by)]
    return aval(tuple(sizes), x.dtype)


def _dot_left(ct, x, y, contract, batch):
    (cx, cy), (bx, by) = contract, batch
    free_y = range(ct.ndim - len(_free(y, cy, by)), ct.ndim)
    return _dot_back(ct, tuple(free_y), y, cy, by, x, cx, bx)


def _dot_right(ct, x, y, contract, batch):
    (cx, cy), (bx, by) = contract, batch
    free_x = range(len(bx), len(bx) + len(_free(x, cx, bx)))
    return _dot_back(ct, tuple(free_x), x, cx, bx, y, cy, by)


def _dot_back(ct, at, other, c_other, b_other, mine, c_mine, b_mine):
    """The cotangent of one operand ("mine"): ct, where the free dimensions of the other are those `at`, contracted with the other along them.

    That leaves mine's dimensions in one of two orders, by which operand comes first: that is chosen so that none need to move.
    """
    free = _free(mine, c_mine, b_mine)
    contracted = [c_mine[c_other.index(d)] for d in sorted(c_other)]
    ct_first, ct_last = [*b_mine, *free, *contracted], [*b_mine, *contracted, *free]
    sums, rows = (at, tuple(_free(other, c_other, b_other))), (tuple(range(len(b_mine))), b_other)
    if ct_last == sorted(ct_last) and ct_first != ct_last:
        return dot_general(conj_of(other), ct, sums[::-1], rows[::-1])
    out = dot_general(ct, conj_of(other), sums, rows)
    return out if ct_first == sorted(ct_first) else shape.permute(out, shape.inverse(ct_first))


def _dot_batch(size, args, dims, contract, batch):
    (x, y), (dx, dy) = args, dims
    (cx, cy), (bx, by) = contract, batch

    def shifted(ds, d):
        return ds if d is None else tuple([i + (i >= d) for i in ds])

    new_contract = shifted(cx, dx), shifted(cy, dy)
    bx, by = shifted(bx, dx), shifted(by, dy)
    if dx is not None and dy is not None:
        return dot_general(x, y, new_contract, ((dx, *bx), (dy, *by))), 0
    out = dot_general(x, y, new_contract, (bx, by))  # the batch dimension is a free one
    if dx is not None:
        return out, len(bx) + _free(x, new_contract[0], bx).index(dx)
    return out, len(bx) + len(_free(x, new_contract[0], bx)) + _free(y, new_contract[1], by).index(dy)


def _dot_reference(x, y, contract, batch):
    (cx, cy), (bx, by) = contract, batch
    of_x = list(range(x.ndim))
    of_y = [x.ndim + d for d in range(y.ndim)]
    for i, j in zip((*cx, *bx), (*cy, *by)):
        of_y[j] = i
    shared = {*cx, *bx}
    return np.einsum(x, of_x, y, of_y, [*bx, *[n for n in of_x if n not in shared], *[n for n in of_y if n not in shared]])


dot_general = bilinear(
    "dot_general",
    "x: Tensor, y: Tensor, contract: Pairs, batch: Pairs",
    impl=products.dot_general,
    meta=_dot_meta,
    left=_dot_left,
    right=_dot_right,
    batch=_dot_batch,
    reference=_dot_reference,
    doc="Sums products along contract=(dims of x, dims of y); batch dimensions come first in the result, then x's free ones, then y's.",
)

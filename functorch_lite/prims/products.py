"""Matrix products in the form in which XLA is fast on a CPU.

XLA hands a product of two matrices to Eigen, which packs fast what stands as [rows, k] @ [k, columns]. Measured against that, on one
core, float32, sides of 128 to 1,024:

    left operand turned, [k, rows]: a weight's gradient      1.05 to 1.6, worse the fewer columns there are
    right operand turned, [columns, k]: `x @ w.T`            1.0 to 1.2; 1.7 to 4.5 with 256 rows or fewer
    both                                                     1.1 to 3.3

To move a matrix costs as much as 50 multiplications an element, so operands are moved, whichever are fewer elements: those of the product
or those of its mirror image, whose result is then moved. Barriers keep XLA from folding the moves into the product again.
"""

from __future__ import annotations

import math

import numpy as np
from jax import lax

from . import target

_TYPES = (np.float32, np.float64)
_WORK = 1 << 19  # multiplications: below, the library's own overhead is all there is


def dot_general(x, y, contract, batch):
    """lax.dot_general, on a CPU by way of the form that is fast there."""
    if target.platform() == "cpu" and x.dtype in _TYPES:
        (cx, cy), (bx, by) = contract, batch
        free = [n for a, dims in ((x, (*cx, *bx)), (y, (*cy, *by))) for d, n in enumerate(a.shape) if d not in dims]
        if math.prod(free) * math.prod(x.shape[d] for d in cx) >= _WORK:
            left, right = _matrix(x, cx, bx, True), _matrix(y, cy, by, False)
            if left and right:
                rows = [x.shape[d] for d in bx]
                return lax.reshape((_products if rows else _product)(*left, *right), (*rows, *free))
    return lax.dot_general(x, y, (contract, batch))


def _matrix(x, dims, batch, left: bool):
    """(x as a matrix or a batch of them, whether they stand turned); None if batches do not come first.

    Summed dimensions that are in the midst of others are put first: so they lie in a value that a batched rule has moved, and XLA cancels both.
    """
    b, k, n = len(batch), len(dims), x.ndim
    size = math.prod(x.shape[d] for d in dims)
    lead = () if b == 0 else (math.prod(x.shape[:b]),)
    other = x.size // math.prod((size, *lead))
    if tuple(batch) != tuple(range(b)):
        return None
    if tuple(dims) == tuple(range(n - k, n)):
        return lax.reshape(x, (*lead, other, size)), not left
    free = [d for d in range(b, n) if d not in dims]
    return lax.reshape(lax.transpose(x, (*batch, *dims, *free)), (*lead, size, other)), left


def _product(x, x_turned: bool, y, y_turned: bool):
    """[rows, k] @ [k, columns], each given as it is or turned."""
    sizes = x.size, y.size
    here = sum(n for n, turned in zip(sizes, (x_turned, y_turned)) if turned)
    mirrored = sum(n for n, turned in zip(sizes, (x_turned, y_turned)) if not turned) + x.shape[x_turned] * y.shape[not y_turned]
    if here <= mirrored:
        return _plain(_turned(x) if x_turned else x, _turned(y) if y_turned else y)
    return _turned(_plain(y if y_turned else _turned(y), x if x_turned else _turned(x)))


def _products(x, x_turned: bool, y, y_turned: bool):
    """Of batches. Only a left operand that stands turned costs, if it has more rows than the other columns: then the mirror image of the
    product takes less than half as long (128 rows, 32 columns: 1.7 against 3.7)."""
    if x_turned and not y_turned and x.shape[2] > y.shape[2]:
        return lax.transpose(lax.optimization_barrier(lax.dot_general(y, x, (((1,), (1,)), ((0,), (0,))))), (0, 2, 1))
    return lax.dot_general(x, y, (((2 - x_turned,), (1 + y_turned,)), ((0,), (0,))))


def _plain(x, y):
    return lax.optimization_barrier(lax.dot_general(x, y, (((1,), (0,)), ((), ()))))


def _turned(x):
    return lax.optimization_barrier(lax.transpose(x, (1, 0)))

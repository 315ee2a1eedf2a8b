"""Bit operations. On bools they are the logical operations."""

from __future__ import annotations

import numpy as np
from jax import lax

from .families import BITS, INTEGERS, pointwise


def _unsigned(x):
    return x.view(f"u{x.itemsize}")


def _width(x):
    return 8 * x.itemsize


def _shift_reference(shift, overflow):
    """NumPy leaves shifts by the width or more (and by negative numbers, which count as such) undefined: `overflow(x)`."""

    def reference(x, y):
        ok = (y >= 0) & (y < _width(x))
        return np.where(ok, shift(x, np.where(ok, y, 0)).astype(x.dtype), overflow(x)).astype(x.dtype)

    return reference


def _popcount_reference(x):
    return np.bitwise_count(_unsigned(x)).astype(x.dtype)


def _clz_reference(x):
    return np.array([_width(x) - int(n).bit_length() for n in _unsigned(x).flat]).reshape(x.shape).astype(x.dtype)


def _bitwise(name, arity, impl, reference, doc, categories=INTEGERS):
    return pointwise(name, arity, impl, categories, out=None, reference=reference, doc=doc)


bitwise_and = _bitwise("bitwise_and", 2, lax.bitwise_and, np.bitwise_and, "Each bit of both x and y.", BITS)
bitwise_or = _bitwise("bitwise_or", 2, lax.bitwise_or, np.bitwise_or, "Each bit of x or y.", BITS)
bitwise_xor = _bitwise("bitwise_xor", 2, lax.bitwise_xor, np.bitwise_xor, "Each bit of either x or y alone.", BITS)
bitwise_not = _bitwise("bitwise_not", 1, lax.bitwise_not, np.bitwise_not, "Each bit that x has not.", BITS)

shift_left = _bitwise(
    "shift_left",
    2,
    lax.shift_left,
    _shift_reference(np.left_shift, np.zeros_like),
    "The bits of x moved up by y; 0 if that is all of them.",
)
shift_right_arithmetic = _bitwise(
    "shift_right_arithmetic",
    2,
    lax.shift_right_arithmetic,
    _shift_reference(np.right_shift, lambda x: np.where(x < 0, -1, 0).astype(x.dtype)),
    "The bits of x moved down by y; copies of the sign come in.",
)
shift_right_logical = _bitwise(
    "shift_right_logical",
    2,
    lax.shift_right_logical,
    _shift_reference(lambda x, y: np.right_shift(_unsigned(x), _unsigned(y)), np.zeros_like),
    "The bits of x moved down by y; zeros come in.",
)
population_count = _bitwise("population_count", 1, lax.population_count, _popcount_reference, "How many bits of x are set.")
clz = _bitwise("clz", 1, lax.clz, _clz_reference, "How many leading bits of x are 0.")

"""Random bits by counting: threefry2x32, 20 rounds (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3, SC 2011).

A key is a uint32 array [..., 2]. The cipher scrambles a 64-bit counter under the key into 64 random bits, so every draw is
a pure function of its key, and leading dimensions of keys are simply rows. Draws and `fold_in` count in separate ranges:
what is drawn from a key tells nothing of the keys that are derived from it.
"""

from __future__ import annotations

import math

import numpy as np
from jax import lax

from ..core.aval import aval
from ..core.dtype import INTEGER, uint8, uint16, uint32, uint64
from . import algebra, create
from .families import require, rows_batch, zero

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_DRAWS = 0x8E3C5A17  # the upper counter word of draws, which `fold_in` uses only for data of 2**63 and more
_DTYPES = {8: uint8, 16: uint16, 32: uint32, 64: uint64}


def threefry2x32(key0, key1, x0, x1):
    """The cipher on uint32 jax values of one shape."""

    def word(n):
        return lax.full_like(x0, np.uint32(n))

    keys = key0, key1, lax.bitwise_xor(lax.bitwise_xor(key0, key1), word(_PARITY))
    x0, x1 = lax.add(x0, key0), lax.add(x1, key1)
    for i in range(5):
        for r in _ROTATIONS[i % 2]:
            x0 = lax.add(x0, x1)
            rotated = lax.bitwise_or(lax.shift_left(x1, word(r)), lax.shift_right_logical(x1, word(32 - r)))
            x1 = lax.bitwise_xor(x0, rotated)
        x0 = lax.add(x0, keys[(i + 1) % 3])
        x1 = lax.add(lax.add(x1, keys[(i + 2) % 3]), word(i + 1))
    return x0, x1


def _check_key(name, key):
    ok = key.dtype is uint32 and key.ndim >= 1 and key.shape[-1] == 2
    require(ok, name, f"expected a key (uint32[2], from fl.random.key) or rows of keys, got {key}", TypeError)


def _words(key, counts: tuple[int, ...]):
    """The two words of the keys [..., 2], each repeated along new dimensions of these sizes."""
    lead = key.shape[:-1]
    halves = [lax.reshape(lax.slice_in_dim(key, i, i + 1, axis=-1), lead) for i in (0, 1)]
    return [lax.broadcast_in_dim(h, (*lead, *counts), tuple(range(len(lead)))) for h in halves]


# ------------------------------------------------------------------------------------------------------- random bits


def _bits_meta(key, shape, bits):
    _check_key("random_bits", key)
    require(bits in _DTYPES, "random_bits", f"bits must be 8, 16, 32 or 64, got {bits}")
    require(all(n >= 0 for n in shape), "random_bits", f"sizes must not be negative, got shape={shape}")
    ok = math.prod(shape) * bits <= 1 << 38
    require(
        ok,
        "random_bits",
        f"one key gives at most 2**32 blocks of 64 bits, got shape={shape} of {bits} bits: split the key and draw in parts",
    )
    return aval((*key.shape[:-1], *shape), _DTYPES[bits])


def _bits(key, shape, bits):
    """Block i of 64 bits is the cipher of i; all first words come before all second ones, a word's low bits before its high ones."""
    lead, n = key.shape[:-1], math.prod(shape)
    blocks = -(-n * bits // 64)
    key0, key1 = _words(key, (blocks,))
    low = lax.broadcasted_iota(np.uint32, (*lead, blocks), len(lead))
    x0, x1 = threefry2x32(key0, key1, lax.full_like(low, np.uint32(_DRAWS)), low)
    if bits == 64:
        high, low = (lax.convert_element_type(x, np.uint64) for x in (x0, x1))
        out = lax.bitwise_or(lax.shift_left(high, lax.full_like(high, np.uint64(32))), low)
    else:
        out = lax.concatenate([x0, x1], len(lead))
        if bits < 32:
            out = lax.bitcast_convert_type(out, _DTYPES[bits].dtype)
            out = lax.reshape(out, (*lead, 64 // bits * blocks))
        out = lax.slice_in_dim(out, 0, n, axis=len(lead))
    return lax.reshape(out, (*lead, *shape))


random_bits = zero(
    "random_bits",
    "key: Tensor, shape: Shape, bits: int",
    impl=_bits,
    meta=_bits_meta,
    batch=rows_batch(lambda: random_bits),
    draws=0,
    traits={"split": lambda key, size: split_rows(key, size)},
    doc="Uniformly random unsigned integers [*rows of keys, *shape] of 8, 16, 32 or 64 bits.",
)


# ------------------------------------------------------------------------------------------------------ derived keys


def _fold_meta(key, data):
    _check_key("fold_in", key)
    require(data.dtype.category == INTEGER, "fold_in", f"data must be an integer, got {data}", TypeError)
    ok = data.shape == key.shape[:-1]
    require(ok, "fold_in", f"expected one integer a key, got data {data} for keys {key}")
    return key


def _fold(key, data):
    wide = lax.convert_element_type(data, np.uint64)
    high = lax.convert_element_type(lax.shift_right_logical(wide, lax.full_like(wide, np.uint64(32))), np.uint32)
    outs = threefry2x32(*_words(key, ()), high, lax.convert_element_type(wide, np.uint32))
    return lax.concatenate([lax.reshape(x, (*x.shape, 1)) for x in outs], data.ndim)


def _fold_batch(size, args, dims):
    (key, data), (dk, dd) = args, dims
    return fold_in(algebra.front(size, key, dk), algebra.front(size, data, dd)), 0


fold_in = zero(
    "fold_in",
    "key: Tensor, data: Tensor",
    impl=_fold,
    meta=_fold_meta,
    batch=_fold_batch,
    doc="The key that belongs to this key and an integer; rows of keys take an integer each.",
)


def split_rows(key, size: int):
    """`size` keys for each key, in a new first dimension: key i is fold_in(key, i)."""
    lead = key.shape[:-1]
    return fold_in(algebra.expand(key, size), create.iota((size, *lead), 0, uint32))

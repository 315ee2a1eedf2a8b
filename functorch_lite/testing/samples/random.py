"""Samples of random bits and derived keys, against the cipher written in NumPy."""

from __future__ import annotations

import math

import numpy as np

from ...core.dtype import int32, int64, uint32
from ...prims.random import fold_in, random_bits
from ..table import Sample, array, row

DRAWS = 0x8E3C5A17  # the upper counter word of draws


def threefry(key, high, low):
    """Threefry2x32 with 20 rounds on Python ints (Salmon et al. 2011)."""
    mask = 0xFFFFFFFF
    k = [int(key[0]), int(key[1]), int(key[0]) ^ int(key[1]) ^ 0x1BD11BDA]
    x, y = (high + k[0]) & mask, (low + k[1]) & mask
    for i in range(20):
        r = (13, 15, 26, 6, 17, 29, 16, 24)[i % 8]
        x = (x + y) & mask
        y = ((y << r | y >> (32 - r)) & mask) ^ x
        if i % 4 == 3:
            s = i // 4 + 1
            x, y = (x + k[s % 3]) & mask, (y + k[(s + 1) % 3] + s) & mask
    return x, y


def _bits(key, shape, bits):
    out = np.zeros((*key.shape[:-1], *shape), f"uint{bits}")
    n = math.prod(shape)
    for i in np.ndindex(*key.shape[:-1]):
        words = np.array([threefry(key[i], DRAWS, c) for c in range(-(-n * bits // 64))], np.uint32).reshape(-1, 2)
        if bits == 64:
            flat = words[:, 0].astype(np.uint64) << np.uint64(32) | words[:, 1]
        else:
            flat = np.ascontiguousarray(words.T).astype("<u4").reshape(-1).view(f"<u{bits // 8}")[:n]
        out[i] = flat.reshape(shape)
    return out


def _fold(key, data):
    out = np.zeros_like(key)
    for i in np.ndindex(*data.shape):
        n = int(data[i]) % 2**64
        out[i] = threefry(key[i], n >> 32, n % 2**32)
    return out


def _keys(rng, lead=()):
    return rng.integers(0, 2**32, (*lead, 2), np.uint32)


def draws(rng, dtype):
    for bits in (8, 16, 32, 64):
        for shape in ((3,), (2, 3), (), (0, 2)):
            yield Sample(_keys(rng), shape, bits)
        yield Sample(_keys(rng, (2, 1)), (5,), bits)


def foldings(rng, dtype):
    yield Sample(_keys(rng), array(rng, (), dtype, -100, 100))
    yield Sample(_keys(rng, (3,)), array(rng, (3,), dtype, -100, 100))
    yield Sample(_keys(rng, (0, 2)), array(rng, (0, 2), dtype))
    yield Sample(_keys(rng), np.asarray(rng.integers(2**31 if dtype is int32 else 2**60), dtype.dtype))


row(random_bits, draws, dtypes=(uint32,), reference=_bits)
row(fold_in, foldings, dtypes=(int32, int64, uint32), reference=_fold)

"""Samples of random bits, derived keys and draws, against the cipher and the formulas written in NumPy."""

from __future__ import annotations

import math

import numpy as np

from ...core.dtype import as_dtype, bfloat16, float16, float32, float64, int8, int32, int64, uint8, uint32, uint64
from ...prims.random import fold_in, random_bits
from ...refs import random
from ..table import COMPLEXES, INTS, REAL, Sample, array, row

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

# ---------------------------------------------------------------------------------------------------------------- draws

GRID = {float16: (16, 11), bfloat16: (16, 8), float32: (32, 24), float64: (64, 53)}
LEADS = ((), (2,))  # one key, and a row of keys


def _unit(key, shape, dtype, odd=0):
    """Floats in [0, 1), or (0, 1) if odd."""
    drawn, kept = GRID[dtype]
    return ((_bits(key, shape, drawn) >> (drawn - kept)) | odd).astype(np.float64) * 2.0**-kept


def _wide(dtype):
    return float64 if dtype is float64 else float32


def _normal(key, shape, dtype):
    from scipy.special import erfinv

    if dtype.is_complex:
        re, im = np.moveaxis(_normal(key, (2, *shape), dtype.to_real()), key.ndim - 1, 0)
        return ((re + 1j * im) / np.sqrt(2)).astype(dtype.dtype)
    return (np.sqrt(2) * erfinv(2 * _unit(key, shape, _wide(dtype), 1) - 1)).astype(dtype.dtype)


def _exponential(key, shape, dtype):
    return -np.log(_unit(key, shape, _wide(dtype), 1)).astype(dtype.dtype)


def _gumbel(key, shape, dtype):
    return -np.log(-np.log(_unit(key, shape, _wide(dtype), 1))).astype(dtype.dtype)


def _truncated(key, lower, upper, shape, dtype):
    from scipy.special import erf, erfinv

    low, high = erf(lower / np.sqrt(2)), erf(upper / np.sqrt(2))
    return (np.sqrt(2) * erfinv(low + (high - low) * _unit(key, shape, dtype, 1))).astype(dtype.dtype)


def _uniform(key, shape, dtype, low=0.0, high=1.0):
    return (low + (high - low) * _unit(key, shape, dtype)).astype(dtype.dtype)


def _integers(key, shape, low, high, dtype):
    low = np.asarray(low, np.int64)
    span = (np.asarray(high, np.int64) - low).astype(np.uint64)
    return (_bits(key, shape, 64) % span).astype(np.int64) + low


def _categories(key, logits, dim=-1, shape=None):
    logits = np.moveaxis(logits, dim, -1)
    shape = logits.shape[:-1] if shape is None else shape
    return np.argmax(_gumbel(key, (*shape, logits.shape[-1]), float32) + logits, axis=-1)


def _plain_bits(key, shape, dtype):
    return _bits(key, shape, 8 * dtype.itemsize)


def _bernoulli(key, p, shape):
    return _unit(key, shape, as_dtype(p.dtype) if isinstance(p, np.ndarray) else float32) < p


def plain_draws(rng, dtype):
    for lead in LEADS:
        yield Sample(_keys(rng, lead), (2, 3), dtype)
    yield Sample(_keys(rng), (), dtype)
    yield Sample(_keys(rng), (0, 2), dtype)


def uniform_draws(rng, dtype):
    yield from plain_draws(rng, dtype)
    yield Sample(_keys(rng), (2, 3), dtype, array(rng, (3,), dtype, -3, -1), array(rng, (2, 1), dtype, 1, 3))
    yield Sample(_keys(rng), (3,), dtype, -2.0, 5)


def truncated_draws(rng, dtype):
    yield Sample(_keys(rng), array(rng, (3,), dtype, -2, -0.5), array(rng, (2, 1), dtype, 0.5, 2), (2, 3), dtype)


def bernoulli_draws(rng, dtype):
    yield Sample(_keys(rng), array(rng, (2, 3), dtype, 0, 1), (2, 3))
    yield Sample(_keys(rng), 0.3, (5,))
    yield Sample(_keys(rng), np.asarray([0, 1], dtype.dtype), (4, 2))


def integer_draws(rng, dtype):
    low, high = (0, 250) if dtype is uint8 else (-100, 100) if dtype is int8 else (3, 2**31 - 5)
    for lead in LEADS:
        yield Sample(_keys(rng, lead), (2, 3), low, high, dtype)
    yield Sample(_keys(rng), (3,), np.asarray([0, 3, 6]), np.asarray([1, 6, 90]), dtype)
    yield Sample(_keys(rng), (0, 2), low, high, dtype)


def category_draws(rng, dtype):
    yield Sample(_keys(rng), array(rng, (2, 3), dtype))
    yield Sample(_keys(rng), array(rng, (3, 2), dtype), 0, (4, 2))
    yield Sample(_keys(rng), array(rng, (3,), dtype), -1, (2, 2))


def broadcast_foldings(rng, dtype):
    yield Sample(_keys(rng), array(rng, (3,), dtype))
    yield Sample(_keys(rng, (2, 1)), array(rng, (3,), dtype))
    yield Sample(_keys(rng), 7)


def _fold_broadcast(key, data):
    lead = np.broadcast_shapes(key.shape[:-1], np.shape(data))
    return _fold(np.broadcast_to(key, (*lead, 2)), np.broadcast_to(data, lead))


def seeds(rng, dtype):
    yield Sample(array(rng, (), dtype, -100, 100))


row(random.key, seeds, dtypes=(*INTS, uint64), reference=lambda seed: _fold(np.zeros(2, np.uint32), seed))
row(
    random.split,
    lambda rng, dtype: [Sample(_keys(rng), 3), Sample(_keys(rng, (2,)), 2), Sample(_keys(rng), 0)],
    dtypes=(uint32,),
    reference=lambda key, num: _fold(np.repeat(key[..., None, :], num, -2), np.broadcast_to(np.arange(num), (*key.shape[:-1], num))),
)
row(
    random.advance,
    lambda rng, dtype: [Sample(_keys(rng)), Sample(_keys(rng, (2,)))],
    dtypes=(uint32,),
    reference=lambda key: tuple(_fold(key, np.broadcast_to(i, key.shape[:-1])) for i in range(2)),
)
row(random.fold_in, broadcast_foldings, dtypes=INTS, reference=_fold_broadcast)
row(
    random.random_bits,
    plain_draws,
    dtypes=(uint8, uint32, uint64),
    reference=lambda key, shape, dtype: _bits(key, shape, 8 * dtype.itemsize),
)
row(random.uniform, uniform_draws, reference=_uniform)
row(random.uniform, plain_draws, dtypes=(float16, bfloat16), reference=_uniform)
row(random.normal, plain_draws, dtypes=(*REAL, *COMPLEXES, float16, bfloat16), reference=_normal, tolerance=4)
row(random.truncated_normal, truncated_draws, reference=_truncated, tolerance=4)
row(random.exponential, plain_draws, dtypes=(*REAL, bfloat16), reference=_exponential)
row(random.gumbel, plain_draws, dtypes=(*REAL, bfloat16), reference=_gumbel, tolerance=4)
row(
    random.bernoulli,
    bernoulli_draws,
    reference=lambda key, p, shape: _unit(key, shape, float32 if np.ndim(p) == 0 else as_dtype(p.dtype)) < p,
)
row(random.randint, integer_draws, dtypes=(*INTS, uint8, int8), reference=_integers)
row(random.categorical, category_draws, dtypes=(float32,), reference=_categories)
row(
    random.permutation,
    lambda rng, dtype: [Sample(_keys(rng), n) for n in (5, 0)] + [Sample(_keys(rng, (2,)), 4)],
    dtypes=(uint32,),
    reference=lambda key, n: np.argsort(_bits(key, (n,), 64), axis=-1, kind="stable"),
)

"""Random bits and draws: the cipher's published vectors, distributions, and how keys behave under transforms."""

import jax
import numpy as np
import pytest
from scipy import stats

import functorch_lite as fl
from functorch_lite.prims.random import threefry2x32

R = fl.random
N = 50_000


@pytest.mark.parametrize(
    "key, counter, expected",
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_cipher_gives_the_published_answers(key, counter, expected):
    """Known answers of threefry2x32 with 20 rounds, from the Random123 distribution."""
    words = jax.jit(threefry2x32)(*(np.asarray(n, np.uint32) for n in (*key, *counter)))
    assert tuple(map(int, words)) == expected


DRAWS = {
    "uniform": (R.uniform, stats.uniform.cdf),
    "normal": (R.normal, stats.norm.cdf),
    "exponential": (R.exponential, stats.expon.cdf),
    "gumbel": (R.gumbel, stats.gumbel_r.cdf),
    "truncated": (lambda key, n, dtype: R.truncated_normal(key, -0.5, 2.0, n, dtype), lambda x: stats.truncnorm.cdf(x, -0.5, 2)),
    "real part": (lambda key, n, dtype: R.normal(key, n, dtype.to_complex()).real, lambda x: stats.norm.cdf(x, scale=0.5**0.5)),
}


@pytest.mark.parametrize("dtype", [fl.float32, fl.float64], ids=str)
@pytest.mark.parametrize("name", DRAWS)
def test_distribution(name, dtype):
    """The Kolmogorov-Smirnov distance to the distribution; the draw is a function of a fixed key, so this never flickers."""
    draw, cdf = DRAWS[name]
    x = np.asarray(draw(R.key(1), N, dtype))
    assert x.dtype == dtype.dtype
    assert stats.kstest(x.astype(np.float64), cdf).pvalue > 1e-3


def test_discrete_distributions():
    key = R.key(2)
    p = np.array([0.1, 0.2, 0.7])
    counts = {
        "categorical": (np.bincount(np.asarray(R.categorical(key, fl.asarray(np.log(p)), shape=(N,)))), p),
        "choice": (np.bincount(np.asarray(R.choice(key, 3, N, p=fl.asarray(p)))), p),
        "randint": (np.bincount(np.asarray(R.randint(key, (N,), -3, 4)) + 3), np.full(7, 1 / 7)),
        "bernoulli": (np.bincount(np.asarray(R.bernoulli(key, 0.3, (N,)))), np.array([0.7, 0.3])),
    }
    for name, (seen, expected) in counts.items():
        assert stats.chisquare(seen, expected * N).pvalue > 1e-3, name


def test_permutations_are_equally_likely():
    keys = R.split(R.key(3), 12_000)
    orders = np.asarray(fl.vmap(lambda key: R.permutation(key, 3))(keys))
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 6 and stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("dtype", [fl.int8, fl.uint8, fl.int64, fl.uint32], ids=str)
def test_randint_reaches_both_ends(dtype):
    limits = fl.core.dtype.iinfo(dtype)
    low, high = int(limits.min), min(int(limits.max) + 1, 2**63 - 1)
    x = np.asarray(R.randint(R.key(4), (10_000,), low, high, dtype)).astype(np.float64)
    span = high - low
    assert x.min() < low + span / 100 and x.max() > high - span / 100


def test_draws_and_derived_keys_have_nothing_in_common():
    key = R.key(5)
    drawn = set(np.asarray(R.bits(key, (2000,))).tolist())
    derived = np.asarray(R.split(key, 1000)).ravel().tolist()
    assert not drawn.intersection(derived)


def test_rows_of_keys_are_rows_of_draws():
    keys = R.split(R.key(6), 4)
    rows = np.stack([np.asarray(R.normal(keys[i], (3,))) for i in range(4)])
    np.testing.assert_array_equal(np.asarray(R.normal(keys, (3,))), rows)
    np.testing.assert_array_equal(np.asarray(fl.vmap(lambda key: R.normal(key, (3,)))(keys)), rows)


def test_vmap_randomness():
    key, zeros = R.key(7), fl.zeros(3)
    same = np.asarray(fl.vmap(lambda x: x + R.uniform(key), randomness="same")(zeros))
    different = np.asarray(fl.vmap(fl.vmap(lambda x: x + R.uniform(key), randomness="different"), randomness="different")(fl.zeros(2, 3)))
    assert len(set(same.tolist())) == 1 and len(set(different.ravel().tolist())) == 6


def test_seeds():
    assert np.asarray(R.key(2**64 - 1)).tolist() == np.asarray(R.key(-1)).tolist()
    assert np.asarray(R.key(fl.asarray(5))).tolist() == np.asarray(fl.jit(R.key)(5)).tolist() == np.asarray(R.key(5)).tolist()


KEY = R.key(0)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: R.uniform(0, (2,)), TypeError, "expected a key"),
        (lambda: R.normal(fl.asarray([1, 2])), TypeError, "expected a key"),
        (lambda: R.uniform(KEY, (2,), fl.int32), TypeError, "float dtype"),
        (lambda: R.key(1.5), TypeError, "seed must be an integer"),
        (lambda: R.bits(KEY, (2,), fl.int32), TypeError, "uint8"),
        (lambda: R.bits(KEY, (2**34,)), ValueError, "split the key"),
        (lambda: R.uniform(KEY, (-1,)), ValueError, "negative"),
        (lambda: R.randint(KEY, (2,), 5, 5), RuntimeError, "low < high"),
        (lambda: R.randint(KEY, (2,), 0, 300, fl.uint8), RuntimeError, "out of the range of uint8"),
        (lambda: R.randint(KEY, (2,), 0.0, 2.0), TypeError, "must be integers"),
        (lambda: R.choice(KEY, 3, (4,), replace=False), RuntimeError, "without replacement"),
        (lambda: R.categorical(KEY, fl.zeros(2, 3), shape=(3,)), ValueError, "shape must end in"),
    ],
)
def test_bad_input(call, error, message):
    R.randint(KEY, (2,), 0, 5)  # a good call of the same shape before it must not hide a bad one
    with pytest.raises(error, match=message):
        call()

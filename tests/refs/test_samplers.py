"""How every draw is distributed, and that it comes again from its seed: a table with a row for each sampler there is.

A row's draw gives N numbers, independent of one another, from a seed; its law is a distribution of SciPy's (compared by Kolmogorov's and
Smirnov's distance if it is continuous, by chi-square if not), or a list of probabilities of 0, 1, 2 ... The seed is fixed, so a test
that passes always passes; LEAST is the share of seeds at which a right sampler would fail one.
"""

import numpy as np
import pytest
from scipy import special, stats

import functorch_lite as fl
import functorch_lite.torch as torch
from functorch_lite.core.op import REGISTRY
from functorch_lite.nn.draws import DRAWS

N, SEED, LEAST = 100_000, 20, 1e-4
R, F = fl.random, fl.nn.functional
P = [0.1, 0.2, 0.0, 0.7]
TWO = fl.asarray([0.5, 1.5])


def keyed(draw):
    """A draw of the functional face, by the key of a seed."""
    return lambda seed: np.asarray(draw(R.key(seed)))


def seeded(draw):
    """A draw of PyTorch's face, after manual_seed."""

    def f(seed):
        torch.manual_seed(seed)
        return np.asarray(draw())

    return f


def filled(name, *args, dtype=torch.float32):
    return seeded(lambda: getattr(torch.zeros(N, dtype=dtype), name)(*args))


def triples(order):
    """Which of the 6 orders each three neighbours of a permutation have."""
    ranks = np.argsort(order[: len(order) // 3 * 3].reshape(-1, 3), axis=1)
    return ranks[:, 0] * 2 + (ranks[:, 1] > ranks[:, 2])


def places(x, scale=1.0):
    """Which kept elements (the scale) are not zero."""
    assert set(np.unique(x)) <= {np.float32(0), np.float32(scale)}
    return (x != 0).astype(int)


def ordered_pairs(x):
    """Draws of two of four without replacement, as numbers below 16."""
    return x[:, 0] * 4 + x[:, 1]


PAIRS = [0.0 if i == j or not P[i] else P[i] * P[j] / (1 - P[i]) for i in range(4) for j in range(4)]
CHANNELS = {n: (N // 4, 4, *[2] * n) for n in (1, 2, 3)}
NORMAL, UNIFORM = stats.norm(), stats.uniform()

KEYED = {
    "uniform": (lambda k: R.uniform(k, N, low=-1.0, high=3.0), stats.uniform(-1, 4)),
    "normal": (lambda k: R.normal(k, N), NORMAL),
    "truncated_normal": (lambda k: R.truncated_normal(k, -0.5, 2.0, N), stats.truncnorm(-0.5, 2)),
    "exponential": (lambda k: R.exponential(k, N), stats.expon()),
    "gumbel": (lambda k: R.gumbel(k, N), stats.gumbel_r()),
    "cauchy": (lambda k: R.cauchy(k, N, median=1.0, sigma=0.5), stats.cauchy(1, 0.5)),
    "log_normal": (lambda k: R.log_normal(k, N, mean=0.5, std=0.3), stats.lognorm(0.3, scale=np.exp(0.5))),
    "gamma": (lambda k: R.gamma(k, 0.7, N), stats.gamma(0.7)),
    "beta": (lambda k: R.beta(k, 0.5, 2.0, N), stats.beta(0.5, 2)),
    "dirichlet": (lambda k: R.dirichlet(k, fl.asarray([0.5, 1.0, 2.0]), (N, 3))[:, 0], stats.beta(0.5, 3)),
    "bits": (lambda k: R.bits(k, N, fl.uint8), [1 / 256] * 256),
    "bernoulli": (lambda k: R.bernoulli(k, 0.3, N), [0.7, 0.3]),
    "randint": (lambda k: R.randint(k, N, -3, 4) + 3, [1 / 7] * 7),
    "categorical": (lambda k: R.categorical(k, fl.log(fl.asarray(P)), shape=(N,)), P),
    "choice": (lambda k: R.choice(k, 4, N, p=fl.asarray(P)), P),
    "geometric": (lambda k: R.geometric(k, 0.3, N), stats.geom(0.3)),
    "poisson": (lambda k: R.poisson(k, 3.5, N), stats.poisson(3.5)),
    "binomial": (lambda k: R.binomial(k, 12.0, 0.7, N), stats.binom(12, 0.7)),
    "multinomial": (lambda k: R.multinomial(k, fl.asarray(P), N, True), P),
    "permutation": (lambda k: triples(np.asarray(R.permutation(k, 3 * N))), [1 / 6] * 6),
    "dropout": (lambda k: places(np.asarray(F.dropout(fl.ones(N), 0.3, key=k)), 1 / 0.7), [0.3, 0.7]),
    **{
        f"dropout{n}d": (lambda k, n=n: channels(getattr(F, f"dropout{n}d")(fl.ones(CHANNELS[n]), 0.3, key=k)), [0.3, 0.7])
        for n in (1, 2, 3)
    },
    "gumbel_softmax": (lambda k: fl.argmax(F.gumbel_softmax(fl.log(fl.asarray(P)).expand(N, 4), hard=True, key=k), -1), P),
}


def channels(x):
    """What became of each channel: all of it."""
    x = np.asarray(x).reshape(N, -1)
    assert (x == x[:, :1]).all()
    return places(x[:, 0], 1 / 0.7)


# the same by other branches of an algorithm: large means, small shapes, without replacement, other dtypes
MORE = {
    "poisson, rejection": (keyed(lambda k: R.poisson(k, 40.0, N)), stats.poisson(40)),
    "poisson, large": (keyed(lambda k: R.poisson(k, fl.full((N,), 1e5, dtype=fl.float64))), stats.poisson(1e5)),
    "binomial, rejection": (keyed(lambda k: R.binomial(k, 100.0, 0.4, N)), stats.binom(100, 0.4)),
    "binomial, likely": (keyed(lambda k: R.binomial(k, 1000.0, 0.99, N)), stats.binom(1000, 0.99)),
    "gamma, large": (keyed(lambda k: R.gamma(k, 30.0, N)), stats.gamma(30)),
    "gamma, small": (keyed(lambda k: R.gamma(k, fl.full((N,), 0.05, dtype=fl.float64))), stats.gamma(0.05)),
    "cauchy, float64": (keyed(lambda k: R.cauchy(k, N, fl.float64)), stats.cauchy()),
    "two of four": (keyed(lambda k: ordered_pairs(np.asarray(R.multinomial(k, fl.asarray(P).expand(N, 4), 2)))), PAIRS),
    "multinomial of rows": (keyed(lambda k: R.multinomial(k, fl.asarray(P).expand(N // 2, 4), 2, True).reshape(-1)), P),
    "choice without replacement": (keyed(lambda k: R.choice(k, N, (1,), replace=False).expand(N) * 0), [1.0]),
    "normal, imaginary part": (keyed(lambda k: R.normal(k, N, fl.complex64).imag), stats.norm(scale=0.5**0.5)),
    "uniform, bfloat16": (keyed(lambda k: R.uniform(k, N, fl.bfloat16).float() * 256), [1 / 256] * 256),
    "random_ of floats": (filled("random_", 5), [0.2] * 5),
    "random_ from, to": (filled("random_", 2, 6, dtype=torch.uint8), [0, 0, *[0.25] * 4]),
}

FACE = {
    "torch.rand": (seeded(lambda: torch.rand(N)), UNIFORM),
    "torch.randn": (seeded(lambda: torch.randn(size=(N,))), NORMAL),
    "torch.randint": (seeded(lambda: torch.randint(3, 8, (N,))), [0, 0, 0, *[0.2] * 5]),
    "torch.randperm": (seeded(lambda: triples(np.asarray(torch.randperm(3 * N)))), [1 / 6] * 6),
    "torch.normal": (seeded(lambda: torch.normal(torch.full((N,), 2.0), 3.0)), stats.norm(2, 3)),
    "torch.rand_like": (seeded(lambda: torch.rand_like(torch.zeros(N))), UNIFORM),
    "torch.randn_like": (seeded(lambda: torch.randn_like(torch.zeros(N))), NORMAL),
    "torch.randint_like": (seeded(lambda: torch.randint_like(torch.zeros(N), 4)), [0.25] * 4),
    "torch.bernoulli": (seeded(lambda: torch.bernoulli(torch.full((N,), 0.2))), [0.8, 0.2]),
    "torch.multinomial": (seeded(lambda: torch.multinomial(torch.tensor(P), N, replacement=True)), P),
    "torch.poisson": (seeded(lambda: torch.poisson(torch.full((N,), 2.5))), stats.poisson(2.5)),
    "torch.binomial": (seeded(lambda: torch.binomial(torch.full((N,), 9.0), torch.full((N,), 0.25))), stats.binom(9, 0.25)),
    "torch._standard_gamma": (seeded(lambda: torch._standard_gamma(torch.full((N,), 2.5))), stats.gamma(2.5)),
    "torch._sample_dirichlet": (seeded(lambda: torch._sample_dirichlet(torch.tensor([1.0, 2.0]).expand(N, 2))[:, 1]), stats.beta(2, 1)),
    "Tensor.normal_": (filled("normal_", 1.0, 0.5), stats.norm(1, 0.5)),
    "Tensor.uniform_": (filled("uniform_", -2, 2), stats.uniform(-2, 4)),
    "Tensor.bernoulli_": (filled("bernoulli_", 0.6), [0.4, 0.6]),
    "Tensor.random_": (filled("random_", dtype=torch.bool), [0.5, 0.5]),
    "Tensor.exponential_": (filled("exponential_", 2.0), stats.expon(scale=0.5)),
    "Tensor.cauchy_": (filled("cauchy_", 1.0, 2.0), stats.cauchy(1, 2)),
    "Tensor.log_normal_": (filled("log_normal_"), stats.lognorm(2, scale=np.e)),
    "Tensor.geometric_": (filled("geometric_", 0.6, dtype=torch.int64), stats.geom(0.6)),
}
ALL = {**{f"fl.{n}": (keyed(draw), law) for n, (draw, law) in KEYED.items()}, **FACE, **MORE}

NO_DRAWS = {"key", "split", "advance", "fold_in"}  # of fl.random: they make keys
OF_DROPOUT = {"scaled_dot_product_attention"}  # whose masks are drawn by the same function


def test_every_sampler_has_a_row():
    """Ops that take a key to draw with, in any namespace, and draws of PyTorch's face."""
    ops = {op.name for op in REGISTRY.values() if op.namespace == "fl.random" or op.namespace != "prims" and "key" in op.traits}
    ops |= {*R.__all__, "gumbel_softmax"}
    missing = [n for n in sorted(ops - NO_DRAWS - OF_DROPOUT) if f"fl.{n}" not in ALL] + [n for n in DRAWS if n not in ALL]
    assert not missing, f"samplers without a row in the table: {missing}"


def discrepancy(x, law) -> float:
    """The probability that draws of the law are as far from it as these."""
    x = np.asarray(x, np.float64).reshape(-1)
    if hasattr(law, "dist") and hasattr(law.dist, "pdf"):
        return stats.kstest(x, law.cdf).pvalue
    values = x.astype(int)
    assert (values == x).all() and values.min() >= 0
    if isinstance(law, list):
        expected = np.asarray(law)
    else:
        expected = law.pmf(np.arange(int(law.ppf(1 - 1e-9)) + 1))
    seen = np.bincount(values, minlength=len(expected)).astype(float)
    seen, tail = seen[: len(expected)], seen[len(expected) :].sum()
    assert not seen[expected == 0].any(), "a value that has no probability was drawn"
    expected = expected * len(x)
    often = expected >= 20
    seen, rest = np.append(seen[often], seen[~often].sum() + tail), max(len(x) - expected[often].sum(), 0)
    expected = np.append(expected[often], rest)
    if rest < 5:
        assert seen[-1] < 30, "values that are next to impossible were drawn"
        seen, expected = seen[:-1], expected[:-1]
        expected = expected * seen.sum() / expected.sum()
    return stats.chisquare(seen, expected).pvalue if len(seen) > 1 else 1.0


@pytest.mark.parametrize("name", ALL)
def test_distribution_and_seed(name):
    draw, law = ALL[name]
    x = draw(SEED)
    p = discrepancy(x, law)
    assert p > LEAST, f"{name}: draws of seed {SEED} are as far from their distribution as one in {1 / max(p, 1e-300):.3g} would be"
    np.testing.assert_array_equal(x, draw(SEED), err_msg="the same seed gave another draw")
    if name != "choice without replacement":
        assert (x != draw(SEED + 1)).any(), "another seed gave the same draw"


def test_the_comparison_finds_faults():
    """A shifted normal, a biased coin, and a value that cannot be."""
    rng = np.random.default_rng(0)
    assert discrepancy(rng.normal(0.03, 1, N), NORMAL) < LEAST
    assert discrepancy(rng.random(N) < 0.51, [0.5, 0.5]) < LEAST
    assert discrepancy(rng.poisson(3.6, N), stats.poisson(3.5)) < LEAST
    with pytest.raises(AssertionError, match="no probability"):
        discrepancy(np.array([0, 1, 2]), [0.5, 0.0, 0.5])


def test_generators_draw_apart():
    """A generator of its own replays from its seed and leaves the default one alone."""
    torch.manual_seed(3)
    expected = torch.rand(4).tolist()
    torch.manual_seed(3)
    g = torch.Generator().manual_seed(5)
    x = torch.poisson(torch.full((8,), 4.0), generator=g).tolist()
    assert torch.rand(4).tolist() == expected
    assert torch.poisson(torch.full((8,), 4.0), generator=torch.Generator().manual_seed(5)).tolist() == x


def test_gradient_of_gamma_keeps_the_quantile():
    """d x / d a at a fixed value of the distribution function, against that function's inverse."""
    a = np.array([0.3, 1.0, 2.5, 20.0])
    key = R.key(SEED)
    x = np.asarray(R.gamma(key, fl.asarray(a)))
    slope = np.asarray(fl.grad(lambda a: R.gamma(key, a).sum())(fl.asarray(a)))
    h = 1e-5 * a
    q = special.gammainc(a, x)
    expected = (special.gammaincinv(a + h, q) - special.gammaincinv(a - h, q)) / (2 * h)
    np.testing.assert_allclose(slope, expected, rtol=1e-4)
    tiny = np.asarray(fl.grad(lambda a: fl.log(R.gamma(key, a).clamp(min=1e-300)).sum())(fl.asarray(np.full(50, 1e-3))))
    assert np.isfinite(tiny).all()


@pytest.mark.parametrize("name", ["poisson", "gamma"])
def test_rejection_under_transforms(name):
    """Each row of a batch is the draw of its key, compiled or not; a value does not depend on its neighbours."""
    draw = getattr(R, name)
    keys, rates = R.split(R.key(SEED), 3), fl.asarray([0.5, 12.0, 90.0])
    alone = [draw(keys[i], rates[i]).item() for i in range(3)]
    assert fl.vmap(draw)(keys, rates).tolist() == alone == fl.jit(fl.vmap(draw))(keys, rates).tolist()
    different = fl.vmap(lambda r: draw(keys[0], r), randomness="different")(fl.full((64,), 50.0))
    assert len(set(different.tolist())) > 8


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1.0])
def test_bad_parameters_raise_and_end(bad):
    """Nothing is proposed forever where nothing can be accepted."""
    key = R.key(0)
    for call in (lambda: R.poisson(key, bad), lambda: R.binomial(key, 3.0, bad), lambda: R.multinomial(key, fl.asarray([bad, 1.0]), 1)):
        with pytest.raises(RuntimeError, match="expected|contain"):
            call().item()
    assert np.isnan(fl.jit(R.poisson)(key, fl.asarray(float("nan"))).item())
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        R.bernoulli(key, fl.asarray([bad])).tolist()

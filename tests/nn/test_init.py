"""Initialisers: formulas, distributions, what they refuse."""

import math

import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite.nn import Parameter, create, generator, init

SEED = 7


@pytest.fixture(autouse=True)
def _seed():
    print(f"seed {SEED}")
    generator.manual_seed(SEED)


def weight(*shape, dtype=None):
    return Parameter(create.empty(shape, dtype=dtype))


def drawn(fill, *shape, **named):
    w = weight(*shape)
    assert fill(w, **named) is w and w.requires_grad and w.is_leaf
    return w.detach().numpy()


def test_gains():
    gains = {"linear": 1, "conv2d": 1, "conv_transpose3d": 1, "sigmoid": 1, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 0.75}
    assert {name: init.calculate_gain(name) for name in gains} == gains
    assert init.calculate_gain("leaky_relu") == pytest.approx(1.4141428569978354)
    assert init.calculate_gain("leaky_relu", 0.2) == pytest.approx(1.3867504905630728)
    for bad in (("gelu",), ("leaky_relu", "a"), ("leaky_relu", True)):
        with pytest.raises(ValueError):
            init.calculate_gain(*bad)


def test_fans():
    assert init._calculate_fan_in_and_fan_out(weight(3, 4, 5, 6)) == (120, 90)
    with pytest.raises(ValueError, match="fewer than 2"):
        init._calculate_fan_in_and_fan_out(weight(3))


def test_constants():
    assert drawn(init.ones_, 2).tolist() == [1.0, 1.0] and drawn(init.zeros_, 1).tolist() == [0.0]
    assert drawn(init.constant_, 2, val=0.5).tolist() == [0.5, 0.5]
    assert drawn(init.eye_, 2, 3).tolist() == np.eye(2, 3).tolist()
    count = create.tensor(3)
    assert init.zeros_(count).item() == 0 and count.dtype is fl.int64


def test_dirac_kernels_give_back_the_input():
    x = fl.random.normal(fl.random.key(SEED), (1, 4, 6, 6))
    w = init.dirac_(weight(4, 4, 3, 3)).array
    assert (fl.conv2d(x, w, padding=1) == x).all()
    grouped = init.dirac_(weight(4, 2, 3, 3), groups=2).array
    assert (fl.conv2d(x, grouped, padding=1, groups=2) == x).all()


N = 100  # a matrix of N * N draws: means are right to about 1 / N standard deviations
DRAWS = [
    (init.uniform_, {"a": -1.0, "b": 3.0}, 1.0, 4 / math.sqrt(12), (-1, 3)),
    (init.normal_, {"mean": 1.0, "std": 2.0}, 1.0, 2.0, None),
    (init.trunc_normal_, {"std": 1.0, "a": -1.0, "b": 1.0}, 0.0, 0.5396, (-1, 1)),
    (init.xavier_uniform_, {}, 0.0, math.sqrt(2 / (2 * N)), None),
    (init.xavier_normal_, {"gain": 2.0}, 0.0, 2 * math.sqrt(2 / (2 * N)), None),
    (init.kaiming_uniform_, {"a": math.sqrt(5)}, 0.0, 1 / math.sqrt(3 * N), (-1 / math.sqrt(N), 1 / math.sqrt(N))),
    (init.kaiming_normal_, {"nonlinearity": "relu", "mode": "fan_out"}, 0.0, math.sqrt(2 / N), None),
]


@pytest.mark.parametrize("fill, settings, mean, std, bounds", DRAWS, ids=lambda v: getattr(v, "__name__", None))
def test_draws_have_their_distribution(fill, settings, mean, std, bounds):
    x = drawn(fill, N, N, **settings)
    assert abs(x.mean() - mean) < 5 * std / N and abs(x.std() / std - 1) < 0.05
    if bounds:
        assert bounds[0] <= x.min() and x.max() <= bounds[1]
    again = drawn(fill, N, N, **settings)
    assert (x != again).mean() > 0.99
    generator.manual_seed(SEED)
    assert (drawn(fill, N, N, **settings) == x).all()


@pytest.mark.parametrize("fill, settings, mean, std, bounds", DRAWS[:4], ids=lambda v: getattr(v, "__name__", None))
def test_draws_take_a_generator(fill, settings, mean, std, bounds):
    a, b = (drawn(fill, 4, 4, generator=generator.Generator().manual_seed(3), **settings) for _ in range(2))
    assert (a == b).all() and (drawn(fill, 4, 4, **settings) != a).any()


@pytest.mark.parametrize("shape", [(3, 7), (7, 3), (4, 4), (3, 2, 2, 2)])
def test_orthogonal_matrices_are_orthogonal(shape):
    x = drawn(init.orthogonal_, *shape, gain=2.0).reshape(shape[0], -1) / 2
    product = x @ x.T if x.shape[0] <= x.shape[1] else x.T @ x
    np.testing.assert_allclose(product, np.eye(min(x.shape)), atol=1e-5)


def test_sparse_columns_have_their_share_of_zeros():
    x = drawn(init.sparse_, 10, 6, sparsity=0.25)
    assert ((x == 0).sum(0) == 3).all() and len({tuple(c) for c in (x == 0).T}) > 1


@pytest.mark.parametrize("dtype", [fl.float16, fl.bfloat16, fl.float64])
def test_dtypes_are_kept(dtype):
    for fill in (init.kaiming_uniform_, init.normal_, init.trunc_normal_, init.ones_):
        w = fill(weight(8, 8, dtype=dtype))
        assert w.dtype is dtype and bool(w.array.isfinite().all())


def test_meta_tensors_stay_empty_and_nothing_is_drawn():
    before = generator.get_rng_state()
    for fill in (init.kaiming_uniform_, init.zeros_, init.orthogonal_):
        assert str(fill(Parameter(create.empty(2, 2, device="meta"))).device) == "meta"
    assert (generator.get_rng_state().numpy() == before.numpy()).all()
    with pytest.raises(TypeError):
        init.kaiming_uniform_(Parameter(create.empty(2, 2, device="meta")), nonsense=1)


@pytest.mark.parametrize(
    "fill, shape, settings, message",
    [
        (init.eye_, (3,), {}, "2 dimensions"),
        (init.dirac_, (3, 4), {}, "3, 4, or 5"),
        (init.dirac_, (3, 4, 3), {"groups": 2}, "divisible"),
        (init.orthogonal_, (3,), {}, "2 or more"),
        (init.sparse_, (3,), {"sparsity": 0.1}, "2 dimensions"),
        (init.kaiming_normal_, (3, 4), {"mode": "fan"}, "Mode fan not supported"),
        (init.xavier_uniform_, (3,), {}, "fewer than 2"),
    ],
)
def test_shapes_that_do_not_fit_raise(fill, shape, settings, message):
    with pytest.raises(ValueError, match=message):
        fill(weight(*shape), **settings)


def test_what_is_odd_warns():
    with pytest.warns(UserWarning, match="no elements"):
        init.kaiming_uniform_(weight(0, 4))
    with pytest.warns(UserWarning, match="more than 2 std"):
        init.trunc_normal_(weight(2, 3), 5.0, 1.0)

"""PyTorch's conventions in refs: which derivative where a function has a kink, in which forms an op may be called, what raises."""

import math

import numpy as np
import pytest

import functorch_lite as fl

F = fl.nn.functional
NAN, INF = math.nan, math.inf

# (function, points, derivative there): where the answer is a choice, PyTorch's. (The deviations ruled in DESIGN give 0, not NaN.)
KINKS = [
    (fl.relu, [-1, 0, 1], [0, 0, 1]),
    (fl.abs, [-1, 0, 1], [-1, 0, 1]),
    (fl.sign, [-1, 0, 1], [0, 0, 0]),
    (lambda x: fl.clamp(x, -1, 1), [-2, -1, 0, 1, 2], [0, 1, 1, 1, 0]),
    (lambda x: fl.clamp(x, min=0), [-1, 0, 1], [0, 1, 1]),
    (F.hardtanh, [-2, -1, 0, 1, 2], [0, 0, 1, 0, 0]),
    (F.relu6, [0, 3, 6], [0, 1, 0]),
    (lambda x: F.leaky_relu(x, 0.25), [-1, 0, 1], [0.25, 0.25, 1]),
    (lambda x: F.elu(x, 0.5), [0, 1], [0.5, 1]),
    (F.hardshrink, [-0.5, 0, 0.5, 1], [0, 0, 0, 1]),
    (F.softshrink, [-1, -0.5, 0.5], [1, 0, 0]),
    (F.hardsigmoid, [-3, 0, 3], [0, 1 / 6, 0]),
    (F.softsign, [0, 1], [1, 0.25]),
    (F.softplus, [0, 30], [0.5, 1]),
    (lambda x: x**0, [0, 2], [0, 0]),
    (lambda x: x**2, [0, -2], [0, -4]),
    (lambda x: x**0.0, [0, 2], [0, 0]),
    (lambda x: fl.pow(x, fl.zeros_like(x)), [0, 2], [0, 0]),
    (lambda x: fl.pow(0.0, x), [0, 2], [0, 0]),
    (lambda x: fl.atan2(x, fl.zeros_like(x)), [0], [0]),
    (lambda x: fl.hypot(x, fl.zeros_like(x)), [0, 2], [0, 1]),
    (lambda x: fl.maximum(x, 1.0), [0, 1, 2], [0, 0.5, 1]),
    (lambda x: fl.fmax(x, fl.ones_like(x)), [0, 1, 2], [0, 1, 1]),
    (lambda x: fl.fmax(fl.ones_like(x), x), [0, 1, 2], [0, 0, 1]),
    (lambda x: fl.fmin(x, fl.full_like(x, NAN)), [2], [1]),
    (lambda x: fl.copysign(x, fl.full_like(x, -1)), [-2, 0, 2], [1, 0, -1]),
    (fl.floor, [0.5, 1], [0, 0]),
    (fl.frac, [0.5, 1], [1, 1]),
    (lambda x: fl.remainder(x, 2.0), [-1, 1], [1, 1]),
    (fl.sinc, [0], [0]),
    (lambda x: fl.where(x > 0, fl.log(x), x), [0, -1, 2], [1, 1, 0.5]),
    (lambda x: fl.where(x > 0, fl.sqrt(x), 0), [0, 4], [0, 0.25]),
    (lambda x: fl.nan_to_num(x), [1, INF, NAN], [1, 0, 0]),
    (lambda x: fl.logaddexp(x, fl.zeros_like(x)), [0, 1000, -1000], [0.5, 1, 0]),
    (lambda x: fl.xlogy(x, fl.zeros_like(x)), [0], [0]),
    # reductions, of the points together
    (lambda x: fl.norm(x), [0, 0], [0, 0]),
    (lambda x: fl.norm(x, p=1), [0, 2], [0, 1]),
    (lambda x: fl.norm(x, p=INF), [2, -2, 1], [0.5, -0.5, 0]),
    (lambda x: fl.norm(x, p=3), [0, 0], [0, 0]),
    (lambda x: fl.std(x), [1, 1], [0, 0]),
    (lambda x: fl.amax(x), [1, 2, 2], [0, 0.5, 0.5]),
    (lambda x: fl.max(x), [1, 2, 2], [0, 0.5, 0.5]),
    (lambda x: fl.max(x, 0).values, [1, 2, 2], [0, 1, 0]),
    (lambda x: fl.median(x), [1, 2, 2], [0, 0.5, 0.5]),
    (lambda x: fl.cummax(x, 0).values, [1, 1, 0], [1, 2, 0]),
    (lambda x: fl.prod(x), [0, 2, 3], [6, 0, 0]),
    (lambda x: fl.prod(x), [0, 0, 3], [0, 0, 0]),
    (lambda x: fl.logsumexp(x, 0), [-INF, 0], [0, 1]),
    (lambda x: fl.logsumexp(x, 0), [-INF, -INF], [0, 0]),
]


@pytest.mark.parametrize("f, points, expected", KINKS)
def test_derivatives_at_kinks(f, points, expected):
    x = fl.asarray(points, dtype=fl.float64)
    np.testing.assert_allclose(np.asarray(fl.grad(lambda x: f(x).sum())(x)), expected, atol=1e-12)
    t = fl.jvp(lambda x: f(x).sum(), (x,), (fl.ones_like(x),))[1]
    np.testing.assert_allclose(t.item(), sum(expected), atol=1e-12)
    second = fl.grad(lambda x: fl.grad(lambda x: f(x).sum())(x).sum())(x)
    assert np.isfinite(np.asarray(second)).all()


def test_second_derivatives_at_ties():
    np.testing.assert_allclose(fl.grad(fl.grad(lambda x: fl.logaddexp(x, 0.0)))(0.0).item(), 0.25)
    np.testing.assert_allclose(fl.grad(fl.grad(F.logsigmoid))(0.0).item(), -0.25)
    np.testing.assert_allclose(fl.grad(fl.grad(F.softplus))(0.0).item(), 0.25)


X = np.array([[1.0, 5.0], [3.0, 2.0]], np.float32)


def test_forms_of_max_and_min():
    x = fl.asarray(X)
    assert fl.max(x).item() == 5 == x.max().item() and x.min().item() == 1
    values, indices = x.max(1)
    assert values.tolist() == [5, 3] and indices.tolist() == [1, 0] and indices.dtype is fl.int64
    assert x.max(dim=0, keepdim=True).values.shape == (1, 2) and x.min(-1).indices.tolist() == [0, 1]
    assert fl.max(x, fl.asarray(2.0)).tolist() == [[2, 5], [3, 2]] == fl.maximum(x, 2.0).tolist()
    assert fl.min(fl.asarray(3.0), 0).values.item() == 3 and fl.max(fl.asarray(3.0), -1).indices.item() == 0


def test_forms_of_var_and_std():
    x = fl.asarray(X)
    for axis in (None, 0, (0, 1)):
        np.testing.assert_allclose(np.asarray(fl.var(x, axis)), X.var(axis, ddof=1), rtol=1e-6)
        np.testing.assert_allclose(np.asarray(fl.var(x, axis, correction=0)), X.var(axis), rtol=1e-6)
        np.testing.assert_allclose(np.asarray(fl.std(x, axis, False)), X.std(axis), rtol=1e-6)
    assert fl.var(x, False).item() == X.var() == x.var(unbiased=False).item()
    both = fl.var_mean(x, 1, keepdim=True)
    assert both.var.shape == (2, 1) and both.mean.tolist() == [[3], [2.5]] and fl.std_mean(x).std.item() == x.std().item()
    assert math.isnan(fl.var(fl.asarray([1.0])).item())


def test_forms_of_arange():
    assert fl.arange(3).dtype is fl.int64 and fl.arange(3.0).dtype is fl.float32 and fl.arange(0, 1, 0.25).tolist() == [0, 0.25, 0.5, 0.75]
    assert fl.arange(5, 1, -2).tolist() == [5, 3] and fl.arange(2, 2).shape == (0,) and fl.arange(3, dtype="int8").dtype is fl.int8
    assert fl.arange(fl.asarray(3)).tolist() == [0, 1, 2] and fl.arange(2**40, 2**40 + 2).tolist() == [2**40, 2**40 + 1]
    for bad in ((0, 3, 0), (3, 0), (0, 3, -1)):
        with pytest.raises(RuntimeError, match="step"):
            fl.arange(*bad)


def test_numbers_never_recompile():
    """Another number is the same program: it is an input."""
    from functorch_lite.xla.single import EXECUTABLES

    x = fl.asarray([3.0])
    calls = (
        lambda n: x * n,
        lambda n: x + n,
        lambda n: fl.add(x, x, alpha=n),
        lambda n: fl.clamp(x, n),
        lambda n: fl.full((2,), n),
        lambda n: x**n,
    )
    for f in calls:
        fl.block_until_ready(f(1.25))
        before = len(EXECUTABLES)
        fl.block_until_ready(f(2.75))
        assert len(EXECUTABLES) == before


def test_zero_dim_arrays_have_dimension_zero():
    x = fl.asarray(2.0)
    for f in (fl.sum, fl.mean, fl.amax, fl.argmax, fl.cumsum, fl.logsumexp, fl.any, fl.norm):
        assert f(x, dim=0).shape == () == f(x, dim=-1).shape
    assert fl.sort(x).values.item() == 2 and fl.topk(x, 1).indices.item() == 0 and fl.cummax(x, 0).values.item() == 2
    for f in (fl.sum, fl.argmax, fl.cumsum, fl.sort):
        with pytest.raises(IndexError, match=r"expected to be in \[-1, 0\], but got 1"):
            f(x, dim=1)


def test_nan_goes_through():
    x = fl.asarray([1.0, NAN, 3.0])
    for value in (
        x.max(),
        x.min(),
        x.amax(0),
        x.max(0).values,
        fl.median(x),
        fl.maximum(x, 0.0)[1],
        fl.clamp(x, 0, 1)[1],
        F.relu6(x)[1],
        fl.relu(x)[1],
    ):
        assert math.isnan(value.item())
    assert x.argmax().item() == 1 == x.argmin().item() and fl.fmax(x, 0.0).tolist() == [1, 0, 3]
    assert fl.sort(x).values.tolist()[:2] == [1, 3] and math.isnan(fl.cummax(x, 0).values[2].item()) and fl.nansum(x).item() == 4


RAISES = [
    (lambda: fl.add(fl.ones(2), fl.ones(3)), RuntimeError, r"add\(float32\[2\], float32\[3\].*cannot be broadcast: sizes 2 and 3"),
    (lambda: fl.sum(fl.ones(2), 3), IndexError, "sum: dimension out of range"),
    (lambda: fl.sum(fl.ones(2, 2), (0, 0)), RuntimeError, "appears twice"),
    (lambda: fl.sum(fl.ones(2), dim="a"), TypeError, "sum: argument 'dim'"),
    (lambda: fl.mean(fl.ones(2, dtype=fl.int64)), RuntimeError, r"mean: input must have a float or complex dtype, got int64\[2\]"),
    (lambda: fl.amax(fl.zeros((0, 2)), 0), IndexError, "float32\\[0,2\\]"),
    (lambda: fl.where(fl.ones(2), 1.0, 2.0), RuntimeError, r"condition must be a bool Array, got float32\[2\]"),
    (lambda: fl.masked_fill(fl.ones(2, dtype=fl.int64), fl.asarray([True, False]), 1.5), RuntimeError, "masked_fill.*1.5"),
    (lambda: fl.lt(fl.asarray(1j), 2), TypeError, "complex"),
    (lambda: fl.imag(fl.ones(2)), RuntimeError, "imag: expected a complex dtype"),
    (lambda: fl.sign(fl.asarray(1j)), RuntimeError, "use sgn"),
    (lambda: fl.complex(fl.ones(2), fl.ones(2, dtype=fl.float64)), RuntimeError, "the same for both"),
    (lambda: fl.clamp(fl.ones(2)), RuntimeError, "min and max"),
    (lambda: fl.div(fl.ones(2), 2, rounding_mode="up"), RuntimeError, "'up'"),
    (lambda: fl.bitwise_not(fl.ones(2)), TypeError, "float32"),
    (lambda: fl.topk(fl.ones(2), 3), RuntimeError, r"k must be in \[0, 2\]"),
    (lambda: fl.sort(fl.asarray([1j])), RuntimeError, "no order"),
    (lambda: fl.zeros(2, -1), RuntimeError, "must not be negative"),
    (lambda: fl.zeros(), TypeError, "size is missing"),
    (lambda: fl.zeros("a"), TypeError, "size must be ints"),
    (lambda: fl.full((2,), 1j, dtype=fl.float32), RuntimeError, "take the real part"),
    (lambda: fl.tril(fl.ones(2)), RuntimeError, "at least 2 dimensions"),
    (lambda: fl.ones(2) + object(), TypeError, "unsupported operand"),
    (lambda: fl.add(fl.ones(2), object()), TypeError, "add: argument 'other' must be an Array or a number, got object"),
    (lambda: fl.add(fl.ones(2, dtype=fl.int64), fl.ones(2, dtype=fl.int64), alpha=1.5), RuntimeError, "alpha"),
    (lambda: F.glu(fl.ones(3)), RuntimeError, "must be even"),
    (lambda: F.gelu(fl.ones(2), "x"), RuntimeError, "'none' or 'tanh'"),
    (lambda: F.leaky_relu(fl.ones(2, dtype=fl.int64)), RuntimeError, "leaky_relu: input must have a float dtype"),
    (lambda: fl.norm(fl.ones(2), p="nuc"), RuntimeError, "expected two dimensions"),
    (lambda: fl.logsumexp(fl.ones(2), 5), IndexError, "logsumexp"),
]  # fmt: skip


@pytest.mark.parametrize("f, error, message", RAISES)
def test_bad_input(f, error, message):
    with pytest.raises(error, match=message):
        f()

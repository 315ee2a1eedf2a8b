"""What statistics, masked ops, differences, histograms and ops of dynamic size do at their edges, as PyTorch does."""

import math

import numpy as np
import pytest

import functorch_lite as fl
import functorch_lite.torch as torch
from functorch_lite.errors import ConcretizationError

NAN, INF = math.nan, math.inf


def same(got, expected):
    np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=1e-6)


# ------------------------------------------------------------------------------------------------- ties, NaN, infinity


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (fl.median, [1.0, 2.0, 2.0, 3.0, 2.0], [0, 1 / 3, 1 / 3, 0, 1 / 3]),
        (fl.nanmedian, [NAN, 2.0, 2.0, 3.0, NAN], [0, 0.5, 0.5, 0, 0]),
        (fl.nanmedian, [NAN, NAN], [0.5, 0.5]),
        (fl.amax, [2.0, 1.0, 2.0], [0.5, 0, 0.5]),
        (lambda x: fl.max(x, 0).values, [2.0, 1.0, 2.0], [1, 0, 0]),
        (lambda x: fl.mode(x).values, [3.0, 1.0, 2.0, 1.0, 3.0], [0, 0, 0, 1, 0]),
        (lambda x: fl.cummax(x, 0).values.sum(), [1.0, 1.0, 0.0], [1, 2, 0]),
        (lambda x: fl.masked.amax(x, mask=fl.asarray([True, False, True])), [2.0, 9.0, 2.0], [0.5, 0, 0.5]),
        (lambda x: fl.masked.std(x, mask=fl.asarray([True, False, True])), [2.0, 9.0, 2.0], [0, 0, 0]),
    ],
)
def test_who_gets_the_derivative(f, x, expected):
    same(fl.grad(lambda x: f(x))(fl.asarray(np.array(x, np.float32))), expected)


def test_a_row_without_elements_gives_no_nan_to_what_is_masked():
    x, mask = fl.asarray(np.ones((2, 3), np.float32)), fl.asarray([[True, True, False], [False, False, False]])
    for f in (fl.masked.mean, fl.masked.var, fl.masked.sum, fl.masked.logsumexp):
        chosen = lambda x: fl.where(mask.any(1), f(x, 1, mask=mask), 0.0).sum()
        assert np.isfinite(np.asarray(fl.grad(chosen)(x))).all(), f


@pytest.mark.parametrize(
    ("q", "interpolation", "expected"),
    [(0.5, "linear", 2.5), (0.5, "lower", 2), (0.5, "higher", 3), (0.5, "midpoint", 2.5), (1 / 6, "nearest", 1), (0.5, "nearest", 3)],
)
def test_quantiles_between_places(q, interpolation, expected):
    same(fl.quantile(fl.asarray([4.0, 1.0, 3.0, 2.0]), q, interpolation=interpolation), expected)


def test_quantiles_of_nan_and_infinity():
    q = fl.asarray([0.0, 0.5, 1.0])
    same(fl.quantile(fl.asarray([1.0, INF, INF]), q), [1, INF, INF])
    same(fl.quantile(fl.asarray([1.0, NAN, 3.0]), q), [NAN, NAN, NAN])
    same(fl.nanquantile(fl.asarray([[1.0, NAN, 3.0], [NAN, NAN, NAN]]), q, 1), [[1, NAN], [2, NAN], [3, NAN]])
    same(fl.grad(lambda q: fl.quantile(fl.asarray([1.0, 2.0, 4.0]), q))(fl.asarray(0.3)), 2)


def test_unique_tells_every_nan_apart():
    assert fl.unique(fl.asarray([NAN, 1.0, NAN, 1.0])).shape == (3,)
    values, inverse, counts = fl.unique(fl.asarray([[1, 2], [1, 2], [0, 3]]), dim=0, return_inverse=True, return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([[0, 3], [1, 2]], [1, 1, 0], [1, 2])
    assert fl.unique(fl.zeros(0, 3), dim=0).shape == (0, 3)


# -------------------------------------------------------------------------------------------------------- dynamic sizes

DYNAMIC = {
    "unique": lambda x, **size: fl.unique(x, **size),
    "unique_consecutive": lambda x, **size: fl.unique_consecutive(x, **size),
    "nonzero": lambda x, **size: fl.nonzero(x, **size)[:, 0],
    "argwhere": lambda x, **size: fl.argwhere(x, **size)[:, 0],
    "masked_select": lambda x, **size: fl.masked_select(x, x > 0, **size),
}


@pytest.mark.parametrize("name", DYNAMIC)
@pytest.mark.parametrize("transform", [fl.jit, fl.vmap], ids=["jit", "vmap"])
def test_dynamic_sizes_are_given_in_programs(name, transform):
    f, rows = DYNAMIC[name], np.array([[3.0, 0.0, 3.0, 3.0], [0.0, 0.0, 7.0, 0.0]], np.float32)
    x = fl.asarray(rows if transform is fl.vmap else rows[0])
    with pytest.raises(ConcretizationError, match=f"(nonzero|{name}): .*size="):
        transform(f)(x)
    got = np.asarray(transform(lambda x: f(x, size=4))(x))
    for row, out in zip(rows, np.atleast_2d(got)):
        expected = np.asarray(f(fl.asarray(row)))
        same(out[: len(expected)], expected)


def test_the_gradient_of_what_is_unique():
    x = fl.asarray([3.0, 1.0, 3.0])
    weigh = lambda values: (values * fl.asarray([1.0, 10.0])).sum()
    same(fl.grad(lambda x: weigh(fl.unique(x)))(x), [10, 1, 0])
    same(fl.grad(lambda x: weigh(fl.unique(x, size=2)))(x), [10, 1, 0])


# -------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda t: torch.quantile(t, 1.5), RuntimeError, r"quantile: q must be in the range \[0, 1\], got 1.5"),
        (lambda t: torch.quantile(t, torch.tensor([1.5])), RuntimeError, "quantile: q must be in the range"),
        (lambda t: torch.quantile(t.int(), 0.5), RuntimeError, r"quantile: input must be float32 or float64, got int32\[2,3\]"),
        (lambda t: torch.quantile(t, torch.ones(1, dtype=torch.float64)), RuntimeError, "the dtype of input, got q float64"),
        (lambda t: torch.quantile(t, 0.5, interpolation="x"), RuntimeError, "one of linear, lower, higher, midpoint or nearest, got 'x'"),
        (lambda t: torch.nanmedian(torch.zeros(0, 3), 0), IndexError, "nanmedian: expected at least one element along dim 0"),
        (lambda t: torch.mode(torch.zeros(0)), IndexError, "mode: expected at least one element"),
        (lambda t: torch.masked.sum(t, mask=torch.ones(1, 2, 3)), IndexError, "sum: mask must have at most as many dimensions"),
        (lambda t: torch.masked.sum(t, mask=torch.ones(2)), RuntimeError, "broadcast"),
        (lambda t: torch.masked.mean(t.int()), ValueError, "mean: expected a float or complex dtype, got int32"),
        (lambda t: torch.masked.median(t.int(), 1, mask=torch.zeros(2, 3)), ValueError, "an element that counts in each row"),
        (lambda t: torch.diff(t, -1), RuntimeError, "must not be negative, got -1"),
        (lambda t: torch.diff(t, prepend=t[0]), RuntimeError, r"prepend must have the shape of input .*, got float32\[3\]"),
        (lambda t: torch.gradient(t, edge_order=3), RuntimeError, "edge_order must be 1 or 2, got 3"),
        (lambda t: torch.gradient(t, spacing=[0.1]), RuntimeError, "for each of 2 dimensions"),
        (lambda t: torch.gradient(t[:, :1]), RuntimeError, r"at least edge_order \+ 1 = 2 elements along 1"),
        (lambda t: torch.trapezoid(t, torch.ones(2)), RuntimeError, "x must have a place for each of the 3 samples"),
        (lambda t: torch.trapezoid(t > 0), RuntimeError, "y must be numbers, got bool"),
        (lambda t: torch.histc(t, bins=0), RuntimeError, "histc: bins must be positive, got 0"),
        (lambda t: torch.histc(t * NAN), RuntimeError, "histc: the range of the elements is not finite"),
        (lambda t: torch.histogram(t, torch.ones(3, dtype=torch.float64)), RuntimeError, "bins must have the dtype of input"),
        (lambda t: torch.histogramdd(t, [2, 2]), RuntimeError, "a number of bins for each coordinate"),
        (lambda t: torch.unique(t, dim=2), IndexError, "unique: dimension out of range"),
        (lambda t: torch.unique(torch.zeros(3, 0), dim=0), RuntimeError, "rows along dimension 0 must have elements"),
        (lambda t: torch.max(3, t), TypeError, "max: argument 'input' must be an Array, got int"),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        np.asarray(call(torch.ones(2, 3)))


def test_names_that_pytorch_has():
    assert fl.trapz is fl.trapezoid
    assert torch.histogram(torch.ones(3), 2).bin_edges.tolist() == [0.5, 1.0, 1.5]
    assert torch.ones(3).histogram(2).hist.tolist() == [0.0, 3.0]
    assert [e.tolist() for e in torch.histogramdd(torch.ones(3, 2), 1).bin_edges] == [[0.5, 1.5]] * 2
    x = torch.tensor([[3, 1], [1, 2]])
    assert torch.msort(x).tolist() == [[1, 1], [3, 2]] == x.msort().tolist()
    assert [y.tolist() for y in torch.tensor(5).nonzero(as_tuple=True)] == [[0]]


def test_counts_of_small_unsigned_integers():
    assert fl.bincount(fl.asarray([1, 3], dtype=fl.uint8)).tolist() == [0, 1, 0, 1]
    assert fl.bincount(fl.zeros(0, dtype=fl.uint8), minlength=2).tolist() == [0, 0]

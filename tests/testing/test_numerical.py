"""gradcheck, gradgradcheck and assert_close: right functions pass, wrong ones fail with a message that helps."""

import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite.testing import GradcheckError, assert_close, gradcheck, gradgradcheck

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal(3), RNG.standard_normal((2, 3))
Z = RNG.standard_normal(2) + 1j * RNG.standard_normal(2)
EVERY = {"check_forward_ad": True, "check_batched_grad": True}


def wrong_sin():
    @fl.custom_vjp
    def f(x):
        return fl.sin(x)

    f.defvjp(lambda x: (fl.sin(x), x), lambda x, ct: (ct * fl.sin(x),))
    return f


@pytest.mark.parametrize("fast_mode", [False, True])
def test_right_functions_pass(fast_mode):
    options = EVERY | {"fast_mode": fast_mode}
    assert gradcheck(fl.sin, X, **options)
    assert gradcheck(lambda x, y: {"a": (x * y, x), "b": [fl.exp(y)]}, (X, Y), **options)
    assert gradcheck(lambda p: fl.tanh(p["w"] * p["x"]["y"]), ({"w": X, "x": {"y": Y}},), **options)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_complex_functions_pass(fast_mode):
    options = EVERY | {"fast_mode": fast_mode}
    assert gradcheck(lambda z: z * z, (Z,), **options)
    assert gradcheck(lambda z: fl.real(z) * 2.0, (Z,), **options), "not holomorphic"
    assert gradcheck(fl.conj, (Z,), **options)
    assert gradcheck(lambda x: x * (1 + 2j), (X,), **options), "real to complex"


@pytest.mark.parametrize("fast_mode", [False, True])
def test_wrong_functions_fail(fast_mode):
    with pytest.raises(
        GradcheckError, match=r"Jacobian of output.* with respect to input 0 by backward mode.* differs from finite diff"
    ) as e:
        gradcheck(wrong_sin(), (X,), fast_mode=fast_mode)
    assert ("seed 0" in str(e.value)) == fast_mode
    assert ("numerical:" in str(e.value)) != fast_mode or fast_mode
    assert not gradcheck(wrong_sin(), (X,), fast_mode=fast_mode, raise_exception=False)


def test_the_message_names_the_leaf():
    with pytest.raises(GradcheckError, match=r"output\['out'\]\[1\] with respect to input 1\['w'\]"):
        gradcheck(lambda x, p: {"out": (x, wrong_sin()(p["w"]))}, (X, {"w": X}))


def test_forward_mode_is_checked_when_asked():
    @fl.custom_jvp
    def f(x):
        return x * x

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * primals[0]))
    with pytest.raises(GradcheckError, match="forward mode"):
        gradcheck(f, (X,), check_forward_ad=True, check_backward_ad=False)


def test_integers_and_non_differentiable_outputs_do_not_take_part():
    assert gradcheck(lambda x, n: (x * n, x > 0), (X, np.array(2.0)), **EVERY)
    assert gradcheck(lambda p: p["x"] * p["n"], ({"n": 3, "x": X},), **EVERY)
    with pytest.raises(ValueError, match="no output of the function is float or complex"):
        gradcheck(lambda x: x > 0, (X,))
    with pytest.raises(TypeError, match="must return Arrays"):
        gradcheck(lambda x: "x", (X,))


def test_low_precision_is_warned_about():
    with pytest.warns(UserWarning, match=r"input 0 is float32"):
        gradcheck(fl.sin, (X.astype(np.float32),), eps=1e-2, atol=1e-2, rtol=1e-1)


def test_second_derivatives():
    assert gradgradcheck(lambda x: fl.exp(x) * x, (X,), check_forward_ad=True)
    assert gradgradcheck(lambda z: z * z * z, (Z,))
    assert gradgradcheck(lambda x, y: {"a": x * x * y}, (X, Y), grad_outputs={"a": np.ones((2, 3))})

    def hides(x):
        return x * fl.stop_gradient(x) + fl.stop_gradient(x) * x - fl.stop_gradient(x * x)  # its gradient is right, not its second

    assert gradcheck(hides, (X,))
    with pytest.raises(GradcheckError):
        gradgradcheck(hides, (X,))


# ------------------------------------------------------------------------------------------------------- assert_close


def test_assert_close_compares_trees():
    assert_close({"a": fl.asarray([1.0, 2.0]), "b": (1, None)}, {"b": (1, None), "a": np.array([1.0, 2.0], np.float32)})
    assert_close(fl.asarray(1.0), 1.0 + 1e-7)
    assert_close(fl.asarray([1, 2]), np.array([1, 2]))
    with pytest.raises(ValueError, match="'a'"):
        assert_close({"b": 1.0}, {"a": 1.0})


@pytest.mark.parametrize(
    "actual, expected, words",
    [
        (np.zeros(2), np.zeros(3), r"expected shape \[3\], got \[2\]"),
        (np.zeros(2, np.float32), np.zeros(2), "expected dtype float64, got float32"),
        (np.array([1, 2]), np.array([1, 3]), r"1 of 2 elements differ \(int64\[2\]\).*index \[1\]: 2, expected 3"),
        (np.array([0.0, np.nan]), np.zeros(2), r"One is not finite at index \[1\]: nan"),
        (np.array([np.nan]), np.array([np.nan]), "nan"),
        (np.array([1.0, np.inf]), np.array([1.0, -np.inf]), "not finite"),
        (np.array([1 + 1j]), np.array([1 + 2j]), r"largest difference is 1 "),
        (np.array(1.0), np.array(1.1), "largest difference is 0.1: 1.0, expected 1.1"),
    ],
)
def test_assert_close_says_what_differs(actual, expected, words):
    with pytest.raises(AssertionError, match=words):
        assert_close(actual, expected)


def test_assert_close_tolerances():
    assert_close(np.array([np.nan, np.inf]), np.array([np.nan, np.inf]), equal_nan=True)
    assert_close(np.float32(1), np.float32(1 + 1e-6))
    with pytest.raises(AssertionError):
        assert_close(np.float64(1), np.float64(1 + 1e-6))
    assert_close(np.float64(1), np.float64(1.5), rtol=0, atol=0.5)
    assert_close(np.zeros((0, 3)), np.zeros((0, 3)))
    with pytest.raises(ValueError, match="both or neither"):
        assert_close(1.0, 1.0, rtol=1.0)

"""Gradients where a function is not smooth: PyTorch's choices, which finite differences cannot check."""

import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite.errors import MissingRuleError
from functorch_lite.prims import compare, elementwise, special, trig

INF, NAN = np.inf, np.nan

GRADIENTS = [  # op, arguments, what each of them gets
    (elementwise.abs, (0.0,), (0.0,)),
    (elementwise.abs, (0j,), (0j,)),
    (elementwise.sign, (0j,), (0j,)),
    (elementwise.sqrt, (0.0,), (INF,)),
    (elementwise.pow, (0.0, 0.0), (0.0, 0.0)),
    (elementwise.pow, (0.0, 2.0), (0.0, 0.0)),
    (elementwise.pow, (0.0, 1.0), (1.0, 0.0)),
    (elementwise.pow, (-2.0, 3.0), (12.0, NAN)),
    (elementwise.pow, (0j, 2 + 0j), (0j, 0j)),
    (elementwise.rem, (5.0, 3.0), (1.0, -1.0)),
    (trig.atan2, (0.0, 0.0), (0.0, 0.0)),
    (compare.maximum, (1.0, 1.0), (0.5, 0.5)),
    (compare.minimum, (1.0, 1.0), (0.5, 0.5)),
    (compare.maximum, (NAN, 1.0), (1.0, 1.0)),
    (compare.clamp, (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)),
    (compare.clamp, (1.0, 0.0, 1.0), (1.0, 0.0, 0.0)),
    (compare.clamp, (2.0, 0.0, 1.0), (0.0, 0.0, 1.0)),
    (compare.clamp, (0.0, 2.0, 1.0), (0.0, 0.0, 1.0)),  # an empty interval: high it is
    (special.i1, (0.0,), (0.5,)),
    (special.i1e, (0.0,), (0.5,)),
]


@pytest.mark.parametrize("op, args, expected", GRADIENTS, ids=lambda x: x.__name__ if callable(x) else str(x))
def test_gradient(op, args, expected):
    out, pullback = fl.vjp(op, *map(np.asarray, args))
    found = [g.buffer for g in pullback(np.ones_like(out.buffer))]
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


SINGULAR = [
    (elementwise.sqrt, (0.0,)),
    (elementwise.rsqrt, (0.0,)),
    (elementwise.cbrt, (0.0,)),
    (elementwise.log, (0.0,)),
    (elementwise.log2, (0.0,)),
    (elementwise.log1p, (-1.0,)),
    (elementwise.div, (0.0, 0.0)),
    (elementwise.reciprocal, (0.0,)),
    (elementwise.pow, (0.0, -1.0)),
    (elementwise.integer_pow, (0.0, -1)),
    (trig.asin, (1.0,)),
    (trig.acos, (-1.0,)),
    (trig.acosh, (1.0,)),
    (trig.atanh, (1.0,)),
    (special.erfinv, (1.0,)),
    (special.lgamma, (0.0,)),
]


@pytest.mark.parametrize("op, args", SINGULAR, ids=lambda x: x.__name__ if callable(x) else str(x))
def test_a_zero_cotangent_stays_zero_at_a_pole(op, args):
    """So the branch of a `where` that is not taken never poisons a gradient."""
    arrays, statics = [np.asarray(x) for x in args if not isinstance(x, int)], [x for x in args if isinstance(x, int)]
    out, pullback = fl.vjp(lambda *xs: op(*xs, *statics), *arrays)
    found = [g.buffer for g in pullback(np.zeros_like(out.buffer))]
    np.testing.assert_array_equal(np.asarray(found), np.zeros(len(arrays)))


VALUES = [  # op, arguments, value: where XLA and PyTorch differ, it is PyTorch's
    (elementwise.sign, (NAN,), 0.0),
    (elementwise.pow, (0j, 0.5 + 0.3j), 0j),
    (elementwise.exp2, (10.0,), 1024.0),
    (elementwise.log2, (8.0,), 3.0),
    (elementwise.log10, (1000.0,), 3.0),
    (special.digamma, (0.0,), -INF),
    (special.digamma, (-0.0,), INF),
    (special.zeta, (3.0, -1.0), INF),
    (compare.maximum, (NAN, 1.0), NAN),
    (compare.minimum, (1.0, NAN), NAN),
    (compare.clamp, (1.0, NAN, 2.0), NAN),
]


@pytest.mark.parametrize("op, args, expected", VALUES, ids=lambda x: x.__name__ if callable(x) else str(x))
def test_value(op, args, expected):
    np.testing.assert_array_equal(op(*map(np.asarray, args)).buffer, expected)


@pytest.mark.parametrize("op", [elementwise.rem, elementwise.trunc_div], ids=lambda op: op.__name__)
def test_an_integer_zero_divides_nothing(op):
    x, y = np.array([7, -7]), np.array([2, 0])
    with pytest.raises(RuntimeError, match=f"{op.__name__}: ZeroDivisionError"):
        op(x, y)
    assert fl.jit(op)(x, y).shape == (2,)  # unchecked, and nothing dies


def test_a_derivative_without_closed_form_says_so():
    with pytest.raises(MissingRuleError, match="zeta: its derivative with respect to 'x'"):
        fl.grad(lambda x: special.zeta(x, x))(2.5)

"""Special functions where they are easily wrong: left of 0, near zeros, far out. The values are mpmath's, with 40 digits."""

import numpy as np
import pytest

import functorch_lite as fl
import functorch_lite.torch as torch
from functorch_lite.errors import DtypeError, MissingRuleError

VALUES = [
    (lambda: fl.polygamma(1, number(-7.950586795806885)), 412.74422317252108),
    (lambda: fl.polygamma(2, number(-4.25)), 123.981264367327579),
    (lambda: fl.special.bessel_j0(number(2.4048)), 0.0000132682843011715677),
    (lambda: fl.special.bessel_j1(number(3.8317)), 2.40455904310363208e-6),
    (lambda: fl.special.bessel_y0(number(20)), 0.0626405968093838312),
    (lambda: fl.special.bessel_j0(number(8610)), 0.00270555061632288798),
    (lambda: fl.special.modified_bessel_k0(number(0.001)), 7.02368880056238132),
    (lambda: fl.special.airy_ai(number(-15.5)), -0.166447954090419767),
    (lambda: fl.special.airy_ai(number(10)), 1.10475325528986859e-10),
]


@pytest.mark.parametrize("call, expected", VALUES, ids=[str(i) for i in range(len(VALUES))])
def test_values(call, expected):
    assert call().item() == pytest.approx(expected, rel=3e-14)


def number(x):
    return fl.asarray(np.float64(x))


def test_zeta_left_of_zero():
    q = fl.asarray(np.array([-3.5, -3.0, -1e-20, 0.0]))
    assert fl.special.zeta(2.0, q).tolist() == pytest.approx([9.620879298868, np.inf, 1e40, np.inf])
    assert fl.special.zeta(2.5, q).isnan().tolist() == [True, False, True, False]
    assert fl.special.zeta(0.5, q).isnan().all() and fl.special.zeta(1.0, q).isinf().all()


def test_degrees_beyond_data_do_not_loop():
    """Chebyshev polynomials between -1 and 1 have a closed form, so a huge degree costs nothing."""
    assert fl.special.chebyshev_polynomial_t(fl.asarray([1.0, -1.0, 0.5]), 3_000_000).tolist()[:2] == [1.0, 1.0]
    assert fl.special.legendre_polynomial_p(fl.asarray([0.5]), fl.asarray([[2.7], [-1.0]])).tolist() == [[-0.125], [0.0]]


@pytest.mark.parametrize("f", [lambda x: fl.special.airy_ai(x), lambda x: fl.special.legendre_polynomial_p(x, 2)])
def test_what_has_no_derivative_says_so(f):
    with pytest.raises(MissingRuleError, match="derivative"):
        fl.grad(f)(0.5)


def test_resolve_conj_is_not_conj():
    x = fl.asarray([1 + 2j])
    assert x.resolve_conj().tolist() == [1 + 2j] and fl.resolve_conj(fl.conj(x)).tolist() == [1 - 2j]


def test_numbers_where_pytorch_wants_tensors():
    x = torch.tensor([1.0, 2.0])
    for call in (lambda: torch.maximum(x, 1.0), lambda: x.atan2(1), lambda: torch.eq(2, x), lambda: torch.remainder(2, 3)):
        with pytest.raises(TypeError):
            call()
    assert torch.remainder(5, x).tolist() == [0, 1] and (2 == x).tolist() == [False, True]
    assert fl.maximum(fl.asarray([1.0, 5.0]), 3).tolist() == [3, 5]


@pytest.mark.parametrize("kind", [RuntimeError, TypeError, DtypeError])
def test_a_dtype_that_an_op_is_not_for(kind):
    with pytest.raises(kind, match="complex64"):
        fl.lt(fl.asarray([1j]), fl.asarray([1.0]))


def test_half_width_floats_are_rounded_once():
    x = fl.asarray(np.float32([-8.875, -7.03125, 3.015625, 1.0078125]))
    exact = fl.sinc(x).to(fl.bfloat16)
    assert fl.sinc(x.to(fl.bfloat16)).tolist() == exact.tolist()


def test_what_can_be_cast():
    assert fl.can_cast(fl.float64, fl.float16) and not fl.can_cast(fl.float32, fl.int64) and not fl.can_cast(fl.int64, fl.bool)

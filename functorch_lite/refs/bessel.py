"""Bessel and Airy functions and orthogonal polynomials, by name: all of `fl.special`."""

from __future__ import annotations

from ..core.op import Tensor, composite
from ..prims import bessel, elementwise, polynomials
from ..prims.algebra import one_like
from .families import ONE, unary
from .promotion import promoted
from .special import i0, i1

_ours = {"namespace": "fl.special", "method": False, "inexact": True}
airy_ai = unary("airy_ai", bessel.airy_ai, **_ours)
bessel_j0 = unary("bessel_j0", bessel.bessel_j0, "fl.special.bessel_j0(fl.asarray([0.0])) -> [1.0]", **_ours)
bessel_j1 = unary("bessel_j1", bessel.bessel_j1, "fl.special.bessel_j1(fl.asarray([0.0])) -> [0.0]", **_ours)
bessel_y0 = unary("bessel_y0", bessel.bessel_y0, "fl.special.bessel_y0(fl.asarray([0.0])) -> [-inf]", **_ours)
bessel_y1 = unary("bessel_y1", bessel.bessel_y1, "fl.special.bessel_y1(fl.asarray([0.0])) -> [-inf]", **_ours)
modified_bessel_i0, modified_bessel_i1 = i0, i1
modified_bessel_k0 = unary("modified_bessel_k0", bessel.modified_bessel_k0, **_ours)
modified_bessel_k1 = unary("modified_bessel_k1", bessel.modified_bessel_k1, **_ours)
scaled_modified_bessel_k0 = unary("scaled_modified_bessel_k0", bessel.scaled_modified_bessel_k0, **_ours)
scaled_modified_bessel_k1 = unary("scaled_modified_bessel_k1", bessel.scaled_modified_bessel_k1, **_ours)
spherical_bessel_j0 = unary(
    "spherical_bessel_j0", bessel.spherical_bessel_j0, "fl.special.spherical_bessel_j0(fl.asarray([0.0])) -> [1.0]", **_ours
)


def _polynomial(name: str, kind: str, whose: str, example: list, shifted: bool = False):
    def f(input: Tensor, n: Tensor) -> Tensor:
        x, degree = promoted(input, n, inexact=True)
        if shifted:
            x = elementwise.sub(elementwise.add(x, x), one_like(x))
        return polynomials.polynomial(x, degree, kind)

    def reference(x, n):
        return polynomials.polynomial.op.reference(2 * x - 1 if shifted else x, n, kind)

    name = f"{'shifted_' * shifted}{name}"
    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"The {whose} polynomial of degree n at {'2 * input - 1' if shifted else 'input'}, elementwise, promoted and broadcast; integers become "
        "float32. The degree, a number or an array, is truncated to an integer, and negative ones give 0. It has no derivative, as in PyTorch.\n\n"
        f">>> import functorch_lite as fl\n>>> fl.special.{name}(fl.asarray([0.5, 2.0]), 2).tolist()\n{example}\n"
    )
    return composite(f, namespace="fl.special", reference=reference, traits=ONE)


_CHEBYSHEV = {  # kind: (whose, its values of degree 2 at 0.5 and 2, and at 0 and 3)
    "t": ("Chebyshev (first kind)", [-0.5, 7.0], [-1.0, 17.0]),
    "u": ("Chebyshev (second kind)", [0.0, 15.0], [-1.0, 35.0]),
    "v": ("Chebyshev (third kind)", [-1.0, 11.0], [-1.0, 29.0]),
    "w": ("Chebyshev (fourth kind)", [1.0, 19.0], [-1.0, 41.0]),
}
chebyshev_polynomial_t, chebyshev_polynomial_u, chebyshev_polynomial_v, chebyshev_polynomial_w = (
    _polynomial(f"chebyshev_polynomial_{k}", f"chebyshev_{k}", whose, at) for k, (whose, at, _) in _CHEBYSHEV.items()
)
(
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
) = (_polynomial(f"chebyshev_polynomial_{k}", f"chebyshev_{k}", whose, at, shifted=True) for k, (whose, _, at) in _CHEBYSHEV.items())
hermite_polynomial_h = _polynomial("hermite_polynomial_h", "hermite_h", "Hermite (physicists')", [-1.0, 14.0])
hermite_polynomial_he = _polynomial("hermite_polynomial_he", "hermite_he", "Hermite (probabilists')", [-0.75, 3.0])
laguerre_polynomial_l = _polynomial("laguerre_polynomial_l", "laguerre_l", "Laguerre", [0.125, -1.0])
legendre_polynomial_p = _polynomial("legendre_polynomial_p", "legendre_p", "Legendre", [-0.125, 5.5])

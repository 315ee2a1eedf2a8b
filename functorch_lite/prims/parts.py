"""Complex numbers and their parts: the real-linear prims with which non-holomorphic derivatives are written."""

from __future__ import annotations

import numpy as np
from jax import lax

from ..core.aval import aval
from ..core.dtype import COMPLEX
from . import algebra
from .families import FLOATING, linear_pointwise, require, require_category, same_meta

COMPLEXES = frozenset((COMPLEX,))

conj = linear_pointwise("conj", lax.conj, lambda ct, x: (conj(ct),), categories=COMPLEXES, reference=np.conj, doc="The complex conjugate.")


def conj_of(x):
    """The conjugate where there is one to take."""
    return conj(x) if x.dtype.is_complex else x


def _part_meta(name):
    def meta(x):
        require_category(name, [x], COMPLEXES)
        return aval(x.shape, x.dtype.to_real())

    return meta


real = linear_pointwise(
    "real", lax.real, lambda ct, x: (complex(ct, algebra.zeros(ct.aval)),), meta=_part_meta("real"), reference=np.real, doc="The real part."
)
imag = linear_pointwise(
    "imag",
    lax.imag,
    lambda ct, x: (complex(algebra.zeros(ct.aval), ct),),
    meta=_part_meta("imag"),
    reference=np.imag,
    doc="The imaginary part.",
)


def _complex_meta(re, im):
    ok = re.dtype.to_complex().to_real() is re.dtype
    require(ok, "complex", f"complex numbers are made of float32 or float64, got {re}, {im}; convert with .to(dtype)", TypeError)
    return _complex_same(re, im)


_complex_same = same_meta("complex", FLOATING, out_of=lambda d: d.to_complex())


def _complex_transpose(ct, re, im):
    return real(ct) if re.__class__ is algebra.Linear else None, imag(ct) if im.__class__ is algebra.Linear else None


complex = linear_pointwise(
    "complex",
    lax.complex,
    _complex_transpose,
    arity=2,
    meta=_complex_meta,
    reference=lambda re, im: re + 1j * im,
    doc="The complex number with these parts.",
)

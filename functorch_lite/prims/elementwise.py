"""Elementwise prims: a table, one line each where one line says it all."""

from __future__ import annotations

import numpy as np
from jax import lax

from ..core.aval import aval
from . import algebra
from .families import FLOATING, INEXACT, NUMERIC, bilinear, elementwise, linear_pointwise, require_category, same_meta

# ------------------------------------------------------------------------------------------------------ arithmetic


def _add_jvp(ans, primals, tangents):
    return algebra.total(tangents)


def _ct_each(ct, *args):
    return tuple([ct if x.__class__ is algebra.Linear else None for x in args])


add = linear_pointwise("add", lax.add, _ct_each, arity=2, reference=np.add, doc="x + y.")
add.op.jvp = _add_jvp

neg = linear_pointwise("neg", lax.neg, lambda ct, x: (neg(ct),), reference=np.negative, doc="-x.")


def conj_of(x):
    """The conjugate where there is one to take."""
    return conj(x) if x.dtype.is_complex else x


mul = bilinear(
    "mul",
    "x: Tensor, y: Tensor",
    impl=lax.mul,
    meta=same_meta("mul", NUMERIC),
    left=lambda ct, x, y: mul(ct, conj_of(y)),
    right=lambda ct, x, y: mul(conj_of(x), ct),
    batch=lambda size, args, dims: _mul_batch(mul, size, args, dims),
    reference=np.multiply,
    doc="x * y.",
)


def _mul_batch(op, size, args, dims):
    args, dim = algebra.align(size, args, dims)
    return op(*args), dim


mul_no_nan = bilinear(
    "mul_no_nan",
    "x: Tensor, y: Tensor",
    impl=lambda x, y: lax.select(lax.eq(x, lax.full_like(x, 0)), lax.full_like(x, 0), lax.mul(x, y)),
    meta=same_meta("mul_no_nan", INEXACT),
    left=lambda ct, x, y: mul_no_nan(ct, conj_of(y)),
    right=lambda ct, x, y: mul_no_nan(conj_of(x), ct),
    batch=lambda size, args, dims: _mul_batch(mul_no_nan, size, args, dims),
    reference=lambda x, y: np.where(x == 0, np.zeros((), x.dtype), x * y),
    doc="x * y, and 0 where x is 0 even if y is infinite or NaN: the product of a tangent with a singular partial.",
)

# --------------------------------------------------------------------------------------------------- complex parts

conj = linear_pointwise(
    "conj", lax.conj, lambda ct, x: (conj(ct),), categories=frozenset((3,)), reference=np.conj, doc="The complex conjugate."
)


def _part_meta(name):
    def meta(x):
        require_category(name, [x], frozenset((3,)))
        return aval(x.shape, x.dtype.to_real())

    return meta


real = linear_pointwise(
    "real", lax.real, lambda ct, x: (complex(ct, algebra.zeros(ct.aval)),), meta=_part_meta("real"), reference=np.real, doc="The real part."
)
imag = linear_pointwise(
    "imag", lax.imag, lambda ct, x: (complex(algebra.zeros(ct.aval), ct),), meta=_part_meta("imag"), reference=np.imag, doc="The imaginary part."
)


def _complex_transpose(ct, re, im):
    return real(ct) if re.__class__ is algebra.Linear else None, imag(ct) if im.__class__ is algebra.Linear else None


complex = linear_pointwise(
    "complex",
    lax.complex,
    _complex_transpose,
    arity=2,
    meta=same_meta("complex", FLOATING, out_of=lambda d: d.to_complex()),
    reference=lambda re, im: re + 1j * im,
    doc="The complex number with these parts.",
)

# ------------------------------------------------------------------------------------------------------- functions

sin = elementwise("sin", lax.sin, lambda ans, x: cos(x), reference=np.sin, doc="The sine.")
cos = elementwise("cos", lax.cos, lambda ans, x: neg(sin(x)), reference=np.cos, doc="The cosine.")
exp = elementwise("exp", lax.exp, lambda ans, x: ans, reference=np.exp, doc="The exponential.")
tanh = elementwise(
    "tanh", lax.tanh, lambda ans, x: add(algebra.one_like(x), neg(mul(ans, ans))), reference=np.tanh, doc="The hyperbolic tangent."
)

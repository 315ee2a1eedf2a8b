"""Conversion between dtypes, by value and by bits."""

from __future__ import annotations

import numpy as np
from jax import lax

from ..core.aval import aval
from ..core.dtype import BOOL, COMPLEX, INTEGER, as_dtype, uint8
from .families import linear, pointwise_batch, require, rows_batch, zero

# --------------------------------------------------------------------------------------------------------- by value


def _convert_impl(x, dtype):
    if x.dtype == dtype.dtype:
        return x
    if dtype.category == BOOL:  # NaN and either part of a complex number count
        return lax.ne(x, lax.full_like(x, 0))
    if np.issubdtype(x.dtype, np.complexfloating) and dtype.category != COMPLEX:
        x = lax.real(x)
    if dtype.category == INTEGER and dtype.itemsize < 4 and x.dtype.kind not in "biu":
        x = lax.convert_element_type(x, np.int32)  # so that what does not fit wraps around, as in PyTorch; XLA saturates
    return lax.convert_element_type(x, dtype.dtype)


def _convert_reference(x, dtype):
    with np.errstate(invalid="ignore"):
        if np.iscomplexobj(x) and not dtype.is_complex:
            return x != 0 if dtype.category == BOOL else x.real.astype(dtype.dtype)
        return x.astype(dtype.dtype)


convert = linear(
    "convert_element_type",
    "x: Tensor, dtype: DType",
    impl=_convert_impl,
    meta=lambda x, dtype: aval(x.shape, dtype),
    transpose=lambda ct, x, dtype: (convert(ct, x.dtype),),  # from complex to real it is `real`, whose adjoint is embedding
    batch=pointwise_batch(lambda: convert),
    reference=_convert_reference,
    doc="""x as another dtype, by PyTorch's rules: floats are truncated to ints (which wrap around where they are narrow), a complex
    number keeps its real part, and whatever is not zero is True. The derivative is zero where an end is an integer or bool.""",
)
_linear_jvp = convert.op.jvp
convert.op.jvp = lambda ans, primals, tangents, dtype: _linear_jvp(ans, primals, tangents, dtype) if dtype.is_inexact else None

# ---------------------------------------------------------------------------------------------------------- by bits


def _bitcast_shape(x, dtype):
    """XLA's rule: wider elements are made of a last dimension of narrower ones, and fall apart into one."""
    wide, narrow = max(x.dtype.itemsize, dtype.itemsize), min(x.dtype.itemsize, dtype.itemsize)
    if wide == narrow:
        return x.shape
    return (*x.shape, wide // narrow) if x.dtype.itemsize == wide else x.shape[:-1]


def _bitcast_meta(x, dtype):
    plain = x.dtype is dtype or not (x.dtype.is_complex or dtype.is_complex)
    require(plain, "bitcast", f"complex numbers have no bits of their own, got {x} to {dtype}; take real and imag first", TypeError)
    ratio = dtype.itemsize // x.dtype.itemsize
    ok = ratio < 2 or x.ndim > 0 and x.shape[-1] == ratio
    require(ok, "bitcast", f"{dtype} is {ratio} times as wide as {x.dtype}, so the last dimension must have size {ratio}, got {x}")
    return aval(_bitcast_shape(x, dtype), dtype)


def _bitcast_impl(x, dtype):
    if x.dtype == dtype.dtype:
        return x
    if x.dtype == np.bool_:
        x = lax.convert_element_type(x, np.uint8)
    if dtype.category == BOOL:
        x = lax.bitcast_convert_type(x, np.uint8)
        return lax.ne(x, lax.full_like(x, 0))
    return lax.bitcast_convert_type(x, dtype.dtype)


def _bitcast_reference(x, dtype):
    shape = _bitcast_shape(aval(x.shape, as_dtype(x.dtype)), dtype)
    return np.frombuffer(x.tobytes(), (uint8 if dtype.category == BOOL else dtype).dtype).astype(dtype.dtype).reshape(shape)


bitcast = zero(
    "bitcast",
    "x: Tensor, dtype: DType",
    impl=_bitcast_impl,
    meta=_bitcast_meta,
    batch=rows_batch(lambda: bitcast),
    reference=_bitcast_reference,
    doc="""The bits of x read as another dtype. Narrower elements come in a new last dimension; wider ones are made of the last
    dimension, which must be of the right size.""",
)

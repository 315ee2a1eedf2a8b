"""Fourier transforms over the last one to three dimensions.

All are linear; their adjoints are transforms again, scaled by the number of points. A real signal's half spectrum stands
for the whole: each of its inner columns for two, which the adjoints of `rfft` and `irfft` account for.
"""

from __future__ import annotations

import math

import numpy as np
from jax import lax

from ..core.aval import aval
from . import algebra, compare, convert, create, elementwise, shape
from .families import linear, require, rows_batch

_KINDS = {"fft": lax.FftType.FFT, "ifft": lax.FftType.IFFT, "rfft": lax.FftType.RFFT, "irfft": lax.FftType.IRFFT}


def _meta(x, kind, lengths):
    require(kind in _KINDS, "fft_general", f"kind must be one of {', '.join(_KINDS)}, got {kind!r}")
    ok = 1 <= len(lengths) <= min(x.ndim, 3) and all(n > 0 for n in lengths)
    require(ok, kind, f"lengths must name 1 to 3 positive sizes of the last dimensions of {x}, got {lengths}", RuntimeError)
    real = kind == "rfft"
    right = x.dtype.is_floating_point and x.dtype.itemsize >= 4 if real else x.dtype.is_complex
    expected = "float32 or float64" if real else "complex64 or complex128"
    require(right, kind, f"expected {expected}, got {x}; convert with .to(dtype)", TypeError)
    half = (*lengths[:-1], lengths[-1] // 2 + 1)
    takes = half if kind == "irfft" else lengths
    gives = half if kind == "rfft" else lengths
    lead = x.shape[: x.ndim - len(lengths)]
    ok = x.shape[len(lead) :] == takes
    require(ok, kind, f"with lengths {lengths} the last dimensions must be {takes}, got {x}", RuntimeError)
    dtype = x.dtype.to_complex() if real else x.dtype.to_real() if kind == "irfft" else x.dtype
    return aval((*lead, *gives), dtype)


def _column_weights(like, length: int, inner: float):
    """1 for the columns of a half spectrum that stand for themselves (the first; the last, if length is even), else `inner`."""
    n = length // 2 + 1
    index = create.iota((n,), 0, like.dtype.to_real())

    def is_(k):
        return compare.eq(index, algebra.full_like(index, k))

    weights = compare.select(is_(0), algebra.one_like(index), algebra.full_like(index, inner))
    if length % 2 == 0:
        weights = compare.select(is_(n - 1), algebra.one_like(index), weights)
    return shape.broadcast(convert.convert(weights, like.dtype), like.shape, (like.ndim - 1,))


def _transpose(ct, x, kind, lengths):
    points = math.prod(lengths)
    if kind == "fft":
        return (elementwise.scaled(fft_general(ct, "ifft", lengths), points),)
    if kind == "ifft":
        return (elementwise.scaled(fft_general(ct, "fft", lengths), 1 / points),)
    if kind == "rfft":
        return (elementwise.scaled(fft_general(elementwise.mul(ct, _column_weights(ct, lengths[-1], 0.5)), "irfft", lengths), points),)
    out = elementwise.scaled(fft_general(ct, "rfft", lengths), 1 / points)
    return (elementwise.mul(out, _column_weights(out, lengths[-1], 2.0)),)


def _reference(x, kind, lengths):
    dims = tuple(range(x.ndim - len(lengths), x.ndim))
    out = getattr(np.fft, kind + "n")(x, lengths, dims)
    return out.astype(np.result_type(x, np.complex64) if kind != "irfft" else x.real.dtype)


fft_general = linear(
    "fft_general",
    "x: Tensor, kind: str, lengths: Dims",
    impl=lambda x, kind, lengths: lax.fft(x, _KINDS[kind], lengths),
    meta=_meta,
    transpose=_transpose,
    batch=rows_batch(lambda: fft_general),
    reference=_reference,
    doc="""The discrete Fourier transform (kind fft, ifft, rfft or irfft) over the last dimensions, of these lengths (those of the
    signal, where x is a half spectrum); inverses divide by their product.""",
)

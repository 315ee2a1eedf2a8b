"""Prims that leave the program: a host function called from within it, for its value or for its effect."""

from __future__ import annotations

import jax
import numpy as np
from jax import lax

from ..core.aval import aval
from ..core.dtype import as_dtype
from ..core.record import Record
from . import algebra
from .families import prim


class Rows(Record):
    """A host function applied to each row of its batched arguments, one after another."""

    function: object
    size: int
    batched: tuple[bool, ...]

    def __call__(self, *arrays):
        outs = [self.function(*[x[i] if b else x for x, b in zip(arrays, self.batched)]) for i in range(self.size)]
        return tuple([np.stack(column) for column in zip(*outs)])


# jax hands 64-bit data to host functions in 32 bits unless its global setting says otherwise. That setting is the user's, so
# 64-bit arrays cross the border as pairs of uint32, complex ones as the pairs of their two parts.


def _wide(dtype) -> bool:
    return np.dtype(dtype).itemsize >= 8 and np.dtype(dtype) != np.complex64


def _pack(x):
    """A jax value as one that keeps its bits on the way."""
    if not _wide(x.dtype):
        return x
    if np.issubdtype(x.dtype, np.complexfloating):
        parts = [lax.bitcast_convert_type(part(x), np.uint32) for part in (lax.real, lax.imag)]
        return lax.concatenate(parts, x.ndim)
    return lax.bitcast_convert_type(x, np.uint32)


def _unpack(x, dtype):
    """The jax value that was packed on the host."""
    if not _wide(dtype):
        return x
    if np.issubdtype(dtype, np.complexfloating):
        return lax.complex(*[lax.bitcast_convert_type(lax.slice_in_dim(x, i, i + 2, axis=x.ndim - 1), np.float64) for i in (0, 2)])
    return lax.bitcast_convert_type(x, dtype)


def _host_unpack(x, a):
    x = np.asarray(x, order="C")
    return x.view(a.dtype.dtype)[..., 0] if _wide(a.dtype.dtype) else x


def _host_pack(x, a):
    x = np.asarray(x, a.dtype.dtype)
    return np.asarray(x, order="C")[..., None].view(np.uint32) if _wide(a.dtype.dtype) else x


def _packed_spec(a):
    width = (a.dtype.itemsize // 4,) if _wide(a.dtype.dtype) else ()
    return jax.ShapeDtypeStruct((*a.shape, *width), np.uint32 if width else a.dtype.dtype)


def _avals(args):
    return tuple([aval(x.shape, as_dtype(x.dtype)) for x in args])


def _call_impl(*rest):
    *args, function, outs, vectorized = rest
    ins = _avals(args)

    def call(*packed):
        got = tuple([np.asarray(x) for x in function(*map(_host_unpack, packed, ins))])
        for x, a in zip(got, outs):
            if x.shape != a.shape:
                raise ValueError(f"pure_callback: {function!r} was declared to return {a}, it returned shape {list(x.shape)}")
        return tuple(map(_host_pack, got, outs))

    packed = jax.pure_callback(call, tuple(map(_packed_spec, outs)), *map(_pack, args))
    return tuple([_unpack(x, a.dtype.dtype) for x, a in zip(packed, outs)])


def _call_batch(size, args, dims, function, outs, vectorized):
    batched = tuple([d is not None for d in dims])
    rows = [x if d is None else algebra.move(x, d, 0) for x, d in zip(args, dims)]
    wide = tuple([aval((size, *a.shape), a.dtype) for a in outs])
    if vectorized:
        rows = [algebra.front(size, x, None) if d is None else x for x, d in zip(rows, dims)]
        return host_call(rows, function, wide, True), (0,) * len(outs)
    return host_call(rows, Rows(function, size, batched), wide, False), (0,) * len(outs)


host_call = prim(
    "host_call",
    "operands: Tensors, function: Static, outs: Static, vectorized: bool",
    multi=True,
    cached=False,
    at_once=lambda function, outs, vectorized: True,
    kind="general",
    impl=_call_impl,
    meta=lambda *rest: rest[-2],
    batch=_call_batch,
    doc="The outputs (of these avals) of a pure host function of NumPy arrays.",
)


def _effect_impl(*rest):
    *args, function = rest
    ins = _avals(args)
    jax.debug.callback(lambda *packed: function(*map(_host_unpack, packed, ins)), *map(_pack, args))
    return ()


def _effect_batch(size, args, dims, function):
    rows = [x if d is None else algebra.move(x, d, 0) for x, d in zip(args, dims)]
    return host_effect(rows, EffectRows(function, size, tuple([d is not None for d in dims]))), ()


class EffectRows(Record):
    """A host function with an effect, applied to each row."""

    function: object
    size: int
    batched: tuple[bool, ...]

    def __call__(self, *arrays):
        for i in range(self.size):
            self.function(*[x[i] if b else x for x, b in zip(arrays, self.batched)])


host_effect = prim(
    "host_effect",
    "operands: Tensors, function: Static",
    multi=True,
    cached=False,
    effect=True,
    kind="zero",
    impl=_effect_impl,
    meta=lambda *rest: (),
    jvp=lambda ans, primals, tangents, function: (),
    batch=_effect_batch,
    doc="Calls a host function with NumPy arrays for its effect, once a row under vmap.",
)

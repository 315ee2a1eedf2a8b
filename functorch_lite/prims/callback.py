"""Prims that leave the program: a host function called from within it, for its value or for its effect."""

from __future__ import annotations

import attrs
import jax
import numpy as np

from ..core.aval import aval
from . import algebra
from .families import prim


@attrs.frozen
class Rows:
    """A host function applied to each row of its batched arguments, one after another."""

    function: object
    size: int
    batched: tuple[bool, ...]

    def __call__(self, *arrays):
        outs = [self.function(*[x[i] if b else x for x, b in zip(arrays, self.batched)]) for i in range(self.size)]
        return tuple([np.stack(column) for column in zip(*outs)])


def _call_impl(*rest):
    *args, function, outs, vectorized = rest
    specs = tuple([jax.ShapeDtypeStruct(a.shape, a.dtype.dtype) for a in outs])
    return jax.pure_callback(_checked(function, outs), specs, *args)


def _checked(function, outs):
    def call(*args):
        got = tuple([np.asarray(x) for x in function(*map(np.asarray, args))])
        for x, a in zip(got, outs):
            if x.shape != a.shape:
                raise ValueError(f"pure_callback: {function!r} was declared to return {a}, it returned shape {list(x.shape)}")
        return tuple([x.astype(a.dtype.dtype) for x, a in zip(got, outs)])

    return call


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
    kind="general",
    impl=_call_impl,
    meta=lambda *rest: rest[-2],
    batch=_call_batch,
    doc="The outputs (of these avals) of a pure host function of NumPy arrays.",
)


def _effect_impl(*rest):
    *args, function = rest
    jax.debug.callback(lambda *xs: function(*map(np.asarray, xs)), *args)
    return ()


def _effect_batch(size, args, dims, function):
    rows = [x if d is None else algebra.move(x, d, 0) for x, d in zip(args, dims)]
    return host_effect(rows, EffectRows(function, size, tuple([d is not None for d in dims]))), ()


@attrs.frozen
class EffectRows:
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

"""Samples of the ops that leave the house: host functions and JAX functions."""

from __future__ import annotations

import numpy as np
from jax import lax

from ...core.aval import aval
from ...core.dtype import complex64, complex128, float32, float64, int32, int64
from ...prims import callback
from ...transforms.interop import Foreign, jax_call
from ..table import Sample, array, row

KINDS = (int32, int64, float32, float64, complex64, complex128)
HOST = "a host function is opaque: it has no derivative but what custom_jvp or custom_vjp gives it"
DERIVATIVES = ("jvp", "vjp", "second", "jvp_vjp", "vmap_grad", "grad_vmap", "grad_jit")


def on_host(x, y):
    return x * y, x + y.sum()


def host_calls(rng, dtype):
    outs = aval((2, 3), dtype), aval((2, 3), dtype)
    return [Sample([array(rng, (2, 3), dtype), array(rng, (2, 3), dtype)], on_host, outs, False)]


def seen(*xs):
    """An effect that nobody sees."""


row(callback.host_call, host_calls, KINDS, reference=lambda xs, *_: on_host(*xs), skip=dict.fromkeys(DERIVATIVES, HOST))
row(callback.host_effect, lambda rng, dtype: [Sample([array(rng, (3,), dtype)], seen)], KINDS, reference=lambda xs, function: ())


def in_jax(x, y):
    return lax.mul(lax.sin(x), y), lax.add(x, y)


FOREIGN = Foreign(in_jax, "in_jax")
row(
    jax_call,
    lambda rng, dtype: [Sample([array(rng, (3,), dtype), array(rng, (3,), dtype)], FOREIGN)],
    (float32, float64, complex128),
    reference=lambda xs, foreign: (np.sin(xs[0]) * xs[1], xs[0] + xs[1]),
)

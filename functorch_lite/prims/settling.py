"""settle: a value computed as it stands, before what uses it."""

from __future__ import annotations

from jax import lax

from .families import linear, pointwise_batch

settle = linear(
    "settle",
    "x: Tensor",
    impl=lax.optimization_barrier,
    meta=lambda x: x,
    transpose=lambda ct, x: (settle(ct),),
    batch=pointwise_batch(lambda: settle),
    reference=lambda x: x,
    doc="x, which the compiler computes and lays out in memory as it stands, instead of folding it into what uses it.",
)

"""settle: a value computed as it stands, before what uses it."""

from __future__ import annotations

from jax import lax

from . import orders
from .families import linear

settle = linear(
    "settle",
    "x: Tensor",
    impl=lax.optimization_barrier,
    traits={"ordered": orders.same(lax.optimization_barrier)},
    meta=lambda x: x,
    transpose=lambda ct, x: (settle(ct),),
    batch=lambda size, args, dims: (settle(args[0]), dims[0]),
    reference=lambda x: x,
    doc="x, which the compiler computes and lays out in memory as it stands, instead of folding it into what uses it.",
)

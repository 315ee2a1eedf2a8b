"""Tracing: `make_fx(grad(loss))` against `jax.make_jaxpr(jax.grad(loss))`, on one transformer loss written once for both.

Four layers, d 64, 4 heads, 32 tokens, batch 2. Each sample traces fresh function objects (jax caches traces by function). What
agrees are the gradients that the two give.
"""

from __future__ import annotations

from .formulas import Transformer
from .frame import Rival, Row, Side
from .trees import named

MODEL = Transformer()


def ours():
    import functorch_lite as fl

    arguments = fl.tree.map(fl.asarray, (MODEL.parameters(), *MODEL.data()))
    return Side(
        lambda: fl.make_fx(fl.grad(MODEL.loss(fl)))(*arguments),
        lambda: named(fl.make_fx(fl.grad(MODEL.loss(fl)))(*arguments)(*arguments)),
    )


def jax():
    import jax
    import jax.numpy as jnp

    arguments = jax.tree.map(jnp.asarray, (MODEL.parameters(), *MODEL.data()))
    return Side(
        lambda: jax.make_jaxpr(jax.grad(MODEL.loss(jnp)))(*arguments),
        lambda: named(jax.jit(jax.grad(MODEL.loss(jnp)))(*arguments)),
    )


ROWS = [
    Row(
        "make_fx(grad(f)), transformer loss, fresh function",
        ours,
        [Rival("jax.make_jaxpr(jax.grad(f))", jax, 0.4)],
        {"batch": 2, "dtype": "float32", "mode": "tracing"},
    )
]

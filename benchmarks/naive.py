"""The models of the benchmarks in JAX as one writes it by hand: plain formulas, jit, donated parameters and state, Adam by tree.map.

Parameters are dicts by PyTorch's names; matrices of linear layers stand as [in, out], which is what `x @ w` wants.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .frame import Side
from .models import GROUPS, STAGES, Task

TABLES = ("tokens.weight", "places.weight")  # embeddings: two-dimensional, but no linear layers


def turned(name: str, w: np.ndarray) -> np.ndarray:
    """A parameter, or its gradient, from PyTorch's layout to ours here, and back."""
    return w.T if w.ndim == 2 and name not in TABLES else w


def linear(p, name, x):
    y = x @ p[f"{name}.weight"]
    return y + p[f"{name}.bias"] if f"{name}.bias" in p else y


def cross_entropy(logits, y):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1))


def layer_norm(p, name, x):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(var + 1e-5) * p[f"{name}.weight"] + p[f"{name}.bias"]


def block(p, h, mask, heads):
    """A block of the GPT; p has its parameters by their names in it."""
    qkv = jnp.split(linear(p, "qkv", layer_norm(p, "norm1", h)), 3, -1)
    q, k, v = (z.reshape(*z.shape[:2], heads, -1).transpose(0, 2, 1, 3) for z in qkv)
    scores = jnp.einsum("bhtd,bhsd->bhts", q, k) / np.sqrt(q.shape[-1])
    o = jnp.einsum("bhts,bhsd->bhtd", jax.nn.softmax(jnp.where(mask, scores, -1e30)), v)
    h = h + linear(p, "out", o.transpose(0, 2, 1, 3).reshape(h.shape))
    return h + linear(p, "down", jax.nn.gelu(linear(p, "up", layer_norm(p, "norm2", h))))


def gpt(p, x, y, layers=4, heads=8, wrap=lambda f: f):
    time = x.shape[1]
    h = p["tokens.weight"][x] + p["places.weight"][:time]
    mask = jnp.tril(jnp.ones((time, time), bool))
    for i in range(layers):
        own = {name.removeprefix(f"blocks.{i}."): w for name, w in p.items() if name.startswith(f"blocks.{i}.")}
        h = wrap(lambda own, h: block(own, h, mask, heads))(own, h)
    logits = linear(p, "head", layer_norm(p, "norm", h))
    return cross_entropy(logits.reshape(y.size, -1), y)


def batch_norm(x):
    mean, var = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    return (x - mean) * lax.rsqrt(var + 1e-5)


def group_norm(x):
    g = x.reshape(x.shape[0], GROUPS, -1)
    return ((g - g.mean(-1, keepdims=True)) * lax.rsqrt(g.var(-1, keepdims=True) + 1e-5)).reshape(x.shape)


def cnn(p, x, y, norm=batch_norm, stages=STAGES):
    """No running statistics are kept: less work than a BatchNorm layer has, in the rival's favour."""
    for i, (_, _, stride) in enumerate(stages):
        dims = ("NCHW", "OIHW", "NCHW")
        x = lax.conv_general_dilated(x, p[f"{3 * i}.weight"], (stride, stride), ((1, 1), (1, 1)), dimension_numbers=dims)
        scale, offset = (p[f"{3 * i + 1}.{name}"].reshape(1, -1, 1, 1) for name in ("weight", "bias"))
        x = jax.nn.relu(norm(x) * scale + offset)
    return cross_entropy(linear(p, f"{3 * len(stages) + 2}", x.mean((2, 3))), y)


def mlp(p, x, y, layers=3):
    for i in range(layers - 1):
        x = jax.nn.relu(linear(p, f"{2 * i}", x))
    return cross_entropy(linear(p, f"{2 * (layers - 1)}", x), y)


def small(p, x, y):
    x = jnp.tanh(linear(p, "2", jnp.tanh(linear(p, "0", x))))
    return jnp.mean((linear(p, "4", x) - y) ** 2)


def lstm(p, x, y, hoist, layers=2):
    """A scan a layer. ``hoist``: the products with the inputs of all steps are one product before it."""
    h = x.transpose(1, 0, 2)
    for i in range(layers):
        w, u, b = p[f"lstm.weight_ih_l{i}"], p[f"lstm.weight_hh_l{i}"], p[f"lstm.bias_ih_l{i}"] + p[f"lstm.bias_hh_l{i}"]

        def cell(state, x, w=w, u=u, b=b):
            h, c = state
            gates = (x if hoist else x @ w + b) + h @ u
            i, f, g, o = jnp.split(gates, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((x.shape[0], u.shape[0]), x.dtype)
        _, h = lax.scan(cell, (zero, zero), h @ w + b if hoist else h)
    return cross_entropy(linear(p, "head", h[-1]), y)


def adam(params, state, gradients, rate=1e-4, b1=0.9, b2=0.999, eps=1e-8):
    count = state["count"] + 1
    mean = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state["mean"], gradients)
    square = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, state["square"], gradients)
    step = lambda p, m, v: p - rate * (m / (1 - b1**count)) / (jnp.sqrt(v / (1 - b2**count)) + eps)
    return jax.tree.map(step, params, mean, square), {"count": count, "mean": mean, "square": square}


def begin(task: Task):
    """(parameters, Adam's state, x, y) on the device."""
    params = {name: jnp.asarray(turned(name, w)) for name, w in task.weights().items()}
    zeros = lambda: jax.tree.map(jnp.zeros_like, params)
    return params, {"count": jnp.zeros(()), "mean": zeros(), "square": zeros()}, *map(jnp.asarray, task.batch())


def train_step(loss: Callable):
    """The jitted step (params, state, x, y) -> (params, state, loss)."""

    def step(params, state, x, y):
        value, gradients = jax.value_and_grad(loss)(params, x, y)
        return *adam(params, state, gradients), value

    return jax.jit(step, donate_argnums=(0, 1))


def trained(task: Task, loss: Callable) -> Side:
    """The same training step as `models.trained`."""
    params, state, x, y = begin(task)
    jitted = train_step(loss)

    def step() -> float:
        nonlocal params, state
        params, state, value = jitted(params, state, x, y)
        return float(value)

    def check():
        first = step()
        gradients = {name: turned(name, np.asarray(m)) / 0.1 for name, m in state["mean"].items()}  # Adam's mean, which was zero
        return {"losses": np.array([first, step(), step()]), **gradients}

    return Side(step, check, lambda: jax.block_until_ready(params))


def faster(*makers: Callable[[], Side], steps: int = 5) -> Side:
    """The fastest of what these make, by a short trial; made anew after it, for a side that has taken steps is checked at others."""
    import time

    def least(make: Callable[[], Side]) -> float:
        side = make()
        side.step()
        return min(side.seconds(1, time.process_time) for _ in range(steps))

    return min(makers, key=least)()

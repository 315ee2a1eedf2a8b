"""Transforms of the functional face: per-sample gradients, a Hessian, jit(grad) and grad without jit."""

from __future__ import annotations

import numpy as np

from . import models
from .formulas import HESSIAN, Transformer, of_vector, small_data, small_mlp, small_parameters
from .frame import Rival, Row, Side, torch_rival
from .trees import mapped, named

GPT = Transformer(layers=4, width=256, heads=8, length=128, batch=8, vocabulary=512)


def ready(call, wait, shown=named) -> Side:
    """A side that calls and waits; what it gives, as `shown` shows it, must agree."""
    return Side(lambda: wait(call()), lambda: shown(call()))


def fl_side(make, *arguments):
    """`make(fl)` called on Arrays."""

    def side():
        import functorch_lite as fl

        f, xs = make(fl), mapped(fl.asarray, arguments)
        return ready(lambda: f(*xs), fl.block_until_ready)

    return side


def jax_side(make, *arguments):
    """`make(jax, jax.numpy)` called on jax's arrays."""

    def side():
        import jax
        import jax.numpy as jnp

        f, xs = make(jax, jnp), mapped(jnp.asarray, arguments)
        return ready(lambda: f(*xs), jax.block_until_ready)

    return side


# ------------------------------------------------------------------------------------------------------- per-sample gradients


HEAD = "20.weight"


def some(gradients) -> dict[str, np.ndarray]:
    """Of the first 16 samples all gradients, and of all samples those of the last layer.

    Among the seven million units of 64 samples some stand at relu's kink to within rounding, so that their sides differ.
    """
    found = named(gradients)
    return {"head of all samples": found[HEAD], **{name: g[:16] for name, g in found.items()}}


def per_sample(batch: int) -> Row:
    """Gradients of the CNN with GroupNorm for each sample."""
    task = models.Task(lambda torch: models.cnn(torch, "group"), models.classes(batch, 3, 32, 32))

    def gradients(torch):
        model, x, y = task.ready(torch)
        params = {name: p.detach() for name, p in model.named_parameters()}

        def loss(params, x, y):
            logits = torch.func.functional_call(model, params, (x.unsqueeze(0),))
            return torch.nn.functional.cross_entropy(logits, y.unsqueeze(0))

        return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0)), (params, x, y)

    def ours():
        import functorch_lite as fl
        import functorch_lite.torch as torch

        f, arguments = gradients(torch)
        f = fl.jit(f)
        return ready(lambda: f(*arguments), lambda out: out[HEAD].numpy(), some)

    def torch():
        f, arguments = gradients(torch_rival())
        return ready(lambda: f(*arguments), lambda out: out, some)

    def jax():
        import jax

        from . import naive

        loss = lambda p, x, y: naive.cnn(p, x[None], y[None], naive.group_norm)
        f = jax.jit(jax.vmap(jax.grad(loss), (None, 0, 0)))
        params, _, x, y = naive.begin(task)

        turned = lambda gradients: some({name: np.asarray(g).swapaxes(1, 2) if g.ndim == 3 else g for name, g in gradients.items()})
        return ready(lambda: f(params, x, y), jax.block_until_ready, turned)

    rivals = [Rival("JAX", jax, 0.7), Rival("torch.func", torch, 0.85)]
    name = f"per-sample gradients, CNN with GroupNorm, N {batch}, jit(vmap(grad))"
    return Row(name, ours, rivals, {"batch": batch, "dtype": "float32", "mode": "jit; torch.func is eager"})


# ---------------------------------------------------------------------------------------------------------------- plain formulas

VECTOR = np.concatenate([x.ravel() for pair in small_parameters(HESSIAN) for x in pair])
HESSIAN_DATA = small_data(32, HESSIAN[0])
LOSS_ARGUMENTS = (GPT.parameters(), *GPT.data())
SMALL_ARGUMENTS = (small_parameters(), *small_data())


def torch_grad():
    """torch.func.grad of the small network's loss."""
    torch = torch_rival()
    f, xs = torch.func.grad(small_mlp(torch)), mapped(torch.from_numpy, SMALL_ARGUMENTS)
    return ready(lambda: f(*xs), lambda out: out)


ROWS = [
    per_sample(16),
    per_sample(64),
    Row(
        "Hessian of an MLP of 1,000 parameters, jitted",
        fl_side(lambda fl: fl.jit(fl.hessian(of_vector(fl))), VECTOR, *HESSIAN_DATA),
        [Rival("JAX", jax_side(lambda jax, jnp: jax.jit(jax.hessian(of_vector(jnp))), VECTOR, *HESSIAN_DATA), 1.0)],
        {"batch": 32, "dtype": "float32", "mode": "jit"},
    ),
    Row(
        "jit(grad) of the GPT loss in plain formulas",
        fl_side(lambda fl: fl.jit(fl.grad(GPT.loss(fl))), *LOSS_ARGUMENTS),
        [Rival("JAX, same formulas", jax_side(lambda jax, jnp: jax.jit(jax.grad(GPT.loss(jnp))), *LOSS_ARGUMENTS), 1.0)],
        {"batch": 8, "dtype": "float32", "mode": "jit"},
    ),
    Row(
        "grad(loss)(params), small MLP 16-32-32-1, no jit",
        fl_side(lambda fl: fl.grad(small_mlp(fl)), *SMALL_ARGUMENTS),
        [
            Rival("JAX eager", jax_side(lambda jax, jnp: jax.grad(small_mlp(jnp)), *SMALL_ARGUMENTS), 0.15),
            Rival("torch.func.grad", torch_grad, 1.0),
        ],
        {"batch": 32, "dtype": "float32", "mode": "eager"},
    ),
]

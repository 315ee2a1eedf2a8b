"""Training steps: forward, backward and Adam, compiled as one program, the model compiled alone, and an eager loop as it stands."""

from __future__ import annotations

from . import models
from .frame import Rival, Row, torch_rival


def ours(task: models.Task, compile: str):
    """Our side: PyTorch's face."""

    def side():
        import functorch_lite.torch as torch

        return models.trained(torch, task, compile)

    return side


def torch(task: models.Task):
    """PyTorch, eager, on the same source."""
    return lambda: models.trained(torch_rival(), task)


def jax(task: models.Task, name: str):
    """JAX, by hand."""

    def side():
        from . import naive

        return naive.trained(task, getattr(naive, name))

    return side


def compiled(name: str, task: models.Task, loss: str, batch: int, reach: tuple[float, float], **options) -> Row:
    """A row whose whole step is compiled."""
    rivals = [Rival("naive JAX", jax(task, loss), reach[0]), Rival("torch eager", torch(task), reach[1])]
    return Row(f"{name} train step, compiled", ours(task, "step"), rivals, conditions(batch, "torch.compile of the step"), **options)


def conditions(batch: int, mode: str) -> dict:
    return {"batch": batch, "dtype": "float32", "mode": mode}


ROWS = [
    compiled("GPT (4 layers, d 256, T 128, batch 8)", models.GPT, "gpt", 8, (0.65, 0.6), malloc=("tuned", "untuned")),
    compiled("CNN (six 3x3 convolutions with BN, 32x32, batch 32)", models.CNN, "cnn", 32, (0.75, 1.0)),
    compiled("MLP 784-1024-1024-10, batch 128", models.MLP, "mlp", 128, (1.0, 0.6)),
    compiled("small MLP 16-32-32-1, batch 32", models.SMALL, "small", 32, (0.8, 0.2)),
    Row(
        "small MLP 16-32-32-1 train step, unannotated eager loop",
        ours(models.SMALL, "nothing"),
        [Rival("torch eager", torch(models.SMALL), 0.8)],
        conditions(32, "eager; the loss is read at each step"),
    ),
    Row(
        "GPT train step, model compiled, eager loss, backward and Adam",
        ours(models.GPT, "model"),
        [Rival("torch eager", torch(models.GPT), 0.75)],
        conditions(8, "torch.compile of the model"),
    ),
]

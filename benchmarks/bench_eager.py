"""Ops one after another, as they stand in a program, on either face."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import models
from .frame import Given, Rival, Row, Side, torch_rival


def chain(x, w, b, ops: int):
    """So many elementwise ops on arrays of one shape, a multiple of five; each feeds the next."""
    for _ in range(ops // 5):
        x = ((x * w + b).relu() - w) * 0.9
    return x


def arrays(*shape: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape).astype(np.float32) for _ in range(3)]


def eager(array, ops: int, shape: tuple[int, ...]) -> Side:
    """The chain on what `array` makes of NumPy's; its end is read."""
    x, w, b = map(array, arrays(*shape))
    run = lambda: chain(x, w, b, ops).numpy()
    return Side(run, lambda: {"chain": np.array(run())})


def functional():
    """What makes Arrays."""
    import functorch_lite as fl

    return fl.asarray


def tensors():
    """What makes our Tensors."""
    import functorch_lite.torch as torch

    return torch.from_numpy


def row(name: str, face: Callable, ops: int, shape: tuple[int, ...], reach: float) -> Row:
    conditions = {"shape": list(shape), "dtype": "float32", "mode": "eager; the end is read"}
    rival = Rival("torch eager", lambda: eager(torch_rival().from_numpy, ops, shape), reach)
    return Row(name, lambda: eager(face(), ops, shape), [rival], conditions)


# ------------------------------------------------------------------------------------------------------------------ ragged batches

SIZES = np.random.default_rng(0).integers(1, 33, 200)


def ragged(mode: str | None) -> Callable[[], Side]:
    """200 training steps of the small network, eager, each on a batch of another size. ``mode`` "op" runs each op at once."""

    def side():
        import functorch_lite as fl
        import functorch_lite.torch as torch

        model, x, y = models.SMALL.ready(torch)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

        def steps():
            for n in SIZES:
                optimizer.zero_grad()
                loss = torch.nn.functional.mse_loss(model(x[: int(n)]), y[: int(n)])
                loss.backward()
                optimizer.step()
            return loss.item()

        def run():
            if mode is None:
                return steps()
            with fl.eager(mode):
                return steps()

        return Side(run, lambda: {"loss": np.array(run())})

    return side


# ---------------------------------------------------------------------------------------------------------------- recording an op


def recording(gradients: bool | None) -> Callable[[], Side]:
    """An op of a chain of 100 whose end nobody reads; on Arrays, or (with or without gradients) on Tensors."""

    def side():
        x, w, b = map(functional() if gradients is None else tensors(), arrays(16, 16))
        if gradients:
            w.requires_grad_()
        return PerOp(lambda: chain(x, w, b, 100))

    return side


class PerOp(Side):
    """Counts each of the 100 ops of its step."""

    def seconds(self, steps, clock) -> float:
        return super().seconds(steps, clock) / 100

    def steps(self, seconds, clock) -> int:
        return super().steps(seconds / 100, clock)


def recorded(name: str, gradients: bool | None) -> Row:
    rivals = [Rival("a microsecond", lambda: Given(1e-6), 1.5)]
    return Row(f"recording one eager op, {name}", recording(gradients), rivals, {"shape": [16, 16], "mode": "eager"}, agree=False)


ROWS = [
    row("100 small eager ops", functional, 100, (16, 16), 0.8),
    row("100 small eager ops, on Tensors", tensors, 100, (16, 16), 0.8),
    row("10 eager ops on 8 MB", functional, 10, (2048, 1024), 0.4),
    row("10 eager ops on 8 MB, on Tensors", tensors, 10, (2048, 1024), 0.4),
    Row(
        "ragged batches: 200 eager train steps, sizes 1 to 32",
        ragged(None),
        [Rival("our own op mode", ragged("op"), 1.2)],
        {"dtype": "float32", "mode": "eager"},
    ),
    recorded("functional", None),
    recorded("Tensor with gradients", True),
]

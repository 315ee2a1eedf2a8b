"""Training steps of an LSTM of two layers, 256 wide, over 64 steps."""

from __future__ import annotations

from functools import partial

from . import models
from .bench_train import conditions, ours, torch
from .frame import Rival, Row


def row(batch: int, against_jax: float, against_torch: float) -> Row:
    """The row of a batch size."""
    task = models.Task(models.lstm, models.classes(batch, 64, 256))

    def jax():
        from . import naive

        return naive.faster(*[lambda hoist=hoist: naive.trained(task, partial(naive.lstm, hoist=hoist)) for hoist in (False, True)])

    rivals = [Rival("the faster of JAX's scans", jax, against_jax), Rival("torch eager", torch(task), against_torch)]
    name = f"LSTM 2x256 train step, T 64, batch {batch}, compiled"
    return Row(name, ours(task, "step"), rivals, conditions(batch, "torch.compile of the step"))


ROWS = [row(8, 0.75, 0.8), row(32, 0.9, 1.0)]

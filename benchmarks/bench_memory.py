"""The most memory that a GPT step takes, with and without recomputing each block in the backward pass. Each in a process of its own."""

from __future__ import annotations

import functools
import gc
import pathlib
import re
import sys

import attrs

from . import models
from .frame import Elsewhere, NotThere, Rival, Row


def step_of(side: str, recompute: bool):
    """A training step of the GPT."""
    if side == "ours":
        import functorch_lite as fl
        import functorch_lite.torch as torch

        model = functools.partial(models.gpt, wrap=fl.checkpoint) if recompute else models.gpt
        return models.trained(torch, attrs.evolve(models.GPT, model=model), "step").step
    import jax

    from . import naive

    return naive.trained(models.GPT, functools.partial(naive.gpt, wrap=jax.checkpoint) if recompute else naive.gpt).step


def peak(step, steps: int = 3) -> int:
    """Bytes: what is alive between steps (parameters, state, gradients that are kept), and what a step takes above that."""
    import jax

    for _ in range(steps):
        step()
    gc.collect()
    rest = status("VmRSS")
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew
    for _ in range(steps):
        step()
    return sum(x.nbytes for x in jax.live_arrays()) + status("VmHWM") - rest


def status(name: str) -> int:
    """A line of Linux's account of this process, in bytes."""
    return 1024 * int(re.search(rf"^{name}:\s+(\d+) kB", pathlib.Path("/proc/self/status").read_text(), re.M)[1])


def side(name: str, recompute: bool):
    def made():
        if not sys.platform.startswith("linux"):
            raise NotThere("a way to measure the peak on this system; Linux tells it in /proc")
        return Elsewhere(["-m", "benchmarks.bench_memory", name, "checkpoint" if recompute else ""])

    return made


def row(name: str, recompute: bool) -> Row:
    conditions = {"batch": 8, "dtype": "float32", "mode": "torch.compile of the step; a process each", "unit": "B"}
    return Row(name, side("ours", recompute), [Rival("JAX", side("jax", recompute), 1.0)], conditions, ("untuned",), agree=False, rounds=1)


ROWS = [row("peak memory of the GPT step", False), row("peak memory of the GPT step, each block checkpointed", True)]


if __name__ == "__main__":
    found = peak(step_of(sys.argv[1], sys.argv[2] == "checkpoint"))
    print(found, found)

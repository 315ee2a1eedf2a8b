"""What a program pays before its first result: importing, and tracing, lowering and compiling its first step. Each in fresh processes."""

from __future__ import annotations

import sys
import time

from . import models
from .frame import Elsewhere, NotThere, Rival, Row

IMPORT = "import time; c, w = time.process_time(), time.perf_counter(); import {}; print(time.process_time() - c, time.perf_counter() - w)"


def importing(name: str):
    return lambda: Elsewhere(["-c", IMPORT.format(name)], warm=True)


def first_step(side: str):
    return lambda: Elsewhere(["-m", "benchmarks.bench_start", side])


def with_the_disk_cache():
    raise NotThere("a cache of programs on disk")


def step_of(side: str):
    """A GPT step of a library that has run nothing of it yet; parameters are there."""
    if side == "ours":
        import functorch_lite.torch as torch

        return models.trained(torch, models.GPT, "step").step
    from . import naive

    return naive.trained(models.GPT, naive.gpt).step


ROWS = [
    Row("import functorch_lite", importing("functorch_lite"), [Rival("import jax", importing("jax"), 1.15)], agree=False),
    Row(
        "first GPT step: trace, lower, compile, run",
        first_step("ours"),
        [Rival("naive JAX", first_step("jax"), 0.7)],
        {"batch": 8, "dtype": "float32", "mode": "torch.compile of the step; a process each"},
        agree=False,
    ),
    Row(
        "first GPT step in a second process, from the disk cache",
        with_the_disk_cache,
        [Rival("naive JAX", first_step("jax"), 0.15)],
        {"batch": 8, "dtype": "float32"},
        agree=False,
    ),
]


if __name__ == "__main__":
    step = step_of(sys.argv[1])
    cpu, wall = time.process_time(), time.perf_counter()
    step()
    print(time.process_time() - cpu, time.perf_counter() - wall)

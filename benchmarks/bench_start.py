"""What a program pays before its first result: importing, and tracing, lowering and compiling its first step. Each in fresh processes."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
import time

from . import models
from .frame import Elsewhere, Rival, Row

IMPORT = "import time; c, w = time.process_time(), time.perf_counter(); import {}; print(time.process_time() - c, time.perf_counter() - w)"


def importing(name: str):
    return lambda: Elsewhere(["-c", IMPORT.format(name)], warm=True)


def first_step(side: str, cache: str = "off"):
    """A process that makes its first step; ``cache`` is where programs are kept on disk."""
    return lambda: Elsewhere(["-m", "benchmarks.bench_start", side], warm=cache != "off", environment={"FUNCTORCH_LITE_CACHE": cache})


def with_the_disk_cache():
    """The same after another process has left its programs in a folder of this benchmark."""
    folder = tempfile.mkdtemp(prefix="functorch_lite_bench_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return first_step("ours", folder)()


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
        {"batch": 8, "dtype": "float32", "mode": "torch.compile of the step; a process each, after one that filled the cache"},
        agree=False,
    ),
]


if __name__ == "__main__":
    step = step_of(sys.argv[1])
    cpu, wall = time.process_time(), time.perf_counter()
    step()
    print(time.process_time() - cpu, time.perf_counter() - wall)

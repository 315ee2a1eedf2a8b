"""How cost grows: with the width of the model, with the batch, and with the length of a chain of eager ops.

    python -m benchmarks.growth [--quick] [--out benchmarks/out]

CPU time on one core. What grows as the work does is a straight line in the picture, which is logarithmic on both axes; a cliff
is a step in it. Figures go to growth.json: {curve: {side: [[size, seconds], ...]}}.
"""

from __future__ import annotations

import argparse
import functools
import json
import pathlib
from collections.abc import Callable, Sequence

import attrs
from rich.progress import track

from . import bench_eager, frame, models
from .frame import How, Side

MODEL = {"layers": 2, "heads": 4, "length": 64}


@attrs.frozen
class Curve:
    """Sizes, and the sides at a size."""

    title: str
    axis: str
    sizes: Sequence[int]
    sides: Callable[[int], dict[str, Callable[[], Side]]]


def steps(width: int, batch: int) -> dict[str, Callable[[], Side]]:
    """A training step of a GPT of two layers, 64 tokens long."""
    task = models.Task(functools.partial(models.gpt, width=width, **MODEL), models.tokens(batch, MODEL["length"], 512))
    return {"functorch_lite, compiled": lambda: _ours(task), "naive JAX": lambda: _jax(task), "torch eager": lambda: _torch(task)}


def chains(ops: int) -> dict[str, Callable[[], Side]]:
    """A chain of eager ops on [16, 16]."""

    sides = {"functorch_lite, eager": bench_eager.functional, "functorch_lite, eager Tensors": bench_eager.tensors}
    sides |= {"torch eager": lambda: frame.torch_rival().from_numpy}
    return {name: lambda array=array: bench_eager.eager(array(), ops, (16, 16)) for name, array in sides.items()}


def _ours(task):
    import functorch_lite.torch as torch

    return models.trained(torch, task, "step")


def _jax(task):
    from . import naive

    return naive.trained(task, functools.partial(naive.gpt, layers=MODEL["layers"], heads=MODEL["heads"]))


def _torch(task):
    return models.trained(frame.torch_rival(), task)


CURVES = [
    Curve("a GPT step against its width, batch 4", "width", (64, 128, 256, 512), lambda width: steps(width, 4)),
    Curve("a GPT step against the batch, width 64", "batch", (1, 2, 4, 8, 16, 32), lambda batch: steps(64, batch)),
    Curve("a chain of eager ops against its length", "ops", (10, 100, 1000, 10_000), chains),
]


def measured(curve: Curve, how: How) -> dict[str, list[tuple[int, float]]]:
    """Medians of seconds, by side, at each size. A rival that is not there has no line."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for size in track(curve.sizes, description=curve.title):
        ready = {}
        for name, make in curve.sides(size).items():
            try:
                ready[name] = make()
            except ModuleNotFoundError as missing:
                if missing.name != "torch":
                    raise
        for name, times in zip(ready, frame.take_turns(list(ready.values()), how)):
            lines.setdefault(name, []).append((size, float(sorted(times)[len(times) // 2])))
    return lines


def draw(path: pathlib.Path, found: dict[str, dict]) -> None:
    """A panel a curve."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5 * len(found), 4), layout="constrained")
    axes = figure.subplots(1, len(found), squeeze=False)[0]
    for axis, curve in zip(axes, [c for c in CURVES if c.title in found]):
        for name, points in found[curve.title].items():
            axis.loglog(*zip(*points), "o-", label=name)
        axis.set(title=curve.title, xlabel=curve.axis, ylabel="CPU seconds")
        axis.grid(alpha=0.2)
        axis.legend()
    figure.savefig(path, dpi=120)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "out")
    options = parser.parse_args(arguments)
    frame.pin()
    how = frame.QUICK if options.quick else How(budget=5)
    found = {curve.title: measured(curve, how) for curve in CURVES}
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "growth.json").write_text(json.dumps(found, indent=1) + "\n")
    draw(options.out / "growth.png", found)
    for title, lines in found.items():
        print(title)
        for name, points in lines.items():
            print(f"  {name:26}", "  ".join(f"{size}: {seconds * 1e3:.3g} ms" for size, seconds in points))


if __name__ == "__main__":
    main()

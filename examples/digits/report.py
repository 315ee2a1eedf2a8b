"""The table and the picture of several trainings."""

from __future__ import annotations

import pathlib

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table

from .data import Digits, Run

COLORS = ("tab:blue", "tab:orange", "tab:green")
STYLES = ("-", "-", (0, (2, 2)))  # the last two may lie on each other
SMOOTH = 20  # steps


def table(runs: list[Run]) -> Table:
    """One row a training."""
    out = Table(title="handwritten digits, three ways")
    out.add_column("way", no_wrap=True)
    for name in ("accuracy", "steps", "a step", "compiling", "programs"):
        out.add_column(name, justify="right")
    for run in runs:
        out.add_row(
            run.name,
            f"{run.accuracy:.2%}",
            str(len(run.losses)),
            f"{run.step_time * 1e3:.2f} ms",
            f"{run.compile_time:.2f} s",
            "op by op" if run.programs is None else str(run.programs),
        )
    out.caption = "accuracy on the test split; median step; what the first steps took longer"
    return out


def draw(path: pathlib.Path, runs: list[Run], data: Digits) -> None:
    """The loss curves, and digits of the test split with what each model takes them for."""
    figure = Figure(figsize=(12, 4.8), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.2])
    _curves(left.subplots(), runs)
    _digits(right, runs, data)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def _curves(axis, runs: list[Run]) -> None:
    for run, color, style in zip(runs, COLORS, STYLES):
        width = min(SMOOTH, len(run.losses))
        smooth = np.convolve(run.losses, np.ones(width) / width, "valid")
        axis.semilogy(run.losses, color=color, lw=0.6, alpha=0.25)
        axis.semilogy(np.arange(len(smooth)) + width // 2, smooth, color=color, ls=style, label=run.name)
    axis.set(xlabel="step", ylabel="training loss", title=f"loss (mean over {SMOOTH} steps)")
    axis.legend()


def _digits(figure, runs: list[Run], data: Digits) -> None:
    guesses = np.stack([run.guesses for run in runs])
    wrong = (guesses != data.y_test).any(0)
    chosen = np.argsort(~wrong, kind="stable")[:32]  # mistakes first
    for axis, i in zip(figure.subplots(4, 8).flat, chosen):
        axis.imshow(data.x_test[i, 0], cmap="gray_r")
        axis.axis("off")
        for place, guess in zip((0.2, 0.5, 0.8), guesses[:, i]):
            color = "tab:green" if guess == data.y_test[i] else "tab:red"
            axis.text(place, 1.06, str(guess), color=color, fontsize=9, ha="center", transform=axis.transAxes)
    figure.suptitle("test digits and the three predictions (mistakes first, in red)", fontsize="medium")

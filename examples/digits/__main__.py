"""Trains the classifier three ways, and shows what came of it."""

from __future__ import annotations

import argparse
import pathlib

import numpy as np
from rich.console import Console

from . import facade, functional
from .checks import curvature, per_sample_norms
from .data import Digits
from .report import draw, table

REACH = 0.97


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m examples.digits", description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent / "out")
    options = parser.parse_args()
    data = Digits.load()
    model, pure = functional.train(data, options.epochs)
    _, eager = facade.train(data, options.epochs, compiled=False)
    _, compiled = facade.train(data, options.epochs, compiled=True)
    runs = [pure, eager, compiled]
    Console().print(table(runs))

    apart = np.abs(np.array(eager.losses[:10]) / np.array(compiled.losses[:10]) - 1).max()
    print(f"façade, eager against compiled: largest relative difference of the first ten losses: {apart:.1e}")
    assert apart < 1e-4, "one seed, one order: eager and compiled take the same steps, to float32's rounding"
    show_checks(model, data.x_test[:16], data.y_test[:16])

    picture = options.out / "digits.png"
    draw(picture, runs, data)
    print(f"picture: {picture}")
    for run in runs:
        if run.accuracy < REACH:
            raise SystemExit(f"{run.name}: expected at least {REACH:.0%} on the test split, got {run.accuracy:.2%}")


def show_checks(model, x, y) -> None:
    """Transforms of the functional model's loss beside plain loops; they agree, to float32's rounding."""
    mapped, looped = per_sample_norms(model, x, y)
    print("per-sample gradient norms, by vmap(grad(loss)):", " ".join(f"{n:.3g}" for n in mapped))
    print(f"  largest relative difference from a loop of grad: {np.max(np.abs(mapped - looped) / (looped + 1e-12)):.1e}")
    product, mean = curvature(model, x, y)
    print(f"Hessian-vector product, v·Hv: {product:.5f}; mean over a loop of single samples: {mean:.5f}")
    np.testing.assert_allclose(mapped, looped, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(product, mean, rtol=1e-3, atol=1e-3 * max(1.0, abs(mean)))


if __name__ == "__main__":
    main()

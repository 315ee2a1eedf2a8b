"""The demo, in short: all three ways learn, the façade's two agree, and its two checks of transforms against loops hold."""

import numpy as np
import pytest

from examples.digits import facade, functional
from examples.digits.checks import curvature, per_sample_norms
from examples.digits.data import Digits
from examples.digits.report import draw, table

EPOCHS = 4


@pytest.fixture(scope="module")
def trained():
    """The functional model, and the three runs."""
    data = Digits.load()
    model, pure = functional.train(data, EPOCHS, progress=False)
    eager, compiled = (facade.train(data, EPOCHS, compiled, progress=False)[1] for compiled in (False, True))
    return data, model, [pure, eager, compiled]


def test_learns(trained):
    data, _, runs = trained
    assert [run.programs for run in runs] == [1, None, 1]
    for run in runs:
        assert len(run.losses) == len(run.times) == EPOCHS * data.steps
        assert run.accuracy > 0.93, run.name
        assert run.accuracy == (run.guesses == data.y_test).mean()


def test_eager_and_compiled_take_the_same_steps(trained):
    _, eager, compiled = trained[2]
    np.testing.assert_allclose(eager.losses[:10], compiled.losses[:10], rtol=1e-4)  # float32; dropout draws alike


def test_checks(trained):
    data, model, _ = trained
    x, y = data.x_test[:6], data.y_test[:6]
    mapped, looped = per_sample_norms(model, x, y)
    np.testing.assert_allclose(mapped, looped, rtol=1e-3, atol=1e-6)
    product, mean = curvature(model, x, y)
    np.testing.assert_allclose(product, mean, rtol=1e-3)


def test_report(trained, tmp_path):
    data, _, runs = trained
    assert table(runs).row_count == 3
    draw(tmp_path / "digits.png", runs, data)
    assert (tmp_path / "digits.png").stat().st_size > 10_000

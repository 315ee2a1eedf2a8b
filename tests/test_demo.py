"""The demo, in short: it learns, and its two checks of transforms against loops hold."""

import numpy as np

from examples import digits


def test_digits(tmp_path):
    model, measured, (x, y) = digits.train(epochs=4, progress=False)
    assert measured["test accuracy"] > 0.93 and measured["programs"] == 1
    mapped, looped = digits.per_sample_norms(model, x[:6], y[:6])
    np.testing.assert_allclose(mapped, looped, rtol=1e-3, atol=1e-6)
    product, mean = digits.curvature(model, x[:6], y[:6])
    np.testing.assert_allclose(product, mean, rtol=1e-3)
    digits.draw(tmp_path / "digits.png", measured["losses"], model, x, y)
    assert (tmp_path / "digits.png").stat().st_size > 10_000

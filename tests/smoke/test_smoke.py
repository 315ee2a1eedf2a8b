"""What must work on every Python and every jax that we support: the import, and one of each kind. It is quick, and needs numpy only."""

import subprocess
import sys

import numpy as np

import functorch_lite as fl


def loss(w, x):
    return (fl.tanh(x @ w) ** 2).sum()


W = np.linspace(-1, 1, 6, dtype=np.float32).reshape(3, 2)
X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(4, 3)


def gradient():
    y = np.tanh(X @ W)
    return X.T @ (2 * y * (1 - y**2))


def test_importing_leaves_jax_as_it_was():
    code = """
import jax, jax.numpy as jnp
def seen():
    return jnp.arange(2).dtype, jnp.ones(2).dtype, (jnp.ones(2) * 2.0).dtype, jax.config.jax_enable_x64
before = seen()
import functorch_lite as fl
assert fl.asarray(1).dtype == fl.int64 and (fl.asarray(np := __import__("numpy").ones(2)) * 2.0).dtype == fl.float64
assert seen() == before, (before, seen())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_arrays_and_ops():
    x = fl.asarray(X)
    assert x.shape == (4, 3) and x.dtype == fl.float32
    np.testing.assert_allclose(np.asarray((x * 2 + 1).sum(dim=0)), (X * 2 + 1).sum(0), rtol=1e-6)
    np.testing.assert_array_equal(np.asarray(x[1:, -1]), X[1:, -1])
    assert fl.asarray([1, 2]).dtype == fl.int64 and fl.asarray(1.0).dtype == fl.float32


def test_grad_jit_vmap():
    w, x = fl.asarray(W), fl.asarray(X)
    np.testing.assert_allclose(np.asarray(fl.grad(loss)(w, x)), gradient(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.asarray(fl.jit(fl.grad(loss))(w, x)), gradient(), rtol=1e-4, atol=1e-5)
    rows = fl.vmap(fl.grad(loss), in_dims=(None, 0))(w, x)
    assert rows.shape == (4, 3, 2)
    np.testing.assert_allclose(np.asarray(rows.sum(dim=0)), gradient(), rtol=1e-4, atol=1e-5)
    value, tangent = fl.jvp(loss, (w, x), (w, x * 0))
    np.testing.assert_allclose(np.asarray(tangent), (gradient() * W).sum(), rtol=1e-4)
    np.testing.assert_allclose(np.asarray(value), (np.tanh(X @ W) ** 2).sum(), rtol=1e-4)


def test_scan_and_its_gradient():
    def total(w):
        carry, ys = fl.scan(lambda c, x: (c * w + x, c), fl.asarray(0.0), fl.asarray([1.0, 2.0, 3.0]))
        return carry + ys.sum()

    assert np.asarray(total(fl.asarray(2.0))) == 11 + 5  # carries 0, 1, 4, 11
    np.testing.assert_allclose(np.asarray(fl.grad(total)(fl.asarray(2.0))), 2 * 2 + 2 + 1, rtol=1e-6)  # d/dw (w² + 2w + 3) + (w + 3)


def test_random_and_struct():
    key = fl.random.key(0)
    a, b = fl.random.split(key)
    draws = np.asarray(fl.random.normal(a, (1000,)))
    assert abs(draws.mean()) < 0.2 and not np.array_equal(draws, np.asarray(fl.random.normal(b, (1000,))))

    @fl.struct
    class Scale:
        by: fl.Array
        power: int = fl.field(static=True, default=2)

    g = fl.grad(lambda m, x: ((m.by * x) ** m.power).sum())(Scale(fl.asarray(3.0)), fl.asarray(2.0))
    assert isinstance(g, Scale) and float(g.by) == 24.0

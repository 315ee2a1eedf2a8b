"""What several tests of tensors use: leaves, comparison, and one small function with its gradient in closed form."""

import numpy as np

import functorch_lite.torch as torch

W = np.array([[0.5, -1.0], [2.0, 0.25], [-0.75, 1.5]], np.float32)
X = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.0], [0.25, -2.0, 1.0], [4.0, 0.0, -0.5]], np.float32)


def leaf(*values, dtype=torch.float32):
    return torch.tensor(list(values), dtype=dtype, requires_grad=True)


def close(got, want, rtol=1e-5, atol=1e-6):
    got = got.detach() if isinstance(got, torch.Tensor) else got
    np.testing.assert_allclose(np.asarray(got), want, rtol=rtol, atol=atol)


def weight():
    return torch.tensor(W, requires_grad=True)


def row(x, w):
    return torch.tanh(x.unsqueeze(0) @ w).sum()


def gradient(w, x):
    """Of tanh(x @ w).sum() in w."""
    return x.T @ (1 - np.tanh(x @ w) ** 2)

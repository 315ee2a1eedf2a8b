"""Transforms of the trained model's loss, beside the same thing by a plain loop."""

from __future__ import annotations

import numpy as np

import functorch_lite as fl

from .functional import loss


def per_sample_norms(model, x, y) -> tuple[np.ndarray, np.ndarray]:
    """The norm of each sample's gradient, by vmap of grad; and the same by a loop."""

    def norm(model, x, y):
        g = fl.grad(loss)(model, x[None], y[None])
        return fl.sqrt(sum((leaf * leaf).sum() for leaf in fl.tree.leaves(g)))

    mapped = fl.jit(fl.vmap(norm, in_dims=(None, 0, 0)))(model, x, y)
    one = fl.jit(norm)
    return mapped.numpy(), np.array([one(model, x[i], y[i]).item() for i in range(len(x))])


def curvature(model, x, y, seed: int = 1) -> tuple[float, float]:
    """v·Hv of the loss in a random direction, H never formed; and the same as a mean over a loop of single samples."""
    leaves, spec = fl.tree.flatten(model)
    keys = fl.random.split(fl.random.key(seed), len(leaves))
    v = spec.unflatten([fl.random.normal(k, w.shape) for k, w in zip(keys, leaves)])

    @fl.jit
    def along(model, v, x, y):
        hv = fl.hvp(lambda m: loss(m, x, y), model, v)
        return sum((a * b).sum() for a, b in zip(fl.tree.leaves(v), fl.tree.leaves(hv)))

    return along(model, v, x, y).item(), float(np.mean([along(model, v, x[i : i + 1], y[i : i + 1]).item() for i in range(len(x))]))

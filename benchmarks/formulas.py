"""Losses in plain formulas, in the operators that all libraries have: `lib` is functorch_lite, jax.numpy or torch."""

from __future__ import annotations

import attrs
import numpy as np


@attrs.frozen
class Transformer:
    """A transformer's loss with targets as one-hot rows, its parameters and its data."""

    layers: int = 4
    width: int = 64
    heads: int = 4
    length: int = 32
    batch: int = 2
    vocabulary: int = 128

    def parameters(self) -> dict:
        """Of numpy."""
        rng, d = np.random.default_rng(0), self.width
        w = lambda *shape: (rng.normal(size=shape) * 0.02).astype(np.float32)
        one = lambda: np.ones(d, np.float32)
        layer = lambda: {
            "norm1": one(),
            "qkv": w(d, 3 * d),
            "proj": w(d, d),
            "norm2": one(),
            "up": w(d, 4 * d),
            "down": w(4 * d, d),
        }
        return {"embed": w(self.vocabulary, d), "place": w(self.length, d), "layers": [layer() for _ in range(self.layers)], "norm": one()}

    def data(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tokens, targets, and the causal mask, which is added to the scores."""
        rng = np.random.default_rng(1)
        tokens = rng.integers(0, self.vocabulary, (self.batch, self.length)).astype(np.int32)
        targets = np.eye(self.vocabulary, dtype=np.float32)[rng.integers(0, self.vocabulary, (self.batch, self.length))]
        return tokens, targets, np.triu(np.full((self.length, self.length), -1e9, np.float32), 1)

    def loss(self, lib):
        """The loss (parameters, tokens, targets, mask) -> number: a new function each time."""
        ours = lib.__name__ != "jax.numpy"
        mean = (lambda x: x.mean(-1, keepdim=True)) if ours else (lambda x: x.mean(-1, keepdims=True))
        top = (lambda x: x.amax(-1, keepdim=True)) if ours else (lambda x: x.max(-1, keepdims=True))
        total = (lambda x: x.sum(-1, keepdim=True)) if ours else (lambda x: x.sum(-1, keepdims=True))
        permute = (lambda x, *d: x.permute(*d)) if ours else (lambda x, *d: x.transpose(*d))
        stop = stopper(lib)
        batch, length, heads, d = self.batch, self.length, self.heads, self.width

        def norm(x, scale):
            centred = x - mean(x)
            return centred * scale / lib.sqrt(mean(centred * centred) + 1e-5)

        def softmax(x):
            e = lib.exp(x - stop(top(x)))
            return e / total(e)

        def gelu(x):
            return 0.5 * x * (1 + lib.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

        def split3(x):
            return x[..., :d], x[..., d : 2 * d], x[..., 2 * d :]

        def attention(x, p, mask):
            q, k, v = (permute(y.reshape(batch, length, heads, d // heads), 0, 2, 1, 3) for y in split3(x @ p["qkv"]))
            scores = q @ permute(k, 0, 1, 3, 2) / (d // heads) ** 0.5
            y = softmax(scores + mask) @ v
            return permute(y, 0, 2, 1, 3).reshape(batch, length, d) @ p["proj"]

        def loss(p, tokens, targets, mask):
            x = p["embed"][tokens] + p["place"]
            for layer in p["layers"]:
                x = x + attention(norm(x, layer["norm1"]), layer, mask)
                x = x + gelu(norm(x, layer["norm2"]) @ layer["up"]) @ layer["down"]
            logits = norm(x, p["norm"]) @ permute(p["embed"], 1, 0)
            shifted = logits - stop(top(logits))
            log_probability = shifted - lib.log(total(lib.exp(shifted)))
            return -(log_probability * targets).sum() / (batch * length)

        return loss


def stopper(lib):
    """What stops gradients in a library."""
    if lib.__name__ == "jax.numpy":
        import jax

        return jax.lax.stop_gradient
    return lib.stop_gradient


def small_mlp(lib, widths=(16, 32, 32, 1)):
    """The loss (parameters, x, y) of a tanh network: parameters are a list of (matrix, offset)."""

    def loss(p, x, y):
        for w, b in p[:-1]:
            x = lib.tanh(x @ w + b)
        w, b = p[-1]
        return ((x @ w + b - y) ** 2).mean()

    return loss


def small_parameters(widths=(16, 32, 32, 1)) -> list[tuple[np.ndarray, np.ndarray]]:
    """Parameters of `small_mlp`, of numpy."""
    rng = np.random.default_rng(0)
    draw = lambda *shape: (rng.normal(size=shape) / shape[0] ** 0.5).astype(np.float32)
    return [(draw(i, o), draw(o)) for i, o in zip(widths, widths[1:])]


def small_data(batch: int = 32, inside: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """A batch for `small_mlp`, of numpy."""
    rng = np.random.default_rng(1)
    return rng.normal(size=(batch, inside)).astype(np.float32), rng.normal(size=(batch, 1)).astype(np.float32)


HESSIAN = (7, 27, 27, 1)  # a network of 1,000 parameters


def of_vector(lib, widths=HESSIAN):
    """The loss of `small_mlp` as a function of one vector of parameters, x and y."""
    loss = small_mlp(lib)

    def flat(v, x, y):
        p, at = [], 0
        for i, o in zip(widths, widths[1:]):
            p.append((v[at : at + i * o].reshape(i, o), v[at + i * o : at + i * o + o]))
            at += i * o + o
        return loss(p, x, y)

    return flat

"""The models of the benchmarks, written once for PyTorch's face and for PyTorch itself: `torch` is the namespace to build them of.

Their parameters are drawn by numpy, so that all sides start alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import numpy as np


def gpt(torch, vocabulary=512, length=128, width=256, layers=4, heads=8, wrap=lambda block: block):
    """A decoder: pre-norm blocks, one product for queries, keys and values, gelu by tanh, logits by a matrix of their own.

    Each block is called as `wrap` makes it.
    """
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def attend(self, x):
            batch, time, _ = x.shape
            q, k, v = (y.view(batch, time, heads, width // heads).transpose(1, 2) for y in self.qkv(x).split(width, dim=2))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(y.transpose(1, 2).reshape(batch, time, width))

        def forward(self, x):
            x = x + self.attend(self.norm1(x))
            return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

        def forward(self, tokens):
            x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
            for block in self.blocks:
                x = wrap(block)(x)
            return self.head(self.norm(x)).flatten(0, 1)

    return GPT()


STAGES = ((3, 32, 1), (32, 32, 1), (32, 64, 2), (64, 64, 1), (64, 128, 2), (128, 128, 1))  # of the CNN: channels in, out, stride
GROUPS = 8


def cnn(torch, norm="batch", stages=STAGES):
    """3x3 convolutions, each with a norm ("batch" or "group") and relu; the mean over places; a classifier of ten."""
    nn = torch.nn
    layers = []
    for inside, outside, stride in stages:
        layers.append(nn.Conv2d(inside, outside, 3, stride, 1, bias=False))
        layers.append(nn.BatchNorm2d(outside) if norm == "batch" else nn.GroupNorm(GROUPS, outside))
        layers.append(nn.ReLU())
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(stages[-1][1], 10))


def mlp(torch, widths=(784, 1024, 1024, 10), activation="ReLU"):
    """Linear layers with an activation between them."""
    nn = torch.nn
    layers = [m for i, o in zip(widths, widths[1:]) for m in (nn.Linear(i, o), getattr(nn, activation)())]
    return nn.Sequential(*layers[:-1])


def lstm(torch, width=256, layers=2, classes=10):
    """An LSTM over [batch, time, width], and a classifier at its last step."""
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(width, width, layers, batch_first=True), nn.Linear(width, classes)

        def forward(self, x):
            return self.head(self.lstm(x)[0][:, -1])

    return Net()


@attrs.frozen
class Task:
    """A model and what it is trained on: `shapes` of parameters need no library, `data` are numpy arrays (x, y), drawn with `seed`."""

    model: Callable
    data: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]
    loss: str = "cross_entropy"
    seed: int = 1

    def batch(self) -> tuple[np.ndarray, np.ndarray]:
        """The batch that all sides train on."""
        return self.data(np.random.default_rng(self.seed))

    def weights(self, seed: int = 0) -> dict[str, np.ndarray]:
        """The parameters that all sides start from, by PyTorch's names and in its layout."""
        import functorch_lite.torch as torch

        rng = np.random.default_rng(seed)
        return {name: _draw(rng, name, tuple(p.shape)) for name, p in self.model(torch).named_parameters()}

    def ready(self, torch):
        """(model, x, y) in a namespace, with these parameters."""
        model, weights = self.model(torch), self.weights()
        with torch.no_grad():
            for name, p in model.named_parameters():
                p.copy_(torch.from_numpy(weights[name]))
        return model, *map(torch.from_numpy, self.batch())


def _draw(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Matrices and kernels keep the size of what they act on; scales are near one, offsets near zero, none of them trivial."""
    noise = rng.normal(size=shape).astype(np.float32)
    if len(shape) > 1:
        return noise / np.float32(math.sqrt(math.prod(shape[1:])))
    return noise * np.float32(0.1) + np.float32(name.endswith("weight"))


def tokens(batch: int, length: int, vocabulary: int):
    """Random tokens, and random ones to follow them."""
    return lambda rng: (rng.integers(0, vocabulary, (batch, length)), rng.integers(0, vocabulary, batch * length))


def classes(*shape: int, of: int = 10):
    """Normal inputs of a shape, the batch first, and a class for each."""
    return lambda rng: (rng.normal(size=shape).astype(np.float32), rng.integers(0, of, shape[0]))


def values(batch: int, inside: int, outside: int):
    """Normal inputs and normal targets."""
    return lambda rng: tuple(rng.normal(size=(batch, width)).astype(np.float32) for width in (inside, outside))


GPT = Task(gpt, tokens(8, 128, 512))
# The seed: of 2,900 batches the one whose units stay farthest from relu's kink, where rounding makes sides differ by 6e-4.
CNN = Task(cnn, classes(32, 3, 32, 32), seed=2858)
MLP = Task(mlp, classes(128, 784))
SMALL = Task(lambda torch: mlp(torch, (16, 32, 32, 1), "Tanh"), values(32, 16, 1), "mse_loss")


def trained(torch, task: Task, compile: str = "nothing", rate: float = 1e-4):
    """A training step with Adam, and what the sides agree on. ``compile``: "step", "model" or "nothing"."""
    from .frame import Side

    model, x, y = task.ready(torch)
    measure = getattr(torch.nn.functional, task.loss)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    called = torch.compile(model, fullgraph=True) if compile == "model" else model

    def step(x, y):
        optimizer.zero_grad()
        loss = measure(called(x), y)
        loss.backward()
        optimizer.step()
        return loss

    if compile == "step":
        step = torch.compile(step, fullgraph=True)

    def check():
        first = step(x, y).item()
        gradients = {name: np.array(p.grad.numpy()) for name, p in model.named_parameters()}
        return {"losses": np.array([first, *[step(x, y).item() for _ in range(2)]]), **gradients}

    return Side(lambda: step(x, y).item(), check, lambda: [p.detach().numpy() for p in model.parameters()])

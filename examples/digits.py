"""The main job: a small convolutional classifier of handwritten digits, trained functionally on real scans.

    make demo            (or: python -m examples.digits [--epochs 20] [--out examples/out])

The model is a pytree, its loss a pure function, a training step `jit` of `value_and_grad`, and Adam twelve lines over the
tree. At the end: a table, a picture, and two checks of transforms against plain loops.
"""

from __future__ import annotations

import argparse
import pathlib
import time

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import functorch_lite as fl

F = fl.nn.functional

# ------------------------------------------------------------------------------------------------------------- model


@fl.struct
class Conv:
    weight: fl.Array
    bias: fl.Array

    @classmethod
    def init(cls, key, inputs: int, outputs: int) -> Conv:
        scale = (2 / (9 * inputs)) ** 0.5
        return cls(fl.random.normal(key, (outputs, inputs, 3, 3)) * scale, fl.zeros(outputs))

    def __call__(self, x):
        return F.conv2d(x, self.weight, self.bias, padding=1)


@fl.struct
class Linear:
    weight: fl.Array
    bias: fl.Array

    @classmethod
    def init(cls, key, inputs: int, outputs: int) -> Linear:
        return cls(fl.random.normal(key, (outputs, inputs)) * (2 / inputs) ** 0.5, fl.zeros(outputs))

    def __call__(self, x):
        return F.linear(x, self.weight, self.bias)


@fl.struct
class Net:
    convs: list[Conv]
    hidden: Linear
    out: Linear

    @classmethod
    def init(cls, key) -> Net:
        a, b, c, d = fl.random.split(key, 4)
        return cls([Conv.init(a, 1, 16), Conv.init(b, 16, 32)], Linear.init(c, 32 * 4 * 4, 64), Linear.init(d, 64, 10))

    def __call__(self, x, key=None):
        for conv in self.convs:
            x = fl.relu(conv(x))
        x = F.max_pool2d(x, 2).flatten(1)
        x = fl.relu(self.hidden(x))
        if key is not None:
            x = F.dropout(x, 0.3, key=key)
        return self.out(x)


def loss(model: Net, x, y, key=None):
    """Mean cross-entropy of a batch of images [n, 1, 8, 8] and classes [n]."""
    return F.cross_entropy(model(x, key), y)


# --------------------------------------------------------------------------------------------------------- optimizer


@fl.struct
class Adam:
    """Adam's state (Kingma and Ba, 2015): the number of steps and two trees like the model."""

    step: fl.Array
    mean: Net
    square: Net

    @classmethod
    def init(cls, model) -> Adam:
        zeros = fl.tree.map(fl.zeros_like, model)
        return cls(fl.asarray(0.0), zeros, zeros)

    def update(self, model, gradient, rate: float, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8):
        step = self.step + 1
        mean = fl.tree.map(lambda m, g: b1 * m + (1 - b1) * g, self.mean, gradient)
        square = fl.tree.map(lambda s, g: b2 * s + (1 - b2) * g * g, self.square, gradient)
        rate = rate * fl.sqrt(1 - b2**step) / (1 - b1**step)
        model = fl.tree.map(lambda p, m, s: p - rate * m / (fl.sqrt(s) + eps), model, mean, square)
        return model, Adam(step, mean, square)


@fl.jit
def train_step(model, adam, x, y, key, rate):
    """One step of training: forward, backward and update are one XLA program."""
    value, gradient = fl.value_and_grad(loss)(model, x, y, key)
    return *adam.update(model, gradient, rate), value


@fl.jit
def predict(model, x):
    return model(x).argmax(dim=1)


# -------------------------------------------------------------------------------------------------------------- data


def load():
    """1,797 scans of 8x8 pixels, a quarter of them held out, each class in proportion."""
    x, y = load_digits(return_X_y=True)
    x = (x / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    parts = train_test_split(x, y, test_size=0.25, stratify=y, random_state=0)
    return [fl.asarray(part) for part in parts]


def train(epochs: int = 20, batch: int = 64, rate: float = 2e-3, seed: int = 0, progress: bool = True):
    """Trains a classifier; returns (model, what was measured)."""
    x_train, x_test, y_train, y_test = load()
    key, model_key = fl.random.split(fl.random.key(seed))
    model = Net.init(model_key)
    adam = Adam.init(model)
    steps = len(x_train) // batch
    losses, times = [], []
    with tqdm(total=epochs * steps, desc="training", disable=not progress) as bar:
        for epoch in range(epochs):
            key, order_key = fl.random.split(key)
            order = fl.random.permutation(order_key, len(x_train))
            for i in range(steps):
                key, step_key = fl.random.split(key)
                rows = order[i * batch : (i + 1) * batch]
                x, y = x_train[rows], y_train[rows]
                start = time.perf_counter()
                decay = 1 - epoch / epochs
                model, adam, value = train_step(model, adam, x, y, step_key, rate * decay)
                losses.append(value.item())
                times.append(time.perf_counter() - start)
                bar.update()
                bar.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
    measured = {
        "losses": losses,
        "train accuracy": (predict(model, x_train) == y_train).float().mean().item(),
        "test accuracy": (predict(model, x_test) == y_test).float().mean().item(),
        "time per step": float(np.median(times)),
        "compile time": times[0] - float(np.median(times)),
        "programs": len(train_step.programs),
    }
    return model, measured, (x_test, y_test)


# ------------------------------------------------------------------------------------------------------------ checks


def per_sample_norms(model, x, y):
    """The norm of each sample's gradient, by vmap of grad; and the same by a loop."""

    def norm(model, x, y):
        g = fl.grad(loss)(model, x[None], y[None])
        return fl.sqrt(sum((leaf * leaf).sum() for leaf in fl.tree.leaves(g)))

    mapped = fl.jit(fl.vmap(norm, in_dims=(None, 0, 0)))(model, x, y)
    one = fl.jit(norm)
    return mapped.numpy(), np.array([one(model, x[i], y[i]).item() for i in range(len(x))])


def curvature(model, x, y, seed: int = 1):
    """v·Hv of the loss in a random direction, H never formed; and the same as a mean over a loop of single samples."""
    leaves, spec = fl.tree.flatten(model)
    keys = fl.random.split(fl.random.key(seed), len(leaves))
    v = spec.unflatten([fl.random.normal(k, w.shape) for k, w in zip(keys, leaves)])

    @fl.jit
    def along(model, v, x, y):
        hv = fl.hvp(lambda m: loss(m, x, y), model, v)
        return sum((a * b).sum() for a, b in zip(fl.tree.leaves(v), fl.tree.leaves(hv)))

    return along(model, v, x, y).item(), float(np.mean([along(model, v, x[i : i + 1], y[i : i + 1]).item() for i in range(len(x))]))


# ------------------------------------------------------------------------------------------------------------ output


def draw(path: pathlib.Path, losses, model, x, y) -> None:
    """The loss curve, and digits of the test split with their predictions."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.3])
    axis = left.subplots()
    axis.semilogy(losses, color="0.8", lw=1)
    smooth = np.convolve(losses, np.ones(20) / 20, "valid")
    axis.semilogy(np.arange(len(smooth)) + 10, smooth, color="tab:blue")
    axis.set(xlabel="step", ylabel="training loss", title="loss")
    guesses = predict(model, x).numpy()
    truth = y.numpy()
    wrong = np.flatnonzero(guesses != truth)[:8]
    chosen = np.concatenate([wrong, np.setdiff1d(np.arange(len(truth)), wrong)])[:32]
    for axis, i in zip(right.subplots(4, 8).flat, chosen):
        axis.imshow(x[int(i), 0].numpy(), cmap="gray_r")
        axis.set_title(f"{guesses[i]}", color="tab:green" if guesses[i] == truth[i] else "tab:red", fontsize=9, pad=2)
        axis.axis("off")
    right.suptitle("test digits and predictions (mistakes first, in red)")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "out")
    options = parser.parse_args()
    console = Console()
    model, measured, (x_test, y_test) = train(options.epochs)

    table = Table(title="handwritten digits, functional face")
    table.add_column("what")
    table.add_column("value", justify="right")
    table.add_row("accuracy on the test split", f"{measured['test accuracy']:.2%}")
    table.add_row("accuracy on the training split", f"{measured['train accuracy']:.2%}")
    table.add_row("steps", str(len(measured["losses"])))
    table.add_row("time per step (median)", f"{measured['time per step'] * 1e3:.2f} ms")
    table.add_row("compile time (first step)", f"{measured['compile time']:.2f} s")
    table.add_row("programs compiled for the step", str(measured["programs"]))
    console.print(table)

    mapped, looped = per_sample_norms(model, x_test[:16], y_test[:16])
    print("per-sample gradient norms, by vmap(grad(loss)):", " ".join(f"{n:.3g}" for n in mapped))
    print(f"  largest relative difference from a loop of grad: {np.max(np.abs(mapped - looped) / (looped + 1e-12)):.1e}")
    product, mean = curvature(model, x_test[:16], y_test[:16])
    print(f"Hessian-vector product, v·Hv: {product:.5f}; mean over a loop of single samples: {mean:.5f}")
    # float32: a sum of 16 samples in one program and in a loop agree to rounding
    np.testing.assert_allclose(mapped, looped, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(product, mean, rtol=1e-3, atol=1e-3 * max(1.0, abs(mean)))

    picture = options.out / "digits.png"
    draw(picture, measured["losses"], model, x_test, y_test)
    print(f"picture: {picture}")
    if measured["test accuracy"] < 0.97:
        raise SystemExit(f"expected at least 97% on the test split, got {measured['test accuracy']:.2%}")


if __name__ == "__main__":
    main()

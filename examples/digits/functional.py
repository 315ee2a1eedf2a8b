"""The functional way: the model is a pytree, its loss a pure function, a step `jit` of `value_and_grad`, Adam twelve lines."""

from __future__ import annotations

import functorch_lite as fl

from .data import RATE, Digits, Run

F = fl.nn.functional


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
def predict(model, x):
    return model(x).argmax(dim=1)


def train(data: Digits, epochs: int, seed: int = 0, progress: bool = True) -> tuple[Net, Run]:
    """Trains a classifier."""

    @fl.jit
    def train_step(model, adam, x, y, key, rate):
        """One step of training: forward, backward and update are one XLA program."""
        value, gradient = fl.value_and_grad(loss)(model, x, y, key)
        return *adam.update(model, gradient, rate), value

    key, model_key = fl.random.split(fl.random.key(seed))
    model = Net.init(model_key)
    adam = Adam.init(model)
    run = Run("functional", epochs * data.steps, progress)
    for epoch in range(epochs):
        rate = RATE * (1 - epoch / epochs)
        for x, y in run.steps(data.batches(epoch)):
            key, step_key = fl.random.split(key)
            model, adam, value = train_step(model, adam, x, y, step_key, rate)
            run.losses.append(value.item())
    return model, run.finish(lambda x: predict(model, x).numpy(), data, len(train_step.programs))

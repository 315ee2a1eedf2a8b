"""What a compiled call costs besides its arithmetic: asking whether anything that it depends on has changed, and a call of little work."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .frame import Given, Rival, Row, Side

LAYERS = 50  # of two parameters each


class PerCall(Side):
    """Makes many calls a step, and counts each."""

    CALLS = 100

    def seconds(self, steps, clock) -> float:
        return super().seconds(steps, clock) / self.CALLS

    def steps(self, seconds, clock) -> int:
        return super().steps(seconds / self.CALLS, clock)


def many(call: Callable) -> PerCall:
    return PerCall(lambda: [call() for _ in range(PerCall.CALLS)])


def guarded(blocks: bool) -> Callable[[], Side]:
    """The guards of a training step of a model of 100 parameters. ``blocks``: of the user's own classes, which read attributes."""

    def side():
        import functorch_lite.torch as torch

        nn = torch.nn
        width = 8

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear, self.scale, self.names = nn.Linear(width, width), 0.5, ["a", "b"]

            def forward(self, x):
                return x + self.linear(x).tanh() * self.scale * len(self.names)

        layers = [Block() if blocks else nn.Linear(width, width) for _ in range(LAYERS)]
        model = nn.Sequential(*layers)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

        @torch.compile(fullgraph=True)
        def step(x):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        step(torch.ones(2, width)).item()
        guards = step.programs[0].guards
        assert len(list(model.parameters())) == 2 * LAYERS and guards.broken() is None
        return many(guards.broken)

    return side


def called(name: str, size: int) -> Callable[[], Side]:
    """A compiled function of so many small arrays in a dict, or of one."""

    def side():
        import functorch_lite as fl

        f = fl.jit(lambda tree: fl.tree.map(lambda x: x + 1, tree))
        x = fl.ones((4, 4)) if size == 1 else {f"x{i}": fl.ones((4, 4)) for i in range(size)}
        return PerCall(lambda: [f(x) for _ in range(PerCall.CALLS)], lambda: {name: np.asarray(fl.tree.leaves(f(x))[0])})

    return side


def jax(name: str, size: int) -> Callable[[], Side]:
    """The same of jax."""

    def side():
        import jax
        import jax.numpy as jnp

        f = jax.jit(lambda tree: jax.tree.map(lambda x: x + 1, tree))
        x = jnp.ones((4, 4)) if size == 1 else {f"x{i}": jnp.ones((4, 4)) for i in range(size)}
        return PerCall(lambda: [f(x) for _ in range(PerCall.CALLS)], lambda: {name: np.asarray(jax.tree.leaves(f(x))[0])})

    return side


def information(name: str, side: Callable) -> Row:
    """A row in units of what guards may cost."""
    return Row(name, side, [Rival("ten microseconds", lambda: Given(1e-5), 1.0)], {"parameters": 2 * LAYERS}, agree=False)


ROWS = [
    information("guards of a call, 100 parameters", guarded(False)),
    information("guards of a call, 100 parameters in 50 blocks of the user's", guarded(True)),
    Row("jit call of x + 1, 4x4", called("x", 1), [Rival("jax.jit", jax("x", 1), 1.5)], {"dtype": "float32"}),
    Row("jit call, dict of 16 arrays", called("x", 16), [Rival("jax.jit", jax("x", 16), 1.5)], {"dtype": "float32"}),
]

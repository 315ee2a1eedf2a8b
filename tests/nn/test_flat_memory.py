"""Memory stays flat: what is recorded and never pulled back, and what was pulled back, is freed at once, without the garbage collector."""

import gc

import jax
import numpy as np
import pytest

import functorch_lite as fl
import functorch_lite.torch as torch
from functorch_lite.xla import segment
from functorch_lite.xla.segment import flush

W = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)


@pytest.fixture(autouse=True)
def settled(monkeypatch):
    """What comes again is compiled at once: a program that is compiled while objects are counted stays."""
    monkeypatch.setattr(segment, "compiling", lambda step: 0.0)


def model():
    """Three ops: a product, a sum, a nonlinearity."""
    w, b = torch.tensor(W, requires_grad=True), torch.zeros(3, requires_grad=True)
    return (w, b), lambda x: (x @ w + b).tanh()


def census() -> tuple[int, int]:
    """How many objects Python knows of, and how many arrays (with or without history) of this library are alive, plus jax buffers."""
    return len(gc.get_objects()), len(jax.live_arrays())


def grown(loop, rounds: int) -> tuple[int, int]:
    """What these rounds leave behind when they have run before, so that their programs are known. The collector is off: cycles count as leaks."""
    for _ in range(2):
        loop(rounds)
        flush()
    gc.collect()
    gc.disable()
    try:
        before = census()
        loop(rounds)
        flush()
        after = census()
    finally:
        gc.enable()
    return tuple(b - a for a, b in zip(before, after))


SLACK = 50  # caches of the interpreter and of the library may still settle; a leak would be thousands


def test_ten_thousand_forward_passes_without_backward():
    (w, b), f = model()
    x = torch.tensor(np.ones((2, 4), np.float32))

    def loop(n):
        for _ in range(n):
            out = f(x)
        assert out.requires_grad

    objects, buffers = grown(loop, 10_000)
    assert objects < SLACK and buffers < SLACK
    f(x).sum().backward()  # it was recorded
    assert w.grad is not None and b.grad is not None


def repeat(body):
    def loop(n):
        for _ in range(n):
            body()

    return loop


def cases():
    x = torch.tensor(np.ones((2, 4), np.float32))
    (w, b), f = model()

    def backward():
        f(x).sum().backward()
        w.grad = b.grad = None

    def accumulate():
        f(x).sum().backward()

    def grad():
        torch.autograd.grad(f(x).sum(), [w, b])

    def second_order():
        (g,) = torch.autograd.grad(f(x).sum(), w, create_graph=True)
        torch.autograd.grad((g * g).sum(), w)

    def views():
        y = w * 2
        v = y.t()[1:].reshape(-1)
        v.mul_(3)
        y.view(12)[0] = 1.0
        y.detach()[1].zero_()
        v.sum()

    def views_of_a_leaf():
        w[0].sum() + w.t()[1].sum()

    def hooks():
        h = f(x)
        h.register_hook(lambda g: g * 2)
        h.retain_grad()
        w.register_hook(lambda g: None).remove()
        h.sum().backward()
        w.grad = b.grad = None

    def hooks_without_backward():
        h = f(x)
        h.retain_grad()
        h.register_hook(lambda g: g * 2)

    def new_leaves():
        v = torch.zeros(3, requires_grad=True)
        (v * v).sum().backward()
        u = torch.arange(4.0).view(2, 2).requires_grad_()
        (u * u).sum().backward()

    def transforms():
        fl.vmap(lambda r: (r.unsqueeze(0) @ w).sum())(x).sum().backward()
        w.grad = None
        fl.grad(lambda y: f(y).sum())(x)

    def vmap_without_backward():
        fl.vmap(lambda r: (r.unsqueeze(0) @ w).sum() + w[0].sum())(x)

    def an_exception():
        def broken(r):
            y = (r.unsqueeze(0) @ w).sum()
            y.add_(1)
            raise KeyError

        try:
            fl.vmap(broken)(x)
        except KeyError:
            pass

    def truncated():
        h = torch.zeros(2, 3)
        for _ in range(2):
            h = h.detach()
            h.add_(f(x))
            h.sum().backward()
        w.grad = b.grad = None

    return [
        backward,
        accumulate,
        grad,
        second_order,
        views,
        views_of_a_leaf,
        hooks,
        hooks_without_backward,
        new_leaves,
        transforms,
        vmap_without_backward,
        an_exception,
        truncated,
    ]


@pytest.mark.parametrize("body", cases(), ids=lambda f: f.__name__)
def test_loops_leave_nothing_behind(body):
    objects, buffers = grown(repeat(body), 200)
    assert objects < SLACK and buffers < SLACK


def test_compiled_steps_leave_nothing_behind():
    (w, b), f = model()
    x = torch.tensor(np.ones((2, 4), np.float32))

    @torch.compile
    def step(x):
        w.grad = b.grad = None
        loss = f(x).sum()
        loss.backward()
        with torch.no_grad():
            w.sub_(w.grad, alpha=0.1)
            b.sub_(b.grad, alpha=0.1)
        return loss

    forward = torch.compile(f)

    def both():
        step(x)
        forward(x)

    objects, buffers = grown(repeat(both), 300)
    assert objects < SLACK and buffers < SLACK
    assert len(step.programs) == 1

"""What `fl.explain` tells of a compiled function."""

from __future__ import annotations

import pytest

import functorch_lite as fl
import functorch_lite.torch as torch
from functorch_lite.torch import nn

GAIN = 2.0


def make():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)

    def step(x):
        optimizer.zero_grad()
        loss = net(x).square().mean() * GAIN
        loss.backward()
        optimizer.step()
        return loss

    return net, step


def test_a_step_before_it_has_run():
    net, step = make()
    before = net[0].weight.tolist()
    found = fl.explain(step, torch.ones(2, 3))
    text = str(found)
    assert found.program is not None and not found.breaks and net[0].weight.tolist() == before and net[0].weight.grad is None
    for words in ("Linear_weight", "sgd_step", "5 cells read", "GAIN == 2.0", "the groups of SGD", "one program"):
        assert words in text, text
    assert "<svg" in found._repr_html_() or "sgd_step" in found._repr_html_()


def test_the_history_of_a_compiled_function():
    net, step = make()
    compiled = torch.compile(step)
    x = torch.ones(2, 3)
    compiled(x)
    net.eval()
    compiled(x)
    found = fl.explain(compiled, x)
    assert len(compiled.programs) == 2 and found.program is compiled.programs[0]
    assert found.recompiles == ["the state of Sequential has changed: training"]


def test_why_it_runs_as_it_is_written():
    def f(x):
        if x.sum() > 0:
            return x
        return -x

    found = fl.explain(f, torch.ones(2))
    assert found.program is None and found.graph is None and "runs as it is written" in str(found)
    assert "test_explain.py" in found.breaks[0]


def test_modules_and_jitted_functions():
    net, _ = make()
    found = fl.explain(torch.compile(net), torch.ones(2, 3))
    assert found.program.recorded and "gradients may flow through it" in str(found)
    assert fl.explain(fl.jit(lambda x: x * 2), fl.ones(3)).program.body.outs[0] is fl.ones(3).aval
    with pytest.raises(TypeError):
        fl.explain(3)

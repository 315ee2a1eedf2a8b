"""PyTorch's face, small: what depends on the Python it runs on (bytecode, profiler hook, reference counts) and on jax."""

import pytest

import functorch_lite.torch as torch
from functorch_lite.torch import nn

GAIN = 1.0


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.calls = nn.Linear(3, 1), 0

    def forward(self, x):
        self.calls += 1
        return self.layer(x) * self.calls


def test_a_compiled_step_its_guards_and_its_buffers():
    global GAIN
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.1), nn.Linear(4, 1))
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)
    factor = 1.0

    def step(x):
        optimizer.zero_grad()
        loss = (lambda y: (y * GAIN * factor).square().mean())(net(x))
        loss.backward()
        optimizer.step()
        return loss

    compiled, x = torch.compile(step), torch.randn(8, 3)
    losses = [compiled(x).item() for _ in range(3)]
    assert len(compiled.programs) == 1 and len(set(losses)) == 3
    assert len(compiled.programs[0].spare()) == 4 * 6 + 3 + 1  # six parameters with three of state each, statistics, the generator
    GAIN = 2.0
    compiled(x)
    factor = 3.0
    compiled(x)
    net.eval()
    compiled(x)
    words = " ".join(compiled.recompiles)
    assert len(compiled.programs) == 4 and all(w in words for w in ("GAIN", "factor", "training")), words


def test_a_side_effect_runs_as_it_is_written():
    net = Counter()
    model = torch.compile(net)
    x = torch.ones(3)
    with pytest.warns(UserWarning, match=r"self\.calls was changed"):
        model(x)
    model(x)
    assert net.calls == 2


def test_transforms_and_backward():
    w = torch.ones(3, requires_grad=True)
    torch.vmap(lambda x: (x * w).sum())(torch.ones(4, 3)).sum().backward()
    assert w.grad.tolist() == [4, 4, 4]
    view = w.detach()[1:]
    view.mul_(5)
    assert w.tolist() == [1, 5, 5]

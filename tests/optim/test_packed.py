"""The eager step over packed state: whatever is done between the steps, it leaves what a step over state of its own for each leaves."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import functorch_lite.torch as torch
from functorch_lite.core.pack import SMALL, RecordedPack
from functorch_lite.optim import packed
from functorch_lite.torch import nn

RNG = np.random.default_rng(3)
X, Y = (RNG.normal(size=(8, n)).astype(np.float32) for n in (4, 1))
ADAM = lambda params: torch.optim.Adam(params, 1e-2, weight_decay=0.01, amsgrad=True)
SGD = lambda params: torch.optim.SGD(params, 1e-2, momentum=0.9, dampening=0.1)


class Training:
    """A network, one of whose weights is large, and its optimizer."""

    def __init__(self, make, width: int = 6):
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 1))
        self.optimizer = make(self.net.parameters())

    def step(self, scale: float = 1.0, only=None):
        self.optimizer.zero_grad()
        (torch.nn.functional.mse_loss(self.net(torch.tensor(X)), torch.tensor(Y)) * scale).backward()
        for i, p in enumerate(self.net.parameters()):
            if only is not None and i not in only:
                p.grad = None
        self.optimizer.step()

    def state(self) -> dict:
        found = {name: v.numpy().copy() for name, v in self.net.state_dict().items()}
        for i, entry in self.optimizer.state_dict()["state"].items():
            found |= {f"{i}.{k}": v.numpy().copy() for k, v in entry.items()}
        return found

    @property
    def cells(self) -> list:
        return [v.cell for p in self.net.parameters() for v in self.optimizer.state[p].values()]

    @property
    def packed(self) -> int:
        return sum(c.part is not None and c.part.pack.__class__ is RecordedPack for c in self.cells)


def look(t):
    t.state()


def change(t):
    with torch.no_grad():
        t.optimizer.state[next(t.net.parameters())][t.optimizer.slots[0]].mul_(0.5)


def replace(t):
    entry = t.optimizer.state[next(t.net.parameters())]
    entry[t.optimizer.slots[0]] = entry[t.optimizer.slots[0]] * 2


def load(t):
    t.optimizer.load_state_dict(t.optimizer.state_dict())


def rebuild(t):
    net, optimizer = copy.deepcopy((t.net, t.optimizer))
    t.net, t.optimizer = pickle.loads(pickle.dumps((net, optimizer)))


def some(t):
    t.step(only=(0, 3))


def rate(t):
    t.optimizer.param_groups[0]["lr"] = 3e-2


def tensor_rate(t):
    t.optimizer.param_groups[0]["lr"] = torch.tensor(3e-2)


def flag(t):
    t.optimizer.param_groups[0]["maximize"] = True


def compiled(t):
    torch.compile(t.step, fullgraph=True)()


@pytest.mark.parametrize("between", [look, change, replace, load, rebuild, some, rate, tensor_rate, flag, compiled])
@pytest.mark.parametrize("make", [ADAM, SGD])
def test_what_happens_between_the_steps(make, between, monkeypatch):
    found = []
    for small in (SMALL, -1):
        monkeypatch.setattr(packed, "SMALL", small)
        t = Training(make)
        for _ in range(3):
            t.step()
            t.step(0.5)
            between(t)
        t.step()
        assert t.packed == (len(t.cells) if small > 0 else 0)
        found.append(t.state())
    assert found[0].keys() == found[1].keys()
    for name in found[0]:
        np.testing.assert_allclose(found[0][name], found[1][name], rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("make", [ADAM, SGD])
def test_large_state_stays_apart(make, monkeypatch):
    found = []
    for small in (SMALL, -1):
        monkeypatch.setattr(packed, "SMALL", small)
        t = Training(make, width=SMALL // 4 + 1)  # 4 * width elements: too many
        for _ in range(4):
            t.step()
        found.append(t.state())
        large = [v.cell for v in t.optimizer.state[t.net[0].weight].values()]
        assert all(c.part is None for c in large)
        assert t.packed == (len(t.cells) - len(large) if small > 0 else 0)
    for name in found[0]:
        np.testing.assert_allclose(found[0][name], found[1][name], rtol=1e-5, atol=1e-6, err_msg=name)


def test_state_that_others_write_at_each_step_is_left_alone():
    t = Training(SGD)
    for i in range(12):
        t.step()
        change(t)
        assert (t.packed > 0) is (i < packed._PATIENCE)


def test_versions_count_and_old_values_stay():
    t = Training(ADAM)
    t.step()
    average = t.optimizer.state[t.net[0].weight]["exp_avg"]
    before, seen, version = average.array, average.numpy().copy(), average._version
    t.step()
    assert average._version == version + 1
    np.testing.assert_array_equal(np.asarray(before), seen)
    assert not np.array_equal(average.numpy(), seen)


def test_many_steps_wait_and_run_as_one():
    t, other = Training(ADAM), Training(ADAM)
    for _ in range(20):
        t.step()
        other.step()
        look(other)
    for name, value in t.state().items():
        np.testing.assert_allclose(value, other.state()[name], rtol=1e-5, atol=1e-6, err_msg=name)

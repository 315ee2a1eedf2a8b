"""Small state in packs: whoever looks at it, writes it, copies it or holds it sees what an eager step would have left."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref

import jax
import numpy as np
import pytest

import functorch_lite as fl
import functorch_lite.torch as torch
from functorch_lite.core.pack import SMALL
from functorch_lite.errors import DonatedBufferError
from functorch_lite.torch import nn
from functorch_lite.torch.nn import functional as F

RNG = np.random.default_rng(1)
X = RNG.normal(size=(16, 4)).astype(np.float32)
Y = RNG.normal(size=(16, 1)).astype(np.float32)


class Training:
    """A small network, its optimizer and a compiled or eager step."""

    def __init__(self, compiled: bool, norm: bool = True, width: int = 8):
        torch.manual_seed(0)
        middle = nn.BatchNorm1d(width) if norm else nn.Tanh()
        self.net = nn.Sequential(nn.Linear(4, width), middle, nn.Linear(width, 1))
        self.optimizer = torch.optim.Adam(self.net.parameters(), 1e-2, eps=1e-3)
        self.step = torch.compile(self.written, fullgraph=True) if compiled else self.written

    def written(self, x, y):
        self.optimizer.zero_grad()
        loss = F.mse_loss(self.net(x), y)
        loss.backward()
        self.optimizer.step()
        return loss

    def run(self, steps: int = 3, rows: int = 16):
        return [self.step(torch.tensor(X[:rows]), torch.tensor(Y[:rows])).item() for _ in range(steps)]

    def state(self) -> dict:
        found = {name: v.numpy().copy() for name, v in self.net.state_dict().items()}
        for i, entry in enumerate(self.optimizer.state_dict()["state"].values()):
            found |= {f"{i}.{k}": v.numpy().copy() for k, v in entry.items()}
        return found | {f"{n}.grad": p.grad.numpy().copy() for n, p in self.net.named_parameters() if p.grad is not None}

    @property
    def plan(self):
        return self.step.programs[0].plan


def same(a: Training, b: Training):
    one, other = a.state(), b.state()
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_allclose(other[name], one[name], rtol=2e-4, atol=1e-6, err_msg=name)


def pair(**options):
    return Training(False, **options), Training(True, **options)


def packed(t: Training) -> list:
    return [c for c in t.plan.cells if c.part is not None]


# ----------------------------------------------------------------------------------------------------------- looking


def test_what_is_packed_and_that_nobody_looked():
    _, t = pair()
    t.run(4)
    kinds = {c.aval.dtype for c in t.plan.cells}
    assert kinds == {fl.float32} and len(packed(t)) == 4 * 6 + 2  # each of six parameters with Adam's state; running statistics
    assert t.plan.first == 1 and t.plan.after == 2 and len(t.plan.gradients) == 6
    assert all(c.part.made is None for c in packed(t))
    assert len(t.step.programs) == 1 and t.plan.packed == 0


def test_reading_parameters_state_and_gradients():
    eager, t = pair()
    for steps in (1, 2, 1):
        assert np.allclose(eager.run(steps), t.run(steps), rtol=1e-4)
        same(eager, t)
    assert t.plan.packed == 0  # who only looks sends nobody away


def test_a_value_is_the_same_array_until_the_next_step():
    _, t = pair()
    t.run()
    p = t.net[0].bias
    first, grad = p.array, p.grad
    assert p.array is first and p.grad is grad
    before = first.tolist(), grad.tolist()
    t.run(1)
    assert p.array is not first and p.grad is not grad and p.tolist() != before[0]
    assert (first.tolist(), grad.tolist()) == before


def test_shapes_are_seen_without_a_look():
    _, t = pair()
    t.run()
    p = t.net[0].bias
    assert p.shape == (8,) and p.dtype is torch.float32 and p.ndim == 1 and p.cell.part.made is None


def test_copies_and_pickles():
    eager, t = pair()
    eager.run(), t.run()
    kept = {name: v.clone() for name, v in t.net.state_dict().items()}
    twin, again = copy.deepcopy(t.net), pickle.loads(pickle.dumps(t.net))
    shallow = copy.copy(t.net[0].weight)
    t.run(2), eager.run(2)
    same(eager, t)
    for other in (twin, again):
        for name, v in other.state_dict().items():
            assert torch.equal(v, kept[name]) and v.cell.part is None
    assert torch.equal(shallow, t.net[0].weight)  # the same storage
    cell = fl.Cell(1.0)
    assert copy.copy(cell).value.item() == 1 == copy.deepcopy(cell).value.item()


def test_a_look_from_inside_transforms():
    _, t = pair()
    t.run()
    w = t.net[0].bias
    out = fl.vmap(lambda x: x * w.detach().array)(fl.ones((3, 8)))
    assert np.array_equal(np.asarray(out)[1], w.detach().numpy())
    gradient = fl.vmap(lambda x: x + t.net[2].bias.grad.array)(fl.ones((3, 1)))
    assert gradient.shape == (3, 1) and t.net[2].bias.grad.home is w.home


def test_versions_count():
    w, v = torch.zeros(3), torch.zeros(3)

    @torch.compile
    def step():
        w.add_(1.0), v.add_(2.0)

    step()
    before = w._version
    for _ in range(3):
        step()
    assert w.cell.part is not None and w._version == before + 3
    w.mul_(2)
    step()
    assert w._version == before + 5 and w.tolist() == [9.0] * 3 and v.tolist() == [10.0] * 3


# ----------------------------------------------------------------------------------------------------------- writing


def test_writes_between_the_steps():
    eager, t = pair()
    for i in range(4):
        for run in (eager, t):
            run.run(1)
            with torch.no_grad():
                if i == 0:
                    run.net[0].weight.mul_(0.5)
                if i == 1:
                    run.net[1].running_mean.zero_()
                if i == 2:
                    next(iter(run.optimizer.state.values()))["exp_avg"].zero_()
    same(eager, t)
    assert t.plan.packed == 3 and len(t.step.programs) == 1


def test_loading_a_state():
    eager, t = pair()
    saved = [copy.deepcopy((r.net.state_dict(), r.optimizer.state_dict())) for r in (eager, t) if r.run(2)]
    for run, (net, optimizer) in zip((eager, t), saved):
        run.run(2)
        run.net.load_state_dict(net)
        run.optimizer.load_state_dict(optimizer)
        run.run(2)
    same(eager, t)


def test_a_parameter_that_is_written_each_time_is_left_out():
    """Ten steps in, what others write each time has a buffer of its own, and the rest stays together."""
    eager, t = pair()
    first = None
    for _ in range(30):
        for run in (eager, t):
            run.run(1)
            with torch.no_grad():
                run.net[2].weight.clamp_(-0.1, 0.1)
        first = first or t.plan
    same(eager, t)
    assert t.plan is not first and t.plan.packed == 0 and t.net[2].weight.cell not in t.plan.cells
    assert len(packed(t)) == 4 * 6 + 1


def test_gradients_that_are_read_and_changed():
    eager, t = pair()
    for run in (eager, t):
        run.run(1)
        run.net[0].weight.grad.mul_(2)
        run.net[2].bias.grad = None
    same(eager, t)
    for run in (eager, t):
        run.run(1)
    same(eager, t)


def test_tied_parameters():
    def losses(wrap):
        torch.manual_seed(0)
        one, other = nn.Linear(4, 4), nn.Linear(4, 4)
        other.weight = one.weight
        optimizer = torch.optim.SGD([*one.parameters(), other.bias], 0.1, momentum=0.9)

        @wrap
        def step(x):
            optimizer.zero_grad()
            loss = other(one(x).tanh()).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        found = [step(torch.tensor(X)).item() for _ in range(4)]
        return [*found, *one.weight.flatten().tolist(), *other.weight.flatten().tolist()]

    assert np.allclose(losses(torch.compile), losses(lambda f: f), rtol=1e-4)


def test_two_tensors_that_hold_one_array():
    x = torch.ones(3)
    a, b = torch.zeros(3), torch.zeros(3)
    a.data, b.data = x.data, x.data

    @torch.compile
    def step():
        a.add_(1.0), b.mul_(3.0)

    step(), step()
    assert a.tolist() == [3.0] * 3 and b.tolist() == [9.0] * 3 and x.tolist() == [1.0] * 3


# ---------------------------------------------------------------------------------------------------- other programs


def test_batches_of_other_sizes_share_the_pack():
    eager, t = pair()
    for rows in (16, 7, 16, 7, 16):
        assert np.allclose(eager.run(1, rows), t.run(1, rows), rtol=1e-4)
    same(eager, t)
    one, other = (p.plan for p in t.step.programs)
    assert one.pack is other.pack and one.packed == other.packed == 0


def test_two_programs_that_share_some_cells():
    def train(wrap):
        torch.manual_seed(0)
        shared, a, b = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
        steps = []
        for head in (a, b):
            optimizer = torch.optim.SGD([*shared.parameters(), *head.parameters()], 0.1)

            def step(x, head=head, optimizer=optimizer):
                optimizer.zero_grad()
                loss = head(shared(x).tanh()).square().mean()
                loss.backward()
                optimizer.step()
                return loss

            steps.append(wrap(step))
        losses = [steps[i % 3 % 2](torch.tensor(X)).item() for i in range(60)]
        return steps, losses, [p.numpy().copy() for m in (shared, a, b) for p in m.state_dict().values()]

    steps, losses, state = train(torch.compile)
    _, expected, others = train(lambda f: f)
    assert np.allclose(losses, expected, rtol=1e-4)
    for x, y in zip(state, others):
        np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-6)
    assert all(len(s.programs) == 1 and len(s.programs[0].plan.cells) == 2 for s in steps)  # in the end each packs its own


def test_a_compiled_look_at_the_parameters_between_the_steps():
    eager, t = pair(norm=False)
    look = torch.compile(lambda x: t.net(x))
    for _ in range(3):
        eager.run(1), t.run(1)
        with torch.no_grad():
            assert np.allclose(look(torch.tensor(X)).numpy(), eager.net(torch.tensor(X)).numpy(), rtol=1e-3, atol=1e-6)
    assert t.plan.packed == 0


def test_cells_of_the_functional_face():
    count, mean = fl.Cell(fl.zeros(3)), fl.Cell(fl.zeros(3))

    @fl.jit
    def step(x):
        count.value = count.value + 1
        mean.value = mean.value + x
        return mean.value / count.value

    for i in range(3):
        out = step(fl.full((3,), float(i)))
    assert out.tolist() == [1.0] * 3 and count.value.tolist() == [3.0] * 3 and count.part is not None


# ------------------------------------------------------------------------------------------------------ what goes wrong


def test_an_executable_that_raises_leaves_everything_as_it_was(monkeypatch):
    eager, t = pair()
    eager.run(), t.run()

    def fails(buffers, box):
        raise RuntimeError("no memory")

    monkeypatch.setattr(t.plan.runner, "run", fails)
    with pytest.raises(RuntimeError, match="no memory"):
        t.run(1)
    monkeypatch.undo()
    same(eager, t)
    eager.run(1), t.run(1)
    same(eager, t)


def test_an_interrupt_leaves_all_old_or_all_new_values(monkeypatch):
    eager, t = pair()
    eager.run(), t.run()
    commit, calls = type(t.plan)._commit, []

    def interrupted(self, outs, pack):
        calls.append(1)
        if len(calls) == 1:
            pack.replace(outs[: self.first])
            raise KeyboardInterrupt
        commit(self, outs, pack)

    monkeypatch.setattr(type(t.plan), "_commit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        t.run(1)
    monkeypatch.undo()
    eager.run(1)
    same(eager, t)


def test_state_that_was_lost_says_so(monkeypatch):
    """A device that fails in the middle has taken the buffers: no number is made up."""
    _, t = pair()
    t.run()
    real = t.plan.runner.run

    def dies(buffers, box):
        real(buffers, [])
        raise RuntimeError("the device is gone")

    monkeypatch.setattr(t.plan.runner, "run", dies)
    with pytest.raises(RuntimeError, match="the device is gone"):
        t.run(1)
    with pytest.raises(DonatedBufferError, match="failed before it gave it back"):
        t.net[0].bias.tolist()


def test_a_host_function_that_raises_leaves_the_state():
    w, v, fail = torch.zeros(3), torch.zeros(3), [False]

    def host(x):
        if fail[0]:
            raise ValueError("in the middle")
        return x

    @fl.jit
    def step():
        w.add_(1.0)
        v.add_(fl.pure_callback(host, fl.ones(3), w.array))

    step()
    fail[0] = True
    with pytest.raises(Exception, match="in the middle"):
        step()
    fail[0] = False
    assert w.tolist() == [1.0] * 3 == v.tolist()


@pytest.mark.parametrize("size", [8, 2 * SMALL], ids=["small", "large"])
@pytest.mark.parametrize("how", ["numpy", "dlpack", "jax", "array", "tensor"])
def test_views_that_others_hold_stay_as_they_are(size, how):
    w, v = torch.zeros(size), torch.ones(size)

    @torch.compile
    def step():
        w.add_(1.0), v.add_(1.0)

    step()
    looks = {
        "numpy": lambda: w.numpy(),
        "dlpack": lambda: np.from_dlpack(w.array.buffer),
        "jax": lambda: jax.numpy.asarray(w.array),
        "array": lambda: w.array,
        "tensor": lambda: w.clone(),
    }
    for i in range(1, 4):
        held = looks[how]()
        step()
        assert np.asarray(held).sum() == i * size and w.sum().item() == (i + 1) * size
    assert v.sum().item() == 5 * size
    assert len([k for k in step.programs[0].body._derived if k[0] == "runner"]) == 1  # who holds a buffer costs a copy, no compiling


def test_threads_that_step_at_once():
    """A step is taken whole: no thread's is lost, none sees half of one."""
    w, v = torch.zeros(3), torch.zeros(3)
    n, seen, failed = 200, [], []

    @torch.compile
    def step():
        w.add_(1.0), v.add_(2.0)

    def work():
        try:
            for i in range(n):
                step()
                if i % 10 == 0:
                    seen.append((w.tolist(), v.tolist()))
        except Exception as error:
            failed.append(error)

    step()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed and w.tolist() == [4 * n + 1.0] * 3 and v.tolist() == [2 * (4 * n + 1.0)] * 3
    assert all(len(set(a)) == 1 and len(set(b)) == 1 for a, b in seen)


def test_models_are_freed():
    t = Training(True)
    t.run()
    t.state()
    dead = weakref.ref(t.net)
    del t
    gc.collect()
    assert dead() is None

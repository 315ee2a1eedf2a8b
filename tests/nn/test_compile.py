"""A compiled step against the same step as it is written: never a stale value, one program, state written back."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import functorch_lite as fl
import functorch_lite.torch as torch
from functorch_lite.errors import GraphBreak
from functorch_lite.torch import nn
from functorch_lite.torch.nn import functional as F
from functorch_lite.xla.single import EXECUTABLES

RNG = np.random.default_rng(0)
X = RNG.normal(size=(16, 4)).astype(np.float32)
Y = np.arange(16) % 3
SCALE = 1.0
FLAG = [1.0]
OPTIONS = {"gain": 1.0, "names": ["a"]}


class Net(nn.Module):
    def __init__(self, p: float = 0.0, norm: bool = False):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.norm = nn.BatchNorm1d(8) if norm else nn.Identity()
        self.drop = nn.Dropout(p)
        self.last = nn.Linear(8, 3)
        self.gain = 1.0
        self.n = 0

    def forward(self, x):
        return self.last(self.drop(self.norm(self.first(x)).relu())) * self.gain


class Run:
    """Ten training steps; `between(i, run)` changes something before step i."""

    def __init__(self, compiled: bool, between=lambda i, run: None, loss=None, optimizer=None, steps: int = 10, model=Net, **options):
        torch.manual_seed(0)
        self.net = model(**options)
        # eps: what Adam makes of a gradient that is rounding only (a bias before batch norm) is no test of anything
        self.optimizer = (optimizer or (lambda p: torch.optim.Adam(p, 1e-2, eps=1e-3)))(self.net.parameters())
        loss = loss or (lambda net, x, y: F.cross_entropy(net(x), y))

        def step(x, y):
            self.optimizer.zero_grad()
            value = loss(self.net, x, y)
            value.backward()
            self.optimizer.step()
            return value

        self.step = torch.compile(step) if compiled else step
        torch.manual_seed(1)
        self.losses = []
        x, y = torch.tensor(X), torch.tensor(Y)
        for i in range(steps):
            between(i, self)
            self.losses.append(self.step(x, y).item())

    def state(self):
        return [v.numpy() for v in self.net.state_dict().values()] + [
            s.numpy() for entry in self.optimizer.state.values() for s in entry.values() if s is not None
        ]


def both(**options):
    eager, compiled = Run(False, **options), Run(True, **options)
    np.testing.assert_allclose(compiled.losses, eager.losses, rtol=2e-4)
    for a, b in zip(eager.state(), compiled.state(), strict=True):
        np.testing.assert_allclose(b, a, rtol=5e-3, atol=1e-5)
    assert len(set(eager.losses)) == len(eager.losses)
    return compiled


def one_program(run):
    assert len(run.step.programs) == 1 and not run.step.breaks and not run.step.recompiles, (
        run.step.programs,
        run.step.breaks,
        run.step.recompiles,
    )


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda p: torch.optim.SGD(p, 0.1),
        lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=1e-3),
        lambda p: torch.optim.Adam(p, 1e-2, amsgrad=True),
        lambda p: torch.optim.AdamW(p, 1e-2),
    ],
    ids=["sgd", "momentum", "adam", "adamw"],
)
def test_a_whole_step_is_one_program(optimizer):
    one_program(both(optimizer=optimizer))


def test_dropout_differs_each_step_and_follows_the_seed():
    run = both(p=0.5)
    one_program(run)
    same = torch.compile(lambda x: F.dropout(x, 0.5))
    x = torch.ones(64)
    torch.manual_seed(3)
    first, second = same(x), same(x)
    torch.manual_seed(3)
    again = same(x)
    torch.manual_seed(3)
    eager = F.dropout(x, 0.5)
    assert not torch.equal(first, second) and torch.equal(first, again) and torch.equal(first, eager)


def test_statistics_of_batch_norm():
    run = both(norm=True)
    one_program(run)
    assert run.net.norm.num_batches_tracked.item() == 10


def test_a_learning_rate_changed_by_hand_is_an_input():
    def between(i, run):
        run.optimizer.param_groups[0]["lr"] = 1e-2 / (1 + i)

    one_program(both(between=between))


def test_no_recompile_in_100_steps_of_a_schedule():
    def between(i, run):
        if i == 0:
            run.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(run.optimizer, 100)
        else:
            run.scheduler.step()

    run = Run(True, between=between, steps=100)
    one_program(run)
    assert run.losses[-1] < run.losses[0]


def test_train_and_eval():
    def between(i, run):
        run.net.train(i % 3 != 2)

    run = both(p=0.5, norm=True, between=between)
    assert len(run.step.programs) == 2


def test_a_plain_attribute():
    def between(i, run):
        run.net.gain = 1.0 + i // 5

    run = both(between=between)
    assert len(run.step.programs) == 2 and "gain" in run.step.recompiles[0]


def test_a_global():
    def between(i, run):
        global SCALE
        SCALE = 1.0 + i // 5

    run = both(between=between, loss=lambda net, x, y: F.cross_entropy(net(x) * SCALE, y))
    assert len(run.step.programs) == 2 and "SCALE" in run.step.recompiles[0]


def test_a_closure_variable():
    factor = 1.0

    def loss(net, x, y):
        return F.cross_entropy(net(x) * factor, y)

    def between(i, run):
        nonlocal factor
        factor = 1.0 + i // 5

    run = both(between=between, loss=loss)
    assert len(run.step.programs) == 2 and "factor" in run.step.recompiles[0]


def test_lists_and_dicts():
    def loss(net, x, y):
        return F.cross_entropy(net(x) * FLAG[0] * OPTIONS["gain"] * len(OPTIONS["names"]), y)

    def between(i, run):
        FLAG[0] = 1.0 + i // 3
        OPTIONS["gain"] = 2.0 if i > 5 else 1.0
        OPTIONS["names"] = ["a"] * (2 if i > 7 else 1)

    both(between=between, loss=loss)


def test_the_configuration_of_an_object():
    class Config:
        scale = 3.0

        def __init__(self):
            self.scale = 1.0

    config = Config()

    def loss(net, x, y):
        return F.cross_entropy(net(x) * config.scale, y)

    def between(i, run):
        config.scale = 1.0 + i // 5

    both(between=between, loss=loss)


class Config:
    scale = 1.0


def config_of(index):
    return CONFIGS[index]


CONFIGS = [Config(), Config()]


@pytest.mark.parametrize("how", ["through a call", "in a loop", "by its class", "in a function inside", "of the instance"])
def test_what_a_configuration_holds_by_other_roads(how):
    config = CONFIGS[0]
    config.scale = 1.0

    def through_a_call(x):
        found = config_of(0)
        return x * found.scale

    def in_a_loop(x):
        for c in CONFIGS:
            x = x * c.scale
        return x

    def by_its_class(x):
        return x * Config.scale

    def in_a_function_inside(x):
        return (lambda: x * config.scale)()

    def of_the_instance(x):
        return x * CONFIGS[1].scale  # which has none of its own at first

    f = {"through a call": through_a_call, "in a loop": in_a_loop, "by its class": by_its_class}
    f = f | {"in a function inside": in_a_function_inside, "of the instance": of_the_instance}
    compiled, x = torch.compile(f[how]), torch.ones(1)
    for scale in (1.0, 1.0, 2.0, 3.0):
        try:
            if how == "by its class":
                Config.scale = scale
            elif how == "of the instance":
                if scale > 1:
                    CONFIGS[1].scale = scale
            else:
                config.scale = scale
            assert compiled(x).item() == scale == f[how](x).item()
        finally:
            Config.scale = 1.0 if how != "by its class" or scale == 3.0 else Config.scale
    CONFIGS[1].__dict__.clear()
    assert not compiled.breaks


def test_the_default_dtype():
    f = torch.compile(lambda: torch.zeros(2))
    assert f().dtype is torch.float32
    try:
        torch.set_default_dtype(torch.float64)
        assert f().dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_one_launch_a_step(monkeypatch):
    """What runs on the machine in a step is one executable, called once."""
    from functorch_lite.xla.compile import Executable

    run = Run(True, steps=2, norm=True, p=0.5)
    x, y = torch.tensor(X), torch.tensor(Y)
    seen = []
    launch, runner = Executable.__call__, run.step.programs[0].plan.runner
    step = runner.run
    monkeypatch.setattr(Executable, "__call__", lambda self, buffers: seen.append(self.label) or launch(self, buffers))
    monkeypatch.setattr(runner, "run", lambda buffers, box: seen.append("step") or step(buffers, box))
    run.step(x, y).item()
    assert seen == ["step"]


def test_a_layer_frozen_then_unfrozen():
    def between(i, run):
        run.net.first.requires_grad_(not 3 <= i < 6)

    run = both(between=between)
    assert 2 <= len(run.step.programs) <= 3


class Counting(Net):
    def forward(self, x):
        self.n += 1
        return super().forward(x) * (1 + 0.1 * self.n)


def test_a_counter_in_the_forward():
    with pytest.warns(UserWarning, match=r"runs as it is written.*self\.n was changed from 0 to 1"):
        run = both(model=Counting)
    assert run.net.n == 10 and not run.step.programs


class Printing(Net):
    def forward(self, x):
        print("forward")
        return super().forward(x)


def test_a_print_in_the_forward(capsys):
    with pytest.warns(UserWarning, match=r"print\(\) was called.*test_compile\.py:\d+"):
        both(model=Printing)
    assert capsys.readouterr().out.count("forward") == 20


def test_a_branch_on_a_value():
    def loss(net, x, y):
        value = F.cross_entropy(net(x), y)
        return value if value.item() > 1.05 else value * 2

    with pytest.warns(UserWarning, match=r"test_compile\.py:\d+"):
        run = both(loss=loss)
    assert not run.step.programs and run.step.breaks


def test_a_list_that_is_appended_to():
    seen = []

    def loss(net, x, y):
        value = F.cross_entropy(net(x), y)
        seen.append(float(X[0, 0]))
        return value

    with pytest.warns(UserWarning, match="seen"):
        both(loss=loss)
    assert len(seen) == 20


def test_fullgraph_raises_and_shows_the_way_out():
    @torch.compile(fullgraph=True)
    def f(x):
        if x.sum() > 0:
            return x
        return -x

    with pytest.raises(GraphBreak, match=r"torch\.where or torch\.cond"):
        f(torch.ones(3))


def test_gradient_accumulation_and_gradients_that_stay():
    """The first step finds no gradient, the others add to what is there."""

    def run(wrap):
        torch.manual_seed(0)
        net = Net()
        step = wrap(lambda x, y: F.cross_entropy(net(x), y).backward())
        for i in range(4):
            if i == 2:
                net.zero_grad(set_to_none=False)
            step(torch.tensor(X), torch.tensor(Y))
        return [p.grad.numpy() for p in net.parameters()]

    for a, b in zip(run(lambda f: f), run(torch.compile)):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-6)


def test_only_the_optimizer_is_compiled():
    def run(wrap):
        torch.manual_seed(0)
        net = Net()
        optimizer = torch.optim.Adam(net.parameters(), 1e-2)
        step = wrap(lambda: optimizer.step())
        for _ in range(4):
            optimizer.zero_grad()
            F.cross_entropy(net(torch.tensor(X)), torch.tensor(Y)).backward()
            step()
        return step, [p.detach().numpy() for p in net.parameters()]

    (_, eager), (step, compiled) = run(lambda f: f), run(torch.compile)
    for a, b in zip(eager, compiled):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-6)
    assert len(step.programs) == 1


def test_only_the_model_is_compiled():
    """Forward and backward are two programs; the optimizer outside sees ordinary gradients."""

    def run(compiled):
        torch.manual_seed(0)
        net = Net(norm=True, p=0.25)
        model = torch.compile(net) if compiled else net
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        torch.manual_seed(1)
        losses = []
        for _ in range(5):
            optimizer.zero_grad()
            out = model(torch.tensor(X))
            assert out.requires_grad
            loss = F.cross_entropy(out, torch.tensor(Y))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        with torch.no_grad():
            assert not model(torch.tensor(X)).requires_grad
        return losses, [v.numpy() for v in net.state_dict().values()]

    (a, state_a), (b, state_b) = run(False), run(True)
    np.testing.assert_allclose(a, b, rtol=1e-4)
    for x, y in zip(state_a, state_b):
        np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-5)


def test_a_compiled_module_is_a_module():
    net = Net()
    model = torch.compile(net)
    assert isinstance(model, nn.Module) and model.first is net.first
    assert [n for n, _ in model.named_parameters()] == [f"_orig_mod.{n}" for n, _ in net.named_parameters()]
    model.eval()
    assert not net.training


def test_a_plain_function_with_numbers():
    calls = []

    @torch.compile
    def f(x, scale, power: int, mode="a"):
        calls  # noqa: B018  # read, not changed
        return x * scale**power

    x = torch.tensor([1.0, 2.0])
    for scale in (1.0, 2.0, 3.0):
        assert f(x, scale, 2).tolist() == [scale**2, 2 * scale**2]
    assert len(f.programs) == 1
    assert f(x, 2.0, 3).tolist() == [8.0, 16.0]
    assert len(f.programs) == 2


def test_other_shapes_and_dtypes():
    f = torch.compile(lambda x: x.sum())
    assert f(torch.ones(3)).item() == 3 and f(torch.ones(4)).item() == 4 and f(torch.ones(3, dtype=torch.int64)).dtype is torch.int64
    assert len(f.programs) == 3


def test_an_exception_leaves_everything_as_it_was():
    torch.manual_seed(0)
    net = Net(norm=True)
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)
    counts = []

    def step(x, fail: bool):
        counts.append(1)
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
        if fail:
            raise ValueError("in the middle")

    before = [v.numpy().copy() for v in net.state_dict().values()]
    with pytest.raises(ValueError, match="in the middle"):
        torch.compile(step)(torch.tensor(X), True)
    for a, b in zip(before, net.state_dict().values()):
        np.testing.assert_array_equal(a, b.numpy())
    assert all(p.grad is None for p in net.parameters())


class Wide(Net):
    """With parameters that are too large to be packed."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 2000), nn.Linear(2000, 3)


def test_state_buffers_are_donated():
    run = Run(True, steps=3, model=Wide)
    weights = [run.net.first.weight, run.net.last.weight]
    plan = run.step.programs[0].plan
    assert len(plan.taken) == 4 * len(weights)  # each with two averages and a count, which lies beside what it belongs to
    pointers = [p.cell.held._buffer.unsafe_buffer_pointer() for p in weights]
    pack = plan.pack.buffers[0]
    run.step(torch.tensor(X), torch.tensor(Y))
    assert pack.is_deleted() and [p.cell.held._buffer.unsafe_buffer_pointer() for p in weights] == pointers
    watched = [p.cell.held._buffer for p in weights]  # what somebody holds is not given away
    kept = [np.array(b) for b in watched]
    run.step(torch.tensor(X), torch.tensor(Y))
    for buffer, before in zip(watched, kept):
        np.testing.assert_array_equal(np.asarray(buffer), before)


def test_the_first_call_takes_the_buffers_that_later_ones_take(monkeypatch):
    """Nothing is copied, and nothing compiled again in the second step."""
    from functorch_lite.xla.packed import Runner

    copied = []
    monkeypatch.setattr(Runner, "copy", staticmethod(copied.append))
    run = Run(True, steps=3, model=Wide)
    assert not copied and len([k for k in run.step.programs[0].body._derived if k[0] in ("runner", "launch")]) == 1


def test_what_jax_does_to_compile_an_op_is_no_side_effect():
    """Ops on values at hand run while a step is traced; at first they are compiled, and jax looks at the clock and fills caches."""
    kept = EXECUTABLES.copy()
    EXECUTABLES.clear()
    jax.clear_caches()
    try:
        with fl.eager("op"):
            one_program(Run(True, steps=2, norm=True))
        assert len(EXECUTABLES) > 3
    finally:
        EXECUTABLES.update(kept)


def test_a_buffer_is_taken_when_nobody_else_holds_it():
    w = torch.zeros(1000)
    step = torch.compile(_adds(w))
    step()
    pointer = w.cell.held._buffer.unsafe_buffer_pointer()
    step()
    assert w.cell.held._buffer.unsafe_buffer_pointer() == pointer
    seen = w.numpy()
    snapshot = w.array
    step()
    assert seen.sum() == 2000 == snapshot.sum().item() and w.sum().item() == 3000


def _adds(w):
    def step():
        w.add_(1.0)

    return step


def test_views_and_aliases_see_what_a_step_wrote():
    w = torch.zeros(2, 3)
    row, same = w[0], w.detach()

    @torch.compile
    def step(x):
        w.add_(x)
        row.mul_(2)

    step(torch.ones(3))
    assert w.tolist() == [[2, 2, 2], [1, 1, 1]] == same.tolist() and row.tolist() == [2, 2, 2]


def test_an_argument_is_written_back():
    @torch.compile
    def f(x):
        x.mul_(2)
        return x.sum()

    x = torch.ones(3)
    assert f(x).item() == 6 and x.tolist() == [2, 2, 2] and f(x).item() == 12
    assert len(f.programs) == 1


def test_a_tensor_rebound_by_the_user():
    class Holder:
        pass

    holder = Holder()
    holder.w = torch.ones(2)
    f = torch.compile(lambda x: x * holder.w)
    assert f(torch.ones(2)).tolist() == [1, 1]
    holder.w = torch.full((2,), 3.0)
    assert f(torch.ones(2)).tolist() == [3, 3]


def test_nested_compiled_functions_become_one_program():
    inner = torch.compile(lambda x: x * 2)
    outer = torch.compile(lambda x: inner(x) + 1)
    assert outer(torch.ones(2)).tolist() == [3, 3]
    assert not inner.programs and len(outer.programs) == 1

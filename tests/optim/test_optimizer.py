"""SGD, Adam, AdamW and the schedules: against plain NumPy and, where it is installed, PyTorch; groups, state and errors."""

import copy
import math
import pickle
import re

import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite import optim
from functorch_lite.nn.create import tensor
from functorch_lite.nn.grad_mode import no_grad
from functorch_lite.nn.parameter import Parameter
from functorch_lite.optim import lr_scheduler

SEED = 20240608

OPTIMIZERS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "maximize": True}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "betas": (0.9, 0.5)}),
    ("AdamW", {"lr": 0.1}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.5, "amsgrad": True}),
]
IDS = [f"{name}-{','.join(options)}" for name, options in OPTIMIZERS]


class Reference:
    """One parameter under one optimizer, in NumPy: the formulas as the papers write them."""

    def __init__(self, name, p, lr=1e-3, momentum=0, dampening=0, betas=(0.9, 0.999), eps=1e-8, weight_decay=None, **flags):
        self.name, self.p, self.lr, self.betas, self.eps, self.flags = name, p.astype(np.float64), lr, betas, eps, flags
        self.momentum, self.dampening = momentum, dampening
        self.decay = (0.01 if name == "AdamW" else 0) if weight_decay is None else weight_decay
        self.t, self.buffer, self.m, self.v, self.top = 0, None, 0 * self.p, 0 * self.p, 0 * self.p

    def step(self, g):
        self.t += 1
        g = -g if self.flags.get("maximize") else g
        if self.name == "AdamW":
            self.p -= self.lr * self.decay * self.p
        else:
            g = g + self.decay * self.p
        if self.name == "SGD":
            self._descend(g)
        else:
            self._adapt(g)

    def _descend(self, g):
        if self.momentum:
            self.buffer = g if self.buffer is None else self.momentum * self.buffer + (1 - self.dampening) * g
            g = g + self.momentum * self.buffer if self.flags.get("nesterov") else self.buffer
        self.p = self.p - self.lr * g

    def _adapt(self, g):
        a, b = self.betas
        self.m, self.v = a * self.m + (1 - a) * g, b * self.v + (1 - b) * g**2
        self.top = np.maximum(self.top, self.v)
        v = self.top if self.flags.get("amsgrad") else self.v
        self.p = self.p - self.lr * (self.m / (1 - a**self.t)) / (np.sqrt(v / (1 - b**self.t)) + self.eps)


def parameters(dtype=np.float32, seed=SEED):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(dtype) for shape in ((3, 2), (2,), ())]


def gradients(step, params, seed=SEED):
    rng = np.random.default_rng([seed, step])
    return [rng.normal(size=p.shape).astype(p.dtype) for p in params]


def leaf(p, requires_grad=True):
    return tensor(p, requires_grad=requires_grad)


def run(optimizer, params, steps, start=0):
    for i in range(start, start + steps):
        for p, g in zip(params, gradients(i, params)):
            p.grad = tensor(g)
        optimizer.step()


def close(params, expected, tolerance=2e-6):
    for p, e in zip(params, expected):
        np.testing.assert_allclose(np.asarray(p.detach()), e, rtol=tolerance, atol=tolerance, err_msg=f"seed {SEED}")


@pytest.mark.parametrize("name, options", OPTIMIZERS, ids=IDS)
@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 2e-6), (np.float64, 1e-12)], ids=["float32", "float64"])
def test_ten_steps_against_numpy(name, options, dtype, tolerance):
    starts = parameters(dtype)
    params, references = [leaf(p) for p in starts], [Reference(name, p, **options) for p in starts]
    run(getattr(optim, name)(params, **options), params, 10)
    for i in range(10):
        for r, g in zip(references, gradients(i, starts)):
            r.step(g.astype(np.float64))
    close(params, [r.p for r in references], tolerance)
    assert all(p.requires_grad and p.is_leaf and p.dtype == dtype for p in params)


@pytest.mark.parametrize("name, options", OPTIMIZERS, ids=IDS)
def test_ten_steps_against_torch(name, options):
    torch = pytest.importorskip("torch")
    starts = parameters()
    ours, theirs = [leaf(p) for p in starts], [torch.tensor(p, requires_grad=True) for p in starts]
    a, b = getattr(optim, name)(ours, **options), getattr(torch.optim, name)(theirs, **options)
    run(a, ours, 10)
    for i in range(10):
        for p, g in zip(theirs, gradients(i, starts)):
            p.grad = torch.tensor(g)
        b.step()
    close(ours, [p.detach().numpy() for p in theirs])
    mine, other = a.state_dict(), b.state_dict()
    assert mine["param_groups"] == other["param_groups"] and mine["state"].keys() == other["state"].keys() and repr(a) == repr(b)
    for i, entries in other["state"].items():
        assert mine["state"][i].keys() == entries.keys()
        close(mine["state"][i].values(), [x.numpy() for x in entries.values()])
    a.load_state_dict(other)  # PyTorch's own tensors are taken over
    run(a, ours, 1, start=10)
    for p, g in zip(theirs, gradients(10, starts)):
        p.grad = torch.tensor(g)
    b.step()
    close(ours, [p.detach().numpy() for p in theirs])


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_complex_parameters_are_pairs_of_real_ones(name):
    rng = np.random.default_rng(SEED)
    start, grads = rng.normal(size=(3, 2)), rng.normal(size=(5, 3, 2))
    pairs = [tensor((start[:, 0] + 1j * start[:, 1]), requires_grad=True), leaf(start)]
    optimizer = getattr(optim, name)(pairs, lr=0.1)
    for g in grads:
        pairs[0].grad, pairs[1].grad = tensor(g[:, 0] + 1j * g[:, 1]), tensor(g)
        optimizer.step()
    z, pair = np.asarray(pairs[0].detach()), np.asarray(pairs[1].detach())
    np.testing.assert_allclose(np.stack([z.real, z.imag], -1), pair, rtol=1e-12)


def test_a_network_learns():
    """backward, step and zero_grad in a plain loop: a line is fitted."""
    x = tensor(np.linspace(-1, 1, 16, dtype=np.float32))
    w, b = tensor(0.0, requires_grad=True), tensor(0.0, requires_grad=True)
    optimizer = optim.SGD([w, b], lr=0.3, momentum=0.5)
    for _ in range(100):
        optimizer.zero_grad()
        ((w * x + b - (3 * x - 1)) ** 2).mean().backward()
        optimizer.step()
    assert w.item() == pytest.approx(3, abs=1e-3) and b.item() == pytest.approx(-1, abs=1e-3)


# ------------------------------------------------------------------------------------------------------------ groups


def test_groups_have_numbers_of_their_own():
    starts = parameters()
    params = [leaf(p) for p in starts]
    optimizer = optim.SGD([{"params": params[0]}, {"params": params[1:], "lr": 0.5, "momentum": 0.5}], lr=0.1, momentum=0.9)
    run(optimizer, params, 3)
    references = [Reference("SGD", starts[0], lr=0.1, momentum=0.9), *(Reference("SGD", p, lr=0.5, momentum=0.5) for p in starts[1:])]
    for i in range(3):
        for r, g in zip(references, gradients(i, starts)):
            r.step(g)
    close(params, [r.p for r in references])
    assert [g["lr"] for g in optimizer.param_groups] == [0.1, 0.5] and optimizer.defaults["lr"] == 0.1


def test_a_rate_changed_by_hand_counts_at_once_and_a_tensor_serves_as_one():
    p = leaf(np.ones(2, np.float32))
    optimizer = optim.SGD([p], lr=0.5)
    run_one(optimizer, p)
    optimizer.param_groups[0]["lr"] = 0.25
    run_one(optimizer, p)
    assert p.tolist() == [0.25, 0.25]
    rate = tensor(0.5)
    optimizer = optim.SGD([p], lr=rate)
    run_one(optimizer, p)
    rate.fill_(0.125)
    run_one(optimizer, p)
    assert p.tolist() == [-0.375, -0.375]


def run_one(optimizer, p):
    p.grad = tensor(np.ones(p.shape, np.float32))
    optimizer.step()


def test_parameters_without_a_gradient_stay_and_have_no_state():
    """A layer that is unfrozen later begins its averages then."""
    p, q = leaf(np.ones(2, np.float32)), leaf(np.ones(2, np.float32))
    for optimizer in (optim.Adam([p, q], lr=0.1), optim.SGD([p, q], lr=0.1, momentum=0.9, dampening=0.5)):
        before = q.tolist()
        q.grad = None
        run_one(optimizer, p)
        assert q.tolist() == before and q not in optimizer.state and p in optimizer.state
        q.grad = tensor(np.ones(2, np.float32))
        optimizer.step()
        assert q.tolist() == pytest.approx([before[0] - 0.1] * 2) and len(optimizer.state) == 2
    p.grad = q.grad = None
    optimizer.step()  # nothing to do


def test_a_group_is_added_later():
    p, q = leaf(np.ones(2, np.float32)), leaf(np.ones(2, np.float32))
    optimizer = optim.SGD([p], lr=0.5)
    optimizer.add_param_group({"params": [q], "lr": 0.25})
    p.grad, q.grad = tensor([1.0, 1.0]), tensor([1.0, 1.0])
    optimizer.step()
    assert p.tolist() == [0.5, 0.5] and q.tolist() == [0.75, 0.75]
    assert optimizer.param_groups[1].keys() == optimizer.param_groups[0].keys()


def test_names():
    optimizer = optim.SGD([("a", leaf(np.ones(2))), ("b", leaf(np.ones(2)))], lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["a", "b"] == optimizer.state_dict()["param_groups"][0]["param_names"]
    with pytest.raises(ValueError, match="names"):
        optimizer.add_param_group({"params": [leaf(np.ones(2))]})


def test_zero_grad():
    p = leaf(np.ones(2, np.float32))
    optimizer = optim.SGD([p])
    p.grad = tensor([1.0, 2.0])
    kept = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0, 0] == kept.tolist()
    optimizer.zero_grad()
    assert p.grad is None


def test_a_closure_is_computed_with_gradients_and_returned():
    p = tensor([2.0], requires_grad=True)
    optimizer = optim.SGD([p], lr=0.25)

    def closure():
        optimizer.zero_grad()
        loss = (p**2).sum()
        loss.backward()
        return loss

    with no_grad():
        assert optimizer.step(closure).item() == 4 and p.tolist() == [1.0]


def test_what_is_there_is_written_in_place():
    p = leaf(np.ones(2, np.float32))
    alias, optimizer = p.detach(), optim.Adam([p], lr=0.5)
    run_one(optimizer, p)
    moments = dict(optimizer.state[p])
    run_one(optimizer, p)
    assert alias.tolist() == p.tolist() and all(optimizer.state[p][k] is v for k, v in moments.items()) and moments["step"].item() == 2
    assert not any(v.requires_grad for v in moments.values())


def test_a_user_writes_an_optimizer():
    class Sign(optim.Optimizer):
        def __init__(self, params, lr=0.5):
            super().__init__(params, {"lr": lr})

        @no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    state["step"] = state.get("step", 0) + 1
                    p.add_(p.grad.sign(), alpha=-group["lr"])

    p, seen = leaf(np.ones(2, np.float32)), []
    optimizer = Sign([p])
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append("before"))
    handle = optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("after"))
    run_one(optimizer, p)
    assert p.tolist() == [0.5, 0.5] and optimizer.state[p]["step"] == 1 and seen == ["before", "after"]
    handle.remove()
    run_one(optimizer, p)
    assert seen == ["before", "after", "before"]
    assert optimizer.state_dict()["state"] == {0: {"step": 2}}


# ------------------------------------------------------------------------------------------------------------- state


@pytest.mark.parametrize("name, options", OPTIMIZERS, ids=IDS)
def test_state_dict_goes_round(name, options):
    starts = parameters()
    a, b = [leaf(p) for p in starts], [leaf(p) for p in starts]
    one, other = getattr(optim, name)(a, **options), getattr(optim, name)(b, lr=7.0)
    run(one, a, 5)
    for p, q in zip(a, b):
        with no_grad():
            q.copy_(p)
    saved = pickle.loads(pickle.dumps(one.state_dict()))
    other.load_state_dict(saved)
    assert other.param_groups[0]["lr"] == options.get("lr", 1e-3) and other.param_groups[0]["params"][0] is b[0]
    run(one, a, 5, start=5)
    run(other, b, 5, start=5)
    close(b, [np.asarray(p.detach()) for p in a], 0)
    for entries in saved["state"].values():  # what was loaded is a copy
        assert "step" not in entries or entries["step"].item() == 5


def test_state_takes_the_dtype_of_its_parameter():
    p, q = leaf(np.ones(2, np.float32)), leaf(np.ones(2, np.float64))
    one, other = optim.Adam([p]), optim.Adam([q])
    run_one(one, p)
    other.load_state_dict(one.state_dict())
    assert other.state[q]["exp_avg"].dtype is fl.float64 and other.state[q]["step"].dtype is fl.float32


def test_nothing_changes_when_a_load_fails():
    p = leaf(np.ones(2, np.float32))
    optimizer = optim.Adam([p], lr=0.5)
    run_one(optimizer, p)
    before, state = copy.deepcopy(optimizer.state_dict()), optimizer.state
    good = copy.deepcopy(before)
    more = {"state": {}, "param_groups": good["param_groups"] * 2}
    longer = {"state": {}, "param_groups": [{**good["param_groups"][0], "params": [0, 1]}]}
    wrong = {**good, "state": {0: {**good["state"][0], "exp_avg_sq": tensor([1.0, 2.0, 3.0])}}}
    for bad, error, message in (
        (more, ValueError, "2 parameter groups, this optimizer 1"),
        (longer, ValueError, r"groups of \[2\] parameters, this optimizer of \[1\]"),
        (wrong, ValueError, r"'exp_avg_sq' has shape \[3\], its parameter \[2\]"),
        ({"state": {}}, KeyError, "param_groups"),
    ):
        with pytest.raises(error, match=message):
            optimizer.load_state_dict(bad)
        assert optimizer.state is state and repr(optimizer.state_dict()) == repr(before)


def test_state_made_beforehand_changes_nothing():
    """init_state is for programs: a step whose state is there keeps its structure."""
    starts = parameters()
    for name, options in OPTIMIZERS:
        a, b = [leaf(p) for p in starts], [leaf(p) for p in starts]
        one, other = getattr(optim, name)(a, **options), getattr(optim, name)(b, **options)
        other.init_state()
        run(one, a, 2)
        run(other, b, 2)
        close(b, [np.asarray(p.detach()) for p in a], 0)


def test_old_checkpoints_count_steps_in_numbers():
    p = leaf(np.ones(2, np.float32))
    optimizer = optim.Adam([p])
    run_one(optimizer, p)
    saved = optimizer.state_dict()
    optimizer.load_state_dict({**saved, "state": {0: {**saved["state"][0], "step": 3}}})
    run_one(optimizer, p)
    assert optimizer.state[p]["step"].item() == 4


def test_copies_and_pickles():
    p = leaf(np.ones(2, np.float32))
    optimizer = optim.SGD([p], lr=0.5, momentum=0.5)
    run_one(optimizer, p)
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        q = other.param_groups[0]["params"][0]
        assert q is not p and q.tolist() == p.tolist() and other.state[q]["momentum_buffer"].tolist() == [1, 1]
        run_one(other, q)
        assert q.tolist() != p.tolist() and repr(other) == repr(optimizer)


# ------------------------------------------------------------------------------------------------------------ errors

P = Parameter(tensor([1.0]))
RAISES = [
    (lambda: optim.SGD([]), ValueError, "empty"),
    (lambda: optim.SGD(P), TypeError, r"one Tensor; pass \[parameter\]"),
    (lambda: optim.SGD([1.0]), TypeError, "got float at position 0"),
    (lambda: optim.SGD([P * 2]), ValueError, "non-leaf"),
    (lambda: optim.SGD([P, P]), ValueError, "position 1.*already"),
    (lambda: optim.SGD([{"params": [P]}, {"params": [P]}]), ValueError, "already"),
    (lambda: optim.SGD([{"params": {P}}]), TypeError, "set"),
    (lambda: optim.SGD([{"lr": 0.1}]), KeyError, "params"),
    (lambda: optim.SGD([P]).add_param_group([P]), TypeError, "must be a dict, got list"),
    (lambda: optim.SGD([("a", P), tensor([1.0])]), ValueError, "names"),
    (lambda: optim.SGD([P], lr=-1), ValueError, "SGD: lr must be at least 0, got -1"),
    (lambda: optim.SGD([P], lr=math.nan), ValueError, "lr"),
    (lambda: optim.SGD([P], momentum=-1), ValueError, "momentum"),
    (lambda: optim.SGD([P], weight_decay=-1), ValueError, "weight_decay"),
    (lambda: optim.SGD([P], nesterov=True), ValueError, "nesterov needs momentum"),
    (lambda: optim.SGD([P], momentum=0.9, dampening=0.1, nesterov=True), ValueError, "no dampening"),
    (lambda: optim.SGD([P], differentiable=True), NotImplementedError, "rules.sgd.update"),
    (lambda: optim.Adam([P], betas=(1.0, 0.9)), ValueError, r"betas\[0\] must be at least 0 and less than 1, got 1.0"),
    (lambda: optim.AdamW([P], betas=(0.9, 1.9)), ValueError, r"AdamW: betas\[1\]"),
    (lambda: optim.Adam([P], eps=-1), ValueError, "eps"),
    (lambda: optim.Adam([P], lr=tensor([1.0, 2.0])), ValueError, "1 element"),
    (lambda: optim.Adam([P], lr=tensor(-1.0)), ValueError, "lr must be at least 0"),
    (lambda: optim.Adam([P], lr=tensor(1.0), foreach=True), ValueError, "capturable"),
    (lambda: optim.Adam([P], betas=(0.9, tensor(0.9))), ValueError, "both"),
    (lambda: optim.SGD([P], foreach=True, fused=True), RuntimeError, "foreach and fused"),
    (lambda: optim.Optimizer([P], {"lr": optim.optimizer.required}), ValueError, "no value for 'lr'"),
    (lambda: optim.Optimizer([P], {}).step(), NotImplementedError, "neither step nor update_group"),
    (lambda: lr_scheduler.StepLR(P, 1), TypeError, "expected an Optimizer, got Parameter"),
    (lambda: lr_scheduler.StepLR(optim.SGD([P]), 1, last_epoch=3), KeyError, "initial_lr"),
    (lambda: lr_scheduler.LinearLR(optim.SGD([P]), start_factor=0), ValueError, "start_factor"),
    (lambda: lr_scheduler.ConstantLR(optim.SGD([P]), factor=2), ValueError, "factor"),
    (lambda: lr_scheduler.LambdaLR(optim.SGD([P]), [abs, abs]), ValueError, "one for each of 1 parameter groups, got 2"),
    (lambda: lr_scheduler.OneCycleLR(optim.SGD([P]), 1.0), ValueError, "total_steps"),
    (lambda: lr_scheduler.ReduceLROnPlateau(optim.SGD([P]), factor=1.0), ValueError, "less than 1"),
    (lambda: lr_scheduler.SequentialLR(optim.SGD([P]), [], []), ValueError, "at least one"),
]  # fmt: skip


@pytest.mark.parametrize("f, error, message", RAISES)
def test_bad_input(f, error, message):
    with pytest.raises(error, match=message):
        f()


# --------------------------------------------------------------------------------------------------------- schedules


def square(t):
    return 1 / (1 + t) ** 2


SCHEDULES = [
    ("StepLR", lambda s, o: s.StepLR(o, 3, gamma=0.5), lambda t: 0.5 ** (t // 3)),
    ("MultiStepLR", lambda s, o: s.MultiStepLR(o, [5, 2, 5], gamma=0.5), lambda t: 0.5 ** sum(t >= m for m in (2, 5, 5))),
    ("ExponentialLR", lambda s, o: s.ExponentialLR(o, 0.9), lambda t: 0.9**t),
    ("ConstantLR", lambda s, o: s.ConstantLR(o, 0.25, total_iters=4), lambda t: 0.25 if t < 4 else 1),
    ("LinearLR", lambda s, o: s.LinearLR(o, 0.5, 0.0, total_iters=4), lambda t: max(0.5 - 0.125 * t, 0)),
    ("PolynomialLR", lambda s, o: s.PolynomialLR(o, 5, power=2), lambda t: (1 - min(t, 5) / 5) ** 2),
    ("CosineAnnealingLR", lambda s, o: s.CosineAnnealingLR(o, 4), lambda t: (1 + math.cos(math.pi * t / 4)) / 2),
    ("LambdaLR", lambda s, o: s.LambdaLR(o, square), square),
    ("MultiplicativeLR", lambda s, o: s.MultiplicativeLR(o, lambda t: 0.5), lambda t: 0.5**t),
    ("Restarts", lambda s, o: s.CosineAnnealingWarmRestarts(o, 3), lambda t: (1 + math.cos(math.pi * (t % 3) / 3)) / 2),
    ("OneCycleLR", lambda s, o: s.OneCycleLR(o, 0.2, total_steps=12, div_factor=2), None),
    ("three phases", lambda s, o: s.OneCycleLR(o, 0.2, total_steps=12, three_phase=True, anneal_strategy="linear"), None),
    ("eta_min", lambda s, o: s.CosineAnnealingLR(o, 4, eta_min=0.01), None),
    ("T_mult", lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, T_mult=2, eta_min=0.01), None),
    ("SequentialLR", lambda s, o: s.SequentialLR(o, [s.LinearLR(o, 0.1, 1, 3), s.CosineAnnealingLR(o, 5), s.ExponentialLR(o, 0.5)], [3, 8]), None),
    ("ChainedScheduler", lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9)]), None),
]  # fmt: skip


def rates(scheduler, optimizer, step, steps=12):
    out = []
    for _ in range(steps):
        group = optimizer.param_groups[0]
        assert scheduler.get_last_lr()[0] == group["lr"]
        out.append((group["lr"], group.get("momentum", 0)))
        step()
        if len(out) < steps:
            scheduler.step()
    return np.array(out)


@pytest.mark.parametrize("make, factor", [s[1:] for s in SCHEDULES], ids=[s[0] for s in SCHEDULES])
def test_schedules(make, factor):
    """Against a closed form, and against PyTorch where it is installed."""
    p = leaf(np.ones(2, np.float32))
    optimizer = optim.SGD([p], lr=0.1, momentum=0.9)
    seen = rates(make(lr_scheduler, optimizer), optimizer, lambda: run_one(optimizer, p))
    if factor is not None:
        np.testing.assert_allclose(seen[:, 0], [0.1 * factor(t) for t in range(12)], rtol=1e-12, atol=1e-17)
        return
    torch = pytest.importorskip("torch")
    other = torch.optim.SGD([torch.ones(2)], lr=0.1, momentum=0.9)
    np.testing.assert_allclose(seen, rates(make(torch.optim.lr_scheduler, other), other, other.step), rtol=1e-9, atol=1e-17)


def test_a_cycle_by_hand():
    """Up from max_lr / div_factor in 30% of the steps, down to almost nothing; momentum the other way."""
    p = leaf(np.ones(2, np.float32))
    optimizer = optim.Adam([p], lr=7.0)
    scheduler = lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=10, anneal_strategy="linear", div_factor=4)
    seen = []
    for i in range(10):
        seen.append((optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["betas"][0]))
        run_one(optimizer, p)
        if i < 9:
            scheduler.step()
    np.testing.assert_allclose(np.array(seen)[[0, 1, 2]], [(0.05, 0.95), (0.125, 0.9), (0.2, 0.85)])
    np.testing.assert_allclose(seen[9], (0.05 / 1e4, 0.95))
    with pytest.raises(ValueError, match="10 steps"):
        scheduler.step()


def test_a_plateau():
    p = leaf(np.ones(2, np.float32))
    optimizer = optim.SGD([p], lr=1.0)
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, cooldown=1, min_lr=0.2)
    seen = []
    for metric in (3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, tensor(1.0), 1):
        scheduler.step(metric)
        seen.append(optimizer.param_groups[0]["lr"])
    assert seen == [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2]


@pytest.mark.parametrize("make", [s[1] for s in SCHEDULES], ids=[s[0] for s in SCHEDULES])
def test_schedules_are_saved(make):
    def begin():
        p = leaf(np.ones(2, np.float32))
        optimizer = optim.SGD([p], lr=0.1, momentum=0.9)
        run_one(optimizer, p)
        return optimizer, make(lr_scheduler, optimizer)

    optimizer, scheduler = begin()
    for _ in range(4):
        scheduler.step()
    saved = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
    again, resumed = begin()
    again.load_state_dict(saved[0])
    resumed.load_state_dict(saved[1])
    for _ in range(6):
        scheduler.step()
        resumed.step()
        assert (
            resumed.get_last_lr() == scheduler.get_last_lr() and resumed.last_epoch == scheduler.last_epoch
            if hasattr(scheduler, "last_epoch")
            else True
        )


def test_a_schedule_before_the_first_step_is_warned_of():
    p = leaf(np.ones(2, np.float32))
    optimizer = optim.SGD([p], lr=0.1)
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.9)
    with pytest.warns(UserWarning, match=re.escape("before optimizer.step()")):
        scheduler.step()


def test_a_tensor_as_rate_is_filled():
    p, rate = leaf(np.ones(2, np.float32)), tensor(0.5)
    optimizer = optim.SGD([p], lr=rate)
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
    run_one(optimizer, p)
    scheduler.step()
    run_one(optimizer, p)
    assert rate.item() == 0.25 and optimizer.param_groups[0]["lr"] is rate and p.tolist() == [0.25, 0.25]

"""What a compiled function reads of Python is seen when it changes, by whatever road; and what only looks changed compiles nothing."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_lite as fl
import functorch_lite.torch as torch
from functorch_lite.torch import nn

SETTINGS = {"gain": 1.0, 3: 2.0}
LATE: list = [1.0]


class Options:
    __slots__ = ("gain",)


class Plain:
    gain = 1.0


def value(f) -> float:
    return f(torch.ones(1)).item()


CONTAINERS = {
    "list": ([1.0, 2.0], lambda c: c[0] + c[1], lambda c: c.__setitem__(1, 5.0)),
    "longer list": ([1.0], lambda c: float(len(c)), lambda c: c.append(2.0)),
    "dict": ({"a": 1.0}, lambda c: c["a"], lambda c: c.update(a=4.0)),
    "another key": ({"a": 1.0}, lambda c: float(len(c)), lambda c: c.update(b=4.0)),
    "keys of ints": ({1: 1.0}, lambda c: c[1], lambda c: c.update({1: 4.0})),
    "nested": ({"a": [1.0, {"b": 2.0}]}, lambda c: c["a"][1]["b"], lambda c: c["a"][1].update(b=3.0)),
    "set": ({1.0}, lambda c: float(len(c)), lambda c: c.add(2.0)),
    "array": (np.ones(2), lambda c: float(c.sum()), lambda c: c.__setitem__(0, 5.0)),
    "many": ([1.0] * 50, lambda c: sum(c), lambda c: c.__setitem__(30, 5.0)),
    "objects": ([Plain(), Plain()], lambda c: c[1].gain, lambda c: setattr(c[1], "gain", 3.0)),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_the_content_of_containers(name):
    held, read, change = CONTAINERS[name]
    f = torch.compile(lambda x: x * read(held))
    before = value(f)
    assert value(f) == before and len(f.programs) == 1
    change(held)
    after = value(f)
    assert after != before and after == pytest.approx(read(held)) and len(f.programs) == 2


def test_a_change_between_the_trace_and_the_first_look():
    """Nothing was compared yet when the list changed."""
    f = torch.compile(lambda x: x * LATE[0])
    assert value(f) == 1.0
    LATE[0] = 7.0
    assert value(f) == 7.0


def test_equal_values_compile_nothing():
    config, names = Plain(), ["ab", "c"]
    f = torch.compile(lambda x: x * config.gain * len(names[0]) * SETTINGS["gain"] * SETTINGS[3])
    for _ in range(4):
        config.gain = float(str(1.5))
        names[0] = "".join(["a", "b"])
        SETTINGS["gain"] = float(str(2.0))
        assert value(f) == 1.5 * 2 * 2.0 * 2.0
    assert len(f.programs) == 1


@pytest.mark.parametrize("kind", [Options, Plain])
def test_an_attribute_that_comes_and_goes(kind):
    config = kind()
    if kind is Options:
        config.gain = 1.0
    f = torch.compile(lambda x: x * config.gain)
    assert value(f) == 1.0
    config.gain = 2.0
    assert value(f) == 2.0
    if kind is Plain:
        del config.gain
        assert value(f) == 1.0
    config.gain = 3.0
    assert value(f) == 3.0


def test_a_global_that_goes():
    scope = {"GAIN": 2.0}
    exec(compile("def f(x):\n return x * GAIN\n", __file__, "exec"), scope)
    f = torch.compile(scope["f"])
    assert value(f) == 2.0
    del scope["GAIN"]
    with pytest.raises(NameError):
        value(f)
    scope["GAIN"] = 3.0
    assert value(f) == 3.0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.part, self.gain = nn.Linear(1, 1), 1.0
        with torch.no_grad():
            self.part.weight.fill_(1.0), self.part.bias.fill_(0.0)

    def forward(self, x):
        return self.part(x) * self.gain


def test_a_module_changed_behind_its_back():
    net = Net()
    f = torch.compile(lambda x: net(x))
    assert value(f) == 1.0
    net.__dict__["gain"] = 2.0
    assert value(f) == 2.0
    net._modules["part"] = nn.Identity()
    assert value(f) == 2.0 and f(torch.full((1,), 5.0)).item() == 10.0
    object.__setattr__(net, "gain", 3.0)
    assert value(f) == 3.0


def test_hooks_of_a_module_come_and_go():
    net = Net()
    f = torch.compile(lambda x: net(x))
    assert value(f) == 1.0
    handle = net.part.register_forward_hook(lambda module, args, output: output + 1)
    assert value(f) == 2.0
    handle.remove()
    assert value(f) == 1.0


def training(**options):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5, **options)

    def step(x):
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()

    return net, optimizer, torch.compile(step, fullgraph=True)


def test_numbers_of_an_optimizer_are_inputs_and_its_structure_is_guarded():
    net, optimizer, step = training()
    [group] = optimizer.param_groups
    x = torch.ones(1)
    for rate in (0.5, 0.25, 1, 0.25):
        group["lr"], before = rate, net.part.bias.item()
        step(x)
        assert net.part.bias.item() == before - rate
    assert len(step.programs) == 1
    group["weight_decay"] = 0.5
    step(x)
    group["params"].pop()
    step(x)
    before = net.part.bias.item()
    step(x)
    assert net.part.bias.item() == before  # which is no parameter of the optimizer any more
    assert len(step.programs) == 3


def test_numbers_in_a_list_are_read_each_time():
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1, betas=(0.9, 0.999))
    optimizer.param_groups[0]["betas"] = betas = [0.9, 0.999]

    @torch.compile
    def step(x):
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()

    step(torch.ones(1))
    entry = optimizer.state[net.part.bias]
    betas[0] = 0.0
    step(torch.full((1,), 3.0))
    assert entry["exp_avg"].item() == 1.0 and len(step.programs) == 1


FACTOR = {"of": 1.0}


@fl.custom_vjp
def scaled(x):
    return x * 1.0


scaled.defvjp(lambda x: (x * 1.0, None), lambda _, g: (g * FACTOR["of"],))


class Own(torch.optim.SGD):
    def update_group(self, group):
        for p in group["params"]:
            p.sub_(p.grad * FACTOR["of"])


def hooked(x):
    x.register_hook(lambda g: g * FACTOR["of"])
    return x


USERS = {
    "backward": (lambda w: scaled(w * 1.0), torch.optim.SGD),
    "hook": (lambda w: hooked(w * 1.0), torch.optim.SGD),
    "checkpoint": (lambda w: fl.checkpoint(lambda w: w * FACTOR["of"])(w), torch.optim.SGD),
    "vmap": (lambda w: torch.vmap(lambda w: w * FACTOR["of"])(w), torch.optim.SGD),
    "optimizer": (lambda w: w * 1.0, Own),
}


@pytest.mark.parametrize("where", USERS)
def test_the_users_code_is_seen_wherever_the_library_calls_it(where):
    """The library's own work is not watched (`unseen`); what it calls back is."""
    f, kind = USERS[where]
    w = torch.ones(2, requires_grad=True)
    optimizer = kind([w], lr=1.0)

    @torch.compile(fullgraph=True)
    def step():
        optimizer.zero_grad()
        loss = f(w).sum()
        loss.backward()
        optimizer.step()

    try:
        step()
        assert w.tolist() == [0.0, 0.0]
        FACTOR["of"] = 3.0
        step()
        assert w.tolist() == [-3.0, -3.0]
    finally:
        FACTOR["of"] = 1.0

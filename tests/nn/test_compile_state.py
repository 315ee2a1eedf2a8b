"""What compiled functions do with tensors that others know too: histories, hooks, aliases, views, arguments that are captured as well."""

from __future__ import annotations

import warnings

import pytest

import functorch_lite as fl
import functorch_lite.torch as torch
from functorch_lite.errors import GraphBreak


@pytest.fixture(params=["as it is written", "compiled"])
def wrap(request):
    """Each test runs without compile and with it; what it asserts is the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some of these run as they are written, which is right
        yield torch.compile if request.param == "compiled" else lambda f: f


def leaf(*values):
    return torch.tensor(values or (1.0, 1.0), requires_grad=True)


def test_the_history_of_a_captured_tensor_goes_on(wrap):
    w = leaf()
    y = w * 2
    y.retain_grad()
    wrap(lambda z: (y * z).sum())(torch.ones(2)).backward()
    assert w.grad.tolist() == [2, 2] and y.grad.tolist() == [1, 1]


def test_the_history_of_a_captured_view_goes_on(wrap):
    w = leaf()
    first = (w * 2)[0]
    wrap(lambda z: (first * z).sum())(torch.ones(2)).backward()
    assert w.grad.tolist() == [4, 0]


def test_a_captured_tensor_gets_and_loses_its_history(wrap):
    w = leaf()
    box = torch.ones(2)
    f = wrap(lambda: (box * 3).sum())
    assert not f().requires_grad
    box.mul_(w)
    out = f()
    out.backward()
    assert out.item() == 6 and w.grad.tolist() == [3, 3]
    box.detach_()
    assert not f().requires_grad


def test_backward_inside_to_a_history_outside(wrap):
    w = leaf()
    y = w * 2

    def f():
        (y * 3).sum().backward()

    wrap(f)()
    assert w.grad.tolist() == [6, 6]


def test_a_captured_tensor_with_history_is_changed(wrap):
    x = leaf()
    y = x * 2

    def f():
        y.mul_(3)
        return y.sum()

    assert wrap(f)().item() == 12
    y.sum().backward()
    assert y.tolist() == [6, 6] and x.grad.tolist() == [6, 6]


@pytest.mark.parametrize("transform", [torch.compile, fl.jit])
def test_an_argument_with_history_is_changed(transform):
    x = leaf()
    y = x * 2
    assert transform(lambda y: y.mul_(3).sum())(y).item() == 12
    y.sum().backward()
    assert y.tolist() == [6, 6] and x.grad.tolist() == [6, 6]


def test_a_write_through_a_detached_name_of_a_leaf(wrap):
    x = leaf()
    alias = x.detach()

    def f():
        alias.mul_(3)
        return (x * x).sum()

    step = wrap(f)
    for expected, gradient in ((18.0, 6.0), (162.0, 18.0)):
        x.grad = None
        out = step()
        out.backward()
        assert out.item() == expected and x.grad.tolist() == [gradient] * 2


def test_hooks_inside_with_backward_inside_and_outside(wrap):
    x = leaf()

    def inside():
        z = x * 2
        z.register_hook(lambda g: g * 10)
        z.sum().backward()

    wrap(inside)()
    assert x.grad.tolist() == [20, 20]
    x.grad = None

    def outside(y):
        z = y * 2
        z.register_hook(lambda g: g * 10)
        return z.sum()

    wrap(outside)(x).backward()
    assert x.grad.tolist() == [20, 20]


def test_a_hook_of_a_leaf_comes_and_goes(wrap):
    x = leaf()
    step = wrap(lambda: (x * 2).sum().backward())
    seen = []
    for change in (None, "add", "remove"):
        if change == "add":
            handle = x.register_hook(lambda g: g * 10)
        elif change == "remove":
            handle.remove()
        x.grad = None
        step()
        seen.append(x.grad.tolist()[0])
    assert seen == [2, 20, 2]


def test_a_hook_after_accumulation(wrap):
    x = leaf()
    x.register_post_accumulate_grad_hook(lambda p: p.data.sub_(p.grad))

    def f():
        x.grad = None
        (x * 2).sum().backward()

    step = wrap(f)
    step()
    step()
    assert x.tolist() == [-3, -3]


def test_requires_grad_follows(wrap):
    x = leaf()
    f = wrap(lambda: (x * 2).sum())
    found = [f().requires_grad]
    with torch.no_grad():
        found.append(f().requires_grad)
    x.requires_grad_(False)
    found.append(f().requires_grad)
    x.requires_grad_(True)
    found.append(f().requires_grad)
    assert found == [True, False, False, True]
    assert not wrap(lambda x: x.detach() * 2)(x).requires_grad and wrap(lambda x: x.view(2, 1))(x).requires_grad


def test_the_same_tensor_comes_back(wrap):
    x, w = torch.ones(2), leaf()
    f = wrap(lambda x: (x, w, x * 2))
    for _ in range(2):
        a, b, c = f(x)
        assert a is x and b is w and c.tolist() == [2, 2]


def test_arguments_that_share_their_storage(wrap):
    x = torch.zeros(4)

    def f(a, b):
        a.add_(1)
        b.add_(1)
        return a.sum()

    step = wrap(f)
    assert step(torch.zeros(4), torch.zeros(3)).item() == 4  # a program for these shapes is there
    step(x, x[1:])
    assert x.tolist() == [1, 2, 2, 2]
    y = torch.zeros(4)
    assert step(y, torch.zeros(4)).item() == 4
    z = torch.zeros(4)
    assert step(z, z).item() == 8 and z.tolist() == [2, 2, 2, 2]


def test_an_argument_that_is_captured_too(wrap):
    x = torch.zeros(4)

    def f(y):
        x.add_(1)
        y.add_(1)
        return x.sum()

    step = wrap(f)
    assert step(torch.zeros(4)).item() == 4
    assert step(x).item() == 12 and x.tolist() == [3, 3, 3, 3]


def test_writes_to_captured_views(wrap):
    m = torch.zeros(3)
    v = m[1:]

    def f(x):
        v.add_(x)
        m[0] = 7.0
        return v.sum()

    step = wrap(f)
    assert [step(torch.ones(2)).item() for _ in range(3)] == [2, 4, 6] and m.tolist() == [7, 3, 3]


def test_data_is_replaced(wrap):
    x = leaf(1.0, 1.0, 1.0)

    def f():
        with torch.no_grad():
            x.data = x.data * 2
        return x.sum()

    step = wrap(f)
    step()
    assert step().item() == 12 and x.tolist() == [4, 4, 4] and x.requires_grad


def test_jit_says_what_it_cannot_do():
    x = leaf()

    def f(y):
        z = y * 2
        z.register_hook(lambda g: g * 10)
        return z.sum()

    with pytest.raises(GraphBreak, match="a hook is registered in it"):
        fl.jit(f)(x)
    captured = torch.zeros(2)
    with pytest.raises(GraphBreak, match="used as a variable from outside"):
        fl.jit(lambda y: captured.add_(y))(captured)


def test_a_value_of_an_outer_transform_is_not_kept():
    """A program that closed over a value of `vmap` dies with it; the next call makes its own."""
    box: list = []
    f = torch.compile(lambda y: y * box[0])

    def outer(x):
        box[:] = [fl.sin(x)]
        return f(x)

    for scale in (1.0, 2.0):
        x = scale * fl.ones(3)
        assert fl.allclose(fl.vmap(outer)(x), x * fl.sin(x)) and not f.programs


def test_an_argument_that_cannot_be_hashed():
    from dataclasses import dataclass

    @dataclass
    class Options:
        scale: float

    f, options = torch.compile(lambda x, o: x * o.scale), Options(2.0)
    assert f(torch.ones(1), options).item() == 2
    options.scale = 3.0
    assert f(torch.ones(1), options).item() == 3

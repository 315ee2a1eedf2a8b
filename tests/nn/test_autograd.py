"""backward, gradients of gradients, autograd.grad, and hooks. The numbers are closed forms."""

import math

import numpy as np
import pytest
from tensor_helpers import close, leaf

import functorch_lite.torch as torch

# ------------------------------------------------------------------------------------------------------------ backward


def test_backward_accumulates():
    x = leaf(1.0, 2.0)
    for n in (1, 2, 3):
        (x * x).sum().backward()
        close(x.grad, [2.0 * n, 4.0 * n])
    assert not x.grad.requires_grad and type(x.grad) is torch.Tensor


def test_accumulation_is_in_place_and_keeps_the_object():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    first = x.grad
    (x * x).sum().backward()
    assert x.grad is first
    close(first, [4.0, 8.0])
    mine = torch.ones(2)
    x.grad = mine
    (x * 2).sum().backward()
    assert x.grad is mine
    close(mine, [3.0, 3.0])


def test_a_leaf_used_several_times():
    x = leaf(2.0)
    y = x * x + x.exp() * x + x
    y.backward(torch.ones(1))
    close(x.grad, [4 + 3 * math.exp(2) + 1])


def test_gradients_of_a_network_by_hand():
    rng = np.random.default_rng(0)
    x, w, b, v = (rng.normal(size=s) for s in ((5, 3), (3, 4), (4,), (4, 1)))
    tw, tb, tv = (torch.tensor(a, requires_grad=True) for a in (w, b, v))
    ((torch.tensor(x) @ tw + tb).relu() @ tv).pow(2).sum().backward()
    h = np.maximum(x @ w + b, 0)
    out = h @ v
    dh = (2 * out @ v.T) * (h > 0)
    close(tv.grad, h.T @ (2 * out))
    close(tw.grad, x.T @ dh)
    close(tb.grad, dh.sum(0))


def test_backward_of_a_vector_needs_a_gradient():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        (x * x).backward()
    (x * x).backward(torch.tensor([1.0, 10.0]))
    close(x.grad, [2.0, 40.0])
    with pytest.raises(RuntimeError, match="shape"):
        (x * x).backward(torch.ones(3))


def test_backward_of_several_tensors():
    x = leaf(1.0, 2.0)
    torch.autograd.backward([x * 1, (x * x).sum()], [torch.tensor([1.0, 2.0]), None])
    close(x.grad, [3.0, 6.0])
    x.grad = None
    torch.autograd.backward([x.sum(), (x * x).sum()])
    close(x.grad, [3.0, 5.0])


def test_backward_of_a_leaf_and_without_history():
    x = torch.tensor(2.0, requires_grad=True)
    x.backward()
    close(x.grad, 1.0)
    for y in (torch.tensor(1.0), x.detach()):
        with pytest.raises(RuntimeError, match="does not require grad"):
            y.backward()


def test_backward_to_some_inputs():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (x * w).sum().backward(inputs=[x])
    close(x.grad, [3.0, 4.0])
    assert w.grad is None
    h = x * 2
    (h * h).sum().backward(inputs=[h])
    close(h.grad, [4.0, 8.0])
    close(x.grad, [3.0, 4.0])
    (x * w).sum().backward(inputs=w)
    close(w.grad, [1.0, 2.0])
    with pytest.raises(RuntimeError, match="empty"):
        (x * w).sum().backward(inputs=[])


def test_backward_of_leaves_that_are_gone():
    x = leaf(1.0)
    (leaf(3.0) * x).sum().backward()
    close(x.grad, [3.0])
    (leaf(3.0) * 2).sum().backward()


def test_a_second_backward_raises_unless_retained():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    close(x.grad, [4.0, 8.0])
    with pytest.raises(RuntimeError, match="a second time.*retain_graph=True"):
        y.backward()
    h = x.exp()
    h.sum().backward()
    with pytest.raises(RuntimeError, match="a second time"):
        (h * 2).sum().backward()  # what they share is gone
    z = (x * x).sum()
    torch.autograd.grad(z, x)
    with pytest.raises(RuntimeError, match="a second time"):
        torch.autograd.grad(z, x)


def test_a_second_backward_through_what_kept_nothing():
    x = leaf(1.0, 2.0)
    for y in (x.sum(), x.clone().sum(), x.view(2, 1).t().sum(), (x + 1).sum(), -x.sum()):
        x.grad = None
        y.backward()
        y.backward()
        close(x.grad.abs(), [2.0, 2.0])


def test_values_are_kept_as_they_were():
    """A later write does not change what was computed, nor its gradient (PyTorch raises where the value was needed)."""
    x, b = leaf(1.0, 2.0), torch.tensor([3.0, 4.0])
    y = (x * b).sum()
    b.zero_()
    y.backward()
    close(x.grad, [3.0, 4.0])
    x.grad = None
    e = x.exp()
    z = (e * e).sum()
    e.add_(1.0)
    z.backward()
    close(x.grad, 2 * np.exp([2.0, 4.0]))


# ---------------------------------------------------------------------------------------------------------- higher order


@pytest.mark.parametrize(
    "f, derivatives",
    [
        (lambda x: x**5, [lambda x: 5 * x**4, lambda x: 20 * x**3, lambda x: 60 * x**2]),
        (lambda x: x.sin(), [np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x)]),
        (lambda x: x.exp() * x, [lambda x: np.exp(x) * (x + 1), lambda x: np.exp(x) * (x + 2), lambda x: np.exp(x) * (x + 3)]),
        (lambda x: x.log(), [lambda x: 1 / x, lambda x: -1 / x**2, lambda x: 2 / x**3]),
        (lambda x: 1 / x, [lambda x: -1 / x**2, lambda x: 2 / x**3, lambda x: -6 / x**4]),
        (lambda x: x.sqrt(), [lambda x: 0.5 * x**-0.5, lambda x: -0.25 * x**-1.5, lambda x: 0.375 * x**-2.5]),
        (lambda x: x.view(1, -1).t().clone()[:, 0] ** 3, [lambda x: 3 * x**2, lambda x: 6 * x, lambda x: 6 + 0 * x]),
    ],
    ids=["pow", "sin", "exp", "log", "reciprocal", "sqrt", "views"],
)
def test_derivatives_to_third_order(f, derivatives):
    values = np.array([0.3, 1.2, 2.5])
    x = torch.tensor(values, requires_grad=True)
    y = f(x)
    for i, want in enumerate(derivatives):
        (y,) = torch.autograd.grad(y.sum(), x, create_graph=i < 2)
        close(y, want(values), rtol=1e-9)
        assert y.requires_grad is (i < 2)
    z = torch.tensor(values, requires_grad=True)  # by backward
    f(z).sum().backward(create_graph=True)
    for want, order in zip(derivatives, (1, 2, 3)):
        g = z.grad
        close(g, want(values), rtol=1e-9)
        z.grad = None
        if order < 3:
            g.sum().backward(create_graph=order < 2)


def test_create_graph_accumulates_with_history():
    x = leaf(2.0)
    y = (x**3).sum()
    y.backward(create_graph=True)
    y.backward(create_graph=True)
    close(x.grad, [24.0])
    assert x.grad.requires_grad
    g = x.grad
    x.grad = None
    g.sum().backward()
    close(x.grad, [24.0])


def test_mixed_second_derivatives():
    x, w = leaf(2.0, dtype=torch.float64), leaf(3.0, dtype=torch.float64)
    y = (x**2 * w**3).sum()
    gx, gw = torch.autograd.grad(y, [x, w], create_graph=True)
    close(gx, [4 * 27.0])
    close(gw, [4 * 27.0])
    (xw,) = torch.autograd.grad(gx.sum(), w, retain_graph=True)
    (wx,) = torch.autograd.grad(gw.sum(), x)
    close(xw, [4 * 27.0])
    close(wx, [4 * 27.0])


# --------------------------------------------------------------------------------------------------------- autograd.grad


def test_grad_of_several_outputs_and_inputs():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    gx, gw = torch.autograd.grad([(x * w).sum(), (x * x).sum()], [x, w])
    close(gx, [5.0, 8.0])
    close(gw, [1.0, 2.0])
    assert x.grad is None and w.grad is None
    (g,) = torch.autograd.grad([x * x, x.exp().sum()], x, grad_outputs=[torch.tensor([3.0, 5.0]), None])
    close(g, np.array([6.0, 20.0]) + np.exp([1.0, 2.0]))


def test_grad_of_inner_values():
    x = leaf(1.0, 2.0)
    h = x * x
    gh, gx = torch.autograd.grad((h * h).sum(), [h, x])
    close(gh, [2.0, 8.0])
    close(gx, [4.0, 32.0])
    y = torch.tensor(2.0, requires_grad=True)
    close(torch.autograd.grad(y, y)[0], 1.0)
    a, b = torch.autograd.grad((x * 2).sum(), [x, x])
    close(a, [2.0, 2.0])
    close(b, [2.0, 2.0])


def test_grad_of_unused_inputs():
    x, z = leaf(1.0), leaf(2.0, 3.0)
    y = lambda: (x * 2).sum()  # noqa: E731
    with pytest.raises(RuntimeError, match="allow_unused=True"):
        torch.autograd.grad(y(), [x, z])
    g, none = torch.autograd.grad(y(), [x, z], allow_unused=True)
    assert none is None
    close(g, [2.0])
    _, zeros = torch.autograd.grad(y(), [x, z], materialize_grads=True)
    close(zeros, [0.0, 0.0])
    with pytest.raises(ValueError, match="allow_unused"):
        torch.autograd.grad(y(), [x, z], materialize_grads=True, allow_unused=False)


def test_grad_errors():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="scalar"):
        torch.autograd.grad(x * x, x)
    with pytest.raises(RuntimeError, match="shape"):
        torch.autograd.grad(x * x, x, grad_outputs=torch.tensor([3.0]))
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.grad((x * x).sum(), torch.tensor([1.0]))
    with pytest.raises(RuntimeError):
        torch.autograd.grad([x.sum(), x.sum()], x, grad_outputs=[None])
    with pytest.raises(RuntimeError, match="complex"):
        torch.autograd.grad(x * 2, x, grad_outputs=torch.tensor([1j, 1.0]))
    with pytest.raises(TypeError):
        torch.autograd.grad((x * x).sum(), [1.0])


def test_grad_outputs_are_converted():
    x = leaf(1.0, 2.0)
    (g,) = torch.autograd.grad(x * x, x, grad_outputs=torch.ones(2, dtype=torch.float64))
    assert g.dtype is torch.float32


def test_grad_with_batched_grad_outputs():
    x = leaf(1.0, 2.0)
    (rows,) = torch.autograd.grad(x**3, x, grad_outputs=torch.eye(2), is_grads_batched=True)
    close(rows, [[3.0, 0.0], [0.0, 12.0]])


def test_gradients_are_told_apart_where_an_op_had_nothing_to_do():
    x = leaf(1.0, 2.0)
    for f in (
        lambda x: x.clone(),
        lambda x: x.view(2),
        lambda x: x.reshape(2),
        lambda x: x.expand(2),
        lambda x: x.squeeze(),
        lambda x: x[:],
        lambda x: x[...],
        lambda x: x.permute(0),
        lambda x: x.view_as(x),
    ):
        c, seen = f(x), []
        c.register_hook(seen.append)
        gc, gx = torch.autograd.grad((c * 2 + x * 3).sum(), [c, x])
        close(gc, [2.0, 2.0])
        close(gx, [5.0, 5.0])
        close(seen[0], [2.0, 2.0])
        assert not c.is_leaf and c.grad_fn is not None


# ----------------------------------------------------------------------------------------------------------------- hooks


def test_hooks_of_a_leaf():
    x, seen = leaf(1.0, 2.0), []
    handle = x.register_hook(seen.append)
    (x * 3 + x.exp()).sum().backward()
    assert len(seen) == 1  # of the sum of its gradients
    close(seen[0], 3 + np.exp([1.0, 2.0]))
    handle.remove()
    handle.remove()
    (x * x).sum().backward()
    assert len(seen) == 1


def test_hooks_return_another_gradient_in_order():
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g + 1)
    (x * x).sum().backward()
    close(x.grad, [21.0, 41.0])
    close(torch.autograd.grad((x * x).sum(), x)[0], [21.0, 41.0])


def test_hooks_of_results():
    x, seen = leaf(1.0, 2.0), []
    h = x * x
    h.register_hook(lambda g: seen.append(g) or g * 2)
    (h * 3).sum().backward()
    close(seen[0], [3.0, 3.0])
    close(x.grad, [12.0, 24.0])
    x.grad = None
    with (x * 2).register_hook(lambda g: g * 100):
        pass
    y = x * 2
    with y.register_hook(lambda g: g * 100):
        y.sum().backward()
    close(x.grad, [200.0, 200.0])


def test_hooks_of_views_stay_whatever_is_read_between():
    for make in (lambda x: x[0], lambda x: (x * 1)[0], lambda x: x.view(2, 1)[0, 0], lambda x: (x * 1).split(1)[0].squeeze()):
        x, seen = leaf(1.0, 2.0), []
        v = make(x)
        node = v.grad_fn
        v.register_hook(seen.append)
        repr(v), v * 3
        with torch.no_grad():
            v.item(), v * 3, x.sum()
        assert v.grad_fn is node
        (v * 2 + v.exp()).backward()
        close(seen[0], 2 + math.e)
        close(x.grad, [2 + math.e, 0.0])


def test_hooks_run_from_the_end_to_the_start():
    x, order = leaf(1.0), []
    y = x * 2
    z = y * 3
    for name, t in (("x", x), ("y", y), ("z", z)):
        t.register_hook(lambda g, name=name: order.append(name))
    z.sum().backward()
    assert order == ["z", "y", "x"]


def test_hooks_see_no_recording_unless_create_graph():
    x, seen = leaf(2.0), []
    x.register_hook(lambda g: seen.append((torch.is_grad_enabled(), g.requires_grad)))
    (x**3).sum().backward()
    (x**3).sum().backward(create_graph=True)
    assert seen == [(False, False), (True, True)]
    assert torch.is_grad_enabled()


def test_hooks_may_use_what_requires_grad():
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: g + 0.5 * x)
    (x * x).sum().backward()
    close(x.grad, [2.5, 5.0])
    assert not x.grad.requires_grad


def test_hooks_that_return_something_else_raise():
    for wrong in (lambda g: g.sum(), lambda g: g.double(), lambda g: 3):
        x = leaf(1.0, 2.0)
        x.register_hook(wrong)
        with pytest.raises((RuntimeError, TypeError)):
            (x * x).sum().backward()
        assert x.grad is None


def test_hooks_belong_to_the_value_they_were_registered_on():
    x, seen = leaf(2.0, 3.0), []
    y = x * 1
    y.register_hook(seen.append)
    y.mul_(2)
    (y * 5).sum().backward()
    close(seen[0], [10.0, 10.0])


def test_hooks_need_a_gradient():
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        torch.tensor([1.0]).register_hook(print)


def test_retain_grad():
    x = leaf(1.0, 2.0)
    h = x * x
    h.retain_grad()
    h.retain_grad()
    assert h.retains_grad and not x.retains_grad and not h.is_leaf
    y = (h * 3).sum()
    y.backward(retain_graph=True)
    close(h.grad, [3.0, 3.0])
    y.backward()
    close(h.grad, [6.0, 6.0])
    x.retain_grad()
    assert not x.retains_grad
    with pytest.raises(RuntimeError, match="requires_grad=False"):
        torch.tensor([1.0]).retain_grad()


def test_retain_grad_keeps_what_the_hooks_made_of_it():
    for first in (True, False):
        x = leaf(1.0, 2.0)
        h = x * x
        if first:
            h.retain_grad()
        h.register_hook(lambda g: g * 100)
        h.retain_grad()
        (h * 3).sum().backward()
        close(h.grad, [300.0, 300.0])


def test_retain_grad_follows_writes_and_views():
    x = leaf(1.0, 2.0)
    h = x * x
    h.retain_grad()
    h.mul_(2)
    (h * 3).sum().backward()
    close(h.grad, [3.0, 3.0])
    v = x.view(2, 1)
    v.retain_grad()
    (v * v).sum().backward()
    close(v.grad, [[2.0], [4.0]])


def test_no_gradient_is_kept_of_other_results():
    x = leaf(1.0)
    y = x * 2
    y.sum().backward()
    assert y.grad is None


def test_post_accumulate_hooks():
    x, seen = leaf(1.0, 2.0), []
    handle = x.register_post_accumulate_grad_hook(lambda p: seen.append((p is x, p.grad.tolist(), torch.is_grad_enabled())))
    (x * x).sum().backward()
    (x * x).sum().backward()
    torch.autograd.grad((x * x).sum(), x)
    handle.remove()
    (x * x).sum().backward()
    assert seen == [(True, [2.0, 4.0], False), (True, [4.0, 8.0], False)]
    for t in (x * 2, torch.tensor([1.0])):
        with pytest.raises(RuntimeError):
            t.register_post_accumulate_grad_hook(print)


def test_an_optimizer_in_a_post_accumulate_hook():
    x = leaf(1.0, 2.0)

    def step(p):
        p.sub_(p.grad, alpha=0.1)
        p.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * x).sum().backward()
    close(x, [0.8, 1.6])
    assert x.grad is None and x.requires_grad

"""backward, autograd.grad, hooks, grad modes, and what tensors say of themselves. The numbers are closed forms."""

import copy
import math
import pickle
import threading

import numpy as np
import pytest

import functorch_lite.torch as torch


def leaf(*values, dtype=torch.float32):
    return torch.tensor(list(values), dtype=dtype, requires_grad=True)


def close(got, want, rtol=1e-5, atol=1e-6):
    np.testing.assert_allclose(got.detach().numpy(), want, rtol=rtol, atol=atol)


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


# --------------------------------------------------------------------------------------------------------- detach, data


def test_detach_shares_storage():
    x = leaf(1.0, 2.0)
    d = x.detach()
    assert not d.requires_grad and d.is_leaf and d.grad_fn is None
    d[0] = 9.0
    close(x, [9.0, 2.0])
    with torch.no_grad():
        x.add_(1)
    close(d, [10.0, 3.0])
    (x * x.detach()).sum().backward()
    close(x.grad, [10.0, 3.0])
    d.detach().zero_()
    close(x, [0.0, 0.0])
    assert d._version == x._version


def test_detached_views_share_storage_and_leave_the_history_alone():
    for write in (
        lambda y: y[1:].detach().zero_(),
        lambda y: y.detach()[1:].zero_(),
        lambda y: y.data[1:].zero_(),
        lambda y: y[1:].data.zero_(),
    ):
        x = leaf(1.0, 2.0, 3.0)
        y = x * 5
        write(y)
        y.sum().backward()
        close(y, [5.0, 0.0, 0.0])
        close(x.grad, [5.0, 5.0, 5.0])
        write(x)  # and of a leaf
        close(x, [1.0, 0.0, 0.0])
        assert x.is_leaf and x.requires_grad


def test_data():
    x = leaf(1.0, 2.0)
    y = (x * 2).sum()
    x.data.mul_(10)
    close(x, [10.0, 20.0])
    y.backward()
    close(x.grad, [2.0, 2.0])
    x = leaf(1.0, 2.0)
    x.data = torch.tensor([5.0, 6.0, 7.0])
    assert x.shape == (3,) and x.requires_grad and x.is_leaf
    (x * x).sum().backward()
    close(x.grad, [10.0, 12.0, 14.0])
    v = torch.arange(4.0).view(2, 2)
    base, v.data = v._base, torch.ones(3)
    close(v, [1.0, 1.0, 1.0])
    close(base, [0.0, 1.0, 2.0, 3.0])


def test_a_detached_tensor_gains_history_of_its_own():
    w, x = leaf(2.0), leaf(1.0)
    h = x * 5
    d = h.detach()
    d.mul_(w)
    assert d.requires_grad and not d.is_leaf and h.requires_grad
    (h * 3 + d).sum().backward()  # h shares the elements, not the history
    close(h, [10.0])
    close(x.grad, [15.0])
    close(w.grad, [5.0])
    assert not d.detach().requires_grad
    d.detach_()
    assert not d.requires_grad


def test_a_detached_tensor_keeps_its_history_when_another_name_is_written_to():
    w, x = leaf(2.0), leaf(1.0)
    h = x * 5
    d = h.detach()
    d.mul_(w)
    h.detach().fill_(7.0)
    close(d, [7.0])
    (d * 3).sum().backward()
    close(w.grad, [15.0])


def test_views_of_detached_tensors_gain_history():
    w = leaf(2.0)
    for part in (lambda h: h.detach()[1:], lambda h: h[1:].detach()):
        w.grad = None
        h = leaf(1.0, 3.0) * 1
        d = part(h)
        d.mul_(w)
        (d * d).sum().backward()
        close(h, [1.0, 6.0])
        close(w.grad, [36.0])


def test_truncated_backpropagation():
    w = leaf(2.0)
    h, got = torch.zeros(1), []
    for _ in range(3):
        h = h.detach()
        h.add_(w)
        h.mul_(w)  # h' = (h + w) w
        h.sum().backward()
        got.append(w.grad.item())
        w.grad = None
    assert got == [4.0, 8.0, 16.0] and h.item() == 28.0


def test_detach_in_place():
    x = leaf(1.0, 2.0)
    y = x * 2
    assert y.detach_() is y and not y.requires_grad and y.is_leaf and y.grad_fn is None
    with pytest.raises(RuntimeError, match="view"):
        (x * 2)[0].detach_()
    x.detach_()
    assert not x.requires_grad


# ---------------------------------------------------------------------------------------------------------------- flags


def test_requires_grad_is_for_floats_and_complex():
    for make in (
        lambda: torch.tensor([1, 2], requires_grad=True),
        lambda: torch.tensor([1, 2]).requires_grad_(),
        lambda: torch.tensor([True]).requires_grad_(),
        lambda: setattr(torch.tensor([1]), "requires_grad", True),
    ):
        with pytest.raises(RuntimeError, match="floating point"):
            make()
    assert not torch.tensor([1]).requires_grad_(False).requires_grad
    assert torch.tensor([1j]).requires_grad_().requires_grad


def test_requires_grad_of_results_does_not_change():
    x = leaf(1.0)
    y = x * 2
    for off in (lambda: setattr(y, "requires_grad", False), lambda: y.requires_grad_(False)):
        with pytest.raises(RuntimeError, match="leaf variables"):
            off()
    assert y.requires_grad_(True) is y and not y.is_leaf


def test_requires_grad_off_and_on():
    x = leaf(3.0)
    y = x * 2
    x.requires_grad_(False)
    assert not (x * 2).requires_grad
    y.sum().backward()
    assert x.grad is None
    x.requires_grad = True
    z = x * x
    z.sum().backward()
    close(x.grad, [6.0])


def test_leaves_and_nodes():
    x, c = leaf(1.0), torch.tensor([1.0])
    y, z = x * 2, c * 2
    with torch.no_grad():
        n = x * 2
    assert [t.is_leaf for t in (x, y, c, z, n)] == [True, False, True, True, True]
    assert [t.requires_grad for t in (x, y, c, z, n)] == [True, True, False, False, False]
    assert x.grad_fn is None and c.grad_fn is None and y.grad_fn is y.grad_fn
    assert y.grad_fn.name() == "MulBackward0"
    (node, i), (none, _) = y.grad_fn.next_functions
    assert i == 0 and none is None and node.name().endswith("AccumulateGrad") and node.variable is x and node.next_functions == ()
    assert (y + x).grad_fn.next_functions[0][0] is y.grad_fn
    v = x[0]
    assert v.requires_grad and not v.is_leaf and v.grad_fn is not None


def test_integer_results_do_not_require_grad():
    x = leaf(1.0, 3.0)
    assert not any(t.requires_grad for t in (x.argmax(), x > 1, x.long(), x.sort()[1], x.max(0)[1], x.isnan()))
    assert x.sort()[0].requires_grad and x.max(0)[0].requires_grad


def test_constructors_and_requires_grad():
    for make in (torch.zeros, torch.ones, torch.rand, torch.randn, torch.empty):
        assert make(2, requires_grad=True).requires_grad
    assert torch.full((2,), 1.0, requires_grad=True).is_leaf and torch.arange(3.0, requires_grad=True).requires_grad
    x = leaf(1.0)
    assert not torch.zeros_like(x).requires_grad and not x.new_ones(2).requires_grad and x.clone().requires_grad
    assert torch.ones_like(x, requires_grad=True).requires_grad
    assert torch.as_tensor(x) is x and x.to(torch.float32) is x and x.double().requires_grad


def test_a_view_that_is_a_leaf():
    base = torch.arange(6.0)
    x = base.view(2, 3).requires_grad_()
    assert x.is_leaf and x.grad_fn is None and not base.requires_grad
    (x[0] * x.t()[:, 1]).sum().backward()
    close(x.grad, [[3.0, 4.0, 5.0], [0.0, 1.0, 2.0]])
    assert base.grad is None
    base.mul_(2)
    with torch.no_grad():
        x[0].add_(1)
    close(x, [[1.0, 3.0, 5.0], [6.0, 8.0, 10.0]])
    close(base, [1.0, 3.0, 5.0, 6.0, 8.0, 10.0])
    with pytest.raises(RuntimeError, match="leaf"):
        x.mul_(2)
    x.requires_grad_(False)
    assert not (x * 2).requires_grad
    p = torch.nn.Parameter(torch.arange(4.0).reshape(2, 2).t())
    (p * p).sum().backward()
    close(p.grad, 2 * p.detach().numpy())


def test_a_leaf_over_a_detached_view():
    w = leaf(1.0, 2.0, 3.0, 4.0)
    v = w.view(2, 2).detach().requires_grad_()
    (v * v + w.view(2, 2)).sum().backward()
    close(v.grad, [[2.0, 4.0], [6.0, 8.0]])
    close(w.grad, [1.0] * 4)
    w.data.add_(1)
    close(v, [[2.0, 3.0], [4.0, 5.0]])


def test_assigning_grad():
    x = leaf(1.0)
    with pytest.raises(TypeError):
        x.grad = 3
    for wrong in (torch.zeros(2), torch.zeros(1, dtype=torch.float64)):
        with pytest.raises(RuntimeError, match="assign"):
            x.grad = wrong
    x.grad = torch.ones(1)
    x.grad *= 3
    x.grad.data.add_(1)
    close(x.grad, [4.0])
    del x.grad
    assert x.grad is None


# ----------------------------------------------------------------------------------------------------------- grad modes


def test_modes_nest():
    seen = [torch.is_grad_enabled()]
    with torch.no_grad():
        seen.append(torch.is_grad_enabled())
        with torch.enable_grad():
            seen.append(torch.is_grad_enabled())
            with torch.inference_mode():
                seen.append(torch.is_grad_enabled())
            seen.append(torch.is_grad_enabled())
        seen.append(torch.is_grad_enabled())
        with torch.set_grad_enabled(True):
            seen.append(torch.is_grad_enabled())
        seen.append(torch.is_grad_enabled())
    with torch.inference_mode(False):
        seen.append(torch.is_grad_enabled())
    assert seen == [True, False, True, False, True, False, True, False, True]


def test_modes_as_decorators():
    x = leaf(1.0)

    @torch.no_grad()
    def f(n):
        """Says it."""
        return [(x * 2).requires_grad, *(f(n - 1) if n else ())]

    @torch.no_grad
    def g():
        return (x * 2).requires_grad

    @torch.enable_grad()
    def h():
        return (x * 2).requires_grad

    @torch.inference_mode()
    def i():
        return (x * 2).requires_grad

    @torch.set_grad_enabled(False)
    def j():
        return (x * 2).requires_grad

    assert torch.is_grad_enabled()
    assert f(2) == [False] * 3 and f.__name__ == "f" and f.__doc__ == "Says it."
    assert not g() and not i() and not j() and h()
    with torch.no_grad():
        assert h() and not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_modes_are_restored_after_an_exception():
    @torch.no_grad()
    def f():
        raise ValueError

    with pytest.raises(ValueError):
        f()
    with pytest.raises(ValueError), torch.no_grad(), torch.enable_grad():
        raise ValueError
    assert torch.is_grad_enabled()


def test_modes_on_generators():
    @torch.no_grad()
    def f():
        got = []
        for _ in range(2):
            try:
                got.append((yield torch.is_grad_enabled()))
            except KeyError:
                got.append("caught")
        return got, torch.is_grad_enabled()

    g = f()
    seen = [next(g), torch.is_grad_enabled(), g.send(5), torch.is_grad_enabled()]
    with pytest.raises(StopIteration) as stop:
        g.throw(KeyError())
    assert seen == [False, True, False, True] and stop.value.value == ([5, "caught"], False)
    closed = f()
    next(closed)
    closed.close()
    assert torch.is_grad_enabled()


def test_set_grad_enabled_as_a_function():
    try:
        torch.set_grad_enabled(False)
        assert not torch.is_grad_enabled() and not (leaf(1.0) * 2).requires_grad
        torch.set_grad_enabled(True)
        mode = torch.set_grad_enabled(False)
        with mode:
            assert not torch.is_grad_enabled()
        assert torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)


def test_a_mode_used_again_within_itself():  # PyTorch forgets the outer state
    mode = torch.no_grad()
    with mode:
        with mode:
            assert not torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_no_grad_makes_constants():
    x = leaf(2.0)
    with torch.no_grad():
        y = x * 2
        made = torch.tensor([1.0], requires_grad=True)
        assert not (made * 2).requires_grad
    (y * x).sum().backward()
    close(x.grad, [4.0])
    assert made.requires_grad and (made * 2).requires_grad


def test_backward_and_grad_under_no_grad():
    for make in (lambda x: (x**3).sum(), lambda x: (x.view(1, 1) ** 3)[0, 0]):
        x = leaf(2.0)
        y = make(x)
        with torch.no_grad():
            y.backward(retain_graph=True)
            (g,) = torch.autograd.grad(y, x, create_graph=True)
        close(x.grad, [12.0])
        assert g.requires_grad
        close(torch.autograd.grad(g.sum(), x)[0], [12.0])


# -------------------------------------------------------------------------------------------------------------- in place


LEAF_WRITES = {
    "add_": lambda x: x.add_(1),
    "copy_": lambda x: x.copy_(torch.ones(2)),
    "zero_": lambda x: x.zero_(),
    "setitem": lambda x: x.__setitem__(0, 5.0),
    "iadd": lambda x: x.__iadd__(1),
    "view": lambda x: x.view(2, 1).add_(1),
    "exp_": lambda x: x.exp_(),
}


@pytest.mark.parametrize("name", LEAF_WRITES)
def test_in_place_on_a_leaf_raises_but_not_under_no_grad(name):
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        LEAF_WRITES[name](x)
    close(x, [1.0, 2.0])
    with torch.no_grad():
        LEAF_WRITES[name](x)
    assert x.requires_grad and x.is_leaf and x.tolist() != [1.0, 2.0] and x.grad_fn is None
    (x * x).sum().backward()
    close(x.grad, 2 * x.detach().numpy())


def test_in_place_on_results_changes_their_history():
    x = leaf(1.0, 2.0)
    for change, want in (
        (lambda y: y.mul_(x), [6.0, 12.0]),
        (lambda y: y.add_(1), [3.0, 3.0]),
        (lambda y: y.exp_(), 3 * np.exp([3.0, 6.0])),
        (lambda y: y.copy_(x * x), [2.0, 4.0]),
        (lambda y: y.neg_().mul_(2), [-6.0, -6.0]),
        (lambda y: y.__isub__(x), [2.0, 2.0]),
    ):
        x.grad = None
        y = x * 3
        assert change(y) is y
        y.sum().backward()
        close(x.grad, want)


def test_in_place_leaves_what_was_computed_before():
    x = leaf(1.0, 2.0)
    y = x * 2
    z = y * 3
    y.add_(1)
    (z + y).sum().backward()
    close(x.grad, [8.0, 8.0])


def test_a_plain_tensor_becomes_a_result_in_place():
    x = leaf(1.0, 2.0)
    y = torch.zeros(2)
    y.add_(x)
    assert y.requires_grad and not y.is_leaf
    y.mul_(y.clone())
    y.sum().backward()
    close(x.grad, [2.0, 4.0])


def test_in_place_under_no_grad_leaves_the_history_of_a_result():
    x = leaf(1.0, 2.0)
    y = x * 2
    with torch.no_grad():
        y.mul_(10)
    y.sum().backward()
    close(y, [20.0, 40.0])
    close(x.grad, [2.0, 2.0])


def test_augmented_assignment_is_in_place():
    x = torch.tensor([3.0, 5.0])
    same = x
    x += 1
    x -= 2
    x *= 3
    x /= 2
    x **= 2
    x //= 3
    x %= 2
    assert same is x
    close(x, [1.0, 0.0])
    n = torch.tensor([6, 5])
    n &= 7
    n |= 8
    n ^= 1
    n <<= 1
    n >>= 2
    assert n.tolist() == [7, 6]


def test_in_place_errors():
    with pytest.raises(RuntimeError, match="Long|int64"):
        x = torch.tensor([6, 5])
        x /= 2
    with pytest.raises(RuntimeError, match="int64|Long"):
        torch.tensor([6]).add_(1.5)
    with pytest.raises(RuntimeError, match="shape"):
        torch.ones(2).add_(torch.ones(2, 2))
    with pytest.raises(RuntimeError):
        torch.ones(2).copy_(torch.ones(3))
    with pytest.raises(AttributeError):
        torch.ones(2).no_such_op_()


def test_in_place_methods_by_name():
    x = torch.tensor([1.0, 4.0])
    x.sqrt_().neg_().abs_().clamp_(0, 10).log1p_().pow_(2).sigmoid_().reciprocal_().lerp_(torch.zeros(2), 0.5)
    want = 0.5 * (1 + np.exp(-(np.log1p([1.0, 2.0]) ** 2)))
    close(x, want)
    assert torch.ones(1).addcmul_(torch.ones(1), torch.ones(1), value=0.5).item() == 1.5
    assert torch.ones(1).add_(torch.ones(1), alpha=3).item() == 4.0
    y = torch.arange(4.0)
    y.masked_fill_(y > 1, 0.0)
    assert y.tolist() == [0, 1, 0, 0]
    z = torch.zeros(3)
    z.index_add_(0, torch.tensor([0, 2, 0]), torch.tensor([1.0, 2.0, 3.0]))
    z.index_fill_(0, torch.tensor([1]), 7.0)
    assert z.tolist() == [4, 7, 2]
    z.scatter_(0, torch.tensor([1]), 5.0)
    z.index_put_((torch.tensor([0, 0]),), torch.tensor([1.0, 2.0]), accumulate=True)
    assert z.tolist() == [7, 5, 2]


# ---------------------------------------------------------------------------------------------------------------- dtypes


def test_complex_gradients():
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    (z * z.conj()).real.sum().backward()
    close(z.grad, [2 + 4j, 6 - 2j])
    z.grad = None
    z.abs().sum().backward()
    close(z.grad, np.array([1 + 2j, 3 - 1j]) / np.abs([1 + 2j, 3 - 1j]))
    with pytest.raises(RuntimeError, match="real scalar"):
        z.sum().backward()
    z.grad = None
    (z * z).backward(torch.tensor([1 + 0j, 1j]))  # conj(2 z) g
    close(z.grad, [2 - 4j, 1j * (6 + 2j)])
    assert z.grad.dtype is torch.complex64


def test_gradients_across_real_and_complex():
    x = leaf(1.0, 2.0)
    (x * (1 + 2j)).abs().sum().backward()
    close(x.grad, [math.sqrt(5)] * 2)
    x.grad = None
    z = torch.tensor([1 + 1j, 2 - 1j], requires_grad=True)
    (x * z).imag.sum().backward()
    close(x.grad, [1.0, -1.0])
    close(z.grad, [1j, 2j])
    assert x.grad.dtype is torch.float32


def test_gradients_across_dtypes():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0, dtype=torch.float64)
    (x * w).sum().backward()
    assert x.grad.dtype is torch.float32 and w.grad.dtype is torch.float64
    close(x.grad, [3.0, 4.0])
    close(w.grad, [1.0, 2.0])
    for dtype in (torch.float16, torch.bfloat16):
        h = leaf(1.0, 2.0, dtype=dtype)
        (h * h).sum().backward()
        assert h.grad.dtype is dtype and h.grad.float().tolist() == [2.0, 4.0]
    x.grad = None
    (x.half() * 2).sum().backward()
    assert x.grad.dtype is torch.float32 and x.grad.tolist() == [2.0, 2.0]


def test_gradients_through_indices_of_integers_and_masks():
    x = leaf(1.0, 2.0, 3.0)
    x[torch.tensor([0, 0, 2])].sum().backward()
    close(x.grad, [2.0, 0.0, 1.0])
    x.grad = None
    (x[x > 1.5] ** 2).sum().backward()
    close(x.grad, [0.0, 4.0, 6.0])
    x.grad = None
    torch.where(x > 1.5, x * x, 3 * x).sum().backward()
    close(x.grad, [3.0, 4.0, 6.0])


# ------------------------------------------------------------------------------------------------------ copies, threads


def test_deepcopy():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    x.note = ["kept"]
    y = copy.deepcopy(x)
    assert y.requires_grad and y.is_leaf and y.note == ["kept"] and y.note is not x.note
    y.data.zero_()
    y.grad.zero_()
    close(x, [1.0, 2.0])
    close(x.grad, [2.0, 4.0])
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(x * 2)
    v = torch.arange(4.0).view(2, 2).requires_grad_()
    w = copy.deepcopy(v)
    (w * w).sum().backward()
    assert w.is_leaf and v.grad is None and w.grad.shape == (2, 2)


def test_deepcopy_keeps_what_is_shared_shared():
    x = torch.tensor([1.0, 2.0, 3.0])
    a, b, c, d = copy.deepcopy([x, x, x[1:], x.detach()])
    assert a is b
    c.zero_()
    close(a, [1.0, 0.0, 0.0])
    d[0] = 5.0
    close(a, [5.0, 0.0, 0.0])
    close(x, [1.0, 2.0, 3.0])
    inner = x[1:][:1]
    e, f = copy.deepcopy([inner, x])
    e.fill_(9.0)
    close(f, [1.0, 9.0, 3.0])


def test_copy_is_another_name():
    x = leaf(1.0)
    y = copy.copy(x)
    assert y is not x and y.requires_grad and y.is_leaf and type(y) is type(x)
    y.data.add_(1)
    close(x, [2.0])


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_pickle(protocol):
    for t in (
        torch.tensor([1, 2]),
        torch.tensor([True, False]),
        torch.tensor([1 + 2j]),
        torch.tensor(1.5, dtype=torch.float64),
        torch.arange(6.0).view(2, 3)[1],
        torch.zeros(0, 2),
        leaf(1.0, 2.0),
        torch.nn.Parameter(torch.ones(2)),
    ):
        back = pickle.loads(pickle.dumps(t, protocol))
        assert type(back) is type(t) and back.dtype is t.dtype and back.tolist() == t.tolist()
        assert back.requires_grad is t.requires_grad and back.is_leaf
    a, b = pickle.loads(pickle.dumps([t, t], protocol))
    assert a is b


def run_in_thread(function):
    errors = []

    def guarded():
        try:
            function()
        except BaseException as error:  # noqa: BLE001 - handed to the test
            errors.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


def test_backward_in_another_thread():
    x, seen = leaf(1.0, 2.0), []
    h = x * x
    h.register_hook(seen.append)
    run_in_thread((h * 3).sum().backward)
    close(x.grad, [6.0, 12.0])
    close(seen[0], [3.0, 3.0])
    v = x.view(2, 1)
    v.register_hook(lambda g: seen.append(g))

    def read_without_recording():
        with torch.no_grad():
            v.sum()

    run_in_thread(read_without_recording)
    run_in_thread(lambda: (v * v).sum().backward())
    close(x.grad, [8.0, 16.0])
    close(seen[1], [[2.0], [4.0]])


def test_grad_modes_belong_to_a_thread():
    x, seen = leaf(1.0), []
    with torch.no_grad():
        run_in_thread(lambda: seen.append((torch.is_grad_enabled(), (x * 2).requires_grad)))
        assert not torch.is_grad_enabled()
    run_in_thread(lambda: torch.set_grad_enabled(False))
    assert seen == [(True, True)] and torch.is_grad_enabled() and (x * 2).requires_grad


def test_graphs_in_threads_side_by_side():
    leaves = [leaf(float(i)) for i in range(4)]
    barrier = threading.Barrier(4)

    def train(x):
        barrier.wait()
        for _ in range(5):
            (x**2).sum().backward()

    threads = [threading.Thread(target=train, args=(x,)) for x in leaves]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i, x in enumerate(leaves):
        close(x.grad, [10.0 * i])


# ----------------------------------------------------------------------------------------------- tensors and the outside


def test_values_leave_a_tensor_as_pytorch_lets_them():
    x = leaf(1.5)
    assert x.item() == 1.5 and float(x * 2) == 3.0 and x.tolist() == [1.5]
    with pytest.raises(RuntimeError, match="requires grad"):
        x.numpy()
    assert x.detach().numpy().tolist() == [1.5] and x.numpy(force=True).tolist() == [1.5]
    with pytest.raises(RuntimeError):
        torch.tensor([1.0, 2.0]).item()
    with pytest.raises(RuntimeError):
        bool(torch.tensor([1.0, 2.0]))
    assert not torch.tensor(x.detach()).requires_grad


def test_tensors_compare_by_elements_and_hash_by_identity():
    x = torch.tensor([1.0])
    assert len({x: 1, x.clone(): 2}) == 2 and x in {x}
    assert (torch.tensor([1.0, 2.0]) == torch.tensor([1.0, 3.0])).tolist() == [True, False]
    assert (x == None) is False and (x != None) is True  # noqa: E711
    assert 2.0 in torch.tensor([1.0, 2.0])


def test_repr():
    x = leaf(1.0, 2.0)
    assert repr(x) == "tensor([1., 2.], requires_grad=True)"
    assert repr(x * 2) == "tensor([2., 4.], grad_fn=<MulBackward0>)"
    assert repr(x.detach()) == "tensor([1., 2.])"
    assert repr(torch.tensor([1], dtype=torch.int32)) == "tensor([1], dtype=torch.int32)"


def test_parameters_and_their_results():
    p = torch.nn.Parameter(torch.ones(2))
    assert p.requires_grad and p.is_leaf and isinstance(p, torch.Tensor) and not isinstance(torch.ones(2), torch.nn.Parameter)
    assert {type(t) for t in (p * 2, p.detach(), p.data, p[0], p.clone(), -p, p.view(2, 1))} == {torch.Tensor}
    (p * p).sum().backward()
    assert type(p.grad) is torch.Tensor
    x = torch.zeros(2)
    q = torch.nn.Parameter(x)
    q.data.add_(1)
    close(x, [1.0, 1.0])

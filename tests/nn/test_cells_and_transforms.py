"""Cells and transforms: backward, autograd.grad and grad modes around and inside transforms."""

import numpy as np
import pytest
from tensor_helpers import W, X, close, gradient, row, weight

import functorch_lite as fl
import functorch_lite.torch as torch

SEED = 0

# ------------------------------------------------------------------------------------- backward through a transform


def test_backward_through_vmap_reaches_captured_parameters():
    w = weight()
    out = fl.vmap(lambda x: row(x, w))(torch.tensor(X))
    assert out.requires_grad and not out.is_leaf
    out.sum().backward()
    close(w.grad, gradient(W, X))


def test_backward_through_vmap_reaches_its_argument():
    x = torch.tensor(X, requires_grad=True)
    fl.vmap(lambda x: (x * x).sum())(x).sum().backward()
    close(x.grad, 2 * X)


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: fl.vmap(f),
        lambda f: fl.jit(fl.vmap(f)),
        lambda f: fl.vmap(fl.jit(f)),
        lambda f: fl.vmap(fl.checkpoint(f)),
        lambda f: fl.checkpoint(fl.vmap(f)),
    ],
    ids=["vmap", "jit_vmap", "vmap_jit", "vmap_checkpoint", "checkpoint_vmap"],
)
def test_backward_through_transforms_reaches_captured_parameters(transform):
    w = weight()
    f = transform(lambda x: row(x, w))
    for times in (1, 2):  # the second call runs what the first has traced
        f(torch.tensor(X)).sum().backward()
        close(w.grad, times * gradient(W, X))


def test_backward_through_vmap_of_grad_is_second_order():
    a = torch.tensor(2.0, requires_grad=True)
    x = torch.tensor([1.0, 2.0, 3.0])
    g = fl.vmap(fl.grad(lambda x: a * x**3))(x)
    close(g, 6 * x.numpy() ** 2)
    g.sum().backward()
    close(a.grad, 3 * (1 + 4 + 9))


def test_backward_through_grad_reaches_captured_and_argument():
    w, x = weight(), torch.tensor(X, requires_grad=True)
    g = fl.grad(lambda x: torch.tanh(x @ w).sum())(x)
    g.sum().backward()
    t = np.tanh(X.astype(np.float64) @ W)
    s, u = 1 - t**2, W.sum(0)  # sum of g is sum(s * u) along the outputs, u the sums of the columns of w
    close(w.grad, s.sum(0)[None] * np.ones((3, 1)) + X.T @ (-2 * t * s * u), rtol=1e-4)
    close(x.grad, (-2 * t * s * u) @ W.T, rtol=1e-4)


def test_backward_through_jvp_jacrev_jacfwd_hessian():
    a = torch.tensor(3.0, requires_grad=True)
    x = torch.tensor([1.0, 2.0])
    f = lambda x: a * x**3  # noqa: E731
    for transform, want in (
        (lambda: fl.jvp(f, (x,), (torch.ones(2),))[1], 3 * (1 + 4)),
        (lambda: fl.jacrev(f)(x), 3 * (1 + 4)),
        (lambda: fl.jacfwd(f)(x), 3 * (1 + 4)),
        (lambda: fl.hessian(lambda x: f(x).sum())(x), 6 * (1 + 2)),
        (lambda: fl.vjp(f, x)[1](torch.ones(2))[0], 3 * (1 + 4)),
        (lambda: fl.linearize(f, x)[1](torch.ones(2)), 3 * (1 + 4)),
    ):
        a.grad = None
        out = transform()
        assert isinstance(out, torch.Tensor)
        out.sum().backward()
        close(a.grad, want)


def test_nested_vmap_and_backward():
    w = weight()
    x = torch.tensor(np.stack([X, 2 * X]))
    fl.vmap(fl.vmap(lambda x: row(x, w)))(x).sum().backward()
    close(w.grad, gradient(W, np.concatenate([X, 2 * X])))


# ------------------------------------------------------------------------------------------- autograd.grad inside vmap


def test_autograd_grad_inside_vmap_is_per_sample():
    w = weight()
    got = fl.vmap(lambda x: torch.autograd.grad(row(x, w), [w])[0])(torch.tensor(X))
    close(got, np.stack([gradient(W, x[None]) for x in X]))
    assert w.grad is None and not got.requires_grad


def test_autograd_grad_inside_vmap_with_create_graph_differentiates_outside():
    a = torch.tensor(2.0, requires_grad=True)
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    got = fl.vmap(lambda x: torch.autograd.grad(a * x**3, x, create_graph=True)[0])(x)
    close(got, 6 * np.array([1.0, 4.0, 9.0]))
    got.sum().backward()
    close(x.grad, 12 * np.array([1.0, 2.0, 3.0]))
    close(a.grad, 3 * 14)


def test_autograd_grad_inside_vmap_of_its_argument_and_of_a_clone():
    x = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
    close(fl.vmap(lambda v: torch.autograd.grad(v.sin(), v)[0])(x), np.cos([0.0, 1.0, 2.0]))

    def made_inside(v):
        v = v.detach().clone().requires_grad_()
        return torch.autograd.grad(v**2, v)[0]

    close(fl.vmap(made_inside)(torch.tensor([1.0, 2.0])), [2.0, 4.0])


def test_autograd_grad_inside_vmap_of_a_result():
    y = torch.tensor([1.0, 2.0], requires_grad=True) * 3
    close(fl.vmap(lambda r: torch.autograd.grad(r**2, r)[0])(y), [6.0, 12.0])


def test_autograd_grad_inside_jit_and_grad():
    w = weight()
    got = fl.jit(lambda x: torch.autograd.grad(torch.tanh(x @ w).sum(), w)[0])(torch.tensor(X))
    close(got, gradient(W, X))
    a = torch.tensor(2.0, requires_grad=True)
    # d/dx of d(a x^2)/da = x^2
    close(fl.grad(lambda x: torch.autograd.grad(a * x**2, a)[0])(torch.tensor(3.0)), 6.0)


# ------------------------------------------------------------------------------------------------ backward inside


def test_grad_over_backward_on_a_tensor_made_inside():
    def f(x):
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        (w * w * x).sum().backward()  # its gradient is 2 w x
        return (w.grad * x).sum()  # 6 x^2

    close(fl.grad(f)(torch.tensor(3.0)), 36.0)
    close(fl.vmap(fl.grad(f))(torch.tensor([1.0, 2.0])), [12.0, 24.0])
    close(fl.jit(fl.grad(f))(torch.tensor(3.0)), 36.0)
    close(fl.jvp(f, (torch.tensor(3.0),), (torch.tensor(1.0),))[1], 36.0)


def test_grad_over_backward_on_parameters_made_from_the_argument():
    def f(x):
        w = (x.detach() * 2).requires_grad_()  # detached: the outer gradient does not pass
        (w**2 * x).backward()  # w.grad = 2 w x
        return w.grad

    close(fl.grad(f)(torch.tensor(3.0)), 2 * 6.0)


def test_backward_inside_vmap_accumulates_per_row():
    def f(x):
        w = torch.ones(2, requires_grad=True)
        for _ in range(2):
            (w * x).sum().backward()
        return w.grad

    close(fl.vmap(f)(torch.tensor(X[:, :2])), 2 * X[:, :2])


@pytest.mark.parametrize(
    "transform", [fl.grad, fl.vmap, lambda f: fl.jvp(f, (torch.ones(2),), (torch.ones(2),)) and f], ids=["grad", "vmap", "jvp"]
)
def test_backward_onto_an_outer_tensor_raises_and_leaves_it(transform):
    w = torch.tensor(2.0, requires_grad=True)
    w.cell.name = "the weight"

    def f(x):
        (x.sum() * w).backward()
        return x.sum()

    with pytest.raises(RuntimeError, match="the weight.*autograd.grad"):
        transform(f)(torch.ones(2))
    assert w.grad is None
    (w * 3).backward()
    close(w.grad, 3.0)


def test_autograd_grad_on_the_argument_of_grad():
    def penalty(x):
        x.requires_grad_()  # from here on there are gradients by backward too
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        return (g**2).sum()

    x = torch.tensor([1.0, 2.0])
    close(fl.grad(penalty)(x), [36.0, 288.0])
    close(fl.jit(fl.grad(penalty))(x), [36.0, 288.0])
    close(fl.vmap(fl.grad(penalty))(x[:, None])[:, 0], [36.0, 288.0])
    assert not x.requires_grad
    for wrong in (
        lambda x: torch.autograd.grad((x * 2).sum(), x),
        lambda x: (x * 2).sum().backward(),
        lambda x: (x * 2).retain_grad(),
        lambda x: (x * 2).register_hook(print),
    ):
        with pytest.raises(RuntimeError, match=r"is that of grad\(<lambda>\).*x.requires_grad_\(\)"):
            fl.grad(wrong)(x)


def test_backward_of_a_result_from_outside_raises_inside():
    y = torch.tensor(2.0, requires_grad=True) * 3

    def f(x):
        y.backward()
        return x

    with pytest.raises(RuntimeError, match="backward"):
        fl.vmap(f)(torch.ones(2))
    with pytest.raises(RuntimeError, match="backward"):
        fl.grad(f)(torch.tensor(1.0))


def test_jit_of_a_function_that_calls_backward_writes_grad_back():
    w = weight()

    @fl.jit
    def step(x):
        torch.tanh(x @ w).sum().backward()
        return x.sum()

    for times in (1, 2, 3):
        step(torch.tensor(X))
        close(w.grad, times * gradient(W, X))
    w.grad = None
    step(torch.tensor(X))
    close(w.grad, gradient(W, X))


# -------------------------------------------------------------------------------------------------------- grad mode


def test_no_grad_inside_grad_stops_it():
    def f(x):
        with torch.no_grad():
            c = x * 3
        return x * c

    close(fl.grad(f)(torch.tensor(2.0)), 6.0)
    close(fl.vmap(fl.grad(f))(torch.tensor([1.0, 2.0])), [3.0, 6.0])
    close(fl.jit(fl.grad(f))(torch.tensor(2.0)), 6.0)
    close(fl.grad(fl.jit(f))(torch.tensor(2.0)), 6.0)
    close(fl.grad(f)(fl.asarray(2.0)), 6.0)


@pytest.mark.parametrize("way", ["no_grad", "data", "detach"])
def test_a_write_that_recording_does_not_see_keeps_the_history_under_grad(way):
    def f(x):
        y = x * 1
        if way == "no_grad":
            with torch.no_grad():
                y.mul_(10.0)
                y[1:].add_(1.0)
        else:
            z = y.data if way == "data" else y.detach()
            z.mul_(10.0)
            z[1:].add_(1.0)
        return (y * y).sum()  # its derivative is taken at the new y, as if y were x

    x = torch.tensor([1.0, 2.0])
    for g in (
        fl.grad(f),
        fl.jit(fl.grad(f)),
        fl.grad(fl.jit(f)),
        lambda x: fl.vmap(fl.grad(f))(x[None])[0],
        fl.grad(lambda x: fl.vmap(f)(x[None]).sum()),
        fl.jacfwd(f),
    ):
        close(g(x), [20.0, 42.0])
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    f(leaf).backward()
    close(leaf.grad, [20.0, 42.0])


def test_no_grad_around_grad_does_not():
    with torch.no_grad():
        close(fl.grad(torch.sin)(torch.tensor(0.0)), 1.0)
        close(fl.grad(fl.grad(lambda x: x**3))(torch.tensor(2.0)), 12.0)
        close(fl.vmap(fl.grad(lambda x: x**3))(torch.tensor([1.0, 2.0])), [3.0, 12.0])
        assert not torch.is_grad_enabled()
        seen = []
        fl.grad(lambda x: seen.append(torch.is_grad_enabled()) or x)(torch.tensor(1.0))
        assert seen == [True]


def test_no_grad_around_vmap_records_nothing():
    w = weight()
    with torch.no_grad():
        out = fl.vmap(lambda x: row(x, w))(torch.tensor(X))
    assert not out.requires_grad


def test_no_grad_inside_vmap_stops_what_is_outside():
    a = torch.tensor(2.0, requires_grad=True)

    def f(x):
        with torch.no_grad():
            c = a * x
        return c * x * a

    fl.vmap(f)(torch.tensor([1.0, 3.0])).sum().backward()  # a (a x^2) with the first a a constant
    close(a.grad, 2 * (1 + 9))


def test_grad_mode_is_restored_when_a_transform_raises():
    def f(x):
        torch.set_grad_enabled(False)
        raise ValueError("on the way")

    before = torch.is_grad_enabled()
    try:
        with pytest.raises(ValueError, match="on the way"), torch.enable_grad():
            fl.grad(f)(torch.tensor(1.0))
        assert torch.is_grad_enabled() is before
    finally:
        torch.set_grad_enabled(True)


def test_detach_inside_grad():
    close(fl.grad(lambda x: x.detach() * x)(torch.tensor(3.0)), 3.0)
    close(fl.grad(lambda x: x.detach().requires_grad_() * x)(torch.tensor(3.0)), 3.0)
    close(fl.grad(lambda x: x.data * x * x)(torch.tensor(3.0)), 18.0)
    close(fl.vmap(fl.grad(lambda x: x.detach() * x))(torch.tensor([3.0, 4.0])), [3.0, 4.0])


# ------------------------------------------------------------------------------------------------------ double backward


def test_double_backward():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x**4).sum().backward(create_graph=True)
    g = x.grad
    x.grad = None
    (g**2).sum().backward()  # d/dx 16 x^6
    close(x.grad, 96 * np.array([1.0, 2.0]) ** 5)


def test_gradient_penalty_of_a_layer():
    w, x = weight(), torch.tensor(X, requires_grad=True)
    (g,) = torch.autograd.grad(torch.tanh(x @ w).sum(), x, create_graph=True)
    (g**2).sum().backward()
    eps, want = 1e-3, np.zeros_like(W, np.float64)

    def penalty(w):
        return (((1 - np.tanh(X.astype(np.float64) @ w) ** 2) @ w.T) ** 2).sum()

    for i in np.ndindex(W.shape):
        d = np.zeros_like(W, np.float64)
        d[i] = eps
        want[i] = (penalty(W + d) - penalty(W - d)) / (2 * eps)
    close(w.grad, want, rtol=1e-3, atol=1e-3)

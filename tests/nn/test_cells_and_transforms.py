"""Tensors and transforms together: recording for backward under every transform, writes inside them, and what an exception leaves behind."""

import numpy as np
import pytest

import functorch_lite as fl
import functorch_lite.torch as torch

SEED = 0
W = np.array([[0.5, -1.0], [2.0, 0.25], [-0.75, 1.5]], np.float32)
X = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.0], [0.25, -2.0, 1.0], [4.0, 0.0, -0.5]], np.float32)


def close(got, want, rtol=2e-5, atol=1e-6):
    got = got.detach() if isinstance(got, torch.Tensor) else got
    np.testing.assert_allclose(np.asarray(got), want, rtol=rtol, atol=atol)


def gradient(w, x):
    """Of tanh(x @ w).sum() in w."""
    return x.T @ (1 - np.tanh(x @ w) ** 2)


def weight():
    return torch.tensor(W, requires_grad=True)


def row(x, w):
    return torch.tanh(x.unsqueeze(0) @ w).sum()


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


# ------------------------------------------------------------------------------------------------------ writes inside


def scaled_row(x):
    """x0 x1 + x1 for two numbers, by a write into a view."""
    y = x.clone()
    y[0].mul_(x[1])
    return y.sum()


def test_in_place_on_views_under_grad_vmap_jit():
    x = torch.tensor([3.0, 5.0])
    close(fl.grad(scaled_row)(x), [5.0, 4.0])
    close(fl.jit(scaled_row)(x), 20.0)
    close(fl.jit(fl.grad(scaled_row))(x), [5.0, 4.0])
    close(fl.grad(fl.jit(scaled_row))(x), [5.0, 4.0])
    rows = torch.tensor([[3.0, 5.0], [1.0, 2.0]])
    close(fl.vmap(scaled_row)(rows), [20.0, 4.0])
    close(fl.vmap(fl.grad(scaled_row))(rows), [[5.0, 4.0], [2.0, 2.0]])
    close(fl.jvp(scaled_row, (x,), (torch.ones(2),))[1], 9.0)
    close(fl.hessian(scaled_row)(x), [[0.0, 1.0], [1.0, 0.0]])
    close(x, [3.0, 5.0])


def test_in_place_on_views_with_backward():
    x = torch.tensor([3.0, 5.0], requires_grad=True)
    scaled_row(x).backward()
    close(x.grad, [5.0, 4.0])
    x.grad = None
    rows = torch.tensor([[3.0, 5.0], [1.0, 2.0]], requires_grad=True)
    fl.vmap(scaled_row)(rows).sum().backward()
    close(rows.grad, [[5.0, 4.0], [2.0, 2.0]])
    compiled = torch.compile(scaled_row)
    compiled(x).backward()
    close(x.grad, [5.0, 4.0])


def test_chains_of_views_under_transforms():
    def f(x):
        y = (x * 1).view(2, 3)
        y.t()[1:].mul_(2.0)
        y[0, ::2] += y[1, ::2]
        y.view(-1)[-1] = 0.0
        return (y * y).sum()

    def by_hand(x):
        y = x.reshape(2, 3).copy()
        y[:, 1:] *= 2
        y[0, ::2] += y[1, ::2]
        y[1, 2] = 0
        return (y * y).sum()

    x = np.arange(1.0, 7.0, dtype=np.float32)
    want = np.array([(by_hand(x + d) - by_hand(x - d)) / 2e-2 for d in 1e-2 * np.eye(6, dtype=np.float64)])
    for transform in (fl.grad(f), fl.jit(fl.grad(f)), fl.grad(fl.jit(f)), fl.jacfwd(f), lambda x: fl.vmap(fl.grad(f))(x[None])[0]):
        close(transform(torch.tensor(x)), want, rtol=1e-3)
    leaf = torch.tensor(x, requires_grad=True)
    f(leaf).backward()
    close(leaf.grad, want, rtol=1e-3)


def test_in_place_on_a_batched_argument_is_written_back():
    u = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    out = fl.vmap(lambda r: r.mul_(10.0).sum())(u)
    close(out, [30.0, 70.0])
    close(u, [[10.0, 20.0], [30.0, 40.0]])
    fl.vmap(lambda r: r[0].add_(1.0), in_dims=1)(u)
    close(u, [[11.0, 21.0], [30.0, 40.0]])
    ints = torch.arange(4).view(2, 2)
    fl.vmap(lambda r: r.copy_(r.flip(0)))(ints)
    assert ints.tolist() == [[1, 0], [3, 2]]
    view = torch.zeros(2, 3)
    fl.vmap(lambda r: r.fill_(1.0))(view[:, 1:])  # through a view of something larger
    close(view, [[0.0, 1.0, 1.0], [0.0, 1.0, 1.0]])


def test_in_place_on_an_argument_that_is_a_result_is_written_back_with_its_history():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    fl.vmap(lambda r: r.mul_(r))(y)
    y.sum().backward()
    close(y, [[1.0, 4.0], [9.0, 16.0]])
    close(x.grad, 2 * x.detach().numpy())


def test_in_place_on_a_batched_argument_in_chunks():
    u, untouched = torch.zeros(5, 2), torch.arange(5.0)
    close(fl.vmap(lambda r, a: r.add_(a).sum(), chunk_size=2)(u, untouched), 2 * np.arange(5.0))
    close(u, np.arange(5.0)[:, None] * np.ones(2))

    def breaks(r):
        r.zero_()
        if r.shape:
            raise ValueError("in a chunk")

    with pytest.raises(ValueError, match="in a chunk"):
        fl.vmap(breaks, chunk_size=2)(u)
    close(u, np.arange(5.0)[:, None] * np.ones(2))


@pytest.mark.parametrize("transform", [fl.vmap, fl.jit, fl.functionalize], ids=["vmap", "jit", "functionalize"])
def test_arguments_that_share_storage_may_be_read_but_not_written(transform):
    x = torch.zeros(4)
    for other in (x, x[:], x.detach(), x.view(2, 2).view(4)):
        close(transform(lambda a, b: a + b)(x, other), np.zeros(4))
        with pytest.raises(RuntimeError, match="shares its storage"):
            transform(lambda a, b: a.add_(1.0) + b)(x, other)
        close(x, np.zeros(4))


def test_in_place_on_a_leaf_argument_raises():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        fl.vmap(lambda r: r.mul_(2.0))(x)
    close(x, [1.0, 2.0])


def test_in_place_on_an_unbatched_argument():
    u = torch.zeros(2)
    with pytest.raises(RuntimeError):
        fl.vmap(lambda u, x: u.add_(x), in_dims=(None, 0))(u, torch.ones(3, 2))
    close(u, [0.0, 0.0])


def test_in_place_on_an_argument_under_grad():
    x = torch.tensor([1.0, 2.0])
    close(fl.grad(lambda x: (x.mul_(x)).sum())(x), [2.0, 4.0])
    close(x, [1.0, 4.0])
    close(fl.jvp(lambda x: x.mul_(3.0), (x,), (torch.ones(2),))[1], [3.0, 3.0])
    close(x, [3.0, 12.0])
    close(fl.vjp(lambda x: x.add_(1.0), x)[0], [4.0, 13.0])
    close(x, [4.0, 13.0])
    close(fl.linearize(lambda x: x[:1].zero_() + x, x)[1](torch.ones(2)), [0.0, 1.0])
    close(x, [0.0, 13.0])
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        fl.grad(lambda x: x.mul_(2.0).sum())(x.clone().requires_grad_())
    y = torch.tensor(3.0)
    close(fl.jit(lambda y: y.add_(1.0) * 2)(y), 8.0)
    close(y, 4.0)


def test_a_batched_write_into_an_unbatched_tensor_made_inside():
    def f(x):
        out = torch.zeros(3)
        out[1:] = x
        out[0] += x.sum()
        return out

    x = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    close(fl.vmap(f)(torch.tensor(x)), [[3.0, 1.0, 2.0], [7.0, 3.0, 4.0]])
    close(fl.jacrev(lambda x: fl.vmap(f)(x).sum())(torch.tensor(x)), [[2.0, 2.0], [2.0, 2.0]])


@pytest.mark.parametrize(
    "write",
    [
        lambda t, x: t.copy_(x),
        lambda t, x: t.add_(x),
        lambda t, x: t.view(1, 2)[0].mul_(x),
        lambda t, x: t.__setitem__(0, x[0]),
    ],
    ids=["copy_", "add_", "view", "setitem"],
)
@pytest.mark.parametrize(
    "transform", [fl.vmap, lambda f: fl.grad(lambda x: f(x).sum()), lambda f: lambda x: fl.jvp(f, (x,), (x,))], ids=["vmap", "grad", "jvp"]
)
def test_a_captured_tensor_mutated_inside_raises_and_names_it(transform, write):
    captured = torch.zeros(2)
    captured.cell.name = "running_mean"

    def f(x):
        write(captured, x)
        return x

    x = torch.ones(2, 2) if transform is fl.vmap else torch.ones(2)
    with pytest.raises(RuntimeError, match="running_mean"):
        transform(f)(x)
    close(captured, [0.0, 0.0])
    captured.add_(1.0)  # and it is as usable as before
    close(captured, [1.0, 1.0])


@pytest.mark.parametrize("write", [lambda t, x: setattr(t, "data", x), lambda t, x: t.detach().copy_(x)], ids=["data", "detach"])
def test_a_captured_tensor_mutated_past_autograd_inside_vmap_raises_and_names_it(write):
    captured = torch.zeros(2)
    captured.cell.name = "running_mean"
    with pytest.raises(RuntimeError, match="running_mean"):
        fl.vmap(lambda x: write(captured, x))(torch.ones(2, 2))
    close(captured, [0.0, 0.0])

    def f(x):
        write(captured, x)
        return x.sum()

    fl.grad(f)(torch.ones(2))  # what has no history may leave
    close(captured, [1.0, 1.0])


def test_a_captured_tensor_may_be_written_with_what_does_not_depend_on_the_transform():
    count = torch.zeros(())

    def f(x):
        count.add_(1.0)
        return x * 2

    fl.vmap(f)(torch.ones(3))
    fl.grad(f)(torch.tensor(1.0))
    close(count, 2.0)


def test_jit_writes_captured_tensors_back():
    total = torch.zeros(2)
    buffer = torch.zeros(3)

    @fl.jit
    def f(x):
        total.add_(x)
        buffer[1:].copy_(total)
        return total * 1

    for n in (1, 2, 3):
        out = f(torch.ones(2))
        close(out, [n, n])
        close(total, [n, n])
        close(buffer, [0, n, n])


# --------------------------------------------------------------------------------------------------------- exceptions


class Model(torch.nn.Module):
    """Some state of each kind."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor(W))
        self.register_buffer("seen", torch.zeros(()))


def state_of(model, others):
    return [t.detach().clone().numpy().copy() for t in (model.weight, model.seen, *others)]


@pytest.mark.parametrize("transform", ["jit", "compile", "vmap", "grad", "jit_vmap", "functionalize"])
def test_an_exception_in_the_middle_leaves_every_cell_as_it_was(transform):
    model, other = Model(), torch.ones(2)
    model.weight.grad = torch.full((3, 2), 7.0)
    view, before, grad = other[:1], None, model.weight.grad

    def f(x):
        if transform in ("jit", "compile"):
            torch.tanh(x @ model.weight).sum().backward()
            with torch.no_grad():
                model.weight.sub_(model.weight.grad)
            model.seen.add_(x.sum())
            view.fill_(9.0)
            model.weight.grad = None
            x.zero_()
        else:
            x.mul_(2.0)
            x.view(-1)[0] = 5.0
        raise ValueError("in the middle")

    x = torch.tensor(X)
    before = state_of(model, [other, x])
    made = {
        "jit": lambda: fl.jit(f)(x),
        "compile": lambda: torch.compile(f)(x),
        "vmap": lambda: fl.vmap(f)(x),
        "grad": lambda: fl.grad(f)(x),
        "jit_vmap": lambda: fl.jit(fl.vmap(f))(x),
        "functionalize": lambda: fl.functionalize(f)(x),
    }[transform]
    for _ in range(2):
        with pytest.raises(ValueError, match="in the middle"):
            made()
        for a, b in zip(before, state_of(model, [other, x])):
            np.testing.assert_array_equal(a, b)
        assert model.weight.grad is grad
        close(grad, np.full((3, 2), 7.0))
        assert model.weight.requires_grad and model.weight.is_leaf
    model.weight.grad = None
    torch.tanh(x @ model.weight).sum().backward()  # and everything works as before
    close(model.weight.grad, gradient(W, X))


def test_an_exception_in_the_middle_of_backward_leaves_the_gradients_as_they_were():
    x, y = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)

    def refuse(g):
        raise ValueError("in a hook")

    handle = x.register_hook(refuse)
    with pytest.raises(ValueError, match="in a hook"):
        (x * y).backward()
    assert x.grad is None and y.grad is None
    handle.remove()
    (x * y).backward()
    close(x.grad, 2.0)
    close(y.grad, 1.0)


# ------------------------------------------------------------------------------- Tensors in and out of every transform


def test_transforms_take_and_give_tensors():
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    f = lambda x: x**2  # noqa: E731
    for got, want in (
        (fl.jvp(f, (x,), (y,)), ([1.0, 4.0], [6.0, 16.0])),
        (fl.jacrev(f)(x), [[2.0, 0.0], [0.0, 4.0]]),
        (fl.jacfwd(f)(x), [[2.0, 0.0], [0.0, 4.0]]),
        (fl.hessian(lambda x: (x**3).sum())(x), [[6.0, 0.0], [0.0, 12.0]]),
        (fl.grad(lambda x: f(x).sum())(x), [2.0, 4.0]),
        (fl.value_and_grad(lambda x: f(x).sum())(x), (5.0, [2.0, 4.0])),
        (fl.vjp(f, x)[1](y), ([6.0, 16.0],)),
        (fl.linearize(f, x)[1](y), [6.0, 16.0]),
        (fl.vmap(f)(x), [1.0, 4.0]),
        (fl.jit(f)(x), [1.0, 4.0]),
        (fl.checkpoint(f)(x), [1.0, 4.0]),
    ):
        got, want = (got, want) if isinstance(got, tuple) else ((got,), (want,))
        for a, b in zip(got, want):
            assert type(a) is torch.Tensor
            close(a, b)


def test_scan_with_tensors_and_a_captured_parameter():
    a = torch.tensor(2.0, requires_grad=True)
    h, hs = fl.scan(lambda h, x: (h * a + x, h), torch.tensor(0.0), torch.tensor([1.0, 2.0, 3.0]))
    assert isinstance(h, torch.Tensor) and isinstance(hs, torch.Tensor)
    close(h, 1 * 4 + 2 * 2 + 3)
    close(hs, [0.0, 1.0, 4.0])
    h.backward()
    close(a.grad, 2 * 2 + 2)  # a^2 + 2 a + 3


def test_cond_with_tensors_and_a_captured_parameter():
    a = torch.tensor(2.0, requires_grad=True)
    for flag, value, slope in ((True, 6.0, 3.0), (False, 9.0, 0.0)):
        a.grad = None
        out = fl.cond(torch.tensor(flag), lambda x: x * a, lambda x: x * x + 0 * a, torch.tensor(3.0))
        assert isinstance(out, torch.Tensor)
        close(out, value)
        out.backward()
        close(a.grad, slope)


def test_while_loop_with_tensors():
    out = fl.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (torch.tensor(0), torch.tensor(1.5)))
    assert all(isinstance(x, torch.Tensor) for x in out)
    assert out[0].item() == 3 and out[1].item() == 12.0
    assert fl.fori_loop(0, 3, lambda i, x: x + i, torch.tensor(0)).item() == 3


def test_checkpoint_with_captured_parameters():
    w, x = weight(), torch.tensor(X, requires_grad=True)
    fl.checkpoint(lambda x: torch.tanh(x @ w))(x).sum().backward()
    close(w.grad, gradient(W, X))
    close(x.grad, (1 - np.tanh(X @ W) ** 2) @ W.T)


def test_custom_vjp_with_tensors():
    @fl.custom_vjp
    def f(x):
        return x**2

    f.defvjp(lambda x: (x**2, x), lambda x, g: (10 * x * g,))
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    out = f(x)
    assert isinstance(out, torch.Tensor) and out.requires_grad
    out.sum().backward()
    close(x.grad, [10.0, 20.0])
    close(fl.grad(lambda x: f(x).sum())(torch.tensor([1.0, 2.0])), [10.0, 20.0])
    x.grad = None
    fl.vmap(f)(x).sum().backward()
    close(x.grad, [10.0, 20.0])


def scanned(f):
    """f in the body of a scan, mapped."""
    return fl.vmap(lambda x: fl.scan(lambda c, y: (c + f(y), None), torch.zeros(()), x[None])[0])


@pytest.mark.parametrize(
    "transform",
    [lambda f: f, fl.jit, torch.compile, fl.vmap, lambda f: fl.jit(fl.vmap(f)), lambda f: fl.vmap(fl.jit(f)), fl.checkpoint, scanned],
    ids=["alone", "jit", "compile", "vmap", "jit_vmap", "vmap_jit", "checkpoint", "vmap_scan"],
)
@pytest.mark.parametrize("kind", ["vjp", "jvp"])
def test_rules_of_the_users_own_hold_for_backward_through_any_transform(transform, kind):
    if kind == "vjp":
        f = fl.custom_vjp(lambda x: x**2)
        f.defvjp(lambda x: (x**2, x), lambda x, g: (10 * x * g,))
    else:
        f = fl.custom_jvp(lambda x: x**2)
        f.defjvp(lambda primals, tangents: (primals[0] ** 2, 10 * primals[0] * tangents[0]))
    x, a = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(3.0, requires_grad=True)
    transform(lambda x: f(x * a))(x).sum().backward()  # d(f(a x)) = 10 (a x) a
    close(x.grad, [90.0, 180.0])
    close(a.grad, 10 * 3 * (1 + 4))


def test_a_custom_rule_that_closes_over_a_parameter_says_so():
    w, x = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    f = fl.custom_vjp(lambda x: x * w)
    f.defvjp(lambda x: (x * w, None), lambda _, g: (g,))
    with pytest.raises(TypeError, match="closes over a tensor that requires grad"):
        f(x)
    g = fl.custom_vjp(lambda x: x * w.detach())
    g.defvjp(lambda x: (x * w.detach(), None), lambda _, g: (g,))
    g(x).backward()
    close(x.grad, 1.0)
    assert w.grad is None


def test_custom_jvp_with_tensors():
    @fl.custom_jvp
    def f(x):
        return x**2

    f.defjvp(lambda primals, tangents: (primals[0] ** 2, 5 * tangents[0]))
    x = torch.tensor(3.0, requires_grad=True)
    f(x).backward()
    close(x.grad, 5.0)


def test_a_mixture_of_arrays_and_tensors():
    w, x = weight(), fl.asarray(X)
    out = torch.tanh(x @ w)
    assert isinstance(out, torch.Tensor)
    out.sum().backward()
    close(w.grad, gradient(W, X))
    g = fl.grad(lambda p: (p["a"] * p["b"]).sum())({"a": fl.asarray([1.0, 2.0]), "b": torch.tensor([3.0, 4.0])})
    assert type(g["a"]) is fl.Array and type(g["b"]) is torch.Tensor
    close(g["a"], [3.0, 4.0])
    close(g["b"], [1.0, 2.0])


# --------------------------------------------------------------------------------------------------------------- classes


def test_classes_stay_what_they_are_inside_and_gradients_have_their_leafs():
    class Tagged(torch.Tensor):
        pass

    seen = []

    def f(p, t, x):
        seen.append((type(p), type(t), type(x)))
        return (p * t * x).sum()

    p, t, x = torch.nn.Parameter(torch.ones(2)), Tagged(fl.asarray([1.0, 2.0])), torch.tensor([3.0, 4.0])
    want = (torch.nn.Parameter, Tagged, torch.Tensor)
    grads = fl.grad(f, argnums=(0, 1, 2))(p, t, x)
    fl.vmap(f)(p, t, x)
    fl.jit(f)(p, t, x)
    fl.jvp(f, (p, t, x), (torch.ones(2),) * 3)
    assert seen == [want] * len(seen) and len(seen) >= 4
    close(grads[0], [3.0, 8.0])
    assert all(isinstance(g, torch.Tensor) and g.dtype is torch.float32 for g in grads)


def test_a_gradient_has_the_tree_dtype_and_face_of_its_leaf():
    tree = {"w": torch.tensor([1.0], dtype=torch.float64), "b": [torch.tensor(2.0), fl.asarray(3.0)], "n": torch.tensor(4), "none": None}
    g = fl.grad(lambda p: p["w"].sum() * p["b"][0] * p["b"][1])(tree)
    assert list(g) == ["w", "b", "n", "none"]
    assert isinstance(g["w"], torch.Tensor) and g["w"].dtype is torch.float64 and g["n"] is None and g["none"] is None
    assert isinstance(g["b"][0], torch.Tensor) and type(g["b"][1]) is fl.Array
    close(g["w"], [6.0])


def test_requires_grad_inside():
    seen = {}

    def f(x):
        seen["flags"] = x.requires_grad, (x * 2).requires_grad, x.detach().requires_grad
        return x.sum()

    fl.grad(f)(torch.ones(2))
    assert seen["flags"] == (True, True, False)
    fl.vmap(f)(torch.ones(2))
    assert seen["flags"] == (False, False, False)
    fl.vmap(f)(torch.ones(2, requires_grad=True))
    assert seen["flags"] == (True, True, False)


# ------------------------------------------------------------------------------------------------------ the other face


def test_arrays_in_arrays_out_whatever_tensors_are_about():
    w = weight()
    (w * w).sum().backward()  # recording has begun in this process
    x = fl.asarray(X)
    f = lambda x: fl.tanh(x @ fl.asarray(W)).sum()  # noqa: E731
    for out in (
        f(x),
        fl.grad(f)(x),
        fl.jit(f)(x),
        fl.vmap(f)(x[:, None]),
        *fl.jvp(f, (x,), (x,)),
        fl.jit(fl.grad(f))(x),
        fl.checkpoint(f)(x),
    ):
        assert type(out) is fl.Array
    with torch.no_grad():
        close(fl.grad(f)(x), (1 - np.tanh(X @ W) ** 2) @ W.T)
    before = x.numpy().copy()
    fl.vmap(lambda r: r * 2)(x)
    np.testing.assert_array_equal(x.numpy(), before)


def test_a_tensor_captured_by_a_function_of_arrays():
    w = weight()
    out = fl.vmap(lambda x: fl.tanh(x[None] @ w).sum())(fl.asarray(X))
    assert isinstance(out, torch.Tensor)
    out.sum().backward()
    close(w.grad, gradient(W, X))


def test_a_leaked_tensor_says_so():
    kept = []

    def f(x):
        kept.append(x * 2)
        return x

    fl.vmap(f)(torch.ones(3))
    with pytest.raises(fl.errors.LeakedValueError, match="Return it as an output"):
        kept[0] + 1
    assert "dead" in repr(kept[0])

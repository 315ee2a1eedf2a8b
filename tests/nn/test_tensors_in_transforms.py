"""Tensors in and out of every transform, and what they are inside."""

import numpy as np
import pytest
from tensor_helpers import W, X, close, gradient, weight

import functorch_lite as fl
import functorch_lite.torch as torch

SEED = 0

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

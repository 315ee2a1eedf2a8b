"""grad, value_and_grad, vjp, jvp, linearize, linear_transpose, Jacobians and Hessians over pytrees."""

import numpy as np
import pytest

import functorch_lite as fl


@pytest.fixture
def x():
    return fl.asarray(np.random.default_rng(0).normal(size=3))


def close(a, b, rtol=1e-6):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=1e-9)


def test_grad_over_a_tree_with_other_leaves():
    params = {"w": fl.asarray([1.0, 2.0]), "steps": 3, "name": "net", "none": None, "flag": True}
    g = fl.grad(lambda p: (p["w"] ** 2).sum())(params)
    assert list(g) == list(params)
    assert g["w"].tolist() == [2.0, 4.0] and g["w"].dtype is fl.float32
    assert g["steps"] is None and g["name"] is None and g["flag"] is None
    updated = fl.tree.map(lambda p, d: p if d is None else p - d, params, g)
    assert updated["w"].tolist() == [-1.0, -2.0] and updated["name"] == "net"


def test_argnums_and_aux(x):
    f = lambda a, b, scale=1.0: ((a * b).sum() * scale, {"a": a})
    (ga, gb), aux = fl.grad(f, argnums=(0, -1), has_aux=True)(x, x * 2, scale=3.0)
    close(ga, np.asarray(x) * 6)
    close(gb, np.asarray(x) * 3)
    close(aux["a"], x)
    (value, aux), g = fl.value_and_grad(f, has_aux=True)(x, x)
    close(value, (np.asarray(x) ** 2).sum())
    g2, (value2, _) = fl.grad_and_value(f, has_aux=True)(x, x)
    close(g, g2)
    close(value, value2)


def test_an_unused_argument_has_zero_gradient(x):
    close(fl.grad(lambda a, b: (a * a).sum(), argnums=1)(x, x), np.zeros(3))


def test_vjp_of_a_tree_and_none_cotangents(x):
    out, pullback = fl.vjp(lambda a, b: {"p": a * b, "s": a.sum()}, x, x * 2)
    close(out["p"], np.asarray(x) ** 2 * 2)
    ga, gb = pullback({"p": None, "s": 1.0})
    close(ga, np.ones(3))
    close(gb, np.zeros(3))
    ga, gb = pullback({"s": None, "p": x})
    close(ga, np.asarray(x) ** 2 * 2)


def test_complex_gradient_is_the_conjugate_convention():
    z = fl.asarray(np.array([1 + 2j, 3 - 1j]))
    close(
        fl.grad(lambda z: (z * fl.conj(z)).real.sum() if isinstance(z.real, fl.Array) else fl.real(z * fl.conj(z)).sum())(z),
        2 * np.asarray(z),
    )
    close(fl.vjp(lambda z: z * z, z)[1](z)[0], np.conj(2 * np.asarray(z)) * np.asarray(z))


def test_perturbation_confusion():
    assert fl.grad(lambda x: x * fl.grad(lambda y: x + y)(1.0))(1.0).item() == 1.0
    inner = lambda x: fl.jvp(lambda y: x * y, (1.0,), (1.0,))[1]
    assert fl.jvp(lambda x: x * inner(x), (2.0,), (1.0,))[1].item() == 4.0


def test_jvp_with_none_tangents_and_strict(x):
    value, t = fl.jvp(lambda a, b: a * b, (x, x), (x, None))
    close(t, np.asarray(x) ** 2)
    with pytest.raises(RuntimeError, match="depend"):
        fl.jvp(lambda a: fl.asarray(1.0), (x,), (x,), strict=True)


def test_linearize_runs_f_once(x):
    runs = []
    value, pushforward, aux = fl.linearize(lambda a: (runs.append(1) or fl.sin(a), "aux"), x, has_aux=True)
    close(value, np.sin(np.asarray(x)))
    for _ in range(3):
        close(pushforward(x), np.cos(np.asarray(x)) * np.asarray(x))
    assert runs == [1] and aux == "aux"


def test_linear_transpose(x):
    m = fl.asarray(np.arange(6.0).reshape(2, 3))
    (ct,) = fl.linear_transpose(lambda v: fl.matmul(m, v), x)(fl.asarray(np.array([1.0, 2.0])))
    close(ct, np.asarray(m).T @ [1.0, 2.0])
    with pytest.raises(TypeError, match="linear"):
        fl.linear_transpose(lambda v: v * v, x)


def test_jacobians_agree_and_chunk(x):
    f = lambda p: {"l": p["a"] * 2, "r": p["a"].sum() * p["b"]}
    p = {"a": x, "b": fl.asarray(np.ones(2))}
    expected = fl.jacrev(f)(p)
    assert expected["r"]["a"].shape == (2, 3) and expected["l"]["b"].shape == (3, 2)
    for chunk in (1, 2, 100):
        for j in (fl.jacrev(f, chunk_size=chunk)(p), fl.jacfwd(f, chunk_size=chunk)(p)):
            fl.tree.map(close, j, expected)
    j, aux = fl.jacfwd(lambda x: (x.sin(), x.sum()), has_aux=True)(x)
    close(j, np.diag(np.cos(np.asarray(x))))
    close(aux, np.asarray(x).sum())
    j, aux = fl.jacrev(lambda x: (x.sin(), x.sum()), has_aux=True)(x)
    close(aux, np.asarray(x).sum())


def test_hessian_and_hvp(x):
    f = lambda a: (a**3).sum() * a[0]
    h = fl.hessian(f)(x)
    v = x * 0.5 + 1
    close(fl.hvp(f, x, v), np.asarray(h) @ np.asarray(v))
    numeric = np.stack([(np.asarray(fl.grad(f)(x + e)) - np.asarray(fl.grad(f)(x - e))) / 2e-5 for e in np.eye(3) * 1e-5])
    close(h, numeric, rtol=1e-4)
    two = fl.hessian(lambda a, b: (a * a * b).sum(), argnums=(0, 1))(x, x)
    close(two[0][1], np.diag(2 * np.asarray(x)))


def test_third_derivatives_in_mixed_modes():
    f = lambda x: fl.sin(x) * x
    third = -3 * np.sin(1.0) - np.cos(1.0)
    one = np.float64(1.0)
    d = lambda g: lambda x: fl.jvp(g, (x,), (fl.asarray(one),))[1]
    for a in (fl.grad, d):
        for b in (fl.grad, d):
            for c in (fl.grad, d):
                close(a(b(c(f)))(fl.asarray(one)), third)


def test_stop_gradient_and_python_branches():
    f = lambda x: x * fl.stop_gradient(x) if x > 0 else -x
    assert fl.grad(f)(3.0).item() == 3.0
    assert fl.grad(f)(-3.0).item() == -1.0


def test_closure_convert(x):
    converted, captured = fl.closure_convert(lambda a: a * x, x)
    assert len(captured) == 1
    close(fl.grad(lambda a, c: converted(a, c).sum(), argnums=1)(x * 2, captured[0]), np.asarray(x) * 2)


def test_zero_size_gradients():
    empty = fl.zeros((0, 3))
    assert fl.grad(lambda a: (a * a).sum())(empty).shape == (0, 3)
    assert fl.jacrev(lambda a: a * 2)(empty).shape == (0, 3, 0, 3)
    assert fl.jacfwd(lambda a: a * 2)(empty).shape == (0, 3, 0, 3)
    by_both = {"a": empty, "b": fl.ones(2)}
    f = lambda p: {"u": p["b"] * 2 + p["a"].sum(), "v": p["a"] * 3}
    for jacobian in (fl.jacrev(f)(by_both), fl.jacfwd(f)(by_both)):
        assert jacobian["u"]["a"].shape == (2, 0, 3) and jacobian["v"]["b"].shape == (0, 3, 2)
        close(jacobian["u"]["b"], 2 * np.eye(2))
    _, aux = fl.jacfwd(lambda a: (a * 2, a.sum() + 1), has_aux=True)(empty)
    assert aux.item() == 1.0

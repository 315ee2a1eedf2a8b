"""custom_jvp, custom_vjp, custom_vmap, checkpoint, callbacks, JAX interop."""

import numpy as np
import pytest

import functorch_lite as fl


def close(a, b, rtol=1e-6):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=1e-9)


X = fl.asarray(np.random.default_rng(4).normal(size=3))


@fl.custom_jvp
def log1pexp(x):
    return fl.log(1 + fl.exp(x))


@log1pexp.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return log1pexp(x), t * fl.sigmoid(x)


def test_custom_jvp_in_every_mode():
    sigmoid = 1 / (1 + np.exp(-np.asarray(X)))
    for f in (log1pexp, fl.jit(log1pexp), fl.vmap(log1pexp)):
        close(fl.grad(lambda x: f(x).sum())(X), sigmoid)
        close(fl.jvp(f, (X,), (X,))[1], sigmoid * np.asarray(X))
        close(fl.hessian(lambda x: f(x).sum())(X), np.diag(sigmoid * (1 - sigmoid)))
    assert fl.grad(log1pexp)(100.0).item() == 1.0


def test_custom_jvp_nondiff_and_trees():
    @fl.custom_jvp(nondiff_argnums=(0,))
    def apply(f, p):
        return {"out": f(p["x"])}

    @apply.defjvp
    def rule(f, primals, tangents):
        (p,), (t,) = primals, tangents
        return apply(f, p), {"out": t["x"] * 10}

    close(fl.grad(lambda x: apply(fl.sin, {"x": x, "n": 3})["out"].sum())(X), np.full(3, 10.0))


def make_clip():
    @fl.custom_vjp
    def clip(x, bound):
        return x

    clip.defvjp(lambda x, bound: (x, {"bound": bound, "tag": "kept"}), lambda res, ct: (fl.clamp(ct, -res["bound"], res["bound"]), None))
    return clip


def test_custom_vjp_in_compositions():
    clip = make_clip()
    f = lambda x: (clip(x, 0.5) * x * 10).sum()
    want = np.asarray(X) * 10 + np.clip(np.asarray(X) * 10, -0.5, 0.5)
    for g in (fl.grad(f), fl.jit(fl.grad(f)), fl.grad(fl.jit(f)), fl.grad(lambda x: fl.vmap(f)(x[None]).sum())):
        close(g(X), want)
    rows = fl.stack([X, X * 3])
    close(fl.vmap(fl.grad(f))(rows)[1], fl.grad(f)(X * 3))
    close(fl.vmap(fl.jit(fl.grad(fl.jit(f))))(rows)[1], fl.grad(f)(X * 3))
    with pytest.raises(fl.errors.NonDifferentiableError, match="custom_jvp"):
        fl.jvp(f, (X,), (X,))


def test_custom_vjp_twice():
    @fl.custom_vjp
    def cube(x):
        return x**3

    cube.defvjp(lambda x: (x**3, x), lambda x, ct: (ct * 3 * x * x,))
    close(fl.grad(lambda x: fl.grad(lambda x: cube(x).sum())(x).sum())(X), 6 * np.asarray(X))


def test_custom_rules_errors():
    with pytest.raises(AttributeError, match="defvjp"):
        fl.custom_vjp(lambda x: x)(X)
    with pytest.raises(AttributeError, match="defjvp"):
        fl.custom_jvp(lambda x: x)(X)

    def closes(w):
        f = fl.custom_vjp(lambda x: x * w)
        f.defvjp(lambda x: (x * w, None), lambda _, ct: (ct,))
        return f(X).sum()

    with pytest.raises(TypeError, match="closes over 'w'"):
        fl.grad(closes)(X)
    bad = fl.custom_vjp(lambda x, y: x)
    bad.defvjp(lambda x, y: (x, None), lambda _, ct: (ct,))
    with pytest.raises(TypeError, match="2 cotangent"):
        fl.grad(lambda x: bad(x, x).sum())(X)
    wrong = fl.custom_vjp(lambda x: x)
    wrong.defvjp(lambda x: (x, None), lambda _, ct: (ct.sum(),))
    with pytest.raises(ValueError, match=r"float64\[3\]"):
        fl.grad(lambda x: wrong(x).sum())(X)


def test_custom_vmap():
    @fl.custom_vmap
    def f(x, y):
        return x * y

    calls = []

    @f.def_vmap
    def rule(size, batched, x, y):
        calls.append((size, batched))
        return x * (y if batched[1] else y[None] if y.ndim else y), True

    close(fl.vmap(f, in_dims=(0, None))(X, 2.0), np.asarray(X) * 2)
    assert calls == [(3, (True, False))]
    close(f(X, 2.0), np.asarray(X) * 2)
    close(fl.grad(lambda x: f(x, 2.0).sum())(X), np.full(3, 2.0))


# -------------------------------------------------------------------------------------------------------- checkpoint


def test_checkpoint_gives_the_same_derivatives():
    f = lambda x: fl.sin(fl.sin(x) * x)
    g = fl.checkpoint(f)
    s = lambda f: lambda x: f(x).sum()
    close(fl.grad(s(g))(X), fl.grad(s(f))(X))
    close(fl.hessian(s(g))(X), fl.hessian(s(f))(X))
    close(fl.jvp(g, (X,), (X,))[1], fl.jvp(f, (X,), (X,))[1])
    close(fl.jit(fl.vmap(fl.grad(s(g))))(X[None]), fl.grad(s(f))(X)[None])
    close(fl.grad(lambda x: fl.scan(lambda c, _: (g(c), None), x, None, length=3)[0].sum())(X), fl.grad(lambda x: f(f(f(x))).sum())(X))


def test_checkpoint_shows_in_compiled_memory():
    w, x = fl.eye(128) * 0.9, fl.ones((128, 128))

    def block(x):
        for _ in range(6):
            x = fl.tanh(x @ w)
        return x

    def loss(f):
        def run(x):
            for _ in range(6):
                x = f(x)
            return x.sum()

        return run

    temporaries = lambda f: fl.jit(fl.grad(loss(f))).lower(x).compile().memory()["temporaries"]
    plain, kept = temporaries(block), temporaries(fl.checkpoint(block))
    assert kept < 0.5 * plain, (kept, plain)


# --------------------------------------------------------------------------------------------------------- callbacks


def test_pure_callback():
    f = lambda x: fl.pure_callback(lambda x: np.sort(x) * 2, x, x)
    close(f(X), np.sort(np.asarray(X)) * 2)
    close(fl.jit(f)(X), np.sort(np.asarray(X)) * 2)
    rows = fl.stack([X, -X])
    close(fl.vmap(f)(rows), np.sort(np.asarray(rows), -1) * 2)
    whole = lambda x: fl.pure_callback(lambda x: x * 2, x, x, vectorized=True)
    close(fl.jit(fl.vmap(whole))(rows), np.asarray(rows) * 2)
    with pytest.raises(NotImplementedError, match="host_call"):
        fl.grad(lambda x: f(x).sum())(X)


def test_debug_print(capfd):
    def f(x):
        fl.debug.print("x = {x}", x=x)
        return x * 2

    fl.block_until_ready(fl.jit(f)(1.5))
    fl.block_until_ready(fl.vmap(f)(fl.asarray([1.0, 2.0])))
    fl.block_until_ready(fl.grad(f)(3.0))
    out = capfd.readouterr().out
    assert [line for line in out.splitlines() if line] == ["x = 1.5", "x = 1.0", "x = 2.0", "x = 3.0"]


# ----------------------------------------------------------------------------------------------------------- interop


def test_to_jax():
    import jax
    import jax.numpy as jnp

    f = fl.to_jax(lambda p: (fl.sin(p["x"]) * p["y"]).sum())
    p = {"x": jnp.arange(3.0), "y": jnp.ones(3)}
    close(f(p), np.sin(np.arange(3.0)).sum(), rtol=1e-5)
    close(jax.grad(f)(p)["x"], np.cos(np.arange(3.0)), rtol=1e-5)
    close(jax.jit(jax.vmap(jax.grad(lambda x: f({"x": x, "y": p["y"]}))))(p["x"][None])[0], np.cos(np.arange(3.0)), rtol=1e-5)
    assert jax.grad(f)(p)["x"].dtype == np.float32 and jnp.arange(3).dtype == np.int32


def test_from_jax():
    import jax.numpy as jnp

    f = fl.from_jax(lambda x, scale=1.0: {"s": jnp.sin(x) * scale, "n": jnp.argmax(x)})
    out = f(X, scale=2.0)
    close(out["s"], np.sin(np.asarray(X)) * 2)
    g = lambda x: f(x, scale=2.0)["s"].sum()
    close(fl.grad(g)(X), 2 * np.cos(np.asarray(X)))
    close(fl.hessian(g)(X), np.diag(-2 * np.sin(np.asarray(X))))
    close(fl.jit(fl.vmap(fl.grad(g)))(X[None])[0], 2 * np.cos(np.asarray(X)))
    z = fl.asarray(np.array([1 + 2j]))
    close(fl.vjp(fl.from_jax(lambda z: jnp.sin(z)), z)[1](z)[0], fl.vjp(fl.sin, z)[1](z)[0])


def test_eval_shape():
    out = fl.eval_shape(lambda a, n: {"s": fl.matmul(a, a) * n}, fl.ShapeDtype((5, 5), fl.float16), 2)
    assert out["s"].shape == (5, 5) and out["s"].dtype is fl.float16

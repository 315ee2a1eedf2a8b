"""jit: caching, static and donated arguments, closures, and what it composes with."""

import numpy as np
import pytest

import functorch_lite as fl


def close(a, b, rtol=1e-6):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=1e-9)


X = fl.asarray(np.random.default_rng(2).normal(size=3))


def test_traces_once_per_shape_dtype_and_tree():
    runs = []
    f = fl.jit(lambda p: runs.append(1) or {"out": p["x"] * p["n"]})
    for n in (2, 3, 4):
        close(f({"x": X, "n": n})["out"], np.asarray(X) * n)
    assert len(runs) == 1, "another number is no new program"
    f({"x": X, "n": 2.0})
    f({"x": X.float(), "n": 2})
    f({"n": 2, "x": X})
    assert len(runs) == 4 and len(f.programs) == 4


def test_numbers_stay_exact_and_weak():
    f = fl.jit(lambda x, c: x * c)
    assert f(fl.asarray(np.ones(1)), 0.1).item() == 0.1
    assert f(fl.ones(1, dtype=fl.float16), 2.0).dtype is fl.float16
    assert f(fl.ones(1, dtype=fl.int32), 2.5).dtype is fl.float32


def test_number_inputs_leave_as_default_dtypes():
    a, b, c = fl.jit(lambda a: (a, fl.scan(lambda c, x: (c + x, c), a, fl.ones(3))[0], fl.cond(a > 0, lambda v: v, lambda v: -v, a)))(1.5)
    assert [x.dtype for x in (a, b, c)] == [fl.float32] * 3 and [x.item() for x in (a, b, c)] == [1.5, 4.5, 1.5]
    assert fl.jit(lambda n: n)(2).dtype is fl.int64 and fl.jit(lambda x: fl.asarray(x, dtype=fl.float64))(0.1).item() == 0.1
    assert fl.jit(lambda a: fl.jit(lambda b: b)(a))(1.5).dtype is fl.float32


def test_static_arguments():
    @fl.jit(static_argnames=("n", "mode"))
    def f(x, n, mode="sum"):
        for _ in range(n):
            x = x * 2
        return x.sum() if mode == "sum" else x

    close(f(X, 2), np.asarray(X).sum() * 4)
    close(f(X, n=2, mode="all"), np.asarray(X) * 4)
    g = fl.jit(lambda x, n: x if n else -x, static_argnums=1)
    close(g(X, True), X)
    close(g(X, False), -np.asarray(X))
    close(g(X, 1.5), X)


def test_keys_tell_types_apart():
    f = fl.jit(lambda x, c: x + (10 if type(c) is bool else 20 if type(c) is int else 30), static_argnums=1)
    assert [f(0, c).item() for c in (True, 1, 1.0)] == [10, 20, 30]


def test_closed_over_arrays_are_inputs():
    big = fl.asarray(np.random.default_rng(0).normal(size=(256, 256)))
    f = fl.jit(lambda x: (big * x).sum())
    text = f.lower(2.0).stablehlo()
    assert len(text) < 10_000 and "256x256" in text
    close(f(2.0), np.asarray(big).sum() * 2)


def test_closed_over_traced_values():
    close(fl.grad(lambda w: fl.jit(lambda x: (w * x).sum())(X))(X * 2), X)
    close(fl.vmap(lambda w: fl.jit(lambda x: w * x)(2.0))(X), np.asarray(X) * 2)


def test_composes_with_everything():
    f = lambda x: (fl.sin(x) * x).sum()
    expected = np.cos(np.asarray(X)) * np.asarray(X) + np.sin(np.asarray(X))
    for g in (fl.jit(fl.grad(f)), fl.grad(fl.jit(f)), fl.jit(fl.grad(fl.jit(f))), fl.grad(fl.jit(fl.jit(f)))):
        close(g(X), expected)
    rows = fl.stack([X, X * 2])
    close(fl.vmap(fl.jit(fl.grad(f)))(rows), fl.jit(fl.vmap(fl.grad(fl.jit(f))))(rows))
    h = fl.hessian(f)(X)
    for g in (fl.jit(fl.hessian(f)), fl.hessian(fl.jit(f)), fl.jacfwd(fl.jit(fl.jacrev(fl.jit(f))))):
        close(g(X), h)


def test_donation():
    f = fl.jit(lambda state, x: state + x, donate_argnums=0)
    state = fl.asarray(np.ones(1000))
    out = f(state, 1.0)
    close(out, np.full(1000, 2.0))
    with pytest.raises(fl.errors.DonatedBufferError):
        state + 1
    with pytest.raises(ValueError, match="donated"):
        f(out, out)
    close(out, np.full(1000, 2.0))


def test_static_leaves_in_trees():
    f = fl.jit(lambda m: m["act"](m["w"]) if m["name"] == "a" else m["w"])
    close(f({"w": X, "act": fl.sin, "name": "a"}), np.sin(np.asarray(X)))
    close(f({"w": X, "act": fl.cos, "name": "a"}), np.cos(np.asarray(X)))
    close(f({"w": X, "act": fl.cos, "name": "b"}), X)


def test_outputs_of_any_kind():
    out = fl.jit(lambda x: {"x": x, "none": None, "name": "out", "number": 3})(X)
    assert out["none"] is None and out["name"] == "out" and out["number"].item() == 3
    assert fl.jit(lambda: (1.0, 2.0))()[1].item() == 2.0


def test_methods():
    class Model:
        def __init__(self, w):
            self.w = w

        @fl.jit(static_argnums=0)
        def __call__(self, x):
            return x * self.w

    close(Model(fl.asarray(2.0))(X), np.asarray(X) * 2)


def test_texts_and_memory():
    lowered = fl.jit(lambda x: fl.sin(x) * 2).lower(X)
    assert "sin" in str(lowered.graph) and "stablehlo" in lowered.stablehlo()
    compiled = lowered.compile()
    assert "HloModule" in compiled.hlo() and compiled.memory()["arguments"] >= 24
    close(compiled(X), np.sin(np.asarray(X)) * 2)
    with pytest.raises(TypeError, match="compiled for"):
        compiled(fl.ones(5))


def test_a_jitted_function_is_dropped_with_its_programs():
    import gc
    import weakref

    f = fl.jit(lambda x: x * 2)
    f(X)
    ref = weakref.ref(f)
    del f
    gc.collect()
    assert ref() is None

"""vmap: in_dims and out_dims as prefixes and by name, chunks, randomness, and what it composes with."""

import numpy as np
import pytest

import functorch_lite as fl


def close(a, b, rtol=1e-6):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=1e-9)


RNG = np.random.default_rng(1)
X = fl.asarray(RNG.normal(size=(4, 3)))
Y = fl.asarray(RNG.normal(size=(3, 4)))


def test_dims():
    f = lambda x, y: x * y.sum()
    expected = np.stack([np.asarray(X)[i] * np.asarray(Y)[:, i].sum() for i in range(4)])
    close(fl.vmap(f, in_dims=(0, 1))(X, Y), expected)
    close(fl.vmap(f, in_axes=(0, -1))(X, Y), expected)
    close(fl.vmap(f, in_dims=(0, 1), out_dims=1)(X, Y), expected.T)
    close(fl.vmap(f, in_dims=(0, 1), out_axes=-1)(X, Y), expected.T)
    close(fl.vmap(f, in_dims={"x": 0, "y": 1})(X, y=Y), expected)


def test_prefixes_and_unmapped():
    f = lambda p, x: {"a": p["w"] * x, "b": (p["b"],)}
    p = {"w": X, "b": fl.asarray(2.0)}
    out = fl.vmap(f, in_dims=({"w": 0, "b": None}, None), out_dims={"a": 1, "b": None})(p, 3.0)
    close(out["a"], np.asarray(X).T * 3)
    assert out["b"][0].shape == ()
    assert fl.vmap(f, in_dims=({"w": 0, "b": None}, None))(p, 3.0)["b"][0].shape == (4,)


@pytest.mark.parametrize("chunk", [1, 2, 3, 4, 9])
def test_chunks(chunk):
    f = lambda x: {"s": x.sum(), "x": x * 2}
    whole, parts = fl.vmap(f, out_dims={"s": 0, "x": 1})(X), fl.vmap(f, out_dims={"s": 0, "x": 1}, chunk_size=chunk)(X)
    close(whole["x"], parts["x"])
    close(whole["s"], parts["s"])


def test_nested_and_with_derivatives():
    f = lambda x, y: fl.sin(x * y).sum()
    outer = fl.vmap(lambda x: fl.vmap(lambda y: fl.grad(f)(x, y), in_dims=1)(Y))(X)
    expected = np.stack([[np.asarray(fl.grad(f)(X[i], Y[:, j])) for j in range(4)] for i in range(4)])
    close(outer, expected)
    g = fl.grad(lambda x: fl.vmap(lambda y: f(x, y), in_dims=1)(Y).sum())(X[0])
    close(g, expected[0].sum(0))
    close(fl.vmap(fl.hessian(lambda x: (x**3).sum()))(X), np.stack([np.diag(6 * row) for row in np.asarray(X)]))


def test_randomness():
    key = fl.random.key(0)
    draw = lambda x: fl.random.normal(key, (2,)) + x
    rows = fl.zeros(3)
    same = fl.vmap(draw, randomness="same")(rows)
    assert (same == same[0]).all().item()
    different = fl.vmap(draw, randomness="different")(rows)
    assert len(set(different.flatten().tolist())) == 6
    close(different, fl.vmap(draw, randomness="different")(rows))
    close(fl.vmap(draw)(rows), same)  # an explicit key hides nothing
    keys = fl.random.split(key, 3)
    close(fl.vmap(lambda k: fl.random.normal(k, (2,)))(keys), np.stack([np.asarray(fl.random.normal(k, (2,))) for k in keys]))


def test_different_randomness_reaches_into_bodies():
    key = fl.random.key(0)
    draw = lambda x: x + fl.random.uniform(key)
    bodies = {
        "scan": lambda x: fl.scan(lambda c, _: (draw(c), None), 0.0, None, length=2)[0] + x,
        "cond": lambda x: fl.cond(fl.asarray(True), draw, draw, 0.0) + x,
        "while": lambda x: fl.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, draw(c[1])), (0, 0.0))[1] + x,
        "jit": lambda x: fl.jit(lambda: draw(0.0))() + x,
        "grad": lambda x: fl.grad(lambda y: y * draw(0.0))(x) + 0 * x,
    }
    for name, f in bodies.items():
        assert len(set(fl.vmap(f, randomness="different")(fl.zeros(3)).tolist())) == 3, name
        assert len(set(fl.vmap(f, randomness="same")(fl.zeros(3)).tolist())) == 1, name


def test_a_row_selected_by_a_mapped_index():
    a, i = fl.asarray(np.arange(20.0).reshape(2, 10)), fl.asarray([3, 5])
    assert fl.vmap(lambda r, k: r[k])(a, i).tolist() == [3.0, 15.0]


def test_methods_keep_names_and_docs():
    def area(w, h):
        """w times h."""
        return w * h

    assert fl.vmap(area).__name__ == "area" and fl.vmap(area).__doc__ == "w times h."


def test_leaf_class_is_kept_inside():
    seen = []
    fl.vmap(lambda x: seen.append(isinstance(x, fl.Array)) or x)(X)
    fl.grad(lambda x: seen.append(isinstance(x, fl.Array)) or x.sum())(X)
    assert seen == [True, True]

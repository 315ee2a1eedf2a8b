"""make_fx: what becomes of arguments, constants and results; levels and tables; under and over the other transforms."""

import math

import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite import decomp, fx, prims
from functorch_lite.decomp import table

V = np.array([0.5, -1.0, 2.0], np.float32)
X = fl.asarray(V)


def ops(gm):
    return [n.target.name for n in gm.graph.nodes if n.op == "call_function" and hasattr(n.target, "namespace")]


def close(a, b, rtol=1e-6):
    a, b = fl.tree.leaves(a), fl.tree.leaves(b)
    assert len(a) == len(b)
    for x, y in zip(a, b):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=rtol, atol=1e-7)


# --------------------------------------------------------------------------------------- arguments, constants, results


def test_numbers_are_inputs_that_yield_in_promotion():
    gm = fl.make_fx(lambda x, n, k: (x * n, x + k, n + k))(X, 2.0, 3)
    for x in (X, fl.asarray(V.astype(np.float64))):
        for n, k in ((2.0, 3), (0.5, -1)):
            for a, e in zip(gm(x, n, k), (x * n, x + k, n + k)):
                assert np.asarray(a) == pytest.approx(np.asarray(e))
            assert gm(x, n, k)[0].dtype is x.dtype
    assert gm(X, fl.asarray(2.0), 3)[0].dtype is fl.float32


def test_strings_bools_none_and_functions_belong_to_the_program():
    def f(x, mode, negate, act, nothing):
        assert nothing is None
        y = getattr(fl, mode)(act(x))
        return -y if negate else y

    gm = fl.make_fx(f)(X, "sin", True, fl.cos, None)
    close(gm(X, "sin", True, fl.cos, None), -np.sin(np.cos(V)))
    for args in ((X, "cos", True, fl.cos, None), (X, "sin", False, fl.cos, None), (X, "sin", True, fl.sin, None)):
        with pytest.raises(ValueError, match=r"make_fx\(f\): (mode|negate|act) was .* is part of it"):
            gm(*args)
    with pytest.raises(ValueError, match="make_fx"):
        gm(X, "sin", True, fl.cos, X)


def test_arrays_of_other_libraries():
    import jax.numpy as jnp

    gm = fl.make_fx(lambda a, b, c: a + b * c)(V, jnp.asarray(V), np.float64(2))
    assert [n.aval.dtype for n in gm.graph.placeholders] == [fl.float32, fl.float32, fl.float64]
    close(gm(V, jnp.asarray(V), np.float64(2)), V + V * 2)
    close(fl.make_fx(lambda x: (V, x))(X)(X), (V, V))


def test_results_that_are_no_arrays_of_the_trace():
    out = fl.make_fx(lambda x: {"x": x, "n": 3, "s": "text", "none": None, "c": fl.asarray(1.0)})(X)(X)
    assert out["x"] is X and out["n"] == 3 and out["s"] == "text" and out["none"] is None and out["c"].item() == 1.0


def test_names_of_arguments():
    def f(a, *rest, key, **more):
        return a

    gm = fl.make_fx(f)(X, X, {"k": X}, key=X, other=X)
    assert [n.name for n in gm.graph.placeholders] == ["a", "rest_0", "rest_1_k", "key", "other"]
    gm = fl.make_fx(lambda *xs: xs[0] + xs[1])(X, X)
    close(gm(X, X), 2 * V)
    close(fl.make_fx(math.prod)([X, X])([X, X]), V * V)


def test_dead_code_and_dead_constants_are_left_out():
    w = fl.asarray([1.0, 2.0, 3.0])
    gm = fl.make_fx(lambda x: (fl.sin(x * w), fl.cos(x))[1])(X)
    assert ops(gm) == ["cos"] and gm.constants == {}


def test_ops_on_constants_are_recorded():
    w = fl.asarray(2.0)
    assert ops(fl.make_fx(lambda x: x + fl.exp(w))(X)) == ["exp", "add"]


def test_branches_and_leaks_raise():
    with pytest.raises(fl.errors.ConcretizationError, match=r"make_fx\(<lambda>\)"):
        fl.make_fx(lambda x: x if x.sum() > 0 else -x)(X)
    kept = []
    fl.make_fx(lambda x: kept.append(fl.sin(x)) or x)(X)
    with pytest.raises(fl.errors.LeakedValueError, match="make_fx"):
        fl.sin(kept[0])
    with fl.checking_leaks(), pytest.raises(fl.errors.LeakedValueError, match="make_fx"):
        fl.make_fx(lambda x: kept.append(fl.sin(x)) or x)(X)
    with fl.checking_leaks():
        close(fl.make_fx(lambda x: fl.sin(x))(X)(X), np.sin(V))
    with pytest.raises(TypeError, match="make_fx"):
        fl.make_fx(X)


# ---------------------------------------------------------------------------------------------------- levels and tables


def model(p, x):
    h = fl.tanh(x @ p["w"] + p["b"])
    return (fl.softmax(h, dim=-1) * h).sum()


P = {"w": fl.asarray(np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)), "b": fl.asarray(np.linspace(0, 1, 4, dtype=np.float32))}
B = fl.asarray(np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3))


def test_the_op_level_keeps_what_the_user_called():
    gm = fl.make_fx(model)(P, B)
    assert ops(gm) == ["matmul", "add", "tanh", "softmax", "mul", "sum"] and gm.graph.nodes[-2].target is fl.sum.op


def test_the_prim_level_has_prims_only():
    gm = fl.make_fx(model, prims=True)(P, B)
    assert {n.target.namespace for n in gm.graph.nodes if n.op == "call_function"} == {"prims"}
    assert all(n.target.decompose is None for n in gm.graph.nodes if n.op == "call_function")
    close(gm(P, B), model(P, B))
    assert fl.make_fx(model, decomp.core_prims)(P, B).code == gm.code


def test_compiled_functions_are_one_call_or_inlined():
    inner = fl.jit(lambda x: fl.jit(fl.sin)(x) * 2)
    gm = fl.make_fx(lambda x: inner(x) + 1)(X)
    assert ops(gm) == ["call", "add"]
    flat = fl.make_fx(lambda x: inner(x) + 1, prims=True)(X)
    assert "call" not in ops(flat) and "sin" in ops(flat)
    close(gm(X), flat(X))


def test_bodies_are_lowered_too():
    def f(x):
        def step(c, r):
            return fl.cond(r > 0, lambda r: c + fl.softmax(x, 0).sum() * r, lambda r: c, r), fl.jit(fl.tanh)(r)

        return fl.scan(step, 0.0, x)

    def targets(graph, seen):
        for n in graph.nodes:
            if n.op == "call_function" and hasattr(n.target, "namespace"):
                seen.append(n.target)
                for p in n.params:
                    for body in p if isinstance(p, tuple) else [p]:
                        if hasattr(body, "graph"):
                            targets(body.graph, seen)
        return seen

    low, high = fl.make_fx(f, prims=True)(X), fl.make_fx(f)(X)
    assert all(op.decompose is None for op in targets(low.graph, []))
    assert any(op is fl.softmax.op for op in targets(high.graph, []))
    close(low(X), f(X))
    close(fl.grad(lambda x: low(x)[0])(X), fl.grad(lambda x: f(x)[0])(X), rtol=1e-5)


def test_a_table_replaces_ops():
    def tanh(input):
        e = fl.exp(input * -2)
        return (1 - e) / (1 + e)

    gm = fl.make_fx(model, {fl.tanh: tanh})(P, B)
    assert "tanh" not in ops(gm) and "softmax" in ops(gm) and "exp" in ops(gm)
    close(gm(P, B), model(P, B), rtol=1e-5)
    for key in (fl.tanh.op, "fl.tanh"):
        assert fl.make_fx(model, {key: tanh})(P, B).code == gm.code
    low = fl.make_fx(model, {fl.tanh: tanh}, prims=True)(P, B)
    assert "tanh" not in ops(low)
    close(low(P, B), model(P, B), rtol=1e-5)


def test_a_table_gets_the_arguments_as_the_user_gave_them():
    seen = []

    def softmax(input, dim, dtype=None):
        seen.append((dim, dtype))
        return fl.exp(input - fl.logsumexp(input, dim, keepdim=True))

    def sort(operands, dim, keys, descending):
        seen.append((len(operands), dim, keys, descending))
        return [x * 1 for x in operands]

    gm = fl.make_fx(lambda x: fl.softmax(prims.sort([x, x], 0, 1)[1], 0), {fl.softmax: softmax, prims.sort: sort})(X)
    assert seen == [(2, 0, 1, False), (0, None)] and "sort" not in ops(gm)
    close(gm(X), np.exp(V) / np.exp(V).sum(), rtol=1e-5)


def test_tables_that_are_none():
    with pytest.raises(TypeError, match="a decomposition table maps ops to functions"):
        fl.make_fx(model, [fl.tanh])
    with pytest.raises(TypeError, match="expected ops"):
        fl.make_fx(model, {"fl.no_such_op": len})


def test_registering_decompositions():
    try:

        @decomp.register_decomposition([fl.tanh, "fl.cos"])
        def other(input):
            return fl.sin(input)

        with pytest.raises(ValueError, match=r"fl.cos has a registered decomposition already: .*other"):
            decomp.register_decomposition(fl.cos)(lambda x: x)
        assert decomp.decompositions([fl.tanh, fl.softmax]) == {fl.tanh.op: other, fl.softmax.op: fl.softmax.op.decompose}
        gm = fl.make_fx(lambda x: fl.tanh(x) + fl.softmax(x, 0), decomp.decompositions(["fl.tanh"]))(X)
        assert ops(gm) == ["sin", "softmax", "add"]
        assert "tanh" not in ops(fl.make_fx(lambda x: fl.tanh(x), prims=True)(X))
        close(fl.tanh(X), np.tanh(V))  # calls go by the op's own definition as before
    finally:
        for op in (fl.tanh.op, fl.cos.op):
            table._TABLE.pop(op, None)
    with pytest.raises(ValueError, match=r"prims.add have none"):
        decomp.decompositions(prims.add)


# ------------------------------------------------------------------------------------------- under and over transforms

TRANSFORMED = {
    "grad": lambda f: fl.grad(f),
    "value_and_grad": lambda f: fl.value_and_grad(f),
    "jvp": lambda f: lambda p, x: fl.jvp(lambda p: f(p, x), (p,), (p,)),
    "vjp": lambda f: lambda p, x: fl.vjp(f, p, x)[1](fl.asarray(2.0)),
    "vmap": lambda f: fl.vmap(f, in_dims=(None, 0)),
    "per sample": lambda f: fl.vmap(fl.grad(f), in_dims=(None, 0)),
    "jit": lambda f: fl.jit(f),
    "grad of jit": lambda f: fl.grad(fl.jit(f)),
    "jit of grad": lambda f: fl.jit(fl.grad(f)),
    "forward over reverse": lambda f: lambda p, x: fl.jvp(fl.grad(lambda p: f(p, x)), (p,), (p,))[1],
    "checkpoint": lambda f: fl.grad(fl.checkpoint(f)),
}


@pytest.mark.parametrize("level", ["op", "prim"])
@pytest.mark.parametrize("transform", TRANSFORMED.values(), ids=TRANSFORMED)
def test_transforms_inside(transform, level):
    f = transform(model)
    gm = fl.make_fx(f, prims=level == "prim")(P, B)
    gm.graph.lint()
    close(gm(P, B), f(P, B), rtol=1e-5)
    close(gm.forward(P, B), f(P, B), rtol=1e-5)
    q = fl.tree.map(lambda x: x * 0.5, P)
    close(gm(q, B), f(q, B), rtol=1e-5)


@pytest.mark.parametrize("level", ["op", "prim"])
@pytest.mark.parametrize("transform", TRANSFORMED.values(), ids=TRANSFORMED)
def test_transforms_outside(transform, level):
    once = fl.make_fx(model, prims=level == "prim")

    def here(p, x):
        return once(p, x)(p, x)  # traced under the transform

    close(transform(here)(P, B), transform(model)(P, B), rtol=1e-5)
    shaped = once(P, B[0]) if transform in (TRANSFORMED["vmap"], TRANSFORMED["per sample"]) else once(P, B)
    close(transform(shaped)(P, B), transform(model)(P, B), rtol=1e-5)


def test_make_fx_inside_make_fx():
    gm = fl.make_fx(lambda x: fl.make_fx(lambda y: fl.sin(y) * x)(x)(x))(X)
    assert ops(gm) == ["sin", "mul"]
    close(gm(X), np.sin(V) * V)


def test_constants_of_outer_transforms():
    gm_of = lambda x: fl.make_fx(lambda y: y * x)(x)  # noqa: E731
    assert fl.grad(lambda x: gm_of(x)(x))(3.0).item() == 6.0
    close(fl.vmap(lambda x: gm_of(x)(x))(X), V * V)


def test_a_linear_function_with_its_own_transpose():
    @fl.custom_vjp
    def twice(x):
        return fl.sin(x) * 2

    twice.defvjp(lambda x: (fl.sin(x) * 2, x), lambda x, ct: (fl.cos(x) * ct * 2,))
    _, push = fl.linearize(lambda x: twice(x) * x, X)
    expected = 2 * np.cos(V) * V + 2 * np.sin(V)
    for level in (False, True):
        pull = fl.make_fx(lambda ct: fl.vjp(lambda x: twice(x) * x, X)[1](ct)[0], prims=level)(X)
        close(pull(fl.asarray(np.ones(3, np.float32))), expected, rtol=1e-5)
    softmax_push = fl.linearize(lambda x: fl.softmax(x, 0), X)[1]
    gm = fl.make_fx(softmax_push)(X)
    close(gm(X), softmax_push(X), rtol=1e-5)
    close(gm.forward(X), softmax_push(X), rtol=1e-5)
    close(fl.make_fx(softmax_push, prims=True)(X)(X), softmax_push(X), rtol=1e-5)


def test_passes_apply_to_gradients():
    gm = fl.make_fx(fl.grad(model), prims=True)(P, B)
    expected, size = gm(P, B), len(gm.graph.nodes)
    fx.common_subexpressions(gm)
    fx.fold_constants(gm)
    gm.graph.lint()
    assert len(gm.graph.nodes) < size
    close(gm(P, B), expected, rtol=1e-5)


def test_a_program_that_draws_draws_anew_each_time_it_runs():
    import pickle

    import functorch_lite.torch as torch
    from functorch_lite.nn import functional as F
    from functorch_lite.nn import generator

    x = torch.ones(64)
    f = lambda x: F.dropout(x, 0.5) * torch.rand(64)

    def drawn(f):
        generator.manual_seed(5)
        return [f(x).tolist() for _ in range(2)]

    expected = drawn(f)
    assert expected[0] != expected[1]
    program = fl.make_fx(f)(x)
    for same in (program, program.forward, fl.jit(program), pickle.loads(pickle.dumps(program)), fl.make_fx(f, prims=True)(x)):
        assert drawn(same) == expected
    seeded = fl.make_fx(lambda x: (generator.manual_seed(7), F.dropout(x))[1])(x)
    assert seeded(x).tolist() == seeded(x).tolist()
    alone = fl.make_fx(lambda: torch.randn(3))()
    assert alone().tolist() != alone().tolist()

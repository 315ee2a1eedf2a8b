"""symbolic_trace and wrap; Interpreter and Transformer."""

import math
import operator

import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite import fx, prims
from functorch_lite.errors import ConcretizationError, LeakedValueError, TraceError

V = np.array([0.5, -1.0, 2.0], np.float32)
X = fl.asarray(V)


def ops(gm):
    return [n.target.name for n in gm.graph.nodes if n.op == "call_function" and n.target is not operator.getitem]


# ----------------------------------------------------------------------------------------------------- symbolic_trace


def test_records_ops_without_shapes():
    def f(x, y, scale=2.0):
        return {"a": fl.sin(x) * scale, "b": [y @ y, None, 7]}

    gm = fx.symbolic_trace(f)
    gm.graph.lint()
    assert ops(gm) == ["sin", "mul", "matmul"] and all(n.aval is None for n in gm.graph.nodes)
    for shape in ((2, 2), (3, 3)):
        y = fl.asarray(np.ones(shape, np.float32))
        out = gm(X, y)
        np.testing.assert_allclose(out["a"], np.sin(V) * 2, rtol=1e-6)
        np.testing.assert_allclose(out["b"][0], np.full(shape, shape[0]))
        assert out["b"][1:] == [None, 7]
    np.testing.assert_allclose(gm(X, y, scale=3.0)["a"], np.sin(V) * 3, rtol=1e-6)
    assert gm.code.startswith("def forward(self, x, y, scale):")
    np.testing.assert_allclose(gm.forward(X, y, 3.0)["a"], np.sin(V) * 3, rtol=1e-6)


def test_transforms_apply_to_what_was_traced():
    gm = fx.symbolic_trace(lambda x: fl.sin(x) * x)
    np.testing.assert_allclose(fl.grad(gm)(0.5).item(), math.sin(0.5) + 0.5 * math.cos(0.5), rtol=1e-6)
    np.testing.assert_allclose(fl.vmap(gm)(X), np.sin(V) * V, rtol=1e-6)
    np.testing.assert_allclose(fl.jit(gm)(X), np.sin(V) * V, rtol=1e-6)


def test_constants_are_captured_once():
    w = fl.asarray(3.0)
    gm = fx.symbolic_trace(lambda x: x * w + w)
    assert list(gm.constants.values()) == [w] and gm(1.0).item() == 6.0


def test_concrete_args_are_fixed():
    def f(x, flag, dims=(0,), mode="sin"):
        y = getattr(fl, mode)(x)
        return prims.reduce.reduce_sum(y, dims) if flag else y

    gm = fx.symbolic_trace(f, concrete_args={"flag": True})
    np.testing.assert_allclose(gm(X), np.sin(V).sum(), rtol=1e-6)
    np.testing.assert_allclose(gm.forward(X), np.sin(V).sum(), rtol=1e-6)
    with pytest.raises(ValueError, match=r"symbolic_trace\(f\): flag was True when the program was traced and is part of it, got False"):
        gm(X, False)
    with pytest.raises(ValueError, match="mode was 'sin'"):
        gm(X, mode="cos")
    assert ops(fx.symbolic_trace(f, {"flag": False, "mode": "cos"})) == ["cos"]
    with pytest.raises(ValueError, match=r"concrete_args names \['flags'\]"):
        fx.symbolic_trace(f, {"flags": True})


def test_trees_of_placeholders():
    gm = fx.symbolic_trace(lambda p, x: p["w"] * x + p["b"][0], {"p": {"w": fx.PH, "b": (fx.PH, "name")}})
    assert [n.name for n in gm.graph.placeholders] == ["p_w", "p_b_0", "x"]
    np.testing.assert_allclose(gm({"w": X, "b": (1.0, "name")}, X), V * V + 1, rtol=1e-6)
    with pytest.raises(ValueError, match=r"p\['b'\]\[1\] was 'name'"):
        gm({"w": X, "b": (1.0, "other")}, X)


def test_what_needs_a_shape_or_a_number_says_so():
    here = __file__.rpartition("/")[2]
    for ask, what in {
        "shape": (lambda x: x.shape, "the shape"),
        "dtype": (lambda x: x.dtype, "the dtype"),
        "ndim": (lambda x: x.ndim, "the number of dimensions|the shape"),
        "inner": (lambda x: fl.sin(x).shape, "the shape"),
        "iteration": (lambda x: list(x), "the shape"),
    }.values():
        with pytest.raises(TraceError, match=rf"{what} of a value inside symbolic_trace\(<lambda>\).*{here}:\d+.*make_fx"):
            fx.symbolic_trace(ask)
    for ask in (lambda x: x if x > 0 else -x, float, int, lambda x: np.asarray(x)):
        with pytest.raises(ConcretizationError, match="concrete_args"):
            fx.symbolic_trace(lambda x, ask=ask: ask(x))
    with pytest.raises(TypeError, match=r"\*xs has no fixed number of values"):
        fx.symbolic_trace(lambda *xs: xs[0])
    with pytest.raises(TypeError, match="expected a function"):
        fx.symbolic_trace(3)


def test_a_value_kept_after_tracing_says_so():
    kept = []
    fx.symbolic_trace(lambda x: kept.append(fl.sin(x)) or x)
    with pytest.raises(LeakedValueError, match="symbolic_trace"):
        fl.sin(kept[0])
    with pytest.raises(LeakedValueError, match="symbolic_trace"):
        float(kept[0])


def test_ops_with_several_results():
    def f(x):
        a, b = prims.sort([x, fl.cos(x)], 0, 1)
        out = prims.sort([a, b], 0, 1)
        return out[1], out[0] + a

    gm = fx.symbolic_trace(f)
    expected = f(X)
    for a, b in zip(gm(X), expected):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    np.testing.assert_array_equal(np.asarray(fx.symbolic_trace(lambda x: prims.sort([x, x], 0, 1))(X)[0]), np.sort(V))
    with pytest.raises(TraceError, match="index them"):
        fx.symbolic_trace(lambda x: list(prims.sort([x, x], 0, 1)))


def test_shapes_are_known_where_nothing_unknown_is_involved():
    gm = fx.symbolic_trace(lambda x: x * prims.iota((3,), 0, fl.float32))
    assert [n.aval and n.aval.shape for n in gm.graph.nodes[:-1]] == [None, (3,), None]


def test_what_asks_for_a_shape_stays_one_call_where_python_or_a_method_makes_it():
    def f(x):
        return x[0, 1:, None, ...], x[..., ::2], x.T, x.mT.to(fl.float64).sum(0), ~(x > 0), 2**x, x.to(dtype=fl.int32) // 2, divmod(x, 2)[1]

    gm = fx.symbolic_trace(f)
    gm.graph.lint()
    x = fl.asarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    for run in (gm, gm.forward, fx.Interpreter(gm).run, fx.Transformer(gm).transform()):
        check(run(x), f(x))
    for text in ("= x[0, 1:, None, ...]", "= x[..., ::2]", "= x.T", ".to(fl.float64)", "= ~gt", ".to(dtype=fl.int32)"):
        assert text in gm.code, text
    (node,) = [n for n in gm.graph.find_nodes(op="call_method", target="to") if not n.kwargs]
    assert node.all_input_nodes == [node.prev] and "call_method[target=to](args = (%" in node.format_node()
    known = fx.Transformer(fl.make_fx(f)(x)).transform()
    assert all(n.aval is not None for n in known.graph.nodes if n.op != "output")


def test_python_operators_are_printed_with_parentheses_where_they_need_them():
    g = fx.Graph()
    x = g.placeholder("x")
    g.output(g.call_function(operator.pow, (-2.0, g.call_function(operator.neg, (x,)))))
    gm = fx.GraphModule({}, g)
    assert "(-2.0) ** neg" in gm.code
    np.testing.assert_allclose(gm.forward(fl.asarray(-2.0)), 4.0)


def test_methods_in_graphs_built_by_hand():
    g = fx.Graph()
    x = g.placeholder("x")
    g.output(g.call_method("reshape", (x, (3, 1))))
    g.lint()
    gm = fx.GraphModule({}, g)
    assert gm(X).shape == gm.forward(X).shape == (3, 1) and "x.reshape((3, 1))" in gm.code
    fx.Interpreter(gm).run(X)


def test_wrapped_functions_are_leaves():
    @fx.wrap
    def rows(x, *, scale):
        return x * float(x.shape[0]) * scale["by"]

    ends = fx.wrap(lambda x: (x[0], x[-1]), multi=True)

    def f(x):
        first, last = ends(x)
        return rows(x, scale={"by": first}) + last

    gm = fx.symbolic_trace(f)
    gm.graph.lint()
    np.testing.assert_allclose(gm(X), V * 3 * V[0] + V[-1], rtol=1e-6)
    np.testing.assert_allclose(gm.forward(X), gm(X), rtol=1e-6)
    np.testing.assert_allclose(f(X), gm(X), rtol=1e-6)
    assert rows.__name__ == "rows" and "self._function" in gm.code
    with pytest.raises(TypeError, match="decorate its definition"):
        fx.wrap("rows")


def test_nested_symbolic_traces():
    outer = fx.symbolic_trace(lambda x: fx.symbolic_trace(lambda y: fl.sin(y) * x)(x))
    np.testing.assert_allclose(outer(X), np.sin(V) * V, rtol=1e-6)


# ---------------------------------------------------------------------------------------- Interpreter and Transformer


def program(p, n):
    w = fl.asarray([1.0, 2.0, 3.0])
    carry, ys = fl.scan(lambda c, r: (c + r, c * n), 0.0, fl.tanh(p["x"]) * w)
    return {"c": carry, "y": (ys, prims.concatenate([ys, p["x"]], 0))}


def check(a, b):
    assert fl.tree.structure(a) == fl.tree.structure(b)
    for x, y in zip(fl.tree.leaves(a), fl.tree.leaves(b)):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-6)


def test_an_interpreter_gives_what_the_module_gives():
    gm = fl.make_fx(program)({"x": X}, 2.0)
    check(fx.Interpreter(gm).run({"x": X}, 3.0), gm({"x": X}, 3.0))
    flat = fx.Interpreter(gm).run(X, fl.asarray(3.0), enable_io_processing=False)
    check(list(flat), fl.tree.leaves(gm({"x": X}, 3.0)))


def test_an_interpreter_sees_each_step_and_frees_values():
    class Watch(fx.Interpreter):
        def run_node(self, node):
            seen.append((node.op, node.name, sorted(n.name for n in self.env)))
            return super().run_node(node)

        def call_function(self, target, args, kwargs):
            assert callable(target) and not isinstance(target, str)
            calls.append((target, args, kwargs))
            return super().call_function(target, args, kwargs)

    seen, calls = [], []
    gm = fl.make_fx(lambda x: fl.softmax(prims.concatenate([fl.sin(x), x], 0), dim=0))(X)
    check(Watch(gm).run(X), gm(X))
    assert [n for _, n, _ in seen] == ["x", "sin", "concatenate", "softmax", "output"]
    assert seen[3][2] == ["concatenate"]  # x and sin are freed
    assert calls[0][0] is fl.sin and len(calls[1][1][0]) == 2 and calls[1][2] == {"dim": 0} and calls[2][2] == {"dim": 0, "dtype": None}
    seen.clear()
    Watch(gm, garbage_collect_values=False).run(X)
    assert seen[3][2] == ["concatenate", "sin", "x"]


def test_an_interpreter_starts_from_known_values():
    gm = fx.symbolic_trace(lambda x: fl.cos(fl.sin(x)))
    (sin,) = gm.graph.find_nodes(op="call_function", target=fl.sin)
    check(fx.Interpreter(gm).run(X, initial_env={sin: X}), fl.cos(X))


def test_errors_say_at_which_node():
    gm = fx.symbolic_trace(lambda x, y: fl.matmul(x, y))
    with pytest.raises(RuntimeError) as caught:
        fx.Interpreter(gm).run(fl.asarray(np.ones((2, 3))), fl.asarray(np.ones((2, 3))))
    assert any("while running %matmul" in note and "test_fx_symbolic.py" in note for note in caught.value.__notes__)


class CosForSin(fx.Transformer):
    def call_function(self, target, args, kwargs):
        if target is fl.sin:
            return fl.cos(*args) * 2
        return super().call_function(target, args, kwargs)


def test_a_transformer_makes_a_new_module():
    w = fl.asarray([1.0, 2.0, 3.0])
    gm = fl.make_fx(lambda p: {"out": fl.sin(p["x"]) * w})({"x": X})
    new = CosForSin(gm).transform()
    new.graph.lint()
    np.testing.assert_allclose(new({"x": X})["out"], np.cos(V) * 2 * np.asarray(w), rtol=1e-6)
    assert ops(gm) == ["sin", "mul"] and ops(new) == ["cos", "mul", "mul"]
    assert new.graph.find_nodes(op="call_function", target=fl.cos)[0].aval is X.aval and list(new.constants) == list(gm.constants)


@pytest.mark.parametrize("traced", [lambda f, *a: fl.make_fx(f)(*a), lambda f, *a: fl.make_fx(f, prims=True)(*a)], ids=["op", "prim"])
def test_a_transformer_that_changes_nothing(traced):
    gm = traced(program, {"x": X}, 2.0)
    new = fx.Transformer(gm).transform()
    assert new.code == gm.code
    check(new({"x": X}, 3.0), gm({"x": X}, 3.0))


def test_a_transformer_keeps_python_calls():
    ends = fx.wrap(lambda x: (x[0], x[-1]), multi=True)

    def f(x):
        a, b = ends(fl.sin(x))
        return a - b

    new = CosForSin(fx.symbolic_trace(f)).transform()
    np.testing.assert_allclose(new(X), 2 * np.cos(V[0]) - 2 * np.cos(V[-1]), rtol=1e-5)

"""Dead code, common subexpressions, constant folding, replace_pattern."""

import operator

import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite import fx, prims

V = np.array([0.5, -1.0, 2.0], np.float32)
X = fl.asarray(V)
W = fl.asarray([1.0, 2.0, 3.0])


def ops(gm):
    return [n.target.name for n in gm.graph.nodes if n.op == "call_function" and n.target is not operator.getitem]


def unchanged(gm, apply, *args):
    """Applies a pass, which must not change what the program computes; what the pass returned."""
    before = gm(*args)
    out = apply(gm)
    gm.graph.lint()
    for a, b in zip(fl.tree.leaves(before), fl.tree.leaves(gm(*args))):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5)
    for a, b in zip(fl.tree.leaves(before), fl.tree.leaves(gm.forward(*args))):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5)
    return out


def test_dead_code_and_its_constants_go():
    gm = fx.symbolic_trace(lambda x: (fl.sin(x * W), fl.cos(x))[1])
    assert unchanged(gm, fx.eliminate_dead_code, X) and ops(gm) == ["cos"] and gm.constants == {} and not hasattr(gm, "_constant0")
    assert not fx.eliminate_dead_code(gm)


def test_common_subexpressions():
    def f(x):
        a, b = fl.sin(x) * 2, fl.sin(x) * 2
        return (
            a + b,
            fl.sin(x) * 2.0,
            prims.full((3,), 0.0, fl.float32),
            prims.full((3,), -0.0, fl.float32),
            prims.full((3,), 0.0, fl.float32),
        )

    gm = fl.make_fx(f)(X)
    assert unchanged(gm, fx.common_subexpressions, X)
    assert ops(gm) == ["sin", "mul", "add", "mul", "full", "full"]  # 2 and 2.0 differ, 0.0 and -0.0 too
    assert np.signbit(np.asarray(gm(X)[3])).all() and not fx.common_subexpressions(gm)


def test_common_subexpressions_with_several_results_and_bodies():
    zero = fl.asarray(0.0)

    def f(x):
        a, b = prims.sort([x, x], 0, 1), prims.sort([x, x], 0, 1)
        c, d = (fl.scan(lambda c, r: (c + r, c), zero, x)[0] for _ in range(2))
        return a[1] + b[1], c + d

    gm = fl.make_fx(f)(X)
    assert unchanged(gm, fx.common_subexpressions, X)
    assert ops(gm).count("sort") == 1 and ops(gm).count("scan") == 1


def test_effects_and_python_functions_are_not_merged():
    calls = []
    leaf = fx.wrap(lambda x: calls.append(1) or x)
    gm = fx.symbolic_trace(lambda x: leaf(x) + leaf(x))
    assert not fx.common_subexpressions(gm)
    gm(X)
    assert len(calls) == 2
    gm = fl.make_fx(lambda x: (fl.debug.print("{}", x), fl.debug.print("{}", x), x)[2])(X)
    assert not fx.common_subexpressions(gm) and ops(gm) == ["host_effect"] * 2


def test_constants_are_folded():
    gm = fl.make_fx(lambda x: x * fl.exp(W * 2) + fl.sin(fl.exp(W * 2)) + prims.full((3,), 1.0, fl.float32))(X)
    assert unchanged(gm, fx.fold_constants, X)
    assert ops(gm) == ["mul", "add", "full", "add"] and len(gm.constants) == 2
    assert not fx.fold_constants(gm)


def test_folding_leaves_what_depends_on_inputs_or_has_effects():
    gm = fl.make_fx(lambda x: (fl.debug.print("{}", W), x * W)[1])(X)
    assert not fx.fold_constants(gm) and ops(gm) == ["host_effect", "mul"]


def test_a_folded_result():
    gm = fl.make_fx(lambda x: (fl.exp(W), x))(X)
    assert unchanged(gm, fx.fold_constants, X) and ops(gm) == []


# ---------------------------------------------------------------------------------------------------- replace_pattern


def test_replaces_each_place():
    gm = fx.symbolic_trace(lambda x, y: fl.sin(x) * fl.sin(y) + fl.sin(x + y) * fl.sin(x))
    matches = fx.replace_pattern(gm, lambda a, b: fl.sin(a) * fl.sin(b), lambda a, b: fl.cos(a - b) - fl.cos(a) * fl.cos(b))
    gm.graph.lint()
    assert len(matches) == 2 and "sin" not in ops(gm)
    x, y = V, V[::-1].copy()
    np.testing.assert_allclose(gm(x, y), np.sin(x) * np.sin(y) + np.sin(x + y) * np.sin(x), rtol=1e-4, atol=1e-6)
    assert isinstance(matches[0], fx.Match) and matches[0].anchor.graph is None


def test_avals_of_replacements_are_known_where_their_inputs_are():
    gm = fl.make_fx(lambda x: fl.exp(fl.sin(x)))(X)
    assert len(unchanged(gm, lambda gm: fx.replace_pattern(gm, lambda a: fl.exp(a), lambda a: fl.exp(a * 0.5) * fl.exp(a * 0.5)), X)) == 1
    assert all(n.aval is X.aval for n in gm.graph.nodes if n.op == "call_function")


def test_one_match_takes_the_results_of_another():
    gm = fx.symbolic_trace(lambda x: fl.exp(fl.exp(fl.exp(x))))
    assert len(fx.replace_pattern(gm, lambda a: fl.exp(a), lambda a: fl.neg(a))) == 3 and ops(gm) == ["neg"] * 3
    gm = fx.symbolic_trace(lambda x: fl.neg(fl.neg(fl.neg(fl.neg(fl.sin(x))))))
    assert len(fx.replace_pattern(gm, lambda a: fl.neg(fl.neg(a)), lambda a: a)) == 2 and ops(gm) == ["sin"]


def test_what_must_be_equal():
    def count(f, pattern, **options):
        return len(fx.replace_pattern(fx.symbolic_trace(f), pattern, lambda a, b=None: fl.tanh(a), **options))

    assert count(lambda x: fl.softmax(x, 0), lambda a: fl.softmax(a, 0)) == 1
    assert count(lambda x: fl.softmax(x, 1), lambda a: fl.softmax(a, 0)) == 0
    assert count(lambda x: x * 2.0, lambda a: a * 2.0) == 1
    assert count(lambda x: x * 2, lambda a: a * 2.0) == 0
    assert count(lambda x: x * 3, lambda a: a * 2.0, ignore_literals=True) == 1
    assert count(lambda x, y: fl.sin(x) * fl.sin(y), lambda a: fl.sin(a) * fl.sin(a)) == 0
    assert count(lambda x: fl.sin(x) * fl.sin(x), lambda a: fl.sin(a) * fl.sin(a)) == 1


def test_inner_values_must_not_be_used_elsewhere():
    gm = fx.symbolic_trace(lambda x: (fl.exp(fl.sin(x)), fl.sin(x)))
    fx.common_subexpressions(gm)
    assert fx.replace_pattern(gm, lambda a: fl.exp(fl.sin(a)), lambda a: fl.cos(a)) == []
    assert len(fx.replace_pattern(gm, lambda a: (lambda s: (fl.exp(s), s))(fl.sin(a)), lambda a: (fl.cos(a), fl.sin(a)))) == 1
    gm.graph.lint()
    np.testing.assert_allclose(gm(X)[0], np.cos(V), rtol=1e-6)


def test_patterns_with_several_results():
    gm = fx.symbolic_trace(lambda x, y: (fl.exp(fl.sin(x)) + 1, fl.tanh(y) * 2, fl.cos(x)))
    pattern, replacement = (lambda a, b: (fl.sin(a), fl.tanh(b))), (lambda a, b: (fl.cos(a), fl.cos(a) + b))
    assert len(fx.replace_pattern(gm, pattern, replacement)) == 1
    gm.graph.lint()
    out = gm(X, X)
    np.testing.assert_allclose(out[0], np.exp(np.cos(V)) + 1, rtol=1e-5)
    np.testing.assert_allclose(out[1], (np.cos(V) + V) * 2, rtol=1e-5)


def test_results_that_depend_on_one_another_elsewhere():
    gm = fx.symbolic_trace(lambda x: fl.tanh(fl.exp(fl.sin(x))))
    with pytest.raises(RuntimeError, match="give a pattern with one result"):
        fx.replace_pattern(gm, lambda a, b: (fl.sin(a), fl.tanh(b)), lambda a, b: (fl.cos(b), fl.cos(a)))


def test_filters_turn_matches_down():
    gm = fx.symbolic_trace(lambda x: fl.sin(x) + fl.sin(x * 2))
    only = lambda match: match.anchor.args[0].op == "placeholder"  # noqa: E731
    assert len(fx.replace_pattern(gm, lambda a: fl.sin(a), lambda a: fl.cos(a), match_filters=(only,))) == 1
    assert ops(gm) == ["cos", "mul", "sin", "add"]


def test_graphs_as_patterns():
    g = fx.Graph()
    a = g.placeholder("a")
    g.output(g.call_function(fl.sin, (a,)))
    gm = fx.symbolic_trace(lambda x: fl.sin(x))
    assert len(fx.replace_pattern(gm, g, fx.symbolic_trace(lambda a: fl.cos(a)))) == 1 and ops(gm) == ["cos"]


def test_bad_patterns_say_what_is_wrong():
    gm = fx.symbolic_trace(lambda x: fl.sin(x))
    with pytest.raises(ValueError, match="must take as many arrays, got 1 and 2"):
        fx.replace_pattern(gm, lambda a: fl.sin(a), lambda a, b: fl.sin(a))
    with pytest.raises(ValueError, match="must give as many results, got 1 and 2"):
        fx.replace_pattern(gm, lambda a: fl.sin(a), lambda a: (fl.sin(a), a))
    with pytest.raises(ValueError, match="must be computed by an op"):
        fx.replace_pattern(gm, lambda a: a, lambda a: fl.sin(a))
    with pytest.raises(ValueError, match="may not close over Arrays"):
        fx.replace_pattern(gm, lambda a: a * W, lambda a: fl.sin(a))

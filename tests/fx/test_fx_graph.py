"""Graph and Node: building, editing, naming, users, lint, and how they look."""

import copy
import operator
import pickle

import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite import fx, prims

V = np.array([0.5, -1.0, 2.0], np.float32)
X = fl.asarray(V)


def chain():
    """x -> sin -> mul(sin, y) -> output."""
    g = fx.Graph()
    x, y = g.placeholder("x", X.aval), g.placeholder("y", X.aval)
    a = g.call_function(fl.sin, (x,))
    b = g.call_function(fl.mul, (a, y))
    g.output(b)
    return g, x, y, a, b


def run(graph, *args):
    return np.asarray(fx.GraphModule({}, graph)(*args))


def test_a_graph_built_by_hand_runs_and_knows_its_shapes():
    g, x, y, a, b = chain()
    g.lint()
    assert b.aval is X.aval and a.target is fl.sin.op
    np.testing.assert_allclose(run(g, X, X), np.sin(V) * V, rtol=1e-6)


def test_static_parameters_are_bound_by_the_signature():
    g = fx.Graph()
    x = g.placeholder("x", fl.asarray(np.ones((2, 3), np.float32)).aval)
    node = g.call_function(prims.reduce.reduce_sum, (x,), {"dims": [0]})  # the binder makes a tuple of the list
    assert node.params == ((0,),) and node.kwargs == {"dims": (0,)} and node.aval.shape == (3,)
    node.kwargs = {"dims": [1]}
    assert node.params == ((1,),)
    node.update_kwarg("dims", (0, 1))
    assert node.params == ((0, 1),)
    with pytest.raises(TypeError, match=r"prims.reduce_sum has no static parameters \['dim'\]"):
        node.kwargs = {"dim": 0}
    with pytest.raises(TypeError, match="needs its static parameters"):
        node.kwargs = {}


def test_defaults_fill_kwargs_that_are_left_out():
    g, x, *_ = chain()
    node = g.call_function(fl.softmax, (x, -1), {"dtype": "float64"})
    assert node.kwargs == {"dim": -1, "dtype": fl.float64} and node.aval.dtype is fl.float64
    node.kwargs = {"dim": 0}
    assert node.kwargs == {"dim": 0, "dtype": None}


def test_wrong_calls_raise_what_the_op_raises():
    g, x, *_ = chain()
    with pytest.raises(TypeError, match="mul"):
        g.call_function(fl.mul, (x,))
    with pytest.raises(TypeError, match="argument 'input' must be an Array"):
        g.call_function(fl.sin, ("no array",))


def test_users_follow_every_edit():
    g, x, y, a, b = chain()
    assert list(x.users) == [a] and list(a.users) == [b] and list(y.users) == [b]
    b.args = (a, a)
    assert list(y.users) == [] and list(a.users) == [b] and b.all_input_nodes == [a]
    b.replace_input_with(a, y)
    assert list(a.users) == [] and list(y.users) == [b]
    g.erase_node(a)
    assert list(x.users) == []
    with g.inserting_before(b):
        c = g.call_function(fl.cos, (x,))
    assert list(x.users) == [c]
    b.update_arg(0, c)
    assert list(c.users) == [b] and list(y.users) == [b] and [n.op for n in b.users] == ["output"]
    g.lint()


def test_users_of_nodes_that_were_appended_later():
    g, x, y, a, b = chain()
    g.erase_node(g.output_node())
    assert list(b.users) == []
    c = g.append("call_function", fl.neg.op, (b,), (), b.aval)
    assert list(b.users) == [c] and list(c.users) == []


def test_replace_all_uses_with_some():
    g, x, y, a, b = chain()
    c = g.call_function(fl.mul, (a, a))
    changed = a.replace_all_uses_with(x, delete_user_cb=lambda user: user is not c)
    assert changed == [b] and b.args == (x, y) and c.args == (a, a)


def test_a_target_is_changed_by_a_function():
    g, x, y, a, b = chain()
    a.target = fl.cos
    assert a.target is fl.cos.op
    np.testing.assert_allclose(run(g, X, X), np.cos(V) * V, rtol=1e-6)


def test_insertion_points():
    g, x, y, a, b = chain()
    with g.inserting_after(x):
        first, second = g.call_function(fl.sin, (x,)), g.call_function(fl.cos, (x,))
    with g.inserting_before(b):
        with g.inserting_before(x):
            front = g.get_attr("w")
        last = g.call_function(fl.neg, (a,))
    assert g.nodes == [front, x, first, second, y, a, last, b, g.output_node()]
    assert x.next is first and first.prev is x and front.prev is None and g.output_node().next is None
    y.append(second)
    x.prepend(y)
    assert list(g.nodes)[:4] == [front, y, x, first]
    with pytest.raises(ValueError, match="is no node of this graph"):
        g.inserting_before(chain()[1])


def test_the_insertion_point_moves_on_when_its_node_is_erased():
    g, x, y, a, b = chain()
    dead = g.call_function(fl.cos, (x,))
    b.append(dead)
    with g.inserting_before(dead):
        g.erase_node(dead)
        new = g.call_function(fl.exp, (x,))
    assert new.next is g.output_node()


def test_loops_over_nodes_go_on_while_nodes_are_erased_and_added():
    g = fx.Graph()
    x = g.placeholder("x")
    y = x
    for _ in range(5):
        y = g.call_function(fl.sin, (y,))
        g.call_function(fl.exp, (y,))  # dead
    g.output(y)
    seen = []
    for node in g.nodes:
        seen.append(node.op)
        if node.op == "call_function" and node.target is fl.exp.op:
            g.erase_node(node)
        elif node.op == "call_function":
            with g.inserting_before(node):
                new = g.call_function(fl.cos, node.args)
            node.replace_all_uses_with(new)
            g.erase_node(node)
    assert seen.count("call_function") == 10
    assert [n.target.name for n in g.nodes if n.op == "call_function"] == ["cos"] * 5
    g.lint()


def test_a_loop_leaves_out_what_was_erased_before_it_came_there():
    g, x, y, a, b = chain()
    seen = []
    for node in g.nodes:
        seen.append(node)
        if node is x:
            b.replace_all_uses_with(y)
            g.erase_node(b)
            g.erase_node(a)
    assert a not in seen and b not in seen and len(seen) == 3


def test_erasing_what_is_used_raises():
    g, x, y, a, b = chain()
    with pytest.raises(RuntimeError, match="tried to erase sin, which is used by mul"):
        g.erase_node(a)
    dead = g.call_function(fl.exp, (a,))
    g.erase_node(dead)
    with pytest.raises(RuntimeError, match="it was erased before"):
        g.erase_node(dead)
    assert repr(dead) == "<erased fl.exp>"


def test_names_are_unique_readable_and_stay():
    g = fx.Graph()
    x = g.placeholder("x")
    nodes = [g.call_function(fl.sin, (x,)) for _ in range(3)]
    odd = [g.placeholder(n) for n in ("lambda", "a b", "1", "fl", "input", "sin_1")]
    assert [n.name for n in nodes] == ["sin", "sin_1", "sin_2"]
    assert [n.name for n in odd] == ["lambda_1", "a_b", "_1", "fl_1", "input_1", "sin_1_1"]
    late = g.call_function(fl.sin, (x,))
    assert late.name == "sin_3"
    named = g.call_function(fl.sin, (x,), name="sin")
    assert named.name == "sin_4"
    late.name = "angle"
    assert late.name == "angle"


def test_a_name_given_at_first_is_kept():
    g = fx.Graph()
    x = g.placeholder("x")
    y = g.call_function(fl.sin, (x,), name="cos")
    z = g.call_function(fl.cos, (x,))
    assert (y.name, z.name) == ("cos", "cos_1")


def test_lint_finds_what_is_wrong():
    g, x, y, a, b = chain()
    b.append(a)
    with pytest.raises(RuntimeError, match="takes sin, which is made after it"):
        g.lint()
    g, x, y, a, b = chain()
    b.args = (chain()[1], y)
    with pytest.raises(RuntimeError, match="which is no node of this graph"):
        g.lint()
    g, x, y, a, b = chain()
    g.call_function(fl.sin, (x,))
    with pytest.raises(RuntimeError, match="the output node must be the last one"):
        g.lint()
    g, x, y, a, b = chain()
    a.args = (x, y)
    with pytest.raises(RuntimeError, match=r"fl.sin takes the arrays \['input'\], got 2 args"):
        g.lint()
    g, x, y, a, b = chain()
    a.target = prims.reduce.reduce_sum
    with pytest.raises(RuntimeError, match="takes the static parameters"):
        g.lint()
    g, x, y, a, b = chain()
    g.erase_node(g.output_node())
    with pytest.raises(ValueError, match="no output node"):
        fx.GraphModule({}, g)(X, X)


def test_dead_code_goes_and_inputs_and_effects_stay():
    g, x, y, a, b = chain()
    b.replace_all_uses_with(a)
    with g.inserting_before(a):
        g.call_function(fl.exp, (g.call_function(fl.cos, (x,)),))
    assert g.eliminate_dead_code() and not g.eliminate_dead_code()
    assert [n.name for n in g.nodes] == ["x", "y", "sin", "output"]
    gm = fl.make_fx(lambda x: (fl.debug.print("{}", fl.sin(x)), fl.cos(x), x)[2])(X)
    assert [n.target.name for n in gm.graph.nodes if n.op == "call_function"] == ["sin", "host_effect"]


def test_find_nodes():
    g, x, y, a, b = chain()
    assert g.find_nodes(op="placeholder") == [x, y] and g.find_nodes(op="placeholder", target="y") == [y]
    assert g.find_nodes(op="call_function", target=fl.sin) == [a] == g.find_nodes(op="call_function", target=fl.sin.op)
    assert g.output_node().args == (b,)


def test_graph_copy_into_another():
    g, x, y, a, b = chain()
    h = fx.Graph()
    u = h.placeholder("u")
    once = h.graph_copy(g, {x: u, y: u})
    twice = h.graph_copy(g, {x: once, y: u})
    h.output({"out": twice})
    h.lint()
    out = fx.GraphModule({}, h)(X)

    np.testing.assert_allclose(out["out"], np.sin(np.sin(V) * V) * V, rtol=1e-5)


def test_outputs_are_any_pytree():
    g, x, y, a, b = chain()
    g.erase_node(g.output_node())
    g.output({"a": (a, None), "b": [b, 3]})
    out = fx.GraphModule({}, g)(X, X)
    assert out["a"][1] is None and out["b"][1] == 3 and list(out) == ["a", "b"]
    g.erase_node(g.output_node())
    g.output((b,))
    out = fx.GraphModule({}, g)(X, X)
    assert isinstance(out, tuple) and len(out) == 1


def test_python_functions_are_called_with_trees():
    def pick(items, *, which, scale=1.0):
        return fl.mul(items[which], scale)

    g = fx.Graph()
    x, y = g.placeholder("x"), g.placeholder("y")
    node = g.call_function(pick, ([x, y],), {"which": 1, "scale": 2.0})
    two = g.call_function(operator.add, (node, y))
    three = g.call_function(operator.getitem, ((y, two), 1))
    g.output(three)
    g.lint()
    assert node.all_input_nodes == [x, y] and node.kwargs == {"which": 1, "scale": 2.0}
    np.testing.assert_allclose(run(g, X, X), 3 * V, rtol=1e-6)
    node.kwargs = {"which": 0, "scale": 3.0}
    np.testing.assert_allclose(run(g, X, 0 * V), 3 * V, rtol=1e-6)
    gm = fx.GraphModule({}, g)
    assert "add = pick + y" in gm.code and "self._function0(" in gm.code and "(y, add)[1]" in gm.code
    np.testing.assert_allclose(gm.forward(X, X), gm(X, X), rtol=1e-6)


def test_how_it_looks(capsys):
    g, x, y, a, b = chain()
    assert str(g).splitlines() == [
        "graph():",
        "    %x : float32[3] [num_users=1] = placeholder[target=x]",
        "    %y : float32[3] [num_users=1] = placeholder[target=y]",
        "    %sin : float32[3] [num_users=1] = call_function[target=fl.sin](args = (%x,), kwargs = {})",
        "    %mul : float32[3] [num_users=1] = call_function[target=fl.mul](args = (%sin, %y), kwargs = {})",
        "    return mul",
    ]
    assert a.format_node() == str(g).splitlines()[3].strip() and repr(a) == "sin"
    g.print_tabular()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["opcode", "name", "target", "args", "kwargs", "aval"]
    assert lines[5].split() == ["call_function", "mul", "fl.mul", "(sin,", "y)", "{}", "float32[3]"]


def test_meta_and_stack_trace():
    g, x, y, a, b = chain()
    a.meta["seen"] = True
    assert b.meta == {} and copy.deepcopy(g).nodes[2].meta == {"seen": True} and a.stack_trace is None
    gm = fl.make_fx(lambda x: fl.sin(x))(X)
    assert gm.graph.find_nodes(op="call_function")[0].stack_trace.rpartition(":")[0] == __file__


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda g: pickle.loads(pickle.dumps(g))], ids=["deepcopy", "copy", "pickle"])
def test_copies_are_of_their_own(copied):
    g, x, y, a, b = chain()
    a.name = "angle"
    other = copied(g)
    other.lint()
    assert str(other) == str(g) and other.nodes[2] is not a and other.nodes[2].graph is other
    other.nodes[2].target = fl.cos
    assert a.target is fl.sin.op
    assert other.call_function(fl.sin, (other.nodes[0],), name="angle").name == "angle_1"


def test_long_graphs_pickle_and_copy():
    g = fx.Graph()
    y = g.placeholder("x")
    for _ in range(5000):
        y = g.call_function(fl.neg, (y,))
    g.output(y)
    assert len(pickle.loads(pickle.dumps(g)).nodes) == len(copy.deepcopy(g).nodes) == 5002

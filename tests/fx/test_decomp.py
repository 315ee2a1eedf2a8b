"""Decompositions: graphs in prims only of every op, and sets that users name."""

import operator

import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite.core.op import Op
from functorch_lite.fx.calls import op_of
from functorch_lite.testing.calls import Call
from functorch_lite.testing.compare import numpy_of
from functorch_lite.testing.table import TABLE, load_table
from functorch_lite.transforms.body import Body

load_table()
COMPOSITES = [name for name, rows in TABLE.items() if rows[0].op.decompose is not None]
SAMPLES = 2  # of each row


def ops_of(graph) -> set[Op]:
    """The ops of a graph, and of the bodies of its loops, branches and compiled functions."""
    out = set()
    for node in graph.nodes:
        if node.op == "call_function" and node.target is not operator.getitem:  # which picks one of several results
            out.add(op_of(node.target))
            for param in (*node.args, *node.kwargs.values()):
                for body in param if isinstance(param, (tuple, list)) else (param,):
                    if isinstance(body, Body):
                        out |= ops_of(body.graph)
    return out


@pytest.mark.parametrize("name", COMPOSITES)
def test_graphs_in_prims_only(name):
    """Of every op, for samples of its rows."""
    seen = 0
    for row in TABLE[name]:
        if row.op.inline and row.op.draws is None:  # its Python looks at values
            continue
        for sample in row.samples(row.dtypes[0])[:SAMPLES]:
            call = Call(row, sample, row.dtypes[0])
            gm = fl.make_fx(call, decomposition_table=fl.decomp.core_prims)(*call.arrays)
            left = {op.qualname for op in ops_of(gm.graph) if not isinstance(op, Op) or op.namespace != "prims" or op.impl is None}
            assert not left, f"{name}({sample!r}): left in the graph: {sorted(left)}"
            seen += 1
    assert seen or all(row.op.inline for row in TABLE[name])


def loss(w, x):
    h = fl.nn.functional.gelu(fl.nn.functional.layer_norm(x @ w, (4,)))
    return fl.nn.functional.cross_entropy(h, fl.asarray([0, 3, 1]))


ARGS = (np.linspace(-1, 1, 20, dtype=np.float32).reshape(5, 4), np.linspace(-2, 1, 15, dtype=np.float32).reshape(3, 5))


BATCH = ARGS[0], np.stack([ARGS[1], -ARGS[1]])
PROGRAMS = {
    "loss": (loss, ARGS),
    "grad": (fl.grad(loss), ARGS),
    "jit of grad": (fl.jit(fl.grad(loss)), ARGS),
    "vmap of grad": (fl.vmap(fl.grad(loss), in_dims=(None, 0)), BATCH),
    "hessian": (fl.hessian(loss), ARGS),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_transforms(name):
    program, args = PROGRAMS[name]
    gm = fl.make_fx(program, decomposition_table=fl.decomp.core_prims)(*args)
    assert {op.namespace for op in ops_of(gm.graph)} == {"prims"}
    np.testing.assert_allclose(numpy_of(fl.jit(gm)(*args)), numpy_of(fl.jit(program)(*args)), rtol=1e-4, atol=1e-5)


def test_loops_and_branches():
    def program(x):
        out = fl.while_loop(lambda s: fl.sum(s) < 10, lambda s: fl.softmax(s, 0) + s, x)
        return fl.cond(fl.sum(out) > 0, lambda y: fl.log_softmax(y, 0), lambda y: y, out)

    x = np.ones(3, np.float32)
    plain, below = fl.make_fx(program)(x), fl.make_fx(program, fl.decomp.core_prims)(x)
    assert "fl" in {op.namespace for op in ops_of(plain.graph)} and {op.namespace for op in ops_of(below.graph)} == {"prims"}
    np.testing.assert_allclose(numpy_of(below(x)), numpy_of(program(x)), rtol=1e-6)


def test_sets_of_ones_own():
    f = lambda x: fl.nn.functional.softmin(fl.tanh(x), 0)  # noqa: E731
    x = np.ones(3, np.float32)

    def names(table):
        return [op_of(n.target).qualname for n in fl.make_fx(f, table)(x).graph.find_nodes(op="call_function")]

    assert names(None) == ["fl.tanh", "fl.nn.functional.softmin"]
    assert names(fl.decomp.decompositions(["fl.tanh"])) == ["prims.tanh", "fl.nn.functional.softmin"]
    assert "fl.softmax" in names(fl.decomp.decompositions([fl.nn.functional.softmin]))
    assert names({fl.tanh: lambda input: fl.sin(input)}) == ["fl.sin", "fl.nn.functional.softmin"]
    with pytest.raises(ValueError, match="prims.exp have none"):
        fl.decomp.decompositions([fl.prims.exp])
    with pytest.raises(TypeError, match="a decomposition table maps ops to functions"):
        fl.make_fx(f, 3)

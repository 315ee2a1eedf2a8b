"""Printed programs run and give what the graph gives; GraphModules are called, copied, pickled and shown."""

import copy
import math
import operator
import pickle
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite import fx, prims
from functorch_lite.errors import TreeMismatchError
from functorch_lite.fx.printing import Names

V = np.array([0.5, -1.0, 2.0], np.float32)
X = fl.asarray(V)


def same(a, b):
    assert fl.tree.structure(a) == fl.tree.structure(b)
    for x, y in zip(fl.tree.leaves(a), fl.tree.leaves(b)):
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


def runs(gm, *args, **kwargs):
    """The module's results, which its text gives too, run in a namespace of its own; the text."""
    gm.graph.lint()
    expected = gm(*args, **kwargs)
    same(gm.forward(*args, **kwargs), expected)
    code = gm.graph.python_code()
    space = {"fl": Names("fl"), "prims": Names("prims")} | code.globals
    exec(code.src, space)
    same(space["forward"](gm, *args, **kwargs), expected)
    assert code.src == gm.code
    return code.src


def test_op_level():
    gm = fl.make_fx(lambda x, y: fl.softmax(fl.tanh(x) + y, dim=-1))(X, 2.0)
    assert runs(gm, X, 2.0).splitlines() == [
        "def forward(self, x, y):",
        "    tanh = fl.tanh(x)",
        "    add = fl.add(tanh, y)",
        "    softmax = fl.softmax(add, dim=-1)",
        "    return softmax",
    ]


def test_prim_level():
    gm = fl.make_fx(lambda x, y: fl.softmax(fl.tanh(x) + y, dim=-1), prims=True)(X, 2.0)
    text = runs(gm, X, 2.0)
    assert "fl.softmax" not in text and "prims.tanh(x)" in text and "prims.exp(" in text
    assert {n.target.namespace for n in gm.graph.nodes if n.op == "call_function"} == {"prims"}


LITERALS = {
    "numbers": lambda x: x * 2 + 0.5 - (-1),
    "inf": lambda x: fl.maximum(x, -math.inf) + fl.where(x > math.inf, x, math.inf),
    "nan": lambda x: fl.where(x > 0, x, math.nan),
    "complex": lambda x: x * complex(1, -2) + complex(0.0, 1.0),
    "dtype": lambda x: fl.softmax(x, 0, dtype=fl.float64) if x.ndim else x,
    "bool": lambda x: prims.full((2,), True, fl.bool),
    "tuple": lambda x: prims.reshape(x, (3, 1)),
    "sequence": lambda x: prims.concatenate([x, x, x], 0),
    "several": lambda x: prims.sort([x, x], 0, 1)[1],
    "keyword": lambda x: fl.add(x, x, alpha=3),
    "no arrays": lambda x: prims.iota((2, 3), 1, fl.int32),
}


@pytest.mark.parametrize("f", LITERALS.values(), ids=LITERALS)
@pytest.mark.parametrize("level", ["op", "prim"])
def test_values_that_stand_in_the_text(f, level):
    gm = fl.make_fx(f, prims=level == "prim")(X)
    assert "self._" not in runs(gm, X)


def test_defaults_are_left_out_and_keywords_named():
    text = runs(fl.make_fx(lambda x: fl.softmax(x, 0, None))(X), X)
    assert "fl.softmax(x, dim=0)" in text
    text = runs(fl.make_fx(lambda x: prims.sort([x], 0, 1))(X), X)
    assert "prims.sort([x], dim=0" in text


def loops(x, n):
    """A body in each op that has one, one inside another, and one that is taken twice."""
    scaled = fl.jit(lambda x: fl.sin(x) * n)
    carry, ys = fl.scan(lambda c, r: (c + scaled(r), c), 0.0, x)
    which = fl.cond(carry > 0, lambda x: x, lambda x: -x, x)
    last = fl.while_loop(lambda c: c < 10.0, lambda c: c * c + 1.0, carry)
    return {"c": carry, "y": ys, "w": (which, scaled(x)), "l": last}


@pytest.mark.parametrize("level", ["op", "prim"])
def test_bodies_are_attributes(level):
    gm = fl.make_fx(loops, prims=level == "prim")(X, 2.0)
    text = runs(gm, X, 2.0)
    for op in ("prims.scan(", "prims.switch(", "prims.while_loop("):
        assert op in text
    assert "body=self._body0" in text and "bodies=(self._body" in text and "test=self._body" in text
    assert ("prims.call(" in text) == (level == "op")
    same(gm(X, 2.0), fl.make_fx(loops)(X, 2.0)(X, 2.0))
    readable = gm.print_readable(print_output=False)
    assert "def _body0(" in readable
    if level == "prim":
        assert "fl.sin" not in readable and "prims.call" not in readable and "prims.sin" in readable
    compile(readable, "readable", "exec")


def test_custom_rules_are_attributes():
    @fl.custom_vjp
    def twice(x):
        return x * 2

    twice.defvjp(lambda x: (x * 2, x), lambda res, ct: (ct * 2,))
    gm = fl.make_fx(lambda x: fl.jvp(lambda x: fl.tanh(x) * 3, (x,), (x,)))(X)
    runs(gm, X)
    gm = fl.make_fx(lambda x: fl.grad(lambda x: (twice(x) * x).sum())(x))(X)
    runs(gm, X)


def test_constants_are_attributes():
    w = fl.asarray([1.0, 2.0, 3.0])
    gm = fl.make_fx(lambda x: x * w + w)(X)
    assert list(gm.constants) == ["_constant0"] and gm._constant0 is w
    assert runs(gm, X).count("self._constant0") == 1
    gm._constant0 = fl.asarray([0.0, 0.0, 1.0])
    assert gm(X).tolist() == [0.0, 0.0, 3.0]


def test_trees_in_and_out():
    def f(p, xs, flag=True, *, scale=1.0):
        return {"a": p["w"] * xs[0] if flag else xs[0], "b": (None, [xs[1][0] * scale]), "n": 3}

    args = {"w": X, "b": None}, [X, (X,)]
    gm = fl.make_fx(f)(*args, scale=2.0)
    text = runs(gm, *args, scale=2.0)
    assert text.splitlines()[:2] == ["def forward(self, p, xs, scale):", "    p_w, xs_0, xs_1_0, scale = self.flatten_inputs(p, xs, scale)"]
    same(gm({"b": None, "w": X}, [X, (X,)], 2.0), f(*args, scale=2.0))


def test_trees_of_classes():
    @fl.struct
    class Layer:
        w: fl.Array
        name: str = fl.field(static=True, default="layer")

    gm = fl.make_fx(lambda layer, x: Layer(layer.w * x))(Layer(X), X)
    text = runs(gm, Layer(X), X)
    assert "self.unflatten_outputs(" in text and isinstance(gm(Layer(X), X), Layer)
    with pytest.raises(TreeMismatchError, match="make_fx"):
        gm(Layer(X, "other"), X)


def test_wrong_calls_say_what_was_expected():
    gm = fl.make_fx(lambda p, x: p["w"] * x)({"w": X}, X)
    with pytest.raises(TreeMismatchError, match=r"dict with keys \['w'\]"):
        gm({"v": X}, X)
    with pytest.raises(TypeError, match=r"expected 2 arguments \(p, x\), got 3"):
        gm({"w": X}, X, X)
    with pytest.raises(TypeError, match="missing arguments x"):
        gm({"w": X})
    with pytest.raises(TypeError, match="unknown argument 'y'; the arguments are p, x"):
        gm({"w": X}, y=X)
    with pytest.raises(TypeError, match="argument 'p' was given twice"):
        gm({"w": X}, p=X)
    g = fx.Graph()
    g.output(g.placeholder("x"))
    with pytest.raises(TypeError, match=r"expected 1 arguments \(x\), got 2"):
        fx.GraphModule({}, g)(X, X)
    same(fx.GraphModule({}, g)(x=X), X)


def test_root_gives_the_constants():
    class Root:
        class layer:
            w = X

    g = fx.Graph()
    x = g.placeholder("x")
    g.output(g.call_function(fl.mul, (x, g.get_attr("layer.w"))))
    gm = fx.GraphModule(Root, g)
    assert "self.layer.w" in runs(gm, X) and gm.layer.w is X
    same(fx.GraphModule({"layer.w": X}, g)(X), gm(X))
    for root in ({}, object()):
        with pytest.raises(AttributeError, match=r"the constant 'layer.w', which root"):
            fx.GraphModule(root, g)


def test_forward_is_the_text_of_the_graph_as_it_is():
    gm = fx.symbolic_trace(lambda x: fl.sin(x))
    np.testing.assert_allclose(gm.forward(X), np.sin(V), rtol=1e-6)
    gm.graph.find_nodes(op="call_function")[0].target = fl.cos
    np.testing.assert_allclose(gm(X), np.cos(V), rtol=1e-6)
    np.testing.assert_allclose(gm.forward(X), np.cos(V), rtol=1e-6)
    assert gm.recompile().src == gm.code and "fl.cos(x)" in gm.code


def test_errors_in_forward_show_the_line():
    gm = fx.symbolic_trace(lambda x, y: fl.matmul(x, y))
    with pytest.raises(Exception, match="matmul") as caught:
        gm.forward(fl.ones(2, 3), fl.ones(2, 3))
    import traceback

    assert "matmul = fl.matmul(x, y)" in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda g: pickle.loads(pickle.dumps(g))], ids=["deepcopy", "copy", "pickle"])
def test_copies(copied):
    w = fl.asarray([1.0, 2.0, 3.0])

    def f(p, n):
        return fl.scan(lambda c, r: (c + r * n, c), 0.0, p["x"] * w)

    gm = fl.make_fx(f)({"x": X}, 2.0)
    other = copied(gm)
    same(other({"x": X}, 3.0), gm({"x": X}, 3.0))
    assert other.code == gm.code and other.graph is not gm.graph
    other._constant0 = w * 0
    assert gm._constant0 is w


def test_programs_with_derived_bodies_pickle():
    def f(x):
        carry, ys = fl.scan(lambda c, r: (c + fl.jit(fl.sin)(r), c * r), 0.0, x)
        return fl.cond(carry > 0, lambda y: (y * y).sum(), lambda y: y.sum(), ys)

    gm = fl.make_fx(fl.grad(f))(X)
    expected = fl.vmap(gm)(fl.ones(2, 3)), fl.jit(gm)(X)  # its bodies remember what was derived from them
    other = pickle.loads(pickle.dumps(gm))
    same((fl.vmap(other)(fl.ones(2, 3)), fl.jit(other)(X)), expected)


def test_copies_of_python_calls():
    g = fx.Graph()
    x = g.placeholder("x")
    g.output(g.call_function(operator.getitem, ([x, x], 1)))
    other = pickle.loads(pickle.dumps(fx.GraphModule({}, g)))
    same(other(X), X)


def test_readable_text_has_shapes_and_lines(capsys):
    gm = fl.make_fx(lambda x: fl.sin(x))(X)
    text = gm.print_readable()
    assert capsys.readouterr().out == text + "\n"
    assert re.search(
        r'def forward\(self, x: "float32\[3\]"\):\n        # .*test_fx_code.py:\d+\n        sin: "float32\[3\]" = fl.sin\(x\)', text
    )


def test_drawings():
    gm = fl.make_fx(loops)(X, 2.0)
    svg = gm.draw()
    import xml.etree.ElementTree as ET

    root = ET.fromstring(svg)
    tag = "{http://www.w3.org/2000/svg}"
    boxes = list(root.findall(f"{tag}g"))
    assert len(boxes) == len(gm.graph.nodes)
    edges = root.findall(f"{tag}path")
    assert len(edges) == 2 * sum(len(n.all_input_nodes) for n in gm.graph.nodes)  # a line and a tip each
    frames = [[float(b.find(f"{tag}rect").get(k)) for k in ("x", "y", "width", "height")] for b in boxes]
    for i, (x, y, w, h) in enumerate(frames):
        assert 0 <= x and x + w <= float(root.get("width")) and 0 <= y and y + h <= float(root.get("height"))
        for u, v, s, t in frames[:i]:
            assert x + w <= u or u + s <= x or y + h <= v or v + t <= y, "two boxes overlap"
    for path in edges[::2]:  # a line passes a layer beside its boxes
        number = r"([-\d.]+)"
        for at, start, stop in re.findall(rf"{number},{number} V{number}", path.get("d")):
            for x, y, w, h in frames:
                inside = x < float(at) < x + w and max(y, float(start)) < min(y + h, float(stop))
                assert not inside, "a line behind a box"
    page = gm._repr_html_()
    assert "<svg" in page and "prims.scan" in page
    assert "<details open>" in fl.make_fx(fl.sin)(X)._repr_html_()  # a small graph is shown at once
    assert "class Graph:" in gm.graph._repr_html_()
    fx.Graph().output(())
    assert fx.GraphModule({}, fx.symbolic_trace(lambda: 3).graph).draw().startswith("<svg")


def test_lines_of_notebook_cells(monkeypatch):
    """IPython knows the number of the cell that a temporary file stands for."""

    class Shell:
        compile = SimpleNamespace(format_code_name=lambda name: ("Cell", "In[3]") if name == __file__ else None)

    gm = fl.make_fx(lambda x: fl.sin(x))(X)
    assert f"# {__file__}:" in gm.print_readable(print_output=False)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=Shell))
    assert "# In[3]:" in gm.print_readable(print_output=False)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))  # imported, but not what runs this
    assert f"# {__file__}:" in gm.print_readable(print_output=False)


def test_ipython_pretty():
    class Printer:
        def text(self, s):
            self.shown = s

    p = Printer()
    gm = fl.make_fx(lambda x: fl.sin(x))(X)
    for shown in (gm, gm.graph):
        shown._repr_pretty_(p, False)
        assert "fl.sin(x)" in p.shown
    assert "def forward" in repr(fl.make_fx(lambda x: fl.sin(x))(X))

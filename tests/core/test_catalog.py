"""`fl.ops`: the ops, to search and to print."""

import html.parser
import json

import pytest

import functorch_lite as fl
from functorch_lite.core.op import REGISTRY, composite
from functorch_lite.core.op import Tensor as ArrayArgument
from functorch_lite.fx.calls import op_of


def test_by_name():
    assert fl.ops["softmax"].op is fl.softmax.op and fl.ops["linalg.svd"].op is fl.linalg.svd.op
    assert fl.ops["prims.exp"].kind == "prim" and fl.ops["exp"].kind == "composite" and fl.ops["max"].kind == "function"
    assert fl.ops["arccos"] is fl.ops["acos"] and "fl.arccos" in fl.ops["acos"].aliases
    assert "softmax" in fl.ops and "sofmax" not in fl.ops
    with pytest.raises(KeyError, match="there is no op 'sofmax'; near: softmax"):
        fl.ops["sofmax"]


def test_every_op_is_there_once():
    names = [e.qualname for e in fl.ops]
    assert len(set(names)) == len(names) == len(fl.ops) and {n for n in REGISTRY if n.startswith(("fl.", "prims."))} <= set(names)
    assert all(e.doc and e.signature.startswith("(") and e.file for e in fl.ops if e.namespace != "test")


def test_search():
    found = fl.ops.search("pool 2d")
    assert {"avg_pool2d", "max_pool2d"} <= {e.name for e in found} and all("pool" in repr(e) for e in found)
    assert fl.ops.search("cosine")["cos"].name == "cos" and len(fl.ops.search("no such thing at all")) == 0
    assert {e.kind for e in fl.ops.prims} == {"prim"} and {e.kind for e in fl.ops.composites} == {"composite"}


def test_rules_say_where_they_come_from():
    assert set(fl.ops["prims.exp"].rules.values()) == {"derived"} and fl.ops["prims.exp"].derived
    assert fl.ops["prims.permute"].rules["transpose"] == "given" and fl.ops["prims.permute"].rules["jvp"] == "derived"
    assert fl.ops["prims.cholesky"].rules["jvp"] == "own" and not fl.ops["prims.cholesky"].derived
    assert set(fl.ops["mul"].rules.values()) == {"body"} and fl.ops["max"].rules == {}
    own = [e for e in fl.ops.composites if e.op.vjp is not None]
    assert own and all(e.rules["vjp"] == "own" for e in own)


def test_decompositions():
    x = fl.ones(2, 3)
    gm = fl.ops["softmin"].decomposition(x, 1)
    assert [op_of(n.target).qualname for n in gm.graph.find_nodes(op="call_function")][-1] == "fl.softmax"
    below = fl.ops["softmin"].decomposition(x, 1, prims=True)
    assert {op_of(n.target).namespace for n in below.graph.find_nodes(op="call_function")} == {"prims"}
    assert "fl.softmax" in fl.ops["softmin"].parts and fl.ops["prims.exp"].parts == ()
    with pytest.raises(ValueError, match="prims.exp is a prim"):
        fl.ops["prims.exp"].decomposition(x)


def test_most_prims_are_derived():
    share = fl.ops.share()
    assert share["prims"] > 150 and 0.55 < share["strictly"] <= share["derived"] and share["derived"] > 0.7 and share["lines"] < 40


def test_it_is_shown():
    text = repr(fl.ops.search("softmax"))
    assert text.splitlines()[0].split() == ["op", "kind", "rules", "what", "it", "is"] and "fl.log_softmax" in text
    one = repr(fl.ops["softmax"])
    assert one.startswith("fl.softmax(input: Tensor, dim: int") and "refs/softmaxes.py" in one and "rules: meta body" in one

    class Tags(html.parser.HTMLParser):
        open_tags: list = []

        def handle_starttag(self, tag, attrs):
            self.open_tags.append(tag)

    tags = Tags()
    tags.feed(fl.ops.search("softmax")._repr_html_())
    assert tags.open_tags.count("tr") == len(fl.ops.search("softmax")) + 1 and "<pre>" in fl.ops["softmax"]._repr_html_()


def test_what_is_declared_later_is_seen():
    before = len(fl.ops)

    @composite(namespace="test")
    def seen_later(input: ArrayArgument) -> ArrayArgument:
        """Nothing much."""
        return input

    try:
        assert len(fl.ops) == before + 1 and fl.ops["test.seen_later"].summary == "Nothing much."
    finally:
        del REGISTRY["test.seen_later"]
    assert len(fl.ops) == before


def test_the_table_of_parts_is_of_ops_that_there_are():
    from functorch_lite import catalog

    table = json.loads(catalog._PARTS.read_text())
    known = {e.qualname for e in fl.ops}
    assert len(table) > 350 and all(name in known and set(parts) <= known for name, parts in table.items())

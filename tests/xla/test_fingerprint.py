"""Fingerprints: equal for equal programs, in any process; different for whatever may be lowered to something else; none in doubt."""

from __future__ import annotations

import itertools
import math
import sys
import time

import jax
import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite.core.aval import aval
from functorch_lite.core.dtype import float32, float64, int64
from functorch_lite.core.op import Tensor, composite
from functorch_lite.transforms.body import Body, capture
from functorch_lite.xla import fingerprint as module
from functorch_lite.xla.fingerprint import fingerprint

X = aval((3,), float32)


@pytest.fixture(autouse=True)
def untouched(monkeypatch):
    """As if nobody had edited the library just now."""
    monkeypatch.setattr(module, "sources_digest", lambda: "sources")


def body(f, *ins) -> Body:
    return capture(lambda *xs: [f(*xs)], ins or (X,), "f")[0]


VALUES = [None, True, False, 1, 0, -1, 2**70, 1.0, 0.0, -0.0, math.inf, 1j, 0j, complex(0.0, -0.0), "", "1", "i1;", float32, float64]
VALUES += [
    "float32",
    aval((), float32),
    aval((), float32, True),
    aval((1,), float32),
    (),
    ((),),
    (1, 2),
    ((1,), 2),
    (1, (2,)),
    ("1", "2"),
    ("12",),
]


def test_values_that_differ_in_type_or_bits_have_different_ones():
    found = [fingerprint(x) for x in VALUES]
    assert None not in found and len(set(found)) == len(VALUES)
    assert found == [fingerprint(x) for x in VALUES]
    assert fingerprint(math.nan) == fingerprint(float("nan"))
    assert fingerprint(1, 2) != fingerprint((1, 2)) != fingerprint(1, (2,))


BODIES = [
    body(lambda x: x + 1),
    body(lambda x: x + 1.0),
    body(lambda x: x + 2),
    body(lambda x: x * 0.0),
    body(lambda x: x * -0.0),
    body(lambda x: x * math.nan),
    body(lambda x: 1 - x),
    body(lambda x: x - 1),
    body(lambda x: x.sum(0)),
    body(lambda x: x.sum(0, keepdim=True)),
    body(lambda x: x + 1, aval((4,), float32)),
    body(lambda x: x + 1, aval((3,), float64)),
    body(lambda x: x + 1, aval((), float64)),
    body(lambda x: x + 1, aval((), float64, True)),
    body(lambda x: x.to("float16")),
    body(lambda x: x.to("bfloat16")),
    body(lambda x, y: x - y, X, X),
    body(lambda x, y: y - x, X, X),
    body(lambda x, y: x - y, X, aval((3,), int64)),
    body(lambda x: fl.fori_loop(0, 3, lambda i, x: x + 1, x)),
    body(lambda x: fl.fori_loop(0, 3, lambda i, x: x + 2, x)),
    body(lambda x: fl.fori_loop(0, 4, lambda i, x: x + 2, x)),
    body(lambda x: fl.cond(x.sum() > 0, fl.sin, fl.cos, x)),
    body(lambda x: fl.cond(x.sum() > 0, fl.cos, fl.sin, x)),
    body(lambda x: fl.jit(fl.sin)(x)),
    body(lambda x: fl.jit(lambda x: fl.topk(x, 2))(x)[0]),
    body(lambda x: fl.jit(lambda x: fl.topk(x, 2))(x)[1]),
]


def test_programs_that_differ_have_different_ones():
    found = [fingerprint(b) for b in BODIES]
    assert None not in found
    same = [(BODIES[i].graph, BODIES[k].graph) for i, k in itertools.combinations(range(len(BODIES)), 2) if found[i] == found[k]]
    assert not same, "\n".join(map(str, same))


def test_a_body_that_occurs_twice_is_written_once_and_told_from_another():
    a, b = BODIES[:2]
    assert len({fingerprint(a, a), fingerprint(a, b), fingerprint(b, a), fingerprint(b, b), fingerprint(a)}) == 5


@composite(namespace="tests.fingerprint")
def of_a_user(x: Tensor) -> Tensor:
    """An op that is not the library's."""
    return x + 1


class Odd(tuple):
    """A tuple of a class whose meaning nobody knows."""


@pytest.mark.parametrize(
    "value",
    [len, object(), Odd((1,)), np.float32(1), np.ones(2), [1], {1: 2}, of_a_user.op, jax.devices()[0], range(3)],
    ids=lambda x: type(x).__name__,
)
def test_what_cannot_be_said_has_none(value):
    assert fingerprint(value) is None
    assert fingerprint(1, ((value,),)) is None


def twice(x):
    return 2 * x


ruled = fl.custom_jvp(twice)
ruled.defjvp(lambda primals, tangents: (twice(*primals), twice(*tangents)))


@pytest.mark.parametrize(
    "f",
    [
        of_a_user,
        lambda x: fl.jit(of_a_user)(x),
        lambda x: fl.cond(x.sum() > 0, of_a_user, fl.cos, x),
        lambda x: fl.pure_callback(np.sin, x, x),
        fl.from_jax(jax.jit(twice)),
        fl.jit(ruled),
    ],
    ids=["op", "in a jit", "in a branch", "callback", "from_jax", "custom rule"],
)
def test_programs_with_a_part_of_the_users_have_none(f):
    assert fingerprint(body(f)) is None


def test_an_op_that_was_given_other_code_has_none(monkeypatch):
    f = body(fl.sin)
    assert fingerprint(f) is not None
    op = next(n.target for n in f.graph.nodes if n.op == "call_function")
    monkeypatch.setattr(op, "decompose" if op.impl is None else "impl", lambda x: x)
    assert fingerprint(f) is None


def test_settings_of_jax_count():
    plain = fingerprint(BODIES[0])
    with jax.default_matmul_precision("float32"):
        assert fingerprint(BODIES[0]) not in (plain, None)
    assert fingerprint(BODIES[0]) == plain


def test_sources_count(monkeypatch, tmp_path):
    monkeypatch.undo()
    monkeypatch.setattr(module, "BEGUN", time.time() + 100)
    plain = module.sources_digest()
    assert plain is not None
    files = list(module._files(module._HOME))
    path, changed = files[0]
    monkeypatch.setattr(module, "_files", lambda folder: [(path, module.BEGUN), *files[1:]])
    assert module.sources_digest() is None and fingerprint(1) is None, "touched after it was imported"
    loaded = sys.modules[fl.__name__].__file__
    monkeypatch.setattr(module, "_files", lambda folder: [f for f in files if f[0] != loaded])
    assert module.sources_digest() is None, "a file that was imported is gone"
    other = tmp_path / "other.py"
    other.write_text("1")
    monkeypatch.setattr(module, "_files", lambda folder: [*files, (str(other), changed)])
    one, number = module.sources_digest(), fingerprint(1)
    other.write_text("2")
    module._digest_of.cache_clear()
    assert len({plain, one, module.sources_digest()}) == 3 and fingerprint(1) not in (number, None)
    module._digest_of.cache_clear()

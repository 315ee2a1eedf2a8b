"""Gradients of an array that a function cuts up are its blocks' gradients, joined."""

import numpy as np
import pytest

import functorch_lite as fl

V = np.arange(12, dtype=np.float32).reshape(3, 4) / 7

CASES = {
    "all of it": (lambda v: [v[:, :1], v[:, 1:3], v[:, 3:]], True),
    "with gaps": (lambda v: [v[:, 2:3], v[:, :1]], True),
    "one twice": (lambda v: [v[1:2], v[:1], v[1:2]], True),
    "rows": (lambda v: [v[0], v[2]], True),
    "nothing among them": (lambda v: [v[0:0], v[0:2], v[2:]], True),
    "overlapping": (lambda v: [v[0:2], v[1:]], False),
    "across": (lambda v: [v[0:1], v[:, 1:2]], False),
    "steps": (lambda v: [v[::2], v[1:2]], False),
    "a single one": (lambda v: [v[1:]], False),
    "and whole": (lambda v: [v, v[:1], v[1:]], True),
}


@pytest.mark.parametrize("cut, joined", CASES.values(), ids=CASES.keys())
def test_blocks_are_joined(cut, joined):
    def f(v):
        return sum([(i + 1) * (p * p * p).sum() for i, p in enumerate(cut(v))])

    expected = np.zeros_like(V)
    for i, p in enumerate(cut(np.arange(12).reshape(3, 4))):
        np.add.at(expected.reshape(-1), p.reshape(-1), 3 * (i + 1) * V.reshape(-1)[p.reshape(-1)] ** 2)
    for grad in (fl.grad(f), fl.jit(fl.grad(f)), fl.jacfwd(lambda v: f(v)), lambda v: fl.vmap(fl.grad(f))(v.unsqueeze(0))[0]):
        np.testing.assert_allclose(np.asarray(grad(fl.asarray(V))), expected, rtol=1e-5)
    v = fl.asarray(V)
    np.testing.assert_allclose(np.asarray(fl.hessian(f)(v)), np.asarray(fl.jacfwd(fl.jacfwd(f))(v)), rtol=1e-5)
    targets = [str(n.target) for n in fl.make_fx(fl.grad(f))(v).graph.nodes]
    assert any("concatenate" in t for t in targets) is joined
    assert any("backward" in t or "pad" in t for t in targets) is not joined

"""Every op that users call, given Tensors: Tensors come back, with the values that Arrays give, and `backward` agrees with `vjp`."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_lite as fl
import functorch_lite.torch as torch
from functorch_lite.core import pytree
from functorch_lite.core.dtype import float32, float64
from functorch_lite.testing import load_table
from functorch_lite.testing.calls import Call, data, like

TABLE = {name: rows for name, rows in load_table().items() if not name.startswith("prims.")}


def first_call(rows):
    """A call of the first row with a float argument, else of the first row: (call, its arrays' places)."""
    for row in rows:
        for dtype in (float64, float32, row.dtypes[0] if row.dtypes else float64):
            if dtype in row.dtypes:
                sample = next(
                    (s for s in row.samples(dtype) if any(isinstance(x, np.ndarray) and x.ndim for x in pytree.leaves(s.args))), None
                )
                if sample is not None:
                    return Call(row, sample, dtype)
    return None


@pytest.mark.parametrize("name", TABLE)
def test_op(name):
    rows = TABLE[name]
    call = first_call(rows)
    if call is None or not call.arrays:
        pytest.skip("it takes no arrays with dimensions")
    row = call.row
    if row.op.effect:
        pytest.skip("it is called for its effect")
    tensors = [torch.tensor(x) for x in call.arrays]
    leaves = list(call._leaves)
    for i, t in zip(call._places, tensors):
        leaves[i] = t
    wanted = [i for i in call.inexact if "vjp" not in row.skip and row.op.kind != "zero"]
    for i in wanted:
        tensors[i].requires_grad_()
    args, kwargs = call._spec.unflatten(leaves)
    expected = call(*call.arrays)
    outs = pytree.leaves(row.op.function(*args, **kwargs))
    for out, e in zip(outs, expected, strict=True):
        assert isinstance(out, torch.Tensor), f"{name} of Tensors gave {type(out).__name__}"
        assert out.shape == e.shape and out.dtype is e.dtype
        np.testing.assert_allclose(
            out.detach().numpy(), e.numpy(), rtol=1e-5, atol=1e-6
        )  # in its parts under recording, else as one program
    flowing = [(o, np.asarray(like(np.random.default_rng(i), o))) for i, o in enumerate(outs) if o.requires_grad]
    if not wanted or not flowing:
        return
    found = torch.autograd.grad(
        [o for o, _ in flowing],
        [tensors[i] for i in wanted],
        [torch.tensor(c) for _, c in flowing],
        allow_unused=True,
        materialize_grads=True,
    )
    which = {i for i, o in enumerate(outs) if o.requires_grad}

    def g(*xs):
        arrays = list(call.arrays)
        for i, x in zip(wanted, xs):
            arrays[i] = x
        return tuple([y for i, y in enumerate(call(*arrays)) if i in which])

    _, pullback = fl.vjp(g, *[call.arrays[i] for i in wanted])
    for i, a, b in zip(wanted, data([f.array for f in found]), data(pullback(tuple([fl.asarray(c) for _, c in flowing])))):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6, err_msg=f"the gradient of argument {i}")

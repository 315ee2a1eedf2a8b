"""What users of PyTorch's and JAX's transforms have asked for again and again, each as the few lines in which it comes up."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import functorch_lite as fl
import functorch_lite.torch as torch
from functorch_lite.torch import nn
from functorch_lite.torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, stack_module_state, vmap
from functorch_lite.torch.nn import functional as F


def test_a_branch_on_a_mapped_value_names_the_line_and_the_way_out():
    def f(x):
        if (x > 0).any():
            return x * 2
        return x

    with pytest.raises(Exception, match=r"(?s)test_needs\.py.*(cond|where)"):
        vmap(f)(torch.randn(4, 3))


def test_indexing_by_a_mapped_integer():
    a, i = torch.arange(20.0).reshape(2, 10), torch.tensor([3, 5])
    assert vmap(lambda r, k: r[k])(a, i).tolist() == [3, 15]
    assert vmap(lambda r, k: r[k : k + 2])(a, i).tolist() == [[3, 4], [15, 16]]


def test_draws_under_vmap_and_hessian():
    x = torch.zeros(3)
    assert vmap(lambda x: torch.randn(2), randomness="different")(x).unique().numel() == 6
    same = vmap(lambda x: torch.randn(2) + x, randomness="same")(x)
    assert (same == same[0]).all()
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(lambda x: torch.randn(2))(x)
    f = lambda x, y: (x + F.dropout(y, 0.3).mean(1)).sum() * x.sum()
    x, y = torch.randn(3), torch.randn(1, 3)

    def twice():
        torch.manual_seed(5)
        return jacfwd(jacrev(f), randomness="different")(x, y)

    assert twice().shape == (3, 3) and torch.equal(twice(), twice())


def test_batch_norm_under_vmap():
    net = nn.Sequential(nn.Conv2d(3, 3, 3), nn.BatchNorm2d(3)).eval()
    x = torch.randn(2, 3, 5, 5)
    assert vmap(jacrev(lambda x: net(x[None])[0]))(x).shape == (2, 3, 3, 3, 3, 5, 5)
    net.train()
    before = net[1].running_mean.tolist()
    with pytest.raises(RuntimeError, match="running_mean"):
        vmap(lambda x: net(x[None]))(x)
    assert net[1].running_mean.tolist() == before


def test_ensembles_and_per_sample_gradients():
    models = nn.ModuleList(nn.Linear(2, 1) for _ in range(3))
    base = copy.deepcopy(models[0]).to("meta")

    def f(x):
        params, buffers = stack_module_state(list(models))
        return vmap(lambda p, b: functional_call(base, (p, b), (x,)))(params, buffers)

    x = torch.randn(2)
    out, tangent = jvp(f, (x,), (torch.ones(2),))
    assert torch.allclose(out, torch.stack([m(x) for m in models]), atol=1e-6) and tangent.shape == (3, 1)
    g = vmap(grad(lambda p, x: functional_call(models[0], p, (x,)).sum()), (None, 0))(dict(models[0].named_parameters()), torch.randn(5, 2))
    assert g["weight"].shape == (5, 1, 2)


def test_no_grad_and_autograd_grad_inside_transforms():
    with torch.no_grad():
        assert grad(torch.sin)(torch.tensor(0.0)) == 1

    def f(x):
        with torch.no_grad():
            m = x.detach() * 3
        return x * m

    assert grad(f)(torch.tensor(2.0)) == 6
    x = torch.arange(3.0, requires_grad=True)
    assert torch.allclose(vmap(lambda v: torch.autograd.grad(v.sin(), v)[0])(x), x.cos())


def test_a_value_that_escapes_is_named():
    box = []
    fl.jit(lambda x: (box.append(x * 2), x)[1])(fl.ones(3))
    with pytest.raises(Exception, match=r"(?s)float32\[3\].*jit.*test_needs\.py"):
        box[0] + 1


def test_64_bits():
    assert torch.tensor([10**12]).item() == 10**12 and torch.tensor([10**12]).dtype is torch.int64
    assert torch.ones(2, dtype=torch.float64).dtype is torch.float64 and torch.ones(2).dtype is torch.float32
    assert (torch.arange(3) / 2).dtype is torch.float32 and torch.randn(3).argmax().dtype is torch.int64
    assert torch.searchsorted(torch.arange(5), torch.tensor([1])).dtype is torch.int64


def test_the_branch_not_taken_leaves_no_nan():
    assert torch.isfinite(grad(lambda x: torch.where(x > 0, x.sqrt(), 0.0))(torch.tensor(0.0)))
    assert grad(lambda x: x.norm())(torch.zeros(3)).tolist() == [0, 0, 0]


def test_integers_and_none_among_parameters():
    p = {"w": torch.ones(3), "step": torch.tensor(7), "name": None}
    g = grad(lambda p: (p["w"] ** 2).sum())(p)
    assert g["w"].tolist() == [2, 2, 2] and g["step"] is None


def test_jacobians_of_trees_in_chunks_with_aux():
    f = lambda p: {"l": p["a"] * 2, "r": p["a"].sum() * p["b"]}
    p = {"a": torch.ones(3), "b": torch.ones(2)}
    j, k = jacrev(f, chunk_size=1)(p), jacfwd(f)(p)
    assert torch.equal(j["r"]["a"], k["r"]["a"]) and j["r"]["b"].shape == (2, 2)
    j, aux = jacfwd(lambda x: (x.sin(), x.sum()), has_aux=True)(torch.zeros(2))
    assert aux == 0 and isinstance(hessian(lambda x: x.sin().sum())(torch.zeros(2)), torch.Tensor)


def test_trees_keep_order_none_and_what_is_no_array():
    d = fl.tree.map(lambda v: v, {"z": 1, "a": None})
    assert list(d) == ["z", "a"] and d["a"] is None
    assert list(fl.jit(lambda: {"b": 1, "a": 2})()) == ["b", "a"]
    assert fl.tree.map(lambda v: v + 1, {1: 7, "y": 42}) == {1: 8, "y": 43}
    assert fl.jit(lambda m: m["w"] * 2)({"w": 1.0, "act": fl.relu}).item() == 2.0


def test_a_training_step_with_state_compiles_as_it_is():
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)

    @torch.compile
    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    before = model[0].weight.clone()
    for _ in range(3):
        step(torch.tensor(np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)))
    assert not torch.equal(before, model[0].weight) and model[1].num_batches_tracked == 3
    assert int(optimizer.state[model[0].weight]["step"]) == 3 and len(step.programs) == 1

"""functorch_lite.torch: PyTorch's names are the very things below, and what is not there says so."""

import builtins
import importlib
import pkgutil
import sys
from types import ModuleType

import numpy as np
import pytest

import functorch_lite as fl
import functorch_lite.torch as torch
import functorch_lite.torch.nn.functional as F
from functorch_lite.core.op import Op
from functorch_lite.torch import nn, optim
from functorch_lite.torch.func import grad, vmap
from functorch_lite.torch.optim.lr_scheduler import StepLR
from functorch_lite.torch.utils import _pytree as pytree

MODULES = [m.name for m in pkgutil.walk_packages(torch.__path__, "functorch_lite.torch.") if not m.name.endswith("__main__")]


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_reached_by_attribute_too(name):
    module = importlib.import_module(name)
    found = torch
    for part in name.split(".")[2:]:
        found = getattr(found, part)
    assert found is module and module.__doc__


def test_names_are_those_below():
    assert torch.func.grad is fl.grad and torch.vmap is fl.vmap is vmap and torch.nn.functional.relu is fl.nn.functional.relu
    assert torch.matmul is fl.matmul and torch.linalg.svd is fl.linalg.svd and torch.fft.rfft is fl.fft.rfft
    assert torch.special.erf is fl.special.erf and torch.Tensor is fl.nn.Tensor and nn.Parameter is fl.nn.Parameter
    assert optim.SGD is torch.optim.SGD and torch.optim.Optimizer is torch.optim.optimizer.Optimizer


def test_no_name_is_pythons_own():
    """Where PyTorch has a name of Python's (`torch.sum`, `torch.float`), it is PyTorch's thing."""
    shared = [name for name in vars(builtins) if not name.startswith("_") and name in vars(torch)]
    assert {"abs", "all", "bool", "float", "int", "max", "sum"} <= set(shared)
    assert not [name for name in shared if getattr(torch, name) is getattr(builtins, name)]
    ops = [f for f in vars(torch).values() if isinstance(getattr(f, "op", None), Op)]
    assert len(ops) > 250 and torch.cat.op.qualname == "fl.cat"


def test_dtypes():
    names = "float double half long int short cfloat cdouble float32 float64 float16 int64 int32 int16 complex64 complex128".split()
    assert [getattr(torch, a) for a in names[:8]] == [getattr(torch, b) for b in names[8:]]
    assert torch.bool is fl.bool and isinstance(torch.float, torch.dtype) and torch.finfo(torch.float).max == np.finfo(np.float32).max
    assert torch.zeros(2).dtype is torch.get_default_dtype() is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.zeros(2).dtype is torch.tensor(1.0).dtype is torch.float64 and fl.zeros(2).dtype is fl.float32
    finally:
        torch.set_default_dtype(torch.float32)


def test_makers_give_tensors():
    for x in (
        torch.tensor([1.0]),
        torch.zeros(1),
        torch.arange(1),
        torch.rand(1),
        torch.eye(1),
        torch.full((1,), 2.0),
        torch.from_numpy(np.ones(1)),
    ):
        assert torch.is_tensor(x) and not isinstance(x, fl.Array)
    assert torch.is_floating_point(torch.ones(2)) and torch.numel(torch.ones(2, 3)) == 6 and not torch.is_complex(torch.ones(2))
    assert isinstance(torch.ones(2).shape, torch.Size)


def test_a_loop_as_pytorch_writes_it():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = optim.Adam(model.parameters(), lr=0.05)
    scheduler = StepLR(optimizer, 50, gamma=0.5)
    x = torch.randn(32, 2)
    y = (x[:, :1] * x[:, 1:]).detach()
    losses = []
    for _ in range(100):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0] and scheduler.get_last_lr() == [0.0125]
    with torch.no_grad():
        assert not model(x).requires_grad
    per_sample = vmap(grad(lambda x: model(x).sum()))(x)
    assert per_sample.shape == (32, 2)


def test_autograd():
    x = torch.tensor(3.0, requires_grad=True)
    (g,) = torch.autograd.grad(x**2, x, create_graph=True)
    assert g.item() == 6 and torch.autograd.grad(g, x)[0].item() == 2


def test_trees_have_none_as_a_leaf():
    leaves, spec = pytree.tree_flatten({"b": (1, None), "a": [2]})
    assert leaves == [1, None, 2] and pytree.tree_unflatten("xyz", spec) == {"b": ("x", "y"), "a": ["z"]}
    assert pytree.tree_map(lambda a, b: (a, b), [1, None], [None, 2]) == [(1, None), (None, 2)]
    assert pytree.tree_leaves([1, (2,)], is_leaf=lambda x: isinstance(x, tuple)) == [1, (2,)]
    assert pytree.tree_any(lambda x: x is None, [1, None]) and not pytree.tree_all(lambda x: x is None, [1, None])
    assert list(pytree.tree_iter((1, 2))) == [1, 2] and pytree.tree_structure([0]) == pytree.tree_structure([1])
    seen = []
    assert pytree.tree_map_(seen.append, [1, 2]) == [1, 2] and seen == [1, 2]


def test_a_class_becomes_a_node_for_transforms_too():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda children, context: Pair(*children))
    doubled = pytree.tree_map(lambda x: 2 * x, Pair(1, 2))
    assert (doubled.a, doubled.b) == (2, 4)
    g = grad(lambda p: p.a * p.b)(Pair(torch.tensor(2.0), torch.tensor(3.0)))
    assert (g.a.item(), g.b.item()) == (3, 2)


def test_devices():
    cpu = torch.device("cpu")
    assert torch.zeros(2, device=cpu).device == cpu and cpu == "cpu" and torch.device("cuda", 1) == torch.device("cuda:1")
    assert torch.device("cuda:1").index == 1 and cpu.index is None and repr(cpu) == "device(type='cpu')"
    assert not torch.cuda.is_available() and torch.cuda.device_count() == 0 and not torch.backends.mps.is_available()
    for bad in ("cuda:x", "", "cpu 0"):
        with pytest.raises(RuntimeError, match="expected a name"):
            torch.device(bad)
    with pytest.raises(RuntimeError, match="has an index already"):
        torch.device("cuda:0", 1)


def test_what_is_not_there_is_named():
    with pytest.raises(AttributeError, match="'no_such_op'"):
        torch.no_such_op  # noqa: B018
    with pytest.raises(ImportError, match="no_such_op"):
        from functorch_lite.torch import no_such_op  # noqa: F401
    with pytest.raises(RuntimeError, match="imported already"):
        install_over_another_torch()


def install_over_another_torch():
    before = sys.modules.get("torch")
    sys.modules["torch"] = ModuleType("torch")
    try:
        torch.install()
    finally:
        sys.modules.pop("torch")
        if before is not None:
            sys.modules["torch"] = before


def test_names_of_small_modules():
    """Modules of names only are easily emptied by a tool that removes what a file does not use."""
    import functorch_lite.torch as torch

    for path in (
        "nn.utils.clip_grad_norm_",
        "nn.utils.rnn.pack_sequence",
        "lstm",
        "lstm_cell",
        "nn.init.kaiming_uniform_",
        "nn.functional.linear",
        "func.functional_call",
        "random.manual_seed",
        "nn.parameter.Parameter",
    ):
        found = torch
        for name in path.split("."):
            found = getattr(found, name)
        assert callable(found)

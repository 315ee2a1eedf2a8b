"""`out=`: PyTorch's results written into tensors that are there already, of every op by one mechanism."""

import inspect
import re
import warnings

import numpy as np
import pytest

import functorch_lite as fl
import functorch_lite.torch as torch
from functorch_lite.core.array import Operable
from functorch_lite.core.face import Face
from functorch_lite.core.op import REGISTRY, Op
from functorch_lite.nn.inplace import InPlace
from functorch_lite.testing.calls import Call
from functorch_lite.testing.compare import numpy_of
from functorch_lite.testing.table import load_table

TABLE = load_table()
PUBLIC = {
    f.op.qualname
    for space in (torch, torch.linalg, torch.fft, torch.special)
    for f in vars(space).values()
    if isinstance(getattr(f, "op", None), Op) and f.op.view is None and f is f.op.function and f.op.qualname in TABLE
}


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_op_writes_what_it_returns(name):
    """Of the first sample of the op's row: the same tensors come back, with the results in them."""
    row = TABLE[name][0]
    dtype = row.dtypes[0]
    call = Call(row, row.samples(dtype)[0], dtype)
    args, named = call._filled(call.arrays)
    wanted = REGISTRY[name].function(*args, **named)
    several = isinstance(wanted, tuple)
    wanted = wanted if several else (wanted,)
    outs = [torch.empty(x.shape, dtype=x.dtype) for x in wanted]
    got = REGISTRY[name].function(*args, **named, out=outs if several else outs[0])
    assert all(a is b for a, b in zip(got if several else (got,), outs, strict=True))
    if REGISTRY[name].draws is None:
        for x, y in zip(outs, wanted):
            np.testing.assert_array_equal(numpy_of(x.array), numpy_of(y))


def test_there_are_many():
    assert len(PUBLIC) > 250


def test_of_another_dtype():
    x = torch.tensor([1, 2])
    out = torch.empty(2, dtype=torch.float64)
    assert torch.add(x, x, out=out) is out and out.tolist() == [2.0, 4.0] and out.dtype is torch.float64
    with pytest.raises(RuntimeError, match="add: result type float32 can't be cast to the desired output type int64"):
        torch.add(x, 0.5, out=x)
    with pytest.raises(RuntimeError, match="gather: Expected out tensor to have dtype int64, but got float64"):
        torch.gather(x, 0, x - 1, out=out)
    with pytest.raises(RuntimeError, match="sort: Expected out tensor to have dtype int64, but got float64"):
        torch.sort(x, out=(x, out))
    assert x.tolist() == [1, 2]  # nothing was written


def test_of_another_shape():
    x = torch.ones(2, 3)
    empty = torch.empty(0)
    assert torch.exp(x * 0, out=empty) is empty and empty.tolist() == x.tolist()
    with pytest.warns(UserWarning, match=r"resized since it had shape \[2, 3\], which does not match the required output shape \[3\]"):
        torch.sum(x, 0, out=empty)
    assert empty.tolist() == [2.0, 2.0, 2.0]
    view = torch.zeros(4)[:2]
    for call, out, result in ((lambda: torch.cat((x, x), out=view), view, [4, 3]), (lambda: torch.sum(x, 0, out=x), x, [3])):
        with pytest.raises(RuntimeError, match=re.escape(f"the out tensor has shape {list(out.shape)} and the result {result}")):
            call()
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.add(torch.ones(3), 1, out=torch.ones(1).expand(3))


def test_into_a_view_and_into_an_argument():
    base = torch.zeros(4)
    torch.add(torch.ones(2), 1, out=base[1:3])
    assert base.tolist() == [0.0, 2.0, 2.0, 0.0]
    assert torch.cumsum(base, 0, out=base) is base and base.tolist() == [0.0, 2.0, 4.0, 4.0]


def test_a_view_of_what_was_resized_says_so():
    base = torch.zeros(2, 3)
    view = base.t()
    with pytest.warns(UserWarning, match="resized"):
        torch.add(torch.ones(3), 1, out=base)
    with pytest.raises(RuntimeError, match=r"a view by t of shape \[3, 2\] is used after its base was resized"):
        view.tolist()


def test_where_arguments_must_lie_apart():
    """PyTorch's ops that move elements read what they have written already."""
    x = torch.ones(2, 3)
    for call in (lambda: torch.cat((torch.empty(0), x), out=x), lambda: torch.take(x, torch.ones(2, 3, dtype=torch.long), out=x)):
        with pytest.raises(
            RuntimeError, match="some elements of the input tensor and the written-to tensor refer to a single memory location"
        ):
            call()
    assert torch.cat((x[:1], x[1:]), out=torch.empty(0)).shape == (2, 3)


def test_what_tensors_need_for_it_hides_no_op():
    assert not [n for c in (Face, InPlace) for n in vars(c) if n in vars(Operable) and not n.startswith("_")]


def test_several_results_are_a_named_tuple():
    x = torch.tensor([3.0, 1.0])
    outs = torch.empty(0), torch.empty(0, dtype=torch.long)
    got = torch.sort(x, out=outs)
    assert got.values is outs[0] and got.indices is outs[1] and got.indices.tolist() == [1, 0]
    got = torch.max(x, 0, out=(torch.empty(()), torch.empty((), dtype=torch.long)))
    assert got.values.item() == 3.0 and got.indices.item() == 0
    assert torch.max(x, out=torch.empty(())).item() == 3.0 and torch.clamp_min(x, 2, out=x).tolist() == [3.0, 2.0]
    with pytest.raises(TypeError, match="must be a tuple of Tensors, one for each result, got Tensor"):
        torch.sort(x, out=x)
    with pytest.raises(TypeError, match="must be a tuple of 2 Tensors, got a tuple of 1 Tensors"):
        torch.sort(x, out=(x,))
    with pytest.raises(TypeError, match="must be a Tensor, got tuple"):
        torch.add(x, x, out=(x,))


def test_gradients_are_not_supported_as_in_pytorch():
    x = torch.ones(2)
    w = torch.ones(2, requires_grad=True)
    for call in (lambda: torch.mul(w, x, out=torch.empty(2)), lambda: torch.mul(x, x, out=w)):
        with pytest.raises(RuntimeError, match=r"mul\(\): functions with out=... arguments don't support automatic differentiation"):
            call()
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.func.grad(lambda v: torch.mul(v, v, out=torch.empty(2)).sum())(x)
    assert torch.eq(w, x, out=torch.empty(2, dtype=torch.bool)).tolist() == [True, True]  # has no derivative
    with torch.no_grad():
        torch.mul(w, 3, out=w)
    assert w.tolist() == [3.0, 3.0] and w.requires_grad and w.is_leaf


def test_arrays_are_immutable():
    x = fl.ones(2)
    with pytest.raises(TypeError, match=r"add: out= is written into, but float32\[2\] is an Array, which never changes: use what the call"):
        fl.add(x, x, out=x)
    with pytest.raises(TypeError, match="argument 'out' must be a Tensor, got int"):
        fl.add(x, x, out=3)


def test_it_is_given_by_name():
    x, out = torch.ones(2), torch.zeros(2)
    for more in ((out,), (out, out.clone())):
        with pytest.raises(TypeError, match=r"mul\(\) takes 2 positional arguments but more were given"):
            torch.mul(x, x, *more)
        with pytest.raises(TypeError, match=r"add\(\) takes 2 positional arguments but more were given"):
            torch.add(x, x, *more, alpha=2)
    assert out.tolist() == [0.0, 0.0] and "out" not in inspect.signature(torch.mul).parameters
    with pytest.raises(TypeError, match="unexpected keyword argument 'out'"):
        torch.reshape(x, (1, 2), out=x)  # a view: PyTorch has none there


def test_in_programs():
    def f(x):
        out = torch.empty(0)
        torch.add(x, 1, out=out)
        return torch.mul(out, 2, out=out)

    x = torch.tensor([1.0, 2.0, 3.0])
    assert torch.compile(f)(x).tolist() == torch.vmap(f)(x).tolist() == f(x).tolist() == [4.0, 6.0, 8.0]
    assert fl.make_fx(f)(x).code == "def forward(self, x):\n    add = fl.add(x, 1)\n    mul = fl.mul(add, 2)\n    return mul\n"
    kept = torch.zeros(3)
    torch.compile(lambda x: torch.sub(x, 1, out=kept))(x)
    assert kept.tolist() == [0.0, 1.0, 2.0]


def test_constructors_and_draws():
    out = torch.empty(0, dtype=torch.int32)
    assert torch.arange(3, out=out) is out and out.tolist() == [0, 1, 2] and out.dtype is torch.int32
    assert torch.ones(2, 2, out=torch.empty(2, 2)).tolist() == [[1.0, 1.0]] * 2
    with pytest.raises(RuntimeError, match=r"zeros: dtype int64 does not match dtype of out parameter \(int32\)"):
        torch.zeros(3, dtype=torch.int64, out=out)
    torch.manual_seed(3)
    wanted = torch.randn(3), torch.rand(2), torch.randint(5, (3,)), torch.randperm(4), torch.normal(torch.zeros(2), torch.ones(2))
    torch.manual_seed(3)
    assert torch.randn(3, out=torch.empty(3)).tolist() == wanted[0].tolist()
    assert torch.rand(2, out=torch.empty(0)).tolist() == wanted[1].tolist()
    assert torch.randint(5, (3,), out=torch.empty(0, dtype=torch.int64)).tolist() == wanted[2].tolist()
    assert torch.randperm(4, out=torch.empty(4, dtype=torch.float64)).tolist() == wanted[3].tolist()
    assert torch.normal(torch.zeros(2), torch.ones(2), out=torch.empty(2)).tolist() == wanted[4].tolist()
    assert torch.bernoulli(torch.ones(2), out=torch.empty(2)).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="rand: argument 'out' must be a Tensor, got int"):
        torch.rand(3, out=3)
    assert torch.nonzero(torch.tensor([0, 5]), out=torch.empty(0, dtype=torch.int64)).tolist() == [[1]]


def test_without_data():
    out = torch.empty(2, device="meta")
    x = torch.empty(2, device="meta")
    assert torch.add(x, x, out=out) is out
    with pytest.raises(RuntimeError, match="add: the result is on the device cpu, and cannot be written into an out tensor on meta"):
        torch.add(torch.ones(2), 1, out=out)

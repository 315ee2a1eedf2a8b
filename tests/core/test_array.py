"""Arrays: what they tell, how they go to Python, NumPy, jax and DLPack and come back, how they are shown; and what they refuse."""

import copy
import operator
import os
import pickle
import subprocess
import sys

import jax
import ml_dtypes
import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite.core.array import Array
from functorch_lite.core.dtype import ALL
from functorch_lite.errors import ConcretizationError, DonatedBufferError

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_description():
    x = fl.asarray(X)
    assert x.shape == (2, 3) == x.size() and x.size(-1) == 3 and x.ndim == x.dim() == 2 and x.numel() == 6
    assert x.dtype is fl.float32 and x.itemsize == x.element_size() == 4 and x.nbytes == 24
    assert x.is_floating_point() and not x.is_complex() and x.is_signed() and len(x) == 2
    assert x.device == "cpu"
    with pytest.raises(IndexError, match="float32\\[2,3\\], got 2"):
        x.size(2)
    with pytest.raises(TypeError, match="0-d"):
        len(fl.asarray(1.0))


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_numpy_and_back(dtype):
    values = np.array([0, 1, 1, 3]).astype(dtype.dtype)
    x = fl.asarray(values)
    assert x.dtype is dtype and x.buffer.dtype == dtype.dtype
    for back in (np.asarray(x), x.numpy(), np.array(x)):
        assert back.dtype == dtype.dtype
        np.testing.assert_array_equal(back, values)
    again = pickle.loads(pickle.dumps(x))
    assert again.dtype is dtype and again.buffer.dtype == dtype.dtype
    np.testing.assert_array_equal(np.asarray(again), values)
    assert x.tolist() == values.astype(np.float32 if dtype is fl.bfloat16 else values.dtype).tolist()


def test_numpy_memory_is_never_shared():
    source = X.copy()
    x = fl.asarray(source)
    source[0, 0] = 99
    assert x[0, 0].item() == 0
    with pytest.raises(ValueError, match="read-only"):
        x.numpy()[0, 0] = 1
    writable = np.array(x)
    writable[0, 0] = 7
    assert x[0, 0].item() == 0
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="copy"):
        np.asarray(x, dtype=np.float64, copy=False)


def test_ways_in():
    assert fl.asarray([1, 2]).dtype is fl.int64 and fl.asarray([1, 2.0]).dtype is fl.float32 and fl.asarray([True]).dtype is fl.bool
    assert fl.asarray(1j).dtype is fl.complex64 and fl.asarray([]).dtype is fl.float32 and fl.asarray([[], []]).shape == (2, 0)
    assert fl.asarray([1, 2], dtype="int8").dtype is fl.int8 and fl.asarray(range(3)).tolist() == [0, 1, 2]
    assert fl.asarray([np.float64(1), np.float64(2)]).dtype is fl.float64 and fl.asarray([fl.asarray(1), fl.asarray(2)]).tolist() == [1, 2]
    x = fl.asarray(X)
    assert fl.asarray(x) is x and fl.asarray(x.buffer).buffer is x.buffer
    assert fl.asarray(x, dtype=fl.int32).dtype is fl.int32
    with pytest.raises(ValueError, match="one shape at each depth"):
        fl.asarray([[1, 2], [3]])
    with pytest.raises(TypeError, match="got object"):
        fl.asarray(object())
    with pytest.raises(TypeError, match="is no dtype"):
        fl.asarray(np.array(["a"]))


def test_jax_and_dlpack():
    x = fl.asarray(X)
    assert jax.numpy.asarray(x).dtype == np.float32 and float(jax.numpy.sum(jax.numpy.asarray(x))) == 15
    for data in (np.arange(3), np.arange(3.0), np.arange(3, dtype=np.complex128)):
        y = fl.from_dlpack(data)
        assert y.buffer.dtype == data.dtype
        data[0] = 9
        assert y[0].item() == 0, "dlpack memory was shared"
        assert np.from_dlpack(y).dtype == data.dtype and np.from_dlpack(y)[1] == 1
    assert x.__dlpack_device__()[0] == 1
    with pytest.raises(TypeError, match="__dlpack__"):
        fl.from_dlpack([1, 2])


def test_torch_comes_and_goes():
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.int64, torch.float64, torch.bfloat16, torch.bool):
        t = torch.tensor([0, 1, 1]).to(dtype)
        x = fl.asarray(t)
        assert str(x.dtype) == str(dtype).removeprefix("torch.") and [float(v) for v in x.tolist()] == [0, 1, 1]
        t[0] = 1
        assert float(x[0]) == 0
        if dtype != torch.bool:
            assert torch.from_dlpack(x).dtype == dtype


def test_to_python():
    assert fl.asarray([2.5]).item() == 2.5 and float(fl.asarray(2.5)) == 2.5 and int(fl.asarray([3.9])) == 3
    assert complex(fl.asarray(1j)) == 1j and float(fl.asarray(2 + 0j)) == 2 and isinstance(fl.asarray(True).item(), bool)
    assert [1, 2, 3][fl.asarray(1)] == 2 and list(range(5))[fl.asarray(2) :] == [2, 3, 4] and operator.index(fl.asarray([True])) == 1
    assert isinstance(fl.asarray(1.5, dtype=fl.bfloat16).item(), float)
    with pytest.raises(RuntimeError, match="imaginary"):
        float(fl.asarray(1j))
    with pytest.raises(TypeError, match="integer Array"):
        operator.index(fl.asarray(1.0))
    with pytest.raises(TypeError, match="integer Array"):
        operator.index(fl.asarray([1, 2]))
    for convert in (int, float, complex, Array.item):
        with pytest.raises(RuntimeError, match="2 elements"):
            convert(fl.asarray([1, 2]))


def test_truth():
    assert fl.asarray([1.0]) and not fl.asarray(0) and fl.asarray(float("nan"))
    with pytest.raises(RuntimeError, match="Boolean value of Array with more than one value is ambiguous"):
        bool(fl.asarray([1, 2]))
    with pytest.raises(RuntimeError, match="no values is ambiguous"):
        bool(fl.asarray([]))


def test_identity():
    x, y = fl.asarray([1.0]), fl.asarray([1.0])
    assert len({x, y, x}) == 2 and hash(x) != hash(y) and copy.copy(x) is x and copy.deepcopy({"x": x})["x"] is x
    assert (x == y).tolist() == [True] and (x == "a") is False and (x != None) is True  # noqa: E711


def test_containing_and_iterating():
    x = fl.asarray([[1, 2], [3, 4]])
    assert 3 in x and 7 not in x and [row.tolist() for row in x] == [[1, 2], [3, 4]]
    with pytest.raises(RuntimeError, match="numbers and Arrays"):
        "a" in x  # noqa: B015
    with pytest.raises(TypeError, match="0-d"):
        iter(fl.asarray(1))
    a, b = fl.jit(lambda x: [2 * row for row in x])(x)
    assert a.tolist() == [2, 4] and b.tolist() == [6, 8]


def test_immutable():
    x = fl.asarray([1, 2])
    with pytest.raises(TypeError, match=r"x\.at\[index\]\.set"):
        x[0] = 5
    for name in ("shape", "dtype", "foo"):
        with pytest.raises(AttributeError):
            setattr(x, name, 1)
    y = x
    y += 1
    assert x.tolist() == [1, 2] and y.tolist() == [2, 3]


def test_shown():
    assert repr(fl.asarray([1.0, 2.5])) == "Array([1. , 2.5], dtype=float32)" == str(fl.asarray([1.0, 2.5]))
    assert repr(fl.asarray(3)) == "Array(3, dtype=int64)" and repr(fl.asarray([])) == "Array([], dtype=float32)"
    assert repr(fl.zeros((0, 2))) == "Array([], shape=(0, 2), dtype=float32)"
    assert repr(fl.asarray([[1, 2], [3, 4]])) == "Array([[1, 2],\n       [3, 4]], dtype=int64)"
    assert repr(fl.asarray([1.5]).to("bfloat16")) == "Array([1.5], dtype=bfloat16)"
    large = repr(fl.zeros((200, 300)))
    assert "..." in large and "shape=(200, 300), dtype=float32" in large and len(large) < 1000
    assert f"{fl.asarray(1.5):.3f}" == "1.500" and f"{fl.asarray(7)}" == "7" and f"{fl.asarray([2]):03d}" == "002"
    assert f"{fl.asarray([1, 2])}" == "Array([1, 2], dtype=int64)"
    with pytest.raises(TypeError, match="'.2f' for a float32\\[2\\]"):
        f"{fl.asarray([1.0, 2.0]):.2f}"


def test_traced_values():
    seen = []
    fl.jit(lambda x: seen.append((repr(x), f"{x}", x.shape, x.device)) or x)(fl.asarray(X))
    assert seen[0][0] == seen[0][1] == "Traced(float32[2,3], jit(<lambda>))" and seen[0][2:] == ((2, 3), None)
    for use in (bool, int, float, np.asarray, operator.index, Array.tolist, pickle.dumps, lambda x: f"{x:.2f}"):
        with pytest.raises(ConcretizationError, match="int64\\[\\] value inside jit"):
            fl.jit(lambda x, use=use: use(x))(fl.asarray(1))
    with pytest.raises(ConcretizationError, match="vmap"):
        fl.vmap(lambda x: x if x > 0 else -x)(fl.asarray([1.0, -1.0]))
    with pytest.raises(RuntimeError, match="ambiguous"):
        fl.jit(lambda x: bool(x))(fl.asarray([1, 2]))


def test_values_inside_grad_and_jvp():
    def f(x):
        if x > 1:
            return x * float(x)
        return x

    assert (
        fl.grad(f)(3.0).item() == 3 and fl.grad(f)(0.5).item() == 1 and fl.grad(fl.grad(lambda x: x**3 if x > 0 else x))(2.0).item() == 12
    )
    assert fl.jvp(f, (3.0,), (1.0,))[1].item() == 3
    assert fl.grad(lambda x: (x * np.asarray(x)).sum())(fl.asarray([1.0, 2.0])).tolist() == [1, 2]


def test_donated():
    x = fl.asarray(X)
    y = fl.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted() and not y.is_deleted() and y[0, 0].item() == 1
    assert repr(x) == "Array(donated, shape=(2, 3), dtype=float32)"
    for use in (lambda: x + 1, lambda: np.asarray(x), lambda: x.sum(), x.tolist, x.block_until_ready):
        with pytest.raises(DonatedBufferError, match="float32\\[2,3\\] Array was used after .* donate_argnums"):
            use()


def test_block_until_ready():
    tree = {"a": fl.asarray(X) @ fl.asarray(X.T), "b": [1, None]}
    assert fl.block_until_ready(tree) is tree and fl.asarray(X).block_until_ready().shape == (2, 3)
    assert fl.jit(lambda x: fl.block_until_ready(x) + 1)(1.0).item() == 2


# ---------------------------------------------------------------------------------------------------------- operators

BINARY = "add sub mul truediv floordiv mod pow matmul lt le gt ge eq ne".split()
BITS = "and_ or_ xor lshift rshift".split()


@pytest.mark.parametrize("name", BINARY + BITS)
def test_operators(name):
    f = getattr(operator, name)
    kind = np.int64 if name in BITS else np.float64
    a, b = np.array([5, -3, 2], kind), np.array([2, 2, 3], kind)
    for x, y in ((fl.asarray(a), fl.asarray(b)), (fl.asarray(a), b), (a, fl.asarray(b))):
        out = f(x, y)
        assert out.__class__ is Array
        np.testing.assert_allclose(np.asarray(out), f(a, b))
    if name != "matmul":
        np.testing.assert_allclose(np.asarray(f(fl.asarray(a), 3)), f(a, 3))
        np.testing.assert_allclose(np.asarray(f(7, fl.asarray(b))), f(7, b))


def test_unary_operators():
    x = fl.asarray([1, -2])
    assert (-x).tolist() == [-1, 2] and (+x).tolist() == [1, -2] and abs(x).tolist() == [1, 2] and (~x).tolist() == [-2, 1]
    assert (~fl.asarray([True, False])).tolist() == [False, True] and [v.tolist() for v in divmod(x, 2)] == [[0, -1], [1, 0]]


def test_operators_of_others():
    class Other:
        def __radd__(self, x):
            return "theirs"

    x = fl.asarray([1.0])
    assert x + Other() == "theirs"
    for use in (lambda: x + [1], lambda: x + None, lambda: x + "a", lambda: x < "a", lambda: x @ 2, lambda: "a" * x):
        with pytest.raises(TypeError):
            use()
    mask = fl.asarray([True])
    for use in (lambda: mask - mask, lambda: 1 - mask, lambda: mask - True, lambda: -mask, lambda: +mask):
        with pytest.raises(RuntimeError, match="bool"):
            use()
    with pytest.raises(TypeError, match="invert"):
        ~x  # noqa: B018
    for use in (lambda: fl.asarray([1]) // 0, lambda: fl.asarray([1]) % 0):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            use()
    with pytest.raises(RuntimeError, match="negative integer powers"):
        fl.asarray([2]) ** -1


# ----------------------------------------------------------------------------------------------- the user's own jax

ALONE = """
import warnings
import jax, jax.numpy as jnp, numpy as np
warnings.simplefilter("error")
settings = dict(jax.config.values)
def theirs():
    return [str(x.dtype) for x in (jnp.arange(2), jnp.ones(2) * 2.0, jnp.ones(2), jax.jit(lambda x: x + 1)(1))]
before = theirs()
import functorch_lite as fl
import pickle
x = fl.asarray([1, 2]) * 3 + fl.arange(2)
y = fl.asarray(np.linspace(0, 1, 3))
assert x.dtype == fl.int64 == x.buffer.dtype and x.tolist() == [3, 7], x
assert fl.grad(lambda y: (y**2).sum())(y).dtype is fl.float64
assert fl.jit(lambda a: a.sum() + 2**40)(x).item() == 10 + 2**40
assert fl.vmap(lambda a: a + 1)(x).buffer.dtype == np.int64
assert pickle.loads(pickle.dumps(y)).buffer.dtype == np.float64 and fl.from_dlpack(np.arange(3)).buffer.dtype == np.int64
assert y.to("cpu").buffer.dtype == np.float64 and fl.asarray(2**40).item() == 2**40
assert theirs() == before, (before, theirs())
assert dict(jax.config.values) == settings, "a global setting of jax was changed"
"""


@pytest.mark.parametrize("x64", ["0", "1"])
def test_jax_is_left_alone(x64):
    done = subprocess.run(
        [sys.executable, "-c", ALONE], capture_output=True, text=True, check=False, env=os.environ | {"JAX_ENABLE_X64": x64}
    )
    assert done.returncode == 0, done.stderr


def test_half_precision_values_are_numpy_readable():
    x = fl.asarray([1.5, 2.5]).to(fl.bfloat16)
    assert x.numpy().dtype == ml_dtypes.bfloat16 and x.to(fl.float16).numpy().dtype == np.float16

"""Dtypes: names, limits, and promotion, exhaustively against a table (PyTorch's rules) and against PyTorch where it is installed."""

import itertools
import pickle

import ml_dtypes
import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite.core.dtype import ALL, BOOL, COMPLEX, FLOAT, INTEGER, as_dtype, result_dtype

# What PyTorch promotes two dtypes to; rows and columns in this order, "-" where it is not defined.
ORDER = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
TABLE = """
b1  u1  i1  i2  i4  i8  f2  bf  f4  f8  c8  c16
u1  u1  i2  i2  i4  i8  f2  bf  f4  f8  c8  c16
i1  i2  i1  i2  i4  i8  f2  bf  f4  f8  c8  c16
i2  i2  i2  i2  i4  i8  f2  bf  f4  f8  c8  c16
i4  i4  i4  i4  i4  i8  f2  bf  f4  f8  c8  c16
i8  i8  i8  i8  i8  i8  f2  bf  f4  f8  c8  c16
f2  f2  f2  f2  f2  f2  f2  f4  f4  f8  c8  c16
bf  bf  bf  bf  bf  bf  f4  bf  f4  f8  c8  c16
f4  f4  f4  f4  f4  f4  f4  f4  f4  f8  c8  c16
f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  c16 c16
c8  c8  c8  c8  c8  c8  c8  c8  c8  c16 c8  c16
c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16
"""
SHORT = dict(zip("b1 u1 i1 i2 i4 i8 f2 bf f4 f8 c8 c16".split(), ORDER))
PROMOTED = {(a, b): SHORT[name] for a, row in zip(ORDER, TABLE.split("\n")[1:-1]) for b, name in zip(ORDER, row.split())}


def test_the_table_is_whole_and_symmetric():
    assert len(PROMOTED) == len(ORDER) ** 2
    assert all(PROMOTED[a, b] == PROMOTED[b, a] for a, b in PROMOTED)


@pytest.mark.parametrize("a", ORDER)
def test_pairs(a):
    for b in ORDER:
        assert fl.promote_types(a, b) is as_dtype(PROMOTED[a, b]), (a, b)


def test_unsigned_pairs():
    names = ("uint16", "uint32", "uint64")
    for a, b in itertools.product(names, names):
        assert fl.promote_types(a, b) is as_dtype(max(a, b))
    for a in names:
        assert fl.promote_types(a, "uint8") is as_dtype(a) is fl.promote_types(a, "bool") and fl.promote_types(a, "float32") is fl.float32
        for b in ("int8", "int16"):
            with pytest.raises(TypeError, match=f"{b}|{a}"):
                fl.promote_types(a, b)
    assert fl.promote_types("uint16", "int32") is fl.int32 and fl.promote_types("uint32", "int64") is fl.int64


def test_against_torch():
    torch = pytest.importorskip("torch")
    for a, b in itertools.product(ORDER, ORDER):
        expected = torch.promote_types(getattr(torch, a), getattr(torch, b))
        assert str(expected) == f"torch.{fl.promote_types(a, b).name}", (a, b)


def expected_of_tiers(high, low):
    """A lower tier changes a higher one only by its category; a complex one keeps the precision of a float."""
    a, b = as_dtype(high), as_dtype(low)
    if b.category <= a.category:
        return a
    if b.is_complex and a.is_floating_point:
        return a.to_complex()
    return b


@pytest.mark.parametrize("high", ORDER)
def test_dimensions_before_none(high):
    """An array with dimensions and a 0-dim one."""
    for low in ORDER:
        x, y = fl.zeros(2, dtype=high), fl.zeros((), dtype=low)
        assert fl.result_type(x, y) is fl.result_type(y, x) is expected_of_tiers(high, low), (high, low)


@pytest.mark.parametrize("name", ORDER)
def test_arrays_before_numbers(name):
    for number, default in ((True, fl.bool), (2, fl.int64), (2.0, fl.float32), (2j, fl.complex64)):
        for x in (fl.zeros(2, dtype=name), fl.zeros((), dtype=name)):
            assert fl.result_type(x, number) is fl.result_type(number, x) is expected_of_tiers(name, default), (x, number)


def test_numbers_alone():
    assert [fl.result_type(*xs) for xs in ((True,), (1,), (True, 1), (1, 2.0), (1.0, 1j))] == [
        fl.bool,
        fl.int64,
        fl.int64,
        fl.float32,
        fl.complex64,
    ]


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_tiers_against_torch():
    torch = pytest.importorskip("torch")

    def agree(theirs, *tiers):
        if theirs.dtype is not torch.complex32:  # which we do not have: complex64 takes its place
            assert str(theirs.dtype) == f"torch.{result_dtype(*tiers).name}", tiers

    for a, b in itertools.product(ORDER, ORDER):
        x, y, high, low = torch.zeros(2, dtype=getattr(torch, a)), torch.zeros((), dtype=getattr(torch, b)), as_dtype(a), as_dtype(b)
        agree(x * y, high, low, None)
        for number in (True, 2, 2.0, 2j):
            agree(x * number, high, None, as_dtype(type(number)).category)
            agree(y * number, None, low, as_dtype(type(number)).category)


@pytest.mark.parametrize("f", ["traced", "eager"])
def test_numbers_stay_exact_and_weak(f):
    """A Python number yields to arrays whether it is known or traced, and is not rounded on the way."""
    run = fl.jit(lambda x, n: x + n) if f == "traced" else lambda x, n: x + n
    assert run(fl.zeros(2, dtype=fl.int8), 3).dtype is fl.int8 and run(fl.zeros(2, dtype=fl.float16), 3.0).dtype is fl.float16
    assert run(fl.zeros(2, dtype=fl.int32), 1.5).dtype is fl.float32 and run(fl.zeros(2, dtype=fl.float64), 1j).dtype is fl.complex128
    assert run(fl.zeros((), dtype=fl.int64), 2**53 + 1).item() == 2**53 + 1
    assert run(fl.zeros(1, dtype=fl.float64), 0.1).tolist() == [0.1]
    assert run(fl.asarray([1], dtype=fl.uint8), -1).tolist() == [0]


def test_integers_in_float_functions():
    for name in ("int64", "int32", "uint8", "bool"):
        x = fl.ones(2, dtype=name)
        assert fl.sin(x).dtype is (x / x).dtype is (x / 2).dtype is fl.float32 and (x * 2.5).dtype is fl.float32
        assert fl.sum(x).dtype is fl.int64 and fl.cumsum(x, 0).dtype is fl.int64 and fl.prod(x).dtype is fl.int64
        with pytest.raises(RuntimeError, match=f"{name}\\[2\\]"):
            fl.mean(x)
    assert fl.any(fl.ones(2, dtype=fl.uint8)).dtype is fl.uint8 and fl.any(fl.ones(2)).dtype is fl.bool
    assert fl.argmax(fl.ones(2)).dtype is fl.int64


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_one_dtype(dtype):
    assert (
        as_dtype(dtype.name)
        is as_dtype(dtype.dtype)
        is as_dtype(np.zeros(1, dtype.dtype).dtype)
        is pickle.loads(pickle.dumps(dtype))
        is dtype
    )
    assert dtype == dtype.dtype and dtype == dtype.dtype.type and hash(dtype) == hash(dtype.dtype) and str(dtype) == dtype.name
    assert np.zeros(2, dtype).dtype == dtype.dtype and dtype.itemsize == dtype.dtype.itemsize
    assert (dtype.category == BOOL) == (dtype is fl.bool) and dtype.is_inexact == (dtype.category in (FLOAT, COMPLEX))
    assert dtype.is_complex == (dtype.category == COMPLEX) and dtype.to_real().is_complex is False and dtype.to_complex().is_complex
    assert dtype.category == INTEGER or dtype.name[0] in "bfc"


def test_names_and_limits():
    assert [as_dtype(x) for x in ("float", "double", "half", "long", "int", float, int, bool, complex)] == [
        fl.float32, fl.float64, fl.float16, fl.int64, fl.int32, fl.float32, fl.int64, fl.bool, fl.complex64,
    ]  # fmt: skip
    assert fl.finfo(fl.float32).eps == np.finfo(np.float32).eps and fl.finfo("bfloat16").max == ml_dtypes.finfo(ml_dtypes.bfloat16).max
    assert fl.finfo(fl.complex64).max == np.finfo(np.float32).max and fl.iinfo("int8").max == 127 and fl.iinfo(fl.uint64).max == 2**64 - 1
    for f, bad in ((fl.finfo, "int32"), (fl.iinfo, "float32"), (fl.iinfo, "bool")):
        with pytest.raises(TypeError, match=bad):
            f(bad)
    with pytest.raises(TypeError, match="is no dtype of functorch_lite; there are bool, uint8"):
        as_dtype("float13")

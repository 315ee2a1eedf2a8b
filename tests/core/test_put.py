"""From NumPy to jax: the quick call and the public one give the same arrays."""

from __future__ import annotations

import jax
import ml_dtypes
import numpy as np
import pytest

from functorch_lite.core import array

DATA = {
    "scalar": np.float64(1.5),
    "int64": np.arange(3) + 2**40,
    "uint64": np.array([2**63 + 1], np.uint64),
    "complex128": np.array([1e300 + 1j]),
    "bool": np.array([True, False]),
    "bfloat16": np.arange(3).astype(ml_dtypes.bfloat16),
    "empty": np.zeros((0, 2), np.float32),
    "columns first": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "strided": np.arange(12)[::2].reshape(2, 3).T,
    "reversed": np.arange(5)[::-1],
    "broadcast": np.broadcast_to(np.arange(3), (2, 3)),
    "unaligned": np.frombuffer(b"x" + np.arange(4, dtype=np.float32).tobytes(), np.float32, offset=1),
}


@pytest.fixture(params=["quick", "public"])
def road(request, monkeypatch):
    if request.param == "public":
        monkeypatch.setattr(array, "_quick", lambda: None)
    elif array._quick() is None:
        pytest.skip("this jax has no quick call")
    return request.param


def test_the_versions_that_are_tested_have_the_quick_call():
    assert array._quick() is not None


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("make", [array.put, array.constant])
def test_the_data(road, make, name):
    data = DATA[name]
    found = make(data)
    assert isinstance(found, jax.Array) and found.dtype == data.dtype and found.shape == data.shape and not found.weak_type
    np.testing.assert_array_equal(np.asarray(found), data)
    assert found.committed is (make is array.put) and found.devices() == {jax.local_devices()[0]}


@pytest.mark.parametrize("make", [array.put, array.constant])
def test_it_is_a_copy(road, make):
    data = np.zeros(1000, np.float32)
    found = make(data)
    data[:] = 1
    assert np.asarray(found).sum() == 0


def test_it_can_be_given_away(road):
    x = array.put(np.arange(4.0, dtype=np.float32))
    y = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert np.asarray(y).tolist() == [1, 2, 3, 4]


def test_while_jax_traces(road):
    """A constant made in the middle of a lowering is no traced value (by the quick call)."""
    made = []
    jax.jit(lambda x: made.append(array.constant(np.arange(3))) or x).lower(np.float32(1))
    assert road == "public" or not isinstance(made[0], jax.core.Tracer)

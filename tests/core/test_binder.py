"""The function of an op: one object, whose code is made at its first call."""

from __future__ import annotations

import inspect
import os
import pickle
import subprocess
import sys
import threading

import pytest

import functorch_lite as fl
from functorch_lite.core.op import REGISTRY, Tensor, composite


@pytest.fixture
def scaled():
    @composite(namespace="test")
    def scaled(input: Tensor, by: float = 2.0, *, times: int = 1) -> Tensor:
        """input * by, repeatedly."""
        for _ in range(times):
            input = input * by
        return input

    yield scaled
    del REGISTRY["test.scaled"]


def test_python_sees_the_function_before_it_has_run(scaled):
    assert scaled.__name__ == scaled.__qualname__ == "scaled"
    assert scaled.__doc__ == scaled.op.doc == "input * by, repeatedly."
    assert list(inspect.signature(scaled).parameters) == ["input", "by", "times"]
    assert inspect.signature(scaled) == scaled.op.signature
    assert scaled.op.tensors == ["input"] and scaled.op.statics == ["by", "times"]


def test_it_is_the_same_object_after_its_first_call(scaled):
    kept, first = scaled, scaled.__code__
    assert scaled(fl.asarray([1.0]), times=2).tolist() == [4.0]
    assert scaled is kept is scaled.op.function and scaled.__code__ is not first
    assert kept(fl.asarray([1.0]), 3.0).tolist() == [3.0]


def test_it_is_a_method_where_it_stands_in_a_class(scaled):
    holder = type("Holder", (), {"scaled": scaled, "__array__": lambda self, dtype=None, copy=None: fl.asarray([1.0]).__array__()})()
    assert holder.scaled(by=5.0).tolist() == [5.0]
    assert holder.scaled(by=6.0).tolist() == [6.0]


def test_wrong_first_calls_say_what_later_ones_say(scaled):
    said = []
    for _ in range(2):
        with pytest.raises(TypeError, match=r"scaled\(\) missing 1 required positional argument: 'input'") as caught:
            scaled()
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_first_calls_from_many_threads(scaled):
    together, out = threading.Barrier(8), []

    def run():
        together.wait()
        out.append(scaled(fl.asarray([1.0]), times=3).tolist())

    threads = [threading.Thread(target=run) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert out == [[8.0]] * 8


def test_an_op_is_found_again_in_a_process_that_has_not_used_its_part_of_the_library():
    import functorch_lite.optim  # noqa: F401

    op = next(op for op in REGISTRY.values() if op.file.startswith("optim"))
    code = "import sys, pickle, functorch_lite; assert 'functorch_lite.optim' not in sys.modules; print(pickle.load(sys.stdin.buffer))"
    out = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(op), capture_output=True, env=dict(os.environ), check=True)
    assert out.stdout.decode().strip() == repr(op)


def test_importing_starts_no_device_and_leaves_for_later_what_few_need():
    code = (
        "import sys, functorch_lite\n"
        "from jax._src import xla_bridge\n"
        "print([m for m in ('attr', 'scipy', 'functorch_lite.nn', 'functorch_lite.optim') if m in sys.modules], dict(xla_bridge._backends))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert out.stdout.decode().strip() == "[] {}"

"""Launching an executable by the calls that are half private, and by the public one where they are missing: the same results."""

from __future__ import annotations

import signal

import jax
import numpy as np
import pytest

from functorch_lite.xla import launch

X, Y = np.arange(3, dtype=np.float32), np.full(3, 5, np.float32)


@pytest.fixture(params=["direct", "public"])
def road(request, monkeypatch):
    if request.param == "public":
        monkeypatch.setattr(launch, "_consume", lambda: None)
    elif launch._consume() is None:
        pytest.skip("this jax has no direct calls")
    return request.param


def compiled(f, donate=()):
    return jax.jit(f, donate_argnums=donate).lower(X, Y).compile()


def arrays(*xs):
    return [jax.device_put(np.array(x)) for x in xs]


FUNCTIONS = {
    "all inputs": (lambda x, y: (x + y, x * y), [X + Y, X * Y]),
    "one of the inputs": (lambda x, y: (-y,), [-Y]),
    "none of the inputs": (lambda x, y: (np.float32(3),), [np.float32(3)]),
    "no result": (lambda x, y: (), []),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_results(road, name):
    f, expected = FUNCTIONS[name]
    executable, box = compiled(f), []
    found = launch.launcher(executable)(arrays(X, Y))
    launch.keeper(executable)(arrays(X, Y), box)
    for outs in (found, *box):
        assert len(outs) == len(expected) and all(isinstance(x, jax.Array) for x in outs)
        for a, b in zip(outs, expected):
            np.testing.assert_array_equal(np.asarray(a), b)
    assert len(box) == 1


def test_the_direct_road_is_taken_where_jax_has_it():
    """The versions of jax that are tested all have it: if this fails, calls have become slower."""
    assert launch._consume() is not None
    assert not launch.one_place() or launch._parts(compiled(lambda x, y: x + y)) is not None


def test_donated_inputs_are_deleted(road):
    x, y = arrays(X, Y)
    [out] = launch.launcher(compiled(lambda x, y: (x + y,), donate=(0,)))([x, y])
    assert x.is_deleted() and not y.is_deleted() and np.asarray(out).tolist() == (X + Y).tolist()


def test_an_executable_that_calls_python_goes_the_public_road(road):
    seen = []

    def f(x, y):
        jax.debug.callback(lambda v: seen.append(v.tolist()), x)
        return (x + y,)

    executable = compiled(f)
    assert launch._parts(executable) is None
    [out] = launch.launcher(executable)(arrays(X, Y))
    jax.effects_barrier()
    assert np.asarray(out).tolist() == (X + Y).tolist() and seen == [X.tolist()]


def test_64_bits_outside_of_jax_x64(road):
    with jax.enable_x64(True):
        x = jax.device_put(np.arange(3) + 2**40)
        executable = jax.jit(lambda x: (x + 1,)).lower(x).compile()
    [out] = launch.launcher(executable)([x])
    assert np.asarray(out).tolist() == [2**40 + 1, 2**40 + 2, 2**40 + 3]


@pytest.mark.skipif(not hasattr(signal, "setitimer") or launch._consume() is None, reason="needs POSIX timers and the direct road")
def test_a_signal_cannot_come_between():
    """A Ctrl-C at any moment of a call: either the inputs are still there, or the results are."""
    run = launch.keeper(compiled(lambda x, y: (x + 1,), donate=(0,)))
    [value, y], box, armed, stopped = arrays(X, Y), [], [], 0

    class Stop(BaseException):
        pass

    def stop(*_):
        if armed:
            armed.clear()
            raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    try:
        for i in range(2000):
            try:
                armed.append(True)
                signal.setitimer(signal.ITIMER_REAL, 1e-6 * (1 + i % 100))
                run([value, y], box)
                armed.clear()
            except Stop:
                stopped += 1
            if box:
                [[value]] = box
                box.clear()
            assert not value.is_deleted()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert stopped

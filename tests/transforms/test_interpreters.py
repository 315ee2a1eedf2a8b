"""The stack: values that belong to one interpreter, leaks, exceptions, threads, memory, and the user's own jax."""

import gc
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite.core.interpreter import STATE, Traced, body, current
from functorch_lite.errors import ConcretizationError, LeakedValueError
from functorch_lite.transforms.linearize import Equation
from functorch_lite.xla import EVAL

HERE = Path(__file__).name


@pytest.fixture(autouse=True)
def the_stack_is_clean():
    """Whatever a test does, the bottom is current before and after it."""
    assert body(current()) is EVAL
    yield
    assert body(current()) is EVAL and not STATE.leak_check


def f64(x):
    return fl.asarray(np.asarray(x, np.float64))


def number(x):
    return np.asarray(x).item()


# ------------------------------------------------------------------------------------------- perturbation confusion


def test_nested_derivatives_do_not_mix_their_perturbations():
    # d/dx [x * d/dy (x + y)] = d/dx [x * 1] = 1; confusing the two perturbations gives 2
    assert number(fl.grad(lambda x: x * fl.grad(lambda y: x + y)(2.0))(1.0)) == 1
    forward = fl.jvp(lambda x: x * fl.jvp(lambda y: x + y, (2.0,), (1.0,))[1], (1.0,), (1.0,))[1]
    assert number(forward) == 1


@pytest.mark.parametrize("outer", ["grad", "jvp"])
@pytest.mark.parametrize("inner", ["grad", "jvp"])
def test_inner_derivative_treats_outer_values_as_constants(outer, inner):
    def derivative(kind, f, x):
        return fl.grad(f)(x) if kind == "grad" else fl.jvp(f, (x,), (fl.asarray(1.0),))[1]

    # d/dx [x * d/dy (x * y**2) at y = x] = d/dx 2x**3 = 6x**2
    got = derivative(outer, lambda x: x * derivative(inner, lambda y: x * y * y, x), fl.asarray(3.0))
    assert number(got) == 54


def test_a_derivative_of_a_constant_in_an_outer_value_is_zero():
    assert number(fl.grad(lambda x: fl.grad(lambda y: x * x)(1.0) + x)(5.0)) == 1


def test_third_derivative_by_nesting():
    third = fl.grad(fl.grad(fl.grad(lambda x: x * x * x * x)))
    assert number(third(2.0)) == 48


def test_vmap_inside_grad_inside_vmap_keeps_the_rows_apart():
    xs = f64([1.0, 2.0, 3.0])

    def loss(x):
        return (fl.vmap(lambda y: x * y * y)(xs)).sum()

    np.testing.assert_allclose(np.asarray(fl.vmap(fl.grad(loss))(xs)), [14.0] * 3)
    np.testing.assert_allclose(np.asarray(fl.grad(lambda x: fl.vmap(fl.grad(lambda y: x * y * y * y))(xs).sum())(f64(2.0))), 3 * 14.0)


# ------------------------------------------------------------------------------------------------------------- leaks

KEPT = []
GLOBAL = None


class Box:
    value = None


def into_list(x):
    KEPT[:] = [x * 2]
    return x * x


def into_attribute(x):
    Box.value = x * 2
    return x * x


def into_global(x):
    global GLOBAL
    GLOBAL = x * 2
    return x * x


TRANSFORMS = {
    "grad": lambda f: fl.grad(f)(3.0),
    "vjp": lambda f: fl.vjp(f, 3.0)[1](1.0),
    "jvp": lambda f: fl.jvp(f, (3.0,), (1.0,)),
    "vmap": lambda f: fl.vmap(f)(fl.asarray([3.0, 4.0])),
    "jit": lambda f: fl.jit(f)(fl.asarray(3.0)),
    "make_fx": lambda f: fl.make_fx(f)(fl.asarray(3.0)),
    "linearize": lambda f: fl.linearize(f, 3.0),
}


@pytest.mark.parametrize("kind", TRANSFORMS)
@pytest.mark.parametrize("f, take", [(into_list, lambda: KEPT[0]), (into_attribute, lambda: Box.value), (into_global, lambda: GLOBAL)])
def test_a_value_used_after_its_transform_raises(kind, f, take):
    TRANSFORMS[kind](f)
    leaked = take()
    with pytest.raises(LeakedValueError) as caught:
        leaked + 1
    message = str(caught.value)
    line = f.__code__.co_firstlineno + (2 if f is into_global else 1)
    assert f.__name__ in message and kind in message, "names the transformed function"
    assert "float32[]" in message, "names shape and dtype"
    assert re.search(rf"{re.escape(HERE)}:{line}\b", message), f"names the line {line} that made it: {message}"
    assert "Return it as an output" in message, "says the way out"


@pytest.mark.parametrize(
    "use",
    {
        "grad": lambda x: fl.grad(lambda y: y * x)(1.0),
        "vmap": lambda x: fl.vmap(lambda y: y * x)(fl.asarray([1.0])),
        "jit": lambda x: fl.jit(lambda y: y * x)(1.0),
        "jvp": lambda x: fl.jvp(lambda y: y * x, (1.0,), (1.0,)),
        "an output": lambda x: fl.grad(lambda y: x)(1.0),
        "an argument": lambda x: fl.grad(lambda y: y * y)(x),
        "a jitted argument": lambda x: fl.jit(lambda y: y * y)(x),
        "numpy": np.asarray,
        "float": float,
        "bool": bool,
        "item": lambda x: x.item(),
        "buffer": lambda x: x.buffer,
    }.items(),
    ids=lambda pair: pair[0],
)
def test_a_leaked_value_raises_wherever_it_is_used(use):
    fl.grad(into_list)(3.0)
    with pytest.raises(LeakedValueError, match=r"grad\(into_list\)"):
        use[1](KEPT[0])


def test_a_value_of_an_outer_transform_may_be_used_inside():
    """Not a leak: it is a constant of the inner transform, as long as the outer one runs."""
    assert number(fl.grad(lambda x: fl.jit(lambda y: x * y)(x))(3.0)) == 6


def test_a_dead_value_shows_that_it_is_dead():
    fl.grad(into_list)(3.0)
    assert "dead" in repr(KEPT[0])


@pytest.mark.parametrize("kind", TRANSFORMS)
def test_checking_leaks_reports_what_survives(kind):
    with pytest.raises(LeakedValueError, match=rf"{kind}\(into_list\) are still held.*{re.escape(HERE)}") as caught, fl.checking_leaks():
        TRANSFORMS[kind](into_list)
    assert "Return them as outputs" in str(caught.value)
    KEPT.clear()


@pytest.mark.parametrize("kind", TRANSFORMS)
def test_checking_leaks_is_silent_without_a_leak(kind):
    with fl.checking_leaks():
        TRANSFORMS[kind](lambda x: (x * x + 1) * x)


# -------------------------------------------------------------------------------------------------------- exceptions


class Oops(Exception):
    pass


def raising(x):
    x * 2
    raise Oops


ANYWHERE = TRANSFORMS | {
    "value_and_grad": lambda f: fl.value_and_grad(f)(3.0),
    "hessian": lambda f: fl.hessian(f)(3.0),
    "jacfwd": lambda f: fl.jacfwd(f)(3.0),
    "jacrev": lambda f: fl.jacrev(f)(3.0),
    "checkpoint": lambda f: fl.grad(fl.checkpoint(f))(3.0),
    "eval_shape": lambda f: fl.eval_shape(f, 3.0),
    "grad of jit of vmap": lambda f: fl.grad(lambda x: fl.jit(fl.vmap(f))(x).sum())(fl.asarray([1.0, 2.0])),
    "vmap of grad": lambda f: fl.vmap(fl.grad(f))(fl.asarray([1.0, 2.0])),
    "jit of grad of jit": lambda f: fl.jit(fl.grad(fl.jit(f)))(3.0),
    "scan": lambda f: fl.scan(lambda c, x: (f(c), x), 1.0, fl.asarray([1.0, 2.0])),
    "cond": lambda f: fl.cond(fl.asarray(True), f, lambda x: x, 3.0),
    "while_loop": lambda f: fl.while_loop(lambda x: x < 10, f, 3.0),
    "while_loop's test": lambda f: fl.while_loop(f, lambda x: x, 3.0),
    "map": lambda f: fl.map(f, fl.asarray([1.0, 2.0])),
}


@pytest.mark.parametrize("kind", ANYWHERE)
def test_an_exception_leaves_the_stack_clean(kind):
    with pytest.raises(Oops):
        ANYWHERE[kind](raising)
    assert body(current()) is EVAL
    assert number(fl.grad(lambda x: x * x)(3.0)) == 6, "and everything works as before"


@pytest.mark.parametrize("kind", ANYWHERE)
def test_an_error_of_an_op_leaves_the_stack_clean(kind):
    def bad(x):
        return x @ fl.asarray([[1.0, 2.0]]) @ fl.asarray([[1.0, 2.0, 3.0]])

    with pytest.raises((RuntimeError, ValueError, TypeError)):
        ANYWHERE[kind](bad)
    assert body(current()) is EVAL


def test_an_exception_in_a_pullback_leaves_the_stack_clean():
    _, pullback = fl.vjp(lambda x: x * x, fl.asarray([1.0, 2.0]))
    with pytest.raises(ValueError):
        pullback(fl.asarray([1.0, 2.0, 3.0]))
    assert body(current()) is EVAL
    np.testing.assert_allclose(np.asarray(pullback(fl.asarray([1.0, 1.0]))[0]), [2.0, 4.0])


def test_an_exception_that_is_caught_inside_does_no_harm():
    def f(x):
        try:
            fl.grad(raising)(x)
        except Oops:
            pass
        return x * x

    assert number(fl.grad(f)(3.0)) == 6
    assert number(fl.jit(fl.grad(f))(3.0)) == 6


def test_a_generator_that_stops_halfway_leaves_the_stack_clean():
    def rows():
        for i in range(3):
            yield fl.grad(lambda x, i=i: x * x * i)(1.0)

    next(rows())
    assert body(current()) is EVAL


# ----------------------------------------------------------------------------------------------------------- threads


def programs():
    """Different functions, each with the result it must give."""
    x, rows = f64([0.5, -1.0, 2.0]), f64([[0.5, -1.0], [1.5, 2.0]])
    n = np.asarray
    return [
        (lambda: fl.grad(lambda v: (fl.sin(v) * v).sum())(x), np.cos(n(x)) * n(x) + np.sin(n(x))),
        (lambda: fl.jvp(fl.exp, (x,), (x,))[1], np.exp(n(x)) * n(x)),
        (lambda: fl.vmap(lambda v: (v * v).sum())(rows), (n(rows) ** 2).sum(1)),
        (lambda: fl.vmap(fl.grad(lambda v: (v * v * v).sum()))(rows), 3 * n(rows) ** 2),
        (lambda: fl.jit(lambda v: fl.tanh(v) + 1)(x), np.tanh(n(x)) + 1),
        (lambda: fl.jit(fl.grad(lambda v: fl.tanh(v).sum()))(x), 1 - np.tanh(n(x)) ** 2),
        (lambda: fl.grad(fl.grad(lambda v: v * v * v))(f64(2.0)), np.float64(12)),
        (lambda: fl.scan(lambda c, v: (c * v, c + v), f64(1.0), x)[0], np.prod(n(x))),
    ]


def test_threads_run_transforms_at_once():
    work = programs()
    start = threading.Barrier(len(work))

    def run(i):
        start.wait()
        for _ in range(20):
            make, expected = work[i]
            np.testing.assert_allclose(np.asarray(make()), expected, rtol=1e-10)
            assert body(current()) is EVAL
        return True

    with ThreadPoolExecutor(len(work)) as pool:
        assert all(pool.map(run, range(len(work))))


def test_threads_share_one_jitted_function():
    f = fl.jit(lambda x, n: (fl.sin(x) * n).sum())
    xs = [f64(np.arange(1.0, 2.0 + k)) for k in range(8)]
    start = threading.Barrier(len(xs))

    def run(k):
        start.wait()
        return [number(f(xs[k], n)) for n in range(5)]

    with ThreadPoolExecutor(len(xs)) as pool:
        results = list(pool.map(run, range(len(xs))))
    for k, got in enumerate(results):
        np.testing.assert_allclose(got, [np.sin(np.asarray(xs[k])).sum() * n for n in range(5)], rtol=1e-12)


@pytest.mark.parametrize("kind", TRANSFORMS)
def test_a_value_in_another_thread_raises(kind):
    seen = []

    def elsewhere(x):
        try:
            x * 2
        except Exception as error:  # whatever it is, the test looks at it
            seen.append(error)

    def f(x):
        thread = threading.Thread(target=elsewhere, args=(x,))
        thread.start()
        thread.join()
        return x * x

    TRANSFORMS[kind](f)
    assert len(seen) == 1 and isinstance(seen[0], RuntimeError), seen
    assert "mul" in str(seen[0]) and "float32[]" in str(seen[0]) and "thread" in str(seen[0])


# ------------------------------------------------------------------------------------------------------------ memory


def alive(kind) -> int:
    gc.collect()
    return sum(type(x) is kind for x in gc.get_objects())


def test_dead_tapes_use_no_memory():
    """Forward passes under an outer vjp whose outputs nobody keeps: their equations go at once, by reference count."""
    before = alive(Equation) + alive(Traced)
    counts = []

    def f(w):
        gc.disable()
        try:
            for i in range(2000):
                hidden = fl.tanh(w * 1.5) * w
                del hidden
                if i % 500 == 0:
                    counts.append(sum(type(x) in (Equation, Traced) for x in gc.get_objects()) - before)
        finally:
            gc.enable()
        return (w * w).sum()

    out, pullback = fl.vjp(f, f64([1.0, 2.0]))
    assert len(set(counts)) == 1 and counts[0] < 10, f"live equations and values over 2,000 passes: {counts}"
    np.testing.assert_allclose(np.asarray(pullback(f64(1.0))[0]), [2.0, 4.0])
    del out, pullback
    assert alive(Equation) + alive(Traced) == before


def test_a_pullback_keeps_only_what_it_needs():
    def f(x):
        unused = fl.sin(x) * 3.0
        del unused
        return x * x

    before = alive(Equation)
    _, pullback = fl.vjp(f, f64([1.0, 2.0]))
    assert alive(Equation) - before <= 3  # x * x is bilinear: two products and their sum
    del pullback
    assert alive(Equation) == before


def test_transforms_leave_nothing_behind():
    def everything():
        for make, _ in programs():
            make()

    everything()
    before = alive(Traced), alive(Equation)
    everything()
    assert (alive(Traced), alive(Equation)) <= before


# ---------------------------------------------------------------------------------------------------------- the rest


def test_the_users_jax_is_left_alone():
    def seen():
        return jnp.arange(2).dtype, jnp.ones(2).dtype, (jnp.arange(2) * 1.5).dtype, jax.config.jax_enable_x64, jnp.asarray(np.ones(2)).dtype

    before = seen()
    for make, _ in programs():
        make()
    with pytest.raises(Oops):
        fl.jit(raising)(fl.asarray(np.arange(3)))
    assert fl.asarray(np.arange(3)).dtype is fl.int64 and fl.asarray(np.ones(2)).dtype is fl.float64
    assert seen() == before


@pytest.mark.parametrize("kind", ["vmap", "jit", "make_fx"])
@pytest.mark.parametrize("ask", [bool, float, int, np.asarray, lambda x: [0] * x.to(fl.int64), lambda x: 1 if x > 0 else 2])
def test_python_cannot_ask_a_traced_value_for_its_number(kind, ask):
    def f(x):
        return x * 0 + ask(x)

    with pytest.raises(ConcretizationError, match=r"fl\.where or fl\.cond.*static_argnums") as caught:
        TRANSFORMS[kind](f)
    assert "float32[]" in str(caught.value) or "bool[]" in str(caught.value) or "int64[]" in str(caught.value)
    assert HERE in str(caught.value)


def test_python_may_branch_under_grad_and_jvp():
    """There the primal is a plain number: f is run on it, and its derivative is that of the branch taken."""

    def f(x):
        return x * x if x > 0 else -x

    assert number(fl.grad(f)(3.0)) == 6 and number(fl.grad(f)(-3.0)) == -1
    assert number(fl.jvp(f, (3.0,), (1.0,))[1]) == 6

"""debug.find_nan: the op that gave the first NaN, and the line, through every transform."""

import numpy as np
import pytest

import functorch_lite as fl
import functorch_lite.torch as torch
from functorch_lite.errors import ConcretizationError

X = np.array([1.0, -1.0], np.float32)


def logarithm(x):
    y = fl.sin(x) * 2
    z = fl.log(y)  # here
    return z.sum()


def step(carry, x):
    carry = fl.log(carry)  # here too
    return carry, carry * x


def line_of(f, text: str) -> int:
    """The number of the line of f that ends in a comment."""
    code = f.__code__
    with open(__file__) as file:
        lines = file.read().split("\n")
    return next(n for n in range(code.co_firstlineno, len(lines)) if lines[n - 1].endswith(f"# {text}"))


def found(f, *args, **options) -> str:
    with pytest.raises(FloatingPointError) as caught:
        fl.debug.find_nan(f, **options)(*args)
    return str(caught.value)


@pytest.mark.parametrize(
    ("f", "op"),
    [
        (logarithm, "fl.log(float32[2])"),
        (fl.jit(logarithm), "fl.log(float32[2])"),
        (fl.value_and_grad(fl.jit(logarithm)), "prims.log(float32[2])"),
        (fl.vmap(logarithm), "prims.log(float32[2])"),
        (torch.compile(logarithm), "fl.log(float32[2])"),
    ],
    ids=["plain", "jit", "value and grad of jit", "vmap", "compile"],
)
def test_op_and_line(f, op):
    message = found(f, fl.asarray(X))
    assert f"{__file__}:{line_of(logarithm, 'here')}" in message and op.split(".")[1] in message, message


def test_the_gradient_of_something_finite():
    message = found(fl.grad(lambda x: (fl.sqrt(x * 0) / fl.sqrt(x * 0 + 0)).sum()), fl.asarray(X * 0))
    assert "prims.div" in message


@pytest.mark.parametrize("wrap", [lambda f: f, fl.jit, fl.grad], ids=["plain", "jit", "grad"])
def test_inside_loops(wrap):
    f = wrap(lambda c: fl.scan(step, c, fl.ones(4))[0])
    assert f"{__file__}:{line_of(step, 'here too')}" in found(f, fl.asarray(2.0))
    f = wrap(lambda c: fl.cond(c > 0, lambda c: fl.sqrt(-c), lambda c: c, c))
    assert "sqrt" in found(f, fl.asarray(2.0))


def test_while_loop_and_scans_give_what_they_give():
    double = lambda c: fl.while_loop(lambda c: c < 10.0, lambda c: c * 2, c)
    assert fl.debug.find_nan(double)(fl.asarray(2.0)).item() == 16.0
    for reverse in (False, True):
        sums = lambda xs: fl.scan(lambda c, x: (c + x, c * x), fl.asarray(0.0), xs, reverse=reverse)
        xs = fl.asarray([1.0, 2.0, 3.0])
        for got, expected in zip(fl.debug.find_nan(sums)(xs), sums(xs)):
            np.testing.assert_array_equal(np.asarray(got), np.asarray(expected))
    nothing = lambda xs: fl.scan(lambda c, x: (c, x), fl.asarray(0.0), xs)
    assert fl.debug.find_nan(nothing)(fl.ones(0))[1].shape == (0,)


def test_only_what_reaches_a_result_counts():
    x = fl.asarray(X)
    choose = lambda x: fl.where(x > 0, fl.log(x), 0.0)
    assert fl.debug.find_nan(choose)(x).tolist() == [0.0, 0.0]
    assert fl.debug.find_nan(fl.grad(lambda x: choose(x).sum()))(x).tolist() == [1.0, 0.0]


def test_one_from_outside_is_not_blamed_on_an_op():
    message = found(lambda x: x + 1, fl.asarray([np.nan]))
    assert "there already" in message and "add" not in message
    assert "there already" in found(lambda x: x, fl.asarray([np.nan]))


def test_infinities_on_demand():
    x = fl.asarray(1000.0)
    assert fl.debug.find_nan(fl.exp)(x).item() == np.inf
    assert "fl.exp" in found(fl.exp, x, inf=True)


def test_under_other_transforms():
    assert fl.grad(fl.debug.find_nan(logarithm))(fl.asarray([1.0, 2.0])).isfinite().all()
    with pytest.raises(FloatingPointError, match="fl.log"):
        fl.grad(fl.debug.find_nan(logarithm))(fl.asarray(X))
    with pytest.raises(ConcretizationError, match="put find_nan outside"):
        fl.jit(fl.debug.find_nan(logarithm))(fl.asarray(X))


def test_places_of_results():
    assert "['a'][0]" in found(lambda x: {"a": (fl.log(x),), "b": x}, fl.asarray(X))


def test_backward_and_optimizers_work_in_it():
    def losses(watch):
        torch.manual_seed(0)
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = (model(x) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        run = fl.debug.find_nan(step) if watch else step
        return [run(torch.ones(1, 2)).item() for _ in range(3)], model.weight.tolist()

    assert losses(True) == losses(False)


def test_gradients_by_backward_are_results():
    model = torch.nn.Linear(2, 2)

    def f(x):
        torch.sqrt(model(x) - 100).sum().backward()

    message = found(f, torch.ones(1, 2))
    assert "written to a tensor" in message and "sqrt" in message

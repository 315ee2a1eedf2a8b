"""Operands that PyTorch wants as tensors: a number in their place is a TypeError; in the functional face only where all are numbers."""

import pytest

import functorch_lite as fl
import functorch_lite.torch as torch
from functorch_lite.core.op import REGISTRY

WANTED = {name: op.traits["operands"] for name, op in REGISTRY.items() if "operands" in op.traits}
X = torch.tensor([1, 2])


def test_there_are_many():
    assert len(WANTED) > 30 and set(WANTED.values()) == {"all", "first", "some"}


@pytest.mark.parametrize("name", sorted(WANTED))
def test_a_number_in_the_wrong_place(name):
    op, wanted = REGISTRY[name], WANTED[name]
    first = rf"{op.name}\(\): argument '{op.tensors[0]}' \(position 1\) must be Tensor, not int"
    second = rf"{op.name}\(\): argument '{op.tensors[1]}' \(position 2\) must be Tensor, not int"
    wrong = {"all": [((1, X), first), ((X, 1), second)], "first": [((1, X), first)], "some": []}[wanted] + [((1, 1), first)]
    for args, message in wrong:
        with pytest.raises(TypeError, match=message):
            op.function(*args)


@pytest.mark.parametrize("name", sorted(n for n, w in WANTED.items() if w != "some"))
def test_the_functional_face_takes_numbers(name):
    op = REGISTRY[name]
    x = fl.asarray([1.0, 2.0])
    assert op.function(x, 1.0).shape == (2,)


def test_operators_and_methods_take_numbers():
    assert (1 == X).tolist() == (X == 1).tolist() == [True, False] and (2**X).tolist() == [2, 4] and (7 % X).tolist() == [0, 1]
    assert (X & 1).tolist() == (1 & X).tolist() == [1, 0] and X.clamp(2).tolist() == [2, 2] and X.fmod(2).tolist() == [1, 0]
    assert torch.maximum(X, torch.tensor(2)).tolist() == [2, 2] and torch.xlogy(X, 1).tolist() == torch.xlogy(0, X).tolist() == [0.0, 0.0]
    with pytest.raises(TypeError, match=r"maximum\(\): argument 'input' \(position 1\) must be Tensor, not int"):
        torch.max(1, X)

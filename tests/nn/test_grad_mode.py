"""Grad modes, and writes in place under them. The numbers are closed forms."""

import numpy as np
import pytest
from tensor_helpers import close, leaf

import functorch_lite.torch as torch

# ----------------------------------------------------------------------------------------------------------- grad modes


def test_modes_nest():
    seen = [torch.is_grad_enabled()]
    with torch.no_grad():
        seen.append(torch.is_grad_enabled())
        with torch.enable_grad():
            seen.append(torch.is_grad_enabled())
            with torch.inference_mode():
                seen.append(torch.is_grad_enabled())
            seen.append(torch.is_grad_enabled())
        seen.append(torch.is_grad_enabled())
        with torch.set_grad_enabled(True):
            seen.append(torch.is_grad_enabled())
        seen.append(torch.is_grad_enabled())
    with torch.inference_mode(False):
        seen.append(torch.is_grad_enabled())
    assert seen == [True, False, True, False, True, False, True, False, True]


def test_modes_as_decorators():
    x = leaf(1.0)

    @torch.no_grad()
    def f(n):
        """Says it."""
        return [(x * 2).requires_grad, *(f(n - 1) if n else ())]

    @torch.no_grad
    def g():
        return (x * 2).requires_grad

    @torch.enable_grad()
    def h():
        return (x * 2).requires_grad

    @torch.inference_mode()
    def i():
        return (x * 2).requires_grad

    @torch.set_grad_enabled(False)
    def j():
        return (x * 2).requires_grad

    assert torch.is_grad_enabled()
    assert f(2) == [False] * 3 and f.__name__ == "f" and f.__doc__ == "Says it."
    assert not g() and not i() and not j() and h()
    with torch.no_grad():
        assert h() and not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_modes_are_restored_after_an_exception():
    @torch.no_grad()
    def f():
        raise ValueError

    with pytest.raises(ValueError):
        f()
    with pytest.raises(ValueError), torch.no_grad(), torch.enable_grad():
        raise ValueError
    assert torch.is_grad_enabled()


def test_modes_on_generators():
    @torch.no_grad()
    def f():
        got = []
        for _ in range(2):
            try:
                got.append((yield torch.is_grad_enabled()))
            except KeyError:
                got.append("caught")
        return got, torch.is_grad_enabled()

    g = f()
    seen = [next(g), torch.is_grad_enabled(), g.send(5), torch.is_grad_enabled()]
    with pytest.raises(StopIteration) as stop:
        g.throw(KeyError())
    assert seen == [False, True, False, True] and stop.value.value == ([5, "caught"], False)
    closed = f()
    next(closed)
    closed.close()
    assert torch.is_grad_enabled()


def test_set_grad_enabled_as_a_function():
    try:
        torch.set_grad_enabled(False)
        assert not torch.is_grad_enabled() and not (leaf(1.0) * 2).requires_grad
        torch.set_grad_enabled(True)
        mode = torch.set_grad_enabled(False)
        with mode:
            assert not torch.is_grad_enabled()
        assert torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)


def test_a_mode_used_again_within_itself():  # PyTorch forgets the outer state
    mode = torch.no_grad()
    with mode:
        with mode:
            assert not torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_no_grad_makes_constants():
    x = leaf(2.0)
    with torch.no_grad():
        y = x * 2
        made = torch.tensor([1.0], requires_grad=True)
        assert not (made * 2).requires_grad
    (y * x).sum().backward()
    close(x.grad, [4.0])
    assert made.requires_grad and (made * 2).requires_grad


def test_backward_and_grad_under_no_grad():
    for make in (lambda x: (x**3).sum(), lambda x: (x.view(1, 1) ** 3)[0, 0]):
        x = leaf(2.0)
        y = make(x)
        with torch.no_grad():
            y.backward(retain_graph=True)
            (g,) = torch.autograd.grad(y, x, create_graph=True)
        close(x.grad, [12.0])
        assert g.requires_grad
        close(torch.autograd.grad(g.sum(), x)[0], [12.0])


# -------------------------------------------------------------------------------------------------------------- in place


LEAF_WRITES = {
    "add_": lambda x: x.add_(1),
    "copy_": lambda x: x.copy_(torch.ones(2)),
    "zero_": lambda x: x.zero_(),
    "setitem": lambda x: x.__setitem__(0, 5.0),
    "iadd": lambda x: x.__iadd__(1),
    "view": lambda x: x.view(2, 1).add_(1),
    "exp_": lambda x: x.exp_(),
}


@pytest.mark.parametrize("name", LEAF_WRITES)
def test_in_place_on_a_leaf_raises_but_not_under_no_grad(name):
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        LEAF_WRITES[name](x)
    close(x, [1.0, 2.0])
    with torch.no_grad():
        LEAF_WRITES[name](x)
    assert x.requires_grad and x.is_leaf and x.tolist() != [1.0, 2.0] and x.grad_fn is None
    (x * x).sum().backward()
    close(x.grad, 2 * x.detach().numpy())


def test_in_place_on_results_changes_their_history():
    x = leaf(1.0, 2.0)
    for change, want in (
        (lambda y: y.mul_(x), [6.0, 12.0]),
        (lambda y: y.add_(1), [3.0, 3.0]),
        (lambda y: y.exp_(), 3 * np.exp([3.0, 6.0])),
        (lambda y: y.copy_(x * x), [2.0, 4.0]),
        (lambda y: y.neg_().mul_(2), [-6.0, -6.0]),
        (lambda y: y.__isub__(x), [2.0, 2.0]),
    ):
        x.grad = None
        y = x * 3
        assert change(y) is y
        y.sum().backward()
        close(x.grad, want)


def test_in_place_leaves_what_was_computed_before():
    x = leaf(1.0, 2.0)
    y = x * 2
    z = y * 3
    y.add_(1)
    (z + y).sum().backward()
    close(x.grad, [8.0, 8.0])


def test_a_plain_tensor_becomes_a_result_in_place():
    x = leaf(1.0, 2.0)
    y = torch.zeros(2)
    y.add_(x)
    assert y.requires_grad and not y.is_leaf
    y.mul_(y.clone())
    y.sum().backward()
    close(x.grad, [2.0, 4.0])


def test_in_place_under_no_grad_leaves_the_history_of_a_result():
    x = leaf(1.0, 2.0)
    y = x * 2
    with torch.no_grad():
        y.mul_(10)
    y.sum().backward()
    close(y, [20.0, 40.0])
    close(x.grad, [2.0, 2.0])


def test_augmented_assignment_is_in_place():
    x = torch.tensor([3.0, 5.0])
    same = x
    x += 1
    x -= 2
    x *= 3
    x /= 2
    x **= 2
    x //= 3
    x %= 2
    assert same is x
    close(x, [1.0, 0.0])
    n = torch.tensor([6, 5])
    n &= 7
    n |= 8
    n ^= 1
    n <<= 1
    n >>= 2
    assert n.tolist() == [7, 6]


def test_in_place_errors():
    with pytest.raises(RuntimeError, match="Long|int64"):
        x = torch.tensor([6, 5])
        x /= 2
    with pytest.raises(RuntimeError, match="int64|Long"):
        torch.tensor([6]).add_(1.5)
    with pytest.raises(RuntimeError, match="shape"):
        torch.ones(2).add_(torch.ones(2, 2))
    with pytest.raises(RuntimeError):
        torch.ones(2).copy_(torch.ones(3))
    with pytest.raises(AttributeError):
        torch.ones(2).no_such_op_()


def test_in_place_methods_by_name():
    x = torch.tensor([1.0, 4.0])
    x.sqrt_().neg_().abs_().clamp_(0, 10).log1p_().pow_(2).sigmoid_().reciprocal_().lerp_(torch.zeros(2), 0.5)
    want = 0.5 * (1 + np.exp(-(np.log1p([1.0, 2.0]) ** 2)))
    close(x, want)
    assert torch.ones(1).addcmul_(torch.ones(1), torch.ones(1), value=0.5).item() == 1.5
    assert torch.ones(1).add_(torch.ones(1), alpha=3).item() == 4.0
    y = torch.arange(4.0)
    y.masked_fill_(y > 1, 0.0)
    assert y.tolist() == [0, 1, 0, 0]
    z = torch.zeros(3)
    z.index_add_(0, torch.tensor([0, 2, 0]), torch.tensor([1.0, 2.0, 3.0]))
    z.index_fill_(0, torch.tensor([1]), 7.0)
    assert z.tolist() == [4, 7, 2]
    z.scatter_(0, torch.tensor([1]), 5.0)
    z.index_put_((torch.tensor([0, 0]),), torch.tensor([1.0, 2.0]), accumulate=True)
    assert z.tolist() == [7, 5, 2]

"""Writes to tensors inside transforms, and exceptions in the middle of one."""

import numpy as np
import pytest
from tensor_helpers import W, X, close, gradient

import functorch_lite as fl
import functorch_lite.torch as torch

SEED = 0

# ------------------------------------------------------------------------------------------------------ writes inside


def scaled_row(x):
    """x0 x1 + x1 for two numbers, by a write into a view."""
    y = x.clone()
    y[0].mul_(x[1])
    return y.sum()


def test_in_place_on_views_under_grad_vmap_jit():
    x = torch.tensor([3.0, 5.0])
    close(fl.grad(scaled_row)(x), [5.0, 4.0])
    close(fl.jit(scaled_row)(x), 20.0)
    close(fl.jit(fl.grad(scaled_row))(x), [5.0, 4.0])
    close(fl.grad(fl.jit(scaled_row))(x), [5.0, 4.0])
    rows = torch.tensor([[3.0, 5.0], [1.0, 2.0]])
    close(fl.vmap(scaled_row)(rows), [20.0, 4.0])
    close(fl.vmap(fl.grad(scaled_row))(rows), [[5.0, 4.0], [2.0, 2.0]])
    close(fl.jvp(scaled_row, (x,), (torch.ones(2),))[1], 9.0)
    close(fl.hessian(scaled_row)(x), [[0.0, 1.0], [1.0, 0.0]])
    close(x, [3.0, 5.0])


def test_in_place_on_views_with_backward():
    x = torch.tensor([3.0, 5.0], requires_grad=True)
    scaled_row(x).backward()
    close(x.grad, [5.0, 4.0])
    x.grad = None
    rows = torch.tensor([[3.0, 5.0], [1.0, 2.0]], requires_grad=True)
    fl.vmap(scaled_row)(rows).sum().backward()
    close(rows.grad, [[5.0, 4.0], [2.0, 2.0]])
    compiled = torch.compile(scaled_row)
    compiled(x).backward()
    close(x.grad, [5.0, 4.0])


def test_chains_of_views_under_transforms():
    def f(x):
        y = (x * 1).view(2, 3)
        y.t()[1:].mul_(2.0)
        y[0, ::2] += y[1, ::2]
        y.view(-1)[-1] = 0.0
        return (y * y).sum()

    def by_hand(x):
        y = x.reshape(2, 3).copy()
        y[:, 1:] *= 2
        y[0, ::2] += y[1, ::2]
        y[1, 2] = 0
        return (y * y).sum()

    x = np.arange(1.0, 7.0, dtype=np.float32)
    want = np.array([(by_hand(x + d) - by_hand(x - d)) / 2e-2 for d in 1e-2 * np.eye(6, dtype=np.float64)])
    for transform in (fl.grad(f), fl.jit(fl.grad(f)), fl.grad(fl.jit(f)), fl.jacfwd(f), lambda x: fl.vmap(fl.grad(f))(x[None])[0]):
        close(transform(torch.tensor(x)), want, rtol=1e-3)
    leaf = torch.tensor(x, requires_grad=True)
    f(leaf).backward()
    close(leaf.grad, want, rtol=1e-3)


def test_in_place_on_a_batched_argument_is_written_back():
    u = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    out = fl.vmap(lambda r: r.mul_(10.0).sum())(u)
    close(out, [30.0, 70.0])
    close(u, [[10.0, 20.0], [30.0, 40.0]])
    fl.vmap(lambda r: r[0].add_(1.0), in_dims=1)(u)
    close(u, [[11.0, 21.0], [30.0, 40.0]])
    ints = torch.arange(4).view(2, 2)
    fl.vmap(lambda r: r.copy_(r.flip(0)))(ints)
    assert ints.tolist() == [[1, 0], [3, 2]]
    view = torch.zeros(2, 3)
    fl.vmap(lambda r: r.fill_(1.0))(view[:, 1:])  # through a view of something larger
    close(view, [[0.0, 1.0, 1.0], [0.0, 1.0, 1.0]])


def test_in_place_on_an_argument_that_is_a_result_is_written_back_with_its_history():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    fl.vmap(lambda r: r.mul_(r))(y)
    y.sum().backward()
    close(y, [[1.0, 4.0], [9.0, 16.0]])
    close(x.grad, 2 * x.detach().numpy())


def test_in_place_on_a_batched_argument_in_chunks():
    u, untouched = torch.zeros(5, 2), torch.arange(5.0)
    close(fl.vmap(lambda r, a: r.add_(a).sum(), chunk_size=2)(u, untouched), 2 * np.arange(5.0))
    close(u, np.arange(5.0)[:, None] * np.ones(2))

    def breaks(r):
        r.zero_()
        if r.shape:
            raise ValueError("in a chunk")

    with pytest.raises(ValueError, match="in a chunk"):
        fl.vmap(breaks, chunk_size=2)(u)
    close(u, np.arange(5.0)[:, None] * np.ones(2))


@pytest.mark.parametrize("transform", [fl.vmap, fl.jit, fl.functionalize], ids=["vmap", "jit", "functionalize"])
def test_arguments_that_share_storage_may_be_read_but_not_written(transform):
    x = torch.zeros(4)
    for other in (x, x[:], x.detach(), x.view(2, 2).view(4)):
        close(transform(lambda a, b: a + b)(x, other), np.zeros(4))
        with pytest.raises(RuntimeError, match="shares its storage"):
            transform(lambda a, b: a.add_(1.0) + b)(x, other)
        close(x, np.zeros(4))


def test_in_place_on_a_leaf_argument_raises():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        fl.vmap(lambda r: r.mul_(2.0))(x)
    close(x, [1.0, 2.0])


def test_in_place_on_an_unbatched_argument():
    u = torch.zeros(2)
    with pytest.raises(RuntimeError):
        fl.vmap(lambda u, x: u.add_(x), in_dims=(None, 0))(u, torch.ones(3, 2))
    close(u, [0.0, 0.0])


def test_in_place_on_an_argument_under_grad():
    x = torch.tensor([1.0, 2.0])
    close(fl.grad(lambda x: (x.mul_(x)).sum())(x), [2.0, 4.0])
    close(x, [1.0, 4.0])
    close(fl.jvp(lambda x: x.mul_(3.0), (x,), (torch.ones(2),))[1], [3.0, 3.0])
    close(x, [3.0, 12.0])
    close(fl.vjp(lambda x: x.add_(1.0), x)[0], [4.0, 13.0])
    close(x, [4.0, 13.0])
    close(fl.linearize(lambda x: x[:1].zero_() + x, x)[1](torch.ones(2)), [0.0, 1.0])
    close(x, [0.0, 13.0])
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        fl.grad(lambda x: x.mul_(2.0).sum())(x.clone().requires_grad_())
    y = torch.tensor(3.0)
    close(fl.jit(lambda y: y.add_(1.0) * 2)(y), 8.0)
    close(y, 4.0)


def test_a_batched_write_into_an_unbatched_tensor_made_inside():
    def f(x):
        out = torch.zeros(3)
        out[1:] = x
        out[0] += x.sum()
        return out

    x = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    close(fl.vmap(f)(torch.tensor(x)), [[3.0, 1.0, 2.0], [7.0, 3.0, 4.0]])
    close(fl.jacrev(lambda x: fl.vmap(f)(x).sum())(torch.tensor(x)), [[2.0, 2.0], [2.0, 2.0]])


@pytest.mark.parametrize(
    "write",
    [
        lambda t, x: t.copy_(x),
        lambda t, x: t.add_(x),
        lambda t, x: t.view(1, 2)[0].mul_(x),
        lambda t, x: t.__setitem__(0, x[0]),
    ],
    ids=["copy_", "add_", "view", "setitem"],
)
@pytest.mark.parametrize(
    "transform", [fl.vmap, lambda f: fl.grad(lambda x: f(x).sum()), lambda f: lambda x: fl.jvp(f, (x,), (x,))], ids=["vmap", "grad", "jvp"]
)
def test_a_captured_tensor_mutated_inside_raises_and_names_it(transform, write):
    captured = torch.zeros(2)
    captured.cell.name = "running_mean"

    def f(x):
        write(captured, x)
        return x

    x = torch.ones(2, 2) if transform is fl.vmap else torch.ones(2)
    with pytest.raises(RuntimeError, match="running_mean"):
        transform(f)(x)
    close(captured, [0.0, 0.0])
    captured.add_(1.0)  # and it is as usable as before
    close(captured, [1.0, 1.0])


@pytest.mark.parametrize("write", [lambda t, x: setattr(t, "data", x), lambda t, x: t.detach().copy_(x)], ids=["data", "detach"])
def test_a_captured_tensor_mutated_past_autograd_inside_vmap_raises_and_names_it(write):
    captured = torch.zeros(2)
    captured.cell.name = "running_mean"
    with pytest.raises(RuntimeError, match="running_mean"):
        fl.vmap(lambda x: write(captured, x))(torch.ones(2, 2))
    close(captured, [0.0, 0.0])

    def f(x):
        write(captured, x)
        return x.sum()

    fl.grad(f)(torch.ones(2))  # what has no history may leave
    close(captured, [1.0, 1.0])


def test_a_captured_tensor_may_be_written_with_what_does_not_depend_on_the_transform():
    count = torch.zeros(())

    def f(x):
        count.add_(1.0)
        return x * 2

    fl.vmap(f)(torch.ones(3))
    fl.grad(f)(torch.tensor(1.0))
    close(count, 2.0)


def test_jit_writes_captured_tensors_back():
    total = torch.zeros(2)
    buffer = torch.zeros(3)

    @fl.jit
    def f(x):
        total.add_(x)
        buffer[1:].copy_(total)
        return total * 1

    for n in (1, 2, 3):
        out = f(torch.ones(2))
        close(out, [n, n])
        close(total, [n, n])
        close(buffer, [0, n, n])


# --------------------------------------------------------------------------------------------------------- exceptions


class Model(torch.nn.Module):
    """Some state of each kind."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor(W))
        self.register_buffer("seen", torch.zeros(()))


def state_of(model, others):
    return [t.detach().clone().numpy().copy() for t in (model.weight, model.seen, *others)]


@pytest.mark.parametrize("transform", ["jit", "compile", "vmap", "grad", "jit_vmap", "functionalize"])
def test_an_exception_in_the_middle_leaves_every_cell_as_it_was(transform):
    model, other = Model(), torch.ones(2)
    model.weight.grad = torch.full((3, 2), 7.0)
    view, before, grad = other[:1], None, model.weight.grad

    def f(x):
        if transform in ("jit", "compile"):
            torch.tanh(x @ model.weight).sum().backward()
            with torch.no_grad():
                model.weight.sub_(model.weight.grad)
            model.seen.add_(x.sum())
            view.fill_(9.0)
            model.weight.grad = None
            x.zero_()
        else:
            x.mul_(2.0)
            x.view(-1)[0] = 5.0
        raise ValueError("in the middle")

    x = torch.tensor(X)
    before = state_of(model, [other, x])
    made = {
        "jit": lambda: fl.jit(f)(x),
        "compile": lambda: torch.compile(f)(x),
        "vmap": lambda: fl.vmap(f)(x),
        "grad": lambda: fl.grad(f)(x),
        "jit_vmap": lambda: fl.jit(fl.vmap(f))(x),
        "functionalize": lambda: fl.functionalize(f)(x),
    }[transform]
    for _ in range(2):
        with pytest.raises(ValueError, match="in the middle"):
            made()
        for a, b in zip(before, state_of(model, [other, x])):
            np.testing.assert_array_equal(a, b)
        assert model.weight.grad is grad
        close(grad, np.full((3, 2), 7.0))
        assert model.weight.requires_grad and model.weight.is_leaf
    model.weight.grad = None
    torch.tanh(x @ model.weight).sum().backward()  # and everything works as before
    close(model.weight.grad, gradient(W, X))


def test_an_exception_in_the_middle_of_backward_leaves_the_gradients_as_they_were():
    x, y = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)

    def refuse(g):
        raise ValueError("in a hook")

    handle = x.register_hook(refuse)
    with pytest.raises(ValueError, match="in a hook"):
        (x * y).backward()
    assert x.grad is None and y.grad is None
    handle.remove()
    (x * y).backward()
    close(x.grad, 2.0)
    close(y.grad, 1.0)

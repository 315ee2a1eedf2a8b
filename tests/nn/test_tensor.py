"""What tensors say of themselves: storage, flags, dtypes, copies, and their ways in and out. The numbers are closed forms."""

import copy
import math
import pickle
import threading

import numpy as np
import pytest
from tensor_helpers import close, leaf

import functorch_lite.torch as torch

# --------------------------------------------------------------------------------------------------------- detach, data


def test_detach_shares_storage():
    x = leaf(1.0, 2.0)
    d = x.detach()
    assert not d.requires_grad and d.is_leaf and d.grad_fn is None
    d[0] = 9.0
    close(x, [9.0, 2.0])
    with torch.no_grad():
        x.add_(1)
    close(d, [10.0, 3.0])
    (x * x.detach()).sum().backward()
    close(x.grad, [10.0, 3.0])
    d.detach().zero_()
    close(x, [0.0, 0.0])
    assert d._version == x._version


def test_detached_views_share_storage_and_leave_the_history_alone():
    for write in (
        lambda y: y[1:].detach().zero_(),
        lambda y: y.detach()[1:].zero_(),
        lambda y: y.data[1:].zero_(),
        lambda y: y[1:].data.zero_(),
    ):
        x = leaf(1.0, 2.0, 3.0)
        y = x * 5
        write(y)
        y.sum().backward()
        close(y, [5.0, 0.0, 0.0])
        close(x.grad, [5.0, 5.0, 5.0])
        write(x)  # and of a leaf
        close(x, [1.0, 0.0, 0.0])
        assert x.is_leaf and x.requires_grad


def test_data():
    x = leaf(1.0, 2.0)
    y = (x * 2).sum()
    x.data.mul_(10)
    close(x, [10.0, 20.0])
    y.backward()
    close(x.grad, [2.0, 2.0])
    x = leaf(1.0, 2.0)
    x.data = torch.tensor([5.0, 6.0, 7.0])
    assert x.shape == (3,) and x.requires_grad and x.is_leaf
    (x * x).sum().backward()
    close(x.grad, [10.0, 12.0, 14.0])
    v = torch.arange(4.0).view(2, 2)
    base, v.data = v._base, torch.ones(3)
    close(v, [1.0, 1.0, 1.0])
    close(base, [0.0, 1.0, 2.0, 3.0])


def test_a_detached_tensor_gains_history_of_its_own():
    w, x = leaf(2.0), leaf(1.0)
    h = x * 5
    d = h.detach()
    d.mul_(w)
    assert d.requires_grad and not d.is_leaf and h.requires_grad
    (h * 3 + d).sum().backward()  # h shares the elements, not the history
    close(h, [10.0])
    close(x.grad, [15.0])
    close(w.grad, [5.0])
    assert not d.detach().requires_grad
    d.detach_()
    assert not d.requires_grad


def test_a_detached_tensor_keeps_its_history_when_another_name_is_written_to():
    w, x = leaf(2.0), leaf(1.0)
    h = x * 5
    d = h.detach()
    d.mul_(w)
    h.detach().fill_(7.0)
    close(d, [7.0])
    (d * 3).sum().backward()
    close(w.grad, [15.0])


def test_views_of_detached_tensors_gain_history():
    w = leaf(2.0)
    for part in (lambda h: h.detach()[1:], lambda h: h[1:].detach()):
        w.grad = None
        h = leaf(1.0, 3.0) * 1
        d = part(h)
        d.mul_(w)
        (d * d).sum().backward()
        close(h, [1.0, 6.0])
        close(w.grad, [36.0])


def test_truncated_backpropagation():
    w = leaf(2.0)
    h, got = torch.zeros(1), []
    for _ in range(3):
        h = h.detach()
        h.add_(w)
        h.mul_(w)  # h' = (h + w) w
        h.sum().backward()
        got.append(w.grad.item())
        w.grad = None
    assert got == [4.0, 8.0, 16.0] and h.item() == 28.0


def test_detach_in_place():
    x = leaf(1.0, 2.0)
    y = x * 2
    assert y.detach_() is y and not y.requires_grad and y.is_leaf and y.grad_fn is None
    with pytest.raises(RuntimeError, match="view"):
        (x * 2)[0].detach_()
    x.detach_()
    assert not x.requires_grad


# ---------------------------------------------------------------------------------------------------------------- flags


def test_requires_grad_is_for_floats_and_complex():
    for make in (
        lambda: torch.tensor([1, 2], requires_grad=True),
        lambda: torch.tensor([1, 2]).requires_grad_(),
        lambda: torch.tensor([True]).requires_grad_(),
        lambda: setattr(torch.tensor([1]), "requires_grad", True),
    ):
        with pytest.raises(RuntimeError, match="floating point"):
            make()
    assert not torch.tensor([1]).requires_grad_(False).requires_grad
    assert torch.tensor([1j]).requires_grad_().requires_grad


def test_requires_grad_of_results_does_not_change():
    x = leaf(1.0)
    y = x * 2
    for off in (lambda: setattr(y, "requires_grad", False), lambda: y.requires_grad_(False)):
        with pytest.raises(RuntimeError, match="leaf variables"):
            off()
    assert y.requires_grad_(True) is y and not y.is_leaf


def test_requires_grad_off_and_on():
    x = leaf(3.0)
    y = x * 2
    x.requires_grad_(False)
    assert not (x * 2).requires_grad
    y.sum().backward()
    assert x.grad is None
    x.requires_grad = True
    z = x * x
    z.sum().backward()
    close(x.grad, [6.0])


def test_leaves_and_nodes():
    x, c = leaf(1.0), torch.tensor([1.0])
    y, z = x * 2, c * 2
    with torch.no_grad():
        n = x * 2
    assert [t.is_leaf for t in (x, y, c, z, n)] == [True, False, True, True, True]
    assert [t.requires_grad for t in (x, y, c, z, n)] == [True, True, False, False, False]
    assert x.grad_fn is None and c.grad_fn is None and y.grad_fn is y.grad_fn
    assert y.grad_fn.name() == "MulBackward0"
    (node, i), (none, _) = y.grad_fn.next_functions
    assert i == 0 and none is None and node.name().endswith("AccumulateGrad") and node.variable is x and node.next_functions == ()
    assert (y + x).grad_fn.next_functions[0][0] is y.grad_fn
    v = x[0]
    assert v.requires_grad and not v.is_leaf and v.grad_fn is not None


def test_integer_results_do_not_require_grad():
    x = leaf(1.0, 3.0)
    assert not any(t.requires_grad for t in (x.argmax(), x > 1, x.long(), x.sort()[1], x.max(0)[1], x.isnan()))
    assert x.sort()[0].requires_grad and x.max(0)[0].requires_grad


def test_constructors_and_requires_grad():
    for make in (torch.zeros, torch.ones, torch.rand, torch.randn, torch.empty):
        assert make(2, requires_grad=True).requires_grad
    assert torch.full((2,), 1.0, requires_grad=True).is_leaf and torch.arange(3.0, requires_grad=True).requires_grad
    x = leaf(1.0)
    assert not torch.zeros_like(x).requires_grad and not x.new_ones(2).requires_grad and x.clone().requires_grad
    assert torch.ones_like(x, requires_grad=True).requires_grad
    assert torch.as_tensor(x) is x and x.to(torch.float32) is x and x.double().requires_grad


def test_a_view_that_is_a_leaf():
    base = torch.arange(6.0)
    x = base.view(2, 3).requires_grad_()
    assert x.is_leaf and x.grad_fn is None and not base.requires_grad
    (x[0] * x.t()[:, 1]).sum().backward()
    close(x.grad, [[3.0, 4.0, 5.0], [0.0, 1.0, 2.0]])
    assert base.grad is None
    base.mul_(2)
    with torch.no_grad():
        x[0].add_(1)
    close(x, [[1.0, 3.0, 5.0], [6.0, 8.0, 10.0]])
    close(base, [1.0, 3.0, 5.0, 6.0, 8.0, 10.0])
    with pytest.raises(RuntimeError, match="leaf"):
        x.mul_(2)
    x.requires_grad_(False)
    assert not (x * 2).requires_grad
    p = torch.nn.Parameter(torch.arange(4.0).reshape(2, 2).t())
    (p * p).sum().backward()
    close(p.grad, 2 * p.detach().numpy())


def test_a_leaf_over_a_detached_view():
    w = leaf(1.0, 2.0, 3.0, 4.0)
    v = w.view(2, 2).detach().requires_grad_()
    (v * v + w.view(2, 2)).sum().backward()
    close(v.grad, [[2.0, 4.0], [6.0, 8.0]])
    close(w.grad, [1.0] * 4)
    w.data.add_(1)
    close(v, [[2.0, 3.0], [4.0, 5.0]])


def test_assigning_grad():
    x = leaf(1.0)
    with pytest.raises(TypeError):
        x.grad = 3
    for wrong in (torch.zeros(2), torch.zeros(1, dtype=torch.float64)):
        with pytest.raises(RuntimeError, match="assign"):
            x.grad = wrong
    x.grad = torch.ones(1)
    x.grad *= 3
    x.grad.data.add_(1)
    close(x.grad, [4.0])
    del x.grad
    assert x.grad is None


# ---------------------------------------------------------------------------------------------------------------- dtypes


def test_complex_gradients():
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    (z * z.conj()).real.sum().backward()
    close(z.grad, [2 + 4j, 6 - 2j])
    z.grad = None
    z.abs().sum().backward()
    close(z.grad, np.array([1 + 2j, 3 - 1j]) / np.abs([1 + 2j, 3 - 1j]))
    with pytest.raises(RuntimeError, match="real scalar"):
        z.sum().backward()
    z.grad = None
    (z * z).backward(torch.tensor([1 + 0j, 1j]))  # conj(2 z) g
    close(z.grad, [2 - 4j, 1j * (6 + 2j)])
    assert z.grad.dtype is torch.complex64


def test_gradients_across_real_and_complex():
    x = leaf(1.0, 2.0)
    (x * (1 + 2j)).abs().sum().backward()
    close(x.grad, [math.sqrt(5)] * 2)
    x.grad = None
    z = torch.tensor([1 + 1j, 2 - 1j], requires_grad=True)
    (x * z).imag.sum().backward()
    close(x.grad, [1.0, -1.0])
    close(z.grad, [1j, 2j])
    assert x.grad.dtype is torch.float32


def test_gradients_across_dtypes():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0, dtype=torch.float64)
    (x * w).sum().backward()
    assert x.grad.dtype is torch.float32 and w.grad.dtype is torch.float64
    close(x.grad, [3.0, 4.0])
    close(w.grad, [1.0, 2.0])
    for dtype in (torch.float16, torch.bfloat16):
        h = leaf(1.0, 2.0, dtype=dtype)
        (h * h).sum().backward()
        assert h.grad.dtype is dtype and h.grad.float().tolist() == [2.0, 4.0]
    x.grad = None
    (x.half() * 2).sum().backward()
    assert x.grad.dtype is torch.float32 and x.grad.tolist() == [2.0, 2.0]


def test_gradients_through_indices_of_integers_and_masks():
    x = leaf(1.0, 2.0, 3.0)
    x[torch.tensor([0, 0, 2])].sum().backward()
    close(x.grad, [2.0, 0.0, 1.0])
    x.grad = None
    (x[x > 1.5] ** 2).sum().backward()
    close(x.grad, [0.0, 4.0, 6.0])
    x.grad = None
    torch.where(x > 1.5, x * x, 3 * x).sum().backward()
    close(x.grad, [3.0, 4.0, 6.0])


# ------------------------------------------------------------------------------------------------------ copies, threads


def test_deepcopy():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    x.note = ["kept"]
    y = copy.deepcopy(x)
    assert y.requires_grad and y.is_leaf and y.note == ["kept"] and y.note is not x.note
    y.data.zero_()
    y.grad.zero_()
    close(x, [1.0, 2.0])
    close(x.grad, [2.0, 4.0])
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(x * 2)
    v = torch.arange(4.0).view(2, 2).requires_grad_()
    w = copy.deepcopy(v)
    (w * w).sum().backward()
    assert w.is_leaf and v.grad is None and w.grad.shape == (2, 2)


def test_deepcopy_keeps_what_is_shared_shared():
    x = torch.tensor([1.0, 2.0, 3.0])
    a, b, c, d = copy.deepcopy([x, x, x[1:], x.detach()])
    assert a is b
    c.zero_()
    close(a, [1.0, 0.0, 0.0])
    d[0] = 5.0
    close(a, [5.0, 0.0, 0.0])
    close(x, [1.0, 2.0, 3.0])
    inner = x[1:][:1]
    e, f = copy.deepcopy([inner, x])
    e.fill_(9.0)
    close(f, [1.0, 9.0, 3.0])


def test_copy_is_another_name():
    x = leaf(1.0)
    y = copy.copy(x)
    assert y is not x and y.requires_grad and y.is_leaf and type(y) is type(x)
    y.data.add_(1)
    close(x, [2.0])


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_pickle(protocol):
    for t in (
        torch.tensor([1, 2]),
        torch.tensor([True, False]),
        torch.tensor([1 + 2j]),
        torch.tensor(1.5, dtype=torch.float64),
        torch.arange(6.0).view(2, 3)[1],
        torch.zeros(0, 2),
        leaf(1.0, 2.0),
        torch.nn.Parameter(torch.ones(2)),
    ):
        back = pickle.loads(pickle.dumps(t, protocol))
        assert type(back) is type(t) and back.dtype is t.dtype and back.tolist() == t.tolist()
        assert back.requires_grad is t.requires_grad and back.is_leaf
    a, b = pickle.loads(pickle.dumps([t, t], protocol))
    assert a is b


def run_in_thread(function):
    errors = []

    def guarded():
        try:
            function()
        except BaseException as error:  # noqa: BLE001 - handed to the test
            errors.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


def test_backward_in_another_thread():
    x, seen = leaf(1.0, 2.0), []
    h = x * x
    h.register_hook(seen.append)
    run_in_thread((h * 3).sum().backward)
    close(x.grad, [6.0, 12.0])
    close(seen[0], [3.0, 3.0])
    v = x.view(2, 1)
    v.register_hook(lambda g: seen.append(g))

    def read_without_recording():
        with torch.no_grad():
            v.sum()

    run_in_thread(read_without_recording)
    run_in_thread(lambda: (v * v).sum().backward())
    close(x.grad, [8.0, 16.0])
    close(seen[1], [[2.0], [4.0]])


def test_grad_modes_belong_to_a_thread():
    x, seen = leaf(1.0), []
    with torch.no_grad():
        run_in_thread(lambda: seen.append((torch.is_grad_enabled(), (x * 2).requires_grad)))
        assert not torch.is_grad_enabled()
    run_in_thread(lambda: torch.set_grad_enabled(False))
    assert seen == [(True, True)] and torch.is_grad_enabled() and (x * 2).requires_grad


def test_graphs_in_threads_side_by_side():
    leaves = [leaf(float(i)) for i in range(4)]
    barrier = threading.Barrier(4)

    def train(x):
        barrier.wait()
        for _ in range(5):
            (x**2).sum().backward()

    threads = [threading.Thread(target=train, args=(x,)) for x in leaves]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i, x in enumerate(leaves):
        close(x.grad, [10.0 * i])


# ----------------------------------------------------------------------------------------------- tensors and the outside


def test_values_leave_a_tensor_as_pytorch_lets_them():
    x = leaf(1.5)
    assert x.item() == 1.5 and float(x * 2) == 3.0 and x.tolist() == [1.5]
    with pytest.raises(RuntimeError, match="requires grad"):
        x.numpy()
    assert x.detach().numpy().tolist() == [1.5] and x.numpy(force=True).tolist() == [1.5]
    with pytest.raises(RuntimeError):
        torch.tensor([1.0, 2.0]).item()
    with pytest.raises(RuntimeError):
        bool(torch.tensor([1.0, 2.0]))
    assert not torch.tensor(x.detach()).requires_grad


def test_tensors_compare_by_elements_and_hash_by_identity():
    x = torch.tensor([1.0])
    assert len({x: 1, x.clone(): 2}) == 2 and x in {x}
    assert (torch.tensor([1.0, 2.0]) == torch.tensor([1.0, 3.0])).tolist() == [True, False]
    assert (x == None) is False and (x != None) is True  # noqa: E711
    assert 2.0 in torch.tensor([1.0, 2.0])


def test_repr():
    x = leaf(1.0, 2.0)
    assert repr(x) == "tensor([1., 2.], requires_grad=True)"
    assert repr(x * 2) == "tensor([2., 4.], grad_fn=<MulBackward0>)"
    assert repr(x.detach()) == "tensor([1., 2.])"
    assert repr(torch.tensor([1], dtype=torch.int32)) == "tensor([1], dtype=torch.int32)"


def test_parameters_and_their_results():
    p = torch.nn.Parameter(torch.ones(2))
    assert p.requires_grad and p.is_leaf and isinstance(p, torch.Tensor) and not isinstance(torch.ones(2), torch.nn.Parameter)
    assert {type(t) for t in (p * 2, p.detach(), p.data, p[0], p.clone(), -p, p.view(2, 1))} == {torch.Tensor}
    (p * p).sum().backward()
    assert type(p.grad) is torch.Tensor
    x = torch.zeros(2)
    q = torch.nn.Parameter(x)
    q.data.add_(1)
    close(x, [1.0, 1.0])

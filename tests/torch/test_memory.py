"""What tensors say of memory, views by strides, older constructors and sparse products: values that PyTorch gives."""

import numpy as np
import pytest

import functorch_lite.torch as torch


def test_storage_offsets_follow_views():
    x = torch.zeros(4, 3)
    views = [
        x,
        x[1],
        x[1:, 2],
        x.t()[1],
        x[:, 1:3].reshape(4, 2)[1],
        x.diagonal(1),
        x.unbind(1)[2],
        x.view(2, 2, 3)[1, 1],
        x.view(12)[5:][2:],
    ]
    assert [v.storage_offset() for v in views] == [0, 3, 5, 1, 4, 1, 2, 9, 7]
    assert x.flatten()[3].storage_offset() == 3
    z = torch.zeros(4, dtype=torch.complex64)
    assert [torch.view_as_real(z)[1].storage_offset(), z.real[1:].storage_offset(), z.imag.storage_offset(), z.imag.stride()] == [
        2,
        2,
        1,
        (2,),
    ]


def test_one_storage():
    x, y = torch.zeros(3, 4), torch.zeros(3, 4)
    assert x.data_ptr() == x.view(12).data_ptr() != y.data_ptr()
    assert x[1].data_ptr() - x.data_ptr() == 16 and x.untyped_storage().nbytes() == 48
    assert x.untyped_storage() == x[1].untyped_storage() != y.untyped_storage()
    assert x.is_set_to(x.view(3, 4)) and not x.is_set_to(x.t()) and not x.is_set_to(y)
    y.set_(x)
    y[0, 0] = 5
    assert x[0, 0] == 5


def test_as_strided_is_a_view_of_the_storage():
    x = torch.arange(6.0)
    y = x[1:].as_strided((2, 2), (3, 1), 1)
    assert (y.stride(), y.storage_offset()) == ((3, 1), 1)
    y.mul_(10)
    y[0, 0] = 7
    assert x.tolist() == [0, 7, 20, 3, 40, 50]
    w = torch.arange(6.0, requires_grad=True)
    (w.as_strided((3, 3), (1, 1)) ** 2).sum().backward()
    assert w.grad.tolist() == [0, 4, 12, 12, 8, 0]
    with pytest.raises(RuntimeError, match="more than one element"):
        x.as_strided((3, 3), (1, 1)).mul_(2)
    with pytest.raises(RuntimeError, match="out of bounds for a storage of 6 elements"):
        x.as_strided((2,), (6,))


def test_resize_keeps_the_storage():
    x = torch.arange(6.0)
    assert x.resize_(2, 2).tolist() == [[0, 1], [2, 3]]
    assert x.resize_as_(torch.zeros(3, 2)).tolist() == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(RuntimeError, match="resize_: a storage keeps its size"):
        x.resize_(7)


def test_fills_and_functions_of_python():
    assert torch.zeros(7, 3).fill_diagonal_(2, wrap=True).nonzero().tolist() == [[0, 0], [1, 1], [2, 2], [4, 0], [5, 1], [6, 2]]
    assert torch.zeros(5, 3).fill_diagonal_(2).count_nonzero() == 3
    assert torch.arange(3.0).apply_(lambda v: v * 2).tolist() == [0, 2, 4]
    assert torch.arange(3.0).map_(torch.ones(1), lambda a, b: a + b).tolist() == [1, 2, 3]
    x = torch.ones(3, requires_grad=True)
    assert x.clone().zero_().requires_grad and x.clone().fill_(2.0).requires_grad  # the gradient is 0, but the history goes on
    (x.clone().fill_(2.0) * x).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_a_value_takes_the_dtype_of_what_it_is_written_to():
    """Floats become integers; a complex number never becomes a real one."""
    x, i = torch.zeros(3, dtype=torch.int64), torch.tensor([1])
    for write in (
        lambda v: x.index_fill(0, i, v),
        lambda v: x.scatter(0, i, v),
        lambda v: x.masked_fill(torch.tensor([False, True, False]), v),
    ):
        assert write(2.5).tolist() == write(torch.tensor(2.5)).tolist() == [0, 2, 0]
        with pytest.raises(RuntimeError, match="cannot be converted"):
            write(1j)
    with pytest.raises(RuntimeError, match="cannot be converted"):
        x.fill_(1j)


def test_older_spellings():
    assert (torch.Tensor(2, 3).shape, torch.Tensor([1, 2]).dtype, torch.Tensor().shape) == ((2, 3), torch.float32, (0,))
    assert torch.LongTensor([1, 2]).tolist() == [1, 2] and torch.FloatTensor(2).dtype is torch.float32
    x = torch.zeros(2, dtype=torch.float64)
    assert isinstance(x, torch.DoubleTensor) and not isinstance(x, torch.FloatTensor)
    assert x.type() == "torch.DoubleTensor" and x.type("torch.LongTensor").dtype is torch.int64 is x.type(torch.LongTensor).dtype
    assert x.new(3).shape == (3,) and x.new([1]).dtype is torch.float64
    y = torch.tensor([-1.0])
    assert torch.abs_(y) is y and y.item() == 1
    assert torch.frombuffer(bytearray(b"\x01\x00\x02\x00"), dtype=torch.int16, offset=2).tolist() == [2]
    with pytest.raises(ValueError, match="frombuffer"):
        torch.frombuffer(b"abc", dtype=torch.int16)
    assert torch.range(1, 2, 0.5).tolist() == [1, 1.5, 2]
    assert torch.empty_strided((2, 3), (1, 2)).stride() == (1, 2) and torch.empty_permuted((2, 3, 4), (2, 0, 1)).stride() == (3, 1, 6)


def test_combinations():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert torch.combinations(x, with_replacement=True).tolist() == [[1, 1], [1, 2], [1, 3], [2, 2], [2, 3], [3, 3]]
    assert [torch.combinations(x, r).shape for r in (0, 1, 2, 4)] == [(0,), (3, 1), (3, 2), (0, 4)]
    torch.combinations(x).prod(1).sum().backward()
    assert x.grad.tolist() == [5, 4, 3]


def test_ranges_of_integers():
    """Ends are cut to whole numbers first; integers narrower than int64 are counted by the floats, as in PyTorch."""
    assert torch.linspace(4.3, 0, 7, dtype=torch.int64).tolist() == [4, 3, 2, 2, 1, 0, 0]
    assert torch.arange(0, 3.1, dtype=torch.int32).tolist() == [0, 1, 2, 3] and torch.arange(0, 3.1, dtype=torch.int64).tolist() == [
        0,
        1,
        2,
    ]


def test_sparse_products():
    rng = np.random.default_rng(0)
    a = rng.random((4, 5)) * (rng.random((4, 5)) < 0.4)
    b = torch.tensor(rng.random((5, 3)), requires_grad=True)
    s = torch.tensor(a).to_sparse()
    out = torch.sparse.mm(s, b)
    np.testing.assert_allclose(out.detach().numpy(), a @ b.detach().numpy(), rtol=1e-12)
    out.sum().backward()
    np.testing.assert_allclose(b.grad.numpy(), a.sum(0)[:, None].repeat(3, 1), rtol=1e-12)
    twice = torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 2), requires_grad=True)
    assert twice.to_dense().tolist() == [[0, 3], [0, 0]] and twice.coalesce().values().tolist() == [3]
    torch.spmm(twice, torch.tensor([[1.0], [4.0]])).sum().backward()
    assert twice._values().grad.tolist() == [4, 4]
    with pytest.raises(RuntimeError, match="outside of size"):
        torch.sparse_coo_tensor([[0], [5]], [1.0], (2, 2))
    assert (twice * 2).to_dense().tolist() == [[0, 6], [0, 0]]
    with pytest.raises(TypeError, match="expected a number"):
        twice * torch.ones(2)
    with pytest.raises(RuntimeError, match="please call .coalesce"):
        twice.values()
    with pytest.raises(AttributeError, match="to_dense"):
        twice.exp()


def test_draws_on_meta_stay_there():
    assert torch.zeros(2, device="meta").normal_().is_meta and torch.rand(2, device="meta").is_meta


def test_narrow_from_a_tensor():
    """A start that is a 0-dim tensor, of whole or of no elements; anything else is refused."""
    x = torch.arange(10).reshape(2, 5)
    assert x.narrow(1, torch.tensor(1), 2).tolist() == [[1, 2], [6, 7]]
    assert x.narrow(1, torch.tensor(5), 0).shape == (2, 0)
    for bad in (torch.tensor(False), torch.tensor([1])):
        with pytest.raises(RuntimeError, match="0-dim integer"):
            x.narrow(1, bad, 1)

"""Views: what shares storage, what a write through any chain of them does, strides, and the gradients of writes.

NumPy is the judge: its views share memory by the same rules, so each case does the same to an ndarray.
"""

import numpy as np
import pytest

import functorch_lite.torch as torch

QUICK_DTYPES = ["float32", "bool", *[pytest.param(d, marks=pytest.mark.slow) for d in ("int64", "complex64")]]
DTYPES = ["float32", "float64", "int64", "int32", "uint8", "bool", "complex64"]


def data(dtype, shape=(2, 3, 4)):
    x = np.arange(np.prod(shape)).reshape(shape)
    if dtype == "bool":
        return x % 3 == 0
    return (x * (1 - 2j)).astype(dtype) if dtype.startswith("complex") else x.astype(dtype)


def same(got, want):
    got = got.detach().numpy()
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(got, want)


def change(x, xn):
    """Writes to a tensor and to an ndarray (or 0-dim view of one) in the same way."""
    if xn.dtype == bool:
        x.logical_not_()
        np.logical_not(xn, out=xn)
    else:
        x.mul_(3).add_(1)
        xn *= xn.dtype.type(3)
        xn += xn.dtype.type(1)


# name: (of a tensor, of an ndarray), both views of something of shape (2, 3, 4)
VIEWS = {
    "reshape": (lambda x: x.reshape(4, 6), lambda x: x.reshape(4, 6)),
    "reshape_infer": (lambda x: x.reshape(-1, 2), lambda x: x.reshape(-1, 2)),
    "reshape_same": (lambda x: x.reshape(2, 3, 4), lambda x: x[:]),
    "view": (lambda x: x.view(6, 4), lambda x: x.reshape(6, 4)),
    "view_flat": (lambda x: x.view(-1), lambda x: x.reshape(-1)),
    "view_same": (lambda x: x.view(x.shape), lambda x: x[:]),
    "view_as": (lambda x: x.view_as(torch.zeros(3, 8)), lambda x: x.reshape(3, 8)),
    "flatten": (lambda x: x.flatten(), lambda x: x.reshape(-1)),
    "flatten_some": (lambda x: x.flatten(1), lambda x: x.reshape(2, 12)),
    "ravel": (lambda x: x.ravel(), lambda x: x.reshape(-1)),
    "unflatten": (lambda x: x.unflatten(2, (2, 2)), lambda x: x.reshape(2, 3, 2, 2)),
    "squeeze": (lambda x: x[:1].squeeze(0), lambda x: x[0]),
    "squeeze_all": (lambda x: x[:1, :, :1].squeeze(), lambda x: x[0, :, 0]),
    "squeeze_tuple": (lambda x: x[:1, :, :1].squeeze((0, 2)), lambda x: x[0, :, 0]),
    "squeeze_nothing": (lambda x: x.squeeze(0), lambda x: x[:]),
    "unsqueeze": (lambda x: x.unsqueeze(-1), lambda x: x[..., None]),
    "permute": (lambda x: x.permute(2, 0, 1), lambda x: x.transpose(2, 0, 1)),
    "permute_negative": (lambda x: x.permute(-1, 0, 1), lambda x: x.transpose(2, 0, 1)),
    "transpose": (lambda x: x.transpose(0, 2), lambda x: x.swapaxes(0, 2)),
    "swapaxes": (lambda x: x.swapaxes(0, 1), lambda x: x.swapaxes(0, 1)),
    "movedim": (lambda x: x.movedim(0, 2), lambda x: np.moveaxis(x, 0, 2)),
    "movedim_several": (lambda x: x.movedim((0, 1), (1, 2)), lambda x: np.moveaxis(x, (0, 1), (1, 2))),
    "t": (lambda x: x[1].t(), lambda x: x[1].T),
    "T": (lambda x: x[1].T, lambda x: x[1].T),
    "mT": (lambda x: x.mT, lambda x: x.swapaxes(1, 2)),
    "diagonal": (lambda x: x.diagonal(0, 1, 2), lambda x: writable(x.diagonal(0, 1, 2))),
    "diagonal_above": (lambda x: x.diagonal(1, 0, 2), lambda x: writable(x.diagonal(1, 0, 2))),
    "select": (lambda x: x.select(1, 2), lambda x: x[:, 2]),
    "select_negative": (lambda x: x.select(-1, -2), lambda x: x[..., -2]),
    "narrow": (lambda x: x.narrow(2, 1, 2), lambda x: x[..., 1:3]),
    "narrow_negative": (lambda x: x.narrow(0, -1, 1), lambda x: x[-1:]),
    "split": (lambda x: x.split(3, 2)[1], lambda x: x[..., 3:]),
    "split_sizes": (lambda x: x.split([1, 3], 2)[1], lambda x: x[..., 1:]),
    "chunk": (lambda x: x.chunk(2, 2)[0], lambda x: x[..., :2]),
    "tensor_split": (lambda x: x.tensor_split(3, 2)[1], lambda x: x[..., 2:3]),
    "hsplit": (lambda x: x.hsplit(3)[1], lambda x: x[:, 1:2]),
    "vsplit": (lambda x: x.vsplit(2)[1], lambda x: x[1:]),
    "dsplit": (lambda x: x.dsplit(2)[1], lambda x: x[..., 2:]),
    "unbind": (lambda x: x.unbind(1)[1], lambda x: x[:, 1]),
    "iteration": (lambda x: list(x)[1], lambda x: x[1]),
    "expand_same": (lambda x: x.expand(2, 3, 4), lambda x: x[:]),
    "expand_as": (lambda x: x.expand_as(x), lambda x: x[:]),
    "broadcast_to_same": (lambda x: x.broadcast_to((2, 3, 4)), lambda x: x[:]),
    "windows": (lambda x: x.unfold(2, 2, 2), lambda x: x.reshape(2, 3, 2, 2)),
    "index": (lambda x: x[1], lambda x: x[1]),
    "index_negative": (lambda x: x[-1, -2], lambda x: x[-1, -2]),
    "index_all": (lambda x: x[:], lambda x: x[:]),
    "index_ellipsis": (lambda x: x[..., 1], lambda x: x[..., 1]),
    "index_new": (lambda x: x[:, None, 1], lambda x: x[:, None, 1]),
    "index_steps": (lambda x: x[:, 1:, ::2], lambda x: x[:, 1:, ::2]),
    "index_more_steps": (lambda x: x[1:, ::2, 1::2], lambda x: x[1:, ::2, 1::2]),
    "index_empty": (lambda x: x[1:1], lambda x: x[1:1]),
    "index_one": (lambda x: x[1, 2, 3:4], lambda x: x[1, 2, 3:4]),
    "detach": (lambda x: x.detach(), lambda x: x[:]),
    "data": (lambda x: x.data, lambda x: x[:]),
    "contiguous": (lambda x: x.contiguous(), lambda x: x[:]),
    "to_nothing": (lambda x: x.to(x.dtype), lambda x: x[:]),
    "chain_1": (lambda x: x.transpose(0, 1)[1:].permute(2, 1, 0)[..., 0], lambda x: x.swapaxes(0, 1)[1:].transpose(2, 1, 0)[..., 0]),
    "chain_2": (lambda x: x.view(2, 12)[1].view(3, 4).t()[::2], lambda x: x.reshape(2, 12)[1].reshape(3, 4).T[::2]),
    "chain_3": (
        lambda x: x.unflatten(2, (2, 2)).transpose(2, 3).flatten(0, 1),
        lambda x: x.reshape(2, 3, 2, 2).swapaxes(2, 3).reshape(6, 2, 2),
    ),
    "chain_4": (lambda x: x[:, 1].reshape(4, 2), lambda x: x[:, 1].reshape(4, 2)),
    "chain_5": (lambda x: x.transpose(0, 1).reshape(3, 2, 2, 2), lambda x: x.swapaxes(0, 1).reshape(3, 2, 2, 2)),
    "chain_6": (lambda x: x[0].t().diagonal(), lambda x: writable(x[0].T.diagonal())),
}
COPIES = {
    "reshape_crossing": (lambda x: x.permute(2, 1, 0).reshape(12, 2), lambda x: x.transpose(2, 1, 0).reshape(12, 2)),
    "flatten_crossing": (lambda x: x.transpose(0, 1).flatten(), lambda x: x.swapaxes(0, 1).reshape(-1)),
    "reshape_gaps": (lambda x: x[:, :, 1:].reshape(2, 9), lambda x: x[:, :, 1:].reshape(2, 9)),
    "clone": (lambda x: x.clone(), lambda x: x.copy()),
    "contiguous_of_transposed": (lambda x: x.mT.contiguous(), lambda x: x.swapaxes(1, 2).copy()),
    "index_list": (lambda x: x[[0, 1]], lambda x: x[[0, 1]]),
    "index_tensor": (lambda x: x[torch.tensor([1, 0])], lambda x: x[[1, 0]]),
    "mask": (lambda x: x[x == x], lambda x: x[x == x]),
    "flip": (lambda x: x.flip(0), lambda x: x[::-1].copy()),
    "repeat": (lambda x: x.repeat(2, 1, 1), lambda x: np.tile(x, (2, 1, 1))),
    "index_select": (lambda x: x.index_select(0, torch.tensor([1])), lambda x: x[[1]]),
    "cat": (lambda x: torch.cat([x, x]), lambda x: np.concatenate([x, x])),
}


def writable(view):
    """np.diagonal's result is read-only by NumPy's rules."""
    view.flags.writeable = True
    return view


@pytest.mark.parametrize("dtype", QUICK_DTYPES)
@pytest.mark.parametrize("name", [*VIEWS, *COPIES])
def test_writes_go_both_ways_through_views_and_nowhere_through_copies(name, dtype):
    f, fn = (VIEWS | COPIES)[name]
    for to_view in (True, False):
        xn = data(dtype)
        x = torch.tensor(xn)
        v, vn = f(x), fn(xn)
        same(v, vn)
        change(*((v, vn) if to_view else (x, xn)))
        same(x, xn)
        same(v, vn)
        assert v._is_view() or not np.shares_memory(vn, xn) or name in ("detach", "data", "contiguous", "to_nothing")


@pytest.mark.parametrize("name", VIEWS)
def test_strides_of_views(name):
    f, fn = VIEWS[name]
    v, vn = f(torch.tensor(data("float32"))), fn(data("float32"))
    compared = [(a, b // 4) for a, b, n in zip(v.stride(), vn.strides, vn.shape) if n > 1]
    assert 0 in vn.shape or all(a == b for a, b in compared), (v.stride(), vn.strides)
    assert v.is_contiguous() == vn.flags.c_contiguous
    assert v.contiguous().is_contiguous() and (v.contiguous() is v) == v.is_contiguous()
    assert [v.stride(d) for d in range(v.dim())] == list(v.stride())


def test_views_of_complex_tensors():
    for dtype in ("complex64", "complex128"):
        xn = data(dtype)
        x = torch.tensor(xn)
        x.real.mul_(2)
        xn.real *= 2
        x.imag[1].zero_()
        xn.imag[1] = 0
        same(x, xn)
        pair = torch.view_as_real(x)
        pair[0, ..., 1] = 7
        xn.imag[0] = 7
        same(x, xn)
        assert pair.shape == (2, 3, 4, 2) and pair.stride() == (24, 8, 2, 1) and not x.real.is_contiguous()
        back = torch.view_as_complex(pair)
        back.mul_(1j)
        xn *= 1j
        np.testing.assert_allclose(x.numpy(), xn)
        np.testing.assert_allclose(pair.numpy()[..., 0], xn.real)
        x.mH[0].zero_()
        xn[0] = 0
        np.testing.assert_allclose(x.numpy(), xn)


def test_real_of_a_real_tensor_is_itself_and_imag_raises():
    x = torch.tensor([1.0, 2.0])
    x.real.add_(1)
    assert x.tolist() == [2.0, 3.0]
    with pytest.raises(RuntimeError):
        x.imag  # noqa: B018


def test_views_as_another_dtype():
    xn = np.array([1.0, -2.0, 3.5], np.float32)
    x = torch.tensor(xn)
    v, vn = x.view(torch.int32), xn.view(np.int32)
    same(v, vn)
    v[0], vn[0] = 0, 0
    same(x, xn)
    x[2], xn[2] = 1.0, 1.0
    same(v, vn)
    wide_n = np.array([[1, 2, 3, 4]], np.int32)
    wide = torch.tensor(wide_n)
    assert wide.view(torch.int64).shape == (1, 2) and wide.view(torch.int16).shape == (1, 8)
    wide.view(torch.int64)[0, 0] = 5
    wide_n.view(np.int64)[0, 0] = 5
    same(wide, wide_n)
    same(wide.view(torch.uint8), wide_n.view(np.uint8))
    assert x.view(torch.float32).tolist() == x.tolist()


def test_expand_raises_on_write_and_reads_through():
    x = torch.tensor([[1.0], [2.0]])
    e = x.expand(2, 3)
    assert e.stride() == (1, 0) and not e.is_contiguous()
    for write in (
        lambda: e.add_(1),
        lambda: e.copy_(torch.ones(2, 3)),
        lambda: x.expand(4, 2, 1).mul_(2),
        lambda: e.__setitem__((0, 0), 1.0),
    ):
        with pytest.raises(RuntimeError, match="single memory location"):
            write()
    with pytest.raises(RuntimeError, match="single memory location"):  # of windows that overlap: PyTorch leaves it undefined
        torch.arange(4.0).unfold(0, 3, 1).add_(1)
    assert x.tolist() == [[1.0], [2.0]]
    x.mul_(10)
    assert e.tolist() == [[10.0] * 3, [20.0] * 3]
    assert x.expand(2, 1).add_(1) is not None and x.tolist() == [[11.0], [21.0]]


@pytest.mark.parametrize(
    "make, shape",
    [
        (lambda: torch.zeros(2, 3).t(), (6,)),
        (lambda: torch.zeros(2, 3, 4)[:, :, 1:], (2, 9)),
        (lambda: torch.zeros(2, 3, 4).permute(2, 1, 0), (24,)),
        (lambda: torch.zeros(2, 1).expand(2, 3), (6,)),
        (lambda: torch.zeros(6)[::2].unsqueeze(0).expand(2, 3), (6,)),
    ],
)
def test_view_of_incompatible_strides_raises(make, shape):
    with pytest.raises(RuntimeError, match="reshape"):
        make().view(shape)
    assert make().reshape(shape).shape == shape


def test_views_that_strides_allow():
    x = torch.arange(24.0).view(2, 3, 4)
    assert x[:, 1:].view(2, 2, 2, 2).shape == (2, 2, 2, 2)
    assert x.transpose(0, 1).view(3, 2, 2, 2).stride() == (4, 12, 2, 1)
    assert x.permute(1, 2, 0).view(12, 2).stride() == (1, 12)
    assert torch.zeros(3)[:, None].expand(3, 4).view(3, 2, 2).stride() == (1, 0, 0)


def test_view_and_reshape_of_a_wrong_size_raise():
    for f in (lambda x: x.view(5), lambda x: x.reshape(5), lambda x: x.view(4, -1), lambda x: x.view(-1, -1)):
        with pytest.raises(RuntimeError):
            f(torch.zeros(2, 3))


def test_contiguous():
    x = torch.arange(6.0).view(2, 3)
    assert x.contiguous() is x
    y = x.t().contiguous()
    y.add_(1)
    assert y.is_contiguous() and x.tolist() == [[0, 1, 2], [3, 4, 5]] and x.t().stride() == (1, 3)
    assert torch.zeros(2, 3)[:, None].is_contiguous() and torch.zeros(4, 1).t().is_contiguous() and torch.zeros(0, 3).t().is_contiguous()
    assert torch.tensor(1.0).stride() == () and torch.tensor(1.0).is_contiguous()


def test_base():
    x = torch.zeros(2, 3)
    v = x[0]
    assert x._base is None and v._base is x and v[1:]._base is x and not x._is_view() and v._is_view() and not x.clone()._is_view()


# --------------------------------------------------------------------------------------------------------- assignments


@pytest.mark.parametrize("dtype", QUICK_DTYPES)
@pytest.mark.parametrize(
    "index",
    [
        0,
        -1,
        (1, 2),
        slice(None),
        (slice(None), 1),
        (Ellipsis, 2),
        (slice(None), slice(1, None, 2)),
        (None, 1),
        (1, slice(0, 0)),
        ([0, 1], 1),
        ([1, 0], [2, 2]),
    ],
    ids=str,
)
def test_assignment(index, dtype):
    for of in (lambda x: x, lambda x: x.swapaxes(0, 1).swapaxes(0, 1), lambda x: x[:, :, :3]):
        xn = data(dtype)
        x = torch.tensor(xn)
        value = data(dtype)[1, 1, :1]
        of(x)[index] = torch.tensor(value)
        of(xn)[index] = value
        same(x, xn)
        of(x)[index] = 1
        of(xn)[index] = 1
        same(x, xn)


def test_assignment_broadcasts_and_converts():
    x = torch.zeros(2, 3)
    x[:, 1] = torch.tensor([5.0])
    x[0] = torch.arange(3)
    x[1, 2] = True
    assert x.tolist() == [[0, 1, 2], [0, 5, 1]]
    n = torch.zeros(3, dtype=torch.int64)
    n[0], n[1] = 2.7, torch.tensor(3.9)
    n[2] = torch.tensor(4.9, requires_grad=True)
    assert n.tolist() == [2, 3, 4] and not n.requires_grad
    b = torch.zeros(2, dtype=torch.bool)
    b[0] = 7
    assert b.tolist() == [True, False]
    with pytest.raises(RuntimeError):
        x[0] = torch.zeros(2)
    with pytest.raises(IndexError):
        x[2] = 1


def test_assignment_by_mask_and_augmented():
    x = torch.arange(4.0)
    x[[0, 1]] += 10
    x[x > 10] *= 2
    x[torch.tensor([2, 3])] = torch.tensor([7.0, 8.0])
    assert x.tolist() == [10.0, 22.0, 7.0, 8.0]
    m = torch.arange(4.0).view(2, 2)
    m[[0, 1]] = m[[1, 0]]
    assert m.tolist() == [[2, 3], [0, 1]]
    m[:, 0] += 1
    m[0] *= m[1]
    assert m.tolist() == [[3, 3], [1, 1]]


@pytest.mark.parametrize("operator", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"])
def test_augmented_assignment_writes_through_views(operator):
    integral = operator in ("and", "or", "xor", "lshift", "rshift")
    xn = np.array([6, 5, 9, 2], np.int64 if integral else np.float64)
    x = torch.tensor(xn)
    v, vn = x[1:], xn[1:]
    before, method = v, f"__i{operator}__"
    v = getattr(v, method)(2)
    getattr(vn, method)(2)
    assert v is before
    same(x, xn)


def test_iteration_and_unbind_write_through():
    x = torch.zeros(2, 2)
    for i, r in enumerate(x):
        r.fill_(i + 1.0)
    for i, r in enumerate(x.unbind(1)):
        r.add_(10.0 * i)
    assert x.tolist() == [[1, 11], [2, 12]]


def test_a_source_that_overlaps_its_target_is_read_first():  # PyTorch refuses these
    x = torch.arange(5.0)
    x[1:] += x[:-1]
    assert x.tolist() == [0, 1, 3, 5, 7]
    m = torch.arange(4.0).view(2, 2)
    m.add_(m.t())
    assert m.tolist() == [[0, 3], [3, 6]]


def test_shapes_changed_in_place():
    x = torch.arange(6.0).view(2, 3)
    y = x.clone()
    assert y.t_() is y and y.shape == (3, 2) and y.tolist() == x.t().tolist()
    y.unsqueeze_(0).squeeze_(0).transpose_(0, 1).zero_()
    assert y.tolist() == [[0.0] * 3] * 2 and y.stride() == (3, 1)


# --------------------------------------------------------------------------------------------------------- random chains


def step(rng, shape):
    """A view of something of this shape, of a tensor and of an ndarray."""
    n = len(shape)
    kind = rng.choice(["permute", "slice", "select", "reshape", "unsqueeze", "squeeze", "diagonal", "split", "new"])
    if kind == "permute" and n > 1:
        order = tuple(map(int, rng.permutation(n)))
        return lambda x: x.permute(order), lambda x: x.transpose(order)
    if kind == "slice" and n:
        d = int(rng.integers(n))
        start, stop, by = int(rng.integers(shape[d])), int(rng.integers(1, shape[d] + 1)), int(rng.integers(1, 3))
        if start >= stop:
            start, stop = 0, shape[d]
        index = (slice(None),) * d + (slice(start, stop, by),)
        return lambda x: x[index], lambda x: x[index]
    if kind == "select" and n > 1:
        d = int(rng.integers(n))
        i = int(rng.integers(-shape[d], shape[d]))
        return lambda x: x.select(d, i), lambda x: x[(slice(None),) * d + (slice(i, i + 1 if i != -1 else None),)].squeeze(d)
    if kind == "reshape" and n:
        total = int(np.prod(shape))
        a = int(rng.choice([k for k in range(1, total + 1) if total % k == 0]))
        return lambda x: x.reshape(a, -1), lambda x: x.reshape(a, -1)
    if kind == "unsqueeze":
        d = int(rng.integers(n + 1))
        return lambda x: x.unsqueeze(d), lambda x: np.expand_dims(x, d)
    if kind == "squeeze":
        return lambda x: x.squeeze(), lambda x: x.squeeze()
    if kind == "diagonal" and n > 1:
        return lambda x: x.diagonal(0, 0, 1), lambda x: writable(x.diagonal(0, 0, 1))
    if kind == "split" and n and shape[-1] > 1:
        return lambda x: x.split(shape[-1] - 1, -1)[1], lambda x: x[..., shape[-1] - 1 :]
    return lambda x: x[None], lambda x: x[None]


@pytest.mark.parametrize("seed", range(6))
def test_random_chains_of_views(seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    for _ in range(4):
        dtype = str(rng.choice(DTYPES))
        xn = data(dtype, tuple(map(int, rng.integers(1, 5, rng.integers(1, 4)))))
        x = torch.tensor(xn)
        views = [(x, xn)]
        for _ in range(int(rng.integers(1, 6))):
            v, vn = views[int(rng.integers(len(views)))]
            f, fn = step(rng, vn.shape)
            views.append((f(v), fn(vn)))
        for _ in range(3):
            v, vn = views[int(rng.integers(len(views)))]
            change(v, vn)
            for a, b in views:
                same(a, b)
        for a, b in views[1:]:
            assert 0 in b.shape or all(p == q // b.itemsize for p, q, n in zip(a.stride(), b.strides, b.shape) if n > 1)


# ----------------------------------------------------------------------------------------------------------- gradients


def numerical(f, x, eps=1e-6):
    """The gradient of a float64 function of an ndarray."""
    out = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        d = np.zeros_like(x)
        d[i] = eps
        out[i] = (f(x + d) - f(x - d)) / (2 * eps)
    return out


@pytest.mark.parametrize("name", VIEWS)
def test_gradients_through_writes_to_views_and_under_them(name):  # PyTorch refuses writes to pieces (split, unbind); here they are views
    f, fn = VIEWS[name]
    weights = np.linspace(-1, 1, 24).reshape(2, 3, 4)

    def write_view(x):  # the view is written to: what it was made from follows
        y = x * 2.0
        f(y).mul_(f(y) + 1.0)
        return (y * torch.tensor(weights)).sum()

    def write_view_n(x):
        y = x * 2.0
        v = fn(y)
        v *= v + 1.0
        return (y * weights).sum()

    def write_base(x):  # what it was made from is written to: the view follows
        y = x * 2.0
        v = f(y)
        y.mul_(torch.tensor(weights))
        return (v * v * v).sum()

    def write_base_n(x):
        y = x * 2.0
        v = fn(y)
        y *= weights
        return (v * v * v).sum()

    for g, gn in ((write_view, write_view_n), (write_base, write_base_n)):
        if name in ("detach", "data"):
            continue  # through which no gradient passes
        xn = np.linspace(0.5, 2, 24).reshape(2, 3, 4)
        x = torch.tensor(xn, requires_grad=True)
        out = g(x)
        np.testing.assert_allclose(out.item(), gn(xn))
        if out.requires_grad:
            out.backward()
            np.testing.assert_allclose(x.grad.numpy(), numerical(gn, xn), rtol=1e-5, atol=1e-7)
        else:
            assert fn(xn).size == 0


def test_gradients_of_assembling():
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = torch.zeros(2, 2)
    y[0] = x[:2]
    y[:, 1] = x[2:] * 2  # y = [[x0, 2 x2], [0, 2 x3]]
    (y * y).sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 24.0, 32.0] and y.requires_grad and not y.is_leaf


def test_gradients_of_writes_to_the_parts_of_a_complex_tensor():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = torch.zeros(2, dtype=torch.complex64)
    z.real.copy_(x)
    z.imag.copy_(x * x)
    (z.abs() ** 2).sum().backward()  # x^2 + x^4
    np.testing.assert_allclose(x.grad.numpy(), [6.0, 36.0], rtol=1e-5)


def test_gradients_of_writes_by_index():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    y[torch.tensor([0, 2])] = torch.tensor([7.0, 8.0])
    (y * y).sum().backward()
    assert x.grad.tolist() == [0.0, 4.0, 0.0]
    x.grad = None
    y = x * 1
    y[y > 1.5] = 0.0
    (y * y).sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 0.0]
    x.grad = None
    y = x * 1
    y[1] += x[0]
    y[1:] *= 2  # x0, 2 (x1 + x0), 2 x2
    (y * y).sum().backward()
    assert x.grad.tolist() == [2.0 + 8.0 * 3.0, 8.0 * 3.0, 24.0]


def test_a_tensor_gains_history_through_its_view_and_its_views_through_it():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    x = torch.zeros(3)
    v = x[1:]
    v.copy_(w * w)
    assert x.requires_grad and v.requires_grad and not x.is_leaf
    (x * x).sum().backward()
    assert w.grad.tolist() == [4.0, 32.0]
    w.grad = None
    y = torch.zeros(3)
    u = y[1:]
    y[:2] = w
    assert u.requires_grad
    u.sum().backward()
    assert w.grad.tolist() == [0.0, 1.0]


def test_a_view_of_a_leaf_is_not_written_to_unless_under_no_grad():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for write in (lambda: x[0].add_(1), lambda: x.view(2, 1).zero_(), lambda: x.__setitem__(0, 1.0)):
        with pytest.raises(RuntimeError, match="leaf"):
            write()
    with torch.no_grad():
        x[0].add_(1)
        x[1] = 9.0
    assert x.tolist() == [2.0, 9.0] and x.requires_grad and x.is_leaf


def test_a_view_made_under_no_grad():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    with torch.no_grad():
        v, u = x[0], y[0]
        u.mul_(5)
    with pytest.raises(RuntimeError):
        v.mul_(2)
    with pytest.raises(RuntimeError):
        u.mul_(2)
    y.sum().backward()
    assert y.tolist() == [10.0, 4.0] and x.grad.tolist() == [2.0, 2.0]
    buffer = torch.zeros(2)
    with torch.no_grad():
        part = buffer[1:]
    part.add_(1)  # nothing here wants a gradient
    assert buffer.tolist() == [0.0, 1.0]

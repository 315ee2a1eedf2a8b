"""Values stored in another order than usual, from convolution to convolution: the same results, and no moving between."""

import re

import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite.prims import conv_lowering, orders
from functorch_lite.prims.conv import conv_general, conv_rows

F = fl.nn.functional
SEED = 7


def arrays(*shapes):
    rng = np.random.default_rng(SEED)
    return [fl.asarray(rng.normal(size=s).astype(np.float32)) for s in shapes]


BETWEEN = {  # what happens to [2, 4, 6, 5] after a convolution, before the next thing that needs the usual order
    "elementwise": lambda x: fl.relu(x) * x + fl.exp(-x),
    "mixed with what lies as usual": lambda x: x + fl.arange(x.numel()).reshape(x.shape).to(x.dtype) * 0.1,
    "broadcast": lambda x: x * fl.arange(4).reshape(4, 1, 1).to(x.dtype),
    "sum over channels": lambda x: x.sum(1),
    "max over space": lambda x: fl.amax(x, (2, 3)),
    "max over rows": lambda x: fl.amax(x, 2, keepdim=True),
    "permute": lambda x: fl.permute(x, (1, 3, 0, 2)) * 2.0,
    "split a dimension": lambda x: x.reshape(2, 2, 2, 6, 5).sum(2),
    "merge what stands apart": lambda x: x.reshape(8, 30) * 2.0,
    "merge what stands side by side": lambda x: fl.permute(x, (2, 3, 0, 1)).reshape(30, 2, 4) * 2.0,
    "a dimension of size one": lambda x: x.reshape(1, 2, 1, 4, 6, 5, 1).sum(4),
    "flip": lambda x: fl.flip(x, (1, 2)),
    "slice": lambda x: x[:, 1:3, ::2],
    "pad": lambda x: F.pad(x, (1, 2, 0, 1), value=3.0),
    "concatenate": lambda x: fl.cat([x, x * 2.0], 1),
    "convert": lambda x: x.to(fl.float64) * 2.0,
    "max pooling": lambda x: F.max_pool2d(x, 2),
    "max pooling, overlapping": lambda x: F.max_pool2d(x, 3, 2, 1),
    "average pooling": lambda x: F.avg_pool2d(x, (2, 3), stride=1, padding=1),
    "batch norm": lambda x: F.batch_norm(x, None, None, training=True),
    "group norm": lambda x: F.group_norm(x, 2),
    "softmax": lambda x: F.softmax(x, 1),
    "sort": lambda x: fl.sort(x, 3).values,
    "product": lambda x: x @ fl.permute(x, (0, 1, 3, 2)),
    "groups": lambda x: F.conv2d(x, fl.ones(4, 1, 2, 2), groups=4),
    "transposed": lambda x: F.conv_transpose2d(x, fl.ones(4, 3, 2, 2), stride=2),
}


@pytest.mark.parametrize("between", BETWEEN.values(), ids=list(BETWEEN))
def test_same_results(between):
    x, w = arrays((2, 3, 6, 5), (4, 3, 3, 3))

    def run(x, w):
        return between(F.conv2d(x, w, padding=1))

    def loss(x, w):
        out = run(x, w)
        return (out * out * fl.arange(out.numel()).reshape(out.shape)).sum()

    found = fl.jit(run)(x, w), *fl.jit(fl.grad(loss, argnums=(0, 1)))(x, w)
    expected = run(x, w), *fl.grad(loss, argnums=(0, 1))(x, w)  # op by op, each in the usual order
    for a, b in zip(found, expected):
        scale = np.abs(np.asarray(b)).max()
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-4, atol=1e-5 * scale, err_msg=f"seed {SEED}")


@pytest.mark.parametrize(
    "old, order, new", [((2, 6, 4), (1, 2, 0), (2, 2, 3, 4)), ((2, 6, 4), (2, 0, 1), (12, 4)), ((1, 6, 4), (2, 1, 0), (6, 1, 4))]
)
def test_reshape_in_place(old, order, new):
    x = np.arange(np.prod(old)).reshape(old)
    value, found = orders.reshaped([x.transpose(order)], [order], new)
    np.testing.assert_array_equal(np.asarray(orders.restored(value, found)), x.reshape(new))


def test_reshape_that_cannot():
    assert orders.reshaped([np.zeros((6, 4, 2))], [(1, 2, 0)], (12, 4)) is None


def moves(f, *args) -> int:
    """How many transposes of more than a kernel XLA is left with."""
    text = fl.jit(f).lower(*args).compile().as_text()
    shapes = re.findall(r"= f32\[([\d,]+)\]\S* transpose\(", text)
    return sum(np.prod([int(n) for n in s.split(",")]) >= 1000 for s in shapes)


def test_a_chain_is_moved_at_its_ends_only():
    x, w, v = arrays((4, 8, 12, 12), (8, 8, 3, 3), (8, 8, 3, 3))

    def chain(x, w, v):
        h = F.max_pool2d(fl.relu(F.batch_norm(F.conv2d(x, w, padding=1), None, None, training=True)), 2)
        return fl.relu(F.group_norm(F.conv2d(h, v, padding=1), 2)) + h

    assert moves(chain, x, w, v) == 2
    assert moves(fl.grad(lambda *args: chain(*args).sum(), argnums=(1, 2)), x, w, v) <= 8  # the ends, and four for gradients of kernels


CONVOLUTIONS = [  # x, w, strides, padding, x_dilation, w_dilation, groups: beside those of the op table, what has a form of its own
    ((2, 3, 9, 9), (5, 3, 3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1), (1, 1), 1),
    ((2, 1, 9), (5, 1, 4), (3,), ((2, -1),), (1,), (2,), 1),
    ((1, 2, 4, 5, 6), (2, 2, 2, 2, 3), (1, 2, 1), ((0, 1), (1, 0), (1, 1)), (2, 1, 1), (1, 1, 2), 1),
    ((2, 4, 6, 6), (8, 1, 3, 3), (2, 1), ((1, 1), (0, 2)), (1, 1), (2, 1), 4),
    ((2, 6, 6, 6), (6, 3, 3, 3), (1, 1), ((1, 1), (1, 1)), (1, 2), (1, 1), 2),
    ((3, 2, 20, 17), (4, 2, 18, 17), (1, 1), ((0, 0), (1, 1)), (1, 1), (1, 1), 1),
]


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_forms_of_a_convolution(case):
    x, w, *spec = case
    x, w = arrays(x, w)
    expected = conv_general.op.reference(np.asarray(x), np.asarray(w), *spec)
    np.testing.assert_allclose(np.asarray(conv_general(x, w, *spec)), expected, rtol=1e-4, atol=1e-4)
    portable = conv_lowering.conv(x.buffer, w.buffer, *spec)
    np.testing.assert_allclose(np.asarray(portable), expected, rtol=1e-4, atol=1e-4)


ROWS = [  # gradients of kernels: with few rows added to shift them, with many, with a stride; then many channels
    ((3, 5, 1, 18, 18), (3, 4, 1, 16, 16), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1)),
    ((3, 5, 2, 7, 7), (3, 4, 2, 6, 6), (1, 1), ((1, 0), (1, 1)), (1, 1), (1, 1)),
    ((3, 5, 1, 20, 10), (3, 4, 1, 9, 9), (1, 1), ((1, 0), (1, 0)), (1, 1), (2, 1)),
    ((2, 5, 9, 6, 6), (2, 4, 9, 5, 5), (1, 1), ((0, 0), (1, 1)), (1, 1), (1, 1)),
    ((2, 2, 3, 8), (2, 4, 3, 3), (1,), ((1, 1),), (1,), (1,)),
]


@pytest.mark.parametrize("case", ROWS, ids=str)
def test_forms_of_rows(case):
    x, w, *spec = case
    x, w = arrays(x, w)
    expected = conv_rows.op.reference(np.asarray(x), np.asarray(w), *spec)
    np.testing.assert_allclose(np.asarray(conv_rows(x, w, *spec)), expected, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(np.asarray(conv_lowering.rows(x.buffer, w.buffer, *spec)), expected, rtol=1e-4, atol=1e-3)


def test_gradients_for_each_sample():
    x, w, y = arrays((5, 2, 18, 18), (3, 2, 3, 3), (5, 3, 18, 18))

    def loss(w, x, y):
        return (F.conv2d(x[None], w, padding=1) * y).sum()

    each = fl.jit(fl.vmap(fl.grad(loss), in_dims=(None, 0, 0)))(w, x, y)
    one_by_one = np.stack([np.asarray(fl.grad(loss)(w, x[i], y[i])) for i in range(5)])
    np.testing.assert_allclose(np.asarray(each), one_by_one, rtol=1e-4, atol=1e-3)


def test_a_convolution_in_a_loop():
    x, w = arrays((2, 4, 8, 8), (4, 4, 3, 3))

    def step(h, _):
        return fl.tanh(F.conv2d(h, w, padding=1)), None

    expected = x
    for _ in range(3):
        expected = step(expected, None)[0]
    np.testing.assert_allclose(
        np.asarray(fl.jit(lambda x: fl.scan(step, x, None, length=3)[0])(x)), np.asarray(expected), rtol=1e-4, atol=1e-5
    )

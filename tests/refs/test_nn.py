"""What the op table cannot say of the ops of neural networks: draws, errors, numerical care, and what is written to nothing."""

import math

import numpy as np
import pytest

import functorch_lite as fl
import functorch_lite.nn.functional as F

RNG = np.random.default_rng(20)


def normal(*shape):
    return fl.asarray(RNG.normal(size=shape))


# ---------------------------------------------------------------------------------------------------------- dropout


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_keeps_the_mean(p):
    n = 40_000
    out = np.asarray(F.dropout(fl.ones(n), p, key=fl.random.key(3)))
    dropped = (out == 0).mean()
    assert abs(dropped - p) < 5 * math.sqrt(p * (1 - p) / n), "more than five standard deviations away"
    np.testing.assert_allclose(out[out != 0], 1 / (1 - p), rtol=1e-6)


def test_dropout_is_a_function_of_its_key():
    x, key = fl.ones(64), fl.random.key(1)
    same, other = F.dropout(x, key=key), F.dropout(x, key=fl.random.key(2))
    assert F.dropout(x, key=key).tolist() == same.tolist() != other.tolist()
    assert fl.jit(lambda k: F.dropout(x, key=k))(key).tolist() == same.tolist()
    rows = fl.vmap(lambda k: F.dropout(x, key=k))(fl.random.split(key, 3))
    assert len({tuple(r) for r in rows.tolist()}) == 3


def test_dropout_of_channels_drops_whole_ones():
    out = np.asarray(F.dropout2d(fl.ones(50, 8, 3, 3), 0.5, key=fl.random.key(0))).reshape(400, 9)
    assert (out == out[:, :1]).all() and 0 < (out[:, 0] == 0).sum() < 400


def test_the_gradient_of_dropout_is_its_mask():
    key = fl.random.key(5)
    x = normal(20)
    np.testing.assert_allclose(fl.grad(lambda x: F.dropout(x, 0.3, key=key).sum())(x), np.asarray(F.dropout(fl.ones_like(x), 0.3, key=key)))


def test_gumbel_softmax_draws_classes():
    p = np.array([0.2, 0.5, 0.3])
    logits = fl.asarray(np.broadcast_to(np.log(p), (20_000, 3)))
    out = np.asarray(F.gumbel_softmax(logits, hard=True, key=fl.random.key(7)))
    assert set(out.round(12).flat) == {0.0, 1.0} and (out.sum(1).round(12) == 1).all()
    assert (abs(out.mean(0) - p) < 5 * np.sqrt(p * (1 - p) / 20_000)).all(), "more than five standard deviations away"
    hard, soft = (fl.grad(lambda x, h=h: F.gumbel_softmax(x, hard=h, key=fl.random.key(7))[:, 0].sum())(logits) for h in (True, False))
    np.testing.assert_allclose(hard, soft)


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_alpha_dropout_keeps_mean_and_variance(p):
    n = 40_000
    x = fl.random.normal(fl.random.key(1), (n,))
    out = np.asarray(F.alpha_dropout(x, p, True, key=fl.random.key(3)))
    dropped = np.unique(out, return_counts=True)[1].max() / n  # all that are have one value
    assert abs(dropped - p) < 5 * math.sqrt(p * (1 - p) / n), "more than five standard deviations away"
    assert abs(out.mean()) < 0.05 and abs(out.std() - 1) < 0.05
    channels = np.asarray(F.feature_alpha_dropout(fl.ones(50, 8, 9), p, True, key=fl.random.key(0))).reshape(400, 9)
    assert (channels == channels[:, :1]).all() and len(np.unique(channels)) == 2


def test_slopes_of_rrelu_are_uniform():
    n = 20_000
    slope = -np.asarray(F.rrelu(fl.full((n,), -1.0), 0.2, 0.6, True, key=fl.random.key(2)))
    assert 0.2 <= slope.min() and slope.max() < 0.6
    assert abs(slope.mean() - 0.4) < 5 * 0.4 / math.sqrt(12 * n), "more than five standard deviations away"
    assert F.rrelu(fl.asarray([2.0]), training=True, key=fl.random.key(2)).item() == 2.0


def test_windows_at_random_places_stay_inside_and_differ_by_key():
    x = fl.asarray(RNG.permutation(2 * 3 * 9 * 9).reshape(2, 3, 9, 9).astype(float))
    draws = [F.fractional_max_pool2d(x, 2, 4, return_indices=True, key=fl.random.key(k)) for k in (0, 0, 1)]
    assert draws[0].indices.tolist() == draws[1].indices.tolist() != draws[2].indices.tolist()
    flat, at = np.asarray(x).reshape(2, 3, 81), np.asarray(draws[0].indices).reshape(2, 3, 16)
    np.testing.assert_array_equal(np.take_along_axis(flat, at, 2), np.asarray(draws[0].output).reshape(2, 3, 16))
    with pytest.raises(TypeError, match="fractional_max_pool.*key"):
        F.fractional_max_pool2d(x, 2, 4)


# ----------------------------------------------------------------------------------------------- what PyTorch writes to


def test_tensors_are_written_where_pytorch_writes_them_and_arrays_are_not():
    from functorch_lite.nn import create

    weight = np.array([[3.0, 4.0], [0.3, 0.4], [30.0, 40.0]])
    array, tensor = fl.asarray(weight), fl.nn.Parameter(create.tensor(weight))
    out = F.embedding(create.tensor([0, 1, 0]), tensor, max_norm=1.0, scale_grad_by_freq=True)
    np.testing.assert_allclose(tensor.detach().numpy(), [[0.6, 0.8], [0.3, 0.4], [30.0, 40.0]], rtol=1e-6)
    np.testing.assert_allclose(out.detach().numpy(), np.asarray(F.embedding(fl.asarray([0, 1, 0]), array, max_norm=1.0)))
    assert array.tolist() == weight.tolist()
    out.sum().backward()
    assert tensor.grad.tolist() == [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]

    x, mean, var = create.tensor(RNG.normal(size=(4, 2, 3))), create.zeros(2).double(), create.ones(2).double()
    F.batch_norm(x, mean, var, training=True, momentum=0.5)
    np.testing.assert_allclose(mean.numpy(), 0.5 * x.numpy().mean((0, 2)))
    np.testing.assert_allclose(var.numpy(), 0.5 + 0.5 * x.numpy().transpose(1, 0, 2).reshape(2, -1).var(1, ddof=1))
    F.instance_norm(x, mean, var, momentum=1.0)
    np.testing.assert_allclose(mean.numpy(), x.numpy().mean(2).mean(0), atol=1e-12)
    np.testing.assert_allclose(var.numpy(), x.numpy().var(2, ddof=1).mean(0))


def test_activations_write_into_tensors_on_request():
    from functorch_lite.nn import create

    x = create.tensor([-1.0, 2.0])
    assert F.relu(x, inplace=True) is x and x.tolist() == [0.0, 2.0]
    assert F.dropout(x, 1.0, True, True) is x and x.tolist() == [0.0, 0.0]
    w = create.tensor([-1.0, 2.0], requires_grad=True)
    y = w * 3
    F.leaky_relu(y, 0.5, inplace=True)
    y.sum().backward()
    assert y.tolist() == [-1.5, 6.0] and w.grad.tolist() == [1.5, 3.0]
    with pytest.raises(RuntimeError, match="leaf"):
        F.relu(w, inplace=True)
    a = fl.asarray([-1.0, 2.0])
    assert F.relu(a, inplace=True).tolist() == [0.0, 2.0] and a.tolist() == [-1.0, 2.0]


def test_padding_gets_no_gradient_in_rows_of_a_batch_either():
    weights, rows = normal(3, 4, 2), fl.asarray([[0, 1], [1, 1], [3, 3]])
    each = fl.vmap(fl.grad(lambda w, i: F.embedding(i, w, padding_idx=1).sum()))(weights, rows)
    whole = fl.grad(lambda w: fl.vmap(lambda w, i: F.embedding(i, w, padding_idx=1))(w, rows).sum())(weights)
    assert np.asarray(each)[:, :, 0].tolist() == np.asarray(whole)[:, :, 0].tolist() == [[1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 2]]


# ----------------------------------------------------------------------------------------------------- numerical care


def test_the_gradient_of_ctc_loss_is_that_of_the_logits():
    x, targets = normal(5, 2, 4), fl.asarray([[1, 2], [3, 3]])
    f = lambda x: F.ctc_loss(x, targets, [5, 4], [2, 2], reduction="sum")
    of_logits = lambda x: f(fl.log_softmax(x, 2))
    got, at = np.asarray(fl.grad(of_logits)(x)), np.asarray(x)
    for place in ((0, 0, 0), (2, 1, 3), (4, 0, 2)):
        step = np.zeros_like(at)
        step[place] = 1e-6
        difference = (of_logits(fl.asarray(at + step)) - of_logits(fl.asarray(at - step))).item() / 2e-6
        np.testing.assert_allclose(got[place], difference, rtol=1e-6, atol=1e-8)
    assert (got[4, 1] == 0).all()  # behind the second sequence's end
    np.testing.assert_allclose(fl.grad(f)(fl.log_softmax(x, 2)), got, atol=1e-12)  # PyTorch's convention: the same without log_softmax


def test_ctc_loss_of_what_cannot_be_aligned():
    x = normal(2, 1, 3)
    target = fl.asarray([[1, 1, 2]])
    f = lambda x, zero: F.ctc_loss(x, target, [2], [3], zero_infinity=zero)
    assert f(x, False).item() == math.inf and f(x, True).item() == 0
    for g in (fl.grad(lambda x: f(x, True))(x), fl.grad(lambda x: fl.vmap(lambda x: f(x, True))(x[None]).sum())(x)):
        assert np.asarray(g).tolist() == np.zeros((2, 1, 3)).tolist()
    with pytest.raises(RuntimeError, match="ctc_loss: expected input_lengths"):
        F.ctc_loss(x, target, [3], [3])


def test_chunks_of_linear_cross_entropy_agree_with_the_whole():
    x, w, y = normal(7, 3), normal(5, 3), fl.asarray([0, 4, 1, 1, 2, 3, 1])
    weight = fl.asarray([1.0, 2.0, 0.5, 1.0, 3.0], dtype=fl.float64)
    for reduction in ("mean", "sum", "none"):
        f = lambda x, w, o: F.linear_cross_entropy(x, w, y, weight=weight, ignore_index=1, reduction=reduction, options=o)
        for size in (2, 3, 7):
            options = fl.nn.LinearCrossEntropyOptions(batch_chunk_size=size)
            np.testing.assert_allclose(f(x, w, options), f(x, w, None))
            got, wanted = (fl.grad(lambda x, w: (f(x, w, o) ** 2).sum(), argnums=(0, 1))(x, w) for o in (options, None))
            for a, b in zip(got, wanted):
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-12)
    with pytest.raises(ValueError, match="batch_chunk_size"):
        fl.nn.LinearCrossEntropyOptions(batch_chunk_size=0)


def test_classes_are_counted_where_there_is_data():
    assert F.one_hot(fl.asarray([[0], [2]])).tolist() == [[[1, 0, 0]], [[0, 0, 1]]]
    with pytest.raises(RuntimeError, match="give num_classes"):
        fl.jit(F.one_hot)(fl.asarray([0, 2]))
    assert fl.jit(lambda x: F.one_hot(x, 3))(fl.asarray([1])).tolist() == [[0, 1, 0]]
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        F.one_hot(fl.asarray([3]), 3)


def test_large_numbers_lose_nothing():
    big = fl.asarray([1e4, 1e4 + 1], dtype=fl.float32)
    np.testing.assert_allclose(fl.softmax(big, 0), [1 / (1 + math.e), math.e / (1 + math.e)], rtol=1e-6)
    np.testing.assert_allclose(F.layer_norm(big, 2, eps=0.0), [-1, 1], rtol=1e-6)
    assert F.cross_entropy(fl.asarray([[1e4, 0.0]]), fl.asarray([1])).item() == 1e4
    assert F.binary_cross_entropy_with_logits(fl.asarray([-1e4]), fl.asarray([1.0])).item() == 1e4


def test_half_width_floats_are_summed_in_single():
    x = fl.asarray(RNG.normal(size=(2, 4096)), dtype=fl.bfloat16)
    wide = np.asarray(x.to(fl.float32))
    got = F.layer_norm(x, 4096)
    assert got.dtype is fl.bfloat16
    expected = (wide - wide.mean(1, keepdims=True)) / wide.std(1, keepdims=True)
    np.testing.assert_allclose(np.asarray(got.to(fl.float32)), expected, rtol=1e-2, atol=1e-2)
    np.testing.assert_allclose(np.asarray(fl.softmax(x, 1).to(fl.float32)).sum(1), 1, rtol=1e-2)


def test_a_query_that_sees_no_key_gets_nothing_and_gives_no_nan():
    q, k, v = normal(2, 4), normal(3, 4), normal(3, 4)
    mask = fl.asarray([[True, False, True], [False] * 3])
    out, pull = fl.vjp(lambda *xs: F.scaled_dot_product_attention(*xs, attn_mask=mask), q, k, v)
    assert np.asarray(out)[1].tolist() == [0.0] * 4
    assert all(np.isfinite(np.asarray(g)).all() for g in pull(fl.ones_like(out)))


def test_padding_gets_no_gradient():
    weight = normal(4, 2)
    grad = fl.grad(lambda w: F.embedding(fl.asarray([0, 1, 1, 3]), w, padding_idx=1).sum())(weight)
    assert np.asarray(grad)[:, 0].tolist() == [1.0, 0.0, 0.0, 1.0]


def test_an_ignored_target_counts_nothing():
    x = normal(3, 4)
    f = lambda x: F.cross_entropy(x, fl.asarray([1, -100, 2]))
    np.testing.assert_allclose(f(x), F.cross_entropy(x[np.array([0, 2])], fl.asarray([1, 2])))
    assert np.asarray(fl.grad(f)(x))[1].tolist() == [0.0] * 4


def test_batch_norm_returns_what_pytorch_writes():
    x, mean, var = normal(8, 3), fl.zeros(3, dtype=fl.float64), fl.ones(3, dtype=fl.float64)
    out, new_mean, new_var = F.batch_norm_stats(x, mean, var, momentum=0.1)
    assert mean.tolist() == [0.0] * 3 and var.tolist() == [1.0] * 3
    np.testing.assert_allclose(new_mean, 0.1 * np.asarray(x).mean(0))
    np.testing.assert_allclose(new_var, 0.9 + 0.1 * np.asarray(x).var(0, ddof=1))
    np.testing.assert_allclose(out, F.batch_norm(x, mean, var, training=True))


def test_pooling_gives_indices_on_request():
    out = F.max_pool2d(fl.asarray([[[[1.0, 2.0], [4.0, 3.0]]]]), 2, return_indices=True)
    assert out.output.item() == 4.0 and out.indices.item() == 2 and out.indices.dtype is fl.int64


def test_closed_forms_survive_vmap():
    """Per-sample gradients through ops whose rules are in closed form, against a loop."""
    w, b, xs, ys = normal(5, 4), normal(5), normal(3, 4), fl.asarray([0, 4, 2])

    def loss(w, b, x, y):
        h = F.layer_norm(F.linear(x, w, b), 5)
        return F.cross_entropy(h.unsqueeze(0), y.unsqueeze(0))

    grads = fl.vmap(fl.grad(loss, argnums=(0, 1)), in_dims=(None, None, 0, 0))(w, b, xs, ys)
    loop = [fl.grad(loss, argnums=(0, 1))(w, b, xs[i], ys[i]) for i in range(3)]
    for got, rows in zip(grads, zip(*loop)):
        np.testing.assert_allclose(got, np.stack([np.asarray(r) for r in rows]), rtol=1e-9, atol=1e-12)


# ------------------------------------------------------------------------------------------------------- contractions


def test_einsum_takes_lists_and_numbers_for_letters():
    x, y = normal(2, 3), normal(3, 4)
    expected = np.asarray(x) @ np.asarray(y)
    np.testing.assert_allclose(fl.einsum("ij,jk->ik", [x, y]), expected)
    np.testing.assert_allclose(fl.einsum(x, [0, 1], y, [1, 2], [0, 2]), expected)
    np.testing.assert_allclose(fl.einsum(x, [..., 1], y, [1, 2], [..., 2]), expected)


def test_einsum_multiplies_in_a_cheap_order():
    """As a chain from the left this is a matrix of 300 x 300; from the right it is vectors only."""
    a, b, v = normal(300, 2), normal(2, 300), normal(300)
    graph = fl.make_fx(lambda a, b, v: fl.einsum("ij,jk,k->i", a, b, v), prims=True)(a, b, v)
    sizes = [math.prod(n.aval.shape) for n in graph.graph.nodes if n.op == "call_function"]
    assert sizes and max(sizes) <= 300


def test_a_beta_of_zero_reads_no_input():
    out = fl.addmm(fl.full((2, 2), math.nan), fl.ones(2, 3), fl.ones(3, 2), beta=0)
    assert out.tolist() == [[3.0, 3.0], [3.0, 3.0]]


# -------------------------------------------------------------------------------------------------------------- errors

M, V = fl.ones(2, 3), fl.ones(3)
IMAGE = fl.ones(1, 2, 5, 5)
BAD = {
    "matmul sizes": (lambda: fl.matmul(M, M), RuntimeError, r"cannot be multiplied \(3 and 2\).*float32\[2,3\]"),
    "matmul dtypes": (lambda: M @ fl.ones(3, 2, dtype=fl.float64), RuntimeError, "same dtype.*float64"),
    "matmul number": (lambda: fl.matmul(M, 2.0), TypeError, "'other' must be an Array, got float"),
    "matmul 0-dim": (lambda: fl.matmul(M, fl.ones(())), RuntimeError, "at least 1-dimensional"),
    "mm ranks": (lambda: fl.mm(M, V), RuntimeError, "mat2 to be a matrix"),
    "einsum count": (lambda: fl.einsum("ij,jk->ik", M), RuntimeError, "subscripts for 2 operands, got 1"),
    "einsum rank": (lambda: fl.einsum("ij->i", V), RuntimeError, "2 subscripts for operand 0, which has 1"),
    "einsum output": (lambda: fl.einsum("ij->k", M), RuntimeError, "k of .* appears in no operand"),
    "einsum sizes": (lambda: fl.einsum("ij,jk", M, M), RuntimeError, "do not broadcast"),
    "linear": (lambda: F.linear(M, fl.ones(4, 2)), RuntimeError, "last dimensions of input"),
    "softmax int": (lambda: fl.softmax(fl.asarray([1, 2]), 0), RuntimeError, "float dtype, got int64"),
    "softmax dim": (lambda: fl.softmax(V, 2), IndexError, "dimension out of range"),
    "layer_norm": (lambda: fl.layer_norm(M, (2,)), RuntimeError, r"normalized_shape=\[2\]"),
    "group_norm": (lambda: fl.group_norm(IMAGE, 3), RuntimeError, "divisible by num_groups=3"),
    "batch_norm": (lambda: fl.batch_norm(fl.ones(1, 2), None, None, training=True), ValueError, "more than 1 value per channel"),
    "reduction": (lambda: F.mse_loss(V, V, "avg"), ValueError, "'avg' is not a valid value for reduction"),
    "class range": (lambda: F.cross_entropy(M, fl.asarray([0, 3])), IndexError, "out of bounds for dimension 1 with size 3"),
    "class shape": (lambda: F.cross_entropy(M, fl.asarray([0])), ValueError, "class indices"),
    "embedding range": (lambda: F.embedding(fl.asarray([2]), M), IndexError, "out of bounds"),
    "bce shapes": (lambda: F.binary_cross_entropy(V, M), ValueError, "one shape"),
    "bce range": (lambda: F.binary_cross_entropy(V * 2, V), RuntimeError, "between 0 and 1"),
    "conv channels": (lambda: fl.conv2d(IMAGE, fl.ones(1, 3, 3, 3)), RuntimeError, "to have 3 channels, but got 2 channels instead"),
    "conv rank": (lambda: fl.conv2d(V, fl.ones(1, 3, 3, 3)), RuntimeError, r"expected 3D \(unbatched\) or 4D \(batched\) input"),
    "conv same": (lambda: fl.conv2d(IMAGE, fl.ones(1, 2, 3, 3), padding="same", stride=2), RuntimeError, "not supported for strided"),
    "conv kernel": (lambda: fl.conv2d(IMAGE, fl.ones(1, 2, 7, 7)), RuntimeError, "must not be larger than the padded input"),
    "conv bias": (lambda: fl.conv2d(IMAGE, fl.ones(1, 2, 3, 3), fl.ones(2)), RuntimeError, "1 output channels"),
    "pool padding": (lambda: F.max_pool2d(IMAGE, 2, padding=2), RuntimeError, "half of the kernel"),
    "pool int": (lambda: F.avg_pool2d(IMAGE.to(fl.int32), 2), RuntimeError, "float dtype"),
    "attention": (lambda: F.scaled_dot_product_attention(M, fl.ones(2, 4), M), RuntimeError, "query"),
    "dropout key": (lambda: F.dropout(V), TypeError, "needs key="),
    "dropout p": (lambda: F.dropout(V, 1.5), ValueError, "between 0 and 1"),
    "negative variance": (lambda: F.gaussian_nll_loss(V, V, -V), ValueError, "negative entry"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    f, error, message = BAD[name]
    with pytest.raises(error, match=message):
        f()

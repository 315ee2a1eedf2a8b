"""Samples of the refs of neural networks, losses, convolution and pooling aside: softmax, normalization, attention, embedding, dropout."""

from __future__ import annotations

import numpy as np

from ...core.dtype import float32, float64, int64
from ...refs import attention, channel_norm, dropout, normalization, norms, softmaxes
from ..table import Sample, array, row


def along_dims(rng, dtype):
    return [Sample(array(rng, s, dtype), d) for s, d in (((3,), 0), ((2, 3), -1), ((2, 3), 0), ((), -1), ((0, 2), 1), ((2, 0), 1))]


for function in (softmaxes.softmax, softmaxes.log_softmax, softmaxes.softmin):
    row(function, along_dims)
row(softmaxes.softmax, lambda rng, dtype: [Sample(array(rng, (2, 3), dtype), 1, float64)], (int64, float32))


def hidden_rows(rng, dtype):
    """Some elements, and a whole row, at -inf."""
    x = array(rng, (3, 3), dtype)
    x[0, 1] = x[2] = -np.inf
    yield from along_dims(rng, dtype)
    yield Sample(x, 1, differentiable=False)


def _softmax_or_zeros(x, dim, dtype=None):
    return np.nan_to_num(softmaxes.softmax.op.reference(x, dim, dtype))


row(softmaxes.safe_softmax, hidden_rows, reference=_softmax_or_zeros)

# ------------------------------------------------------------------------------------------------------ normalization


def standardized(rng, dtype):
    for shape, dim, kwargs in (((2, 3), 1, {}), ((2, 3, 2), (0, -1), {"eps": 0.1}), ((2, 3), (1,), {"center": False}), ((3,), None, {})):
        yield Sample(array(rng, shape, dtype), dim, **kwargs)


row(normalization.standardize, standardized, tolerance=10)


def with_affine(*cases):
    """Samples (input, size of weight and bias, *statics), without weight and bias, and with both."""

    def sampler(rng, dtype):
        for shape, size, statics in cases:
            x, affine = array(rng, shape, dtype), [array(rng, size, dtype) for _ in range(2)]
            yield Sample(x, *statics)
            yield Sample(x, *statics, *affine, eps=0.01)

    return sampler


row(normalization.layer_norm, with_affine(((2, 3), 3, (3,)), ((2, 3, 2), (3, 2), ((3, 2),)), ((0, 3), 3, (3,))), tolerance=10)


def channels(rng, dtype):
    for shape, groups, batch in (
        ((2, 4), 2, False),
        ((2, 4, 3), 2, False),
        ((2, 4, 3), 2, True),
        ((3, 2), 2, True),
        ((2, 3, 2, 2), 3, False),
    ):
        x, affine = array(rng, shape, dtype), [array(rng, shape[1], dtype) for _ in range(2)]
        yield Sample(x, None, None, groups, batch)
        yield Sample(x, *affine, groups, batch, eps=0.01)


row(channel_norm.standardize_channels, channels, tolerance=10)
row(channel_norm.group_norm, with_affine(((2, 4, 3), 4, (2,)), ((2, 4), 4, (1,))), tolerance=10)


def rms(rng, dtype):
    x = array(rng, (2, 3), dtype)
    return [Sample(x, 3), Sample(x, (3,), array(rng, 3, dtype)), Sample(x, (2, 3), eps=0.1)]


row(normalization.rms_norm, rms, tolerance=10)


def batch_norms(rng, dtype):
    for shape in ((3, 2), (2, 3, 2)):
        c = shape[1]
        stats = array(rng, c, dtype), array(rng, c, dtype, 0.5, 2)
        affine = array(rng, c, dtype), array(rng, c, dtype)
        for training in (False, True):
            yield Sample(array(rng, shape, dtype), *stats, *affine, training=training)
        yield Sample(array(rng, shape, dtype), *stats, training=True, momentum=0.5, eps=0.01)


row(channel_norm.batch_norm, batch_norms, tolerance=10)
row(channel_norm.batch_norm, lambda rng, dtype: [Sample(array(rng, (3, 2), dtype), None, None, training=True)], tolerance=10)
row(channel_norm.batch_norm_stats, batch_norms, tolerance=10)


def instance_norms(rng, dtype):
    x, stats = array(rng, (2, 3, 2), dtype), (array(rng, 3, dtype), array(rng, 3, dtype, 0.5, 2))
    affine = array(rng, 3, dtype), array(rng, 3, dtype)
    return [Sample(x), Sample(x, None, None, *affine, eps=0.1), Sample(x, *stats, *affine, use_input_stats=False)]


row(channel_norm.instance_norm, instance_norms, tolerance=10)


def responses(rng, dtype):
    for size, kwargs in ((3, {}), (2, {"alpha": 0.5, "beta": 0.5, "k": 2.0})):
        yield Sample(array(rng, (2, 3, 2), dtype), size, **kwargs)


row(normalization.local_response_norm, responses)


def normalized(rng, dtype):
    for shape, p, dim in (((2, 3), 2.0, 1), ((2, 3), 1.0, 0), ((3,), 3.0, -1)):
        yield Sample(array(rng, shape, dtype, 0.5, 2), p, dim)


row(norms.normalize, normalized)

# ----------------------------------------------------------------------------------------------------------- attention


def attentions(rng, dtype):
    for q, k, v, kwargs in (
        ((3, 2), (2, 2), (2, 3), {}),
        ((2, 2, 3, 2), (2, 2, 3, 2), (2, 2, 3, 2), {"is_causal": True}),
        ((2, 3, 2), (1, 2, 2), (2, 2), {"scale": 0.5}),
        ((4, 2, 2), (2, 3, 2), (2, 3, 2), {"enable_gqa": True}),
    ):
        yield Sample(*[array(rng, s, dtype) for s in (q, k, v)], **kwargs)
    q, k, v = [array(rng, s, dtype) for s in ((2, 3, 2), (2, 4, 2), (2, 4, 3))]
    mask = np.array([[True, False, True, True], [False] * 4, [True] * 4])
    yield Sample(q, k, v, mask)
    yield Sample(q, k, v, array(rng, (2, 1, 4), dtype))


row(attention.scaled_dot_product_attention, attentions)


DRAWN = "a draw has no reference: tests/refs/test_nn.py tests its distribution"


def dropouts(shape):
    def sampler(rng, dtype):
        key = rng.integers(0, 2**32, 2, np.uint32)
        yield Sample(array(rng, shape, dtype), 0.5, key=key)
        yield Sample(array(rng, shape, dtype), 1.0, key=key)
        yield Sample(array(rng, shape, dtype), 0.5, False)

    return sampler


for function, shape in (
    (dropout.dropout, (2, 3)),
    (dropout.dropout1d, (2, 3, 2)),
    (dropout.dropout2d, (2, 2, 2, 2)),
    (dropout.dropout3d, (2, 2, 1, 2, 2)),
):
    row(function, dropouts(shape), skip={"value": DRAWN})


def training_draws(rng, dtype):
    key = rng.integers(0, 2**32, 2, np.uint32)
    return [Sample(array(rng, (2, 3, 2), dtype), p, True, key=key) for p in (0.5, 1.0)]


for function in (dropout.alpha_dropout, dropout.feature_alpha_dropout):
    row(function, training_draws, skip={"value": DRAWN})


def slopes(rng, dtype):
    key = rng.integers(0, 2**32, 2, np.uint32)
    x = array(rng, (2, 3), dtype)
    return [Sample(x, 0.1, 0.3, True, key=key), Sample(x, training=False)]


row(dropout.rrelu, slopes, skip={"value": DRAWN})


def gumbel_draws(rng, dtype):
    key = rng.integers(0, 2**32, 2, np.uint32)
    return [Sample(array(rng, (2, 3), dtype), 0.5, key=key), Sample(array(rng, (3,), dtype), hard=True, key=key, differentiable=False)]


row(dropout.gumbel_softmax, gumbel_draws, skip={"value": DRAWN})

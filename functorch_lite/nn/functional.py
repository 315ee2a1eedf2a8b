"""Every op of neural networks by name, as PyTorch's torch.nn.functional has them. Names only: the ops live in refs/."""

# ruff: noqa: F401  # names only

from ..refs.activation import (
    celu,
    elu,
    gelu,
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    logsigmoid,
    mish,
    prelu,
    relu,
    relu6,
    selu,
    silu,
    softplus,
    softshrink,
    softsign,
    swish,
    tanhshrink,
    threshold,
)
from ..refs.adaptive import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
)
from ..refs.attention import multi_head_attention_forward, scaled_dot_product_attention
from ..refs.channel_norm import batch_norm, batch_norm_stats, group_norm, instance_norm, standardize_channels
from ..refs.contract import bilinear, linear
from ..refs.conv import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d, fold, unfold
from ..refs.dropout import alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout, gumbel_softmax, rrelu
from ..refs.elementwise import sigmoid, tanh
from ..refs.embedding import embedding, embedding_bag, one_hot
from ..refs.grid import affine_grid, grid_sample
from ..refs.likelihoods import gaussian_nll_loss, poisson_nll_loss
from ..refs.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    pick,
    smooth_l1_loss,
)
from ..refs.margins import (
    cosine_embedding_loss,
    cosine_similarity,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    pairwise_distance,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from ..refs.matrices import pdist
from ..refs.normalization import layer_norm, local_response_norm, rms_norm, standardize
from ..refs.norms import normalize
from ..refs.pool import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
)
from ..refs.rearrange import pad
from ..refs.resize import channel_shuffle, interpolate, pixel_shuffle, pixel_unshuffle, upsample, upsample_bilinear, upsample_nearest
from ..refs.softmaxes import log_softmax, safe_softmax, softmax, softmin
from ..refs.unpool import (
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
    pooling_fractions,
)
from .ctc import ctc_loss
from .linear_cross_entropy import linear_cross_entropy
from .recurrent import gru_layer, lstm_layer, rnn_layer

"""Helpers as torch.nn.utils has them: over the parameters of a module, and in `rnn` for sequences of different lengths."""

from . import rnn
from .parameters import (
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
    parameters_to_vector,
    vector_to_parameters,
)

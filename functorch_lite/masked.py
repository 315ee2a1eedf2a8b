"""Ops under a mask, as PyTorch's torch.masked has them. Names only: the ops live in refs/."""

# ruff: noqa: F401  # names only

from .refs.masking import (
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    normalize,
    prod,
    softmax,
    softmin,
    std,
    sum,
    var,
)

"""Distances between vectors."""

from __future__ import annotations

from .. import functional as F
from .layer import Layer, layer


@layer(F.cosine_similarity)
class CosineSimilarity(Layer):
    """The cosine of the angle between x1 and x2 along dim."""

    dim: int = 1
    eps: float = 1e-8


@layer(F.pairwise_distance)
class PairwiseDistance(Layer):
    """The p-norm of x1 - x2 + eps along the last dimension."""

    p: float = 2.0
    eps: float = 1e-6
    keepdim: bool = False

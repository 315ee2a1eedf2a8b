"""Dropout layers: they change their input in training only."""

from __future__ import annotations

from ...core.array import Array
from .. import functional as F
from ..tensor import Tensor
from .layer import Layer, changed, layer


@layer(shows="p={p}, inplace={inplace}")
class _Dropout(Layer):
    p: float = 0.5
    inplace: bool = False

    def _ready(self) -> None:
        if not 0 <= self.p <= 1:
            raise ValueError(f"{type(self).__name__}: p must be between 0 and 1, got {self.p}")

    def forward(self, input: Tensor | Array) -> Tensor | Array:
        """See the class."""
        out = self._op(input, self.p, self.training)
        return changed(input, out) if self.inplace and self.training else out


@layer(F.dropout)
class Dropout(_Dropout):
    """In training, zeroes each element with probability p and scales the others by 1 / (1 - p) (Srivastava et al., 2014).

    Tensors draw from the default generator. Arrays have none: draw with `functional.dropout(x, p, key=key)` there.

    >>> import functorch_lite as fl
    >>> fl.nn.Dropout(0.2).eval()(fl.asarray([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """


@layer(F.alpha_dropout)
class AlphaDropout(_Dropout):
    """In training, sets elements to selu's lowest value with probability p, and keeps mean and variance (Klambauer et al., 2017)."""


@layer(F.feature_alpha_dropout)
class FeatureAlphaDropout(_Dropout):
    """`AlphaDropout` of whole channels of input [N, C, *]."""


@layer(F.dropout1d)
class Dropout1d(_Dropout):
    """`Dropout` of whole channels of input [N, C, L] or [C, L] (Tompson et al., 2015)."""


@layer(F.dropout2d)
class Dropout2d(_Dropout):
    """`Dropout` of whole channels of images [N, C, H, W] or [C, H, W]."""


@layer(F.dropout3d)
class Dropout3d(_Dropout):
    """`Dropout` of whole channels of volumes [N, C, D, H, W] or [C, D, H, W]."""

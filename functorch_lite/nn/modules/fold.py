"""Windows of images as columns, and back."""

from __future__ import annotations

from .. import functional as F
from .layer import Layer, layer

_SHOWS = "kernel_size={kernel_size}, dilation={dilation}, padding={padding}, stride={stride}"


@layer(F.fold, shows="output_size={output_size}, " + _SHOWS)
class Fold(Layer):
    """Columns [N, C * kernel elements, windows] added up where `Unfold` takes them from: [N, C, *output_size]."""

    output_size: int | tuple[int, ...]
    kernel_size: int | tuple[int, ...]
    dilation: int | tuple[int, ...] = 1
    padding: int | tuple[int, ...] = 0
    stride: int | tuple[int, ...] = 1


@layer(F.unfold, shows=_SHOWS)
class Unfold(Layer):
    """The windows of images [N, C, H, W] as columns: [N, C * kernel elements, windows]."""

    kernel_size: int | tuple[int, ...]
    dilation: int | tuple[int, ...] = 1
    padding: int | tuple[int, ...] = 0
    stride: int | tuple[int, ...] = 1

"""Pooling layers, in one, two and three dimensions."""

from __future__ import annotations

from .. import functional as F
from .layer import Layer, layer, repeated


@layer(shows="kernel_size={kernel_size}, stride={stride}, padding={padding}, dilation={dilation}, ceil_mode={ceil_mode}")
class _MaxPool(Layer):
    kernel_size: int | tuple[int, ...]
    stride: int | tuple[int, ...] | None = None
    padding: int | tuple[int, ...] = 0
    dilation: int | tuple[int, ...] = 1
    return_indices: bool = False
    ceil_mode: bool = False

    def _ready(self) -> None:
        self.stride = self.kernel_size if self.stride is None else self.stride


@layer(F.max_pool1d)
class MaxPool1d(_MaxPool):
    """The largest element of each window of input [N, C, L] (or [C, L]); stride is kernel_size unless given.

    With return_indices also where each stood. See `functional.max_pool1d`.
    """


@layer(F.max_pool2d)
class MaxPool2d(_MaxPool):
    """The largest element of each window of images [N, C, H, W] (or [C, H, W]); stride is kernel_size unless given.

    >>> import functorch_lite as fl
    >>> fl.nn.MaxPool2d(2)(fl.ones(1, 3, 4, 4)).shape
    (1, 3, 2, 2)
    """


@layer(F.max_pool3d)
class MaxPool3d(_MaxPool):
    """The largest element of each window of volumes [N, C, D, H, W] (or [C, D, H, W])."""


@layer(shows="kernel_size={kernel_size}, stride={stride}, padding={padding}")
class _AvgPool(Layer):
    kernel_size: int | tuple[int, ...]
    stride: int | tuple[int, ...] | None = None
    padding: int | tuple[int, ...] = 0
    ceil_mode: bool = False
    count_include_pad: bool = True

    def _ready(self) -> None:
        self.stride = self.kernel_size if self.stride is None else self.stride


@layer(F.avg_pool1d)
class AvgPool1d(_AvgPool):
    """The mean of each window of input [N, C, L] (or [C, L]); stride is kernel_size unless given."""

    def _ready(self) -> None:
        super()._ready()
        self.kernel_size, self.stride, self.padding = (repeated(v, 1) for v in (self.kernel_size, self.stride, self.padding))


@layer(F.avg_pool2d)
class AvgPool2d(_AvgPool):
    """The mean of each window of images [N, C, H, W] (or [C, H, W]); stride is kernel_size unless given."""

    divisor_override: int | None = None


@layer(F.avg_pool3d)
class AvgPool3d(_AvgPool):
    """The mean of each window of volumes [N, C, D, H, W] (or [C, D, H, W])."""

    divisor_override: int | None = None


@layer(shows="output_size={output_size}")
class _Adaptive(Layer):
    output_size: int | tuple[int | None, ...] | None


@layer(F.adaptive_avg_pool1d)
class AdaptiveAvgPool1d(_Adaptive):
    """The mean of each of output_size windows that cover input [N, C, L] (or [C, L]) evenly."""


@layer(F.adaptive_avg_pool2d)
class AdaptiveAvgPool2d(_Adaptive):
    """The mean of each of output_size windows that cover images evenly; None keeps the size of a dimension.

    >>> import functorch_lite as fl
    >>> fl.nn.AdaptiveAvgPool2d((1, None))(fl.ones(2, 3, 5, 7)).shape
    (2, 3, 1, 7)
    """


@layer(F.adaptive_avg_pool3d)
class AdaptiveAvgPool3d(_Adaptive):
    """The mean of each of output_size windows that cover volumes evenly."""


@layer(F.adaptive_max_pool1d)
class AdaptiveMaxPool1d(_Adaptive):
    """The largest element of each of output_size windows that cover input [N, C, L] (or [C, L]) evenly."""


@layer(F.adaptive_max_pool2d)
class AdaptiveMaxPool2d(_Adaptive):
    """The largest element of each of output_size windows that cover images evenly."""


@layer(F.adaptive_max_pool3d)
class AdaptiveMaxPool3d(_Adaptive):
    """The largest element of each of output_size windows that cover volumes evenly."""

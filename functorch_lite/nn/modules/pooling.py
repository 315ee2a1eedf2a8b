"""Pooling layers, in one, two and three dimensions."""

from __future__ import annotations

from ...core.array import Array
from .. import functional as F
from ..module import Module
from ..tensor import Tensor
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


@layer()
class _AdaptiveMax(_Adaptive):
    return_indices: bool = False


@layer(F.adaptive_max_pool1d)
class AdaptiveMaxPool1d(_AdaptiveMax):
    """The largest element of each of output_size windows that cover input [N, C, L] (or [C, L]) evenly."""


@layer(F.adaptive_max_pool2d)
class AdaptiveMaxPool2d(_AdaptiveMax):
    """The largest element of each of output_size windows that cover images evenly."""


@layer(F.adaptive_max_pool3d)
class AdaptiveMaxPool3d(_AdaptiveMax):
    """The largest element of each of output_size windows that cover volumes evenly."""


# ------------------------------------------------------------------------------------------------------ other kinds


class _MaxUnpool(Layer):
    _n = 1

    def forward(self, input: Tensor | Array, indices: Tensor | Array, output_size: tuple[int, ...] | None = None) -> Tensor | Array:
        """See the class."""
        return self._op(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def _ready(self) -> None:
        self.stride = self.kernel_size if self.stride is None else self.stride
        self.kernel_size, self.stride, self.padding = (repeated(v, self._n) for v in (self.kernel_size, self.stride, self.padding))


@layer(shows="kernel_size={kernel_size}, stride={stride}, padding={padding}")
class _MaxUnpooling(_MaxUnpool):
    kernel_size: int | tuple[int, ...]
    stride: int | tuple[int, ...] | None = None
    padding: int | tuple[int, ...] = 0


@layer(F.max_unpool1d)
class MaxUnpool1d(_MaxUnpooling):
    """`MaxPool1d` undone: zeros with the elements of input at indices. Called with (input, indices, output_size=None)."""


@layer(F.max_unpool2d)
class MaxUnpool2d(_MaxUnpooling):
    """`MaxPool2d` undone: zeros with the elements of input at indices. Called with (input, indices, output_size=None)."""

    _n = 2


@layer(F.max_unpool3d)
class MaxUnpool3d(_MaxUnpooling):
    """`MaxPool3d` undone: zeros with the elements of input at indices. Called with (input, indices, output_size=None)."""

    _n = 3


class _FractionalMaxPool(Module):
    _n = 2
    _op = staticmethod(F.fractional_max_pool2d)

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        output_size: int | tuple[int, ...] | None = None,
        output_ratio: float | tuple[float, ...] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{name}: exactly one of output_size and output_ratio is needed")
        self.kernel_size, self.return_indices = repeated(kernel_size, self._n), return_indices
        self.output_size = None if output_size is None else repeated(output_size, self._n)
        self.output_ratio = None if output_ratio is None else repeated(output_ratio, self._n)
        if output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"{name}: output_ratio must be between 0 and 1, got {output_ratio}")
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input: Tensor | Array):
        """See the class."""
        return self._op(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPool):
    """The largest element of each of output_size windows at random places of images (Graham, 2014).

    Tensors draw from the default generator. Arrays have none: use `functional.fractional_max_pool2d(x, ..., key=key)` there.
    """


class FractionalMaxPool3d(_FractionalMaxPool):
    """The largest element of each of output_size windows at random places of volumes (Graham, 2014)."""

    _n = 3
    _op = staticmethod(F.fractional_max_pool3d)


@layer(shows="norm_type={norm_type}, kernel_size={kernel_size}, stride={stride}, ceil_mode={ceil_mode}")
class _LPPool(Layer):
    norm_type: float
    kernel_size: int | tuple[int, ...]
    stride: int | tuple[int, ...] | None = None
    ceil_mode: bool = False


@layer(F.lp_pool1d)
class LPPool1d(_LPPool):
    """(sum of x^norm_type)^(1 / norm_type) over each window of input [N, C, L] (or [C, L])."""


@layer(F.lp_pool2d)
class LPPool2d(_LPPool):
    """(sum of x^norm_type)^(1 / norm_type) over each window of images."""


@layer(F.lp_pool3d)
class LPPool3d(_LPPool):
    """(sum of x^norm_type)^(1 / norm_type) over each window of volumes."""

"""Convolution layers and their transposes, in one, two and three dimensions."""

from __future__ import annotations

import math

from ...core.array import Array
from .. import functional as F
from .. import init
from ..create import empty
from ..module import Module
from ..parameter import Parameter
from ..tensor import Tensor
from .layer import repeated

_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "replicate", "circular": "circular"}  # as F.pad calls them


class _Conv(Module):
    """What all have in common; `_n` counts the spatial dimensions."""

    _n = 0
    _transposed = False

    def _begin(
        self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype, output_padding=0
    ):
        Module.__init__(self)
        name, n = type(self).__name__, self._n
        if groups <= 0 or in_channels % groups or out_channels % groups:
            raise ValueError(f"{name}: groups must be positive and divide both channels, got {groups=}, {in_channels=}, {out_channels=}")
        if padding_mode not in _MODES:
            raise ValueError(f"{name}: padding_mode must be one of {list(_MODES)}, got {padding_mode!r}")
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"{name}: Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.dilation = (repeated(v, n) for v in (kernel_size, stride, dilation))
        self.padding = padding if isinstance(padding, str) else repeated(padding, n)
        if padding == "same" and set(self.stride) != {1}:
            raise ValueError(f"{name}: padding='same' is not supported for strided convolutions, got stride={self.stride}")
        self.output_padding, self.groups, self.padding_mode = repeated(output_padding, n), groups, padding_mode
        self.transposed = self._transposed
        ends = (in_channels, out_channels // groups) if self._transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(empty((*ends, *self.kernel_size), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws both anew, uniform up to 1 / sqrt(inputs of one output)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
        if self.bias is not None and fan_in:
            init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def extra_repr(self) -> str:
        n = self._n
        rest = {
            "padding": (self.padding, (0,) * n),
            "dilation": (self.dilation, (1,) * n),
            "output_padding": (self.output_padding, (0,) * n),
            "groups": (self.groups, 1),
            "bias": (self.bias is not None, True),
            "padding_mode": (self.padding_mode, "zeros"),
        }
        shown = [f"{self.in_channels}", f"{self.out_channels}", f"kernel_size={self.kernel_size}", f"stride={self.stride}"]
        return ", ".join([*shown, *[f"{name}={value}" for name, (value, usual) in rest.items() if value != usual]])


class _Forward(_Conv):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] = 1,
        padding: str | int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        self._begin(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype)

    def _around(self) -> tuple[int, ...]:
        """The padding as F.pad takes it: last dimension first, low and high."""
        if self.padding == "valid":
            return (0,) * (2 * self._n)
        if self.padding == "same":
            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            pairs = [(total // 2, total - total // 2) for total in totals]
        else:
            pairs = [(p, p) for p in self.padding]
        return tuple([p for pair in reversed(pairs) for p in pair])

    def _conv_forward(self, input, weight, bias):
        conv = _CONVOLUTIONS[self._n]
        if self.padding_mode == "zeros":
            return conv(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)
        padded = F.pad(input, self._around(), mode=_MODES[self.padding_mode])
        return conv(padded, weight, bias, self.stride, 0, self.dilation, self.groups)

    def forward(self, input: Tensor | Array) -> Tensor | Array:
        """See the class."""
        return self._conv_forward(input, self.weight, self.bias)


class _Transposed(_Conv):
    _transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] = 1,
        padding: int | tuple[int, ...] = 0,
        output_padding: int | tuple[int, ...] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | tuple[int, ...] = 1,
        padding_mode: str = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        if padding_mode != "zeros" or isinstance(padding, str):
            raise ValueError(f"{type(self).__name__}: only padding by ints with padding_mode='zeros' is supported, as in PyTorch")
        rest = (groups, bias, padding_mode, device, dtype, output_padding)
        self._begin(in_channels, out_channels, kernel_size, stride, padding, dilation, *rest)

    def forward(self, input: Tensor | Array, output_size: list[int] | None = None) -> Tensor | Array:
        """`output_size`, with or without batch and channels, chooses among the sizes that a stride leaves open."""
        extra = self.output_padding if output_size is None else self._output_padding(input, tuple(output_size))
        conv = _TRANSPOSED[self._n]
        return conv(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)

    def _output_padding(self, input, wanted: tuple[int, ...]) -> tuple[int, ...]:
        n = self._n
        if len(wanted) not in (n, input.ndim):
            raise ValueError(f"{type(self).__name__}: output_size must have {n} or {input.ndim} elements, got {wanted}")
        per_dim = zip(input.shape[-n:], self.stride, self.padding, self.dilation, self.kernel_size)
        least = [(m - 1) * s - 2 * p + d * (k - 1) + 1 for m, s, p, d, k in per_dim]
        extra = tuple([w - m for w, m in zip(wanted[-n:], least)])
        if not all(0 <= e < s for e, s in zip(extra, self.stride)):
            most = [m + s - 1 for m, s in zip(least, self.stride)]
            raise ValueError(
                f"{type(self).__name__}: requested an output size of {wanted[-n:]}, but valid sizes are from {least} to {most}"
            )
        return extra


_CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


class Conv1d(_Forward):
    """The cross-correlation of input [N, C, L] (or [C, L]) with weight [out_channels, in_channels / groups, kernel].

    Padding by `padding_mode`: 'zeros', 'reflect', 'replicate' or 'circular'; `padding` may be 'valid' or, with stride 1, 'same'.
    Weights begin uniform up to 1 / sqrt(in_channels / groups * kernel elements).

    >>> import functorch_lite as fl
    >>> fl.nn.Conv1d(2, 3, 3, padding=1)
    Conv1d(2, 3, kernel_size=(3,), stride=(1,), padding=(1,))
    """

    _n = 1


class Conv2d(_Forward):
    """`Conv1d` over images [N, C, H, W]: weight [out_channels, in_channels / groups, kernel_h, kernel_w]."""

    _n = 2


class Conv3d(_Forward):
    """`Conv1d` over volumes [N, C, D, H, W]."""

    _n = 3


class ConvTranspose1d(_Transposed):
    """The transpose of `Conv1d` as a linear map: weight [in_channels, out_channels / groups, kernel].

    A size becomes (size - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1.
    """

    _n = 1


class ConvTranspose2d(_Transposed):
    """`ConvTranspose1d` over images [N, C, H, W]."""

    _n = 2


class ConvTranspose3d(_Transposed):
    """`ConvTranspose1d` over volumes [N, C, D, H, W]."""

    _n = 3

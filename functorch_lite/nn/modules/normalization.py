"""Normalization by a sample's own statistics."""

from __future__ import annotations

from ...core.array import Array
from .. import functional as F
from .. import init
from ..create import empty
from ..module import Module
from ..parameter import Parameter
from ..tensor import Tensor
from .layer import Layer, layer


def affine_parameters(module: Module, shape, weight: bool, bias: bool, device, dtype) -> None:
    """Registers a scale and a shift; either may be None."""
    module.register_parameter("weight", Parameter(empty(shape, device=device, dtype=dtype)) if weight else None)
    module.register_parameter("bias", Parameter(empty(shape, device=device, dtype=dtype)) if bias else None)
    reset_affine(module)


def reset_affine(module: Module) -> None:
    """The scale begins at 1, the shift at 0."""
    if module.weight is not None:
        init.ones_(module.weight)
    if module.bias is not None:
        init.zeros_(module.bias)


class LayerNorm(Module):
    """(x - mean) / sqrt(var + eps) * weight + bias over the last dimensions, which are normalized_shape (Ba, Kiros, Hinton, 2016).

    >>> import functorch_lite as fl
    >>> fl.nn.LayerNorm(2)(fl.asarray([[1.0, 3.0]])).round(decimals=3).tolist()
    [[-1.0, 1.0]]
    """

    def __init__(
        self,
        normalized_shape: int | list[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        affine_parameters(self, self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)

    def reset_parameters(self) -> None:
        """Scale 1, shift 0."""
        reset_affine(self)

    def forward(self, input: Tensor | Array) -> Tensor | Array:
        """See the class."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        rest = f"eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        return f"{tuple(self.normalized_shape)}, {rest}"


class RMSNorm(Module):
    """x / sqrt(mean(x^2) + eps) * weight over the last dimensions, which are normalized_shape (Zhang, Sennrich, 2019).

    eps=None is the dtype's machine epsilon.
    """

    def __init__(
        self, normalized_shape: int | list[int], eps: float | None = None, elementwise_affine: bool = True, device=None, dtype=None
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        weight = Parameter(empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Scale 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input: Tensor | Array) -> Tensor | Array:
        """See the class."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{tuple(self.normalized_shape)}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Normalizes each of num_groups groups of channels of input [N, C, *], a sample at a time (Wu, He, 2018)."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device=None, dtype=None, *, bias: bool = True
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"GroupNorm: num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        affine_parameters(self, num_channels, affine, affine and bias, device, dtype)

    def reset_parameters(self) -> None:
        """Scale 1, shift 0."""
        reset_affine(self)

    def forward(self, input: Tensor | Array) -> Tensor | Array:
        """See the class."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


@layer(F.local_response_norm, shows="{size}, alpha={alpha}, beta={beta}, k={k}")
class LocalResponseNorm(Layer):
    """input / (k + alpha * mean of squares over `size` neighbouring channels) ** beta (Krizhevsky, 2012)."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0

"""Layers that are matrix products."""

from __future__ import annotations

import math
from typing import Any

from ...core.array import Array
from .. import functional as F
from .. import init
from ..create import empty
from ..module import Module
from ..parameter import Parameter
from ..tensor import Tensor


class Identity(Module):
    """Gives back its input, whatever it was made with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor | Array) -> Tensor | Array:
        """See the class."""
        return input


class Linear(Module):
    """input @ weight.T + bias, for input [..., in_features] and weight [out_features, in_features].

    Both begin uniform between -1 / sqrt(in_features) and 1 / sqrt(in_features).

    >>> import functorch_lite as fl
    >>> fl.nn.Linear(2, 3)(fl.ones(5, 2)).shape
    torch.Size([5, 3])
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device=None, dtype=None) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty(out_features, in_features, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws both anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))  # the gain 1 / sqrt(3), so the bound is 1 / sqrt(in_features)
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor | Array) -> Tensor | Array:
        """See the class."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """out[..., k] = sum_ij input1[..., i] weight[k, i, j] input2[..., j] + bias[k]."""

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device=None, dtype=None) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"Bilinear: in1_features must be positive, got {in1_features}")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(empty(out_features, in1_features, in2_features, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws both anew, uniform up to 1 / sqrt(in1_features)."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor | Array, input2: Tensor | Array) -> Tensor | Array:
        """See the class."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        sizes = f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"

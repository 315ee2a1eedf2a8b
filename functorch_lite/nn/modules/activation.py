"""Activation functions as modules."""

from __future__ import annotations

import warnings

from ...core.array import Array
from .. import functional as F
from .. import init
from ..create import empty
from ..module import Module
from ..parameter import Parameter
from ..tensor import Tensor
from .layer import Layer, changed, layer

# ----------------------------------------------------------------------------------------------------- rectified ones


@layer(F.relu)
class ReLU(Layer):
    """max(input, 0).

    >>> import functorch_lite as fl
    >>> fl.nn.ReLU()(fl.asarray([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    inplace: bool = False


@layer(F.relu6)
class ReLU6(Layer):
    """Input moved into [0, 6]."""

    inplace: bool = False


@layer(F.leaky_relu, shows="negative_slope={negative_slope}")
class LeakyReLU(Layer):
    """Input where positive, else negative_slope * input."""

    negative_slope: float = 0.01
    inplace: bool = False


@layer(F.threshold, shows="threshold={threshold}, value={value}")
class Threshold(Layer):
    """Input where it is greater than the threshold, else value."""

    threshold: float
    value: float
    inplace: bool = False


@layer(F.hardtanh, shows="min_val={min_val}, max_val={max_val}")
class Hardtanh(Layer):
    """Input moved into [min_val, max_val]."""

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False

    def _ready(self) -> None:
        if not self.min_val < self.max_val:
            raise ValueError(f"Hardtanh: min_val must be less than max_val, got {self.min_val} and {self.max_val}")


@layer(F.hardsigmoid)
class Hardsigmoid(Layer):
    """relu6(input + 3) / 6."""

    inplace: bool = False


@layer(F.hardswish)
class Hardswish(Layer):
    """input * relu6(input + 3) / 6."""

    inplace: bool = False


@layer(F.hardshrink, shows="{lambd}")
class Hardshrink(Layer):
    """Input, and 0 where it is within [-lambd, lambd]."""

    lambd: float = 0.5


@layer(F.softshrink, shows="{lambd}")
class Softshrink(Layer):
    """Input moved by lambd toward 0."""

    lambd: float = 0.5


class PReLU(Module):
    """Input where positive, else weight * input, with a slope that is learned, or one for each channel (dimension 1)."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device=None, dtype=None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Begins with the slope `init`."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor | Array) -> Tensor | Array:
        """See the class."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


# --------------------------------------------------------------------------------------------------- exponential ones


@layer(F.sigmoid)
class Sigmoid(Layer):
    """1 / (1 + exp(-input))."""


@layer(F.tanh)
class Tanh(Layer):
    """The hyperbolic tangent."""


@layer(F.gelu, shows="approximate={approximate!r}")
class GELU(Layer):
    """input times the normal distribution function of input; ``approximate='tanh'`` by a tanh of a cubic.

    >>> import functorch_lite as fl
    >>> fl.nn.GELU()
    GELU(approximate='none')
    """

    approximate: str = "none"


@layer(F.silu)
class SiLU(Layer):
    """input * sigmoid(input)."""

    inplace: bool = False


@layer(F.mish)
class Mish(Layer):
    """input * tanh(softplus(input))."""

    inplace: bool = False


@layer(F.elu, shows="alpha={alpha}")
class ELU(Layer):
    """Input where positive, else alpha * (exp(input) - 1)."""

    alpha: float = 1.0
    inplace: bool = False


@layer(F.celu, shows="alpha={alpha}")
class CELU(Layer):
    """Input where positive, else alpha * (exp(input / alpha) - 1)."""

    alpha: float = 1.0
    inplace: bool = False


@layer(F.selu)
class SELU(Layer):
    """`ELU` with the scale and alpha under which activations keep mean 0 and variance 1."""

    inplace: bool = False


@layer(F.softplus, shows="beta={beta}, threshold={threshold}")
class Softplus(Layer):
    """log(1 + exp(beta * input)) / beta, and input where beta * input is greater than threshold."""

    beta: float = 1.0
    threshold: float = 20.0


@layer(F.softsign)
class Softsign(Layer):
    """input / (1 + |input|)."""


@layer(F.tanhshrink)
class Tanhshrink(Layer):
    """input - tanh(input)."""


@layer(F.logsigmoid)
class LogSigmoid(Layer):
    """log(sigmoid(input))."""


@layer(F.glu, shows="dim={dim}")
class GLU(Layer):
    """The first half of input along dim, times the sigmoid of the second."""

    dim: int = -1


# ---------------------------------------------------------------------------------------------------------- softmaxes


@layer(shows="dim={dim}")
class _OverClasses(Layer):
    dim: int | None = None

    def forward(self, input: Tensor | Array) -> Tensor | Array:
        """See the class."""
        dim = self.dim
        if dim is None:
            dim = 0 if input.ndim in (0, 1, 3) else 1
            warnings.warn(f"{type(self).__name__}: dim is not given; took dim={dim}, as PyTorch does: say which", stacklevel=3)
        return self._op(input, dim)


@layer(F.softmax)
class Softmax(_OverClasses):
    """exp(input) / sum(exp(input)) along dim."""


@layer(F.log_softmax)
class LogSoftmax(_OverClasses):
    """log(softmax(input)) along dim."""


@layer(F.softmin)
class Softmin(_OverClasses):
    """softmax(-input) along dim."""


@layer()
class Softmax2d(Layer):
    """softmax over the channels of images [N, C, H, W] or [C, H, W]."""

    def forward(self, input: Tensor | Array) -> Tensor | Array:
        """See the class."""
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D (got {input.ndim}D instead)")
        return F.softmax(input, -3)


@layer(F.rrelu, shows="lower={lower}, upper={upper}")
class RReLU(Layer):
    """input where positive, else a slope times it: drawn from [lower, upper) in training, their mean in evaluation (Xu et al., 2015).

    Tensors draw from the default generator. Arrays have none: use `functional.rrelu(x, ..., key=key)` there.
    """

    lower: float = 1 / 8
    upper: float = 1 / 3
    inplace: bool = False

    def forward(self, input: Tensor | Array) -> Tensor | Array:
        """See the class."""
        out = self._op(input, self.lower, self.upper, self.training)
        return changed(input, out) if self.inplace else out

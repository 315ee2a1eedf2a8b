"""Normalization by channel, over a batch (BatchNorm) or a sample's positions (InstanceNorm), with running statistics for evaluation."""

from __future__ import annotations

from typing import Any

from ...core.array import Array
from ...core.dtype import int64
from ...prims.create import detach
from .. import functional as F
from .. import init
from ..create import empty, tensor
from ..grad_mode import no_grad
from ..module import Module
from ..tensor import Tensor
from .normalization import affine_parameters, reset_affine


class _ChannelNorm(Module):
    """Parameters and statistics of `num_features` channels; `_ndims` are the numbers of dimensions that an input may have."""

    _version = 2  # has num_batches_tracked
    _ndims: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        affine_parameters(self, num_features, affine, affine and bias, device, dtype)
        for name in ("running_mean", "running_var"):
            self.register_buffer(name, empty(num_features, device=device, dtype=dtype) if track_running_stats else None)
        count = tensor(0, dtype=int64, device=device) if track_running_stats else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_running_stats()

    def reset_running_stats(self) -> None:
        """Forgets what was seen: mean 0, variance 1, no batches."""
        if self.track_running_stats:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            init.zeros_(self.num_batches_tracked)

    def reset_parameters(self) -> None:
        """Statistics anew, scale 1, shift 0."""
        self.reset_running_stats()
        reset_affine(self)

    def _keep(self, name: str, new) -> None:
        """Writes a statistic. An Array, which functional_call may have put there, cannot change: the new one takes its place."""
        old = getattr(self, name)
        if isinstance(old, Tensor):
            with no_grad():
                old.copy_(detach(new))
        else:
            setattr(self, name, detach(new))

    def _check(self, input) -> None:
        if input.ndim not in self._ndims:
            expected = " or ".join(f"{n}D" for n in self._ndims)
            raise ValueError(f"{type(self).__name__}: expected {expected} input (got {input.ndim}D input)")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest: Any) -> None:
        key = prefix + "num_batches_tracked"
        old_layout = (local_metadata.get("version") or 1) < 2
        if old_layout and self.num_batches_tracked is not None and key not in state_dict:
            state_dict[key] = self.num_batches_tracked.detach()
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def extra_repr(self) -> str:
        own = f"{self.num_features}, eps={self.eps}, momentum={self.momentum}"
        return f"{own}, affine={self.affine}, bias={self.bias is not None}, track_running_stats={self.track_running_stats}"


class _BatchNorm(_ChannelNorm):
    """In training: by the batch's statistics, toward which the running ones move. In evaluation: by the running ones."""

    def forward(self, input: Tensor | Array) -> Tensor | Array:
        """See the class."""
        self._check(input)
        if self.eps < 0 or self.training and self.eps == 0:
            raise ValueError(f"{type(self).__name__}: eps must be positive in training, and never negative, got {self.eps}")
        mean, var, affine = self.running_mean, self.running_var, (self.weight, self.bias)
        follows = self.training and mean is not None and self.track_running_stats
        if not follows:
            by_batch = self.training or mean is None
            return F.batch_norm(input, *((None, None) if by_batch else (mean, var)), *affine, by_batch, 0.0, self.eps)
        if input.numel():
            out = self._by_batch(input, mean, var, affine)
        else:  # no statistics, no elements
            out = F.batch_norm(input, mean, var, *affine, False, 0.0, self.eps)
        if self.num_batches_tracked is not None:
            self._keep("num_batches_tracked", self.num_batches_tracked + 1)
        return out

    def _by_batch(self, input, mean, var, affine):
        """The output, by the batch's statistics, which the running ones follow."""
        momentum = 1.0 if self.momentum is None else self.momentum
        out, new_mean, new_var = F.batch_norm_stats(input, mean, var, *affine, True, momentum, self.eps)
        if self.momentum is None:  # the mean over all batches: momentum 1 gave this one's own statistics
            n = (self.num_batches_tracked + 1).to(mean.dtype)
            new_mean, new_var = mean + (new_mean - mean) / n, var + (new_var - var) / n
        self._keep("running_mean", new_mean)
        self._keep("running_var", new_var)
        return out


class BatchNorm1d(_BatchNorm):
    """Normalizes each channel of input [N, C] or [N, C, L]: (x - mean) / sqrt(var + eps) * weight + bias (Ioffe, Szegedy, 2015).

    In training mean and (biased) variance are the batch's, and the running ones move toward them (the variance unbiased) by
    `momentum`, or, with momentum=None, are the mean over all batches; in evaluation the running ones serve. ValueError for a
    single value a channel in training.

    >>> import functorch_lite as fl
    >>> bn = fl.nn.BatchNorm1d(1, momentum=0.5)
    >>> bn(fl.asarray([[1.0], [3.0]])).round(decimals=3).tolist(), bn.running_mean.tolist()
    ([[-1.0], [1.0]], [1.0])
    """

    _ndims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """`BatchNorm1d` for images [N, C, H, W]."""

    _ndims = (4,)


class BatchNorm3d(_BatchNorm):
    """`BatchNorm1d` for volumes [N, C, D, H, W]."""

    _ndims = (5,)


class _InstanceNorm(_ChannelNorm):
    """By the statistics of each channel of each sample; the running ones, if kept, are means over samples."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor | Array) -> Tensor | Array:
        """See the class."""
        self._check(input)
        batched = input.ndim == self._ndims[1]
        x = input if batched else input.unsqueeze(0)
        if x.shape[1] != self.num_features and self.affine:
            raise ValueError(f"{type(self).__name__}: expected input of {self.num_features} channels, got {x.shape[1]}")
        own = self.training or not self.track_running_stats
        out = F.instance_norm(x, self.running_mean, self.running_var, self.weight, self.bias, own, 0.0, self.eps)
        if own and self.running_mean is not None:
            self._follow(x)
        return out if batched else out.squeeze(0)

    def _follow(self, x) -> None:
        over = tuple(range(2, x.ndim))
        with no_grad():
            for name, new in (("running_mean", x.mean(over)), ("running_var", x.var(over, correction=1))):
                old = getattr(self, name)
                self._keep(name, old + (new.mean(0) - old) * self.momentum)


class InstanceNorm1d(_InstanceNorm):
    """Normalizes each channel of each sample of input [N, C, L] or [C, L] by its own statistics (Ulyanov et al., 2016).

    With track_running_stats running ones are kept and serve in evaluation.
    """

    _ndims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """`InstanceNorm1d` for images [N, C, H, W] or [C, H, W]."""

    _ndims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """`InstanceNorm1d` for volumes [N, C, D, H, W] or [C, D, H, W]."""

    _ndims = (4, 5)

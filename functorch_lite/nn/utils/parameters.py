"""Helpers over the parameters of a module: clipping of gradients, and parameters as one vector."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ...refs.join import cat, stack
from ...refs.norms import vector_norm
from ..create import tensor
from ..grad_mode import no_grad
from ..tensor import Tensor


def _gradients(parameters) -> list[Tensor]:
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p.grad for p in parameters if p.grad is not None]


@no_grad()
def get_total_norm(tensors: Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Tensor:
    """The norm of all tensors together, as if they were one vector: a 0-dim tensor."""
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not tensors:
        return tensor(0.0)
    total = vector_norm(stack([vector_norm(t, float(norm_type)) for t in tensors]), float(norm_type))
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {float(norm_type)} for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this "
            "error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grads_with_norm_(parameters, max_norm: float, total_norm: Tensor) -> None:
    """Scales the gradients by max_norm / (total_norm + 1e-6), where that is less than 1."""
    scale = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
    for g in _gradients(parameters):
        g.mul_(scale.to(g.dtype))


def clip_grad_norm_(
    parameters, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """Scales the gradients of the parameters in place so that their norm together is at most max_norm; returns the norm they had.

    >>> import functorch_lite.torch as torch
    >>> w = torch.tensor([3.0, 4.0], requires_grad=True)
    >>> (w * w / 2).sum().backward()
    >>> torch.nn.utils.clip_grad_norm_([w], 1.0).item(), [round(x, 3) for x in w.grad.tolist()]
    (5.0, [0.6, 0.8])
    """
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


@no_grad()
def clip_grad_value_(parameters, clip_value: float, foreach: bool | None = None) -> None:
    """Clamps each element of the gradients to [-clip_value, clip_value], in place."""
    for g in _gradients(parameters):
        g.clamp_(-float(clip_value), float(clip_value))


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters, flattened, as one vector; gradients flow through it."""
    return cat([p.reshape(-1) for p in parameters])


@no_grad()
def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Gives the parameters the elements of a vector, in order. RuntimeError, with nothing changed, for one of another length."""
    parameters = list(parameters)
    total = sum(p.numel() for p in parameters)
    if vec.numel() != total:
        raise RuntimeError(f"vector_to_parameters: expected a vector of {total} elements, got {vec.numel()}")
    at = 0
    for p in parameters:
        p.copy_(vec[at : at + p.numel()].reshape(p.shape))
        at += p.numel()

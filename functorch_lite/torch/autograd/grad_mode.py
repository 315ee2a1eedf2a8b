"""torch.autograd.grad_mode: whether gradients are recorded."""

from ...nn.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]

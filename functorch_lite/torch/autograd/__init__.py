"""torch.autograd: gradients of what was recorded."""

from ...nn.autograd import backward, grad
from ...nn.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from . import grad_mode

__all__ = ["backward", "enable_grad", "grad", "grad_mode", "inference_mode", "no_grad", "set_grad_enabled"]

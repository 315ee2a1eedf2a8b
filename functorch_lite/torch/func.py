"""torch.func: the transforms. They are the very functions of functorch_lite."""

from ..nn.stateless import functional_call, stack_module_state
from ..transforms.functionalize import functionalize
from ..transforms.grad import grad, grad_and_value, vjp
from ..transforms.jacobian import hessian, jacfwd, jacrev
from ..transforms.jvp import jvp
from ..transforms.linearize import linearize
from ..transforms.vmap import vmap

__all__ = [
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]

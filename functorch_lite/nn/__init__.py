"""Neural networks: `functional` has the ops, `Module` and the layers have state, `init` fills it, `functional_call` goes without."""

from . import functional, init
from .hooks import RemovableHandle
from .linear_cross_entropy import LinearCrossEntropyOptions
from .module import Module
from .modules import *
from .parameter import Buffer, Parameter
from .stateless import functional_call, stack_module_state
from .tensor import Tensor

"""torch.nn: the module library, which is fl.nn."""

from ...nn import *
from ...nn.parameter import Buffer, Parameter
from . import functional, init, modules, parameter, utils

"""torch.nn.modules: the classes of torch.nn."""

from ....nn.module import Module
from ....nn.modules import *
from . import module

"""torch.nn.modules.module: the base class."""

from ....nn.module import Module

__all__ = ["Module"]

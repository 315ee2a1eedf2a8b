"""torch.optim.optimizer: the base class."""

from ...optim.optimizer import Optimizer, required

__all__ = ["Optimizer", "required"]

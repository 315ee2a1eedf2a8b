"""torch.optim.lr_scheduler: schedules of the learning rate."""

# ruff: noqa: F403, F401  # names only

from ...optim.lr_scheduler import *
from ...optim.lr_scheduler import LRScheduler as _LRScheduler  # its name in old PyTorch

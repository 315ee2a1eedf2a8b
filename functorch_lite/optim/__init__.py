"""Optimizers: `rules` has them as pure functions over pytrees, the classes are torch.optim's, over the same rules."""

from . import lr_scheduler, rules
from .adam import Adam, AdamW
from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["Adam", "AdamW", "Optimizer", "SGD", "lr_scheduler", "rules"]

"""torch.optim: the optimizers of fl.optim."""

from ...optim import SGD, Adam, AdamW, Optimizer
from . import lr_scheduler, optimizer

__all__ = ["Adam", "AdamW", "Optimizer", "SGD", "lr_scheduler", "optimizer"]

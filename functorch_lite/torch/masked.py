"""torch.masked: the ops of fl.masked."""

# ruff: noqa: F403  # names only

from ..masked import *

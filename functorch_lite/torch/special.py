"""torch.special: the ops of fl.special."""

# ruff: noqa: F403  # names only

from ..special import *

"""torch.linalg: the ops of fl.linalg."""

# ruff: noqa: F403  # names only

from ..linalg import *

"""torch.nn.functional: the ops of fl.nn.functional."""

# ruff: noqa: F403  # names only

from ...nn.functional import *

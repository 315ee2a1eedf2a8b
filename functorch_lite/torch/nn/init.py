"""torch.nn.init: first values of parameters."""

# ruff: noqa: F403  # names only

from ...nn.init import *

"""torch.fft: the ops of fl.fft."""

# ruff: noqa: F403  # names only

from ..fft import *

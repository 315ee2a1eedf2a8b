"""torch.fft: the ops of fl.fft; those that make Tensors of nothing are nn's."""

# ruff: noqa: F401, F403  # names only

from ..fft import *

from ..nn.windows import fftfreq, rfftfreq  # isort: skip

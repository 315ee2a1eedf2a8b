"""Signal processing by name, as PyTorch's torch.signal has it."""

from . import windows  # noqa: F401

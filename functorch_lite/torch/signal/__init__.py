"""torch.signal: names only."""

from . import windows  # noqa: F401

"""Looking into programs while they run."""

from .printing import print

__all__ = ["print"]

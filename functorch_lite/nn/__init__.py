"""Neural networks: `functional` has the ops."""

from . import functional

__all__ = ["functional"]

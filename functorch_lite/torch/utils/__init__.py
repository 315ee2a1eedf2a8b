"""torch.utils: trees."""

from . import _pytree

__all__ = ["_pytree"]

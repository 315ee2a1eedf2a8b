"""torch.fx.experimental: where make_fx is."""

from . import proxy_tensor

__all__ = ["proxy_tensor"]

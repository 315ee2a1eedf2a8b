"""torch.fx.experimental.proxy_tensor: make_fx."""

from ....transforms.make_fx import make_fx

__all__ = ["make_fx"]

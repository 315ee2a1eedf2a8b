"""torch.nn.parameter: tensors that modules collect."""

from ...nn.parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter"]

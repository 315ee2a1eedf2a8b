"""torch.backends: none of PyTorch's is here; their switches can be set and change nothing."""

from . import cuda, cudnn, mps

__all__ = ["cuda", "cudnn", "mps"]

"""Functions that ask what a tensor is, and PyTorch's names for how it might lie in memory."""

from __future__ import annotations

from typing import Any

from .tensor import Tensor


def is_tensor(obj: Any) -> bool:
    """Whether this is a Tensor.

    >>> is_tensor(Tensor([1.0])), is_tensor(1.0)
    (True, False)
    """
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether its dtype is a real float dtype."""
    return input.dtype.is_floating_point


def is_complex(input: Tensor) -> bool:
    """Whether its dtype is complex."""
    return input.dtype.is_complex


def numel(input: Tensor) -> int:
    """The number of its elements."""
    return input.numel()


class MemoryFormat:
    """How elements lie in memory: accepted where PyTorch takes it, and left to XLA, which chooses layouts by itself."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class Layout(MemoryFormat):
    """Whether a tensor keeps all its elements or those that are not zero."""


contiguous_format, preserve_format, channels_last, channels_last_3d = map(
    MemoryFormat, ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
)
strided, sparse_coo = map(Layout, ("strided", "sparse_coo"))


def _asking(name: str):
    """PyTorch's function that asks what a method of the same name does."""

    def f(input, *args, **named):
        return getattr(input, name)(*args, **named)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = getattr(Tensor, name).__doc__
    return f


_ASKED = "detach get_device is_conj is_inference is_neg is_nonzero is_same_size is_signed"
detach, get_device, is_conj, is_inference, is_neg, is_nonzero, is_same_size, is_signed = map(_asking, _ASKED.split())

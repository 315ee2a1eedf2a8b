"""Layers that give their input another shape."""

from __future__ import annotations

from ...core.array import Array
from ...refs.shape import flatten
from ..tensor import Tensor
from .layer import Layer, layer


@layer(flatten, shows="start_dim={start_dim}, end_dim={end_dim}")
class Flatten(Layer):
    """One dimension in place of those from start_dim to end_dim.

    >>> import functorch_lite as fl
    >>> fl.nn.Flatten()(fl.ones(2, 3, 4)).shape
    (2, 12)
    """

    start_dim: int = 1
    end_dim: int = -1


@layer(shows="dim={dim}, unflattened_size={unflattened_size}")
class Unflatten(Layer):
    """Dimensions of these sizes in place of `dim`; one of them may be -1."""

    dim: int
    unflattened_size: tuple[int, ...]

    def _ready(self) -> None:
        if isinstance(self.dim, str):
            raise NotImplementedError("Unflatten: named dimensions are not supported; give the number of the dimension")
        self.unflattened_size = tuple(self.unflattened_size)

    def forward(self, input: Tensor | Array) -> Tensor | Array:
        """See the class."""
        return input.unflatten(self.dim, self.unflattened_size)

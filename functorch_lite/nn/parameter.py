"""Parameter and Buffer: tensors that a module registers when they are set as its attributes."""

from __future__ import annotations

from ..core.array import Array
from .tensor import Tensor


class Parameter(Tensor):
    """A tensor that a module learns: setting one as an attribute registers it. It shares its data with the tensor it is made from.

    >>> import functorch_lite as fl
    >>> fl.nn.Parameter(fl.asarray([1.0, 2.0]))
    Parameter containing:
    tensor([1., 2.], requires_grad=True)
    """

    def __init__(self, data: Tensor | Array | None = None, requires_grad: bool = True):
        _share(self, () if data is None else data)
        if requires_grad:
            self.requires_grad_()

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


class Buffer(Tensor):
    """A tensor that is state of a module but is not learned: setting one as an attribute registers it as a buffer.

    One that is not persistent is not in the state_dict.

    >>> import functorch_lite as fl
    >>> m = fl.nn.Module()
    >>> m.mask = fl.nn.Buffer(fl.ones(2), persistent=False)
    >>> [name for name, _ in m.named_buffers()], list(m.state_dict())
    (['mask'], [])
    """

    persistent = True

    def __init__(self, data: Tensor | Array | None = None, *, persistent: bool = True):
        _share(self, () if data is None else data)
        self.persistent = persistent


def _share(self: Tensor, data) -> None:
    """Begins as another name of data's storage. What is computed, or a view, has no storage of its own to share: its value is taken."""
    if isinstance(data, Tensor) and data.cell is not None and data.is_leaf:
        self._begin(data.cell, None)
    else:
        Tensor.__init__(self, data.detach() if isinstance(data, Tensor) else data)

"""Strides: what PyTorch would say of a tensor's memory, computed when it is asked. Which reshapes are views follows from them."""

from __future__ import annotations

import math

import numpy as np

from ..core.array import Array
from ..refs import shape as shapes


class Size(tuple):
    """A shape, with PyTorch's manners."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))

    def __getitem__(self, index):
        out = tuple.__getitem__(self, index)
        return Size(out) if isinstance(index, slice) else out


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of elements in row-major order."""
    out, n = [], 1
    for size in reversed(shape):
        out.append(n)
        n *= max(size, 1)
    return tuple(reversed(out))


def is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether elements with these strides lie in row-major order; where there is one or none in a dimension, its stride means nothing."""
    return 0 in shape or all(n == 1 or a == b for n, a, b in zip(shape, strides, row_major(shape)))


def strides(tensor) -> tuple[int, ...]:
    """Those of a tensor, in elements."""
    look = tensor._look
    if look is None:
        return row_major(tensor.aval.shape)
    if look.strides is None:
        look.strides = _through(look)
    return look.strides


def offset(tensor) -> int:
    """How many elements of the storage lie before the first of a tensor."""
    look = tensor._look
    if look is None:
        return 0
    before = offset(look.base)
    if "reshapes" in look.op.traits or look.op.reference is None:
        return before
    start, out = _shadowed(look)
    moved = out.__array_interface__["data"][0] - start.__array_interface__["data"][0]
    return before * start.itemsize // out.itemsize + moved // out.itemsize


def _through(look) -> tuple[int, ...]:
    base = look.base
    if "reshapes" in look.op.traits:
        return reshaped(base.aval.shape, strides(base), look.aval.shape)
    if look.op.reference is None:
        return strides(base) if look.aval.shape == base.aval.shape else row_major(look.aval.shape)
    out = _shadowed(look)[1]
    return tuple([n // out.itemsize for n in out.strides])


def _shadowed(look):
    """NumPy's view of an array like the base in all but its data, and that array."""
    base = look.base
    # NumPy's views change the description only, so a description without memory behind it is enough
    element = np.dtype(np.complex64 if base.dtype.is_complex else np.int8)
    steps = [n * element.itemsize for n in strides(base)]
    shadow = np.lib.stride_tricks.as_strided(np.empty(1, element), base.aval.shape, steps)
    rest = [np.asarray(x) if isinstance(x, Array) else x for x in look.rest]
    out = look.op.spell(look.op.reference, [shadow, *rest], look.params)
    return shadow, out if look.index is None else out[look.index]


def reshaped(shape, old, new) -> tuple[int, ...] | None:
    """The strides of elements with strides `old` under shape `new`, or None where no strides express it."""
    if math.prod(shape) == 0:
        return row_major(new)
    out, j = [0] * len(new), len(new) - 1
    dims = [(n, s) for n, s in zip(shape, old) if n != 1]
    chunks: list = []  # runs of dimensions that lie one after another: (elements, stride of the innermost)
    for n, s in reversed(dims):
        if chunks and s == chunks[-1][0] * chunks[-1][1]:
            chunks[-1][0] *= n
        else:
            chunks.append([n, s])
    for count, step in chunks:
        while j >= 0 and count > 1:
            if count % new[j]:
                return None
            out[j] = step
            count //= new[j]
            step *= new[j]
            j -= 1
        if count > 1:
            return None
    natural = row_major(new)
    while j >= 0:
        if new[j] != 1:
            return None
        out[j] = natural[j]
        j -= 1
    return tuple([n if size == 1 else o for o, n, size in zip(out, natural, new)])


def is_view(tensor, op, args, params) -> bool:
    """Whether PyTorch's result of this op on this tensor shares its storage."""
    if "views" in op.traits:
        return op.traits["views"](*params)
    if "reshapes" in op.traits and not tensor.is_contiguous():
        return reshaped(tensor.aval.shape, strides(tensor), op.infer(args, params).shape) is not None
    return True


def viewed(tensor, *shape, dtype=None):
    """`Tensor.view`: a reshape that must be a view."""
    out = shapes.view(tensor, *shape) if dtype is None else shapes.view(tensor, dtype)
    if out._look is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces): "
            f"{list(tensor.shape)} with strides {strides(tensor)} as {list(out.shape)}. Use .reshape(...) instead."
        )
    return out

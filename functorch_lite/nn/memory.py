"""What PyTorch says of a tensor's memory: strides, offsets, storages, devices, layouts. XLA lays arrays out by itself, so this is a
description: it is computed when asked, and says what PyTorch would."""

from __future__ import annotations

import itertools
import weakref

from ..core.array import Operable, is_meta
from ..refs import strided
from . import layout
from .layout import row_major

_ADDRESSES = weakref.WeakKeyDictionary()  # cell -> where PyTorch might have put it: apart from all others
_NEXT = itertools.count(1)
_ROOM = 1 << 40  # bytes from one to the next


class Storage:
    """The storage of a tensor: what it shares with its views. Two of one storage are equal.

    >>> import functorch_lite.torch as torch
    >>> x = torch.zeros(2, 3)
    >>> x.untyped_storage().nbytes(), x.untyped_storage() == x[0].untyped_storage()
    (24, True)
    """

    __slots__ = ("cell", "device")

    def __init__(self, cell, device):
        self.cell, self.device = cell, device

    def nbytes(self) -> int:
        """How many bytes it holds."""
        return self.cell.aval.size * self.cell.aval.dtype.itemsize

    size = __len__ = nbytes

    def data_ptr(self) -> int:
        """A number that no other storage has."""
        if self.cell not in _ADDRESSES:
            _ADDRESSES[self.cell] = next(_NEXT) * _ROOM
        return _ADDRESSES[self.cell]

    def __eq__(self, other) -> bool:
        return isinstance(other, Storage) and other.cell is self.cell

    def __hash__(self) -> int:
        return hash(self.cell)

    def __repr__(self) -> str:
        return f"<storage of {self.nbytes()} bytes on {self.device}>"

    def resize_(self, nbytes: int):
        """Not possible: storages keep their size."""
        raise RuntimeError(
            f"UntypedStorage.resize_: storages keep their size here ({self.nbytes()} bytes, got {nbytes}); make a new tensor"
        )


class Memory:
    """The part of Tensor that describes memory."""

    is_sparse = is_quantized = is_mkldnn = is_nested = is_xpu = is_mps = is_xla = is_vulkan = is_ipu = is_maia = is_mtia = False
    is_sparse_csr = False
    is_cuda = property(lambda self: self.device.type == "cuda", doc="Whether it is on a GPU.")
    is_cpu = property(lambda self: self.device.type == "cpu", doc="Whether it is on the CPU.")
    is_meta = property(lambda self: self.device.type == "meta", doc="Whether it has no data.")
    output_nr = 0

    @property
    def layout(self):
        """How it lies in memory: torch.strided."""
        from .queries import strided as name

        return name

    def get_device(self) -> int:
        """The number of its GPU, -1 on the CPU."""
        return self.device.index or 0 if self.is_cuda else -1

    def cpu(self):
        """On the CPU."""
        return self.to("cpu")

    def cuda(self, device=None, non_blocking: bool = False):
        """On a GPU, by default the first."""
        return self.to(f"cuda:{device}" if isinstance(device, int) else device or "cuda")

    def is_contiguous(self, memory_format=None) -> bool:
        """Whether its elements lie in row-major order in its storage."""
        return layout.is_contiguous(self.aval.shape, layout.strides(self))

    def contiguous(self, memory_format=None):
        """Itself if its elements lie in order, else a copy."""
        return self if self.is_contiguous() else self.clone()

    def stride(self, dim: int | None = None):
        """How many elements of the storage lie between neighbours, for each dimension."""
        found = layout.strides(self)
        return found if dim is None else found[dim]

    def storage_offset(self) -> int:
        """How many elements of the storage lie before its first."""
        return layout.offset(self)

    def dim_order(self) -> tuple[int, ...]:
        """Its dimensions, from the one with the largest stride to that with the smallest."""
        found = layout.strides(self)
        return tuple(sorted(range(len(found)), key=lambda d: -found[d]))

    def untyped_storage(self) -> Storage:
        """What it shares with its views; see `Storage`."""
        return Storage(self.storage, self.device)

    def data_ptr(self) -> int:
        """A number that tells where its first element lies: the same for tensors that begin in one place of one storage."""
        if is_meta(self.array):
            return 0
        return self.untyped_storage().data_ptr() + self.storage_offset() * self.element_size()

    const_data_ptr = data_ptr

    def is_set_to(self, tensor) -> bool:
        """Whether it looks at the same elements as another, in the same way."""
        return (
            self.untyped_storage() == tensor.untyped_storage()
            and self.shape == tensor.shape
            and self.stride() == tensor.stride()
            and self.storage_offset() == tensor.storage_offset()
        )

    def is_same_size(self, other) -> bool:
        """Whether both have the same shape."""
        return self.shape == other.shape

    def is_shared(self) -> bool:
        """Whether other processes see it: never."""
        return False

    def is_pinned(self, device=None) -> bool:
        """Whether its memory is page-locked: XLA decides, so this says no."""
        return False

    def pin_memory(self, device=None):
        """Itself: XLA moves data by itself."""
        return self

    def is_conj(self) -> bool:
        """Whether it is kept as the conjugate of another: never."""
        return False

    is_neg = is_conj

    def is_inference(self) -> bool:
        """Whether it was made in inference mode: such tensors are as all others here."""
        return False

    def is_nonzero(self) -> bool:
        """The truth of a tensor with one element."""
        return bool(self)

    # ----------------------------------------------------------------------------------------------- by its strides

    def _whole(self, name: str):
        """The tensor that owns its storage."""
        base = self
        while base._look is not None:
            base = base._look.base
        if base.dtype is not self.dtype:
            raise RuntimeError(f"{name}: the storage holds {base.dtype} and this view of it {self.dtype}; take a copy with .clone() first")
        return base

    def as_strided(self, size, stride, storage_offset: int | None = None):
        """A view of its storage with this shape, these strides and this offset (its own, unless given). See `fl.as_strided`."""
        offset = self.storage_offset() if storage_offset is None else storage_offset
        return strided.as_strided(self._whole("as_strided"), size, stride, offset)

    def as_strided_(self, size, stride, storage_offset: int | None = None):
        """`as_strided`, in place: it becomes that view."""
        if self._wants:
            raise RuntimeError("as_strided_: cannot change the shape of a leaf that requires grad; use .detach(), or as_strided for a view")
        view = self.as_strided(size, stride, storage_offset)._look
        if view.base is self:
            view.base = self.alias(self._quiet)
        self.cell, self._look = None, view
        return self

    def resize_(self, *sizes, memory_format=None):
        """Takes another shape over the first elements of its storage, in place.

        RuntimeError where its storage has fewer elements: storages keep their size.
        """
        size = sizes[0] if len(sizes) == 1 and not hasattr(sizes[0], "__index__") else sizes
        size = tuple([n.__index__() for n in size])
        if size == self.aval.shape:
            return self
        try:
            return self.as_strided_(size, row_major(size))
        except RuntimeError as error:
            if "out of bounds" not in str(error):
                raise
            raise RuntimeError(
                f"resize_: a storage keeps its size here, and {list(size)} needs more elements than that of {self.aval} has; "
                "make a new tensor, or set x.data to one"
            ) from None

    def resize_as_(self, the_template, memory_format=None):
        """`resize_` to the shape of another tensor."""
        return self.resize_(tuple(the_template.shape))

    def set_(self, source=None):
        """Becomes another name of what another tensor looks at."""
        if not isinstance(source, Memory):
            raise RuntimeError(f"set_: expected a Tensor to share the storage of, got {type(source).__name__}; storages cannot be passed")
        self.cell, self._look = source.cell, source._look
        return self

    # ------------------------------------------------------------------------------------------- of Python functions

    def apply_(self, callable):
        """Replaces each element by callable(element), a Python function, one after another: for data on the CPU, and slow."""
        return self._mapped("apply_", callable, ())

    def map_(self, tensor, callable):
        """Replaces each element by callable(element, the other's element); see `apply_`. The other broadcasts."""
        return self._mapped("map_", callable, (tensor,))

    def map2_(self, x, y, callable):
        """Replaces each element by callable(element, x's, y's); see `apply_`."""
        return self._mapped("map2_", callable, (x, y))

    def _mapped(self, name: str, callable, others):
        if self.requires_grad or any(t.requires_grad for t in others):
            raise RuntimeError(f"{name}: cannot be used on a tensor that requires grad; take .detach() first")
        data = [self.array.concrete(f"the elements of {name}").numpy(), *(t.expand(self.shape).array.numpy() for t in others)]
        new = [callable(*xs) for xs in zip(*(x.reshape(-1).tolist() for x in data))]
        return self.copy_(_listed(new, self)) if new else self


def _listed(values, like):
    from ..core.array import asarray

    return asarray(values, like.dtype).reshape(like.aval.shape)


Operable.as_strided = lambda self, size, stride, storage_offset=0: strided.as_strided(self, size, stride, storage_offset)

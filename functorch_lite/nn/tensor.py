"""Tensor: PyTorch's mutable tensor, as a cell over immutable Arrays.

A tensor either owns a `Cell` (its storage) or is a view: an op over a base. Reading gives an Array as the current body sees it;
writing rebinds the cell, through the inverse of each view on the way (`nn/views.py`). Everything else is the ops': given a Tensor
they give Tensors. What needs history (`backward`, hooks) is in `nn/autograd.py`.
"""

from __future__ import annotations

import numpy as np

from ..core import show
from ..core.array import Array, Operable, default_device_name, is_meta, meta
from ..core.aval import Aval
from ..core.cell import CHANGES, Cell, Slot, cell_of
from ..core.face import Face
from ..core.interpreter import STATE, VALUES, Traced, body
from ..prims.create import detach, graft
from ..refs.at import At
from ..refs.convert import to
from ..transforms.ambient import begin_recording, history, rebased
from . import layout
from .devices import device
from .inplace import InPlace, fitting, written
from .memory import Memory
from .views import Shown, View

_new = object.__new__


class Tensor(Face, InPlace, Memory, Operable):
    """A mutable n-dimensional array with PyTorch's manners. Make one with `torch.tensor`, `torch.zeros`, `torch.randn` ...

    >>> import functorch_lite.torch as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> w.grad
    tensor([2., 4.])
    """

    def __init__(self, *data, requires_grad: bool = False):
        from .legacy import begun

        self._begin(Cell(begun(data)), None)
        if requires_grad:
            self.requires_grad_()

    # what a tensor is until something is said of it
    _look: View | None = None
    _wants = False  # a leaf that requires grad
    _given = False  # it stands in for a result: a leaf that may be written to
    _shown: Shown | None = None  # what it reads as a leaf, where that is not its storage as it is
    _quiet = False  # a detached name of its storage: it reads without history,
    _own: tuple | None = None  # except for its own, which a write through this name gave it: (what it read then, with it)
    began: tuple | None = None  # the recording of the bottom of the stack, and where the history of this leaf begins in it
    _slot: Slot | None = None  # its gradient, once something has asked for it
    _hooks = None  # of a leaf; those of a result are its node's
    _retains: tuple | None = None  # the edge whose gradient a result keeps

    def _begin(self, cell: Cell | None, look: View | None) -> None:
        self.cell = cell
        if look is not None:
            self._look = look

    @classmethod
    def over(cls, value: Array) -> Tensor:
        """A tensor of this class that owns a new cell with this value."""
        out = cls.__new__(cls)
        out._begin(Cell(value), None)
        return out

    def alias(self, quiet: bool) -> Tensor:
        """Another tensor over the same storage."""
        out = Tensor.__new__(Tensor)
        out._begin(self.cell, self._look)
        out._quiet = quiet
        return out

    # --------------------------------------------------------------------------------------- as the core knows it (Face)

    def read(self) -> Array:
        if self._wants:
            return (self._shown or self.cell).read(self)
        if self._look is None and not self._quiet:
            return self.cell.read()
        value = self.cell.read() if self._look is None else self._look.read()
        return self._alone(value) if self._quiet else value

    def plain(self) -> tuple[Array, Cell] | None:
        if self._look is not None or self._wants or self._own is not None:
            return None
        cell = self.cell
        held = cell.held
        return (held, cell) if held.__class__ is Array else None

    def _alone(self, value: Array) -> Array:
        """What a detached name reads: the value without the history of others."""
        if self._own is None:
            return without_history(value)
        then, own = self._own
        if own.__class__ is Traced and not own.owner.alive:
            self._own = None
            return without_history(value)
        return own if value is then else rebased(own, without_history(value))

    def stand_in(self, value: Array) -> Tensor:
        out = type(self).__new__(type(self))
        cell = Cell(value, self.name)
        if value.__class__ is Traced:
            cell.home = body(value.owner)  # the body that is about to run, not the one that calls the transform
        out._begin(cell, None)
        out._wants = self.requires_grad and value.dtype.is_inexact
        out._given = out._wants and not self._wants
        return out

    @classmethod
    def made(cls, value: Array) -> Tensor:
        out = _new(Tensor)
        out.cell = cell_of(value)
        return out

    def wrap(self, out):
        return self.made(out) if out.__class__ in VALUES else super().wrap(out)

    def look(self, op, args, params):
        if not layout.is_view(self, op, args, params):
            return self.wrap(STATE.current.bind(op, args, params))
        out = op.infer(args, params)
        views = [
            self._over(View(self, op, args[1:], params, i if op.multi else None, a)) for i, a in enumerate(out if op.multi else (out,))
        ]
        return tuple(views) if op.multi else views[0]

    def _over(self, look: View) -> Tensor:
        out = Tensor.__new__(Tensor)
        out._begin(None, look)
        out._quiet = look.unrecorded
        return out

    def key(self) -> Array:
        from .generator import default_generator

        return default_generator.next_key()

    # --------------------------------------------------------------------------------------------------- description

    def peek(self) -> Array:
        """The value as it is kept, for a look at its shape or history: nothing is switched on by it."""
        if self._look is not None:
            return self._look.read()
        here = body(STATE.current)
        return self.cell.held if self.cell.home is here else here.fetch(self.cell)

    def glance(self) -> Array:
        """The same, but only to look at its shape or history: a program that is being traced does not take it as an input yet."""
        if self._look is not None:
            return self._look.base.glance()
        here = body(STATE.current)
        return self.cell.held if self.cell.home is here else here.glance(self.cell)

    @property
    def aval(self) -> Aval:
        """Shape and dtype."""
        if self._look is not None:
            return self._look.aval
        here = body(STATE.current)
        return self.cell.aval if self.cell.home is here else here.glance(self.cell).aval

    @property
    def name(self) -> str | None:
        """What to call its storage in messages."""
        return self.cell.name if self._look is None else self._look.base.name

    @property
    def shape(self):
        """The sizes of the dimensions."""
        return layout.Size(self.aval.shape)

    def size(self, dim: int | None = None):
        """The shape, or the size of one dimension."""
        return self.shape if dim is None else Operable.size(self, dim)

    @property
    def device(self) -> device:
        """'cpu', 'cuda:0', 'meta' ..."""
        value = self.glance()
        while value.__class__ is Traced:
            value = value.value
            if not isinstance(value, Array):  # inside a program, which runs where its inputs are
                return device(default_device_name())
        return device(value.device)

    def view(self, *shape, dtype=None) -> Tensor:
        """The same elements under another shape, which must fit their strides (else RuntimeError), or as another dtype."""
        return layout.viewed(self, *shape, dtype=dtype)

    @property
    def array(self) -> Array:
        """Its value now, as an immutable Array without history."""
        if self._look is None:
            held = self.cell.held
            if held.__class__ is Array and self.cell.home is body(STATE.current):
                return held
        return without_history(self.peek())

    def __array_value__(self) -> Array:
        return self.array

    @property
    def is_leaf(self) -> bool:
        """Whether no op with history made it."""
        return self._wants and not self._given or not self.requires_grad

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow into it here."""
        if self._wants:
            return True
        if self._quiet:
            return self._own is not None and flows(self._own[1])
        if self._look is not None:
            return self._look.base.requires_grad and self.aval.dtype.is_inexact
        return flows(self.glance())

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.requires_grad_(wanted)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Makes it a leaf whose gradient `backward` finds, or no longer one."""
        if self.requires_grad is bool(requires_grad):
            if requires_grad and self._look is None and not (self._wants or self._quiet) and history(self.peek()) is None:
                begin_recording()  # its gradient is that of a transform: from here on also that of `backward`
                self._wants = self._given = True
            return self
        CHANGES[0] += 1
        if requires_grad:
            if not self.aval.dtype.is_inexact:
                raise RuntimeError(f"only Tensors of floating point and complex dtype can require gradients, got {self.aval}")
            begin_recording()
            if self._shown is None and (self._look is not None or self._quiet):
                self._shown = Shown(self.alias(quiet=True))
            self._wants = True
        elif not self._wants or self._given:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that doesn't "
                "require differentiation use var_no_grad = var.detach()."
            )
        else:
            self._wants = False
        return self

    # ------------------------------------------------------------------------------------------------------ autograd

    @property
    def slot(self) -> Slot:
        """The cell of its gradient."""
        if self._slot is None:
            self._slot = Slot(name=f"{self.name or 'a tensor'}.grad")
            self._slot.home = self.home
        return self._slot

    @property
    def grad(self) -> Tensor | None:
        """What `backward` has accumulated, or None."""
        return None if self._slot is None else self._slot.read()

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
            if value.shape != self.shape:
                raise RuntimeError(f"assigned grad has data of a different size: expected {list(self.shape)}, got {list(value.shape)}")
            if value.dtype is not self.dtype:
                raise RuntimeError(f"assigned grad has data of a different type: expected {self.dtype}, got {value.dtype}")
        self.slot.write(value)

    @grad.deleter
    def grad(self) -> None:
        self.slot.write(None)

    @property
    def grad_fn(self):
        """The node that made it, or None for a leaf."""
        found = None if self._wants else history(self.read())
        return None if found is None else found[1][0]

    def backward(self, gradient=None, retain_graph: bool | None = None, create_graph: bool = False, inputs=None) -> None:
        """Adds to `.grad` of every leaf that it was made from (or of `inputs`) its gradient. See `autograd.backward`."""
        from .autograd import backward

        backward(self, gradient, retain_graph, create_graph, inputs)

    def register_hook(self, hook):
        """hook(grad) runs when its gradient has been found, and may return another; returns a handle with remove()."""
        from .autograd import register_hook

        return register_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook):
        """hook(tensor) runs after a gradient was added to `.grad` of this leaf; returns a handle with remove()."""
        from .autograd import register_post_accumulate_grad_hook

        return register_post_accumulate_grad_hook(self, hook)

    def retain_grad(self) -> None:
        """Keeps the gradient of this non-leaf in `.grad`."""
        from .autograd import retain_grad

        retain_grad(self)

    @property
    def retains_grad(self) -> bool:
        """Whether a non-leaf keeps its gradient."""
        return self._retains is not None

    def detach(self) -> Tensor:
        """The same storage without history: a write to one is seen by the other."""
        return self.alias(quiet=True)

    def detach_(self) -> Tensor:
        """Forgets its history, in place."""
        if self._look is not None:
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        if not self._quiet:
            self.cell.write(without_history(self.read()))
        CHANGES[0] += 1
        self._wants, self._own = False, None
        return self

    @property
    def data(self) -> Tensor:
        """The same storage, which autograd does not see."""
        return self.alias(quiet=True)

    @data.setter
    def data(self, value: Tensor) -> None:
        if self._look is None:
            self.cell.write(value.array)
            return
        self.cell, self._look = self._shown or Cell(value.array, self.name), None  # no view any more
        self.cell.write(value.array)

    # -------------------------------------------------------------------------------------------------------- writing

    @property
    def home(self):
        return self.cell.home if self._look is None else self._look.base.home

    @property
    def version(self) -> int:
        return self.cell.version if self._look is None else self._look.base.version

    _version = version

    @property
    def marks(self) -> tuple:
        after = self.__dict__.get("_after")
        return self._wants, tuple(self._hooks) if self._hooks else (), tuple(after) if after else ()

    @property
    def storage(self) -> Cell:
        base = self
        while base._look is not None:
            base = base._look.base
        return base.cell

    @property
    def _base(self) -> Tensor | None:
        """The tensor that this is a view of, or None."""
        base = self._look and self._look.base
        return base if base is None or base._look is None else base._base

    def _is_view(self) -> bool:
        return self._look is not None

    def replace(self, value: Array) -> None:
        self._assign(value)

    def overwrite(self, value: Array, what: str) -> Tensor:
        return self._assign(fitting(self, value, what))

    def renew(self, value: Array) -> None:
        self._assign(detach(value), outside=True)

    def _assign(self, value: Array, outside: bool = False) -> Tensor:
        """Replaces its elements, through its views; ``outside`` of what autograd sees."""
        stopped = outside or STATE.stopped > body(STATE.current).born
        if self._wants and not stopped:
            if not self._given:
                raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
            self._wants = False
        if self._quiet and not stopped:
            return self._assign_alone(value)
        look = self._look
        if look is not None:
            base = look.base.alias(True).read() if stopped else look.base.read()
            look.base._assign(look.back(base, value), outside)
        else:
            self.cell.write(self._kept(value) if stopped else value)
        if self._retains is not None and not stopped:
            node, i = self._retains
            node.retained.pop(i, None)
            self._retains = None
            self.retain_grad()
        return self

    def _kept(self, value: Array) -> Array:
        """A value with the history of what it replaces, for a write that recording does not see."""
        old, value = self.peek(), without_history(value)
        primal = old
        while primal.__class__ is Traced and primal.owner.ambient:
            primal = primal.value
        if primal.__class__ is Traced and primal.dtype.is_inexact and self.cell.home is body(STATE.current):
            before, STATE.stopped = STATE.stopped, 0
            try:
                value = graft(primal, value)
            finally:
                STATE.stopped = before
        return rebased(old, value)

    def _assign_alone(self, value: Array) -> Tensor:
        """A write through a detached name: others see the elements, only this name the history."""
        look = self._look
        if look is not None and look.unrecorded and (look.base.requires_grad or flows(value)):
            raise RuntimeError(
                "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Take the view where gradients are "
                "recorded, or change it under no_grad too"
            )
        self._assign(value, outside=True)
        self._own = (self.peek(), value) if flows(value) else None
        return self

    def assign_(self, value) -> Tensor:
        """Replaces its value, whatever autograd thinks of it: for optimizers and loaders, which have checked shape and dtype."""
        cell = self.cell
        if self._look is None and value.__class__ is Array and cell.held.__class__ is Array and cell.home is body(STATE.current):
            cell.held = value  # there is no history to keep
            cell.version += 1
            return self
        return self._assign(value.array if isinstance(value, Tensor) else value, outside=True)

    def __setitem__(self, index, value) -> None:
        new = value.read() if isinstance(value, Tensor) else value
        self._assign(At(self.read())[_plain(index)].set(written(self, new)))

    # ------------------------------------------------------------------------------------------------ to other things

    def to(self, *args, dtype=None, device=None, copy: bool = False, non_blocking: bool = False, memory_format=None) -> Tensor:
        """Itself, or a tensor of another dtype or on another device. See `fl.Array.to`."""
        args = [a.array if isinstance(a, Tensor) else a for a in args]
        if "meta" in map(str, (*args, device)):
            return self.stand_in(meta(self.aval))
        x = self.read()
        out = to(x, *args, dtype=dtype, device=device, copy=copy)
        return self if out is x else Tensor.over(out)

    def item(self):
        """The only element as a Python number."""
        return self.array.item()

    def tolist(self):
        """The elements as Python numbers in nested lists."""
        return self.array.tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The data as a read-only NumPy array, a snapshot."""
        if self.requires_grad and not force:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        return self.array.numpy()

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return self.numpy().__array__(dtype) if dtype is not None else self.array.__array__(dtype, copy)

    def __jax_array__(self):
        return self.array.__jax_array__()

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __bool__(self) -> bool:
        return bool(self.array)

    def __int__(self) -> int:
        return int(self.array)

    def __float__(self) -> float:
        return float(self.array)

    def __complex__(self) -> complex:
        return complex(self.array)

    def __index__(self) -> int:
        return self.array.__index__()

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.aval.shape[0]

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec and self.aval.size == 1 or not self.aval.shape and not self._traced() else repr(self)

    def _traced(self) -> bool:
        value = self.array
        return value.__class__ is Traced

    def __repr__(self) -> str:
        held = self.peek()
        if held.__class__ is Traced and not held.owner.alive:
            return f"tensor(..., {held.aval}, dead: of {held.owner.label})"
        value, more = self.array, ""
        if self._wants:
            more = ", requires_grad=True"
        elif self.requires_grad:
            node = self.grad_fn
            more = f", grad_fn=<{node.name()}>" if node is not None else ", requires_grad=True"
        if is_meta(value):
            return f"tensor(..., device='meta', size={tuple(self.shape)}{more})"
        if value.__class__ is Traced:
            return f"tensor(..., {self.aval}{more})"
        return show.tensor(value.aval, np.asarray(value.buffer), more)

    def __copy__(self) -> Tensor:
        out = self.alias(quiet=self._quiet)
        out.__class__, out._own = type(self), self._own
        return out.requires_grad_() if self._wants else out

    def __deepcopy__(self, memo) -> Tensor:
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. Use detach() or clone()"
            )
        memo[id(self)] = out = self._copied(type(self), memo)
        if self._wants:
            out.requires_grad_()
        if self.grad is not None:
            out.slot.write(self.grad.__deepcopy__(memo))
        _copy_attributes(self, out, memo)
        return out

    def _copied(self, cls, memo) -> Tensor:
        """Its storage and its views, copied once for all tensors that share them."""
        out, look = cls.__new__(cls), self._look
        if look is not None:
            out._begin(None, View(look.base._copied(Tensor, memo), look.op, look.rest, look.params, look.index, look.aval))
        else:
            cell = memo.get(id(self.cell))
            out._begin(cell or memo.setdefault(id(self.cell), Cell(self.array, self.name)), None)
        return out

    def __reduce_ex__(self, protocol):
        return _unpickle, (type(self), self.array, self.requires_grad)


def _unpickle(cls, value: Array, wants: bool) -> Tensor:
    out = cls.__new__(cls)
    out._begin(Cell(value), None)
    if wants:
        out.requires_grad_()
    return out


_OWN = frozenset(("cell", "_look", "_wants", "_given", "_shown", "_quiet", "_own", "_slot", "_hooks", "_after", "_retains"))


def _copy_attributes(source, target, memo) -> None:
    from copy import deepcopy

    for name, value in source.__dict__.items():
        if name not in _OWN:
            target.__dict__[name] = deepcopy(value, memo)


def _plain(index):
    """An index with its tensors as Arrays."""
    if isinstance(index, Tensor):
        return index.array
    return tuple(map(_plain, index)) if isinstance(index, tuple) else [*map(_plain, index)] if isinstance(index, list) else index


def flows(x: Array) -> bool:
    """Whether a gradient flows into x, in this body or one that it stands in."""
    while x.__class__ is Traced:
        if x.owner.ambient or hasattr(x.owner, "tape"):
            return x.owner.alive and x.extra is not None
        x = x.value
    return False


def without_history(x: Array) -> Array:
    """x, through which no gradient passes in any body: nothing to do where only `backward` records."""
    while x.__class__ is Traced and x.owner.ambient:
        x = x.value
    if x.__class__ is Array or not x.dtype.is_inexact or getattr(x.value, "target", None) is detach.op:
        return x
    return detach(x)

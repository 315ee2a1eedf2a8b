"""In-place methods: `x.op_(...)` is `x.op(...)` written into x, for every op that is a method."""

from __future__ import annotations

import warnings

from ..core.array import Array, Operable, is_meta
from ..core.dtype import NUMBERS, category_of
from ..core.face import read
from ..refs.copies import fill
from ..refs.promotion import broadcast_shapes, expand_to, to_dtype
from .grad_mode import is_grad_enabled


def written(target, new) -> Array:
    """`new` in the dtype of `target`, which PyTorch gives whatever is assigned."""
    if new.__class__ in NUMBERS and category_of(new) <= target.dtype.category:
        return new
    return to_dtype(read(new), target.dtype)


def fitting(target, new: Array, what: str) -> Array:
    """The result of an op as what may be written into `target`: of its shape, in its dtype if that can hold its category."""
    if new.shape != target.aval.shape:
        raise RuntimeError(f"{what}: output with shape {list(target.shape)} doesn't match the broadcast shape {list(new.shape)}")
    return held_by(target, new, what)


def held_by(target, new: Array, what: str) -> Array:
    """A result in the dtype of `target`, if that can hold its category."""
    if new.dtype.category > target.dtype.category:
        raise RuntimeError(f"{what}: result type {new.dtype} can't be cast to the desired output type {target.dtype}")
    return to_dtype(new, target.dtype)


class InPlace:
    """The in-place half of Tensor. What is not spelled out here is found by name: `x.exp_()` from `exp`."""

    def __getattr__(self, name: str):
        if name.endswith("_") and not name.startswith("_"):
            function = getattr(Operable, name[:-1], None)
            if callable(function):
                method = _in_place(name, function)
                setattr(InPlace, name, method)
                return method.__get__(self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def fitted(self, value: Array, what: str, *, exact: bool, apart: bool, shared: bool) -> Array:
        """See `Face.fitted`."""
        if is_grad_enabled() and (self.requires_grad or self.made(value).requires_grad):
            raise RuntimeError(
                f"{what}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad. Use "
                "what the call returns, or call it under no_grad()"
            )
        if exact and value.dtype is not self.dtype:
            raise RuntimeError(f"{what}: Expected out tensor to have dtype {value.dtype}, but got {self.dtype} instead")
        if is_meta(value) is not is_meta(self.peek()):
            raise RuntimeError(
                f"{what}: the result is on the device {value.device}, and cannot be written into an out tensor on {self.device}"
            )
        value = held_by(self, value, what)
        if shared and apart:
            raise RuntimeError(
                f"{what}: unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. "
                "Please clone() the tensor before performing the operation."
            )
        if value.shape != self.aval.shape and (shared or self._look is not None):
            raise RuntimeError(
                f"{what}: unsupported operation: the out tensor has shape {list(self.shape)} and the result {list(value.shape)}, and a view, or a "
                "tensor that shares its elements with an argument, is not resized: elements of the written-to tensor refer to a single memory "
                "location. Give an out tensor of its own, or none"
            )
        return value

    def receive(self, value: Array) -> None:
        """See `Face.receive`."""
        if value.shape == self.aval.shape:
            self._assign(value)
            return
        if self.aval.size:
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(self.shape)}, which does not match the required output "
                f"shape {list(value.shape)}. Give an out tensor of that shape, or one without elements",
                stacklevel=5,
            )
        self._assign(value)

    def copy_(self, src, non_blocking: bool = False):
        """Takes over the elements of `src`, broadcast, in its own dtype."""
        value = written(self, src if src.__class__ not in NUMBERS else read(src))
        if value.shape != self.aval.shape and broadcast_shapes(value.shape, self.aval.shape) != self.aval.shape:
            raise RuntimeError(f"copy_: a source of shape {list(value.shape)} does not broadcast to {list(self.aval.shape)}")
        return self._assign(expand_to(value, self.aval.shape))

    def fill_(self, value):
        """Sets every element to a number or 0-dim tensor."""
        return self._assign(fill(read(self), value if value.__class__ in NUMBERS else read(value)))

    def zero_(self):
        """Sets every element to 0."""
        return self.fill_(0)

    def unsqueeze_(self, dim: int):
        """Inserts a dimension of size 1, in place."""
        return self._reshape_in_place(self.unsqueeze(dim))

    def squeeze_(self, *dim):
        """Removes dimensions of size 1, in place."""
        return self._reshape_in_place(self.squeeze(*dim))

    def transpose_(self, dim0: int, dim1: int):
        """Exchanges two dimensions, in place."""
        return self._reshape_in_place(self.transpose(dim0, dim1))

    def t_(self):
        """Transposes a matrix, in place."""
        return self._reshape_in_place(self.t())

    def _reshape_in_place(self, view):
        """Becomes what `view`, a view of it, is: the storage under it stays."""
        look, base = view._look, self.alias(self._quiet)
        base._wants = self._wants
        if look is not None:
            look.base = base
            self.cell, self._look = None, look
        return self


def _in_place(name: str, function):
    def method(self, *args, **kwargs):
        out = function(self, *args, **kwargs)
        return self._assign(fitting(self, read(out), name))

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = (
        f"`{name[:-1]}`, written into the tensor. Raises RuntimeError where the result has another shape or a wider kind of dtype."
    )
    return method


def in_place_function(name: str):
    """PyTorch's function for an in-place method: `torch.relu_(x)` is `x.relu_()`. None where there is no such method."""
    if getattr(InPlace, name, None) is None and not callable(getattr(Operable, name[:-1], None)):
        return None

    def function(input, *args, **kwargs):
        return getattr(input, name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`input.{name}(...)`: writes into input, and returns it."
    return function


def _augmented(name: str):
    operator = getattr(Operable, f"__{name}__")

    def method(self, other):
        out = operator(self, other)
        return out if out is NotImplemented else self._assign(fitting(self, read(out), f"{name}_"))

    method.__name__ = f"__i{name}__"
    method.__qualname__, method.__doc__ = f"Tensor.{method.__name__}", f"See `__{name}__`; written into the tensor."
    setattr(InPlace, method.__name__, method)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"):
    _augmented(_name)

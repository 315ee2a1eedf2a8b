"""Layers that are one op with its settings: declared as a class with annotated fields, as a dataclass is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..module import Module
from ..tensor import Tensor


class Layer(Module):
    """The base of layers that `layer` declares: their fields are their arguments, and their forward is an op of inputs and fields."""

    _fields: dict[str, Any] = {}  # name -> default, in order
    _op: Callable
    _passes: tuple[str, ...] = ()  # the fields that the op takes
    _shows = ""  # the extra_repr, a format of the fields
    _buffered: tuple[str, ...] = ()  # fields that are buffers

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """The op of the inputs and of the layer's fields."""
        out = self._op(*inputs, **named, **{name: getattr(self, name) for name in self._passes})
        return changed(inputs[0] if inputs else named["input"], out) if self.__dict__.get("inplace") else out

    def _ready(self) -> None:
        """Runs when the fields are set."""

    def extra_repr(self) -> str:
        shown = self._shows.format_map(vars(self))
        in_place = "inplace=True" if self.__dict__.get("inplace") and "inplace" not in shown else ""
        return ", ".join(filter(None, (shown, in_place)))


def changed(x, out):
    """What a layer with inplace=True returns: its input with the output written into it. An Array cannot change: the output itself."""
    return x.copy_(out) if isinstance(x, Tensor) else out


def layer(op: Callable | None = None, shows: str = "") -> Callable[[type], type]:
    """Declares a Layer: its annotated fields (and its bases') become the arguments of ``__init__``, its forward that of `op`.

    `op` gets the fields whose names it knows. A class may have a forward of its own instead. `shows` is a format string of fields,
    for the repr.
    """

    def declare(cls: type) -> type:
        fields = dict(cls._fields)
        for name in inspect.get_annotations(cls):
            if not name.startswith("_"):
                fields[name] = cls.__dict__.get(name, inspect.Parameter.empty)
                if name in cls.__dict__:
                    delattr(cls, name)  # a default; the instance has the value
        cls._fields = fields
        if op is not None:
            cls._op = staticmethod(op)
            cls._passes = tuple([name for name in fields if name in inspect.signature(op).parameters])
        if shows:
            cls._shows = shows
        cls.__init__ = _init(cls, fields)
        return cls

    return declare


def _init(cls: type, fields: dict[str, Any]) -> Callable:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(name, kind, default=default) for name, default in fields.items()])

    def __init__(self, *args, **kwargs):
        Module.__init__(self)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}{signature}: {error}") from None
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if name in self._buffered:
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)
        self._ready()

    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    __init__.__signature__ = signature.replace(parameters=[inspect.Parameter("self", kind), *signature.parameters.values()])
    return __init__


def repeated(value, n: int) -> tuple:
    """A setting of each of n dimensions, from one for all or one for each."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * n

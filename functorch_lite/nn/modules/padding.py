"""Padding layers: `functional.pad` in each mode and dimension."""

from __future__ import annotations

from ...core.array import Array
from .. import functional as F
from ..tensor import Tensor
from .layer import Layer, layer


@layer()
class _Pad(Layer):
    """`padding` is an int for all sides, or (left, right, top, bottom ...): the last dimension first."""

    padding: int | tuple[int, ...]

    _n = 0
    _mode = ""
    value = None

    def _ready(self) -> None:
        sides = 2 * self._n
        self.padding = tuple(self.padding) if isinstance(self.padding, (tuple, list)) else (self.padding,) * sides
        if len(self.padding) != sides:
            raise ValueError(f"{type(self).__name__}: padding must be an int or {sides} ints, got {self.padding}")

    def forward(self, input: Tensor | Array) -> Tensor | Array:
        """See the class."""
        if self._mode != "constant" and input.ndim not in (self._n + 1, self._n + 2):
            raise ValueError(f"{type(self).__name__}: expected {self._n + 1}D or {self._n + 2}D input (got {input.ndim}D input)")
        return F.pad(input, self.padding, self._mode, self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}" if "value" in self._fields else f"{self.padding}"


@layer()
class _ConstantPad(_Pad):
    value: float

    _mode = "constant"


_KINDS = {
    "ZeroPad": (_Pad, {"_mode": "constant", "value": 0.0}, "zeros"),
    "ConstantPad": (_ConstantPad, {}, "`value`"),
    "ReflectionPad": (_Pad, {"_mode": "reflect"}, "what stands within, mirrored without the edge"),
    "ReplicationPad": (_Pad, {"_mode": "replicate"}, "the edge, repeated"),
    "CircularPad": (_Pad, {"_mode": "circular"}, "what stands at the other end"),
}


def _pad(kind: str, n: int) -> type:
    base, settings, what = _KINDS[kind]
    doc = f"""Pads the last {n} dimension{"s" if n > 1 else ""} of its input with {what}.

    `padding` is an int for all sides, or {2 * n} ints, two for each dimension, of which the last comes first.
    """
    members = {**settings, "_n": n, "__doc__": doc, "__module__": __name__, "__qualname__": f"{kind}{n}d"}
    return layer()(type(f"{kind}{n}d", (base,), members))


ZeroPad1d, ZeroPad2d, ZeroPad3d = (_pad("ZeroPad", n) for n in (1, 2, 3))
ConstantPad1d, ConstantPad2d, ConstantPad3d = (_pad("ConstantPad", n) for n in (1, 2, 3))
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = (_pad("ReflectionPad", n) for n in (1, 2, 3))
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = (_pad("ReplicationPad", n) for n in (1, 2, 3))
CircularPad1d, CircularPad2d, CircularPad3d = (_pad("CircularPad", n) for n in (1, 2, 3))

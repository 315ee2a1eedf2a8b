"""Which operands PyTorch wants as tensors, where others may be numbers. The functional face takes numbers in all places, but not in all at
once."""

from __future__ import annotations

from ..core.op import REGISTRY
from . import compare, elementwise, special  # noqa: F401  # they declare them

_WANTED = {
    "all": "atan2 fmax fmin heaviside igamma igammac ldexp logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum nextafter hypot",
    "first": "clamp copysign eq fmod ge gt le lt ne rsub",
    "some": "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift float_power pow remainder xlogy xlog1py zeta",
}

for _wanted, _names in _WANTED.items():
    for _name in _names.split():
        _op = REGISTRY.get(f"fl.{_name}") or REGISTRY[f"fl.special.{_name}"]
        _op.traits = _op.traits | {"operands": _wanted}

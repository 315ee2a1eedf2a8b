"""Python's operators on Arrays, each by the op of its name. What is not data they leave to the other operand (NotImplemented)."""

from __future__ import annotations

from ..core.array import ARRAYS, Operable
from ..core.binder import make_operator
from ..core.dtype import NUMBERS
from . import compare, contract, elementwise


def _operator(name: str, f, reflected: bool = False):
    op = getattr(f, "op", None)
    if op is not None and op.function is f:
        method = make_operator(op, name, reflected)
    else:

        def method(self, other):
            if not (other.__class__ in NUMBERS or isinstance(other, ARRAYS)):
                return NotImplemented
            return f(other, self) if reflected else f(self, other)

        method.__name__, method.__qualname__, method.__doc__ = name, f"Array.{name}", f"See `{f.__name__}`."
    setattr(Operable, name, method)


def _matmul(x, y):
    """The matrix product, of two arrays."""
    return NotImplemented if x.__class__ in NUMBERS or y.__class__ in NUMBERS else contract.matmul(x, y)


def _divmod(x, y):
    """(x // y, x % y)."""
    return elementwise.floor_divide(x, y), elementwise.remainder(x, y)


_BINARY = {  # name -> op, for x + y and its like; each has a reflected form too
    "add": elementwise.add,
    "sub": elementwise.sub,
    "mul": elementwise.mul,
    "truediv": elementwise.div,
    "div": elementwise.div,  # Python 2's, which PyTorch keeps
    "floordiv": elementwise.floor_divide,
    "mod": elementwise.remainder,
    "divmod": _divmod,
    "pow": elementwise.pow,
    "matmul": _matmul,
    "and": compare.bitwise_and,
    "or": compare.bitwise_or,
    "xor": compare.bitwise_xor,
    "lshift": compare.bitwise_left_shift,
    "rshift": compare.bitwise_right_shift,
}
for _name, _f in _BINARY.items():
    _operator(f"__{_name}__", _f)
    _operator(f"__r{_name}__", _f, reflected=True)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _operator(f"__{_name}__", getattr(compare, _name))


def _invert(self):
    """~x: `bitwise_not`, of integers and bools."""
    if self.dtype.is_inexact:
        raise TypeError(f"~ (operator.invert) is only defined for integer and bool Arrays, got {self.aval}")
    return compare.bitwise_not(self)


def _contains(self, element) -> bool:
    """Whether some element equals this number or Array, as a Python bool."""
    if not (element.__class__ in NUMBERS or isinstance(element, ARRAYS)):
        raise RuntimeError(f"`in`: an Array contains numbers and Arrays only, got {type(element).__name__}")
    return bool(compare.eq(self, element).any())


Operable.__neg__, Operable.__pos__, Operable.__abs__ = elementwise.neg, elementwise.positive, elementwise.abs
Operable.__invert__, Operable.__contains__ = _invert, _contains

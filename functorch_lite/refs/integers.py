"""Common divisors and multiples of integers, and a float taken apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.dtype import INTEGER
from ..core.op import Tensor, composite
from ..prims import algebra, compare, elementwise, integers
from .arguments import require, shown
from .families import BOTH
from .promotion import array_of, promoted


def _two_integers(name, input, other):
    x, y = promoted(input, other)
    ok = x.dtype.category == INTEGER
    require(ok, name, f"expected integers, got {shown(input, other)}; convert with .to(fl.int64)")
    return x, y


@composite(method=True, reference=np.gcd, traits=BOTH)
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor, which is not negative (0 of two zeros), promoted and broadcast. RuntimeError unless both are integers.

    >>> import functorch_lite as fl
    >>> fl.gcd(fl.asarray([12, -8, 0]), fl.asarray([18, 12, 5])).tolist()
    [6, 4, 5]
    """
    return integers.gcd(*_two_integers("gcd", input, other))


@composite(method=True, reference=np.lcm, traits=BOTH)
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple, which is not negative (0 where either is 0), promoted and broadcast. RuntimeError unless both are integers.

    >>> import functorch_lite as fl
    >>> fl.lcm(fl.asarray([4, -3, 0]), fl.asarray([6, 5, 5])).tolist()
    [12, 15, 0]
    """
    x, y = _two_integers("lcm", input, other)
    divisor = integers.gcd(x, y)
    none = compare.eq(divisor, algebra.zeros(divisor.aval))
    parts = elementwise.trunc_div(x, compare.select(none, algebra.one_like(divisor), divisor))
    return elementwise.mul(elementwise.abs(parts), elementwise.abs(y))


class Frexp(NamedTuple):
    """What `frexp` gives."""

    mantissa: Tensor
    exponent: Tensor


@composite(method=True, multi=True, returns=Frexp, reference=lambda x: tuple(np.frexp(x)))
def frexp(input: Tensor) -> Frexp:
    """(mantissa, exponent) with input = mantissa * 2 ** exponent, 0.5 <= |mantissa| < 1; exponents are int32. 0, infinities and NaN have
    exponent 0. Derivatives take the exponent for constant. RuntimeError unless input has a float dtype.

    >>> import functorch_lite as fl
    >>> m, e = fl.frexp(fl.asarray([8.0, -3.0]))
    >>> m.tolist(), e.tolist()
    ([0.5, -0.75], [4, 2])
    """
    x = array_of(input)
    require(x.dtype.is_floating_point, "frexp", f"expected a float dtype, got {x.aval}; convert with .to(fl.float32)")
    return integers.mantissa(x), integers.exponent(x)


__all__ = ["frexp", "gcd", "lcm"]

"""Elementwise refs: promotion and broadcasting around a prim, from tables."""

from __future__ import annotations

from ..core.dtype import float32
from ..core.op import Tensor, composite
from ..prims import compare, elementwise, trig
from .promotion import array_of, float_of, promoted

# --------------------------------------------------------------------------------------------------------- unary


def _unary(name, prim, *, inexact=False, method=True, doc=None, **slots):
    if inexact:

        def f(input: Tensor) -> Tensor:
            return prim(float_of(input))
    else:

        def f(input: Tensor) -> Tensor:
            return prim(array_of(input))

    f.__name__ = name
    f.__doc__ = doc or f"{prim.op.doc} Elementwise{'; integers become the default float' if inexact else ''}."
    return composite(f, method=method, reference=prim.op.reference, **slots)


neg = _unary("neg", elementwise.neg)
sin = _unary("sin", trig.sin, inexact=True)
cos = _unary("cos", trig.cos, inexact=True)
exp = _unary("exp", elementwise.exp, inexact=True)
tanh = _unary("tanh", trig.tanh, inexact=True)

# -------------------------------------------------------------------------------------------------------- binary


def _binary(name, prim, *, inexact=False, method=True, doc=None, **slots):
    def f(input: Tensor, other: Tensor) -> Tensor:
        return prim(*promoted(input, other, inexact=inexact))

    f.__name__ = name
    f.__doc__ = doc or f"{prim.op.doc} Elementwise, with broadcasting and promotion."
    return composite(f, method=method, reference=prim.op.reference, **slots)


mul = _binary("mul", elementwise.mul)
maximum = _binary("maximum", compare.maximum)
minimum = _binary("minimum", compare.minimum)
eq, ne, lt, le, gt, ge = (_binary(n, getattr(compare, n)) for n in ("eq", "ne", "lt", "le", "gt", "ge"))


@composite(method=True, reference=lambda x, y, alpha=1: x + alpha * y)
def add(input: Tensor, other: Tensor, *, alpha: Number = 1) -> Tensor:  # noqa: F821
    """input + alpha * other, with broadcasting and promotion.

    >>> import functorch_lite as fl
    >>> fl.add(fl.asarray([1, 2]), 1.5).tolist()
    [2.5, 3.5]
    """
    if alpha != 1:
        other = mul(other, alpha)
    return elementwise.add(*promoted(input, other))


_ = float32

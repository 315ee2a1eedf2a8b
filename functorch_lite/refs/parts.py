"""Complex numbers: their parts, their making, and their views as pairs of real ones."""

from __future__ import annotations

import math

import numpy as np

from ..core.array import Operable
from ..core.op import Tensor, composite
from ..prims import algebra, compare, elementwise, parts, shape, trig
from .arguments import require, shown
from .families import alias
from .promotion import array_of, float_of, promoted


@composite(reference=np.real, view=lambda base, new: complex(new, imag(base)) if base.dtype.is_complex else new)
def real(input: Tensor) -> Tensor:
    """The real part; a real array is returned as it is.

    >>> import functorch_lite as fl
    >>> fl.real(fl.asarray([1 + 2j])).tolist()
    [1.0]
    """
    x = array_of(input)
    return parts.real(x) if x.dtype.is_complex else x


@composite(reference=np.imag, view=lambda base, new: complex(real(base), new))
def imag(input: Tensor) -> Tensor:
    """The imaginary part of a complex array; RuntimeError for a real one.

    >>> import functorch_lite as fl
    >>> fl.imag(fl.asarray([1 + 2j])).tolist()
    [2.0]
    """
    x = array_of(input)
    require(x.dtype.is_complex, "imag", f"expected a complex dtype, got {x.aval}; a real array has no imaginary part")
    return parts.imag(x)


Operable.real = property(lambda self: real(self), doc="The real part; a real array is its own.")
Operable.imag = property(lambda self: imag(self), doc="The imaginary part of a complex array.")


@composite(method=True, reference=np.conj)
def conj(input: Tensor) -> Tensor:
    """The complex conjugate; a real array is returned as it is.

    >>> import functorch_lite as fl
    >>> fl.conj(fl.asarray([1 + 2j])).tolist()
    [(1-2j)]
    """
    return parts.conj_of(array_of(input))


conj_physical = conj
alias(conj_physical=conj)


def _resolve(name: str, what: str):
    def f(input: Tensor) -> Tensor:
        return array_of(input)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"Input itself, of any dtype: PyTorch {what} lazily, and this is how a program asks for it to be done; here it always has been.\n\n"
        f">>> import functorch_lite as fl\n>>> fl.{name}(fl.conj(fl.asarray([1 + 2j]))).tolist()\n[(1-2j)]\n"
    )
    return composite(f, method=True, reference=lambda x: x, view=lambda base, new: new)


resolve_conj = _resolve("resolve_conj", "conjugates")
resolve_neg = _resolve("resolve_neg", "negates (the imaginary part of a conjugate)")


@composite(method=True, reference=np.angle)
def angle(input: Tensor) -> Tensor:
    """The angle of a complex number to the positive real axis, in radians; of a real one 0 or pi. Its derivative at 0 is 0.

    >>> import functorch_lite as fl
    >>> fl.angle(fl.asarray([1.0, -1.0])).tolist()[0]
    0.0
    """
    x = float_of(input)
    if x.dtype.is_complex:
        return trig.atan2(parts.imag(x), parts.real(x))
    zero = algebra.zeros(x.aval)
    flat = compare.select(compare.lt(x, zero), algebra.full_like(x, math.pi), zero)
    return compare.select(compare.ne(x, x), x, flat)


@composite(reference=lambda real, imag: real + 1j * imag, traits={"arrays": ("real", "imag"), "exact": True})
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """The complex number with these parts, of one float dtype, broadcast.

    >>> import functorch_lite as fl
    >>> fl.complex(fl.asarray([1.0]), fl.asarray([2.0])).tolist()
    [(1+2j)]
    """
    x, y = _two_floats("complex", real, imag)
    return parts.complex(x, y)


@composite(reference=lambda r, angle: r * np.exp(1j * angle), traits={"arrays": ("abs", "angle"), "exact": True})
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """The complex number of this absolute value and angle: abs * (cos(angle) + i sin(angle)), of one float dtype, broadcast.

    >>> import functorch_lite as fl
    >>> fl.polar(fl.asarray([2.0]), fl.asarray([0.0])).tolist()
    [(2+0j)]
    """
    r, phi = _two_floats("polar", abs, angle)
    return parts.complex(elementwise.mul(r, trig.cos(phi)), elementwise.mul(r, trig.sin(phi)))


def _two_floats(name, x, y):
    x, y = array_of(x), array_of(y)
    ok = x.dtype is y.dtype and x.dtype.is_floating_point and x.dtype.itemsize >= 4
    require(ok, name, f"expected two arrays of dtype float32 or float64, the same for both, got {shown(x, y)}")
    return promoted(x, y)


@composite(reference=lambda x: x[..., None].view(x.real.dtype), view=lambda base, new: view_as_complex(new))
def view_as_real(input: Tensor) -> Tensor:
    """A complex array [...] as a real one [..., 2] of both parts.

    >>> import functorch_lite as fl
    >>> fl.view_as_real(fl.asarray([1 + 2j])).tolist()
    [[1.0, 2.0]]
    """
    x = array_of(input)
    require(x.dtype.is_complex, "view_as_real", f"expected a complex dtype, got {x.aval}")
    pair = [shape.reshape(part(x), (*x.shape, 1)) for part in (parts.real, parts.imag)]
    return shape.concatenate(pair, x.ndim)


@composite(reference=lambda x: x[..., 0] + 1j * x[..., 1], view=lambda base, new: view_as_real(new))
def view_as_complex(input: Tensor) -> Tensor:
    """A real array [..., 2] as the complex one [...] whose parts it holds.

    >>> import functorch_lite as fl
    >>> fl.view_as_complex(fl.asarray([[1.0, 2.0]])).tolist()
    [(1+2j)]
    """
    x = array_of(input)
    ok = x.dtype.is_floating_point and x.ndim > 0 and x.shape[-1] == 2
    require(ok, "view_as_complex", f"expected a float dtype and a last dimension of size 2, got {x.aval}")
    last = x.ndim - 1
    return parts.complex(*[shape.reshape(shape.part(x, last, i, i + 1), x.shape[:-1]) for i in (0, 1)])


__all__ = "angle complex conj conj_physical imag polar real resolve_conj resolve_neg view_as_complex view_as_real".split()

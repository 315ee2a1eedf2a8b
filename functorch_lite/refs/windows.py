"""Windows for spectral analysis: `fl.signal.windows`, and the older `hann_window` and its like, which are the same ones by other names."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Number

from ..core.array import Array
from ..core.dtype import DType, as_dtype, float32, float64
from ..core.op import Tensor, composite
from ..prims import algebra, compare, create, elementwise, special, trig
from .arguments import require
from .create import placed, placing
from .promotion import to_dtype

NAMESPACE = "fl.signal.windows"
_LENGTH = """M is the number of points. ``sym=True`` makes a symmetric window, for filters; ``sym=False`` one period of it, for spectra.
    Float32 unless a dtype (float32 or float64) is given; computed in float64. ValueError for a negative M or another dtype."""


def _points(M, first: float, step: float):
    """first, first + step ..., M numbers in float64."""
    index = create.iota((M,), 0, float64)
    return elementwise.add(elementwise.scaled(index, step), algebra.full_like(index, first))


def _span(M: int, sym: bool) -> int:
    """The number of steps from the first point to the last, or to the end of the period."""
    return M - 1 if sym and M > 1 else M


def _square(x):
    return elementwise.mul(x, x)


def _scipy_window(name, *order):
    """SciPy's window; its arguments stand in this order."""

    def reference(M, *, sym=True, dtype=None, **named):
        import scipy.signal.windows

        return getattr(scipy.signal.windows, name)(M, *[named[n] for n in order], sym=sym).astype((dtype or float32).dtype)

    return reference


def _checked(name: str, M: int, dtype) -> DType:
    require(M >= 0, name, f"{name} requires non-negative window length, got M={M}", ValueError)
    dtype = as_dtype(dtype or float32)
    require(dtype in (float32, float64), name, f"{name} expects float32 or float64 dtypes, got: {dtype}", ValueError)
    return dtype


def _declared(f, *order):
    """Declares a window; `order` as for its reference."""
    f.__doc__ = f"{f.__doc__} {_LENGTH}"
    return placing(composite(f, namespace=NAMESPACE, reference=_scipy_window(f.__name__, *order)))


def _finished(M, dtype, values):
    """Of one point, every window is 1."""
    return create.full((M,), 1, dtype) if M == 1 else to_dtype(values, dtype)


def _cosines(M: int, a, sym: bool):
    """The sum of (-1)ⁱ a[i] cos(2 pi i k / n)."""
    angle = _points(M, 0, 2 * math.pi / _span(M, sym)) if M else _points(M, 0, 0)
    out = algebra.full_like(angle, a[0])
    for i, weight in enumerate(a[1:], 1):
        out = elementwise.add(out, elementwise.scaled(trig.cos(elementwise.scaled(angle, i)), (-1) ** i * weight))
    return out


def general_cosine(M: int, *, a: Number, sym: bool = True, dtype: DType | None = None) -> Tensor:
    """A sum of cosines: that of (-1)ⁱ a[i] cos(2 pi i k / n) over i. TypeError unless a is a sequence, ValueError if it is empty.

    >>> import functorch_lite as fl
    >>> fl.signal.windows.general_cosine(3, a=[0.5, 0.5]).tolist()
    [0.0, 1.0, 0.0]
    """
    dtype = _checked("general_cosine", M, dtype)
    require(isinstance(a, Iterable), "general_cosine", f"Coefficients must be a list/tuple, got {a!r}", TypeError)
    require(len(a) > 0, "general_cosine", "Coefficients cannot be empty", ValueError)
    return _finished(M, dtype, _cosines(M, a, sym))


general_cosine = _declared(general_cosine, "a")


def general_hamming(M: int, *, alpha: Number = 0.54, sym: bool = True, dtype: DType | None = None) -> Tensor:
    """alpha - (1 - alpha) cos(2 pi k / n)."""
    return _finished(M, _checked("general_hamming", M, dtype), _cosines(M, (alpha, 1 - alpha), sym))


general_hamming = _declared(general_hamming, "alpha")


def _fixed_cosines(name: str, a: tuple, what: str):
    def f(M: int, *, sym: bool = True, dtype: DType | None = None) -> Tensor:
        return _finished(M, _checked(name, M, dtype), _cosines(M, a, sym))

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"{what}: `general_cosine` with a = {a}."
    return _declared(f)


hamming = _fixed_cosines("hamming", (0.54, 1 - 0.54), "Hamming's window")
hann = _fixed_cosines("hann", (0.5, 0.5), "Hann's window")
blackman = _fixed_cosines("blackman", (0.42, 0.5, 0.08), "Blackman's window")
nuttall = _fixed_cosines("nuttall", (0.3635819, 0.4891775, 0.1365995, 0.0106411), "Nuttall's window, of four terms")


def bartlett(M: int, *, sym: bool = True, dtype: DType | None = None) -> Tensor:
    """Bartlett's window, a triangle: 1 - |2 k / n - 1|."""
    dtype = _checked("bartlett", M, dtype)
    x = _points(M, -1, 2 / max(_span(M, sym), 1))
    return _finished(M, dtype, elementwise.sub(algebra.one_like(x), elementwise.abs(x)))


bartlett = _declared(bartlett)


def cosine(M: int, *, sym: bool = True, dtype: DType | None = None) -> Tensor:
    """Half a wave of the sine: sin(pi (k + 1/2) / n)."""
    dtype = _checked("cosine", M, dtype)
    step = math.pi / max(M if sym or M == 1 else M + 1, 1)
    return _finished(M, dtype, trig.sin(_points(M, step / 2, step)))


cosine = _declared(cosine)


def exponential(M: int, *, center: Number = None, tau: Number = 1.0, sym: bool = True, dtype: DType | None = None) -> Tensor:
    """Poisson's window: exp(-|k - center| / tau), center being the middle unless given (with ``sym=False`` only). ValueError if tau <= 0."""
    dtype = _checked("exponential", M, dtype)
    require(tau > 0, "exponential", f"Tau must be positive, got: {tau} instead.", ValueError)
    require(center is None or not sym, "exponential", f"Center must be None for symmetric windows, got {center}", ValueError)
    middle = center if center is not None else _span(M, sym) / 2 if M > 1 else 0
    return to_dtype(elementwise.exp(elementwise.neg(elementwise.abs(_points(M, -middle / tau, 1 / tau)))), dtype)


exponential = _declared(exponential, "center", "tau")


def gaussian(M: int, *, std: Number = 1.0, sym: bool = True, dtype: DType | None = None) -> Tensor:
    """The bell exp(-(k - middle)² / (2 std²)). ValueError if std <= 0."""
    dtype = _checked("gaussian", M, dtype)
    require(std > 0, "gaussian", f"Standard deviation must be positive, got: {std} instead.", ValueError)
    unit = 1 / (std * math.sqrt(2))
    return _finished(M, dtype, elementwise.exp(elementwise.neg(_square(_points(M, -_span(M, sym) / 2 * unit, unit)))))


gaussian = _declared(gaussian, "std")


def _kaiser(M: int, beta: float, sym: bool):
    """i0(sqrt(beta² - x²)) / i0(beta) with x from -beta to beta; scaled, since i0 grows as the exponential."""
    x = _points(M, -1, 2 / max(_span(M, sym), 1))
    rest = elementwise.sub(algebra.one_like(x), _square(x))
    root = elementwise.scaled(elementwise.sqrt(compare.maximum(rest, algebra.zeros(rest.aval))), beta)
    top = algebra.full_like(x, beta)
    return elementwise.div(elementwise.mul(special.i0e(root), elementwise.exp(elementwise.sub(root, top))), special.i0e(top))


def kaiser(M: int, *, beta: Number = 12.0, sym: bool = True, dtype: DType | None = None) -> Tensor:
    """Kaiser's window: i0(beta sqrt(1 - (2 k / n - 1)²)) / i0(beta). ValueError if beta < 0."""
    dtype = _checked("kaiser", M, dtype)
    require(beta >= 0, "kaiser", f"beta must be non-negative, got: {beta} instead.", ValueError)
    return _finished(M, dtype, _kaiser(M, beta, sym))


kaiser = _declared(kaiser, "beta")

# ------------------------------------------------------------------------------------------------ the older names


def _older(name: str, window, length: int, periodic: bool, dtype, device, **named):
    require(length >= 0, name, f"requires a non-negative window_length, got {length}")
    dtype = as_dtype(dtype or float32)
    require(dtype.is_floating_point, name, f"expects floating point dtypes, got: {dtype}")
    return placed(to_dtype(window(length, sym=not periodic, dtype=float64, **named), dtype), device)


def _older_name(window):
    name = f"{window.__name__}_window"

    def f(window_length: int, periodic: bool = True, *, dtype=None, device=None) -> Array:
        return _older(name, window, window_length, periodic, dtype, device)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"`fl.signal.windows.{window.__name__}`, periodic unless told otherwise, of any float dtype (float32 unless given)."
    return f


hann_window, blackman_window, bartlett_window = map(_older_name, (hann, blackman, bartlett))


def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype=None, device=None) -> Array:
    """alpha - beta cos(2 pi k / n), periodic unless told otherwise, of any float dtype (float32 unless given).

    >>> import functorch_lite as fl
    >>> fl.hamming_window(4, alpha=0.5, beta=0.5).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    return _older("hamming_window", general_cosine, window_length, periodic, dtype, device, a=(alpha, beta))


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype=None, device=None) -> Array:
    """`fl.signal.windows.kaiser`, periodic unless told otherwise, of any float dtype (float32 unless given)."""
    return _older("kaiser_window", kaiser, window_length, periodic, dtype, device, beta=beta)


__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]

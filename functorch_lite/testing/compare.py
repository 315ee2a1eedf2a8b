"""assert_close: two trees of arrays are equal to rounding, or a message that says where they are not."""

from __future__ import annotations

import numpy as np

from ..core import pytree
from ..core.array import Array
from ..core.dtype import DType, as_dtype, bfloat16, complex64, complex128, float16, float32, float64

# Relative and absolute tolerance by dtype; any other dtype compares exactly. PyTorch's defaults (torch.testing.assert_close).
TOLERANCES: dict[DType, tuple[float, float]] = {
    float16: (1e-3, 1e-5),
    bfloat16: (1.6e-2, 1e-5),
    float32: (1.3e-6, 1e-5),
    float64: (1e-7, 1e-7),
    complex64: (1.3e-6, 1e-5),
    complex128: (1e-7, 1e-7),
}


def tolerance(*dtypes: DType) -> tuple[float, float]:
    """(rtol, atol) for comparing values of these dtypes: the widest of each."""
    pairs = [TOLERANCES.get(d, (0.0, 0.0)) for d in dtypes]
    return max(r for r, _ in pairs), max(a for _, a in pairs)


def assert_close(
    actual,
    expected,
    rtol: float | None = None,
    atol: float | None = None,
    *,
    equal_nan: bool = False,
    check_dtype: bool = True,
    msg: str = "",
) -> None:
    """Raises AssertionError unless two trees of arrays have one structure and, leaf by leaf, one shape, one dtype and values with
    ``|actual - expected| <= atol + rtol * |expected|``.

    Arrays, NumPy and jax arrays and numbers may stand for one another. Without rtol and atol (give both or neither) the
    tolerances are those of the dtypes (`TOLERANCES`). The message names the path of the leaf, the number of elements that
    differ, the worst of them, and what was allowed.

    >>> import functorch_lite as fl
    >>> assert_close(fl.asarray([1.0, 2.0]), np.array([1, 2 + 1e-7], np.float32))
    >>> assert_close({"w": fl.asarray([1.0, 2.0])}, {"w": np.array([1.0, 3.0], np.float32)})
    Traceback (most recent call last):
    ...
    AssertionError: assert_close at ['w']: 1 of 2 elements differ (float32[2]). The largest difference is 1 at index [1]: ...
    """
    if (rtol is None) != (atol is None):
        raise ValueError(f"assert_close: give rtol and atol both or neither, got rtol={rtol}, atol={atol}")
    found, spec = pytree.flatten(expected)
    given = pytree.match(spec, actual, f"{msg + ': ' if msg else ''}assert_close: actual", exact=True)
    for x, y, (path, _) in zip(given, found, pytree.leaves_with_path(spec.unflatten(range(len(found))))):
        where = f"assert_close{f' at {path}' if path else ''}"
        _compare(x, y, rtol, atol, equal_nan, check_dtype, f"{msg}: {where}" if msg else where)


def _compare(actual, expected, rtol, atol, equal_nan, check_dtype, where) -> None:
    x, y = numpy_of(actual), numpy_of(expected)
    a, b = as_dtype(x.dtype), as_dtype(y.dtype)
    number = expected.__class__ in (bool, int, float, complex)
    if x.shape != y.shape:
        raise AssertionError(f"{where}: expected shape {list(y.shape)}, got {list(x.shape)}")
    if check_dtype and a is not b and not number:
        raise AssertionError(f"{where}: expected dtype {b}, got {a}")
    r, t = (rtol, atol) if rtol is not None else tolerance(a, a if number else b)
    wide = np.complex128 if a.is_complex or b.is_complex else np.float64 if a.is_inexact or b.is_inexact else None
    if wide is None:
        bad = x != y
        difference = bad.astype(np.float64)
    else:
        x, y = x.astype(wide), y.astype(wide)
        with np.errstate(invalid="ignore", over="ignore"):
            difference = np.abs(x - y)
            close = (x == y) | np.isfinite(y) & (difference <= t + r * np.abs(y))
            if equal_nan:
                close |= np.isnan(x) & np.isnan(y)
        bad = ~close
    if not bad.any():
        return
    difference = np.where(bad & np.isnan(difference), np.inf, np.where(bad, difference, -1))
    worst = np.unravel_index(int(np.argmax(difference)), x.shape)
    at = f" at index {[int(i) for i in worst]}" if x.ndim else ""
    size = float(difference[worst])
    by = f"The largest difference is {size:.6g}" if np.isfinite(size) else "One is not finite"
    raise AssertionError(
        f"{where}: {int(bad.sum())} of {x.size} elements differ ({a.name}{list(x.shape)}). {by}{at}: {x[worst]!s}, expected {y[worst]!s} "
        f"(rtol={r:g}, atol={t:g})"
    )


def numpy_of(x) -> np.ndarray:
    """The data of an Array, a number or anything NumPy reads, as a NumPy array."""
    if isinstance(x, Array):
        return np.asarray(x.concrete("the data").buffer)
    return np.asarray(x)

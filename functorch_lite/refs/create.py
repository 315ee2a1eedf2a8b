"""Making arrays: constants, ranges, the identity, triangles."""

from __future__ import annotations

import math
from functools import wraps
from numbers import Number

import numpy as np

from ..core.array import Array, as_device, asarray, device_name
from ..core.dtype import INTEGER, NUMBERS, DType, as_dtype, complex64, float32, float64, int64
from ..core.face import faced
from ..core.op import Shape, Tensor, composite
from ..prims import algebra, compare, create, elementwise
from .arguments import require, shown
from .promotion import array_of, cast, expand_to, result_type, to_dtype


def _sizes(name: str, size) -> tuple[int, ...]:
    """A shape, given as ints or as one sequence of ints."""
    if len(size) == 1 and not hasattr(size[0], "__index__"):
        size = size[0]
    try:
        size = tuple([n.__index__() for n in size])
    except (AttributeError, TypeError):
        raise TypeError(f"{name}: size must be ints or one sequence of ints, got {size!r}") from None
    require(all(n >= 0 for n in size), name, f"sizes must not be negative, got {list(size)}")
    return size


def _fits(name: str, dtype, *values) -> None:
    """A complex number does not become a real one by itself."""
    ok = dtype is None or as_dtype(dtype).is_complex or not result_type(*values).is_complex
    require(ok, name, f"{shown(*values)} cannot be converted to {dtype}: take the real part first")


def placed(x, device):
    """x on the device that was asked for, if any."""
    return x if device is None else x.to(device=device)


def placing(function):
    """The function users call, which takes a device too, of an op that makes arrays of nothing."""

    @wraps(function)
    def f(*args, device=None, **named):
        return placed(function(*args, **named), device)

    f.op = function.op
    return f


# ---------------------------------------------------------------------------------------------------------- constants


@composite(
    name="full",
    reference=lambda size, value, dtype=None: np.full(size, value if dtype is None else np.asarray(value).astype(dtype.dtype)),
    traits={"constant": True},
)
def _full(size: Shape, fill_value: Tensor, dtype: DType | None = None) -> Tensor:
    """An array of one value."""
    return cast(fill_value, dtype or array_of(fill_value).dtype, (size,) if size.__class__ is int else size)


def full(size: Shape, fill_value: Tensor, *, dtype=None, device=None) -> Array:
    """An array of this shape filled with one value, a number or 0-dim Array, whose dtype (float32, int64 ...) it has unless one is given.

    >>> import functorch_lite as fl
    >>> fl.full((2,), 7).tolist(), fl.full((2,), 0.5).dtype
    ([7, 7], fl.float32)
    """
    size = _sizes("full", (size,))
    v = fill_value if fill_value.__class__ in NUMBERS else asarray(fill_value)
    require(v.__class__ in NUMBERS or v.ndim == 0, "full", f"fill_value must be a number or a 0-dim Array, got {shown(v)}")
    _fits("full", dtype, v)
    return placed(_full(size, v, dtype), device)


full.op = _full.op


def _constant(name: str, number, doc: str):
    def f(*size, dtype=None, device=None):
        if not size:
            raise TypeError(f"{name}: the size is missing; write {name}(()) for a 0-dim Array")
        return placed(_full(_sizes(name, size), number, as_dtype(dtype or float32)), device)

    @faced
    def like(input, *, dtype=None, device=None):
        x = array_of(asarray(input))
        return placed(_full(x.shape, number, as_dtype(dtype or x.dtype)), _device_of(x, device))

    f.__name__ = f.__qualname__ = name
    like.__name__ = like.__qualname__ = f"{name}_like"
    value = [float(number)] * 2
    f.__doc__ = (
        f"{doc}, of a shape given as ints or a sequence; float32 unless a dtype is given.\n\n>>> import functorch_lite as fl\n"
        f">>> fl.{name}(2).tolist(), fl.{name}((0, 3)).shape\n({value}, (0, 3))\n"
    )
    like.__doc__ = (
        f"{doc}, of the shape and dtype of input, and on its device.\n\n>>> import functorch_lite as fl\n"
        f">>> fl.{name}_like(fl.asarray([1, 2])).tolist()\n{[number] * 2}\n"
    )
    return f, like


def _device_of(x, device):
    """The device for something like x. A traced value has none to tell: the program runs where its inputs are."""
    return x.device if device is None and x.__class__ is Array and x.device != device_name(as_device("cpu")) else device


zeros, zeros_like = _constant("zeros", 0, "Zeros")
ones, ones_like = _constant("ones", 1, "Ones")
empty, empty_like = _constant("empty", 0, "Zeros (an Array is never uninitialized)")


@faced
def full_like(input: Tensor, fill_value: Tensor, *, dtype=None, device=None) -> Array:
    """An array of the shape and dtype of input filled with one value.

    >>> import functorch_lite as fl
    >>> fl.full_like(fl.asarray([1.0, 2.0]), 7).tolist()
    [7.0, 7.0]
    """
    x = array_of(asarray(input))
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=_device_of(x, device))


# ------------------------------------------------------------------------------------------------------------- ranges


@composite(reference=lambda start, step, n, dtype: (start + step * np.arange(n)).astype(dtype.dtype))
def ramp(start: Tensor, step: Tensor, n: int, dtype: DType) -> Tensor:
    """start, start + step, start + 2 * step ...: n numbers, computed in float64 for floats; what `arange` is made of."""
    wide = int64 if dtype.category <= INTEGER else dtype if dtype.is_complex else float64
    x, by = cast(start, wide, (n,)), cast(step, wide, (n,))
    return to_dtype(elementwise.add(x, elementwise.mul(by, create.iota((n,), 0, wide))), dtype)


def arange(start, end=None, step=1, *, dtype=None, device=None) -> Array:
    """The numbers from start (0 unless given) up to but without end: ``arange(end)``, ``arange(start, end)``, ``arange(start, end, step)``.

    Int64 if all three are ints, else float32, unless a dtype is given. Arrays among them must have data (they decide the size).

    >>> import functorch_lite as fl
    >>> fl.arange(3).tolist(), fl.arange(1, 2, 0.5).tolist(), fl.arange(3, 0, -1).tolist()
    ([0, 1, 2], [1.0, 1.5], [3, 2, 1])
    """
    if end is None:
        start, end = 0, start
    start, end, step = [x if x.__class__ in NUMBERS else x.item() for x in (start, end, step)]
    dtype = as_dtype(dtype) if dtype is not None else int64 if all(isinstance(x, int) for x in (start, end, step)) else float32
    bounds = all(not isinstance(x, float) or math.isfinite(x) for x in (start, end, step))
    require(bounds, "arange", f"unsupported range: {start} -> {end} by {step}")
    if dtype is int64:  # as in PyTorch, before anything is counted; other integers count by the floats
        start, end, step = int(start), int(end), int(step)
    require(step != 0, "arange", f"step must not be 0 (as {dtype})")
    n = math.ceil((end - start) / step) if any(isinstance(x, float) for x in (start, end, step)) else -((start - end) // step)
    ok = (end - start) * step >= 0
    require(ok, "arange", f"end lies on the other side of start than step points, got start={start}, end={end}, step={step}")
    if not dtype.is_inexact:
        start, step = int(start), int(step)
    return placed(ramp(start, step, n, dtype), device)


def _linspace_reference(start, end, steps, *, dtype=None):
    if dtype is not None and dtype.category <= INTEGER:
        first, last, n = int(start), int(end), max(steps - 1, 1)
        over = [first * n + (last - first) * i for i in range(steps)]  # n times each
        return np.array([v // n if v >= 0 else -(-v // n) for v in over], dtype.dtype)
    return np.linspace(start, end, steps).astype((dtype or float32).dtype)


def _ends(start, end, dtype: DType):
    """Both ends as PyTorch takes them for integers: whole numbers, before anything is counted."""
    return [to_dtype(array_of(x), int64) for x in (start, end)] if dtype.category <= INTEGER else (start, end)


def _whole(first, last, number, n: int):
    """first + (last - first) * number / n for integers, rounded toward 0."""
    mul, add, sub, n = elementwise.mul, elementwise.add, elementwise.sub, algebra.full_like(first, n)
    way = sub(last, first)
    step = elementwise.trunc_div(way, n)
    left = mul(sub(way, mul(step, n)), number)  # over n, what the whole steps leave
    more = elementwise.trunc_div(left, n)
    whole, rest = add(add(first, mul(step, number)), more), elementwise.sign(sub(left, mul(more, n)))
    nearer = compare.eq(
        mul(elementwise.sign(whole), rest), algebra.full_like(rest, -1)
    )  # the rest points back to 0, and past a whole number
    return compare.select(nearer, add(whole, rest), whole)


def _steps(name: str, steps) -> int:
    if not hasattr(steps, "__index__"):
        raise TypeError(f"{name}: steps must be an int, got {steps!r}")
    require(steps >= 0, name, f"steps must not be negative, got {steps}")
    return steps.__index__()


@composite(name="linspace", reference=_linspace_reference)
def _linspace(start: Tensor, end: Tensor, steps: int, *, dtype: DType | None = None) -> Tensor:
    """Evenly spaced numbers, each counted from the nearer end; whole ones are those of exact arithmetic, rounded toward 0."""
    dtype = dtype or (complex64 if result_type(start, end).is_complex else float32)
    wide = int64 if dtype.category <= INTEGER else dtype if dtype.itemsize >= 4 else float32
    first, last = [cast(x, wide, (steps,)) for x in _ends(start, end, dtype)]
    if steps < 2:
        return to_dtype(first, dtype)
    number = create.iota((steps,), 0, int64)
    if wide is int64:
        return to_dtype(_whole(first, last, number, steps - 1), dtype)
    real = wide.to_real()
    back = elementwise.sub(create.full((steps,), steps - 1, int64), number)
    step = elementwise.div(elementwise.sub(last, first), algebra.full_like(first, steps - 1))
    up = elementwise.add(first, elementwise.mul(step, to_dtype(to_dtype(number, real), wide)))
    down = elementwise.sub(last, elementwise.mul(step, to_dtype(to_dtype(back, real), wide)))
    return to_dtype(compare.select(compare.lt(number, create.full((steps,), steps // 2, int64)), up, down), dtype)


def linspace(start: Tensor, end: Tensor, steps: int, *, dtype=None, device=None) -> Array:
    """`steps` numbers from start to end, both included, evenly spaced; start and end may be 0-dim Arrays. Float32 unless a dtype is given.

    >>> import functorch_lite as fl
    >>> fl.linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    steps = _steps("linspace", steps)
    _fits("linspace", dtype, start, end)
    return placed(_linspace(start, end, steps, dtype=dtype), device)


linspace.op = _linspace.op


@composite(
    name="logspace",
    reference=lambda a, b, steps, base=10.0, *, dtype=None: np.logspace(a, b, steps, base=base).astype((dtype or float32).dtype),
)
def _logspace(start: Tensor, end: Tensor, steps: int, base: Number = 10.0, *, dtype: DType | None = None) -> Tensor:
    """Powers of base with evenly spaced exponents."""
    dtype = dtype or (complex64 if result_type(start, end).is_complex else float32)
    exponents = _linspace(*_ends(start, end, dtype), steps, dtype=dtype if dtype.is_inexact else float64)
    return to_dtype(elementwise.pow(algebra.full_like(exponents, base), exponents), dtype)


def logspace(start: Tensor, end: Tensor, steps: int, base: float = 10.0, *, dtype=None, device=None) -> Array:
    """`steps` numbers from base ** start to base ** end, both included, whose logarithms are evenly spaced.

    >>> import functorch_lite as fl
    >>> fl.logspace(0, 3, 4, base=2.0).tolist()
    [1.0, 2.0, 4.0, 8.0]
    """
    steps = _steps("logspace", steps)
    _fits("logspace", dtype, start, end)
    return placed(_logspace(start, end, steps, base, dtype=dtype), device)


logspace.op = _logspace.op

# ------------------------------------------------------------------------------------------------ identity, triangles


def _offsets(n: int, m: int):
    """column - row, at each place of a matrix."""
    return elementwise.sub(create.iota((n, m), 1, int64), create.iota((n, m), 0, int64))


@composite(name="eye", reference=lambda n, m=None, dtype=None: np.eye(n, m, dtype=(dtype or float32).dtype))
def _eye(n: int, m: int | None = None, dtype: DType | None = None) -> Tensor:
    """The identity."""
    sizes = (n, n if m is None else m)
    return to_dtype(compare.eq(_offsets(*sizes), create.full(sizes, 0, int64)), dtype or float32)


def eye(n: int, m: int | None = None, *, dtype=None, device=None) -> Array:
    """The n x m matrix (m = n unless given) with ones on its diagonal; float32 unless a dtype is given.

    >>> import functorch_lite as fl
    >>> fl.eye(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    require(n >= 0 and (m is None or m >= 0), "eye", f"sizes must not be negative, got n={n}, m={m}")
    return placed(_eye(n, m, dtype), device)


eye.op = _eye.op


def _triangle(name: str, test, reference, what: str):
    def f(input: Tensor, diagonal: int = 0) -> Tensor:
        x = array_of(input)
        require(x.ndim >= 2, name, f"expected at least 2 dimensions, got {x.aval}")
        offsets = _offsets(*x.shape[-2:])
        mask = test(offsets, create.full(offsets.shape, diagonal, int64))
        return compare.select(expand_to(mask, x.shape), x, algebra.zeros(x.aval))

    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"The {what} triangle of a matrix [..., n, m], zeros elsewhere. ``diagonal`` moves its edge up (or, negative, down).\n\n"
        f">>> import functorch_lite as fl\n>>> fl.{name}(fl.ones(2, 2)).tolist()\n{reference(np.ones((2, 2))).tolist()}\n"
    )
    return composite(f, method=True, reference=reference)


tril = _triangle("tril", compare.le, np.tril, "lower")
triu = _triangle("triu", compare.ge, np.triu, "upper")


def _triangle_indices(name: str, reference, what: str):
    def f(row: int, col: int, offset: int = 0, *, dtype=None, device=None):
        return asarray(np.stack(reference(row, offset, col)), dtype or int64, device)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"Rows and columns of the {what} triangle of a row x col matrix, as a [2, n] array.\n\n"
        f">>> import functorch_lite as fl\n>>> fl.{name}(2, 2).tolist()\n{np.stack(reference(2, 0, 2)).tolist()}\n"
    )
    return f


tril_indices = _triangle_indices("tril_indices", np.tril_indices, "lower")
triu_indices = _triangle_indices("triu_indices", np.triu_indices, "upper")


__all__ = (
    "arange empty empty_like eye full full_like linspace logspace ones ones_like ramp tril tril_indices triu triu_indices zeros zeros_like"
).split()

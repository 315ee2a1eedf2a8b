"""What composites ask of their arguments, in PyTorch's exception types: arrays, dtypes, ints a dimension, reductions."""

from __future__ import annotations

from ..core.aval import aval_of
from ..core.dtype import NUMBERS, DType, as_dtype, float32


def shown(*xs) -> str:
    """Arguments as an error message shows them: float32[2,3]."""
    return ", ".join(str(getattr(x, "aval", x)) for x in xs)


def require(ok: bool, name: str, message: str, error: type[Exception] = RuntimeError) -> None:
    """Raises `error` in the name of an op."""
    if not ok:
        raise error(f"{name}: {message}")


def require_arrays(name: str, **named) -> None:
    """Numbers do not do here. None is an absent argument."""
    for argument, x in named.items():
        if x.__class__ in NUMBERS:
            raise TypeError(f"{name}: argument '{argument}' must be an Array, got {type(x).__name__}; wrap it with fl.asarray")


def require_one_dtype(name: str, **named) -> None:
    """All arrays of one dtype: where PyTorch does not promote."""
    require_arrays(name, **named)
    given = {n: x for n, x in named.items() if x is not None}
    if len({x.dtype for x in given.values()}) > 1:
        seen = ", ".join(f"{n} {x.aval}" for n, x in given.items())
        raise RuntimeError(f"{name}: expected all arguments to have the same dtype, got {seen}; convert with .to(dtype)")


def require_inexact(name: str, x, argument: str = "input") -> None:
    """A float or complex dtype: where PyTorch has no integer kernel."""
    if not aval_of(x).dtype.is_inexact:
        raise RuntimeError(f"{name}: {argument} must have a float or complex dtype, got {shown(x)}; convert with .to(fl.float32)")


def require_floating(name: str, x, argument: str = "input") -> None:
    """A real float dtype."""
    if not aval_of(x).dtype.is_floating_point:
        raise RuntimeError(f"{name}: {argument} must have a float dtype, got {shown(x)}; convert with .to(fl.float32)")


def require_fits(name: str, value, x) -> None:
    """A value written into elements of x takes their dtype, as in PyTorch a float becomes an integer; but no complex number a real one."""
    ok = aval_of(x).dtype.is_complex or not aval_of(value).dtype.is_complex
    require(ok, name, f"value {shown(value)} cannot be converted to the dtype of input {shown(x)}; take its real part")


def accumulator(dtype: DType) -> DType:
    """The dtype in which sums of this one are kept: float32 for the half-width floats."""
    return float32 if dtype.is_floating_point and dtype.itemsize < 4 else dtype


def per_dim(name: str, argument: str, value, n: int) -> tuple[int, ...]:
    """An int for each of n dimensions, of one int or a sequence of one or n."""
    if value.__class__ is int:
        return (value,) * n
    try:
        values = tuple([v.__index__() for v in value])
    except (AttributeError, TypeError):
        raise TypeError(f"{name}: argument '{argument}' must be an int or a sequence of {n} ints, got {value!r}") from None
    require(len(values) in (1, n), name, f"{argument} must be an int or {n} ints, got {value!r}")
    return values * n if len(values) == 1 else values


def require_reduction(name: str, reduction: str) -> None:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{name}: {reduction!r} is not a valid value for reduction; expected 'none', 'mean' or 'sum'")


__all__ = [
    "accumulator",
    "as_dtype",
    "per_dim",
    "require",
    "require_arrays",
    "require_fits",
    "require_floating",
    "require_inexact",
    "require_one_dtype",
    "require_reduction",
    "shown",
]

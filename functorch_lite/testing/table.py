"""The op table: for every op how to call it, so that one table drives every axis of testing.

A row is written beside rows of its family in `testing/samples/<family>.py`:

    row(prims.sin, unary(-3, 3))
    row(prims.reduce_sum, reductions, dtypes=NUMBERS)

and a sampler is a function (rng, dtype) -> iterable of Samples. It draws values only: with another seed it gives the same
calls, with the same shapes and static arguments, on other numbers (so that batches can be made of several seeds).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from functools import lru_cache

import attrs
import numpy as np

from ..core.dtype import BOOL, COMPLEX, FLOAT, DType, complex64, complex128, float32, float64, int32, int64
from ..core.op import Op

REAL = (float32, float64)
INEXACT = (float32, float64, complex128)
COMPLEXES = (complex64, complex128)
NUMBERS = (float32, float64, int64, complex128)
INTS = (int32, int64)

TABLE: dict[str, list[Row]] = {}


def load_table() -> dict[str, list[Row]]:
    """The op table with every module of `testing/samples` loaded: op name -> its rows."""
    from . import samples

    for module in pkgutil.iter_modules(samples.__path__):
        importlib.import_module(f"{samples.__name__}.{module.name}")
    return TABLE


class Sample:
    """One call: NumPy arrays for array arguments, anything else as the op takes it. ``differentiable=False`` marks a sample
    that sits on a kink or a pole, for which finite differences mean nothing; ``held`` are the positions of the arrays in which
    the op has no derivative to offer (it raises)."""

    __slots__ = ("args", "kwargs", "differentiable", "held", "index")

    def __init__(self, *args, differentiable: bool = True, held: tuple[int, ...] = (), **kwargs):
        self.args, self.kwargs, self.differentiable, self.held = args, kwargs, differentiable, held
        self.index = None  # its place among the samples of a row

    def __repr__(self) -> str:
        def show(x):
            if isinstance(x, np.ndarray):
                return f"{x.dtype}{list(x.shape)}"
            return f"[{', '.join(map(show, x))}]" if isinstance(x, (list, tuple)) else repr(x)

        return ", ".join([*map(show, self.args), *(f"{k}={show(v)}" for k, v in self.kwargs.items())])


@attrs.frozen(eq=False)
class Row:
    """An op with its samples. ``skip`` maps an axis to the structural reason why the op has no such cell; ``tolerance`` is
    relative to that of the dtype; ``reference`` overrides the op's own."""

    op: Op
    sampler: Callable[[np.random.Generator, DType], Iterable[Sample]]
    dtypes: tuple[DType, ...] = REAL
    skip: dict[str, str] = attrs.field(factory=dict)
    tolerance: float = 1.0
    reference: Callable | None = None

    def samples(self, dtype: DType, seed: int = 0) -> list[Sample]:
        return _drawn(self, dtype, seed)


@lru_cache(maxsize=64)
def _drawn(row: Row, dtype: DType, seed: int) -> list[Sample]:
    out = list(row.sampler(np.random.default_rng([seed, *row.op.name.encode()]), dtype))
    for i, sample in enumerate(out):
        sample.index = i
    return out


def row(function, sampler, dtypes: tuple[DType, ...] = REAL, **options) -> None:
    """Adds an op (by the function that calls it) to the table."""
    entry = Row(function.op, sampler, dtypes, **options)
    TABLE.setdefault(entry.op.qualname, []).append(entry)


def array(rng: np.random.Generator, shape, dtype: DType, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    """Random values of this dtype in [low, high) (both parts, for complex)."""
    if dtype.category == BOOL:
        data = rng.random(shape) < 0.5
    elif dtype.category == COMPLEX:
        data = rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)
    elif dtype.category == FLOAT:
        data = rng.uniform(low, high, shape)
    else:
        low = low if dtype.is_signed else max(low, 0)
        data = rng.integers(int(np.floor(low)), int(np.ceil(high)) + 1, shape)
    return np.asarray(data, dtype.dtype)


SHAPES = ((3,), (2, 3), (), (0, 2))  # few, so that compiled programs are shared; odd, 0-dim and empty among them


def unary(low: float = -2.0, high: float = 2.0, shapes=SHAPES):
    """Samples of an elementwise op of one array."""
    return lambda rng, dtype: [Sample(array(rng, s, dtype, low, high)) for s in shapes]


def binary(low: float = -2.0, high: float = 2.0, low2: float | None = None, high2: float | None = None, shapes=SHAPES):
    """Samples of an elementwise op of two arrays of one shape."""
    low2, high2 = low if low2 is None else low2, high if high2 is None else high2
    return lambda rng, dtype: [Sample(array(rng, s, dtype, low, high), array(rng, s, dtype, low2, high2)) for s in shapes]

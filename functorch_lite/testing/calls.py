"""A sample as a function of its arrays: what every axis starts from."""

from __future__ import annotations

import numpy as np

from ..core import pytree
from ..core.array import asarray
from ..core.dtype import DType, as_dtype
from ..fx.calls import read
from .compare import numpy_of
from .table import Row, Sample

BATCH = 4  # rows of a batch: a size that few samples have, so that a dimension taken for another one shows


class Call:
    """One call of an op. ``arrays`` are its NumPy arrays; calling it with as many others makes the same call on those, and
    gives the flat tuple of results."""

    def __init__(self, row: Row, sample: Sample, dtype: DType):
        self.row, self.op, self.sample, self.dtype = row, row.op, sample, dtype
        self._leaves, self._spec = pytree.flatten((sample.args, sample.kwargs))
        self._places = [i for i, x in enumerate(self._leaves) if isinstance(x, np.ndarray)]
        self.arrays = [self._leaves[i] for i in self._places]
        self.inexact = [i for i, x in enumerate(self.arrays) if as_dtype(x.dtype).is_inexact and i not in sample.held]

    def __call__(self, *arrays) -> tuple:
        args, kwargs = self._filled(arrays)
        return tuple(pytree.leaves(self.op.function(*args, **kwargs)))

    def _filled(self, arrays):
        leaves = list(self._leaves)
        for i, x in zip(self._places, arrays, strict=True):
            leaves[i] = asarray(x)
        return self._spec.unflatten(leaves)

    def bound(self, *arrays) -> tuple[tuple, tuple]:
        """(args, params) as the op's binder reads them."""
        args, kwargs = self._filled(arrays)
        _, args, params = read(self.op.function, args, kwargs, lambda x: False)
        return args, params

    def avals(self) -> tuple:
        """What the shape rule says of the results."""
        out = self.op.infer(*self.bound(*self.arrays))
        return out if isinstance(out, tuple) else (out,)

    def reference(self) -> list[np.ndarray] | None:
        """The results by NumPy, or None if the op has no reference."""
        f = self.row.reference or self.op.reference
        if f is None:
            return None
        with np.errstate(all="ignore"):
            return [np.asarray(x) for x in pytree.leaves(f(*self.sample.args, **self.sample.kwargs))]

    def decomposed(self, *arrays) -> tuple:
        """The call with the op's decomposition in its place."""
        args, params = self.bound(*arrays)
        return tuple(pytree.leaves(self.op.run(args, params)))

    def smooth(self, decomposed: bool = False):
        """(g, xs): the call as a function of its float and complex arrays to its float and complex results."""
        call = self.decomposed if decomposed else self

        def g(*xs):
            arrays = list(self.arrays)
            for i, x in zip(self.inexact, xs, strict=True):
                arrays[i] = x
            return tuple([y for y in call(*arrays) if y.dtype.is_inexact])

        return g, [self.arrays[i] for i in self.inexact]

    def rows(self, n: int = BATCH) -> list[list[np.ndarray]]:
        """The arrays of n such calls on different numbers: the first is this one."""
        out = [self.arrays]
        for seed in range(1, n):
            other = Call(self.row, self.row.samples(self.dtype, seed)[self.sample.index], self.dtype)
            alike = other._spec == self._spec and other._places == self._places
            alike = alike and all(x.shape == y.shape and x.dtype == y.dtype for x, y in zip(other.arrays, self.arrays))
            statics = [x for i, x in enumerate(self._leaves) if i not in self._places]
            others = [x for i, x in enumerate(other._leaves) if i not in other._places]
            if not alike or any(x is not y and x != y for x, y in zip(statics, others)):
                raise AssertionError(f"the sampler must draw values only: with another seed it gives {other.sample!r}")
            out.append(other.arrays)
        return out


def data(outs) -> list[np.ndarray]:
    """Results as NumPy arrays."""
    return [numpy_of(x) for x in outs]


def like(rng: np.random.Generator, x) -> np.ndarray:
    """Random normal values of the shape and dtype of x: a tangent or a cotangent."""
    dtype = as_dtype(x.dtype)
    values = rng.standard_normal(x.shape)
    if dtype.is_complex:
        values = values + 1j * rng.standard_normal(x.shape)
    return np.asarray(values, dtype.dtype)


def inner(xs, ys) -> float:
    """Re <conj(x), y> summed over a list of arrays: the product in which transposes are adjoints. None counts as zero."""
    return float(sum(np.sum(np.conj(numpy_of(x)) * numpy_of(y)).real for x, y in zip(xs, ys) if x is not None and y is not None))


def directional(f, xs, ts, eps: float) -> list[np.ndarray]:
    """The central difference of f (NumPy lists in, flat results out) at xs along ts."""
    ahead = data(f(*[x + eps * t for x, t in zip(xs, ts)]))
    behind = data(f(*[x - eps * t for x, t in zip(xs, ts)]))
    return [(a - b) / (2 * eps) for a, b in zip(ahead, behind)]


__all__ = ["BATCH", "Call", "data", "directional", "inner", "like"]

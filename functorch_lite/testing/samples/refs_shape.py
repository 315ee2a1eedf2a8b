"""Samples of the refs that reshape, join, split, repeat, rearrange and convert."""

from __future__ import annotations

import numpy as np

from ...core.dtype import bool_, complex128, float32, float64, int32, int64, uint8
from ...refs import convert, join, rearrange, shape
from ..table import Sample, array, row
from .shape import ANY, table

# ------------------------------------------------------------------------------------------------------------ shape


def counted(rng, dtype):
    """Elements with counts of one sum, which decides the shape."""
    yield Sample(array(rng, (3, 2), dtype), rng.permutation([2, 0, 3]), 0, 5)
    yield Sample(array(rng, (2, 3), dtype), np.array([2]), -1, 6)
    yield Sample(array(rng, (2, 0), dtype), np.zeros(0, np.int64), 1, 0)


row(shape.reshape, table(((2, 3), (3, -1)), ((2, 3), -1), ((), (1, 1)), ((0, 2), (5, 0)), ((3,), (3,))), ANY)
row(shape._view_dtype, table(((2, 4), int32), ((), int64)), (float64, int64), reference=lambda x, dtype: x.view(dtype.dtype))
row(shape.flatten, table(((2, 3),), ((),), ((2, 3, 4), 1), ((2, 3, 4), 0, -2), ((0, 2),)), ANY)
row(shape.ravel, table(((2, 3),), ((),), ((0, 2),)), ANY)
row(
    shape.unflatten,
    table(((6,), 0, (2, -1)), ((2, 3), -1, (3, 1)), ((0, 2), 1, (1, 2))),
    ANY,
    reference=lambda x, dim, sizes: _unflattened(x, dim, sizes),
)
row(shape.squeeze, table(((1, 3, 1),), ((1, 3, 1), 0), ((1, 3, 1), (0, -1)), ((1, 3), 1), ((), 0), ((1, 0),)), ANY)
row(shape.unsqueeze, table(((3,), 0), ((3,), -1), ((), 0), ((0, 2), 1)), ANY)
row(shape.permute, table(((2, 3), (1, 0)), ((2, 3, 4), (-1, 0, 1)), ((), ()), ((0, 2), (1, 0))), ANY)
row(shape.transpose, table(((2, 3), 0, 1), ((2, 3, 4), -1, 0), ((), 0, -1), ((0, 2), 0, 1)), ANY)
row(shape.movedim, table(((2, 3, 4), 0, -1), ((2, 3, 4), (0, 1), (2, 0)), ((0, 2), 1, 0)), ANY)
row(shape.t, table(((2, 3),), ((3,),), ((),), ((0, 2),)), ANY)
row(shape.adjoint, table(((2, 3),), ((2, 3, 4),), ((0, 2),)), ANY)
row(shape.expand, table(((1, 3), (2, 2, 3)), ((1, 3), (2, -1)), ((), (2,)), ((0, 1), (0, 2))), ANY)
row(shape.broadcast_to, table(((3,), (2, 3)), ((), (2, 2)), ((0, 1), (0, 2))), ANY)


def _unflattened(x, dim, sizes):
    dim %= x.ndim
    return x.reshape(*x.shape[:dim], *sizes, *x.shape[dim + 1 :])


def several(*cases):
    """Samples of one sequence of arrays: (their shapes, static arguments ...) each."""
    return lambda rng, dtype: [Sample([array(rng, s, dtype) for s in shapes], *rest) for shapes, *rest in cases]


def separate(*cases):
    """Samples of several arrays, each an argument of its own."""
    return lambda rng, dtype: [Sample(*[array(rng, s, dtype) for s in shapes]) for shapes in cases]


row(shape.broadcast_tensors, separate(((3,), (2, 1)), ((), (0, 2)), ((3,),)), ANY)

# ------------------------------------------------------------------------------------------------------------- join

row(join.cat, several((((2, 3), (1, 3)),), (((2, 3), (2, 1)), -1), (((3,), (0,), (2,)), 0), (((0, 2), (0, 2)), 1)), ANY)
row(join.stack, several((((2, 3), (2, 3)),), (((3,), (3,)), -1), (((), ()),), (((0, 2),), 1)), ANY)
row(join.hstack, several((((2, 3), (2, 1)),), (((3,), (2,)),), (((), ()),)), ANY)
row(join.vstack, several((((2, 3), (1, 3)),), (((3,), (3,)),), (((), ()),)), ANY)
row(join.dstack, several((((2, 3), (2, 3)),), (((3,), (3,)),), (((2, 3, 1), (2, 3, 2)),)), ANY)
row(join.column_stack, several((((3,), (3, 2)),), (((), ()),)), ANY)
row(join.split, table(((5,), 2), ((2, 5), (1, 4), 1), ((2, 3), 3, -1), ((0, 2), 2)), ANY)
row(join.chunk, table(((5,), 3), ((2, 5), 2, 1), ((2, 3), 4, 0)), ANY)
row(join.tensor_split, table(((5,), 3), ((2, 5), (1, 3), 1), ((5,), (4, 2, -1)), ((0, 2), 2)), ANY)
row(join.unbind, table(((2, 3),), ((2, 3), -1), ((3,),)), ANY)
row(join.tile, table(((2, 3), (2,)), ((3,), (2, 2)), ((), (2,)), ((0, 2), (1, 2))), ANY)
row(join.repeat, table(((2, 3), (2, 1)), ((3,), (2, 2)), ((), (2,)), ((0, 2), (1, 2))), ANY)
row(join._repeat_each, table(((2, 3), 2, 0), ((3,), 3, 0), ((0, 2), 2, 1)), ANY)
row(join._repeat_counted, counted, ANY, reference=lambda x, counts, dim, size: np.repeat(x, counts, dim))
row(join.split_with_sizes, table(((5,), (2, 3)), ((2, 5), (1, 4), 1), ((2, 3), (3, 0), -1), ((0, 2), (0, 0))), ANY)

# -------------------------------------------------------------------------------------------------------- rearrange

row(rearrange.flip, table(((3,), (0,)), ((2, 3), (0, -1)), ((2, 3), 1), ((), (0,)), ((0, 2), (0,))), ANY)
row(rearrange.fliplr, table(((2, 3),), ((2, 3, 4),), ((0, 2),)), ANY)
row(rearrange.flipud, table(((3,),), ((2, 3),), ((0, 2),)), ANY)
row(rearrange.roll, table(((3,), 1), ((2, 3), 2), ((2, 3), (1, -1), (0, 1)), ((2, 3), 5, -1), ((), 1), ((0, 2), 1, 0)), ANY)
row(rearrange.rot90, table(((2, 3),), ((2, 3), 2), ((2, 3), -1), ((2, 3, 4), 1, (2, 0)), ((0, 2), 3)), ANY)
row(rearrange.diagonal, table(((3, 4),), ((3, 4), 1), ((3, 4), -2), ((3, 4), 9), ((2, 3, 4), 1, 0, -1), ((0, 2),)), ANY)
row(rearrange.diag_embed, table(((3,),), ((2, 3), 1), ((2, 3), -2, 0, 1), ((2, 3), 1, 2, 0), ((2, 0),)), ANY)
row(rearrange.diag, table(((3,),), ((3,), -1), ((3, 4), 1), ((0,),)), ANY)
row(rearrange.diagflat, table(((2, 3),), ((3,), 1), ((),)), ANY)
row(rearrange.unfold_dim, table(((5,), 0, 2, 1), ((2, 5), -1, 3, 2), ((5, 2), 0, 2, 3), ((), 0, 1, 1), ((0, 3), 1, 2, 1)), ANY)
PADS = (
    ((2, 3), (1, 2)),
    ((2, 3), (1, -1, 0, 2)),
    ((2, 3), (0, 0)),
    ((0, 2), (1, 0), "constant", 3),
    ((2, 4), (3, 1), "reflect"),
    ((3, 4), (1, 0, 2, -1), "reflect"),
    ((2, 3), (4, 1), "replicate"),
    ((2, 3), (1, 1, 2, 0), "replicate"),
    ((2, 3), (3, 2), "circular"),
    ((2, 3), (-1, 1, 1, 1), "circular"),
)
row(rearrange.pad, table(*PADS), ANY)
row(
    rearrange.pad,
    lambda rng, dtype: [Sample(array(rng, (2, 3), dtype), (1, 2), "constant", array(rng, (), dtype))],
    (float32, float64, complex128),
)

# ---------------------------------------------------------------------------------------------------------- convert


def _converted(x, dtype):
    """NumPy's, with floats on their way to narrow integers as int64, which wraps around."""
    through = x if dtype.is_inexact or dtype is bool_ or x.dtype.kind != "f" else x.astype(np.int64)
    return through.astype(dtype.dtype)


def conversions(rng, dtype):
    """To every kind; float32 is too coarse for differences."""
    for target in (float64, int64, complex128, bool_, uint8, float32):
        for s in ((2, 3), (), (0, 2)):
            yield Sample(array(rng, s, dtype), target, differentiable=target is not float32)


row(convert._to_dtype, conversions, (float32, float64, int64, bool_), reference=_converted)
row(
    convert._to_dtype,
    table(((2, 3), float64), ((2, 3), complex128)),
    (complex128,),
    reference=lambda x, dtype: x if dtype.is_complex else x.real,
)
row(convert.clone, table(((2, 3),), ((),), ((0, 2),)), ANY)

"""Samples of prims that rearrange elements."""

from __future__ import annotations

from ...core.dtype import bool_, complex128, float32, float64, int64
from ...prims import shape
from ..table import Sample, array, row

ANY = (float32, float64, int64, complex128, bool_)


def table(*cases):
    """Samples of one array: (its shape, static arguments ...) each."""
    return lambda rng, dtype: [Sample(array(rng, s, dtype), *rest) for s, *rest in cases]


def paddings(rng, dtype):
    for s, *rest in PADDINGS:
        yield Sample(array(rng, s, dtype), array(rng, (), dtype), *rest)


def pieces(rng, dtype):
    for shapes, dim in CONCATENATIONS:
        yield Sample([array(rng, s, dtype) for s in shapes], dim)


PADDINGS = (  # shape, low, high, interior
    ((2, 3), (1, 0), (0, 2), (0, 1)),
    ((3,), (2,), (-1,), (2,)),
    ((3,), (-2,), (-1,), (1,)),
    ((), (), (), ()),
    ((0, 2), (1, 0), (2, -1), (1, 1)),
)
CONCATENATIONS = (
    (((2, 3), (2, 1)), 1),
    (((3,), (0,), (2,)), 0),
    (((0, 2), (0, 2)), 0),
    (((2, 3),), 0),
)

row(shape.broadcast, table(((3,), (2, 3), (1,)), ((2, 1, 3), (2, 4, 3), (0, 1, 2)), ((), (2, 2), ()), ((1, 2), (0, 2), (0, 1))), ANY)
row(shape.permute, table(((2, 3), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((), ()), ((0, 2), (1, 0))), ANY)
row(shape.reshape, table(((2, 3), (3, 2)), ((2, 3), (6,)), ((), (1, 1)), ((0, 2), (5, 0))), ANY)
row(shape.flip, table(((3,), (0,)), ((2, 3), (1, 0)), ((2, 3), ()), ((), ()), ((0, 2), (0,))), ANY)
SLICES = (
    ((3,), (1,), (3,), (1,)),
    ((4, 5), (0, 1), (4, 5), (3, 2)),
    ((), (), (), ()),
    ((0, 2), (0, 1), (0, 2), (1, 1)),
    ((3,), (2,), (2,), (1,)),
)
row(shape.slice_, table(*SLICES), ANY)
row(shape.pad, paddings, ANY)
row(shape.concatenate, pieces, ANY)
row(shape.pieces, table(((3,), (1, 1, 3), 0), ((2, 3), (2,), 0), ((2, 3), (1, 3), 1), ((0, 2), (0, 0), 0)), ANY)

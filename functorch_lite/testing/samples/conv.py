"""Samples of convolution: one to three dimensions, groups, strides, dilations, cropping, and nothing at all."""

from __future__ import annotations

from ...core.dtype import int32
from ...prims.conv import conv_general, conv_rows
from ..table import NUMBERS, Sample, array, row

CONVOLUTIONS = (  # x, w, strides, padding, x_dilation, w_dilation, groups
    ((2, 3, 5, 4), (2, 3, 3, 2), (1, 1), ((1, 1), (0, 1)), (1, 1), (1, 1), 1),
    ((2, 2, 7), (4, 2, 3), (2,), ((1, 0),), (1,), (1,), 1),
    ((1, 4, 5, 4), (6, 2, 2, 3), (3, 2), ((2, 3), (2, -1)), (2, 1), (1, 1), 2),
    ((2, 3, 4, 4), (3, 1, 2, 2), (1, 1), ((-1, -1), (0, 0)), (1, 1), (1, 1), 3),
    ((2, 2, 6), (2, 2, 2), (1,), ((0, 2),), (1,), (3,), 1),
    ((1, 2, 3, 3, 4), (2, 2, 2, 1, 2), (1, 2, 1), ((0, 0), (1, 0), (0, 1)), (1, 1, 2), (1, 1, 2), 1),
    ((2, 3), (4, 3), (), (), (), (), 1),
    ((2, 2, 2), (2, 2, 3), (1,), ((0, 0),), (1,), (1,), 1),  # the kernel is larger than x
    ((0, 2, 4), (2, 2, 3), (1,), ((0, 0),), (1,), (1,), 1),
)


def convolutions(rng, dtype):
    return [Sample(array(rng, x, dtype), array(rng, w, dtype), *rest) for x, w, *rest in CONVOLUTIONS]


row(conv_general, convolutions, dtypes=(*NUMBERS, int32), tolerance=4)

ROWS = (  # x, w, strides, padding, x_dilation, w_dilation
    ((3, 2, 3, 5, 4), (3, 2, 3, 3, 2), (1, 1), ((1, 1), (0, 1)), (1, 1), (1, 1)),
    ((2, 3, 1, 5, 5), (2, 4, 1, 4, 4), (1, 1), ((1, 0), (0, 1)), (1, 1), (1, 1)),  # the gradient of a kernel for each image
    ((2, 2, 2, 7, 4), (2, 3, 2, 3, 4), (1, 2), ((1, -1), (2, 1)), (1, 1), (2, 1)),
    ((1, 2, 2, 6), (1, 1, 2, 2), (2,), ((0, 2),), (2,), (3,)),
    ((2, 2, 9, 3), (2, 2, 9, 4), (1,), ((2, 2),), (1,), (1,)),
    ((2, 2, 3), (2, 4, 3), (), (), (), ()),
    ((0, 1, 2, 4), (0, 2, 2, 3), (1,), ((0, 0),), (1,), (1,)),
)


def rows_of_them(rng, dtype):
    return [Sample(array(rng, x, dtype), array(rng, w, dtype), *rest) for x, w, *rest in ROWS]


row(conv_rows, rows_of_them, dtypes=(*NUMBERS, int32), tolerance=4)

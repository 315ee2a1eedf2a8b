"""Samples of views' copies (those of the views), of ops on what views read, of strides, and of arrays combined."""

from __future__ import annotations

import numpy as np

from ...core.dtype import int64
from ...refs import copies, grids, strided
from ..table import TABLE, Sample, array, row
from . import refs_elementwise, refs_shape  # noqa: F401  # where the rows of the views are
from .refs_index import ANY, Data, Places, cases
from .refs_shape import separate
from .shape import table

for _name, (_view, *_) in copies.COPIES.items():
    for _row in TABLE[_view.op.qualname]:
        row(getattr(copies, _name), _row.sampler, _row.dtypes, skip=_row.skip, reference=_row.reference)

row(
    copies.diagonal_scatter,
    cases(
        (Data(3, 4), Data(3)),
        (Data(3, 4), Data(2), -1),
        (Data(3, 4), Data(3), 1),
        (Data(2, 3, 4), Data(3, 2), 0, 0, -1),
        (Data(3, 2), Data(0), 5),
        (Data(0, 2), Data(0)),
    ),
    ANY,
)
row(copies.fill, cases((Data(2, 3), Data()), (Data(), 1), (Data(0, 2), 1)), ANY)
row(
    copies.sum_to_size,
    table(((2, 3), (1, 3)), ((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 3), (2, 3)), ((3,), ()), ((0, 2), (1, 2))),
    (*ANY[:2], int64),
)

row(
    strided.as_strided,
    table(
        ((2, 3), (2, 2), (1, 3)),
        ((6,), (3,), (2,), 1),
        ((6,), (3, 2), (1, 1)),
        ((2, 3), (), (), 4),
        ((0, 2), (0,), (1,)),
        ((3,), (2, 3), (0, 1)),
    ),
    ANY,
)
row(
    strided.as_strided_scatter,
    cases((Data(2, 3), Data(2, 2), (2, 2), (1, 3)), (Data(6), Data(3), (3,), (2,), 1), (Data(2, 3), Data(), (), (), 4)),
    ANY,
)
row(
    strided.fill_diagonal,
    cases((Data(3, 3), Data()), (Data(2, 4), 1), (Data(7, 3), 1), (Data(7, 3), Data(), True), (Data(2, 2, 2), 1), (Data(0, 2), 1)),
    ANY,
    reference=lambda x, value, wrap=False: _filled(x, value, wrap),
)


def _filled(x, value, wrap):
    out = x.copy()
    if x.size:
        np.fill_diagonal(out, value, wrap)
    return out


row(grids.meshgrid, separate(((3,), (2,)), ((3,), (), (2,)), ((0,), (2,))), ANY)
row(grids.meshgrid, lambda rng, dtype: [Sample(array(rng, (3,), dtype), array(rng, (2,), dtype), indexing="xy")])
row(grids.cartesian_prod, separate(((3,), (2,)), ((3,),), ((2,), (1,), (3,)), ((0,), (2,))), ANY)
row(grids.unravel_index, cases((Places((2, 3), 24), (2, 3, 4)), (Places((), 5), (5,)), (Places((0,), 4), (2, 2))), (int64,))

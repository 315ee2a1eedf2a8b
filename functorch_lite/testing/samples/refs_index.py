"""Samples of the refs that index, gather, scatter and select by masks."""

from __future__ import annotations

import numpy as np

from ...core.dtype import bool_, complex128, float32, float64, int64
from ...refs import at, dynamic, gathers, index, masked, scatters
from ..table import NUMBERS, REAL, Sample, array, row

ANY = (float32, float64, int64, complex128, bool_)


class Places:
    """A marker in a table: integers of this shape in [low, high)."""

    def __init__(self, shape, high: int, low: int = 0):
        self.shape, self.low, self.high = shape, low, high


class Mask:
    """A marker in a table: bools of this shape."""

    def __init__(self, shape):
        self.shape = shape


class Data:
    """A marker in a table: data of the row's dtype."""

    def __init__(self, *shape):
        self.shape = shape


def _drawn(x, rng, dtype):
    if x.__class__ is Data:
        return array(rng, x.shape, dtype)
    if x.__class__ is Places:
        return np.asarray(rng.integers(x.low, x.high, x.shape))
    if x.__class__ is list:
        return [_drawn(y, rng, dtype) for y in x]
    return array(rng, x.shape, bool_) if x.__class__ is Mask else x


def cases(*table, **fixed):
    """Samples of a table of calls whose markers stand for arrays; a dict at the end has keyword arguments."""

    def sampler(rng, dtype):
        for entry in table:
            named = entry[-1] if isinstance(entry[-1], dict) else {}
            args = entry[: len(entry) - bool(named)]
            yield Sample(*[_drawn(x, rng, dtype) for x in args], **{k: _drawn(v, rng, dtype) for k, v in (fixed | named).items()})

    return sampler


# -------------------------------------------------------------------------------------------------------------- x[...]

ITEMS = (  # shape of x, operands, spec
    ((3,), (1,), ("at",)),
    ((2, 3), (0, 1), ("at", ("window", 2, 1))),
    ((4, 5), (1, 0), (("window", 2, 2), ("window", 3, 2))),
    ((2, 3), (), ("new", ":", "new")),
    ((2, 3), (Places((), 3, -3),), (":", "at")),
    ((2, 5), (Places((), 3),), (":", ("window", 3, 1), "new")),
    ((3,), (Places((4,), 3, -3),), ("array",)),
    ((2, 3, 4), (Places((2, 1), 2), Places((3,), 4)), ("array", ":", "array")),
    ((2, 3, 4), (1, Places((2,), 3, -3), Places((2,), 4)), ("at", "array", "array")),
    ((2, 3), (np.array([0, 1]), np.array([2, 0])), ("mask", "mask")),
    ((2, 3), (np.array([0]),), ("flag",)),
    ((0, 2), (Places((3,), 2),), (":", "array")),
)


def _size(shape, operands, spec):
    """The shape of x[...] (of which values only are drawn)."""
    ones = [np.zeros(x.shape, int) if isinstance(x, Places) else x for x in operands]
    return index._getitem_reference(np.zeros(shape), *ones, spec=spec).shape


row(index.getitem, cases(*[(Data(*s), *operands, {"spec": spec}) for s, operands, spec in ITEMS]), ANY)
row(
    index.getitem_backward,
    cases(*[(Data(*_size(*item)), *item[1], {"shape": item[0], "spec": item[2]}) for item in ITEMS]),
    NUMBERS,
    reference=lambda ct, *indices, shape, spec: _added(ct, indices, shape, spec),
)


def _added(ct, indices, shape, spec):
    places = index._getitem_reference(np.arange(int(np.prod(shape))).reshape(shape), *indices, spec=spec)
    out = np.zeros(int(np.prod(shape)), ct.dtype)
    np.add.at(out, places.ravel(), ct.ravel())
    return out.reshape(shape)


def updates(*hows, value=None):
    """Samples of several ways to combine, each on its share of the items."""
    chosen = [(item, how) for i, how in enumerate(hows) for item in ITEMS[i :: len(hows)]]
    return cases(*[(Data(*s), value or Data(*_size(s, ops, spec)), *ops, {"spec": spec, "how": how}) for (s, ops, spec), how in chosen])


row(at.at_update, updates("set"), ANY)
row(at.at_update, updates("add", "mul", "sub"), NUMBERS)
row(at.at_update, updates("max", "min"), (float32, float64, int64))
row(at.at_update, updates("div", value=3), (float32, float64, complex128))
row(
    at.mask_update,
    cases(
        (Data(2, 3), Mask((2, 3)), Data(3), "set"),
        (Data(2, 3), Mask((2, 1)), 2, "mul"),
        (Data(), Mask(()), Data(), "add"),
        (Data(0, 2), Mask((0, 1)), 1, "set"),
    ),
    NUMBERS,
)

# ------------------------------------------------------------------------------------------------- along a dimension

GATHERS = (
    (Data(2, 3), 1, Places((2, 4), 3)),
    (Data(4, 3), 0, Places((2, 2), 4)),
    (Data(3), -1, Places((2,), 3)),
    (Data(), 0, Places((), 1)),
    (Data(0, 2), 0, Places((0, 2), 1)),
)
row(gathers.gather, cases(*GATHERS), ANY)
row(gathers.take, cases((Data(2, 3), Places((4,), 6, -6)), (Data(3), Places((), 3)), (Data(2, 3), Places((0, 2), 1))), ANY)
row(
    gathers.take_along_dim,
    cases((Data(2, 3), Places((2, 1), 3), 1), (Data(1, 3), Places((4, 3), 1), 0), (Data(2, 3), Places((4,), 6))),
    ANY,
)
row(
    gathers.index_select,
    cases((Data(2, 3), 1, Places((4,), 3)), (Data(3), 0, Places((), 3)), (Data(), 0, Places((1,), 1)), (Data(0, 2), -1, Places((3,), 2))),
    ANY,
)

SCATTERS = (  # input, dim, index, src
    (Data(2, 3), 1, Places((2, 2), 3), Data(2, 2)),
    (Data(4, 3), 0, Places((2, 2), 4), Data(3, 2)),
    (Data(3), -1, Places((4,), 3), Data(4)),
    (Data(), 0, Places((), 1), Data()),
    (Data(2, 3), 1, Places((0, 3), 1), Data(2, 3)),
)
row(scatters.scatter, cases(*SCATTERS, (Data(2, 3), 0, Places((1, 3), 2), True)), ANY)
row(
    scatters.scatter,
    cases((*SCATTERS[0], {"reduce": "add"}), (*SCATTERS[1], {"reduce": "multiply"}), (*SCATTERS[0][:3], {"value": 3})),
    NUMBERS,
)
row(scatters.scatter_add, cases(*SCATTERS), NUMBERS)
row(scatters.put_along_axis, cases((Data(2, 3), Places((2, 1), 3), Data(2, 1), 1), (Data(2, 3), Places((2,), 6), Data(2), None)), ANY)

ROWS = (  # input, dim, index, source
    (Data(2, 3), 1, Places((2,), 3), Data(2, 2)),
    (Data(4, 3), 0, Places((3,), 4), Data(3, 3)),
    (Data(3), -1, Places((), 3), Data(1)),
    (Data(0, 2), 1, Places((3,), 2), Data(0, 3)),
)
row(scatters.index_add, cases(*ROWS, (*ROWS[0], {"alpha": 2})), NUMBERS)
row(scatters.index_copy, cases(*ROWS), ANY)
row(scatters.index_fill, cases(*[(x, d, i, True) for x, d, i, _ in ROWS], (Data(2, 3), 0, Places((2,), 2, -2), Data())), ANY)


def reductions(samples, *reduces):
    """Samples with each reduction in turn, and both ways to count what was there."""
    chosen = [(r, own) for r in reduces for own in (True, False)]
    return cases(*[(*samples[i % len(samples)], {"reduce": r, "include_self": own}) for i, (r, own) in enumerate(chosen)])


for function, samples in ((scatters.scatter_reduce, SCATTERS[:3]), (scatters.index_reduce, ROWS[:3])):
    row(function, reductions(samples, "sum", "prod"), NUMBERS)
    row(function, reductions(samples, "mean", "amax", "amin"), (float32, float64, int64))
row(
    scatters.put,
    cases((Data(2, 3), Places((4,), 6, -6), Data(4)), (Data(2, 3), Places((2, 2), 6), Data(4), True), (Data(3), Places((), 3), Data())),
    NUMBERS,
)

# ------------------------------------------------------------------------------------------------------------- masks

row(masked.nonzero_static, cases((Data(2, 3), 4), (Data(3), 5, 7), (Data(), 1), (Data(0, 2), 2)), (*REAL, bool_, int64))
row(
    masked._masked_select_static,
    cases((Data(2, 3), Mask((2, 3)), 4), (Data(2, 3), Mask((3,)), 7, 2), (Data(), Mask(()), 1), (Data(0, 2), Mask((1, 2)), 2)),
    ANY,
)
row(
    masked.masked_scatter,
    cases(
        (Data(2, 3), Mask((2, 3)), Data(6)),
        (Data(2, 3), Mask((3,)), Data(2, 3)),
        (Data(), Mask(()), Data(1)),
        (Data(0, 2), Mask((1, 2)), Data(2)),
    ),
    ANY,
)
row(
    masked._bincount_static,
    lambda rng, dtype: [Sample(rng.integers(-1, 5, 6), length=4), Sample(rng.integers(0, 3, 0), length=2)],
    (int64,),
)
row(masked._bincount_static, cases((Places((6,), 5), Data(6), {"length": 4})), REAL)

# ------------------------------------------------------------------------------------------------------ dynamic blocks

BLOCKS = (  # shape, starts, shape of the block
    ((2, 3), [0, -2], (1, 2)),
    ((3,), [Places((), 3, -3)], (2,)),
    ((), [], ()),
    ((0, 2), [0, 1], (0, 1)),
)
row(dynamic._dynamic_slice, cases(*[(Data(*s), starts, sizes) for s, starts, sizes in BLOCKS]), ANY)
row(dynamic._dynamic_update_slice, cases(*[(Data(*s), Data(*sizes), starts) for s, starts, sizes in BLOCKS]), ANY)

"""What an index means: its *spec*, the block of x that it looks at, and reading and writing that block.

A spec has an entry for each item of the index, in order (trailing whole dimensions are left out):

    ":"                     the whole dimension
    "new"                   a new dimension of size 1 (None in the index)
    "at"                    takes an operand: an integer scalar; the dimension is dropped
    ("window", n, step)     takes an operand: where n elements, step apart, start
    "array"                 takes an operand: an array of integers
    "mask"                  the same, made of a boolean mask: all in range, none twice
    "flag"                  the same for a 0-dim mask: its operand points into a new dimension of size 1

The first four make a *view*: a block of x. Operands that are Python numbers are in range and not negative. Then the arrays index
the view; their common shape stands where they do, or first if something stands between them (NumPy's rule; as in PyTorch an
integer scalar is no such array).
"""

from __future__ import annotations

from ..core.aval import aval
from ..core.dtype import NUMBERS, bool_, int32, int64
from ..core.record import Record
from ..prims import algebra, compare, create, elementwise, index, scatters
from ..prims import shape as prims
from .promotion import array_of, broadcast_shapes, expand_to
from .shape import reshaped

# ------------------------------------------------------------------------------------------------ what a spec means


class Window(Record):
    """A block along one dimension of x: `size` elements from `start` on, `step` apart; `kept` unless the dimension is dropped."""

    dim: int
    start: object
    size: int
    step: int
    kept: bool

    @property
    def extent(self) -> int:
        return (self.size - 1) * self.step + 1 if self.size else 0


class Plan(Record):
    """A spec with its operands, for an array of a certain shape."""

    shape: tuple[int, ...]  # of x
    windows: list[Window]
    view: tuple[int, ...]  # the shape of the view
    arrays: list  # the arrays that index the view, broadcast to one shape
    dims: tuple[int, ...]  # the dimensions of the view that they index
    mode: str  # what an index out of range means
    unique: bool

    @property
    def where(self) -> tuple:
        """The parameters of gather and the scatters."""
        together = self.dims == tuple(range(self.dims[0], self.dims[0] + len(self.dims)))
        return self.dims, (0,) * len(self.dims), ((), ()), self.dims[0] if together else 0, self.mode, self.unique

    @property
    def result(self) -> tuple[int, ...]:
        """The shape of x[...]."""
        if not self.arrays:
            return self.view
        rest = [n for d, n in enumerate(self.view) if d not in self.dims]
        at = self.where[3]
        return (*rest[:at], *self.arrays[0].shape, *rest[at:])


def plan(shape: tuple[int, ...], indices, spec) -> Plan:
    """What a spec and its operands mean for an array of this shape."""
    operands, d = iter(indices), 0
    windows, view, arrays, dims = [], [], [], []
    for entry in spec:
        if entry == "at":
            windows.append(Window(d, next(operands), 1, 1, False))
        elif entry.__class__ is tuple:
            _, n, step = entry
            windows.append(Window(d, next(operands), n, step, True))
            view.append(n)
        else:
            if entry in ("array", "mask", "flag"):
                arrays.append(next(operands))
                dims.append(len(view))
            view.append(1 if entry in ("new", "flag") else shape[d])
        d += entry not in ("new", "flag")
    sure = all(entry in ("mask", "flag") for entry in spec if entry in ("array", "mask", "flag"))
    return Plan(shape, windows, (*view, *shape[d:]), _one_shape(arrays), tuple(dims), "inside" if sure else "wrap", sure)


def _one_shape(arrays):
    if len(arrays) < 2:
        return arrays
    try:
        target = broadcast_shapes(*(i.shape for i in arrays))
    except RuntimeError:
        seen = ", ".join(str(list(i.shape)) for i in arrays)
        raise IndexError(f"shape mismatch: indexing arrays could not be broadcast together with shapes {seen}") from None
    return [expand_to(i, target) for i in arrays]


# ------------------------------------------------------------------------------------------------ reading a view


def _static(w: Window) -> bool:
    return w.start.__class__ in NUMBERS


def _number(w: Window) -> bool:
    """Whether the start is a number that became an input of the program: it is in range."""
    return w.start.aval.weak


def _starts(shape, windows):
    """Index arrays for gather and scatter, and the mode in which they are right. Negative ones count from the end."""
    if not any(w.kept for w in windows):
        return [w.start for w in windows], "wrap"
    return [_counted(w.start, shape[w.dim]) for w in windows], "check"


def _counted(start, n: int):
    """A start that is negative counted from the end."""
    if not start.dtype.is_signed:
        return start
    behind = elementwise.add(start, algebra.full_like(start, n))
    return compare.select(compare.lt(start, algebra.full_like(start, 0)), behind, start)


def _cut(x, windows, step: bool = True):
    """x cut to windows whose starts are ints (by default 0)."""
    starts, limits, strides = [0] * x.ndim, list(x.shape), [1] * x.ndim
    for w in windows:
        start = w.start if _static(w) else 0
        starts[w.dim], limits[w.dim], strides[w.dim] = start, start + w.extent, w.step if step else 1
    whole = starts == [0] * x.ndim and limits == list(x.shape) and strides == [1] * x.ndim
    return x if whole else prims.slice_(x, tuple(starts), tuple(limits), tuple(strides))


def block(x, windows, step: bool = True):
    """The windows of x, with the dimensions that they drop still there, of size 1."""
    moving = [w for w in windows if not _static(w)]
    x = _cut(x, [w for w in windows if _static(w)], step)
    numbers, traced = [w for w in moving if _number(w)], [w for w in moving if not _number(w)]
    if numbers:
        at = {w.dim: array_of(w.start) for w in numbers}
        extents = {w.dim: w.extent for w in numbers}
        starts = [at[d] if d in at else algebra.zero_index() for d in range(x.ndim)]
        x = index.dynamic_slice(x, starts, tuple([extents.get(d, n) for d, n in enumerate(x.shape)]))
    if traced:
        starts, mode = _starts(x.shape, traced)
        x = index.gather(x, starts, tuple([w.dim for w in traced]), tuple([w.extent for w in traced]), ((), ()), 0, mode)
    return _cut(x, moving) if step and any(w.step > 1 for w in moving) else x


def _block_shape(p: Plan) -> tuple[int, ...]:
    sizes = {w.dim: w.size for w in p.windows}
    return tuple([sizes.get(d, n) for d, n in enumerate(p.shape)])


def _spread(x, windows, fill):
    """The elements of a block `step` apart, `fill` (a scalar) between them."""
    step = {w.dim: w.step - 1 for w in windows}
    none = (0,) * x.ndim
    interior = tuple([step.get(d, 0) for d in range(x.ndim)])
    return prims.pad(x, fill, none, none, interior) if any(interior) else x


def _place(x, update, windows):
    """x with its windows (steps of 1) replaced by update, a block."""
    if 0 in update.shape:
        return x
    if all(_static(w) or _number(w) for w in windows):
        at = {w.dim: create.full((), w.start, int32) if _static(w) else array_of(w.start) for w in windows}
        return index.dynamic_update_slice(x, update, [at[d] if d in at else algebra.zero_index() for d in range(x.ndim)])
    known = [w.but(start=create.full((), w.start, int64) if _static(w) else array_of(w.start)) for w in windows]
    starts, mode = _starts(x.shape, known)
    where = tuple([w.dim for w in known]), tuple([w.extent for w in known]), ((), ()), 0, mode, True
    return scatters.scatter(x, update, starts, *where)


def write_view(x, new, p: Plan):
    """x with its view replaced by `new`."""
    if not p.windows:
        return reshaped(new, x.shape)
    new = reshaped(new, _block_shape(p))
    if any(w.step > 1 for w in p.windows):
        yes, no = (create.full((), b, bool_) for b in (True, False))
        mask = _spread(prims.broadcast(yes, new.shape, ()), p.windows, no)
        new = compare.select(mask, _spread(new, p.windows, algebra.zeros(aval((), x.dtype))), block(x, p.windows, step=False))
    return _place(x, new, p.windows)


def block_read(shape, indices, spec):
    """(starts, limits) of the block that an index of numbers and slices reads, if it has no arrays and no steps."""
    p = plan(shape, indices, spec)
    if p.arrays or not all(_static(w) and w.step == 1 for w in p.windows):
        return None
    at = {w.dim: w for w in p.windows}
    starts = tuple([at[d].start if d in at else 0 for d in range(len(shape))])
    return starts, tuple([at[d].start + at[d].size if d in at else n for d, n in enumerate(shape)])


def view_adjoint(ct, p: Plan):
    """The cotangent of x, of that of its view."""
    if not p.windows:
        return reshaped(ct, p.shape)
    ct = reshaped(ct, _block_shape(p))
    zero = algebra.zeros(aval((), ct.dtype))
    if all(map(_static, p.windows)):
        at = {w.dim: w for w in p.windows}
        low = [at[d].start if d in at else 0 for d in range(ct.ndim)]
        high = [n - at[d].start - at[d].extent if d in at else 0 for d, n in enumerate(p.shape)]
        return prims.pad(ct, zero, tuple(low), tuple(high), tuple([at[d].step - 1 if d in at else 0 for d in range(ct.ndim)]))
    return _place(create.full(p.shape, 0, ct.dtype), _spread(ct, p.windows, zero), p.windows)

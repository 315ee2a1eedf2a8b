"""Indexing: x[...] is one op, `getitem`, linear in x; `getitem_backward` is its adjoint. plan.py says what a spec is."""

from __future__ import annotations

import operator

import numpy as np

from ..core.array import Array, Operable, asarray
from ..core.dtype import BOOL, INTEGER, uint8
from ..core.face import Face, operand
from ..core.interpreter import Traced
from ..core.op import Shape, Tensor, composite
from ..errors import ConcretizationError
from ..prims import create, index, scatters
from .arguments import require
from .bounds import known_difference
from .plan import block, block_read, plan, view_adjoint
from .promotion import array_of, canonical_dim
from .shape import reshaped


def _getitem_reference(x, *indices, spec):
    """NumPy's, after the integer scalars have been taken."""
    operands, scalars, rest = iter(indices), [], []
    for entry in spec:
        i = None if entry in (":", "new") else next(operands)
        if entry == "at":
            scalars.append(int(i))
            continue
        if entry not in ("new", "flag"):
            scalars.append(slice(None))
        if entry.__class__ is tuple:
            _, n, step = entry
            start = int(i) + (x.shape[len(scalars) - 1] if i < 0 else 0)
            i = slice(start, start + (n - 1) * step + 1 if n else start, step)
        rest.append(slice(None) if entry == ":" else None if entry == "new" else i)
        if entry == "flag":
            rest[-1] = None  # a dimension of size 1, repeated or emptied below
    flags = [i for e, i in zip([e for e in spec if e not in (":", "new")], indices) if e == "flag"]
    out = x[(*scalars, ...)][(*rest, ...)]  # arrays, never scalars
    for i in flags:
        axis = [e for e in spec if e != "at"].index("flag")
        out = np.take(out, i, axis)
    return out


def _is_basic(spec) -> bool:
    """Whether an index only looks at its array: it holds no integer arrays and no masks."""
    return all(e in (":", "new", "at") or e.__class__ is tuple for e in spec)


@composite(reference=_getitem_reference, view=True, traits={"views": _is_basic, "block": block_read})
def getitem(input: Tensor, *indices: Tensor, spec: Pairs) -> Tensor:  # noqa: F821
    """What ``x[...]`` becomes: operands (numbers, integer arrays), and a static spec that says what each of them means."""
    x = array_of(input)
    p = plan(x.shape, indices, spec)
    view = reshaped(block(x, p.windows), p.view)
    return index.gather(view, p.arrays, *p.where) if p.arrays else view


@composite
def getitem_backward(grad: Tensor, *indices: Tensor, shape: Shape, spec: Pairs) -> Tensor:  # noqa: F821
    """The adjoint of `getitem` on an input of this shape: zeros to which grad is added where getitem reads."""
    ct = array_of(grad)
    p = plan(shape, indices, spec)
    if p.arrays:
        ct = scatters.scatter_add(create.full(p.view, 0, ct.dtype), ct, p.arrays, *p.where)
    return view_adjoint(ct, p)


def _linear(op, adjoint):
    """Both are linear in their first argument, and each is the other's adjoint: so a graph of gradients shows them whole."""
    op.jvp = lambda ans, primals, tangents, *params: None if tangents[0] is None else op.bind(tangents[0], *primals[1:], params=params)
    op.transpose = lambda ct, x, *rest: (adjoint(ct, x, *rest), *(None,) * (len(rest) - len(op.statics)))
    op.kind = "linear"


_linear(getitem.op, lambda ct, x, *rest: getitem_backward(ct, *rest[:-1], shape=x.shape, spec=rest[-1]))
_linear(getitem_backward.op, lambda ct, x, *rest: getitem(ct, *rest[:-2], spec=rest[-1]))

# ----------------------------------------------------------------------------------------- from an index to its spec


class Mask:
    """A boolean item of an index."""

    __slots__ = ("array",)

    def __init__(self, array):
        self.array = array


def items(x, key) -> list:
    """The items of an index of x, one a dimension: ints, slices, None, integer Arrays and Masks; no ellipsis."""
    key = list(key) if key.__class__ is tuple else [key]
    key = [k if k.__class__ in (int, slice) or k is None or k is Ellipsis else _item(k) for k in key]
    used = sum(k.array.ndim if k.__class__ is Mask else k is not None and k is not Ellipsis for k in key)
    if used > x.ndim:
        raise IndexError(f"too many indices: {x.aval} has {x.ndim} dimension(s), and {used} were indexed")
    dots = [i for i, k in enumerate(key) if k is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if dots:
        key[dots[0] : dots[0] + 1] = [slice(None)] * (x.ndim - used)
    return key


def _item(k):
    if isinstance(k, Face):
        k = k.read()
    if isinstance(k, (bool, np.bool_)):
        return Mask(asarray(bool(k)))
    if isinstance(k, slice):
        return k
    if isinstance(k, (Array, np.ndarray, list, tuple)) or hasattr(k, "__jax_array__") or hasattr(k, "__dlpack__"):
        a = asarray(k)
        if a.dtype.category == BOOL:
            return Mask(a)
        if a.aval.size == 0 and isinstance(k, (list, tuple)):
            return asarray(np.zeros(a.shape, np.int64))
        if a.dtype is uint8:
            raise IndexError(
                f"a uint8 index is a mask in PyTorch and a number elsewhere, got {a.aval}; convert it with .to(bool) or .to(fl.int64)"
            )
        if a.dtype.category == INTEGER:
            return a
        raise IndexError(f"arrays used as indices must be integers or bools, got {a.aval}")
    try:
        return operator.index(k)
    except TypeError:
        raise IndexError(
            f"only integers, slices (`:`), ellipsis (`...`), None and integer or boolean arrays are valid indices (got {type(k).__name__})"
        ) from None


def spec_of(x, items) -> tuple[list, tuple]:
    """(operands, spec) of the items of an index of x. A mask becomes the positions of what is true in it, so it needs data."""
    operands, spec, d = [], [], 0
    for k in items:
        kind = k.__class__
        if k is None:
            spec.append("new")
            continue
        if kind is Mask:
            found = _positions(x, k.array, d)
            operands += found
            spec += ["mask" if k.array.ndim else "flag"] * len(found)
            d += k.array.ndim
            continue
        n = x.shape[d]
        if kind is int:
            if not -n <= k < n:
                raise IndexError(f"index {k} is out of bounds for dimension {d} with size {n}")
            operands.append(k % n)
            spec.append("at")
        elif kind is slice:
            window = _window(k, n, d)
            if window is None:
                spec.append(":")
            else:
                start, size, step = window
                operands.append(start)
                spec.append(("window", size, step))
        else:
            operands.append(k)
            spec.append("array" if k.ndim else "at")
        d += 1
    while spec and spec[-1] == ":":
        spec.pop()
    return operands, tuple(spec)


def _positions(x, mask, d: int) -> list:
    """The places of a mask's True elements, an index array for each of its dimensions (or for a new one)."""
    seen = x.shape[d : d + mask.ndim]
    if mask.shape != seen:
        raise IndexError(
            f"the shape of the mask {list(mask.shape)} at index {d} does not match the shape of the indexed array {list(x.shape)}"
        )
    try:
        data = np.asarray(mask.concrete("the number of True elements").buffer)
    except ConcretizationError as error:
        raise ConcretizationError(
            f"x[mask]: the shape of the result depends on the data of the mask, and a traced value has none. Choose with fl.where(mask, x, other), "
            f"change with x.at[mask].set(value), or bound the size: fl.masked_select(x, mask, size=n). ({error})"
        ) from None
    return [asarray(i) for i in (np.nonzero(data) if mask.ndim else [np.zeros(int(data), np.int64)])]


def _window(s: slice, n: int, d: int):
    """(start, size, step) of a slice of a dimension of size n; None for the whole of it."""
    bounds = [_bound(b) for b in (s.start, s.stop, s.step)]
    start, stop, step = bounds
    if isinstance(step, Array):
        raise ConcretizationError("the step of a slice must be a known int, got a traced value")
    if step is not None and step <= 0:
        raise ValueError(f"slice step must be greater than zero, got {step}; use flip for the reverse order")
    if not isinstance(start, Array) and not isinstance(stop, Array):
        start, stop, step = slice(start, stop, step).indices(n)
        size = max(-(-(stop - start) // step), 0)
        return None if (start, size, step) == (0, n, 1) else (start if size else 0, size, step if size > 1 else 1)
    length = None if start is None or stop is None else known_difference(start, stop)
    if length is None:
        raise ConcretizationError(
            "x[start:stop]: the length of the slice depends on traced bounds, and a traced value has no data. Write the bounds as k and "
            "k + length with a known length, take a block of known size with fl.dynamic_slice, or mask with fl.where"
        )
    if length > n:
        raise IndexError(f"a slice of {length} elements at a traced start does not fit in dimension {d} of size {n}")
    size = max(-(-length // (step or 1)), 0)
    return start if size else 0, size, step or 1


def _bound(b):
    """A bound of a slice: None, an int, or a traced integer scalar."""
    if b is None or b.__class__ is int:
        return b
    if isinstance(b, Face):
        b = b.read()
    if b.__class__ is Traced:
        try:
            return operator.index(b.concrete("a bound of a slice"))
        except ConcretizationError:
            if b.ndim == 0 and b.dtype.category == INTEGER:
                return b
    try:
        return operator.index(b)
    except TypeError:
        raise TypeError(f"slice indices must be integers or None, got {b.aval if isinstance(b, Array) else repr(b)}") from None


def _getitem(self, key):
    operands, spec = spec_of(self, items(self, key))
    return getitem(self, *operands, spec=spec) if spec or isinstance(self, Face) else self  # of a Face: another one, a view


Operable.__getitem__ = _getitem

# --------------------------------------------------------------------------------------------------- one dimension


def select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Input at one index (an int or an integer scalar) along dim, without that dimension.

    >>> import functorch_lite as fl
    >>> fl.select(fl.asarray([[1, 2], [3, 4]]), 1, 0).tolist()
    [1, 3]
    """
    x = operand(input)
    require(x.ndim > 0, "select", "cannot be applied to a 0-dim array", IndexError)
    return x[(slice(None),) * canonical_dim("select", dim, x.ndim) + (index,)]


def narrow(input: Tensor, dim: int, start: Tensor, length: int) -> Tensor:
    """`length` elements of input along dim from `start` (an int or an integer scalar) on.

    Raises RuntimeError if they do not fit (IndexError for a start that is data).

    >>> import functorch_lite as fl
    >>> fl.asarray([1, 2, 3]).narrow(0, 1, 2).tolist()
    [2, 3]
    """
    x = operand(input)
    require(x.ndim > 0, "narrow", "cannot be applied to a 0-dim array")
    d = canonical_dim("narrow", dim, x.ndim)
    n = x.shape[d]
    start = start.read() if isinstance(start, Face) else start
    if not isinstance(start, Array):
        start = operator.index(start)
        require(-n <= start <= n, "narrow", f"start must be between {-n} and {n}, got {start}", IndexError)
        start += n if start < 0 else 0
        ok = 0 <= length <= n - start
    else:
        ok = start.ndim == 0 and start.dtype.category == INTEGER
        require(ok, "narrow", f"start must be an int or a 0-dim integer array, got {start.aval}")
        ok = 0 <= length <= n
    require(ok, "narrow", f"start ({start}) + length ({length}) exceeds dimension size ({n})")
    return getitem(x, start, spec=(":",) * d + (("window", length, 1),))


Operable.select, Operable.narrow = select, narrow

__all__ = ["narrow", "select"]

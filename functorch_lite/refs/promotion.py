"""What composites do to their arguments before a prim sees them: promotion in PyTorch's three tiers, and broadcasting."""

from __future__ import annotations

from ..core.array import Array
from ..core.aval import aval_of
from ..core.dtype import BOOL, DEFAULT, FLOAT, NUMBERS, DType, category_of, float32, promote_types, result_dtype
from ..prims import convert, create, shape


def result_type(*xs) -> DType:
    """The dtype that PyTorch promotes arrays and Python numbers to: arrays with dimensions first, then 0-dim ones, then numbers.

    >>> import functorch_lite as fl
    >>> fl.result_type(fl.ones(2, dtype=fl.int32), 1.5), fl.result_type(fl.ones(2), fl.ones((), dtype=fl.float64))
    (fl.float32, fl.float32)
    """
    tiers: list = [None, None, None]
    for x in xs:
        if x is None:
            continue
        a = aval_of(x)
        if a.weak:
            category = a.dtype.category
            tiers[2] = category if tiers[2] is None else max(tiers[2], category)
        else:
            tier = 0 if a.shape else 1
            tiers[tier] = a.dtype if tiers[tier] is None else promote_types(tiers[tier], a.dtype)
    return result_dtype(*tiers)


def broadcast_shapes(*shapes) -> tuple[int, ...]:
    """The shape that all of these broadcast to; an int is a shape of one dimension.

    >>> broadcast_shapes((3, 1), (4,), ())
    (3, 4)
    """
    out: list[int] = []
    if int in map(type, shapes):
        shapes = [(s,) if s.__class__ is int else s for s in shapes]
    for s in shapes:
        for i in range(1, len(s) + 1):
            n = s[-i]
            if i > len(out):
                if n < 0:
                    raise ValueError(f"broadcast_shapes: sizes must not be negative, got {list(s)}")
                out.insert(0, n)
            elif n != 1:
                if out[-i] not in (1, n):
                    raise RuntimeError(
                        f"shapes {', '.join(str(list(s)) for s in shapes)} cannot be broadcast: sizes {out[-i]} and {n} at dimension {-i} "
                        "must be equal or 1"
                    )
                out[-i] = n
    return tuple(out)


def to_dtype(x, dtype: DType):
    """x in this dtype."""
    return x if x.dtype is dtype and not x.aval.weak else convert.convert(x, dtype)


def expand_to(x, target: tuple[int, ...]):
    """x broadcast to a shape that `broadcast_shapes` found."""
    if x.shape == target:
        return x
    new = len(target) - x.ndim
    return shape.broadcast(x, target, tuple(range(new, len(target))))


def cast(x, dtype: DType, target: tuple[int, ...]):
    """An Array or number in this dtype and shape."""
    if x.__class__ in NUMBERS:
        return create.full(target, x, dtype)
    return expand_to(to_dtype(x, dtype), target)


def promoted(*xs, inexact: bool = False, dtype: DType | None = None):
    """Arrays and numbers with one dtype and one shape. ``inexact``: integers and bools become float32 (as in sin, true division)."""
    first = xs[0]
    if dtype is None and isinstance(first, Array):
        known = first.aval
        if not known.weak and (not inexact or known.dtype.is_inexact):
            for x in xs:
                if x is not first and (x.__class__ in NUMBERS or x.aval is not known):
                    break
            else:
                return xs
    dtype = dtype or result_type(*xs)
    if inexact and not dtype.is_inexact:
        dtype = float32
    target = broadcast_shapes(*(aval_of(x).shape for x in xs))
    return tuple([cast(x, dtype, target) for x in xs])


def array_of(x, dtype: DType | None = None):
    """A number or weak value as an Array of its default dtype; an Array as it is."""
    if x.__class__ in NUMBERS:
        return create.full((), x, dtype or DEFAULT[category_of(x)])
    if x.aval.weak:
        return convert.convert(x, dtype or DEFAULT[x.dtype.category])
    return x if dtype is None else to_dtype(x, dtype)


def float_of(x):
    """x as an inexact Array: integers and bools become the default float."""
    x = array_of(x)
    return x if x.dtype.is_inexact else convert.convert(x, float32)


def in_float32(f, *xs):
    """f of Arrays of one dtype; of half-width floats computed in float32 and rounded once, as in PyTorch."""
    dtype = xs[0].dtype
    if not dtype.is_floating_point or dtype.itemsize >= 4:
        return f(*xs)
    return to_dtype(f(*[to_dtype(x, float32) for x in xs]), dtype)


def canonical_dim(name: str, dim: int, ndim: int, *, insert: bool = False) -> int:
    """A dimension made non-negative; a 0-dim array counts as having one, as in PyTorch. ``insert``: a position between dimensions."""
    n = max(ndim + insert, 1)
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise TypeError(f"{name}: dim must be an int, got {dim!r}")
    if not -n <= dim < n:
        raise IndexError(f"{name}: dimension out of range (expected to be in [{-n}, {n - 1}], but got {dim})")
    return dim % n


def canonical_dims(name: str, dim, ndim: int) -> tuple[int, ...]:
    """Dimensions as a sorted tuple of distinct ones; None and () mean all of them."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    dims = tuple([canonical_dim(name, d, ndim) for d in ((dim,) if isinstance(dim, int) else dim)])
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"{name}: a dimension appears twice in dim={dim}")
    return tuple(sorted(d for d in dims if d < ndim))


__all__ = [
    "BOOL",
    "FLOAT",
    "array_of",
    "broadcast_shapes",
    "canonical_dim",
    "canonical_dims",
    "cast",
    "expand_to",
    "float_of",
    "in_float32",
    "promoted",
    "result_type",
    "to_dtype",
]

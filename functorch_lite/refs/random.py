"""Random draws: pure functions of a key.

A key is a uint32 array [2]; rows of keys [..., 2] draw a row each. Floats are drawn on the grid of as many bits as the dtype
holds exactly, so they are uniform and no bits are wasted; everything else is made of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..core.array import Array
from ..core.aval import aval_of
from ..core.dtype import COMPLEX, FLOAT, INTEGER, DType, as_dtype, bfloat16, float16, float32, float64, iinfo, int64, uint32, uint64
from ..core.op import Shape, Tensor, composite
from ..prims import algebra, bits, checks, compare, create, elementwise, order, parts, reduce, special
from ..prims import random as prims
from ..prims import shape as shapes
from .arguments import require, shown
from .gathers import index_select
from .promotion import array_of, broadcast_shapes, canonical_dim, cast, expand_to, to_dtype

_RANDOM = "fl.random"
_GRID = {float16: (16, 11), bfloat16: (16, 8), float32: (32, 24), float64: (64, 53)}  # bits to draw, and to keep


def _shape(shape) -> tuple[int, ...]:
    return (shape,) if shape.__class__ is int else shape


def _sizes(key, shape) -> tuple[int, ...]:
    return (*key.shape[:-1], *_shape(shape))


def _require_key(name: str, key) -> None:
    ok = isinstance(key, Array) and key.dtype is uint32 and key.ndim >= 1 and key.shape[-1] == 2
    require(ok, name, f"expected a key (uint32[2]) from fl.random.key(seed), got {shown(key)}", TypeError)


def _require_float(name: str, dtype: DType, *more: int) -> None:
    ok = dtype.category in (FLOAT, *more)
    require(ok, name, f"dtype must be a float dtype, got {dtype}", TypeError)


# ----------------------------------------------------------------------------------------------------------------- keys


@composite(namespace=_RANDOM, name="key")
def _key(seed: Tensor) -> Tensor:
    """The key of a seed."""
    seed = array_of(seed)
    ok = seed.ndim == 0 and seed.dtype.category == INTEGER
    require(ok, "key", f"seed must be an integer, got {shown(seed)}", TypeError)
    return prims.fold_in(create.full((2,), 0, uint32), seed)


def key(seed: int | Array) -> Array:
    """The key of a seed, any integer: where every random draw begins.

    A key is used once: for one draw, or to `split` it or to `fold_in` numbers. The same key gives the same draw.

    >>> import functorch_lite as fl
    >>> fl.random.key(0).shape, fl.random.key(0).dtype
    ((2,), fl.uint32)
    """
    if seed.__class__ is int:
        seed = (seed + 2**63) % 2**64 - 2**63  # the int64 of the same bits
    return _key(seed)


key.op = _key.op


@composite(namespace=_RANDOM)
def split(key: Tensor, num: int = 2) -> Tensor:
    """`num` new keys [..., num, 2], of which key i is ``fold_in(key, i)``.

    >>> import functorch_lite as fl
    >>> fl.random.split(fl.random.key(0), 3).shape
    (3, 2)
    """
    _require_key("split", key)
    require(num >= 0, "split", f"num must not be negative, got {num}", ValueError)
    return algebra.move(prims.split_rows(key, num), 0, key.ndim - 1)


@composite(namespace=_RANDOM, multi=True)
def advance(key: Tensor) -> tuple:
    """(the key to go on with, a key for one draw): what a generator does each time it is asked."""
    _require_key("advance", key)
    rows = prims.split_rows(key, 2)
    return tuple([shapes.reshape(shapes.part(rows, 0, i, i + 1), key.shape) for i in range(2)])


@composite(namespace=_RANDOM)
def fold_in(key: Tensor, data: Tensor) -> Tensor:
    """The key that belongs to a key and an integer (a step, a layer's number ...). Rows of keys and integers broadcast.

    >>> import functorch_lite as fl
    >>> k = fl.random.key(0)
    >>> bool((fl.random.fold_in(k, 1) == fl.random.split(k)[1]).all())
    True
    """
    _require_key("fold_in", key)
    data = array_of(data)
    lead = broadcast_shapes(key.shape[:-1], data.shape)
    return prims.fold_in(expand_to(key, (*lead, 2)), expand_to(data, lead))


@composite(namespace=_RANDOM, name="bits")
def random_bits(key: Tensor, shape: Shape = (), dtype: DType = uint32) -> Tensor:
    """Uniformly random unsigned integers: uint8, uint16, uint32 or uint64.

    >>> import functorch_lite as fl
    >>> fl.random.bits(fl.random.key(0), (2, 3), fl.uint8).dtype
    fl.uint8
    """
    _require_key("bits", key)
    ok = dtype.category == INTEGER and not dtype.is_signed
    require(ok, "bits", f"dtype must be uint8, uint16, uint32 or uint64, got {dtype}", TypeError)
    return prims.random_bits(key, _shape(shape), 8 * dtype.itemsize)


# --------------------------------------------------------------------------------------------------- floats of a grid


def _whole(key, shape, dtype: DType, odd: bool = False):
    """Random whole numbers of as many bits as dtype holds exactly, in that dtype, and how many bits those are."""
    drawn, kept = _GRID[dtype]
    n = prims.random_bits(key, _shape(shape), drawn)
    n = bits.shift_right_logical(n, algebra.full_like(n, drawn - kept))
    n = bits.bitwise_or(n, algebra.one_like(n)) if odd else n
    return to_dtype(n, dtype), kept


def _unit(key, shape, dtype: DType, odd: bool = False):
    """Uniform floats in [0, 1); in (0, 1), symmetric, if `odd`."""
    n, kept = _whole(key, shape, dtype, odd)
    return elementwise.scaled(n, 2.0**-kept)


def _centered(key, shape, dtype: DType):
    """Uniform floats in (-1, 1), exact and symmetric."""
    n, kept = _whole(key, shape, dtype, odd=True)
    n = elementwise.scaled(n, 2.0 ** (1 - kept))
    return elementwise.sub(n, algebra.one_like(n))


def _wide(dtype: DType) -> DType:
    """What a draw is computed in: float32 for the half-width floats."""
    return float64 if dtype is float64 else float32


@composite(namespace=_RANDOM)
def uniform(key: Tensor, shape: Shape = (), dtype: DType = float32, low: Tensor = 0.0, high: Tensor = 1.0) -> Tensor:
    """Uniformly distributed floats in [low, high); low and high are numbers or arrays that broadcast to shape, and have gradients.

    >>> import functorch_lite as fl
    >>> x = fl.random.uniform(fl.random.key(0), (1000,), low=-1.0, high=3.0)
    >>> x.shape, bool((x >= -1).all()), bool((x < 3).all())
    ((1000,), True, True)
    """
    _require_key("uniform", key)
    _require_float("uniform", dtype)
    unit = _unit(key, shape, dtype)
    if low.__class__ in (int, float) and high.__class__ in (int, float) and (low, high) == (0, 1):
        return unit
    low, high = (cast(x, dtype, unit.shape) for x in (low, high))
    x = elementwise.add(low, elementwise.mul(elementwise.sub(high, low), unit))
    return compare.select(compare.lt(x, high), x, low)  # rounding may have reached high


@composite(namespace=_RANDOM)
def normal(key: Tensor, shape: Shape = (), dtype: DType = float32) -> Tensor:
    """Floats of the standard normal distribution; complex ones have variance 1 (1/2 in either part).

    >>> import functorch_lite as fl
    >>> fl.random.normal(fl.random.key(0), (2, 3), fl.float64).dtype
    fl.float64
    """
    _require_key("normal", key)
    _require_float("normal", dtype, COMPLEX)
    if dtype.is_complex:
        both = normal(key, (2, *_shape(shape)), dtype.to_real())
        re, im = [shapes.reshape(shapes.part(both, key.ndim - 1, i, i + 1), _sizes(key, shape)) for i in (0, 1)]
        return parts.complex(*[elementwise.scaled(x, math.sqrt(0.5)) for x in (re, im)])
    centered = _centered(key, shape, _wide(dtype))
    return to_dtype(elementwise.scaled(special.erfinv(centered), math.sqrt(2)), dtype)


@composite(namespace=_RANDOM)
def truncated_normal(key: Tensor, lower: Tensor, upper: Tensor, shape: Shape | None = None, dtype: DType = float32) -> Tensor:
    """Floats of the standard normal distribution given that they lie in [lower, upper], which are numbers or arrays that broadcast
    to shape (by default, to one another).

    >>> import functorch_lite as fl
    >>> x = fl.random.truncated_normal(fl.random.key(0), -1.0, 1.0, (100,))
    >>> bool((abs(x) <= 1).all())
    True
    """
    _require_key("truncated_normal", key)
    _require_float("truncated_normal", dtype)
    wide = _wide(dtype)
    lower, upper = array_of(lower), array_of(upper)
    shape = broadcast_shapes(lower.shape, upper.shape) if shape is None else _shape(shape)
    unit = _unit(key, shape, wide, odd=True)
    lower, upper = (cast(x, wide, unit.shape) for x in (lower, upper))
    low, high = (special.erf(elementwise.scaled(x, math.sqrt(0.5))) for x in (lower, upper))
    x = special.erfinv(elementwise.add(low, elementwise.mul(elementwise.sub(high, low), unit)))
    x = elementwise.scaled(x, math.sqrt(2))
    return to_dtype(compare.minimum(compare.maximum(x, lower), upper), dtype)


@composite(namespace=_RANDOM)
def exponential(key: Tensor, shape: Shape = (), dtype: DType = float32) -> Tensor:
    """Positive floats of the exponential distribution with rate 1: density exp(-x).

    >>> import functorch_lite as fl
    >>> bool((fl.random.exponential(fl.random.key(0), (100,)) > 0).all())
    True
    """
    _require_key("exponential", key)
    _require_float("exponential", dtype)
    return to_dtype(elementwise.neg(elementwise.log(_unit(key, shape, _wide(dtype), odd=True))), dtype)


@composite(namespace=_RANDOM)
def gumbel(key: Tensor, shape: Shape = (), dtype: DType = float32) -> Tensor:
    """Floats of the standard Gumbel distribution: -log of exponentially distributed ones.

    >>> import functorch_lite as fl
    >>> fl.random.gumbel(fl.random.key(0), (2,)).shape
    (2,)
    """
    _require_key("gumbel", key)
    _require_float("gumbel", dtype)
    return to_dtype(elementwise.neg(elementwise.log(exponential(key, shape, _wide(dtype)))), dtype)


# ------------------------------------------------------------------------------------------------------ discrete draws


@composite(namespace=_RANDOM)
def bernoulli(key: Tensor, p: Tensor = 0.5, shape: Shape | None = None) -> Tensor:
    """Bools that are True with probability p, a number or an array that broadcasts to shape (by default, its own).

    >>> import functorch_lite as fl
    >>> fl.random.bernoulli(fl.random.key(0), fl.asarray([0.0, 1.0])).tolist()
    [False, True]
    """
    _require_key("bernoulli", key)
    p = array_of(p, float32 if aval_of(p).weak else None)
    require(p.dtype.is_floating_point, "bernoulli", f"p must have a float dtype, got {shown(p)}", TypeError)
    p = to_dtype(p, _wide(p.dtype))
    ok = compare.select(compare.ge(p, algebra.zeros(p.aval)), compare.le(p, algebra.one_like(p)), compare.lt(p, p))
    p = checks.expect(p, ok, "RuntimeError", "bernoulli: expected all probabilities to be between 0 and 1")
    unit = _unit(key, p.shape if shape is None else shape, p.dtype)
    return compare.lt(unit, expand_to(p, unit.shape))


@composite(namespace=_RANDOM, name="randint")
def _randint(key: Tensor, shape: Shape, low: Tensor, high: Tensor, dtype: DType = int64) -> Tensor:
    """Random bits modulo high - low, above low: in uint64, where differences of any integers are right."""
    _require_key("randint", key)
    require(dtype.category == INTEGER, "randint", f"dtype must be an integer dtype, got {dtype}", TypeError)
    low, high = (array_of(x) for x in (low, high))
    ok = low.dtype.category == high.dtype.category == INTEGER
    require(ok, "randint", f"low and high must be integers, got {shown(low, high)}", TypeError)
    n = prims.random_bits(key, _shape(shape), 64)
    low, high = (cast(x, uint64, n.shape) for x in (low, high))
    n = elementwise.add(low, elementwise.rem(n, elementwise.sub(high, low)))
    return to_dtype(to_dtype(n, int64), dtype)


def randint(key: Array, shape: int | Sequence[int], low: int | Array, high: int | Array, dtype=int64) -> Array:
    """Integers in [low, high), which are ints or integer arrays that broadcast to shape, low < high.

    64 random bits are taken modulo high - low, so no number is favoured by more than (high - low) / 2^64. RuntimeError for
    ints with low >= high, or out of the range of dtype.

    >>> import functorch_lite as fl
    >>> x = fl.random.randint(fl.random.key(0), (100,), 3, 6)
    >>> sorted(set(x.tolist()))
    [3, 4, 5]
    """
    dtype = as_dtype(dtype)
    if low.__class__ is int and high.__class__ is int and dtype.category == INTEGER:
        limits = iinfo(dtype)
        require(low < high, "randint", f"expected low < high, got low={low}, high={high}")
        ok = limits.min <= low and high - 1 <= limits.max
        require(ok, "randint", f"low={low} and high={high} are out of the range of {dtype}")
    return _randint(key, shape, low, high, dtype)


randint.op = _randint.op


@composite(namespace=_RANDOM)
def categorical(key: Tensor, logits: Tensor, dim: int = -1, shape: Shape | None = None) -> Tensor:
    """Indices (int64) of classes along dim, class i with probability softmax(logits)[i]; -inf excludes a class.

    The result has the shape of logits without dim, or, if given, a shape that ends in it. (The Gumbel-max trick: Maddison,
    Tarlow, Minka: A* sampling, 2014.)

    >>> import functorch_lite as fl
    >>> fl.random.categorical(fl.random.key(0), fl.asarray([0.0, -float("inf")]), shape=(3,)).tolist()
    [0, 0, 0]
    """
    _require_key("categorical", key)
    logits = array_of(logits)
    require(logits.dtype.is_floating_point, "categorical", f"logits must have a float dtype, got {shown(logits)}", TypeError)
    require(logits.ndim > 0, "categorical", f"logits must have at least one dimension, got {logits.aval}")
    logits = algebra.move(logits, canonical_dim("categorical", dim, logits.ndim), logits.ndim - 1)
    batch = logits.shape[:-1]
    shape = batch if shape is None else _shape(shape)
    ok = shape[len(shape) - len(batch) :] == batch and len(shape) >= len(batch)
    require(ok, "categorical", f"shape must end in {list(batch)}, the shape of logits without dim, got {list(shape)}", ValueError)
    noise = gumbel(key, (*shape, logits.shape[-1]), logits.dtype)
    return reduce.argmax(elementwise.add(noise, expand_to(logits, noise.shape)), noise.ndim - 1)


@composite(namespace=_RANDOM, name="permutation")
def _permutation(key: Tensor, n: int) -> Tensor:
    """A random order of n things: positions sorted by random bits."""
    _require_key("permutation", key)
    drawn = prims.random_bits(key, (n,), 64)
    return order.sort([drawn, create.iota(drawn.shape, drawn.ndim - 1, int64)], drawn.ndim - 1)[1]


def permutation(key: Array, x: int | Array, dim: int = 0) -> Array:
    """The numbers 0 to x - 1 (int64) in random order, or an Array with its rows along dim in random order.

    >>> import functorch_lite as fl
    >>> sorted(fl.random.permutation(fl.random.key(0), 4).tolist())
    [0, 1, 2, 3]
    """
    if x.__class__ is int:
        require(x >= 0, "permutation", f"expected a number that is not negative, or an Array, got {x}", ValueError)
        return _permutation(key, x)
    x = array_of(x)
    require(x.ndim > 0, "permutation", f"expected an int or an Array with at least one dimension, got {x.aval}")
    d = canonical_dim("permutation", dim, x.ndim)
    return index_select(x, d, _permutation(key, x.shape[d]))


permutation.op = _permutation.op


def choice(
    key: Tensor, a: int | Array, shape: int | Sequence[int] = (), replace: bool = True, p: Array | None = None, dim: int = 0
) -> Array:
    """Things drawn from 0 to a - 1, or from the rows of an Array along dim, with or without replacement.

    p: their probabilities, a float array that need not sum to 1; alike, if absent. RuntimeError if more are asked for without
    replacement than there are. (With p and without replacement: Gumbel top k, Kool, van Hoof, Welling, 2019.)

    >>> import functorch_lite as fl
    >>> sorted(fl.random.choice(fl.random.key(0), 3, (3,), replace=False).tolist())
    [0, 1, 2]
    """
    shape = _shape(shape)
    total = math.prod(shape)
    require(a.__class__ is int or a.ndim > 0, "choice", f"expected an int or an Array with at least one dimension, got {shown(a)}")
    d = 0 if a.__class__ is int else canonical_dim("choice", dim, a.ndim)
    n = a if a.__class__ is int else a.shape[d]
    ok = n > 0 or total == 0
    require(ok, "choice", "there is nothing to choose from")
    require(replace or total <= n, "choice", f"cannot choose {total} of {n} without replacement")
    require(p is None or p.shape == (n,), "choice", f"p must have shape [{n}], got {shown(p)}")
    if replace:
        which = randint(key, total, 0, n) if p is None else categorical(key, elementwise.log(p), shape=(total,))
    elif p is None:
        which = shapes.part(_permutation(key, n), 0, 0, total)
    else:
        which = order.top_k(elementwise.add(gumbel(key, n, p.dtype), elementwise.log(p)), total)[1]
    if a.__class__ is int:
        return shapes.reshape(which, shape)
    rows = index_select(a, d, which)
    return shapes.reshape(rows, (*a.shape[:d], *shape, *a.shape[d + 1 :]))

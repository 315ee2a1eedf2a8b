"""Putting arrays together, taking them apart, and repeating them."""

from __future__ import annotations

import numpy as np

from ..core.array import Array, Operable, asarray
from ..core.dtype import int64
from ..core.face import faced, operand
from ..core.interpreter import Traced
from ..core.op import Dims, Tensor, Tensors, composite
from ..prims import compare, create
from ..prims import shape as prims
from .arguments import require, shown
from .promotion import array_of, canonical_dim, result_type, to_dtype
from .shape import as_tuple, atleast_1d, atleast_2d, atleast_3d, reshaped, stretched, unsqueeze, varargs

# ------------------------------------------------------------------------------------------------------------- join


def _of_one_dtype(name: str, tensors, error=RuntimeError):
    require(len(tensors) > 0, name, "expected a non-empty sequence of arrays", error)
    dtype = result_type(*tensors)
    return [to_dtype(array_of(x), dtype) for x in tensors]


@composite(traits={"apart": True}, reference=lambda xs, dim=0: np.concatenate([x for x in xs if x.shape != (0,)] or xs, dim))
def cat(tensors: Tensors, dim: int = 0) -> Tensor:
    """The arrays one behind the other along dim, in the dtype to which they promote; arrays of shape (0,) are skipped.

    Raises RuntimeError if their other sizes differ or one is 0-dim.

    >>> import functorch_lite as fl
    >>> fl.cat([fl.asarray([1, 2]), fl.asarray([3.5])]).tolist()
    [1.0, 2.0, 3.5]
    """
    xs = _of_one_dtype("cat", tensors, ValueError)
    for i, x in enumerate(xs):
        require(x.ndim > 0, "cat", f"zero-dimensional array (at position {i}) cannot be concatenated; use stack")
    xs = [x for x in xs if x.shape != (0,)] or xs[:1]
    d = canonical_dim("cat", dim, xs[0].ndim)
    rest = [(*x.shape[:d], *x.shape[d + 1 :]) for x in xs]
    same = all(x.ndim == xs[0].ndim and r == rest[0] for x, r in zip(xs, rest))
    require(same, "cat", f"sizes of the arrays must match except in dimension {dim}, got {shown(*xs)}")
    return xs[0] if len(xs) == 1 else prims.concatenate(xs, d)


concat = concatenate = cat


@composite(reference=np.stack)
def stack(tensors: Tensors, dim: int = 0) -> Tensor:
    """The arrays along a new dimension, in the dtype to which they promote.

    Raises RuntimeError if their shapes differ.

    >>> import functorch_lite as fl
    >>> fl.stack([fl.asarray([1, 2]), fl.asarray([3, 4])], dim=1).tolist()
    [[1, 3], [2, 4]]
    """
    xs = _of_one_dtype("stack", tensors)
    d = canonical_dim("stack", dim, xs[0].ndim, insert=True)
    require(all(x.shape == xs[0].shape for x in xs), "stack", f"expected arrays of equal shape, got {shown(*xs)}")
    return prims.concatenate([unsqueeze(x, d) for x in xs], d) if len(xs) > 1 else unsqueeze(xs[0], d)


def _stacked(name, reference, at_least, dim_of, doc):
    def f(tensors: Tensors) -> Tensor:
        require(len(tensors) > 0, name, "expected a non-empty sequence of arrays")
        xs = at_least(list(tensors))
        return cat(xs, dim_of(xs[0].ndim))

    f.__name__ = name
    f.__doc__ = f"{doc}\n\n    >>> import functorch_lite as fl\n    >>> fl.{name}([fl.asarray([1, 2]), fl.asarray([3, 4])]).tolist()\n    "
    f.__doc__ += str(reference([[1, 2], [3, 4]]).tolist()) + "\n"
    return composite(f, reference=reference)


hstack = _stacked("hstack", np.hstack, atleast_1d, lambda n: min(n - 1, 1), "Arrays joined along dimension 1 (0, for 1-dim ones).")
vstack = _stacked("vstack", np.vstack, atleast_2d, lambda n: 0, "Arrays joined along dimension 0, as rows if they have only one.")
dstack = _stacked("dstack", np.dstack, atleast_3d, lambda n: 2, "Arrays joined along the third dimension.")
row_stack = vstack


@composite(reference=np.column_stack)
def column_stack(tensors: Tensors) -> Tensor:
    """1-dim arrays as the columns of a matrix; arrays of more dimensions joined along dimension 1.

    >>> import functorch_lite as fl
    >>> fl.column_stack([fl.asarray([1, 2]), fl.asarray([3, 4])]).tolist()
    [[1, 3], [2, 4]]
    """
    return hstack([x if x.ndim > 1 else reshaped(x, (x.aval.size, 1)) for x in map(array_of, tensors)])


# ------------------------------------------------------------------------------------------------------------ split


def _pieces(x, dim: int, ends):
    """x cut along dim at these rising positions, the last of which is its size."""
    return prims.pieces(x, tuple(ends), dim)


def _dim(name: str, x, dim: int) -> int:
    require(x.ndim > 0, name, f"expected at least one dimension, got {x.aval}")
    return canonical_dim(name, dim, x.ndim)


@composite(multi=True, method=True, reference=lambda x, n, dim=0: tuple(np.split(x, _split_ends(x.shape[dim], n)[:-1], dim)), view=True)
def split(tensor: Tensor, split_size_or_sections: Dims, dim: int = 0) -> tuple:
    """The array in pieces along dim (a tuple): of one size, the last perhaps smaller, or of the sizes in a sequence.

    Raises RuntimeError if the sizes do not sum to the dimension.

    >>> import functorch_lite as fl
    >>> [x.tolist() for x in fl.asarray([1, 2, 3]).split(2)]
    [[1, 2], [3]]
    """
    x = array_of(tensor)
    d = _dim("split", x, dim)
    sizes = split_size_or_sections
    if isinstance(sizes, int):
        require(sizes > 0 or sizes == x.shape[d] == 0, "split", f"the size of pieces must be positive, got {sizes}")
        return _pieces(x, d, _split_ends(x.shape[d], sizes))
    return _pieces(x, d, _ends_of("split", x, d, sizes))


@composite(multi=True, method=True, reference=split.op.reference, view=True)
def split_with_sizes(input: Tensor, split_sizes: Dims, dim: int = 0) -> tuple:
    """The array in pieces of these sizes along dim (a tuple): `split` with a sequence.

    Raises RuntimeError if the sizes do not sum to the dimension.

    >>> import functorch_lite as fl
    >>> [x.tolist() for x in fl.split_with_sizes(fl.asarray([1, 2, 3]), [1, 2])]
    [[1], [2, 3]]
    """
    x = array_of(input)
    d = _dim("split_with_sizes", x, dim)
    return _pieces(x, d, _ends_of("split_with_sizes", x, d, as_tuple(split_sizes)))


def _ends_of(name: str, x, d: int, sizes) -> list[int]:
    """Where pieces of these sizes end, which together are dimension d."""
    ok = sum(sizes) == x.shape[d] and min(sizes, default=0) >= 0
    require(ok, name, f"sizes must sum exactly to {x.shape[d]} (of {x.aval} along dimension {d}), got {list(sizes)}")
    return np.cumsum(sizes, dtype=int).tolist()


def _split_ends(n: int, sizes) -> list[int]:
    if isinstance(sizes, int):
        return [*range(sizes, n, sizes), n] if sizes else [n]
    return np.cumsum(sizes, dtype=int).tolist()


@composite(
    multi=True,
    method=True,
    reference=lambda x, chunks, dim=0: tuple(np.split(x, _split_ends(x.shape[dim], -(-x.shape[dim] // chunks))[:-1], dim)),
    view=True,
)
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple:
    """Input in at most this many pieces of equal size along dim (a tuple); the last may be smaller.

    >>> import functorch_lite as fl
    >>> [x.tolist() for x in fl.asarray([1, 2, 3, 4, 5]).chunk(3)]
    [[1, 2], [3, 4], [5]]
    """
    x = array_of(input)
    d = _dim("chunk", x, dim)
    require(chunks > 0, "chunk", f"chunks must be greater than 0, got {chunks}")
    n = x.shape[d]
    return _pieces(x, d, _split_ends(n, -(-n // chunks)) if n else [0] * chunks)


@composite(
    multi=True, method=True, reference=lambda x, indices_or_sections, dim=0: tuple(np.array_split(x, indices_or_sections, dim)), view=True
)
def tensor_split(input: Tensor, indices_or_sections: Dims, dim: int = 0) -> tuple:
    """Input in this many pieces along dim (a tuple), the first ones larger by one where it does not divide; or cut at the indices.

    >>> import functorch_lite as fl
    >>> [x.tolist() for x in fl.asarray([1, 2, 3, 4, 5]).tensor_split(2)], [x.tolist() for x in fl.asarray([1, 2, 3]).tensor_split((1,))]
    ([[1, 2, 3], [4, 5]], [[1], [2, 3]])
    """
    x = array_of(input)
    d = _dim("tensor_split", x, dim)
    n, cuts = x.shape[d], indices_or_sections
    if isinstance(cuts, int):
        require(cuts > 0, "tensor_split", f"the number of sections must be larger than 0, got {cuts}")
        ends = np.cumsum([n // cuts + (i < n % cuts) for i in range(cuts)]).tolist()
        return _pieces(x, d, ends)
    bounds = [slice(a, b).indices(n)[:2] for a, b in zip((0, *cuts), (*cuts, n))]
    return tuple([prims.part(x, d, a, max(a, b)) for a, b in bounds])


def _split_along(name: str, dim_of, least: int, where: str, example: str):
    def f(input, indices_or_sections):
        x = operand(input)
        require(x.ndim >= least, name, f"expected an array of at least {least} dimension(s), got {x.aval}")
        d = dim_of(x.ndim)
        if isinstance(indices_or_sections, int) and indices_or_sections > 0:
            ok = x.shape[d] % indices_or_sections == 0
            require(ok, name, f"size {x.shape[d]} of dimension {d} is not divisible by {indices_or_sections}; use tensor_split")
        return tensor_split(x, indices_or_sections, d)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"""Input in this many equal pieces along {where}, or cut at these indices (a tuple).

    Raises RuntimeError where it does not divide.

    >>> import functorch_lite as fl
    >>> {example}
    [[1, 2], [3, 4]]
    """
    return f


_ROW = "[x.ravel().tolist() for x in fl.{}(fl.asarray({}), 2)]"
hsplit = _split_along("hsplit", lambda n: min(n - 1, 1), 1, "dimension 1 (0, for a 1-dim array)", _ROW.format("hsplit", "[1, 2, 3, 4]"))
vsplit = _split_along("vsplit", lambda n: 0, 2, "dimension 0", _ROW.format("vsplit", "[[1, 2], [3, 4]]"))
dsplit = _split_along("dsplit", lambda n: 2, 3, "the third dimension", _ROW.format("dsplit", "[[[1, 2, 3, 4]]]"))
Operable.hsplit, Operable.vsplit, Operable.dsplit = hsplit, vsplit, dsplit


@composite(multi=True, method=True, reference=lambda x, dim=0: tuple(np.moveaxis(x, dim, 0)), view=True)
def unbind(input: Tensor, dim: int = 0) -> tuple:
    """The rows of input along dim (a tuple), without that dimension.

    >>> import functorch_lite as fl
    >>> [x.tolist() for x in fl.unbind(fl.asarray([[1, 2], [3, 4]]))]
    [[1, 2], [3, 4]]
    """
    x = array_of(input)
    require(x.ndim > 0, "unbind", f"dimension specified as {dim} but the array has no dimensions", IndexError)
    d = canonical_dim("unbind", dim, x.ndim)
    row = (*x.shape[:d], *x.shape[d + 1 :])
    return tuple([reshaped(prims.part(x, d, i, i + 1), row) for i in range(x.shape[d])])


def _iterate(self):
    if not self.ndim:
        raise TypeError("iteration over a 0-d Array")
    return iter(unbind(self, 0))


Operable.__iter__ = _iterate

# ----------------------------------------------------------------------------------------------------------- repeat


def _tiled(x, counts: tuple[int, ...]):
    """x repeated as a whole along each dimension; counts has an entry for each."""
    if all(n == 1 for n in counts):
        return x
    pairs = tuple([n for pair in zip(counts, x.shape) for n in pair])
    wide = prims.broadcast(x, pairs, tuple(range(1, len(pairs), 2)))
    return prims.reshape(wide, tuple([a * b for a, b in zip(counts, x.shape)]))


def _counts(name: str, counts) -> tuple[int, ...]:
    counts = as_tuple(counts)
    require(all(n >= 0 for n in counts), name, f"the number of repetitions must not be negative, got {list(counts)}")
    return counts


@composite(reference=np.tile)
def tile(input: Tensor, dims: Dims) -> Tensor:
    """Input repeated dims[i] times along dimension i, counted from the last; missing entries are 1.

    >>> import functorch_lite as fl
    >>> fl.tile(fl.asarray([1, 2]), (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    x, counts = array_of(input), _counts("tile", dims)
    n = max(x.ndim, len(counts))
    return _tiled(reshaped(x, (1,) * (n - x.ndim) + x.shape), (1,) * (n - len(counts)) + counts)


@composite(reference=np.tile)
def repeat(input: Tensor, repeats: Dims) -> Tensor:
    """Input repeated repeats[i] times along dimension i: `tile` with an entry for every dimension at least.

    Raises RuntimeError for fewer entries than dimensions.

    >>> import functorch_lite as fl
    >>> fl.asarray([1, 2]).repeat(2, 2).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    x, counts = array_of(input), _counts("repeat", repeats)
    require(
        len(counts) >= x.ndim,
        "repeat",
        f"the number of repeats must not be smaller than the number of dimensions of {x.aval}, got {list(counts)}",
    )
    return _tiled(reshaped(x, (1,) * (len(counts) - x.ndim) + x.shape), counts)


Operable.tile, Operable.repeat = varargs(tile), varargs(repeat)


@composite(name="repeat_each", reference=np.repeat)
def _repeat_each(input: Tensor, repeats: int, dim: int) -> Tensor:
    """Each element repeated this many times along dim."""
    x = array_of(input)
    d = canonical_dim("repeat_interleave", dim, x.ndim)
    wide = stretched("repeat_interleave", unsqueeze(x, d + 1), (*x.shape[: d + 1], repeats, *x.shape[d + 1 :]))
    return prims.reshape(wide, (*x.shape[:d], x.shape[d] * repeats, *x.shape[d + 1 :]))


@composite
def _repeat_counted(input: Tensor, repeats: Tensor, dim: int, output_size: int) -> Tensor:
    """Each element along dim repeated as often as its count says, of which the sum is output_size."""
    from .gathers import index_select
    from .order import cumsum, searchsorted

    x, counts = array_of(input), array_of(repeats)
    n = x.shape[canonical_dim("repeat_interleave", dim, x.ndim)] if x.ndim else 1
    ok = counts.ndim < 2 and counts.aval.size in (1, n)
    require(
        ok, "repeat_interleave", f"repeats must have one entry or one for each of {n} elements along dimension {dim}, got {shown(counts)}"
    )
    ends = cumsum(stretched("repeat_interleave", reshaped(counts, (counts.aval.size,)), (n,)), 0)
    places = searchsorted(ends, create.iota((output_size,), 0, int64), right=True)
    return index_select(x, dim, compare.minimum(places, create.full((output_size,), max(n - 1, 0), int64)))


@faced
def repeat_interleave(input: Tensor, repeats: Dims, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
    """Each element along dim repeated `repeats` times (an int, or an int for each); without dim the flattened input.

    The counts decide the shape of the result, so they must be known: under jit they are Python ints, or ``output_size``, their sum, is given
    (and not checked).

    >>> import functorch_lite as fl
    >>> fl.repeat_interleave(fl.asarray([1, 2]), 2).tolist(), fl.asarray([[1], [2]]).repeat_interleave([1, 2], dim=0).tolist()
    ([1, 1, 2, 2], [[1], [2], [2]])
    """
    from .gathers import index_select

    name = "repeat_interleave"
    x = asarray(input)
    if dim is None:
        x, dim = reshaped(x, (x.aval.size,)), 0
    if repeats.__class__ is Traced and output_size is not None:
        return _repeat_counted(x, repeats, dim, output_size)
    counts = np.asarray(repeats.concrete(f"the counts of {name}") if isinstance(repeats, Array) else repeats)
    require(
        counts.ndim < 2 and counts.dtype.kind in "iu", name, f"repeats must be an int or a sequence of ints, got {repeats!r}", TypeError
    )
    require(counts.size == 0 or counts.min() >= 0, name, "repeats must not be negative")
    n = x.shape[canonical_dim(name, dim, x.ndim)] if x.ndim else 1
    require(
        counts.size in (1, n), name, f"repeats must have one entry or one for each of {n} elements along dimension {dim}, got {counts.size}"
    )
    total = int(counts.sum()) * (n if counts.size == 1 else 1)
    require(output_size in (None, total), name, f"output_size={output_size} is not the sum of the counts, {total}")
    if counts.size == 1:
        return _repeat_each(x if x.ndim else reshaped(x, (1,)), int(counts.reshape(())), dim)
    return index_select(x, dim, np.repeat(np.arange(n), counts))


Operable.repeat_interleave = repeat_interleave


__all__ = (
    "cat chunk column_stack concat concatenate dsplit dstack hsplit hstack repeat_interleave row_stack split split_with_sizes stack "
    "tensor_split tile unbind vsplit vstack"
).split()

"""Elements in other places: flips, rolls, diagonals, padding, windows."""

from __future__ import annotations

import numpy as np

from ..core.array import Operable
from ..core.aval import aval
from ..core.dtype import int64
from ..core.op import Dims, Tensor, composite
from ..prims import algebra, create, index
from ..prims import shape as prims
from .arguments import require
from .promotion import array_of, canonical_dim, canonical_dims, cast
from .shape import as_tuple, permuted, reshaped, varargs

# ------------------------------------------------------------------------------------------------------ flip and roll


def _flipped(x, dims):
    return prims.flip(x, dims) if dims else x


@composite(reference=lambda x, dims: np.flip(x, dims if x.ndim else ()))
def flip(input: Tensor, dims: Dims) -> Tensor:
    """Input in reverse order along dims (an int or several).

    >>> import functorch_lite as fl
    >>> fl.asarray([1, 2, 3]).flip(0).tolist()
    [3, 2, 1]
    """
    x = array_of(input)
    return _flipped(x, canonical_dims("flip", dims, x.ndim) if dims != () else ())


Operable.flip = varargs(flip)


@composite(method=True, reference=np.fliplr)
def fliplr(input: Tensor) -> Tensor:
    """Input in reverse order along dimension 1.

    >>> import functorch_lite as fl
    >>> fl.fliplr(fl.asarray([[1, 2], [3, 4]])).tolist()
    [[2, 1], [4, 3]]
    """
    x = array_of(input)
    require(x.ndim >= 2, "fliplr", f"expected at least 2 dimensions, got {x.aval}")
    return _flipped(x, (1,))


@composite(method=True, reference=np.flipud)
def flipud(input: Tensor) -> Tensor:
    """Input in reverse order along dimension 0.

    >>> import functorch_lite as fl
    >>> fl.flipud(fl.asarray([[1, 2], [3, 4]])).tolist()
    [[3, 4], [1, 2]]
    """
    x = array_of(input)
    require(x.ndim >= 1, "flipud", f"expected at least 1 dimension, got {x.aval}")
    return _flipped(x, (0,))


@composite(method=True, reference=lambda x, shifts, dims=None: np.roll(x, shifts, dims if x.ndim else None))
def roll(input: Tensor, shifts: Dims, dims: Dims | None = None) -> Tensor:
    """Input moved `shifts` places further along dims, what falls off coming in at the other end; without dims the flattened input.

    >>> import functorch_lite as fl
    >>> fl.asarray([1, 2, 3]).roll(1).tolist()
    [3, 1, 2]
    """
    x = array_of(input)
    shifts, shape = as_tuple(shifts), x.shape
    if dims is None or dims == ():
        require(len(shifts) == 1, "roll", f"shifts and dims must have as many entries each, got shifts={shifts} without dims")
        x, dims = reshaped(x, (x.aval.size,)), (0,)
    dims = as_tuple(dims)
    require(len(shifts) == len(dims), "roll", f"shifts and dims must have as many entries each, got shifts={shifts}, dims={dims}")
    require(x.ndim > 0, "roll", f"dimension specified as {dims[0]} but the array has no dimensions", IndexError)
    for shift, dim in zip(shifts, dims):
        d = canonical_dim("roll", dim, x.ndim)
        n = x.shape[d]
        if n and shift % n:
            at = n - shift % n
            x = prims.concatenate([prims.part(x, d, at, n), prims.part(x, d, 0, at)], d)
    return reshaped(x, shape)


@composite(method=True, reference=np.rot90)
def rot90(input: Tensor, k: int = 1, dims: Dims = (0, 1)) -> Tensor:
    """Input turned by k quarters in the plane of two dimensions, from the first towards the second.

    >>> import functorch_lite as fl
    >>> fl.rot90(fl.asarray([[1, 2], [3, 4]])).tolist()
    [[2, 4], [1, 3]]
    """
    x = array_of(input)
    require(
        len(as_tuple(dims)) == 2 and x.ndim >= 2,
        "rot90",
        f"expected 2 dims of an array of at least 2 dimensions, got dims={dims}, {x.aval}",
    )
    a, b = (canonical_dim("rot90", d, x.ndim) for d in dims)
    require(a != b, "rot90", f"expected two different dims, got {dims}")
    if k % 4 in (1, 2):
        x = prims.flip(x, (b,))
    if k % 4 in (2, 3):
        x = prims.flip(x, (a,))
    order = list(range(x.ndim))
    if k % 2:
        order[a], order[b] = b, a
    return permuted(x, tuple(order))


# -------------------------------------------------------------------------------------------------------- diagonals


def two_dims(name: str, dim1: int, dim2: int, ndim: int) -> tuple[int, int]:
    a, b = canonical_dim(name, dim1, ndim), canonical_dim(name, dim2, ndim)
    require(a != b, name, f"dim1 and dim2 must be different dimensions, got {dim1} and {dim2}")
    return a, b


@composite(method=True, reference=np.diagonal, view=True)
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal over two dimensions, as a new last one; offset > 0 is above the main diagonal, < 0 below.

    >>> import functorch_lite as fl
    >>> fl.asarray([[1, 2], [3, 4]]).diagonal().tolist()
    [1, 4]
    """
    x = array_of(input)
    a, b = two_dims("diagonal", dim1, dim2, x.ndim)
    others = tuple([d for d in range(x.ndim) if d not in (a, b)])
    x = permuted(x, (*others, a, b))
    *batch, n, m = x.shape
    start, length = diagonal_of(n, m, offset)
    flat = prims.reshape(x, (*batch, n * m))
    last = start + (length - 1) * (m + 1) + 1 if length else start
    zeros, ones = (0,) * len(batch), (1,) * len(batch)
    return prims.slice_(flat, (*zeros, start), (*batch, last), (*ones, m + 1))


def diagonal_of(n: int, m: int, offset: int) -> tuple[int, int]:
    """Where a diagonal of an n x m matrix starts in its flat form, and its length; the next element is m + 1 further on."""
    length = max(min(n, m - offset) if offset >= 0 else min(n + offset, m), 0)
    return (offset if offset >= 0 else -offset * m) if length else 0, length


def on_diagonal(x, n: int, m: int, offset: int):
    """n x m matrices with the last dimension of x on a diagonal that has its length, and zeros elsewhere."""
    *batch, length = x.shape
    start = diagonal_of(n, m, offset)[0] if length else 0
    spread = (length - 1) * (m + 1) + 1 if length else 0
    none = (0,) * len(batch)
    flat = prims.pad(x, algebra.zeros(aval((), x.dtype)), (*none, start), (*none, n * m - start - spread), (*none, m))
    return prims.reshape(flat, (*batch, n, m))


@composite(method=True, reference=lambda x, offset=0, dim1=-2, dim2=-1: _diag_embed_reference(x, offset, dim1, dim2))
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Square matrices, in dim1 and dim2 of the result, with the last dimension of input on a diagonal and zeros elsewhere.

    >>> import functorch_lite as fl
    >>> fl.diag_embed(fl.asarray([1, 2])).tolist()
    [[1, 0], [0, 2]]
    """
    x = array_of(input)
    require(x.ndim >= 1, "diag_embed", f"expected at least 1 dimension, got {x.aval}", IndexError)
    a, b = two_dims("diag_embed", dim1, dim2, x.ndim + 1)
    batch, n = x.shape[:-1], x.shape[-1] + abs(offset)
    x = on_diagonal(x, n, n, offset)
    order = list(range(len(batch)))
    for to, d in sorted(((a, len(batch)), (b, len(batch) + 1))):
        order.insert(to, d)
    return permuted(x, tuple(order))


def _diag_embed_reference(x, offset, dim1, dim2):
    n = x.shape[-1] + abs(offset)
    out = np.zeros((*x.shape[:-1], n, n), x.dtype)
    rows = np.arange(x.shape[-1])
    out[..., rows - min(offset, 0), rows + max(offset, 0)] = x
    return np.moveaxis(out, (-2, -1), (dim1, dim2))


@composite(method=True, reference=np.diag)
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A diagonal of a matrix, or the matrix that has a 1-dim input on that diagonal.

    >>> import functorch_lite as fl
    >>> fl.diag(fl.asarray([1, 2])).tolist(), fl.diag(fl.asarray([[1, 2], [3, 4]]), 1).tolist()
    ([[1, 0], [0, 2]], [2])
    """
    x = array_of(input)
    require(x.ndim in (1, 2), "diag", f"expected 1 or 2 dimensions, got {x.aval}; use diagonal or diag_embed")
    return diag_embed(x, diagonal) if x.ndim == 1 else _diagonal(x, diagonal)


_diagonal = diagonal  # `diag` has a parameter of this name


@composite(method=True, reference=lambda x, offset=0: np.diagflat(x, offset))
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix with all elements of input, in row-major order, on a diagonal.

    >>> import functorch_lite as fl
    >>> fl.diagflat(fl.asarray([[1, 2]])).tolist()
    [[1, 0], [0, 2]]
    """
    x = array_of(input)
    return diag_embed(reshaped(x, (x.aval.size,)), offset)


# ---------------------------------------------------------------------------------------------------------- padding


@composite(reference=lambda x, pad, mode="constant", value=None: _pad_reference(x, pad, mode, value))
def pad(input: Tensor, pad: Dims, mode: str = "constant", value: Tensor | None = None) -> Tensor:
    """Input with pad[0] elements before and pad[1] behind it along the last dimension, pad[2] and pad[3] along the one before, and so on.

    mode: 'constant' (value, by default 0), 'reflect' (mirrored without the edge), 'replicate' (the edge repeated) or 'circular'.
    Negative numbers cut elements off. Raises RuntimeError for padding that the mode cannot make of this size.

    >>> import functorch_lite as fl
    >>> fl.pad(fl.asarray([1, 2, 3]), (1, 2), mode="reflect").tolist()
    [2, 1, 2, 3, 2, 1]
    """
    x = array_of(input)
    require(len(pad) % 2 == 0, "pad", f"the padding length must be divisible by 2, got {list(pad)}")
    require(
        len(pad) <= 2 * x.ndim, "pad", f"the padding length must be at most twice the number of dimensions of {x.aval}, got {list(pad)}"
    )
    require(mode == "constant" or value is None or value == 0, "pad", f"mode {mode!r} takes no value, got {value}", ValueError)
    pairs = [(pad[2 * i], pad[2 * i + 1]) for i in range(len(pad) // 2)]
    if mode == "constant":
        low, high = ([0] * (x.ndim - len(pairs)) + [p[side] for p in reversed(pairs)] for side in (0, 1))
        for d, (n, a, b) in enumerate(zip(x.shape, low, high)):
            require(n + a + b >= 0, "pad", f"padding {a} and {b} of dimension {d} of {x.aval} would leave a negative size")
        if not any((*low, *high)):
            return x
        return prims.pad(x, cast(0 if value is None else value, x.dtype, ()), tuple(low), tuple(high), (0,) * x.ndim)
    if mode not in _EDGES:
        raise NotImplementedError(f"pad: unrecognised padding mode {mode!r}; expected 'constant', 'reflect', 'replicate' or 'circular'")
    for i, (low, high) in enumerate(pairs):
        x = _padded_along(x, x.ndim - 1 - i, low, high, mode)
    return x


def _padded_along(x, d: int, low: int, high: int, mode: str):
    n, (edge, room) = x.shape[d], _EDGES[mode]
    require(
        n + min(low, 0) + min(high, 0) >= 0, "pad", f"padding {low} and {high} of dimension {d} of {x.aval} would leave a negative size"
    )
    inner = prims.part(x, d, max(-low, 0), n - max(-high, 0)) if low < 0 or high < 0 else x
    if mode == "circular":  # what is cut off does not come in at the other end, but an edge mirrors it
        x, n = inner, inner.shape[d]
    ok = max(low, high) <= room(n)
    require(ok, "pad", f"{mode} padding of dimension {d} must be at most {room(n)}, got {low} and {high} for {x.aval}")
    before = [edge(x, d, n, low, True)] if low > 0 else []
    behind = [edge(x, d, n, high, False)] if high > 0 else []
    return prims.concatenate([*before, inner, *behind], d) if before or behind else inner


def _reflected(x, d, n, k, before):
    return prims.flip(prims.part(x, d, 1, k + 1) if before else prims.part(x, d, n - 1 - k, n - 1), (d,))


def _replicated(x, d, n, k, before):
    row = prims.part(x, d, 0, 1) if before else prims.part(x, d, n - 1, n)
    return prims.broadcast(row, (*x.shape[:d], k, *x.shape[d + 1 :]), tuple(range(x.ndim)))


def _wrapped(x, d, n, k, before):
    return prims.part(x, d, n - k, n) if before else prims.part(x, d, 0, k)


# mode -> (what stands beyond an edge, how much of it a dimension of size n can give)
_EDGES = {
    "reflect": (_reflected, lambda n: n - 1),
    "replicate": (_replicated, lambda n: 10**9 if n else 0),
    "circular": (_wrapped, lambda n: n),
}
_NUMPY_MODES = {"reflect": "reflect", "replicate": "edge"}


def _pad_reference(x, pad, mode, value):
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    grown = [(max(a, 0), max(b, 0)) for a, b in pairs]

    def cut(x):
        return x[tuple([slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, x.shape)])]

    if mode == "constant":
        return np.pad(cut(x), grown, constant_values=0 if value is None else value)
    return np.pad(cut(x), grown, mode="wrap") if mode == "circular" else cut(np.pad(x, grown, mode=_NUMPY_MODES[mode]))


@composite(reference=lambda x, pad, value=0: _pad_reference(x, pad, "constant", value))
def constant_pad_nd(input: Tensor, pad: Dims, value: Tensor = 0) -> Tensor:
    """`pad` by a constant.

    >>> import functorch_lite as fl
    >>> fl.constant_pad_nd(fl.asarray([1, 2]), (1, 1), 9).tolist()
    [9, 1, 2, 9]
    """
    return _pad(input, pad, "constant", value)


_pad = pad  # `constant_pad_nd` has a parameter of this name


# ---------------------------------------------------------------------------------------------------------- windows


@composite(
    method="unfold",
    reference=lambda x, d, size, step: _unfold_reference(x, d, size, step),
    view=True,
    traits={"overlaps": lambda d, size, step: step < size},
)
def unfold_dim(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """All windows of this size along a dimension, `step` apart; the window's elements come in a new last dimension.

    (The method `x.unfold`; `nn.functional.unfold` takes blocks of images.)

    >>> import functorch_lite as fl
    >>> fl.asarray([1, 2, 3, 4]).unfold(0, 2, 1).tolist()
    [[1, 2], [2, 3], [3, 4]]
    """
    x = array_of(input)
    d = canonical_dim("unfold", dimension, x.ndim)
    if not x.ndim:
        require(size == 1 and step > 0, "unfold", f"a 0-dim array has one window, of size 1, got {size=}, {step=}")
        return reshaped(x, (1,))
    require(step > 0, "unfold", f"step must be greater than 0, got {step}")
    require(0 <= size <= x.shape[d], "unfold", f"size must be between 0 and {x.shape[d]}, the size of dimension {d}, got {size}")
    count = (x.shape[d] - size) // step + 1
    if size == 0:
        return create.full((*x.shape[:d], count, *x.shape[d + 1 :], 0), 0, x.dtype)
    starts = create.iota((count,), 0, int64)
    if step > 1:
        starts = algebra.mul(starts, algebra.full_like(starts, step))
    windows = index.gather(x, [starts], (d,), (size,), ((), ()), d, "inside", step >= size)
    order = [i for i in range(x.ndim + 1) if i != d + 1]
    return permuted(windows, (*order, d + 1))


def _unfold_reference(x, dimension, size, step):
    if not x.ndim:
        return x.reshape(1)
    windows = np.lib.stride_tricks.sliding_window_view(x, size, dimension)
    return windows[(slice(None),) * (dimension % x.ndim) + (slice(None, None, step),)]


__all__ = "constant_pad_nd diag diag_embed diagflat diagonal flip fliplr flipud pad roll rot90".split()

"""The same elements under another shape: reshaping, reordering dimensions, broadcasting."""

from __future__ import annotations

import math

import numpy as np

from ..core.array import Operable
from ..core.dtype import DType
from ..core.face import operand
from ..core.op import Dims, Shape, Tensor, composite
from ..prims import convert, parts
from ..prims import shape as prims
from .arguments import require
from .promotion import array_of, broadcast_shapes, canonical_dim, canonical_dims


def varargs(function):
    """A method of an op that takes ints after the array: they may come one by one or as one sequence."""

    def method(self, *sizes, **named):
        if len(sizes) == 1 and not isinstance(sizes[0], int):
            sizes = sizes[0]
        return function(self, **named) if named and not sizes else function(self, sizes, **named)

    method.__name__ = method.__qualname__ = function.__name__
    method.__doc__ = function.__doc__
    return method


def as_tuple(x) -> tuple[int, ...]:
    """One int as a sequence of it."""
    return (x,) if isinstance(x, int) else tuple(x)


def reshaped(x, shape: tuple[int, ...]):
    """x under a shape of ints that are all known."""
    return x if x.shape == shape else prims.reshape(x, shape)


def permuted(x, order: tuple[int, ...]):
    """x with its dimensions in this order."""
    return x if order == tuple(range(x.ndim)) else prims.permute(x, order)


# ---------------------------------------------------------------------------------------------------------- reshape


def filled_in(name: str, shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """A shape with its -1 replaced by what makes it hold `size` elements."""
    shape = as_tuple(shape)
    holes = [i for i, n in enumerate(shape) if n == -1]
    require(len(holes) < 2, name, f"only one dimension can be inferred, got shape {list(shape)}")
    require(all(n >= -1 for n in shape), name, f"invalid shape {list(shape)}: sizes must not be negative, except for one -1")
    if not holes:
        require(math.prod(shape) == size, name, f"shape {list(shape)} is invalid for input of size {size}")
        return shape
    rest = math.prod(n for n in shape if n != -1)
    require(rest > 0, name, f"cannot infer the -1 of shape {list(shape)}: with a size of 0 beside it, any number would do")
    require(size % rest == 0, name, f"shape {list(shape)} is invalid for input of size {size}")
    return tuple([size // rest if n == -1 else n for n in shape])


@composite(reference=np.reshape, view=True, traits={"reshapes": True})
def reshape(input: Tensor, shape: Shape) -> Tensor:
    """The elements of input in row-major order under another shape; one size may be -1 and follows from the others.

    Raises RuntimeError if the sizes do not multiply to the number of elements.

    >>> import functorch_lite as fl
    >>> fl.reshape(fl.asarray([1, 2, 3, 4]), (2, -1)).tolist()
    [[1, 2], [3, 4]]
    """
    x = array_of(input)
    return reshaped(x, filled_in("reshape", shape, x.aval.size))


@composite(name="view_dtype", view=lambda base, new, dtype: _view_dtype(new, base.dtype))
def _view_dtype(input: Tensor, dtype: DType) -> Tensor:
    """The bits of input as another dtype; the last dimension grows or shrinks as the elements do, as in PyTorch."""
    x = array_of(input)
    old, new = x.dtype.itemsize, dtype.itemsize
    if old == new:
        return convert.bitcast(x, dtype)
    require(x.ndim > 0, "view", f"a 0-dim array cannot be viewed as a dtype of another size, got {x.aval} and {dtype}")
    if old > new:
        out = convert.bitcast(x, dtype)
        return prims.reshape(out, (*x.shape[:-1], x.shape[-1] * (old // new)))
    ratio = new // old
    require(x.shape[-1] % ratio == 0, "view", f"the last dimension of {x.aval} must be divisible by {ratio} to view it as {dtype}")
    return convert.bitcast(prims.reshape(x, (*x.shape[:-1], x.shape[-1] // ratio, ratio)), dtype)


def view(input: Tensor, *shape) -> Tensor:
    """`reshape` (arrays have no strides, so every view is possible), or with a dtype the same bits read as that dtype.

    >>> import functorch_lite as fl
    >>> fl.asarray([1, 2, 3, 4]).view(2, 2).shape, fl.asarray([1.0]).view(fl.int32).tolist()
    ((2, 2), [1065353216])
    """
    if len(shape) == 1 and isinstance(shape[0], DType):
        return _view_dtype(input, shape[0])
    return _reshape_method(input, *shape)


_reshape_method = varargs(reshape)
Operable.reshape, Operable.view = _reshape_method, view
Operable.view_as = Operable.reshape_as = lambda self, other: reshape(self, other.shape)


@composite(
    method=True,
    reference=lambda x, start_dim=0, end_dim=-1: _flatten_reference(x, start_dim, end_dim),
    view=True,
    traits={"reshapes": True},
)
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Input with its dimensions from start_dim to end_dim (inclusive) made one; a 0-dim input becomes one of shape (1,).

    >>> import functorch_lite as fl
    >>> fl.asarray([[1, 2], [3, 4]]).flatten().tolist()
    [1, 2, 3, 4]
    """
    x = array_of(input)
    first, last = canonical_dim("flatten", start_dim, x.ndim), canonical_dim("flatten", end_dim, x.ndim)
    require(first <= last, "flatten", f"start_dim must not come after end_dim, got {start_dim=}, {end_dim=} for {x.aval}")
    return reshaped(x, (*x.shape[:first], math.prod(x.shape[first : last + 1]), *x.shape[last + 1 :]))


def _flatten_reference(x, start_dim, end_dim):
    shape = x.shape or (1,)
    first, last = start_dim % len(shape), end_dim % len(shape)
    return x.reshape(*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :])


@composite(method=True, reference=np.ravel, view=True, traits={"reshapes": True})
def ravel(input: Tensor) -> Tensor:
    """All elements in row-major order, as one dimension.

    >>> import functorch_lite as fl
    >>> fl.ravel(fl.asarray([[1, 2], [3, 4]])).shape
    (4,)
    """
    x = array_of(input)
    return reshaped(x, (x.aval.size,))


@composite(method=True, view=True, traits={"reshapes": True})
def unflatten(input: Tensor, dim: int, sizes: Shape) -> Tensor:
    """Input with one dimension split into several; one of sizes may be -1.

    >>> import functorch_lite as fl
    >>> fl.asarray([1, 2, 3, 4, 5, 6]).unflatten(0, (2, -1)).shape
    (2, 3)
    """
    x = array_of(input)
    d = canonical_dim("unflatten", dim, x.ndim)
    require(len(as_tuple(sizes)) > 0, "unflatten", "sizes must not be empty")
    require(x.ndim > 0, "unflatten", f"expected an input with dimensions, got {x.aval}")
    return reshaped(x, (*x.shape[:d], *filled_in("unflatten", sizes, x.shape[d]), *x.shape[d + 1 :]))


@composite(method=True, reference=lambda x, dim=None: _squeeze_reference(x, dim), view=True)
def squeeze(input: Tensor, dim: Dims | None = None) -> Tensor:
    """Input without its dimensions of size 1, or without those among dim (an int or several) that have size 1.

    >>> import functorch_lite as fl
    >>> fl.asarray([[[1, 2]]]).squeeze().shape, fl.asarray([[[1, 2]]]).squeeze(0).shape, fl.asarray([[[1, 2]]]).squeeze(2).shape
    ((2,), (1, 2), (1, 1, 2))
    """
    x = array_of(input)
    dims = range(x.ndim) if dim is None else canonical_dims("squeeze", dim, x.ndim) if dim != () else ()
    return reshaped(x, tuple([n for d, n in enumerate(x.shape) if n != 1 or d not in dims]))


def _squeeze_reference(x, dim):
    dims = range(x.ndim) if dim is None else [d % max(x.ndim, 1) for d in as_tuple(dim)]
    return x.reshape([n for d, n in enumerate(x.shape) if n != 1 or d not in dims])


@composite(method=True, reference=np.expand_dims, view=True)
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Input with a new dimension of size 1 at position dim, which may be -input.dim()-1 to input.dim().

    >>> import functorch_lite as fl
    >>> fl.asarray([1, 2]).unsqueeze(-1).tolist()
    [[1], [2]]
    """
    x = array_of(input)
    d = canonical_dim("unsqueeze", dim, x.ndim, insert=True)
    return prims.reshape(x, (*x.shape[:d], 1, *x.shape[d:]))


def _at_least(n: int, place):
    def one(x):
        x = operand(x)
        return x if x.ndim >= n else reshape(x, place(x.shape))

    def f(*tensors):
        if len(tensors) == 1 and not isinstance(tensors[0], (list, tuple)):
            return one(tensors[0])
        return tuple(map(one, tensors[0] if len(tensors) == 1 else tensors))

    f.__name__ = f.__qualname__ = f"atleast_{n}d"
    f.__doc__ = f"""Each array with at least {n} dimension{"s" if n > 1 else ""}; one array gives one, several (or a sequence) give a tuple.

    >>> import functorch_lite as fl
    >>> fl.atleast_{n}d(fl.asarray(1.0)).shape
    {(1,) * n}
    """
    return f


atleast_1d = _at_least(1, lambda s: (1,))
atleast_2d = _at_least(2, lambda s: (1,) * (2 - len(s)) + tuple(s))
atleast_3d = _at_least(3, lambda s: (1, 1, 1) if not s else (1, s[0], 1) if len(s) == 1 else (*s, 1))


# ------------------------------------------------------------------------------------------------------ permutation


def _order(name: str, dims, ndim: int) -> tuple[int, ...]:
    dims = as_tuple(dims)
    require(len(dims) == ndim, name, f"expected one entry in dims for each of {ndim} dimensions, got dims={dims}")
    order = tuple([canonical_dim(name, d, ndim) for d in dims])
    require(len(set(order)) == len(order), name, f"a dimension appears twice in dims={dims}")
    return order


@composite(reference=np.transpose, view=True)
def permute(input: Tensor, dims: Dims) -> Tensor:
    """Input with its dimensions in the order of dims.

    Raises RuntimeError unless dims names each dimension once.

    >>> import functorch_lite as fl
    >>> fl.asarray([[[1, 2, 3]]]).permute(2, 0, 1).shape
    (3, 1, 1)
    """
    x = array_of(input)
    return permuted(x, _order("permute", dims, x.ndim))


Operable.permute = varargs(permute)


@composite(method=True, reference=lambda x, dim0, dim1: np.swapaxes(x, dim0, dim1) if x.ndim else x, view=True)
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Input with two dimensions exchanged.

    >>> import functorch_lite as fl
    >>> fl.asarray([[1, 2], [3, 4]]).transpose(0, 1).tolist()
    [[1, 3], [2, 4]]
    """
    x = array_of(input)
    a, b = canonical_dim("transpose", dim0, x.ndim), canonical_dim("transpose", dim1, x.ndim)
    order = list(range(x.ndim))
    if order:
        order[a], order[b] = order[b], order[a]
    return permuted(x, tuple(order))


swapaxes = swapdims = transpose
Operable.swapaxes = Operable.swapdims = transpose


@composite(method=True, reference=np.moveaxis, view=True)
def movedim(input: Tensor, source: Dims, destination: Dims) -> Tensor:
    """Input with the dimensions of source (an int or several) at the positions of destination; the others keep their order.

    >>> import functorch_lite as fl
    >>> fl.asarray([[[1, 2, 3]]]).movedim(-1, 0).shape
    (3, 1, 1)
    """
    x = array_of(input)
    source, destination = as_tuple(source), as_tuple(destination)
    require(len(source) == len(destination), "movedim", f"expected as many of each, got source={source}, destination={destination}")
    source = [canonical_dim("movedim", d, x.ndim) for d in source]
    destination = [canonical_dim("movedim", d, x.ndim) for d in destination]
    for name, dims in (("source", source), ("destination", destination)):
        require(len(set(dims)) == len(dims), "movedim", f"a dimension appears twice in {name}={tuple(dims)}")
    order = [d for d in range(x.ndim) if d not in source]
    for to, d in sorted(zip(destination, source)):
        order.insert(to, d)
    return permuted(x, tuple(order[: x.ndim]))


moveaxis = movedim
Operable.moveaxis = movedim


@composite(method=True, reference=np.transpose, view=True)
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; arrays of fewer dimensions as they are.

    Raises RuntimeError for more than two dimensions.

    >>> import functorch_lite as fl
    >>> fl.asarray([[1, 2], [3, 4]]).t().tolist()
    [[1, 3], [2, 4]]
    """
    x = array_of(input)
    require(x.ndim <= 2, "t", f"expected at most 2 dimensions, got {x.aval}; use .mT or transpose(dim0, dim1)")
    return permuted(x, tuple(range(x.ndim))[::-1])


@composite(method=True, reference=lambda x: np.swapaxes(x.conj() if x.dtype.kind == "c" else x, -1, -2), view=True)
def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose over the last two dimensions.

    >>> import functorch_lite as fl
    >>> fl.adjoint(fl.asarray([[1j, 2j]])).tolist()
    [[-1j], [-2j]]
    """
    x = array_of(input)
    require(x.ndim >= 2, "adjoint", f"expected at least 2 dimensions, got {x.aval}")
    return parts.conj_of(prims.permute(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)))


def _of_matrix(x):
    require(x.ndim == 2, "H", f"expected a matrix, got {x.aval}; use .mT, .mH or permute(dims)")
    return adjoint(x)


Operable.T = property(lambda self: permute(self, tuple(range(self.ndim))[::-1]), doc="Its dimensions in reverse order.")
Operable.mT = property(lambda self: transpose(self, -2, -1), doc="Its last two dimensions exchanged.")
Operable.mH = property(lambda self: adjoint(self), doc="The conjugate transpose over the last two dimensions.")
Operable.H = property(_of_matrix, doc="The conjugate transpose of a matrix.")

# -------------------------------------------------------------------------------------------------------- broadcast


def stretched(name: str, x, size: tuple[int, ...]):
    """x broadcast to `size`, in which -1 keeps a dimension as it is."""
    seen = f"{x.aval} to {list(size)}"
    new = len(size) - x.ndim
    require(new >= 0, name, f"the number of sizes must be at least the number of dimensions, got {seen}")
    target = []
    for i, n in enumerate(size):
        old = x.shape[i - new] if i >= new else None
        require(n >= -1, name, f"sizes must not be negative, except for -1, got {seen}")
        require(n >= 0 or old is not None, name, f"-1 is not allowed for a new, leading dimension, got {seen}")
        n = old if n == -1 else n
        require(old in (None, 1, n), name, f"the expanded size ({n}) must match the existing size ({old}) at dimension {i}: {seen}")
        target.append(n)
    target = tuple(target)
    return x if target == x.shape else prims.broadcast(x, target, tuple(range(new, len(target))))


@composite(reference=lambda x, size: np.broadcast_to(x, [x.shape[i - len(size)] if n == -1 else n for i, n in enumerate(size)]), view=True)
def expand(input: Tensor, size: Shape) -> Tensor:
    """Input repeated along its dimensions of size 1, and along new leading ones; -1 keeps a size.

    Raises RuntimeError where a size is neither 1 nor the one asked for.

    >>> import functorch_lite as fl
    >>> fl.asarray([[1], [2]]).expand(2, 3).tolist()
    [[1, 1, 1], [2, 2, 2]]
    """
    return stretched("expand", array_of(input), as_tuple(size))


@composite(reference=np.broadcast_to, view=True)
def broadcast_to(input: Tensor, size: Shape) -> Tensor:
    """Input broadcast to a shape; the same as `expand`.

    >>> import functorch_lite as fl
    >>> fl.broadcast_to(fl.asarray([1, 2]), (2, 2)).tolist()
    [[1, 2], [1, 2]]
    """
    return stretched("broadcast_to", array_of(input), as_tuple(size))


Operable.expand, Operable.broadcast_to = varargs(expand), varargs(broadcast_to)
Operable.expand_as = lambda self, other: expand(self, other.shape)


@composite(multi=True, reference=lambda *xs: tuple(np.broadcast_arrays(*xs)))
def broadcast_tensors(*tensors: Tensor) -> tuple:
    """The arrays, each broadcast to the shape that fits all (a tuple).

    >>> import functorch_lite as fl
    >>> [x.shape for x in fl.broadcast_tensors(fl.asarray([[1], [2]]), fl.asarray([1, 2, 3]))]
    [(2, 3), (2, 3)]
    """
    xs = [array_of(x) for x in tensors]
    target = broadcast_shapes(*(x.shape for x in xs))
    return tuple([stretched("broadcast_tensors", x, target) for x in xs])


__all__ = (
    "adjoint atleast_1d atleast_2d atleast_3d broadcast_tensors broadcast_to expand flatten moveaxis movedim permute ravel reshape squeeze "
    "swapaxes swapdims t transpose unflatten unsqueeze view"
).split()

"""The ops that copy what a view would only look at: each has its view's definition and is no view; and ops on what a view reads.

In the functional face they give what the views give, since nothing there is shared; a Tensor's copy has elements of its own.
"""

from __future__ import annotations

import numpy as np

from ..core.array import Operable
from ..core.dtype import NUMBERS
from ..core.op import Shape, Tensor, composite
from ..prims import algebra, compare
from ..prims import shape as prims
from . import convert, index, join, parts, rearrange, shape
from .arguments import require, require_fits, shown
from .families import alias
from .promotion import array_of, cast, to_dtype
from .reduce import sum as total
from .shape import as_tuple, permuted, reshaped, varargs

# name -> (its view, what stands before the example's array, behind it, and what comes of it)
COPIES = {
    "alias_copy": (convert.clone, "[1, 2]", "", "[1, 2]"),
    "diagonal_copy": (rearrange.diagonal, "[[1, 2], [3, 4]]", "", "[1, 4]"),
    "expand_copy": (shape.expand, "[[1], [2]]", ", (2, 2)", "[[1, 1], [2, 2]]"),
    "permute_copy": (shape.permute, "[[1, 2]]", ", (1, 0)", "[[1], [2]]"),
    "squeeze_copy": (shape.squeeze, "[[1, 2]]", "", "[1, 2]"),
    "t_copy": (shape.t, "[[1, 2]]", "", "[[1], [2]]"),
    "transpose_copy": (shape.transpose, "[[1, 2]]", ", 0, 1", "[[1], [2]]"),
    "unfold_copy": (rearrange.unfold_dim, "[1, 2, 3]", ", 0, 2, 1", "[[1, 2], [2, 3]]"),
    "unsqueeze_copy": (shape.unsqueeze, "[1, 2]", ", 0", "[[1, 2]]"),
    "view_as_complex_copy": (parts.view_as_complex, "[[1.0, 2.0]]", "", "[(1+2j)]"),
    "view_as_real_copy": (parts.view_as_real, "[1 + 2j]", "", "[[1.0, 2.0]]"),
    # of these the results are tuples
    "split_copy": (join.split, "[1, 2, 3]", ", 2", "[[1, 2], [3]]"),
    "split_with_sizes_copy": (join.split_with_sizes, "[1, 2, 3]", ", (1, 2)", "[[1], [2, 3]]"),
    "unbind_copy": (join.unbind, "[[1], [2]]", "", "[[1], [2]]"),
    "unsafe_chunk": (join.chunk, "[1, 2, 3]", ", 2", "[[1, 2], [3]]"),
    "unsafe_split": (join.split, "[1, 2, 3]", ", 2", "[[1, 2], [3]]"),
    "unsafe_split_with_sizes": (join.split_with_sizes, "[1, 2, 3]", ", (1, 2)", "[[1], [2, 3]]"),
}


def _copy(name: str, view, before: str, behind: str, result: str):
    op = view.op
    call = f"fl.{name}(fl.asarray({before}){behind})"
    call = f"[x.tolist() for x in {call}]" if op.multi else f"{call}.tolist()"
    doc = f"A copy of what `{op.name}` gives, with elements of its own.\n\n>>> import functorch_lite as fl\n>>> {call}\n{result}\n"
    f = composite(op.decompose, name=name, doc=doc, multi=op.multi, reference=op.reference)
    f.__wrapped__ = op.decompose
    return f


for _name, _row in COPIES.items():
    globals()[_name] = _copy(_name, *_row)
alias(**{n: globals()[n] for n in ("unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes")})


def _of(name: str, view, example: str, result: str):
    """The copy of a view that is no op itself."""

    def f(input: Tensor, *args, **named) -> Tensor:
        return convert.clone(view(input, *args, **named))

    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"A copy of what `{name.removesuffix('_copy')}` gives, with elements of its own.\n\n"
        f">>> import functorch_lite as fl\n>>> {example}.tolist()\n{result}\n"
    )
    return f


def _slice(input, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1):
    x = shape.operand(input)
    return x[(slice(None),) * shape.canonical_dim("slice_copy", dim, x.ndim) + (slice(start, end, step),)]


def _view(input, size=None, *, dtype=None):
    return shape.view(input, *([size] if dtype is None else [dtype]))


narrow_copy = _of("narrow_copy", index.narrow, "fl.narrow_copy(fl.asarray([1, 2, 3]), 0, 1, 2)", "[2, 3]")
select_copy = _of("select_copy", index.select, "fl.select_copy(fl.asarray([[1, 2], [3, 4]]), 1, 0)", "[1, 3]")
slice_copy = _of("slice_copy", _slice, "fl.slice_copy(fl.asarray([1, 2, 3]), 0, 1)", "[2, 3]")
view_copy = _of("view_copy", _view, "fl.view_copy(fl.asarray([1, 2]), (2, 1))", "[[1], [2]]")
alias(narrow_copy=narrow_copy)

# ------------------------------------------------------------------------------------------------ a view's elements, written


def _diagonal_scatter_reference(x, src, offset=0, dim1=0, dim2=1):
    out = x.copy()
    view = np.moveaxis(out, (dim1, dim2), (-2, -1))
    n = src.shape[-1]
    rows = np.arange(n)
    view[..., rows - min(offset, 0), rows + max(offset, 0)] = src
    return out


@composite(method=True, reference=_diagonal_scatter_reference)
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Input with src on a diagonal over two dimensions: what `diagonal` reads, and in its shape.

    Raises RuntimeError for a src of another shape or dtype.

    >>> import functorch_lite as fl
    >>> fl.diagonal_scatter(fl.asarray([[1, 2], [3, 4]]), fl.asarray([8, 9])).tolist()
    [[8, 2], [3, 9]]
    """
    x, src = array_of(input), array_of(src)
    a, b = rearrange.two_dims("diagonal_scatter", dim1, dim2, x.ndim)
    others = tuple([d for d in range(x.ndim) if d not in (a, b)])
    order = (*others, a, b)
    n, m = x.shape[a], x.shape[b]
    expected = (*[x.shape[d] for d in others], rearrange.diagonal_of(n, m, offset)[1])
    ok = src.shape == expected
    require(ok, "diagonal_scatter", f"expected src to have the shape of that diagonal, {list(expected)}, got {shown(x, src)}")
    src = to_dtype(src, x.dtype)
    last = permuted(x, order)
    spread = rearrange.on_diagonal(src, n, m, offset)
    places = rearrange.on_diagonal(compare.eq(algebra.one_like(src), algebra.one_like(src)), n, m, offset)
    return permuted(compare.select(places, spread, last), prims.inverse(order))


@composite(method=True, reference=np.full_like)
def fill(input: Tensor, value: Tensor) -> Tensor:
    """The value, a number or 0-dim array, in every element of the shape and dtype of input.

    >>> import functorch_lite as fl
    >>> fl.fill(fl.asarray([1, 2]), 7).tolist()
    [7, 7]
    """
    x = array_of(input)
    ok = value.__class__ in NUMBERS or value.ndim == 0
    require(ok, "fill", f"value must be a number or a 0-dim array, got {shown(value)}")
    require_fits("fill", value, x)
    return cast(value, x.dtype, x.shape)


def _sum_to_size_reference(x, size):
    size = as_tuple(size)
    x = x.sum(axis=tuple(range(x.ndim - len(size))))
    return np.sum(x, axis=tuple([d for d, (n, m) in enumerate(zip(x.shape, size)) if n != m]), keepdims=True)


@composite(reference=_sum_to_size_reference)
def sum_to_size(input: Tensor, size: Shape) -> Tensor:
    """Input summed to a shape that broadcasts to its own: what `expand` spreads, added up again.

    Raises RuntimeError for a shape that does not expand to that of input.

    >>> import functorch_lite as fl
    >>> fl.sum_to_size(fl.asarray([[1, 2], [3, 4]]), (1, 2)).tolist()
    [[4, 6]]
    """
    x, size = array_of(input), as_tuple(size)
    new = x.ndim - len(size)
    ok = new >= 0 and all(m in (1, n) for n, m in zip(x.shape[new:], size))
    require(ok, "sum_to_size", f"size {list(size)} is not expandable to size {list(x.shape)}")
    if x.shape == size and size:
        return x
    dims = tuple([d for d in range(x.ndim) if d < new or x.shape[d] != size[d - new]])
    return reshaped(total(x, dims or None, keepdim=True), size)


Operable.sum_to_size = varargs(sum_to_size)


__all__ = [
    *COPIES,
    "diagonal_scatter",
    "fill",
    "narrow_copy",
    "select_copy",
    "slice_copy",
    "sum_to_size",
    "view_copy",
]

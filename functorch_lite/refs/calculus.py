"""Along a dimension: differences, derivatives on a grid, and integrals by the trapezoid rule."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number

import numpy as np

from ..core.array import asarray
from ..core.dtype import BOOL, NUMBERS, uint8
from ..core.face import Face
from ..core.op import Dims, Tensor, Tensors, composite
from ..prims import bits, shape
from .arguments import require, shown
from .elementwise import add, div, mul, sub
from .join import cat
from .order import cumsum
from .promotion import array_of, broadcast_shapes, canonical_dim, float_of
from .reduce import sum

# ------------------------------------------------------------------------------------------------------ differences


def _neighbours(x, d: int):
    """(each but the first along d, each but the last)."""
    n = x.shape[d]
    return shape.part(x, d, min(1, n), n), shape.part(x, d, 0, max(n - 1, 0))


def _diff_reference(x, n=1, dim=-1, prepend=None, append=None):
    ends = {k: v for k, v in (("prepend", prepend), ("append", append)) if v is not None and n}
    return np.diff(x, n, dim, **ends)


@composite(method=True, reference=_diff_reference)
def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
    """The differences of neighbours along dim, n times over; of bools, whether they differ. ``prepend`` and ``append`` are put at either
    end first; they have the shape of input but along dim, and promote with it.

    >>> import functorch_lite as fl
    >>> fl.diff(fl.asarray([1, 4, 9])).tolist(), fl.diff(fl.asarray([1, 4, 9]), prepend=fl.asarray([0])).tolist()
    ([3, 5], [1, 3, 5])
    """
    x = array_of(input)
    require(x.ndim > 0, "diff", f"input must have at least one dimension, got {shown(x)}")
    require(n >= 0, "diff", f"n, how often to take differences, must not be negative, got {n}")
    d = canonical_dim("diff", dim, x.ndim)
    if n == 0:
        return x
    ends = [None if end is None else array_of(end) for end in (prepend, append)]
    for argument, end in zip(("prepend", "append"), ends):
        if end is not None:
            ok = end.ndim == x.ndim and all(a == b for i, (a, b) in enumerate(zip(end.shape, x.shape)) if i != d)
            require(ok, "diff", f"{argument} must have the shape of input apart from dimension {d}, got {shown(end)} for {shown(x)}")
    if any(end is not None for end in ends):
        x = cat([y for y in (ends[0], x, ends[1]) if y is not None], d)
    for _ in range(min(n, x.shape[d])):
        after, before = _neighbours(x, d)
        x = bits.bitwise_xor(after, before) if x.dtype.category == BOOL else sub(after, before)
    return x


# ---------------------------------------------------------------------------------------------------------- gradient


def _even(x, d: int, h, edge_order: int):
    """(the differences quotients inside, those at both ends), at places a distance h apart."""
    n = x.shape[d]
    at = lambda i: shape.part(x, d, i % n, i % n + 1)
    inside = div(sub(shape.part(x, d, 2, n), shape.part(x, d, 0, n - 2)), mul(h, 2))
    if edge_order == 1:
        return inside, div(sub(at(1), at(0)), h), div(sub(at(-1), at(-2)), h)
    ends = [sub(sub(mul(at(b), 2), mul(at(a), 1.5)), mul(at(c), 0.5)) for a, b, c in ((0, 1, 2), (-1, -2, -3))]
    return inside, div(ends[0], h), div(mul(ends[1], -1), h)


def _uneven(x, d: int, places, edge_order: int):
    """The same at any places: the derivative of the parabola through three of them (of the line, at ends of order 1)."""
    n = x.shape[d]
    at = lambda i: shape.part(x, d, i % n, i % n + 1)
    upright = (n - 1, *[1] * (x.ndim - 1 - d))
    step = shape.reshape(sub(*_neighbours(float_of(places), 0)), upright)
    left, right = shape.part(step, 0, 0, n - 2), shape.part(step, 0, 1, n - 1)
    both = add(left, right)
    a = div(mul(right, -1), mul(left, both))
    b = div(sub(right, left), mul(left, right))
    c = div(left, mul(right, both))
    inside = add(add(mul(a, shape.part(x, d, 0, n - 2)), mul(b, shape.part(x, d, 1, n - 1))), mul(c, shape.part(x, d, 2, n)))
    step_at = lambda i: shape.part(step, 0, i % (n - 1), i % (n - 1) + 1)
    if edge_order == 1:
        return inside, div(sub(at(1), at(0)), step_at(0)), div(sub(at(-1), at(-2)), step_at(-1))
    ends = []
    for order, sign in (((0, 1, 2), 1), ((-1, -2, -3), -1)):
        near, far = (step_at(0), step_at(1)) if sign > 0 else (step_at(-1), step_at(-2))
        whole = add(near, far)
        weights = div(mul(add(near, whole), -1), mul(near, whole)), div(whole, mul(near, far)), div(mul(near, -1), mul(far, whole))
        p, q, r = [mul(w, at(i)) for w, i in zip(weights, order)]
        ends.append(mul(add(add(p, q), r), sign))
    return inside, *ends


def _gradient_reference(x, spacing, dim=None, edge_order=1):
    dims = range(x.ndim) if dim is None else np.atleast_1d(dim).tolist()
    return tuple([np.gradient(x, s, axis=d, edge_order=edge_order) for d, s in zip(dims, spacing)])


@composite(name="gradient", multi=True, reference=_gradient_reference)
def _gradient(input: Tensor, spacing: Tensors, dim: Dims | None = None, edge_order: int = 1) -> tuple:
    """The derivative along each of the dims, of which spacing has the distance or the places."""
    x = array_of(input)
    require(x.dtype is not uint8, "gradient", f"uint8 is not supported, got {shown(x)}; convert with .to(fl.float32)")
    require(edge_order in (1, 2), "gradient", f"edge_order must be 1 or 2, got {edge_order}")
    dims = tuple(
        [canonical_dim("gradient", d, x.ndim) for d in (range(x.ndim) if dim is None else (dim,) if dim.__class__ is int else dim)]
    )
    require(len(set(dims)) == len(dims), "gradient", f"a dimension appears twice in dim={dim}")
    for d in dims if x.ndim else ():
        require(
            x.shape[d] > edge_order, "gradient", f"expected at least edge_order + 1 = {edge_order + 1} elements along {d}, got {shown(x)}"
        )
    wanted = f"spacing must be a number, or a number or 1-dim Array for each of {len(dims)} dimensions of {shown(x)}, got {len(spacing)}"
    require(len(spacing) == len(dims), "gradient", wanted)
    x, out = float_of(x), []
    for d, h in zip(dims if x.ndim else (), spacing):
        if h.__class__ in NUMBERS or not h.ndim:
            inside, first, last = _even(x, d, h, edge_order)
        else:
            require(h.shape == (x.shape[d],), "gradient", f"expected {x.shape[d]} places along dimension {d} of {shown(x)}, got {shown(h)}")
            inside, first, last = _uneven(x, d, h, edge_order)
        out.append(cat([first, inside, last], d))
    return tuple(out)


def gradient(input: Tensor, *, spacing=1, dim: Dims | None = None, edge_order: int = 1) -> tuple:
    """The derivative of samples on a grid along each dimension of ``dim`` (None: all): a tuple of Arrays of the shape of input.

    ``spacing``: the distance of neighbours, or for each dimension a distance or the places themselves (1-dim). Inside it is that of
    the parabola through a sample and both its neighbours, at the ends of the line (edge_order 1) or parabola (2) through the last.

    >>> import functorch_lite as fl
    >>> fl.gradient(fl.asarray([1.0, 4.0, 9.0, 16.0]))[0].tolist()
    [3.0, 4.0, 6.0, 7.0]
    """
    one = spacing is None or spacing.__class__ in NUMBERS or not isinstance(spacing, Sequence)
    if one:
        spacing = 1 if spacing is None else spacing
        x = input if isinstance(input, Face) else asarray(input)
        spacing = [spacing] * (x.ndim if dim is None else 1 if dim.__class__ is int else len(dim))
    return _gradient(input, spacing, dim, edge_order)


# --------------------------------------------------------------------------------------------------------- integrals


def _strips(name, y, x, dx, dim):
    """(the dimension, twice the areas between neighbours)."""
    y = array_of(y)
    require(y.dtype.category != BOOL, name, f"y must be numbers, got {shown(y)}; convert with .to(fl.float32)")
    require(y.ndim > 0, name, f"y must have at least one dimension, got {shown(y)}", IndexError)
    d = canonical_dim(name, dim, y.ndim)
    height = add(*_neighbours(y, d))
    if x is None:
        return y, d, mul(height, dx)
    x = array_of(x)
    require(x.dtype.category != BOOL, name, f"x must be numbers, got {shown(x)}; convert with .to(fl.float32)")
    if x.ndim == 1:
        ok = x.shape[0] == y.shape[d]
        require(ok, name, f"x must have a place for each of the {y.shape[d]} samples along dimension {d} of y {shown(y)}, got {shown(x)}")
        x = shape.reshape(x, tuple([x.shape[0] if i == d else 1 for i in range(y.ndim)]))
    elif x.ndim < y.ndim:
        x = shape.reshape(x, (*[1] * (y.ndim - x.ndim), *x.shape))
    width = sub(*_neighbours(x, x.ndim - y.ndim + d))
    broadcast_shapes(width.shape, height.shape)
    return y, d - y.ndim, mul(height, width)


def _trapezoid(name, total, reference, doc, example):
    def f(y: Tensor, x: Tensor | None = None, *, dx: Number = 1, dim: int = -1) -> Tensor:
        if x is not None and dx != 1:
            raise TypeError(f"{name}: give the places x or their distance dx, not both")
        y, d, areas = _strips(name, y, x, dx, dim)
        return div(total(areas, d), 2)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"""{doc} along dim of samples y at the places x, or a distance dx apart; integers give float32.

    x is 1-dim, or broadcasts against y. RuntimeError for bools.

    >>> import functorch_lite as fl
    >>> fl.{name}(fl.asarray([1.0, 5.0, 2.0]), fl.asarray([0.0, 1.0, 3.0])).tolist()
    {example}
    """
    return composite(f, reference=lambda y, x=None, *, dx=1, dim=-1: reference()(y, x, dx, dim))


def _np_trapezoid():
    return getattr(np, "trapezoid", None) or np.trapz


def _scipy_cumulative():
    from scipy.integrate import cumulative_trapezoid

    return cumulative_trapezoid


trapezoid = _trapezoid("trapezoid", sum, _np_trapezoid, "The integral by the trapezoid rule", "10.0")
trapz = trapezoid
cumulative_trapezoid = _trapezoid(
    "cumulative_trapezoid",
    cumsum,
    _scipy_cumulative,
    "The integrals from the first to each other sample, by the trapezoid rule,",
    "[3.0, 10.0]",
)

__all__ = "cumulative_trapezoid diff gradient trapezoid trapz".split()

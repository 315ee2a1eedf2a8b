"""Convolution, of any number of spatial dimensions. Its transposes and batched forms are convolutions again.

With y = conv(x, w), spatial sizes n of x, k of w, p of y, stride s, dilations a of x and b of w:

    y[i, o, t] = sum over c, u of  z[i, c, s t + b u] w[o, c, u],   z = x with a - 1 zeros between elements, then padded

so x takes from y's cotangent a convolution with w flipped (stride and dilation of x trade places), and w takes one of x
with that cotangent (stride and dilation of w trade places). A group of channels is a convolution of its own.
"""

from __future__ import annotations

import itertools

import numpy as np

from ..core.aval import aval
from . import algebra, conv_lowering, shape
from .families import NUMERIC, bilinear, require, require_category
from .parts import conj_of

_NAME = "conv_general"


def _dilated(n: int, by: int) -> int:
    """The size of n elements with by - 1 zeros between them."""
    return (n - 1) * by + 1 if n else 0


def _meta(x, w, strides, padding, x_dilation, w_dilation, groups):
    require_category(_NAME, [x, w], NUMERIC)
    require(x.dtype is w.dtype, _NAME, f"expected one dtype, got {x} and {w}; convert one with .to(dtype)", RuntimeError)
    rank = x.ndim - 2
    require(
        x.ndim == w.ndim >= 2, _NAME, f"expected x [N, C, *spatial] and w [O, C / groups, *kernel] of one rank, got {x}, {w}", RuntimeError
    )
    for name, values in (("strides", strides), ("x_dilation", x_dilation), ("w_dilation", w_dilation)):
        require(
            len(values) == rank and all(v > 0 for v in values), _NAME, f"{name} must have {rank} positive ints, got {values}", RuntimeError
        )
    require(len(padding) == rank, _NAME, f"padding must have {rank} pairs (low, high), got {padding}", RuntimeError)
    require(groups > 0, _NAME, f"groups must be positive, got {groups}", RuntimeError)
    ok = x.shape[1] == w.shape[1] * groups and w.shape[0] % groups == 0
    expected = f"with groups={groups}, w must be [a multiple of groups, {x.shape[1]} / groups, *kernel] for x {x}"
    require(ok, _NAME, f"{expected}, got w {w}", RuntimeError)
    require(0 not in w.shape[2:], _NAME, f"the kernel must have at least one element a dimension, got w {w}", RuntimeError)
    sizes = []
    for n, k, s, (low, high), a, b in zip(x.shape[2:], w.shape[2:], strides, padding, x_dilation, w_dilation):
        sizes.append(max((_dilated(n, a) + low + high - _dilated(k, b)) // s + 1, 0))
    return aval((x.shape[0], w.shape[0], *sizes), x.dtype)


# ----------------------------------------------------------------------------------------------------- transposition


def _merge(x, dim: int):
    """Dimensions dim and dim + 1 as one."""
    return shape.reshape(x, (*x.shape[:dim], x.shape[dim] * x.shape[dim + 1], *x.shape[dim + 2 :]))


def _split(x, dim: int, outer: int):
    """Dimension dim as two, the outer one of this size."""
    return shape.reshape(x, (*x.shape[:dim], outer, x.shape[dim] // outer, *x.shape[dim + 1 :]))


def transposed_kernel(w, groups: int):
    """w [groups O, C, *kernel] as a kernel from O to C channels: flipped, [groups C, O, *kernel]."""
    w = shape.flip(w, tuple(range(2, w.ndim)))
    if groups == 1:
        return algebra.move(w, 1, 0)
    return _merge(algebra.move(_split(w, 0, groups), 2, 1), 0)


def _pads(x, w, ct, strides, padding, x_dilation, w_dilation, to_x: bool):
    """The padding of the convolution that gives a cotangent; spatial dimensions are the last."""
    pads, rank = [], len(strides)
    sizes = zip(*[a.shape[a.ndim - rank :] for a in (x, w, ct)], strides, padding, x_dilation, w_dilation)
    for n, k, p, s, (low, _), a, b in sizes:
        reach, short = _dilated(k, b) - 1, _dilated(n, a) - _dilated(p, s) + low
        pads.append((reach - low, short) if to_x else (low, reach - short))
    return tuple(pads)


def _to_x(ct, x, w, strides, padding, x_dilation, w_dilation, groups):
    if 0 in ct.shape or 0 in x.shape:
        return algebra.zeros(x.aval)
    pads = _pads(x, w, ct, strides, padding, x_dilation, w_dilation, True)
    return conv_general(ct, transposed_kernel(conj_of(w), groups), x_dilation, pads, strides, w_dilation, groups)


def _to_w(ct, x, w, strides, padding, x_dilation, w_dilation, groups):
    if 0 in ct.shape or 0 in w.shape:
        return algebra.zeros(w.aval)
    spec = w_dilation, _pads(x, w, ct, strides, padding, x_dilation, w_dilation, False), x_dilation, strides
    x = conj_of(x)
    if groups == 1:
        return algebra.move(conv_general(algebra.move(x, 1, 0), algebra.move(ct, 1, 0), *spec, 1), 1, 0)
    x, ct = (_swapped(algebra.move(_split(a, 1, groups), 1, 0)) for a in (x, ct))  # [groups, C, N], [groups, O, N]
    return _merge(_swapped(conv_rows(x, ct, *spec)), 0)


def _swapped(x):
    """Dimensions 1 and 2 of rows."""
    return algebra.move(x, 2, 1)


# ---------------------------------------------------------------------------------------------------------- batching


def _batch(size, args, dims, strides, padding, x_dilation, w_dilation, groups):
    """Rows of x alone are more images, rows of w alone more output channels in each group; rows of both have one convolution each."""
    (x, w), (dx, dw) = args, dims
    rest = strides, padding, x_dilation, w_dilation
    if dw is None:
        out = conv_general(_merge(algebra.move(x, dx, 0), 0), w, *rest, groups)
        return _split(out, 0, size), 0
    if dx is None:
        w = _split(algebra.move(w, dw, 0), 1, groups)  # [size, groups, O, ...]
        w = _merge(_merge(algebra.move(w, 0, 1), 0), 0)
        out = _split(_split(conv_general(x, w, *rest, groups), 1, groups), 2, size)  # [N, groups, size, O, ...]
        return _merge(algebra.move(out, 2, 0), 2), 0
    x, w = algebra.move(x, dx, 0), algebra.move(w, dw, 0)
    if groups == 1:
        return conv_rows(x, w, *rest), 0
    x = _merge(algebra.move(_split(x, 2, groups), 2, 1), 0)  # [size groups, N, C]
    out = _split(conv_rows(x, _merge(_split(w, 1, groups), 0), *rest), 0, size)  # [size, groups, N, O]
    return _merge(algebra.move(out, 1, 2), 2), 0


# --------------------------------------------------------------------------------------------------------- reference


def _reference(x, w, strides, padding, x_dilation, w_dilation, groups):
    kernel = [_dilated(k, b) for k, b in zip(w.shape[2:], w_dilation)]
    spread = np.zeros((*x.shape[:2], *[_dilated(n, a) for n, a in zip(x.shape[2:], x_dilation)]), x.dtype)
    spread[(..., *[slice(None, None, a) for a in x_dilation])] = x
    z = np.pad(spread, [(0, 0), (0, 0), *[(max(low, 0), max(high, 0)) for low, high in padding]])
    z = z[(..., *[slice(max(-low, 0), n - max(-high, 0)) for n, (low, high) in zip(z.shape[2:], padding)])]
    sizes = [max((n - k) // s + 1, 0) for n, k, s in zip(z.shape[2:], kernel, strides)]
    out = np.zeros((x.shape[0], w.shape[0], *sizes), x.dtype)
    if out.size == 0:
        return out
    c, o = w.shape[1], w.shape[0] // groups
    for u in itertools.product(*map(range, w.shape[2:])):
        starts = [i * b for i, b in zip(u, w_dilation)]
        windows = z[(..., *[slice(i, i + (n - 1) * s + 1, s) for i, n, s in zip(starts, sizes, strides)])]
        for g in range(groups):
            product = np.einsum("nc...,oc->no...", windows[:, g * c : (g + 1) * c], w[(slice(g * o, (g + 1) * o), slice(None), *u)])
            out[:, g * o : (g + 1) * o] += product
    return out


conv_general = bilinear(
    _NAME,
    "x: Tensor, w: Tensor, strides: Dims, padding: Pairs, x_dilation: Dims, w_dilation: Dims, groups: int",
    impl=conv_lowering.conv,
    traits={"ordered": conv_lowering.ordered_conv, "ordering": True},
    meta=_meta,
    left=_to_x,
    right=_to_w,
    batch=_batch,
    reference=_reference,
    doc="""The convolution (the kernel is not flipped) of x [N, C, *spatial] with w [O, C / groups, *kernel]: [N, O, *spatial]. padding
    has (low, high) for each spatial dimension; a negative number crops.""",
)

# -------------------------------------------------------------------------------------------------------------- rows


def _rows_meta(x, w, strides, padding, x_dilation, w_dilation):
    ok = x.ndim == w.ndim >= 3 and x.shape[0] == w.shape[0]
    require(ok, "conv_rows", f"expected as many rows of x [R, N, C, *spatial] as of w [R, O, C, *kernel], got {x} and {w}", RuntimeError)
    row = _meta(algebra.without(x, 0), algebra.without(w, 0), strides, padding, x_dilation, w_dilation, 1)
    return aval((x.shape[0], *row.shape), x.dtype)


def _row_to_x(ct, x, w, strides, padding, x_dilation, w_dilation):
    if 0 in ct.shape or 0 in x.shape:
        return algebra.zeros(x.aval)
    pads = _pads(x, w, ct, strides, padding, x_dilation, w_dilation, True)
    w = shape.flip(_swapped(conj_of(w)), tuple(range(3, w.ndim)))
    return conv_rows(ct, w, x_dilation, pads, strides, w_dilation)


def _row_to_w(ct, x, w, strides, padding, x_dilation, w_dilation):
    if 0 in ct.shape or 0 in w.shape:
        return algebra.zeros(w.aval)
    pads = _pads(x, w, ct, strides, padding, x_dilation, w_dilation, False)
    return _swapped(conv_rows(_swapped(conj_of(x)), _swapped(ct), w_dilation, pads, x_dilation, strides))


def _rows_batch(size, args, dims, *spec):
    """More rows, or, in each row, more images or more output channels."""
    (x, w), (dx, dw) = args, dims
    if dx is not None and dw is not None:
        x, w = (_merge(algebra.move(a, d, 0), 0) for a, d in ((x, dx), (w, dw)))
        return _split(conv_rows(x, w, *spec), 0, size), 0
    if dw is None:
        return _split(conv_rows(_merge(algebra.move(x, dx, 1), 1), w, *spec), 1, size), 1
    return _split(conv_rows(x, _merge(algebra.move(w, dw, 1), 1), *spec), 2, size), 2


def _rows_reference(x, w, *spec):
    none = _reference(np.zeros(x.shape[1:], x.dtype), np.zeros(w.shape[1:], x.dtype), *spec, 1)[None][:0]
    return np.concatenate([none, *[_reference(*row, *spec, 1)[None] for row in zip(x, w)]])


conv_rows = bilinear(
    "conv_rows",
    "x: Tensor, w: Tensor, strides: Dims, padding: Pairs, x_dilation: Dims, w_dilation: Dims",
    impl=conv_lowering.rows,
    traits={"ordered": conv_lowering.ordered_rows, "ordering": True},
    meta=_rows_meta,
    left=_row_to_x,
    right=_row_to_w,
    batch=_rows_batch,
    reference=_rows_reference,
    doc="""A convolution for each row of x [R, N, C, *spatial] and w [R, O, C, *kernel]: [R, N, O, *spatial]. Parameters are as those of
    conv_general.""",
)

"""Convolution and its transpose in one, two and three dimensions, and the windows themselves (unfold, fold)."""

from __future__ import annotations

import itertools
import math

import numpy as np

from ..core.op import Dims, Tensor, composite
from ..prims import algebra, conv, create, elementwise, shape
from .arguments import per_dim, require, require_one_dtype, shown

_F = "fl.nn.functional"


def batched(name: str, x, n: int):
    """x with a batch dimension, and whether it had none. n counts the spatial dimensions."""
    ok = x.ndim in (n + 1, n + 2)
    require(ok, name, f"expected {n + 1}D (unbatched) or {n + 2}D (batched) input, got {shown(x)}")
    return (x, False) if x.ndim == n + 2 else (shape.reshape(x, (1, *x.shape)), True)


def unbatched(x, added: bool):
    return shape.reshape(x, x.shape[1:]) if added else x


def _with_bias(name, out, bias):
    if bias is None:
        return out
    require(
        bias.shape == (out.shape[1],), name, f"bias must have an element for each of the {out.shape[1]} output channels, got {bias.aval}"
    )
    return elementwise.add(out, shape.broadcast(bias, out.shape, (1,)))


def _prepared(name, n, input, weight, bias, **ints):
    """Input with a batch dimension, whether it had none, and the ints of each dimension."""
    require_one_dtype(name, input=input, weight=weight, bias=bias)
    require(weight.ndim == n + 2, name, f"weight must have {n + 2} dimensions, got {weight.aval}")
    x, added = batched(name, input, n)
    values = [per_dim(name, argument, value, n) for argument, value in ints.items()]
    for (argument, _), value in zip(ints.items(), values):
        least = 0 if "padding" in argument else 1
        require(min(value) >= least, name, f"{argument} must be at least {least} in each dimension, got {value}")
    return x, added, *values


# ----------------------------------------------------------------------------------------------------- convolution


def _padding(name, padding, n, kernel, stride, dilation):
    """(low, high) of each dimension."""
    if padding == "valid":
        return ((0, 0),) * n
    if padding == "same":
        require(set(stride) == {1}, name, f"padding='same' is not supported for strided convolutions, got stride={stride}")
        totals = [d * (k - 1) for k, d in zip(kernel, dilation)]
        return tuple([(t // 2, t - t // 2) for t in totals])
    require(not isinstance(padding, str), name, f"padding must be ints, 'same' or 'valid', got {padding!r}", ValueError)
    pads = per_dim(name, "padding", padding, n)
    require(min(pads) >= 0, name, f"padding must not be negative, got {pads}")
    return tuple([(p, p) for p in pads])


def _conv(name, n, input, weight, bias, stride, padding, dilation, groups):
    x, added, stride, dilation = _prepared(name, n, input, weight, bias, stride=stride, dilation=dilation)
    kernel = weight.shape[2:]
    pads = _padding(name, padding, n, kernel, stride, dilation)
    require(groups > 0, name, f"groups must be positive, got {groups}")
    channels = weight.shape[1] * groups
    seen = f"given groups={groups} and weight {weight.aval}, expected input {shown(input)} to have {channels} channels"
    require(x.shape[1] == channels, name, f"{seen}, but got {x.shape[1]} channels instead")
    require(weight.shape[0] % groups == 0, name, f"weight {weight.aval} must have a multiple of groups={groups} output channels")
    padded = [m + low + high for m, (low, high) in zip(x.shape[2:], pads)]
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    ok = all(p >= r for p, r in zip(padded, reach)) and 0 not in kernel
    require(ok, name, f"the kernel {reach} (dilated) must not be larger than the padded input {padded}, nor empty: {shown(input, weight)}")
    return unbatched(_with_bias(name, conv.conv_general(x, weight, stride, pads, (1,) * n, dilation, groups), bias), added)


def _conv_reference(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    n = weight.ndim - 2
    stride, dilation = (per_dim("", "", v, n) for v in (stride, dilation))
    pads = _padding("", padding, n, weight.shape[2:], stride, dilation)
    wide = x if x.ndim == n + 2 else x[None]
    out = conv.conv_general.op.reference(wide, weight, stride, pads, (1,) * n, dilation, groups)
    out = out if bias is None else out + bias.reshape(-1, *[1] * n)
    return out if x.ndim == n + 2 else out[0]


_SIZES = "input [N, C, *spatial] (or [C, *spatial]), weight [O, C / groups, *kernel], bias [O]"


def _convolution(n: int):
    name = f"conv{n}d"

    def f(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Dims = 1,
        padding: object = 0,
        dilation: Dims = 1,
        groups: int = 1,
    ) -> Tensor:
        return _conv(name, n, input, weight, bias, stride, padding, dilation, groups)

    f.__name__ = name
    f.__doc__ = f"""The cross-correlation of {_SIZES}, over {n} spatial dimension{"s" if n > 1 else ""}.

    stride, padding and dilation are an int or one for each dimension; padding may be 'valid' or, with stride 1, 'same'. A size becomes
    (size + 2 padding - dilation (kernel - 1) - 1) // stride + 1. RuntimeError for shapes that do not fit.

    >>> import functorch_lite as fl
    >>> fl.{name}(fl.ones(1, 2, {", ".join(["5"] * n)}), fl.ones(3, 2, {", ".join(["3"] * n)}), padding=1, stride=2).shape
    (1, 3, {", ".join(["3"] * n)})
    """
    return composite(f, reference=_conv_reference)


conv1d, conv2d, conv3d = map(_convolution, (1, 2, 3))

# ------------------------------------------------------------------------------------------------------- transposed


def _conv_transpose(name, n, input, weight, bias, stride, padding, output_padding, groups, dilation):
    ints = {"stride": stride, "padding": padding, "output_padding": output_padding, "dilation": dilation}
    x, added, stride, padding, extra, dilation = _prepared(name, n, input, weight, bias, **ints)
    kernel = weight.shape[2:]
    require(groups > 0, name, f"groups must be positive, got {groups}")
    ok = x.shape[1] == weight.shape[0] and x.shape[1] % groups == 0
    expected = f"given groups={groups}, expected weight [C, O / groups, *kernel] with C = {x.shape[1]}, a multiple of groups"
    require(ok, name, f"{expected}, got {shown(input, weight)}")
    ok = all(e < max(s, d) for e, s, d in zip(extra, stride, dilation))
    require(ok, name, f"output_padding must be smaller than either stride or dilation, got {extra} for {stride=}, {dilation=}")
    reach = [d * (k - 1) for k, d in zip(kernel, dilation)]
    sizes = [(m - 1) * s - 2 * p + r + e + 1 for m, s, p, r, e in zip(x.shape[2:], stride, padding, reach, extra)]
    require(min(sizes) >= 1 and 0 not in kernel, name, f"the output's size would be {sizes}: too small, for {shown(input, weight)}")
    pads = tuple([(r - p, r - p + e) for r, p, e in zip(reach, padding, extra)])
    out = conv.conv_general(x, conv.transposed_kernel(weight, groups), (1,) * n, pads, stride, dilation, groups)
    return unbatched(_with_bias(name, out, bias), added)


def _conv_transpose_reference(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """By definition: each element of x adds a scaled kernel to the output."""
    n = weight.ndim - 2
    stride, padding, extra, dilation = (per_dim("", "", v, n) for v in (stride, padding, output_padding, dilation))
    wide = x if x.ndim == n + 2 else x[None]
    c, o = weight.shape[0] // groups, weight.shape[1]
    reach = [d * (k - 1) + 1 for k, d in zip(weight.shape[2:], dilation)]
    sizes = [(m - 1) * s + r + max(e, p) for m, s, r, e, p in zip(wide.shape[2:], stride, reach, extra, padding)]
    out = np.zeros((len(wide), o * groups, *sizes), x.dtype)
    for at in np.ndindex(*wide.shape[2:]):
        window = tuple([slice(i * s, i * s + r, d) for i, s, r, d in zip(at, stride, reach, dilation)])
        for g in range(groups):
            part = np.einsum("nc,co...->no...", wide[(slice(None), slice(g * c, (g + 1) * c), *at)], weight[g * c : (g + 1) * c])
            out[(slice(None), slice(g * o, (g + 1) * o), *window)] += part
    final = [(m - 1) * s - 2 * p + r + e for m, s, p, r, e in zip(wide.shape[2:], stride, padding, reach, extra)]
    out = out[(..., *[slice(p, p + m) for p, m in zip(padding, final)])]
    out = out if bias is None else out + bias.reshape(-1, *[1] * n)
    return out if x.ndim == n + 2 else out[0]


def _transposed_convolution(n: int):
    name = f"conv_transpose{n}d"

    def f(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Dims = 1,
        padding: Dims = 0,
        output_padding: Dims = 0,
        groups: int = 1,
        dilation: Dims = 1,
    ) -> Tensor:
        return _conv_transpose(name, n, input, weight, bias, stride, padding, output_padding, groups, dilation)

    f.__name__ = name
    f.__doc__ = f"""The transpose of conv{n}d as a linear function of its input (Dumoulin and Visin, 2016).

    input is [N, C, *spatial] (or [C, *spatial]), weight [C, O / groups, *kernel], bias [O]. A size becomes
    (size - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1.
    """
    return composite(f, reference=_conv_transpose_reference)


conv_transpose1d, conv_transpose2d, conv_transpose3d = map(_transposed_convolution, (1, 2, 3))

# --------------------------------------------------------------------------------------------------- windows as rows


def _windows(name, sizes, **ints):
    """(kernel, dilation, padding, stride, the number of windows) of each of two dimensions."""
    kernel, dilation, padding, stride = (per_dim(name, argument, value, 2) for argument, value in ints.items())
    counts = [(m + 2 * p - d * (k - 1) - 1) // s + 1 for m, k, d, p, s in zip(sizes, kernel, dilation, padding, stride)]
    ok = min(*kernel, *dilation, *stride) > 0 and min(padding) >= 0 and min(counts) > 0
    require(ok, name, f"{kernel=}, {dilation=}, {padding=}, {stride=} leave no window in the spatial size {list(sizes)}")
    return kernel, dilation, padding, stride, counts


def _unfold_reference(x, kernel_size, dilation=1, padding=0, stride=1):
    wide = x if x.ndim == 4 else x[None]
    kernel, dilation, padding, stride, counts = _windows(
        "", wide.shape[2:], kernel=kernel_size, dilation=dilation, padding=padding, stride=stride
    )
    z = np.pad(wide, [(0, 0), (0, 0), *[(p, p) for p in padding]])
    out = np.stack([z[(..., *_window(u, dilation, stride, counts))] for u in np.ndindex(*kernel)], 2)
    out = out.reshape(len(wide), -1, math.prod(counts))
    return out if x.ndim == 4 else out[0]


def _window(u, dilation, stride, counts):
    return [slice(i * d, i * d + (m - 1) * s + 1, s) for i, d, s, m in zip(u, dilation, stride, counts)]


def _padded(x, padding, inverse=False):
    low = (0, 0, *[-p if inverse else p for p in padding])
    return shape.pad(x, create.full((), 0, x.dtype), low, low, (0, 0, 0, 0))


@composite(namespace=_F, reference=_unfold_reference)
def unfold(input: Tensor, kernel_size: Dims, dilation: Dims = 1, padding: Dims = 0, stride: Dims = 1) -> Tensor:
    """The windows of images input [N, C, H, W] as columns: [N, C * kernel elements, windows]. Without N too."""
    x, added = batched("unfold", input, 2)
    kernel, dilation, padding, stride, counts = _windows(
        "unfold", x.shape[2:], kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
    )
    z = _padded(x, padding)
    n, c = x.shape[:2]
    pieces = []
    for u in itertools.product(*map(range, kernel)):
        spots = _window(u, dilation, stride, counts)
        starts, stops = [s.start for s in spots], [s.stop for s in spots]
        pieces.append(shape.reshape(shape.slice_(z, (0, 0, *starts), (n, c, *stops), (1, 1, *stride)), (n, c, 1, *counts)))
    out = pieces[0] if len(pieces) == 1 else shape.concatenate(pieces, 2)
    return unbatched(shape.reshape(out, (n, c * len(pieces), math.prod(counts))), added)


def _fold_reference(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    output = per_dim("", "", output_size, 2)
    kernel, dilation, padding, stride, counts = _windows("", output, kernel=kernel_size, dilation=dilation, padding=padding, stride=stride)
    wide = x if x.ndim == 3 else x[None]
    c = wide.shape[1] // math.prod(kernel)
    pieces = wide.reshape(len(wide), c, *kernel, *counts)
    out = np.zeros((len(wide), c, *[m + 2 * p for m, p in zip(output, padding)]), x.dtype)
    for u in np.ndindex(*kernel):
        out[(..., *_window(u, dilation, stride, counts))] += pieces[:, :, u[0], u[1]]
    out = out[(..., *[slice(p, p + m) for p, m in zip(padding, output)])]
    return out if x.ndim == 3 else out[0]


@composite(namespace=_F, reference=_fold_reference)
def fold(input: Tensor, output_size: Dims, kernel_size: Dims, dilation: Dims = 1, padding: Dims = 0, stride: Dims = 1) -> Tensor:
    """Columns input [N, C * kernel elements, windows] added up where `unfold` takes them from: [N, C, *output_size]. Without N too."""
    x, added = batched("fold", input, 1)
    output = per_dim("fold", "output_size", output_size, 2)
    kernel, dilation, padding, stride, counts = _windows(
        "fold", output, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
    )
    n, elements, windows = x.shape
    ok = elements % math.prod(kernel) == 0 and windows == math.prod(counts)
    expected = f"expected input [N, a multiple of {math.prod(kernel)}, {math.prod(counts)}]"
    require(ok, "fold", f"{expected} for kernel_size={kernel} and output_size={output}, got {shown(input)}")
    pieces = shape.reshape(x, (n, elements // math.prod(kernel), math.prod(kernel), *counts))
    total = []
    for i, u in enumerate(itertools.product(*map(range, kernel))):
        piece = shape.reshape(shape.part(pieces, 2, i, i + 1), (*pieces.shape[:2], *counts))
        spots = _window(u, dilation, stride, counts)
        low = (0, 0, *[s.start for s in spots])
        high = (0, 0, *[m + 2 * p - s.stop for m, p, s in zip(output, padding, spots)])
        total.append(shape.pad(piece, create.full((), 0, x.dtype), low, high, (0, 0, *[s - 1 for s in stride])))
    return unbatched(_padded(algebra.total(total), padding, inverse=True), added)


__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]

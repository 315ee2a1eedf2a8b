"""Discrete Fourier transforms as torch.fft has them: sizes, dimensions and scaling around one prim.

out[k] = sum_j input[j] exp(-2 pi i j k / n) forward, and with the other sign and divided by n backward, for norm 'backward' (the
default); 'ortho' scales both by 1 / sqrt(n), and 'forward' divides the forward one by n instead.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.dtype import COMPLEX, DType, float32
from ..core.op import Dims, Tensor, composite
from ..prims import algebra, create, elementwise, parts, shape
from ..prims.fft import fft_general
from .arguments import require, require_arrays, shown
from .create import placing
from .promotion import canonical_dim, float_of, to_dtype
from .rearrange import roll

NAMESPACE = "fl.fft"
_NORMS = {None: "backward", "backward": "backward", "ortho": "ortho", "forward": "forward"}

# ---------------------------------------------------------------------------------------------------- the arguments


def _prepared(name, input, real: bool):
    """input as float (real) or complex numbers."""
    require_arrays(name, input=input)
    x = float_of(input)
    require(x.dtype.itemsize >= 4, name, f"half-width floats have no Fourier transform, got {shown(input)}; convert with .to(fl.float32)")
    if real:
        require(x.dtype.category != COMPLEX, name, f"expected a real input, got {shown(input)}")
        return x
    return to_dtype(x, x.dtype.to_complex())


def _dims(name, x, s, dim):
    """The dimensions to transform: those given, else the last len(s), else all."""
    if dim is None:
        require(s is None or len(s) <= x.ndim, name, f"s has {len(s or ())} sizes, but the input is {shown(x)}")
        return tuple(range(x.ndim - len(s), x.ndim)) if s is not None else tuple(range(x.ndim))
    dims = tuple([canonical_dim(name, d, x.ndim) for d in ((dim,) if isinstance(dim, int) else dim)])
    require(len(set(dims)) == len(dims), name, f"the dimensions must be distinct, got dim={dim}")
    require(s is None or len(s) == len(dims), name, f"s and dim must be of one length, got {s=}, {dim=}")
    return dims


def _sizes(name, x, s, dims):
    """The size of the signal along each of dims; -1 in s keeps it."""
    sizes = tuple([x.shape[d] if s is None or s[i] == -1 else s[i] for i, d in enumerate(dims)])
    require(all(n > 0 for n in sizes), name, f"the number of data points must be positive, got {sizes} for {shown(x)}")
    return sizes


def _fitted(x, dims, sizes):
    """x cut off, or filled up with zeros, to these sizes."""
    high = [0] * x.ndim
    for d, n in zip(dims, sizes):
        high[d] = n - x.shape[d]
    none = (0,) * x.ndim
    return shape.pad(x, create.full((), 0, x.dtype), none, tuple(high), none) if any(high) else x


def _factor(norm, sizes, inverse: bool, name: str):
    """What the prims' result, which is divided by n where `inverse`, is to be multiplied by."""
    require(norm in _NORMS, name, f"norm must be 'forward', 'backward' or 'ortho', got {norm!r}")
    n = math.prod(sizes)
    mode = _NORMS[norm]
    wanted = {"backward": 1 / n if inverse else 1.0, "ortho": 1 / math.sqrt(n), "forward": 1.0 if inverse else 1 / n}[mode]
    return wanted * n if inverse else wanted


def _along(x, kind, dims, lengths):
    """The prim over dims, up to three at a time, in their places."""
    kept = [d for d in range(x.ndim) if d not in dims]
    order = (*kept, *dims)
    plain = order == tuple(range(x.ndim))
    out = fft_general(x if plain else shape.permute(x, order), kind, lengths)
    return out if plain else shape.permute(out, shape.inverse(order))


def _groups(dims, lengths):
    """dims and lengths, three at a time from the end."""
    for stop in range(len(dims), 0, -3):
        yield dims[max(stop - 3, 0) : stop], lengths[max(stop - 3, 0) : stop]


def _scaled(x, factor):
    return x if factor == 1 else elementwise.scaled(x, factor)


# ---------------------------------------------------------------------------------------------------- the transforms


def _complex(name, input, s, dim, norm, inverse):
    x = _prepared(name, input, False)
    dims = _dims(name, x, s, dim)
    sizes = _sizes(name, x, s, dims)
    factor = _factor(norm, sizes, inverse, name)
    x = _fitted(x, dims, sizes)
    for ds, ns in _groups(dims, sizes):
        x = _along(x, "ifft" if inverse else "fft", ds, ns)
    return _scaled(x, factor)


def _real(name, input, s, dim, norm):
    x = _prepared(name, input, True)
    dims = _dims(name, x, s, dim)
    require(len(dims) > 0, name, "at least one dimension is needed")
    sizes = _sizes(name, x, s, dims)
    factor = _factor(norm, sizes, False, name)
    x = _fitted(x, dims, sizes)
    for i, (ds, ns) in enumerate(_groups(dims, sizes)):  # the last dimension is halved, and is in the first group
        x = _along(x, "fft" if i else "rfft", ds, ns)
    return _scaled(x, factor)


def _to_real(name, input, s, dim, norm):
    x = _prepared(name, input, False)
    dims = _dims(name, x, s, dim)
    require(len(dims) > 0, name, "at least one dimension is needed")
    last = 2 * (x.shape[dims[-1]] - 1) if s is None or s[-1] == -1 else s[-1]
    sizes = (*_sizes(name, x, None if s is None else s[:-1], dims[:-1]), last)
    require(last > 0, name, f"the number of data points must be positive, got {last} for {shown(input)}")
    factor = _factor(norm, sizes, True, name)
    x = _fitted(x, dims, (*sizes[:-1], last // 2 + 1))
    groups = list(_groups(dims, sizes))
    for ds, ns in groups[1:]:
        x = _along(x, "ifft", ds, ns)
    return _scaled(_along(x, "irfft", *groups[0]), factor)


_OPPOSITE = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _hermitian(name, input, s, dim, norm):
    """The forward transform of a signal that is conjugate-symmetric: irfft of its conjugate, without the division."""
    require(norm in _NORMS, name, f"norm must be 'forward', 'backward' or 'ortho', got {norm!r}")
    return _to_real(name, parts.conj(_prepared(name, input, False)), s, dim, _OPPOSITE[norm])


def _to_hermitian(name, input, s, dim, norm):
    require(norm in _NORMS, name, f"norm must be 'forward', 'backward' or 'ortho', got {norm!r}")
    return parts.conj(_real(name, input, s, dim, _OPPOSITE[norm]))


# kind: (what it does, the function of (name, input, s, dim, norm), its inverse)
_KINDS = {
    "fft": ("The discrete Fourier transform", lambda *a: _complex(*a, False), "ifft"),
    "ifft": ("The inverse discrete Fourier transform", lambda *a: _complex(*a, True), "fft"),
    "rfft": ("The half of a real signal's Fourier transform that determines the other", _real, "irfft"),
    "irfft": ("The real signal with this half of a Fourier transform", _to_real, "rfft"),
    "hfft": ("The (real) Fourier transform of the conjugate-symmetric signal with this half", _hermitian, "ihfft"),
    "ihfft": ("The half of a real signal's inverse Fourier transform that determines the other", _to_hermitian, "hfft"),
}
_SIZES = """Without sizes the signal keeps its own (irfft and hfft take 2 (n - 1) for the last); else it is cut off or filled up with
    zeros. norm is 'backward' (None), 'ortho' or 'forward'."""


def _numpy(name):
    """NumPy's function, in the precision of the input."""

    def reference(x, *args, **kwargs):
        if name.startswith(("h", "ih")) and name[-1] in "2n":
            return _numpy_hermitian(name, x, *args, **kwargs)
        out = getattr(np.fft, name)(x, *args, **kwargs)
        single = x.dtype.itemsize <= (8 if np.iscomplexobj(x) else 4) and x.dtype.kind in "fc" or x.dtype.kind in "iub"
        return out.astype(np.complex64 if np.iscomplexobj(out) else np.float32) if single else out

    return reference


def _numpy_hermitian(name, x, s=None, dim=None, norm=None):
    dim = (-2, -1) if dim is None and name.endswith("2") else dim
    inverse = _OPPOSITE[norm]
    return np.fft.irfftn(np.conj(x), s, dim, inverse) if name[0] == "h" else np.conj(np.fft.rfftn(x, s, dim, inverse))


def _one(kind):
    what, f, other = _KINDS[kind]

    def op(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        require_arrays(kind, input=input)
        return f(kind, input, None if n is None else (n,), dim, norm)

    op.__name__ = kind
    op.__doc__ = f"""{what}, along one dimension, of n points. {_SIZES} Its inverse is `{other}`.

    >>> import functorch_lite as fl
    >>> fl.fft.{other}(fl.fft.{kind}(fl.asarray([1.0, 2.0, 2.0]){", 4" if kind in ("irfft", "hfft") else ""})).shape
    ({3 if kind not in ("rfft", "ihfft") else 2},)
    """
    return composite(op, namespace=NAMESPACE, reference=_numpy(kind))


def _many(kind, suffix):
    what, f, other = _KINDS[kind]
    name = kind + suffix
    default = (-2, -1) if suffix == "2" else None

    def op(input: Tensor, s: Dims | None = None, dim: Dims | None = default, norm: str | None = None) -> Tensor:
        require_arrays(name, input=input)
        return f(name, input, (s,) if isinstance(s, int) else s, dim, norm)

    op.__name__ = name
    over = "the two dimensions dim" if suffix == "2" else "the dimensions dim (None: the last len(s), or all)"
    op.__doc__ = f"{what}, over {over}, with the sizes s. {_SIZES} Its inverse is `{other + suffix}`."
    return composite(op, namespace=NAMESPACE, reference=_numpy(name))


fft, ifft, rfft, irfft, hfft, ihfft = map(_one, _KINDS)
fft2, ifft2, rfft2, irfft2, hfft2, ihfft2 = (_many(kind, "2") for kind in _KINDS)
fftn, ifftn, rfftn, irfftn, hfftn, ihfftn = (_many(kind, "n") for kind in _KINDS)

# --------------------------------------------------------------------------------------------------- the frequencies


def _shifted(name, input, dim, inverse):
    require_arrays(name, input=input)
    dims = tuple(range(input.ndim)) if dim is None else (dim,) if isinstance(dim, int) else dim
    by = [input.shape[canonical_dim(name, d, input.ndim)] // 2 for d in dims]
    by = [-b for b in by] if inverse else by
    return roll(input, tuple(by), dims) if dims else input


@composite(namespace=NAMESPACE, reference=np.fft.fftshift)
def fftshift(input: Tensor, dim: Dims | None = None) -> Tensor:
    """input rolled along dim (None: all dimensions) so that frequency zero comes to the middle."""
    return _shifted("fftshift", input, dim, False)


@composite(namespace=NAMESPACE, reference=np.fft.ifftshift)
def ifftshift(input: Tensor, dim: Dims | None = None) -> Tensor:
    """What `fftshift` did, undone."""
    return _shifted("ifftshift", input, dim, True)


def _frequencies(name, count, n, d, dtype):
    require(n > 0, name, f"n must be positive, got {n}")
    dtype = dtype or float32
    require(dtype.is_floating_point, name, f"dtype must be a float dtype, got {dtype}")
    index = create.iota((count,), 0, dtype)
    return index, algebra.full_like(index, 1 / (n * d))


@placing
@composite(namespace=NAMESPACE, reference=lambda n, d=1.0, *, dtype=None: np.fft.fftfreq(n, d).astype((dtype or float32).dtype))
def fftfreq(n: int, d: float = 1.0, *, dtype: DType | None = None) -> Tensor:
    """The frequencies that `fft` of n points, d apart, has at each position: [0, 1, ..., (n - 1) // 2, -(n // 2), ..., -1] / (n d)."""
    index, scale = _frequencies("fftfreq", n, n, d, dtype)
    half = (n + 1) // 2
    negative = shape.part(index, 0, half, n)
    wrapped = elementwise.sub(negative, algebra.full_like(negative, n))
    return elementwise.mul(shape.concatenate([shape.part(index, 0, 0, half), wrapped], 0), scale)


@placing
@composite(namespace=NAMESPACE, reference=lambda n, d=1.0, *, dtype=None: np.fft.rfftfreq(n, d).astype((dtype or float32).dtype))
def rfftfreq(n: int, d: float = 1.0, *, dtype: DType | None = None) -> Tensor:
    """The frequencies that `rfft` of n points, d apart, has at each position: [0, 1, ..., n // 2] / (n d)."""
    return elementwise.mul(*_frequencies("rfftfreq", n // 2 + 1, n, d, dtype))

"""The short-time Fourier transform and its inverse: windows of a signal, transformed, and added up again."""

from __future__ import annotations

import math

import numpy as np

from ..core.op import Tensor, composite
from ..prims import algebra, checks, compare, create, elementwise, reduce, shape
from .arguments import require, require_arrays, require_inexact, shown
from .fourier import fft, ifft, irfft, rfft
from .parts import view_as_real
from .promotion import expand_to, result_type, to_dtype
from .rearrange import pad, unfold_dim


def _framing(name: str, n_fft: int, hop_length, win_length, window):
    """(hop, the window filled up to n_fft points: of ones if there is none)."""
    win_length = n_fft if win_length is None else win_length
    hop = n_fft // 4 if hop_length is None else hop_length
    require(n_fft > 0, name, f"expected n_fft > 0, got {n_fft}")
    require(hop > 0, name, f"expected hop_length > 0, got {hop}")
    require(0 < win_length <= n_fft, name, f"expected 0 < win_length <= n_fft, got win_length={win_length}, n_fft={n_fft}")
    if window is None:
        return hop, win_length, None
    ok = window.ndim == 1 and window.shape[0] == win_length
    require(ok, name, f"expected a 1-D window of size win_length={win_length}, got {shown(window)}")
    return hop, win_length, window


def _filled(window, win_length: int, n_fft: int, dtype):
    """The window in the middle of n_fft zeros; None for one that is all ones."""
    if window is None:
        if win_length == n_fft:
            return None
        window = create.full((win_length,), 1, dtype)
    left = (n_fft - win_length) // 2
    return pad(window, (left, n_fft - win_length - left))


def _times(x, window):
    if window is None:
        return x
    dtype = result_type(x, window)
    return elementwise.mul(to_dtype(x, dtype), expand_to(to_dtype(window, dtype), x.shape))


@composite(method=True, reference=lambda *args, **kwargs: _stft_reference(*args, **kwargs))
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The Fourier transforms of windows of a signal [time] or [batch, time], hop_length apart: [..., frequency, window].

    Each is of n_fft points, multiplied by `window` (ones unless given; of win_length <= n_fft points, it stands in the middle). With
    ``center`` the signal is first padded by n_fft // 2 at both ends in `pad_mode`; ``normalized`` divides by sqrt(n_fft); ``onesided`` leaves
    out the frequencies that follow from the others (of a real signal and window, by default). ``return_complex=False`` gives pairs of real
    numbers. ``align_to_window``, without ``center``, starts windows, not transforms, at the signal's start. RuntimeError for sizes that do
    not fit, and for a real signal without ``return_complex``.

    >>> import functorch_lite as fl
    >>> fl.stft(fl.ones(16), 8, window=fl.hann_window(8), return_complex=True).shape
    (5, 9)
    """
    require_arrays("stft", input=input, window=window)
    require_inexact("stft", input)
    require(input.ndim in (1, 2), "stft", f"expected a 1-D or 2-D signal, got {shown(input)}")
    wavy = input.dtype.is_complex or window is not None and window.dtype.is_complex
    needed = "return_complex must be given for a real signal and window; True is what you want"
    require(return_complex is not None or wavy, "stft", f"{needed}, got input {shown(input)}")
    require(not (center and align_to_window is not None), "stft", "align_to_window should only be set when center=False")
    hop, win_length, window = _framing("stft", n_fft, hop_length, win_length, window)
    onesided = not wavy if onesided is None else onesided
    require(not (onesided and wavy), "stft", f"a complex signal or window has no onesided transform, got {shown(input, window)}")
    x = input
    if center:
        x = pad(x if x.ndim == 2 else shape.reshape(x, (1, *x.shape)), (n_fft // 2, n_fft // 2), pad_mode)
        x = x if input.ndim == 2 else shape.reshape(x, x.shape[1:])
    if align_to_window:
        left = (n_fft - win_length) // 2
        x = pad(x, (left, n_fft - win_length - left))
    require(n_fft <= x.shape[-1], "stft", f"expected n_fft to be at most the signal's {x.shape[-1]} points, got {n_fft=}, {shown(input)}")
    frames = _times(unfold_dim(x, x.ndim - 1, n_fft, hop), _filled(window, win_length, n_fft, x.dtype.to_real()))
    norm = "ortho" if normalized else None
    out = rfft(frames, norm=norm) if onesided else fft(frames, norm=norm)
    out = shape.permute(out, (*range(out.ndim - 2), out.ndim - 1, out.ndim - 2))
    return out if return_complex or return_complex is None else view_as_real(out)


def _overlapped(frames, hop: int):
    """Frames [..., t, n] added up, hop apart: [..., (t - 1) hop + n]. Each is cut into pieces of hop points, and the pieces that meet are
    brought into one place by padding and reshaping: no scattering."""
    *batch, t, n = frames.shape
    pieces = -(-n // hop)
    x = pad(frames, (0, pieces * hop - n))
    x = shape.reshape(x, (*batch, t, pieces, hop))
    b = len(batch)
    x = shape.permute(x, (*range(b), b + 1, b, b + 2))
    x = pad(x, (0, 0, 0, pieces))  # row i of t + pieces places; read as rows of one place less, it has moved by i
    x = shape.reshape(x, (*batch, pieces * (t + pieces), hop))
    x = shape.part(x, b, 0, pieces * (t + pieces - 1))
    x = reduce.reduce_sum(shape.reshape(x, (*batch, pieces, t + pieces - 1, hop)), (b,))
    x = shape.reshape(x, (*batch, (t + pieces - 1) * hop))
    return shape.part(x, b, 0, (t - 1) * hop + n)


@composite(method=True, reference=lambda *args, **kwargs: _istft_reference(*args, **kwargs))
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose `stft`, with the same arguments, is nearest to input [..., frequency, window]: the windows' inverse transforms,
    multiplied by the window and added up, over the sum of the window's squares. `length` cuts it off, or fills it up with zeros.

    RuntimeError for sizes that do not fit, and, when not traced, for windows that leave a point of the signal without weight.

    >>> import functorch_lite as fl
    >>> x, w = fl.arange(16.0), fl.hann_window(8)
    >>> fl.istft(fl.stft(x, 8, window=w, return_complex=True), 8, window=w).round(decimals=3).tolist()[:3]
    [0.0, 1.0, 2.0]
    """
    require_arrays("istft", input=input, window=window)
    require(input.dtype.is_complex, "istft", f"expected a complex input, got {shown(input)}; make one with view_as_complex")
    require(
        input.ndim in (2, 3) and 0 not in input.shape, "istft", f"expected [batch, frequency, window] without size 0, got {shown(input)}"
    )
    hop, win_length, window = _framing("istft", n_fft, hop_length, win_length, window)
    require(hop <= win_length, "istft", f"expected 0 < hop_length <= win_length, got {hop}, {win_length}")
    frequencies, count = input.shape[-2:]
    onesided = frequencies != n_fft if onesided is None else onesided
    expected = n_fft // 2 + 1 if onesided else n_fft
    require(frequencies == expected, "istft", f"expected {expected} frequencies for {n_fft=}, {onesided=}, got {shown(input)}")
    require(not (onesided and return_complex), "istft", "a complex signal has no onesided transform")
    real = input.dtype.to_real()
    wavy = window is not None and window.dtype.is_complex
    require(
        not wavy or return_complex, "istft", f"a complex window gives a complex signal: return_complex must be True, got {shown(window)}"
    )
    w = _filled(window, win_length, n_fft, real)
    w = create.full((n_fft,), 1, real) if w is None else w
    x = shape.permute(input, (*range(input.ndim - 2), input.ndim - 1, input.ndim - 2))
    norm = "ortho" if normalized else None
    if return_complex:
        frames = ifft(x, norm=norm)
    else:
        frames = irfft(shape.part(x, x.ndim - 1, 0, n_fft // 2 + 1), n_fft, norm=norm)
    y = _overlapped(_times(frames, w), hop)
    weight = _overlapped(expand_to(elementwise.mul(w, w), (count, n_fft)), hop)
    full = y.shape[-1]
    start = n_fft // 2 if center else 0
    stop = start + length if length is not None else full - n_fft // 2 if center else full
    end = min(stop, full)
    require(start < end, "istft", f"nothing is left of a signal of {full} points between {start} and {end}, from {shown(input)}")
    y, weight = shape.part(y, y.ndim - 1, start, end), shape.part(weight, 0, start, end)
    size = elementwise.abs(weight)
    enough = compare.ge(size, algebra.full_like(size, 1e-11))
    message = "istft: the windows leave a point of the signal without weight (window overlap add min < 1e-11); take a smaller hop_length"
    weight = checks.expect(weight, enough, "RuntimeError", message)
    dtype = result_type(y, weight)
    y = elementwise.div(to_dtype(y, dtype), expand_to(to_dtype(weight, dtype), y.shape))
    return pad(y, (0, stop - end)) if stop > end else y


def _stft_reference(
    x,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=None,
    return_complex=None,
):
    hop, win_length = hop_length or n_fft // 4, win_length or n_fft
    left = (n_fft - win_length) // 2
    w = np.pad(np.ones(win_length) if window is None else window, (left, n_fft - win_length - left))
    if center:
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(n_fft // 2,) * 2], mode=pad_mode)
    starts = range(0, x.shape[-1] - n_fft + 1, hop)
    wavy = np.iscomplexobj(x) or np.iscomplexobj(w)
    one = np.fft.fft if wavy or onesided is False else np.fft.rfft
    out = np.stack([one(x[..., s : s + n_fft] * w) for s in starts], -1) / (math.sqrt(n_fft) if normalized else 1)
    return out if return_complex is not False else np.stack([out.real, out.imag], -1)


def _istft_reference(z, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None, length=None):
    hop, win_length = hop_length or n_fft // 4, win_length or n_fft
    left = (n_fft - win_length) // 2
    w = np.pad(np.ones(win_length) if window is None else window, (left, n_fft - win_length - left))
    frames = np.fft.irfft(np.swapaxes(z, -1, -2)[..., : n_fft // 2 + 1], n_fft) * w * (math.sqrt(n_fft) if normalized else 1)
    y, weight = np.zeros((*z.shape[:-2], n_fft + hop * (z.shape[-1] - 1))), np.zeros(n_fft + hop * (z.shape[-1] - 1))
    for t in range(z.shape[-1]):
        y[..., t * hop : t * hop + n_fft] += frames[..., t, :]
        weight[t * hop : t * hop + n_fft] += w * w
    start = n_fft // 2 if center else 0
    stop = start + length if length is not None else y.shape[-1] - start
    out = y[..., start:stop] / weight[start:stop]
    return np.pad(out, [(0, 0)] * (out.ndim - 1) + [(0, max(stop - y.shape[-1], 0))])


__all__ = ["istft", "stft"]

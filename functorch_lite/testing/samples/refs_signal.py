"""Samples of windows, and of the short-time Fourier transform and its inverse."""

from __future__ import annotations

import numpy as np

from ...core.dtype import float32, float64
from ...refs import spectra, windows
from ..table import Sample, array, row

LENGTHS = (0, 1, 2, 5, 8)


def lengths(**named):
    return lambda rng, dtype: [Sample(M, sym=sym, dtype=dtype, **named) for M in LENGTHS for sym in (True, False)]


for function in (windows.bartlett, windows.blackman, windows.cosine, windows.hamming, windows.hann, windows.nuttall):
    row(function, lengths())
row(windows.general_cosine, lengths(a=(0.5, 0.3, 0.2)))
row(windows.general_hamming, lengths(alpha=0.6))
row(windows.gaussian, lengths(std=1.5))
row(windows.kaiser, lengths(beta=5.0), tolerance=2)
row(windows.exponential, lengths(center=None, tau=2.0))
row(windows.exponential, lambda rng, dtype: [Sample(5, center=1.5, tau=2.0, sym=False, dtype=dtype)])

# (n_fft, hop_length, win_length) and other arguments
CUTS = (((8, None, None), {}), ((8, 3, 6), {"normalized": True}), ((7, 2, 7), {"center": False}), ((6, 1, 5), {"pad_mode": "constant"}))


def signals(rng, dtype):
    for sizes, named in CUTS:
        for shape in ((20,), (2, 17)):
            window = array(rng, (sizes[2] or sizes[0],), dtype, 0.5, 1.5)
            yield Sample(array(rng, shape, dtype), *sizes, window, return_complex=True, **named)
    yield Sample(array(rng, (20,), dtype), 8, onesided=False, return_complex=False)


row(spectra.stft, signals, (float32, float64), tolerance=4)


def spectrograms(rng, dtype):
    complex_dtype = dtype.to_complex()
    for sizes, named in CUTS:
        named = {k: v for k, v in named.items() if k != "pad_mode"}
        for shape in ((), (2,)):
            window = array(rng, (sizes[2] or sizes[0],), dtype, 0.5, 1.5)
            yield Sample(array(rng, (*shape, sizes[0] // 2 + 1, 9), complex_dtype), *sizes, window, **named)
    yield Sample(array(rng, (5, 9), complex_dtype), 8, window=np.ones(8, dtype.dtype), length=20)
    yield Sample(array(rng, (5, 9), complex_dtype), 8, window=np.ones(8, dtype.dtype), length=11)


row(spectra.istft, spectrograms, (float32, float64), tolerance=8)

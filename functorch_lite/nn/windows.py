"""Constructors of Tensors that hold windows and frequencies: the functional face's, made as those of `nn/create.py`."""

from __future__ import annotations

from ..refs import fourier, windows
from .create import constructor

_WINDOWS = "bartlett blackman cosine exponential gaussian general_cosine general_hamming hamming hann kaiser nuttall".split()
bartlett, blackman, cosine, exponential, gaussian, general_cosine, general_hamming, hamming, hann, kaiser, nuttall = (
    constructor(getattr(windows, name), floats=True) for name in _WINDOWS
)
bartlett_window, blackman_window, hamming_window, hann_window, kaiser_window = (
    constructor(getattr(windows, f"{name}_window"), floats=True) for name in ("bartlett", "blackman", "hamming", "hann", "kaiser")
)
fftfreq, rfftfreq = (constructor(f, floats=True) for f in (fourier.fftfreq, fourier.rfftfreq))

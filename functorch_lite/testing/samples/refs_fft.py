"""Samples of the refs of torch.fft: sizes that cut off and fill up, every scaling, dimensions in any order, more than three of them."""

from __future__ import annotations

import numpy as np

from ...core.dtype import float32, float64, int64
from ...refs import fourier
from ..table import INEXACT, REAL, Sample, array, row

ONE = (((5,), None, -1, None), ((2, 3), 4, 0, "ortho"), ((2, 6), 3, -1, "forward"), ((0, 3), None, -1, "backward"))
TWO = (((3, 4), None, (-2, -1), None), ((2, 3, 4), (2, 5), (0, -1), "ortho"), ((4, 3), (-1, 4), (1, 0), "forward"))
MANY = (
    ((2, 3), None, None, None),
    ((2, 3, 4), (4, 3), (-2, -1), "ortho"),
    ((2, 3, 4), None, (2, 0), "forward"),
    ((2, 1, 3, 4), None, (0, 1, 2, 3), None),
)


def transforms(*cases):
    return lambda rng, dtype: [Sample(array(rng, shape, dtype), s, dim, norm=norm) for shape, s, dim, norm in cases]


COMPLEX_INPUT = (fourier.fft, fourier.ifft, fourier.irfft, fourier.hfft)
REAL_INPUT = (fourier.rfft, fourier.ihfft)
for function in COMPLEX_INPUT:
    row(function, transforms(*ONE), (*INEXACT, int64), tolerance=2)
for function in REAL_INPUT:
    row(function, transforms(*ONE), (*REAL, int64), tolerance=2)
for functions, cases in (
    ((fourier.fft2, fourier.ifft2, fourier.irfft2, fourier.hfft2), TWO),
    ((fourier.fftn, fourier.ifftn, fourier.irfftn, fourier.hfftn), MANY),
):
    for function in functions:
        row(function, transforms(*cases), INEXACT, tolerance=2)
for functions, cases in (((fourier.rfft2, fourier.ihfft2), TWO), ((fourier.rfftn, fourier.ihfftn), MANY)):
    for function in functions:
        row(function, transforms(*cases), tolerance=2)


def shifts(rng, dtype):
    for shape, dim in (((5,), None), ((2, 3), None), ((2, 3), -1), ((2, 3, 4), (0, 2)), ((0, 2), None), ((), None)):
        yield Sample(array(rng, shape, dtype), dim)


for function, by_numpy in ((fourier.fftshift, np.fft.fftshift), (fourier.ifftshift, np.fft.ifftshift)):
    row(function, shifts, (*INEXACT, int64), reference=lambda x, dim, f=by_numpy: f(x, dim) if x.ndim else x)  # it takes no 0-dim array
for function in (fourier.fftfreq, fourier.rfftfreq):
    row(function, lambda rng, dtype: [Sample(n, d, dtype=dtype) for n in (1, 4, 5) for d in (1.0, 0.25)], (float32, float64))
    row(function, lambda rng, dtype: [Sample(4)], (float32,))

"""Samples of Fourier transforms: even, odd, prime and single lengths, one to three dimensions, empty batches."""

from __future__ import annotations

from ...core.dtype import COMPLEX, complex64
from ...prims.fft import fft_general
from ..table import INEXACT, Sample, array, row

LENGTHS = ((5,), (6,), (1,), (3, 4), (4, 3), (2, 3, 4))


def transforms(rng, dtype):
    """Of real arrays `rfft`, of complex ones the other three."""
    for kind in ("fft", "ifft", "irfft") if dtype.category == COMPLEX else ("rfft",):
        for lengths in LENGTHS:
            for lead in ((), (2,)) if len(lengths) == 1 else ((),):
                sizes = (*lengths[:-1], lengths[-1] // 2 + 1) if kind == "irfft" else lengths
                yield Sample(array(rng, (*lead, *sizes), dtype), kind, lengths)
        yield Sample(array(rng, (0, 2 if kind == "irfft" else 3), dtype), kind, (3,))


row(fft_general, transforms, dtypes=(*INEXACT, complex64), tolerance=2)

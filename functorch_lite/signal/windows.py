"""Windows by name, as PyTorch's torch.signal.windows has them. Names only: the ops live in refs/."""

# ruff: noqa: F401  # names only

from ..refs.windows import (
    bartlett,
    blackman,
    cosine,
    exponential,
    gaussian,
    general_cosine,
    general_hamming,
    hamming,
    hann,
    kaiser,
    nuttall,
)

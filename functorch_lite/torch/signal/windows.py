"""torch.signal.windows: the windows of fl.signal, as Tensors. Names only."""

# ruff: noqa: F401  # names only

from ...nn.windows import (
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

"""Special functions by name, as PyTorch's torch.special has them (and `betainc`). Names only: the ops live in refs/."""

# ruff: noqa: F401  # names only

from .refs.elementwise import exp2, expm1, log1p, round, sinc
from .refs.reduce import logsumexp
from .refs.softmaxes import log_softmax, softmax
from .refs.special import (
    betainc,
    digamma,
    entr,
    erf,
    erfc,
    erfcx,
    erfinv,
    expit,
    gammainc,
    gammaincc,
    gammaln,
    i0,
    i0e,
    i1,
    i1e,
    log_ndtr,
    logit,
    multigammaln,
    ndtr,
    ndtri,
    polygamma,
    psi,
    xlog1py,
    xlogy,
    zeta,
)

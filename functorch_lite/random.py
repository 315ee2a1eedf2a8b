"""Random numbers without hidden state: every draw is a function of a key. Names only: the ops live in refs/random.py.

>>> import functorch_lite as fl
>>> key = fl.random.key(0)
>>> key, use = fl.random.split(key)
>>> fl.random.normal(use, (2, 3)).shape
(2, 3)
"""

from .refs.random import (
    bernoulli,
    categorical,
    choice,
    exponential,
    fold_in,
    gumbel,
    key,
    normal,
    permutation,
    randint,
    split,
    truncated_normal,
    uniform,
)
from .refs.random import random_bits as bits
from .refs.samplers import beta, binomial, cauchy, dirichlet, gamma, geometric, log_normal, multinomial, poisson

__all__ = [
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "choice",
    "dirichlet",
    "exponential",
    "fold_in",
    "gamma",
    "geometric",
    "gumbel",
    "key",
    "log_normal",
    "multinomial",
    "normal",
    "permutation",
    "poisson",
    "randint",
    "split",
    "truncated_normal",
    "uniform",
]

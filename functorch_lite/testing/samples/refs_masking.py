"""Samples of ops under a mask: of the shape of input and of fewer dimensions, none, and one that holds nowhere in some row."""

from __future__ import annotations

import numpy as np

from ...core.dtype import float32, float64, int64
from ...refs import masking
from ..table import INEXACT, NUMBERS, REAL, Sample, array, row
from .elementwise import away_from_zero
from .reduce import distinct

FORMS = (  # shape of input, of mask, dim, keepdim
    ((3,), (3,), None, False),
    ((2, 3), (2, 3), -1, True),
    ((2, 3), (3,), (1, 0), False),
    ((2, 3), (2, 1), 0, False),
    ((2, 3), None, 1, False),
    ((), (), None, False),
)


def _mask(rng, shape, some=True):
    """With ``some``, each row has an element that counts."""
    mask = np.asarray(rng.random(shape) < 0.6)
    if some and mask.ndim:
        mask[..., 0] = True
    return np.asarray(mask | (some and not mask.ndim))


def reduced(values=array, some=True, lead=(), dims=FORMS, **named):
    """Samples of a reduction; ``lead`` are arguments before dim."""

    def sampler(rng, dtype):
        for shape, of_mask, dim, keepdim in dims:
            mask = None if of_mask is None else _mask(rng, of_mask, some)
            yield Sample(values(rng, shape, dtype), *lead, dim, keepdim=keepdim, mask=mask, **named)

    return sampler


def nowhere(sampler):
    """The samples, and one of which a row has no element that counts, where a derivative means nothing."""

    def both(rng, dtype):
        yield from sampler(rng, dtype)
        mask = np.array([[True, False, True], [False, False, False]])
        yield Sample(distinct(rng, (2, 3), dtype), 1, mask=mask, differentiable=False)

    return both


ONE_DIM = tuple([f for f in FORMS if f[2].__class__ is int])
WHOLE = tuple([f for f in FORMS if f[2].__class__ is not tuple])

row(masking.sum, nowhere(reduced(some=False)), NUMBERS)
row(masking.prod, nowhere(reduced(away_from_zero, some=False)), NUMBERS)
for function in (masking.amax, masking.amin):
    row(function, reduced(distinct), (float32, float64, int64))
    row(function, nowhere(reduced(distinct)), REAL)
for function in (masking.argmax, masking.argmin):
    row(function, reduced(distinct, dims=WHOLE), (float32, float64, int64))
row(masking.logsumexp, nowhere(reduced()), REAL)
row(masking.mean, nowhere(reduced()), INEXACT)
for function in (masking.var, masking.std):
    for correction in (0, 1):
        row(function, nowhere(reduced(distinct, correction=correction, dims=FORMS[:-1])), REAL)
row(masking.median, reduced(distinct, dims=ONE_DIM), (float32, float64, int64))
for order in (2.0, 1.0, 3.0, 0.0, np.inf, -np.inf):
    row(masking.norm, reduced(distinct, lead=(order,)), REAL)


def along(values=array, lead=(), some=True, differentiable=True):
    def sampler(rng, dtype):
        for shape, of_mask, dim in (((3,), (3,), 0), ((2, 3), (3,), -1), ((2, 3), None, 0), ((), (), 0)):
            mask = None if of_mask is None else _mask(rng, of_mask, some)
            yield Sample(values(rng, shape, dtype), *lead, dim, mask=mask, differentiable=differentiable or mask is None)

    return sampler


row(masking.cumsum, along(some=False), NUMBERS)
row(masking.cumprod, along(away_from_zero, some=False), NUMBERS)
for function in (masking.softmax, masking.softmin):
    row(function, along(), REAL)
row(masking.log_softmax, along(differentiable=False), REAL)  # -inf has no difference
row(masking.normalize, along(away_from_zero, lead=(2.0,)), REAL)


def pairs(rng, dtype):
    for shape, one, other in (((3,), (3,), None), ((2, 3), (3,), (2, 3)), ((), None, ())):
        masks = [None if m is None else _mask(rng, m) for m in (one, other)]
        x, y = array(rng, shape, dtype), array(rng, shape, dtype)
        yield Sample(x, y, input_mask=masks[0], other_mask=masks[1])


row(masking.logaddexp, pairs, REAL)

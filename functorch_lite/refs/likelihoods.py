"""Losses that are negative log-likelihoods of distributions."""

from __future__ import annotations

import math

import numpy as np

from ..core.op import Tensor, composite
from ..prims import algebra, checks, compare, elementwise, shape
from .arguments import require, shown
from .loss import constant, pair, reduced, reduced_reference
from .margins import floats, plus
from .promotion import promoted

_F = "fl.nn.functional"


def _poisson_reference(x, y, log_input=True, full=False, eps=1e-8, reduction="mean"):
    loss = np.exp(x) - y * x if log_input else x - y * np.log(x + eps)
    safe = np.where(y > 1, y, 1)
    return reduced_reference(loss + (y > 1) * (safe * np.log(safe) - safe + 0.5 * np.log(2 * np.pi * safe)) * full, reduction)


@composite(namespace=_F, reference=_poisson_reference)
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean"
) -> Tensor:
    """The negative log-likelihood of counts target under a Poisson distribution whose rate (or, with log_input, its log) is input.

    Without the constant log(target!), or, if full, with Stirling's approximation of it where target > 1.
    """
    x, y = floats("poisson_nll_loss", input, target)
    if log_input:
        loss = elementwise.sub(elementwise.exp(x), elementwise.mul(y, x))
    else:
        loss = elementwise.sub(x, elementwise.mul(y, elementwise.log(plus(x, eps))))
    if full:
        large = compare.gt(y, constant(y, 1))
        safe = compare.select(large, y, constant(y, 1))
        log = elementwise.log(safe)
        stirling = elementwise.add(
            elementwise.sub(elementwise.mul(safe, log), safe), elementwise.scaled(plus(log, math.log(2 * math.pi)), 0.5)
        )
        loss = elementwise.add(loss, compare.select(large, stirling, algebra.zeros(y.aval)))
    return reduced("poisson_nll_loss", loss, reduction)


def _gaussian_reference(x, y, var, full=False, eps=1e-6, reduction="mean"):
    var = np.maximum(var if np.ndim(var) in (0, x.ndim) else var[..., None], eps)
    return reduced_reference(0.5 * (np.log(var) + (x - y) ** 2 / var) + 0.5 * np.log(2 * np.pi) * full, reduction)


@composite(namespace=_F, reference=_gaussian_reference)
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Tensor:
    """(log(v) + (input - target)^2 / v) / 2 with v = max(var, eps), plus log(2 pi) / 2 if full; var may lack the last dimension.

    ValueError for a negative variance (unchecked under jit).
    """
    name = "gaussian_nll_loss"
    x, y = pair(name, input, target)
    if not isinstance(var, (int, float)) and var.shape == x.shape[:-1] and x.ndim:
        var = shape.reshape(var, (*var.shape, 1))
    v = promoted(var, x, dtype=x.dtype)[0]
    require(v.shape == x.shape, name, f"var must have the shape of input, or that without the last dimension, got {shown(x, v)}")
    v = checks.expect(v, compare.ge(v, algebra.zeros(v.aval)), "ValueError", f"{name}: var has a negative entry")
    v = compare.maximum(v, constant(v, eps))
    d = elementwise.sub(x, y)
    loss = elementwise.scaled(elementwise.add(elementwise.log(v), elementwise.div(elementwise.mul(d, d), v)), 0.5)
    return reduced(name, plus(loss, 0.5 * math.log(2 * math.pi)) if full else loss, reduction)

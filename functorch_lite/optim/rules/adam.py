"""Adam (Kingma and Ba, 2015), AMSGrad (Reddi et al., 2018) and decoupled weight decay, AdamW (Loshchilov and Hutter, 2019)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.op import Tensor, Tensors, composite
from ...refs.compare import maximum
from ...refs.create import zeros as zeros_of_shape
from ...refs.elementwise import sqrt
from ...refs.parts import view_as_complex, view_as_real
from ...refs.promotion import to_dtype
from .leaves import Together, columns, exact, flocks, given, merged, parted, scale, slot, spread, tree_step, wide, zeros

SLOTS = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")  # state like its parameter, by PyTorch's names; the last for AMSGrad only


def slots_of(amsgrad: bool) -> tuple[str, ...]:
    """Names of the state that is like its parameter."""
    return SLOTS if amsgrad else SLOTS[:2]


def _adam_reference(lr, beta1, beta2, eps, weight_decay, tensors, amsgrad=False, maximize=False, decoupled=False, together=False):
    kinds = 5 + amsgrad
    n = len(tensors) // kinds
    rows = []
    for i in range(n):
        p, g, *averages, step = [tensors[k * n + i] for k in range(kinds)]
        dtype = p.dtype
        if np.iscomplexobj(p):
            p, g, *averages = [np.stack([x.real, x.imag], -1) for x in (p, g, *averages)]
        g, decay, t = -g if maximize else g, weight_decay or 0, step.astype(np.float64) + 1
        p, g = (p * (1 - lr * decay), g) if decoupled else (p, g + decay * p)
        m = beta1 * averages[0] + (1 - beta1) * g
        v = beta2 * averages[1] + (1 - beta2) * g**2
        averages = [m, v, np.maximum(averages[2], v)] if amsgrad else [m, v]
        p = p - lr * (m / (1 - beta1**t)) / (np.sqrt(averages[-1] / (1 - beta2**t)) + eps)
        news = [p, *averages]
        if dtype.kind == "c":
            news = [x[..., 0] + 1j * x[..., 1] for x in news]
        rows.append([*(x.astype(dtype) for x in news), (step + 1).astype(step.dtype)])
    return tuple(x for column in zip(*rows) for x in column)


@composite(
    namespace="fl.optim.rules", multi=True, reference=_adam_reference, traits={"together": Together(5, lambda args, params: 5 + params[0])}
)
def adam_step(
    lr: Tensor,
    beta1: Tensor,
    beta2: Tensor,
    eps: Tensor,
    weight_decay: Tensor | None,
    tensors: Tensors,
    amsgrad: bool = False,
    maximize: bool = False,
    decoupled: bool = False,
    together: bool = False,
) -> tuple:
    """One step of Adam over any number of parameters: (new parameters..., averages..., averages of squares..., steps...).

    ``tensors`` holds all parameters, then a gradient for each, the averages m and v, with amsgrad the greatest v so far (it
    follows v in the results too), and last the number of steps behind each, 0-dim. All but the steps have the shape and dtype of
    their parameter; complex ones are taken as pairs of real numbers, as in PyTorch. Numbers may be Python's or 0-dim arrays. With
    g the gradient (its negative, if maximize), t the number of this step from 1, and weight_decay * p added to g, or, if decoupled,
    lr * weight_decay * p taken from p before (AdamW):

        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        p = p - lr * m / (1 - beta1**t) / (sqrt(v / (1 - beta2**t)) + eps)

    Terms of numbers only are computed in float64, dtypes of less than 32 bits in float32. ``together`` computes small parameters as one
    vector: the same numbers, in fewer loops. ValueError if the numbers of arrays differ, RuntimeError for other shapes and dtypes.

    >>> import functorch_lite as fl
    >>> zero = fl.zeros(2)
    >>> p, m, v, t = fl.optim.rules.adam_step(0.5, 0.9, 0.999, 0.0, None, [fl.ones(2), fl.asarray([1.0, -4.0]), zero, zero, fl.zeros(())])
    >>> p.tolist(), t.item()
    ([0.5, 1.5], 1.0)
    """
    runs = columns("adam_step", tensors, ("parameter", "gradient", *slots_of(amsgrad), "step"), scalar="step")
    numbers = tuple(map(exact, (lr, beta1, beta2, eps, weight_decay)))
    news = [list(run) for run in (runs[0], *runs[2:])]
    for flock in flocks(together, *runs):
        *arrays, steps = [[run[i] for i in flock] for run in runs]
        outs = _adam(arrays, steps, numbers, maximize, decoupled)
        for new, out in zip(news, outs, strict=True):
            for i, x in zip(flock, out, strict=True):
                new[i] = x
    return tuple([x for column in news for x in column])


def _adam(arrays, steps, numbers, maximize, decoupled) -> list[list]:
    """The new parameters, averages and steps of parameters of one dtype: the formula, over all their elements at once."""
    lr, beta1, beta2, eps, weight_decay = numbers
    like = arrays[0]
    dtype = like[0].dtype
    real = [[view_as_real(x) for x in column] for column in arrays] if dtype.is_complex else arrays
    step = merged(steps) + 1
    count = exact(step)
    p, g, m, v, *top = [wide(merged(column)) for column in real]
    g = -g if maximize else g
    if weight_decay is not None and decoupled:
        p = scale(1 - lr * weight_decay, p)
    elif weight_decay is not None:
        g = g + scale(weight_decay, p)
    m = m + scale(1 - beta1, g - m)
    v = scale(beta2, v) + scale(1 - beta2, g * g)
    averages = [m, v, maximum(top[0], v)] if top else [m, v]
    roots, rates = to_dtype(1 / sqrt(1 - beta2**count), p.dtype), to_dtype(lr / (1 - beta1**count), p.dtype)
    root, rate = spread(roots, real[0]) * sqrt(averages[-1]), spread(rates, real[0])
    p = p - rate * m / (root + to_dtype(eps, p.dtype))
    news = [parted(to_dtype(x, real[0][0].dtype), real[0]) for x in (p, *averages)]
    if dtype.is_complex:
        news = [[view_as_complex(x) for x in column] for column in news]
    return [*news, parted(step, steps)]


def init(params: Any, amsgrad: bool = False) -> dict[str, Any]:
    """The state of Adam before its first step: "step" (0-dim float32), and trees of zeros like params under PyTorch's names:
    "exp_avg", "exp_avg_sq", and with amsgrad "max_exp_avg_sq".

    >>> import functorch_lite as fl
    >>> fl.optim.rules.adam.init(fl.ones(2))["exp_avg"].tolist()
    [0.0, 0.0]
    """
    return {"step": zeros_of_shape(()), **{name: zeros(params) for name in slots_of(amsgrad)}}


def update(
    grads: Any,
    state: dict[str, Any],
    params: Any,
    *,
    lr: Any = 1e-3,
    betas: tuple[Any, Any] = (0.9, 0.999),
    eps: Any = 1e-8,
    weight_decay: Any = 0.0,
    amsgrad: bool = False,
    maximize: bool = False,
    decoupled: bool = False,
) -> tuple[Any, dict[str, Any]]:
    """One step of Adam (with decoupled: of AdamW) over a pytree: (new params, new state). The formula is that of `adam_step`.

    grads is a tree like params, with None where there is no gradient: those leaves stay as they are. Numbers may be 0-dim Arrays,
    traced ones too. KeyError for the state of another rule.

    >>> import functorch_lite as fl
    >>> adam, params = fl.optim.rules.adam, {"w": fl.asarray([1.0, 2.0])}
    >>> grads = fl.grad(lambda p: (p["w"] ** 2).sum())(params)
    >>> params, state = adam.update(grads, adam.init(params), params, lr=0.5, eps=0.0)
    >>> params["w"].tolist(), state["step"].item()
    ([0.5, 1.5], 1.0)
    """
    remedy = f"adam.init(params, amsgrad={amsgrad})"
    count = slot("adam.update", state, "step", remedy)
    slots = {name: slot("adam.update", state, name, remedy) for name in slots_of(amsgrad)}
    weight_decay = given(weight_decay)

    def step(xs):
        n = len(xs) // (2 + len(slots))
        return adam_step(lr, *betas, eps, weight_decay, [*xs, *[count] * n], amsgrad, maximize, decoupled)[: n * (1 + len(slots))]

    params, slots = tree_step("adam.update", step, grads, params, slots)
    return params, {"step": count + 1, **slots}

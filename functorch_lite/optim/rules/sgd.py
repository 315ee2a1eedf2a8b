"""Stochastic gradient descent, with momentum (Polyak, 1964) plain or Nesterov's (Sutskever et al., 2013, as PyTorch writes it)."""

from __future__ import annotations

from typing import Any

from ...core.op import Tensor, Tensors, composite
from ...refs.arguments import require
from ...refs.compare import where
from ...refs.create import zeros as zeros_of_shape
from ...refs.promotion import to_dtype
from .leaves import Together, columns, exact, flocks, given, merged, parted, scale, slot, tree_step, wide, zeros


def _kinds(momentum) -> tuple[str, ...]:
    return ("parameter", "gradient") if momentum is None else ("parameter", "gradient", "momentum buffer")


def _sgd_reference(lr, momentum, dampening, weight_decay, tensors, nesterov=False, maximize=False, together=False):
    n = len(tensors) // len(_kinds(momentum))
    params, buffers = [], []
    for i in range(n):
        p, g = tensors[i], -tensors[n + i] if maximize else tensors[n + i]
        g = g + (weight_decay or 0) * p
        if momentum is not None:
            buffers.append((momentum * tensors[2 * n + i] + (1 - (0 if dampening is None else dampening)) * g).astype(p.dtype))
            g = g + momentum * buffers[-1] if nesterov else buffers[-1]
        params.append((p - lr * g).astype(p.dtype))
    return (*params, *buffers)


@composite(
    namespace="fl.optim.rules",
    multi=True,
    reference=_sgd_reference,
    traits={"together": Together(4, lambda args, params: 2 + (args[1] is not None))},
)
def sgd_step(
    lr: Tensor,
    momentum: Tensor | None,
    dampening: Tensor | None,
    weight_decay: Tensor | None,
    tensors: Tensors,
    nesterov: bool = False,
    maximize: bool = False,
    together: bool = False,
) -> tuple:
    """One step of SGD over any number of parameters: (new parameters..., new momentum buffers...).

    ``tensors`` holds all parameters, then a gradient for each, then (unless momentum is None) a buffer for each, of the shape and
    dtype of its parameter: float or complex. Numbers may be Python's or 0-dim arrays; None leaves their term out. With g the
    gradient (its negative, if maximize) plus weight_decay * p:

        buffer = momentum * buffer + (1 - dampening) * g
        p = p - lr * (g + momentum * buffer if nesterov else buffer)

    Dtypes of less than 32 bits are computed in float32. ``together`` computes small parameters as one vector: the same numbers, in
    fewer loops. ValueError if the numbers of arrays differ, RuntimeError for other shapes and dtypes.

    >>> import functorch_lite as fl
    >>> [p] = fl.optim.rules.sgd_step(0.5, None, None, None, [fl.ones(2), fl.asarray([1.0, 2.0])])
    >>> p.tolist()
    [0.5, 0.0]
    """
    runs = columns("sgd_step", tensors, _kinds(momentum))
    require(momentum is not None or not nesterov, "sgd_step", "nesterov needs momentum, got None", ValueError)
    lr, momentum, dampening, weight_decay = map(exact, (lr, momentum, dampening, weight_decay))
    news = [list(run) for run in (runs[0], *runs[2:])]
    for flock in flocks(together, *runs):
        like = [runs[0][i] for i in flock]
        p, g, *more = [wide(merged([run[i] for i in flock])) for run in runs]
        g = -g if maximize else g
        if weight_decay is not None:
            g = g + scale(weight_decay, p)
        if momentum is not None:
            more = [scale(momentum, more[0]) + (g if dampening is None else scale(1 - dampening, g))]
            g = g + scale(momentum, more[0]) if nesterov else more[0]
        for new, out in zip(news, (p - scale(lr, g), *more), strict=True):
            for i, x in zip(flock, parted(to_dtype(out, like[0].dtype), like), strict=True):
                new[i] = x
    return tuple([x for column in news for x in column])


def init(params: Any, momentum: Any = 0.0) -> dict[str, Any]:
    """The state of SGD before its first step: {} without momentum, else "step" (0-dim float32) and "momentum_buffer" (a tree).

    >>> import functorch_lite as fl
    >>> fl.optim.rules.sgd.init({"w": fl.ones(2)}, momentum=0.9)["momentum_buffer"]["w"].tolist()
    [0.0, 0.0]
    """
    return {} if given(momentum) is None else {"step": zeros_of_shape(()), "momentum_buffer": zeros(params)}


def update(
    grads: Any,
    state: dict[str, Any],
    params: Any,
    *,
    lr: Any,
    momentum: Any = 0.0,
    dampening: Any = 0.0,
    weight_decay: Any = 0.0,
    nesterov: bool = False,
    maximize: bool = False,
) -> tuple[Any, dict[str, Any]]:
    """One step of SGD over a pytree: (new params, new state). The formula is that of `sgd_step`; the first step does not dampen,
    as in PyTorch.

    grads is a tree like params, with None where there is no gradient: those leaves stay as they are. Numbers may be 0-dim Arrays,
    traced ones too.

    >>> import functorch_lite as fl
    >>> sgd, params = fl.optim.rules.sgd, {"w": fl.asarray([1.0, 2.0])}
    >>> grads = fl.grad(lambda p: (p["w"] ** 2).sum())(params)
    >>> params, state = sgd.update(grads, sgd.init(params), params, lr=0.25)
    >>> params["w"].tolist()
    [0.5, 1.0]
    """
    momentum, dampening, weight_decay = map(given, (momentum, dampening, weight_decay))
    if momentum is None:
        params, _ = tree_step("sgd.update", lambda xs: sgd_step(lr, None, None, weight_decay, xs, nesterov, maximize), grads, params, {})
        return params, state
    remedy = "sgd.init(params, momentum=...)"
    count = slot("sgd.update", state, "step", remedy)
    slots = {"momentum_buffer": slot("sgd.update", state, "momentum_buffer", remedy)}
    if dampening is not None:
        dampening = where(count > 0, exact(dampening), exact(0.0))
    params, slots = tree_step(
        "sgd.update", lambda xs: sgd_step(lr, momentum, dampening, weight_decay, xs, nesterov, maximize), grads, params, slots
    )
    return params, {"step": count + 1, **slots}

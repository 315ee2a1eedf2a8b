"""SGD, as torch.optim has it, over `rules.sgd`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..nn.tensor import Tensor
from .optimizer import Optimizer, not_negative, require_flags, require_numbers
from .rules.leaves import zeros
from .rules.sgd import sgd_step


class SGD(Optimizer):
    """Stochastic gradient descent; the formula is that of `rules.sgd_step`. State: "momentum_buffer", where momentum is not 0.

    foreach and fused are accepted and change nothing: the step over a group is one program anyhow. ValueError for negative
    numbers, and for nesterov without momentum or with dampening.
    """

    slots = ("momentum_buffer",)

    def __init__(
        self,
        params: Iterable,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ):
        tests = {"lr": not_negative(lr), "momentum": not_negative(momentum), "weight_decay": not_negative(weight_decay)}
        require_numbers("SGD", tests)
        require_flags("SGD", "sgd", foreach=foreach, fused=fused, differentiable=differentiable)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(f"SGD: nesterov needs momentum, and no dampening; got momentum={momentum} and dampening={dampening}")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def init_group(self, group: dict[str, Any], params: list[Tensor]) -> None:
        """Zeros for momentum. With dampening a buffer that is not there says that the first step, which does not dampen, is to come."""
        if group["momentum"] != 0 and group["dampening"] == 0:
            self._init_buffers(params)

    def _init_buffers(self, params: list[Tensor]) -> list[Tensor]:
        """Makes the buffers that are missing; the parameters that they belong to."""
        new = [p for p in params if self.state[p].get("momentum_buffer") is None]
        for p in new:
            with self.outside():
                self.state[p]["momentum_buffer"] = self.fresh("momentum_buffer", zeros(p.array))
        return new

    def update_group(self, group: dict[str, Any]) -> None:
        params = [p for p in group["params"] if p.grad is not None]
        lr, weight_decay = self.number(group, "lr"), self.number_or_none(group, "weight_decay")
        momentum, dampening = self.number_or_none(group, "momentum"), self.number_or_none(group, "dampening")

        flags = bool(group["nesterov"]) and momentum is not None, bool(group["maximize"])

        def step(params, dampening=None, names=()):
            self.apply(sgd_step, params, (lr, momentum, dampening, weight_decay), flags, names)

        if momentum is None:
            step(params)
            return
        new = set(map(id, self._init_buffers(params)))
        if dampening is None:
            step(params, None, self.slots)
        else:  # the first step of a parameter does not dampen
            step([p for p in params if id(p) in new], None, self.slots)
            step([p for p in params if id(p) not in new], dampening, self.slots)

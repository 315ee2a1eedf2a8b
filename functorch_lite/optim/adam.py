"""Adam and AdamW, as torch.optim has them, over `rules.adam`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..core.dtype import NUMBERS
from ..nn.tensor import Tensor
from .optimizer import Optimizer, not_negative, require_flags, require_numbers
from .rules.adam import SLOTS, adam_step, init, slots_of


def _beta(value):
    return value, lambda x: 0 <= x < 1, "at least 0 and less than 1"


class Adam(Optimizer):
    """Adam; the formula is that of `rules.adam_step`. State: "step" (0-dim float32), "exp_avg", "exp_avg_sq", and with amsgrad
    "max_exp_avg_sq".

    foreach, capturable and fused are accepted and change nothing: the step over a group is one program anyhow. ValueError for
    numbers out of their range.
    """

    slots = SLOTS

    def __init__(
        self,
        params: Iterable,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ):
        name = type(self).__name__
        tests = {"lr": not_negative(lr), "eps": not_negative(eps), "weight_decay": not_negative(weight_decay)}
        require_numbers(name, tests | {f"betas[{i}]": _beta(beta) for i, beta in enumerate(betas)})
        require_flags(name, "adam", foreach=foreach, fused=fused, differentiable=differentiable)
        if len({isinstance(beta, Tensor) for beta in betas}) > 1:
            raise ValueError(f"{name}: betas must be both floats or both Tensors, got {betas!r}")
        tensors = [key for key, x in (("lr", lr), ("betas[0]", betas[0]), ("betas[1]", betas[1])) if isinstance(x, Tensor)]
        if foreach and tensors and not capturable:
            raise ValueError(f"{name}: {tensors[0]} as a Tensor needs capturable=True with foreach=True, as in PyTorch; leave foreach out")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def init_group(self, group: dict[str, Any], params: list[Tensor]) -> None:
        names = "step", *slots_of(group["amsgrad"])
        for p in params:
            state = self.state[p]
            if not all(map(state.__contains__, names)):
                with self.outside():
                    fresh = {name: self.fresh(name, value) for name, value in init(p.array, group["amsgrad"]).items()}
                self.state[p] = {**fresh, **state}

    def update_group(self, group: dict[str, Any]) -> None:
        params = [p for p in group["params"] if p.grad is not None]
        self.init_group(group, params)
        numbers = self.number(group, "lr"), *(self.number(group, "betas", i) for i in (0, 1)), self.number(group, "eps")
        flags = group["amsgrad"], group["maximize"], group["decoupled_weight_decay"]
        weight_decay = self.number_or_none(group, "weight_decay")
        names = (*slots_of(group["amsgrad"]), "step")
        self.apply(adam_step, params, (*numbers, weight_decay), tuple(map(bool, flags)), names)

    def loaded(self, param: Tensor, name: str, value: Any) -> Any:
        """The number of steps was a Python number in old PyTorch."""
        return super().loaded(param, name, Tensor(float(value)) if name == "step" and value.__class__ in NUMBERS else value)


class AdamW(Adam):
    """`Adam` with decoupled weight decay: it shrinks the parameters, and does not enter the averages."""

    def __init__(
        self,
        params: Iterable,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ):
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

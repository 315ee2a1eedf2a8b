"""Schedules of the learning rate, as torch.optim.lr_scheduler has them: each `step()` sets the "lr" of an optimizer's groups.

Most are a factor by step, `Factor`: the rate moves by the ratio of two neighbouring factors, so that schedules of one optimizer
multiply, and a rate that was changed by hand is scaled from where it is.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..nn.tensor import Tensor
from .optimizer import Optimizer


def _put(group: dict[str, Any], key: str, value: float) -> None:
    """Sets a number of a group; a Tensor is filled in place."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value)
    else:
        group[key] = value


def _plain(value: Any) -> float:
    return value.item() if isinstance(value, Tensor) else value


def _each(name: str, argument: str, value: Any, optimizer: Optimizer) -> list:
    """One value a group, of one value or a sequence of as many."""
    n = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * n
    if len(value) != n:
        raise ValueError(f"{name}: {argument} must be one value or one for each of {n} parameter groups, got {len(value)}")
    return list(value)


class LRScheduler:
    """The base: counts steps in ``last_epoch`` and sets the rates that `get_lr` of a subclass finds.

    ``last_epoch`` other than -1 resumes: then each group must have "initial_lr" (KeyError).
    """

    kept_out: tuple[str, ...] = ("optimizer",)  # attributes that no state_dict has

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(self).__name__}: expected an Optimizer, got {type(optimizer).__name__}")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _plain(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"{type(self).__name__}: parameter group {i} has no 'initial_lr', which resuming at {last_epoch} needs")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self.step()

    def get_lr(self) -> list[float]:
        """The rate of each group at step ``last_epoch``."""
        raise NotImplementedError(f"{type(self).__name__} has no get_lr")

    def get_lr_at(self, epoch: float) -> list[float]:
        """The rates at any step, whatever they are now, where a schedule can tell; ``last_epoch`` is that step already."""
        return self.get_lr()

    def get_last_lr(self) -> list[float]:
        """The rates that were set last."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Moves on by one step (or to ``epoch``) and sets the rates. Call it behind `optimizer.step()`."""
        if self._step_count == 1 and not self.optimizer.stepped:
            warnings.warn(
                f"{type(self).__name__}.step() was called before optimizer.step(), so the first learning rate is skipped; "
                "call optimizer.step() first",
                stacklevel=2,
            )
        self._step_count += 1
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._set(self.get_lr() if epoch is None else self.get_lr_at(epoch))

    def _set(self, rates: Iterable[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            _put(group, "lr", rate)
        self._last_lr = self._rates()

    def _rates(self) -> list[float]:
        return [_plain(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and functions."""
        return {key: value for key, value in self.__dict__.items() if key not in self.kept_out}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over a `state_dict`. The rates of the optimizer are in its own."""
        self.__dict__.update(state_dict)


class Factor(LRScheduler):
    """Schedules of the form floor + (base - floor) * factor(step)."""

    def factor(self, step: float) -> float:
        """The factor at a step."""
        raise NotImplementedError(f"{type(self).__name__} has no factor")

    floor = 0.0

    def get_lr(self) -> list[float]:
        t = self.last_epoch
        before, now = (1.0 if t == 0 else self.factor(t - 1)), self.factor(t)
        if before == 0 != now:  # a rate on the floor does not say how high it was
            return self.get_lr_at(t)
        ratio = 1.0 if now == before else now / before
        return [self.floor + (rate - self.floor) * ratio for rate in self._rates()]

    def get_lr_at(self, epoch: float) -> list[float]:
        return [self.floor + (base - self.floor) * self.factor(epoch) for base in self.base_lrs]


class StepLR(Factor):
    """The rate times gamma every ``step_size`` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, step: float) -> float:
        return self.gamma ** (step // self.step_size)


class MultiStepLR(Factor):
    """The rate times gamma at each of the milestones."""

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1):
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, step: float) -> float:
        return self.gamma ** bisect_right(self.milestones, step)


class ExponentialLR(Factor):
    """The rate times gamma at each step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, step: float) -> float:
        return self.gamma**step


class ConstantLR(Factor):
    """The rate times ``factor`` for ``total_iters`` steps, and then itself."""

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1):
        if not 0 < factor <= 1:
            raise ValueError(f"ConstantLR: factor must be greater than 0 and at most 1, got {factor}")
        self.start, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, step: float) -> float:
        return self.start if step < self.total_iters else 1.0


class LinearLR(Factor):
    """The rate times a factor that goes from ``start_factor`` to ``end_factor`` in ``total_iters`` steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ):
        if not (0 < start_factor <= 1 and 0 <= end_factor <= 1):
            raise ValueError(f"LinearLR: start_factor must be in (0, 1] and end_factor in [0, 1], got {start_factor} and {end_factor}")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, step: float) -> float:
        return self.start_factor + (self.end_factor - self.start_factor) * min(step, self.total_iters) / self.total_iters


class PolynomialLR(Factor):
    """The rate times (1 - step / total_iters) ** power, 0 from then on."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def factor(self, step: float) -> float:
        return (1 - min(step, self.total_iters) / self.total_iters) ** self.power


class CosineAnnealingLR(Factor):
    """From the rate to ``eta_min`` on half a cosine in ``T_max`` steps (Loshchilov and Hutter, 2017), and back on the next half."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    floor = property(lambda self: self.eta_min)

    def factor(self, step: float) -> float:
        return (1 + math.cos(math.pi * step / self.T_max)) / 2


class CosineAnnealingWarmRestarts(LRScheduler):
    """From the rate to ``eta_min`` on half a cosine in T_0 steps, then again from the top, each time ``T_mult`` times as long."""

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1):
        for argument, value in (("T_0", T_0), ("T_mult", T_mult)):
            if value < 1 or not isinstance(value, int):
                raise ValueError(f"CosineAnnealingWarmRestarts: {argument} must be an int of at least 1, got {value!r}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return self.get_lr_at(self.last_epoch)

    def get_lr_at(self, epoch: float) -> list[float]:
        if epoch < 0:
            raise ValueError(f"CosineAnnealingWarmRestarts: expected an epoch of at least 0, got {epoch}")
        length, within = self.T_0, epoch
        while within >= length:
            within, length = within - length, length * self.T_mult
        share = (1 + math.cos(math.pi * within / length)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class _OfFunctions(LRScheduler):
    """A function of the step for all groups, or one for each."""

    kept_out = ("optimizer", "lr_lambdas")

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]], last_epoch: int = -1):
        self.lr_lambdas = _each(type(self).__name__, "lr_lambda", lr_lambda, optimizer)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and functions; of callable objects their attributes."""
        functions = [None if isinstance(f, type(lambda: 0)) else dict(f.__dict__) for f in self.lr_lambdas]
        return {**super().state_dict(), "lr_lambdas": functions}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over a `state_dict`; functions stay what they are here."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for f, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if attributes is not None:
                f.__dict__.update(attributes)


class LambdaLR(_OfFunctions):
    """The initial rate times lr_lambda(step)."""

    def get_lr(self) -> list[float]:
        return self.get_lr_at(self.last_epoch)

    def get_lr_at(self, epoch: float) -> list[float]:
        return [base * f(epoch) for base, f in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(_OfFunctions):
    """The rate times lr_lambda(step), at each step from the first."""

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return self._rates()
        return [rate * f(self.last_epoch) for rate, f in zip(self._rates(), self.lr_lambdas, strict=True)]


class OneCycleLR(LRScheduler):
    """One cycle (Smith and Topin, 2018): from max_lr / div_factor up to ``max_lr`` and down to that start / final_div_factor;
    momentum (or Adam's first beta) goes the other way. With ``three_phase`` down to the start first, as fast as it went up.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ):
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("OneCycleLR: give total_steps, or both epochs and steps_per_epoch")
            total_steps = epochs * steps_per_epoch
        if total_steps <= 0 or not isinstance(total_steps, int):
            raise ValueError(f"OneCycleLR: the number of steps must be a positive int, got {total_steps!r}")
        if not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR: pct_start must be between 0 and 1, got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"OneCycleLR: anneal_strategy must be 'cos' or 'linear', got {anneal_strategy!r}")
        self.total_steps, self.anneal_strategy = total_steps, anneal_strategy
        self.use_beta1 = "betas" in optimizer.defaults
        self.cycle_momentum = cycle_momentum
        if cycle_momentum and not self.use_beta1 and "momentum" not in optimizer.defaults:
            raise ValueError(f"OneCycleLR: {type(optimizer).__name__} has neither momentum nor betas; pass cycle_momentum=False")
        top = pct_start * total_steps - 1
        ends = (top, 2 * top, total_steps - 1) if three_phase else (top, total_steps - 1)
        names = ("initial", "max", "initial", "min") if three_phase else ("initial", "max", "min")
        self.phases = list(zip((0.0, *ends), ends, names, names[1:]))  # (begin, end, rate there, rate here)
        self._begin(optimizer, last_epoch, max_lr, div_factor, final_div_factor, base_momentum, max_momentum)
        super().__init__(optimizer, last_epoch)

    def _begin(self, optimizer, last_epoch, max_lr, div_factor, final_div_factor, base_momentum, max_momentum):
        """Notes the ends of the cycle in the groups, where they are saved."""
        if last_epoch != -1:
            return
        columns = [_each("OneCycleLR", n, v, optimizer) for n, v in (("max_lr", max_lr), ("base_momentum", base_momentum))]
        for group, top, low, high in zip(optimizer.param_groups, *columns, _each("OneCycleLR", "max_momentum", max_momentum, optimizer)):
            start = top / div_factor
            group.update(initial_lr=start, max_lr=top, min_lr=start / final_div_factor)
            if self.cycle_momentum:
                group.update(base_momentum=low, max_momentum=high)

    def _between(self, start: float, end: float, share: float) -> float:
        if self.anneal_strategy == "linear":
            return start + (end - start) * share
        return end + (start - end) * (1 + math.cos(math.pi * share)) / 2

    def get_lr(self) -> list[float]:
        return self.get_lr_at(self.last_epoch)

    def get_lr_at(self, epoch: float) -> list[float]:
        if epoch >= self.total_steps:
            raise ValueError(f"OneCycleLR: step {epoch} of a schedule of {self.total_steps} steps; make it with more total_steps")
        begin, end, first, last = next(p for p in self.phases if epoch <= p[1] or p is self.phases[-1])
        share = (epoch - begin) / (end - begin) if end != begin else 1.0
        momentum = {"max": "base_momentum"}  # where the rate is greatest momentum is least
        for group in self.optimizer.param_groups if self.cycle_momentum else ():
            value = self._between(group[momentum.get(first, "max_momentum")], group[momentum.get(last, "max_momentum")], share)
            if self.use_beta1:
                group["betas"] = (value, *group["betas"][1:])
            else:
                _put(group, "momentum", value)
        return [self._between(group[f"{first}_lr"], group[f"{last}_lr"], share) for group in self.optimizer.param_groups]


class SequentialLR(LRScheduler):
    """One schedule after another: the next begins, at its step 0, at each of the milestones."""

    kept_out = ("optimizer", "_schedulers")

    def __init__(self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1):
        _require_schedulers("SequentialLR", schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(f"SequentialLR: {len(schedulers)} schedulers need {len(schedulers) - 1} milestones, got {len(milestones)}")
        self.optimizer, self._schedulers, self._milestones = optimizer, list(schedulers), list(milestones)
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:  # what they set when they were made
            _put(group, "lr", group["initial_lr"])
        for scheduler in schedulers:
            scheduler.last_epoch -= 1
            scheduler._step_count -= 1
        schedulers[0].step()
        self._last_lr = schedulers[0].get_last_lr()

    def step(self) -> None:
        """Moves the current schedule on, or on to the next."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        scheduler.step(*((0,) if i and self._milestones[i - 1] == self.last_epoch else ()))
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        """The counts, and the state of each schedule."""
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over a `state_dict`."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


class ChainedScheduler(SequentialLR):
    """Schedules that all step together, in this order."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None):
        _require_schedulers("ChainedScheduler", schedulers, optimizer or (schedulers[0].optimizer if schedulers else None))
        self.optimizer, self._schedulers = schedulers[0].optimizer, list(schedulers)
        self._last_lr = self._rates()

    def step(self) -> None:
        """Moves all of them on."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates()


def _require_schedulers(name: str, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None) -> None:
    if not schedulers:
        raise ValueError(f"{name}: expected at least one scheduler")
    for i, scheduler in enumerate(schedulers):
        if scheduler.optimizer is not optimizer:
            raise ValueError(f"{name}: all schedulers must be of one optimizer; the one at position {i} is of another")


class ReduceLROnPlateau(LRScheduler):
    """The rate times ``factor``, but not below ``min_lr``, once a metric has not become better for more than ``patience`` steps.

    Better is less than the best so far by ``threshold`` (``mode='max'``: more), which is relative to the best or ``'abs'``.
    After a reduction ``cooldown`` steps count nothing; one that changes the rate by no more than ``eps`` is left out.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ):
        if factor >= 1:
            raise ValueError(f"ReduceLROnPlateau: factor must be less than 1, got {factor}")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(
                f"ReduceLROnPlateau: mode must be 'min' or 'max', threshold_mode 'rel' or 'abs', got {mode!r} and {threshold_mode!r}"
            )
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"ReduceLROnPlateau: expected an Optimizer, got {type(optimizer).__name__}")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        self.min_lrs = _each("ReduceLROnPlateau", "min_lr", min_lr, optimizer)
        self.last_epoch = 0
        self._last_lr = self._rates()
        self._reset()

    def _reset(self) -> None:
        self.best = math.inf if self.mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = 0

    def is_better(self, value: float, best: float) -> bool:
        """Whether a metric beats the best by the threshold."""
        sign = -1 if self.mode == "min" else 1
        bound = best + sign * self.threshold if self.threshold_mode == "abs" else best * (1 + sign * self.threshold)
        return sign * value > sign * bound

    def step(self, metrics: Any, epoch: int | None = None) -> None:
        """Takes note of a metric, and reduces the rate if it is time to."""
        value = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(value, self.best):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            lower = [max(rate * self.factor, least) for rate, least in zip(self._rates(), self.min_lrs, strict=True)]
            self._set(new if old - new > self.eps else old for old, new in zip(self._rates(), lower))
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates()


__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

"""Optimizer: PyTorch's keeper of parameters, hyperparameters and state, over the pure rules of `optim.rules`.

A subclass of ours says how to make the state of a parameter and how to update a group; the step over all parameters of a group is
one op. A user's subclass overrides `step`, as in PyTorch.
"""

from __future__ import annotations

import copy
import functools
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

from ..core.array import asarray
from ..core.cell import Number, bottom, in_program
from ..core.dtype import NUMBERS
from ..core.interpreter import boundary, unseen, use
from ..core.op import is_ours
from ..nn.create import as_tensor
from ..nn.grad_mode import enable_grad, no_grad
from ..nn.guards import Same
from ..nn.hooks import HookDict, RemovableHandle
from ..nn.tensor import Tensor
from ..transforms.arguments import is_array
from .packed import PackedStep


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


_STEPS = 64  # packed steps that are remembered: one for each set of parameters that had gradients at once
required = _Required()  # the default of a hyperparameter that each group must give


def _with_hooks(step: Callable) -> Callable:
    """`step` with the hooks of the optimizer around it, unless a subclass's step called it."""

    @functools.wraps(step)
    def hooked(self, *args, **kwargs):
        if type(self).step is not hooked:
            return step(self, *args, **kwargs)
        for hook in list(self._pre_hooks.values()):
            replaced = hook(self, args, kwargs)
            if replaced is not None:
                if not (isinstance(replaced, tuple) and len(replaced) == 2):
                    raise RuntimeError(f"a step pre-hook must return None or (args, kwargs), got {replaced!r}")
                args, kwargs = replaced
        out = step(self, *args, **kwargs)
        for hook in list(self._post_hooks.values()):
            hook(self, args, kwargs)
        if not self.stepped:
            self.stepped = True
        boundary(final=True)
        return out

    return hooked


class Optimizer:
    """Parameters in groups, each with hyperparameters of its own, and the state of each parameter.

    ``params`` are Tensors, pairs (name, Tensor), or dicts with "params" and hyperparameters that differ from ``defaults``.
    ``param_groups`` are such dicts, filled up; ``state`` maps a parameter to a dict. TypeError for what is no Tensor, ValueError
    for no parameters, non-leaf Tensors, and parameters that occur twice.
    """

    slots: tuple[str, ...] = ()  # names of state that has the shape of its parameter

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.step)

    def __init__(self, params: Iterable, defaults: dict[str, Any]):
        self.defaults = defaults
        self.state: defaultdict[Tensor, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self.stepped = False  # for learning rate schedulers: has step() run?
        self._numbers: dict = {}  # hyperparameters as inputs of compiled steps
        self._packed: dict = {}  # of eager steps, by what they update
        self._pre_hooks = HookDict()
        self._post_hooks = HookDict()
        if isinstance(params, Tensor):
            raise TypeError(f"{self._name}: params must be an iterable of Tensors or dicts, got one Tensor; pass [parameter]")
        groups = list(params)
        if not groups:
            raise ValueError(f"{self._name}: params is an empty list (a generator such as model.parameters() is used up by one pass)")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    @property
    def _name(self) -> str:
        return type(self).__name__

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_numbers": {}, "_packed": {}}  # they are about the Tensors of this one

    def __repr__(self) -> str:
        parts = []
        for i, group in enumerate(self.param_groups):
            lines = [f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"]
            parts.append("".join([f"\nParameter Group {i}\n", *lines]))
        return f"{self._name} ({''.join(parts)})"

    # --------------------------------------------------------------------------------------------------------- groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group: a dict with "params" and the hyperparameters that differ from the defaults. Raises as the constructor does."""
        if not isinstance(param_group, dict):
            raise TypeError(f"{self._name}: a parameter group must be a dict, got {type(param_group).__name__}")
        group = dict(param_group)
        params = group.pop("params")
        if isinstance(params, set):
            raise TypeError(f"{self._name}: params of a group must be ordered, got a set, whose order is another in each run; pass a list")
        params = [params] if isinstance(params, Tensor) else list(params)
        named = [isinstance(p, tuple) for p in params]
        if any(named) and not all(named):
            raise ValueError(f"{self._name}: either all parameters of a group come with names or none, got {sum(named)} of {len(named)}")
        names = {"param_names": [name for name, _ in params]} if any(named) else {}
        group = {"params": [p for _, p in params] if names else params, **names, **group}
        if self.param_groups and ("param_names" in self.param_groups[0]) != ("param_names" in group):
            raise ValueError(f"{self._name}: either all groups have names of their parameters or none")
        self._check_params(group["params"])
        for key, default in self.defaults.items():
            if group.setdefault(key, default) is required:
                raise ValueError(f"{self._name}: a parameter group gives no value for {key!r}, which has no default")
        self.param_groups.append(group)

    def _check_params(self, params: list) -> None:
        seen = {id(p) for group in self.param_groups for p in group["params"]}
        for i, p in enumerate(params):
            if not isinstance(p, Tensor):
                raise TypeError(f"{self._name}: expected Tensors to optimize, got {type(p).__name__} at position {i}")
            if not (p.is_leaf or self.defaults.get("differentiable")):
                raise ValueError(f"{self._name}: cannot optimize a non-leaf Tensor (position {i}): optimize what it was computed of")
            if id(p) in seen:
                raise ValueError(f"{self._name}: the parameter at position {i} of a group is in this group or another already")
            seen.add(id(p))

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters; or, unless ``set_to_none``, sets those that are there to zero in place."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    p.grad.detach_().zero_()

    # ----------------------------------------------------------------------------------------------------------- step

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters that have a gradient. ``closure`` computes the loss anew, gradients included; it is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad(), unseen() if is_ours(type(self)) else nullcontext():
            for group in self.param_groups:
                self.update_group(group)
        return loss

    step = _with_hooks(step)

    def update_group(self, group: dict[str, Any]) -> None:
        """Updates the parameters of one group; called without gradients being recorded."""
        raise NotImplementedError(f"{self._name} has neither step nor update_group")

    def init_state(self) -> None:
        """Makes the state of all parameters now, rather than at their first step; nothing that is computed changes by it.

        For whoever traces a step: one whose state is there already changes no structure.
        """
        with no_grad():
            for group in self.param_groups:
                self.init_group(group, group["params"])

    def init_group(self, group: dict[str, Any], params: list[Tensor]) -> None:
        """Makes what is missing of the state of these parameters of a group."""

    @staticmethod
    def outside() -> use:
        """Runs its block at the bottom: state that is made there outlives whatever is being traced."""
        return use(bottom())

    @staticmethod
    def fresh(name: str, value) -> Tensor:
        """State of a parameter before its first step, under its name."""
        out = Tensor(asarray(value))
        out.cell.name = name
        return out

    def apply(self, rule: Callable, params: list[Tensor], numbers: tuple, flags: tuple[bool, ...], names: tuple[str, ...] = ()) -> None:
        """Writes ``rule(*numbers, [parameters..., gradients..., state by name...], *flags)``, which is the new parameters and state by name,
        into the Tensors."""
        if not params:
            return
        state = self.state
        states = [state[p][name] for name in names for p in params]
        known = names, flags, *map(id, params)
        packed = self._packed.get(known)
        if packed is None:
            if len(self._packed) >= _STEPS:
                self._packed.clear()
            packed = self._packed[known] = PackedStep(rule, params, flags)
        if not packed(numbers, states):
            outs = rule(*numbers, [t.array for t in (*params, *(p.grad for p in params), *states)], *flags)
            for t, value in zip((*params, *states), outs, strict=True):
                t.assign_(value)

    def number(self, group: dict[str, Any], key: str, index: int | None = None) -> Any:
        """A hyperparameter of a group (or an element of a tuple of them) as an op takes it: a float, or a 0-dim Array.

        All numbers of a step are read here or in `number_or_none`, so that a compiled step takes them as inputs.
        """
        value = group[key] if index is None else group[key][index]
        if isinstance(value, Tensor):
            return value.array.reshape(())
        if not in_program():
            return float(value)
        name = id(group), key, index
        if name not in self._numbers:
            self._numbers[name] = Number(group, key, index, key)
        return self._numbers[name].read()

    def structure(self) -> tuple:
        """What a compiled step depends on besides its arrays and numbers: the groups, their options, and which state there is."""
        return Same(self.state), len(self.state), [_structure_of(group) for group in self.param_groups]

    def parts(self) -> list[Callable]:
        """Functions that give objects: as long as these, and `state` with its length, are the very same ones, so is the structure."""
        return [self.param_groups.copy, *[x for group in self.param_groups for x in (group.values, group["params"].copy)]]

    def numbers(self) -> tuple:
        """The hyperparameters as they are now."""
        return tuple([tuple([v for k, v in group.items() if k != "params" and not isinstance(v, Tensor)]) for group in self.param_groups])

    def number_or_none(self, group: dict[str, Any], key: str) -> Any:
        """The same, but None for 0: a term that is left out of the step."""
        value = group[key]
        return self.number(group, key) if isinstance(value, Tensor) or value != 0 else None

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Calls hook(optimizer, args, kwargs) before each step; what it returns, unless None, replaces (args, kwargs)."""
        return RemovableHandle(self._pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """Calls hook(optimizer, args, kwargs) after each step."""
        return RemovableHandle(self._post_hooks, hook)

    # ---------------------------------------------------------------------------------------------------------- state

    def state_dict(self) -> dict[str, Any]:
        """{"state": state by number of the parameter, "param_groups": groups with these numbers}: PyTorch's layout.

        Tensors in it are the optimizer's own, not copies.
        """
        params = [p for group in self.param_groups for p in group["params"]]
        number = {id(p): i for i, p in enumerate(params)}
        groups = [
            {**{k: v for k, v in group.items() if k != "params"}, "params": [number[id(p)] for p in group["params"]]}
            for group in self.param_groups
        ]
        state = {number[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over a `state_dict`, copied, in the dtype and on the device of each parameter (its "step" as it is).

        ValueError if the groups or the shapes of state do not fit; then nothing has changed.
        """
        saved = state_dict["param_groups"]
        sizes = [[len(group["params"]) for group in groups] for groups in (saved, self.param_groups)]
        if len(saved) != len(self.param_groups):
            raise ValueError(f"{self._name}: the loaded state has {len(saved)} parameter groups, this optimizer {len(self.param_groups)}")
        if sizes[0] != sizes[1]:
            raise ValueError(f"{self._name}: the loaded state has groups of {sizes[0]} parameters, this optimizer of {sizes[1]}")
        params = {number: p for old, new in zip(saved, self.param_groups) for number, p in zip(old["params"], new["params"])}
        state: defaultdict = defaultdict(dict)
        for key, entries in state_dict["state"].items():
            if key in params:
                p = params[key]
                state[p] = {name: self.loaded(p, name, value) for name, value in entries.items()} if isinstance(entries, dict) else entries
            else:
                state[key] = copy.deepcopy(entries)
        groups = []
        for old, new in zip(saved, self.param_groups):
            names = {"param_names": new["param_names"]} if "param_names" in new else {}
            options = {key: copy.deepcopy(value) for key, value in old.items() if key not in ("params", "param_names")}
            groups.append({"params": new["params"], **names, **{k: v for k, v in self.defaults.items() if k not in options}, **options})
        self.state, self.param_groups = state, groups

    def loaded(self, param: Tensor, name: str, value: Any) -> Any:
        """One entry of the state of a parameter as it is kept: a copy that fits the parameter."""
        if not is_array(value) or value.__class__ in NUMBERS:
            return copy.deepcopy(value)
        value = as_tensor(value).detach().clone()
        if name in self.slots and value.shape != param.shape:
            raise ValueError(f"{self._name}: the loaded {name!r} has shape {list(value.shape)}, its parameter {list(param.shape)}")
        if name == "step":
            return value
        return value.to(param.device, param.dtype) if param.is_floating_point() else value.to(param.device)


def _structure_of(group: dict[str, Any]) -> tuple:
    params = group["params"]
    return Same(group), Same(params), len(params), [_kind_of(v) for k, v in group.items() if k != "params"]


def _kind_of(value: Any) -> Any:
    """An option as a program depends on it: of a number only whether it is 0, since its term is left out then."""
    if isinstance(value, tuple):
        return tuple(map(_kind_of, value))
    if isinstance(value, Tensor):
        return Same(value)
    return float, value != 0 if value.__class__ is float or value.__class__ is int else value


def require_numbers(name: str, tests: dict[str, tuple[Any, Callable[[Any], bool], str]]) -> None:
    """ValueError for a hyperparameter that does not pass its test: {argument: (value, test, what is expected)}."""
    for argument, (value, test, expected) in tests.items():
        if isinstance(value, Tensor) and value.numel() != 1:
            raise ValueError(f"{name}: {argument} as a Tensor must have 1 element, got shape {list(value.shape)}")
        if not test(value):
            raise ValueError(f"{name}: {argument} must be {expected}, got {value!r}")


def not_negative(value: Any) -> tuple[Any, Callable[[Any], bool], str]:
    """The test of most hyperparameters."""
    return value, lambda x: x >= 0, "at least 0"


def require_flags(name: str, rule: str, *, foreach: bool | None, fused: bool | None, differentiable: bool) -> None:
    """foreach and fused choose among PyTorch's implementations, of which there is one here; together they are a mistake there too."""
    if foreach and fused:
        raise RuntimeError(f"{name}: foreach and fused cannot both be True; leave both out")
    if differentiable:
        raise NotImplementedError(f"{name}: differentiable=True is not there; differentiate through fl.optim.rules.{rule}.update")

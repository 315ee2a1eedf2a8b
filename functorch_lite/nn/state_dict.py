"""What a module's state_dict holds, and how it is taken back: all is checked before anything changes."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..core.array import Array, asarray
from .grad_mode import no_grad
from .parameter import Parameter
from .tensor import Tensor

_EXTRA, _PLAN = "_extra_state", "plan"


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict` returns: keys that the model has and the state_dict has not, and the other way round."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


class StateDict(OrderedDict):
    """Tensors by dotted name; `_metadata` has each module's version of its layout."""

    def __init__(self, *args):
        super().__init__(*args)
        self._metadata = OrderedDict()

    def copy(self) -> StateDict:
        """Another dict of the same tensors."""
        new = StateDict(self)
        new._metadata = self._metadata
        return new


def post_hook(hook: Callable) -> Callable:
    """A hook of a state_dict that changes it in place, whatever it returns."""

    def in_place(module, state_dict, prefix, local_metadata):
        if hook(module, state_dict, prefix, local_metadata) is not None:
            raise RuntimeError("a state_dict post-hook changes the state_dict in place and returns None")

    return in_place


def pre_hook(module, hook: Callable) -> Callable:
    """A hook of loading that gets its module."""
    return lambda *args: hook(module, *args)


# ------------------------------------------------------------------------------------------------------------------ out


def save(module, destination, prefix: str, keep_vars: bool):
    """See Module.state_dict."""
    if destination is None:
        destination = StateDict()
    version = {"version": module._version}
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = version
    for hook in tuple(module._state_dict_pre_hooks.values()):
        hook(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    for hook in tuple(module._state_dict_hooks.values()):
        result = hook(module, destination, prefix, version)
        destination = destination if result is None else result
    return destination


def own_state(module) -> dict[str, Tensor]:
    """The module's own parameters and persistent buffers."""
    buffers = {name: b for name, b in module._buffers.items() if name not in module._non_persistent_buffers_set}
    return {name: t for name, t in {**module._parameters, **buffers}.items() if t is not None}


def _has_extra_state(module) -> bool:
    from .module import Module

    return type(module).get_extra_state is not Module.get_extra_state


def save_own(module, destination, prefix: str, keep_vars: bool) -> None:
    """See Module._save_to_state_dict."""
    for name, tensor in own_state(module).items():
        destination[prefix + name] = tensor if keep_vars or isinstance(tensor, Array) else tensor.detach()
    if _has_extra_state(module):
        destination[prefix + _EXTRA] = module.get_extra_state()


# ----------------------------------------------------------------------------------------------------------------- back


class Plan:
    """What loading will do once all is known to fit. `assign` puts the state_dict's tensors where the model's were, tied ones together."""

    def __init__(self, assign: bool):
        self.assign, self.steps, self.taken = assign, [], {}

    def tensor(self, module, name: str, old: Tensor, new: Tensor) -> None:
        """A parameter or buffer gets a new value."""
        self.steps.append(lambda: self._assign(module, name, old, new) if self.assign else old.copy_(new))

    def _assign(self, module, name: str, old: Tensor, new: Tensor) -> None:
        if id(old) not in self.taken:
            if isinstance(old, Parameter):
                new = new if isinstance(new, Parameter) else Parameter(new, old.requires_grad)
                new.requires_grad_(old.requires_grad)
            self.taken[id(old)] = new
        setattr(module, name, self.taken[id(old)])

    def run(self) -> None:
        """Does it."""
        with no_grad():
            for step in self.steps:
                step()


def load(module, state_dict: Mapping[str, Any], strict: bool, assign: bool) -> IncompatibleKeys:
    """See Module.load_state_dict: a walk that plans, then what was planned."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    metadata = getattr(state_dict, "_metadata", None)
    found = StateDict(state_dict)  # a copy: hooks change it
    missing, unexpected, errors = [], [], []
    plan = Plan(assign)

    def walk(at, prefix: str, state: dict) -> None:
        local = {} if metadata is None else metadata.get(prefix[:-1], {})
        local = {**local, "assign_to_params_buffers": assign, _PLAN: plan}
        for hook in tuple(at._load_state_dict_pre_hooks.values()):
            hook(state, prefix, local, True, missing, unexpected, errors)
        at._load_from_state_dict(state, prefix, local, True, missing, unexpected, errors)
        for name, child in at._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                walk(child, below, {key: value for key, value in state.items() if key.startswith(below)})
        keys = IncompatibleKeys(missing, unexpected)
        for hook in tuple(at._load_state_dict_post_hooks.values()):
            if hook(at, keys) is not None:
                raise RuntimeError("a load_state_dict post-hook changes the lists of keys in place and returns None")

    walk(module, "", found)
    if strict:
        kinds = [("Missing", missing), ("Unexpected", unexpected)]
        quoted = {what: ", ".join(f'"{key}"' for key in keys) for what, keys in kinds if keys}
        errors = [f"{what} key(s) in state_dict: {keys}. " for what, keys in quoted.items()] + errors
    if errors:
        raise RuntimeError(f"Error(s) in loading state_dict for {type(module).__name__}:\n\t" + "\n\t".join(errors))
    plan.run()
    return IncompatibleKeys(missing, unexpected)


def load_own(module, state_dict, prefix: str, local_metadata: dict, strict, missing_keys, unexpected_keys, error_msgs) -> None:
    """See Module._load_from_state_dict."""
    plan = local_metadata.get(_PLAN) or Plan(local_metadata.get("assign_to_params_buffers", False))
    own = own_state(module)
    for name, old in own.items():
        key = prefix + name
        if key not in state_dict:
            missing_keys.append(key)
            continue
        new = _tensor_of(state_dict[key])
        if new is None:
            expected = "expected a Tensor, an Array, or an array of NumPy, jax or DLPack"
            error_msgs.append(f'While copying the parameter named "{key}", {expected} from checkpoint but received {type(state_dict[key])}')
        elif (shape := _fitting(new, old)) is None:
            seen = f"copying a param with shape torch.Size({list(new.shape)}) from checkpoint"
            error_msgs.append(f"size mismatch for {key}: {seen}, the shape in current model is torch.Size({list(old.shape)}).")
        elif not plan.assign and _is_meta(old) and not _is_meta(new):
            warnings.warn(
                f"{key}: a meta tensor has no data to copy into; load with assign=True, or after to_empty(device=...)", stacklevel=4
            )
        else:
            plan.tensor(module, name, old, new if shape == new.shape else new.reshape(shape))
    _load_extra_state(module, state_dict, prefix + _EXTRA, plan, missing_keys, unexpected_keys)
    if strict:
        known = {*own, _EXTRA}
        for key in state_dict:
            if key.startswith(prefix):
                first, *rest = key[len(prefix) :].split(".", 1)
                if first not in (module._modules if rest else known):
                    unexpected_keys.append(key)
    if _PLAN not in local_metadata:  # called by itself, outside of a load_state_dict
        plan.run()


def _load_extra_state(module, state_dict, key: str, plan: Plan, missing_keys, unexpected_keys) -> None:
    wanted = _has_extra_state(module)
    if key in state_dict and wanted:
        plan.steps.append(lambda: module.set_extra_state(state_dict[key]))
    elif wanted:
        missing_keys.append(key)
    elif key in state_dict:
        unexpected_keys.append(key)


def _tensor_of(value) -> Tensor | None:
    """A value of a state_dict as a Tensor; None if it is no array."""
    if isinstance(value, Tensor):
        return value
    return Tensor(asarray(value)) if isinstance(value, Array) or hasattr(value, "__dlpack__") or hasattr(value, "__array__") else None


def _fitting(new: Tensor, old: Tensor) -> tuple[int, ...] | None:
    """The shape in which a value fits; a number was saved as [1] by the oldest versions of PyTorch."""
    if tuple(new.shape) == tuple(old.shape) or (tuple(new.shape) == (1,) and not old.shape):
        return old.shape
    return None


def _is_meta(t: Tensor) -> bool:
    return str(t.device) == "meta"

"""Calling a module with other parameters and buffers than its own, and the state of many models as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..core.array import Array
from ..core.interpreter import STATE, body
from ..refs.join import stack
from ..transforms.trace import Trace
from .module import Module
from .tensor import Tensor

State = dict[str, Any]
_ABSENT = object()


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: State | Sequence[State],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """``module(*args, **kwargs)``, with values from a dict (or several) of dotted names in place of its parameters and buffers.

    Values are Tensors or Arrays; with Arrays, and Arrays as inputs, the outputs are Arrays. Names that are not given keep the
    module's own. ``tie_weights``: what the module has under several names is replaced under all of them by one (ValueError if
    they are given different values). ``strict``: RuntimeError unless exactly the module's names are given.

    The module is as it was when the call is over, whatever happens in it. A buffer that the forward changes in place is changed
    in the Tensor that was given; one that it replaces, as BatchNorm must where an Array was given, is replaced in the dict.

    >>> import functorch_lite as fl
    >>> model = fl.nn.Linear(2, 1)
    >>> params = {"weight": fl.asarray([[1.0, 2.0]]), "bias": fl.asarray([0.5])}
    >>> loss = lambda params, x: fl.nn.functional_call(model, params, (x,)).sum()
    >>> fl.grad(loss)(params, fl.asarray([3.0, 4.0]))["weight"].tolist()
    [[3.0, 4.0]]
    """
    given = _merged(parameter_and_buffer_dicts)
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _replaced(module, given, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def _merged(dicts: State | Sequence[State]) -> dict[str, tuple[Any, State]]:
    """Each name's value, and the dict that it stands in."""
    if isinstance(dicts, Mapping):
        dicts = (dicts,)
    if not isinstance(dicts, Sequence) or not all(isinstance(d, Mapping) for d in dicts):
        raise ValueError(f"functional_call: expected a dict of parameters and buffers, or a sequence of dicts, got {type(dicts).__name__}")
    given: dict[str, tuple[Any, State]] = {}
    for d in dicts:
        if twice := [name for name in d if name in given]:
            raise ValueError(f"functional_call: {twice} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        for name, value in d.items():
            if value is not None and not isinstance(value, (Tensor, Array)):
                raise TypeError(
                    f"functional_call: {name!r} must be a Tensor or an Array, got {type(value).__name__}; convert it with fl.asarray"
                )
            given[name] = (value, d)
    return given


@contextmanager
def _replaced(module: Module, given: dict[str, tuple[Any, State]], tie_weights: bool, strict: bool) -> Iterator[None]:
    """The module with other values, inside the block."""
    if strict or tie_weights:
        own = {**dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_buffers(remove_duplicate=False))}
    values = {name: value for name, (value, _) in given.items()}
    if tie_weights:
        values = _tied(own, values)
    if strict:
        _require_same_names(module, own, values)
    places = {name: _place(module, name) for name in values}
    before = {name: holder.get(key, _ABSENT) for name, (holder, key) in places.items()}
    try:
        for name, (holder, key) in places.items():
            holder[key] = values[name]
        yield
    finally:
        for name, (holder, key) in places.items():
            now = holder.pop(key, _ABSENT) if before[name] is _ABSENT else holder.get(key, _ABSENT)
            if before[name] is not _ABSENT:
                holder[key] = before[name]
            if name in given and now is not values[name] and now is not _ABSENT:
                given[name][1][name] = now


def _tied(own: dict[str, Any], values: State) -> State:
    """The values with those of all names that the module has for the same tensor."""
    names: dict[int, list[str]] = {}
    for name, tensor in own.items():
        names.setdefault(id(tensor), []).append(name)
    aliases = {name: group for group in names.values() if len(group) > 1 for name in group}
    out = dict(values)
    for name, value in values.items():
        for alias in aliases.get(name, ()):
            if alias in values and values[alias] is not value:
                raise ValueError(
                    f"functional_call: {name!r} and {alias!r} are one tensor of the module and were given different values; give one of "
                    "them, or tie_weights=False"
                )
            out[alias] = value
    return out


def _require_same_names(module: Module, own: dict[str, Any], values: State) -> None:
    found = {"Unexpected": sorted(set(values) - set(own)), "Missing": sorted(set(own) - set(values))}
    lines = [f"{what} key(s): {', '.join(map(repr, names))}." for what, names in found.items() if names]
    if lines:
        raise RuntimeError("\n\t".join([f"Error(s) in reparametrizing for {type(module).__name__}:", *lines]))


def _place(module: Module, name: str) -> tuple[dict, str]:
    """The dict in which the module keeps what has this name, and the name there. An unknown one is a plain attribute, as in PyTorch."""
    path, _, last = name.rpartition(".")
    owner = module.get_submodule(path)
    for registry in (owner._parameters, owner._buffers):
        if last in registry:
            return registry, last
    if last in owner._modules:
        raise TypeError(f"functional_call: {name!r} is a module and cannot be replaced by a tensor")
    return owner.__dict__, last


def stack_module_state(models: Sequence[Module] | Module) -> tuple[State, State]:
    """Parameters and buffers of several equal models, stacked along a new first dimension: what `vmap` of a `functional_call` takes.

    Returns (params, buffers). As in PyTorch the stacked parameters are new leaves, for an optimizer of their own; inside a
    transform (`jvp`, `grad`, `vmap` ...) they are functions of the models' parameters instead, and derivatives flow through.
    RuntimeError for no models, or models that differ in class, in training mode, or in what requires grad.

    >>> import functorch_lite as fl
    >>> params, buffers = fl.nn.stack_module_state([fl.nn.Linear(3, 2) for _ in range(5)])
    >>> params["weight"].shape, buffers
    (torch.Size([5, 2, 3]), {})
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    return (
        {name: _stacked(name, [dict(m.named_parameters())[name] for m in models]) for name, _ in models[0].named_parameters()},
        {name: _stacked(name, [dict(m.named_buffers())[name] for m in models]) for name, _ in models[0].named_buffers()},
    )


def _stacked(name: str, tensors: list[Tensor]) -> Tensor:
    wanted = {t.requires_grad for t in tensors}
    if len(wanted) > 1:
        raise RuntimeError(f"stack_module_state: Expected {name} from each model to have the same .requires_grad")
    out = stack(tensors)
    return out if _inside_a_transform() else out.detach().requires_grad_(wanted.pop())


def _inside_a_transform() -> bool:
    """Whether there is more than programs (`jit`, `torch.compile`) around this body: those give what eager gives."""
    here = body(STATE.current)
    while here.parent is not None and isinstance(here, Trace):
        here = body(here.parent)
    return here.parent is not None

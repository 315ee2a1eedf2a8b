"""Module: a function with parameters, buffers and submodules, which it knows by name. PyTorch's torch.nn.Module."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..core.array import Array
from ..core.cell import CHANGES
from ..core.dtype import DType, bfloat16, float16, float32, float64
from . import state_dict as saved
from .hooks import ForwardHook, HookDict, RemovableHandle, call_with_hooks
from .parameter import Buffer, Parameter
from .tensor import Tensor

_HOOKS = (
    "_forward_pre_hooks",
    "_forward_hooks",
    "_state_dict_pre_hooks",
    "_state_dict_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)
_MISSING = object()


class Module:
    """Base class of neural networks and their layers: a subclass makes its parts in ``__init__`` and computes in ``forward``.

    Parameters, Buffers and Modules that are set as attributes are registered under the attribute's name; everything that
    goes over a whole model (`parameters`, `state_dict`, `to`, `train` ...) finds them there. ``super().__init__()`` comes first.

    >>> import functorch_lite as fl
    >>> class Line(fl.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.slope = fl.nn.Parameter(fl.asarray(2.0))
    ...
    ...     def forward(self, x):
    ...         return self.slope * x
    >>> line = Line()
    >>> [name for name, _ in line.named_parameters()], line(fl.asarray(3.0)).item()
    (['slope'], 6.0)
    """

    mutations = CHANGES  # how often anything about any module has changed: whoever keeps a program of one compares this first
    training: bool
    dump_patches = False
    _version = 1  # of the layout of the state_dict; loading tells a module which one it gets

    def __init__(self) -> None:
        put = super().__setattr__
        put("training", True)
        put("_parameters", {})
        put("_buffers", {})
        put("_non_persistent_buffers_set", set())
        put("_modules", {})
        for name in _HOOKS:
            put(name, HookDict())

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What calling the module computes; each subclass has its own."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._forward_pre_hooks or self._forward_hooks:
            return call_with_hooks(self, args, kwargs)
        return self.forward(*args, **kwargs)

    # ----------------------------------------------------------------------------------------------------- registration

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter. None keeps the name without one: it is in no state_dict."""
        self._free("parameter", name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign {type(param).__name__!r} object to parameter {name!r} (nn.Parameter or None required)")
        if param is not None and not param.is_leaf:
            raise ValueError(f"parameter {name!r} must be a leaf; a tensor that is computed from others is computed in forward()")
        self._put("_parameters", name, param)

    def register_buffer(self, name: str, tensor: Tensor | Array | None, persistent: bool = True) -> None:
        """Adds state that is no parameter, such as a running mean; only a persistent one is in the state_dict."""
        self._free("buffer", name, "_buffers")
        if isinstance(tensor, Array):
            tensor = Tensor(tensor)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign {type(tensor).__name__!r} object to buffer {name!r} (Tensor or None required)")
        self._put("_buffers", name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a submodule; so does setting an attribute, but here the name may be any without a dot."""
        self._free("module", name, "_modules")
        if module is not None and not isinstance(module, Module):
            what = (
                f"{module.__name__} is a class: make a module of it with {module.__name__}(...)"
                if isinstance(module, builtins.type)
                else ""
            )
            raise TypeError(what or f"{builtins.type(module).__name__} is not a Module subclass")
        self._put("_modules", name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """`add_module` by another name."""
        self.add_module(name, module)

    def _free(self, kind: str, name: str, registry: str) -> None:
        """Whether a name can be given to a new member of a registry."""
        if registry not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call: write super().__init__() first")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if "." in name or not name:
            raise KeyError(f'{kind} name can\'t contain "."' if name else f'{kind} name can\'t be empty string ""')
        if name not in self.__dict__[registry] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    def _put(self, registry: str, name: str, value) -> None:
        """Into the registry, and out of everywhere else. A tensor's cell learns its name, for errors."""
        Module.mutations[0] += 1
        self.__dict__.pop(name, None)
        for other in ("_parameters", "_buffers", "_modules"):
            if other != registry:
                self.__dict__[other].pop(name, None)
        if registry != "_buffers":
            self._non_persistent_buffers_set.discard(name)
        self.__dict__[registry][name] = value
        if isinstance(value, Tensor) and value.cell is not None:  # a view has none
            value.cell.name = f"{type(self).__name__}.{name}"

    def __getattr__(self, name: str) -> Any:
        members = self.__dict__
        for registry in ("_parameters", "_buffers", "_modules"):
            if registry in members and name in members[registry]:
                return members[registry][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        members = self.__dict__
        for registry, what, kind, wanted in _REGISTRIES:
            if isinstance(value, kind):
                if registry not in members:
                    raise AttributeError(f"cannot assign {what} before Module.__init__() call: write super().__init__() first")
                for other in (members, *[members[r] for r in ("_parameters", "_buffers", "_modules") if r != registry]):
                    other.pop(name, None)  # it takes the place of whatever had this name
                return self._register(registry, name, value)
            if registry in members and name in members[registry]:
                if value is not None and not isinstance(value, wanted):
                    expected = " or ".join(w.__name__ for w in (wanted if isinstance(wanted, tuple) else (wanted,)))
                    raise TypeError(f"cannot assign '{type(value).__name__}' as {what} '{name}' ({expected} or None expected)")
                return self._register(registry, name, value)
        if members.get(name, _MISSING) is not value:
            Module.mutations[0] += 1
            super().__setattr__(name, value)

    def _register(self, registry: str, name: str, value) -> None:
        if registry == "_parameters":
            self.register_parameter(name, value)
        elif registry == "_modules":
            self.add_module(name, value)
        elif isinstance(value, Array) and isinstance(self._buffers.get(name), Array):
            self._put("_buffers", name, value)  # functional_call on Arrays: the forward replaces what it cannot change
        else:
            persistent = value.persistent if isinstance(value, Buffer) else name not in self._non_persistent_buffers_set
            self.register_buffer(name, value, persistent)

    def __delattr__(self, name: str) -> None:
        Module.mutations[0] += 1
        for registry in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(registry, ()):
                del self.__dict__[registry][name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = [*super().__dir__(), *self._parameters, *self._buffers, *self._modules]
        return sorted(name for name in set(names) if not name[:1].isdigit())

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        for name in _HOOKS:
            self.__dict__.setdefault(name, HookDict())

    # ------------------------------------------------------------------------------------------------------------ walks

    def named_modules(self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """This module under the name `prefix` and all below it, each before its own; one that has two names once, unless asked."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def _named_members(self, registry: str, prefix: str, recurse: bool, remove_duplicate: bool) -> Iterator[tuple[str, Tensor]]:
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, tensor in module.__dict__[registry].items():
                if tensor is None or tensor in seen:
                    continue
                if remove_duplicate:
                    seen.add(tensor)
                yield f"{path}.{name}" if path else name, tensor

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Names and parameters; a tied one once, under its first name, unless asked."""
        yield from self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Names and buffers, persistent or not."""
        yield from self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Names and modules directly below this one."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def children(self) -> Iterator[Module]:
        """The modules directly below this one."""
        for _, module in self.named_children():
            yield module

    def modules(self) -> Iterator[Module]:
        """This module and all below it."""
        for _, module in self.named_modules():
            yield module

    def get_submodule(self, target: str) -> Module:
        """The module with a dotted name; the empty name is this one's."""
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Puts a module where the dotted name says; with `strict`, only in another one's place."""
        if not target:
            raise ValueError("set_submodule: the name must not be empty: a module cannot replace itself")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and name not in parent._modules:
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        parent.add_module(name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with a dotted name."""
        return self._get("_parameters", target, "an nn.Parameter")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with a dotted name."""
        return self._get("_buffers", target, "a buffer")

    def _get(self, registry: str, target: str, what: str):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        if name not in module.__dict__[registry]:
            raise AttributeError(f"`{name}` is not {what}")
        return module.__dict__[registry][name]

    # --------------------------------------------------------------------------------------------- the model as a whole

    def apply(self, fn: Callable[[Module], None]) -> Module:
        """Calls fn(module) for all below this module, then for itself: a way to initialise. Returns itself."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Module:
        """Training mode on or off here and below: dropout and batch norm behave by it. Returns itself."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Module:
        """`train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Sets requires_grad of every parameter: False freezes them. Returns itself."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters, or fills them with zeros."""
        for parameter in self.parameters():
            if set_to_none or parameter.grad is None:
                parameter.grad = None
            else:
                parameter.grad = parameter.grad.detach().zero_()

    # -------------------------------------------------------------------------------------------------- dtype and device

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Module:
        """Replaces what every parameter, gradient and buffer holds by fn of it; all stay the objects they are."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for registry in (self._parameters, self._buffers):
            for name, tensor in registry.items():
                if tensor is None:
                    continue
                if tensor.cell is None:  # a view: its base is no business of the module's
                    registry[name] = fn(tensor.detach())
                    continue
                tensor.data = fn(tensor.data)
                if tensor.grad is not None:
                    tensor.grad.data = fn(tensor.grad.data)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Module:
        """Changes device, float dtype, or both, of all parameters and buffers: ``to(device, dtype)``, ``to(dtype)``, ``to(tensor)``.

        Integer and bool buffers keep their dtype. On the device "meta" tensors have shapes and no data. Returns itself.
        """
        device, dtype = _destination(*args, **kwargs)
        if dtype is not None and not dtype.is_inexact:
            raise TypeError(f"Module.to only accepts floating point or complex dtypes, got dtype={dtype}")
        return self._apply(lambda t: t.to(device=device, dtype=dtype if t.dtype.is_inexact else None))

    def to_empty(self, *, device, recurse: bool = True) -> Module:
        """Moves all parameters and buffers to a device without their data: what follows a "meta" model before loading it."""
        from .create import empty

        return self._apply(lambda t: empty(t.shape, dtype=t.dtype, device=device), recurse)

    def cpu(self) -> Module:
        """Moves everything to the CPU."""
        return self.to("cpu")

    def cuda(self, device: int | None = None) -> Module:
        """Moves everything to a GPU."""
        return self.to("cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device)

    def type(self, dst_type) -> Module:
        """Converts all parameters and buffers, integer ones too."""
        return self._apply(lambda t: t.to(dtype=dst_type))

    def _floats(self, dtype: DType) -> Module:
        return self._apply(lambda t: t.to(dtype=dtype) if t.dtype.is_floating_point else t)

    def float(self) -> Module:
        """Floats to float32."""
        return self._floats(float32)

    def double(self) -> Module:
        """Floats to float64."""
        return self._floats(float64)

    def half(self) -> Module:
        """Floats to float16."""
        return self._floats(float16)

    def bfloat16(self) -> Module:
        """Floats to bfloat16."""
        return self._floats(bfloat16)

    # ------------------------------------------------------------------------------------------------------------ hooks

    def register_forward_pre_hook(self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """hook(module, args) runs before each forward; what it returns, if not None, replaces the arguments.

        With kwargs: hook(module, args, kwargs), which returns None or a pair. `prepend` puts it before the others.
        """
        return self._hook(self._forward_pre_hooks, ForwardHook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """hook(module, args, output) runs after each forward; what it returns, if not None, replaces the output.

        With kwargs: hook(module, args, kwargs, output). `always_call` runs it, with output None, also if the forward raised.
        """
        return self._hook(self._forward_hooks, ForwardHook(hook, with_kwargs, always_call), prepend)

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """hook(module, prefix, keep_vars) runs before this module's part of a state_dict is made."""
        return self._hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """hook(module, state_dict, prefix, local_metadata) runs after it, and changes the state_dict in place."""
        return self._hook(self._state_dict_hooks, saved.post_hook(hook))

    def _register_state_dict_hook(self, hook: Callable) -> RemovableHandle:
        """Like `register_state_dict_post_hook`, but what the hook returns, if not None, replaces the state_dict."""
        return self._hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs) runs before loading."""
        return self._hook(self._load_state_dict_pre_hooks, saved.pre_hook(self, hook))

    def _register_load_state_dict_pre_hook(self, hook: Callable, with_module: bool = False) -> RemovableHandle:
        """Like `register_load_state_dict_pre_hook`, without the module unless asked."""
        return self._hook(self._load_state_dict_pre_hooks, saved.pre_hook(self, hook) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """hook(module, incompatible_keys) runs when the keys have been compared, and may change those lists in place."""
        return self._hook(self._load_state_dict_post_hooks, hook)

    def _hook(self, hooks: HookDict, hook, first: bool = False) -> RemovableHandle:
        Module.mutations[0] += 1
        return RemovableHandle(hooks, hook, first)

    # ------------------------------------------------------------------------------------------------------- state_dict

    def state_dict(self, *, destination: dict | None = None, prefix: str = "", keep_vars: bool = False) -> dict[str, Any]:
        """All parameters and persistent buffers by dotted name: detached tensors that share their data with the model's.

        With `keep_vars` the parameters themselves. `load_state_dict` of an equal model takes it back.
        """
        return saved.save(self, destination, prefix, keep_vars)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> saved.IncompatibleKeys:
        """Copies a state_dict's values into parameters and buffers; with `assign` its tensors take their places.

        Values may be Tensors, Arrays, or arrays of NumPy, jax or DLPack. All is checked first: if a shape differs or, unless
        strict=False, keys are missing or unexpected, RuntimeError lists every such key and nothing has changed. Returns the
        missing and the unexpected keys.
        """
        return saved.load(self, state_dict, strict, assign)

    def _save_to_state_dict(self, destination: dict, prefix: str, keep_vars: bool) -> None:
        """This module's own part of the state_dict; a subclass may have another."""
        saved.save_own(self, destination, prefix, keep_vars)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs) -> None:
        """Takes this module's own part of a state_dict; a subclass may change the keys of an older layout first."""
        saved.load_own(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    def get_extra_state(self) -> Any:
        """What the state_dict keeps besides tensors, under "_extra_state"; a subclass that has this has `set_extra_state` too."""
        raise RuntimeError(f"{type(self).__name__}.get_extra_state() is missing: define it together with set_extra_state()")

    def set_extra_state(self, state: Any) -> None:
        """Takes back what `get_extra_state` gave."""
        raise RuntimeError(f"the state_dict has an extra state for {type(self).__name__}, which has no set_extra_state(): define it")

    # ------------------------------------------------------------------------------------------------------------- text

    def extra_repr(self) -> str:
        """What stands between the parentheses of the module's `repr`."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        children = [f"({name}): {indented(repr(module))}" for name, module in self._modules.items()]
        return framed(self._get_name(), extra.split("\n") if extra else [], children)


_REGISTRIES = (  # where values of a kind go, and what may stand there
    ("_parameters", "parameter", Parameter, Parameter),
    ("_modules", "child module", Module, Module),
    ("_buffers", "buffer", Buffer, (Tensor, Array)),
)


def indented(text: str, by: int = 2) -> str:
    """All lines but the first moved to the right."""
    return text.replace("\n", "\n" + " " * by)


def framed(name: str, extra: list[str], children: list[str]) -> str:
    """name(...) on one line if there is little inside, else a line for each."""
    if not children and len(extra) <= 1:
        return f"{name}({''.join(extra)})"
    return f"{name}(\n  " + "\n  ".join([*extra, *children]) + "\n)"


def _destination(*args, device=None, dtype=None, tensor=None, non_blocking: bool = False, copy: bool = False, memory_format=None):
    """(device, dtype) of `Module.to`'s arguments. The layout in memory is XLA's business, so memory_format means nothing here."""
    for argument in (*args, tensor):
        if isinstance(argument, (Tensor, Array)):
            device, dtype = argument.device, argument.dtype
        elif isinstance(argument, DType):
            dtype = argument
        elif isinstance(argument, builtins.int) and not isinstance(argument, builtins.bool):
            device = f"cuda:{argument}"
        elif argument is not None and not isinstance(argument, builtins.bool):  # a bool is non_blocking
            device = argument
    return device, dtype

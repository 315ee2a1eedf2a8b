"""Functions that run around a module's forward, and the handles that take them away again."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import NamedTuple

from ..core.cell import CHANGES

_IDS = itertools.count()


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook away, and so does leaving a ``with`` block of it.

    >>> import functorch_lite as fl
    >>> m = fl.nn.Identity()
    >>> with m.register_forward_hook(lambda module, args, output: output + 1):
    ...     m(fl.asarray(1.0)).item()
    2.0
    >>> m(fl.asarray(1.0)).item()
    1.0
    """

    def __init__(self, hooks: dict, hook: object, first: bool = False):
        CHANGES[0] += 1
        self.id = next(_IDS)
        self._hooks = weakref.ref(hooks)
        others = dict(hooks) if first else {}
        if first:
            hooks.clear()
        hooks[self.id] = hook
        hooks.update(others)

    def remove(self) -> None:
        """Takes the hook away; nothing happens if it is gone already."""
        hooks = self._hooks()
        if hooks is not None:
            CHANGES[0] += 1
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception) -> None:
        self.remove()


class HookDict(dict):
    """Hooks by the id of their handle, in the order in which they run; a dict that a handle can refer to weakly."""

    __slots__ = ("__weakref__",)


class ForwardHook(NamedTuple):
    """A hook of a module's forward and how it wants to be called."""

    function: Callable
    with_kwargs: bool = False
    always: bool = False  # also if the forward raised


def call_with_hooks(module, args: tuple, kwargs: dict):
    """The module's forward between its hooks: those before it may change its arguments, those behind it its output."""
    done = set()
    try:
        for hook in tuple(module._forward_pre_hooks.values()):
            args, kwargs = _before(module, hook, args, kwargs)
        output = module.forward(*args, **kwargs)
        for id, hook in tuple(module._forward_hooks.items()):
            done.add(id)
            output = _after(module, hook, args, kwargs, output)
        return output
    except Exception:
        for id, hook in tuple(module._forward_hooks.items()):
            if hook.always and id not in done:
                _after(module, hook, args, kwargs, None)
        raise


def _before(module, hook: ForwardHook, args: tuple, kwargs: dict):
    if not hook.with_kwargs:
        new = hook.function(module, args)
        return args if new is None else new if isinstance(new, tuple) else (new,), kwargs
    new = hook.function(module, args, kwargs)
    if new is None:
        return args, kwargs
    if isinstance(new, tuple) and len(new) == 2:
        return new
    raise RuntimeError(f"a forward pre-hook with_kwargs=True returns None or a pair (args, kwargs), got {type(new).__name__}: {new!r}")


def _after(module, hook: ForwardHook, args: tuple, kwargs: dict, output):
    new = hook.function(module, args, kwargs, output) if hook.with_kwargs else hook.function(module, args, output)
    return output if new is None else new

"""Whether what is computed is recorded for gradients: no_grad and its like, as contexts and as decorators.

`no_grad` stops the recording of everything that began before it: `backward`, and every `grad` it stands inside. A `grad` that is
entered under it records again.
"""

from __future__ import annotations

import inspect
from functools import wraps

from ..core.interpreter import STATE, body, serial


def is_grad_enabled() -> bool:
    """Whether gradients are recorded here."""
    return STATE.stopped <= body(STATE.current).born


def _switch(enabled: bool) -> None:
    STATE.stopped = min(STATE.stopped, body(STATE.current).born) if enabled else serial()


class _Mode:
    """A context that switches recording, and a decorator that does it for each call."""

    enabled = False

    def __enter__(self):
        self.__dict__.setdefault("_before", []).append(STATE.stopped)
        if self.enabled is not is_grad_enabled():
            _switch(self.enabled)
        return self

    def __exit__(self, *_):
        STATE.stopped = self._before.pop()

    def __call__(self, function):
        if inspect.isgeneratorfunction(function):

            @wraps(function)
            def generator(*args, **kwargs):
                source = function(*args, **kwargs)
                go_on, sent = source.send, None
                while True:
                    with self._again():
                        try:
                            item = go_on(sent)
                        except StopIteration as stop:
                            return stop.value
                    try:
                        go_on, sent = source.send, (yield item)
                    except GeneratorExit:
                        with self._again():
                            source.close()
                        raise
                    except BaseException as error:
                        go_on, sent = source.throw, error

            return generator

        @wraps(function)
        def decorated(*args, **kwargs):
            with self._again():
                return function(*args, **kwargs)

        return decorated

    def _again(self):
        """Another one like it, for one call."""
        out = object.__new__(type(self))
        out.enabled = self.enabled
        return out


class no_grad(_Mode):
    """Nothing is recorded inside: results do not require grad.

    >>> import functorch_lite.torch as torch
    >>> w = torch.tensor([2.0], requires_grad=True)
    >>> with torch.no_grad():
    ...     (w * 2).requires_grad
    False
    """

    enabled = False

    def __new__(cls, function=None):
        mode = object.__new__(cls)
        return mode if function is None else mode(function)


class enable_grad(no_grad):
    """Recording is on inside, also within `no_grad`."""

    enabled = True


class inference_mode(_Mode):
    """Like `no_grad` (there is nothing more to gain here)."""

    def __new__(cls, mode=True):
        out = object.__new__(cls)
        if callable(mode):
            out.enabled = False
            return out(mode)
        out.enabled = not mode
        return out

    def __init__(self, mode=True):
        pass


class set_grad_enabled(_Mode):
    """Switches recording on or off, from here on; as a context, until its end."""

    def __init__(self, mode: bool):
        self.enabled = bool(mode)
        self._first = STATE.stopped
        if self.enabled is not is_grad_enabled():
            _switch(self.enabled)

    def __enter__(self):
        first = self.__dict__.pop("_first", STATE.stopped)
        super().__enter__()
        self._before[-1] = first
        return self

    def __call__(self, function):
        STATE.stopped = self.__dict__.pop("_first", STATE.stopped)  # as a decorator it switches in the calls only
        return super().__call__(function)

"""Face: what stands for an Array to the user and may change, and how it enters and leaves transforms."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from .array import Array, Operable, asarray


class Face:
    """The base of `Tensor`: an object over a value that can be replaced. The core knows only how to read it and how to make one.

    An op given any Face reads it and gives Faces; a transform hands its function a stand-in of each, and its results are made
    like them.
    """

    __slots__ = ()
    began = None  # for who records it

    def read(self) -> Array:
        """Its value as the current interpreter sees it, history included."""
        raise NotImplementedError

    def plain(self) -> tuple | None:
        """(its value, its storage) at the bottom of the stack, if that is all there is to it: no view, no history, no gradient wanted."""
        raise NotImplementedError

    def stand_in(self, value: Array) -> Face:
        """One of the same class over another value, for the body of a transform."""
        raise NotImplementedError

    @classmethod
    def made(cls, value: Array) -> Face:
        """A fresh one over a result."""
        raise NotImplementedError

    @property
    def home(self):
        """The interpreter in whose body it was made."""
        raise NotImplementedError

    @property
    def version(self) -> int:
        """How often it was written to."""
        raise NotImplementedError

    @property
    def marks(self) -> tuple:
        """What a program of a leaf depends on besides its value: whether it requires grad, and its hooks."""
        raise NotImplementedError

    @property
    def storage(self):
        """What those have in common that share their elements."""
        raise NotImplementedError

    def replace(self, value: Array) -> None:
        """Writes it."""
        raise NotImplementedError

    fitted: Callable[..., Array]
    """fitted(value, what, *, exact, apart, shared): a result of `what` as this may take it, in its dtype (which must be the result's, if `exact`).
    It raises what PyTorch does for an `out=` that cannot. ``shared``: its storage is that of an argument too, which may not be if ``apart``."""

    receive: Callable[[Array], None]
    """Takes over a result that fits, and its shape."""

    def overwrite(self, value: Array, what: str) -> Face:
        """Writes the result of the op named `what`, as far as it fits, and gives itself."""
        raise NotImplementedError

    def renew(self, value: Array) -> None:
        """Writes it behind autograd's back: a statistic that follows, not a result."""
        raise NotImplementedError

    def wrap(self, out):
        """What an op gave, as Faces: an Array, or a tuple or named tuple of them."""
        if isinstance(out, Array):
            return self.made(out)
        if out.__class__ is tuple:
            return tuple(map(self.wrap, out))
        if isinstance(out, tuple):
            return type(out)(*map(self.wrap, out))
        return out

    def look(self, op, args: tuple, params: tuple):
        """The result of an op that only looks at this one's elements: a view of it."""
        raise NotImplementedError

    def key(self) -> Array:
        """A key for an op that draws and was given none."""
        raise NotImplementedError


def read(x) -> Array:
    """The Array behind a leaf: a Face's value, anything else as an Array."""
    return x.read() if isinstance(x, Face) else asarray(x)


def like(leaf, value):
    """`value` as what `leaf` was: a stand-in where it is a Face."""
    return leaf.stand_in(value) if isinstance(leaf, Face) else value


def made_like(leaf, value):
    """A result for `leaf`: a fresh Face where it is one and the result is not."""
    return leaf.made(value) if isinstance(leaf, Face) and isinstance(value, Array) else value


def operand(x):
    """The first argument of a function that is no op itself: an Array or Face as it is, anything else as an Array."""
    return x if isinstance(x, Operable) else asarray(x)


def faced(function):
    """A function of Arrays that is no op itself, for Faces too: it is given their values, and its results are made Faces.
    As an op's, they may be written into those that stand in `out=`."""

    def value(x):
        if isinstance(x, Face):
            return x.read()
        return tuple(map(value, x)) if x.__class__ is tuple or x.__class__ is list else x

    @wraps(function)
    def either(*args, **kwargs):
        if "out" in kwargs and (out := kwargs.pop("out")) is not None:
            from .out import into

            return into(function.__name__, either, out, args, kwargs, several=None)
        face = next((x for x in (*args, *kwargs.values()) if isinstance(x, Face)), None)
        if face is None:
            return function(*args, **kwargs)
        return face.wrap(function(*map(value, args), **{k: value(x) for k, x in kwargs.items()}))

    return either

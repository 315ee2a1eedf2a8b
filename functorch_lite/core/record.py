"""Records: the small immutable values of this library's inside. As attrs or dataclasses would make them, but nothing is generated for
them at import, which every user of the library waits for; users' own are `@struct`."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, dataclass_transform


@dataclass_transform(frozen_default=True)
class Record:
    """The base of a class whose annotated fields are its arguments, in order; the class has their defaults.

    Equal to, and hashed as, the tuple of its fields; with ``eq=False`` as the object it is.

    >>> class Point(Record):
    ...     x: int
    ...     y: int = 0
    >>> Point(1) == Point(1, y=0), Point(1).but(x=5)
    (True, Point(x=5, y=0))
    """

    _fields = ()
    _names = frozenset()

    def __init_subclass__(cls, eq: bool = True):
        cls._fields = cls._fields + tuple(name for name in inspect.get_annotations(cls) if name not in cls._fields)
        cls._names = frozenset(cls._fields)
        if not eq:
            cls.__eq__, cls.__hash__ = object.__eq__, object.__hash__

    def __init__(self, *values: Any, **named: Any):
        fields, held = self._fields, self.__dict__
        held.update(zip(fields, values), **named)
        if len(values) + len(named) != len(fields) or held.keys() != self._names:
            self._settle(values, named)

    def _settle(self, values: tuple, named: dict[str, Any]) -> None:
        """Fills in the defaults, or raises."""
        fields, kind = self._fields, type(self)
        unknown = [name for name in named if name not in fields or name in fields[: len(values)]]
        if len(values) > len(fields) or unknown:
            raise TypeError(
                f"{kind.__name__} takes {', '.join(fields)}, got {len(values)} by place and {', '.join(named) or 'none'} by name"
            )
        for name in fields[len(values) :]:
            if name not in named:
                if not hasattr(kind, name):
                    raise TypeError(f"{kind.__name__} needs {name}")
                self.__dict__[name] = getattr(kind, name)

    def __setattr__(self, name: str, value: Any):
        raise dataclasses.FrozenInstanceError(
            f"{type(self).__name__}.{name} cannot be set: it is immutable; but({name}=...) gives a changed one"
        )

    def __delattr__(self, name: str):
        raise dataclasses.FrozenInstanceError(f"{type(self).__name__}.{name} cannot be deleted")

    def _values(self) -> tuple:
        held = self.__dict__
        return tuple([held[name] for name in self._fields])

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in zip(self._fields, self._values()))})"

    def but(self, **changes: Any):
        """The same with some fields changed."""
        return type(self)(**{**self.__dict__, **changes})

"""`@struct`: an immutable class (attrs) that is a pytree, so that a model is a value like any other.

Fields are leaves or subtrees, or, when static, part of the structure: compared by type and value, never traced.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable
from typing import Any, dataclass_transform

import attrs
import numpy as np

from . import pytree
from .pretty import pretty

_STATICS = "__statics__"  # where an instance keeps what its structure needs
_FILLING = "__filling__"  # there while the user's own __init__ runs


def field(
    *,
    static: bool | None = None,
    default: Any = attrs.NOTHING,
    factory: Callable[[], Any] | None = None,
    converter: Callable | list[Callable] | None = None,
    validator: Callable | list[Callable] | None = None,
    kw_only: bool | None = None,
    init: bool = True,
    repr: bool | Callable = True,
    alias: str | None = None,
    metadata: dict | None = None,
) -> Any:
    """A field of a `@struct` class: `attrs.field` and `static`.

    A static field belongs to the structure of the object: it must be hashable and hold no arrays, two objects match only if
    their static fields have equal types and values, and `jit` compiles anew when one changes. Fields annotated ``str``,
    ``Callable``, ``type``, ``Literal[...]`` or an optional one of these are static unless ``static=False``.

    Converters and validators run in ``__init__`` and `replace`, never when a transform rebuilds the object.

    >>> @struct
    ... class Power:
    ...     base: object
    ...     exponent: int = field(static=True, default=2, validator=attrs.validators.ge(0))
    >>> pytree.leaves(Power(3.0))
    [3.0]
    """
    metadata = {**(metadata or {}), **({} if static is None else {"static": bool(static)})}
    extra = {} if kw_only is None else {"kw_only": kw_only}
    checks = {"converter": converter, "validator": validator}
    return attrs.field(default=default, factory=factory, init=init, repr=repr, alias=alias, metadata=metadata, **checks, **extra)


@dataclass_transform(frozen_default=True, field_specifiers=(field, attrs.field))
def struct(cls: type | None = None, *, kw_only: bool = False) -> Any:
    """Makes a class with annotated fields an immutable attrs class and a pytree.

    >>> @struct
    ... class Linear:
    ...     weight: object
    ...     bias: object = None
    ...     activation: Callable = abs
    ...     def __call__(self, x):
    ...         return self.activation(self.weight * x + (self.bias or 0))
    >>> layer = Linear(2.0)
    >>> layer(-3.0), pytree.map(lambda w: w * 10, layer)
    (6.0, Linear(weight=20.0, bias=None, activation=abs))

    Subclasses are decorated too, and inherit fields. A class may have an ``__init__`` of its own: in it the fields are
    assigned as usual (``self.weight = ...``, converters and validators run then), and after it the object is immutable.
    `replace` and `tree_at` make changed copies. ``==`` compares type, structure and leaves (`fl.tree.all_equal`).
    """
    if cls is None:
        return functools.partial(struct, kw_only=kw_only)
    if not isinstance(cls, type):
        raise TypeError(f"struct decorates a class, got {cls!r}")
    if "__slots__" in cls.__dict__:
        raise TypeError(f"struct: {cls.__name__} must not have __slots__")
    init = cls.__dict__.get("__init__") or _inherited_init(cls)
    if init is not None:
        cls.__init__ = _filling(init)
    if "__attrs_post_init__" in cls.__dict__:
        cls.__attrs_post_init__ = _filling(cls.__attrs_post_init__)
    settings = {"slots": False, "frozen": True, "eq": False, "repr": False, "auto_attribs": True, "kw_only": kw_only}
    attrs.define(cls, init=init is None, field_transformer=_settle, **settings)
    cls.__struct_init__ = init  # and the mark of a struct
    cls.__setattr__, cls.__delattr__ = _setattr, _delattr
    for name, method in (("__new__", _new), ("__repr__", _repr), ("__eq__", _eq), ("__hash__", _hash)):
        if getattr(cls, name) is getattr(object, name):
            setattr(cls, name, method)
    static = tuple(a.name for a in attrs.fields(cls) if a.metadata["static"])
    dynamic = tuple(a.name for a in attrs.fields(cls) if not a.metadata["static"])
    return pytree.register(cls, *pytree.field_functions(cls, dynamic, static, cache=_STATICS))


def replace(obj: Any, **changes: Any) -> Any:
    """A copy of a struct (or dataclass or attrs object) with some fields changed. Converters and validators run.

    >>> @struct
    ... class Point:
    ...     x: float
    ...     y: float
    >>> replace(Point(1.0, 2.0), y=5.0)
    Point(x=1.0, y=5.0)
    """
    cls = type(obj)
    if dataclasses.is_dataclass(cls):
        return dataclasses.replace(obj, **changes)
    if not attrs.has(cls):
        raise TypeError(f"replace: expected a struct, a dataclass or an attrs object, got {pytree.describe(obj)}")
    fields = attrs.fields_dict(cls)
    if unknown := [name for name in changes if name not in fields]:
        raise TypeError(f"replace: {cls.__name__} has no field {', '.join(map(repr, unknown))}; its fields are {', '.join(fields)}")
    if getattr(cls, "__struct_init__", None) is None:
        return attrs.evolve(obj, **{fields[name].alias: value for name, value in changes.items()})
    out = object.__new__(cls)  # its own __init__ has parameters of its own
    out.__dict__.update({name: value for name, value in obj.__dict__.items() if name in fields})
    out.__dict__.update({name: _converted(out, fields[name], value) for name, value in changes.items()})
    attrs.validate(out)
    return out


# --------------------------------------------------------------------------------------------- what struct puts in a class


def _is_struct(cls: type) -> bool:
    return "__struct_init__" in cls.__dict__


def _new(cls, *args, **kwargs):
    if not _is_struct(cls):
        parent = next(c.__name__ for c in cls.__mro__ if _is_struct(c))
        raise TypeError(f"{cls.__name__} is a subclass of the struct {parent} and no struct itself: write @struct above it")
    return object.__new__(cls)


def _setattr(self, name, value):
    if _FILLING not in self.__dict__:
        raise dataclasses.FrozenInstanceError(
            f"{type(self).__name__}.{name} cannot be set: a struct is immutable. Make a changed copy: replace(obj, {name}=...)"
        )
    attribute = attrs.fields_dict(type(self)).get(name)
    if attribute is None:
        raise AttributeError(f"{type(self).__name__} has no field {name!r}: annotate it in the class body ({name}: ...)")
    self.__dict__.pop(_STATICS, None)
    value = self.__dict__[name] = _converted(self, attribute, value)
    if attribute.validator is not None:
        attribute.validator(self, attribute, value)


def _delattr(self, name):
    raise dataclasses.FrozenInstanceError(f"{type(self).__name__}.{name} cannot be deleted: a struct is immutable")


def _converted(obj, attribute, value):
    converter = attribute.converter
    if converter is None:
        return value
    if not isinstance(converter, attrs.Converter):
        return converter(value)
    return converter.converter(value, *[x for x, wanted in ((obj, converter.takes_self), (attribute, converter.takes_field)) if wanted])


def _inherited_init(cls: type) -> Callable | None:
    """The __init__ that a parent wrote itself, where no new field asks for more."""
    parent = next((c for c in cls.__mro__ if _is_struct(c)), None)
    return None if parent is None or inspect.get_annotations(cls) else parent.__struct_init__


def _filling(init: Callable) -> Callable:
    """The user's own __init__, during which fields can be assigned; afterwards defaults fill what it left out."""

    @functools.wraps(init)
    def __init__(self, *args, **kwargs):
        d = self.__dict__
        if _FILLING in d:  # super().__init__(...) of a subclass that has its own
            return init(self, *args, **kwargs)
        d[_FILLING] = True
        try:
            init(self, *args, **kwargs)
            for a in attrs.fields(type(self)):
                if a.name not in d:
                    if a.default is attrs.NOTHING:
                        raise TypeError(f"{type(self).__name__}.__init__ did not set the field {a.name!r}")
                    default = a.default
                    if isinstance(default, attrs.Factory):
                        default = default.factory(self) if default.takes_self else default.factory()
                    setattr(self, a.name, default)
        finally:
            del d[_FILLING]

    return __init__


def _repr(self) -> str:
    return pretty(self)


def _eq(self, other):
    return pytree.all_equal(self, other) if type(other) is type(self) else NotImplemented


def _hash(self) -> int:
    spec = pytree.structure(self)
    return hash((spec, self.__dict__.get(_STATICS)))  # the hash of a spec leaves static data out


# ------------------------------------------------------------------------------------------------------- static fields


def _settle(cls: type, fields: list[attrs.Attribute]) -> list[attrs.Attribute]:
    """Settles `static` for each field, gives the static ones a check, and refuses defaults that objects would share."""
    out = []
    for a in fields:
        if isinstance(a.default, (list, dict, set)):
            kind = type(a.default).__name__
            raise ValueError(f"{cls.__name__}.{a.name}: a {kind} as default would be shared by all objects: field(factory={kind})")
        settled = a.inherited and "static" in a.metadata
        static = a.metadata["static"] if "static" in a.metadata else _is_static_type(a.type, cls.__module__)
        if static and not settled:
            a = a.evolve(validator=_check_static if a.validator is None else attrs.validators.and_(_check_static, a.validator))
        out.append(a.evolve(metadata={**a.metadata, "static": static}))
    return out


def _check_static(obj, attribute, value):
    where = f"{type(obj).__name__}.{attribute.name}"
    for leaf in pytree.leaves(value):
        if hasattr(type(leaf), "__array__") and not isinstance(leaf, np.generic):
            raise TypeError(
                f"{where} is static and cannot hold arrays, got {pytree.describe(value)}: declare it with field(static=False), "
                "and it is traced and differentiated like every other field"
            )
    try:
        hash(value)
    except TypeError:
        raise TypeError(
            f"{where} is static and must be hashable, since compiled programs are kept by it, got {pytree.describe(value)}: "
            "use a tuple for a list, a frozen class or a tuple of pairs for a dict (or a converter: field(static=True, converter=tuple))"
        ) from None


class _Unknown(type):
    """Stands for a name in an annotation that cannot be looked up (yet)."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

    def __getitem__(cls, item):
        return cls


class _Names(dict):
    def __missing__(self, name):
        return _Unknown("Unknown", (), {})


def _is_static_type(annotation, module: str) -> bool:
    """Is it str, Callable, type, Literal[...], or a union of these and None?"""
    annotation = getattr(annotation, "__forward_arg__", annotation)
    if isinstance(annotation, str):
        known = vars(sys.modules[module]) if module in sys.modules else {}
        try:
            annotation = eval(annotation, {}, _Names({**vars(builtins), **vars(typing), **known}))
        except (SyntaxError, TypeError, AttributeError):
            return False  # whatever it is, it is none of the few that are meant
    origin = typing.get_origin(annotation) or annotation
    if origin in (typing.Union, types.UnionType):
        members = [t for t in typing.get_args(annotation) if t is not types.NoneType]
        return bool(members) and all(_is_static_type(t, module) for t in members)
    return origin in (str, type, Callable, typing.Callable, typing.Literal, types.FunctionType, types.BuiltinFunctionType)

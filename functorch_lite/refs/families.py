"""Constructors of refs that put PyTorch's conventions around one prim: promotion, broadcasting, and a docstring that says so."""

from __future__ import annotations

from ..core.array import Operable
from ..core.dtype import BOOL, COMPLEX, FLOAT, INTEGER
from ..core.op import Tensor, composite
from .promotion import array_of, float_of, promoted

_CATEGORY = {BOOL: "bool", INTEGER: "integer", FLOAT: "float", COMPLEX: "complex"}


def _document(f, name, prim, doc, what, extra, inexact, example):
    """Names f, and documents it: what the prim does, to which dtypes, and an example "call -> what its .tolist() prints"."""
    names = " or ".join(_CATEGORY[c] for c in sorted(prim.op.traits.get("categories", frozenset()) | extra))
    kinds = (f" of {names} dtype" if names else "") + ("; integers and bools become float32" if inexact else "")
    call, _, result = example.partition(" -> ")
    shown = f"\n\n>>> import functorch_lite as fl\n>>> {call}.tolist()\n{result}\n" if example else ""
    f.__doc__ = f"{doc or prim.op.doc} Elementwise, {what}{kinds}.{shown}"
    f.__name__ = f.__qualname__ = name
    return f


def unary(name: str, prim, example: str = "", *, inexact: bool = False, whole: bool = False, method: bool = True, doc: str = "", **slots):
    """The ref of a prim of one array. ``inexact``: integers and bools become float32. ``whole``: integers are returned as they are."""
    extra = frozenset((INTEGER,)) if whole else frozenset()

    if inexact:

        def f(input: Tensor) -> Tensor:
            return prim(float_of(input))

    elif whole:

        def f(input: Tensor) -> Tensor:
            x = array_of(input)
            return x if x.dtype.category == INTEGER else prim(x)

    else:

        def f(input: Tensor) -> Tensor:
            return prim(array_of(input))

    slots.setdefault("reference", prim.op.reference)
    return composite(_document(f, name, prim, doc, "of an array of any shape", extra, inexact, example), method=method, **slots)


BOTH, FIRST, ONE = ({"arrays": names} for names in (("input", "other"), ("input",), ()))  # which of two arguments PyTorch wants as tensors


def binary(
    name: str, prim, example: str = "", *, inexact: bool = False, method: bool = True, doc: str = "", traits: dict | None = None, **slots
):
    """The ref of a prim of two arrays, which are promoted to one dtype and broadcast. ``traits``: BOTH, FIRST or ONE, unless
    PyTorch takes two numbers as well."""

    def f(input: Tensor, other: Tensor) -> Tensor:
        return prim(*promoted(input, other, inexact=inexact))

    slots.setdefault("reference", prim.op.reference)
    what = "of two arrays or numbers, promoted to one dtype and broadcast,"
    slots |= {} if traits is None else {"traits": dict(traits)}
    return composite(_document(f, name, prim, doc, what, frozenset(), inexact, example), method=method, **slots)


def method(function=None, name: str | None = None):
    """Installs a function that is not itself an op (it chooses among several) as a method of Array."""
    if function is None:
        return lambda f: method(f, name)
    setattr(Operable, name or function.__name__, function)
    return function


def alias(**names) -> None:
    """Installs PyTorch's other names of functions as methods too."""
    for name, function in names.items():
        setattr(Operable, name, function)

"""What the transforms share in reading their arguments: trees into flat lists, which leaves are differentiated, and errors."""

from __future__ import annotations

import inspect

import attrs
import numpy as np

from ..core import pytree
from ..core.array import Array, asarray
from ..core.dtype import NUMBERS
from ..core.interpreter import check_leaks, live, name_of
from ..errors import NonDifferentiableError
from ..prims import algebra


def callable_or_raise(transform: str, f) -> None:
    if not callable(f):
        raise TypeError(f"{transform}: expected a function, got {pytree.describe(f)}; call it as {transform}(f)(x), not {transform}(f(x))")


def chunk_size_or_raise(transform: str, chunk_size) -> None:
    if chunk_size is not None and (chunk_size.__class__ is not int or chunk_size < 1):
        raise ValueError(f"{transform}: chunk_size must be a positive int or None, got {chunk_size!r}")


def label_of(transform: str, f) -> str:
    return f"{transform}({name_of(f)})"


def argument_name(f, which: int | str) -> str:
    """What to call an argument of f, given by position or name: "argument 0 ('x')"."""
    if isinstance(which, str):
        return f"argument {which!r}"
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):  # a builtin: its arguments have no names to show
        parameters = []
    named = which < len(parameters) and parameters[which].kind in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )
    return f"argument {which} ({parameters[which].name!r})" if named else f"argument {which}"


def is_array(x) -> bool:
    """Whether a leaf is data: an Array, a number, or an array of NumPy or jax."""
    return (
        isinstance(x, (Array, np.ndarray, np.generic)) or x.__class__ in NUMBERS or hasattr(x, "__jax_array__") or hasattr(x, "__dlpack__")
    )


def inexact(x) -> bool:
    """Whether a leaf can be differentiated: it is data of a float or complex dtype."""
    if isinstance(x, Array):
        return x.dtype.is_inexact
    if x.__class__ in NUMBERS:
        return x.__class__ in (float, complex)
    return is_array(x) and asarray(x).dtype.is_inexact


@attrs.frozen(eq=False)
class Differentiated:
    """A tree of primals: its flat leaves, its structure, and which of them carry a tangent."""

    leaves: list
    spec: pytree.TreeSpec
    which: list[bool]

    @classmethod
    def of(cls, transform: str, tree, name_of_argument) -> Differentiated:
        """Reads the differentiated arguments; each of them needs some float or complex leaf."""
        leaves, spec = pytree.flatten(tree)
        which = [inexact(x) for x in leaves]
        at = 0
        for i in range(len(tree)):
            n = spec.child(i).num_leaves
            if not any(which[at : at + n]):
                raise NonDifferentiableError(
                    f"{transform}: {name_of_argument(i)} has no float or complex leaf to differentiate, got {pytree.describe(tree[i])}. "
                    "Pass floats (x.to(fl.float32)), or differentiate another argument (argnums=)"
                )
            at += n
        return cls([asarray(x) if w else x for x, w in zip(leaves, which)], spec, which)

    def picked(self) -> list:
        return [x for x, w in zip(self.leaves, self.which) if w]

    def with_leaves(self, values) -> tuple:
        """The tree with these values in the differentiated places."""
        values = iter(values)
        return self.spec.unflatten([next(values) if w else x for x, w in zip(self.leaves, self.which)])

    def gradients(self, values) -> tuple:
        """The tree with these values in the differentiated places and None elsewhere; a None value becomes zeros."""
        values = iter(values)
        return self.spec.unflatten([_or_zeros(next(values), x) if w else None for x, w in zip(self.leaves, self.which)])

    def tangents(self, transform: str, tree, what: str = "tangents") -> list:
        """The leaves of a tree of tangents, None where there is none; shapes and dtypes must be those of the primals."""
        given = pytree.match(self.spec, tree, f"{transform}: {what}")
        paths = pytree.leaves_with_path(self.spec.unflatten(range(len(self.leaves))))
        return [same_kind(transform, t, x, f"{what}{path}") for t, x, w, (path, _) in zip(given, self.leaves, self.which, paths) if w]


def _or_zeros(value, like):
    return algebra.zeros(like.aval) if value is None else value


def same_kind(transform: str, t, like, where: str):
    """t as an Array of the shape and dtype of `like`; None stays None."""
    if t is None:
        return None
    number = t.__class__ in NUMBERS
    t = asarray(t, like.dtype) if number and like.ndim == 0 else asarray(t)
    if t.shape != like.shape or t.dtype is not like.dtype:
        raise ValueError(f"{transform}: {where} must be {like.aval}, as its primal is, got {t.aval}")
    return t


def pick(transform: str, f, argnums, args) -> tuple[tuple[int, ...], bool]:
    """argnums as a tuple of positions in args, and whether it was one number."""
    single = not isinstance(argnums, (tuple, list))
    numbers = (argnums,) if single else tuple(argnums)
    for n in numbers:
        if n.__class__ is not int:
            raise TypeError(f"{transform}: argnums must be an int or a tuple of ints, got {argnums!r}")
        if not -len(args) <= n < len(args):
            raise ValueError(
                f"{transform}: argnums={argnums} names no argument of {name_of(f)}, which was called with {len(args)} positional arguments"
            )
    numbers = tuple([n % len(args) for n in numbers])
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"{transform}: argnums={argnums} names an argument twice")
    return numbers, single


def replaced(args, numbers, values) -> list:
    """args with values in the places that numbers name."""
    args = list(args)
    for n, v in zip(numbers, values):
        args[n] = v
    return args


def run(transform: str, f, interpreter, args, kwargs, has_aux: bool):
    """f's output and aux under an interpreter, with their leaves still traced."""
    with live(interpreter):
        out = f(*args, **kwargs)
    if not has_aux:
        return out, None
    if not (isinstance(out, tuple) and len(out) == 2):
        raise TypeError(f"{transform}: with has_aux=True {name_of(f)} must return (output, aux), got {pytree.describe(out)}")
    return out


def split_tree(interpreter, tree, transform: str):
    """(primal leaves, tangent leaves, structure) of an output tree."""
    leaves, spec = pytree.flatten(tree)
    pairs = []
    for x in leaves:
        if not is_array(x):
            raise TypeError(
                f"{transform}: the function must return Arrays (in any pytree), got {pytree.describe(x)}; return other things by has_aux=True"
            )
        pairs.append(interpreter.split(asarray(x)))
    return [x for x, _ in pairs], [t for _, t in pairs], spec


def primal_tree(interpreter, tree):
    """An aux tree with its traced leaves replaced by what they stand for."""
    return pytree.map(lambda x: interpreter.split(x)[0] if isinstance(x, Array) else x, tree)


def done(interpreter) -> None:
    """The end of a transform: under `fl.checking_leaks()` no value of it may survive."""
    check_leaks(interpreter)

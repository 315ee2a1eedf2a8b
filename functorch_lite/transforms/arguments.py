"""What the transforms share in reading their arguments: trees into flat lists, which leaves are differentiated, and errors."""

from __future__ import annotations

import inspect

import numpy as np

from ..core import pytree
from ..core.array import Array, Operable, asarray
from ..core.dtype import NUMBERS
from ..core.face import Face, like, made_like, read
from ..core.interpreter import STATE, body, check_leaks, live, lowered, name_of
from ..core.record import Record
from ..errors import NonDifferentiableError, SharedStorageError
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
        isinstance(x, (Operable, np.ndarray, np.generic))
        or x.__class__ in NUMBERS
        or hasattr(x, "__jax_array__")
        or hasattr(x, "__dlpack__")
    )


def inexact(x) -> bool:
    """Whether a leaf can be differentiated: it is data of a float or complex dtype."""
    if isinstance(x, Operable):
        return x.dtype.is_inexact
    if x.__class__ in NUMBERS:
        return x.__class__ in (float, complex)
    return is_array(x) and asarray(x).dtype.is_inexact


class Differentiated(Record, eq=False):
    """A tree of primals: its flat leaves, its structure, which of them carry a tangent, and what the user gave."""

    leaves: list
    spec: pytree.TreeSpec
    which: list[bool]
    given: list

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
        return cls([read(x) if w else x for x, w in zip(leaves, which)], spec, which, leaves)

    def picked(self) -> list:
        return [x for x, w in zip(self.leaves, self.which) if w]

    def with_leaves(self, values) -> tuple:
        """The tree with these values in the differentiated places."""
        values = iter(values)
        return self.spec.unflatten([like(x, next(values)) if w else x for x, w in zip(self.given, self.which)])

    def written(self, inside) -> Written | None:
        """What becomes of writes to the leaves of this tree, which `with_leaves` gave."""
        return Written(self.given, pytree.leaves(inside)) if any(isinstance(x, Face) for x in self.given) else None

    def gradients(self, values) -> tuple:
        """The tree with these values in the differentiated places and None elsewhere; a None value becomes zeros."""
        values = iter(values)
        found = [made_like(g, _or_zeros(next(values), x)) if w else None for x, g, w in zip(self.leaves, self.given, self.which)]
        return self.spec.unflatten(found)

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
    t = asarray(t, like.dtype) if number and like.ndim == 0 else read(t)
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


def run(transform: str, f, interpreter, args, kwargs, has_aux: bool, written: Written | None = None):
    """f's output and aux under an interpreter, with their leaves still traced; what it wrote to arguments is given back."""
    with live(interpreter):
        out = pytree.map(settled, f(*args, **kwargs))
        changes = written.found() if written is not None else ()
    for i, value in changes:
        written.back(i, interpreter.split(value)[0])
    if not has_aux:
        return out, None
    if not (isinstance(out, tuple) and len(out) == 2):
        raise TypeError(f"{transform}: with has_aux=True {name_of(f)} must return (output, aux), got {pytree.describe(out)}")
    return out


class Settled(Record, eq=False):
    """A Face that a function returned: the value it had when it left the body, and its class."""

    value: Array
    face: type[Face]


def leaving(x) -> Array:
    """The value of an output as it leaves the body that runs now: without what recorded the body."""
    return lowered(read(x), body(STATE.current))


def class_of(x) -> type[Face] | None:
    """The class of a leaf that is a Face, else None."""
    return type(x) if isinstance(x, Face) else x.face if x.__class__ is Settled else None


def settled(x):
    """An output leaf as it leaves the body that runs now."""
    if isinstance(x, Face):
        return Settled(leaving(x), type(x))
    return lowered(x, body(STATE.current)) if isinstance(x, Array) else x


def value_of(x):
    """What is in an output leaf."""
    return x.value if x.__class__ is Settled else x


def given_back(x, value):
    """A result for the user in the place of an output leaf."""
    return x.face.made(value) if x.__class__ is Settled else value


class Outputs(Record, eq=False):
    """The structure of an output tree, and which of its leaves were Faces."""

    spec: pytree.TreeSpec
    classes: list

    def unflatten(self, values, same=()):
        """The tree with these values, as the function made them; `same` are Faces that take places by number."""
        made = [x if c is None else same[i] if i in same else c.made(x) for i, (c, x) in enumerate(zip(self.classes, values))]
        return self.spec.unflatten(made)

    @classmethod
    def of(cls, tree) -> Outputs:
        """The structure of a tree."""
        leaves, spec = pytree.flatten(tree)
        return cls(spec, [class_of(x) for x in leaves])

    @property
    def num_leaves(self) -> int:
        return self.spec.num_leaves

    def children(self) -> list[Outputs]:
        """Those of the trees in a tuple."""
        out, at = [], 0
        for i in range(self.spec.num_children):
            child = self.spec.child(i)
            out.append(Outputs(child, self.classes[at : at + child.num_leaves]))
            at += child.num_leaves
        return out


def split_tree(interpreter, tree, transform: str):
    """(primal leaves, tangent leaves, Outputs) of an output tree."""
    leaves, spec = pytree.flatten(tree)
    pairs = []
    for x in leaves:
        if not is_array(value_of(x)):
            raise TypeError(
                f"{transform}: the function must return Arrays (in any pytree), got {pytree.describe(x)}; return other things by has_aux=True"
            )
        pairs.append(interpreter.split(asarray(value_of(x))))
    return [x for x, _ in pairs], [t for _, t in pairs], Outputs(spec, [class_of(x) for x in leaves])


def primal_tree(interpreter, tree):
    """An aux tree with its traced leaves replaced by what they stand for."""

    def primal(x):
        return given_back(x, interpreter.split(value_of(x))[0]) if isinstance(value_of(x), Array) else x

    return pytree.map(primal, tree)


def done(interpreter) -> None:
    """The end of a transform: under `fl.checking_leaks()` no value of it may survive."""
    check_leaks(interpreter)


def shared(cells: list) -> tuple:
    """Which of some Faces share their storage, given those, by number; () if none do."""
    return () if len(set(cells)) == len(cells) else tuple([cells.index(c) for c in cells])


class Written:
    """What a function wrote to the Faces among its arguments, so that the caller's can be given it.

    ``given`` are the caller's leaves and ``inside`` those that the function got.
    """

    def __init__(self, given, inside):
        self.given = given
        self.pairs = [(i, y, y.version) for i, (x, y) in enumerate(zip(given, inside)) if isinstance(x, Face) and x is not y]

    def changed(self) -> list:
        """(which leaf, what the function got for it) of each that was written to."""
        return [(i, y) for i, y, before in self.pairs if y.version != before and self._alone(i)]

    def found(self) -> list:
        """(which leaf, its new value as it leaves the body that runs now) of each that was written to."""
        return [(i, leaving(y)) for i, y in self.changed()]

    def _alone(self, i: int) -> bool:
        """True; raises where another argument shares the storage of one that was written to, and would have had to follow."""
        for j, other, _ in self.pairs:
            if j != i and self.given[j].storage is self.given[i].storage:
                raise SharedStorageError(
                    f"an argument {other.aval} shares its storage with another that the function changes in place, but would not see it inside "
                    "the transform. Pass the tensor once (and take views of it inside), or pass a clone()"
                )
        return True

    def back(self, i: int, value: Array) -> None:
        """Gives the caller's leaf its new value."""
        self.given[i].replace(value)

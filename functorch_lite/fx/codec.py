"""Codec: between the pytrees a program is called with and gives, and the flat lists of arrays that its graph knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import pytree
from ..core.array import Operable, asarray, put, wrap_as
from ..core.aval import aval_of
from ..core.dtype import NUMBERS, WIDEST, category_of
from ..core.face import Face, read
from ..core.record import Record
from .calls import same


def is_input(x) -> bool:
    """Whether a leaf is data that a program takes: an array of any library, or a number. Strings, bools and functions are not."""
    if isinstance(x, Operable) or x.__class__ in NUMBERS:
        return x.__class__ is not bool
    return isinstance(x, (np.ndarray, np.generic)) or hasattr(x, "__jax_array__") or hasattr(x, "__dlpack__")


def as_input(x):
    """An input as an Array. A Python number becomes one that yields to every array in promotion, as the number would."""
    if isinstance(x, Operable):
        return read(x)
    if x.__class__ in NUMBERS:
        return wrap_as(aval_of(x), put(np.asarray(x, WIDEST[category_of(x)].dtype)))
    return asarray(x)


_NONE: dict = {}  # nobody changes it


class Codec(Record, eq=False):
    """``names``: the parameters of the program. ``in_tree``: the structure of the tuple of their values (None: as many arrays as
    there are placeholders). ``static``: leaves that belong to the program, by number. ``defaults``: of parameters that may be
    left out. ``out_tree``: the structure of the results (None: a tuple). ``label`` names the program in messages."""

    names: tuple[str, ...] | None = None
    in_tree: pytree.TreeSpec | None = None
    static: dict[int, Any] = _NONE
    defaults: dict[str, Any] = _NONE
    out_tree: pytree.TreeSpec | None = None
    label: str = "GraphModule"
    writes: tuple[int, ...] = ()  # placeholders, then states, by number, that the program changes: their values are its last results
    states: tuple[Face, ...] = ()  # what it changes that is no input: generators

    def returning(self, out_tree: pytree.TreeSpec | None, writes: tuple[int, ...] = (), states: tuple[Face, ...] = ()) -> Codec:
        """The same with another structure of results."""
        return self.but(out_tree=out_tree, writes=writes, states=states)

    def write(self, given: list, values: Sequence) -> None:
        """Gives what the program changes, if it can change, its new values."""
        targets = [*given, *self.states]
        for i, value in zip(self.writes, values):
            if isinstance(targets[i], Face):
                targets[i].replace(value)

    def reading(self, names: Sequence[str], values: tuple, static: dict[int, Any], defaults: dict[str, Any] | None = None) -> Codec:
        """The same for parameters with the structure of these values."""
        return self.but(names=tuple(names), in_tree=pytree.structure(values), static=static, defaults=defaults or {})

    @property
    def is_flat(self) -> bool:
        """Whether each parameter is one array and nothing else."""
        if self.in_tree is None:
            return True
        return not self.static and all(self.in_tree.child(i).type is None for i in range(self.in_tree.num_children))

    def flatten(self, args: tuple, kwargs: dict[str, Any], names: Sequence[str]) -> list:
        """The arrays of a call, in the order of the placeholders. `names` are those of the parameters, where they are not known here."""
        return [as_input(x) for x in self.inputs(args, kwargs, names)]

    def inputs(self, args: tuple, kwargs: dict[str, Any], names: Sequence[str]) -> list:
        """The same, as they were given."""
        values = self._values(args, kwargs, self.names or names)
        if self.in_tree is None:
            leaves = values
        else:
            leaves = pytree.match(self.in_tree, values, f"{self.label}: the tuple of arguments", exact=True)
        for i, fixed in self.static.items():
            if not same(leaves[i], fixed):
                path, _ = pytree.leaves_with_path(self.in_tree.unflatten(leaves))[i]
                name, where = self.names[path[0]], str(path)[len(f"[{path[0]}]") :]
                raise ValueError(
                    f"{self.label}: {name}{where} was {fixed!r} when the program was traced and is part of it, got {leaves[i]!r}; "
                    "trace again for another value"
                )
        return [x for i, x in enumerate(leaves) if i not in self.static]

    def _values(self, args: tuple, kwargs: dict[str, Any], names: Sequence[str]) -> tuple:
        """One value a parameter."""
        if not kwargs and len(args) == len(names):
            return args
        if len(args) > len(names):
            raise TypeError(f"{self.label}: expected {len(names)} arguments ({', '.join(names)}), got {len(args)}")
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in names:
                raise TypeError(f"{self.label}: unknown argument {name!r}; the arguments are {', '.join(names)}")
            if name in given:
                raise TypeError(f"{self.label}: argument {name!r} was given twice")
            given[name] = value
        missing = [n for n in names if n not in given and n not in self.defaults]
        if missing:
            raise TypeError(f"{self.label}: missing arguments {', '.join(missing)}; the arguments are {', '.join(names)}")
        return tuple([given[n] if n in given else self.defaults[n] for n in names])

    def finish(self, given: list, outs: Sequence, constants: list) -> Any:
        """The results for who called with these inputs: what the program changes is written into Tensors among them, and with any
        Tensor among them (or the constants) the results are Tensors."""
        face = next((x for x in (*given, *constants, *self.states) if isinstance(x, Face)), None)
        kept = len(outs) - len(self.writes)
        self.write(given, outs[kept:])
        outs = outs[:kept]
        return self.unflatten(outs if face is None else [face.wrap(x) for x in outs])

    def unflatten(self, outs: Sequence) -> Any:
        """The results as the program gives them."""
        return tuple(outs) if self.out_tree is None else self.out_tree.unflatten(outs)

    def leaf_names(self) -> list[str]:
        """A name for each array among the arguments: the parameter's, and the way from there to the leaf."""
        tree = self.in_tree.unflatten(range(self.in_tree.num_leaves))
        out = []
        for i, (path, _) in enumerate(pytree.leaves_with_path(tree)):
            if i not in self.static:
                out.append("_".join([self.names[path[0]], *(str(entry) for entry in path[1:])]))
        return out

"""Pytrees: nested dicts, lists, tuples, namedtuples and registered classes whose leaves are what a transform works on.

optree does the work, in a namespace of our own: dicts keep insertion order, None is an empty subtree, and whatever another
library registers with optree stays its own. Public as `fl.tree`.
"""

from __future__ import annotations

import builtins
import collections
import dataclasses
from collections.abc import Callable, Iterable
from functools import reduce as _reduce
from typing import Any

import numpy as np
import optree
from optree import _C  # the wrappers around it cost a tenth of a flatten

from ..errors import TreeMismatchError
from .pretty import array_type
from .statics import Statics

NAMESPACE = "functorch_lite"
TreeSpec = optree.PyTreeSpec

_order = optree.dict_insertion_ordered(True, namespace=NAMESPACE)  # kept: on collection it would fall back to sorted keys
_order.__enter__()

_DICTS = (dict, collections.OrderedDict, collections.defaultdict)  # one kind: they match one another by key
_NONE = type(None)

# ---------------------------------------------------------------------------------------------- flatten and unflatten


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list, TreeSpec]:
    """The leaves of a tree, from left to right, and its structure, which is hashable and rebuilds it.

    >>> leaves, spec = flatten({"w": 1, "b": (2, None)})
    >>> leaves, spec.unflatten([10, 20])
    ([1, 2], {'w': 10, 'b': (20, None)})
    """
    return _C.flatten(tree, is_leaf, False, NAMESPACE)


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list:
    """The leaves of a tree, from left to right.

    >>> leaves({"w": 1, "b": (2, None)})
    [1, 2]
    """
    return _C.flatten(tree, is_leaf, False, NAMESPACE)[0]


def structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The structure of a tree: hashable, and equal for trees of equal containers and static fields.

    >>> structure([1, 2]) == structure([3, 4]), structure([1, 2]) == structure((1, 2))
    (True, False)
    """
    return _C.flatten(tree, is_leaf, False, NAMESPACE)[1]


def unflatten(spec: TreeSpec, leaves: Iterable) -> Any:
    """The tree of structure `spec` with these leaves; ValueError if their number is another.

    >>> unflatten(structure([0, (0,)]), "ab")
    ['a', ('b',)]
    """
    if not isinstance(spec, TreeSpec):
        raise TypeError(f"unflatten: the first argument is a structure (of fl.tree.structure), the second its leaves; got {describe(spec)}")
    return spec.unflatten(leaves)


class Path(tuple):
    """Where a leaf stands: a tuple of keys, indices and attribute names, whose `str` is Python's way of getting there.

    >>> [(path, _)] = leaves_with_path({"layers": [7]})
    >>> path == ("layers", 0), str(path)
    (True, "['layers'][0]")
    """

    def __new__(cls, entries: Iterable = (), text: str = ""):
        self = super().__new__(cls, entries)
        self.text = text
        return self

    def __str__(self) -> str:
        return self.text

    def __getnewargs__(self):
        return tuple(self), self.text


def flatten_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[tuple[Path, Any]], TreeSpec]:
    """Like `flatten`, each leaf in a pair with its `Path`.

    >>> [(path, leaf)], spec = flatten_with_path({"w": [7]})
    >>> tuple(path), leaf
    (('w', 0), 7)
    """
    found, spec = flatten(tree, is_leaf)
    paths = [Path([getattr(e, "field", e.entry) for e in accessor], accessor.codify("")) for accessor in spec.accessors()]
    return list(zip(paths, found, strict=True)), spec


def leaves_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[tuple[Path, Any]]:
    """Each leaf in a pair with its `Path`.

    >>> [f"{path}: {leaf}" for path, leaf in leaves_with_path({"w": [7, 8]})]
    ["['w'][0]: 7", "['w'][1]: 8"]
    """
    return flatten_with_path(tree, is_leaf)[0]


# ------------------------------------------------------------------------------------------------------- whole trees


def map(f: Callable, tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """f of each leaf of `tree`, and of what stands there in the other trees; the result has the structure of `tree`.

    The other trees may go deeper than `tree`. Their dicts match by key, in any order. A None in one of them stands for its
    whole subtree (f gets None for each leaf there), so gradients, which have None where nothing could be differentiated, map
    with their parameters in either order. Any other difference raises TreeMismatchError (a ValueError), which names the path.

    >>> map(lambda p, g: p if g is None else p - g, {"w": 3.0, "steps": 7}, {"steps": None, "w": 1.0})
    {'w': 2.0, 'steps': 7}
    """
    found, spec = _C.flatten(tree, is_leaf, False, NAMESPACE)
    if not rest:
        return spec.unflatten(builtins.map(f, found))
    others = [match(spec, other, f"map: tree {i}") for i, other in enumerate(rest, 2)]
    return spec.unflatten(builtins.map(f, found, *others))


def map_with_path(f: Callable, tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Like `map`, with the `Path` of the leaf as f's first argument.

    >>> map_with_path(lambda path, x: f"{path} = {x}", {"w": [7]})
    {'w': ["['w'][0] = 7"]}
    """
    found, spec = flatten_with_path(tree, is_leaf)
    others = [match(spec, other, f"map_with_path: tree {i}") for i, other in enumerate(rest, 2)]
    return spec.unflatten([f(path, leaf, *more) for (path, leaf), *more in zip(found, *others, strict=True)])


_MISSING = object()


def reduce(f: Callable, tree: Any, initial: Any = _MISSING, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """f(f(f(initial, leaf 0), leaf 1), ...); without `initial` it begins with the first leaf.

    >>> reduce(lambda total, x: total + x, {"a": 1, "b": [2, 3]})
    6
    """
    found = leaves(tree, is_leaf)
    return _reduce(f, found) if initial is _MISSING else _reduce(f, found, initial)


def all(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether every leaf is true.

    >>> all({"a": True, "b": [1, 0]})
    False
    """
    return builtins.all(leaves(tree, is_leaf))


def transpose(outer: TreeSpec, inner: TreeSpec, tree: Any) -> Any:
    """Turns a tree of structure `outer` whose leaves are trees of structure `inner` inside out.

    >>> transpose(structure([0, 0]), structure({"a": 0}), [{"a": 1}, {"a": 2}])
    {'a': [1, 2]}
    """
    rows = [match(inner, sub, "transpose: an inner tree", exact=True) for sub in match(outer, tree, "transpose: the outer tree")]
    columns = zip(*rows, strict=True) if rows else [()] * inner.num_leaves
    return inner.unflatten([outer.unflatten(column) for column in columns])


def all_equal(tree: Any, *rest: Any, equal_nan: bool = False) -> bool:
    """Whether the trees have one structure and equal leaves: arrays in shape, dtype and values, others in type and value.

    Dicts with equal keys in another order are equal.

    >>> all_equal({"a": np.arange(3)}, {"a": np.arange(3)}), all_equal([1], [1.0]), all_equal([1], (1,))
    (True, False, False)
    """
    found, spec = flatten(tree)
    for other in rest:
        try:
            others = match(spec, other, exact=True)
        except TreeMismatchError:
            return False
        if not builtins.all(_equal(a, b, equal_nan) for a, b in zip(found, others, strict=True)):
            return False
    return True


def _equal(a, b, equal_nan: bool) -> bool:
    if builtins.all(hasattr(x, name) for x in (a, b) for name in ("shape", "dtype")):
        return a.shape == b.shape and a.dtype == b.dtype and np.array_equal(np.asarray(a), np.asarray(b), equal_nan=equal_nan)
    if type(a) is not type(b):
        return False
    return np.array_equal(a, b, equal_nan=equal_nan) if isinstance(a, (float, complex)) else bool(a == b)


def broadcast_prefix(prefix: Any, tree: Any, what: str = "tree") -> list:
    """For each leaf of `tree`, in its order, the leaf of `prefix` that stands there or above; None is a leaf of the prefix.

    >>> broadcast_prefix((0, None), ({"a": "x", "b": "y"}, "z"))
    [0, 0, None]
    """
    found, spec = _C.flatten(prefix, None, True, NAMESPACE)
    subtrees = match(spec, tree, what)
    if spec.type is None or (spec.type in (tuple, list) and spec.is_one_level()):  # most are: one dim, or one an argument
        return [leaf for leaf, subtree in zip(found, subtrees) for _ in leaves(subtree)]
    whole = structure(tree)
    out = [None] * whole.num_leaves
    places = whole.unflatten(range(len(out)))  # the order of dicts is that of `tree`, whatever it is in `prefix`
    for leaf, subtree in zip(found, match(spec, places, what)):
        for i in leaves(subtree):
            out[i] = leaf
    return out


# ----------------------------------------------------------------------------------------------------------- matching


def match(spec: TreeSpec, tree: Any, what: str = "tree", exact: bool = False) -> list:
    """What stands in `tree` where `spec` has leaves, in the order of `spec`; dicts match by key.

    A None in `tree` stands for its whole subtree, and where `spec` has None, `tree` may have anything. With `exact` neither
    holds, and what stands there must be leaves. `what` names the tree in errors.

    >>> match(structure({"a": 0, "b": 0}), {"b": 1, "a": 2})
    [2, 1]
    """
    try:
        found = spec.flatten_up_to(tree)
    except ValueError:
        pass  # the walk either takes what optree does not, or says where the difference is
    else:
        if not exact or builtins.all(_C.is_leaf(x, None, False, NAMESPACE) for x in found):
            return found
    found = []
    _match(spec, tree, what, "", exact, found)
    return found


def _match(spec: TreeSpec, tree, what: str, path: str, exact: bool, found: list) -> None:
    kind = spec.type
    if kind is None and (not exact or _C.is_leaf(tree, None, False, NAMESPACE)):
        found.append(tree)
    elif kind is _NONE and (not exact or tree is None):
        pass
    elif tree is None and not exact:
        found.extend([None] * spec.num_leaves)
    else:
        children = None if kind in (None, _NONE) else _children(spec, tree)
        if children is None:
            raise TreeMismatchError(f"{what} at {path or 'its root'}: expected {_expected(spec)}, got {_got(spec, tree)}")
        for i, (child, accessor) in enumerate(zip(children, spec.one_level().accessors(), strict=True)):
            _match(spec.child(i), child, what, path + accessor.codify(""), exact, found)


def _children(spec: TreeSpec, tree) -> list | None:
    """The children of `tree` in the order of spec's, or None if the topmost node is another."""
    try:
        return spec.one_level().flatten_up_to(tree)
    except ValueError:
        return None


def _expected(spec: TreeSpec) -> str:
    """The topmost node of a structure, in words."""
    kind = spec.type
    if kind is None:
        return "a leaf"
    if kind is _NONE:
        return "None"
    if kind in _DICTS:
        return f"{kind.__name__} with keys {list(spec.entries())}"
    return f"{kind.__name__} of length {spec.num_children}" if kind in (tuple, list, collections.deque) else kind.__name__


def describe(tree: Any) -> str:
    """The topmost node of a tree, or the leaf, in words: "dict with keys ['w']", "tuple of length 2", "Array float32[3]"."""
    if _C.is_leaf(tree, None, False, NAMESPACE):
        return " ".join(filter(None, (type(tree).__name__, array_type(tree))))
    return _expected(structure(tree, lambda x: x is not tree))


def _got(spec: TreeSpec, tree) -> str:
    if type(tree) is not spec.type:
        return describe(tree)
    static = optree.tree_flatten_one_level(tree, namespace=NAMESPACE)[1]
    if isinstance(static, Statics):
        like = spec.one_level().unflatten([None] * spec.num_children)
        return f"one with other static fields: expected {optree.tree_flatten_one_level(like, namespace=NAMESPACE)[1].difference(static)}"
    return describe(tree) if spec.type in (*_DICTS, tuple, list) else f"one with other static data: {static!r}"


# ------------------------------------------------------------------------------------------------------- registration


class _Entry(optree.GetAttrEntry):
    """A step of a path into a registered class: an attribute where its name says so, else an index."""

    def codify(self, node: str = "") -> str:
        is_name = isinstance(self.entry, str) and self.entry.isidentifier()
        return f"{node}.{self.entry}" if is_name else f"{node}[{self.entry!r}]"


def register(cls: type, flatten: Callable | None = None, unflatten: Callable | None = None, *, static: Iterable[str] = ()) -> type:
    """Makes a class a pytree node. Returns the class, so that it can be used as a decorator.

    A dataclass or attrs class needs no more than its name; fields in `static`, or whose metadata has ``"static": True``,
    belong to the structure instead of the leaves. Another class gives flatten(object) -> (children, static) or
    (children, static, names of the children), and unflatten(static, children) -> object. Neither runs ``__init__`` on
    its own account: leaves may be traced values, None, or anything else.

    >>> @register
    ... @dataclasses.dataclass
    ... class Point:
    ...     x: float
    ...     y: float
    >>> map(lambda v: v + 1, Point(1.0, 2.0))
    Point(x=2.0, y=3.0)
    """
    if not isinstance(cls, type):
        raise TypeError(f"register: expected a class, got {cls!r}")
    if (flatten is None) != (unflatten is None):
        raise TypeError(f"register({cls.__name__}): flatten and unflatten are given together or not at all")
    if flatten is None:
        static = tuple(static)
        if dataclasses.is_dataclass(cls):
            fields = dataclasses.fields(cls)
        elif hasattr(cls, "__attrs_attrs__"):
            fields = cls.__attrs_attrs__
        else:
            raise TypeError(f"register({cls.__name__}): neither a dataclass nor an attrs class; say how: register(cls, flatten, unflatten)")
        names = [f.name for f in fields]
        if unknown := [n for n in static if n not in names]:
            raise ValueError(f"register({cls.__name__}): static names {unknown} are no fields; the fields are {names}")
        static = tuple(f.name for f in fields if f.name in static or f.metadata.get("static"))
        flatten, unflatten = field_functions(cls, tuple(n for n in names if n not in static), static)
    elif static:
        raise TypeError(f"register({cls.__name__}): with flatten and unflatten, what is static is what flatten returns second")
    optree.register_pytree_node(cls, flatten, unflatten, path_entry_type=_Entry, namespace=NAMESPACE)
    return cls


def field_functions(cls: type, dynamic: tuple[str, ...], static: tuple[str, ...], cache: str | None = None) -> tuple[Callable, Callable]:
    """flatten and unflatten of a class that is the sum of its fields, written out: they run at each call of a transform.

    `cache` names the entry of an immutable object's ``__dict__`` that may keep its Statics.
    """
    space = {"cls": cls, "new": object.__new__, "put": object.__setattr__, "Statics": Statics, "dynamic": dynamic, "static": static}
    children = "".join(f"o.{n}, " for n in dynamic)
    statics = f"Statics(static, ({''.join(f'o.{n}, ' for n in static)}))" if static else "None"
    if cache is None or not static:
        source = f"def flatten(o):\n return ({children}), {statics}, dynamic\n"
    else:
        source = f"""def flatten(o):
 kept = o.__dict__.get({cache!r})
 if kept is None: kept = o.__dict__[{cache!r}] = {statics}
 return ({children}), kept, dynamic
"""
    variables = "".join(f"c{i}, " for i in range(len(dynamic)))
    lines = ["def unflatten(s, children):", " o = new(cls)", f" ({variables}) = children"]
    if cache is None:
        lines += [f" put(o, {n!r}, c{i})" for i, n in enumerate(dynamic)]
        lines += [f" put(o, {n!r}, s.values[{i}])" for i, n in enumerate(static)]
    else:
        lines += [" d = o.__dict__", *[f" d[{n!r}] = c{i}" for i, n in enumerate(dynamic)]]
        lines += [f" d[{n!r}] = s.values[{i}]" for i, n in enumerate(static)] + ([f" d[{cache!r}] = s"] if static else [])
    exec(compile(source + "\n".join([*lines, " return o"]), f"<functorch_lite pytree {cls.__qualname__}>", "exec"), space)
    return space["flatten"], space["unflatten"]

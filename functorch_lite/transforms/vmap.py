"""Batching: the Vmap interpreter."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps

from ..core import pytree
from ..core.array import asarray
from ..core.aval import Aval
from ..core.face import like, read
from ..core.interpreter import STATE, Interpreter, Traced, ground, leak_error, live, user_line
from ..prims import algebra, shape
from .arguments import (
    Written,
    argument_name,
    callable_or_raise,
    chunk_size_or_raise,
    done,
    given_back,
    is_array,
    label_of,
    settled,
    value_of,
)

_UNSET = object()


class Vmap(Interpreter):
    """Values are rows of a batch: `value` has a batch dimension at `extra`."""

    __slots__ = ("size", "randomness")

    def __init__(self, parent: Interpreter, size: int, label: str, randomness: str = "error"):
        super().__init__(parent, label)
        self.size, self.randomness = size, randomness

    def bind(self, op, args, params):
        values, dims, touched = [], [], False
        for x in args:
            if x.__class__ is Traced and x.owner is self:
                values.append(x.value)
                dims.append(x.extra)
                touched = True
            else:
                values.append(x)
                dims.append(None)
        before, line = STATE.current, STATE.line
        if line is None:
            STATE.line = user_line()
        try:
            STATE.current = self.parent
            if self.randomness == "different":
                drawn, params = self._draws(op, values, dims, params)
                touched = touched or drawn
            if not touched:
                return self.parent.bind(op, tuple(values), params)
            if op.batch is None:
                if op.decompose is None:
                    op.rule("batch")
                STATE.current = self
                return op.run(args, params)
            out, dim = op.batch(self.size, values, dims, *params)
            if out.__class__ is tuple or out.__class__ is list:
                return tuple([x if d is None else self.row(x, d) for x, d in zip(out, dim)])
            return out if dim is None else self.row(out, dim)
        finally:
            STATE.current, STATE.line = before, line

    def _draws(self, op, values, dims, params):
        """With randomness='different': splits the key of a draw; (whether the op may draw at all, its params, bodies told so)."""
        if op.draws is not None and dims[op.draws] is None:
            values[op.draws], dims[op.draws] = op.traits["split"](values[op.draws], self.size), 0
        told = tuple([_drawing(p) for p in params])
        inside = op.decompose is not None or any(a is not b for a, b in zip(told, params))
        return op.draws is not None or inside, told

    def row(self, x, dim: int) -> Traced:
        """The value that stands for each row of x along `dim`."""
        return self.trace(algebra.without(x.aval, dim), x, dim)

    def split(self, x):
        """(value, batch dimension or None) of a result of the mapped function."""
        if x.__class__ is Traced:
            if x.owner is self:
                return x.value, x.extra
            if not x.owner.alive:
                raise leak_error(x)
        return x, None


def _drawing(param):
    """A body (or tuple of them) whose draws are different in each row of a batch; anything else as it is."""
    if param.__class__ is tuple:
        told = tuple([_drawing(p) for p in param])
        return told if any(a is not b for a, b in zip(told, param)) else param
    return param.drawing() if hasattr(param, "drawing") else param


def map_flat(f, size: int, args, dims, label: str, randomness: str = "error"):
    """Runs f (flat list in, flat list out) on rows; returns the outputs and their batch dimensions (None: unbatched)."""
    interpreter = Vmap(STATE.current, size, label, randomness)
    with live(interpreter):
        outs = f(*[x if d is None else interpreter.row(x, d) for x, d in zip(args, dims)])
    pairs = [interpreter.split(x) if isinstance(x, algebra.Array) else (x, None) for x in outs]
    return [x for x, _ in pairs], [d for _, d in pairs]


def rows_front(f, size: int, dims, label: str):
    """The function of batched flat arguments (batched at `dims`) that maps f, its outputs all batched at the front (None stays None)."""

    def mapped(*args):
        outs, out_dims = map_flat(f, size, args, dims, label)
        return [None if x is None else algebra.front(size, x, d) for x, d in zip(outs, out_dims)]

    return mapped


def row_aval(a: Aval, dim: int | None) -> Aval:
    return a if dim is None else algebra.without(a, dim)


def vmap(
    f: Callable, in_dims=0, out_dims=0, randomness: str = "error", *, chunk_size: int | None = None, in_axes=_UNSET, out_axes=_UNSET
) -> Callable:
    """The function that maps f over a dimension of its arguments, as one vectorized program.

    ``in_dims`` (or ``in_axes``) says along which dimension: an int for every argument, a tuple with an entry an argument,
    each a pytree prefix of its argument, or a dict that names parameters of f (keyword arguments too). None marks what is
    not mapped; negative dims count from the end. Keyword arguments that no dict names are not mapped. ``out_dims`` says
    where the new dimension goes, as a pytree prefix of the output; None where the output must not depend on the batch.

    ``randomness`` concerns draws whose key is not mapped: 'same' gives every row the same bits, 'different' folds the row's
    number into the key, and 'error' leaves them as they are for explicit keys (which hide nothing) and raises for a
    default generator. ``chunk_size`` bounds how many rows are computed at once.

    Raises ValueError for sizes that differ, an empty batch, an empty in_dims or a dimension out of range.

    >>> import functorch_lite as fl
    >>> fl.vmap(lambda x, y: (x * y).sum())(fl.asarray([[1.0, 2.0], [3.0, 4.0]]), fl.asarray([[1.0, 1.0], [2.0, 2.0]])).tolist()
    [3.0, 14.0]
    """
    callable_or_raise("vmap", f)
    in_dims = in_dims if in_axes is _UNSET else in_axes
    out_dims = out_dims if out_axes is _UNSET else out_axes
    if randomness not in ("error", "different", "same"):
        raise ValueError(f"vmap: randomness must be 'error', 'different' or 'same', got {randomness!r}")
    chunk_size_or_raise("vmap", chunk_size)
    label = label_of("vmap", f)

    @wraps(f)
    def mapped(*args, **kwargs):
        given, spec = pytree.flatten((args, kwargs))
        dims = _in_dims(f, in_dims, args, kwargs)
        leaves, dims, size = _checked(f, given, dims, spec)

        def rows(xs, n):
            return _map_tree(f, label, spec, given, xs, dims, n, out_dims, randomness)

        if chunk_size is None or chunk_size >= size:
            out, changes = rows(leaves, size)
        else:
            out, changes = _in_chunks(rows, leaves, dims, size, chunk_size, out_dims)
        for i, value in changes.items():
            given[i].replace(value)
        return out

    return mapped


def _in_dims(f, in_dims, args, kwargs) -> list:
    """The dimension of each leaf of (args, kwargs)."""
    if isinstance(in_dims, dict):
        try:
            bound = inspect.signature(f).bind(*args, **kwargs)
        except ValueError:
            raise TypeError("vmap: in_dims by name needs a function whose signature can be read; give a tuple") from None
        unknown = [n for n in in_dims if n not in bound.arguments and n not in kwargs]
        if unknown:
            raise ValueError(f"vmap: in_dims names {unknown}, which were not passed; the arguments are {list(bound.arguments)}")
        names = list(bound.arguments)[: len(args)]
        prefix = tuple([in_dims.get(n) for n in names]), {n: in_dims.get(n) for n in kwargs}
        return pytree.broadcast_prefix(prefix, (args, kwargs), "vmap: in_dims")
    if not (in_dims.__class__ is int or isinstance(in_dims, (tuple, list))):
        raise ValueError(f"vmap: in_dims must be an int, a tuple with an entry an argument, or a dict by name, got {in_dims!r}")
    if isinstance(in_dims, (tuple, list)) and len(in_dims) != len(args):
        raise ValueError(f"vmap: in_dims={in_dims} has {len(in_dims)} entries for {len(args)} positional arguments")
    prefix = tuple(in_dims) if isinstance(in_dims, list) else in_dims
    dims = pytree.broadcast_prefix(prefix, args, "vmap: in_dims")
    return dims + [None] * len(pytree.leaves(kwargs))


def _checked(f, leaves, dims, spec):
    """Leaves as Arrays where they are mapped, dims made non-negative, and the one size along them."""

    def name(i: int) -> str:
        path, _ = pytree.leaves_with_path(spec.unflatten(range(len(leaves))))[i]
        inside = str(path)[len(f"[{path[0]}][{path[1]!r}]") :]
        return argument_name(f, path[1]) + (f" at {inside}" if inside else "")

    out, new, sizes = list(leaves), [None] * len(leaves), {}
    for i, (x, d) in enumerate(zip(leaves, dims)):
        if d is None:
            continue
        if d.__class__ is not int:
            raise ValueError(f"vmap: in_dims must hold ints and None, got {d!r} for {name(i)}")
        if not is_array(x):
            raise ValueError(f"vmap: {name(i)} is mapped (in_dims={d}) but is no Array, got {pytree.describe(x)}; give it None in in_dims")
        out[i] = x = read(x)
        if not -x.ndim <= d < x.ndim:
            raise ValueError(
                f"vmap: in_dims={d} is no dimension of {name(i)}, which is {x.aval}; give it None in in_dims if it is not mapped"
            )
        new[i] = d % x.ndim
        sizes[i] = x.shape[d]
        if sizes[i] == 0:
            raise ValueError(
                f"vmap: {name(i)} is {x.aval}, of size 0 along in_dims={d}: expected at least one row. Skip the call where the batch is empty; "
                "fl.eval_shape tells what one row gives"
            )
    if not sizes:
        raise ValueError("vmap: nothing is mapped: at least one argument must have a dimension in in_dims")
    if len(set(sizes.values())) != 1:
        seen = ", ".join(f"{name(i)} has {n}" for i, n in sizes.items())
        raise ValueError(f"vmap: expected one size along in_dims, got {seen}")
    return out, new, next(iter(sizes.values()))


def _map_tree(f, label, spec, given, leaves, dims, size, out_dims, randomness):
    """The output for these rows, and what f wrote to its arguments: {leaf number: new value}."""
    interpreter = Vmap(ground(), size, label, randomness)
    with live(interpreter):
        inside = [x if d is None else like(g, interpreter.row(x, d)) for g, x, d in zip(given, leaves, dims)]
        written = Written(given, inside)
        args, kwargs = spec.unflatten(inside)
        out = pytree.map(settled, f(*args, **kwargs))
        changes = written.found()
    outs, out_spec = pytree.flatten(out)
    wanted = pytree.broadcast_prefix(out_dims, out, "vmap: out_dims")
    done_outs = []
    for x, want in zip(outs, wanted):
        if not is_array(value_of(x)):
            raise ValueError(f"vmap: {label[5:-1]} must return Arrays, got {pytree.describe(x)}")
        value, dim = interpreter.split(asarray(value_of(x)))
        done_outs.append(given_back(x, _placed(value, dim, want, size, label)))
    changes = {i: _placed(*interpreter.split(new), dims[i], size, label) for i, new in changes}
    if interpreter.made is not None:
        del args, kwargs, out, outs, x, inside, written
        done(interpreter)
    return out_spec.unflatten(done_outs), changes


def _placed(value, dim, want, size, label):
    if want is None:
        if dim is not None:
            raise ValueError(
                f"vmap: out_dims=None for an output of {label} that depends on the batch, {algebra.without(value.aval, dim)}; give it a dim"
            )
        return value
    ndim = value.ndim + (dim is None)
    if want.__class__ is not int or not -ndim <= want < ndim:
        raise ValueError(f"vmap: out_dims={want!r} is no dimension of an output with {ndim} dimensions, batch included")
    want %= ndim
    return algebra.expand(value, size, want) if dim is None else algebra.move(value, dim, want)


def _in_chunks(rows, leaves, dims, size, chunk, out_dims):
    """The rows in runs of `chunk`, their outputs joined along out_dims, and what was written to leaves along dims."""
    parts, pieces, changes = [], [], []
    for start in range(0, size, chunk):
        n = min(chunk, size - start)
        given = [x if d is None else shape.part(x, d, start, start + n) for x, d in zip(leaves, dims)]
        out, changed = rows(given, n)
        parts.append(out)
        pieces.append(given)
        changes.append(changed)
    changed = {
        i: shape.concatenate([c.get(i, given[i]) for c, given in zip(changes, pieces)], dims[i]) for i in {i for c in changes for i in c}
    }
    wanted = pytree.broadcast_prefix(out_dims, parts[0], "vmap: out_dims")
    columns = zip(*(pytree.leaves(p) for p in parts))
    joined = [xs[0] if d is None else shape.concatenate(xs, d % xs[0].ndim) for xs, d in zip(columns, wanted)]
    return pytree.structure(parts[0]).unflatten(joined), changed

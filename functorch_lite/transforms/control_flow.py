"""Control flow for users: scan, cond, switch, while_loop, fori_loop, map. Pytrees here, flat bodies in `prims.control`."""

from __future__ import annotations

from collections.abc import Callable

from ..core import pytree
from ..core.array import Array, asarray
from ..core.aval import Aval, aval
from ..core.dtype import BOOL, INTEGER, bool_, int32, int64
from ..core.face import read
from ..core.interpreter import name_of
from ..errors import TreeMismatchError
from ..prims import control, convert
from .arguments import Outputs, callable_or_raise, is_array, leaving
from .body import Body, capture


def _arrays(transform: str, tree, what: str) -> tuple[list[Array], Outputs]:
    """The leaves of a tree as Arrays, and its structure."""
    for path, x in pytree.leaves_with_path(tree):
        if not is_array(x):
            raise TypeError(f"{transform}: {what}{path} must be an Array or a number, got {pytree.describe(x)}")
    return [read(x) for x in pytree.leaves(tree)], Outputs.of(tree)


def _body(f, specs, avals, label: str) -> tuple[Body, list, Outputs]:
    """A body of f(*trees), what it captured (its first inputs), and the structure of its output."""
    found: list = []

    def flat(*xs):
        trees, at = [], 0
        for spec in specs:
            trees.append(spec.unflatten(xs[at : at + spec.num_leaves]))
            at += spec.num_leaves
        outs, out_spec = _arrays(label, f(*trees), f"the output of {name_of(f)}")
        found[:] = [out_spec]
        return [leaving(x) for x in outs]

    body, captured = capture(flat, avals, label)
    return body, captured, found[0]


def _same_carry(transform: str, spec, avals, new_spec, new_avals, f) -> None:
    spec, new_spec = spec.spec, new_spec.spec
    if new_spec != spec:
        like, got = spec.unflatten([0] * spec.num_leaves), new_spec.unflatten([0] * new_spec.num_leaves)
        pytree.match(spec, got, f"{transform}: the carry that {name_of(f)} returns", exact=True)
        raise TreeMismatchError(f"{transform}: the carry that {name_of(f)} returns must be like the initial one, {like!r}, got {got!r}")
    paths = [p for p, _ in pytree.leaves_with_path(spec.unflatten(range(spec.num_leaves)))]
    for path, a, b in zip(paths, avals, new_avals):
        if a.shape != b.shape or a.dtype is not b.dtype:
            raise TypeError(
                f"{transform}: the carry must keep its shape and dtype: carry{path} goes in as {a} and comes out of {name_of(f)} as {b}; "
                "convert it with .to(dtype), inside or before the loop"
            )


def scan(f: Callable, init, xs=None, length: int | None = None, reverse: bool = False):
    """Threads a carry through the rows of xs: ``carry, y = f(carry, x)``; gives ``(last carry, stacked ys)``.

    `init` and `xs` are pytrees; xs is mapped over its leading dimension (None: f gets None, `length` times). The carry keeps
    its structure, shapes and dtypes. One XLA loop; differentiable in forward and reverse mode.

    >>> import functorch_lite as fl
    >>> last, sums = fl.scan(lambda c, x: (c + x, c + x), 0.0, fl.asarray([1.0, 2.0, 3.0]))
    >>> last.item(), sums.tolist()
    (6.0, [1.0, 3.0, 6.0])
    """
    callable_or_raise("scan", f)
    carry, carry_spec = _arrays("scan", init, "init")
    rows, xs_spec = _arrays("scan", xs, "xs")
    for path, x in pytree.leaves_with_path(xs_spec.spec.unflatten(rows)):
        if x.ndim == 0:
            raise ValueError(f"scan: xs{path} has no leading dimension to scan over, got {x.aval}")
    sizes = {x.shape[0] for x in rows} | ({length} if length is not None else set())
    if len(sizes) != 1:
        raise ValueError(f"scan: expected one length, got {sorted(sizes) or 'neither xs nor length'}")
    (length,) = sizes
    avals = (*[x.aval for x in carry], *[aval(x.shape[1:], x.dtype) for x in rows])

    def step(c, x):
        out = f(c, x)
        if not (isinstance(out, tuple) and len(out) == 2):
            raise TypeError(f"scan: {name_of(f)} must return (carry, y), got {pytree.describe(out)}")
        return tuple(out)

    body, captured, out_spec = _body(step, (carry_spec, xs_spec), avals, f"scan({name_of(f)})")
    pair = out_spec.children()
    _same_carry("scan", carry_spec, [x.aval for x in carry], pair[0], body.outs[: pair[0].num_leaves], f)
    out = control.scan([*captured, *carry, *rows], body, len(captured), len(carry), length, bool(reverse))
    return pair[0].unflatten(out[: len(carry)]), pair[1].unflatten(out[len(carry) :])


def map(f: Callable, xs, *rest):
    """f of each row of xs, one after another, the results stacked: `vmap` without its memory.

    >>> import functorch_lite as fl
    >>> fl.map(lambda x: x * x, fl.asarray([1.0, 2.0])).tolist()
    [1.0, 4.0]
    """
    callable_or_raise("map", f)
    return scan(lambda _, x: (None, f(*x)), None, (xs, *rest))[1]


def _common(transform: str, fs, operands) -> tuple[tuple[Body, ...], list, list[Outputs]]:
    """Bodies of several functions of the same operands, with one list of captures in front, and their output structures."""
    leaves, spec = _arrays(transform, tuple(operands), "operands")
    avals = tuple([x.aval for x in leaves])
    parts = [_body(f, spec.children(), avals, f"{transform}({name_of(f)})") for f in fs]
    union = {id(x): x for _, captured, _ in parts for x in captured}
    place = {key: i for i, key in enumerate(union)}
    ins = (*[x.aval for x in union.values()], *avals)
    bodies = []
    for body, captured, _ in parts:
        where = tuple([place[id(x)] for x in captured]) + tuple(range(len(union), len(ins)))
        same = where == tuple(range(len(ins)))
        bodies.append(body if same else body.trace(lambda *xs, b=body, w=where: b(*[xs[i] for i in w]), ins, name=("captures", where)))
    return tuple(bodies), [*union.values(), *leaves], [s for _, _, s in parts]


def switch(index, branches, *operands):
    """``branches[index](*operands)``, chosen when the program runs; an index outside the range takes the nearest branch.

    The branches return one structure with equal shapes and dtypes. Under `vmap` with an index a row all branches run and
    each row keeps its own; a branch never sees the operands of rows that do not take it, if any row takes it.

    >>> import functorch_lite as fl
    >>> fl.switch(1, [lambda x: x, lambda x: -x], 3.0).item()
    -3.0
    """
    branches = list(branches)
    if not branches:
        raise ValueError("switch: expected at least one branch")
    for f in branches:
        callable_or_raise("switch", f)
    which = read(index)
    if which.shape != () or which.dtype.category != INTEGER:
        raise TypeError(f"switch: index must be an integer scalar, got {which.aval}; under vmap, map it")
    return _choose("switch", which, branches, operands)


def _choose(transform, which, branches, operands):
    bodies, inputs, specs = _common(transform, branches, operands)
    for f, body, spec in zip(branches[1:], bodies[1:], specs[1:]):
        if spec.spec != specs[0].spec:
            got = spec.spec.unflatten([0] * spec.num_leaves)
            pytree.match(specs[0].spec, got, f"{transform}: the output of {name_of(f)}", exact=True)
        if body.outs != bodies[0].outs:
            raise TypeError(
                f"{transform}: the branches must return equal shapes and dtypes, {name_of(branches[0])} returns {list(bodies[0].outs)} and "
                f"{name_of(f)} {list(body.outs)}; convert with .to(dtype)"
            )
    out = control.switch(which if which.dtype is int32 else convert.convert(which, int32), inputs, bodies)
    return specs[0].unflatten(out)


def cond(pred, true_fn: Callable, false_fn: Callable, *operands):
    """``true_fn(*operands)`` if pred holds, else ``false_fn(*operands)``, chosen when the program runs. See `switch`.

    >>> import functorch_lite as fl
    >>> fl.vmap(lambda x: fl.cond(x > 0, lambda x: x, lambda x: -x, x))(fl.asarray([2.0, -3.0])).tolist()
    [2.0, 3.0]
    """
    callable_or_raise("cond", true_fn)
    callable_or_raise("cond", false_fn)
    if pred.__class__ is bool:
        return (true_fn if pred else false_fn)(*operands)
    pred = read(pred)
    if pred.shape != () or pred.dtype.category != BOOL:
        raise TypeError(f"cond: pred must be a bool scalar, got {pred.aval}; compare it with something, or reduce it with .any() or .all()")
    return _choose("cond", convert.convert(pred, int32), [false_fn, true_fn], operands)


def while_loop(cond_fn: Callable, body_fn: Callable, init):
    """Repeats ``carry = body_fn(carry)`` while ``cond_fn(carry)``; the carry is any pytree and keeps its shapes and dtypes.

    Differentiable in forward mode only: the number of iterations is not known beforehand. Under `vmap` it runs until every
    row is done; a row that is done keeps its values.

    >>> import functorch_lite as fl
    >>> fl.while_loop(lambda n: n < 100, lambda n: n * 2, 3).item()
    192
    """
    callable_or_raise("while_loop", cond_fn)
    callable_or_raise("while_loop", body_fn)
    carry, spec = _arrays("while_loop", init, "init")
    avals = tuple([x.aval for x in carry])
    test, test_captured, _ = _body(cond_fn, (spec,), avals, f"while_loop({name_of(cond_fn)})")
    if len(test.outs) != 1 or test.outs[0] is not aval((), bool_):
        raise TypeError(f"while_loop: {name_of(cond_fn)} must return one bool scalar, got {list(test.outs)}; reduce with .any() or .all()")
    body, captured, out_spec = _body(body_fn, (spec,), avals, f"while_loop({name_of(body_fn)})")
    _same_carry("while_loop", spec, avals, out_spec, body.outs, body_fn)
    out = control.while_loop([*test_captured, *captured, *carry], test, body, len(test_captured), len(captured))
    return out_spec.unflatten(out)


def fori_loop(lower, upper, body_fn: Callable, init):
    """``for i in range(lower, upper): carry = body_fn(i, carry)`` as one loop; gives the last carry.

    Static bounds (Python ints) make a `scan`, which reverse mode differentiates; traced ones a `while_loop`.

    >>> import functorch_lite as fl
    >>> fl.fori_loop(0, 5, lambda i, s: s + i, 0).item()
    10
    """
    callable_or_raise("fori_loop", body_fn)
    if lower.__class__ is int and upper.__class__ is int:
        steps = max(upper - lower, 0)

        def step(carry, _):
            i, value = carry
            return (i + 1, body_fn(i, value)), None

        start = asarray(lower, int64), init
        (_, out), _ = scan(step, start, None, length=steps)
        return out
    lower, upper = asarray(lower, int64), asarray(upper, int64)
    _, _, out = while_loop(lambda c: c[0] < c[1], lambda c: (c[0] + 1, c[1], body_fn(c[0], c[2])), (lower, upper, init))
    return out


__all__ = ["Aval", "cond", "fori_loop", "map", "scan", "switch", "while_loop"]

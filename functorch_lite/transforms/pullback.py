"""The pullback of one op call: from cotangents of its results to those of its arguments, by the op's rules.

At the bottom of the stack it is one op itself: the program of the rules is derived once for each kind of call and found again, so
that a backward pass costs an op for an op. What the program needs of the forward pass it computes anew; in one executable with the
forward pass XLA merges the two.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from ..core.aval import Aval, aval_of
from ..core.interpreter import STATE, body, live
from ..core.op import static_key
from ..prims import algebra
from ..prims.control import call
from .body import intern
from .linearize import Linearize, Tape
from .trace import stage

_LIMIT = 1 << 13
_PROGRAMS: OrderedDict[tuple, Pullback] = OrderedDict()
_FULL: dict[tuple, Pullback] = {}
_LOCK = threading.Lock()


def pull(op, params, primals, ans, cts, which) -> list:
    """The cotangents of the arguments that `which` marks (else, and where zero, None).

    primals: the arguments, ans: the tuple of results; an aval stands for what was not kept (see `Pullback.drops`).
    """
    if body(STATE.current).parent is None and op.linearize is None and not op.inline:
        return as_one(op, params, (*primals, *ans), cts, tuple(which))
    return by_rules(op, params, primals, ans, cts, which)


def by_rules(op, params, primals, ans, cts, which, apply=None, nonzero=None) -> list:
    """The same, rule by rule, at the current interpreter. ``apply`` is what the op's `linearize` gave, if it was asked."""
    level = STATE.current
    if op.vjp is not None and op.linearize is None:
        return list(op.vjp(list(which), tuple(cts) if op.multi else cts[0], ans if op.multi else ans[0], *primals, *params))
    tape = Tape(level, op.name)
    tangents = [tape.variable(x.aval) if w else None for x, w in zip(primals, which)]
    if op.linearize is not None:
        nonzero = which if nonzero is None else nonzero
        if apply is None:
            _, apply = op.linearize(tuple(primals), tuple(nonzero), *params)
        STATE.current = tape
        outs = apply(tuple([algebra.zeros(x.aval) if t is None and n else t for t, n, x in zip(tangents, nonzero, primals)]))
    elif op.push is not None:
        _, outs = op.push(list(primals), tangents, *params)
    elif op.jvp is not None:
        STATE.current = tape
        outs = op.jvp(ans if op.multi else ans[0], list(primals), tangents, *params)
    else:
        if op.decompose is None:
            op.rule("jvp")
        outs = _pushed(op, params, primals, tangents, tape)
    STATE.current = level
    outs = outs if outs.__class__ is tuple or outs.__class__ is list else (outs,)
    pairs = [(t, c) for t, c in zip(outs, cts) if t is not None and c is not None]
    given = iter(tape.pull([t for t, _ in pairs], [c for _, c in pairs], [t for t in tangents if t is not None]))
    return [next(given) if w else None for w in which]


class Pullback:
    """What the pullback of one kind of call is: a program, and what it takes and gives.

    ``which`` says of each argument whether its cotangent is wanted, ``reads`` which of the arguments and then the results the program
    looks at, and ``results`` which of the program's results is the cotangent of each argument. Of `drops` a node keeps the aval only.
    """

    __slots__ = ("program", "which", "reads", "drops", "results", "nothing", "light")

    def __init__(self, program, which: tuple[bool, ...], keeps: tuple[bool, ...], results: tuple, numbers: list[bool]):
        self.program, self.which, self.results = program, which, results
        self.reads = [i for i, k in enumerate(keeps) if k]
        self.drops = [i for i, (k, n) in enumerate(zip(keeps, numbers)) if not (k or n)]  # what is no array is held as it is
        self.nothing = (None,) * (len(keeps) - len(which))  # a cotangent for each result: none so far
        self.light = not any(keeps)


def as_one(op, params, values, cts, which, found: Pullback | None = None) -> list:
    """The same as one call of a program; `values` are the arguments and then the results, ``found`` is what `full` gave, if this is that
    case."""
    if found is None:
        n = len(which)
        found = find(op, params, values[:n], values[n:], tuple([c is not None for c in cts]), which)
    if found.program is None:
        return [None] * len(found.results)
    operands = [values[i] for i in found.reads]
    operands.extend([c for c in cts if c is not None])
    outs = STATE.current.bind(call.op, tuple(operands), (found.program, op.name, (), False))
    return [None if i is None else outs[i] for i in found.results]


def full(op, params, primals, ans, which) -> Pullback:
    """The pullback for cotangents of all results."""
    key = (op, static_key(params) if params and op.keyed else params, which, *map(aval_of, primals))
    found = _FULL.get(key)
    if found is None:
        if len(_FULL) >= _LIMIT:
            _FULL.clear()
        found = _FULL[key] = find(op, params, primals, ans, (True,) * len(ans), which)
    return found


def find(op, params, primals, ans, given, which) -> Pullback:
    """The pullback of a call for the cotangents that are `given`, to the arguments that `which` marks. What was not kept is its aval."""
    kinds = tuple([x if x.__class__ is Aval else aval_of(x) for x in primals])
    outs = tuple([x if x.__class__ is Aval else x.aval for x in ans])
    key = (op, static_key(params) if op.keyed and params else params, kinds, outs, which, given)
    return _PROGRAMS.get(key) or _remember(key, params)


def _remember(key, params):
    """Derives it."""
    op, _, kinds, outs, which, given = key
    ins = [*[k for k in kinds if k is not None], *outs, *[a for a, g in zip(outs, given) if g]]
    results: list = []

    def run(*xs):
        supply = iter(xs)
        primals = [None if k is None else next(supply) for k in kinds]
        ans = tuple([next(supply) for _ in outs])
        cts = [next(supply) if g else None for g in given]
        found = by_rules(op, params, primals, ans, cts, which)
        there = [c for c in found if c is not None]
        results[:] = [None if c is None else next(i for i, t in enumerate(there) if t is c) for c in found]
        return there

    graph, captures, out_avals = stage(run, ins, op.name)
    if captures:
        raise AssertionError(f"{op.name}: its derivative captured {[x.aval for x in captures]}; rules must not close over arrays")
    graph.eliminate_dead_code()
    uses, used, keeps = graph.uses(), [], []
    placeholders = graph.placeholders
    for k in (*kinds, *outs):
        keeps.append(k is not None and bool(uses[placeholders[len(used)]]))
        if k is not None:
            used.append(keeps[-1])
    used += [True] * (len(ins) - len(used))
    for node, use in zip(placeholders, used):
        if not use:
            graph.erase_node(node)
    program = intern(graph, tuple([a for a, use in zip(ins, used) if use]), out_avals, op.name) if out_avals else None
    numbers = [k is None or k.weak for k in (*kinds, *outs)]
    with _LOCK:
        if len(_PROGRAMS) >= _LIMIT:
            _PROGRAMS.popitem(last=False)
        return _PROGRAMS.setdefault(key, Pullback(program, which, tuple(keeps), tuple(results), numbers))


class _Rules(Linearize):
    """Pushes tangents that are variables of a tape through a composite's decomposition."""

    __slots__ = ()

    def __init__(self, parent, tape):
        super().__init__(parent, tape.label)
        self.tape = self.linear = tape


def _pushed(op, params, primals, tangents, tape) -> list:
    interpreter = _Rules(STATE.current, tape)
    args = [x if t is None else interpreter.trace(x.aval, x, t) for x, t in zip(primals, tangents)]
    with live(interpreter):
        out = op.run(args, params)
    return [interpreter.split(x)[1] for x in (out if op.multi else (out,))]

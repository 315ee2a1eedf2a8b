"""Reverse mode: Linearize is Jvp over a Tape. What the JVP rules do to tangents is recorded, then transposed."""

from __future__ import annotations

import heapq
import itertools

import attrs

from ..core.aval import Aval, aval
from ..core.interpreter import STATE, Interpreter, Traced, live
from ..core.op import Linear
from ..prims import algebra
from ..prims.control import linear_call
from .jvp import Jvp
from .vmap import rows_front

_NUMBERS = itertools.count()


class Equation:
    """A recorded linear op. ``number`` rises in order of creation, which is a topological order."""

    __slots__ = ("number", "op", "args", "params", "outs")

    def __init__(self, op, args, params, outs):
        self.number, self.op, self.args, self.params, self.outs = next(_NUMBERS), op, args, params, outs


class Tape(Interpreter):
    """Records ops that touch a tangent; all others go on to the parent.

    It is no list: a variable (`value` is its equation, `extra` which output of it) holds its equation, an equation its
    arguments. What no output reaches is freed at once by reference count.
    """

    __slots__ = ()

    def variable(self, aval: Aval) -> Traced:
        """An input of the recorded linear function."""
        return Traced(self, aval, None)

    def bind(self, op, args, params):
        for x in args:
            if x.__class__ is Traced and x.owner is self:
                break
        else:
            before, STATE.current = STATE.current, self.parent
            try:
                return self.parent.bind(op, args, params)
            finally:
                STATE.current = before
        if op.transpose is None:
            if op.decompose is None:
                op.rule("transpose")
            return op.run(args, params)
        out = op.infer(args, params)
        if op.multi:
            equation = Equation(op, args, params, out)
            return tuple([Traced(self, a, equation, i) for i, a in enumerate(out)])
        return Traced(self, out, Equation(op, args, params, None))

    def pull(self, outs, cotangents, ins) -> list:
        """Transposes what `outs` reach: their cotangents to those of `ins` (None: zero). Runs at the current interpreter."""
        wanted = set(map(id, ins))
        found = self._reaching(outs, ins)
        ct: dict[int, object] = {}  # of variables, by id; the heap's equations keep them alive
        pending: dict[int, Equation] = {}
        heap: list = []

        def give(variable, cotangent):
            if cotangent is None or variable is None:
                return
            key = id(variable) if variable.value is None else (id(variable.value), variable.extra)
            ct[key] = algebra.add(ct[key], cotangent) if key in ct else cotangent
            equation = variable.value
            if equation is not None and equation.number not in pending:
                pending[equation.number] = equation
                heapq.heappush(heap, -equation.number)

        for variable, cotangent in zip(outs, cotangents):
            give(variable, cotangent)
        while heap:
            e = pending[-heapq.heappop(heap)]
            if e.outs is None:
                cotangent = ct.pop((id(e), None))
            else:
                cotangent = tuple([ct.pop((id(e), i), None) for i in range(len(e.outs))])
            known = [Linear(x.aval, id(x) in found) if x.__class__ is Traced and x.owner is self else x for x in e.args]
            given = e.op.transpose(cotangent, *known, *e.params)
            for x, linear, c in zip(e.args, known, given):
                if linear.__class__ is Linear and linear.wanted:
                    give(x, c)
        return [ct.get(id(v)) for v in ins]

    def _reaching(self, outs, ins) -> set[int]:
        """Ids of the variables through which some wanted input is reached: the others' cotangents are not computed."""
        wanted = set(map(id, ins))
        order, stack, seen = [], [v for v in outs if v is not None], set()
        while stack:  # every variable that the outputs reach
            v = stack.pop()
            if id(v) in seen:
                continue
            seen.add(id(v))
            order.append(v)
            if v.value is not None:
                stack.extend([x for x in v.value.args if x.__class__ is Traced and x.owner is self])
        order.sort(key=lambda v: -1 if v.value is None else v.value.number)
        reaching = set()
        for v in order:
            if id(v) in wanted or v.value is not None and any(id(x) in reaching for x in v.value.args):
                reaching.add(id(v))
        return reaching


@attrs.frozen(eq=False)
class LinearRule:
    """A linear function with a transpose of its own, as the parameter of one `linear_call` on a tape.

    ``forward(residuals, tangents) -> tangents out`` and ``backward(residuals, cotangents, wanted) -> cotangents``; all
    lists, None for zero. ``outs`` are the avals of the results.
    """

    forward: object
    backward: object
    outs: tuple

    def batch(self, size: int, dims: tuple) -> LinearRule:
        """The rule on rows: residuals batched at `dims`, tangents and results all at the front."""

        def mapped(rule):
            def rows(residuals, linears, *wanted):
                flags = [x is not None for x in linears]

                def row(*xs):
                    given = iter(xs[len(residuals) :])
                    return rule(xs[: len(residuals)], [next(given) if f else None for f in flags], *wanted)

                run = rows_front(row, size, (*dims, *(0,) * sum(flags)), "linear_call")
                return run(*residuals, *[x for x in linears if x is not None])

            return rows

        return LinearRule(mapped(self.forward), mapped(self.backward), tuple([aval((size, *a.shape), a.dtype) for a in self.outs]))


class Linearize(Jvp):
    """Jvp whose rules run on a tape: ops on primals go on to the parent, ops that touch a tangent are recorded."""

    __slots__ = ("tape",)

    def __init__(self, parent: Interpreter, label: str):
        self.tape = Tape(parent, label)
        super().__init__(parent, label, self.tape)

    def derive(self, op, args, primals, tangents, params):
        if op.linearize is not None or op.vjp is not None:
            linearize = op.linearize or _linearize_by_vjp(op)
            STATE.current = self.parent
            ans, apply = linearize(primals, tuple([t is not None for t in tangents]), *params)
            STATE.current = self.tape
            return self.pair(ans, apply(tangents))
        return super().derive(op, args, primals, tangents, params)

    def start(self, primal):
        """A fresh input at `primal`: the value for the function and the variable of its tangent."""
        variable = self.tape.variable(primal.aval)
        return self.trace(primal.aval, primal, variable), variable


def _linearize_by_vjp(op):
    """The `linearize` of a composite that brings its own reverse rule: its linear op is differentiated forward by the
    decomposition and transposed by the rule."""

    def linearize(primals, nonzero, *params):
        ans = STATE.current.bind(op, tuple(primals), params)
        anses = ans if op.multi else (ans,)
        which = [i for i, n in enumerate(nonzero) if n]
        arrays = [i for i, x in enumerate(primals) if hasattr(x, "aval")]
        residuals = (*[primals[i] for i in arrays], *anses)

        def unpack(values):
            full = list(primals_shape)
            for i, v in zip(arrays, values):
                full[i] = v
            return full, tuple(values[len(arrays) :])

        primals_shape = [None if hasattr(x, "aval") else x for x in primals]

        def forward(values, tangents):
            full, _ = unpack(values)
            spread = [None] * len(full)
            for i, t in zip(which, tangents):
                spread[i] = t
            return push(lambda *xs: op.run(xs, params), full, spread, op.qualname)

        def backward(values, cotangents, wanted):
            full, outs = unpack(values)
            flags = [False] * len(full)
            for i, w in zip(which, wanted):
                flags[i] = w
            given = op.vjp(flags, cotangents if op.multi else cotangents[0], outs if op.multi else outs[0], *full, *params)
            return [given[i] for i in which]

        rule = LinearRule(forward, backward, tuple([a.aval for a in anses]))

        def apply(tangents):
            out = linear_call([*residuals, *[tangents[i] for i in which]], len(residuals), rule)
            return out if op.multi else out[0]

        return ans, apply

    return linearize


def push(f, primals, tangents, label: str) -> list:
    """The tangents of f's outputs (a value or a tuple) at these primals, computed at the current interpreter."""
    interpreter = Jvp(STATE.current, label)
    args = [x if t is None else interpreter.trace(x.aval, x, t) for x, t in zip(primals, tangents)]
    with live(interpreter):
        out = f(*args)
    return [interpreter.split(x)[1] for x in (out if out.__class__ is tuple else (out,))]

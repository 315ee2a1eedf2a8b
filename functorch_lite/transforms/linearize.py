"""Reverse mode: Linearize is Jvp over a Tape. What the JVP rules do to tangents is recorded, then transposed."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable

from ..core import pytree
from ..core.array import asarray
from ..core.aval import Aval, aval
from ..core.interpreter import STATE, VALUES, Interpreter, Traced, body, ground, live, name_of, serial, user_line
from ..core.op import BILINEAR, Linear
from ..core.record import Record
from ..prims import algebra, blocks
from ..prims.control import linear_call
from .arguments import Differentiated, callable_or_raise, done, label_of, primal_tree, run, same_kind, split_tree
from .jvp import Jvp
from .vmap import rows_front

_NUMBERS = itertools.count()


class Equation:
    """A recorded linear op. ``number`` rises in order of creation, which is a topological order."""

    __slots__ = ("number", "op", "args", "params", "outs")

    def __init__(self, op, args, params, outs):
        self.number, self.op, self.args, self.params, self.outs = next(_NUMBERS), op, args, params, outs


def key(variable: Traced):
    """How a tape variable is found again: an input by itself, a result by its equation and output number."""
    return id(variable) if variable.value is None else (id(variable.value), variable.extra)


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
        if op.kind is BILINEAR and self.owns(args[0]) and self.owns(args[1]):
            raise TypeError(f"{self.label}: {op.name} of two linear values, {args[0].aval} and {args[1].aval}, is not linear")
        out = op.infer(args, params)
        if op.multi:
            equation = Equation(op, args, params, out)
            return tuple([Traced(self, a, equation, i) for i, a in enumerate(out)])
        return Traced(self, out, Equation(op, args, params, None))

    def pull(self, outs, cotangents, ins) -> list:
        """Transposes what `outs` reach: their cotangents to those of `ins` (None: zero). Runs at the current interpreter."""
        found = self._reaching(outs, ins)
        ct: dict[int, object] = {}  # of variables, by id; the heap's equations keep them alive
        pending: dict[int, Equation] = {}
        heap: list = []

        def give(variable, cotangent):
            if cotangent is None or variable is None:
                return
            name = key(variable)
            ct[name] = blocks.total(ct[name], cotangent) if name in ct else cotangent
            equation = variable.value
            if equation is not None and equation.number not in pending:
                pending[equation.number] = equation
                heapq.heappush(heap, -equation.number)

        for variable, cotangent in zip(outs, cotangents):
            give(variable, cotangent)
        line = STATE.line
        if line is None:
            STATE.line = user_line()
        try:
            while heap:
                e = pending[-heapq.heappop(heap)]
                if e.outs is None:
                    cotangent = blocks.whole(ct.pop((id(e), None)))
                else:
                    cotangent = tuple([blocks.whole(ct.pop((id(e), i), None)) for i in range(len(e.outs))])
                known = [Linear(x.aval, id(x) in found) if x.__class__ is Traced and x.owner is self else x for x in e.args]
                given = blocks.transposed(e.op, cotangent, known, e.params)
                for x, linear, c in zip(e.args, known, given):
                    if linear.__class__ is Linear and linear.wanted:
                        give(x, c)
        finally:
            STATE.line = line
        return [blocks.whole(ct.get(id(v))) for v in ins]

    def equations(self, outs) -> list[Equation]:
        """What these variables (or None) depend on, in order."""
        found, stack = {}, [v.value for v in outs if v is not None and v.value is not None]
        while stack:
            e = stack.pop()
            if e.number not in found:
                found[e.number] = e
                stack.extend([x.value for x in e.args if x.__class__ is Traced and x.owner is self and x.value is not None])
        return [found[n] for n in sorted(found)]

    def replay(self, outs, env: dict) -> list:
        """Runs the recorded function forward at the current interpreter; None stays None.

        `env` has the values of input variables by `key`, and what replaces residuals by id.
        """
        for e in self.equations(outs):
            args = [env[key(x)] if self.owns(x) else env.get(id(x), x) for x in e.args]
            out = e.op.bind(*args, params=e.params)
            for i, y in enumerate(out) if e.outs is not None else [(None, out)]:
                env[id(e), i] = y
        return [None if v is None else env[key(v)] for v in outs]

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


class LinearRule(Record, eq=False):
    """A linear function with a transpose of its own, as the parameter of one `linear_call` on a tape.

    ``forward(residuals, tangents) -> tangents out`` and ``backward(residuals, cotangents, wanted) -> cotangents``; all
    lists, None for zero. ``outs`` are the avals of the results.
    """

    forward: object
    backward: object
    outs: tuple

    def batch(self, size: int, dims: tuple) -> LinearRule:
        """The rule on rows: residuals batched at `dims`, tangents and results all at the front."""
        return _on_rows(self, size, dims)


def _on_rows(rule, size: int, dims: tuple) -> LinearRule:
    def mapped(rule):
        def rows(residuals, linears, *wanted):
            flags = [x is not None for x in linears]

            def row(*xs):
                given = iter(xs[len(residuals) :])
                return rule(xs[: len(residuals)], [next(given) if f else None for f in flags], *wanted)

            run = rows_front(row, size, (*dims, *(0,) * sum(flags)), linear_call.op.name)
            return run(*residuals, *[x for x in linears if x is not None])

        return rows

    return LinearRule(mapped(rule.forward), mapped(rule.backward), tuple([aval((size, *a.shape), a.dtype) for a in rule.outs]))


class CallRule:
    """A call of a composite as the rule of one `linear_call`: differentiated forward by the decomposition, transposed by
    ``back(wanted, cotangents, kept, *args, *params)``, or by its pullback (which keeps its results).

    The residuals are its arrays and then what is kept; the tangents are those of the arguments that `which` numbers.
    """

    __slots__ = ("op", "params", "arguments", "which", "outs", "back")

    def __init__(self, op, params, primals, nonzero, outs, back=None):
        self.op, self.params, self.back = op, params, back
        self.which = [i for i, n in enumerate(nonzero) if n]
        self.arguments = [_ARRAY if x.__class__ in VALUES else x for x in primals]
        self.outs = tuple([x.aval for x in outs])

    def record(self, tape: Tape, primals, kept, tangents) -> list[Traced]:
        """The results as variables of a tape, of the tangents there."""
        residuals = [*[x for x in primals if x.__class__ in VALUES], *kept]
        args = (*residuals, *[tangents[i] for i in self.which])
        equation = Equation(linear_call.op, args, (len(residuals), self), self.outs)
        return [Traced(tape, a, equation, i) for i, a in enumerate(self.outs)]

    def forward(self, residuals, tangents):
        """The tangents of the results."""
        args = self._filled(residuals)
        return push(lambda *xs: self.op.run(xs, self.params), args, self._spread(tangents, None), self.op.qualname)

    def backward(self, residuals, cotangents, wanted):
        """The cotangents of the arguments."""
        from .pullback import pull  # which stands on this module

        args, wanted = self._filled(residuals), self._spread(wanted, False)
        kept = tuple(residuals[sum(x is _ARRAY for x in self.arguments) :])
        if self.back is None:
            given = pull(self.op, self.params, args, kept, cotangents, tuple(wanted))
        else:
            given = self.back(wanted, cotangents, kept, *args, *self.params)
        return [given[i] for i in self.which]

    def batch(self, size: int, dims: tuple) -> LinearRule:
        """The rule on rows: see `LinearRule`."""
        return _on_rows(self, size, dims)

    def _filled(self, residuals) -> list:
        arrays = iter(residuals)
        return [next(arrays) if x is _ARRAY else x for x in self.arguments]

    def _spread(self, values, missing) -> list:
        out = [missing] * len(self.arguments)
        for i, x in zip(self.which, values):
            out[i] = x
        return out


def reverse_rule(op, forward: Callable, backward: Callable) -> Callable:
    """The `linearize` (see core/op.py) of a composite with several results whose reverse rule keeps what is no result.

    ``forward(*args, *params) -> (results, kept)``: `kept` is a tuple of arrays for the rule.
    ``backward(wanted, cotangents, kept, *args, *params)`` -> a tuple of cotangents, one an argument.
    """

    def linearize(primals, nonzero, *params):
        outs, kept = forward(*primals, *params)
        rule = CallRule(op, params, primals, nonzero, outs, backward)
        return outs, lambda tangents: tuple(rule.record(STATE.current, primals, kept, tangents))

    return linearize


_ARRAY = object()


class Linearize(Jvp):
    """Jvp whose rules run on a tape: ops on primals go on to the parent, ops that touch a tangent are recorded."""

    __slots__ = ("tape",)
    stoppable = True

    def __init__(self, parent: Interpreter, label: str):
        self.tape = Tape(parent, label)
        super().__init__(parent, label, self.tape)
        self.born = serial()

    def derive(self, op, args, primals, tangents, params):
        if op.linearize is not None:
            STATE.current = self.parent
            ans, apply = op.linearize(primals, tuple([t is not None for t in tangents]), *params)
            STATE.current = self.tape
            return self.pair(ans, apply(tangents))
        if op.vjp is not None or op.impl is None and not op.inline and body(self.parent).parent is None:
            STATE.current = self.parent
            ans = self.parent.bind(op, tuple(primals), params)
            outs = ans if op.multi else (ans,)
            found = CallRule(op, params, primals, [t is not None for t in tangents], outs).record(self.tape, primals, outs, tangents)
            return self.pair(ans, tuple(found) if op.multi else found[0])
        return super().derive(op, args, primals, tangents, params)

    def start(self, primal):
        """A fresh input at `primal`: the value for the function and the variable of its tangent."""
        variable = self.tape.variable(primal.aval)
        return self.trace(primal.aval, primal, variable), variable


def push(f, primals, tangents, label: str) -> list:
    """The tangents of f's outputs (a value or a tuple) at these primals, computed at the current interpreter."""
    interpreter = Jvp(STATE.current, label)
    args = [x if t is None else interpreter.trace(x.aval, x, t) for x, t in zip(primals, tangents)]
    with live(interpreter):
        out = f(*args)
    return [interpreter.split(x)[1] for x in (out if out.__class__ is tuple else (out,))]


def linearize(f: Callable, *primals, has_aux: bool = False):
    """f's value at the primals and its derivative there as a linear function: ``(output, pushforward)``, aux behind them.

    ``pushforward(*tangents)``, tangents like the primals, gives the tangent of the output. f itself runs once.

    >>> import functorch_lite as fl
    >>> value, pushforward = fl.linearize(lambda x: x * x, 3.0)
    >>> pushforward(1.0).item(), pushforward(2.0).item()
    (6.0, 12.0)
    """
    callable_or_raise("linearize", f)
    inputs = Differentiated.of("linearize", primals, lambda i: f"primal {i}")
    interpreter = Linearize(ground(), label_of("linearize", f))
    pairs = [interpreter.start(x) for x in inputs.picked()]
    args = inputs.with_leaves([v for v, _ in pairs])
    out, aux = run("linearize", f, interpreter, args, {}, has_aux, inputs.written(args))
    outs, tangents, spec = split_tree(interpreter, out, "linearize")
    aux, variables = primal_tree(interpreter, aux), [v for _, v in pairs]
    if interpreter.made is not None:
        del args, out, pairs
        done(interpreter)

    def pushforward(*given):
        if len(given) != len(primals):
            raise TypeError(f"linearize: the pushforward of {name_of(f)} takes {len(primals)} tangents, got {len(given)}")
        values = inputs.tangents("linearize", given)
        env = {key(v): algebra.zeros(v.aval) if t is None else t for v, t in zip(variables, values)}
        found = interpreter.tape.replay(tangents, env)
        return spec.unflatten([algebra.zeros(x.aval) if t is None else t for x, t in zip(outs, found)])

    value = spec.unflatten(outs)
    return (value, pushforward, aux) if has_aux else (value, pushforward)


def linear_transpose(f: Callable, *primals):
    """The transpose of a function that is linear in its arguments: ``transposed(cotangent) -> tuple of cotangents``.

    `primals` say shapes and dtypes only. Raises where f is not linear.

    >>> import functorch_lite as fl
    >>> fl.linear_transpose(lambda x: x * 3.0, 1.0)(2.0)[0].item()
    6.0
    """
    callable_or_raise("linear_transpose", f)
    inputs = Differentiated.of("linear_transpose", primals, lambda i: f"primal {i}")
    tape = Tape(STATE.current, label_of("linear_transpose", f))
    variables = [tape.variable(x.aval) for x in inputs.picked()]
    out, _ = run("linear_transpose", f, tape, inputs.with_leaves(variables), {}, False)
    outs, spec = pytree.flatten(out)
    outs = [asarray(x) for x in outs]
    paths = [p for p, _ in pytree.leaves_with_path(out)]

    def transposed(cotangents):
        given = pytree.match(spec, cotangents, "linear_transpose: cotangents")
        cts = [same_kind("linear_transpose", c, x, f"cotangents{p}") for c, x, p in zip(given, outs, paths)]
        return inputs.gradients(tape.pull([x if tape.owns(x) else None for x in outs], cts, variables))

    return transposed

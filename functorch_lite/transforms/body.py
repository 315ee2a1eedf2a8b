"""Body: a closed program in flat arguments, the parameter of ops with bodies, and what can be derived from it.

Derived bodies (its JVP, linearization, transpose, batched form) are made once and remembered, so whatever is compiled for
them is found again.
"""

from __future__ import annotations

import weakref

from ..core.aval import Aval, aval_of
from ..core.interpreter import STATE, ground, live
from ..core.op import Op, own_rule, static_key
from ..core.record import Record
from ..fx.graph import Graph, Node, evaluate
from ..prims import algebra
from ..prims.callback import host_call, host_effect
from .jvp import Jvp
from .linearize import Linearize, key
from .trace import Trace, stage
from .vmap import map_flat


class Linearized(Record, eq=False):
    """forward: inputs -> outs, computed residuals. linear: reused inputs, computed residuals, tangents -> tangents."""

    forward: Body
    linear: Body
    reused: tuple[int, ...]  # which inputs are residuals as they are
    out_nonzero: tuple[bool, ...]


class Body:
    """A graph without captures; calling it runs it at the current interpreter.

    Bodies are interned by structure (`intern`): tracing the same program again gives the same Body, and with it whatever
    was derived from it or compiled for it.
    """

    __slots__ = ("graph", "ins", "outs", "label", "randomness", "_derived", "__weakref__")

    def __init__(self, graph: Graph, ins: tuple[Aval, ...], outs: tuple[Aval, ...], label: str):
        self.graph, self.ins, self.outs, self.label = graph, ins, outs, label
        self.randomness = "error"  # what `batch` does with draws, see `drawing`
        self._derived: dict = {}

    def __call__(self, *inputs) -> tuple:
        """Runs it op by op at the current interpreter, each op at the line of the user's code where it was recorded: what is derived
        from a body keeps its lines."""
        around = STATE.line

        def enter(node):
            STATE.line = node.line or around

        try:
            return tuple(evaluate(self.graph, inputs, entering=enter))
        finally:
            STATE.line = around

    def __reduce__(self):
        return intern, (self.graph, self.ins, self.outs, self.label)

    def __repr__(self) -> str:
        return f"<body {self.label}: {len(self.ins)} in, {len(self.outs)} out, {len(self.graph.nodes)} nodes>"

    @property
    def own_rule(self) -> bool:
        """Whether some call in it has a derivative of its own (see `core.op.own_rule`)."""
        return self.remember("own_rule", lambda: any(n.target.__class__ is Op and own_rule(n.target, n.params) for n in self.graph.nodes))

    @property
    def hosted(self) -> bool:
        """Whether it calls functions of the host, which may raise when other results are there already."""
        return self.remember("hosted", lambda: any(_hosted(n) for n in self.graph.nodes))

    def lower(self, *buffers) -> list:
        """Its lowering to jax.lax on jax values; `xla` installs it."""
        raise AssertionError("functorch_lite.xla was not imported")

    def stages(self):
        """(lowered, compiled, how to run it on Arrays) of the whole program; `xla` installs it."""
        raise AssertionError("functorch_lite.xla was not imported")

    def launch(self, donate: tuple[int, ...], checked: bool):
        """What runs it on Arrays at the bottom of the stack: a function of operands, which gives None for operands that it cannot
        take (on several devices, say); `xla` installs it."""
        raise AssertionError("functorch_lite.xla was not imported")

    def runner(self, packing, donate: tuple[int, ...]):
        """The program as one executable on buffers (`xla/packed.py`); None where arrays may be in several places. `xla` installs it."""
        raise AssertionError("functorch_lite.xla was not imported")

    def remember(self, name, make):
        out = self._derived.get(name)
        if out is None:
            out = self._derived[name] = make()
        return out

    def trace(self, f, ins: tuple[Aval, ...], name) -> Body:
        """A body of f, remembered here under `name`."""
        return self.remember(("trace", name, ins), lambda: close(f, ins, self.label))

    def reorder(self, ins: tuple[int, ...] | None, outs: tuple[int, ...] | None) -> Body:
        """The body whose argument i' is found at position ins[i] for argument i, and whose output j is the old output outs[j]."""

        def make():
            order = range(len(self.ins)) if ins is None else ins
            avals = [None] * len(self.ins)
            for i, p in enumerate(order):
                avals[p] = self.ins[i]

            def run(*xs):
                out = self(*[xs[p] for p in order])
                return out if outs is None else [out[j] for j in outs]

            return close(run, tuple(avals), self.label)

        return self.remember(("reorder", ins, outs), make)

    def returning_inputs(self, which: tuple[int, ...]) -> Body:
        """The body that gives these of its inputs too, behind its outputs."""
        if not which:
            return self
        return self.trace(lambda *xs: [*self(*xs), *[xs[i] for i in which]], self.ins, name=("returning", which))

    def drawing(self) -> Body:
        """The same program, in whose batched form draws with one key are different in each row."""

        def make():
            out = Body(self.graph, self.ins, self.outs, self.label)
            out.randomness = "different"
            return out

        return self if self.randomness == "different" else self.remember("drawing", make)

    def jvp(self, nonzero: tuple[bool, ...], instantiate: tuple[bool, ...] | None = None):
        """(body: inputs, nonzero tangents -> outs, nonzero tangents; which tangents of outs are nonzero)."""

        def make():
            flags: list = []

            def run(*xs):
                primals, tangents = xs[: len(self.ins)], iter(xs[len(self.ins) :])
                interpreter = Jvp(STATE.current, self.label)
                args = [interpreter.trace(x.aval, x, next(tangents)) if f else x for x, f in zip(primals, nonzero)]
                with live(interpreter):
                    outs = self(*args)
                pairs = _instantiated([interpreter.split(x) for x in outs], instantiate)
                flags[:] = [t is not None for _, t in pairs]
                return [*[x for x, _ in pairs], *[t for _, t in pairs if t is not None]]

            ins = (*self.ins, *[a for a, f in zip(self.ins, nonzero) if f])
            return close(run, ins, self.label), tuple(flags)

        return self.remember(("jvp", nonzero, instantiate), make)

    def linearize(self, nonzero: tuple[bool, ...], instantiate: tuple[bool, ...] | None = None) -> Linearized:
        """Its forward part and its linear part."""
        return self.remember(("linearize", nonzero, instantiate), lambda: self._linearize(nonzero, instantiate))

    def _linearize(self, nonzero, instantiate) -> Linearized:
        trace = Trace(STATE.current, self.label)
        inputs = [trace.input(a, f"x{i}") for i, a in enumerate(self.ins)]
        with live(trace):
            interpreter = Linearize(trace, self.label)
            tape = interpreter.tape
            args, variables = list(inputs), []
            for i, f in enumerate(nonzero):
                if f:
                    args[i], variable = interpreter.start(inputs[i])
                    variables.append(variable)
            with live(interpreter):
                outs = self(*args)
            pairs = [interpreter.split(x) for x in outs]
            primals, tangents = [x for x, _ in pairs], [t for _, t in pairs]
            equations = tape.equations(tangents)
            residuals: dict[int, object] = {}  # in order of use
            for e in equations:
                for x in e.args:
                    if isinstance(x, algebra.Array) and not tape.owns(x):
                        residuals.setdefault(id(x), x)
            position = {id(x): i for i, x in enumerate(inputs)}
            reused = [x for x in residuals.values() if id(x) in position]
            computed = [x for x in residuals.values() if id(x) not in position]
            forward = _closed(trace, [*primals, *computed], tuple(self.ins), self.label)
        out_nonzero = tuple([t is not None or bool(instantiate and instantiate[i]) for i, t in enumerate(tangents)])

        def linear(*xs):
            env = {id(x): y for x, y in zip([*reused, *computed], xs)}
            env |= {key(v): y for v, y in zip(variables, xs[len(env) :])}
            given = tape.replay(tangents, env)
            return [algebra.zeros(self.outs[i]) if g is None else g for i, g in enumerate(given) if out_nonzero[i]]

        ins = (*[x.aval for x in reused], *[x.aval for x in computed], *[v.aval for v in variables])
        return Linearized(forward, close(linear, ins, self.label), tuple([position[id(x)] for x in reused]), out_nonzero)

    def transpose(self, linear: tuple[bool, ...], nonzero: tuple[bool, ...]) -> Body:
        """For a body linear in some inputs: (the other inputs, nonzero cotangents of outs) -> cotangents of the linear inputs."""

        def make():
            known_avals = [a for a, f in zip(self.ins, linear) if not f]

            def run(*xs):
                known, cts = iter(xs[: len(known_avals)]), iter(xs[len(known_avals) :])
                interpreter = Linearize(STATE.current, self.label)
                tape = interpreter.tape
                variables = [tape.variable(a) for a, f in zip(self.ins, linear) if f]
                supply = iter(variables)
                with live(tape):
                    outs = self(*[next(supply) if f else next(known) for f in linear])
                reached = [x if tape.owns(x) else None for x in outs]
                cotangents = [next(cts) if f else None for f in nonzero]
                found = tape.pull(reached, cotangents, variables)
                return [algebra.zeros(v.aval) if c is None else c for v, c in zip(variables, found)]

            ins = (*known_avals, *[a for a, f in zip(self.outs, nonzero) if f])
            return close(run, ins, self.label)

        return self.remember(("transpose", linear, nonzero), make)

    def batch(self, size: int, dims: tuple, instantiate: tuple | None = None):
        """(body over batched inputs, batch dimensions of its outs: 0 or None). `instantiate` has 0 for those that must be batched."""

        def make():
            found: list = []

            def run(*xs):
                outs, out_dims = map_flat(self, size, xs, dims, self.label, self.randomness)
                need = instantiate or (None,) * len(outs)
                outs = [x if d is None and n is None else algebra.front(size, x, d) for x, d, n in zip(outs, out_dims, need)]
                out_dims = [None if d is None and n is None else 0 for d, n in zip(out_dims, need)]
                found[:] = out_dims
                return outs

            ins = [a if d is None else _batched(a, size, d) for a, d in zip(self.ins, dims)]
            return close(run, tuple(ins), self.label), tuple(found)

        return self.remember(("batch", size, dims, instantiate), make)


def _hosted(node: Node) -> bool:
    if node.target in (host_call.op, host_effect.op):
        return True
    return any(b.hosted for p in node.params or () for b in (p if p.__class__ is tuple else (p,)) if b.__class__ is Body)


def _batched(a: Aval, size: int, dim: int) -> Aval:
    return algebra.aval((*a.shape[:dim], size, *a.shape[dim:]), a.dtype)


def _instantiated(pairs, instantiate):
    if instantiate is None:
        return pairs
    return [(x, algebra.zeros(x.aval) if t is None and need else t) for (x, t), need in zip(pairs, instantiate)]


_INTERNED: weakref.WeakValueDictionary[tuple, Body] = weakref.WeakValueDictionary()


def intern(graph: Graph, ins: tuple[Aval, ...], outs: tuple[Aval, ...], label: str) -> Body:
    """The one Body of this structure."""
    number: dict = {}
    steps: list = [ins]
    for node in graph.nodes:
        places = tuple([number[a] if a.__class__ is Node else (static_key(a),) for a in node.args])
        number[node] = len(number)
        if node.op == "placeholder":
            continue
        steps.append((node.target, places, static_key(node.params)))
    structure = tuple(steps)
    body = _INTERNED.get(structure)
    return body if body is not None else _INTERNED.setdefault(structure, Body(graph, ins, outs, label))


def _closed(trace: Trace, outs, ins, label) -> Body:
    graph = trace.finish(outs)
    if trace.captures:
        raise AssertionError(f"{label}: a derived program captured {[x.aval for x in trace.captures]}; rules must not close over arrays")
    return intern(graph, ins, tuple([aval_of(x) for x in outs]), label)


def close(f, ins: tuple[Aval, ...], label: str) -> Body:
    """A body of f, which must not capture anything."""
    graph, captures, out_avals = stage(f, ins, label)
    if captures:
        raise AssertionError(f"{label}: a derived program captured {[x.aval for x in captures]}; rules must not close over arrays")
    return intern(graph, tuple(ins), out_avals, label)


def captures_first(graph: Graph) -> Graph:
    """The graph with what it captured as its first inputs."""
    held = [n for n in graph.nodes if n.op == "get_attr"]
    if held:
        rest = [n for n in graph.nodes if n.op != "get_attr"]
        for n in held:
            n.op = "placeholder"
        graph.nodes = [*held, *rest]
    return graph


def capture(f, ins: tuple[Aval, ...], label: str, names=None) -> tuple[Body, list]:
    """A body of f with what it closed over as its first inputs, and those values."""
    graph, captures, out_avals = stage(f, ins, label, names, trace=Trace(ground(), label))
    captures_first(graph)
    avals = (*[x.aval for x in captures], *ins)
    return intern(graph, avals, out_avals, label), captures

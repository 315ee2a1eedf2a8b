"""Ambient: what records a body for `backward`. It stands directly above its body and keeps, for each value that wants a gradient,
the op that made it; `pull` linearizes those ops and transposes them, by the rules that `grad` uses.

An op is linearized when its turn comes in `pull`, at values that carry their own history where a graph of the gradients is wanted:
so there are gradients of gradients to any order, and a forward pass that is never pulled costs no rule.
"""

from __future__ import annotations

import heapq
import itertools
import weakref
from collections.abc import Callable

from ..core.array import Array
from ..core.interpreter import _FACES, _RECORDERS, STATE, Interpreter, Traced, leak_error, show_line, unseen, user_line
from ..core.op import Linear, own_rule
from ..errors import NonDifferentiableError
from ..prims import algebra
from .pullback import as_one, by_rules, full

_NUMBERS = itertools.count()


def _nobody():
    return None


class Leaf:
    """Where history begins: what belongs to a tensor that requires grad, in one body. Without a tensor: where the history of a value
    from outside goes on in a program."""

    __slots__ = ("number", "tensor", "__weakref__")
    next_functions = ()
    nothing = (None,)  # a cotangent for each result: none so far

    def __init__(self, tensor):
        self.number, self.tensor = next(_NUMBERS), _nobody if tensor is None else weakref.ref(tensor)

    def name(self) -> str:
        """PyTorch's way to call it."""
        return "AccumulateGrad"

    @property
    def variable(self):
        """The tensor."""
        return self.tensor()

    @property
    def watched(self) -> bool:
        """Whether somebody is to be told of its gradient on the way."""
        tensor = self.tensor()
        return tensor is not None and bool(tensor._hooks)

    @property
    def outside(self) -> bool:
        """Whether history goes on from here where a program is called."""
        return self.tensor is _nobody

    def __repr__(self) -> str:
        return f"<{self.name()}>"


def _is_data(x) -> bool:
    return x.__class__ is Array or x.__class__ is Traced


SAME = object()  # the `apply` of a node whose op had nothing to do: its result is its argument


class Node:
    """An op that made values with history: PyTorch's `grad_fn`."""

    __slots__ = (
        "number",
        "op",
        "edges",
        "params",
        "saved",
        "nothing",
        "line",
        "found",
        "apply",
        "light",
        "hooks",
        "retained",
        "__weakref__",
    )

    def __init__(self, op, edges, params, saved, nothing, line, found=None, apply=None, light=False):
        self.number = next(_NUMBERS)
        self.op = op
        self.edges = edges  # one an argument
        self.params = params
        self.saved = saved  # its arguments, then its results: of what is not needed, something that tells shape and dtype only
        self.nothing = nothing  # a cotangent for each result: none so far
        self.line = line
        self.found = found  # its pullback as one op, for cotangents of all results and to all edges
        self.apply = apply
        self.light = light  # its derivative depends on shapes only: nothing is kept alive for it
        self.hooks = None  # output number -> functions of its gradient
        self.retained = None  # output number -> the tensor that keeps its gradient (weakly)

    @property
    def watched(self) -> bool:
        """Whether somebody is to be told of the gradient of a result."""
        return self.hooks is not None or self.retained is not None

    def name(self) -> str:
        """PyTorch's way to call it: 'MulBackward0'."""
        return "".join(part[:1].upper() + part[1:] for part in self.op.name.split("_")) + "Backward0"

    @property
    def next_functions(self) -> tuple:
        """(node, output number) of each argument; (None, 0) for those without history."""
        return tuple([(None, 0) if e is None else e for e in self.edges])

    def register_hook(self, hook: Callable):
        """Calls hook(gradients of the outputs) when this node's turn comes."""
        raise NotImplementedError(f"{self.name()}.register_hook: hooks belong to tensors here; register them on the tensor")

    def __repr__(self) -> str:
        return f"<{self.name()}>"


class Ambient(Interpreter):
    """Records a body for `backward`: `value` is the primal, and `extra` the edge (node, output number) that made it.

    Ops on values without history go to the body, and so do all while recording is stopped (`no_grad`).
    """

    __slots__ = ("leaves", "looks", "base")
    ambient = True

    def __init__(self, parent: Interpreter):
        super().__init__(parent, f"the body of {parent.label}")  # born with its body: the same `no_grad` stops both
        self.base = parent if parent.parent is None else None
        self.leaves = (
            weakref.WeakKeyDictionary()
        )  # the slot of a tensor's gradient -> Leaf (tensors compare by elements, slots by identity)
        self.looks = weakref.WeakKeyDictionary()  # a view of something from outside -> (what it was read from, what it is here)

    # ------------------------------------------------------------------------------------------------------- cells

    def fetch(self, cell, leaf=None):
        if STATE.stopped > self.born:
            return self.parent.fetch(cell, None)
        if leaf is not None and leaf.began is not None and leaf.began[0] is self and cell.held.__class__ is Array:
            return Traced(self, cell.held.aval, cell.held, leaf.began[1])  # at the bottom, and not for the first time
        if leaf is None:
            value = self.parent.fetch(cell, None)
            goes_on = cell in self.parent.continued and not (value.__class__ is Traced and value.owner is self)  # else: overwritten here
            return self._begun(value, cell, None) if goes_on else value
        primal = self.parent.fetch(cell, leaf)
        while primal.__class__ is Traced and primal.owner is self:  # x.detach().requires_grad_(): x's storage, and history begins here
            primal = primal.value
        return self._begun(primal, leaf.slot, leaf)

    def _begun(self, primal, key, tensor) -> Traced:
        """A value with which history begins; the same leaf for the same key."""
        found = self.leaves.get(key)
        if found is None:
            found = self.leaves[key] = Leaf(tensor)
        edge = found, 0
        if tensor is not None and self.base is not None:
            tensor.began = self, edge
        return Traced(self, primal.aval, primal, edge)

    def keeps(self, cell) -> bool:
        return self.parent.keeps(cell)

    def store(self, cell, value) -> None:
        """A cell of the body keeps history; what goes further down falls back to its primal, which is recorded there too."""
        if self.parent.keeps(cell) or not (value.__class__ is Traced and value.owner is self):
            self.parent.store(cell, value)
        else:
            self.parent.store(cell, value.value)

    def refuse(self, cell, value) -> None:
        """Nothing: see `store`."""

    def concrete(self, x, what):
        return x.value.concrete(what)

    # --------------------------------------------------------------------------------------------------------- ops

    def bind(self, op, args, params):
        if self.base is None and op.closed and STATE.watch is not None:
            with unseen():
                return self.bind(op, args, params)
        edges, primals, touched = [], [], False
        for x in args:
            if x.__class__ is Traced and x.owner is self:
                primals.append(x.value)
                edges.append(x.extra)
                touched = True
            else:
                primals.append(x)
                edges.append(None)
        before, line = STATE.current, STATE.line
        STATE.current = self.parent
        try:
            if not touched or STATE.pulling or STATE.stopped > self.born or op.kind == "zero":
                return self.parent.bind(op, tuple(primals), params)
            if line is None:
                STATE.line = user_line()
            if self._as_one(op):
                return self._record_as_one(op, edges, primals, params)
            return self._record(op, args, edges, primals, params)
        finally:
            STATE.current, STATE.line = before, line

    def _as_one(self, op) -> bool:
        """Whether the pullback of an op is one op itself (see transforms/pullback.py)."""
        return self.base is not None and op.linearize is None and not op.inline

    def _record_as_one(self, op, edges, primals, params):
        ans = self.parent.bind(op, tuple(primals), params)
        outs = ans if op.multi else (ans,)
        saved = [*primals, *outs]
        try:
            found = full(op, params, primals, outs, tuple([e is not None for e in edges]))
        except NonDifferentiableError:  # it concerns whoever asks for the gradient
            node = Node(op, edges, params, saved, (None,) * len(outs), STATE.line)
        else:
            for i in found.drops:
                saved[i] = saved[i].aval
            node = Node(op, edges, params, saved, found.nothing, STATE.line, found, None, found.light)
        if not op.multi and ans.aval.dtype.is_inexact:
            return Traced(self, ans.aval, ans, (node, 0), STATE.line)
        return tuple([self.made_by(node, i, x) for i, x in enumerate(outs)]) if op.multi else ans

    def _record(self, op, args, edges, primals, params):
        apply, below = None, self.base is None  # what lies below records it too, by the op's own rule
        if op.linearize is not None and not (below and own_rule(op, params)):
            ans, apply = op.linearize(tuple(primals), tuple([e is not None for e in edges]), *params)
        elif op.linearize is None and op.jvp is None and op.vjp is None and op.push is None:
            if op.decompose is None:
                op.rule("jvp")
            STATE.current = self
            out = op.run(args, params)
            return tuple([self._passed(op, args, x) for x in out]) if op.multi else self._passed(op, args, out)
        else:
            ans = self.parent.bind(op, tuple(primals), params)
        outs = kept = ans if op.multi else (ans,)
        light = op.kind == "linear" and apply is None
        if light:
            primals = [x if e is None else Linear(x.aval) for x, e in zip(primals, edges)]
            kept = [Linear(x.aval) for x in outs]
        node = Node(op, edges, params, [*primals, *kept], (None,) * len(kept), STATE.line, None, apply, light)
        return tuple([self.made_by(node, i, x) for i, x in enumerate(outs)]) if op.multi else self.made_by(node, 0, ans)

    def _passed(self, op, args, out):
        """A result that is an argument, as a value of its own: gradients and hooks of the one are not the other's."""
        for x in args:
            if out is x and out.__class__ is Traced and out.owner is self and out.extra is not None:
                node = Node(op, (x.extra,), (), (x.aval, x.aval), (None,), STATE.line, None, SAME, True)
                return Traced(self, x.aval, x.value, (node, 0), STATE.line)
        return out

    def made_by(self, node, i: int, x):
        """Output number i of a node; a result that has no derivative is simply the body's."""
        return self.trace(x.aval, x, (node, i)) if x.aval.dtype.is_inexact else x

    # -------------------------------------------------------------------------------------------------------- pull

    def pull(
        self, edges, cotangents, wanted=None, *, graph: bool = False, keep: bool = False, seen: Callable | None = None, at=None, needed=None
    ) -> dict:
        """From cotangents of `edges` back to leaves: {edge: cotangent} of the `wanted` edges, or of every leaf that is reached.

        With ``graph`` the work is recorded here, so that its results have history; otherwise nothing is kept of the nodes
        that were passed, unless ``keep``. ``seen(edge, cotangent) -> cotangent`` runs hooks. It works in the body, or ``at`` an
        interpreter above it. ``needed`` is what `reaching` gave, if that was asked.
        """
        level = self if graph else at or self.parent
        if needed is None:
            needed = self.reaching(edges, wanted)
        waiting: dict = {}  # number of a node -> the cotangents of its results so far, and it
        heap: list = []

        def give(edge, cotangent):
            node, i = edge
            there = waiting.get(node.number)
            if there is None:
                if node not in needed:
                    return
                there = waiting[node.number] = [*node.nothing, node]
                heapq.heappush(heap, -node.number)
            there[i] = cotangent if there[i] is None else algebra.add(there[i], cotangent)

        found: dict = {}
        before, line, stopped, pulling = STATE.current, STATE.line, STATE.stopped, STATE.pulling
        STATE.line = line or user_line()
        STATE.current = level
        STATE.pulling = not graph
        if graph:
            STATE.stopped = min(stopped, self.born)
        try:
            for edge, cotangent in zip(edges, cotangents):
                if cotangent is not None and edge is not None:
                    give(edge, cotangent)
            while heap:
                cts = waiting.pop(-heapq.heappop(heap))
                node = cts.pop()
                if wanted is not None or node.watched:
                    for i, c in enumerate(cts):
                        if c is None:
                            continue
                        if seen is not None:
                            c = cts[i] = seen((node, i), c)
                        if wanted is not None and (node, i) in wanted:
                            found[node, i] = c
                if node.__class__ is Leaf:
                    if wanted is None:
                        found[node, 0] = cts[0]
                    continue
                which = [e is not None and (wanted is None or e[0] in needed) for e in node.edges]
                if wanted is None or any(which):
                    for edge, c in zip(node.edges, self._transposed(node, cts, which, level, graph)):
                        if c is not None and edge is not None:
                            give(edge, c)
                if not (graph or keep or node.light):
                    node.saved = node.apply = None
        finally:
            STATE.current, STATE.line, STATE.stopped, STATE.pulling = before, line, stopped, pulling
        return found

    def reaching(self, edges, wanted) -> set:
        """The nodes through which something wanted is reached: without `wanted` all, since history begins with leaves only."""
        seen, stack = set(), [e[0] for e in edges if e is not None]
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                if node.__class__ is Node:
                    stack.extend([e[0] for e in node.edges if e is not None])
        if wanted is None:
            return seen
        ends = {e[0] for e in wanted}
        reaching: set = set()
        for node in sorted(seen, key=lambda n: n.number):
            if node in ends or node.__class__ is Node and any(e is not None and e[0] in reaching for e in node.edges):
                reaching.add(node)
        return reaching

    def _transposed(self, node, cts, which, level, graph):
        """The cotangents of a node's arguments, where wanted: its linearization, transposed at `level`."""
        if node.apply is SAME:
            return cts
        if node.saved is None:
            raise RuntimeError(
                f"Trying to backward through the graph a second time: {node.name()} (made at {show_line(node.line)}) has given its saved values "
                "away. Pass retain_graph=True to the first backward or autograd.grad call"
            )
        op, saved, apply, n = node.op, node.saved, node.apply, len(node.edges)
        if graph:  # with the history of the values, so that the gradient has it too
            saved = [Traced(self, x.aval, x, e) if e is not None and _is_data(x) else x for x, e in zip(saved, node.edges)]
            saved += [self.made_by(node, i, x) if _is_data(x) else x for i, x in enumerate(node.saved[n:])]
            apply = None
        STATE.current = level
        if op.closed and STATE.watch is not None:
            with unseen():
                return self._by_its_rules(node, cts, which, saved, apply)
        return self._by_its_rules(node, cts, which, saved, apply)

    def _by_its_rules(self, node, cts, which, saved, apply):
        op, params, n = node.op, node.params, len(node.edges)
        if self._as_one(op):
            found, which = node.found, tuple(which)
            if found is not None and (found.which != which or len(cts) > 1 and any(c is None for c in cts)):
                found = None
            return as_one(op, params, saved, cts, which, found)
        return by_rules(op, params, saved[:n], tuple(saved[n:]), cts, which, apply, [e is not None for e in node.edges])


def history(x) -> tuple | None:
    """(ambient, edge) of a value that a live body recorded; None if it has no history."""
    if x.__class__ is Traced and x.owner.ambient:
        if not x.owner.alive:
            raise leak_error(x)
        return x.owner, x.extra
    return None


def same(x: Array, y: Array) -> bool:
    """Whether they are one value with one history."""
    while x is not y:
        if not (x.__class__ is Traced and y.__class__ is Traced and x.owner is y.owner and x.owner.ambient and x.extra == y.extra):
            return False
        x, y = x.value, y.value
    return True


def rebased(x: Array, primal: Array) -> Array:
    """x's history over another primal: what a tensor holds after a write that recording did not see."""
    while primal.__class__ is Traced and primal.owner.ambient and x.__class__ is Traced and primal.owner is x.owner:
        primal = primal.value
    if x.__class__ is Traced and x.owner.ambient:
        return Traced(x.owner, primal.aval, rebased(x.value, primal), x.extra, x.line)
    return primal


def begin_recording() -> None:
    """Called when something first requires grad: from now on transforms of user code stand on what records."""
    if not _FACES:
        _FACES.append(True)


_RECORDERS[0] = Ambient

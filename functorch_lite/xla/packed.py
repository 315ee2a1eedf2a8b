"""Packed programs: their small state comes and goes in a few buffers, of which an executable takes its parts.

A part is a slice. Ops that can (``traits={"together": ...}`` of the declaration) work on many parts as on one vector; what XLA knows
of slices that are joined again makes the whole buffer of them. Others read the slice, whose place is an input of the program where
several layers read parts of one shape: then they share their code, which would be compiled once for each place otherwise.
"""

from __future__ import annotations

from collections import Counter

import jax
import numpy as np
from jax import lax

from ..core.array import constant
from ..core.aval import aval
from ..core.dtype import float64, int32
from ..core.interpreter import STATE, Traced
from ..fx.graph import Node, evaluate
from ..prims.create import detach
from ..transforms.body import Body
from ..transforms.packing import Packing, inputs_of, together
from .compile import ALWAYS_QUICK, compile_flat
from .launch import keeper, one_place
from .lower import Lower
from .operands import number
from .segment import flush_all

_PLACE = aval((), int32)
_ALIKE = 3  # parts of one shape for which code that is told the place is worth it


class PackedLower(Lower):
    """Lowers a program over packs: an op that works on many parts together gets them as slices (`pieces` has them by part)."""

    __slots__ = ("pieces",)

    def bind(self, op, args, params):
        how = op.traits.get("together")
        if how is not None:
            return op.run([self.pieces.get(x, x) for x in args], how.params(params))
        out = super().bind(op, args, params)
        if op is detach.op and args[0] in self.pieces:
            self.pieces[out] = self.pieces[args[0]]
        return out


class Runner:
    """A body over packs as one executable. ``run(buffers, box)`` is what `keeper` says, where `places` come behind the inputs that
    `Packing` names, and the inputs `donate` are taken; ``launch(buffers)`` does for one that takes nothing."""

    __slots__ = ("run", "launch", "places")

    def __init__(self, body: Body, packing: Packing, donate: tuple[int, ...]):
        moving = _moving(body, packing)
        vector = [aval((len(packing.numbers),), float64)] if packing.numbers else []
        ins = [*packing.state.buffers, *[body.ins[i] for i in packing.rest], *vector, *[_PLACE for _ in moving]]
        f = _over_packs(body, packing, moving) if packing.inputs or packing.left or vector else body
        outs = (*packing.state.buffers, *packing.gradients.buffers, *[body.outs[o] for o in packing.kept])
        exact = ("packed", body, packing.key), outs
        _, executable = compile_flat(f, ins, body.label, donate=donate, quick=ALWAYS_QUICK, exact=exact)
        self.run, self.launch = keeper(executable.compiled), executable.run
        self.places = [constant(np.int32(packing.state.places[k][1])) for k in moving]

    number, flush = staticmethod(number), staticmethod(flush_all)

    @staticmethod
    def vector(numbers: list[float]) -> jax.Array:
        """Numbers as one input."""
        return constant(np.array(numbers, np.float64))

    @staticmethod
    def copy(buffer: jax.Array) -> jax.Array:
        """A copy, which may be taken."""
        with jax.enable_x64(True):
            return jax.device_put(buffer, may_alias=False)


def _moving(body: Body, packing: Packing) -> list[int]:
    """Which parts of the state are read at a place that is an input."""
    which = inputs_of(body)
    place = {i: k for k, i in enumerate(packing.inputs)}
    users = [n for n in body.graph.nodes if n.target is not detach.op and not together(n)]
    read = {place[which[a]] for n in users for a in n.args if a.__class__ is Node and which.get(a) in place}
    alike = Counter(packing.state.avals[k] for k in read)
    return [k for k in sorted(read) if alike[packing.state.avals[k]] >= _ALIKE]


def _over_packs(body: Body, packing: Packing, moving: list[int]):
    """The body as a function of flat values, as `compile_flat` takes it."""
    state, first = packing.state, len(packing.state.buffers)
    last = first + len(packing.rest)
    behind = last + bool(packing.numbers)

    def run(*xs):
        outer = xs[0].owner
        inner = PackedLower(outer.label, outer.failures, outer.platform)
        inner.pieces = {}
        buffers, places = [x.value for x in xs[:first]], dict(zip(moving, [x.value for x in xs[behind:]]))
        values: list = [None] * len(body.ins)
        for i, x in zip(packing.rest, xs[first:last]):
            values[i] = Traced(inner, x.aval, x.value)
        for k, i in enumerate(packing.numbers):
            values[i] = Traced(inner, body.ins[i], lax.reshape(lax.slice(xs[last].value, (k,), (k + 1,)), ()))
        for k, (i, known) in enumerate(zip(packing.inputs, state.avals)):
            at, start, stop = state.places[k]
            piece = Traced(inner, known, lax.reshape(lax.slice(buffers[at], (start,), (stop,)), known.shape))
            values[i] = piece
            if k in places:
                part = lax.dynamic_slice(buffers[at], (places[k],), (stop - start,))
                values[i] = Traced(inner, known, lax.reshape(part, known.shape))
                inner.pieces[values[i]] = piece
        before, STATE.current = STATE.current, inner
        try:
            outs = list(map(inner.value, evaluate(body.graph, values)))
        finally:
            STATE.current, inner.alive = before, False
        packs = [*_joined(state, [outs[o] for o in packing.outputs]), *_joined(packing.gradients, [outs[o] for o in packing.left])]
        avals = [*state.buffers, *packing.gradients.buffers, *[body.outs[o] for o in packing.kept]]
        return [Traced(outer, a, x) for a, x in zip(avals, [*packs, *[outs[o] for o in packing.kept]], strict=True)]

    return run


def _joined(layout, values: list) -> list:
    """The buffers of a layout with these values."""
    flat = [lax.reshape(x, (a.size,)) for x, a in zip(values, layout.avals)]
    return [lax.concatenate([flat[i] for i in group], 0) for group in layout.groups]


def _runner(self: Body, packing: Packing, donate: tuple[int, ...]) -> Runner | None:
    if not one_place():
        return None
    return self.remember(("runner", packing.key, donate), lambda: Runner(self, packing, donate))


Body.runner = _runner

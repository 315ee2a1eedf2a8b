"""Packing: which of a program's inputs and outputs lie in packs: its small state, in one buffer a dtype that comes in and goes out, and
the small gradients that it leaves. `xla/packed.py` compiles it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..core.op import Op
from ..core.pack import SMALL, Layout
from ..core.record import Record
from ..fx.graph import Node
from ..prims.create import detach
from .body import Body


class Packing(Record, eq=False):
    """The executable takes the buffers of the state, then the other inputs of the body in their order, and all `numbers` in one vector;
    it gives the buffers of the state, those of the gradients, and the other outputs."""

    state: Layout
    inputs: tuple[int, ...]  # of the body: where the state comes in,
    outputs: tuple[int, ...]  # and where it goes out
    gradients: Layout
    left: tuple[int, ...]  # outputs that are gradients
    numbers: tuple[int, ...]  # inputs that are Python floats
    rest: tuple[int, ...]  # other inputs
    kept: tuple[int, ...]  # other outputs

    @classmethod
    def of(cls, body: Body, state: Sequence[tuple[int, int]], left: Sequence[int], numbers: Sequence[int]) -> Packing:
        """For pairs (input, output) of state, outputs that are gradients, and inputs that are numbers. Small state and gradients are packed,
        in the order given: those of a dtype that several have. What is computed with something large stays apart: its code is shared by
        many then."""
        apart = _apart(body)
        small = [(i, o) for i, o in state if body.ins[i] is body.outs[o] and body.ins[i].size <= SMALL and i not in apart]
        several = Counter(body.ins[i].dtype for i, _ in small)
        small = [(i, o) for i, o in small if several[body.ins[i].dtype] > 1]
        inputs, outputs = tuple([i for i, _ in small]), tuple([o for _, o in small])
        left = tuple([o for o in left if body.outs[o].size <= SMALL])
        left = left if len(left) > 1 else ()
        return cls(
            Layout([body.ins[i] for i in inputs]),
            inputs,
            outputs,
            Layout([body.outs[o] for o in left]),
            left,
            tuple(numbers),
            tuple([i for i in range(len(body.ins)) if i not in {*inputs, *numbers}]),
            tuple([o for o in range(len(body.outs)) if o not in {*outputs, *left}]),
        )

    @property
    def key(self) -> tuple:
        """What it is to one body."""
        return self.inputs, self.outputs, self.left, self.numbers


def inputs_of(body: Body) -> dict[Node, int]:
    """Which nodes stand for which input: those of the inputs, and what is only detached of them."""
    found = {n: i for i, n in enumerate([n for n in body.graph.nodes if n.op == "placeholder"])}
    for n in body.graph.nodes:
        if n.target is detach.op and n.args[0] in found:
            found[n] = found[n.args[0]]
    return found


def together(node: Node):
    """How the op of a node computes many small values as one, if it can."""
    return node.target.traits.get("together") if node.target.__class__ is Op else None


def _apart(body: Body) -> set[int]:
    """Inputs that are in one row with a large value."""
    which, out = inputs_of(body), set()
    for n in body.graph.nodes:
        rows = together(n).rows(n.args, n.params) if together(n) else ()
        for row in rows:
            if any(a.aval.size > SMALL for a in row):
                out.update(which[a] for a in row if a in which)
    return out

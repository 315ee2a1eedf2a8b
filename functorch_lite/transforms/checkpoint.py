"""checkpoint: keep a function's inputs instead of its intermediate values, and compute them again on the way back."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from ..core.interpreter import STATE, live
from ..prims import algebra
from ..prims.control import linear_call, opaque_one, switch
from ..prims.families import prim
from .arguments import callable_or_raise
from .body import Body
from .flat import FlatCall
from .linearize import Linearize, LinearRule, push


def _recompute_rule(body: Body, nonzero: tuple[bool, ...]) -> LinearRule:
    """The derivative of a body as one linear op whose transpose runs the body again.

    It does so in a branch that is always taken, though no compiler knows it: in plain sight XLA would find the values of the
    first run again and keep them (its CPU pipeline drops optimization barriers before it looks for common subexpressions).
    """
    which = [i for i, f in enumerate(nonzero) if f]
    ins = [body.ins[i] for i in which]

    def forward(primals, tangents):
        spread = [None] * len(primals)
        for i, t in zip(which, tangents):
            spread[i] = t
        return push(lambda *xs: body(*xs), primals, spread, body.label)

    def backward(primals, cotangents, wanted):
        present = tuple([c is not None for c in cotangents])
        operands = [*primals, *[c for c in cotangents if c is not None]]
        avals = tuple([x.aval for x in operands])

        def again(*xs):
            primals, supply = xs[: len(body.ins)], iter(xs[len(body.ins) :])
            interpreter = Linearize(STATE.current, body.label)
            args, variables = list(primals), []
            for i in which:
                args[i], variable = interpreter.start(primals[i])
                variables.append(variable)
            with live(interpreter):
                outs = body(*args)
            cts = [next(supply) if p else None for p in present]
            found = interpreter.tape.pull([interpreter.split(x)[1] for x in outs], cts, variables)
            return [algebra.zeros(a) if c is None else c for a, c in zip(ins, found)]

        recompute = body.trace(again, avals, ("recompute", nonzero, present))
        never = body.trace(lambda *_: [algebra.zeros(a) for a in ins], avals, ("never", nonzero, present))
        return switch(opaque_one(operands[len(primals) :]), operands, (never, recompute))

    return LinearRule(forward, backward, body.outs)


def _linearize(primals, nonzero, body):
    outs = checkpointed(primals, body)
    rule = body.remember(("recompute", nonzero), lambda: _recompute_rule(body, nonzero))

    def apply(tangents):
        return linear_call([*primals, *[t for t in tangents if t is not None]], len(primals), rule)

    return outs, apply


def _batch(size, args, dims, body):
    derived, out_dims = body.batch(size, tuple(dims))
    return checkpointed(args, derived), out_dims


checkpointed = prim(
    "checkpointed",
    "operands: Tensors, body: Body",
    multi=True,
    cached=False,
    kind="general",
    decompose=lambda operands, body: body(*operands),
    meta=lambda *rest: rest[-1].outs,
    linearize=_linearize,
    traits={"own_rule": True},
    batch=_batch,
    doc="A program whose intermediate values are not kept for the way back.",
)


def checkpoint(f: Callable) -> Callable:
    """f, differentiated without keeping its intermediate values: reverse mode computes them again from its inputs.

    Trades time for memory; the recomputation survives compilation. Arguments and results are pytrees.

    >>> import functorch_lite as fl
    >>> fl.grad(fl.checkpoint(lambda x: fl.sin(fl.sin(x))))(0.0).item()
    1.0
    """
    callable_or_raise("checkpoint", f)

    @wraps(f)
    def kept_small(*args, **kwargs):
        call = FlatCall("checkpoint", f, args, kwargs)
        body, captured = call.capture()
        return call.result(checkpointed([*captured, *call.values], body))

    return kept_small

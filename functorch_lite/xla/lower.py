"""The one lowering: ops to jax.lax, by an interpreter whose values are jax values."""

from __future__ import annotations

from ..core.array import Array
from ..core.interpreter import STATE, Interpreter, Traced, leak_error
from ..fx.graph import evaluate
from ..transforms.body import Body


class Lower(Interpreter):
    """Runs inside jax.jit's tracing: `value` is a jax value. A composite is lowered by its decomposition.

    ``failures`` collects what the ops' `checks` say about the data, when it is a list: (ok, exception type, message).
    """

    __slots__ = ("failures",)

    def __init__(self, label: str, failures: list | None = None):
        super().__init__(None, label)
        self.failures = failures

    def bind(self, op, args, params):
        if op.impl is None:
            return op.run(args, params)
        avals = op.infer(args, params)
        values = [x.value if x.__class__ is Traced and x.owner is self else self._constant(x) for x in args]
        if op.checks is not None and self.failures is not None:
            self.failures.extend(op.checks(*values, *params))
        out = op.impl(*values, *params)
        if op.multi:
            return tuple([Traced(self, a, y) for a, y in zip(avals, out)])
        return Traced(self, avals, out)

    def _constant(self, x: Array):
        if x.__class__ is Traced:
            if not x.owner.alive:
                raise leak_error(x)
            raise AssertionError(f"a value of {x.owner.label} reached the lowering")
        return x.buffer


def lower_with(f, avals, buffers, label: str, failures: list | None = None) -> list:
    """f's results (f takes and gives flat lists of values), as jax values."""
    interpreter = Lower(label, failures)
    before, STATE.current = STATE.current, interpreter
    try:
        outs = f(*[Traced(interpreter, a, b) for a, b in zip(avals, buffers)])
        return [x.value if interpreter.owns(x) else interpreter._constant(x) for x in outs]
    finally:
        STATE.current = before
        interpreter.alive = False


def _lower_body(self: Body, *buffers) -> list:
    """A loop's body: the flags of its checks cannot get out, so it is unchecked."""
    return lower_with(lambda *xs: evaluate(self.graph, xs), self.ins, buffers, self.label)


Body.lower = _lower_body

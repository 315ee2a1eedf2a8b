"""The one lowering: ops to jax.lax, by an interpreter whose values are jax values."""

from __future__ import annotations

from ..core.array import Array
from ..core.interpreter import STATE, Interpreter, Traced, leak_error
from ..fx.graph import evaluate
from ..prims import orders, target
from ..transforms.body import Body


class Lower(Interpreter):
    """Runs inside jax.jit's tracing: `value` is a jax value. A composite is lowered by its decomposition.

    ``failures`` collects what the ops' `checks` say about the data, when it is a list: (ok, exception type, message).
    ``platform`` is where the program will run, if that is known.
    """

    __slots__ = ("failures", "platform")

    def __init__(self, label: str, failures: list | None = None, platform: str | None = None):
        super().__init__(None, label)
        self.failures, self.platform = failures, platform

    def bind(self, op, args, params):
        if op.impl is None:
            kernel = op.traits["kernels"].get(self.platform) if "kernels" in op.traits else None
            out = kernel(*[None if x is None else self.value(x) for x in args], *params) if kernel is not None else None
            return op.run(args, params) if out is None else Traced(self, op.infer(args, params), out)
        avals = op.infer(args, params)
        if self.platform == "cpu":
            found = self._arranged(op, args, params)
            if found is not None:
                return Traced(self, avals, *found)
        values = list(map(self.value, args))
        if op.checks is not None and self.failures is not None:
            self.failures.extend(op.checks(*values, *params))
        out = op.impl(*values, *params)
        if op.multi:
            return tuple([Traced(self, a, y) for a, y in zip(avals, out)])
        return Traced(self, avals, out)

    def _arranged(self, op, args, params):
        """The op on values as they are stored (`prims/orders.py`; `extra` is the order), if that is not as usual and the op can."""
        stored = [x.extra if x.__class__ is Traced and x.owner is self else None for x in args]
        if op.multi or op.checks is not None or not ("ordering" in op.traits or any(o is not None for o in stored)):
            return None
        values = [x.value if x.__class__ is Traced and x.owner is self else self._constant(x) for x in args]
        return orders.arranged(op, values, stored, params)

    def value(self, x: Array):
        """The jax value that x stands for, in its usual order."""
        return orders.restored(x.value, x.extra) if x.__class__ is Traced and x.owner is self else self._constant(x)

    def _constant(self, x: Array):
        if x.__class__ is Traced:
            if not x.owner.alive:
                raise leak_error(x)
            raise AssertionError(f"a value of {x.owner.label} reached the lowering")
        return x.buffer


def lower_with(f, avals, buffers, label: str, failures: list | None = None, platform: str | None = None) -> list:
    """f's results (f takes and gives flat lists of values), as jax values."""
    interpreter = Lower(label, failures, platform)
    before, STATE.current = STATE.current, interpreter
    try:
        outs = f(*[Traced(interpreter, a, b) for a, b in zip(avals, buffers)])
        return list(map(interpreter.value, outs))
    finally:
        STATE.current = before
        interpreter.alive = False


def _lower_body(self: Body, *buffers) -> list:
    """A loop's body: the flags of its checks cannot get out, so it is unchecked."""
    return lower_with(lambda *xs: evaluate(self.graph, xs), self.ins, buffers, self.label, platform=target.platform())


Body.lower = _lower_body

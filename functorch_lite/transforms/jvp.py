"""Forward mode: the Jvp interpreter, and `jvp`."""

from __future__ import annotations

from collections.abc import Callable

from ..core import pytree
from ..core.interpreter import STATE, Interpreter, Traced, ground, leak_error, user_line
from ..prims import algebra
from .arguments import Differentiated, callable_or_raise, done, label_of, primal_tree, run, split_tree


class Jvp(Interpreter):
    """Values carry a tangent: `value` is the primal and `extra` the tangent. None stands for a zero tangent.

    Primal work goes to ``parent``, and so do the rules' linear ops here; `Linearize` sends those to a tape instead.
    """

    __slots__ = ("linear",)
    stoppable = False  # whether `no_grad` in its function stops it

    def __init__(self, parent: Interpreter, label: str, linear: Interpreter | None = None):
        super().__init__(parent, label)
        self.linear = linear or parent

    def bind(self, op, args, params):
        primals, tangents, touched = [], [], False
        for x in args:
            if x.__class__ is Traced and x.owner is self:
                primals.append(x.value)
                tangents.append(x.extra)
                if x.extra is not None:
                    touched = True
            else:
                primals.append(x)
                tangents.append(None)
        before, line = STATE.current, STATE.line
        if line is None:
            STATE.line = user_line()
        try:
            if not touched or self.stoppable and STATE.stopped > self.born:
                STATE.current = self.parent
                return self.parent.bind(op, tuple(primals), params)
            return self.derive(op, args, primals, tangents, params)
        finally:
            STATE.current, STATE.line = before, line

    def derive(self, op, args, primals, tangents, params):
        """The op with some tangent present."""
        if op.push is not None:
            STATE.current = self.parent
            return self.pair(*op.push(primals, tangents, *params))
        if op.jvp is None:
            if op.decompose is None:
                op.rule("jvp")
            STATE.current = self
            return op.run(args, params)
        STATE.current = self.parent
        ans = self.parent.bind(op, tuple(primals), params)
        STATE.current = self.linear
        return self.pair(ans, op.jvp(ans, primals, tangents, *params))

    def pair(self, ans, tangent):
        """Primal results with their tangents; a result without a tangent is simply the parent's."""
        if ans.__class__ is tuple:
            return tuple([a if t is None else self.trace(a.aval, a, t) for a, t in zip(ans, tangent)])
        return ans if tangent is None else self.trace(ans.aval, ans, tangent)

    def split(self, x):
        """(primal, tangent or None) of a result of the transformed function."""
        if x.__class__ is Traced:
            if x.owner is self:
                return x.value, x.extra
            if not x.owner.alive:
                raise leak_error(x)
        return x, None

    def concrete(self, x, what):
        return x.value.concrete(what)


def jvp(f: Callable, primals: tuple, tangents: tuple, *, has_aux: bool = False, strict: bool = False):
    """f's value and its Jacobian-vector product: ``(output, tangent of the output)``, and aux behind them with ``has_aux``.

    `primals` and `tangents` are tuples of trees; a None in tangents stands for zero. With ``strict`` an output that does
    not depend on the primals raises.

    >>> import functorch_lite as fl
    >>> value, t = fl.jvp(lambda x: x * x, (3.0,), (1.0,))
    >>> value.item(), t.item()
    (9.0, 6.0)
    """
    callable_or_raise("jvp", f)
    for name, x in (("primals", primals), ("tangents", tangents)):
        if not isinstance(x, (tuple, list)):
            raise TypeError(f"jvp: {name} must be a tuple with one tree for each argument of f, got {pytree.describe(x)}; write ({name},)")
    if len(primals) != len(tangents) or not primals:
        raise ValueError(f"jvp: expected as many tangents as primals, got {len(primals)} primals and {len(tangents)} tangents")
    inputs = Differentiated.of("jvp", tuple(primals), lambda i: f"primal {i}")
    given = inputs.tangents("jvp", tuple(tangents))
    interpreter = Jvp(ground(), label_of("jvp", f))
    args = inputs.with_leaves([x if t is None else interpreter.trace(x.aval, x, t) for x, t in zip(inputs.picked(), given)])
    out, aux = run("jvp", f, interpreter, args, {}, has_aux, inputs.written(args))
    outs, found, spec = split_tree(interpreter, out, "jvp")
    aux = primal_tree(interpreter, aux)
    if interpreter.made is not None:
        del args, out
        done(interpreter)
    if strict and any(t is None for t in found):
        raise RuntimeError("jvp: with strict=True every output must depend on the primals; some output does not")
    found = [algebra.zeros(x.aval) if t is None else t for x, t in zip(outs, found)]
    result = spec.unflatten(outs), spec.unflatten(found)
    return (*result, aux) if has_aux else result

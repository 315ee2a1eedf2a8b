"""How a call is written and read: between (args, params), as graphs hold it, and what stands between a function's parentheses."""

from __future__ import annotations

import operator
from typing import Any

from ..core import pytree
from ..core.aval import Aval, aval_of
from ..core.dtype import NUMBERS
from ..core.interpreter import Abstract, Interpreter, Traced, use
from ..core.op import Op
from ..core.statics import static_key

INFIX = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.floordiv: "//",
    operator.mod: "%",
    operator.pow: "**",
    operator.matmul: "@",
    operator.and_: "&",
    operator.or_: "|",
    operator.xor: "^",
    operator.lshift: "<<",
    operator.rshift: ">>",
    operator.eq: "==",
    operator.ne: "!=",
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
}
PREFIX = {operator.neg: "-", operator.pos: "+", operator.invert: "~"}
PYTHON = frozenset([*INFIX, *PREFIX, operator.getitem, getattr, abs])  # what Python itself calls on values


def op_of(target) -> Op | None:
    """The op that a call target stands for: an Op, or the function that calls one; None for any other function."""
    return target if target.__class__ is Op else getattr(target, "op", None) if callable(target) else None


def spell(op: Op, args, params, brief: bool = False) -> tuple[list, dict]:
    """The call as its user writes it: arrays by position and static parameters by name, as far as the signature lets them.

    Sequences of arrays are lists again. With `brief`, what equals its default is left out.
    """
    supply, statics = iter(args), dict(zip(op.statics, params, strict=True))
    parameters = list(op.signature.parameters.values())
    star = next((i for i, p in enumerate(parameters) if p.kind is p.VAR_POSITIONAL), None)
    positional, keywords = [], {}
    for i, p in enumerate(parameters):
        if p.name == op.variadic:
            value = [next(supply) for _ in range(len(args) - len(op.tensors) + 1)]
        else:
            value = statics[p.name] if p.name in statics else next(supply)
        if i == star:
            positional.extend(value)
        elif star is not None and i < star:  # what comes before a starred parameter can only be given by position
            positional.append(value)
        elif brief and p.default is not p.empty and same(value, p.default):
            continue
        elif p.name in statics or p.kind is p.KEYWORD_ONLY or len(positional) < i:
            keywords[p.name] = value
        else:
            positional.append(value)
    return positional, keywords


class _Caught(Exception):
    """Carries (op, args, params) of the call that `_Catch` caught."""


class _Catch(Interpreter):
    """Catches one op call after its binder has read it."""

    __slots__ = ()

    def bind(self, op, args, params):
        raise _Caught(op, args, params)


def read(function, args, kwargs, is_node) -> tuple[Any, tuple, tuple]:
    """(target, args, params) of a call as a graph holds it: op calls as their binder reads them, with nodes for arrays;
    a call of another function as the leaves of its arguments and their structure."""
    op = None if isinstance(function, str) else op_of(function)
    if op is None:
        leaves, spec = pytree.flatten((tuple(args), dict(kwargs)))
        flat = not kwargs and all(x is y for x, y in zip(leaves, args)) and len(leaves) == len(args)
        return function, tuple(leaves), () if flat else (spec,)
    catch = _Catch(None, "a graph")
    wrapped = pytree.map(lambda x: Traced(catch, None, x) if is_node(x) else x, (tuple(args), dict(kwargs)))
    try:
        with use(catch):
            op.function(*wrapped[0], **wrapped[1])
    except _Caught as caught:
        _, args, params = caught.args
    return op, tuple([x.value if x.__class__ is Traced and x.owner is catch else x for x in args]), params


def call_python(target, values, params):
    """Calls a function that is no op, or the method of that name of the first argument: `values` are the leaves of its arguments,
    params their structure if it is not flat."""
    args, kwargs = params[0].unflatten(values) if params else (values, {})
    if isinstance(target, str):
        return getattr(args[0], target)(*args[1:], **kwargs)
    return target(*args, **kwargs)


def result_aval(target, args, params):
    """The aval of a call's result (a tuple of them for several), or None where something is unknown. args have avals."""
    if target is operator.getitem and not params:
        outs = getattr(args[0], "aval", None)
        return outs[args[1]] if outs.__class__ is tuple else None
    if target.__class__ is not Op:
        return None
    avals = [aval_of(x) for x in args]
    if any(a.__class__ is not Aval for a, x in zip(avals, args) if x is not None):
        return None
    shapes = Abstract(target.name)
    return target.infer(tuple([x if x is None or x.__class__ in NUMBERS else Traced(shapes, a, None) for a, x in zip(avals, args)]), params)


def same(a, b) -> bool:
    """Whether two static values are the same, in type and bits; arrays are if they are one object."""
    if a is b:
        return True
    return type(a) is type(b) and not hasattr(a, "__array__") and static_key(a) == static_key(b)


def show_target(target) -> str:
    """'fl.softmax', 'operator.getitem', or the name of a method or an attribute."""
    op = op_of(target)
    if op is not None:
        return op.qualname
    if isinstance(target, str):
        return target
    module, name = getattr(target, "__module__", None), getattr(target, "__qualname__", None) or type(target).__name__
    return f"{module.lstrip('_')}.{name}" if module and module != "builtins" else name


__all__ = ["INFIX", "PREFIX", "PYTHON", "call_python", "op_of", "read", "result_aval", "same", "show_target", "spell"]

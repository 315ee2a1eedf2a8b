"""Constructors that declare prims and derive their rules from what the prim *is*.

    zero         no derivative (comparisons, integer results)
    linear       linear in some arguments jointly: give the transpose; the JVP is the op itself
    bilinear     linear in each of two arguments: give the transpose of either
    elementwise  one partial derivative an input gives JVP and, being a product, VJP; batching is alignment
    general      give the JVP yourself

A partial derivative is a function (ans, *inputs) -> factor, or one of ZERO, ONE, MINUS_ONE.
"""

from __future__ import annotations

import functools

from ..core.aval import Aval, aval
from ..core.dtype import BOOL, COMPLEX, FLOAT, INTEGER, DType, bool_
from ..core.op import BILINEAR, Op
from ..errors import DtypeError
from . import algebra

ZERO, ONE, MINUS_ONE = "zero", "one", "minus one"

ANY = frozenset((BOOL, INTEGER, FLOAT, COMPLEX))
NUMERIC = frozenset((INTEGER, FLOAT, COMPLEX))
INEXACT = frozenset((FLOAT, COMPLEX))
FLOATING = frozenset((FLOAT,))
ORDERED = frozenset((BOOL, INTEGER, FLOAT))
REAL_NUMERIC = frozenset((INTEGER, FLOAT))
BITS = frozenset((BOOL, INTEGER))
INTEGERS = frozenset((INTEGER,))
_CATEGORY = {BOOL: "bool", INTEGER: "integer", FLOAT: "float", COMPLEX: "complex"}


def prim(name: str, signature: str, *, doc: str = "", **slots):
    """Declares a prim; `signature` is the text between the parentheses of a def. Returns the function that calls it."""
    return Op("prims", name, _taking(signature), doc=doc, **slots).function


@functools.cache
def _taking(signature: str):
    space: dict = {}
    exec(compile(f"from __future__ import annotations\ndef f({signature}): ...", "<functorch_lite signature>", "exec"), space)
    return space["f"]


# ---------------------------------------------------------------------------------------------------- shape rules


def require(ok: bool, name: str, message: str, error: type[Exception] = ValueError) -> None:
    """Raises `error` in the name of an op."""
    if not ok:
        raise error(f"{name}: {message}")


def require_category(name: str, avals, categories: frozenset) -> None:
    for a in avals:
        if a.dtype.category not in categories:
            expected = " or ".join(_CATEGORY[c] for c in sorted(categories))
            raise DtypeError(f"{name}: expected {expected} dtype, got {', '.join(map(str, avals))}; convert with .to(dtype)")


def same_meta(name: str, categories: frozenset, out: DType | None = None, out_of=None):
    """The shape rule of elementwise ops: equal shapes and dtypes in, the same (or dtype `out`, or `out_of(dtype)`) out."""

    def meta(*args):
        avals = [a for a in args if a.__class__ is Aval]
        first = avals[0]
        require_category(name, avals, categories)
        for a in avals:
            if a.shape != first.shape or a.dtype is not first.dtype:
                seen = ", ".join(map(str, avals))
                raise ValueError(
                    f"prims.{name}: expected equal shapes and dtypes, got {seen}; broadcast and convert first, or use fl.{name}"
                )
        if out is None and out_of is None:
            return first if not first.weak else aval(first.shape, first.dtype)
        return aval(first.shape, out or out_of(first.dtype))

    return meta


# ------------------------------------------------------------------------------------------------------- families


def pointwise_batch(op_of):
    def batch(size, args, dims, *params):
        args, dim = algebra.align(size, args, dims)
        return op_of()(*args, *params), dim

    batch.pointwise = True  # how others know such an op
    return batch


def rows_batch(op_of):
    """Batching of an op on the last dimensions of its arrays: rows are one more dimension in front."""

    def batch(size, args, dims, *params):
        out = op_of().op.bind(*[algebra.front(size, x, d) for x, d in zip(args, dims)], params=params)
        return (out, (0,) * len(out)) if out.__class__ is tuple else (out, 0)

    return batch


def SAME(param, d: int, size: int):
    """A parameter that does not speak of dimensions."""
    return param


def DIM(param: int, d: int, size: int) -> int:
    """The number of a dimension, where there is one more at d."""
    return param + (param >= d)


def DIMS(param: tuple, d: int, size: int) -> tuple:
    """The numbers of dimensions."""
    return tuple([i + (i >= d) for i in param])


def each(neutral):
    """Something for each dimension; along that of the batch this."""
    return lambda param, d, size: (*param[:d], neutral, *param[d:])


def SIZES(param: tuple, d: int, size: int) -> tuple:
    """A size for each dimension: that of the batch as it is."""
    return (*param[:d], size, *param[d:])


def dims_batch(op_of, *kinds, reduces: bool = False):
    """Batching of an op that is told its dimensions: `kinds` say how each static parameter speaks of them. One that ``reduces`` loses those
    of its first parameter."""

    def batch(size, args, dims, *params):
        args, d = algebra.align(size, args, dims)
        out = op_of().op.bind(*args, params=tuple([kind(p, d, size) for kind, p in zip(kinds, params)]))
        if reduces:
            d -= sum(i < d for i in (params[0] if params[0].__class__ is tuple else params[:1]))
        return (out, (d,) * len(out)) if out.__class__ is tuple else (out, d)

    return batch


def _names(n: int, names: str | None) -> list[str]:
    return names.split() if names else ["x", "y", "z", "w"][:n]


def zero(name: str, signature: str, *, impl, meta, batch, **slots):
    """A prim without a derivative: its tangent is always zero."""
    return prim(name, signature, impl=impl, meta=meta, batch=batch, jvp=_no_tangent, kind="zero", **_deriving(slots, "jvp"))


def _no_tangent(ans, primals, tangents, *params):
    return (None,) * len(ans) if isinstance(ans, tuple) else None


def _deriving(slots, *names):
    return slots | {"derived": (*slots.get("derived", ()), *names)}


def pointwise(name: str, arity: int, impl, categories: frozenset = ORDERED, *, out: DType | None = bool_, names=None, statics="", **slots):
    """An elementwise prim without a derivative (comparisons, bit operations, sign, floor ...)."""
    signature = ", ".join([*(f"{n}: Tensor" for n in _names(arity, names)), *([statics] if statics else [])])
    meta = same_meta(name, categories, out)
    function = zero(name, signature, impl=impl, meta=meta, batch=pointwise_batch(lambda: function), **_deriving(slots, "meta", "batch"))
    function.op.traits |= {"family": "pointwise", "categories": categories}
    return function


def elementwise(name: str, impl, *partials, categories: frozenset = INEXACT, singular: bool = False, names=None, statics="", **slots):
    """A differentiable elementwise prim, by one partial derivative an input.

    ``singular`` says that a partial may be infinite or NaN where the function is not smooth: there a zero tangent or
    cotangent gives zero (so the branch of a ``where`` that is not taken never poisons a gradient).
    """

    def jvp(ans, primals, tangents, *params):
        terms = []
        for t, partial in zip(tangents, partials):
            if t is None or partial is ZERO:
                continue
            if partial is ONE:
                terms.append(t)
            elif partial is MINUS_ONE:
                terms.append(algebra.neg(t))
            else:
                product = algebra.mul_no_nan if singular else algebra.mul
                terms.append(product(t, partial(ans, *primals, *params)))
        return algebra.total(terms)

    signature = ", ".join([*(f"{n}: Tensor" for n in _names(len(partials), names)), *([statics] if statics else [])])
    slots = _deriving(slots, "jvp", "transpose", *(n for n in ("meta", "batch") if n not in slots))
    slots.setdefault("meta", same_meta(name, categories))
    slots.setdefault("batch", pointwise_batch(lambda: function))
    function = prim(name, signature, impl=impl, jvp=jvp, kind="elementwise", **slots)
    function.op.traits |= {"family": "elementwise", "categories": categories, "partials": partials}
    return function


def linear(name: str, signature: str, *, impl, meta, transpose, batch, over: tuple[int, ...] | None = (0,), **slots):
    """A prim that is linear in the arguments at `over` (None: in all of them) jointly; `transpose` sees them as `Linear`."""

    def jvp(ans, primals, tangents, *params):
        where = range(len(primals)) if over is None else over
        if all(tangents[i] is None for i in where):
            return _no_tangent(ans, primals, tangents)
        args = list(primals)
        for i in where:
            args[i] = tangents[i] if tangents[i] is not None else algebra.zeros(primals[i].aval)
        return op.bind(*args, params=params)

    function = prim(
        name, signature, impl=impl, meta=meta, jvp=jvp, transpose=transpose, batch=batch, kind="linear", **_deriving(slots, "jvp")
    )
    op = function.op
    return function


def linear_pointwise(name: str, impl, transpose, *, arity: int = 1, categories: frozenset = NUMERIC, meta=None, **slots):
    """A linear elementwise prim in all its arguments (neg, conj, real ...)."""
    signature = ", ".join(f"{n}: Tensor" for n in _names(arity, None))
    meta = meta or same_meta(name, categories)
    slots = _deriving(slots, "meta", "batch")
    function = linear(
        name, signature, impl=impl, meta=meta, transpose=transpose, batch=pointwise_batch(lambda: function), over=None, **slots
    )
    function.op.traits |= {"family": "elementwise", "categories": categories}
    return function


def bilinear(name: str, signature: str, *, impl, meta, left, right, batch, **slots):
    """Linear in each of its first two arguments: ``left(ct, x, y, *params)`` is the cotangent of x (a `Linear`), ``right`` that of y.

    Complex: transposes are adjoints, so they take the conjugate of the other operand.
    """

    def jvp(ans, primals, tangents, *params):
        (x, y, *rest), (tx, ty, *_) = primals, tangents
        terms = [op.bind(tx, y, *rest, params=params)] if tx is not None else []
        if ty is not None:
            terms.append(op.bind(x, ty, *rest, params=params))
        return algebra.total(terms)

    def transpose(ct, x, y, *rest):
        from_left = x.__class__ is algebra.Linear
        others = (None,) * (len(op.tensors) - 2)
        return (left(ct, x, y, *rest), None, *others) if from_left else (None, right(ct, x, y, *rest), *others)

    slots = _deriving(slots, "jvp")
    function = prim(name, signature, impl=impl, meta=meta, jvp=jvp, transpose=transpose, batch=batch, kind=BILINEAR, **slots)
    op = function.op
    return function


def general(name: str, signature: str, *, impl, meta, jvp, batch, **slots):
    """A prim whose JVP is written out: it may emit only ops on primals and ops linear in tangents."""
    return prim(name, signature, impl=impl, meta=meta, jvp=jvp, batch=batch, kind="general", **slots)

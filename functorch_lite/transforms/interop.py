"""JAX in both directions: `to_jax` makes a JAX function of ours, `from_jax` an op of a JAX function.

The only transform that imports jax. Our cotangents are taken under Re(conj(ct) * t), JAX's under Re(ct * t), so complex ones
are conjugated at the border.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import jax

from ..core import pytree
from ..core.array import Array, asarray
from ..core.aval import Aval, aval
from ..core.dtype import as_dtype
from ..core.holders import share
from ..core.interpreter import Traced, name_of
from ..core.record import Record
from ..prims import algebra, parts
from ..prims.control import linear_call
from ..prims.families import prim
from .arguments import callable_or_raise, is_array
from .flat import FlatCall
from .linearize import LinearRule

# ------------------------------------------------------------------------------------------------------ a JAX function as an op


class Foreign(Record):
    """A JAX function of flat arrays, as the static parameter of `jax_call`."""

    function: Callable
    name: str


def _spec(a: Aval):
    return jax.ShapeDtypeStruct(a.shape, a.dtype.dtype)


def _meta(*rest):
    *avals, foreign = rest
    with jax.enable_x64(True):
        outs = jax.eval_shape(foreign.function, *map(_spec, avals))
    return tuple([aval(o.shape, as_dtype(o.dtype)) for o in outs])


class _Jvp(Record):
    function: Callable
    nonzero: tuple[bool, ...]

    def __call__(self, *xs):
        primals, given = xs[: len(self.nonzero)], iter(xs[len(self.nonzero) :])
        chosen = [p for p, n in zip(primals, self.nonzero) if n]
        return jax.jvp(lambda *ys: self.function(*_put(primals, self.nonzero, ys)), chosen, list(given))[1]


class _Vjp(Record):
    function: Callable
    nonzero: tuple[bool, ...]

    def __call__(self, *xs):
        primals, cts = xs[: len(self.nonzero)], xs[len(self.nonzero) :]
        chosen = [p for p, n in zip(primals, self.nonzero) if n]
        _, pullback = jax.vjp(lambda *ys: self.function(*_put(primals, self.nonzero, ys)), *chosen)
        return pullback(tuple(cts))


class _Vmap(Record):
    function: Callable
    dims: tuple

    def __call__(self, *xs):
        return jax.vmap(self.function, in_axes=self.dims)(*xs)


def _put(primals, nonzero, ys):
    ys = iter(ys)
    return [next(ys) if n else p for p, n in zip(primals, nonzero)]


def _conjugated(x):
    return None if x is None else parts.conj_of(x)


def _jvp(ans, primals, tangents, foreign):
    nonzero = tuple([t is not None for t in tangents])
    derived = Foreign(_Inexact(_Jvp(foreign.function, nonzero), tuple([a.dtype.is_inexact for a in ans])), foreign.name)
    given = iter(jax_call([*primals, *[t for t in tangents if t is not None]], derived))
    return tuple([next(given) if a.dtype.is_inexact else None for a in ans])


class _Inexact(Record):
    """Only the outputs that have tangents."""

    function: Callable
    keep: tuple[bool, ...]

    def __call__(self, *xs):
        return tuple([o for o, k in zip(self.function(*xs), self.keep) if k])


def _linearize(primals, nonzero, foreign):
    outs = jax_call(primals, foreign)
    which = [i for i, n in enumerate(nonzero) if n]

    def forward(values, tangents):
        spread = [None] * len(values)
        for i, t in zip(which, tangents):
            spread[i] = t
        return _jvp(outs, values, spread, foreign)

    def backward(values, cotangents, wanted):
        cts = [algebra.zeros(a.aval) if c is None else _conjugated(c) for c, a in zip(cotangents, outs)]
        derived = Foreign(_Vjp(_Inexact(foreign.function, tuple([a.dtype.is_inexact for a in outs])), nonzero), foreign.name)
        return [_conjugated(g) for g in jax_call([*values, *[c for c in cts if c.dtype.is_inexact]], derived)]

    rule = LinearRule(forward, backward, tuple([a.aval for a in outs]))
    return outs, lambda tangents: linear_call([*primals, *[tangents[i] for i in which]], len(primals), rule)


def _batch(size, args, dims, foreign):
    out = jax_call(args, Foreign(_Vmap(foreign.function, tuple(dims)), foreign.name))
    return out, (0,) * len(out)


jax_call = prim(
    "jax_call",
    "operands: Tensors, foreign: Static",
    multi=True,
    kind="general",
    impl=lambda *rest: tuple(rest[-1].function(*rest[:-1])),
    meta=_meta,
    jvp=_jvp,
    linearize=_linearize,
    batch=_batch,
    doc="A JAX function of flat arrays, differentiated and batched by JAX.",
)


class _Flat(Record):
    """The user's JAX function on flat arrays; equal for equal functions and trees."""

    function: Callable
    spec: pytree.TreeSpec
    statics: tuple

    def __call__(self, *xs):
        return tuple(jax.tree.leaves(self.tree(*xs)))

    def tree(self, *xs):
        fixed, supply = dict(self.statics), iter(xs)
        args, kwargs = self.spec.unflatten([fixed[i] if i in fixed else next(supply) for i in range(self.spec.num_leaves)])
        return self.function(*args, **kwargs)


def from_jax(f: Callable) -> Callable:
    """A JAX function as a function of ours: Arrays (in pytrees) in and out, composing with every transform.

    JAX differentiates and batches it. Its outputs are arrays in any pytree of dicts, lists, tuples.

    >>> import functorch_lite as fl, jax.numpy as jnp
    >>> fl.grad(fl.from_jax(lambda x: jnp.sin(x).sum()))(fl.asarray([0.0, 0.0])).tolist()
    [1.0, 1.0]
    """
    callable_or_raise("from_jax", f)

    @wraps(f)
    def ours(*args, **kwargs):
        leaves, spec = pytree.flatten((args, kwargs))
        values = [asarray(x) for x in leaves if is_array(x)]
        statics = tuple([(i, x) for i, x in enumerate(leaves) if not is_array(x)])
        flat = _Flat(f, spec, statics)
        with jax.enable_x64(True):
            shape = jax.eval_shape(flat.tree, *[_spec(x.aval) for x in values])
        out = jax_call(values, Foreign(flat, name_of(f)))
        return jax.tree.unflatten(jax.tree.structure(shape), out)

    return ours


# --------------------------------------------------------------------------------------------------- our function for JAX


def to_jax(f: Callable) -> Callable:
    """A pure JAX function of ours: jax arrays (in pytrees) in and out; JAX itself can jit, differentiate and vmap it.

    f is traced to our program, which is written in jax.lax; its dtypes are those of the arguments that JAX passes. Rules of
    the user's own (`custom_vjp`, `custom_jvp`) belong to our transforms: JAX differentiates what f computes.

    >>> import functorch_lite as fl, jax
    >>> float(jax.grad(fl.to_jax(lambda x: fl.sin(x) * 2.0))(0.0))
    2.0
    """
    callable_or_raise("to_jax", f)

    @wraps(f)
    def theirs(*args, **kwargs):
        call = FlatCall("to_jax", f, args, kwargs, value=_jax_value)
        body, captured = call.capture([aval(tuple(x.shape), as_dtype(x.dtype)) for x in call.values])
        for x in captured:
            if x.__class__ is Traced:
                raise TypeError(f"to_jax({name_of(f)}): closes over a {x.aval} value of {x.owner.label}; pass it as an argument")
        with jax.enable_x64(True):
            return call.result(body.lower(*[share(x.buffer) for x in captured], *call.values))

    return theirs


def _jax_value(x):
    if isinstance(x, Array):
        return share(x.buffer)
    if isinstance(x, jax.Array):
        return x
    return asarray(x).buffer

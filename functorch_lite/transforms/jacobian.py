"""Jacobians and Hessians: vmap over a basis of tangents or cotangents."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps

from ..core import pytree
from ..core.array import Array
from ..core.dtype import int32
from ..core.interpreter import name_of
from ..prims import algebra, compare, convert, create, shape
from .arguments import Differentiated, argument_name, callable_or_raise, chunk_size_or_raise, pick, replaced
from .grad import pulled, value_and_grad
from .jvp import jvp
from .vmap import vmap


def _basis(like: Array) -> Array:
    """One tangent an element of `like`, stacked: shape [like.size, *like.shape]; one row of nothing where it is empty."""
    n = math.prod(like.shape)
    if n == 0:
        return create.full((1, *like.shape), 0, like.dtype)
    rows, columns = (create.iota((n, n), d, int32) for d in (0, 1))
    return shape.reshape(convert.convert(compare.eq(rows, columns), like.dtype), (n, *like.shape))


def _rows_of(stacked: Array, like: Array) -> Array:
    """What a function mapped over the basis of `like` gave: no row where it is empty."""
    return stacked if math.prod(like.shape) else shape.part(stacked, 0, 0, 0)


def _real_only(transform: str, leaves, what: str) -> None:
    for x in leaves:
        if x.dtype.is_complex:
            raise TypeError(
                f"{transform}: {what} must be real, got {x.aval}: the Jacobian of a complex function has two conventions. "
                "Write f in real and imaginary parts, or use vjp or jvp"
            )


def jacrev(f: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *, chunk_size: int | None = None) -> Callable:
    """The function that gives f's Jacobian, by reverse mode: one pass a row, so best for few outputs.

    The result has, for each leaf of the output, a tree like the argument whose leaves have shape ``[*output, *input]``
    (a tuple of trees where `argnums` is a tuple). With ``has_aux`` it is ``(jacobian, aux)``. ``chunk_size`` bounds how
    many rows are computed at once, and so the memory.

    >>> import functorch_lite as fl
    >>> fl.jacrev(lambda x: x * x)(fl.asarray([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    callable_or_raise("jacrev", f)
    chunk_size_or_raise("jacrev", chunk_size)

    @wraps(f)
    def jacobian(*args, **kwargs):
        positions, single = pick("jacrev", f, argnums, args)
        out, pullback, aux = pulled("jacrev", f, args, positions, kwargs, has_aux)
        outs, spec = pytree.flatten(out)
        _real_only("jacrev", [*outs, *pullback.primals], "arguments and outputs")
        blocks = []
        for i, y in enumerate(outs):

            def row(ct, i=i):
                return pullback(spec.unflatten([ct if j == i else None for j in range(len(outs))]))

            rows = vmap(row, chunk_size=chunk_size)(_basis(y))
            block = pytree.map(lambda g, y=y: shape.reshape(_rows_of(g, y), (*y.shape, *g.shape[1:])), rows)
            blocks.append(block[0] if single else block)
        result = spec.unflatten(blocks)
        return (result, aux) if has_aux else result

    return jacobian


def jacfwd(
    f: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *, chunk_size: int | None = None, randomness: str = "error"
) -> Callable:
    """The function that gives f's Jacobian, by forward mode: one pass a column, so best for few inputs. See `jacrev`.

    >>> import functorch_lite as fl
    >>> fl.jacfwd(lambda x: (x * x).sum())(fl.asarray([1.0, 2.0])).tolist()
    [2.0, 4.0]
    """
    callable_or_raise("jacfwd", f)
    chunk_size_or_raise("jacfwd", chunk_size)

    @wraps(f)
    def jacobian(*args, **kwargs):
        positions, single = pick("jacfwd", f, argnums, args)
        inputs = Differentiated.of(
            "jacfwd", tuple([args[n] for n in positions]), lambda i: f"{argument_name(f, positions[i])} of {name_of(f)}"
        )
        leaves = inputs.picked()
        _real_only("jacfwd", leaves, "arguments")

        def on_leaves(*xs):
            return f(*replaced(args, positions, inputs.with_leaves(xs)), **kwargs)

        columns, found = [], {}
        for i, x in enumerate(leaves):

            def column(t, i=i):
                tangents = tuple([t if j == i else None for j in range(len(leaves))])
                out = jvp(on_leaves, tuple(leaves), tangents, has_aux=has_aux)
                return (out[1], out[2]) if has_aux else (out[1], None)

            rows, aux = vmap(column, out_dims=(0, None), randomness=randomness, chunk_size=chunk_size)(_basis(x))
            found["aux"] = aux
            rows, spec = pytree.flatten(rows)
            rows = [_rows_of(g, x) for g in rows]
            _real_only("jacfwd", rows, "outputs")
            columns.append([shape.reshape(algebra.move(g, 0, g.ndim - 1), (*g.shape[1:], *x.shape)) for g in rows])
        blocks = [inputs.gradients(row) for row in zip(*columns)]
        result = spec.unflatten([b[0] if single else b for b in blocks])
        return (result, found["aux"]) if has_aux else result

    return jacobian


def hessian(f: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *, chunk_size: int | None = None) -> Callable:
    """The function that gives the second derivatives of a scalar function: ``jacfwd(jacrev(f))``.

    >>> import functorch_lite as fl
    >>> fl.hessian(lambda x: (x * x * x).sum())(fl.asarray([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    return jacfwd(jacrev(f, argnums, has_aux), argnums, has_aux, chunk_size=chunk_size)


def hvp(f: Callable, primals, tangents):
    """The product of f's Hessian at `primals` with `tangents`, by forward over reverse mode: no Hessian is formed.

    `primals` is a tuple of f's arguments (or its only one), `tangents` is like it, and so is the result.

    >>> import functorch_lite as fl
    >>> fl.hvp(lambda x: (x * x * x).sum(), fl.asarray([1.0, 2.0]), fl.asarray([1.0, 0.0])).tolist()
    [6.0, 0.0]
    """
    single = not isinstance(primals, tuple)
    primals, tangents = ((primals,), (tangents,)) if single else (primals, tangents)
    gradient = value_and_grad(f, argnums=tuple(range(len(primals))))
    _, out = jvp(lambda *xs: gradient(*xs)[1], primals, tangents)
    return out[0] if single else out

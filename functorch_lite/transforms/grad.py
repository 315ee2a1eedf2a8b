"""Reverse mode for users: vjp, grad, value_and_grad, grad_and_value."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from ..core import pytree
from ..core.array import Operable
from ..core.interpreter import boundary, ground, name_of
from ..errors import NonDifferentiableError
from ..prims import algebra
from .arguments import (
    Differentiated,
    argument_name,
    callable_or_raise,
    done,
    label_of,
    pick,
    primal_tree,
    replaced,
    run,
    same_kind,
    split_tree,
)
from .linearize import Linearize


class Pullback:
    """The linear function from cotangents of f's output to cotangents of its primals; call it any number of times."""

    __slots__ = ("_tape", "_outs", "_tangents", "_spec", "_variables", "_primals", "_name")

    def __init__(self, tape, outs, tangents, spec, variables, primals, name):
        self._tape, self._outs, self._tangents, self._spec = tape, outs, tangents, spec
        self._variables, self._primals, self._name = variables, primals, name

    def __call__(self, cotangents, *more):
        if more:
            raise TypeError(
                f"{self._name}: the pullback takes one argument, a tree of cotangents like the output of f, got {1 + len(more)}"
            )
        given = pytree.match(self._spec.spec, cotangents, f"{self._name}: cotangents")
        paths = [p for p, _ in pytree.leaves_with_path(self._spec.spec.unflatten(range(len(self._outs))))]
        cts = [same_kind(self._name, c, x, f"cotangents{p}") for c, x, p in zip(given, self._outs, paths)]
        return self.pull(cts)

    def pull(self, cotangents: list) -> tuple:
        """The same for flat cotangents that fit."""
        return self._primals.gradients(self._tape.pull(self._tangents, cotangents, self._variables))

    @property
    def primals(self) -> list:
        """The differentiated leaves."""
        return self._primals.picked()

    def __repr__(self) -> str:
        return f"<pullback of {self._name}>"


def vjp(f: Callable, *primals, has_aux: bool = False):
    """f's value and its vector-Jacobian product.

    Returns ``(output, pullback)``, or ``(output, pullback, aux)`` where f returns ``(output, aux)`` with ``has_aux``;
    ``pullback(cotangents)``, cotangents like the output, gives a tuple with a tree of cotangents for each primal.
    Leaves that are not float or complex get None. Cotangents are taken under Re(conj(ct) * t), PyTorch's convention.

    >>> import functorch_lite as fl
    >>> out, pullback = fl.vjp(lambda x, y: x * y, 3.0, 4.0)
    >>> out.item(), [g.item() for g in pullback(1.0)]
    (12.0, [4.0, 3.0])
    """
    callable_or_raise("vjp", f)
    if not primals:
        raise TypeError("vjp: expected at least one primal after the function")
    out, pullback, aux = pulled("vjp", f, primals, tuple(range(len(primals))), {}, has_aux)
    return (out, pullback, aux) if has_aux else (out, pullback)


def pulled(transform: str, f, args, positions, kwargs, has_aux):
    """The output of f, its pullback to args[positions], and aux."""
    picked = tuple([args[n] for n in positions])
    primals = Differentiated.of(transform, picked, lambda i: f"{argument_name(f, positions[i])} of {name_of(f)}")
    interpreter = Linearize(ground(), label_of(transform, f))
    pairs = [interpreter.start(x) for x in primals.picked()]
    inputs = primals.with_leaves([v for v, _ in pairs])
    out, aux = run(transform, f, interpreter, replaced(args, positions, inputs), kwargs, has_aux, primals.written(inputs))
    outs, tangents, spec = split_tree(interpreter, out, transform)
    aux = primal_tree(interpreter, aux)
    pullback = Pullback(interpreter.tape, outs, tangents, spec, [v for _, v in pairs], primals, label_of(transform, f))
    if interpreter.made is not None:
        del inputs, out, pairs
        done(interpreter)
    return spec.unflatten(outs), pullback, aux


def _scalar(transform: str, f, value):
    """The loss, or an error that says why it is none."""
    name = getattr(f, "__name__", "f")
    if not isinstance(value, Operable):
        raise TypeError(f"{transform}: {name} must return one scalar Array, got {pytree.describe(value)}; use vjp for other outputs")
    if value.shape != ():
        raise RuntimeError(
            f"{transform}: {name} must return a scalar (shape []), got {value.aval}; reduce it with .sum() or .mean(), or use vjp or jacrev"
        )
    if not value.dtype.is_floating_point:
        raise NonDifferentiableError(
            f"{transform}: {name} must return a real float scalar, got {value.aval}; take its real part or abs(), or use vjp"
        )
    return value


def value_and_grad(f: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable:
    """The function that gives f's value and its gradient: ``(value, gradient)``, or ``((value, aux), gradient)`` with ``has_aux``.

    See `grad` for the arguments.

    >>> import functorch_lite as fl
    >>> value, g = fl.value_and_grad(lambda x: x * x)(3.0)
    >>> value.item(), g.item()
    (9.0, 6.0)
    """
    return _gradient("value_and_grad", f, argnums, has_aux, lambda value, g, aux: ((value, aux) if has_aux else value, g))


def grad_and_value(f: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable:
    """Like `value_and_grad`, the other way round: ``(gradient, value)``, or ``(gradient, (value, aux))`` with ``has_aux``."""
    return _gradient("grad_and_value", f, argnums, has_aux, lambda value, g, aux: (g, (value, aux) if has_aux else value))


def grad(f: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable:
    """The function that gives the gradient of a scalar function.

    ``argnums`` says with respect to which positional arguments, each any pytree: an int gives one gradient, a tuple a
    tuple. Gradients have the tree, shapes and dtypes of their arguments, and None for leaves that are not float or complex.
    With ``has_aux``, f returns ``(loss, aux)`` and the result is ``(gradient, aux)``.

    Raises RuntimeError for an output that is no scalar, and NonDifferentiableError for an argument without a float leaf.

    >>> import functorch_lite as fl
    >>> fl.grad(lambda p: (p["w"] ** 2).sum())({"w": fl.asarray([1.0, 2.0])})["w"].tolist()
    [2.0, 4.0]
    """
    return _gradient("grad", f, argnums, has_aux, lambda value, g, aux: (g, aux) if has_aux else g)


def _gradient(transform, f, argnums, has_aux, give):
    callable_or_raise(transform, f)

    @wraps(f)
    def gradient(*args, **kwargs):
        positions, single = pick(transform, f, argnums, args)
        value, pullback, aux = pulled(transform, f, args, positions, kwargs, has_aux)
        _scalar(transform, f, value)
        g = pullback.pull([algebra.one_like(value)])
        boundary(final=False)
        return give(value, g[0] if single else g, aux)

    return gradient

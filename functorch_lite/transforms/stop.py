"""stop_gradient and closure_convert."""

from __future__ import annotations

from collections.abc import Callable

from ..core import pytree
from ..core.array import asarray
from ..core.interpreter import name_of
from ..prims.create import detach
from .arguments import callable_or_raise, inexact, is_array
from .flat import FlatCall


def stop_gradient(tree):
    """The same values, which no derivative passes: their tangents are zero.

    >>> import functorch_lite as fl
    >>> fl.grad(lambda x: x * fl.stop_gradient(x))(3.0).item()
    3.0
    """
    return pytree.map(lambda x: detach(asarray(x)) if is_array(x) and inexact(x) else x, tree)


def closure_convert(f: Callable, *example_args):
    """f as a function of what it closes over: ``(converted, captured)`` with ``converted(*args, *captured) == f(*args)``.

    `captured` holds the Arrays and traced values that f uses besides its arguments, found by tracing it at the examples'
    shapes. It lets functions with rules of their own (`custom_vjp`) differentiate through closures.

    >>> import functorch_lite as fl
    >>> w = fl.asarray([2.0])
    >>> converted, captured = fl.closure_convert(lambda x: x * w, fl.asarray([1.0]))
    >>> converted(fl.asarray([3.0]), *captured).tolist()
    [6.0]
    """
    callable_or_raise("closure_convert", f)
    call = FlatCall("closure_convert", f, example_args, {})
    body, captured = call.capture()
    spec = pytree.structure(example_args)

    def converted(*args):
        inputs, hidden = args[: len(args) - len(captured)], args[len(args) - len(captured) :]
        given = pytree.match(spec, inputs, f"closure_convert: the arguments of {name_of(f)}", exact=True)
        return call.result(body(*hidden, *[asarray(x) for x in given if is_array(x)]))

    return converted, captured

"""eval_shape: what a function returns, without data."""

from __future__ import annotations

from collections.abc import Callable

from ..core import pytree
from ..core.array import asarray
from ..core.aval import Aval, aval
from ..core.dtype import as_dtype
from ..core.face import Face
from ..core.interpreter import Abstract, Traced, live
from .arguments import callable_or_raise, is_array, label_of, leaving


def ShapeDtype(shape, dtype) -> Aval:  # noqa: N802
    """A shape and a dtype: what stands for an Array where only those matter.

    >>> ShapeDtype((2, 3), "float32")
    float32[2,3]
    """
    return aval(tuple(shape), as_dtype(dtype))


def eval_shape(f: Callable, *args, **kwargs):
    """The shapes and dtypes of ``f(*args, **kwargs)``, computed without data; arguments may be `ShapeDtype`s.

    >>> import functorch_lite as fl
    >>> fl.eval_shape(lambda x: x @ x, fl.ShapeDtype((1000, 1000), fl.float32))
    float32[1000,1000]
    """
    callable_or_raise("eval_shape", f)
    interpreter = Abstract(label_of("eval_shape", f))

    def abstract(x):
        if isinstance(x, Aval):
            return Traced(interpreter, x, None)
        if isinstance(x, Face):
            return x.stand_in(Traced(interpreter, x.read().aval, None))
        if is_array(x):
            return Traced(interpreter, asarray(x).aval, None)
        return x

    args, kwargs = pytree.map(abstract, (args, kwargs))
    with live(interpreter):
        return pytree.map(lambda x: leaving(x).aval if is_array(x) else x, f(*args, **kwargs))

"""pure_callback: a host function inside a program."""

from __future__ import annotations

from collections.abc import Callable

from ..core import pytree
from ..core.array import asarray
from ..core.aval import Aval, aval
from ..core.dtype import as_dtype
from ..core.interpreter import name_of
from ..core.record import Record
from ..prims.callback import host_call
from .arguments import callable_or_raise


class _Flat(Record):
    """The user's function on flat NumPy arrays; equal for equal functions and trees, so that programs are found again."""

    function: Callable
    spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec

    def __call__(self, *arrays):
        out = self.function(*self.spec.unflatten(arrays))
        return pytree.match(self.out_spec, out, f"pure_callback: the output of {name_of(self.function)}", exact=True)


def pure_callback(function: Callable, result, *args, vectorized: bool = False):
    """What a host function of NumPy arrays returns, from within any program.

    ``result`` is a tree of things with a shape and a dtype that says what comes back (for example Arrays, or what
    `eval_shape` gives). The function must be pure: it may be called any number of times, or not at all. Under `vmap` it is
    called once a row, or once with every argument batched in front if ``vectorized``. It has no derivative: wrap the call
    in `custom_jvp` or `custom_vjp` to give it one.

    >>> import functorch_lite as fl, numpy as np
    >>> fl.jit(lambda x: fl.pure_callback(np.sqrt, x, x))(fl.asarray([4.0, 9.0])).tolist()
    [2.0, 3.0]
    """
    callable_or_raise("pure_callback", function)
    leaves, out_spec = pytree.flatten(result)
    outs = []
    for x in leaves:
        if not (hasattr(x, "shape") and hasattr(x, "dtype")):
            raise TypeError(
                f"pure_callback: result must say shapes and dtypes (Arrays, or fl.ShapeDtype(shape, dtype)), got {pytree.describe(x)}"
            )
        outs.append(x if isinstance(x, Aval) else aval(tuple(x.shape), as_dtype(x.dtype)))
    values, spec = pytree.flatten(args)
    out = host_call([asarray(x) for x in values], _Flat(function, spec, out_spec), tuple(outs), vectorized)
    return out_spec.unflatten(out)

"""Prims: irreducible, strict ops by family, every rule beside its declaration.

The imports below are in an order that matters: `algebra` (which rules are written with) and the prims it uses refer to one
another at call time, and `shape` is the door through which that circle is entered.
"""

from . import (
    shape,
    convert,
    parts,
    elementwise,
    trig,
    special,
    compare,
    bits,
    reduce,
    contract,
    index,
    scatters,
    order,
    window,
    conv,
    fft,
    linalg,
    spectral,
    random,
    control,
    callback,
    checks,
)  # isort: skip  # noqa: E501, F401

from ..core.op import REGISTRY as _REGISTRY  # isort: skip

globals().update({op.name: op.function for op in _REGISTRY.values() if op.namespace == "prims"})  # prims.add, as programs print it


def __dir__():
    return sorted(n for n in globals() if not n.startswith("_"))

"""Prims: irreducible, strict ops by family, every rule beside its declaration.

`algebra` (which rules are written with) and the prims it uses refer to one another at call time: `shape`, imported first, is the
door through which that circle is entered.
"""

from . import shape  # isort: skip
from ..core.op import REGISTRY as _REGISTRY
from . import (
    bessel,
    bits,
    callback,
    checks,
    compare,
    contract,
    control,
    conv,
    convert,
    elementwise,
    fft,
    index,
    integers,
    linalg,
    order,
    parts,
    polynomials,
    random,
    reduce,
    reflectors,
    rejection,
    scatters,
    settling,
    special,
    spectral,
    trig,
    window,
    window_choice,
)

globals().update({op.name: op.function for op in _REGISTRY.values() if op.namespace == "prims"})  # prims.add, as programs print it


def __dir__():
    return sorted(n for n in globals() if not n.startswith("_"))

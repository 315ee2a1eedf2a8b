"""Prims: irreducible, strict ops by family, every rule beside its declaration.

The imports below are in an order that matters: `algebra` (which rules are written with) and the prims it uses refer to one
another at call time, and `shape` is the door through which that circle is entered.
"""

from . import shape, convert, elementwise, compare, reduce, contract, index, control  # isort: skip  # noqa: F401

"""Decompositions: what ops can be written as, and sets of them for `make_fx`."""

from .table import core_prims, decompositions, register_decomposition

__all__ = ["core_prims", "decompositions", "register_decomposition"]

"""What a function reads and writes besides its arguments, from its bytecode: paths such as `self.config.scale`.

A path begins at an argument, a global or a variable of an enclosing function, and goes on by attributes. Chains are followed where
they stand together, and through local names that they are assigned to; that is what Python code is made of, and what guards
(`nn/guards.py`) need to know: which values a program depends on.
"""

from __future__ import annotations

import dis
import functools
import types

Path = tuple[str, str, tuple[str, ...]]  # ("local" | "global" | "free", name, attributes)

_KEEPS = frozenset(("COPY", "SWAP", "PUSH_NULL", "CACHE", "RESUME", "NOP", "EXTENDED_ARG", "PRECALL", "DUP_TOP"))


@functools.lru_cache(maxsize=4096)
def paths_of(code: types.CodeType) -> tuple[Path, ...]:
    """The paths that a function's own code reads or writes."""
    found: dict[Path, None] = {("free", name, ()): None for name in code.co_freevars}  # functions inside it may read them
    alias: dict[str, Path] = {}
    chain: Path | None = None
    for step in dis.get_instructions(code):
        name = step.opname
        if name in _KEEPS:
            continue
        begun = _root(name, step.argval, alias)
        if begun is not None:
            for root in begun:
                found[root] = None
            chain = begun[-1]
        elif name in ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR") and chain is not None:
            chain = (chain[0], chain[1], (*chain[2], step.argval))
            found[chain] = None
        elif name == "STORE_FAST" and chain is not None:
            alias[step.argval] = chain
            chain = None
        elif name in ("STORE_FAST", "DELETE_FAST"):
            alias.pop(step.argval, None)
            chain = None
        else:
            chain = None
    return tuple(found)


def _root(name: str, value, alias: dict) -> list[Path] | None:
    """Where a chain begins (several, for an instruction that loads several names; the last goes on); None for another instruction."""
    if name.startswith("LOAD_FAST") and "AND_CLEAR" not in name:
        names = value if isinstance(value, tuple) else (value,)
        return [alias.get(n, ("local", n, ())) for n in names]
    if name in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"):
        return [("global", value, ())]
    if name in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF", "STORE_DEREF"):
        return [("free", value, ())]
    return None

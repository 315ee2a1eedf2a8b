"""Whose code it is: the user's, Python's, or that of a library. Only the user's is watched while a function is traced."""

from __future__ import annotations

import os
import sys
import sysconfig
import types
from importlib.util import find_spec

from ..core.interpreter import _HOME

_PYTHON = tuple({sysconfig.get_path(p) + os.sep for p in ("stdlib", "platstdlib")})
_PACKAGES = tuple({sysconfig.get_path(p) + os.sep for p in ("purelib", "platlib")})
_LIBRARY = (
    _HOME,
    "<functorch_lite",
    *(os.path.dirname(find_spec(m).origin) + os.sep for m in ("jax", "jaxlib", "numpy", "optree", "attr")),
)

_KINDS: dict[str, str] = {}


def kind_of(filename: str) -> str:
    """Whose code is in this file: 'user', 'python' (its standard library), or 'library' (this one and those underneath)."""
    known = _KINDS.get(filename)
    if known is None:
        if filename.startswith(_LIBRARY):
            known = "library"
        elif filename.startswith(("<frozen", "<__array_function__", "<attrs")):
            known = "python"
        else:
            known = "python" if filename.startswith(_PYTHON) and not filename.startswith(_PACKAGES) else "user"
        _KINDS[filename] = known
    return known


def is_user(filename: str) -> bool:
    """Whether code in this file is the user's."""
    return kind_of(filename) == "user"


def is_users_code(frame) -> bool:
    """Whether a frame runs the user's code. What was generated (the __init__ of a dataclass) belongs to the module whose globals it has."""
    name = frame.f_code.co_filename
    return is_user(name) and (name != "<string>" or is_user(frame.f_globals.get("__file__") or name))


def is_users(kind: type | types.ModuleType) -> bool:
    """Whether a class or module is the user's."""
    name = getattr(kind, "__module__", None) or getattr(kind, "__name__", "")
    return is_user(getattr(sys.modules.get(name), "__file__", None) or "<frozen>")

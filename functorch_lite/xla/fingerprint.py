"""Fingerprints: a program on disk is found by its graph, so that the next process need not even lower it.

A fingerprint says all that the lowered program follows from: the graph with every static parameter by type and bits, what goes in, the
sources of this library, the versions beneath it, and jax's settings. There is none where that cannot be said exactly: for an op of the
user's, a function among the parameters (callbacks, rules, programs of jax), or sources that were touched since they were imported.
Such a program is known by its lowered text alone (`xla/disk.py`).
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import struct
import sys
from enum import Enum

import jax
import ml_dtypes
import numpy as np

from ..core import BEGUN
from ..core.aval import Aval
from ..core.dtype import DType
from ..core.interpreter import _HOME
from ..core.op import Op, is_ours
from ..fx.graph import Node, is_part
from ..transforms.body import Body

_MARGIN = 2.0  # seconds by which clocks may differ, and that pass until the first file of the library has been read
_BENEATH = ("jax", "jaxlib", "numpy")


class _Unsayable(Exception):
    """A value that has no exact description."""


def fingerprint(*values) -> str | None:
    """A digest of values (bodies, ops, avals, numbers, strings, tuples of such) and of what turns them into a program; or None."""
    sources = sources_digest()
    if sources is None:
        return None
    try:
        return _Writer().digest((sources, _beneath(), _settings(), *values))
    except _Unsayable:
        return None


class _Writer:
    """Writes values as bytes that no other values have: each begins with its kind, and says where it ends."""

    def __init__(self):
        self.out: list[bytes] = []
        self.bodies: dict[Body, int] = {}  # that were written, each once
        self.ops: set[Op] = set()  # that are known to be the library's

    def digest(self, values: tuple) -> str:
        self.write(values)
        return hashlib.sha256(b"".join(self.out)).hexdigest()

    def write(self, x) -> None:
        how = _HOW.get(x.__class__)
        if how is None:
            raise _Unsayable(x)
        how(self, x)

    def text(self, x: str) -> None:
        data = x.encode("utf-8", "surrogatepass")
        self.out.append(b"s%d:" % len(data) + data)

    def row(self, x: tuple) -> None:
        self.out.append(b"(%d:" % len(x))
        for value in x:
            self.write(value)

    def aval(self, x: Aval) -> None:
        self.out.append(b"a")
        self.row((x.shape, x.dtype, x.weak))

    def op(self, x: Op) -> None:
        if x not in self.ops:
            code = [f for f in (x.impl, x.decompose, *x.traits.get("kernels", {}).values()) if f is not None]
            if not x.ours or not all(is_ours(f) or getattr(f, "__module__", "").partition(".")[0] in _BENEATH for f in code):
                raise _Unsayable(x)
            self.ops.add(x)
        self.out.append(b"o")
        self.text(x.qualname)

    def body(self, x: Body) -> None:
        known = self.bodies.setdefault(x, len(self.bodies))
        self.out.append(b"b%d:" % known)
        if known < len(self.bodies) - 1:
            return
        self.write(x.ins)
        number: dict[Node, int] = {}
        for node in x.graph.nodes:
            number[node] = len(number)
            self.out.append(b"n%d:" % len(node.args))
            if is_part(node):
                self.text("part")
            elif node.op == "call_function":
                self.write(node.target)
                self.write(node.params)
            elif node.op in ("placeholder", "output"):
                self.text(node.op)
            else:
                raise _Unsayable(node)
            for a in node.args:
                if a.__class__ is Node:
                    self.out.append(b"@%d;" % number[a])
                else:
                    self.write(a)


_HOW = {
    type(None): lambda to, x: to.out.append(b"-"),
    bool: lambda to, x: to.out.append(b"t" if x else b"u"),
    int: lambda to, x: to.out.append(b"i%d;" % x),
    float: lambda to, x: to.out.append(b"f" + struct.pack("<d", x)),
    complex: lambda to, x: to.out.append(b"c" + struct.pack("<dd", x.real, x.imag)),
    str: _Writer.text,
    tuple: _Writer.row,
    DType: lambda to, x: to.text("dtype " + x.name),
    Aval: _Writer.aval,
    Op: _Writer.op,
    Body: _Writer.body,
}


# ------------------------------------------------------------------------------------------------- what lies beneath


def sources_digest() -> str | None:
    """A digest of this library's files, as they were imported; None where one may have changed since."""
    files = dict(_files(_HOME))
    loaded = [m.__file__ for name, m in list(sys.modules.items()) if name.partition(".")[0] == __name__.partition(".")[0]]
    if any(changed > BEGUN - _MARGIN for changed in files.values()) or not files.keys() >= set(loaded):
        return None
    return _digest_of(tuple(sorted(files.items())))


def _files(folder: str):
    """The Python files below a folder, each with the time at which its content or name last changed: that of its inode, which nobody can set back."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                known = entry.stat()
                yield entry.path, max(known.st_ctime, known.st_mtime)
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _files(entry.path)


@functools.lru_cache(maxsize=1)
def _digest_of(files: tuple[tuple[str, float], ...]) -> str:
    digest = hashlib.sha256()
    for path, _ in files:
        with open(path, "rb") as file:
            data = file.read()
        digest.update(b"%s %d\n" % (path.removeprefix(_HOME).encode(), len(data)) + data)
    return digest.hexdigest()


@functools.cache
def _beneath() -> tuple[str, ...]:
    """The versions of what the library stands on; those of jax and jaxlib are in every key."""
    return platform.python_implementation(), *platform.python_version_tuple()[:2], np.__version__, ml_dtypes.__version__


def _settings() -> tuple:
    """jax's settings, of this thread too: some change what an op is lowered to."""
    try:
        from jax._src.config import trace_context

        found = (*sorted(jax.config.values.items()), *trace_context())
    except (ImportError, AttributeError):  # another version of jax
        raise _Unsayable("jax's settings") from None
    return tuple(map(_setting, found))


def _setting(x):
    if x.__class__ is tuple:
        return tuple(map(_setting, x))
    if isinstance(x, Enum):
        return type(x).__name__, x.name
    if x.__class__ in _HOW:
        return x
    if type(x).__name__ == "AxisEnv" and x == type(x)():  # the axes of no surrounding map
        return None
    raise _Unsayable(x)

"""Runs an unmodified PyTorch program on functorch_lite.

    python -m functorch_lite.torch script.py [arguments]
    python -m functorch_lite.torch -m package.module [arguments]
    python -m functorch_lite.torch -c "import torch; ..." [arguments]

The program finds sys.argv, sys.path and __main__ as Python makes them; `import torch` gives it functorch_lite.torch.
"""

from __future__ import annotations

import os
import runpy
import sys
from types import ModuleType

from ._imports import install


def main(arguments: list[str]) -> None:
    """Runs what the command line names. Raises SystemExit with the usage if it names nothing."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        raise SystemExit(0 if arguments else 2)
    install()
    kind, *rest = arguments
    if kind in ("-m", "-c") and not rest:
        raise SystemExit(f"python -m functorch_lite.torch: {kind} needs an argument, as Python's own does")
    if kind == "-m":
        sys.argv = rest  # runpy puts the path of the module first
        sys.path[0] = os.getcwd()
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.path[0] = ""
        program = ModuleType("__main__")
        sys.modules["__main__"] = program
        exec(compile(rest[0], "<string>", "exec"), program.__dict__)
    elif not os.path.exists(kind):
        raise SystemExit(f"python -m functorch_lite.torch: can't open file {kind!r}: no such file")
    else:
        sys.argv = arguments
        if not os.path.isdir(kind):  # a folder or an archive is put on the path by runpy
            sys.path[0] = os.path.dirname(os.path.realpath(kind))
        runpy.run_path(kind, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])

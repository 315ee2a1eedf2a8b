"""The only road to the machine: Eval and the lowering of programs to executables. Importing it installs both."""

from . import packed
from .eval import EVAL, Eval

__all__ = ["EVAL", "Eval", "packed"]

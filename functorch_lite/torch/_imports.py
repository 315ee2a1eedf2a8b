"""`import torch` as this package: a finder that gives `torch` and `torch.*` the modules of `functorch_lite.torch`."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from types import ModuleType

HERE = __name__.rpartition(".")[0]  # functorch_lite.torch


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `torch.x` as `functorch_lite.torch.x`, the same module under both names."""

    def find_spec(self, fullname: str, path=None, target=None) -> importlib.machinery.ModuleSpec | None:
        if fullname != "torch" and not fullname.startswith("torch."):
            return None
        ours = HERE + fullname.removeprefix("torch")
        if importlib.util.find_spec(ours) is None:
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: functorch_lite stands in for torch here and does not have it yet", name=fullname
            )
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(HERE + spec.name.removeprefix("torch"))
        spec.loader_state = module.__spec__  # the import system is about to replace it
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = module.__spec__.loader_state  # it keeps its own name; its program has run


def install() -> None:
    """From here on `import torch` imports `functorch_lite.torch`, in this process. RuntimeError if PyTorch has been imported already.

    `python -m functorch_lite.torch script.py` does this for a script that is not to be changed.
    """
    there = sys.modules.get("torch")
    if there is not None and there is not sys.modules[HERE]:
        raise RuntimeError("install: PyTorch has been imported already: install before the first import of torch")
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())

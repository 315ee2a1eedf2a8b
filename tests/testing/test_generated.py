"""What is generated is up to date, and complete."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import functorch_lite as fl
import functorch_lite.torch as torch
from functorch_lite.core.array import Operable
from functorch_lite.nn.inplace import InPlace

HOME = Path(fl.__file__).parent
STUBS = sorted(HOME.rglob("*.pyi"))


def test_nothing_is_stale():
    """In a process of its own: tests declare ops, which are none of the library's."""
    command = "-m functorch_lite.testing.generated"
    done = subprocess.run([sys.executable, *command.split(), "--check"], capture_output=True, text=True, cwd=HOME.parent)
    assert done.returncode == 0, f"generated files are stale; run `make generated` (python {command}):\n{done.stdout}{done.stderr[-2000:]}"


def names(path: Path) -> set[str]:
    """The names that a stub declares at its top level."""
    out = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            out.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            out.add(node.target.id)
        elif isinstance(node, ast.Assign):
            out |= {t.id for t in node.targets}
        elif isinstance(node, ast.ImportFrom):
            out |= {a.asname or a.name for a in node.names}
    return out


def module_of(path: Path):
    parts = path.relative_to(HOME.parent).with_suffix("").parts
    return importlib.import_module(".".join(parts).removesuffix(".__init__"))


@pytest.mark.parametrize("path", STUBS, ids=lambda p: p.relative_to(HOME).as_posix())
def test_a_stub_names_what_is_there(path):
    """Each public name that a namespace gives its users is in its stub, and the other way round."""
    module, declared = module_of(path), {n for n in names(path) if not n.startswith("_")}
    there = {
        n for n in dir(module) if not n.startswith("_") and not n.endswith("_")
    }  # functions in place are found when they are asked for
    assert not {n for n in declared if not hasattr(module, n)} - {"annotations"} - tuples(path)
    if path.parent.name in ("core", "nn") and path.stem in ("array", "tensor"):
        own = {n for n in there if getattr(getattr(module, n), "__module__", None) == module.__name__}
        assert own <= declared
    else:
        modules = {n for n in there if type(getattr(module, n)).__name__ == "module"}
        assert there - modules <= declared, "regenerate with `make generated`"


def tuples(path: Path) -> set[str]:
    """The named tuples that a stub spells out."""
    return {n.name for n in ast.parse(path.read_text()).body if isinstance(n, ast.ClassDef)}


def members(path: Path, cls: str) -> set[str]:
    node = next(n for n in ast.parse(path.read_text()).body if isinstance(n, ast.ClassDef) and n.name == cls)
    return {n.name for n in node.body if isinstance(n, ast.FunctionDef)} | {n.target.id for n in node.body if isinstance(n, ast.AnnAssign)}


def test_methods_are_there():
    of_both = members(HOME / "core" / "array.pyi", "Operable")
    ours = {
        n for n, f in vars(Operable).items() if not n.startswith("_") and getattr(getattr(f, "op", None), "ours", True)
    }  # tests declare more
    missing = ours - of_both
    assert not missing and {"softmax", "__add__", "T", "shape"} <= of_both
    of_tensors = members(HOME / "nn" / "tensor.pyi", "Tensor")
    written = {n: f for c in (InPlace, torch.Tensor) for n, f in vars(c).items() if not n.startswith("_")}
    # methods in place that are found when they are asked for belong to InPlace by then, under Tensor's name
    missing = {
        n for n, f in written.items() if n in vars(torch.Tensor) or not getattr(f, "__qualname__", "").startswith("Tensor.")
    } - of_tensors
    assert not missing and {"add_", "sqrt_", "backward", "grad", "copy_"} <= of_tensors


def test_signatures_are_spelled_out():
    text = (HOME / "torch" / "__init__.pyi").read_text()
    functions = {n.name: n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)}
    add = functions["add"]
    assert [a.arg for a in add.args.args] == ["input", "other"] and [a.arg for a in add.args.kwonlyargs] == ["alpha", "out"]
    assert ast.unparse(add.returns) == "_Tensor" and ast.unparse(functions["sort"].returns) == "ValuesIndices"
    assert "out" not in [a.arg for a in functions["reshape"].args.kwonlyargs]  # a view
    pure = {n.name: n for n in ast.parse((HOME / "__init__.pyi").read_text()).body if isinstance(n, ast.FunctionDef)}
    assert ast.unparse(pure["softmax"].returns) == "_Array" and [a.arg for a in pure["add"].args.kwonlyargs] == ["alpha"]


def test_the_package_says_that_it_is_typed():
    assert (HOME / "py.typed").exists() and HOME / "__init__.pyi" in STUBS

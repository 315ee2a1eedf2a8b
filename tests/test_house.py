"""The house: imports run one way, one op in one place, small files, transforms that know no op."""

import ast
import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import functorch_lite
from functorch_lite import errors
from functorch_lite.core.op import REGISTRY, Op

HOME = Path(functorch_lite.__file__).parent
FILES = sorted(HOME.rglob("*.py"))

# What each room may import. A room that is not named here may not exist without a line here.
FOUNDATION = {"errors"}
ROOMS = {
    "errors": set(),
    "tree": {"core", "transforms"},
    "core": FOUNDATION,
    "fx": FOUNDATION | {"core"},
    "prims": FOUNDATION | {"core"},
    "refs": FOUNDATION | {"core", "fx", "prims"},
    "decomp": FOUNDATION | {"core", "fx", "prims", "refs"},
    "transforms": FOUNDATION | {"core", "fx", "prims", "refs", "decomp"},
    "xla": FOUNDATION | {"core", "fx", "prims", "transforms"},
    "debug": FOUNDATION | {"core", "fx", "prims", "refs", "transforms", "xla"},
    "random": FOUNDATION | {"core", "prims", "refs"},
    "linalg": FOUNDATION | {"refs"},
    "fft": {"refs"},
    "masked": {"refs"},
    "special": {"refs"},
    "signal": {"refs"},
    "nn": FOUNDATION | {"core", "fx", "prims", "refs", "decomp", "transforms", "tree", "random"},
    "optim": FOUNDATION | {"core", "prims", "refs", "transforms", "tree", "nn"},
    "utils": FOUNDATION | {"core", "prims", "refs", "transforms", "tree", "nn", "optim", "random"},
    "torch": FOUNDATION | {"core", "fx", "refs", "transforms", "tree", "linalg", "fft", "masked", "special", "nn", "optim", "utils"},
    "catalog": FOUNDATION | {"core", "refs", "decomp", "transforms"},
    "testing": FOUNDATION | {"catalog", "core", "fx", "prims", "refs", "decomp", "transforms", "tree", "random", "nn", "optim", "xla"},
}
MAY_IMPORT_JAX = ("prims/", "xla/", "core/array.py", "transforms/interop.py", "testing/samples/", "testing/rivals.py")


def room_of(path: Path) -> str:
    return path.relative_to(HOME).parts[0].removesuffix(".py")


def imports(path: Path):
    """(line, absolute module, names) of every import in a file, however deep it stands."""
    package = ["functorch_lite", *path.relative_to(HOME).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for a in node.names:
                yield node.lineno, a.name, []
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            yield node.lineno, ".".join([*base, *([node.module] if node.module else [])]), [a.name for a in node.names]


def rooms_imported(path: Path):
    for line, module, names in imports(path):
        parts = module.split(".")
        if parts[0] != "functorch_lite":
            continue
        if len(parts) > 1:
            yield line, parts[1]
        else:
            for name in names:  # from .. import x: a room, or a public name, which only the outermost rooms may take
                yield line, name


@pytest.mark.parametrize(
    "path", [f for f in FILES if f.parent != HOME or f.name not in ("__init__.py", "__main__.py")], ids=lambda f: str(f.relative_to(HOME))
)
def test_imports_run_one_way(path):
    room = room_of(path)
    assert room in ROOMS, f"{room} is no room of the house: say in ROOMS what it may import"
    wrong = [f"line {line}: {to}" for line, to in rooms_imported(path) if to != room and to not in ROOMS[room]]
    assert not wrong, f"{room} may import {sorted(ROOMS[room])}, but {path.relative_to(HOME)} imports {', '.join(wrong)}"


def test_nobody_imports_testing_or_torch():
    seen = [
        f"{f.relative_to(HOME)}:{line}" for f in FILES for line, to in rooms_imported(f) if to in ("testing", "torch") and room_of(f) != to
    ]
    assert not seen, f"testing and torch are for users only: {seen}"


def test_few_files_import_jax():
    seen = []
    for path in FILES:
        where = path.relative_to(HOME).as_posix()
        if not where.startswith(MAY_IMPORT_JAX):
            seen += [f"{where}:{line}" for line, module, _ in imports(path) if module.split(".")[0] == "jax"]
    assert not seen, f"only {', '.join(MAY_IMPORT_JAX)} may import jax: {seen}"


def test_the_library_does_its_own_transforming():
    """jax serves to lower and to run: its numpy, its derivatives and its vmap are never used."""
    banned = ("jax.numpy", "jax.scipy", "jax.nn", "jax.experimental", "jax.custom_derivatives", "jax.interpreters")
    uses = re.compile(
        r"\bjax\.(grad|vjp|jvp|vmap|linearize|jacfwd|jacrev|hessian|make_jaxpr|custom_jvp|custom_vjp|checkpoint|numpy|scipy|nn)\b"
    )
    seen = []
    for path in FILES:
        where = path.relative_to(HOME).as_posix()
        if where in (
            "transforms/interop.py",
            "prims/kernels.py",
            "testing/rivals.py",
        ):  # pure jax functions for jax's own transforms; kernels that only jax.nn has; an oracle
            continue
        seen += [
            f"{where}:{line} {module}"
            for line, module, names in imports(path)
            if module.startswith(banned) and names != ["serialize_executable"]  # which neither traces nor transforms
        ]
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and uses.fullmatch(ast.unparse(node)):
                seen.append(f"{where}:{node.lineno} {ast.unparse(node)}")
    assert not seen, seen


@pytest.mark.parametrize("path", FILES, ids=lambda f: str(f.relative_to(HOME)))
def test_files_are_small(path):
    assert len(path.read_text().splitlines()) <= 650, f"{path.relative_to(HOME)} is too long to be read at once: split it by topic"


def test_no_op_is_declared_twice():
    def again(like: Op):
        return Op(like.namespace, like.name, like.function.__wrapped__, impl=like.impl, meta=like.meta)

    some = REGISTRY["prims.add"]
    with pytest.raises(ValueError, match=r"prims\.add is declared twice: in .*elementwise\.py"):
        again(some)
    assert REGISTRY["prims.add"] is some


def docstrings(tree: ast.AST) -> set[int]:
    """Ids of the strings that stand as statements: they are words, not program."""
    return {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)}


@pytest.mark.parametrize("path", sorted((HOME / "transforms").glob("*.py")), ids=lambda f: f.name)
def test_transforms_name_no_op(path):
    """A transform asks an op for its rule; it does not know any op by name. Names of the transforms' own functions are no op names."""
    tree = ast.parse(path.read_text())
    own = {
        n.name
        for f in (HOME / "transforms").glob("*.py")
        for n in ast.walk(ast.parse(f.read_text()))
        if isinstance(n, ast.FunctionDef | ast.ClassDef)
    }
    ops = [op for op in REGISTRY.values() if not op.file.startswith("transforms/")]  # those with programs of its own are declared there
    names = {op.name for op in ops} | {op.qualname for op in ops}
    words = docstrings(tree)
    seen = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names - own and id(node) not in words:
            seen.append(f"line {node.lineno}: {node.value!r}")
    assert not seen, f"{path.name} names ops: {seen}"


@pytest.mark.parametrize("package", sorted({f.parent for f in FILES}), ids=lambda d: str(d.relative_to(HOME.parent)))
def test_no_module_shares_a_public_functions_name(package):
    """Else `package.name` is the module or the function, by the order of imports."""
    module = importlib.import_module(".".join(package.relative_to(HOME.parent).parts))
    inside = {f.stem for f in package.glob("*.py")} | {d.name for d in package.iterdir() if (d / "__init__.py").exists()}
    hidden = [name for name in inside if not isinstance(vars(module).get(name, sys), ModuleType)]
    assert not hidden, f"these names of {module.__name__} are modules and functions: {hidden}"


def exceptions():
    return [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, Exception) and c.__module__ == errors.__name__]


@pytest.mark.parametrize("error", exceptions(), ids=lambda c: c.__name__)
def test_every_exception_says_cause_example_and_fix(error):
    doc = error.__doc__ or ""
    assert doc.strip().splitlines()[0].strip().endswith((".", ")", "::")), f"{error.__name__}: the first line says the cause, in a sentence"
    assert ">>>" in doc or "::" in doc, f"{error.__name__}: the docstring needs a small example"
    assert "**Fix**" in doc, f"{error.__name__}: the docstring says the way out: **Fix**: ..."


def test_every_function_of_the_house_is_documented():
    missing = [
        name
        for name in functorch_lite.__dict__
        if not name.startswith("_") and callable(f := getattr(functorch_lite, name)) and not f.__doc__
    ]
    assert not missing, f"public names without a docstring: {missing}"

"""The notebooks: every cell runs, here in one namespace and in a kernel of its own, and shows what is committed."""

import ast
import json
import pathlib
import re

import pytest

HERE = pathlib.Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(HERE.glob("*.ipynb"))
VARIES = "varies"  # the tag of cells whose output depends on the versions of what lies underneath


def cells(path):
    """The code cells of a notebook."""
    return [c for c in json.loads(path.read_text())["cells"] if c["cell_type"] == "code"]


def shown(cell) -> list[str]:
    """What a cell shows as text."""
    return ["".join(o.get("text") or o.get("data", {}).get("text/plain", "")) for o in cell["outputs"]]


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return request.param


def test_there_are_notebooks():
    assert "01_transforms" in [path.stem for path in NOTEBOOKS]


def test_is_committed_as_it_ran(notebook):
    assert [c["execution_count"] for c in cells(notebook)] == list(range(1, len(cells(notebook)) + 1)), "run python -m notebooks"
    assert not [o for c in cells(notebook) for o in c["outputs"] if o["output_type"] == "error"]
    text = "\n".join(line for c in cells(notebook) for line in shown(c))
    assert not re.search(r"/(tmp|home|root|Users)/| at 0x", text), "a path or an address of the machine it ran on"
    pages = ["".join(o["data"]["text/html"]) for c in cells(notebook) for o in c["outputs"] if "text/html" in o.get("data", {})]
    assert len(pages) > 3 and all("<svg" in page and "def forward" in page for page in pages)


def test_runs_as_plain_python(notebook, monkeypatch, capsys):
    """Each cell's statements; what would be shown is asked for its text and its page."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    pages = 0
    space = {"__name__": "__main__"}
    for i, cell in enumerate(cells(notebook)):
        tree = ast.parse("".join(cell["source"]), f"{notebook.name}[{i}]")
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"{notebook.name}[{i}]", "exec"), space)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"{notebook.name}[{i}]", "eval"), space)
            assert repr(value)
            if hasattr(value, "_repr_html_"):
                assert "<svg" in value._repr_html_()
                pages += 1
    assert pages > 3 and "Linearize" in capsys.readouterr().out


def test_runs_in_a_kernel(notebook, monkeypatch):
    """As a reader runs it: what it shows is what is committed."""
    pytest.importorskip("nbclient", reason="the kernel's way needs the extra `notebooks`; the cells run as plain Python above")
    pytest.importorskip("ipykernel", reason="the kernel's way needs the extra `notebooks`; the cells run as plain Python above")
    from notebooks.__main__ import executed

    was, now = cells(notebook), [c for c in executed(notebook).cells if c["cell_type"] == "code"]
    for old, new in zip(was, now):
        if VARIES not in old["metadata"].get("tags", ()):
            assert shown(new) == shown(old), "run python -m notebooks"

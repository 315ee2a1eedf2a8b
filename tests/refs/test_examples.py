"""The examples in the docstrings of ops. (Those of plain functions are found by pytest itself; ops are made by their binder.)"""

import doctest
from collections import defaultdict
from pathlib import Path

import pytest

import functorch_lite as fl
from functorch_lite.core.op import REGISTRY

HOME = Path(fl.__file__).parent
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def documented():
    """name -> docstring with examples, by the file in which it is declared."""
    found = defaultdict(dict)
    for name, op in REGISTRY.items():
        if (HOME / op.file).exists() and ">>>" in op.doc:
            found[op.file][name] = op.doc
    for name, f in vars(fl).items():  # functions made by tables, which choose among several ops
        module = getattr(f, "__module__", "")
        if callable(f) and module.startswith("functorch_lite.refs") and not hasattr(f, "op") and ">>>" in (f.__doc__ or ""):
            found[module][name] = f.__doc__
    return found


DOCUMENTED = documented()


@pytest.mark.parametrize("file", DOCUMENTED)
def test_examples(file):
    parser, runner, report = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=FLAGS), []
    for name, doc in DOCUMENTED[file].items():
        runner.run(parser.get_doctest(doc, {"np": __import__("numpy")}, name, file, 0), out=report.append)
    assert not runner.failures, "".join(report)


def test_public_ops_are_documented():
    missing = [name for name, op in REGISTRY.items() if (HOME / op.file).exists() and not op.doc]
    assert not missing, f"ops without a docstring: {', '.join(missing)}"

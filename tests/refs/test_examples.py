"""The examples in the docstrings of ops. (pytest finds those of plain functions itself; an op's function is made by its binder.)"""

import doctest
from collections import defaultdict
from pathlib import Path

import pytest

import functorch_lite as fl
from functorch_lite.core.op import REGISTRY

HOME = Path(fl.__file__).parent
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
OURS = [op for op in REGISTRY.values() if (HOME / op.file).exists()]  # tests declare others

DOCUMENTED = defaultdict(list)
for op in OURS:
    if ">>>" in op.doc:
        DOCUMENTED[op.file].append(op)


@pytest.mark.parametrize("file", DOCUMENTED)
def test_examples(file):
    runner, report = doctest.DocTestRunner(optionflags=FLAGS), []
    for op in DOCUMENTED[file]:
        runner.run(doctest.DocTestParser().get_doctest(op.doc, {}, op.qualname, file, 0), out=report.append)
    assert not runner.failures, "".join(report)


def test_every_op_is_documented():
    missing = [op.qualname for op in OURS if not op.doc]
    assert not missing, f"ops without a docstring: {', '.join(missing)}"

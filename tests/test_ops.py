"""The op table: every op on every axis. One test an op, so that what its axes compile is shared; it lists every cell that fails.

The quick pass takes few samples an axis; `make conformance` takes them all, in every dtype and batching.
"""

import json
from pathlib import Path

import pytest

import functorch_lite
from functorch_lite.core.op import REGISTRY
from functorch_lite.testing import Counts, cells_of, load_table, run_cells
from functorch_lite.testing.cells import LIMIT

TABLE = load_table()
HOME = Path(functorch_lite.__file__).parent
FILES = {path.relative_to(HOME).as_posix() for path in HOME.rglob("*.py")}


@pytest.mark.parametrize("name", TABLE)
def test_op(name, record_property):
    check(name, record_property, thorough=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE)
def test_op_thoroughly(name, record_property):
    check(name, record_property, thorough=True)


def check(name, record_property, thorough):
    counts, failures = run_cells(TABLE[name], thorough=thorough)
    record_property("cells", json.dumps(counts.to_json()))
    if failures:
        text = "\n\n".join(map(str, failures))
        raise AssertionError(f"{len(failures)} of {counts.applicable} cells of {name} failed:\n\n{text}") from failures[0]


def test_every_op_has_a_row():
    ours = [name for name, op in REGISTRY.items() if op.file in FILES]  # tests declare others
    missing = [name for name in ours if name not in TABLE]
    assert not missing, f"{len(missing)} ops have no row in testing/samples: {', '.join(missing)}"


def test_few_cells_carry_a_reason():
    counts = Counts()
    for rows in TABLE.values():
        for cell in cells_of(rows):
            if cell.absent is not None:
                counts.absent[cell.absent] += 1
            elif cell.skipped is not None:
                counts.skipped[cell.row.op.qualname, cell.axis.name, cell.skipped] += 1
            else:
                counts.passed[cell.axis.name] += 1
    assert counts.share <= LIMIT, f"at most {LIMIT:.0%} of the applicable cells may carry a reason:\n{counts.report()}"

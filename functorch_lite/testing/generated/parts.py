"""What each composite is made of: the ops that one step of its decomposition records, for the samples of the op table."""

from __future__ import annotations

import json
from functools import lru_cache

from ...core.op import REGISTRY, Op
from ...decomp.table import decompositions
from ...transforms.make_fx import make_fx
from ..calls import Call
from ..table import TABLE, load_table

SAMPLES = 6  # of each row and dtype: they differ in branches of the decomposition


@lru_cache(maxsize=1)
def parts() -> dict[str, tuple[str, ...]]:
    """Composite -> the ops, by name. One whose samples cannot be recorded (its result depends on values) is left out."""
    load_table()
    ours = [REGISTRY[name] for name in sorted(TABLE) if not REGISTRY[name].file.startswith("testing")]
    return {op.qualname: found for op in ours if op.decompose is not None and (found := _parts(op))}


def text() -> str:
    """The table, a line an op."""
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(found)}" for name, found in parts().items())
    return f"{{\n{lines}\n}}\n"


def _parts(op: Op) -> tuple[str, ...]:
    seen: set[str] = set()
    for row in TABLE[op.qualname]:
        for dtype in row.dtypes[:1]:
            for sample in row.samples(dtype)[:SAMPLES]:
                seen.update(_recorded(op, Call(row, sample, dtype)))
    return tuple(sorted(seen))


def _recorded(op: Op, call: Call) -> set[str]:
    try:
        gm = make_fx(call, decompositions([op]))(*call.arrays)
    except (ValueError, TypeError, RuntimeError, IndexError):
        return set()  # a sample that only works on data
    targets = [getattr(n.target, "op", n.target) for n in gm.graph.nodes if n.op == "call_function"]
    return {t.qualname for t in targets if t.__class__ is Op}

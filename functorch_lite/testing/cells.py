"""Cells: which axis applies to which row in which dtype, why one does not, and the running and counting of them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator

import attrs

from ..core.dtype import DType
from .axes import AXES, Axis
from .calls import Call
from .table import REAL, Row, Sample, load_table

EVASIONS = ("unsupported", "not supported", "not implemented", "todo", "unknown", "broken", "fails")  # no structural reasons

LIMIT = 0.02  # of the applicable cells may carry a reason


@attrs.define(eq=False)
class Cell:
    """One axis of one row in one dtype: it runs on `samples`; or cannot exist, for the structural reason in `absent`; or could,
    and the row gives the reason in `skipped` why it does not."""

    row: Row
    axis: Axis
    dtype: DType
    samples: list[Sample]
    absent: str | None = None
    skipped: str | None = None

    def run(self, seed: int = 0, thorough: bool = False) -> None:
        for sample in self.samples:
            self.axis(self.row, sample, self.dtype, seed=seed, thorough=thorough)


@attrs.define
class Counts:
    """What became of cells: the applicable ones passed, failed, or carry a reason; the others are absent."""

    passed: Counter = attrs.field(factory=Counter)  # by axis
    failed: Counter = attrs.field(factory=Counter)
    skipped: Counter = attrs.field(factory=Counter)  # by (op, axis, reason)
    absent: Counter = attrs.field(factory=Counter)  # by reason

    @property
    def applicable(self) -> int:
        return self.passed.total() + self.failed.total() + self.skipped.total()

    @property
    def share(self) -> float:
        """The part of the applicable cells that carry a reason."""
        return self.skipped.total() / max(self.applicable, 1)

    def add(self, other: Counts) -> None:
        for name in ("passed", "failed", "skipped", "absent"):
            getattr(self, name).update(getattr(other, name))

    def report(self) -> str:
        """The counts and the reasons as text."""
        lines = [
            f"{self.applicable} applicable cells: {self.passed.total()} passed, {self.failed.total()} failed, "
            f"{self.skipped.total()} with a reason ({self.share:.2%}, at most {LIMIT:.0%}); {self.absent.total()} are absent by structure",
            "passed by axis: " + ", ".join(f"{name} {n}" for name, n in self.passed.items()),
        ]
        lines += [f"  absent {n:5d}  {reason}" for reason, n in self.absent.most_common()]
        reasons: dict[tuple, Counter] = {}
        for (op, axis, reason), n in self.skipped.items():
            reasons.setdefault((op, reason), Counter())[axis] += n
        lines += [f"  reason {by.total():5d}  {op}: {reason} ({', '.join(by)})" for (op, reason), by in sorted(reasons.items())]
        return "\n".join(lines)

    def to_json(self) -> dict:
        out = {name: dict(getattr(self, name)) for name in ("passed", "failed", "absent")}
        return out | {"skipped": [[*key, n] for key, n in self.skipped.items()]}

    @classmethod
    def from_json(cls, data: dict) -> Counts:
        skipped = Counter({tuple(key): n for *key, n in data["skipped"]})
        return cls(*(Counter(data[name]) for name in ("passed", "failed")), skipped, Counter(data["absent"]))


def check_reasons(row: Row) -> None:
    """The reasons of a row name axes and are structural."""
    for name, reason in row.skip.items():
        if name not in AXES:
            raise ValueError(f"{row.op.qualname}: skip names {name!r}, which is no axis; there are {', '.join(AXES)}")
        if not reason or any(word in reason.lower() for word in EVASIONS):
            raise ValueError(f"{row.op.qualname}: the reason to skip {name!r} must say what in the op forbids it, got {reason!r}")


def cells_of(rows: list[Row], thorough: bool = False) -> list[Cell]:
    """Every cell of an op's rows."""
    cells = [cell for row in rows for cell in _cells_of_row(row, thorough)]
    smooth = {cell.axis.name for cell in cells if cell.samples}
    for cell in cells:
        if not cell.samples and cell.absent is None and cell.skipped is None and cell.axis.name in smooth:
            cell.absent = KINKS
    return cells


KINKS = "a row of kinks and poles: no derivative there, another row has the other points"


def _cells_of_row(row: Row, thorough: bool) -> Iterator[Cell]:
    check_reasons(row)
    for axis in AXES.values():
        for dtype in (axis.all_dtypes if thorough else axis.dtypes)(row):
            reasons, applicable = [], set()
            for sample in row.samples(dtype):
                reason = axis.why_not(Call(row, sample, dtype))
                if reason is None:
                    applicable.add(sample.index)
                else:
                    reasons.append(reason)
            if not applicable and not reasons:
                raise AssertionError(f"{row.op.qualname}: the sampler gives no samples for {dtype}")
            if not applicable:
                yield Cell(row, axis, dtype, [], absent=reasons[0])
            elif axis.name in row.skip:
                yield Cell(row, axis, dtype, [], skipped=row.skip[axis.name])
            else:
                yield Cell(row, axis, dtype, axis.samples(row, dtype, thorough, only=applicable))


def run_cells(
    rows, *, axes=None, seed: int = 0, thorough: bool = False, clock: Counter | None = None
) -> tuple[Counts, list[AssertionError]]:
    """Runs the cells of an op's rows: what became of them, and the failures. ``clock`` collects CPU seconds by axis."""
    counts, failures = Counts(), []
    for cell in cells_of(rows, thorough):
        name = cell.axis.name
        if axes is not None and name not in axes:
            continue
        if cell.absent is not None:
            counts.absent[cell.absent] += 1
        elif cell.skipped is not None:
            counts.skipped[cell.row.op.qualname, name, cell.skipped] += 1
        else:
            start = time.process_time()
            try:
                if not cell.samples:
                    where = f"{cell.row.op.qualname}, axis {name}, {cell.dtype}"
                    raise AssertionError(f"{where}: no sample is differentiable: give one, or a structural reason in skip")
                cell.run(seed, thorough)
                counts.passed[name] += 1
            except AssertionError as error:
                counts.failed[name] += 1
                failures.append(error)
            if clock is not None:
                clock[name] += time.process_time() - start
    return counts, failures


def check_op(
    function, sampler: Callable | None = None, dtypes: tuple[DType, ...] = REAL, *, axes=None, thorough: bool = True, **options
) -> Counts:
    """Checks an op of your own (or one of ours) on every axis; raises AssertionError with all that failed.

    function: what calls the op (of `composite` or a family constructor). sampler: (rng, dtype) -> samples; left out, the op's
    rows in the table. axes: names, to run these only. options: those of `Row` (skip, tolerance, reference).

    >>> import functorch_lite as fl
    >>> from functorch_lite.testing import check_op, unary
    >>> check_op(fl.tanh, unary(-3, 3, shapes=((3,),)), axes=("value", "jvp", "vmap")).passed
    Counter({'value': 2, 'vmap': 2, 'jvp': 1})
    """
    rows = load_table().get(function.op.qualname, []) if sampler is None else [Row(function.op, sampler, dtypes, **options)]
    if not rows:
        raise ValueError(f"check_op: {function.op.qualname} has no row in the op table; give a sampler")
    unknown = [name for name in axes or () if name not in AXES]
    if unknown:
        raise ValueError(f"check_op: {unknown} are no axes; there are {', '.join(AXES)}")
    counts, failures = run_cells(rows, axes=axes, thorough=thorough)
    if failures:
        raise AssertionError(f"{len(failures)} of {counts.applicable} cells failed\n" + "\n".join(map(str, failures))) from failures[0]
    return counts

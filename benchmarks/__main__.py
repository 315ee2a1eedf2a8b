"""Every benchmark: `python -m benchmarks [--quick] [part of a name ...]` (or `make bench`, `make bench QUICK=1`).

Each file bench_*.py has rows; a process measures those of one file, by one malloc setting. A row that does not run says why.
Without --quick a second pass measures wall time on all cores, for information.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import pathlib
from collections.abc import Iterator, Sequence

import attrs
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from . import frame, report
from .frame import How, Row

HERE = pathlib.Path(__file__).parent
WIDTH = 190  # of the table, where it goes to a file


@attrs.frozen
class Batch:
    """Rows that one process measures."""

    module: str
    rows: Sequence[Row]
    how: How


def modules() -> list[str]:
    """The files that have rows."""
    return [f"{__package__}.{p.stem}" for p in sorted(HERE.glob("bench_*.py"))]


def batches(parts: Sequence[str], how: How, wall: bool, found: Sequence[str]) -> Iterator[Batch]:
    """What is to be run: rows whose name, or whose file's, has one of these parts (all of them, if there are none)."""
    for module in found:
        rows = importlib.import_module(module).ROWS
        chosen = [row for row in rows if not parts or any(part.lower() in f"{module} {row.name}".lower() for part in parts)]
        for setting in frame.MALLOC:
            if mine := [row for row in chosen if setting in row.malloc]:
                yield Batch(module, mine, attrs.evolve(how, malloc=setting))
                if wall and setting == "tuned":
                    yield Batch(module, mine, attrs.evolve(how, malloc=setting, wall=True, budget=how.budget / 3))


def run(batch: Batch) -> Iterator[list[dict]]:
    """The entries of each row, as they come; if the process dies, the rest have failed."""
    context = multiprocessing.get_context("spawn")
    mine, its = context.Pipe(duplex=False)
    process = context.Process(target=frame.serve, args=(its, batch.module, [row.name for row in batch.rows], batch.how))
    with environment({**({} if batch.how.wall else frame.ONE_THREAD), **frame.MALLOC[batch.how.malloc]}):
        process.start()
    its.close()
    left = list(batch.rows)
    try:
        while left:
            entries = mine.recv()
            left.pop(0)
            yield entries
    except EOFError:
        process.join()
        for row in left:
            reason = f"the process that measures it ended with exit code {process.exitcode}"
            yield [frame.failed(row, rival, {**row.conditions, **frame.setting(batch.how)}, reason) for rival in row.rivals]
    process.join()


class environment:
    """Inside the block, environment variables have these values; a malloc setting that was there is no part of an untuned run."""

    def __init__(self, values: dict[str, str]):
        self.values = values

    def __enter__(self):
        self.before = dict(os.environ)
        os.environ.pop("GLIBC_TUNABLES", None)
        os.environ.update(self.values)

    def __exit__(self, *error):
        os.environ.clear()
        os.environ.update(self.before)


def collect(plan: Sequence[Batch], console: Console) -> list[dict]:
    """Runs the batches with a bar; wall times go beside the CPU times that they belong to."""
    entries: dict[tuple, dict] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=sum(len(batch.rows) for batch in plan))
        for batch in plan:
            names = iter([*[row.name for row in batch.rows[1:]], ""])
            progress.update(task, description=batch.rows[0].name)
            for found in run(batch):
                progress.update(task, advance=1, description=next(names))
                for e in found:
                    if batch.how.malloc == "untuned":
                        e["row"] += ", malloc untuned"
                    if not batch.how.wall:
                        entries[e["row"], e["rival"]] = e
                    elif e["ratio"] is not None:
                        ours = entries[e["row"], e["rival"]]["conditions"]
                        ours["wall"] = {k: e[k] for k in ("ratio", "low", "high")} | {"clock": e["conditions"]["clock"]}
    return list(entries.values())


def main(arguments: Sequence[str] | None = None, found: Sequence[str] | None = None) -> list[dict]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", help="parts of names of rows or files; without any, all run")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, no wall times: under five minutes")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "out")
    options = parser.parse_args(arguments)
    found = modules() if found is None else found
    plan = list(batches(options.parts, frame.QUICK if options.quick else How(), not options.quick, found))
    if not plan:
        parser.error(f"no row or file has {' or '.join(options.parts)} in its name; files: {', '.join(found)}")
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    entries = collect(plan, console)
    report.write(options.out, entries)
    console.print(report.table(entries))
    console.print(f"figures: {options.out / 'bench.json'}; picture: {options.out / 'bench.png'}")
    return entries


if __name__ == "__main__":
    main()

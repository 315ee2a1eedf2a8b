"""PyTorch's operator database against functorch_lite.torch: `python -m conformance HARNESS --python PYTHON` (or
`make conformance CONFORM=HARNESS TORCH_PYTHON=PYTHON`).

HARNESS is the folder of the harness (it has `conform.py`), which is no part of this repository; PYTHON an interpreter that has torch, jax,
and what else the harness names in its requirements.txt. Shards run beside each other, one a core, and go on from where an earlier
run was stopped with `--resume`. What was found goes to conformance/out/ops.json, and the page of it to docs/conformance.md if the run
was of the whole database.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import threading
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from . import report

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent
AXES = "forward errors backward jvp vmap vmapgrad compile make_fx variants".split()
ONE_THREAD = {"OMP_NUM_THREADS": "1", "FUNCTORCH_LITE_COMPILE": "quick"}


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options; ends with a message that says what to do if there is no harness or no torch."""
    parser = argparse.ArgumentParser(
        prog="python -m conformance", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("harness", nargs="?", default="", help="the folder that has conform.py")
    parser.add_argument("--python", default="", help="an interpreter that has torch (default: this one)")
    parser.add_argument("--samples", type=int, default=8, metavar="K", help="samples of each op and axis")
    parser.add_argument("--axes", default=",".join(AXES), help="some of: " + ", ".join(AXES))
    parser.add_argument("--ops", default="", metavar="REGEX", help="only these ops; no page is written")
    parser.add_argument("--shards", type=int, default=2, help="processes beside each other")
    parser.add_argument("--resume", action="store_true", help="go on with a run that was stopped")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "out")
    options = parser.parse_args(arguments)
    options.python = os.path.abspath(options.python) if os.sep in options.python else options.python or sys.executable
    script = pathlib.Path(options.harness or ".") / "conform.py"
    if not options.harness or not script.exists():
        parser.exit(
            2,
            f"conformance: {script} does not exist. The harness is no part of this repository: give the folder that has conform.py, as in\n"
            "    make conformance CONFORM=path/to/conform TORCH_PYTHON=path/to/python\n",
        )
    if subprocess.run([options.python, "-c", "import torch"], capture_output=True).returncode:
        parser.exit(2, f"conformance: {options.python} has no torch: give an interpreter that has it (--python, or TORCH_PYTHON=)\n")
    options.script = script.resolve()
    return options


def command(options: argparse.Namespace, *more: str) -> list[str]:
    """How the harness is called."""
    axes = ["--samples", str(options.samples), "--checks", options.axes]
    return [options.python, str(options.script), *axes, *(["--ops", options.ops] if options.ops else []), *more]


def environment() -> dict[str, str]:
    """That of the harness: one thread each, and this library on the path."""
    return os.environ | ONE_THREAD | {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}


def run(options: argparse.Namespace, console: Console) -> list[pathlib.Path]:
    """Runs the shards with a bar; the files of what they found."""
    how = {"env": environment(), "cwd": options.out, "text": True}
    listed = subprocess.run(command(options, "--list"), capture_output=True, **how)
    if listed.returncode:
        raise SystemExit(f"conformance: the harness does not list its ops:\n{listed.stderr[-2000:]}")
    files = [options.out / f"shard{i}.json" for i in range(options.shards)]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=len(listed.stdout.splitlines()))
        processes = []
        for i, file in enumerate(files):
            more = ["--shard", f"{i}/{options.shards}", "--json", str(file), "--verbose", *(["--resume"] if options.resume else [])]
            process = subprocess.Popen(command(options, *more), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **how)
            reader = threading.Thread(target=_follow, args=(process, progress, task, options.out / f"shard{i}.log"))
            reader.start()
            processes.append((process, reader))
        try:
            for process, reader in processes:
                reader.join()
                process.wait()
        except KeyboardInterrupt:
            for process, _ in processes:
                process.terminate()
            raise SystemExit("conformance: stopped; --resume goes on from here") from None
    if failed := [f"shard {i} ended with exit code {p.returncode}, see its log" for i, (p, _) in enumerate(processes) if p.returncode]:
        raise SystemExit("conformance: " + "; ".join(failed))
    return files


def _follow(process, progress: Progress, task, log: pathlib.Path) -> None:
    """Advances the bar by the lines that the harness prints, one an op, and keeps them."""
    with log.open("w") as kept:
        for line in process.stdout:
            kept.write(line)
            words = line.split()
            if len(words) > 1 and any("=" in word for word in words[1:]):
                progress.update(task, advance=1, description=f"{words[0]:<44.44}")


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    console = Console() if Console().is_terminal else Console(width=150)
    entries = report.merged(run(options, console), options.out / "ops.json")
    axes = [a for a in AXES if a in options.axes.split(",")]
    console.print(report.summary(entries, axes))
    if not options.ops:
        page = ROOT / "docs" / "conformance.md"
        page.write_text(report.page(entries, axes, options.samples))
        console.print(f"the page: {page}; all that was found: {options.out / 'ops.json'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

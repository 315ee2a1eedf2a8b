"""Runs every benchmark, each in a process of its own: `python -m benchmarks [part of a name ...]`."""

import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).parent
found = sorted(p.stem for p in here.glob("bench_*.py"))
chosen = [name for name in found if not sys.argv[1:] or any(part in name for part in sys.argv[1:])]
if not chosen:
    sys.exit(f"no benchmark {' or '.join(sys.argv[1:])} in {here}; there are: {', '.join(found) or 'none'}")
failed = []
for name in chosen:
    print(f"== {name}", flush=True)
    if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], cwd=here.parent, check=False).returncode:
        failed.append(name)
if failed:
    sys.exit(f"failed: {', '.join(failed)}")

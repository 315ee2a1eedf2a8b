"""Runs the notebooks and keeps what they show, after a change to them or to what they print: ``python -m notebooks [name ...]``."""

from __future__ import annotations

import pathlib
import sys

import nbformat
from nbclient import NotebookClient

HERE = pathlib.Path(__file__).parent


def executed(path: pathlib.Path):
    """A notebook, run from the top in a kernel of its own. Raises CellExecutionError where a cell does."""
    notebook = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(HERE.parent)}}
    NotebookClient(notebook, resources=where, record_timing=False, coalesce_streams=True, kernel_name="python3").execute()
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
    return notebook


if __name__ == "__main__":
    for path in [HERE / name for name in sys.argv[1:]] or sorted(HERE.glob("*.ipynb")):
        print(path.name, flush=True)
        nbformat.write(executed(path), path)

"""Every claim of the README, of CONTRIBUTING and of the porting page runs."""

import doctest
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import functorch_lite as fl

ROOT = pathlib.Path(__file__).parent.parent


@pytest.mark.parametrize("page, examples", [("README.md", 15), ("docs/porting.md", 15)])
def test_the_examples_of_a_page(page, examples):
    found = doctest.testfile(str(ROOT / page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert found.attempted > examples and found.failed == 0


def test_a_pytorch_program_runs_unchanged(tmp_path):
    """The README's PyTorch program, with PyTorch's own import line, under the command that the README gives."""
    text = (ROOT / "README.md").read_text()
    command = re.search(r"`python (-m functorch_lite\.torch) script\.py`", text).group(1)
    block = next(b for b in re.findall(r"```pycon\n(.*?)```", text, re.S) if "functorch_lite.torch" in b)
    program = "".join(e.source for e in doctest.DocTestParser().get_examples(block))
    assert program.count("import functorch_lite.torch as torch") == 1
    script = tmp_path / "script.py"
    script.write_text(
        program.replace("import functorch_lite.torch as torch", "import torch") + "print(type(model).__module__, losses[-1] < first)"
    )
    how = {"env": os.environ | {"PYTHONPATH": str(ROOT)}, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, *command.split(), str(script)], **how)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["functorch_lite.nn.modules.container", "True"]


def test_contributing_adds_an_op():
    """The worked example, run as it stands with the imports of the files it belongs to."""
    from functorch_lite.core.array import Array
    from functorch_lite.core.op import REGISTRY
    from functorch_lite.testing import gradcheck
    from functorch_lite.testing.table import TABLE

    head = """
from __future__ import annotations
import numpy as np
from jax import lax
from functorch_lite import prims
from functorch_lite.core.op import Tensor, composite
from functorch_lite.prims.families import FLOATING, elementwise
from functorch_lite.refs.promotion import float_of
from functorch_lite.testing.table import row, unary
"""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.S)
    assert len(blocks) == 3
    space: dict = {"__name__": "functorch_lite.contributing"}
    try:
        exec(compile(head + "\n".join(blocks), "CONTRIBUTING.md", "exec", dont_inherit=True), space)
        f = space["user_log_cosh"]
        x = fl.asarray(np.array([-300.0, -1.0, 0.5, 20.0]))
        np.testing.assert_allclose(f(x).numpy(), np.logaddexp(x.numpy(), -x.numpy()) - np.log(2))
        assert x.log_cosh().shape == (4,) and "prims.log_cosh" in TABLE
        assert gradcheck(f, (x,))
        np.testing.assert_allclose(fl.jit(fl.vmap(fl.grad(f)))(x).numpy(), np.tanh(x.numpy()))
    finally:
        for name in ("prims.log_cosh", "fl.log_cosh"):
            REGISTRY.pop(name, None)
        TABLE.pop("prims.log_cosh", None)
        if "log_cosh" in vars(Array):
            del Array.log_cosh

"""python -m functorch_lite.torch runs programs that say `import torch`, unchanged."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

TRAIN = """
import sys
from pathlib import Path

import helper
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.func import grad
from torch.nn.functional import relu
from torch.optim.lr_scheduler import StepLR
from torch.utils._pytree import tree_map

assert __name__ == "__main__" and sys.argv == [str(Path(__file__)), "--lr", "0.1"], sys.argv
import functorch_lite.torch
assert torch is functorch_lite.torch and torch.nn is nn and sys.modules["torch.nn.functional"] is F
assert torch.__spec__.name == "functorch_lite.torch" and F.__spec__.name == "functorch_lite.torch.nn.functional"


def main():
    assert sys.modules["__main__"].main is main
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    optimizer = optim.SGD(model.parameters(), lr=float(sys.argv[2]))
    x = torch.randn(64, 3)
    y = x.sum(1, keepdim=True)
    for _ in range(50):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    print("loss", "small" if loss.item() < 1e-3 else loss.item(), helper.WORD)


main()
"""


def run(*arguments, cwd):
    """(exit status, output, errors) of python -m functorch_lite.torch."""
    command = [sys.executable, "-m", "functorch_lite.torch", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "helper.py").write_text("import torch\nWORD = f'with {torch.ones(2).sum().item()}'\n")
    return tmp_path


def test_a_script(folder, tmp_path_factory):
    """Its folder is on the path, wherever it is started."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    assert run(folder / "train.py", "--lr", "0.1", cwd=elsewhere) == (0, "loss small with 2.0\n", "")


def test_a_module_and_a_command(folder):
    assert run("-m", "train", "--lr", "0.1", cwd=folder) == (0, "loss small with 2.0\n", "")
    code = "import sys, torch; print(sys.argv, __name__, torch.ones(2).sum().item()); sys.exit(3)"
    assert run("-c", code, "a", "-b", cwd=folder) == (3, "['-c', 'a', '-b'] __main__ 2.0\n", "")


def test_what_is_not_there_is_named(folder):
    status, _, errors = run("-c", "import torch.no_such_module", cwd=folder)
    assert status == 1 and errors.splitlines()[-1].startswith("ModuleNotFoundError: No module named 'torch.no_such_module': functorch_lite")
    code = """
import torch
try:
    from torch.no_such_module import thing
except ImportError as error:
    assert error.name == "torch.no_such_module"
try:
    torch.no_such_name
except AttributeError as error:
    assert "no_such_name" in str(error)
print("named")
"""
    assert run("-c", code, cwd=folder) == (0, "named\n", "")


def test_bad_command_lines(folder):
    status, usage, _ = run(cwd=folder)
    assert status == 2 and "script.py" in usage
    assert run("--help", cwd=folder)[:2] == (0, usage)
    status, _, errors = run("missing.py", cwd=folder)
    assert status != 0 and "missing.py" in errors and "Traceback" not in errors
    status, _, errors = run("-c", cwd=folder)
    assert status != 0 and "-c needs an argument" in errors


def test_errors_of_the_script_are_its_own(folder):
    (folder / "bad.py").write_text("import torch\n\n\ndef f():\n    raise ValueError('mine')\n\n\nf()\n")
    status, _, errors = run("bad.py", cwd=folder)
    assert status == 1 and errors.rstrip().endswith("ValueError: mine") and 'bad.py", line 8' in errors

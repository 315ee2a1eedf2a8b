"""The runner of the conformance harness, on a harness made up here."""

import json
import os
import sys

import pytest

from conformance import __main__ as runner
from conformance import report

HARNESS = """
import json, sys
args = sys.argv[1:]
ops = {"add": ("torch", "pass", "pass"), "sub": ("torch", "fail", "skip"), "linalg.inv": ("linalg", "missing", "skip")}
if "--list" in args:
    print("\\n".join(f"{name}\\t{name}" for name in ops))
    sys.exit()
i, n = map(int, args[args.index("--shard") + 1].split("/"))
if "crash" in args:
    sys.exit(3)
entries = {}
for name, (group, *found) in list(ops.items())[i::n]:
    checks = {}
    for axis, status in zip(("forward", "jvp"), found):
        checks[axis] = {"status": status} | ({"reason": "a|b", "ok": 1, "total": 2} if status == "fail" else {})
    entries[name] = {"checks": checks, "group": group, "path": name}
    print(name, " ".join(f"{a}={c['status']}" for a, c in checks.items()))
json.dump({"meta": {"argv": args}, "entries": entries}, open(args[args.index("--json") + 1], "w"))
"""


@pytest.fixture
def harness(tmp_path, monkeypatch):
    (tmp_path / "conform.py").write_text(HARNESS)
    (tmp_path / "torch.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH")))))
    return tmp_path


def test_shards_are_run_and_merged(harness, capsys):
    assert runner.main([str(harness), "--ops", ".", "--axes", "forward,jvp", "--samples", "3", "--out", str(harness / "out")]) == 0
    body = json.loads((harness / "out" / "ops.json").read_text())
    assert list(body["entries"]) == ["add", "linalg.inv", "sub"] and "--samples" in body["meta"]["argv"]
    assert (harness / "out" / "shard0.log").read_text().split()[0] == "add"
    shown = capsys.readouterr().out
    assert "3/3" in shown  # the bar has seen each op
    assert {tuple(line.replace("│", " ").split()) for line in shown.splitlines()} >= {("torch", "1/2", "1/1"), ("all", "1/3", "1/1")}


def test_the_page():
    entries = {
        "add": {"group": "torch", "checks": {"forward": {"status": "pass"}, "jvp": {"status": "pass"}}},
        "sub|x": {"group": "torch", "checks": {"forward": {"status": "fail", "reason": "a|b\n<c>", "ok": 1, "total": 2}}},
        "mul": {"group": "other", "checks": {"jvp": {"status": "fail", "reason": "all", "total": 2}}},
    }
    text = report.page(entries, ["forward", "jvp"], 8)
    assert (
        "| share | 50.0% | 50.0% |" in text
        and "- `mul`, jvp: all (0 of 2 samples pass)" in text
        and "| `add` | ✓ | ✓ |" in text
        and "| `sub\\|x` | ✗ |  |" in text
    )
    assert "- `sub|x`, forward: a\\|b &lt;c> (1 of 2 samples pass)" in text and text == report.page(entries, ["forward", "jvp"], 8)


def test_without_a_harness_or_torch_it_says_what_to_do(tmp_path, capsys, harness):
    with pytest.raises(SystemExit) as stop:
        runner.main([])
    assert stop.value.code == 2 and "make conformance CONFORM=path/to/conform TORCH_PYTHON=path/to/python" in capsys.readouterr().err
    (harness / "torch.py").write_text("raise ImportError")
    with pytest.raises(SystemExit) as stop:
        runner.main([str(harness), "--python", sys.executable])
    assert stop.value.code == 2 and "has no torch" in capsys.readouterr().err


def test_a_shard_that_dies_is_no_success(harness):
    text = (harness / "conform.py").read_text()
    (harness / "conform.py").write_text(text.replace('"crash" in args', "True"))
    with pytest.raises(SystemExit, match="shard 0 ended with exit code 3"):
        runner.main([str(harness), "--ops", ".", "--axes", "forward", "--out", str(harness / "out")])

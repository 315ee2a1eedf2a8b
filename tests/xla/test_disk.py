"""Executables on disk: a second process loads what the first compiled; what is damaged or foreign is compiled anew."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import sys
    import jax
    from functorch_lite.xla import compile as compiling
    compiled = []
    real = compiling.disk.store
    compiling.disk._SECONDS = 0.0
    compiling.disk.store = lambda key, *rest: compiled.append(key) or real(key, *rest)
    lowered, lower_with = [], compiling.lower_with
    compiling.lower_with = lambda *args: lowered.append(args) or lower_with(*args)
    import functorch_lite.torch as torch
    from functorch_lite.torch import nn
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)
    @torch.compile
    def step(x):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss
    x = torch.arange(32.0).reshape(8, 4) / 32
    losses = [step(x).item() for _ in range(3)]
    print(sum("step" in line for line in [str(p) for p in step.programs]), len(lowered), len(compiled), *losses)
    assert jax.config.jax_compilation_cache_dir is None
"""


def start(place, program=PROGRAM) -> subprocess.Popen:
    env = {**os.environ, "FUNCTORCH_LITE_CACHE": str(place), "FUNCTORCH_LITE_COMPILE": ""}
    command = [sys.executable, "-c", textwrap.dedent(program)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def printed(process: subprocess.Popen) -> tuple[list[str], str]:
    out, error = process.communicate()
    assert process.returncode == 0, error
    return out.split(), error


def run(place, program=PROGRAM):
    return printed(start(place, program))


def damage(paths) -> None:
    for path in paths:
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)


def test_a_second_process_loads_what_the_first_compiled(tmp_path):
    place = tmp_path / "cache"
    (programs, lowered, made, *losses), _ = run(place)
    assert programs == "1" and int(lowered) >= int(made) >= 1
    entries = {p for p in place.iterdir() if p.name != "key"}
    links = {p for p in entries if p.stat().st_size < 200}
    assert len(entries - links) == int(made) == len(links) and (place / "key").stat().st_mode & 0o077 == 0
    (_, lowered, again, *same), _ = run(place)
    assert (lowered, again) == ("0", "0") and same == losses, "it neither lowers nor compiles"
    damage(links)
    (_, lowered, again, *same), warned = run(place)
    assert int(lowered) == int(made) and again == "0" and same == losses, "by the text, then"
    assert "damaged or not ours" in warned
    (_, lowered, again, *same), _ = run(place)
    assert (lowered, again) == ("0", "0") and same == losses, "the links are whole again"
    damage(entries)
    (_, _, anew, *same), warned = run(place)
    assert anew == made and same == losses and "damaged or not ours" in warned
    (place / "key").unlink()  # signed by somebody else
    (_, _, foreign, *same), _ = run(place)
    assert foreign == made and same == losses


def test_two_processes_at_once(tmp_path):
    place = tmp_path / "cache"
    both = [start(place), start(place)]
    (_, _, _, *losses), (_, _, _, *same) = [printed(p)[0] for p in both]
    assert losses == same
    (_, lowered, made, *same), warned = run(place)
    assert (lowered, made) == ("0", "0") and same == losses and "cache" not in warned


COUNTING = """
    from __future__ import annotations
    import functorch_lite as fl
    from functorch_lite.xla import compile as compiling
    compiling.disk._SECONDS = 0.0
    lowered, lower_with, compiled, store = [], compiling.lower_with, [], compiling.disk.store
    compiling.lower_with = lambda *args: lowered.append(args) or lower_with(*args)
    compiling.disk.store = lambda *args: compiled.append(args) or store(*args)
"""

USERS = """
    from functorch_lite.core.op import Tensor, composite
    @composite(namespace="user")
    def square(x: Tensor) -> Tensor:
        return x * x
    print(fl.jit(lambda x: square(x).sum())(fl.asarray([1.0, 2.0])).item(), len(lowered), len(compiled))
"""


def test_what_is_of_the_users_goes_by_its_text(tmp_path):
    assert run(tmp_path, COUNTING + USERS)[0] == ["5.0", "1", "1"]
    assert run(tmp_path, COUNTING + USERS)[0] == ["5.0", "1", "0"]
    assert run(tmp_path, COUNTING + USERS.replace("x * x", "x * x * x"))[0] == ["9.0", "1", "1"], "the same name, another program"


@pytest.mark.parametrize("setting", ["off", "0"])
def test_it_can_be_off(setting, tmp_path, monkeypatch):
    from functorch_lite.xla import disk

    monkeypatch.setenv("FUNCTORCH_LITE_CACHE", setting)
    assert disk.directory() is None and disk.load("0" * 64, 1, 1, None) is None and disk.linked("0" * 64) is None


def test_room_is_made_by_age(tmp_path, monkeypatch):
    from functorch_lite.xla import disk

    monkeypatch.setattr(disk, "_LIMIT", 250)
    for i in range(4):
        (tmp_path / f"entry{i}").write_bytes(b"x" * 100)
        os.utime(tmp_path / f"entry{i}", (i, i))
    (tmp_path / "key").write_bytes(b"k" * 100)
    disk._make_room(tmp_path, 100)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["entry3", "key"]


CHECKED = """
    f, x, i = lambda x, i: x[i] * 2, fl.ones(3), fl.asarray(5)
    fl.jit(f)(x, i).block_until_ready()
    for g in fl.checked(f), f:
        try:
            g(x, i).block_until_ready()
        except IndexError as error:
            print(type(error).__name__)
"""


def test_checks_are_made_whatever_lies_there(tmp_path):
    """A program without its checks of data is another; one that has any is never taken without lowering it."""
    for _ in range(2):
        assert run(tmp_path, COUNTING + CHECKED)[0] == ["IndexError", "IndexError"]


LOOP = """
    with fl.eager("whole"):
        x = fl.asarray([1.0, 2.0])
        for _ in range(3):
            x = (x * 2 + 1).sin()
            print(x.tolist())
    print(fl.eager_stats().compiles, len(lowered))
"""


def test_eager_programs_too(tmp_path):
    *losses, compiles, lowered = run(tmp_path, COUNTING + LOOP)[0]
    assert compiles == "1" and int(lowered) >= 1
    assert run(tmp_path, COUNTING + LOOP)[0] == [*losses, "1", "0"]


SOLVING = """
    from functorch_lite.xla import compile as compiling
    lowered, lower_with = [], compiling.lower_with
    compiling.disk._SECONDS = 0.0
    compiling.lower_with = lambda *args: lowered.append(args) or lower_with(*args)
    import numpy as np
    import functorch_lite as fl
    found = np.asarray(fl.jit(fl.linalg.solve)(fl.asarray([[2.0, 0.0], [0.0, 4.0]]), fl.asarray([[2.0], [2.0]])))
    print(len(lowered), *found.ravel())
"""


def test_a_loaded_program_finds_lapack(tmp_path):
    """Whose functions jaxlib looks up when it lowers a call of them, which a process that only loads never does."""
    (first, *solution), _ = run(tmp_path, SOLVING)
    (second, *again), _ = run(tmp_path, SOLVING)
    assert int(first) > int(second) == 0 and solution == again == ["1.0", "0.5"]

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
    print(len(compiled), end=" ")
    losses = [step(x).item() for _ in range(3)]
    print(sum("step" in line for line in [str(p) for p in step.programs]), len(compiled), *losses)
    assert jax.config.jax_compilation_cache_dir is None
"""


def run(place, compile="") -> list[str]:
    env = {**os.environ, "FUNCTORCH_LITE_CACHE": str(place), "FUNCTORCH_LITE_COMPILE": compile}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM)], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


def test_a_second_process_loads_what_the_first_compiled(tmp_path):
    place = tmp_path / "cache"
    (_, programs, made, *losses), _ = run(place)
    assert programs == "1" and int(made) >= 1
    entries = {p for p in place.iterdir() if p.name != "key"}
    assert len(entries) == int(made) and (place / "key").stat().st_mode & 0o077 == 0
    (_, _, again, *same), _ = run(place)
    assert again == "0" and same == losses
    for path in entries:  # damaged
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
    (_, _, anew, *same), warned = run(place)
    assert anew == made and same == losses and "damaged or not ours" in warned
    (place / "key").unlink()  # signed by somebody else
    (_, _, foreign, *same), _ = run(place)
    assert foreign == made and same == losses


@pytest.mark.parametrize("setting", ["off", "0"])
def test_it_can_be_off(setting, tmp_path, monkeypatch):
    from functorch_lite.xla import disk

    monkeypatch.setenv("FUNCTORCH_LITE_CACHE", setting)
    assert disk.directory() is None and disk.load("0" * 64, 1, 1, None) is None


def test_room_is_made_by_age(tmp_path, monkeypatch):
    from functorch_lite.xla import disk

    monkeypatch.setattr(disk, "_LIMIT", 250)
    for i in range(4):
        (tmp_path / f"entry{i}").write_bytes(b"x" * 100)
        os.utime(tmp_path / f"entry{i}", (i, i))
    (tmp_path / "key").write_bytes(b"k" * 100)
    disk._make_room(tmp_path, 100)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["entry3", "key"]

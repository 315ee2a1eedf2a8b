"""The benchmarks' frame on made-up sides, and that all sides of each model compute the same, at tiny sizes."""

import functools
import importlib
import json
import subprocess
import sys

import numpy as np
import pytest

import functorch_lite.torch
from benchmarks import __main__ as bench
from benchmarks import formulas, frame, models, naive, report
from benchmarks.frame import Given, How, NotThere, Rival, Row, Side
from benchmarks.trees import mapped, named

FAST = How(budget=0.01, sample=1e-4, rounds=(3, 5))


def gives(seconds, **results):
    """What makes a side that takes so many seconds, as it says, and reports these results."""
    return lambda: Given(seconds, lambda: {name: np.asarray(x) for name, x in results.items()})


def row(ours, *rivals):
    return Row("a row", ours, [Rival(f"rival {i}", side, reach) for i, (side, reach) in enumerate(rivals)], {"batch": 3})


# -------------------------------------------------------------------------------------------------------------------- the frame


def test_ratios_are_ours_by_theirs():
    entries = frame.measure(row(gives(2e-3, loss=1.0), (gives(4e-3, loss=1.0), 0.4), (gives(1e-3, loss=1.00005), 2.0)), FAST)
    assert [(e["row"], e["rival"], e["reach"], e["ok"]) for e in entries] == [
        ("a row", "rival 0", 0.4, False),
        ("a row", "rival 1", 2.0, True),
    ]
    for e, ratio in zip(entries, (0.5, 2.0)):
        assert e["low"] == e["ratio"] == e["high"] == ratio
    c = entries[0]["conditions"]
    assert c["batch"] == 3 and c["ours"] == 2e-3 and c["theirs"] == 4e-3
    assert c["versions"]["jax"] and c["rounds"] >= 3 and c["apart from rival 1"] == pytest.approx(5e-5, rel=1e-3)


def test_median_and_percentiles():
    ours, theirs = np.arange(1.0, 102.0), np.full(101, 2.0)
    e = frame.entry(row(None), Rival("x", None, 25.0), {}, ours, theirs)
    assert (e["low"], e["ratio"], e["high"], e["ok"]) == (3.0, 25.5, 48.0, False)


def test_at_one_the_low_end_counts():
    assert frame.passes(1.05, 0.99, 1.0) and not frame.passes(1.05, 1.01, 1.0)
    assert frame.passes(0.75, 0.7, 0.75) and not frame.passes(0.76, 0.7, 0.75)


def test_sides_take_turns():
    order = []
    turn = lambda name: Side(lambda: order.append(name))
    times = frame.take_turns([turn("a"), turn("b"), turn("c")], How(budget=0, sample=0, rounds=(3, 5)))
    assert times.shape == (3, 3) and (times >= 0).all()
    assert "".join(order) == "aabbcc" + "abc" + "bca" + "cab"  # each is warmed and tried first


def test_what_differs_is_not_timed():
    def never():
        raise AssertionError("timed")

    different = lambda: Side(never, lambda: {"loss": np.array(1.001)})
    ours = lambda: Side(never, lambda: {"loss": np.array(1.0)})
    (e,) = frame.measure(row(ours, (different, 1.0)), FAST)
    assert e["ratio"] is None and not e["ok"] and "differ by 1.0e-03 in loss" in e["conditions"]["reason"]
    (e,) = frame.measure(row(lambda: Side(never), (lambda: Side(never), 1.0)), FAST)
    assert "nothing was compared" in e["conditions"]["reason"]


def test_what_cannot_run_says_why():
    def missing():
        raise NotThere("a wheel")

    def no_torch():
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    good = gives(1e-3, loss=1.0)
    one, two = frame.measure(row(good, (no_torch, 1.0), (good, 1.0)), FAST)
    assert not one["ok"] and "torch is not installed" in one["conditions"]["reason"] and two["ok"]
    both = frame.measure(row(missing, (good, 1.0), (good, 1.0)), FAST)
    assert [e["conditions"]["reason"] for e in both] == ["ours: not there yet: a wheel"] * 2 and not any(e["ok"] for e in both)


def test_apart():
    a = {"loss": np.array(2.0), "g": np.array([3.0, 4.0])}
    assert frame.apart(a, a) == (0.0, "")
    assert frame.apart(a, {**a, "g": np.array([3.0, 5.0])}) == (pytest.approx(1 / 34**0.5), "g")
    assert not frame.apart({"g": np.array(np.nan)}, {"g": np.array(1.0)})[0] <= 1
    assert frame.apart({"g": np.array(1.0)}, {"g": np.array(0.0)})[0] == np.inf
    with pytest.raises(AssertionError, match=r"\['g'\]"):
        frame.apart(a, {"loss": np.array(2.0)})
    with pytest.raises(AssertionError, match="shape"):
        frame.apart(a, {**a, "g": np.zeros((2, 1))})


ROWS = """
import os
from benchmarks.frame import Given, Rival, Row
good = lambda: Given(1e-3)
ROWS = [
    Row("first", good, [Rival("r", lambda: Given(2e-3), 0.6)], agree=False, malloc=("tuned", "untuned")),
    Row("dies", lambda: os._exit(3), [Rival("r", good, 1.0)]),
    Row("after", good, [Rival("r", good, 1.0)], agree=False),
]
"""


def test_the_command_measures_in_processes_and_writes(tmp_path, monkeypatch, capsys):
    (tmp_path / "rows_of_a_test.py").write_text(ROWS)
    monkeypatch.syspath_prepend(tmp_path)
    out = tmp_path / "out"
    entries = bench.main(["--quick", "--out", str(out)], ["rows_of_a_test"])
    assert entries == json.loads((out / "bench.json").read_text())
    assert (out / "bench.png").stat().st_size > 5_000
    found = {e["row"]: e for e in entries}
    assert list(found) == ["first", "dies", "after", "first, malloc untuned"]
    assert found["first"]["ratio"] == 0.5 and found["first"]["ok"] and found["first, malloc untuned"]["ok"]
    assert (
        "GLIBC_TUNABLES" in found["first"]["conditions"]["malloc"] and found["first, malloc untuned"]["conditions"]["malloc"] == "untuned"
    )
    for name in ("dies", "after"):
        assert not found[name]["ok"] and "exit code 3" in found[name]["conditions"]["reason"]
    assert "missed" not in capsys.readouterr().out
    assert report.table(entries).row_count == 4
    with pytest.raises(SystemExit):
        bench.main(["no such row"], ["rows_of_a_test"])


def test_tables_of_rows():
    rows = [r for module in bench.modules() for r in importlib.import_module(module).ROWS]
    assert len({r.name for r in rows}) == len(rows)
    for r in rows:
        assert r.rivals and set(r.malloc) <= set(frame.MALLOC)
        assert all(0 < rival.reach <= 1.5 for rival in r.rivals), r.name


def test_tables_import_no_library():
    """A process is pinned, and its malloc and threads are set, before jax or torch begins; a missing one costs its rows only."""
    code = f"import sys, importlib; [importlib.import_module(m) for m in {bench.modules()}]; print([m for m in ('jax', 'torch') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=bench.HERE.parent, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ------------------------------------------------------------------------------------------------------- all sides compute the same

STAGES = ((3, 8, 1), (8, 16, 2))
SIZES = {"layers": 2, "heads": 2}
TINY = {
    "gpt": (models.Task(lambda t: models.gpt(t, 11, 6, 8, **SIZES), models.tokens(2, 6, 11)), functools.partial(naive.gpt, **SIZES)),
    "cnn": (models.Task(lambda t: models.cnn(t, stages=STAGES), models.classes(4, 3, 8, 8)), functools.partial(naive.cnn, stages=STAGES)),
    "cnn, group norm": (
        models.Task(lambda t: models.cnn(t, "group", STAGES), models.classes(4, 3, 8, 8)),
        functools.partial(naive.cnn, norm=naive.group_norm, stages=STAGES),
    ),
    "mlp": (models.Task(lambda t: models.mlp(t, (6, 7, 8, 10)), models.classes(4, 6)), naive.mlp),
    "small": (models.Task(lambda t: models.mlp(t, (6, 7, 8, 1), "Tanh"), models.values(4, 6, 1), "mse_loss"), naive.small),
}


def agree(ours, theirs):
    distance, name = frame.apart(ours.check(), theirs.check())
    assert distance <= frame.TOLERANCE, name


@pytest.mark.parametrize("name", TINY)
def test_jax_takes_our_steps(name):
    task, loss = TINY[name]
    agree(models.trained(functorch_lite.torch, task, "step"), naive.trained(task, loss))


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("compile", ["step", "model", "nothing"])
def test_torch_takes_our_steps(name, compile):
    torch = pytest.importorskip("torch")
    task, _ = TINY[name]
    agree(models.trained(functorch_lite.torch, task, compile), models.trained(torch, task))


@pytest.mark.parametrize("hoist", [False, True])
def test_the_scans_are_torch_s_lstm(hoist):
    torch = pytest.importorskip("torch")
    shapes = {name: tuple(p.shape) for name, p in models.lstm(torch, 5, 2).named_parameters()}

    class Task(models.Task):
        def weights(self, seed=0):  # by torch's shapes: our own nn may not have an LSTM
            rng = np.random.default_rng(seed)
            return {name: models._draw(rng, name, shape) for name, shape in shapes.items()}

    task = Task(lambda t: models.lstm(t, 5, 2), models.classes(3, 4, 5))
    agree(naive.trained(task, functools.partial(naive.lstm, hoist=hoist)), models.trained(torch, task))


def test_formulas_agree():
    import jax
    import jax.numpy as jnp

    import functorch_lite as fl

    model = formulas.Transformer(layers=1, width=8, heads=2, length=4, batch=2, vocabulary=7)
    arguments = (model.parameters(), *model.data())
    ours = fl.grad(model.loss(fl))(*mapped(fl.asarray, arguments))
    theirs = jax.grad(model.loss(jnp))(*mapped(jnp.asarray, arguments))
    assert frame.apart(named(ours), named(theirs))[0] <= frame.TOLERANCE

    widths = (3, 4, 1)
    vector = np.concatenate([x.ravel() for pair in formulas.small_parameters(widths) for x in pair])
    arguments = (vector, *formulas.small_data(5, 3))
    ours = fl.hessian(formulas.of_vector(fl, widths))(*mapped(fl.asarray, arguments))
    theirs = jax.hessian(formulas.of_vector(jnp, widths))(*mapped(jnp.asarray, arguments))
    assert frame.apart(named(ours), named(theirs))[0] <= frame.TOLERANCE
    assert len(np.concatenate([x.ravel() for pair in formulas.small_parameters(formulas.HESSIAN) for x in pair])) == 1000

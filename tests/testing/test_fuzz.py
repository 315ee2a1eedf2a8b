"""Random programs: made from their seed alone, in agreement with a rival, and able to find a fault."""

import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite.testing import fuzz
from functorch_lite.testing.rivals import Rival, ours, rivals


def test_a_seed_is_a_program():
    assert str(fuzz.program(5)) == str(fuzz.program(5)) != str(fuzz.program(6))
    assert all((x == y).all() for x, y in zip(fuzz.program(5).inputs, fuzz.program(5).inputs, strict=True))


def test_every_transform_and_many_families_are_drawn():
    programs = [fuzz.program(seed) for seed in range(400)]
    text = "\n".join(map(str, programs))
    assert {p.transform for p in programs} == set(fuzz.TRANSFORMS)
    assert all(
        f"T.{name}(" in text for name in ("vmap", "grad", "jvp", "vjp", "matmul", "where", "scatter_add", "sort", "linalg.solve", "F.pad")
    )


@pytest.mark.parametrize("start", range(0, 40, 10))
def test_programs_agree(start):
    report = fuzz.run(range(start, start + 10), rivals())
    print(f"seeds {start} to {start + 9}\n{report}")
    assert not report.found, report
    assert report.agreed >= 3


# Programs whose derivatives PyTorch 2.13 has wrong: forward mode over reverse mode over forward mode, through det and sort.
PYTORCH_DIFFERS = 931, 1472, 1532


@pytest.mark.parametrize("seed", PYTORCH_DIFFERS)
def test_ours_are_what_finite_differences_say(seed):
    print(f"seed {seed}")
    program = fuzz.program(seed)
    f, xs = program.function(ours("array")), [x.astype(np.float64) for x in program.inputs]
    which = tuple(range(len(xs)))
    given = [fl.asarray(x) for x in xs]
    for jacobians in (fl.jacrev(f, argnums=which)(*given), fl.jacfwd(f, argnums=which)(*given)):
        for k, jacobian in enumerate(map(np.asarray, jacobians)):
            for place in np.ndindex(xs[k].shape):
                step = np.zeros_like(xs[k])
                step[place] = 1e-6
                ahead, behind = (
                    np.asarray(f(*[fl.asarray(x + sign * step) if i == k else fl.asarray(x) for i, x in enumerate(xs)])) for sign in (1, -1)
                )
                scale = max(1.0, np.abs(jacobian).max())
                np.testing.assert_allclose(jacobian[(..., *place)] / scale, (ahead - behind) / 2e-6 / scale, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 2100, 50))
def test_two_thousand_programs_agree(start):
    report = fuzz.run([seed for seed in range(start, start + 50) if seed not in PYTORCH_DIFFERS], rivals())
    print(f"seeds {start} to {start + 49}\n{report}")
    assert not report.found, report


def test_a_fault_is_found():
    lib = ours("array")
    wrong = Rival("wrong", [lib], lib.array, lib.back, F=lib.F, sin=lambda x: fl.sin(x) * 1.001)
    report = fuzz.run(range(12), wrong)
    assert any("differs by" in text for text in report.found), report
    assert report.agreed  # where no sine is
    assert all("T.sin(" in text or "vmap(vmap)" in text for text in report.found)


def test_what_raises_is_found(monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("planted")

    lib = ours("array")
    rival = Rival("sound", [lib], lib.array, lib.back, F=lib.F, **{name: getattr(fl, name) for name in ("cos", "sum")})
    monkeypatch.setitem(lib.__dict__, "cos", broken)
    report = fuzz.run((s for s in range(30) if "T.cos(" in fuzz.program(s).source), rival)
    assert report.found and all("planted" in text for text in report.found)


def test_results_that_are_not_finite_are_left_out():
    lib = ours("array")
    rival = Rival("infinite", [lib], lib.array, lambda x: np.full_like(np.asarray(x), np.inf), F=lib.F)
    report = fuzz.run(range(3), rival)
    assert not report.found and report.skipped["the result is not finite"]

"""The frame of the benchmarks: what a row is, and how it is measured.

A row holds our side against its rivals'. All sides are made ready in one process on one core, must agree on loss and gradients,
and then take turns; each ratio is of two samples of one round. Only CPU time counts: it forgives whatever else the machine does.
"""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import math
import os
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence

import attrs
import numpy as np

TOLERANCE = 1e-4  # relative, of float32
TUNED = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184:glibc.malloc.arena_max=1"  # freed memory is kept, not unmapped
MALLOC = {"tuned": {"GLIBC_TUNABLES": TUNED}, "untuned": {}}
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}


class NotThere(Exception):
    """A row needs something that the library does not have yet."""


@attrs.frozen
class Side:
    """A contender made ready.

    `step` does the work once, `settle` waits for what it left running (which would be counted as the next side's), and `check`
    gives by name what all sides must agree on.
    """

    step: Callable[[], object]
    check: Callable[[], Mapping[str, np.ndarray]] = dict
    settle: Callable[[], object] = lambda: None

    def seconds(self, steps: int, clock: Callable[[], float]) -> float:
        """How long a step takes, by the clock, as the mean of some."""
        step, start = self.step, clock()
        for _ in range(steps):
            step()
        self.settle()
        return (clock() - start) / steps

    def steps(self, seconds: float, clock: Callable[[], float]) -> int:
        """How many steps make a sample of so many seconds."""
        self.seconds(1, clock)  # warm
        return max(1, math.ceil(seconds / max(self.seconds(1, clock), 1e-9)))


@attrs.frozen
class Elsewhere:
    """A contender that must start anew each time: a process of this Python, which prints what it measured, by CPU time and on the wall.

    ``warm``: a first run, which leaves bytecode and caches behind for the others, does not count. ``environment`` has variables of its own.
    """

    arguments: Sequence[str]
    warm: bool = False
    environment: Mapping[str, str] = {}
    check: Callable[[], Mapping[str, np.ndarray]] = dict

    def seconds(self, steps: int, clock: Callable[[], float]) -> float:
        """The mean over some processes; the clock says which of the numbers counts."""
        place = 0 if clock is time.process_time else 1
        return sum(self._once(place) for _ in range(steps)) / steps

    def steps(self, seconds: float, clock: Callable[[], float]) -> int:
        """One."""
        if self.warm:
            self._once(0)
        return 1

    def _once(self, place: int) -> float:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | dict(self.environment)
        done = subprocess.run([sys.executable, *self.arguments], env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(self.arguments)}: {(done.stderr.strip().splitlines() or ['no output'])[-1]}")
        return float(done.stdout.split()[place])


@attrs.frozen
class Given:
    """A contender that is a number: what one step may take, in seconds."""

    value: float
    check: Callable[[], Mapping[str, np.ndarray]] = dict

    def seconds(self, steps: int, clock: Callable[[], float]) -> float:
        """The number."""
        return self.value

    def steps(self, seconds: float, clock: Callable[[], float]) -> int:
        """One."""
        return 1


@attrs.frozen
class Rival:
    """Whom a row is measured against, and the ratio (our time by theirs) that we want to stay below."""

    name: str
    side: Callable[[], Side | Elsewhere | Given]
    reach: float


@attrs.frozen
class Row:
    """One line of the table. Sides are functions that make them, so that what one of them lacks costs that one only."""

    name: str
    ours: Callable[[], Side | Elsewhere]
    rivals: Sequence[Rival]
    conditions: Mapping[str, object] = {}
    malloc: Sequence[str] = ("tuned",)
    agree: bool = True  # whether the sides give results that can be compared
    rounds: int | None = None  # at least so many, instead of what is usual


@attrs.frozen
class How:
    """How long and by which clock to measure."""

    budget: float = 15.0  # seconds a row and rival, on the wall
    sample: float = 0.05  # seconds that a sample takes at least
    rounds: tuple[int, int] = (7, 101)
    wall: bool = False
    malloc: str = "tuned"

    @property
    def clock(self) -> Callable[[], float]:
        """The clock: CPU time of this process, all threads; or wall time."""
        return time.perf_counter if self.wall else time.process_time


QUICK = How(budget=0.6, sample=0.02, rounds=(3, 51))


def passes(ratio: float, low: float, reach: float) -> bool:
    """Whether a row reaches what it should. At 1.0, where both are as fast, noise decides which is ahead: there the low end counts."""
    return (low if reach == 1.0 else ratio) <= reach


def apart(ours: Mapping[str, np.ndarray], theirs: Mapping[str, np.ndarray]) -> tuple[float, str]:
    """The largest relative difference (of norms) between results of one name, and that name."""
    if ours.keys() != theirs.keys():
        raise AssertionError(f"the sides report different things: {sorted(ours.keys() ^ theirs.keys())}")
    worst = 0.0, ""
    for name, b in theirs.items():
        a, b = np.asarray(ours[name], np.float64), np.asarray(b, np.float64)
        if a.shape != b.shape:
            raise AssertionError(f"{name}: our shape is {a.shape}, the rival's {b.shape}")
        scale = float(np.linalg.norm(b))
        distance = float(np.linalg.norm(a - b))
        relative = distance / scale if scale else (0.0 if distance == 0 else math.inf)
        if not relative <= worst[0]:  # nan too
            worst = relative, name
    return worst


def measure(row: Row, how: How) -> list[dict]:
    """The entries of a row, one a rival: {row, rival, ratio, low, high, reach, ok, conditions}."""
    conditions, began = {**row.conditions, **setting(how)}, time.perf_counter()
    try:
        ours = row.ours()
        result = ours.check()
    except Exception as error:
        return [failed(row, rival, conditions, f"ours: {told(error)}") for rival in row.rivals]
    entries, ready = {}, {}
    for rival in row.rivals:
        try:
            side = rival.side()
            found = side.check()
            if row.agree:
                distance, name = apart(result, found)
                if not (found and distance <= TOLERANCE):
                    raise AssertionError(f"the sides differ by {distance:.1e} in {name or 'everything: nothing was compared'}")
                conditions[f"apart from {rival.name}"] = distance
            ready[rival] = side
        except Exception as error:
            entries[rival] = failed(row, rival, conditions, f"{rival.name}: {told(error)}")
    if ready:
        gc.collect()
        gc.freeze()  # what is there stays; collecting between samples is then cheap
        try:
            least, most = how.rounds
            times = take_turns([ours, *ready.values()], attrs.evolve(how, rounds=(row.rounds or least, most)))
            for rival, theirs in zip(ready, times[1:]):
                entries[rival] = entry(row, rival, conditions, times[0], theirs)
        except Exception as error:
            entries |= {rival: failed(row, rival, conditions, told(error)) for rival in ready}
        finally:
            gc.unfreeze()
    for e in entries.values():
        e["conditions"]["seconds in all"] = time.perf_counter() - began
    return [entries[rival] for rival in row.rivals]


def take_turns(sides: Sequence, how: How) -> np.ndarray:
    """Seconds a step, [side, round]: all sides run in each round, each round begins with another."""
    steps = [side.steps(how.sample, how.clock) for side in sides]
    (least, most), rounds = how.rounds, []
    end = time.perf_counter() + how.budget * (len(sides) - 1)
    while len(rounds) < least or (len(rounds) < most and time.perf_counter() < end):
        times = [0.0] * len(sides)
        for k in range(len(sides)):
            j = (len(rounds) + k) % len(sides)
            gc.collect()
            times[j] = sides[j].seconds(steps[j], how.clock)
        rounds.append(times)
    return np.array(rounds).T


def entry(row: Row, rival: Rival, conditions: Mapping, ours: np.ndarray, theirs: np.ndarray) -> dict:
    """What came of one pair of sides."""
    low, ratio, high = (float(q) for q in np.percentile(ours / theirs, [5, 50, 95]))
    medians = {"rounds": len(ours), "unit": "s", **conditions, "ours": float(np.median(ours)), "theirs": float(np.median(theirs))}
    ok = passes(ratio, low, rival.reach)
    head = {"row": row.name, "rival": rival.name, "ratio": ratio, "low": low, "high": high, "reach": rival.reach, "ok": ok}
    return {**head, "conditions": medians}


def failed(row: Row, rival: Rival, conditions: Mapping, reason: str) -> dict:
    """The entry of a row that did not run."""
    head = {"row": row.name, "rival": rival.name, "ratio": None, "low": None, "high": None, "reach": rival.reach, "ok": False}
    return {**head, "conditions": {**conditions, "reason": reason}}


def told(error: Exception) -> str:
    """An exception in a line; one that nobody expects is shown in full besides."""
    if isinstance(error, ModuleNotFoundError) and error.name == "torch":
        return "torch is not installed (pip install 'functorch_lite[rivals]')"
    if isinstance(error, NotThere) or (isinstance(error, AttributeError) and "functorch_lite" in str(error)):
        return f"not there yet: {error}"
    if not isinstance(error, (ImportError, AttributeError, AssertionError)):
        traceback.print_exception(error)
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


def setting(how: How) -> dict:
    """The conditions that all rows of a process share."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    clock = f"wall time, {cores} core(s)" if how.wall else "CPU time, one pinned core" if cores == 1 else "CPU time, not pinned"
    names = ("functorch_lite", "jax", "torch", "numpy")
    versions = {"python": platform.python_version()} | {name: version for name in names if (version := _version(name))}
    malloc = f"tuned: GLIBC_TUNABLES={TUNED}" if how.malloc == "tuned" else "untuned"
    threads = "1" if cores == 1 else str(cores)
    return {"clock": clock, "threads": threads, "malloc": malloc, "versions": versions}


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def pin() -> None:
    """Keeps this process, and those it starts, on one core. To be called before jax starts its threads."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def torch_rival():
    """The real torch, at as many threads as this process has cores."""
    import torch

    torch.set_num_threads(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
    return torch


def serve(connection, module: str, names: Sequence[str], how: How) -> None:
    """The body of a process that measures rows of a module, and sends each one's entries."""
    if not how.wall:
        pin()
    rows = {row.name: row for row in importlib.import_module(module).ROWS}
    for name in names:
        connection.send(measure(rows[name], how))
        gc.collect()
    connection.close()

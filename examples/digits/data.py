"""What the three ways share: the scans, the order of the batches, and a record of how a training went."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

BATCH = 64
RATE = 2e-3  # of Adam; it falls linearly to zero over the epochs


@dataclasses.dataclass(frozen=True)
class Digits:
    """1,797 scans [n, 1, 8, 8] and their classes [n], a quarter of them held out, each class in proportion."""

    x_train: np.ndarray
    x_test: np.ndarray
    y_train: np.ndarray
    y_test: np.ndarray

    @classmethod
    def load(cls) -> Digits:
        x, y = load_digits(return_X_y=True)
        x = (x / 16).astype(np.float32).reshape(-1, 1, 8, 8)
        return cls(*train_test_split(x, y, test_size=0.25, stratify=y, random_state=0))

    def batches(self, epoch: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The batches of one epoch, in an order that depends on the epoch only."""
        order = np.random.default_rng(epoch).permutation(len(self.x_train))
        for rows in order[: self.steps * BATCH].reshape(-1, BATCH):
            yield self.x_train[rows], self.y_train[rows]

    @property
    def steps(self) -> int:
        """How many batches an epoch has."""
        return len(self.x_train) // BATCH


class Run:
    """How one training went."""

    def __init__(self, name: str, total: int, progress: bool = True):
        self.name = name
        self.losses: list[float] = []
        self.times: list[float] = []  # of each step, in seconds
        self.programs: int | None = None  # None: op by op
        self.guesses = np.array([], np.int64)  # classes of the test split
        self.accuracy = float("nan")  # on the test split
        self._bar = tqdm(total=total, desc=f"{name:<16}", disable=not progress)

    def steps(self, batches: Iterable) -> Iterator:
        """The batches, while the body of the loop, which appends to `losses`, is timed."""
        for batch in batches:
            start = time.perf_counter()
            yield batch
            self.times.append(time.perf_counter() - start)
            self._bar.set_postfix(loss=f"{self.losses[-1]:.3f}", refresh=False)
            self._bar.update()

    def finish(self, predict: Callable[[np.ndarray], np.ndarray], data: Digits, programs: int | None) -> Run:
        """Ends the training: the model's classes of the test split, and how many programs its step has become."""
        self._bar.close()
        self.programs = programs
        self.guesses = predict(data.x_test)
        self.accuracy = float((self.guesses == data.y_test).mean())
        return self

    @property
    def step_time(self) -> float:
        """The time of a step in seconds: the median."""
        return float(np.median(self.times))

    @property
    def compile_time(self) -> float:
        """What the first steps took longer, in seconds: tracing and compiling."""
        return sum(t - self.step_time for t in self.times[:3])

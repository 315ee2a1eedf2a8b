"""Generator: a cell that holds a key. Every draw takes a key from it and leaves the next one; programs lift it like any state."""

from __future__ import annotations

import os

import numpy as np

from ..core.array import Array
from ..core.cell import State
from ..core.face import Face
from ..core.interpreter import STATE
from ..refs import random
from ..transforms.vmap import Vmap


class Drawn(Face):
    """What stands for a generator's state among the constants of a program that draws from it."""

    __slots__ = ("generator",)

    def __init__(self, generator: Generator):
        self.generator = generator

    def read(self) -> Array:
        return self.generator.cell.read()

    def replace(self, value: Array) -> None:
        self.generator.cell.write(value)

    @classmethod
    def made(cls, value: Array):
        from .tensor import Tensor

        return Tensor.made(value)

    def __reduce__(self):
        return _drawn, (None if self.generator is default_generator else self.generator,)


def _drawn(generator: Generator | None) -> Drawn:
    return (default_generator if generator is None else generator).cell.face


class Generator:
    """PyTorch's generator of random numbers, over a counter-based key.

    Draws are determined by the seed and their order, the same in eager mode and in a compiled program. Bits differ from PyTorch's.

    >>> import functorch_lite.torch as torch
    >>> g = torch.Generator().manual_seed(7)
    >>> g.initial_seed()
    7
    """

    def __init__(self, device="cpu"):
        self.device = device
        self._seed = 67280421310721
        self._cell: State | None = None  # made when it is first used: importing the library runs nothing

    @property
    def cell(self) -> State:
        """What holds the key."""
        if self._cell is None:
            self.manual_seed(self._seed)
        return self._cell

    def manual_seed(self, seed: int) -> Generator:
        """Begins again from this seed; returns the generator."""
        self._seed = int(seed)
        value = random.key(self._seed)
        if self._cell is None:
            self._cell = State(value, "the state of the random generator")
            self._cell.face = Drawn(self)
            while self._cell.home.parent is not None:  # it belongs to the bottom, wherever it is first used
                self._cell.home = self._cell.home.parent
        else:
            self._cell.write(value)
        return self

    def initial_seed(self) -> int:
        """The seed it began from."""
        return self._seed

    def seed(self) -> int:
        """Begins again from a seed of the operating system's; returns it."""
        self.manual_seed(int.from_bytes(os.urandom(7), "little"))
        return self._seed

    def get_state(self):
        """Its state, as a uint8 tensor."""
        from ..core.array import asarray
        from .tensor import Tensor

        return Tensor(asarray(np.frombuffer(np.asarray(self.cell.read()).tobytes(), np.uint8)))

    def set_state(self, state) -> None:
        """Goes on from a state that `get_state` gave."""
        like = np.asarray(self.cell.read())
        data = np.asarray(state.array).tobytes()
        if len(data) != like.nbytes:
            raise RuntimeError(f"RNG state is wrong size: expected {like.nbytes} bytes, got {len(data)}")
        from ..core.array import asarray

        self.cell.write(asarray(np.frombuffer(data, like.dtype).reshape(like.shape)))

    def clone_state(self) -> Generator:
        """Another generator in the same state."""
        out = Generator(self.device).manual_seed(self._seed)
        out.set_state(self.get_state())
        return out

    def next_key(self) -> Array:
        """A key for one draw; the next call gives another."""
        interpreter = STATE.current
        while interpreter is not None:
            if interpreter.__class__ is Vmap and interpreter.randomness == "error":
                raise RuntimeError(
                    f"{interpreter.label}: called random operation while in randomness error mode. Pass randomness='same' or randomness='different' "
                    "to vmap, draw outside of it, or draw with keys of your own (fl.random)"
                )
            interpreter = interpreter.parent
        cell = self.cell
        new, use = random.advance(cell.read())
        cell.write(new)
        return use

    def __repr__(self) -> str:
        return f"<Generator on {self.device}, seed {self._seed}>"


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Seeds the default generator."""
    return default_generator.manual_seed(seed)


def initial_seed() -> int:
    """The seed that the default generator began from."""
    return default_generator.initial_seed()


def seed() -> int:
    """Seeds the default generator by chance; returns the seed."""
    return default_generator.seed()


def get_rng_state():
    """The state of the default generator."""
    return default_generator.get_state()


def set_rng_state(state) -> None:
    """Goes on from a state of `get_rng_state`."""
    default_generator.set_state(state)

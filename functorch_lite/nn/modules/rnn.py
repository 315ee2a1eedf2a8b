"""Recurrent layers: RNN, LSTM and GRU over sequences."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ...core.array import Array, asarray
from ...refs.create import zeros
from ...refs.gathers import index_select
from .. import init
from ..create import empty
from ..module import Module
from ..parameter import Parameter
from ..recurrent_layers import run
from ..tensor import Tensor
from ..utils.rnn import PackedSequence

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """What RNN, LSTM and GRU have in common: parameters by layer and direction, and the shapes of inputs and states."""

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            raise ValueError(f"{name}: dropout must be a number in [0, 1], the probability of zeroing an element, got {dropout!r}")
        for argument, value in {"hidden_size": hidden_size, "num_layers": num_layers}.items():
            if not isinstance(value, int):
                raise TypeError(f"{name}: {argument} must be an int, got {type(value).__name__}")
            if value <= 0:
                raise ValueError(f"{name}: {argument} must be greater than zero, got {value}")
        if not 0 <= proj_size < hidden_size:
            raise ValueError(
                f"{name}: proj_size must be at least 0 (no projection) and smaller than hidden_size={hidden_size}, got {proj_size}"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                f"{name}: dropout acts between layers, and with num_layers=1 there is nothing between: {dropout=} has no effect",
                stacklevel=3,
            )
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, float(dropout), bidirectional
        self.proj_size = proj_size
        self._all_weights = []  # names, by layer and direction
        shown, rows = proj_size or hidden_size, _GATES[mode] * hidden_size
        directions = 2 if bidirectional else 1
        for layer in range(num_layers):
            wide = input_size if layer == 0 else shown * directions
            for suffix in ("", "_reverse")[:directions]:
                shapes = {"weight_ih": (rows, wide), "weight_hh": (rows, shown)}
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                for part, shape in shapes.items():
                    setattr(self, f"{part}_l{layer}{suffix}", Parameter(empty(*shape, device=device, dtype=dtype)))
                self._all_weights.append([f"{part}_l{layer}{suffix}" for part in shapes])
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws all anew, uniform between -1 / sqrt(hidden_size) and 1 / sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size)
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def flatten_parameters(self) -> None:
        """Nothing: parameters need not stand in one piece of memory here."""

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters, by layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def extra_repr(self) -> str:
        plain = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        others = [f"{name}={getattr(self, name)}" for name, usual in plain.items() if getattr(self, name) != usual]
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *others])

    # ------------------------------------------------------------------------------------------------------ forward

    def _weights(self) -> list[tuple]:
        """(w_ih, w_hh, b_ih, b_hh, w_hr) of each layer and direction, None where there is none."""
        out = []
        for weights in self.all_weights:
            w_ih, w_hh, *rest = weights
            b_ih, b_hh = rest[:2] if self.bias else (None, None)
            out.append((w_ih, w_hh, b_ih, b_hh, rest[-1] if self.proj_size else None))
        return out

    def _sequences(self, input: Any, states: tuple | None) -> tuple:
        """(output, last states) of an array or a packed sequence."""
        packed = isinstance(input, PackedSequence)
        x = input.data if packed else input
        if not packed and x.ndim not in (2, 3):
            sizes = "[B, T, *]" if self.batch_first else "[T, B, *]"
            raise ValueError(
                f"{type(self).__name__}: expected input to be 3-D, {sizes}, or 2-D, [T, *] of one sequence, got {list(x.shape)}"
            )
        self._check(x)
        if packed:
            return self._of_packed(input, states)
        alone = x.ndim == 2
        if states is not None and any(s.ndim != x.ndim for s in states):
            kind, n = ("unbatched 2-D", 2) if alone else ("batched 3-D", 3)
            seen = ", ".join(f"{s.ndim}-D" for s in states)
            raise RuntimeError(f"{type(self).__name__}: for {kind} input the states hx must be {n}-D too, got {seen}")
        if alone:
            x = x.unsqueeze(1)
            states = None if states is None else tuple([s.unsqueeze(1) for s in states])
        elif self.batch_first:
            x = x.transpose(0, 1)
        out, *last = self._run(x, states)
        if alone:
            return out.squeeze(1), [s.squeeze(1) for s in last]
        return out.transpose(0, 1) if self.batch_first else out, last

    def _of_packed(self, packed: PackedSequence, states: tuple | None) -> tuple:
        """Runs over the padded sequences, where rows that have ended keep their states."""
        x, live = packed.padded()
        given = sorted_ = packed.sorted_indices
        if states is not None and given is not None:
            states = tuple([index_select(s, 1, sorted_) for s in states])
        out, *last = self._run(x, states, None if live.all() else asarray(live))
        if given is not None:
            last = [index_select(s, 1, packed.unsorted_indices) for s in last]
        return packed.repacked(out), last

    def _run(self, x: Any, states: tuple | None, live: Any = None) -> tuple:
        directions = 2 if self.bidirectional else 1
        steps, batch = x.shape[:2]
        if steps == 0:
            raise RuntimeError(f"{type(self).__name__}: expected a sequence of at least one step, got input {list(x.shape)}")
        sizes = (self.proj_size or self.hidden_size, self.hidden_size)[: 2 if self.mode == "LSTM" else 1]
        shapes = [(self.num_layers * directions, batch, size) for size in sizes]
        if states is None:
            states = tuple([zeros(*shape, dtype=x.dtype) for shape in shapes])
        for i, (s, shape) in enumerate(zip(states, shapes)):
            if tuple(s.shape) != shape:
                which = f"hidden[{i}]" if len(shapes) > 1 else "hidden"
                raise RuntimeError(f"{type(self).__name__}: expected {which} size {shape}, got {list(s.shape)}")
        return run(self.mode, x, states, self._weights(), directions, self.dropout if self.training else 0.0, live)

    def _check(self, x: Any) -> None:
        if x.shape[-1] != self.input_size:
            raise RuntimeError(
                f"{type(self).__name__}: input.size(-1) must be equal to input_size, expected {self.input_size}, got {x.shape[-1]}"
            )
        dtype = self.weight_ih_l0.dtype
        if x.dtype != dtype:
            way = "convert the one with input.to(...) or the others with module.to(...)"
            raise ValueError(f"{type(self).__name__}: the input's dtype {x.dtype} is not that of the weights, {dtype}: {way}")


class _OneState(RNNBase):
    """A layer whose state is one array."""

    def forward(self, input: Tensor | Array | PackedSequence, hx: Tensor | Array | None = None) -> tuple:
        """(output, h): see the class."""
        out, (h,) = self._sequences(input, None if hx is None else (hx,))
        return out, h


class RNN(_OneState):
    """Plain recurrent layers: h = tanh(w_ih x + b_ih + w_hh h + b_hh), or relu with ``nonlinearity="relu"`` (Elman, 1990).

    Takes input [T, B, input_size] ([B, T, *] with ``batch_first``; [T, *] of one sequence; or a `PackedSequence`) and, optionally, the
    first states [num_layers * directions, B, hidden_size]; gives the last layer's states at all steps, [T, B, directions * hidden_size],
    and the last states of all layers. ``dropout`` acts on the output of each layer but the last, in training. ``bidirectional`` adds a
    second direction to each layer, from the last step to the first.

    >>> import functorch_lite.torch as torch
    >>> out, h = torch.nn.RNN(2, 3)(torch.ones(5, 1, 2))
    >>> out.shape, h.shape
    (torch.Size([5, 1, 3]), torch.Size([1, 1, 3]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", *args: Any, **kwargs: Any
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNN: nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}")
        _no_projection("RNN", kwargs)
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, *args, **kwargs)
        self.nonlinearity = nonlinearity


class GRU(_OneState):
    """Gated recurrent units (Cho et al., 2014): see `gru_cell` for a step, `RNN` for arguments and results.

    >>> import functorch_lite.torch as torch
    >>> torch.nn.GRU(2, 3, bidirectional=True)(torch.ones(5, 1, 2))[0].shape
    torch.Size([5, 1, 6])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_projection("GRU", kwargs)
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter, Schmidhuber, 1997): see `lstm_cell` for a step, `RNN` for arguments.

    The states are two, hx = (h, c), and the result is (output, (h, c)). With ``proj_size`` what a layer shows is projected to that size
    (Sak et al., 2014): h and output have it, c has hidden_size.

    >>> import functorch_lite.torch as torch
    >>> out, (h, c) = torch.nn.LSTM(2, 3, num_layers=2, proj_size=1)(torch.ones(5, 1, 2))
    >>> out.shape, h.shape, c.shape
    (torch.Size([5, 1, 1]), torch.Size([2, 1, 1]), torch.Size([2, 1, 3]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def forward(self, input: Tensor | Array | PackedSequence, hx: tuple | None = None) -> tuple:
        """(output, (h, c)): see the class."""
        out, last = self._sequences(input, None if hx is None else tuple(hx))
        return out, tuple(last)


def _no_projection(name: str, kwargs: dict) -> None:
    if kwargs.get("proj_size"):
        raise ValueError(f"{name}: proj_size is a setting of LSTM only")

"""Recurrent cells: one step of an RNN, an LSTM or a GRU as a layer."""

from __future__ import annotations

import math
from typing import Any

from ...core.array import Array
from ...refs.create import zeros
from ...refs.recurrent import gru_cell, lstm_cell, rnn_relu_cell, rnn_tanh_cell
from .. import init
from ..create import empty
from ..module import Module
from ..parameter import Parameter
from ..tensor import Tensor


class RNNCellBase(Module):
    """What the cells have in common: their parameters, and the shapes of inputs and states."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device=None, dtype=None) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(empty(rows, input_size, device=device, dtype=dtype))
        self.weight_hh = Parameter(empty(rows, hidden_size, device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws all anew, uniform between -1 / sqrt(hidden_size) and 1 / sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0.0
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def extra_repr(self) -> str:
        plain = {"bias": True, "nonlinearity": "tanh"}
        others = [f"{name}={getattr(self, name)}" for name, usual in plain.items() if getattr(self, name, usual) != usual]
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *others])

    def _step(self, cell: Any, input: Any, states: tuple | None, count: int = 1) -> Any:
        name = type(self).__name__
        for what, x in (("input", input), *(("hidden", s) for s in states or ())):
            if x.ndim not in (1, 2):
                raise ValueError(f"{name}: expected {what} to be 1D or 2D, got {x.ndim}D")
        if states is None:
            states = (zeros(*input.shape[:-1], self.hidden_size, dtype=input.dtype),) * count
        return cell(input, *states, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)


class RNNCell(RNNCellBase):
    """One step of a plain RNN, of input [B, input_size] (or [input_size]) and state [B, hidden_size]: see `rnn_tanh_cell`.

    >>> import functorch_lite.torch as torch
    >>> torch.nn.RNNCell(2, 3)(torch.ones(1, 2)).shape
    torch.Size([1, 3])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device=None, dtype=None) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor | Array, hx: Tensor | Array | None = None) -> Tensor | Array:
        """The new state; hx is zero if not given."""
        cell = {"tanh": rnn_tanh_cell, "relu": rnn_relu_cell}.get(self.nonlinearity)
        if cell is None:
            raise RuntimeError(f"RNNCell: nonlinearity must be 'tanh' or 'relu', got {self.nonlinearity!r}")
        return self._step(cell, input, None if hx is None else (hx,))


class GRUCell(RNNCellBase):
    """One step of a GRU, of input [B, input_size] (or [input_size]) and state [B, hidden_size]: see `gru_cell`."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor | Array, hx: Tensor | Array | None = None) -> Tensor | Array:
        """The new state; hx is zero if not given."""
        return self._step(gru_cell, input, None if hx is None else (hx,))


class LSTMCell(RNNCellBase):
    """One step of an LSTM, of input [B, input_size] (or [input_size]) and states (h, c), each [B, hidden_size]: see `lstm_cell`."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor | Array, hx: tuple | None = None) -> tuple:
        """The new (h, c); both are zero if not given."""
        return tuple(self._step(lstm_cell, input, None if hx is None else tuple(hx), 2))

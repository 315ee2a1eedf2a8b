"""Stacks of recurrent layers as functions, as PyTorch's torch.lstm, torch.gru, torch.rnn_tanh and torch.rnn_relu."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..refs import recurrent as recurrent_cells
from ..refs.dropout import dropout
from ..refs.join import cat, stack
from . import recurrent


def _lstm(x, states, weights, live, reverse):
    return recurrent.lstm_layer(x, *states, *weights, live, reverse)


def _gru(x, states, weights, live, reverse):
    return recurrent.gru_layer(x, *states, *weights[:4], live, reverse)


def _rnn(nonlinearity, x, states, weights, live, reverse):
    return recurrent.rnn_layer(x, *states, *weights[:4], live, nonlinearity, reverse)


LAYERS = {"LSTM": _lstm, "GRU": _gru, "RNN_TANH": partial(_rnn, "tanh"), "RNN_RELU": partial(_rnn, "relu")}


def run(mode: str, x: Any, states: Sequence, weights: Sequence[Sequence], directions: int, drop: float, live: Any = None) -> tuple:
    """(output [T, B, directions * H], the last of each of the states [layers * directions, B, H]).

    x is [T, B, I]; `states` are h, or h and c, [layers * directions, B, *]; `weights` are (w_ih, w_hh, b_ih, b_hh, w_hr), None where there
    is none, of each layer and direction. `drop`: the probability of dropout between layers. `live`: see `lstm_layer`.
    """
    layer, finals = LAYERS[mode], []
    for k in range(0, len(weights), directions):
        if k and drop:
            x = dropout(x, drop, True)
        outs = [layer(x, [s[i] for s in states], weights[i], live, i > k) for i in range(k, k + directions)]
        x = outs[0][0] if directions == 1 else cat([out for out, *_ in outs], -1)
        finals += [last for _, *last in outs]
    return x, *[stack(last) for last in zip(*finals)]


def _torch_function(mode: str, name: str):
    states = 2 if mode == "LSTM" else 1

    def function(
        input: Any,
        hx: Any,
        params: Sequence,
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple:
        directions, params = 1 + bool(bidirectional), list(params)
        each, rest = divmod(len(params), num_layers * directions)
        least = 4 if has_biases else 2
        if rest or each not in ((least, least + 1) if mode == "LSTM" else (least,)):
            raise RuntimeError(
                f"{name}: expected {least} params for each of {num_layers} layers in {directions} directions, got {len(params)}"
            )
        weights = [_five(params[i : i + each], has_biases) for i in range(0, len(params), each)]
        x = input.transpose(0, 1) if batch_first else input
        given = tuple(hx) if isinstance(hx, (tuple, list)) else (hx,)
        if len(given) != states:
            raise RuntimeError(f"{name}: expected {states} states in hx, got {len(given)}")
        out, *last = run(mode, x, given, weights, directions, dropout if train else 0.0)
        return out.transpose(0, 1) if batch_first else out, *last

    what = "hx is (h, c), and the result (output, h, c)" if states == 2 else "hx is h, and the result (output, h)"
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Layers of the kind of nn.{mode.partition("_")[0]} over input [T, B, I] ([B, T, I] with ``batch_first``); {what}.

    ``params`` are w_ih, w_hh and, with ``has_biases``, b_ih, b_hh of each layer and direction, one after another.
    """
    return function


def lstm_cell(input: Any, hx: Sequence, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> tuple:
    """`fl.lstm_cell` of the pair hx = (h, c): the new (h, c)."""
    h, c = hx
    return tuple(recurrent_cells.lstm_cell(input, h, c, w_ih, w_hh, b_ih, b_hh))


def _five(weights: list, biases: bool) -> tuple:
    """(w_ih, w_hh, b_ih, b_hh, w_hr), None where there is none."""
    w_ih, w_hh, *rest = weights
    b_ih, b_hh = (rest.pop(0), rest.pop(0)) if biases else (None, None)
    return w_ih, w_hh, b_ih, b_hh, *(rest or [None])


lstm, gru = _torch_function("LSTM", "lstm"), _torch_function("GRU", "gru")
rnn_tanh, rnn_relu = _torch_function("RNN_TANH", "rnn_tanh"), _torch_function("RNN_RELU", "rnn_relu")

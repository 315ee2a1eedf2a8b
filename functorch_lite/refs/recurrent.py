"""Cells of recurrent networks: one step of an LSTM, a GRU, a plain RNN, and the formulas that `nn/recurrent.py` repeats."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.array import Array
from ..core.op import Tensor, composite
from ..prims import elementwise, shape, trig
from .activation import relu
from .arguments import require, require_floating, require_one_dtype
from .contract import linear

add, mul, sub, tanh, sigmoid = elementwise.add, elementwise.mul, elementwise.sub, trig.tanh, elementwise.sigmoid


def split(x, n: int) -> list:
    """x [..., n * H] as n arrays [..., H]."""
    size = x.shape[-1] // n
    return [shape.part(x, x.ndim - 1, k * size, (k + 1) * size) for k in range(n)]


def joined(*xs):
    """Arrays [..., H] side by side."""
    return shape.concatenate(xs, xs[0].ndim - 1)


def lstm_gates(a) -> tuple:
    """The gates (i, f, g, o) of the sums a [..., 4 H]."""
    i, f, g, o = split(a, 4)
    return sigmoid(i), sigmoid(f), tanh(g), sigmoid(o)


def gru_gates(x, h) -> tuple:
    """The gates (r, z, n) of what comes from the input and from the state, both [..., 3 H]; and the state's part of n."""
    (r, z, n), (r_h, z_h, n_h) = split(x, 3), split(h, 3)
    r, z = sigmoid(add(r, r_h)), sigmoid(add(z, z_h))
    return r, z, tanh(add(n, mul(r, n_h))), n_h


def gru_state(z, n, h):
    """(1 - z) n + z h."""
    return add(n, mul(z, sub(h, n)))


# ------------------------------------------------------------------------------------------------------------- cells


def _checked(name, gates, input, states, w_ih, w_hh, b_ih, b_hh) -> None:
    """Raises where the arguments of a cell do not fit one another."""
    require_one_dtype(name, input=input, **states, w_ih=w_ih, w_hh=w_hh, b_ih=b_ih, b_hh=b_hh)
    require_floating(name, input)
    require(w_ih.ndim == 2 and w_hh.ndim == 2, name, f"w_ih and w_hh must be matrices, got {w_ih.aval} and {w_hh.aval}")
    hidden = w_hh.shape[1]
    sizes = f"w_ih must be [{gates} * hidden, input] and w_hh [{gates} * hidden, hidden], got {w_ih.aval} and {w_hh.aval}"
    require(w_ih.shape[0] == w_hh.shape[0] == gates * hidden, name, sizes)
    ok = input.ndim in (1, 2) and input.shape[-1] == w_ih.shape[1]
    require(ok, name, f"input must be [batch, {w_ih.shape[1]}] or [{w_ih.shape[1]}], as w_ih {w_ih.aval} says, got {input.aval}")
    for argument, x in states.items():
        expected = (*input.shape[:-1], hidden)
        require(x.shape == expected, name, f"{argument} must be {list(expected)} for input {input.aval} and w_hh {w_hh.aval}, got {x.aval}")


def _np_sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _np_linear(x, w, b):
    return x @ w.T if b is None else x @ w.T + b


def _np_lstm(input, hx, cx, w_ih, w_hh, b_ih=None, b_hh=None):
    i, f, g, o = np.split(_np_linear(input, w_ih, b_ih) + _np_linear(hx, w_hh, b_hh), 4, -1)
    c = _np_sigmoid(f) * cx + _np_sigmoid(i) * np.tanh(g)
    return _np_sigmoid(o) * np.tanh(c), c


def _np_gru(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    (r, z, n), (r_h, z_h, n_h) = (np.split(_np_linear(*given), 3, -1) for given in ((input, w_ih, b_ih), (hx, w_hh, b_hh)))
    r, z = _np_sigmoid(r + r_h), _np_sigmoid(z + z_h)
    return (1 - z) * np.tanh(n + r * n_h) + z * hx


def _np_rnn(activation):
    return lambda input, hx, w_ih, w_hh, b_ih=None, b_hh=None: activation(_np_linear(input, w_ih, b_ih) + _np_linear(hx, w_hh, b_hh))


class LSTMState(NamedTuple):
    """The state of an LSTM: what it shows, and its cells."""

    h: Array
    c: Array


@composite(multi=True, returns=LSTMState, reference=_np_lstm)
def lstm_cell(
    input: Tensor, hx: Tensor, cx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> tuple:
    """One step of an LSTM (Hochreiter, Schmidhuber, 1997; Gers, 1999): the new (h, c).

    For input [batch, in] (or [in]), h and c [batch, H] (or [H]), w_ih [4 H, in] and w_hh [4 H, H], whose rows are those of the gates
    i, f, g, o:  c = sigmoid(f) c + sigmoid(i) tanh(g),  h = sigmoid(o) tanh(c).  RuntimeError for shapes that do not fit.

    >>> import functorch_lite as fl
    >>> h, c = fl.lstm_cell(fl.ones(1, 2), fl.zeros(1, 3), fl.zeros(1, 3), fl.zeros(12, 2), fl.zeros(12, 3))
    >>> h.tolist()
    [[0.0, 0.0, 0.0]]
    """
    _checked("lstm_cell", 4, input, {"hx": hx, "cx": cx}, w_ih, w_hh, b_ih, b_hh)
    i, f, g, o = lstm_gates(add(linear(input, w_ih, b_ih), linear(hx, w_hh, b_hh)))
    c = add(mul(f, cx), mul(i, g))
    return mul(o, tanh(c)), c


@composite(reference=_np_gru)
def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """One step of a GRU (Cho et al., 2014, with the reset behind the product): the new state.

    For input [batch, in] (or [in]), hx [batch, H] (or [H]), w_ih [3 H, in] and w_hh [3 H, H], whose rows are those of the gates r, z, n:
    n = tanh(n_x + sigmoid(r) n_h),  h = (1 - sigmoid(z)) n + sigmoid(z) h.  RuntimeError for shapes that do not fit.
    """
    _checked("gru_cell", 3, input, {"hx": hx}, w_ih, w_hh, b_ih, b_hh)
    _, z, n, _ = gru_gates(linear(input, w_ih, b_ih), linear(hx, w_hh, b_hh))
    return gru_state(z, n, hx)


def _rnn_cell(name: str, activation, reference):
    def cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
        _checked(name, 1, input, {"hx": hx}, w_ih, w_hh, b_ih, b_hh)
        return activation(add(linear(input, w_ih, b_ih), linear(hx, w_hh, b_hh)))

    cell.__name__ = cell.__qualname__ = name
    cell.__doc__ = f"""One step of a plain recurrent network (Elman, 1990): {activation.__name__}(w_ih input + b_ih + w_hh hx + b_hh).

    For input [batch, in] (or [in]), hx [batch, H] (or [H]), w_ih [H, in] and w_hh [H, H]. RuntimeError for shapes that do not fit.
    """
    return composite(cell, reference=_np_rnn(reference))


rnn_tanh_cell = _rnn_cell("rnn_tanh_cell", tanh, np.tanh)
rnn_relu_cell = _rnn_cell("rnn_relu_cell", relu, lambda x: np.maximum(x, 0))

__all__ = ["gru_cell", "lstm_cell", "rnn_relu_cell", "rnn_tanh_cell"]

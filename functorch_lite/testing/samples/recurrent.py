"""Samples of recurrent cells and layers: batches and single rows, with and without biases, projections, rows that end early."""

from __future__ import annotations

import numpy as np

from ... import prims
from ...nn import recurrent as layers
from ...refs import recurrent as cells
from ..table import NUMBERS, Sample, array, row, unary

row(prims.settle, unary(), NUMBERS)

IN, HIDDEN, STEPS, BATCH = 3, 2, 3, 2


def weights(rng, dtype, gates: int, shown: int = HIDDEN, biases: bool = True) -> list:
    """(w_ih, w_hh, b_ih, b_hh)."""
    rows = gates * HIDDEN
    matrices = [array(rng, (rows, IN), dtype, -1, 1), array(rng, (rows, shown), dtype, -1, 1)]
    return [*matrices, *[array(rng, rows, dtype, -1, 1) if biases else None for _ in range(2)]]


def steps(gates: int, states: int):
    """Samples of a cell."""

    def sampler(rng, dtype):
        for lead, biases in (((BATCH,), True), ((), False), ((0,), True)):
            x, state = array(rng, (*lead, IN), dtype), [array(rng, (*lead, HIDDEN), dtype) for _ in range(states)]
            yield Sample(x, *state, *weights(rng, dtype, gates, biases=biases))

    return sampler


row(cells.lstm_cell, steps(4, 2), tolerance=10)
row(cells.gru_cell, steps(3, 1), tolerance=10)
row(cells.rnn_tanh_cell, steps(1, 1), tolerance=10)
row(cells.rnn_relu_cell, steps(1, 1), tolerance=10)


def sequences(gates: int, states: int, *, projected: bool = False, **settings):
    """Samples of a layer: forward and backward in time, rows that end early, a projection."""

    def sampler(rng, dtype):
        live = np.array([[True, True], [True, False], [True, False]])
        for biases, on, reverse, shown in ((True, None, False, HIDDEN), (False, live, True, HIDDEN), (True, live, False, 1)):
            if shown != HIDDEN and not projected:
                shown = HIDDEN
            state = [array(rng, (BATCH, shown), dtype), array(rng, (BATCH, HIDDEN), dtype)][:states]
            args = [array(rng, (STEPS, BATCH, IN), dtype), *state, *weights(rng, dtype, gates, shown, biases)]
            if projected:
                args.append(array(rng, (shown, HIDDEN), dtype) if shown != HIDDEN else None)
            yield Sample(*args, on, **settings, reverse=reverse)

    return sampler


def loop(cell, states: int):
    """The layer as a loop of NumPy over the steps of a cell."""

    def reference(input, *rest, reverse=False, **_):
        state, (w_ih, w_hh, b_ih, b_hh, *others, live) = list(rest[:states]), rest[states:]
        out = np.zeros((*input.shape[:2], state[0].shape[1]), input.dtype)
        for t in reversed(range(len(input))) if reverse else range(len(input)):
            new = cell(input[t], *state, w_ih, w_hh, b_ih, b_hh)
            new = list(new) if isinstance(new, tuple) else [new]
            if others and others[0] is not None:
                new[0] = new[0] @ others[0].T
            state = new if live is None else [np.where(live[t][:, None], a, b) for a, b in zip(new, state)]
            out[t] = state[0]
        return out, *state

    return reference


row(layers.lstm_layer, sequences(4, 2, projected=True), tolerance=10, reference=loop(cells.lstm_cell.op.reference, 2))
row(layers.gru_layer, sequences(3, 1), tolerance=10, reference=loop(cells.gru_cell.op.reference, 1))
row(layers.rnn_layer, sequences(1, 1), tolerance=10, reference=loop(cells.rnn_tanh_cell.op.reference, 1))
row(layers.rnn_layer, sequences(1, 1, nonlinearity="relu"), tolerance=10, reference=loop(cells.rnn_relu_cell.op.reference, 1))

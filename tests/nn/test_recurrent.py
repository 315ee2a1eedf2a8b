"""Recurrent layers against loops of their cells, sequences of different lengths against each alone, derivatives, errors.

Values of PyTorch's are in modules.txt; the layers' ops are in the op table.
"""

from __future__ import annotations

import numpy as np
import pytest

import functorch_lite as fl
import functorch_lite.torch as torch
from functorch_lite.torch.nn.utils import rnn

SEED = 77
KINDS = ["RNN", "GRU", "LSTM"]
SETTINGS = [{}, {"num_layers": 2, "bidirectional": True}, {"batch_first": True, "bias": False}]


@pytest.fixture
def rng():
    print(f"seed {SEED}")
    torch.manual_seed(SEED)
    return np.random.default_rng(SEED)


def normal(rng, *shape):
    return torch.tensor(rng.normal(size=shape).astype(np.float32))


def close(a, b, rtol=1e-5, atol=1e-6):
    np.testing.assert_allclose(np.asarray(a.detach()), np.asarray(b.detach()), rtol=rtol, atol=atol)


def states(out):
    """(output, the states as a tuple)."""
    return out[0], out[1] if isinstance(out[1], tuple) else (out[1],)


def by_cells(kind, layer, x, first):
    """The layer as a loop: x [T, B, I], the states [layers * directions, B, H]."""
    cell = {"RNN": torch.rnn_tanh_cell, "GRU": torch.gru_cell, "LSTM": torch.lstm_cell}[kind]
    directions, last = 2 if layer.bidirectional else 1, []
    for k in range(layer.num_layers):
        outs = []
        for d in range(directions):
            state = tuple(s[k * directions + d] for s in first)
            weights, rows = layer.all_weights[k * directions + d], []
            for t in range(len(x)) if d == 0 else reversed(range(len(x))):
                state = cell(x[t], state, *weights) if kind == "LSTM" else (cell(x[t], *state, *weights),)
                rows.append(state[0])
            outs.append(torch.stack(rows if d == 0 else rows[::-1]))
            last.append(state)
        x = torch.cat(outs, -1)
    return x, tuple(torch.stack([state[i] for state in last]) for i in range(len(first)))


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_is_a_loop_of_its_cell(rng, kind, settings):
    layer = getattr(torch.nn, kind)(3, 4, **settings)
    count = layer.num_layers * (2 if layer.bidirectional else 1)
    x, first = normal(rng, 5, 2, 3), tuple(normal(rng, count, 2, 4) for _ in range(2 if kind == "LSTM" else 1))
    given = x.transpose(0, 1) if layer.batch_first else x
    results, gradients = [], []
    for out in (layer(given, first if kind == "LSTM" else first[0]), by_cells(kind, layer, x, first)):
        y, last = states(out)
        if not results and layer.batch_first:
            y = y.transpose(0, 1)
        results.append((y, *last))
        layer.zero_grad()
        ((y * torch.arange(y.numel()).reshape(y.shape)).sum() + sum((s * s).sum() for s in last)).backward()
        gradients.append([p.grad for p in layer.parameters()])
    for a, b in zip(*results, strict=True):
        close(a, b)
    for a, b in zip(*gradients, strict=True):
        close(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_states_are_zero_unless_given_and_one_sequence_needs_no_batch(rng, kind):
    layer = getattr(torch.nn, kind)(3, 4, 2)
    x, zero = normal(rng, 5, 3), torch.zeros(2, 4)
    y, last = states(layer(x))
    y0, last0 = states(layer(x, (zero, zero) if kind == "LSTM" else zero))
    y1, last1 = states(layer(x.unsqueeze(1)))
    assert y.shape == (5, 4) and all(s.shape == (2, 4) for s in last)
    for a, b, c in zip((y, *last), (y0, *last0), (y1, *last1), strict=True):
        close(a, b)
        close(a, c.squeeze(1))


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_packed_sequence_is_each_sequence_alone(rng, kind, ordered):
    layer = getattr(torch.nn, kind)(3, 4, 2, bidirectional=True)
    sequences = [normal(rng, n, 3) for n in ((4, 2, 1) if ordered else (2, 4, 1))]
    first = tuple(normal(rng, 4, 3, 4) for _ in range(2 if kind == "LSTM" else 1))
    packed = rnn.pack_sequence(sequences, enforce_sorted=ordered)
    out, last = states(layer(packed, first if kind == "LSTM" else first[0]))
    sum((x * x).sum() for x in (out.data, *last)).backward()
    gradients = [p.grad.clone() for p in layer.parameters()]
    layer.zero_grad()
    total = 0.0
    for i, (mine, x) in enumerate(zip(rnn.unpack_sequence(out), sequences, strict=True)):
        own = tuple(s[:, i] for s in first)
        y, ends = states(layer(x, own if kind == "LSTM" else own[0]))
        close(mine, y)
        for a, b in zip(last, ends, strict=True):
            close(a[:, i], b)
        total = total + sum((z * z).sum() for z in (y, *ends))
    total.backward()
    for a, p in zip(gradients, layer.parameters(), strict=True):
        close(a, p.grad, rtol=1e-4, atol=1e-5)


def test_second_derivatives_and_transforms_of_a_layer(rng):
    """Of the closed form, differentiated again, against the loop of cells."""
    layer = torch.nn.LSTM(2, 3)
    params = {name: p.array for name, p in layer.named_parameters()}
    x = fl.asarray(rng.normal(size=(4, 2, 2)).astype(np.float32))
    zero = fl.zeros(1, 2, 3)

    def loss(params):
        return (torch.func.functional_call(layer, params, (x,))[0] ** 2).sum()

    def looped(params):
        h = c = zero[0]
        total = 0.0
        for t in range(4):
            h, c = fl.lstm_cell(x[t], h, c, *params.values())
            total = total + (h * h).sum()
        return total

    for name, a in fl.grad(loss)(params).items():
        close_arrays(a, fl.grad(looped)(params)[name])
    second = [fl.grad(lambda p, f=f: sum((g * g).sum() for g in fl.grad(f)(p).values()))(params) for f in (loss, looped)]
    forward = [fl.jvp(fl.grad(f), (params,), (params,))[1] for f in (loss, looped)]
    for pair in (second, forward):
        for name in params:
            close_arrays(pair[0][name], pair[1][name])

    def of_one(x):
        return fl.grad(lambda p: (torch.func.functional_call(layer, p, (x,))[0] ** 2).sum())(params)

    each = fl.vmap(of_one, in_dims=1)(x)  # one sequence a row: gradients a sample
    for name, a in fl.jit(fl.grad(loss))(params).items():
        close_arrays(each[name].sum(0), a)


def close_arrays(a, b):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-4, atol=2e-5)


def test_dropout_acts_between_layers_in_training_only(rng):
    layer, x = torch.nn.GRU(3, 4, 2, dropout=1.0), normal(rng, 5, 2, 3)
    plain = torch.nn.GRU(3, 4, 2)
    plain.load_state_dict(layer.state_dict())
    close(layer.eval()(x)[0], plain(x)[0])
    second = torch.nn.GRU(4, 4)  # whose input is all zeros
    second.load_state_dict({name.replace("l1", "l0"): p for name, p in layer.state_dict().items() if "l1" in name})
    close(layer.train()(x)[0], second(torch.zeros(5, 2, 4))[0])
    layer.dropout = 0.5
    assert not np.allclose(layer(x)[0].detach(), layer(x)[0].detach())


def test_a_compiled_step_gives_what_the_eager_one_gives(rng):
    x, losses = normal(rng, 5, 2, 3), []
    for compiled in (False, True):
        torch.manual_seed(SEED)
        layer = torch.nn.LSTM(3, 4, 2)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)

        def step(x, layer=layer, optimizer=optimizer):
            optimizer.zero_grad()
            loss = (layer(x)[0] ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        run = torch.compile(step, fullgraph=True) if compiled else step
        losses.append([run(x).item() for _ in range(3)])
    np.testing.assert_allclose(*losses, rtol=1e-5)
    assert losses[0][0] > losses[0][-1]


def test_parameters_begin_within_pytorchs_bounds_and_have_its_names():
    layer = torch.nn.LSTM(3, 16, bidirectional=True, proj_size=2)
    parts = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
    assert list(layer.state_dict()) == [f"{part}_l0{suffix}" for suffix in ("", "_reverse") for part in parts]
    assert all(p.abs().max().item() <= 0.25 for p in layer.parameters())
    assert layer.weight_hh_l0.abs().max().item() > 0.2
    assert [len(w) for w in layer.all_weights] == [5, 5]
    layer.flatten_parameters()


def test_functions_are_the_layers(rng):
    layer, x = torch.nn.LSTM(3, 4, 2, bidirectional=True), normal(rng, 2, 5, 3)
    first = torch.zeros(4, 2, 4), torch.zeros(4, 2, 4)
    out, h, c = torch.lstm(x, first, list(layer.parameters()), True, 2, 0.0, False, True, True)
    y, (h0, c0) = layer(x.transpose(0, 1))
    for a, b in ((out.transpose(0, 1), y), (h, h0), (c, c0)):
        close(a, b)
    gru = torch.nn.GRU(3, 4, bias=False)
    close(torch.gru(x, first[0][:1, :1].expand(1, 5, 4), list(gru.parameters()), False, 1, 0.0, False, False, False)[0], gru(x)[0])
    with pytest.raises(RuntimeError, match="lstm: expected 4 params"):
        torch.lstm(x, first, list(layer.parameters())[:-1], True, 2, 0.0, False, True, True)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda nn: nn.LSTM(3, 0), ValueError, "hidden_size must be greater than zero"),
        (lambda nn: nn.LSTM(3, 2.0), TypeError, "hidden_size must be an int"),
        (lambda nn: nn.GRU(3, 2, 0), ValueError, "num_layers must be greater than zero"),
        (lambda nn: nn.GRU(3, 2, dropout=1.5), ValueError, "dropout must be a number in"),
        (lambda nn: nn.LSTM(3, 2, proj_size=2), ValueError, "proj_size must be"),
        (lambda nn: nn.GRU(3, 2, proj_size=1), ValueError, "proj_size is a setting of LSTM"),
        (lambda nn: nn.RNN(3, 2, nonlinearity="sin"), ValueError, "nonlinearity must be"),
        (lambda nn: nn.LSTM(3, 2)(torch.zeros(1, 1, 1, 3)), ValueError, "LSTM: expected input to be 3-D"),
        (lambda nn: nn.LSTM(3, 2)(torch.zeros(4, 1, 5)), RuntimeError, "expected 3, got 5"),
        (lambda nn: nn.LSTM(3, 2)(torch.zeros(0, 1, 3)), RuntimeError, "at least one step"),
        (lambda nn: nn.LSTM(3, 2)(torch.zeros(4, 1, 3).double()), ValueError, "the input's dtype"),
        (lambda nn: nn.GRU(3, 2)(torch.zeros(4, 1, 3), torch.zeros(1, 2)), RuntimeError, "must be 3-D too, got 2-D"),
        (lambda nn: nn.GRU(3, 2)(torch.zeros(4, 1, 3), torch.zeros(1, 2, 2)), RuntimeError, "expected hidden size"),
        (lambda nn: nn.LSTM(3, 2)(torch.zeros(4, 1, 3), (torch.zeros(1, 1, 2), torch.zeros(1, 1, 3))), RuntimeError, r"hidden\[1\] size"),
        (lambda nn: nn.GRUCell(3, 2)(torch.zeros(1, 1, 3)), ValueError, "GRUCell: expected input to be 1D or 2D"),
        (lambda nn: nn.GRUCell(3, 2)(torch.zeros(1, 4)), RuntimeError, "gru_cell: input must be"),
        (lambda nn: nn.RNNCell(3, 2, nonlinearity="sin")(torch.zeros(1, 3)), RuntimeError, "nonlinearity must be"),
    ],
)
def test_errors_name_what_is_wrong(make, error, words):
    with pytest.raises(error, match=words):
        make(torch.nn)


def test_dropout_with_one_layer_warns():
    with pytest.warns(UserWarning, match="nothing between"):
        torch.nn.LSTM(3, 2, dropout=0.5)


# ------------------------------------------------------------------------------------------------- packing and padding


def test_packing_and_padding_are_inverses():
    x = torch.arange(12.0).reshape(3, 4)  # three sequences, padded to 4 steps
    for batch_first in (True, False):
        given = x if batch_first else x.T
        packed = rnn.pack_padded_sequence(given, torch.tensor([2, 4, 1]), batch_first, enforce_sorted=False)
        assert packed.data.tolist() == [4.0, 0.0, 8.0, 5.0, 1.0, 6.0, 7.0]
        assert packed.batch_sizes.tolist() == [3, 2, 1, 1] and packed.batch_sizes.dtype is torch.int64
        assert packed.sorted_indices.tolist() == [1, 0, 2] and packed.unsorted_indices.tolist() == [1, 0, 2]
        back, lengths = rnn.pad_packed_sequence(packed, batch_first, padding_value=-1.0, total_length=5)
        back = back if batch_first else back.T
        assert back.tolist() == [[0, 1, -1, -1, -1], [4, 5, 6, 7, -1], [8, -1, -1, -1, -1]] and lengths.tolist() == [2, 4, 1]


def test_pad_and_unpad_sequences():
    sequences = [torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0]])]
    assert rnn.pad_sequence(sequences, batch_first=True, padding_value=9.0).squeeze(-1).tolist() == [[1.0, 2.0], [3.0, 9.0]]
    assert rnn.pad_sequence(sequences, padding_side="left").squeeze(-1).tolist() == [[1.0, 0.0], [2.0, 3.0]]
    for a, b in zip(rnn.unpad_sequence(rnn.pad_sequence(sequences), [2, 1]), sequences, strict=True):
        assert a.tolist() == b.tolist()
    for a, b in zip(rnn.unpack_sequence(rnn.pack_sequence(sequences)), sequences, strict=True):
        assert a.tolist() == b.tolist()


def test_a_packed_sequence_is_a_tree_whose_lengths_belong_to_programs():
    packed = rnn.pack_sequence([torch.ones(2, 1), torch.ones(1, 1)])
    doubled = torch.func.vmap(lambda k: fl.tree.map(lambda x: x * k, packed).data.sum())(torch.tensor([1.0, 2.0]))
    assert doubled.tolist() == [3.0, 6.0]
    assert fl.jit(lambda p: p.data.sum())(packed).item() == 3.0
    data, sizes, order, back = packed
    again = rnn.PackedSequence(data, sizes, order, back)
    assert again.batch_sizes.tolist() == [2, 1] and order is back is None and len(packed) == 4 and packed[0] is packed.data
    assert packed.double().data.dtype is torch.float64


@pytest.mark.parametrize(
    ("lengths", "words"),
    [([1, 2], "must not increase"), ([2, 0], "greater than 0"), ([5, 1], "more than the 3 steps"), ([1], "expected 2 lengths")],
)
def test_lengths_that_do_not_fit_are_named(lengths, words):
    with pytest.raises(RuntimeError, match=words):
        rnn.pack_padded_sequence(torch.zeros(3, 2, 1), lengths)

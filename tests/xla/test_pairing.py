"""Donated state is given to its successors: else XLA copies it, each step."""

import re

import functorch_lite.torch as torch
from functorch_lite.xla import packed


def test_state_is_replaced_in_place(monkeypatch):
    """Parameters, averages and gradients of one shape, too large to be packed: each state's buffer goes to the new value of the same state."""
    texts, compile_flat = [], packed.compile_flat

    def recording(*args, **kwargs):
        lowered, executable = compile_flat(*args, **kwargs)
        texts.append((lowered.as_text(), kwargs.get("donate", ())))
        return lowered, executable

    monkeypatch.setattr(packed, "compile_flat", recording)
    layers = torch.nn.Linear(80, 80, bias=False), torch.nn.Linear(80, 80, bias=False)
    optimizer = torch.optim.Adam([p for layer in layers for p in layer.parameters()], lr=0.1)

    @torch.compile
    def step(x):
        optimizer.zero_grad()
        loss = layers[1](layers[0](x).tanh()).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    x = torch.ones(3, 80)
    for _ in range(3):
        step(x)
    text, donated = texts[-1]
    matrices = [(i, n) for i, n in _aliases(text) if i in donated and _shape(text, i) == "80x80xf32"]
    assert len(matrices) == 6, text  # two parameters, two averages of each
    outputs = [n for _, n in sorted(matrices)]
    assert outputs == sorted(outputs) == list(range(outputs[0], outputs[0] + 6))  # in the order of the state, gradients behind


def _aliases(text):
    """(argument, output whose buffer it becomes)."""
    return [(int(i), int(n)) for i, n in re.findall(r"%arg(\d+): tensor<[^>]*> \{[^}]*tf\.aliasing_output = (\d+)", text)]


def _shape(text, i):
    return re.search(rf"%arg{i}: tensor<([^>]*)>", text)[1]

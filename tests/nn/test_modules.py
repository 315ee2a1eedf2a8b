"""Every layer: made, shown, saved and with the values of PyTorch's, on Tensors and Arrays, differentiated, mapped, copied; and single ones.

The layers stand in modules.txt, with what PyTorch makes of them. `python tests/nn/test_modules.py`, where torch is installed, writes it anew.
"""

import copy
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite import nn
from functorch_lite.nn import create

SEED = 1234
TABLE = Path(__file__).parent / "modules.txt"
ROWS = [line.split(" |") for line in TABLE.read_text().splitlines() if not line.startswith("#")]
CASES = {source: [field.strip() for field in rest] for source, *rest in ROWS}
CALLED = {source: rest for source, rest in CASES.items() if rest[0]}  # the others have no forward
RANDOM = [source for source in CALLED if source.startswith(("Dropout", "AlphaDropout", "FeatureAlpha", "FractionalMax", "RReLU"))]
DROPOUTS = [source for source in RANDOM if source.startswith("Dropout")]
WITH_PARAMETERS = [
    s for s, (_, _, state, _) in CALLED.items() if state and "Loss" not in s and "max_norm" not in s
]  # which writes to leaves


def made(source, namespace=nn, tensor=create.tensor):
    return eval(f"N.{source}", {"N": namespace, "W4": tensor(np.array([0.5, 1.0, 2.0, 1.5], np.float32))})


def inputs(spec):
    """What a row of modules.txt asks for; the seed is in the failure's output."""
    rng = np.random.default_rng(SEED)
    print(f"seed {SEED}")
    out = []
    for part in spec.split(";"):
        kind = part[0] if part[0] in "ips" else ""
        limit, sizes = part[1:].split(":") if kind == "i" else (None, part.removeprefix(kind))
        shape = [int(n) for n in sizes.split(",")]
        if kind == "i":
            out.append(rng.integers(0, int(limit), shape))
        elif kind == "p":
            out.append(rng.uniform(0.05, 0.95, shape).astype(np.float32))
        else:
            x = rng.standard_normal(shape).astype(np.float32)
            out.append(np.sign(x) if kind == "s" else x)
    return out


def described(state):
    """Names and shapes of a state_dict."""
    return "; ".join(f"{name} {','.join(map(str, t.shape))}".strip() for name, t in state.items())


def filled(module, tensor):
    """Gives it parameters that NumPy draws: the same for every library."""
    rng = np.random.default_rng(SEED)
    for p in module.parameters():
        p.data = tensor((0.5 * rng.standard_normal(tuple(p.shape)) + 0.1).astype(np.float32))


def digests(module, xs):
    """A number for the output in training, one in evaluation, one for the buffers then: sums weighted by position."""
    numbers = []
    for training in (True, False):
        numbers.append(digest(first(module.train(training)(*xs))))
    return [*numbers, sum(map(digest, module.buffers()))]


def digest(x):
    flat = np.asarray(x.detach().numpy(), np.float64).reshape(-1)
    return float((flat * np.cos(np.arange(flat.size))).sum())


def state_of(module):
    return {name: t.array for name, t in [*module.named_parameters(), *module.named_buffers()]}


def first(out):
    return out[0] if isinstance(out, tuple) else out


def close(a, b, rtol=1e-5, atol=1e-6):
    np.testing.assert_allclose(np.asarray(getattr(a, "array", a)), np.asarray(getattr(b, "array", b)), rtol=rtol, atol=atol)


@pytest.fixture(autouse=True)
def _no_warnings_of_implicit_dims():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*dim is not given|.*size_average")
        yield


@pytest.mark.parametrize("source", CASES)
def test_is_made_shown_and_saved_as_in_torch(source):
    _, shown, state, _ = CASES[source]
    module = made(source)
    assert repr(module) == shown.replace("\\n", "\n")
    assert described(module.state_dict()) == state
    assert type(module).__doc__ and type(module).forward.__doc__
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert type(twin) is type(module) and repr(twin) == repr(module)
        for (name, a), (same_name, b) in zip(module.state_dict().items(), twin.state_dict().items(), strict=True):
            assert name == same_name and a is not b
            close(a, b, 0, 0)


@pytest.mark.parametrize("source", [s for s in CALLED if s not in RANDOM])
def test_arrays_and_tensors_agree_in_values_and_gradients(source):
    module = made(source)
    xs = inputs(CALLED[source][0])
    state, training = state_of(module), module.training
    out = module(*[create.tensor(x) for x in xs])
    assert isinstance(first(out), nn.Tensor)

    def loss(params):
        result = first(nn.functional_call(module, {**state, **params}, tuple(fl.asarray(x) for x in xs)))
        return (result * fl.arange(result.numel()).reshape(result.shape)).sum(), result

    params = {name: state[name] for name, _ in module.named_parameters()}
    value, result = loss(params)
    assert isinstance(result, fl.Array) and module.training is training
    close(first(out), result)
    if not params:
        return
    first(out).backward(create.tensor(np.arange(result.numel(), dtype=np.float32).reshape(result.shape)))
    gradients = fl.grad(lambda p: loss(p)[0])(params)
    for name, parameter in module.named_parameters():
        assert parameter.grad.dtype is parameter.dtype
        close(parameter.grad, gradients[name], 1e-4, 1e-4 * max(1.0, abs(np.asarray(gradients[name])).max()))


@pytest.mark.parametrize("source", WITH_PARAMETERS)
def test_vmap_of_functional_call_is_a_loop_over_models(source):
    models = [made(source).eval() for _ in range(2)]
    for i, model in enumerate(models):
        for p in model.parameters():
            p.data = p.data + 0.1 * i
    params, buffers = nn.stack_module_state(models)
    xs = [create.tensor(x) for x in inputs(CALLED[source][0])]
    out = fl.vmap(lambda p, b: first(nn.functional_call(models[0], (p, b), tuple(xs))))(params, buffers)
    for row, model in zip(out, models, strict=True):
        close(row, first(model(*xs)), 1e-4, 1e-5)


@pytest.mark.parametrize("source", [s for s in CALLED if s not in RANDOM])
def test_values_are_torchs(source):
    spec, _, _, numbers = CALLED[source]
    module = made(source)
    filled(module, create.tensor)
    wanted = [float(number) for number in numbers.split()]
    np.testing.assert_allclose(digests(module, [create.tensor(x) for x in inputs(spec)]), wanted, rtol=1e-4, atol=1e-4)


# ------------------------------------------------------------------------------------------------------- single layers


@pytest.mark.parametrize("source", RANDOM)
def test_layers_that_draw_replay_from_a_seed(source):
    layer = made(source)
    x = create.tensor(inputs(CALLED[source][0])[0])
    first, again, other = [(nn.generator.manual_seed(s), layer.train()(x.clone()))[1] for s in (SEED, SEED, SEED + 1)]
    close(first, again, 0, 0)
    assert first.shape == other.shape and first.dtype is other.dtype
    if "Fractional" not in source:
        close(layer.eval()(x), x if "Dropout" in source else nn.functional.leaky_relu(x, (1 / 8 + 1 / 3) / 2))


@pytest.mark.parametrize("source", DROPOUTS)
def test_dropout_drops_in_training_only(source):
    layer = made(source)
    x = create.ones(*[int(n) for n in CALLED[source][0].split(",")])
    assert layer.eval()(x) is x or (layer(x) == x).all()
    create_seeded = [(nn.generator.manual_seed(SEED), layer.train()(x.clone()))[1] for _ in range(2)]
    close(*create_seeded, 0, 0)
    values = set(np.unique(create_seeded[0].numpy().round(4)))
    assert values <= {0.0, np.float32(round(1 / (1 - layer.p), 4)) if layer.p < 1 else 0.0}


def test_dropout_keeps_the_mean_and_draws_anew():
    nn.generator.manual_seed(SEED)
    layer, x = nn.Dropout(0.3), create.ones(20_000)
    a, b = layer(x), layer(x)
    assert abs(a.mean().item() - 1) < 0.05 and not (a == b).all()
    channels = nn.Dropout2d(0.5)(create.ones(8, 8, 3, 3)).numpy().reshape(64, 9)
    assert ((channels == channels[:, :1]).all(axis=1)).all() and {0.0, 2.0} == set(np.unique(channels))


def test_inplace_layers_write_into_their_input_and_leave_arrays_alone():
    x = create.tensor([-1.0, 2.0])
    assert nn.ReLU(inplace=True)(x) is x and x.tolist() == [0.0, 2.0]
    a = fl.asarray([-1.0, 2.0])
    assert nn.ReLU(inplace=True)(a).tolist() == [0.0, 2.0] and a.tolist() == [-1.0, 2.0]
    w = nn.Parameter(fl.asarray([-1.0, 2.0]))
    y = w * 3
    nn.ReLU(True)(y)
    y.sum().backward()
    assert w.grad.tolist() == [0.0, 3.0]


def test_linear_and_convolution_begin_within_pytorchs_bounds():
    nn.generator.manual_seed(SEED)
    for layer, bound in ((nn.Linear(100, 50), 0.1), (nn.Conv2d(4, 50, 5), 0.1), (nn.ConvTranspose1d(10, 100, 1), 0.1)):
        for p in layer.parameters():
            values = abs(p.detach().numpy())
            assert 0.9 * bound < values.max() <= bound
            assert abs(values.mean() - bound / 2) < 0.15 * bound  # uniform


def test_batch_norm_follows_the_batches():
    x = create.tensor([[1.0], [3.0], [8.0]])
    layer = nn.BatchNorm1d(1, momentum=0.25)
    layer(x)
    assert layer.num_batches_tracked.item() == 1
    close(layer.running_mean, [1.0])  # 0.25 * 4
    close(layer.running_var, [0.75 + 0.25 * 13])  # unbiased
    before = layer.running_mean.tolist()
    layer.eval()(x)
    assert layer.running_mean.tolist() == before and layer.num_batches_tracked.item() == 1


def test_batch_norm_without_momentum_keeps_the_mean_over_batches():
    layer = nn.BatchNorm1d(1, momentum=None)
    for batch in ([[1.0], [3.0]], [[5.0], [7.0]], [[0.0], [2.0]]):
        layer(create.tensor(batch))
    close(layer.running_mean, [3.0])
    close(layer.running_var, [2.0])


def test_batch_norm_refuses_what_it_cannot_normalize():
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        nn.BatchNorm1d(2)(create.ones(1, 2))
    with pytest.raises(ValueError, match="BatchNorm2d: expected 4D input"):
        nn.BatchNorm2d(2)(create.ones(1, 2))
    with pytest.raises(ValueError, match="eps must be positive"):
        nn.BatchNorm1d(2, eps=0.0)(create.ones(3, 2))


def test_batch_norm_of_an_empty_batch_learns_nothing():
    layer, x = nn.BatchNorm1d(2), create.ones(0, 2, 3, requires_grad=True)
    out = layer(x)
    assert out.shape == (0, 2, 3) and layer.running_var.tolist() == [1.0, 1.0] and layer.num_batches_tracked.item() == 1
    out.sum().backward()
    assert x.grad.shape == (0, 2, 3) and layer.weight.grad.tolist() == [0.0, 0.0]


def test_batch_norm_in_training_under_vmap_names_the_buffer_and_changes_nothing():
    layer = nn.BatchNorm1d(2)
    x = create.tensor(np.arange(24, dtype=np.float32).reshape(3, 4, 2))
    with pytest.raises(RuntimeError, match="running_mean"):
        fl.vmap(layer)(x)
    assert layer.running_mean.tolist() == [0.0, 0.0] and layer.num_batches_tracked.item() == 0
    assert fl.vmap(layer.eval())(x).shape == (3, 4, 2)


def test_embedding_keeps_its_padding_row():
    layer = nn.Embedding(4, 2, padding_idx=-1)
    assert layer.padding_idx == 3 and layer.weight[3].tolist() == [0.0, 0.0]
    layer(create.tensor([0, 3, 3, 0])).sum().backward()
    assert layer.weight.grad.tolist() == [[2.0, 2.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    frozen = nn.Embedding.from_pretrained(create.ones(3, 2))
    assert not frozen.weight.requires_grad and frozen(create.tensor([1])).tolist() == [[1.0, 1.0]]


def test_transposed_convolution_takes_an_output_size():
    layer, x = nn.ConvTranspose2d(1, 2, 3, stride=2), create.ones(1, 1, 4, 4)
    assert layer(x).shape == (1, 2, 9, 9) and layer(x, output_size=[10, 9]).shape == (1, 2, 10, 9)
    with pytest.raises(ValueError, match=r"valid sizes are from \[9, 9\] to \[10, 10\]"):
        layer(x, output_size=[11, 9])


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError, "groups"),
        (lambda: nn.Conv2d(1, 1, 3, padding="same", stride=2), ValueError, "strided"),
        (lambda: nn.Conv2d(1, 1, 3, padding_mode="mirror"), ValueError, "padding_mode"),
        (lambda: nn.ConvTranspose2d(1, 1, 3, padding_mode="circular"), ValueError, "zeros"),
        (lambda: nn.GroupNorm(3, 4), ValueError, "divisible"),
        (lambda: nn.Dropout(1.5), ValueError, "between 0 and 1"),
        (lambda: nn.Hardtanh(1.0, -1.0), ValueError, "less than"),
        (lambda: nn.ZeroPad2d((1, 2)), ValueError, "4 ints"),
        (lambda: nn.MaxPool2d(), TypeError, "MaxPool2d.*kernel_size"),
        (lambda: nn.ReLU(False, True), TypeError, "ReLU"),
        (lambda: nn.Softmax2d()(create.ones(2)), ValueError, "3D or 4D"),
        (lambda: nn.CircularPad1d(1)(create.ones(1, 2, 3, 4)), ValueError, "expected 2D or 3D input"),
    ],
)
def test_bad_settings_say_which(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_old_names_of_reduction_warn():
    with pytest.warns(UserWarning, match="reduction='sum'"):
        assert nn.MSELoss(size_average=False).reduction == "sum"
    with pytest.warns(UserWarning, match="dim is not given"):
        nn.Softmax()(create.ones(2, 3))


def test_a_layer_can_be_subclassed():
    class Steeper(nn.LeakyReLU):
        note: str = "no field"

        def __init__(self):
            super().__init__(0.5)
            self.calls = 0

        def forward(self, input):
            self.calls += 1
            return 2 * super().forward(input)

    layer = Steeper()
    assert layer(fl.asarray([-1.0])).tolist() == [-1.0] and layer.calls == 1 and repr(layer) == "Steeper(negative_slope=0.5)"


# ---------------------------------------------------------------------------------------------------------- containers


def test_sequential_is_a_sequence():
    a, b, c = nn.Linear(2, 2), nn.ReLU(), nn.Tanh()
    s = nn.Sequential(a, b)
    assert s.append(c) is s and len(s) == 3 and s[-1] is c and list(s) == [a, b, c]
    assert list(s[1:]._modules) == ["1", "2"] and list((s + nn.Sequential(c))._modules) == ["0", "1", "2", "3"]
    assert s.pop(1) is b and list(s.state_dict()) == ["0.weight", "0.bias"]
    s.insert(0, b)
    assert list(s.state_dict()) == ["1.weight", "1.bias"] and s[1] is a
    del s[0]
    assert list(s) == [a, c]
    s[1] = b
    assert list(s * 2) == [a, b, a, b]
    with pytest.raises(IndexError, match="out of range"):
        s[2]
    with pytest.raises(TypeError, match="ReLU is a class"):
        nn.Sequential(nn.ReLU)
    named = nn.Sequential({"first": a, "second": b})
    assert named.first is a and list(named.state_dict()) == ["first.weight", "first.bias"]


def test_module_list_and_dict_register_what_they_hold():
    layers = nn.ModuleList([nn.Linear(1, 1)])
    layers += [nn.ReLU()]
    layers.insert(0, nn.Tanh())
    assert [type(m).__name__ for m in layers] == ["Tanh", "Linear", "ReLU"] and list(layers.state_dict()) == ["1.weight", "1.bias"]
    assert len(layers[1:]) == 2 and layers[2] in layers
    with pytest.raises(NotImplementedError, match="forward"):
        layers(1)
    by_name = nn.ModuleDict({"a": nn.Linear(1, 1)})
    by_name.update([("b", nn.ReLU())])
    assert list(by_name) == ["a", "b"] and "a" in by_name and list(by_name.state_dict()) == ["a.weight", "a.bias"]
    assert isinstance(by_name.pop("b"), nn.ReLU) and len(by_name) == 1
    with pytest.raises(KeyError, match="already exists"):
        by_name["keys"] = nn.ReLU()


def test_parameter_list_and_dict_register_what_they_hold():
    some = nn.ParameterList([create.ones(2), 3])
    some.append(create.zeros(1))
    assert [name for name, _ in some.named_parameters()] == ["0", "2"] and some[1] == 3 and len(some[0:2]) == 2
    assert isinstance(some[0], nn.Parameter)
    named = nn.ParameterDict({"a": create.ones(2)})
    named["n"] = 3
    assert list(named.state_dict()) == ["a"] and named.get("z") is None and named.popitem() == ("n", 3)
    assert list((named | {"b": create.ones(1)}).keys()) == ["a", "b"] and list(named) == ["a"]


def write_table():
    """modules.txt anew, from PyTorch: each row's input shapes stay, the rest is what it says and computes."""
    import torch

    lines = [line for line in TABLE.read_text().splitlines() if line.startswith("#")]
    for source, (spec, *_) in sorted(CASES.items()):
        module = made(source, torch.nn, torch.tensor)
        filled(module, torch.tensor)
        row = [source, spec, repr(module).replace("\n", "\\n"), described(module.state_dict())]
        numbers = digests(module, [torch.tensor(x) for x in inputs(spec)]) if spec and source not in RANDOM else []
        lines.append(" | ".join([*row, " ".join(f"{n:.7g}" for n in numbers)]).rstrip())
    TABLE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    write_table()

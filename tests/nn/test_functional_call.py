"""functional_call and stack_module_state: what is replaced, what is put back, and under transforms."""

import copy

import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite import nn
from functorch_lite.nn import create


class Tied(nn.Module):
    """Two layers with one weight."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.a(x) + self.b(x)


class Counting(nn.Module):
    """Changes one buffer in place and replaces another."""

    def __init__(self):
        super().__init__()
        self.register_buffer("inside", create.zeros(1))
        self.register_buffer("anew", create.zeros(1))

    def forward(self, x):
        self.inside.add_(1)
        self.anew = self.anew + 1
        return x


def arrays(module):
    return {name: t.array for name, t in [*module.named_parameters(), *module.named_buffers()]}


def close(a, b, atol=1e-5):
    np.testing.assert_allclose(np.asarray(getattr(a, "array", a)), np.asarray(getattr(b, "array", b)), rtol=1e-5, atol=atol)


def test_values_stand_in_for_parameters_and_are_gone_afterwards():
    layer, x = nn.Linear(2, 1), create.ones(3, 2)
    weight, bias = layer.weight, layer.bias
    given = {"weight": create.tensor([[1.0, 2.0]]), "bias": create.tensor([0.5])}
    assert nn.functional_call(layer, given, (x,)).tolist() == [[3.5]] * 3
    assert nn.functional_call(layer, given, x).tolist() == [[3.5]] * 3  # one argument stands for a tuple of it
    assert nn.functional_call(layer, given, kwargs={"input": x}).tolist() == [[3.5]] * 3
    assert nn.functional_call(layer, {"weight": given["weight"], "bias": None}, x).tolist() == [[3.0]] * 3
    assert layer.weight is weight and layer.bias is bias and list(layer._parameters) == ["weight", "bias"]
    assert nn.functional_call(layer, ({"weight": given["weight"]}, {"bias": given["bias"]}), x).tolist() == [[3.5]] * 3
    close(nn.functional_call(layer, {"weight": given["weight"]}, x) - layer.bias, [[3.0]] * 3)


def test_arrays_give_arrays():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.LayerNorm(3)).eval()
    out = nn.functional_call(net, arrays(net), fl.ones(4, 2))
    assert isinstance(out, fl.Array)
    close(out, net(create.ones(4, 2)))
    assert isinstance(nn.functional_call(net, arrays(net), create.ones(4, 2)), nn.Tensor)


def test_everything_is_put_back_whatever_happens():
    class Failing(nn.Linear):
        def forward(self, x):
            raise KeyError("inside")

    layer = Failing(2, 1)
    weight, before = layer.weight, dict(vars(layer))
    with pytest.raises(KeyError, match="inside"):
        nn.functional_call(layer, {"weight": fl.ones(1, 2), "unknown": fl.ones(1)}, fl.ones(2))
    assert layer.weight is weight and vars(layer) == before
    with pytest.raises(AttributeError, match="no attribute `a`"):
        nn.functional_call(layer, {"weight": fl.ones(1, 2), "a.weight": fl.ones(1)}, fl.ones(2))
    assert layer.weight is weight


def test_one_name_replaces_all_of_a_tied_weight():
    net, x, zero = Tied(), create.ones(2), create.zeros(2, 2)
    biases = net.a.bias + net.b.bias
    for name in ("a.weight", "b.weight"):
        close(nn.functional_call(net, {name: zero}, x), biases)
    close(nn.functional_call(net, {"a.weight": zero, "b.weight": zero}, x), biases)
    close(nn.functional_call(net, {"a.weight": zero}, x, tie_weights=False), net.b(x) + net.a.bias)
    with pytest.raises(ValueError, match="tie_weights=False"):
        nn.functional_call(net, {"a.weight": zero, "b.weight": create.ones(2, 2)}, x)
    assert net.a.weight is net.b.weight
    gradient = fl.grad(lambda w: nn.functional_call(net, {"a.weight": w}, fl.ones(2)).sum())(fl.zeros(2, 2))
    assert gradient.tolist() == [[2.0, 2.0], [2.0, 2.0]]


@pytest.mark.parametrize(
    "given, named, error, message",
    [
        ({"foo": fl.ones(1)}, {"strict": True}, RuntimeError, r"Unexpected key\(s\): 'foo'.\n\tMissing key\(s\): 'bias', 'weight'."),
        ({"weight": 3}, {}, TypeError, "'weight' must be a Tensor or an Array, got int"),
        (({"weight": fl.ones(1, 2)}, {"weight": fl.ones(1, 2)}), {}, ValueError, "appeared in multiple dictionaries"),
        (3, {}, ValueError, "dict"),
    ],
)
def test_what_does_not_fit_raises(given, named, error, message):
    with pytest.raises(error, match=message):
        nn.functional_call(nn.Linear(2, 1), given, fl.ones(2), **named)


def test_strict_takes_exactly_the_names():
    net = Tied()
    every = arrays(net)
    nn.functional_call(net, every, fl.ones(2), strict=True)
    with pytest.raises(RuntimeError, match="Missing.*'a.bias'"):
        nn.functional_call(net, {k: v for k, v in every.items() if k != "a.bias"}, fl.ones(2), strict=True)


def test_buffers_change_where_they_were_given():
    net = Counting()
    given = {"inside": create.zeros(1), "anew": create.zeros(1)}
    kept = given["inside"]
    nn.functional_call(net, given, fl.ones(1))
    assert given["inside"] is kept and kept.item() == 1.0 and given["anew"].item() == 1.0
    assert net.inside.item() == 0.0 and net.anew.item() == 0.0
    net(create.ones(1))
    assert net.inside.item() == 1.0 and net.anew.item() == 1.0


def test_batch_norm_on_arrays_puts_its_statistics_into_the_dict():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    x = fl.random.normal(fl.random.key(0), (5, 2))
    state = arrays(net)
    out = nn.functional_call(net, state, x)
    assert isinstance(out, fl.Array) and isinstance(state["1.running_mean"], fl.Array) and state["1.num_batches_tracked"].item() == 1
    assert net[1].num_batches_tracked.item() == 0 and isinstance(net[1].running_mean, nn.Tensor)
    close(out, net(nn.Tensor(x)))
    close(state["1.running_mean"], net[1].running_mean)
    close(state["1.running_var"], net[1].running_var)


def test_batch_norm_statistics_of_each_model_of_an_ensemble():
    nets = [nn.BatchNorm1d(2) for _ in range(3)]
    params, buffers = nn.stack_module_state(nets)
    x = fl.random.normal(fl.random.key(0), (3, 5, 2))

    def step(params, buffers, x):
        out = nn.functional_call(nets[0], (params, buffers), (x,))
        return out, buffers

    params, buffers = ({k: v.array for k, v in d.items()} for d in (params, buffers))
    _, new = fl.vmap(step)(params, buffers, x)
    for i, net in enumerate(nets):
        net(nn.Tensor(x[i]))
        close(new["running_mean"][i], net.running_mean)
        close(new["running_var"][i], net.running_var)
        assert new["num_batches_tracked"][i].item() == 1


def test_under_jit_and_per_sample_gradients():
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    x = fl.random.normal(fl.random.key(0), (5, 2))

    def loss(params, x):
        return nn.functional_call(net, params, (x,)).square().sum()

    params = arrays(net)
    per_sample = fl.jit(fl.vmap(fl.grad(loss), in_dims=(None, 0)))(params, x)
    assert per_sample["0.weight"].shape == (5, 3, 2)
    for i in range(5):
        net.zero_grad()
        net(nn.Tensor(x[i])).square().sum().backward()
        for name, p in net.named_parameters():
            close(per_sample[name][i], p.grad)


def test_transforms_take_the_parameters_themselves():
    net, x = nn.Linear(2, 1), create.tensor(np.arange(10, dtype=np.float32).reshape(5, 2))

    def loss(params, x):
        return nn.functional_call(net, params, (x,)).sum()

    params = dict(net.named_parameters())
    close(fl.grad(loss)(params, x)["weight"], x.sum(0, keepdim=True))
    per_sample = fl.vmap(fl.grad(loss), (None, 0))(params, x)
    close(per_sample["weight"][:, 0], x)
    assert all(isinstance(g, nn.Tensor) for g in per_sample.values())
    assert net.weight.grad is None


def test_a_model_on_meta_serves_as_the_base_of_an_ensemble_inside_jvp():
    models = nn.ModuleList(nn.Linear(2, 1) for _ in range(3))
    base = copy.deepcopy(models[0]).to("meta")

    def f(x):
        state = nn.stack_module_state(list(models))
        return fl.vmap(lambda p, b: nn.functional_call(base, (p, b), (x,)))(*state)

    x = create.tensor([1.0, -2.0])
    out, tangent = fl.jvp(f, (x,), (create.ones(2),))
    for row, slope, model in zip(out, tangent, models, strict=True):
        close(row, model(x))
        close(slope, model.weight.sum(1))


def test_stacked_state_is_a_leaf_of_its_own_at_the_top_and_a_function_inside_transforms():
    models = [nn.Linear(2, 1) for _ in range(3)]
    params, buffers = nn.stack_module_state(models)
    assert buffers == {} and params["weight"].shape == (3, 1, 2) and params["weight"].is_leaf and params["weight"].requires_grad
    (params["weight"] * 2).sum().backward()
    assert params["weight"].grad.tolist() == [[[2.0, 2.0]]] * 3 and models[0].weight.grad is None

    def total(weight):
        with_it = [copy.copy(models[0]) for _ in range(2)]
        for m in with_it:
            m._parameters = {"weight": weight}
        return nn.stack_module_state(with_it)[0]["weight"].sum()

    assert fl.grad(total)(create.ones(1, 2)).tolist() == [[2.0, 2.0]]
    inside = []
    fl.jit(lambda x: inside.append(nn.stack_module_state(models)[0]["weight"].is_leaf) or x)(fl.ones(1))
    assert inside == [True]


@pytest.mark.parametrize(
    "models, message",
    [
        (lambda: [], "at least one model"),
        (lambda: [nn.ReLU(), nn.Tanh()], "same class"),
        (lambda: [nn.ReLU(), nn.ReLU().eval()], "same training/eval mode"),
        (lambda: [nn.Linear(1, 1), nn.Linear(1, 1).requires_grad_(False)], "Expected weight .* same .requires_grad"),
    ],
)
def test_models_that_do_not_stack_raise(models, message):
    with pytest.raises(RuntimeError, match=message):
        nn.stack_module_state(models())

"""Module: registration, walks, hooks, state_dict, dtype and device, copies, text."""

import copy
import gc
import pickle
import warnings
from collections import OrderedDict

import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite import nn
from functorch_lite.nn import create


class Net(nn.Module):
    """Two linear layers with one weight, a buffer of each kind, and a plain attribute."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.second = nn.Linear(2, 2)
        self.second.weight = self.first.weight
        self.register_buffer("seen", create.zeros(2))
        self.mask = nn.Buffer(create.ones(2), persistent=False)
        self.scale = 2.0

    def forward(self, x):
        return self.scale * self.second(self.first(x)) * self.mask


class Counted(nn.Module):
    """A module with an extra state, which counts its calls."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def get_extra_state(self):
        return {"calls": self.calls}

    def set_extra_state(self, state):
        self.calls = state["calls"]


def values(module):
    return {name: t.numpy().copy() for name, t in module.state_dict().items()}


def unchanged(before, module):
    return all(np.array_equal(before[name], t.numpy()) for name, t in module.state_dict().items())


# -------------------------------------------------------------------------------------------------------- registration


def test_attributes_are_registered_by_what_they_are():
    net = Net()
    assert list(net._modules) == ["first", "second"] and list(net._buffers) == ["seen", "mask"] and not net._parameters
    assert "first" not in vars(net) and "seen" not in vars(net) and net.first is net._modules["first"]
    net.extra = nn.Parameter(create.ones(1))
    assert net._parameters["extra"] is net.extra and {"extra", "first", "seen", "scale"} <= set(dir(net))
    del net.extra
    assert not hasattr(net, "extra")
    net.scale = nn.Parameter(create.ones(1))  # in place of a plain attribute
    assert "scale" not in vars(net) and "scale" in net._parameters
    net.scale = None
    assert net.scale is None and net._parameters == {"scale": None} and "scale" not in net.state_dict()
    net.first = nn.ReLU()
    assert isinstance(net._modules["first"], nn.ReLU)
    net.plain = create.ones(1)
    assert "plain" in vars(net) and "plain" not in net._buffers
    net.seen = create.ones(2)
    assert net._buffers["seen"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "act, error, message",
    [
        (lambda m: setattr(m, "weight", create.ones(1)), TypeError, "cannot assign 'Tensor' as parameter 'weight'"),
        (lambda m: setattr(m, "weight", 3), TypeError, "cannot assign 'int' as parameter 'weight'"),
        (lambda m: m.register_buffer("weight", create.ones(1)), KeyError, "attribute 'weight' already exists"),
        (lambda m: m.register_buffer("a.b", create.ones(1)), KeyError, "buffer name can.*t contain"),
        (lambda m: m.register_buffer("", create.ones(1)), KeyError, "can.*t be empty"),
        (lambda m: m.register_buffer(3, create.ones(1)), TypeError, "should be a string"),
        (lambda m: m.register_buffer("b", 3), TypeError, "Tensor or None required"),
        (lambda m: m.register_parameter("p", m.weight * 2), TypeError, "Parameter or None required"),
        (lambda m: m.add_module("c", 3), TypeError, "int is not a Module subclass"),
        (lambda m: m.add_module("forward", nn.ReLU()), KeyError, "already exists"),
        (lambda m: m.nothing, AttributeError, "'Linear' object has no attribute 'nothing'"),
        (lambda m: m.train(3), ValueError, "boolean"),
        (lambda m: m.to(fl.int32), TypeError, "floating point or complex"),
        (lambda m: nn.Module()(1), NotImplementedError, "forward"),
        (lambda m: nn.Module(3), TypeError, "argument"),
        (lambda m: m.get_submodule("a"), AttributeError, "Linear has no attribute `a`"),
        (lambda m: m.get_parameter("training"), AttributeError, "not an nn.Parameter"),
    ],
)
def test_wrong_use_says_what_is_wrong(act, error, message):
    with pytest.raises(error, match=message):
        act(nn.Linear(2, 1))


def test_super_init_comes_first():
    class Late(nn.Module):
        def __init__(self):
            self.layer = nn.ReLU()

    with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call"):
        Late()


def test_changes_of_modules_are_counted_and_no_others():
    net = Net()

    def counts(act):
        before = nn.Module.mutations[0]
        act()
        return nn.Module.mutations[0] > before

    assert counts(lambda: setattr(net, "scale", 3.0)) and not counts(lambda: setattr(net, "scale", net.scale))
    assert counts(lambda: setattr(net, "new", 1)) and counts(lambda: delattr(net, "new"))
    assert counts(net.eval) and not counts(net.eval)
    assert counts(lambda: setattr(net, "first", nn.Linear(2, 2))) and counts(lambda: net.register_forward_hook(print))
    assert not counts(lambda: net.seen.zero_()) and not counts(lambda: net(create.ones(2)))


# --------------------------------------------------------------------------------------------------------------- walks


def test_walks_go_over_everything_once_unless_asked():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == ["first.weight", "first.bias", "second.bias"]
    assert [name for name, _ in net.named_parameters(remove_duplicate=False)][2] == "second.weight"
    assert [name for name, _ in net.named_parameters("net", recurse=False)] == []
    assert [name for name, _ in net.named_buffers("net")] == ["net.seen", "net.mask"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "second"] and len(list(net.modules())) == 3
    net.again = net.first
    assert [name for name, _ in net.named_children()] == ["first", "second"]
    assert [name for name, _ in net.named_modules(remove_duplicate=False)] == ["", "first", "second", "again"]
    assert len(list(net.parameters())) == 3 and len(list(net.buffers())) == 2 and len(list(net.children())) == 2


def test_dotted_names_are_followed():
    net = nn.Sequential(Net(), nn.BatchNorm1d(2))
    assert net.get_submodule("0.first") is net[0].first and net.get_submodule("") is net
    assert net.get_parameter("0.first.bias") is net[0].first.bias and net.get_buffer("1.running_var") is net[1].running_var
    net.set_submodule("0.first", nn.Identity())
    assert isinstance(net[0].first, nn.Identity)


def test_apply_train_freeze_and_zero_grad_reach_every_module():
    net, seen = Net(), []
    assert net.apply(lambda m: seen.append(type(m).__name__)) is net and seen == ["Linear", "Linear", "Net"]
    assert not any(m.training for m in net.eval().modules()) and all(m.training for m in net.train().modules())
    net(create.ones(3, 2)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad(set_to_none=False)
    assert all((p.grad == 0).all() for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters()) and not net(create.ones(2)).requires_grad


# --------------------------------------------------------------------------------------------------------------- hooks


def test_hooks_change_arguments_and_outputs_in_order():
    layer, order = nn.Identity(), []

    def before(module, args):
        order.append("before")
        return args[0] + 1  # one value stands for a tuple of it

    def after(module, args, output):
        order.append("after")
        assert args[0].item() == 2.0
        return output * 10

    handles = [layer.register_forward_pre_hook(before), layer.register_forward_hook(after)]
    handles.append(layer.register_forward_hook(lambda m, a, output: order.append("first"), prepend=True))
    assert layer(create.tensor(1.0)).item() == 20.0 and order == ["before", "first", "after"]
    for handle in handles:
        handle.remove()
        handle.remove()
    assert layer(create.tensor(1.0)).item() == 1.0


def test_hooks_with_kwargs_and_hooks_that_always_run():
    class Scaled(nn.Module):
        def forward(self, x, *, scale=1.0):
            if scale == 0:
                raise ZeroDivisionError("scale is 0")
            return x * scale

    layer, seen = Scaled(), []
    layer.register_forward_pre_hook(lambda m, args, kwargs: (args, {**kwargs, "scale": kwargs["scale"] + 1}), with_kwargs=True)
    layer.register_forward_hook(lambda m, args, kwargs, out: seen.append(kwargs["scale"]), with_kwargs=True)
    with layer.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True):
        assert layer(create.tensor(2.0), scale=2.0).item() == 6.0 and seen[0] == 3.0
        with pytest.raises(ZeroDivisionError):
            layer(create.tensor(2.0), scale=-1)
    assert seen[2:] == [None]
    layer.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="pair"):
        layer(create.tensor(1.0), scale=1)


def test_a_handle_does_not_keep_its_module():
    layer = nn.Identity()
    handle, gone = layer.register_forward_hook(lambda *_: None), []
    layer.register_buffer("watched", create.zeros(1))
    import weakref

    weakref.finalize(layer, gone.append, True)
    del layer
    gc.collect()
    assert gone == [True]
    handle.remove()


# ---------------------------------------------------------------------------------------------------------- state_dict


def test_state_dict_shares_data_and_goes_back():
    net, other = Net(), Net()
    state = net.state_dict()
    assert list(state) == ["seen", "first.weight", "first.bias", "second.weight", "second.bias"]
    assert isinstance(state, OrderedDict) and state._metadata["first"] == {"version": 1} and not state["first.weight"].requires_grad
    assert net.state_dict(keep_vars=True)["first.weight"] is net.first.weight
    assert list(net.first.state_dict(prefix="a.")) == ["a.weight", "a.bias"]
    weight = other.first.weight
    assert repr(other.load_state_dict(state)) == "<All keys matched successfully>"
    assert unchanged(values(net), other) and other.first.weight is weight and other.second.weight is weight and weight.requires_grad
    with nn.grad_mode.no_grad():
        net.first.bias.fill_(7.0)
    assert state["first.bias"].tolist() == [7.0, 7.0] and other.first.bias.tolist() != [7.0, 7.0]


def test_loading_takes_tensors_arrays_numpy_and_other_dtypes():
    layer = nn.Linear(2, 1)
    layer.load_state_dict({"weight": fl.asarray([[1, 2]]), "bias": np.array([0.5])})
    assert layer.weight.tolist() == [[1.0, 2.0]] and layer.bias.tolist() == [0.5] and layer.bias.dtype is fl.float32
    source = create.tensor([[3.0, 4.0]])
    layer.load_state_dict({"weight": source, "bias": create.tensor([1.0])})
    source.zero_()
    assert layer.weight.tolist() == [[3.0, 4.0]]


def test_a_state_dict_that_does_not_fit_says_everything_and_changes_nothing():
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 4))
    before = values(net)
    bad = {
        "0.weight": create.zeros(3, 2),
        "0.bias": [0.0],
        "1.weight": create.zeros(9, 3),
        "extra": create.zeros(1),
        "1.a.b": create.zeros(1),
    }
    with pytest.raises(RuntimeError) as error:
        net.load_state_dict(bad)
    lines = str(error.value).split("\n\t")
    assert lines[0] == "Error(s) in loading state_dict for Sequential:"
    assert lines[1] == 'Missing key(s) in state_dict: "1.bias". ' and lines[2] == 'Unexpected key(s) in state_dict: "extra", "1.a.b". '
    assert '"0.bias"' in lines[3] and "list" in lines[3]
    shapes = "copying a param with shape torch.Size([9, 3]) from checkpoint, the shape in current model is torch.Size([4, 3])."
    assert lines[4] == f"size mismatch for 1.weight: {shapes}"
    assert unchanged(before, net)
    with pytest.raises(RuntimeError, match="size mismatch for 1.weight"):
        net.load_state_dict(bad, strict=False)
    assert unchanged(before, net)
    with pytest.raises(TypeError, match="dict-like"):
        net.load_state_dict([1])


def test_without_strict_keys_are_reported_and_the_rest_is_loaded():
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 4))
    weight = net[0].weight
    result = net.load_state_dict({"0.weight": create.zeros(3, 2), "extra": create.zeros(1)}, strict=False)
    assert result.unexpected_keys == ["extra"] and result.missing_keys == ["0.bias", "1.weight", "1.bias"]
    assert repr(result).startswith("_IncompatibleKeys(missing_keys=['0.bias'")
    assert net[0].weight is weight and weight.tolist() == [[0.0, 0.0]] * 3


def test_assign_puts_the_tensors_themselves_and_keeps_ties():
    net, state = Net(), Net().state_dict()
    net.load_state_dict(state, assign=True)
    assert isinstance(net.first.weight, nn.Parameter) and net.first.weight.requires_grad and net.second.weight is net.first.weight
    state["first.bias"].fill_(3.0)
    assert net.first.bias.tolist() == [3.0, 3.0]


def test_a_model_on_meta_is_loaded_by_assign_or_to_empty():
    net, state = Net().to("meta"), Net().state_dict()
    assert all(str(t.device) == "meta" for t in [*net.parameters(), *net.buffers()]) and net.second.weight is net.first.weight
    with pytest.warns(UserWarning, match="assign=True"):
        net.load_state_dict(state)
    assert str(net.first.weight.device) == "meta"
    net.to_empty(device="cpu").load_state_dict(state)
    assert net.first.weight.tolist() == state["first.weight"].tolist() and net.first.weight.requires_grad
    other = Net().to("meta")
    other.load_state_dict(state, assign=True)
    assert other.first.weight.tolist() == state["first.weight"].tolist()
    assert str(nn.Linear(2, 3, device="meta").weight.device) == "meta"


def test_extra_state_goes_with_the_state_dict():
    a, b = nn.Sequential(Counted()), nn.Sequential(Counted())
    a[0].calls = 5
    assert a.state_dict()["0._extra_state"] == {"calls": 5}
    b.load_state_dict(a.state_dict())
    assert b[0].calls == 5
    with pytest.raises(RuntimeError, match='Missing.*"0._extra_state"'):
        b.load_state_dict({})
    with pytest.raises(RuntimeError, match='Unexpected.*"_extra_state"'):
        nn.ReLU().load_state_dict({"_extra_state": 1})


def test_old_batch_norm_state_has_no_count_and_new_must_have():
    layer = nn.BatchNorm1d(2)
    state = {k: v for k, v in layer.state_dict().items() if k != "num_batches_tracked"}
    assert layer.load_state_dict(state).missing_keys == []  # a plain dict has no version
    new = layer.state_dict()
    del new["num_batches_tracked"]
    with pytest.raises(RuntimeError, match="num_batches_tracked"):
        layer.load_state_dict(new)


def test_hooks_of_saving_and_loading():
    net, seen = nn.Sequential(nn.Linear(1, 1)), []
    net.register_state_dict_pre_hook(lambda m, prefix, keep_vars: seen.append(prefix))
    net[0].register_state_dict_post_hook(lambda m, state, prefix, meta: state.pop(prefix + "bias") and None)
    assert list(net.state_dict()) == ["0.weight"] and seen == [""]
    net._register_state_dict_hook(lambda m, state, prefix, meta: {"model." + k: v for k, v in state.items()})
    assert list(net.state_dict()) == ["model.0.weight"]

    def rename(module, state, prefix, meta, strict, missing, unexpected, errors):
        for key in list(state):
            state[key.removeprefix("model.")] = state.pop(key)

    net.register_load_state_dict_pre_hook(rename)
    net.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    given = {"model.0.weight": create.zeros(1, 1)}
    assert repr(net.load_state_dict(given)) == "<All keys matched successfully>" and list(given) == ["model.0.weight"]
    assert net[0].weight.tolist() == [[0.0]]


def test_a_module_may_load_older_layouts():
    class Renamed(nn.Linear):
        def _load_from_state_dict(self, state_dict, prefix, *rest):
            if prefix + "w" in state_dict:
                state_dict[prefix + "weight"] = state_dict.pop(prefix + "w")
            super()._load_from_state_dict(state_dict, prefix, *rest)

    net = nn.Sequential(Renamed(1, 1, bias=False))
    assert net.load_state_dict({"0.w": create.ones(1, 1)}).missing_keys == [] and net[0].weight.tolist() == [[1.0]]


# ---------------------------------------------------------------------------------------------------- dtype and device


def test_dtypes_change_for_floats_and_parameters_stay_themselves():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    weight = net[0].weight
    net(create.ones(3, 2) + create.tensor([[0.0], [1.0], [2.0]])).sum().backward()
    assert net.double() is net and net[0].weight is weight and weight.dtype is fl.float64 and weight.grad.dtype is fl.float64
    assert weight.requires_grad and weight.is_leaf
    assert net[1].running_mean.dtype is fl.float64 and net[1].num_batches_tracked.dtype is fl.int64
    dtypes = [net.half()[0].bias.dtype, net.bfloat16()[0].bias.dtype, net.float()[0].bias.dtype, net.to(fl.float64)[0].bias.dtype]
    assert dtypes == [fl.float16, fl.bfloat16, fl.float32, fl.float64]
    assert net.to(create.ones(1))[0].bias.dtype is fl.float32 and net.to("cpu", fl.float64)[0].bias.dtype is fl.float64
    assert net.type(fl.float32)[1].num_batches_tracked.dtype is fl.float32
    assert net.cpu()[0].weight is weight
    assert nn.Linear(2, 2, dtype=fl.float64).weight.dtype is fl.float64


def test_a_buffer_that_is_a_view_moves_too():
    net = nn.Module()
    net.register_buffer("mask", create.ones(2, 2).tril().view(1, 1, 2, 2))
    assert net.double().mask.dtype is fl.float64 and net.mask.shape == (1, 1, 2, 2) and list(net.state_dict()) == ["mask"]


def test_an_unknown_device_raises():
    with pytest.raises(RuntimeError, match="nowhere"):
        nn.Linear(1, 1).to("nowhere")


# -------------------------------------------------------------------------------------------------------------- copies


@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
def test_copies_are_their_own_and_ties_stay(twin_of):
    net = Net()
    net.again = net.first
    twin = twin_of(net)
    assert type(twin.first.weight) is nn.Parameter and twin.first.weight.requires_grad and twin.first.weight is not net.first.weight
    assert twin.second.weight is twin.first.weight and twin.again is twin.first
    assert unchanged(values(net), twin) and list(twin.state_dict()) == list(net.state_dict())
    with nn.grad_mode.no_grad():
        twin.first.weight.zero_()
    assert net.first.weight.tolist() != twin.first.weight.tolist()
    twin(create.ones(2)).sum().backward()
    assert net.first.weight.grad is None


def test_deepcopy_copies_hooks_and_gradients():
    net = nn.Sequential(nn.Linear(1, 1))
    net.register_forward_hook(lambda m, args, out: out * 0)
    net[0](create.ones(1)).sum().backward()
    twin = copy.deepcopy(net)
    assert twin(create.ones(1)).item() == 0.0 and twin[0].weight.grad.tolist() == [[1.0]]
    twin[0].weight.grad.zero_()
    assert net[0].weight.grad.tolist() == [[1.0]]


# ----------------------------------------------------------------------------------------------------- parameters, text


def test_parameter_shares_its_data_and_is_a_leaf():
    t = create.zeros(2)
    p = nn.Parameter(t)
    t.fill_(3.0)
    assert p.tolist() == [3.0, 3.0] and p.requires_grad and p.is_leaf and not t.requires_grad
    assert isinstance(p * 2, nn.Tensor) and not isinstance(p * 2, nn.Parameter) and isinstance(p, nn.Tensor)
    computed = nn.Parameter(p * 2)
    assert computed.is_leaf and computed.tolist() == [6.0, 6.0]
    assert not nn.Parameter(t, requires_grad=False).requires_grad and nn.Parameter().shape == (0,)
    assert repr(nn.Parameter(create.ones(2))) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    with pytest.raises(RuntimeError, match="floating point"):
        nn.Parameter(create.tensor([1]))
    assert not nn.Parameter(create.tensor([1]), requires_grad=False).requires_grad


def test_repr_nests_and_shows_extra_lines():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential(nn.ReLU())

        def extra_repr(self):
            return "a=1\nb=2"

    assert repr(Outer()) == "Outer(\n  a=1\n  b=2\n  (inner): Sequential(\n    (0): ReLU()\n  )\n)"


def test_nothing_warns_where_nothing_is_wrong():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net = Net()
        copy.deepcopy(net).load_state_dict(net.state_dict())
        repr(net.double())

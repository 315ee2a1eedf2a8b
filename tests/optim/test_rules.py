"""The update rules as pure functions: against plain NumPy, over trees, and under transforms."""

import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite.core.op import Op
from functorch_lite.optim.rules import adam, adam_step, sgd, sgd_step

SEED = 20240607


class Numpy:
    """The formulas again, step by step on float64 arrays that change in place, as the papers write them."""

    @staticmethod
    def sgd(p, grads, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False):
        p, buffer = p.copy(), None
        for g in grads:
            g = (-g if maximize else g) + weight_decay * p
            if momentum:
                buffer = g.copy() if buffer is None else momentum * buffer + (1 - dampening) * g
                g = g + momentum * buffer if nesterov else buffer
            p -= lr * g
        return p

    @staticmethod
    def adam(p, grads, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, maximize=False, decoupled=False):
        p, m, v, top = p.copy(), 0 * p, 0 * p, 0 * p
        for t, g in enumerate(grads, 1):
            g = -g if maximize else g
            if decoupled:
                p -= lr * weight_decay * p
            else:
                g = g + weight_decay * p
            m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g * g
            top = np.maximum(top, v)
            p -= lr * m / (1 - betas[0] ** t) / (np.sqrt((top if amsgrad else v) / (1 - betas[1] ** t)) + eps)
        return p


SGD = [
    {"lr": 0.1},
    {"lr": 0.1, "momentum": 0.9},
    {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    {"lr": 0.1, "momentum": 0.9, "dampening": 0.5},
    {"lr": 0.1, "weight_decay": 0.1, "maximize": True},
]
ADAM = [
    {},
    {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3},
    {"lr": 0.1, "weight_decay": 0.1},
    {"lr": 0.1, "weight_decay": 0.1, "decoupled": True},
    {"lr": 0.1, "amsgrad": True, "betas": (0.9, 0.5)},
    {"lr": 0.1, "maximize": True, "weight_decay": 0.1},
]
RULES = [(sgd, options) for options in SGD] + [(adam, options) for options in ADAM]
IDS = [f"{rule.__name__.rpartition('.')[2]}-{','.join(options)}" for rule, options in RULES]


def start(rule, params, options):
    name = "momentum" if rule is sgd else "amsgrad"
    return rule.init(params, **{name: options[name]} if name in options else {})


def by_numpy(rule, p, grads, options):
    return (Numpy.sgd if rule is sgd else Numpy.adam)(p, grads, **options)


def drawn(seed=SEED, steps=10, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(2, 3)).astype(dtype), rng.normal(size=(steps, 2, 3)).astype(dtype)


@pytest.mark.parametrize("rule, options", RULES, ids=IDS)
@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-12), (np.float32, 2e-6)], ids=["float64", "float32"])
def test_ten_steps(rule, options, dtype, tolerance):
    p, grads = drawn(dtype=dtype)
    expected = by_numpy(rule, p.astype(np.float64), grads.astype(np.float64), options)
    params = {"a": fl.asarray(p), "b": [fl.asarray(p[0, 0])]}
    state = start(rule, params, options)
    for g in grads:
        params, state = rule.update({"a": fl.asarray(g), "b": [fl.asarray(g[0, 0])]}, state, params, **options)
    assert params["a"].dtype == dtype and params["b"][0].shape == ()
    np.testing.assert_allclose(params["a"].numpy(), expected, rtol=tolerance, atol=tolerance, err_msg=f"seed {SEED}")
    np.testing.assert_allclose(params["b"][0].numpy(), expected[0, 0], rtol=tolerance, atol=tolerance, err_msg=f"seed {SEED}")


def test_the_first_steps_are_exact_in_32_bits():
    """1 - beta2**t of a float32 beta2 would be wrong in the fifth digit: numbers are computed in 64."""
    p = fl.zeros(3)
    for t in range(1, 4):
        step = fl.asarray(float(t - 1))
        v = fl.full((3,), 1 - 0.999**t)
        out = adam_step(1.0, 0.0, 0.999, 0.0, None, [p, fl.ones(3), fl.ones(3), (v - 0.001) / 0.999, step])[0]
        np.testing.assert_allclose(out.numpy(), -1, rtol=3e-7)


@pytest.mark.parametrize("rule, options", RULES, ids=IDS)
def test_jit_and_scan(rule, options):
    """The state keeps its structure, so a whole run is one scan; numbers are inputs, so another rate is the same program."""
    p, grads = drawn()
    options = {"lr": 1e-3, **options}
    params = fl.asarray(p)

    @fl.jit(static_argnames=("flags",))
    def run(params, grads, numbers, flags):
        def body(carry, g):
            return rule.update(g, carry[1], carry[0], **numbers, **dict(flags)), None

        return fl.scan(body, (params, start(rule, params, {**numbers, **dict(flags)})), grads)[0][0]

    flags = tuple((k, v) for k, v in options.items() if isinstance(v, bool))
    for lr in (options["lr"], 0.25):
        numbers = {k: v for k, v in options.items() if not isinstance(v, bool)} | {"lr": lr}
        out = run(params, fl.asarray(grads), numbers, flags)
        expected = by_numpy(rule, p, grads, {**options, "lr": lr})
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-10, atol=1e-12, err_msg=f"seed {SEED}")


def test_a_batch_of_learning_rates():
    p, grads = drawn()
    rates = np.array([0.01, 0.1, 1.0])

    def run(lr):
        params, state = fl.asarray(p), adam.init(fl.asarray(p))
        for g in grads[:3]:
            params, state = adam.update(fl.asarray(g), state, params, lr=lr)
        return params

    out = fl.vmap(run)(fl.asarray(rates))
    np.testing.assert_allclose(out.numpy(), [Numpy.adam(p, grads[:3], lr) for lr in rates], rtol=1e-10, err_msg=f"seed {SEED}")


@pytest.mark.parametrize("rule, options", [(sgd, SGD[2]), (adam, ADAM[3])], ids=["sgd", "adam"])
def test_the_derivative_in_the_learning_rate(rule, options):
    p, grads = drawn()

    def last(lr):
        params, state = fl.asarray(p), start(rule, fl.asarray(p), options)
        for g in grads[:4]:
            params, state = rule.update(fl.asarray(g), state, params, **{**options, "lr": lr})
        return (params**2).sum()

    def plain(lr):
        return (by_numpy(rule, p, grads[:4], {**options, "lr": lr}) ** 2).sum()

    slope = (plain(0.1 + 1e-6) - plain(0.1 - 1e-6)) / 2e-6
    np.testing.assert_allclose(fl.grad(last)(fl.asarray(0.1, dtype=fl.float64)).item(), slope, rtol=1e-7, err_msg=f"seed {SEED}")


@pytest.mark.parametrize("rule", [sgd, adam], ids=["sgd", "adam"])
def test_a_step_is_one_op(rule):
    params = {"w": fl.ones(2, 3), "b": fl.ones(3)}
    program = fl.make_fx(lambda g, p: rule.update(g, rule.init(p), p, lr=0.1)[0])(params, params)
    steps = [n.target.qualname for n in program.graph.nodes if isinstance(n.target, Op) and n.target.namespace == "fl.optim.rules"]
    assert steps == [f"fl.optim.rules.{'sgd' if rule is sgd else 'adam'}_step"]
    assert f"fl.optim.rules.{steps[0].rpartition('.')[2]}(" in program.code


@pytest.mark.parametrize("rule, more", [(sgd, {"momentum": 0.9}), (adam, {})], ids=["sgd", "adam"])
def test_what_has_no_gradient_stays(rule, more):
    params = {"w": fl.ones(2), "frozen": {"w": fl.ones(2)}, "steps": fl.asarray(7), "name": "net"}
    state = rule.init(params, **more)
    grads = {"name": None, "steps": None, "frozen": None, "w": fl.ones(2)}
    new, state = rule.update(grads, state, params, lr=0.5, **more)
    assert new["w"].tolist() == pytest.approx([0.5, 0.5]) and list(new) == list(params)
    assert new["frozen"]["w"] is params["frozen"]["w"] and new["steps"] is params["steps"] and new["name"] == "net"
    assert state["step"].item() == 1 and state["step"].dtype is fl.float32
    same, _ = rule.update(None, state, new, lr=0.5, **more)
    assert same["w"] is new["w"]


@pytest.mark.parametrize("dtype", [fl.bfloat16, fl.float16], ids=str)
def test_narrow_dtypes_are_computed_wide(dtype):
    p = fl.full((2,), 1.0, dtype=dtype)
    for rule in (sgd, adam):
        new, state = rule.update(fl.full((2,), 1e-3, dtype=dtype), rule.init(p), p, lr=0.25)
        assert new.dtype is dtype and all(x.dtype is dtype for k, x in state.items() if k != "step")
    assert new.tolist() == [0.75, 0.75]  # the square of the gradient is no number of 16 bits for float16


def test_models_are_trees_too():
    @fl.struct
    class Line:
        slope: fl.Array
        offset: fl.Array

    x = fl.asarray(np.linspace(-1, 1, 16))
    model = Line(fl.asarray(0.0, dtype=fl.float64), fl.asarray(0.0, dtype=fl.float64))
    state = adam.init(model)
    step = fl.jit(lambda m, s: adam.update(fl.grad(lambda m: ((m.slope * x + m.offset - 3 * x + 1) ** 2).mean())(m), s, m, lr=0.1))
    for _ in range(200):
        model, state = step(model, state)
    assert model.slope.item() == pytest.approx(3, abs=1e-2) and model.offset.item() == pytest.approx(-1, abs=1e-2)


ONES = fl.ones(2)
RAISES = [
    (lambda: sgd_step(0.1, None, None, None, [ONES, ONES, ONES]), ValueError, r"as many arrays of each kind \(parameter, gradient\), got 3"),
    (lambda: sgd_step(0.1, None, None, None, [ONES, fl.ones(3)]), RuntimeError, r"gradient 0 must have the shape and dtype .*float32\[3\]"),
    (lambda: sgd_step(0.1, None, None, None, [ONES, fl.ones(2, dtype=fl.float64)]), RuntimeError, r"gradient 0 .*float64\[2\]"),
    (lambda: sgd_step(0.1, None, None, None, [fl.asarray([1]), fl.asarray([1])]), RuntimeError, r"float or complex dtype, got int64\[1\]"),
    (lambda: sgd_step(0.1, None, None, None, [ONES, ONES], nesterov=True), ValueError, "nesterov needs momentum"),
    (lambda: sgd_step(0.1, None, None, None, ONES), TypeError, "tuple or list"),
    (lambda: adam_step(0.1, 0.9, 0.9, 0.0, None, [ONES] * 5), RuntimeError, r"step 0 must be 0-dim, got float32\[2\]"),
    (lambda: adam.update(ONES, sgd.init(ONES, 0.9), ONES), KeyError, r"no 'exp_avg'.*adam.init\(params, amsgrad=False\)"),
    (lambda: adam.update(ONES, adam.init(ONES), ONES, amsgrad=True), KeyError, "max_exp_avg_sq"),
    (lambda: sgd.update(ONES, {}, ONES, lr=0.1, momentum=0.9), KeyError, "sgd.init"),
    (lambda: adam.update({"w": ONES}, adam.init({"v": ONES}), {"v": ONES}), ValueError, "adam.update: grads at its root.*'v'.*'w'"),
]  # fmt: skip


@pytest.mark.parametrize("f, error, message", RAISES)
def test_bad_input(f, error, message):
    with pytest.raises(error, match=message):
        f()


@pytest.mark.parametrize("dtype", [fl.float32, fl.float64, fl.bfloat16, fl.complex64])
@pytest.mark.parametrize("amsgrad", [False, True])
def test_small_parameters_together(dtype, amsgrad):
    """Computed as one vector they are what they are one by one: small ones and a large one, with counts that differ."""
    rng = np.random.default_rng(SEED)
    shapes = [(3, 2), (), (5000,), (4,), (0,)]
    arrays = [[fl.asarray(np.abs(rng.normal(size=s)).astype(np.float32)).to(dtype) for s in shapes] for _ in range(4 + amsgrad)]
    steps = [fl.asarray(float(i)) for i in range(len(shapes))]
    flat = [x for run in arrays for x in run]

    def adam(together):
        return fl.jit(lambda *xs: adam_step(0.1, 0.9, 0.99, 1e-8, 0.01, xs, amsgrad, False, True, together))(*flat, *steps)

    def momentum(together):
        return fl.jit(lambda *xs: sgd_step(0.1, 0.9, 0.5, 0.01, xs, True, False, together))(*flat[: 3 * len(shapes)])

    for rule in (adam, momentum):
        for one, other in zip(rule(False), rule(True), strict=True):
            assert one.dtype is other.dtype and one.shape == other.shape
            np.testing.assert_allclose(
                np.asarray(one.to(fl.complex128)), np.asarray(other.to(fl.complex128)), rtol=1e-2 if dtype is fl.bfloat16 else 1e-5
            )

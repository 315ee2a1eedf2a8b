"""The lazy eager mode: what is recorded runs when a value is wanted, whole when it comes again, and no number is ever wrong for it."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import threading
import weakref

import jax
import numpy as np
import pytest

import functorch_lite as fl
import functorch_lite.torch as torch
from functorch_lite.core.holders import lonely
from functorch_lite.core.interpreter import STATE
from functorch_lite.core.pack import SMALL
from functorch_lite.xla import segment
from functorch_lite.xla.segment import flush
from functorch_lite.xla.single import EXECUTABLES
from functorch_lite.xla.steps import MOST_OPS, STEPS, period

X = np.linspace(-1, 2, 12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(autouse=True)
def settled(monkeypatch):
    """Nothing pending from elsewhere, structures are new, what comes again is compiled at once, and no buffer too small to be taken."""
    monkeypatch.setattr(segment, "compiling", lambda step: 0.0)
    monkeypatch.setattr(segment, "SMALL", 0)
    flush()
    STEPS.clear()
    yield
    flush()


def pending() -> int:
    return fl.eager_stats().pending


def compiles() -> int:
    return fl.eager_stats().compiles


# --------------------------------------------------------------------------------------------------- when it runs


def test_an_op_waits_and_its_shape_does_not():
    x = fl.asarray(X)
    y = (x + 1).sum(dim=0)
    assert pending() == 2 and y.shape == (4,) and y.dtype is fl.float32 and y.device == "cpu"
    np.testing.assert_allclose(y.numpy(), (X + 1).sum(0), rtol=1e-6)
    assert pending() == 0


@pytest.mark.parametrize(
    "read",
    [
        lambda y: y.item(),
        float,
        bool,
        lambda y: y.tolist(),
        lambda y: np.asarray(y),
        lambda y: np.from_dlpack(y),
        lambda y: jax.numpy.asarray(y),
        repr,
        lambda y: f"{y:.3f}",
        pickle.dumps,
        lambda y: y.block_until_ready(),
        lambda y: fl.jit(lambda v: v + 1)(y),
    ],
)
def test_whatever_reads_a_value_runs_it(read):
    y = fl.asarray(X).sum() + 3
    assert pending() == 2
    read(y)
    assert pending() == 0 and y.item() == pytest.approx(float(X.sum()) + 3)


def test_bad_shapes_raise_where_the_op_is_written():
    x = fl.asarray(X)
    y = x * 2
    with pytest.raises(RuntimeError, match="matmul"):
        y @ y
    assert y.sum().item() == pytest.approx(2 * float(X.sum()))


def test_bad_data_raises_where_the_op_is_written():
    x = fl.asarray(X) * 2
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        x[fl.asarray([0, 7])]
    late = fl.asarray([0, 1]) + 6  # the index itself is pending
    with pytest.raises(IndexError, match="is out of bounds"):
        x[late]
    with pytest.raises(fl.errors.LinAlgError, match="positive-definite"):
        fl.linalg.cholesky(-(fl.eye(2) * 3))
    assert x.sum().item() == pytest.approx(2 * float(X.sum()))


def test_a_check_computes_what_it_reads_and_no_more():
    x = fl.asarray(X) * 2
    index = fl.asarray([2, 0])
    flush()
    y = (fl.asarray(X) * 3)[index]
    assert pending() == 2  # the product and the lookup: the index was at hand
    np.testing.assert_array_equal(y.numpy(), (X * 3)[[2, 0]])
    np.testing.assert_array_equal(x.numpy(), X * 2)


def test_what_comes_again_runs_as_one_program():
    x = fl.asarray(X)
    f = lambda k: ((x * k).tanh() + x).sum().item()
    expected = lambda k: float((np.tanh(X * np.float32(k)) + X).sum())
    before = compiles()
    for k in (0.5, 1.5, 2.5, 3.5):  # a changed number is no new program
        assert f(k) == pytest.approx(expected(k), rel=1e-5)
    assert compiles() == before + 1
    stats = fl.eager_stats()
    assert stats.programs == 1 and stats.whole >= 2


def test_what_comes_again_is_compiled_when_it_has_cost_as_much(monkeypatch):
    monkeypatch.undo()
    x = fl.asarray(X)
    before, n = compiles(), 0
    while compiles() == before:
        (x * 2 + 1).sum().item()
        n += 1
        assert n < 20_000
    assert n > 2
    for _ in range(3):  # a long one pays sooner than it can be seen often
        with fl.eager("whole"):
            (x * 3 - 1).sum().item()
    assert compiles() == before + 2


def test_constants_compile_nothing():
    known = set(EXECUTABLES)
    made = [fl.zeros(n + 1, 77).sum() for n in range(3)]
    assert [x.item() for x in made] == [0.0] * 3
    assert fl.full((2, 77), 300, dtype=fl.uint8)[0, 0].item() == 44 and fl.ones(77, dtype=fl.bfloat16).dtype is fl.bfloat16
    kinds = [type(e).__name__ for key, e in list(EXECUTABLES.items()) if key not in known]
    assert kinds.count("Constant") >= 3


def test_what_no_result_needs_is_not_computed(monkeypatch):
    ran = []
    run = segment.single

    def seen(op, *rest):
        ran.append(op.name)
        return run(op, *rest)

    monkeypatch.setattr(segment, "single", seen)
    x = fl.asarray(X)
    y = (x * 2).exp()
    del y
    assert (x + 1).sum().item() == pytest.approx(float((X + 1).sum()))
    assert "exp" not in ran and "mul" not in ran and "sum" in ran


def test_results_that_nobody_holds_are_left_out():
    x = fl.asarray(X)
    for _ in range(3):
        y = (x * 2).exp()
        z = y.sum()
        del y
        z.item()
    ((step, key),) = list(STEPS.programs)
    assert step.outs == 3 and len(key[0]) == 1


def test_op_mode_runs_each_op_at_once():
    with fl.eager("op"):
        y = fl.asarray(X) * 2
        assert pending() == 0
    assert np.array_equal(y.numpy(), X * 2)
    fl.eager("op")
    try:
        assert (y + 1).sum().item() == pytest.approx(float((X * 2 + 1).sum())) and pending() == 0
    finally:
        fl.eager("lazy")
    z = y + 1
    assert pending() == 1 and z.shape == y.shape
    with pytest.raises(ValueError, match="'lazy', 'whole', 'op'"):
        fl.eager("eager")


def test_effects_keep_their_order(capfd):
    y = fl.asarray(X) + 1
    fl.debug.print("first {}", y.sum())
    assert pending() == 0
    fl.debug.print("second {}", y.sum() * 2)
    jax.effects_barrier()
    out = capfd.readouterr().out
    assert 0 <= out.index("first") < out.index("second")


# ------------------------------------------------------------------------------------------------ loops and memory


def test_a_thousand_steps_that_are_seldom_read_compile_little():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    x, y = torch.from_numpy(X), torch.from_numpy(X[:, :1] * 2)
    before, losses = compiles(), []
    for i in range(1000):
        opt.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        if i % 100 == 99:
            losses.append(loss.item())
    assert compiles() - before <= 5
    assert losses[-1] < losses[0] and pending() == 0


def test_a_sum_over_many_steps_stays_flat():
    x = torch.from_numpy(X)
    w = torch.ones(4, requires_grad=True)

    def loop(n):
        total = torch.zeros(())
        for _ in range(n):
            loss = (x @ w).square().mean()
            total += loss.detach()
        return total

    per = float((X.sum(1) ** 2).mean())
    for _ in range(5):
        assert loop(5000).item() == pytest.approx(5000 * per, rel=1e-3)
    gc.collect()
    objects, buffers, programs = len(gc.get_objects()), len(jax.live_arrays()), compiles()
    assert loop(5000).item() == pytest.approx(5000 * per, rel=1e-3)
    gc.collect()
    assert len(gc.get_objects()) - objects < 500 and len(jax.live_arrays()) - buffers < 5 and compiles() == programs


def test_a_long_chain_is_cut_and_right():
    y = fl.asarray(X)
    for _ in range(MOST_OPS + 300):
        y = y * 1.0 + 0.5
        assert pending() <= MOST_OPS
    np.testing.assert_allclose(y.numpy(), X + 0.5 * (MOST_OPS + 300), rtol=1e-5)


def test_a_loop_without_boundaries_settles_on_its_rounds():
    """Cut anywhere, each segment of a loop of three ops would be another program."""
    x = fl.asarray(X)

    def loop(n):
        y = x
        for _ in range(n):
            y = (y * 0.5).tanh() + x
        return y

    for _ in range(3):
        loop(3000)
    before = compiles()
    loop(3000)
    assert compiles() == before


def test_results_between_the_cut_and_the_end_are_right():
    """Values that were made before the cut and are used after it, used before only, and made after it."""
    x = fl.asarray(X)
    y, early, made = x, x * 3, []
    for i in range(260):
        y = y * 0.5 + early
        if i % 50 == 0:
            made.append(y)
    n = X
    expected = []
    for i in range(260):
        n = n * np.float32(0.5) + X * 3
        if i % 50 == 0:
            expected.append(n)
    for a, b in zip(made, expected):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-5)
    np.testing.assert_allclose(y.numpy(), n, rtol=1e-5)


def test_the_tree_of_structures_is_bounded():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("functorch_lite.xla.steps._STEPS", 200)
        for n in range(2, 60):
            y = fl.asarray(X)
            for _ in range(n):
                y = y + 1.0
            np.testing.assert_allclose(y.numpy(), X + n, rtol=1e-5)
            assert STEPS.count < 400


def test_period():
    class Call:
        def __init__(self, name):
            self.op, self.params, self.avals = name, (), ()

    calls = lambda text: [Call(c) for c in text]
    assert period(calls("abcabcab")) == 3 and period(calls("aaaa")) == 1 and period(calls("abcab")) == 0 and period([]) == 0


# -------------------------------------------------------------------------------------------------------- donation


def rounds(f, n=6):
    for _ in range(n):
        out = f()
    return out


def test_a_buffer_that_nobody_holds_is_taken():
    state = [fl.asarray(np.zeros(64, np.float32))]
    places = set()
    for _ in range(8):
        state[0] = state[0] * 0.5 + 1
        places.add(state[0].buffer.unsafe_buffer_pointer())
    assert len(places) < 8
    ((step, (live, donated)),) = list(STEPS.programs)
    assert donated == (0,) and live == (1,) and step.ops == 2


def test_small_buffers_are_not_worth_taking(monkeypatch):
    monkeypatch.setattr(segment, "SMALL", SMALL)
    for size, expected in ((SMALL, ()), (SMALL + 1, (0,))):
        STEPS.clear()
        x = fl.asarray(np.zeros(size, np.float32))
        for _ in range(4):
            x = x * 0.5 + 1
            x.block_until_ready()
        ((_, (_, donated)),) = list(STEPS.programs)
        assert donated == expected


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.numpy(),
        lambda a: np.asarray(a),
        lambda a: np.from_dlpack(a),
        lambda a: a.__jax_array__(),
        lambda a: jax.device_put(a.__jax_array__(), jax.devices()[0]),
        lambda a: jax.numpy.asarray(a),
        lambda a: a,
        lambda a: fl.asarray(a.__jax_array__()),
        lambda a: a.__dlpack__(),
    ],
)
def test_views_of_what_is_dropped_keep_their_numbers(view):
    a, held = fl.asarray(np.arange(64, dtype=np.float32)), []
    for i in range(6):
        held.append((view(a), i))
        a = (a + 2) - 1  # two ops: a program, which takes what it can
        flush()
    for seen, i in held:
        if hasattr(seen, "shape"):
            np.testing.assert_array_equal(np.asarray(seen), np.arange(64, dtype=np.float32) + i)
    np.testing.assert_array_equal(a.numpy(), np.arange(64, dtype=np.float32) + 6)


def test_state_that_jax_has_seen_is_not_taken_by_a_compiled_step():
    """Two jax arrays may share a buffer without a trace: the count of references does not tell."""
    torch.manual_seed(0)
    net = torch.nn.Linear(80, 80)  # too large for a pack
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.ones(2, 80)

    @torch.compile
    def step(x):
        opt.zero_grad()
        net(x).square().mean().backward()
        opt.step()

    aliases = []
    for _ in range(4):
        mine = net.weight.array.__jax_array__()
        aliases.append((jax.device_put(mine, jax.devices()[0]), np.array(mine)))
        del mine
        step(x)
    for alias, numbers in aliases:
        np.testing.assert_array_equal(np.asarray(alias), numbers)


def test_calls_that_are_not_recorded_leave_no_inputs_behind():
    pend = fl.asarray(X) + 1
    for i in range(5):
        fl.linalg.cholesky(fl.asarray(np.eye(3, dtype=np.float32) * (i + 1)))
        fl.asarray(X + i)[fl.asarray([0, 1])]
        with pytest.raises(RuntimeError):
            fl.asarray(X + i) @ fl.asarray(X + i)
    assert len(STATE.segment.buffers) == 2 and len(STATE.segment.index) == 2  # of the sum
    np.testing.assert_array_equal(pend.numpy(), X + 1)


def test_jax_arrays_of_the_user_are_never_taken():
    mine = jax.numpy.arange(8.0)
    for _ in range(4):
        a = fl.asarray(mine)
        a = a * 2 + 1
        total = a.sum().item()
    assert not mine.is_deleted() and total == float((np.arange(8.0) * 2 + 1).sum())


def test_one_buffer_under_two_names():
    data = jax.numpy.arange(8.0)
    for _ in range(4):
        a, b = fl.asarray(data), fl.asarray(data)
        c = a + b * 2
        del a
        np.testing.assert_array_equal(c.numpy(), np.arange(8.0) * 3)
        np.testing.assert_array_equal(b.numpy(), np.arange(8.0))


def test_tied_parameters_and_copies():
    torch.manual_seed(0)
    a, b = torch.nn.Linear(4, 4, bias=False), torch.nn.Linear(4, 4, bias=False)
    b.weight = a.weight
    opt = torch.optim.SGD([a.weight], lr=0.1, momentum=0.9)
    x = torch.from_numpy(X)
    snapshots = []
    for _ in range(5):
        snapshots.append((a.weight.detach().clone(), a.weight.array, copy.deepcopy(a).weight, a.weight.detach().numpy().copy()))
        opt.zero_grad()
        b(a(x)).square().mean().backward()
        opt.step()
    assert b.weight is a.weight
    for cloned, array, copied, numbers in snapshots:
        for other in (cloned.numpy(), array.numpy(), copied.detach().numpy()):
            np.testing.assert_array_equal(other, numbers)
    assert len({n.tobytes() for *_, n in snapshots}) == 5


def test_an_explicit_donation_waits_for_what_is_pending():
    x = fl.asarray(X) + 0
    x.block_until_ready()
    y = x * 3
    fl.jit(lambda v: v + 1, donate_argnums=0)(x)
    np.testing.assert_allclose(y.numpy(), X * 3, rtol=1e-6)


def test_an_exception_in_mid_step_leaves_everything():
    torch.manual_seed(0)
    net = torch.nn.Linear(4, 1)
    opt = torch.optim.Adam(net.parameters())
    x = torch.from_numpy(X)

    def step(fail):
        opt.zero_grad()
        loss = net(x).square().mean()
        if fail == "forward":
            raise KeyError("forward")
        loss.backward()
        if fail == "backward":
            raise KeyError("backward")
        opt.step()
        return loss.item()

    for _ in range(4):
        step(None)
    for where in ("forward", "backward"):
        before = [p.detach().numpy().copy() for p in net.parameters()]
        with pytest.raises(KeyError):
            step(where)
        for p, b in zip(net.parameters(), before):
            np.testing.assert_array_equal(p.detach().numpy(), b)
    step(None)


def test_a_segment_that_fails_says_so_at_every_use(monkeypatch):
    x = fl.asarray(X)
    y = x * 2
    z = y + 1
    monkeypatch.setattr("functorch_lite.xla.segment.one_by_one", lambda *_: (_ for _ in ()).throw(RuntimeError("no memory")))
    for value in (z, y, z):
        with pytest.raises(RuntimeError, match="no memory"):
            value.numpy()
    monkeypatch.undo()
    with pytest.raises(RuntimeError, match="no memory"):
        (z * 2).numpy()
    np.testing.assert_array_equal((x * 2).numpy(), X * 2)


def test_lonely_counts_references():
    buffers = [jax.numpy.arange(3.0) + i for i in range(3)]
    held = buffers[1]
    assert lonely(buffers) == [0, 2]
    del held
    assert lonely(buffers) == [0, 1, 2]


# --------------------------------------------------------------------------------------------------------- threads


def test_threads_exchange_pending_values():
    """Eight threads, each taking the neighbour's last pending value, forcing some of them while their makers go on."""
    n, turns = 8, 60
    board, barrier, failures = [None] * n, threading.Barrier(n), []

    def work(me):
        try:
            rng = np.random.default_rng(me)
            value = fl.full((4,), float(me))
            board[me] = (value, np.full(4, me, np.float32))
            barrier.wait()
            for _ in range(turns):
                other, number = board[(me + int(rng.integers(1, n))) % n]
                mine, own = board[me]
                board[me] = (mine * 0.5 + other, own * np.float32(0.5) + number)
                if rng.random() < 0.3:
                    seen, expected = board[int(rng.integers(n))]
                    np.testing.assert_allclose(seen.numpy(), expected, rtol=1e-4)
            np.testing.assert_allclose(board[me][0].numpy(), board[me][1], rtol=1e-4)
        except BaseException as error:
            failures.append(error)
            barrier.abort()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures, failures[0]


def test_a_thread_forces_while_the_maker_records():
    """The maker never waits; what it records while another thread runs its segment is recorded again."""
    stop, failures, latest = threading.Event(), [], [None]

    def reader():
        try:
            while not stop.is_set():
                found = latest[0]
                if found is not None:
                    value, number = found
                    assert value.item() == pytest.approx(number, rel=1e-3), number
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=reader) for _ in range(3)]
    for t in threads:
        t.start()
    x, number = fl.asarray(np.float32(0)), 0.0
    for _ in range(1500):
        x, number = x * 0.5 + 1, number * 0.5 + 1
        latest[0] = (x, number)
    stop.set()
    for t in threads:
        t.join()
    assert not failures, failures[0]
    assert x.item() == pytest.approx(2.0)


def test_each_thread_has_its_own_segment():
    x = fl.asarray(X) + 1
    seen = []
    t = threading.Thread(target=lambda: seen.append((STATE.segment, pending(), (x * 2).numpy())))
    t.start()
    t.join()
    assert seen[0][:2] == (None, 0)
    np.testing.assert_allclose(seen[0][2], (X + 1) * 2, rtol=1e-6)


def test_a_thread_that_ends_leaves_nothing_pending_behind():
    seen = []

    def work():
        y = fl.asarray(X) + 1
        seen.append(weakref.ref(STATE.segment))
        assert y.shape == X.shape

    t = threading.Thread(target=work)
    t.start()
    t.join()
    gc.collect()
    assert seen[0]() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_runs_what_is_pending_first():
    y = fl.asarray(X) + 5
    assert y.shape == (3, 4)
    assert pending() == 1
    child = os.fork()
    if child == 0:
        os._exit(0 if STATE.segment is None and np.asarray(y._buffer).sum() > 0 else 1)
    assert os.waitpid(child, 0)[1] == 0


# ------------------------------------------------------------------------------------------- transforms and gradients


def test_gradients_are_ops_of_the_segment():
    w, x = fl.asarray(X[:, :2].copy()), fl.asarray(X)
    loss = lambda w: ((x.T @ w).tanh() ** 2).mean()
    with fl.eager("op"):
        expected = fl.grad(loss)(w).numpy()
    for _ in range(4):
        g = fl.grad(loss)(w)
        assert 0 < pending() < 20
        np.testing.assert_allclose(g.numpy(), expected, rtol=1e-5, atol=1e-7)


def test_rows_are_ops_of_the_segment():
    x = fl.asarray(X)
    counts = []
    for rows in (1, 2):
        flush()
        fl.vmap(lambda v: (v * 2).sum() + v[0])(x[:rows])
        counts.append(pending())
    assert counts[0] == counts[1] > 0


def test_modes_agree_on_a_training_run():
    def run(mode):
        with fl.eager(mode):
            torch.manual_seed(1)
            net = torch.nn.Sequential(
                torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(6, 2)
            )
            opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
            x, y = torch.from_numpy(X), torch.tensor([0, 1, 1])
            losses = []
            for _ in range(6):
                opt.zero_grad()
                loss = torch.nn.functional.cross_entropy(net(x), y)
                loss.backward()
                opt.step()
                losses.append(loss.item())
            return losses, [v.numpy() for v in net.state_dict().values()]

    (a, p), (b, q) = run("lazy"), run("op")
    np.testing.assert_allclose(a, b, rtol=1e-4)
    for s, t in zip(p, q):
        np.testing.assert_allclose(s, t, rtol=1e-3, atol=1e-5)

"""scan, cond, switch, while_loop, fori_loop, map: values, derivatives, batches, and their compositions."""

import numpy as np
import pytest

import functorch_lite as fl


def close(a, b, rtol=1e-6):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=1e-9)


RNG = np.random.default_rng(3)
W, H, XS = (fl.asarray(RNG.normal(size=s) * 0.5) for s in ((3, 3), (3,), (5, 3)))


def rnn(w, h, xs):
    def step(h, x):
        new = fl.tanh(fl.matmul(w, h) + x)
        return new, new * h

    h, ys = fl.scan(step, h, xs)
    return h.sum() + ys.sum()


def unrolled(w, h, xs):
    total = 0.0
    for i in range(xs.shape[0]):
        new = fl.tanh(fl.matmul(w, h) + xs[i])
        total = total + (new * h).sum()
        h = new
    return h.sum() + total


@pytest.mark.parametrize("wrap", [lambda f: f, fl.jit], ids=["eager", "jit"])
def test_scan_derivatives(wrap):
    f, g = wrap(rnn), unrolled
    close(f(W, H, XS), g(W, H, XS))
    for a, b in zip(fl.grad(f, (0, 1, 2))(W, H, XS), fl.grad(g, (0, 1, 2))(W, H, XS)):
        close(a, b)
    second = lambda f: fl.grad(lambda w: (fl.grad(f)(w, H, XS) * w).sum())(W)
    close(second(f), second(g))
    close(fl.jvp(lambda w: f(w, H, XS), (W,), (W,))[1], fl.jvp(lambda w: g(w, H, XS), (W,), (W,))[1])
    close(fl.hvp(lambda w: f(w, H, XS), W, W), fl.hvp(lambda w: g(w, H, XS), W, W))


@pytest.mark.parametrize("dims", [(0, None, None), (None, 0, None), (None, None, 1), (0, 0, 1), (2, 1, 0)])
def test_scan_under_vmap_of_grad(dims):
    shapes = ((3, 3), (3,), (5, 3))
    args = [fl.asarray(RNG.normal(size=s if d is None else (*s[:d], 4, *s[d:])) * 0.5) for s, d in zip(shapes, dims)]
    mapped = fl.vmap(fl.grad(rnn, (0, 1, 2)), in_dims=dims)(*args)
    for i in range(4):
        row = [x if d is None else fl.asarray(np.take(np.asarray(x), i, d)) for x, d in zip(args, dims)]
        for a, b in zip(mapped, fl.grad(unrolled, (0, 1, 2))(*row)):
            close(a[i], b)


def test_scan_trees_reverse_and_length():
    carry, ys = fl.scan(
        lambda c, x: ({"n": c["n"] + 1, "s": c["s"] + x["a"]}, c["s"]), {"n": 0, "s": 0.0}, {"a": fl.arange(4.0)}, reverse=True
    )
    assert carry["n"].item() == 4 and carry["s"].item() == 6.0 and ys.tolist() == [6.0, 5.0, 3.0, 0.0]
    assert fl.scan(lambda c, _: (c * 2, None), 1, None, length=5)[0].item() == 32
    assert fl.map(lambda x: x * x, fl.arange(3.0)).tolist() == [0.0, 1.0, 4.0]


def test_one_program_for_one_scan_however_often_it_is_traced():
    from functorch_lite.xla.single import EXECUTABLES

    run = lambda: fl.block_until_ready(fl.scan(lambda c, x: (c + x, c), 0.0, fl.arange(7.0)))
    with fl.eager("op"):
        run()
        before = len(EXECUTABLES)
        for _ in range(5):
            run()
    assert len(EXECUTABLES) == before > 0


def test_cond_and_switch():
    f = lambda p, x: fl.cond(p, fl.sin, lambda x: x * W[0], x)
    close(f(True, H), np.sin(np.asarray(H)))
    close(f(fl.asarray(False), H), np.asarray(H) * np.asarray(W[0]))
    close(fl.grad(lambda x: f(fl.asarray(True), x).sum())(H), np.cos(np.asarray(H)))
    close(fl.jit(lambda p, x: fl.grad(lambda x: f(p, x).sum())(x))(fl.asarray(False), H), W[0])
    branches = [lambda x: x, lambda x: x * x, lambda x: -x]
    rows = fl.vmap(lambda i, x: fl.switch(i, branches, x), in_dims=(0, None))(fl.asarray([0, 1, 2, 9, -5]), H)
    close(rows, np.stack([H, np.asarray(H) ** 2, -np.asarray(H), -np.asarray(H), H]))


def test_a_branch_never_sees_the_rows_of_the_other():
    x = fl.asarray(np.array([4.0, -1.0, 0.0, 9.0]))
    f = lambda x: fl.cond(x > 0, lambda x: fl.log(x) + fl.sqrt(x), lambda x: x * 2, x)
    with np.errstate(all="raise"):
        expected = np.array([np.log(4) + 2, -2.0, 0.0, np.log(9) + 3])
    close(fl.vmap(f)(x), expected)
    close(fl.vmap(fl.grad(f))(x), [1 / 4 + 1 / 4, 2.0, 2.0, 1 / 9 + 1 / 6])
    close(fl.vmap(fl.grad(fl.grad(lambda x: f(x) * x)))(x)[1], 4.0)


def test_while_loop():
    collatz = lambda n: fl.while_loop(lambda s: s[0] > 1, lambda s: (fl.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, 0))[1]
    assert [collatz(n).item() for n in (1, 6, 27)] == [0, 8, 111]
    assert fl.vmap(collatz)(fl.asarray([1, 6, 27])).tolist() == [0, 8, 111]
    newton = lambda a: fl.while_loop(lambda x: fl.abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)
    a = fl.asarray(np.float64(2.0))
    close(fl.jvp(newton, (a,), (fl.asarray(np.float64(1.0)),))[1], 0.5 / np.sqrt(2.0))
    close(fl.vmap(fl.jacfwd(newton))(fl.asarray(np.array([2.0, 9.0]))), [0.5 / np.sqrt(2), 1 / 6])
    with pytest.raises(fl.errors.NonDifferentiableError, match="scan"):
        fl.grad(newton)(a)


def test_while_loop_with_a_batched_bound_only_in_the_test():
    f = lambda limit: fl.while_loop(lambda n: n < limit, lambda n: n + 3, 0)
    assert fl.vmap(f)(fl.asarray([1, 5, 10])).tolist() == [3, 6, 12]


def test_fori_loop():
    power = lambda x, n: fl.fori_loop(0, n, lambda i, c: c * x, 1.0)
    assert fl.grad(lambda x: power(x, 3))(2.0).item() == 12.0
    assert fl.jit(lambda n: fl.fori_loop(0, n, lambda i, c: c + i, 0))(5).item() == 10
    assert fl.fori_loop(3, 3, lambda i, c: c + 1, 7).item() == 7


def test_nested_loops():
    f = lambda x: fl.scan(lambda c, x: (fl.scan(lambda d, y: (d * fl.sin(y + x), d), c, XS[:, 0])[0], c), np.float64(1.0), x)[0]

    def g(x):
        c = 1.0
        for i in range(3):
            for j in range(5):
                c = c * fl.sin(XS[j, 0] + x[i])
        return c

    close(f(H), g(H))
    close(fl.grad(f)(H), fl.grad(g)(H))


def test_associative_scan():
    x = fl.asarray(RNG.normal(size=(7, 2)))
    close(fl.associative_scan(lambda a, b: a + b, x), np.cumsum(np.asarray(x), 0))
    close(fl.associative_scan(lambda a, b: a * b, x, reverse=True, dim=1), np.cumprod(np.asarray(x)[:, ::-1], 1)[:, ::-1])
    a, b = fl.asarray(RNG.normal(size=6)), fl.asarray(RNG.normal(size=6))
    affine = lambda l, r: (l[0] * r[0], l[1] * r[0] + r[1])
    got = fl.associative_scan(affine, (a, b))[1]
    h, want = 0.0, []
    for i in range(6):
        h = a[i].item() * h + b[i].item()
        want.append(h)
    close(got, want)
    close(fl.grad(lambda a: fl.associative_scan(affine, (a, b))[1].sum())(a)[0], 0.0 * 1)

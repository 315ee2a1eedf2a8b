"""The axes: what must hold of every op. Each is called as ``axis(row, sample, dtype)`` and raises AssertionError where it does not.

An axis says for which dtypes and how many samples of a row it runs, and gives a structural reason where a call cannot have
the property at all ("integer or bool output: no derivative"). Everything is drawn from a seed, which every message names.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import attrs
import numpy as np

from ..core.dtype import COMPLEX, FLOAT, DType, as_dtype, complex128, finfo, float64
from ..core.op import Op
from ..transforms.grad import vjp as pull
from ..transforms.jit import jit as compiled
from ..transforms.jvp import jvp as push
from ..transforms.make_fx import make_fx
from ..transforms.vmap import vmap as mapped
from ..xla.modes import eager
from .calls import BATCH, Call, data, directional, inner, like
from .compare import assert_close, tolerance
from .table import Row, Sample

AXES: dict[str, Axis] = {}


@attrs.frozen(eq=False)
class Axis:
    """One property. The quick pass takes `quick` samples of a row in `dtypes`, the thorough one all of them in `all_dtypes`."""

    name: str
    check: Callable[[Call, np.random.Generator, bool], None]
    dtypes: Callable[[Row], tuple[DType, ...]]
    all_dtypes: Callable[[Row], tuple[DType, ...]]
    why_not: Callable[[Call], str | None]
    quick: int
    smooth: bool  # does it need a point at which the op is differentiable?

    def __call__(self, row: Row, sample: Sample, dtype: DType, *, seed: int = 0, thorough: bool = True) -> None:
        rng = np.random.default_rng([seed, *row.op.name.encode(), *self.name.encode()])
        try:
            self.check(Call(row, sample, dtype), rng, thorough)
        except Exception as error:
            kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
            where = f"{row.op.qualname}, axis {self.name}, {dtype}, sample {sample.index} ({sample!r}), seed {seed}"
            raise AssertionError(f"{where}: {kind}{error}") from error

    def samples(self, row: Row, dtype: DType, thorough: bool, only) -> list[Sample]:
        """The samples on which it runs, of those with an index in `only`, spread over the row's."""
        found = [s for s in row.samples(dtype) if s.index in only and (s.differentiable or not self.smooth)]
        if thorough or len(found) <= self.quick:
            return found
        where = np.linspace(0, len(found) - 1, self.quick).round().astype(int) if self.quick > 1 else [0]
        return [found[i] for i in where]


def axis(dtypes, all_dtypes, why_not, quick: int, smooth: bool = False):
    """Registers the decorated check as the axis of its name."""

    def register(check):
        AXES[check.__name__] = Axis(check.__name__, check, dtypes, all_dtypes, why_not, quick, smooth)
        return AXES[check.__name__]

    return register


# ------------------------------------------------------------------------------------------------- where an axis applies


def every_dtype(row: Row) -> tuple[DType, ...]:
    return row.dtypes


def double(row: Row) -> tuple[DType, ...]:
    """The dtypes in which derivatives are tested: differences need 64 bits."""
    categories = {d.category for d in row.dtypes}
    wide = tuple([d for category, d in ((FLOAT, float64), (COMPLEX, complex128)) if category in categories])
    return wide or row.dtypes[:1]


def one_dtype(row: Row) -> tuple[DType, ...]:
    """One dtype, for properties that do not depend on it."""
    return double(row)[:1]


def always(call: Call) -> None:
    return None


def no_derivative(call: Call) -> str | None:
    if not call.inexact:
        return "no float or complex argument: no derivative"
    if not any(a.dtype.is_inexact for a in call.avals()):
        return "integer or bool output: no derivative"
    return None


def no_batch(call: Call) -> str | None:
    return None if call.arrays else "no array argument: nothing to batch"


def no_batched_derivative(call: Call) -> str | None:
    return no_batch(call) or no_derivative(call)


def no_own_rule(call: Call) -> str | None:
    return "no reverse rule of its own" if call.op.vjp is None else no_derivative(call)


# ------------------------------------------------------------------------------------------------------------ helpers


def close(call: Call, actual, expected, what: str, rtol: float | None = None, atol: float | None = None) -> None:
    """Compares flat results; the row's tolerance scales what is allowed."""
    actual, expected = data(actual), data(expected)
    assert len(actual) == len(expected), f"{what}: expected {len(expected)} results, got {len(actual)}"
    for i, (a, e) in enumerate(zip(actual, expected)):
        r, t = (rtol, atol) if rtol is not None else tolerance(as_dtype(a.dtype))
        scale = call.row.tolerance
        assert_close(a, e, r * scale, t * scale, equal_nan=True, check_dtype=False, msg=f"{what}, result {i}")


def coarseness(call: Call) -> float:
    """The rounding of the coarsest dtype in the call (results may be coarser than the 64 bits of the arguments)."""
    dtypes = [a.dtype for a in call.avals()] + [as_dtype(x.dtype) for x in call.arrays]
    return max(float(finfo(d).eps) for d in dtypes if d.is_inexact)


def difference(call: Call, f, xs, ts) -> list[np.ndarray]:
    """Central differences: with a step of 1e-6 in 64 bits, where truncation and rounding are both near 1e-10, else the cube root of
    the rounding."""
    eps = coarseness(call)
    return directional(f, xs, ts, 1e-6 if eps < 1e-12 else eps ** (1 / 3))


def close_to_difference(call: Call, actual, expected, what: str) -> None:
    """Compares derivatives with finite differences, which are no better than the values they are taken of."""
    size = max([1.0, *(float(np.max(np.abs(e))) for e in expected if e.size)])
    allowed = max(1e-5, 50 * coarseness(call) ** (2 / 3))
    close(call, actual, expected, what, rtol=allowed, atol=0.1 * allowed * size)


def close_products(call: Call, left: float, right: float, size: float, what: str, differences: bool = False) -> None:
    """Compares inner products whose terms sum up to `size`; ``differences`` says that one of them was found by differences."""
    eps = coarseness(call)
    allowed = max(1e-6, 50 * eps ** (2 / 3)) if differences else max(1e-9, 100 * eps)
    allowed *= call.row.tolerance * (size + 1)
    assert abs(left - right) <= allowed, f"{what}: {left!r} and {right!r} differ by more than {allowed:.3g}"


def magnitude(*pairs) -> float:
    """How large the terms of inner products are."""
    return sum(float(np.sum(np.abs(x * y))) for xs, ys in pairs for x, y in zip(data(xs), data(ys)))


def gradient(f, n: int):
    """(n primals, cotangents...) -> cotangents of the primals, as one function of flat arrays: what is differentiated again."""

    def phi(*zs):
        _, pullback = pull(f, *zs[:n])
        return pullback(tuple(zs[n:]))

    return phi


def gradient_at(call: Call, rng):
    """The gradient as a function, and its arguments at the call: primals and random cotangents."""
    g, xs = call.smooth()
    cts = [like(rng, y) for y in g(*xs)]
    return gradient(g, len(xs)), [*xs, *cts]


def stacked(rows, position: int) -> np.ndarray:
    return np.stack(rows, axis=position)


# --------------------------------------------------------------------------------------------------- value and shape


@axis(every_dtype, every_dtype, always, quick=3)
def value(call, rng, thorough):
    """The results are those of NumPy or SciPy."""
    expected = call.reference()
    assert expected is not None, "there is no reference: give the op or its row one (reference=), or the row a reason (skip={'value': ...})"
    actual = call(*call.arrays)
    for i, (a, e) in enumerate(zip(actual, expected)):
        seen = as_dtype(e.dtype)
        assert a.dtype.category == seen.category, f"result {i} is {a.dtype}, the reference gives {seen}"
    close(call, actual, expected, "against the reference")


@axis(every_dtype, every_dtype, always, quick=3)
def meta(call, rng, thorough):
    """The shape rule says what the results are, and the data is that."""
    avals, actual = call.avals(), call(*call.arrays)
    assert len(avals) == len(actual), f"the shape rule gives {len(avals)} results, the implementation {len(actual)}"
    for i, (a, x) in enumerate(zip(avals, actual)):
        raw = data([x])[0]
        seen = f"{as_dtype(raw.dtype)}{list(raw.shape)}"
        same = x.aval is a and raw.shape == a.shape and a.dtype == raw.dtype
        assert same, f"result {i}: the shape rule says {a}, the result {x.aval}, its data {seen}"
        assert not a.weak, f"result {i} is weak: a result takes part in promotion as an array"


# -------------------------------------------------------------------------------------------------- first derivatives


@axis(double, double, no_derivative, quick=2, smooth=True)
def jvp(call, rng, thorough):
    """Forward mode agrees with central differences (along a complex direction, for complex arguments)."""
    g, xs = call.smooth()
    ts = [like(rng, x) for x in xs]
    outs, tangents = push(g, tuple(xs), tuple(ts))
    close(call, outs, g(*xs), "the value beside the tangent")
    for y, t in zip(outs, tangents):
        assert t.aval is y.aval, f"the tangent of a {y.aval} result is {t.aval}"
    close_to_difference(call, tangents, difference(call, g, xs, ts), "against finite differences")


@axis(double, double, no_derivative, quick=2, smooth=True)
def vjp(call, rng, thorough):
    """Reverse mode is the adjoint of forward mode, in all arguments at once and in each alone."""
    g, xs = call.smooth()
    n = len(xs)
    choices = [range(n), *([i] for i in (range(n) if n > 1 else ()))]
    for which in choices[: None if thorough else 4]:

        def h(*ys, which=which):
            full = list(xs)
            for i, y in zip(which, ys):
                full[i] = y
            return g(*full)

        ys = [xs[i] for i in which]
        ts = [like(rng, y) for y in ys]
        _, tangents = push(h, tuple(ys), tuple(ts))
        outs, pullback = pull(h, *ys)
        cts = [like(rng, y) for y in outs]
        grads = pullback(tuple(cts))
        for y, c in zip(ys, grads):
            assert c.shape == y.shape and c.dtype == y.dtype, f"the gradient of a {as_dtype(y.dtype)}{list(y.shape)} argument is {c.aval}"
        size = magnitude((cts, tangents), (grads, ts))
        close_products(call, inner(cts, tangents), inner(grads, ts), size, f"<ct, J t> and <Jᵀ ct, t> for arguments {list(which)}")


@axis(double, double, no_own_rule, quick=2, smooth=True)
def own_vjp(call, rng, thorough):
    """An op's own reverse rule gives what its decomposition gives: in value, second order, and under vmap."""
    own, xs = call.smooth()
    derived, _ = call.smooth(decomposed=True)
    cts = [like(rng, y) for y in own(*xs)]
    zs, n = [*xs, *cts], len(xs)
    phis = [gradient(f, n) for f in (own, derived)]
    close(call, phis[0](*zs), phis[1](*zs), "the rule against the decomposition")
    us = [like(rng, x) for x in xs]
    seconds = [pull(phi, *zs)[1](tuple(us)) for phi in phis]
    close(call, *seconds, "second order: the rule against the decomposition")
    rows = [stacked([z, *(z + 1e-2 * like(rng, z) for _ in range(BATCH - 1))], 0) for z in zs]
    close(call, *[mapped(phi)(*rows) for phi in phis], "under vmap: the rule against the decomposition")


# ------------------------------------------------------------------------------------------------ second derivatives


@axis(double, double, no_derivative, quick=1, smooth=True)
def second(call, rng, thorough):
    """Reverse over reverse is the adjoint of central differences of the gradient."""
    phi, zs = gradient_at(call, rng)
    ts = [like(rng, z) for z in zs]
    outs, pullback = pull(phi, *zs)
    us = [like(rng, y) for y in outs]
    along = difference(call, phi, zs, ts)
    grads = pullback(tuple(us))
    close_products(call, inner(us, along), inner(grads, ts), magnitude((us, along), (grads, ts)), "<u, H t> and <Hᵀ u, t>", True)


@axis(double, double, no_derivative, quick=1, smooth=True)
def jvp_vjp(call, rng, thorough):
    """Forward over reverse agrees with central differences of the gradient."""
    phi, zs = gradient_at(call, rng)
    ts = [like(rng, z) for z in zs]
    _, tangents = push(phi, tuple(zs), tuple(ts))
    close_to_difference(call, tangents, difference(call, phi, zs, ts), "against differences of the gradient")


# ------------------------------------------------------------------------------------------------------------- batches


def batchings(ndims, thorough: bool):
    """Choices of batch dimensions: every subset of the arguments, at the front and elsewhere (last, and mixed)."""
    n = len(ndims)
    if n <= 4:
        subsets = [s for k in range(1, n + 1) for s in itertools.combinations(range(n), k)]
    else:  # a sequence of many alike: each alone, all but one, and all
        subsets = [*((i,) for i in range(n)), *(tuple(j for j in range(n) if j != i) for i in range(n)), tuple(range(n))]
    for s in subsets:
        front = tuple([0 if i in s else None for i in range(n)])
        last = tuple([ndims[i] if i in s else None for i in range(n)])
        mixed = tuple([d if k % 2 == 0 else front[k] for k, d in enumerate(last)])
        yield from dict.fromkeys([front, mixed, last] if thorough else [front, mixed if mixed != front else last])


@axis(one_dtype, every_dtype, no_batch, quick=1)
def vmap(call, rng, thorough):
    """A batch is a loop, for every choice of batched arguments, wherever the batch dimension stands."""
    rows = call.rows()
    loops: dict[tuple, list] = {}
    for dims in batchings([x.ndim for x in call.arrays], thorough):
        chosen = tuple([d is not None for d in dims])
        if chosen not in loops:
            one_by_one = [data(call(*[r[i] if b else rows[0][i] for i, b in enumerate(chosen)])) for r in rows]
            loops[chosen] = [np.stack(column) for column in zip(*one_by_one)]
        args = [rows[0][i] if d is None else stacked([r[i] for r in rows], d) for i, d in enumerate(dims)]
        close(call, mapped(call, in_dims=dims)(*args), loops[chosen], f"in_dims={dims} against a loop")


@axis(one_dtype, every_dtype, no_batch, quick=1)
def vmap_vmap(call, rng, thorough):
    """A batch of batches is two loops: both levels on all arguments, and each on arguments of its own."""
    outer, n = 2, len(call.arrays)
    rows = call.rows(outer * BATCH)
    both = (0,) * n
    last = tuple([x.ndim for x in call.arrays])
    cases = [(both, last)]
    if n > 1:
        first, others = (0, *(None,) * (n - 1)), (None, *last[1:])
        cases += [(first, others), (others, first)]
    for out_dims, in_dims in cases:

        def pick(i, a, b, out_dims=out_dims, in_dims=in_dims):
            a, b = a if out_dims[i] is not None else 0, b if in_dims[i] is not None else 0
            return rows[a * BATCH + b][i]

        expected = [[data(call(*[pick(i, a, b) for i in range(n)])) for b in range(BATCH)] for a in range(outer)]
        expected = [
            np.stack([np.stack([expected[a][b][k] for b in range(BATCH)]) for a in range(outer)]) for k in range(len(expected[0][0]))
        ]
        args = []
        for i in range(n):
            inner_rows = [
                stacked([pick(i, a, b) for b in range(BATCH)], in_dims[i]) if in_dims[i] is not None else pick(i, a, 0)
                for a in range(outer)
            ]
            args.append(stacked(inner_rows, out_dims[i]) if out_dims[i] is not None else inner_rows[0])
        close(call, mapped(mapped(call, in_dims=in_dims), in_dims=out_dims)(*args), expected, f"in_dims={out_dims} over in_dims={in_dims}")


def batched_gradient(call: Call, rng, flags):
    """A batch for gradients: arrays (stacked where flags hold), cotangents, and the loop's gradients, one list a row."""
    rows = call.rows()
    rows = [[r[i] if f else rows[0][i] for i, f in enumerate(flags)] for r in rows]
    g, xs = call.smooth()
    cts = [[like(rng, y) for y in g(*xs)] for _ in rows]
    loop = []
    for r, ct in zip(rows, cts):

        def h(*xs, r=r):
            arrays = list(r)
            for i, x in zip(call.inexact, xs):
                arrays[i] = x
            return tuple([y for y in call(*arrays) if y.dtype.is_inexact])

        loop.append(data(pull(h, *[r[i] for i in call.inexact])[1](tuple(ct))))
    args = [stacked([r[i] for r in rows], 0) if f else rows[0][i] for i, f in enumerate(flags)]
    return args, [np.stack(c) for c in zip(*cts)], loop


def gradient_of_row(call: Call):
    """(arrays..., cts...) -> the gradients of one row."""
    n, where = len(call.arrays), call.inexact

    def one(*zs):
        def g(*xs):
            arrays = list(zs[:n])
            for i, x in zip(where, xs):
                arrays[i] = x
            return tuple([y for y in call(*arrays) if y.dtype.is_inexact])

        return pull(g, *[zs[i] for i in where])[1](tuple(zs[n:]))

    return one


@axis(one_dtype, double, no_batched_derivative, quick=1, smooth=True)
def vmap_grad(call, rng, thorough):
    """Per-sample gradients by vmap are those of a loop."""
    args, cts, loop = batched_gradient(call, rng, [True] * len(call.arrays))
    expected = [np.stack(column) for column in zip(*loop)]
    close(call, mapped(gradient_of_row(call))(*args, *cts), expected, "per-sample gradients against a loop")


@axis(one_dtype, double, no_batched_derivative, quick=1, smooth=True)
def grad_vmap(call, rng, thorough):
    """The gradient of a batch is that of a loop; what is not batched gets the sum over the rows."""
    n = len(call.arrays)
    choices = [[True] * n] + ([[i != call.inexact[0] for i in range(n)]] if n > 1 else [])
    for flags in choices:
        args, cts, loop = batched_gradient(call, rng, flags)

        def batch(*xs, args=args, flags=flags):
            full = list(args)
            for i, x in zip(call.inexact, xs):
                full[i] = x
            return mapped(lambda *a: tuple([y for y in call(*a) if y.dtype.is_inexact]), in_dims=tuple([0 if f else None for f in flags]))(
                *full
            )

        grads = pull(batch, *[args[i] for i in call.inexact])[1](tuple(cts))
        expected = [np.stack(c) if flags[i] else np.sum(c, axis=0) for i, c in zip(call.inexact, zip(*loop))]
        close(call, grads, expected, f"gradients of a batch with batched arguments {flags}")


# ------------------------------------------------------------------------------------------------ programs


@axis(one_dtype, every_dtype, no_batch, quick=2)
def graph(call, rng, thorough):
    """A recorded program replays to the eager results: with the op as one node, and down to prims."""
    expected = call(*call.arrays)
    for prims in (False, True):
        program = make_fx(call, prims=prims)(*call.arrays)
        ops = [node.target for node in program.graph.nodes if node.op == "call_function" and isinstance(node.target, Op)]
        if prims:
            others = {op.qualname for op in ops if op.namespace != "prims"}
            assert not others, f"at prim level the program calls {sorted(others)}"
        elif not call.op.inline:
            assert ops == [call.op], f"at op level the program calls {[op.qualname for op in ops]}"
        close(call, program(*call.arrays), expected, f"replay at {'prim' if prims else 'op'} level against eager")


@axis(one_dtype, every_dtype, always, quick=1)
def jit(call, rng, thorough):
    """One compiled program gives the eager results, Python numbers being inputs too."""
    expected = call(*call.arrays)
    actual = compiled(call.__call__)(*call.arrays)
    for i, (a, e) in enumerate(zip(actual, expected)):
        assert a.aval is e.aval, f"result {i} is {a.aval} under jit and {e.aval} in eager mode"
    close(call, actual, expected, "under jit against eager")


@axis(one_dtype, every_dtype, always, quick=1)
def modes(call, rng, thorough):
    """Eager ops give the same results run at once and as a part of one program."""
    with eager("op"):
        expected = data(call(*call.arrays))
    with eager("whole"):
        actual = call(*call.arrays)
        more = [y.reshape(-1) for y in actual]  # so that there is more than the op in it
        found = data(actual)
    for a, e in zip(found, expected):
        assert a.dtype == e.dtype, f"{a.dtype} as a part of a program, {e.dtype} at once"
    if not any(np.issubdtype(e.dtype, np.inexact) for e in expected):
        for i, (a, e) in enumerate(zip(found, expected)):
            np.testing.assert_array_equal(a, e, err_msg=f"result {i} as a part of a program against at once")
    close(call, actual, expected, "as a part of a program against at once")
    close(call, more, [e.reshape(-1) for e in expected], "what follows in the program")


@axis(one_dtype, double, no_derivative, quick=1, smooth=True)
def grad_jit(call, rng, thorough):
    """The gradient of a compiled program is the eager gradient."""
    g, xs = call.smooth()
    outs, pullback = pull(compiled(g), *xs)
    cts = [like(rng, y) for y in outs]
    close(call, pullback(tuple(cts)), pull(g, *xs)[1](tuple(cts)), "the gradient through jit against eager")

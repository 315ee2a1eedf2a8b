"""Samples of the ops with bodies: loops, branches, calls, and functions with rules of their own.

The bodies are programs of a few prims, made once at import, so that every seed makes the same call.
"""

from __future__ import annotations

import numpy as np

from ...core.aval import aval
from ...core.dtype import complex128, float32, float64
from ...prims import algebra, compare, control, elementwise, reduce, trig
from ...transforms.body import close
from ...transforms.checkpoint import checkpointed
from ...transforms.custom import CallSite, custom_jvp_call, custom_vjp_call, custom_vmap_call
from ...transforms.linearize import LinearRule
from ..table import REAL, Sample, array, row

DTYPES = (float32, float64, complex128)
VECTOR = {d: aval((3,), d) for d in DTYPES}
SCALAR = {d: aval((), d) for d in DTYPES}


def bodies(f, *kinds) -> dict:
    """One body of f for each dtype; kinds are tables of avals, one an argument."""
    return {d: close(f, tuple([k[d] if isinstance(k, dict) else k for k in kinds]), f.__name__) for d in DTYPES}


def vector(rng, dtype):
    return array(rng, (3,), dtype, -0.8, 0.8)


# ------------------------------------------------------------------------------------------------- calls and branches


def tanh_product(x, y):
    return trig.tanh(elementwise.mul(x, y)), elementwise.add(x, y)


def np_tanh_product(x, y):
    return np.tanh(x * y), x + y


PRODUCT = bodies(tanh_product, VECTOR, VECTOR)


def pairs(*statics):
    """Samples with two vectors and these static arguments (a table of bodies gives that of the dtype)."""
    return lambda rng, dtype: [Sample([vector(rng, dtype), vector(rng, dtype)], *[s[dtype] if isinstance(s, dict) else s for s in statics])]


row(control.call, pairs(PRODUCT, "f"), DTYPES, reference=lambda xs, body, name: np_tanh_product(*xs))
row(checkpointed, pairs(PRODUCT), DTYPES, reference=lambda xs, body: np_tanh_product(*xs))
row(control.opaque_one, lambda rng, dtype: [Sample([vector(rng, dtype)])], DTYPES)


def first_branch(x, y):
    return (elementwise.mul(x, y),)


def second_branch(x, y):
    return (elementwise.mul(trig.sin(x), x),)


def third_branch(x, y):
    return (algebra.full_like(x, 2),)


BRANCHES = {d: tuple([bodies(f, VECTOR, VECTOR)[d] for f in (first_branch, second_branch, third_branch)]) for d in DTYPES}


def switches(rng, dtype):
    """Each branch, and an index beyond the last, by a number drawn from the seed where the branches differ under vmap."""
    first = int(rng.integers(3))
    return [Sample(np.asarray(i, np.int32), [vector(rng, dtype), vector(rng, dtype)], BRANCHES[dtype]) for i in (first, (first + 1) % 3, 7)]


def np_switch(which, xs, _):
    x, y = xs
    return (x * y, np.sin(x) * x, np.full_like(x, 2))[min(int(which), 2)]


row(control.switch, switches, DTYPES, reference=np_switch)

# --------------------------------------------------------------------------------------------------------------- loops


def step(w, c, x):
    """(weights, carry, row) -> (carry, output)."""
    new = trig.tanh(elementwise.add(elementwise.mul(c, w), x))
    return new, elementwise.mul(new, x)


STEP = bodies(step, VECTOR, VECTOR, VECTOR)


def scans(rng, dtype):
    for length, reverse in ((4, False), (4, True), (0, False)):
        yield Sample(
            [vector(rng, dtype), vector(rng, dtype), array(rng, (length, 3), dtype, -0.8, 0.8)], STEP[dtype], 1, 1, length, reverse
        )


def np_scan(operands, body, consts, carry, length, reverse):
    w, c, xs = operands
    ys = np.zeros_like(xs)
    for i in reversed(range(length)) if reverse else range(length):
        c = np.tanh(c * w + xs[i])
        ys[i] = c * xs[i]
    return c, ys


row(control.scan, scans, DTYPES, reference=np_scan)


def is_large(limit, x):
    return (compare.gt(reduce.reduce_max(elementwise.mul(x, x), (0,)), limit),)


def halved(factor, x):
    return (elementwise.mul(x, factor),)


WHILE_TEST = {d: close(is_large, (SCALAR[d], VECTOR[d]), "is_large") for d in REAL}
WHILE_BODY = {d: close(halved, (VECTOR[d], VECTOR[d]), "halved") for d in REAL}


def whiles(rng, dtype):
    """A loop whose rows stop at different times."""
    start = array(rng, (3,), dtype, 0.5, 2.0) * np.asarray(4.0 ** rng.integers(4), dtype.dtype)
    yield Sample([np.asarray(0.3, dtype.dtype), array(rng, (3,), dtype, 0.4, 0.6), start], WHILE_TEST[dtype], WHILE_BODY[dtype], 1, 1)


def np_while(operands, test, body, test_consts, body_consts):
    limit, factor, x = operands
    while (x * x).max() > limit:
        x = x * factor
    return x


NO_REVERSE = "the number of iterations is not known before the loop has run: there is no reverse mode"
REVERSE_AXES = ("vjp", "second", "jvp_vjp", "vmap_grad", "grad_vmap", "grad_jit")
row(control.while_loop, whiles, REAL, reference=np_while, skip=dict.fromkeys(REVERSE_AXES, NO_REVERSE))

# ---------------------------------------------------------------------------------------------- rules of the user's own


def scaled(residuals, tangents):
    return [elementwise.mul(tangents[0], residuals[0])]


def scaled_back(residuals, cotangents, wanted):
    (ct,) = cotangents
    return [None if ct is None else elementwise.mul(ct, elementwise.conj_of(residuals[0]))]


RULE = {d: LinearRule(scaled, scaled_back, (VECTOR[d],)) for d in DTYPES}
row(control.linear_call, pairs(1, RULE), DTYPES, reference=lambda xs, count, rule: xs[0] * xs[1])


def cube(x):
    return [elementwise.mul(x, elementwise.mul(x, x))]


def slope(x):
    return elementwise.mul(algebra.full_like(x, 3), elementwise.mul(x, x))


def cube_jvp(primals, tangents):
    return [None if tangents[0] is None else elementwise.mul(tangents[0], slope(primals[0]))]


def cube_forward(x):
    return cube(x), [x]


def cube_backward(residuals, cotangents):
    return [elementwise.mul(cotangents[0], elementwise.conj_of(slope(residuals[0])))]


def cube_batch(size, values, dims):
    return tuple(cube(values[0])), tuple(dims)


def site(rules: CallSite):
    return lambda rng, dtype: [Sample([vector(rng, dtype)], rules)]


def np_cube(xs, site):
    return xs[0] * xs[0] * xs[0]


NO_FORWARD = "it has a reverse-mode rule of the user's own and no forward mode"
row(custom_jvp_call, site(CallSite(cube, "cube", jvp=cube_jvp)), DTYPES, reference=np_cube)
row(
    custom_vjp_call,
    site(CallSite(cube, "cube", forward=cube_forward, backward=cube_backward)),
    DTYPES,
    reference=np_cube,
    skip=dict.fromkeys(("jvp", "vjp"), NO_FORWARD),
)
row(custom_vmap_call, site(CallSite(cube, "cube", batch=cube_batch)), DTYPES, reference=np_cube)

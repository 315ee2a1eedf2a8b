"""Transforms in any order: every chain of three, on a function whose derivatives are known."""

import itertools

import numpy as np
import pytest

import functorch_lite as fl

X = 0.7
DERIVATIVES = (  # of x * sin(x)
    lambda x: x * np.sin(x),
    lambda x: np.sin(x) + x * np.cos(x),
    lambda x: 2 * np.cos(x) - x * np.sin(x),
    lambda x: -3 * np.sin(x) - x * np.cos(x),
)


def f(x):
    return fl.sin(x) * x


def one():
    return fl.asarray(np.float64(1))


def rows_of(g):
    """g of one row of a batch, the others beside it."""

    def mapped(x):
        out = fl.vmap(g)(fl.stack([x * 2.0, x, x - 1.0]))
        return out[1]

    return mapped


def unbatched_of(g):
    """g of what is not batched, in a batch of something else."""
    return lambda x: fl.vmap(lambda y: g(x) * y)(fl.asarray(np.ones(2)))[1]


def in_scan(g):
    return lambda x: fl.scan(lambda c, _: (c, g(c)), x, None, length=2)[1][0]


def in_cond(g):
    return lambda x: fl.cond(x > 0.0, g, lambda x: x * 0.0, x)


# name -> (transform, by how much it raises the order of the derivative)
TRANSFORMS = {
    "grad": (fl.grad, 1),
    "jvp": (lambda g: lambda x: fl.jvp(g, (x,), (one(),))[1], 1),
    "linearize": (lambda g: lambda x: fl.linearize(g, x)[1](one()), 1),
    "jacrev": (fl.jacrev, 1),
    "jit": (fl.jit, 0),
    "vmap": (rows_of, 0),
    "unbatched": (unbatched_of, 0),
    "checkpoint": (fl.checkpoint, 0),
    "make_fx": (lambda g: lambda x: fl.make_fx(g)(x)(x), 0),
    "scan": (in_scan, 0),
    "cond": (in_cond, 0),
}


@pytest.mark.parametrize("outer", TRANSFORMS)
@pytest.mark.parametrize("middle", TRANSFORMS)
def test_chains_of_three(outer, middle):
    for inner in TRANSFORMS:
        g, order = f, 0
        for name in (inner, middle, outer):
            transform, by = TRANSFORMS[name]
            g, order = transform(g), order + by
        got = np.asarray(g(fl.asarray(np.float64(X))))
        assert got.shape == () and got.dtype == np.float64
        np.testing.assert_allclose(got, DERIVATIVES[order](X), rtol=1e-9, err_msg=f"{outer}({middle}({inner}(f)))")


def test_every_pair_is_a_program_of_its_own():
    """Under jit too, with the chain inside."""
    for outer, inner in itertools.product(("grad", "jvp", "vmap", "scan"), repeat=2):
        g, order = f, 0
        for name in (inner, outer):
            transform, by = TRANSFORMS[name]
            g, order = transform(g), order + by
        np.testing.assert_allclose(
            np.asarray(fl.jit(g)(fl.asarray(np.float64(X)))), DERIVATIVES[order](X), rtol=1e-9, err_msg=f"{outer}({inner}(f))"
        )

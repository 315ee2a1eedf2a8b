"""Matrix products as they are lowered for a CPU: right in every form, and in the form that is fast there."""

import itertools
import re

import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite.prims import contract, shape
from functorch_lite.transforms.interop import to_jax

SIZES = {"i": 96, "k": 128, "j": 64, "b": 4}  # more than 2^19 multiplications, so that operands are moved


def operand(rng, labels):
    return rng.normal(size=[SIZES[n] for n in labels])


def product(xs, ys):
    """dot_general over "k", with batches "b"."""
    batch = [n for n in xs if n in ys and n == "b"]
    places = lambda names: tuple([tuple([labels.index(n) for n in names]) for labels in (xs, ys)])
    return lambda x, y: contract.dot_general(x, y, places("k"), places(batch))


FORMS = "ik,kj ki,kj ik,jk ki,jk kj,ki jk,ki bki,bkj bik,bjk bki,bjk bkj,bki bik,kj bki,kj ki,bkj ikb,kj kib,bkj".split()
FORMS = [tuple(form.split(",")) for form in FORMS]


@pytest.mark.parametrize("xs, ys", FORMS)
def test_every_form_is_right(xs, ys):
    rng = np.random.default_rng(0)
    x, y = operand(rng, xs), operand(rng, ys)
    batch = "b" if "b" in xs and "b" in ys else ""
    out = batch + "".join([n for n in xs + ys if n not in batch + "k"])
    for dtype in (np.float32, np.float64):
        a, b = x.astype(dtype), y.astype(dtype)
        found = np.asarray(fl.jit(product(xs, ys))(fl.asarray(a), fl.asarray(b)))
        expected = np.einsum(f"{xs},{ys}->{out}", a, b)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 if dtype == np.float32 else 1e-11, err_msg=f"seed 0, {xs} {ys}")


def dots(text):
    """(dimension summed on the left, on the right) of each product in an optimized program."""
    return [tuple(map(int, found)) for found in re.findall(r" dot\(.*lhs_contracting_dims=\{(\d)\}, rhs_contracting_dims=\{(\d)\}", text)]


@pytest.mark.parametrize("xs, ys", [form for form in FORMS if "b" not in form[0] + form[1]])
def test_matrices_are_multiplied_row_by_column(xs, ys):
    """Even where the user moves the result, which XLA would fold into the product."""
    for order in ((0, 1), (1, 0)):
        f = fl.jit(lambda x, y, order=order: fl.exp(shape.permute(product(xs, ys)(fl.exp(x), fl.exp(y)), order)))
        arguments = [fl.zeros([SIZES[n] for n in labels]) for labels in (xs, ys)]
        assert dots(f.lower(*arguments).compile().hlo()) == [(1, 0)], (xs, ys, order)


def test_gradients_of_a_linear_layer_are_multiplied_row_by_column():
    def loss(x, w, b):
        return fl.nn.functional.linear(x, w, b).tanh().sum()

    arguments = fl.zeros(64, 256), fl.zeros(512, 256), fl.zeros(512)
    text = fl.jit(fl.grad(loss, argnums=(0, 1, 2))).lower(*arguments).compile().hlo()
    assert dots(text) == [(1, 0)] * 3


def test_small_products_and_other_platforms_are_left_to_xla():
    import jax

    small = fl.jit(product("ki", "kj")).lower(fl.zeros(4, 3), fl.zeros(4, 2)).stablehlo()
    assert "optimization_barrier" not in small and "stablehlo.dot_general" in small
    spec = jax.ShapeDtypeStruct((128, 96), np.float32), jax.ShapeDtypeStruct((128, 64), np.float32)
    anywhere = jax.jit(to_jax(lambda x, y: product("ki", "kj")(x, y))).lower(*spec).as_text()
    assert "optimization_barrier" not in anywhere and "stablehlo.dot_general" in anywhere


@pytest.mark.parametrize("xs, ys", list(itertools.product(["ik", "ki"], ["kj", "jk"])))
def test_cotangents_need_no_transposes(xs, ys):
    """Of the two orders of operands the one is taken that gives a cotangent as its argument lies."""
    x, y = [fl.zeros([SIZES[n] for n in labels]) for labels in (xs, ys)]
    graph = fl.make_fx(fl.grad(lambda x, y: product(xs, ys)(x, y).sum(), argnums=(0, 1)))(x, y).graph
    assert not [n for n in graph.nodes if "permute" in str(n.target)]

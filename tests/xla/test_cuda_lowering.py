"""The programs of the CPU lower for CUDA too, where there is no such device: placement, half types, and the choice of attention."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax.export import DisabledSafetyCheck, export

import functorch_lite as fl
import functorch_lite.torch as torch
from functorch_lite.core.aval import aval
from functorch_lite.prims import kernels
from functorch_lite.transforms.body import close
from functorch_lite.xla.lower import lower_with

FUSED = "__cudnn$fmhaSoftmax"


def cuda(f, *avals) -> str:
    """The StableHLO of f on arrays of these avals, for CUDA."""
    body = close(lambda *xs: [f(*xs)], avals, "program")

    def run(*buffers):
        return lower_with(body, avals, buffers, "program", platform="gpu")

    with jax.enable_x64(True):
        specs = [jax.ShapeDtypeStruct(a.shape, a.dtype.dtype) for a in avals]
        module = export(jax.jit(run), platforms=["cuda"], disabled_checks=[DisabledSafetyCheck.custom_call(FUSED)])(*specs)
    assert module.platforms == ("cuda",)
    return module.mlir_module()


def attention(q, k, v):
    return fl.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


@pytest.fixture
def cudnn(monkeypatch):
    """As on a machine with CUDA and cuDNN: jax asks for their versions while it traces."""
    module = pytest.importorskip("jax._src.cudnn.fused_attention_stablehlo")
    monkeypatch.setattr(module, "check_cudnn_version", lambda: 91100)
    monkeypatch.setattr(kernels, "_has_cudnn", kernels._has_cudnn.__wrapped__)


@pytest.mark.parametrize("dtype", [fl.bfloat16, fl.float16])
def test_attention_of_half_types_is_the_fused_kernel(cudnn, dtype):
    a = aval((2, 4, 128, 64), dtype)
    assert FUSED in cuda(attention, a, a, a)


@pytest.mark.parametrize("case", ["float32", "mask", "odd width", "no cudnn"])
def test_other_attention_is_what_it_is_made_of(cudnn, case, monkeypatch):
    a = aval((2, 4, 128, 60 if case == "odd width" else 64), fl.float32 if case == "float32" else fl.bfloat16)
    f = attention
    if case == "mask":
        f = lambda q, k, v: fl.nn.functional.scaled_dot_product_attention(q, k, v, fl.ones(128, 128, dtype=fl.bool))
    if case == "no cudnn":
        monkeypatch.setattr(kernels, "_has_cudnn", lambda: False)
    text = cuda(f, a, a, a)
    assert FUSED not in text and "dot_general" in text


def test_the_cpu_never_takes_the_kernel():
    q = fl.ones(1, 2, 8, 8, dtype=fl.bfloat16)
    assert FUSED not in fl.jit(attention).lower(q, q, q).stablehlo()
    np.testing.assert_allclose(attention(q, q, q).to(fl.float32).numpy(), 1.0)


def test_gradients_through_the_kernel_are_those_of_the_formula(cudnn):
    a = aval((2, 4, 128, 64), fl.bfloat16)
    text = cuda(lambda q, k, v: fl.grad(lambda q: attention(q, k, v).to(fl.float32).sum())(q), a, a, a)
    assert "dot_general" in text


def test_a_training_step_in_bfloat16_lowers():
    """Products in bfloat16, their sums in float32 where the op says so, and no product in float64."""

    def step(w, b, x, y):
        def loss(params):
            w, b = params
            out = (x @ w + b).relu()
            return ((out - y).to(fl.float32) ** 2).mean()

        (gw, gb) = fl.grad(loss)((w, b))
        return (w - 0.1 * gw, b - 0.1 * gb)[0]

    half = lambda *shape: aval(shape, fl.bfloat16)
    text = cuda(step, half(16, 32), half(32), half(8, 16), half(8, 32))
    assert "bf16" in text and "dot_general" in text and "tensor<8x32xf64>" not in text


def test_convolutions_and_reductions_lower():
    def f(x, w):
        y = fl.nn.functional.conv2d(x, w, padding=1)
        y = fl.nn.functional.batch_norm(y, None, None, training=True).relu()
        return fl.nn.functional.max_pool2d(y, 2).amax(dim=(2, 3)).sum()

    a, w = aval((2, 3, 8, 8), fl.float32), aval((4, 3, 3, 3), fl.float32)
    text = cuda(lambda x, w: fl.grad(f, argnums=1)(x, w), a, w)
    assert "stablehlo.convolution" in text


def test_a_device_that_is_not_there_says_so():
    if any(d.platform == "gpu" for d in jax.devices()):
        pytest.skip("there is one")
    with pytest.raises(RuntimeError, match="device 'cuda' is not available here; there are: cpu"):
        fl.ones(2).to("cuda")
    with pytest.raises(RuntimeError, match="cuda"):
        torch.ones(2, device="cuda")
    assert not torch.cuda.is_available()

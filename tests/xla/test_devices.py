"""Placement, on several CPU devices in a process of its own (their number is fixed when jax starts)."""

import os
import subprocess
import sys
import textwrap

PROGRAM = """
    import functorch_lite as fl

    x = fl.asarray([1.0, 2.0])
    y = x.to("cpu:1")
    assert (x.device, y.device) == ("cpu", "cpu:1")
    loss = lambda a: (fl.sin(a) * a + fl.ones(2)).sum()
    for out in (y * 2, fl.jit(lambda a: a * 2)(y), fl.grad(loss)(y), fl.jit(fl.grad(loss))(y), fl.vmap(lambda a: a + 1.0)(y),
                fl.hessian(loss)(y), fl.jit(lambda a: fl.zeros(3) + a.sum())(y), fl.zeros(2) + y, fl.where(y > 1, y, 0.0)):
        assert out.device == "cpu:1", out
    assert fl.asarray([1], device="cpu:1").device == fl.zeros(2, device="cpu:1").device == "cpu:1"
    assert y.to("cpu:0").device == "cpu" and y.to("cpu:1") is y
    for f in (lambda: x + y, lambda: fl.jit(lambda a, b: a + b)(x, y)):
        try:
            f()
        except RuntimeError as error:
            assert "cpu:1" in str(error) and ".to(device)" in str(error), error
        else:
            raise AssertionError("arrays on two devices were combined")
    for name in ("cuda", "cpu:7", "nowhere"):
        try:
            x.to(name)
        except (RuntimeError, TypeError) as error:
            assert name in str(error), error
        else:
            raise AssertionError(name)
    print("ok")
"""


def test_two_cpu_devices():
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.strip() == "ok", done.stderr

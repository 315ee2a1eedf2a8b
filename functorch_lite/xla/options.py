"""Compile options by kind of device, each probed once: versions of XLA differ in the names they know."""

from __future__ import annotations

import functools

import jax

# XLA's defaults, but where they were measured to cost: products by its own library instead of Eigen take 5 to 20% longer, and so do
# the steps of a GPT and an MLP that consist of them; gradients of convolutions' weights take twice as long there. Reductions are better.
_FULL = {"cpu": {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_REDUCE"}}

# A quick tier for single ops on little data: compiling takes a third of the time, running it costs nothing measurable.
_QUICK = {
    "cpu": {
        "xla_cpu_use_fusion_emitters": False,
        "xla_backend_optimization_level": 0,
        "xla_llvm_disable_expensive_passes": True,
        "xla_cpu_parallel_codegen_split_count": 1,
    }
}

# The same for small programs that come again and again: two and a half times the compiling, two thirds of the running.
_REPEATED = {"cpu": {**_QUICK["cpu"], "xla_backend_optimization_level": 1}}


@functools.cache
def full(platform: str) -> dict:
    """The options for a program worth compiling well, those of them that this XLA knows."""
    return _those_known(platform, _FULL)


@functools.cache
def quick(platform: str) -> dict:
    """The options of the quick tier that this XLA knows."""
    return _those_known(platform, _QUICK)


@functools.cache
def repeated(platform: str) -> dict:
    """The options for small programs that run often, those of them that this XLA knows."""
    return _those_known(platform, _REPEATED)


def _those_known(platform: str, tier: dict) -> dict:
    return {name: value for name, value in tier.get(platform, {}).items() if _known(name, value)}


def _known(name: str, value) -> bool:
    try:
        jax.jit(lambda: 0).lower().compile({name: value})
    except (ValueError, RuntimeError):  # jax's runtime errors among them: "No such compile option"
        return False
    return True

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


def wanted(platform: str, small: bool) -> dict:
    """The options of a tier, whether this XLA knows them or not."""
    return (_QUICK if small else _FULL).get(platform, {})


@functools.cache
def full(platform: str) -> dict:
    """The options for a program worth compiling well, those of them that this XLA knows."""
    return _those_known(platform, _FULL)


@functools.cache
def quick(platform: str) -> dict:
    """The options of the quick tier that this XLA knows."""
    return _those_known(platform, _QUICK)


def _those_known(platform: str, tier: dict) -> dict:
    options = tier.get(platform, {})
    return options if _known(options) else {name: value for name, value in options.items() if _known({name: value})}


def _known(options: dict) -> bool:
    try:
        jax.jit(lambda: 0).lower().compile(options)
    except (ValueError, RuntimeError):  # jax's runtime errors among them: "No such compile option"
        return False
    return True

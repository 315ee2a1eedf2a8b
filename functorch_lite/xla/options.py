"""Compile options by kind of device, each probed once: versions of XLA differ in the names they know."""

from __future__ import annotations

import functools

import jax

# A quick tier for single ops on little data: compiling takes a third of the time, running it costs nothing measurable.
_QUICK = {
    "xla_cpu_use_fusion_emitters": False,
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_parallel_codegen_split_count": 1,
}
TIERS: dict[str, dict[str, dict]] = {
    "quick": {"cpu": _QUICK},
    # The same for small programs that come again and again: two and a half times the compiling, two thirds of the running.
    "repeated": {"cpu": {**_QUICK, "xla_backend_optimization_level": 1}},
    # XLA's defaults, but where they were measured to cost: products by its own library instead of Eigen take 5 to 20% longer, and so do
    # the steps of a GPT and an MLP that consist of them; gradients of convolutions' weights take twice as long there. Reductions are better.
    "full": {"cpu": {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_REDUCE"}},
}


def wanted(platform: str, tier: str) -> dict:
    """The options of a tier, whether this XLA knows them or not."""
    return TIERS[tier].get(platform, {})


@functools.cache
def known(platform: str, tier: str) -> dict:
    """The options of a tier that this XLA knows."""
    options = wanted(platform, tier)
    return options if _known(options) else {name: value for name, value in options.items() if _known({name: value})}


def _known(options: dict) -> bool:
    try:
        jax.jit(lambda: 0).lower().compile(options)
    except (ValueError, RuntimeError):  # jax's runtime errors among them: "No such compile option"
        return False
    return True

"""Compile options by kind of device, each probed once: versions of XLA differ in the names they know."""

from __future__ import annotations

import functools

import jax

# A quick tier for single ops on little data: compiling takes a third of the time, running it costs nothing measurable.
_QUICK = {
    "cpu": {
        "xla_cpu_use_fusion_emitters": False,
        "xla_backend_optimization_level": 0,
        "xla_llvm_disable_expensive_passes": True,
        "xla_cpu_parallel_codegen_split_count": 1,
    }
}


@functools.cache
def quick(platform: str) -> dict:
    """The options of the quick tier that this XLA knows."""
    return {name: value for name, value in _QUICK.get(platform, {}).items() if _known(platform, name, value)}


def _known(platform: str, name: str, value) -> bool:
    try:
        jax.jit(lambda: 0).lower().compile({name: value})
    except (ValueError, RuntimeError):  # jax's runtime errors among them: "No such compile option"
        return False
    return True

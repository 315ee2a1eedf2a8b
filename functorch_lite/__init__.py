"""functorch_lite: composable function transforms over immutable arrays, on XLA."""

from importlib import import_module as _import_module

from . import prims
from .core.array import Array, asarray, block_until_ready, from_dlpack
from .core.cell import Cell
from .core.dtype import (
    bfloat16,
    can_cast,
    complex64,
    complex128,
    finfo,
    float16,
    float32,
    float64,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .core.dtype import bool_ as bool
from .core.interpreter import checking_leaks
from .core.surgery import combine, filter, partition, tree_at
from .refs import *
from .transforms.associative import associative_scan
from .transforms.callback import pure_callback
from .transforms.checkpoint import checkpoint
from .transforms.control_flow import cond, fori_loop, map, scan, switch, while_loop
from .transforms.custom import custom_jvp, custom_vjp, custom_vmap
from .transforms.functionalize import functionalize
from .transforms.grad import grad, grad_and_value, value_and_grad, vjp
from .transforms.interop import from_jax, to_jax
from .transforms.jacobian import hessian, hvp, jacfwd, jacrev
from .transforms.jit import checked, jit
from .transforms.jvp import jvp
from .transforms.linearize import linear_transpose, linearize
from .transforms.make_fx import make_fx
from .transforms.shapes import ShapeDtype, eval_shape
from .transforms.stop import closure_convert, stop_gradient
from .transforms.vmap import vmap

from . import decomp, errors, fft, fx, linalg, masked, random, signal, special, tree, xla  # isort: skip  # xla installs the bottom of the stack

tensor = asarray

_LATER = {  # imported when they are first asked for: name -> its module, and its name there
    "debug": ("debug", None),
    "eager": ("xla.modes", "eager"),
    "eager_stats": ("xla.modes", "eager_stats"),
    "explain": ("nn.explain", "explain"),
    "field": ("core.struct", "field"),
    "nn": ("nn", None),
    "ops": ("catalog", "ops"),
    "optim": ("optim", None),
    "replace": ("core.struct", "replace"),
    "struct": ("core.struct", "struct"),
}


def __getattr__(name: str):
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place, inside = _LATER[name]
    module = _import_module(f"{__name__}.{place}")
    globals()[name] = value = module if inside is None else getattr(module, inside)
    return value


def __dir__():
    return sorted({*globals(), *_LATER})

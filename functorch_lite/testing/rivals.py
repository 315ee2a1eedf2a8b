"""Libraries under one spelling, PyTorch's: what a random program (`fuzz`) runs on. JAX and PyTorch are imported when they are asked for, as oracles.

>>> import numpy as np
>>> T = ours("array")
>>> T.back(T.sum(T.array(np.ones(3)), dim=0))
array(3.)
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util

import numpy as np


class Rival:
    """A library: names are looked up in its places in order; ``array`` takes NumPy arrays in, ``back`` gives them out."""

    def __init__(self, name: str, places, array, back, entered=contextlib.nullcontext, **named):
        self.name, self.places, self.array, self.back, self.entered = name, places, array, back, entered
        self.__dict__.update(named)

    def __getattr__(self, name: str):
        for place in self.places:
            found = getattr(place, name, None)
            if found is not None:
                setattr(self, name, found)
                return found
        raise AttributeError(f"{self.name} has no {name}")

    def __repr__(self) -> str:
        return f"<{self.name}>"


@functools.cache
def ours(face: str) -> Rival:
    """Our library on Arrays (``"array"``) or Tensors (``"tensor"``)."""
    import functorch_lite as fl

    if face == "array":
        return Rival("functorch_lite", [fl], fl.asarray, np.asarray, F=fl.nn.functional)
    from ..nn import create

    return Rival("functorch_lite on Tensors", [create, fl], create.tensor, lambda x: np.asarray(x.detach()), F=fl.nn.functional)


def rivals(name: str | None = None) -> Rival:
    """The rival of this name; without one PyTorch, if it is installed, else JAX."""
    if name is None:
        name = "torch" if importlib.util.find_spec("torch") else "jax"
    return {"torch": _torch, "jax": _jax}[name]()


@functools.cache
def _torch() -> Rival:
    import torch

    return Rival(
        f"PyTorch {torch.__version__}",
        [torch.func, torch],
        lambda x: torch.from_numpy(np.array(x)),
        lambda x: x.detach().numpy(),
        F=torch.nn.functional,
    )


@functools.cache
def _jax() -> Rival:
    import jax
    import jax.numpy as jnp

    def renamed(f, **names):
        """f with PyTorch's names of arguments."""
        names = {"dim": "axis", "keepdim": "keepdims", "dims": "axis", **names}
        return lambda *args, **kwargs: f(*args, **{names.get(k, k): v for k, v in kwargs.items()})

    # Functions whose derivative at ties or kinks is JAX's own convention are not here: their programs are left out.
    same = "sin cos tanh exp log sqrt square sinh cosh expm1 log1p asinh hypot logaddexp atan2 exp2 reciprocal where floor reshape matmul einsum"
    table = {name: getattr(jnp, name) for name in same.split()}
    for name in "sum mean prod cumsum cumprod flip roll stack argmax expand_dims std var".split():
        table[name] = renamed(getattr(jnp, name))
    table |= {
        "std": renamed(functools.partial(jnp.std, ddof=1)),
        "var": renamed(functools.partial(jnp.var, ddof=1)),
        "logsumexp": renamed(jax.nn.logsumexp),
        "softmax": renamed(jax.nn.softmax),
        "log_softmax": renamed(jax.nn.log_softmax),
        "sigmoid": jax.nn.sigmoid,
        "erf": jax.scipy.special.erf,
        "lgamma": jax.scipy.special.gammaln,
        "digamma": jax.scipy.special.digamma,
        "xlogy": jax.scipy.special.xlogy,
        "atan": jnp.arctan,
        "rsqrt": jax.lax.rsqrt,
        "pow": jnp.power,
        "cat": lambda xs, dim=0: jnp.concatenate(xs, dim),
        "permute": jnp.transpose,
        "unsqueeze": jnp.expand_dims,
        "broadcast_to": jnp.broadcast_to,
        "index_select": lambda x, dim, i: jnp.take(x, i, dim),
        "index_add": lambda x, dim, i, y: x.at[(slice(None),) * dim + (i,)].add(y),
        "gather": lambda x, dim, i: jnp.take_along_axis(x, i, dim),
        "tril": jnp.tril,
        "triu": jnp.triu,
        "diagonal": jnp.diagonal,
        "tensor": jnp.asarray,
        "masked_fill": lambda x, m, v: jnp.where(m, jnp.asarray(v, x.dtype), x),
        "grad": jax.grad,
        "jvp": jax.jvp,
        "jacrev": jax.jacrev,
        "jacfwd": jax.jacfwd,
        "hessian": jax.hessian,
        "vjp": jax.vjp,
        "vmap": lambda f, in_dims=0: jax.vmap(f, in_axes=in_dims),
    }
    return Rival(f"JAX {jax.__version__}", [], jnp.asarray, np.asarray, functools.partial(jax.enable_x64, True), **table)

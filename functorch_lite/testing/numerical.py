"""Numerical checks of derivatives for users: gradcheck, gradgradcheck.

Every float or complex leaf counts as real numbers (a complex one as two), so one real Jacobian is compared for any function,
holomorphic or not. Numerically it comes from central differences, (f(x + h) - f(x - h)) / 2h.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from ..core import pytree
from ..core.array import asarray
from ..core.dtype import complex128, float64
from ..transforms.arguments import Differentiated, is_array
from ..transforms.grad import vjp
from ..transforms.jvp import jvp
from ..transforms.vmap import vmap
from .compare import numpy_of


class GradcheckError(RuntimeError):
    """The analytical and the numerical derivative of a function differ. The message names output, input and both values.

    >>> import functorch_lite as fl
    >>> from functorch_lite.testing import gradcheck
    >>> gradcheck(lambda x: fl.tanh(x) * fl.stop_gradient(x), (np.array([0.5, 1.0]),))
    Traceback (most recent call last):
    ...
    functorch_lite.testing.numerical.GradcheckError: ...

    **Fix**: correct the rule (an op's jvp, transpose or vjp, a custom rule's backward). If the point lies on a kink or a pole,
    move it; if the function is computed in float32 inside, raise eps and the tolerances.
    """


def gradcheck(
    f: Callable,
    inputs,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    *,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    check_batched_grad: bool = False,
    fast_mode: bool = False,
    raise_exception: bool = True,
    seed: int = 0,
) -> bool:
    """Whether f's derivative agrees with central differences at `inputs`; raises GradcheckError where it does not.

    f takes ``*inputs``, each a pytree, and returns any pytree; float and complex leaves of both take part, and should be float64
    or complex128 (others are warned about). ``check_forward_ad`` tests `jvp` too, ``check_batched_grad`` the pullback
    under `vmap` against a loop. ``fast_mode`` compares one random direction (of this seed) instead of whole Jacobians. With
    ``raise_exception=False`` a failure returns False.

    >>> import functorch_lite as fl
    >>> gradcheck(lambda p, x: fl.tanh(p["w"] * x), ({"w": np.array([1.0, 2.0])}, np.array([0.5, -0.5])), check_forward_ad=True)
    True
    """
    inputs = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    try:
        flat = Flat(f, tuple(inputs), f" along a random direction (seed {seed})" if fast_mode else "")
        numerical = _random_rows(flat, eps, seed) if fast_mode else _columns(flat, eps)
        if check_backward_ad:
            flat.compare(_fast_backward(flat, seed) if fast_mode else _backward(flat), numerical, rtol, atol, "backward")
        if check_forward_ad:
            flat.compare(_fast_forward(flat, seed) if fast_mode else _forward(flat), numerical, rtol, atol, "forward")
        if check_batched_grad:
            _check_batched(flat, rtol, atol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    f: Callable, inputs, grad_outputs=None, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, *, seed: int = 0, **options
) -> bool:
    """`gradcheck` of the function that gives f's cotangents: the second derivative, in the inputs and in the cotangents.

    grad_outputs: a tree like f's output; left out, random numbers of this seed. The options are those of `gradcheck`.

    >>> import functorch_lite as fl
    >>> gradgradcheck(lambda x: fl.exp(x) * x, (np.array([0.5, 1.0]),))
    True
    """
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    if grad_outputs is None:
        rng = np.random.default_rng(seed)
        output, _ = vjp(f, *inputs)
        grad_outputs = pytree.map(lambda y: _normal(rng, y) if y.dtype.is_inexact else None, output)

    def gradient(inputs, cotangents):
        return vjp(f, *inputs)[1](cotangents)

    return gradcheck(gradient, (inputs, grad_outputs), eps, atol, rtol, seed=seed, **options)


def _normal(rng, y) -> np.ndarray:
    parts = rng.standard_normal(y.shape) + (1j * rng.standard_normal(y.shape) if y.dtype.is_complex else 0)
    return np.asarray(parts, y.dtype.dtype)


# ------------------------------------------------------------------------------------------- a function of real numbers


class Flat:
    """f as a function between lists of arrays, each seen as real numbers, and the paths of those arrays for messages."""

    def __init__(self, f, inputs, along: str):
        self.f, self.along = f, along
        self.primals = Differentiated.of("gradcheck", inputs, lambda i: f"input {i}")
        paths = [p for p, _ in pytree.leaves_with_path(inputs)]
        self.in_names = [f"input {p[0]}{str(p)[len(f'[{p[0]}]') :]}" for p, w in zip(paths, self.primals.which) if w]
        self.xs = [numpy_of(x) for x in self.primals.picked()]
        for name, x in zip(self.in_names, self.xs):
            if x.dtype not in (float64.dtype, complex128.dtype):
                warnings.warn(f"gradcheck: {name} is {x.dtype}; finite differences need float64 or complex128", stacklevel=4)
        leaves = pytree.leaves_with_path(f(*self.primals.with_leaves(map(asarray, self.xs))))
        bad = [x for _, x in leaves if not is_array(x)]
        if bad:
            raise TypeError(f"gradcheck: the function must return Arrays (in any pytree), got {pytree.describe(bad[0])}")
        leaves = [(p, asarray(x)) for p, x in leaves]
        self.out_places = [i for i, (_, x) in enumerate(leaves) if x.dtype.is_inexact]
        self.out_names = [f"output{leaves[i][0]}" for i in self.out_places]
        self.outs = [numpy_of(leaves[i][1]) for i in self.out_places]
        if not self.outs:
            raise ValueError("gradcheck: no output of the function is float or complex: it has no derivative")

    def g(self, *xs) -> tuple:
        """Arrays to arrays."""
        out = pytree.leaves(self.f(*self.primals.with_leaves(map(asarray, xs))))
        return tuple([asarray(out[i]) for i in self.out_places])

    def compare(self, analytical, numerical, rtol, atol, mode: str) -> None:
        """Both are [output][input] -> real Jacobian block (outputs in rows), or one number a block in fast mode."""
        for o, out in enumerate(self.out_names):
            for i, name in enumerate(self.in_names):
                a, n = analytical[o][i], numerical[o][i]
                with np.errstate(invalid="ignore"):
                    ok = np.abs(a - n) <= atol + rtol * np.abs(n)
                if ok.all():
                    continue
                difference = np.where(ok, -1, np.nan_to_num(np.abs(a - n), nan=np.inf))
                r, c = np.unravel_index(int(np.argmax(difference)), a.shape)
                whole = f"\nanalytical:\n{a}\nnumerical:\n{n}" if a.size <= 64 else ""
                raise GradcheckError(
                    f"gradcheck: the Jacobian of {out} with respect to {name} by {mode} mode{self.along} differs from finite differences: "
                    f"{(~ok).sum()} of {a.size} entries differ, most at row {r}, column {c}: {a[r, c]:.8g}, numerically {n[r, c]:.8g} "
                    f"(rtol={rtol:g}, atol={atol:g}). Complex arrays count as pairs (real, imaginary).{whole}"
                )


def _real(x) -> np.ndarray:
    """A flat real view of an array: complex numbers as pairs."""
    x = np.ascontiguousarray(numpy_of(x))
    return x.reshape(-1).view(x.real.dtype).astype(np.float64)


def _basis(x):
    """Each unit direction of an array seen as real numbers."""
    units = np.zeros(x.shape, x.dtype)
    flat = units.reshape(-1).view(x.real.dtype)
    for k in range(flat.size):
        flat[k] = 1
        yield units.copy()
        flat[k] = 0


def _real_size(x) -> int:
    return x.size * (2 if np.iscomplexobj(x) else 1)


def _columns(flat: Flat, eps):
    """The numerical Jacobian, column by column."""
    blocks = [[np.zeros((_real_size(y), _real_size(x))) for x in flat.xs] for y in flat.outs]
    for i, x in enumerate(flat.xs):
        for k, unit in enumerate(_basis(x)):
            ahead = flat.g(*[v + eps * unit if j == i else v for j, v in enumerate(flat.xs)])
            behind = flat.g(*[v - eps * unit if j == i else v for j, v in enumerate(flat.xs)])
            for o, (a, b) in enumerate(zip(ahead, behind)):
                blocks[o][i][:, k] = (_real(a) - _real(b)) / (2 * eps)
    return blocks


def _backward(flat: Flat):
    """The Jacobian, row by row, from pullbacks of unit cotangents."""
    _, pullback = vjp(flat.g, *flat.xs)
    blocks = [[np.zeros((_real_size(y), _real_size(x))) for x in flat.xs] for y in flat.outs]
    for o, y in enumerate(flat.outs):
        for k, unit in enumerate(_basis(y)):
            cts = tuple([unit if j == o else np.zeros_like(v) for j, v in enumerate(flat.outs)])
            for i, g in enumerate(pullback(cts)):
                blocks[o][i][k] = _real(g)
    return blocks


def _forward(flat: Flat):
    blocks = [[np.zeros((_real_size(y), _real_size(x))) for x in flat.xs] for y in flat.outs]
    for i, x in enumerate(flat.xs):
        for k, unit in enumerate(_basis(x)):
            _, ts = jvp(flat.g, tuple(flat.xs), tuple([unit if j == i else np.zeros_like(v) for j, v in enumerate(flat.xs)]))
            for o, t in enumerate(ts):
                blocks[o][i][:, k] = _real(t)
    return blocks


# ---------------------------------------------------------------------------------------------- one random direction


def _directions(flat: Flat, seed):
    rng = np.random.default_rng(seed)
    return [_normal(rng, asarray(x)) for x in flat.xs], [_normal(rng, asarray(y)) for y in flat.outs]


def _product(a, b) -> np.ndarray:
    return np.array([[_real(a) @ _real(b)]])


def _random_rows(flat: Flat, eps, seed):
    ts, cts = _directions(flat, seed)
    blocks = [[None] * len(flat.xs) for _ in flat.outs]
    for i, t in enumerate(ts):
        ahead = flat.g(*[x + eps * t if j == i else x for j, x in enumerate(flat.xs)])
        behind = flat.g(*[x - eps * t if j == i else x for j, x in enumerate(flat.xs)])
        for o, ct in enumerate(cts):
            blocks[o][i] = _product(ct, (numpy_of(ahead[o]) - numpy_of(behind[o])) / (2 * eps))
    return blocks


def _fast_backward(flat: Flat, seed):
    ts, cts = _directions(flat, seed)
    _, pullback = vjp(flat.g, *flat.xs)
    rows = [pullback(tuple([c if j == o else np.zeros_like(c) for j, c in enumerate(cts)])) for o in range(len(cts))]
    return [[_product(g, t) for g, t in zip(row, ts)] for row in rows]


def _fast_forward(flat: Flat, seed):
    ts, cts = _directions(flat, seed)
    columns = [jvp(flat.g, tuple(flat.xs), tuple([t if j == i else np.zeros_like(t) for j, t in enumerate(ts)]))[1] for i in range(len(ts))]
    return [[_product(ct, column[o]) for column in columns] for o, ct in enumerate(cts)]


def _check_batched(flat: Flat, rtol, atol) -> None:
    """The pullback under vmap against the pullback row by row."""
    _, pullback = vjp(flat.g, *flat.xs)
    batch = tuple([np.stack([(k + 1) * np.ones_like(y) for k in range(3)]) for y in flat.outs])
    together = vmap(lambda cts: pullback(cts))(batch)
    for k in range(3):
        alone = pullback(tuple([y[k] for y in batch]))
        for name, a, b in zip(flat.in_names, together, alone):
            a, b = numpy_of(a)[k], numpy_of(b)
            if not np.allclose(a, b, rtol, atol):
                raise GradcheckError(f"gradcheck: under vmap the gradient with respect to {name} is {a} for row {k}, alone it is {b}")

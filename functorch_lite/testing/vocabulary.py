"""What random programs are made of: expressions of every family, as source text with the shape and kind of their result.

A form is a function (Draw) -> (expression, shape, kind), or None where the values at hand do not suit it. Kinds are "f" (the program's own
dtype), "i" (int64) and "b" (bool). ``T`` is the library the text runs on, in PyTorch's spelling.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import numpy as np


@attrs.frozen
class Value:
    """A value of a program: the name it goes by, its shape and kind."""

    name: str
    shape: tuple[int, ...]
    kind: str = "f"


class Draw:
    """Choices among the values at hand, the latest most often."""

    def __init__(self, rng: np.random.Generator, values: list[Value], complex: bool = False):
        self.rng, self.values, self.complex = rng, values, complex

    def one(self, options):
        """Any of a sequence."""
        return options[int(self.rng.integers(len(options)))]

    def chance(self, share: float) -> bool:
        """True in this share of all cases."""
        return bool(self.rng.random() < share)

    def value(self, suits: Callable[[Value], bool] = lambda v: True, kind: str = "f") -> Value | None:
        """A value of this kind that suits."""
        found = [v for v in self.values if v.kind == kind and suits(v)]
        if not found:
            return None
        weights = 1.5 ** np.arange(len(found))
        return found[int(self.rng.choice(len(found), p=weights / weights.sum()))]

    def partner(self, a: Value, kind: str = "f") -> Value:
        """A value that broadcasts with `a`: a itself, if there is no other."""
        found = [v for v in self.values if v.kind == kind and broadcast(a.shape, v.shape) is not None]
        return self.one(found) if found else a

    def dim(self, a: Value) -> int:
        """A dimension of `a`, counted from either end."""
        return int(self.rng.integers(-len(a.shape), len(a.shape)))


def broadcast(a: tuple, b: tuple) -> tuple[int, ...] | None:
    """The shape that both broadcast to; None if they do not."""
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None


def _ranked(least, most=3):
    return lambda v: least <= len(v.shape) <= most


def _dropped(shape, dims, keepdim):
    dims = {d % len(shape) for d in dims}
    return tuple(1 if i in dims else n for i, n in enumerate(shape) if keepdim or i not in dims)


# Elementwise functions, kept away from poles and branch cuts; {0} is the operand.
ANALYTIC = (
    "T.sin({0})", "T.cos({0})", "T.tanh({0})", "-{0}", "{0} * {0}", "T.exp(T.sin({0}))", "T.reciprocal({0} * {0} + 3.0)",
    "T.square({0})", "({0} - 0.3) ** 3", "T.sinh(T.cos({0}))", "T.expm1(T.sin({0}))", "{0} / 1.7", "2.0 - {0}",
)  # fmt: skip
REAL = (
    "T.sqrt({0} * {0} + 1.0)", "T.log({0} * {0} + 0.5)", "T.log1p({0} * {0})", "T.abs({0})", "T.sigmoid({0})", "T.erf({0})", "T.atan({0})",
    "T.relu({0})", "T.rsqrt({0} * {0} + 0.7)", "T.asinh({0})", "T.lgamma({0} * {0} + 1.0)", "T.digamma({0} * {0} + 1.0)",
    "T.clamp({0}, -0.7, 0.8)", "T.F.silu({0})", "T.F.gelu({0})", "T.F.softplus({0})", "T.sign({0})", "T.floor({0})", "T.exp2(T.sin({0}))",
    "T.F.leaky_relu({0}, 0.1)", "T.F.elu({0})", "T.special.ndtr({0})", "T.special.i0e({0})", "T.logit(T.sigmoid({0}))",
)  # fmt: skip
PAIRS = ("{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / ({1} * {1} + 0.6)")
REAL_PAIRS = (
    "T.maximum({0}, {1})", "T.minimum({0}, {1})", "T.atan2({0}, {1} * {1} + 0.3)", "T.hypot({0}, {1})", "T.logaddexp({0}, {1})",
    "T.pow(T.abs({0}) + 0.5, {1})", "T.where({0} > {1}, {0}, T.sin({1}))", "T.xlogy({0}, {1} * {1} + 0.4)",
)  # fmt: skip


def unary(d: Draw):
    a = d.value()
    return d.one(ANALYTIC if d.complex else ANALYTIC + REAL).format(a.name), a.shape, "f"


def pair(d: Draw):
    a = d.value()
    b = d.partner(a)
    return d.one(PAIRS if d.complex else PAIRS + REAL_PAIRS).format(a.name, b.name), broadcast(a.shape, b.shape), "f"


def number(d: Draw):
    a = d.value()
    return d.one(("{0} * 0.5", "1 - {0}", "{0} + 2", "3 / ({0} * {0} + 2)", "{0} ** 2")).format(a.name), a.shape, "f"


def compared(d: Draw):
    if d.complex:
        return None
    a = d.value()
    b = d.partner(a)
    return d.one(("{0} > {1}", "{0} <= {1}", "{0} > 0.1")).format(a.name, b.name), a.shape if b is a else broadcast(a.shape, b.shape), "b"


def chosen(d: Draw):
    m = d.value(kind="b")
    if m is None:
        return None
    a = d.partner(m)
    if broadcast(a.shape, m.shape) is None:
        return None
    shape = broadcast(a.shape, m.shape)
    if d.chance(0.4):
        return f"T.where({m.name}, {a.name}, 0.25)", shape, "f"
    if d.chance(0.4):
        return f"{a.name} * {m.name}", shape, "f"
    return (f"T.masked_fill({a.name}, {m.name}, 0.5)", shape, "f") if shape == a.shape else None


def reduced(d: Draw):
    a = d.value(lambda v: len(v.shape) and 0 not in v.shape)
    if a is None:
        return None
    if d.chance(0.2):
        return f"T.{d.one(('sum', 'mean'))}({a.name})", (), "f"
    keepdim, dim = d.chance(0.4), d.dim(a)
    names = ["sum", "mean"] if d.complex else ["sum", "mean", "amax", "amin", "logsumexp", "prod"]
    if not d.complex and a.shape[dim] > 1:
        names += ["std", "var"]
    name = d.one(names)
    if name != "prod" and len(a.shape) > 1 and d.chance(0.3):
        dims = tuple(int(i) for i in d.rng.permutation(len(a.shape))[:2])
        return f"T.{name}({a.name}, dim={dims}, keepdim={keepdim})", _dropped(a.shape, dims, keepdim), "f"
    return f"T.{name}({a.name}, dim={dim}, keepdim={keepdim})", _dropped(a.shape, (dim,), keepdim), "f"


def along(d: Draw):
    """A function along one dimension that keeps the shape."""
    a = d.value(_ranked(1))
    if a is None:
        return None
    dim = d.dim(a)
    kept = ("T.cumsum({0}, dim={1})", "T.flip({0}, dims=({1},))", "T.roll({0}, 1, dims={1})")
    real = ("T.softmax({0}, dim={1})", "T.log_softmax({0}, dim={1})", "T.cumprod({0}, dim={1})", "T.logcumsumexp({0}, dim={1})",
            "T.sort({0}, dim={1})[0]", "T.cummax({0}, dim={1})[0]")  # fmt: skip
    if 0 in a.shape:
        real = real[:2]
    return d.one(kept if d.complex else kept + real).format(a.name, dim), a.shape, "f"


def reshaped(d: Draw):
    a = d.value()
    size = math.prod(a.shape)
    shapes = [(size,), *((n, size // n) for n in (1, 2, 3) if size and size % n == 0)]
    shape = d.one(shapes)
    return f"T.reshape({a.name}, {shape})", shape, "f"


def moved(d: Draw):
    a = d.value(_ranked(1))
    if a is None:
        return None
    n = len(a.shape)
    order = tuple(int(i) for i in d.rng.permutation(n))
    return f"T.permute({a.name}, {order})", tuple(a.shape[i] for i in order), "f"


def grown(d: Draw):
    a = d.value(_ranked(0, 2))
    if a is None:
        return None
    at = int(d.rng.integers(len(a.shape) + 1))
    shape = (*a.shape[:at], 1, *a.shape[at:])
    if d.chance(0.5):
        return f"T.unsqueeze({a.name}, {at})", shape, "f"
    full = (*a.shape[:at], 2, *a.shape[at:])
    return f"T.broadcast_to(T.unsqueeze({a.name}, {at}), {full})", full, "f"


def sliced(d: Draw):
    a = d.value(lambda v: any(n > 1 for n in v.shape))
    if a is None:
        return None
    dim = d.one([i for i, n in enumerate(a.shape) if n > 1])
    n = a.shape[dim]
    before = ":, " * dim
    pick = d.one(["one", "range", "step", "list", "select"])
    if pick == "one":
        return f"{a.name}[{before}{int(d.rng.integers(-n, n))}]", a.shape[:dim] + a.shape[dim + 1 :], "f"
    if pick == "range":
        return f"{a.name}[{before}1:]", (*a.shape[:dim], n - 1, *a.shape[dim + 1 :]), "f"
    if pick == "step":
        return f"{a.name}[{before}::2]", (*a.shape[:dim], (n + 1) // 2, *a.shape[dim + 1 :]), "f"
    places = [int(i) for i in d.rng.integers(n, size=3)]
    shape = (*a.shape[:dim], 3, *a.shape[dim + 1 :])
    if pick == "list":
        return f"{a.name}[{before}T.tensor({places})]", shape, "f"
    return f"T.index_select({a.name}, {dim}, T.tensor({places}))", shape, "f"


def joined(d: Draw):
    a = d.value(_ranked(1))
    if a is None:
        return None
    dim = int(d.rng.integers(len(a.shape)))
    b = d.one([v for v in d.values if v.kind == "f" and v.shape == a.shape])
    if d.chance(0.5) and len(a.shape) < 3:
        return f"T.stack([{a.name}, {b.name}], dim={dim})", (*a.shape[:dim], 2, *a.shape[dim:]), "f"
    return f"T.cat([{a.name}, {b.name}], dim={dim})", (*a.shape[:dim], 2 * a.shape[dim], *a.shape[dim + 1 :]), "f"


def placed(d: Draw):
    """Gathers and scatters at drawn places."""
    a = d.value(lambda v: len(v.shape) == 2 and 0 not in v.shape)
    if a is None:
        return None
    rows, columns = a.shape
    how = d.one(("gather", "index_add", "scatter_add", "scatter"))
    if how == "index_add":
        places = [int(i) for i in d.rng.integers(rows, size=rows)]
        return f"T.index_add({a.name}, 0, T.tensor({places}), T.sin({a.name}))", a.shape, "f"
    if how == "scatter":  # no place twice: which one stays is nobody's promise
        places = [[int(i) for i in d.rng.permutation(columns)] for _ in range(rows)]
        return f"T.scatter({a.name}, 1, T.tensor({places}), {a.name} * 0.5)", a.shape, "f"
    places = d.rng.integers(columns, size=(rows, columns)).tolist()
    if how == "gather":
        return f"T.gather({a.name}, 1, T.tensor({places}))", a.shape, "f"
    return f"T.scatter_add({a.name}, 1, T.tensor({places}), {a.name} * {a.name})", a.shape, "f"


def contracted(d: Draw):
    a = d.value(_ranked(1))
    if a is None:
        return None
    b = d.value(lambda v: 1 <= len(v.shape) <= 2 and (v.shape[-2] if len(v.shape) == 2 else v.shape[0]) == a.shape[-1])
    if b is not None and d.chance(0.6):
        shape = a.shape[:-1] + (b.shape[1:] if len(b.shape) == 2 else ())
        return f"T.matmul({a.name}, {b.name})", shape, "f"
    if len(a.shape) == 2:
        n, m = a.shape
        return d.one((
            (f"T.matmul({a.name}, T.permute({a.name}, (1, 0)))", (n, n), "f"),
            (f"T.einsum('ij,ik->jk', {a.name}, {a.name})", (m, m), "f"),
            (f"T.tril({a.name})", (n, m), "f"),
            (f"T.triu({a.name}, 1)", (n, m), "f"),
            (f"T.diagonal({a.name})", (min(n, m),), "f"),
        ))  # fmt: skip
    return None


def solved(d: Draw):
    """Functions of a well-conditioned symmetric matrix made of a value."""
    a = d.value(lambda v: len(v.shape) == 2 and 0 not in v.shape)
    if a is None or d.complex:
        return None
    n, m = a.shape
    matrix = f"(T.matmul(T.sin({a.name}), T.permute(T.sin({a.name}), (1, 0))) + 1.5 * T.eye({n}, dtype=T.float64).to({a.name}.dtype))"
    return d.one((
        (f"T.linalg.inv({matrix})", (n, n), "f"),
        (f"T.linalg.cholesky({matrix})", (n, n), "f"),
        (f"T.linalg.det({matrix})", (), "f"),
        (f"T.linalg.solve({matrix}, {a.name})", (n, m), "f"),
        (f"T.logdet({matrix})", (), "f"),
    ))  # fmt: skip


def normed(d: Draw):
    a = d.value(lambda v: v.shape and 0 not in v.shape and v.shape[-1] > 1)
    if a is None or d.complex:
        return None
    n = a.shape[-1]
    return d.one((
        (f"T.F.layer_norm({a.name}, ({n},))", a.shape, "f"),
        (f"T.linalg.vector_norm({a.name} + 2.0, dim=-1)", a.shape[:-1], "f"),
        (f"T.F.normalize({a.name} + 2.0, dim=-1)", a.shape, "f"),
        (f"T.F.pad({a.name}, (1, 0))", (*a.shape[:-1], n + 1), "f"),
        (f"T.argmax({a.name}, dim=-1)", a.shape[:-1], "i"),
    ))  # fmt: skip


def counted(d: Draw):
    i = d.value(kind="i")
    if i is None:
        return None
    a = d.partner(i)
    shape = broadcast(i.shape, a.shape)
    return None if shape is None else (f"{a.name} * (1 + {i.name})", shape, "f")


FORMS: tuple[tuple[float, Callable], ...] = (
    (4, unary), (3, pair), (1, number), (1, compared), (1.5, chosen), (2, reduced), (2, along), (1, reshaped), (1, moved), (1, grown),
    (1.5, sliced), (1, joined), (1, placed), (2, contracted), (0.7, solved), (1, normed), (1, counted),
)  # fmt: skip


def expression(d: Draw):
    """One that suits the values at hand: (text, shape, kind)."""
    weights = np.array([w for w, _ in FORMS])
    while True:
        form = FORMS[int(d.rng.choice(len(FORMS), p=weights / weights.sum()))][1]
        found = form(d)
        if found is not None and math.prod(found[1]) <= 64:
            return found

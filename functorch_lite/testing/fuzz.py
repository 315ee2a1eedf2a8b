"""Random programs under random transforms, checked against another library and against themselves compiled.

    python -m functorch_lite.testing.fuzz --programs 2000 --seed 0

A program is text, made from its seed alone: lines of every family of ops, and functions within it under `vmap`, `grad`, `jvp` or `vjp`
that close over values from outside. It runs under one transform or two on our arrays or Tensors: op by op and compiled, and as a graph
that is replayed; then on a `Rival`. A finding prints the text, which is all that a test needs.
"""

from __future__ import annotations

import argparse
import collections
import sys
import warnings
from collections.abc import Iterable

import attrs
import numpy as np

from .rivals import Rival, ours, rivals
from .vocabulary import Draw, Value, broadcast, expression

SIZES = (1, 2, 3, 4)
DTYPES = (("float64", 0.75), ("float32", 0.15), ("complex128", 0.1))
INDENT = "    "


@attrs.frozen
class Program:
    """A random program: its seed, its text (a function ``f`` of its inputs, over a library ``T``), inputs, and the transform it runs under."""

    seed: int
    source: str
    inputs: tuple[np.ndarray, ...]
    transform: str
    in_dims: tuple[int | None, ...]

    @property
    def forward_mode(self) -> bool:
        """Whether a tangent is among what it computes."""
        return any(word in str(self) for word in ("jvp", "jacfwd", "hessian"))

    def function(self, T):
        """Its function over a library."""
        scope = {"T": T}
        exec(compile(self.source, f"<program {self.seed}>", "exec"), scope)
        return scope["f"]

    def __str__(self) -> str:
        given = ", ".join(f"{x.dtype}{list(x.shape)}" for x in self.inputs)
        return f"# seed {self.seed}: {self.transform} of f({given}), in_dims={self.in_dims}\n{self.source}"


def program(seed: int) -> Program:
    """The program of a seed."""
    rng = np.random.default_rng([seed, 20])
    dtype = str(rng.choice([n for n, _ in DTYPES], p=[p for _, p in DTYPES]))
    shapes = [tuple(int(rng.choice(SIZES)) for _ in range(rng.integers(3))) for _ in range(rng.integers(1, 4))]
    if rng.random() < 0.05:
        shapes[0] = (0, 2)
    inputs = [Value(f"x{i}", s) for i, s in enumerate(shapes)]
    writer = _Writer(rng, dtype.startswith("complex"))
    lines, out = writer.body(list(inputs), int(rng.integers(3, 9)), depth=0)
    head = f"def f({', '.join(v.name for v in inputs)}):"
    source = "\n".join([head, *(INDENT + line for line in [*lines, f"return {out.name}"])])
    names = [t for t in TRANSFORMS if not (dtype.startswith("complex") and t not in ANY_DTYPE)]
    in_dims = tuple(int(rng.integers(len(s) + 1)) if i == 0 or rng.random() < 0.7 else None for i, s in enumerate(shapes))
    return Program(seed, source, tuple(_drawn(rng, s, dtype) for s in shapes), str(rng.choice(names)), in_dims)


def _drawn(rng, shape, dtype):
    x = rng.uniform(-1.2, 1.2, shape)
    return np.asarray(x + 1j * rng.uniform(-1.2, 1.2, shape) if dtype.startswith("complex") else x).astype(dtype)


class _Writer:
    """Writes the lines of a program, its inner functions among them."""

    def __init__(self, rng, complex: bool):
        self.rng, self.complex, self.count = rng, complex, 0

    def name(self, letter: str = "v") -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def body(self, values: list[Value], length: int, depth: int):
        """(lines, the value to return) of a function that starts from `values`."""
        lines: list[str] = []
        for _ in range(length):
            if depth < 2 and not self.complex and self.rng.random() < 0.15:
                lines += self.inner(values, depth)
                continue
            text, shape, kind = expression(Draw(self.rng, values, self.complex))
            values.append(Value(self.name(), shape, kind))
            lines.append(f"{values[-1].name} = {text}")
        return lines, next(v for v in reversed(values) if v.kind == "f")

    def inner(self, values: list[Value], depth: int) -> list[str]:
        """A function of one value, which may look at all others, and its use under a transform."""
        d = Draw(self.rng, values)
        x = d.value()
        how = d.one(("vmap", "grad", "jvp", "vjp") if x.shape and x.shape[0] else ("grad", "jvp", "vjp"))
        argument = Value(self.name("r"), x.shape[1:] if how == "vmap" else x.shape)
        lines, out = self.body([*values, argument], int(self.rng.integers(2, 4)), depth + 1)
        g, result = self.name("g"), self.name()
        loss = (
            f"T.sum({out.name} * {argument.name})"
            if broadcast(out.shape, argument.shape) is not None
            else f"T.sum({out.name}) * T.sum({argument.name})"
        )
        returned = loss if how == "grad" else f"{out.name} + T.sum({argument.name})"
        text = [f"def {g}({argument.name}):", *(INDENT + line for line in [*lines, f"return {returned}"])]
        shape = {"vmap": (*x.shape[:1], *out.shape), "grad": x.shape, "jvp": out.shape, "vjp": x.shape}[how]
        values.append(Value(result, shape))
        calls = {
            "vmap": f"T.vmap({g})({x.name})",
            "grad": f"T.grad({g})({x.name})",
            "jvp": f"T.jvp({g}, ({x.name},), (T.cos({x.name}),))[1]",
            "vjp": f"T.vjp({g}, {x.name})[1](T.sin({g}({x.name})))[0]",
        }
        return [*text, f"{result} = {calls[how]}"]


def _loss(T, f, weights):
    return lambda *xs: T.sum(f(*xs) * weights)


def _grads(T, f, weights, count):
    return T.grad(_loss(T, f, weights), argnums=tuple(range(count)))


def _towards(T, f, xs, w, ts):
    """The derivative of the loss in the direction of the tangents, for a second order."""
    return lambda *a: sum(T.sum(g * t) for g, t in zip(_grads(T, f, w, len(a))(*a), ts, strict=True))


# name -> (T, f, inputs, tangents, weights, batched inputs, in_dims) -> results
TRANSFORMS = {
    "value": lambda T, f, xs, ts, w, bs, dims: f(*xs),
    "vmap": lambda T, f, xs, ts, w, bs, dims: T.vmap(f, in_dims=dims)(*bs),
    "jvp": lambda T, f, xs, ts, w, bs, dims: T.jvp(f, xs, ts),
    "grad": lambda T, f, xs, ts, w, bs, dims: _grads(T, f, w, len(xs))(*xs),
    "vjp": lambda T, f, xs, ts, w, bs, dims: T.vjp(f, *xs)[1](w),
    "vmap(grad)": lambda T, f, xs, ts, w, bs, dims: T.vmap(_grads(T, f, w, len(xs)), in_dims=dims)(*bs),
    "grad(vmap)": lambda T, f, xs, ts, w, bs, dims: _grads(T, T.vmap(f, in_dims=dims), w, len(xs))(*bs),
    "jvp(grad)": lambda T, f, xs, ts, w, bs, dims: T.jvp(_grads(T, f, w, len(xs)), xs, ts),
    "grad(grad)": lambda T, f, xs, ts, w, bs, dims: T.grad(_towards(T, f, xs, w, ts), argnums=tuple(range(len(xs))))(*xs),
    "vmap(jvp)": lambda T, f, xs, ts, w, bs, dims: T.vmap(lambda *a: T.jvp(f, a, tuple(map(T.cos, a))), in_dims=dims)(*bs),
    "jacrev": lambda T, f, xs, ts, w, bs, dims: T.jacrev(f)(*xs),
    "jacfwd": lambda T, f, xs, ts, w, bs, dims: T.jacfwd(f)(*xs),
    "hessian": lambda T, f, xs, ts, w, bs, dims: T.hessian(_loss(T, f, w))(*xs),
    "vmap(vmap)": lambda T, f, xs, ts, w, bs, dims: T.vmap(T.vmap(f, in_dims=dims), in_dims=(None,) * (len(xs) - 1) + (-1,))(
        *bs[:-1], T.stack([bs[-1], T.sin(bs[-1])], -1)
    ),
}
ANY_DTYPE = ("value", "vmap", "jvp", "vmap(jvp)", "vmap(vmap)")
BATCH = 3


class Trial:
    """A program with its data, to be run on any library."""

    def __init__(self, program: Program, nudge: float = 0.0):
        rng = np.random.default_rng([program.seed, 21])
        dtype = str(program.inputs[0].dtype)
        near = 1 + nudge * np.random.default_rng(0).standard_normal()
        self.program = program
        self.inputs = [np.asarray(x * near).astype(dtype) for x in program.inputs]
        self.tangents = [_drawn(rng, x.shape, dtype) for x in self.inputs]
        self.batches = [
            x if d is None else np.stack([x, *(_drawn(rng, x.shape, dtype) for _ in range(BATCH - 1))], d)
            for x, d in zip(self.inputs, program.in_dims, strict=True)
        ]

    def weights(self) -> np.ndarray:
        """Weights of the results, so that a sum of them forgets none: of the shape that `f` gives, batched where the transform wants it."""
        lib = ours("array")
        f = self.program.function(lib)
        if self.program.transform == "grad(vmap)":
            f, xs = lib.vmap(f, in_dims=self.program.in_dims), self.batches
        else:
            xs = self.inputs
        shape = np.asarray(lib.back(f(*map(lib.array, xs)))).shape
        return _drawn(np.random.default_rng([self.program.seed, 22]), shape, str(self.inputs[0].dtype))

    def run(self, lib: Rival, weights: np.ndarray, how: str = "eager") -> list[np.ndarray]:
        """The flat results on a library: as they come, compiled (``jit``) or from a recorded graph (``graph``)."""
        with lib.entered():
            return self._run(lib, weights, how)

    def _run(self, lib: Rival, weights, how) -> list[np.ndarray]:
        f, groups = self.program.function(lib), (self.inputs, self.tangents, [weights], self.batches)
        flat = [lib.array(x) for group in groups for x in group]
        n = len(self.inputs)

        def whole(*values):
            xs, ts, w, bs = values[:n], values[n : 2 * n], values[2 * n], values[2 * n + 1 :]
            return TRANSFORMS[self.program.transform](lib, f, xs, ts, w, bs, self.program.in_dims)

        if how == "jit":
            whole = lib.jit(whole)
        elif how == "graph":
            whole = lib.make_fx(whole)(*flat)
        return [np.asarray(lib.back(x)) for x in _leaves(whole(*flat))]


def _leaves(x) -> list:
    return [y for part in x for y in _leaves(part)] if isinstance(x, (tuple, list)) else [x]


@attrs.define
class Report:
    """What a run found: programs that agree, those left out by reason, and those that differ."""

    rival: str
    agreed: int = 0
    transforms: collections.Counter = attrs.field(factory=collections.Counter)
    skipped: collections.Counter = attrs.field(factory=collections.Counter)
    found: list[str] = attrs.field(factory=list)

    def __str__(self) -> str:
        left = "".join(f"\n  left out: {n} where {why}" for why, n in self.skipped.most_common())
        under = ", ".join(f"{name} {n}" for name, n in self.transforms.most_common())
        findings = "".join(f"\n\n{text}" for text in self.found)
        return f"{self.agreed} programs agree with {self.rival}, {len(self.found)} differ\n  {under}{left}{findings}"


def check(program: Program, rival: Rival, report: Report) -> None:
    """Runs a program in every way, and adds what came out to the report."""
    face = "tensor" if program.seed % 3 == 2 else "array"
    trial = Trial(program)
    report.transforms[program.transform] += 1
    try:
        weights = trial.weights()
        ways = {"eager": trial.run(ours(face), weights)}
        if program.seed % 2:
            ways["jit"] = trial.run(ours("array"), weights, "jit")
        elif program.seed % 4 == 0:
            ways["graph"] = trial.run(ours("array"), weights, "graph")
    except Exception as error:  # any: whatever a user would see is a finding, unless the rival raises too
        mine, ways = error, {}
        weights = None
    try:
        theirs = trial.run(rival, np.zeros(()) if weights is None else weights)
    except Exception as error:
        why = "both raise" if not ways else f"the rival raises {type(error).__name__}"
        report.skipped[why] += 1
        return
    if not ways:
        report.found.append(f"{program}\n# ours raises {type(mine).__name__}: {mine}")
        return
    if not all(np.isfinite(y).all() for y in theirs):
        report.skipped["the result is not finite"] += 1
        return
    for way, got in ways.items():
        trouble = _difference(got, theirs, program.forward_mode)
        if trouble and _explained(program, rival, weights, got, theirs):
            report.skipped["rounding alone moves the result as far"] += 1
            return
        if trouble:
            report.found.append(f"{program}\n# {way} on {face}s: {trouble}")
            return
    report.agreed += 1


def _difference(got, want, forward: bool = False) -> str | None:
    """Where results differ. ``forward``: PyTorch's tangents of float32 values may be float64, where a number took part."""
    if len(got) != len(want):
        return f"{len(got)} results, expected {len(want)}"
    for i, (x, y) in enumerate(zip(got, want, strict=True)):
        if x.shape != y.shape or x.dtype != y.dtype and not (forward and x.dtype == np.float32 and y.dtype == np.float64):
            return f"result {i} is {x.dtype}{list(x.shape)}, expected {y.dtype}{list(y.shape)}"
        near = 2e-3 if x.dtype == np.float32 else 1e-8
        scale = np.abs(y).max(initial=1.0)
        off = np.abs(x - y).max(initial=0.0) if x.dtype.kind != "b" else float((x != y).any())
        if not off <= near * scale:
            return f"result {i} differs by {off:.3g} where the largest is {scale:.3g}: {x.ravel()[:6]}, expected {y.ravel()[:6]}"
    return None


def _explained(program: Program, rival: Rival, weights, got, want) -> bool:
    """Whether inputs moved by about a rounding error move the rival's own results as far: a kink, a pole, a jump."""
    if [(x.shape, x.dtype) for x in got] != [(y.shape, y.dtype) for y in want]:
        return False
    nudge = 1e-5 if program.inputs[0].dtype == np.float32 else 1e-11
    moved = Trial(program, nudge).run(rival, weights)
    far = [(np.abs(x - y).max(initial=0.0), np.abs(z - y).max(initial=0.0)) for x, y, z in zip(got, want, moved, strict=True)]
    return all(0 < ours <= 30 * theirs for (ours, theirs), x, y in zip(far, got, want, strict=True) if _difference([x], [y]))


def run(seeds: Iterable[int], rival: Rival) -> Report:
    """Checks the programs of these seeds."""
    report = Report(rival.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            check(program(seed), rival, report)
    return report


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="of the first program; the others follow")
    parser.add_argument("--rival", choices=["torch", "jax"], help="PyTorch where it is installed, else JAX")
    options = parser.parse_args(argv)
    from rich.progress import track

    seeds = range(options.seed, options.seed + options.programs)
    report = run(track(seeds, description="programs"), rivals(options.rival))
    print(report)
    return bool(report.found)


if __name__ == "__main__":
    sys.exit(main())

"""Rules of the user's own: custom_jvp, custom_vjp, custom_vmap."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper

from ..core import pytree
from ..core.array import Array
from ..core.face import Face, made_like, read
from ..core.interpreter import STATE, Traced, body, leak_error, name_of
from ..core.op import Linear
from ..core.record import Record
from ..errors import NonDifferentiableError
from ..prims import algebra, reduce
from ..prims.control import linear_call
from ..prims.families import prim
from .arguments import Outputs, callable_or_raise, is_array, same_kind
from .linearize import LinearRule
from .vmap import rows_front

# ------------------------------------------------------------------------------------- one call of a function with rules


class CallSite(Record, eq=False):
    """What the ops below need of one call: the function and its rules on flat values, and where its output's structure is kept."""

    flat: Callable  # flat values -> flat outputs
    name: str
    jvp: Callable | None = None  # (flat primals, flat tangents) -> flat tangents
    forward: Callable | None = None  # flat primals -> (flat outputs, flat residuals)
    backward: Callable | None = None  # (flat residuals, flat cotangents, wanted) -> flat cotangents
    batch: Callable | None = None  # (size, flat values, flat dims) -> (flat outputs, flat dims)


def _op(name: str, doc: str, **slots):
    return prim(
        name,
        "operands: Tensors, site: Static",
        multi=True,
        cached=False,
        inline=True,
        kind="general",
        decompose=lambda operands, site: tuple(site.flat(*operands)),
        doc=doc,
        **slots,
    )


def _rows(f, size, dims):
    """A site's function on rows; None among its arguments stays None (a zero tangent or cotangent)."""

    def mapped(*xs):
        present = [i for i, x in enumerate(xs) if x is not None]

        def run(*given):
            filled = [None] * len(xs)
            for i, x in zip(present, given):
                filled[i] = x
            return f(*filled)

        return rows_front(run, size, [dims[i] for i in present], "custom rule")(*[xs[i] for i in present])

    return mapped


def _batch(op_of):
    """A function with rules, mapped: its rules are mapped with it."""

    def batch(size, args, dims, site):
        n = len(args)
        counts: list = []

        def forward(*xs):
            def run(*rows):
                outs, residuals = site.forward(*rows)
                counts[:] = [len(outs)]
                return [*outs, *residuals]

            flat = _rows(run, size, dims)(*xs)
            return flat[: counts[0]], flat[counts[0] :]

        def backward(residuals, cotangents):
            k = len(residuals)
            given = _rows(lambda *rows: site.backward(rows[:k], rows[k:]), size, (0,) * (k + len(cotangents)))(*residuals, *cotangents)
            return [c if c is None else reduce.reduce_sum(c, (0,)) if d is None else algebra.move(c, 0, d) for c, d in zip(given, dims)]

        def jvp(primals, tangents):
            return _rows(lambda *rows: site.jvp(rows[:n], rows[n:]), size, (*dims, *dims))(*primals, *tangents)

        mapped = CallSite(_rows(site.flat, size, dims), site.name, site.jvp and jvp, site.forward and forward, site.backward and backward)
        out = op_of()(args, mapped)
        return out, (0,) * len(out)

    return batch


custom_jvp_call = _op(
    "custom_jvp_call",
    "A function with a forward-mode rule of its own.",
    jvp=lambda ans, primals, tangents, site: tuple(site.jvp(primals, tangents)),
    batch=_batch(lambda: custom_jvp_call),
)


def _custom_vjp_linearize(primals, nonzero, site):
    outs, residuals = site.forward(*primals)
    which = [i for i, n in enumerate(nonzero) if n]

    def forward(values, tangents):
        raise _no_forward(site.name)

    def backward(values, cotangents, wanted):
        given = site.backward(values, cotangents)
        return [given[i] for i in which]

    rule = LinearRule(forward, backward, tuple([x.aval for x in outs]))
    return tuple(outs), lambda tangents: linear_call([*residuals, *[tangents[i] for i in which]], len(residuals), rule)


def _no_forward(name):
    return NonDifferentiableError(
        f"custom_vjp({name}): forward-mode differentiation (jvp, jacfwd, hessian) is not defined, since only a backward rule was given. "
        "Use reverse mode, or define the function with custom_jvp, which serves both"
    )


def _custom_vjp_jvp(ans, primals, tangents, site):
    raise _no_forward(site.name)


custom_vjp_call = _op(
    "custom_vjp_call",
    "A function with a reverse-mode rule of its own.",
    jvp=_custom_vjp_jvp,
    linearize=_custom_vjp_linearize,
    traits={"own_rule": True},
    batch=_batch(lambda: custom_vjp_call),
)

custom_vmap_call = _op(
    "custom_vmap_call",
    "A function with a batching rule of its own.",
    batch=lambda size, args, dims, site: site.batch(size, args, dims),
)


# ----------------------------------------------------------------------------------------------------- for the user


class _Custom:
    """A function with rules. Subclasses say which rules and how a call site is made of them."""

    transform = ""

    def __new__(cls, f=None, nondiff_argnums=()):
        """With f; or without it, as a decorator: ``@custom_vjp(nondiff_argnums=(0,))``."""
        return super().__new__(cls) if f is not None else partial(cls, nondiff_argnums=nondiff_argnums)

    def __init__(self, f, nondiff_argnums=()):
        callable_or_raise(self.transform, f)
        self._f, self._name = f, name_of(f)
        numbers = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else nondiff_argnums
        self._nondiff = tuple(sorted(numbers))
        update_wrapper(self, f, updated=())  # f's own attributes stay f's

    def __repr__(self) -> str:
        return f"<{self.transform} {self._name}>"

    def __get__(self, instance, owner=None):
        return self if instance is None else lambda *args: self(instance, *args)

    def _split(self, args):
        """(non-differentiable arguments, the others)."""
        for n in self._nondiff:
            if not 0 <= n < len(args):
                raise ValueError(
                    f"{self.transform}({self._name}): nondiff_argnums={self._nondiff} names no argument, {len(args)} were given"
                )
        fixed = [args[n] for n in self._nondiff]
        for n, x in zip(self._nondiff, fixed):
            if any(leaf.__class__ is Traced for leaf in pytree.leaves(x)):
                raise TypeError(
                    f"{self.transform}({self._name}): argument {n} is in nondiff_argnums but holds a traced Array; "
                    "make it an ordinary argument and return None for its cotangent"
                )
        return fixed, [a for i, a in enumerate(args) if i not in self._nondiff]

    def _join(self, fixed, rest):
        args = list(rest)
        for n, x in zip(self._nondiff, fixed):
            args.insert(n, x)
        return args

    def _flatten(self, rest):
        """The arrays among the leaves of the differentiable arguments, and how to put others in their places."""
        leaves, spec = pytree.flatten(tuple(rest))
        places = [i for i, x in enumerate(leaves) if is_array(x)]

        def rebuild(values):
            filled = list(leaves)
            for i, v in zip(places, values):
                filled[i] = made_like(leaves[i], v)
            return spec.unflatten(filled)

        return [read(leaves[i]) for i in places], rebuild, spec, places

    def _outs(self, out, what: str) -> tuple[list[Array], Outputs]:
        for path, x in pytree.leaves_with_path(out):
            if not is_array(x):
                raise TypeError(f"{self.transform}({self._name}): {what}{path} must be an Array, got {pytree.describe(x)}")
        return [self._value(x) for x in pytree.leaves(out)], Outputs.of(out)

    def _value(self, x) -> Array:
        """What a rule gave; it was given values without history, so whatever has some comes from elsewhere."""
        value = read(x)
        if value.__class__ is Traced and value.owner.ambient and value.owner.parent is body(STATE.current):
            raise TypeError(
                f"{self.transform}({self._name}): it closes over a tensor that requires grad, which the rules would not see; pass it as an "
                "argument, or detach() it"
            )
        return value

    def _check_closure(self, *functions):
        """A function with rules must not close over traced values: no rule would see them."""
        for f in functions:
            code, cells = getattr(f, "__code__", None), getattr(f, "__closure__", None) or ()
            for name, cell in zip(code.co_freevars if code else (), cells):
                try:
                    value = cell.cell_contents
                except ValueError:  # not assigned yet
                    continue
                for x in pytree.leaves(value) if not callable(value) else ():
                    if x.__class__ is Traced:
                        if not x.owner.alive:
                            raise leak_error(x)
                        raise TypeError(
                            f"{self.transform}({self._name}): {name_of(f)} closes over {name!r}, a {x.aval} value of {x.owner.label}, which the "
                            "rules would not see; pass it as an argument"
                        )


class custom_jvp(_Custom):
    """A function with a derivative of your own, for every mode.

    ``f.defjvp(rule)`` takes ``rule(*nondiff_args, primals, tangents) -> (output, tangent of the output)``; the tangent must be
    linear in the tangents. Arguments in ``nondiff_argnums`` are passed to the rule first and hold no traced Arrays.

    >>> import functorch_lite as fl
    >>> @fl.custom_jvp
    ... def f(x):
    ...     return x * x
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return f(x), t * 5.0
    >>> fl.grad(f)(3.0).item()
    5.0
    """

    transform = "custom_jvp"
    _rule = None

    def defjvp(self, rule: Callable) -> Callable:
        """Sets the rule; usable as a decorator."""
        callable_or_raise("custom_jvp.defjvp", rule)
        self._rule = rule
        return rule

    def __call__(self, *args):
        if self._rule is None:
            raise AttributeError(f"custom_jvp({self._name}): no rule was given; call {self._name}.defjvp(rule)")
        self._check_closure(self._f, self._rule)
        fixed, rest = self._split(args)
        values, rebuild, _, _ = self._flatten(rest)
        found: list = []

        def flat(*xs):
            outs, spec = self._outs(self._f(*self._join(fixed, rebuild(xs))), "the output")
            found[:] = [spec]
            return outs

        def jvp(primals, tangents):
            filled = [algebra.zeros(x.aval) if t is None else t for x, t in zip(primals, tangents)]
            out = self._rule(*fixed, rebuild(primals), rebuild(filled))
            if not (isinstance(out, tuple) and len(out) == 2):
                raise TypeError(
                    f"custom_jvp({self._name}): the rule must return (output, tangent of the output), got {pytree.describe(out)}"
                )
            outs, spec = self._outs(out[0], "the rule's output")
            found[:] = [spec]
            given = pytree.match(spec.spec, out[1], f"custom_jvp({self._name}): the rule's tangent")
            return [same_kind(f"custom_jvp({self._name})", t, x, "the rule's tangent") for t, x in zip(given, outs)]

        out = custom_jvp_call(values, CallSite(flat, self._name, jvp=jvp))
        return found[0].unflatten(out)


class custom_vjp(_Custom):
    """A function with a reverse-mode rule of your own.

    ``f.defvjp(fwd, bwd)``: ``fwd(*args) -> (output, residuals)`` and ``bwd(*nondiff_args, residuals, cotangents) -> tuple of
    cotangents``, one for each argument that is not in ``nondiff_argnums``. A None in it stands for a whole subtree without a
    cotangent; absent cotangents of outputs arrive as zeros. Forward mode through it raises.

    >>> import functorch_lite as fl
    >>> @fl.custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, ct: (fl.minimum(ct, 1.0),))
    >>> fl.grad(lambda x: clip_gradient(x) * 10.0)(3.0).item()
    1.0
    """

    transform = "custom_vjp"
    _fwd = _bwd = None

    def defvjp(self, fwd: Callable, bwd: Callable) -> None:
        """Sets the forward and the backward rule."""
        callable_or_raise("custom_vjp.defvjp", fwd)
        callable_or_raise("custom_vjp.defvjp", bwd)
        self._fwd, self._bwd = fwd, bwd

    def __call__(self, *args):
        if self._fwd is None:
            raise AttributeError(f"custom_vjp({self._name}): no rules were given; call {self._name}.defvjp(fwd, bwd)")
        self._check_closure(self._f, self._fwd, self._bwd)
        fixed, rest = self._split(args)
        values, rebuild, in_spec, places = self._flatten(rest)
        found: list = []

        def flat(*xs):
            outs, spec = self._outs(self._f(*self._join(fixed, rebuild(xs))), "the output")
            found[:] = [spec]
            return outs

        kept: list = []

        def forward(*xs):
            pair = self._fwd(*self._join(fixed, rebuild(xs)))
            if not (isinstance(pair, tuple) and len(pair) == 2):
                raise TypeError(f"custom_vjp({self._name}): fwd must return (output, residuals), got {pytree.describe(pair)}")
            outs, spec = self._outs(pair[0], "fwd's output")
            found[:] = [spec]
            leaves, res_spec = pytree.flatten(pair[1])
            arrays = [i for i, x in enumerate(leaves) if isinstance(x, (Array, Face))]
            kept[:] = [leaves, res_spec, arrays, [x.aval for x in outs], [Linear(x.aval) for x in xs]]
            return outs, [self._value(leaves[i]) for i in arrays]

        def backward(residuals, cotangents):
            leaves, res_spec, arrays, avals, shapes = kept
            filled = list(leaves)
            for i, x in zip(arrays, residuals):
                filled[i] = made_like(leaves[i], x)
            cts = [algebra.zeros(a) if c is None else c for c, a in zip(cotangents, avals)]
            given = self._bwd(*fixed, res_spec.unflatten(filled), found[0].unflatten(cts))
            if not isinstance(given, (tuple, list)) or len(given) != in_spec.num_children:
                raise TypeError(
                    f"custom_vjp({self._name}): bwd must return a tuple with {in_spec.num_children} cotangent(s), one for each argument, "
                    f"got {pytree.describe(given)}"
                )
            flat_cts = pytree.match(in_spec, tuple(given), f"custom_vjp({self._name}): bwd's cotangents")
            return [
                same_kind(f"custom_vjp({self._name})", flat_cts[i], shapes[k], f"bwd's cotangent of leaf {k}") for k, i in enumerate(places)
            ]

        out = custom_vjp_call(values, CallSite(flat, self._name, forward=forward, backward=backward))
        return found[0].unflatten(out)


class custom_vmap(_Custom):
    """A function with a batching rule of your own.

    ``f.def_vmap(rule)``: ``rule(size, in_batched, *args) -> (output, out_batched)``; batched leaves have the batch dimension in
    front, and the trees of flags say which leaves are batched.

    >>> import functorch_lite as fl
    >>> @fl.custom_vmap
    ... def f(x):
    ...     return x * 2.0
    >>> @f.def_vmap
    ... def f_rule(size, in_batched, x):
    ...     return x * 3.0, True
    >>> fl.vmap(f)(fl.asarray([1.0, 2.0])).tolist()
    [3.0, 6.0]
    """

    transform = "custom_vmap"
    _rule = None

    def def_vmap(self, rule: Callable) -> Callable:
        """Sets the rule; usable as a decorator."""
        callable_or_raise("custom_vmap.def_vmap", rule)
        self._rule = rule
        return rule

    def __call__(self, *args):
        if self._rule is None:
            raise AttributeError(f"custom_vmap({self._name}): no rule was given; call {self._name}.def_vmap(rule)")
        self._check_closure(self._f, self._rule)
        values, rebuild, _, _ = self._flatten(args)
        found: list = []

        def flat(*xs):
            outs, spec = self._outs(self._f(*rebuild(xs)), "the output")
            found[:] = [spec]
            return outs

        def batch(size, xs, dims):
            rows = [x if d is None else algebra.move(x, d, 0) for x, d in zip(xs, dims)]
            flags = rebuild([d is not None for d in dims])
            pair = self._rule(size, flags, *rebuild(rows))
            if not (isinstance(pair, tuple) and len(pair) == 2):
                raise TypeError(f"custom_vmap({self._name}): the rule must return (output, out_batched), got {pytree.describe(pair)}")
            outs, spec = self._outs(pair[0], "the rule's output")
            found[:] = [spec]
            batched = pytree.broadcast_prefix(pair[1], pair[0], f"custom_vmap({self._name}): out_batched")
            return tuple(outs), tuple([0 if b else None for b in batched])

        out = custom_vmap_call(values, CallSite(flat, self._name, batch=batch))
        return found[0].unflatten(out)

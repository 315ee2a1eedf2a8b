"""jit: a function as one XLA program."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from ..core import pytree
from ..core.dtype import NUMBERS
from ..core.interpreter import name_of
from ..core.op import static_key
from .arguments import callable_or_raise, label_of
from .lowered import Lowered
from .program import MISS, Program, traced
from .staged import Staged


class Jitted(Staged):
    """What `jit` returns: call it like the function; `lower(*args)` shows what it becomes."""

    verb = "jit of"
    numbers = NUMBERS

    def __init__(self, f, static_argnums, static_argnames, donate_argnums, name, checked=False):
        super().__init__(f, name or name_of(f))
        self._checked = checked
        self._static_argnums, self._static_argnames, self._donate_argnums = _static_arguments(
            f, static_argnums, static_argnames, donate_argnums
        )
        self._has_statics = bool(self._static_argnums or self._static_argnames)

    def __call__(self, *args, **kwargs):
        statics, rest = self._statics(args, kwargs) if self._has_statics else (None, (args, kwargs))
        given, spec = self._flat(*rest)
        leaves, storages, key = self._read(given, spec, statics)
        out, _ = self._serve(key, given, leaves, storages)
        if out is MISS:
            out = self._traced(key, args, kwargs, given, rest)(given, leaves, storages, self._name, self._checked)
        return out

    def resolve(self, args, kwargs) -> tuple[Program, list]:
        """The program for these arguments (traced if this is their first call), and its operands."""
        statics, rest = self._statics(args, kwargs)
        given, spec = self._flat(*rest)
        leaves, storages, key = self._read(given, spec, statics)
        program, first, _ = self._find(key, storages)
        if program is None:
            program = self._traced(key, args, kwargs, given, rest)
            first = program.operands(storages)
        return program, [*first, *[leaves[i] for i in program.dynamic]]

    def _traced(self, key, args, kwargs, given, rest) -> Program:
        """A program for these arguments, which is kept."""
        spec, dynamic = pytree.structure(rest), [i for i, x in enumerate(given) if not self._is_static(x)]
        program = self._trace(args, kwargs, given, spec, dynamic)
        if self._donate_argnums:
            program = program.but(donated=self._donated(args, spec) & {*dynamic})
        self._keep(key, program)
        return program

    def _donated(self, args, spec) -> frozenset:
        """Which leaves belong to donated arguments."""
        sizes = [spec.child(0).child(i).num_leaves for i in range(len(args))]
        return frozenset([sum(sizes[:i]) + k for i in self._donate_argnums if i < len(args) for k in range(sizes[i])])

    def _statics(self, args, kwargs):
        """A key of the static arguments, and (args, kwargs) without them."""
        if not self._has_statics:
            return None, (args, kwargs)
        fixed = [(n, args[n]) for n in self._static_argnums if n < len(args)] + [
            (n, kwargs[n]) for n in self._static_argnames if n in kwargs
        ]
        for n, value in fixed:
            if not _hashable(value):
                raise ValueError(
                    f"jit({self._name}): the static argument {n!r} must be hashable, got {pytree.describe(value)}; pass a tuple instead of a list, "
                    "or do not make it static"
                )
        rest = [None if i in self._static_argnums else a for i, a in enumerate(args)]
        named = {k: v for k, v in kwargs.items() if k not in self._static_argnames}
        return tuple([(n, type(v), static_key(v)) for n, v in fixed]), (tuple(rest), named)

    def _trace(self, args, kwargs, leaves, spec, dynamic) -> Program:
        fixed_args = {n: args[n] for n in self._static_argnums if n < len(args)}
        fixed_named = {n: kwargs[n] for n in self._static_argnames if n in kwargs}

        def arguments(tree):
            positional, named = tree
            return [fixed_args.get(i, a) for i, a in enumerate(positional)], named | fixed_named

        names = [f"x{i}" for i in range(len(dynamic))]
        return traced(self._function, leaves, dynamic, spec, label_of("jit", self._function), names, arguments)

    def lower(self, *args, **kwargs) -> Lowered:
        """The program for these arguments, lowered but not compiled: `.graph`, `.stablehlo()`, `.compile()`."""
        return Lowered(self, self.resolve(args, kwargs)[0])


def _hashable(x) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True


def _static_arguments(f, static_argnums, static_argnames, donate_argnums):
    """Positions and names of the static arguments (each in both forms where the signature tells), and the donated positions."""
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums or ())
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames or ())
    donated = (donate_argnums,) if isinstance(donate_argnums, int) else tuple(donate_argnums or ())
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return numbers, names, donated
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    for n in (*numbers, *donated):
        if not variadic and not -len(positional) <= n < len(positional):
            raise ValueError(f"jit({name_of(f)}): there is no positional argument {n}; the function takes {positional}")
    known = {p.name for p in parameters}
    unknown = [n for n in names if n not in known]
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in parameters):
        raise ValueError(f"jit({name_of(f)}): static_argnames {unknown} are no parameters; the function takes {sorted(known)}")
    numbers = tuple([n % len(positional) if n < 0 else n for n in numbers])
    donated = tuple([n % len(positional) if n < 0 else n for n in donated])
    by_name = tuple([positional.index(n) for n in names if n in positional])
    by_number = tuple([positional[n] for n in numbers if n < len(positional)])
    return tuple(sorted({*numbers, *by_name})), tuple(sorted({*names, *by_number})), donated


def jit(f: Callable | None = None, *, static_argnums=(), static_argnames=(), donate_argnums=(), name: str | None = None) -> Jitted:
    """f as one XLA program, traced anew for each tree, shape and dtype of its arguments.

    Arguments are pytrees of Arrays and numbers; numbers are inputs too (another value does not recompile), so Python cannot
    branch on them: name such arguments in ``static_argnums`` or ``static_argnames`` (they must be hashable). Strings,
    functions and None in trees belong to the program. Arrays that f closes over become inputs. ``donate_argnums`` gives the
    buffers of these arguments away to the result. Composes with every transform, inside and outside.

    >>> import functorch_lite as fl
    >>> fl.jit(lambda x, n: x * n)(fl.asarray([1.0, 2.0]), 3).tolist()
    [3.0, 6.0]
    """
    if f is None:
        return lambda f: jit(f, static_argnums=static_argnums, static_argnames=static_argnames, donate_argnums=donate_argnums, name=name)
    callable_or_raise("jit", f)
    return Jitted(f, static_argnums, static_argnames, donate_argnums, name)


def checked(f: Callable) -> Jitted:
    """`jit` with the checks that eager mode makes of data: an index out of range, a matrix that is not positive definite.

    A compiled program leaves them out, since each run must wait for the answer. Those inside the bodies of loops stay out.

    >>> import functorch_lite as fl
    >>> fl.checked(lambda x, i: x[i])(fl.asarray([1.0, 2.0]), fl.asarray(5))
    Traceback (most recent call last):
    ...
    IndexError: ...
    """
    if isinstance(f, Jitted):
        return Jitted(f._function, f._static_argnums, f._static_argnames, f._donate_argnums, f._name, checked=True)
    return Jitted(f, (), (), (), None, checked=True)

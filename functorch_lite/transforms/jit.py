"""jit: a function as one XLA program."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from ..core import pytree
from ..core.array import Array
from ..core.dtype import NUMBERS
from ..core.interpreter import name_of
from ..core.op import static_key
from .arguments import callable_or_raise, is_array, label_of
from .lowered import Lowered
from .program import Program, traced
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

    def __call__(self, *args, **kwargs):
        program, operands, given = self._resolve(args, kwargs)
        donate = self._donated(program, args, operands) if self._donate_argnums else ()
        return program.run(operands, given, self._name, donate, self._checked)

    def resolve(self, args, kwargs) -> tuple[Program, list]:
        """The program for these arguments, and its operands."""
        return self._resolve(args, kwargs)[:2]

    def _donated(self, program, args, operands) -> tuple[int, ...]:
        """Which operands belong to donated arguments."""
        counts = [len([x for x in pytree.leaves(a) if is_array(x)]) if i not in self._static_argnums else 0 for i, a in enumerate(args)]
        out, at = [], len(program.captures)
        for i, n in enumerate(counts):
            if i in self._donate_argnums:
                out += range(at, at + n)
            at += n
        given = [id(x.buffer) for x in operands if x.__class__ is Array]
        for i in out:
            if operands[i].__class__ is Array and given.count(id(operands[i].buffer)) > 1:
                raise ValueError(f"jit({self._name}): an Array is donated and passed a second time in one call; pass a copy (x.clone())")
        return tuple(out)

    def _resolve(self, args, kwargs):
        """The program for these arguments (traced if this is its first call), its operands, and the leaves that were given."""
        statics, rest = self._statics(args, kwargs)
        given, spec = pytree.flatten(rest)
        leaves, dynamic, key = self._read(given, spec, statics)
        program, first, _ = self._find(key, given)
        if program is None:
            program = self._trace(args, kwargs, given, spec, dynamic)
            self._keep(key, program)
            first = program.operands(given)
        return program, [*first, *[leaves[i] for i in dynamic]], given

    def _statics(self, args, kwargs):
        """A key of the static arguments, and (args, kwargs) without them."""
        if not self._static_argnums and not self._static_argnames:
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

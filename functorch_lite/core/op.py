"""The declaration of an op: one object that holds everything any transform may ask of it, and the function that calls it.

A *prim* has an `impl` (in jax.lax) and a shape rule; a *composite* has a `decompose` (a Python function over smaller ops),
which is its definition, and takes its shape rule and every other rule from there unless it brings its own.

Calling conventions of the slots (args are the op's array arguments, params its static ones, in declared order):

    impl(*buffers, *params)                         -> buffer or tuple of them
    meta(*avals, *params)                           -> Aval or tuple of them
    jvp(ans, primals, tangents, *params)            -> tangent or tuple; None is a zero tangent
    push(primals, tangents, *params)                -> (ans, tangents), instead of jvp where both are found in one go
    transpose(ct, *args, *params)                   -> tuple of cotangents, one an arg; an arg that is linear is a `Linear`
    batch(size, args, dims, *params)                -> (out, dim) or (outs, dims); dims[i] is None for an unbatched arg
    linearize(primals, nonzero, *params)            -> (outs, f) with f(tangents) -> tangents built of linear ops
    vjp(wanted, ct, ans, *args, *params)            -> tuple of cotangents (an own rule: replaces only the transpose)
    view(base, new, *rest)                          -> the base after its view was given the value `new`; True derives it from the transpose
    checks(*buffers, *params)                       -> [(ok, exception type, message[, number that "{}" in it shows])]: of data
    decompose, reference                            -> called as the signature says; the value, by smaller ops or by NumPy

For an op with several outputs (`multi`) ans, ct, tangents and outs are tuples.

`traits` say what else an op is, to whoever asks for that trait; none is a rule of a transform:

    family, categories, partials                    of the constructor that derived its rules
    own_rule                                        its derivative is the user's: every transform must see the call
    arrays                                          which arguments PyTorch wants as tensors; not all of the others may be numbers
    views, reshapes, overlaps, block                how it looks at its first argument (views, in-place writes)
    key, drawing, split                             it draws: by which key, whether at all, and how a key is split for rows
    exact, apart                                    of `out=`: it must have the result's dtype; no argument may share elements with it
    reads                                           from which operand on its `checks` look at data
    inplace                                         its function takes a last `inplace=False`, by which a Face is given the result
    writes                                          (args, params) -> {place: value}: the arguments that PyTorch's face changes, and to what
    constant                                        it makes arrays of numbers alone: outside of programs NumPy does it
    ordered, ordering                               its lowering on values in another order of dimensions (prims/orders.py)
    together                                        its params for working on many small arrays as on one vector (xla/packed.py)
    kernels                                         by platform, a kernel of jax for the whole of it (prims/kernels.py)
    compile                                         how its program is compiled, of its params
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext

from ..errors import MissingRuleError
from .array import Array, Operable
from .aval import Aval, aval_of
from .binder import PLAIN, make_binder, make_speller
from .interpreter import _HOME, STATE, Abstract, Traced, unseen
from .statics import static_key

REGISTRY: dict[str, Op] = {}  # "prims.add", "fl.softmax" -> op

Tensor = Array | float  # the annotation of an array argument; a Python number is accepted where the op is a composite
Tensors = Sequence[Tensor]
Dims = Shape = int | Sequence[int]  # static ints; their names in a signature say how the binder reads them

BILINEAR = "bilinear"  # the kind of an op that is linear in each of its first two arguments

_LIMIT = 4096  # entries of one op's meta cache


class Linear:
    """In a transpose rule: an argument that is linear, known by its shape and dtype only."""

    __slots__ = ("aval", "wanted")

    def __init__(self, aval: Aval, wanted: bool = True):
        self.aval, self.wanted = aval, wanted

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: len(self.aval.shape))


class Op:
    """One op. See the module's docstring for the slots."""

    __slots__ = (
        "namespace name signature tensors statics variadic multi "  # what it is called and takes
        "impl meta decompose jvp push transpose batch linearize vjp checks reference "  # rules
        "kind derived keyed cached doc function spell file ours draws traits returns inline effect at_once view checked _infer"
    ).split()

    def __init__(self, namespace: str, name: str, like: Callable, *, multi: bool = False, doc: str | None = None, **slots):
        """`like` is a function that takes what the op takes; its docstring is the op's if there is no `doc`."""
        self.namespace, self.name, self.multi = namespace, name, multi
        for slot in (
            "impl",
            "meta",
            "decompose",
            "jvp",
            "push",
            "transpose",
            "batch",
            "linearize",
            "vjp",
            "checks",
            "reference",
            "kind",
            "draws",
            "view",
        ):
            setattr(self, slot, slots.pop(slot, None))
        self.derived = slots.pop("derived", ())  # names of the rules that a family derived
        self.cached = slots.pop("cached", True)
        self.inline = slots.pop("inline", False)  # never compiled as one: run by its decomposition, whose Python may look at values
        self.effect = slots.pop("effect", False)  # does something besides giving values: never dropped or merged
        # for which static parameters an eager call runs at once instead of waiting for its result to be wanted (None: for none)
        self.at_once = slots.pop("at_once", (lambda *params: True) if self.inline or self.effect else None)
        self.returns = slots.pop("returns", None)  # the named tuple in which users get several outputs
        if "traits" in slots:
            self.traits = slots.pop("traits")  # see above
        if slots:
            raise TypeError(f"Op {name}: unknown slots {sorted(slots)}")
        self.checked = False  # whether a call of it has been seen with checks of data inside
        self._read_parameters(like)
        self.file, self.ours = _declared_in()
        if self.qualname in REGISTRY:
            raise ValueError(f"the op {self.qualname} is declared twice: in {REGISTRY[self.qualname].file} and in {self.file}")
        REGISTRY[self.qualname] = self
        self.function = make_binder(self, like, like.__doc__ if doc is None else doc)

    def __getattr__(self, name: str):
        if name not in _LATER:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = _LATER[name](self)
        setattr(self, name, value)
        return value

    @property
    def qualname(self) -> str:
        """The name under which printed programs call it."""
        return f"{self.namespace}.{self.name}"

    @property
    def closed(self) -> bool:
        """Whether nobody's code but this library's runs when it is called or asked for a rule: it is declared here, and takes no body."""
        return self.ours and self.cached and not self.inline

    def __repr__(self) -> str:
        return f"<op {self.qualname}>"

    def __reduce__(self):
        return _registered, (self.qualname, self.file)

    def _read_parameters(self, like: Callable):
        """Splits the parameters into array arguments (annotated Tensor...) and static ones."""
        self.tensors, self.statics, self.variadic, self.keyed = [], [], None, False
        code, annotations = like.__code__, like.__annotations__
        named = code.co_argcount + code.co_kwonlyargcount
        starred = code.co_varnames[named] if code.co_flags & inspect.CO_VARARGS else None
        names = code.co_varnames[: code.co_argcount], (starred,) if starred else (), code.co_varnames[code.co_argcount : named]
        for name in itertools.chain(*names):
            kind = str(annotations.get(name))
            if kind.startswith("Tensor"):
                self.tensors.append(name)
                if kind.startswith("Tensors") or name == starred:
                    if self.variadic:
                        raise TypeError(f"Op {self.name}: at most one sequence of arrays")
                    self.variadic = name
                elif self.variadic:
                    raise TypeError(f"Op {self.name}: a sequence of arrays must be the last array argument")
            else:
                self.statics.append(name)
                self.keyed |= not kind.startswith(PLAIN)  # may params that compare equal differ in type?

    def defvjp(self, rule: Callable) -> Callable:
        """Gives it a reverse rule of its own; a decorator."""
        self.vjp, self.ours = rule, self.ours and is_ours(rule)
        return rule

    def rule(self, slot: str):
        """The rule in `slot`, or an error that says where it belongs."""
        rule = getattr(self, slot)
        if rule is None:
            raise MissingRuleError(
                f"{self.qualname} has no {slot} rule. It is declared in {self.file}: give it one there, or declare it with a constructor of "
                "prims/families.py (zero, linear, bilinear, elementwise, reduction ...) that derives it"
            )
        return rule

    def infer(self, args: tuple, params: tuple):
        """The Aval (or tuple of Avals) of the result; raises what the user should see for a bad call."""
        if not self.cached:
            return self.meta(*map(aval_of, args), *params) if self.meta is not None else self._infer_by_decomposition(args, params)
        statics = static_key(params) if self.keyed else params
        if self.impl is None:
            key = (*map(aval_of, args), statics)
        elif len(args) == 2:  # the common shapes of calls, spelled out: this runs at each op that is traced
            key = args[0].aval, args[1].aval, statics
        elif len(args) == 1:
            key = args[0].aval, statics
        else:
            key = (*[x.aval for x in args], statics)
        out = self._infer.get(key)
        if out is None:
            with unseen() if self.closed else nullcontext():
                out = self.meta(*key[:-1], *params) if self.meta is not None else self._infer_by_decomposition(args, params)
            if len(self._infer) >= _LIMIT:
                self._infer.clear()
            self._infer[key] = out
        return out

    def _infer_by_decomposition(self, args, params):
        interpreter = Abstract(self.name)
        args = [Traced(interpreter, x.aval, None) if isinstance(x, Array) else x for x in args]
        before, STATE.current = STATE.current, interpreter
        try:
            out = self.run(args, params)
        finally:
            STATE.current = before
        self.checked = self.checked or interpreter.checked
        return tuple([aval_of(x) for x in out]) if self.multi else aval_of(out)

    def run(self, args, params):
        """The decomposition, with the op named in whatever it raises."""
        try:
            return self.spell(self.decompose, args, params)
        except (ValueError, TypeError, IndexError, RuntimeError) as error:
            _name_in(error, self, args)
            raise

    def bind(self, *args, params: tuple = ()):
        """Calls the op at the current interpreter with arguments that are ready (rules use the public function)."""
        return STATE.current.bind(self, args, params)


_LATER = {  # slots that are filled when they are first read: a program uses a few of the ops that it imports
    "signature": lambda op: inspect.signature(op.function),
    "doc": lambda op: inspect.getdoc(op.function) or "",
    "spell": make_speller,
    "traits": lambda op: {},
    "_infer": lambda op: {},
}


def own_rule(op: Op, params: tuple) -> bool:
    """Whether the derivative of this call is not that of what it does, so that every transform must see the call: the user's own
    rules, a checkpoint, and programs with such a call inside."""
    return "own_rule" in op.traits or any(getattr(b, "own_rule", False) for p in params for b in (p if p.__class__ is tuple else (p,)))


def _registered(qualname: str, file: str) -> Op:
    if qualname not in REGISTRY:  # of a part of the library that this process has not used so far
        importlib.import_module("functorch_lite." + file.removesuffix(".py").replace(os.sep, "."))
    return REGISTRY[qualname]


def _name_in(error: Exception, op: Op, args) -> None:
    """Puts the user-visible op and what it saw in front of a message that does not name it."""
    message = str(error)
    if len(error.args) == 1 and isinstance(error.args[0], str) and not getattr(error, "named", False):
        if not message.startswith(op.name):
            seen = ", ".join(str(x.aval) if isinstance(x, Array) else repr(x) for x in args if x is not None)
            error.args = (f"{op.name}({seen}): {message}",)
        error.named = True


_DECLARING = f"{os.sep}op.py", f"{os.sep}families.py"


def is_ours(function: Callable | type) -> bool:
    """Whether a function or class is of this library's code."""
    return getattr(function, "__module__", "").partition(".")[0] == __name__.partition(".")[0]


def _declared_in() -> tuple[str, bool]:
    """The file of the innermost caller that is neither this module nor the family constructors, and whether it is the library's."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.endswith(_DECLARING):
        frame = frame.f_back
    if frame is None:
        return "?", False
    name = frame.f_code.co_filename
    return name.rpartition("functorch_lite" + os.sep)[2], name.startswith(_HOME)


def cache_key(op: Op, args: tuple, params: tuple) -> tuple:
    """What an executable or a derived program of this call depends on."""
    return (op, *map(aval_of, args), static_key(params) if op.keyed else params)


def composite(f=None, *, namespace: str = "fl", method: bool | str = False, **slots):
    """Declares the decorated function as a composite: its body is the op's reference decomposition.

    Annotate array arguments ``Tensor`` (``Tensor | None`` when optional, ``Tensors`` for a sequence), ints ``Dims`` or
    ``Shape``, dtypes ``DType``. The result is the function users call; ``result.op`` is the op, and
    ``@result.defvjp`` gives it a reverse rule of its own. ``method`` installs it on Array, under its own or another name.
    """
    if f is None:
        return lambda f: composite(f, namespace=namespace, method=method, **slots)
    name = slots.pop("name", f.__name__)
    op = Op(namespace, name, f, decompose=f, **slots)
    op.function.defvjp = op.defvjp
    if method:
        setattr(Operable, name if method is True else method, op.function)
    return op.function

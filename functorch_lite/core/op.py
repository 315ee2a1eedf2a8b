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
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence

from ..errors import MissingRuleError
from .array import Array, Operable, asarray
from .aval import Aval, aval_of
from .dtype import NUMBERS, DType, as_dtype
from .face import Face
from .interpreter import STATE, VALUES, Abstract, Traced
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
        "kind derived keyed cached doc function spell file draws traits returns inline effect view _infer"
    ).split()

    def __init__(self, namespace: str, name: str, signature: inspect.Signature, *, multi: bool = False, doc: str = "", **slots):
        self.namespace, self.name, self.multi, self.doc = namespace, name, multi, doc
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
        self.returns = slots.pop("returns", None)  # the named tuple in which users get several outputs
        self.traits = slots.pop("traits", {})  # what a family wants to remember, for tests and documentation
        if slots:
            raise TypeError(f"Op {name}: unknown slots {sorted(slots)}")
        self._infer = {}
        self.signature = signature
        self._read_signature()
        self.file = _declared_in()
        if self.qualname in REGISTRY:
            raise ValueError(f"the op {self.qualname} is declared twice: in {REGISTRY[self.qualname].file} and in {self.file}")
        REGISTRY[self.qualname] = self
        self.function, self.spell = _make_binder(self)

    @property
    def qualname(self) -> str:
        """The name under which printed programs call it."""
        return f"{self.namespace}.{self.name}"

    def __repr__(self) -> str:
        return f"<op {self.qualname}>"

    def __reduce__(self):
        return _registered, (self.qualname,)

    def _read_signature(self):
        """Splits the parameters into array arguments (annotated Tensor...) and static ones."""
        self.tensors, self.statics, self.variadic = [], [], None
        for p in self.signature.parameters.values():
            kind = str(p.annotation)
            if kind.startswith("Tensor"):
                self.tensors.append(p.name)
                if kind.startswith("Tensors") or p.kind is p.VAR_POSITIONAL:
                    if self.variadic:
                        raise TypeError(f"Op {self.name}: at most one sequence of arrays")
                    self.variadic = p.name
                elif self.variadic:
                    raise TypeError(f"Op {self.name}: a sequence of arrays must be the last array argument")
            else:
                self.statics.append(p.name)
        annotations = [str(self.signature.parameters[n].annotation) for n in self.statics]
        self.keyed = any(not a.startswith(_PLAIN) for a in annotations)  # may params that compare equal differ in type?

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
            avals = key[:-1]
            out = self.meta(*avals, *params) if self.meta is not None else self._infer_by_decomposition(args, params)
            if len(self._infer) >= _LIMIT:
                self._infer.clear()
            self._infer[key] = out
        return out

    def _infer_by_decomposition(self, args, params):
        interpreter = Abstract(None, self.name)
        args = [Traced(interpreter, x.aval, None) if isinstance(x, Array) else x for x in args]
        before, STATE.current = STATE.current, interpreter
        try:
            out = self.run(args, params)
        finally:
            STATE.current = before
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


def own_rule(op: Op, params: tuple) -> bool:
    """Whether the derivative of this call is not that of what it does, so that every transform must see the call: the user's own
    rules, a checkpoint, and programs with such a call inside."""
    return "own_rule" in op.traits or any(getattr(b, "own_rule", False) for p in params for b in (p if p.__class__ is tuple else (p,)))


def _registered(qualname: str) -> Op:
    return REGISTRY[qualname]


def _name_in(error: Exception, op: Op, args) -> None:
    """Puts the user-visible op and what it saw in front of a message that does not name it."""
    message = str(error)
    if len(error.args) == 1 and isinstance(error.args[0], str) and not getattr(error, "named", False):
        if not message.startswith(op.name):
            seen = ", ".join(str(x.aval) if isinstance(x, Array) else repr(x) for x in args if x is not None)
            error.args = (f"{op.name}({seen}): {message}",)
        error.named = True


def _declared_in() -> str:
    """The file of the innermost caller that is neither this module nor the family constructors."""
    frame = inspect.currentframe()
    while frame is not None and os.path.basename(frame.f_code.co_filename) in ("op.py", "families.py"):
        frame = frame.f_back
    return frame.f_code.co_filename.rpartition("functorch_lite" + os.sep)[2] if frame else "?"


# ------------------------------------------------------------------------------------------------- static parameters

_PLAIN = ("Pairs", "int", "bool", "str", "Dims", "Shape", "DType", "Body")  # annotations whose values differ whenever they compare unequal


def cache_key(op: Op, args: tuple, params: tuple) -> tuple:
    """What an executable or a derived program of this call depends on."""
    return (op, *map(aval_of, args), static_key(params) if op.keyed else params)


# ---------------------------------------------------------------------------------------------------------- binding


def lift(x, op: Op, name: str, index: int | None = None):
    """Makes an argument that is no Array one, or says which argument of which op it is that cannot be."""
    if x.__class__ in NUMBERS:
        if op.impl is None:
            return x  # composites take numbers as they are: promotion needs to see them
    elif x is not None and not isinstance(x, (str, bytes)):
        try:
            return asarray(x)
        except TypeError:
            pass
    where = name if index is None else f"{name}[{index}]"
    number = " or a number" if op.impl is None else ""
    raise TypeError(f"{op.name}: argument '{where}' must be an Array{number}, got {type(x).__name__}")


def _lift_all(xs, op: Op, name: str) -> tuple[tuple, Face | None]:
    """A sequence of arguments, and some Face among them."""
    if isinstance(xs, (Array, Face)) or not isinstance(xs, (list, tuple)):
        raise TypeError(f"{op.name}: argument '{name}' must be a tuple or list of Arrays, got {type(xs).__name__}")
    face, out = None, []
    for i, x in enumerate(xs):
        if x.__class__ not in VALUES:
            if isinstance(x, Face):
                face, x = x, x.read()
            else:
                x = lift(x, op, name, i)
        out.append(x)
    return tuple(out), face


def _as_dims(x, op: Op, name: str):
    """Static ints: an int stays one, a sequence becomes a tuple of ints."""
    if x is None or x.__class__ is int:
        return x
    try:
        if isinstance(x, (list, tuple, range)) or hasattr(x, "__iter__"):
            return tuple([i if i.__class__ is int else i.__index__() for i in x])
        return x.__index__()
    except AttributeError:
        raise TypeError(f"{op.name}: argument '{name}' must be an int or a sequence of ints, got {x!r}") from None


def _frozen(x):
    """Lists, at any depth, as tuples: static parameters are hashable."""
    return tuple([_frozen(y) for y in x]) if x.__class__ is list or x.__class__ is tuple else x


def _make_binder(op: Op):
    """The function users call: it checks and lifts each argument as the signature says, then asks the current interpreter.

    Given any Face it reads them, and gives Faces. And its inverse, spell(f, args, params): calls f as the signature says with what was bound.
    """
    space = {"_op": op, "_STATE": STATE, "_VALUES": VALUES, "_lift": lift, "_lift_all": _lift_all, "_dims": _as_dims, "_DType": DType}
    space |= {"_as_dtype": as_dtype, "_frozen": _frozen, "_Face": Face}
    head, body, starred, last = [], ["_face = None"] if op.tensors else [], False, []
    for p in op.signature.parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            head.append("*" + p.name)
            starred = True
        else:
            if p.kind is p.KEYWORD_ONLY and not starred:
                head.append("*")
                starred = True
            if p.default is not p.empty:
                space[f"_default_{p.name}"] = p.default
            head.append(p.name if p.default is p.empty else f"{p.name}=_default_{p.name}")
        kind, n = str(p.annotation), p.name
        if n == op.variadic:
            body.append(f"{n}, _found = _lift_all({n}, _op, {n!r})")
            body.append("if _found is not None: _face = _found")
        elif kind.startswith("Tensor"):
            absent = f"{n} is not None and " if "None" in kind else ""
            body.append(f"if {absent}{n}.__class__ not in _VALUES:")
            body.append(f"    if isinstance({n}, _Face): _face = {n}; {n} = _face.read()")
            body.append(f"    else: {n} = _lift({n}, _op, {n!r})")
            if op.view is not None and n == op.tensors[0]:
                body.append("_viewed = _face")
        elif kind.startswith(("Dims", "Shape")):
            body.append(f"if {n}.__class__ is not int and {n} is not None: {n} = _dims({n}, _op, {n!r})")
        elif kind.startswith("DType"):
            body.append(f"if {n}.__class__ is not _DType and {n} is not None: {n} = _as_dtype({n})")
        elif not kind.startswith(_PLAIN):
            body.append(f"if {n}.__class__ is list or {n}.__class__ is tuple: {n} = _frozen({n})")
    args = "".join(f"*{n}, " if n == op.variadic else f"{n}, " for n in op.tensors)
    statics = "".join(f"{n}, " for n in op.statics)
    if op.view is not None:
        last.append(f"if _viewed is not None: return _viewed.look(_op, ({args}), ({statics}))")
    if "key" in op.traits:  # a draw by PyTorch's face, which has a generator of its own
        space["_drawing"] = op.traits["drawing"]
        last.append(f"if _face is not None and {op.traits['key']} is None and _drawing({statics}): {op.traits['key']} = _face.key()")
    call = f"_STATE.current.bind(_op, ({args}), ({statics}))"
    space["_returns"] = op.returns
    last.append(f"_out = {call}" if op.returns is None else f"_out = _returns(*{call})")
    last.append("return _out if _face is None else _face.wrap(_out)" if op.tensors else "return _out")
    lines = "\n    ".join([*body, *last])
    exec(compile(f"def {op.name}({', '.join(head)}):\n    {lines}\n", f"<functorch_lite binder {op.qualname}>", "exec"), space)
    function = space[op.name]
    function.__doc__, function.__module__, function.__signature__, function.op = op.doc, "functorch_lite", op.signature, op
    function.__qualname__ = op.name
    return function, _make_speller(op)


def _make_speller(op: Op):
    words = []
    for p in op.signature.parameters.values():
        if p.name == op.variadic:
            value = f"args[{len(op.tensors) - 1}:]"
            value = f"*{value}" if p.kind is p.VAR_POSITIONAL else f"tuple({value})"
        else:
            value = f"args[{op.tensors.index(p.name)}]" if p.name in op.tensors else f"params[{op.statics.index(p.name)}]"
            value = f"*{value}" if p.kind is p.VAR_POSITIONAL else value
        words.append(f"{p.name}={value}" if p.kind is p.KEYWORD_ONLY else value)
    return eval(compile(f"lambda f, args, params: f({', '.join(words)})", f"<functorch_lite speller {op.qualname}>", "eval"))


def composite(f=None, *, namespace: str = "fl", method: bool | str = False, **slots):
    """Declares the decorated function as a composite: its body is the op's reference decomposition.

    Annotate array arguments ``Tensor`` (``Tensor | None`` when optional, ``Tensors`` for a sequence), ints ``Dims`` or
    ``Shape``, dtypes ``DType``. The result is the function users call; ``result.op`` is the op, and
    ``@result.defvjp`` gives it a reverse rule of its own. ``method`` installs it on Array, under its own or another name.
    """
    if f is None:
        return lambda f: composite(f, namespace=namespace, method=method, **slots)
    name = slots.pop("name", f.__name__)
    op = Op(namespace, name, inspect.signature(f), decompose=f, doc=inspect.getdoc(f) or "", **slots)
    op.function.defvjp = lambda rule: setattr(op, "vjp", rule) or rule
    if method:
        setattr(Operable, name if method is True else method, op.function)
    return op.function

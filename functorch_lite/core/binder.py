"""The function that calls an op, generated from its signature, and its inverse. Its source is made at the first call:
a program calls a few of the ops that it imports."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType

from .array import ARRAYS, Array, asarray
from .dtype import NUMBERS, DType, as_dtype
from .face import Face
from .interpreter import STATE, VALUES
from .out import call as call_into

PLAIN = ("Pairs", "int", "bool", "str", "Dims", "Shape", "DType", "Body")  # annotations whose values differ whenever they compare unequal


# ------------------------------------------------------------------------------------------------ reading arguments


def lift(x, op, name: str, index: int | None = None):
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


def _lift_all(xs, op, name: str) -> tuple[tuple, Face | None]:
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


def _as_dims(x, op, name: str):
    """Static ints: an int stays one, a sequence becomes a tuple of ints."""
    if x is None or x.__class__ is int:
        return x
    try:
        if isinstance(x, (list, tuple, range)) or hasattr(x, "__iter__") and getattr(x, "ndim", 1):
            return tuple([i if i.__class__ is int else i.__index__() for i in x])
        return x.__index__()
    except AttributeError:
        raise TypeError(f"{op.name}: argument '{name}' must be an int or a sequence of ints, got {x!r}") from None


def _frozen(x):
    """Lists, at any depth, as tuples: static parameters are hashable."""
    return tuple([_frozen(y) for y in x]) if x.__class__ is list or x.__class__ is tuple else x


def _refuse_numbers(op, face: Face | None, args: tuple) -> None:
    """Raises for numbers where PyTorch has none: among Faces, in the arguments that the op's trait `arrays` names; and everywhere at once."""
    if all(x.__class__ in NUMBERS for x in args if x is not None):
        raise TypeError(f"{op.name}: expected at least one Array, got numbers only: {', '.join(map(repr, args))}; wrap one with fl.asarray")
    for name in op.traits["arrays"] if face is not None else ():
        x = args[op.tensors.index(name)]
        if x.__class__ in NUMBERS:
            raise TypeError(f"{op.name}: argument '{name}' must be a Tensor, not {type(x).__name__}, got {x!r}; wrap it with torch.tensor")


def write(op, given: tuple, args: tuple, params: tuple) -> None:
    """Gives those of an op's arguments that are Faces the values that its trait ``writes`` says they have after the call."""
    for at, value in op.traits["writes"](args, params).items():
        if isinstance(given[at], Face):
            given[at].renew(value)


# ------------------------------------------------------------------------------------------------------- generating


def make_binder(op, like: Callable, doc: str | None) -> FunctionType:
    """The function users call: it checks and lifts each argument as the signature says, then asks the current interpreter.

    Given any Face it reads them, and gives Faces. It is one object all along, whose code is made when it is first called;
    `like` is what says to Python which arguments it takes.
    """
    function = _unmade(op, op.name)
    function.__qualname__, function.__module__, function.__doc__ = op.name, "functorch_lite", doc
    function.__wrapped__, function.op = like, op
    return function


def make_operator(op, name: str, reflected: bool = False) -> FunctionType:
    """The method by which Python calls an op of two arguments, or, reflected, calls it with the two exchanged. Numbers and the arrays of
    NumPy and jax take part; what is no data is left to the other operand (NotImplemented), which knows better."""
    function = _unmade(op, name, True, reflected)
    function.__qualname__, function.__doc__ = f"Array.{name}", f"See `{op.name}`."
    return function


def _unmade(op, name: str, *how: bool) -> FunctionType:
    function = FunctionType(_FIRST, {"_op": op}, name)
    function.__globals__["_made"] = lambda: _made(function, op, *how)
    return function


def make_speller(op) -> FunctionType:
    """The inverse, spell(f, args, params): calls f as the signature says with what was bound."""
    return _compiled(_speller(op), f"<functorch_lite speller {op.qualname}>", "spell", {})


_FIRST = eval(compile("lambda *args, **kwargs: _made()(*args, **kwargs)", "<functorch_lite first call>", "eval")).__code__


def _made(function: FunctionType, op, *how: bool) -> FunctionType:
    """A function that calls an op, with its own code in place of the first call's."""
    like = _compiled(_binder(op, function.__globals__, *how), f"<functorch_lite binder {op.qualname}>", op.name, function.__globals__)
    function.__defaults__, function.__kwdefaults__ = like.__defaults__, like.__kwdefaults__
    function.__code__ = like.__code__  # last: another thread may be calling it
    return function


def _compiled(source: str, file: str, name: str, space: dict) -> FunctionType:
    found: dict = {}
    exec(compile(source, file, "exec"), space, found)
    return found[name]


class _Source:
    """The source of a binder as it is written: its head, what it does first, what it does with each argument, and the end."""

    def __init__(self, op, space: dict):
        self.op, self.space = op, space
        self.head: list[str] = []  # parameters, as in `def`
        self.first: list[str] = []
        self.body: list[str] = []
        self.last: list[str] = []
        self.args = "".join(f"*{n}, " if n == op.variadic else f"{n}, " for n in op.tensors)
        self.statics = "".join(f"{n}, " for n in op.statics)

    def __str__(self) -> str:
        lines = "\n    ".join([*self.first, *self.body, *self.last])
        return f"def {self.op.name}({', '.join(self.head)}):\n    {lines}\n"


def _binder(op, space: dict, operator: bool = False, reflected: bool = False) -> str:
    space |= {"_STATE": STATE, "_VALUES": VALUES, "_lift": lift, "_lift_all": _lift_all, "_dims": _as_dims, "_DType": DType}
    space |= {"_as_dtype": as_dtype, "_frozen": _frozen, "_Face": Face, "_returns": op.returns, "_NUMBERS": NUMBERS, "_ARRAYS": ARRAYS}
    to = _Source(op, space)
    to.first += ["_face = None"] if op.tensors else []
    for p in op.signature.parameters.values():
        _parameter(to, p)
        _reading(to, p.name, str(p.annotation), operator)
    if reflected:
        to.head[:2] = to.head[1::-1]
    if "arrays" in op.traits:
        _arrays_only(to)
    if op.view is not None:
        to.last.append(f"if _viewed is not None: return _viewed.look(_op, ({to.args}), ({to.statics}))")
    if "key" in op.traits:  # a draw by PyTorch's face, which has a generator of its own
        key, space["_drawing"] = op.traits["key"], op.traits["drawing"]
        to.last.append(f"if _face is not None and {key} is None and _drawing({to.statics}): {key} = _face.key()")
    call = f"_STATE.current.bind(_op, ({to.args}), ({to.statics}))"
    to.last.append(f"_out = {call}" if op.returns is None else f"_out = _returns(*{call})")
    if op.traits.get("inplace", False):
        _in_place(to)
    if "writes" in op.traits:  # what PyTorch's face changes of its arguments
        space["_write"] = write
        to.first.append(f"_given = ({to.args})")
        to.last.append(f"if _face is not None: _write(_op, _given, ({to.args}), ({to.statics}))")
    to.last.append("return _out if _face is None else _face.wrap(_out)" if op.tensors else "return _out")
    if op.impl is None and op.view is None and not operator:
        _out(to)
    return str(to)


def _parameter(to: _Source, p) -> None:
    """One more parameter in the head."""
    if p.kind is p.VAR_POSITIONAL:
        to.head.append("*" + p.name)
        return
    if p.kind is p.KEYWORD_ONLY and not any(h[0] == "*" for h in to.head):
        to.head.append("*")
    if p.default is not p.empty:
        to.space[f"_default_{p.name}"] = p.default
    to.head.append(p.name if p.default is p.empty else f"{p.name}=_default_{p.name}")


def _reading(to: _Source, n: str, kind: str, operator: bool) -> None:
    """Makes the argument n what its annotation says."""
    op, body = to.op, to.body
    if n == op.variadic:
        body.append(f"{n}, _found = _lift_all({n}, _op, {n!r})")
        body.append("if _found is not None: _face = _found")
    elif kind.startswith("Tensor"):
        absent = f"{n} is not None and " if "None" in kind else ""
        body.append(f"if {absent}{n}.__class__ not in _VALUES:")
        body.append(f"    if isinstance({n}, _Face): _face = {n}; {n} = _face.read()")
        if operator:
            body.append(f"    elif {n}.__class__ not in _NUMBERS and not isinstance({n}, _ARRAYS): return NotImplemented")
        body.append(f"    else: {n} = _lift({n}, _op, {n!r}){'; _lifted = True' * ('arrays' in op.traits)}")
        if op.view is not None and n == op.tensors[0]:
            body.append("_viewed = _face")
    elif kind.startswith(("Dims", "Shape")):
        body.append(f"if {n}.__class__ is not int and {n} is not None: {n} = _dims({n}, _op, {n!r})")
    elif kind.startswith("DType"):
        body.append(f"if {n}.__class__ is not _DType and {n} is not None: {n} = _as_dtype({n})")
    elif not kind.startswith(PLAIN):
        body.append(f"if {n}.__class__ is list or {n}.__class__ is tuple: {n} = _frozen({n})")


def _arrays_only(to: _Source) -> None:
    """Numbers are refused where the op's trait `arrays` says."""
    to.space["_refuse_numbers"] = _refuse_numbers
    to.first.append("_lifted = False")
    to.last.append(f"if _lifted: _refuse_numbers(_op, _face, ({''.join(f'{n}, ' for n in to.op.tensors)}))")


def _in_place(to: _Source) -> None:
    """One more parameter, the last positional one: of the face that has it, `inplace` writes into the first argument."""
    to.head.insert(to.head.index("*") if "*" in to.head else len(to.head), "inplace=False")
    to.first.append(f"_changed = {to.op.tensors[0]}")
    to.last.append(f"if inplace and isinstance(_changed, _Face): return _changed.overwrite(_out, {to.op.name!r})")


def _out(to: _Source) -> None:
    """`out=`. A parameter that is given by name alone costs each call; so it stands last, past one that nobody gives."""
    head, to.space["_into"] = to.head, call_into
    if any(h[0] == "*" and h != "*" for h in head):
        head.append("out=None")
        extra = "None"
    else:
        place, extra = head.index("*") if "*" in head else len(head), "_extra"
        head[place:place] = ["_extra=None", "out=None"]
    to.first.insert(0, f"if out is not {extra}: return _into(_op, {extra}, out, {_as_given(to.op.signature)})")


def _as_given(signature) -> str:
    """The arguments of a function with this signature, as the tuple and the dict to call it again with."""
    args, named = "", ""
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY:
            named += f"{p.name!r}: {p.name}, "
        else:
            args += f"*{p.name}, " if p.kind is p.VAR_POSITIONAL else f"{p.name}, "
    return f"({args}), {{{named}}}"


def _speller(op) -> str:
    words = []
    for p in op.signature.parameters.values():
        if p.name == op.variadic:
            value = f"args[{len(op.tensors) - 1}:]"
            value = f"*{value}" if p.kind is p.VAR_POSITIONAL else f"tuple({value})"
        else:
            value = f"args[{op.tensors.index(p.name)}]" if p.name in op.tensors else f"params[{op.statics.index(p.name)}]"
            value = f"*{value}" if p.kind is p.VAR_POSITIONAL else value
        words.append(f"{p.name}={value}" if p.kind is p.KEYWORD_ONLY else value)
    return f"def spell(f, args, params): return f({', '.join(words)})\n"

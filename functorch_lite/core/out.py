"""`out=`: the results of a call, written into Faces that are there already. Every composite takes it; the function that calls an op
comes here only when it was given one, so that a call without pays nothing."""

from __future__ import annotations

from functools import wraps

from .face import Face, read


def call(op, extra, out, args: tuple, named: dict):
    """The call of an op with `out=out`. `extra` is what stood at a place past its last parameter."""
    if extra is not None or out is None:
        raise TypeError(f"{op.name}() takes {len(args)} positional arguments but more were given; `out` is given by name")
    return into(op.name, op.function, out, args, named, several=op.multi, returns=op.returns, traits=op.traits)


def into(name: str, function, out, args: tuple, named: dict, *, several: bool | None = False, returns=None, traits=()):
    """function(*args, **named), written into `out`, which is returned. ``several``: it is a tuple of them, one for each result (None: as
    the function has it). ``traits``: 'exact' for a dtype that must be the result's, where otherwise any will do that can hold its category;
    'apart' if no argument may share elements with it.
    """
    if several and not isinstance(out, (tuple, list)):
        raise TypeError(f"{name}: argument 'out' must be a tuple of Tensors, one for each result, got {type(out).__name__}")
    outs = tuple(out) if several or several is None and isinstance(out, (tuple, list)) else (out,)
    for x in outs or (out,):
        if not isinstance(x, Face):
            raise TypeError(_no_face(name, x, several))
    found = function(*args, **named)
    results = found if isinstance(found, tuple) else tuple(found) if isinstance(found, list) else (found,)
    if isinstance(found, (tuple, list)) is (out is outs[0]) or len(results) != len(outs):
        raise TypeError(f"{name}: argument 'out' must be {_of(found)}, got {_of(out)}")
    exact, apart = "exact" in traits or len(outs) > 1, "apart" in traits
    read_too = {id(x.storage) for x in _faces((*args, *named.values()))}
    values = [x.fitted(read(y), name, exact=exact, apart=apart, shared=id(x.storage) in read_too) for x, y in zip(outs, results)]
    for x, value in zip(outs, values):
        x.receive(value)
    if len(outs) == 1 and out is outs[0]:
        return out
    returns = returns or (type(found) if hasattr(found, "_fields") else None)
    return outs if returns is None else returns(*outs)


def takes_out(function):
    """Gives `out=` to a function that is no op itself (it chooses among several)."""

    @wraps(function)
    def either(*args, out=None, **named):
        return function(*args, **named) if out is None else into(function.__name__, function, out, args, named, several=None)

    return either


def _faces(xs):
    for x in xs:
        if isinstance(x, Face):
            yield x
        elif isinstance(x, (tuple, list)):
            yield from _faces(x)


def _of(x) -> str:
    return f"a tuple of {len(x)} Tensors" if isinstance(x, (tuple, list)) else "a Tensor"


def _no_face(name: str, x, several) -> str:
    if hasattr(x, "aval"):
        return (
            f"{name}: out= is written into, but {x.aval} is an Array, which never changes: use what the call returns, or give a Tensor of "
            "functorch_lite.torch"
        )
    return f"{name}: argument 'out' must be {'a tuple of Tensors' if several else 'a Tensor'}, got {type(x).__name__}"

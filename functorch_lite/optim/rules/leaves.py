"""What the rules share: lists of arrays laid end to end, hyperparameters, and steps over trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core import pytree
from ...core.dtype import NUMBERS, float64
from ...core.pack import SMALL
from ...refs.arguments import accumulator, require, shown
from ...refs.create import zeros_like
from ...refs.join import cat, repeat_interleave, split
from ...refs.promotion import array_of, to_dtype
from ...transforms.arguments import inexact

# ------------------------------------------------------------------------------------------------- inside a step's op


def columns(name: str, tensors: Sequence, kinds: Sequence[str], scalar: str | None = None) -> list[Sequence]:
    """`tensors`, which holds one run a kind, as one list a kind; of equal lengths, and each row of one shape and dtype.

    The kind named `scalar` has 0-dim arrays of any dtype.
    """
    n, rest = divmod(len(tensors), len(kinds))
    require(rest == 0, name, f"expected as many arrays of each kind ({', '.join(kinds)}), got {len(tensors)} in all", ValueError)
    runs = [tensors[i * n : (i + 1) * n] for i in range(len(kinds))]
    for i, param in enumerate(runs[0]):
        require(param.dtype.is_inexact, name, f"{kinds[0]} {i} must have a float or complex dtype, got {shown(param)}")
        for kind, run in zip(kinds[1:], runs[1:]):
            x = run[i]
            ok = x.ndim == 0 if kind == scalar else x.shape == param.shape and x.dtype == param.dtype
            expected = "be 0-dim" if kind == scalar else f"have the shape and dtype of its parameter, {shown(param)}"
            require(ok, name, f"{kind} {i} must {expected}, got {shown(x)}")
    return runs


def exact(x):
    """A hyperparameter with all the digits that it has: 1 - beta loses half of them in 32 bits. None, of one not in use, stays."""
    return None if x is None else array_of(x, float64)


def scale(factor, x):
    """x times a hyperparameter, or a term of some."""
    return x * to_dtype(factor, x.dtype)


def wide(x):
    """x in the dtype in which sums are kept."""
    return to_dtype(x, accumulator(x.dtype))


# ------------------------------------------------------------------------------------------------- many small ones as one


class Together:
    """How an op computes many small parameters as one, where they lie in one buffer (`xla/packed.py`): its last parameter says so.

    ``kinds(args, params)`` is how many runs of arrays follow its first args, which are `numbers` numbers.
    """

    def __init__(self, numbers: int, kinds: Callable):
        self.numbers, self.kinds = numbers, kinds

    def params(self, params: tuple) -> tuple:
        """The parameters of the call that does so."""
        return (*params[:-1], True)

    def rows(self, args: Sequence, params: tuple) -> list[tuple]:
        """The args that belong to each parameter; only rows of small ones are computed together."""
        tensors = tuple(args[self.numbers :])
        n = len(tensors) // self.kinds(args, params)
        return [tensors[i::n] for i in range(n)]


def flocks(together: bool, *runs: Sequence) -> list[list[int]]:
    """The numbers of the rows (one array of each run) that are computed together: if at all, small ones of equal dtypes, for which
    what an op costs is its start. In a compiled step they lie in one buffer, in this order."""
    found: dict = {}
    for i, row in enumerate(zip(*runs)):
        found.setdefault(tuple([x.dtype for x in row]) if together and row[0].numel() <= SMALL else i, []).append(i)
    return list(found.values())


def merged(arrays: Sequence) -> Any:
    """A flock of arrays as one vector; one array as it is."""
    return arrays[0] if len(arrays) == 1 else cat([x.reshape(-1) for x in arrays])


def parted(x: Any, like: Sequence) -> list:
    """A vector as arrays of the shapes of these."""
    if len(like) == 1:
        return [x]
    return [part.reshape(a.shape) for part, a in zip(split(x, [a.numel() for a in like]), like)]


def spread(values: Any, like: Sequence) -> Any:
    """A vector with a value for each of some arrays as one with a value for each of their elements."""
    if len(like) == 1:
        return values
    # Twice beside itself: XLA computes what is repeated first and once, but what is only looked up again for each element.
    return repeat_interleave(values.unsqueeze(1).expand(-1, 2), tuple([a.numel() for a in like]), dim=0)[:, 0]


# ----------------------------------------------------------------------------------------------------- steps over trees


def given(x):
    """A hyperparameter that is a 0 of Python as None: the step then leaves its term out."""
    return None if x.__class__ in NUMBERS and x == 0 else x


def zeros(params: Any) -> Any:
    """Zeros for each leaf that can be trained, None for others (integers, strings ...)."""
    return pytree.map(lambda p: zeros_like(p) if inexact(p) else None, params)


def tree_step(name: str, step: Callable, grads: Any, params: Any, slots: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """step(list of arrays) -> flat tuple, over the leaves that have a gradient: the new params, and the new slots.

    The slots are trees like params by name; the list has all params, all grads, then all of each slot, and the tuple all new
    params, then all of each new slot. A leaf whose gradient is None, or stands below one, is returned as it is.
    """
    leaves, spec = pytree.flatten(params)
    gradients = pytree.match(spec, grads, f"{name}: grads")
    states = [pytree.match(spec, tree, f"{name}: state[{key!r}]") for key, tree in slots.items()]
    which = [i for i, g in enumerate(gradients) if g is not None]
    news = [list(leaves), *map(list, states)]
    if which:
        outs = step([column[i] for column in (leaves, gradients, *states) for i in which])
        for k, new in enumerate(news):
            for i, value in zip(which, outs[k * len(which) : (k + 1) * len(which)], strict=True):
                new[i] = value
    params, *trees = map(spec.unflatten, news)
    return params, dict(zip(slots, trees, strict=True))


def slot(name: str, state: Any, key: str, remedy: str) -> Any:
    """state[key], or an error that says how to make a state that has it."""
    if not isinstance(state, dict) or key not in state:
        raise KeyError(f"{name}: the state has no {key!r}, got {pytree.describe(state)}; make it with {remedy}")
    return state[key]

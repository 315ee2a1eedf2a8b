"""What draws by an explicit key: dropout of elements and of channels, the randomized leaky rectifier, the Gumbel softmax."""

from __future__ import annotations

import math

from ..core.dtype import int64, uint32
from ..core.op import Tensor, composite
from ..prims import algebra, compare, create, elementwise, random, reduce
from .activation import IN_PLACE, leaky_relu
from .arguments import require, require_arrays, require_floating, shown
from .promotion import canonical_dim, expand_to, to_dtype
from .random import gumbel, uniform
from .softmaxes import softmax

_F = "fl.nn.functional"

# PyTorch's face has a generator, which gives a key when a draw needs one and has none
_DRAWN = {"key": "key", "drawing": lambda p, training: training and p > 0} | IN_PLACE


def _require_key(name, key, why):
    require(key is not None, name, f"{why} needs key=, a key from fl.random.key", TypeError)


def _kept(name, key, sizes, p):
    """A mask that holds with probability 1 - p: 32 random bits an element, at least p * 2^32."""
    _require_key(name, key, f"training with p={p}")
    bits = random.random_bits(key, sizes, 32)
    return compare.ge(bits, create.full(sizes, min(math.ceil(p * 2**32), 2**32 - 1), uint32))


def _require_p(name, p):
    require(0 <= p <= 1, name, f"dropout probability has to be between 0 and 1, but got {p}", ValueError)


def _dropped(name, input, p, training, key, mask_shape, floor: float = 0.0):
    """a x + b where x is kept, a floor + b elsewhere. With a floor of 0 b is 0, and a such that the mean stays; else they are such that mean 0
    and variance 1 stay."""
    require_arrays(name, input=input)
    _require_p(name, p)
    if not training or p == 0:
        return input
    require_floating(name, input)
    if p == 1:
        return algebra.zeros(input.aval)
    a = ((1 - p) * (1 + p * floor**2)) ** -0.5 if floor else 1 / (1 - p)
    b = -a * p * floor
    keep = expand_to(_kept(name, key, mask_shape, p), input.shape)
    kept = elementwise.scaled(input, a)
    kept = elementwise.add(kept, algebra.full_like(input, b)) if floor else kept
    return compare.select(keep, kept, algebra.full_like(input, a * floor + b))


@composite(namespace=_F, traits=_DRAWN)
def dropout(input: Tensor, p: float = 0.5, training: bool = True, *, key: Tensor | None = None) -> Tensor:
    """Zeroes each element with probability p and scales the others by 1 / (1 - p) (Srivastava et al., 2014).

    Pure: the draw is a function of key (from fl.random.key), which training with p > 0 needs (TypeError otherwise); the same
    key drops the same elements. ValueError for a p that is no probability.
    """
    return _dropped("dropout", input, p, training, key, input.shape)


def _channel_dropout(name: str, n: int):
    def f(input: Tensor, p: float = 0.5, training: bool = True, *, key: Tensor | None = None) -> Tensor:
        ok = input.ndim in (n + 1, n + 2)
        require(ok, name, f"expected input [N, C, *{n} spatial sizes] or [C, *spatial], got {shown(input)}")
        lead = input.shape[: input.ndim - n]
        return _dropped(name, input, p, training, key, (*lead, *[1] * n))

    f.__name__ = name
    f.__doc__ = (
        f"`dropout` of whole channels of input [N, C, *spatial] with {n} spatial dimension{'s' if n > 1 else ''} (Tompson et al., 2015)."
    )
    return composite(f, namespace=_F, traits=_DRAWN)


dropout1d, dropout2d, dropout3d = (_channel_dropout(f"dropout{n}d", n) for n in (1, 2, 3))

# ------------------------------------------------------------------------------------ dropout that keeps the variance

_SELU_FLOOR = -1.7580993408473766  # what selu tends to at -infinity: -scale * alpha


@composite(namespace=_F, traits=_DRAWN)
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, *, key: Tensor | None = None) -> Tensor:
    """Sets each element to selu's lowest value with probability p, then shifts and scales so that mean 0 and variance 1 stay.

    For networks of `selu` (Klambauer et al., 2017). The draw is a function of key, as in `dropout`.

    >>> import functorch_lite as fl
    >>> fl.nn.functional.alpha_dropout(fl.asarray([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return _dropped("alpha_dropout", input, p, training, key, input.shape, _SELU_FLOOR)


@composite(namespace=_F, traits=_DRAWN)
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, *, key: Tensor | None = None) -> Tensor:
    """`alpha_dropout` of whole channels of input [N, C, *]. RuntimeError for fewer than 2 dimensions when it drops."""
    name = "feature_alpha_dropout"
    if training and p > 0:
        require_arrays(name, input=input)
        require(input.ndim >= 2, name, f"feature dropout requires at least 2 dimensions in the input, got {shown(input)}")
    lead = input.shape[:2]
    return _dropped(name, input, p, training, key, (*lead, *[1] * (input.ndim - len(lead))), _SELU_FLOOR)


# -------------------------------------------------------------------------------------------------------- activations


@composite(namespace=_F, traits={"key": "key", "drawing": lambda lower, upper, training: training} | IN_PLACE)
def rrelu(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, *, key: Tensor | None = None) -> Tensor:
    """`leaky_relu` with a slope drawn for each element from [lower, upper) in training, else with their mean (Xu et al., 2015).

    The draw is a function of key, which training needs (TypeError otherwise).

    >>> import functorch_lite as fl
    >>> fl.nn.functional.rrelu(fl.asarray([-8.0, 2.0]), 0.25, 0.75).tolist()
    [-4.0, 2.0]
    """
    name = "rrelu"
    require_arrays(name, input=input)
    require_floating(name, input)
    require(lower <= upper, name, f"Lower bound should be less than or equal to the upper bound, got lower={lower}, upper={upper}")
    if not training:
        return leaky_relu(input, (lower + upper) / 2)
    _require_key(name, key, "training")
    slope = uniform(key, input.shape, input.dtype, lower, upper)
    return compare.select(compare.gt(input, algebra.zeros(input.aval)), input, elementwise.mul(input, slope))


@composite(namespace=_F, traits={"key": "key", "drawing": lambda *_: True})
def gumbel_softmax(
    logits: Tensor, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1, *, key: Tensor | None = None
) -> Tensor:
    """softmax((logits + Gumbel noise) / tau): a differentiable draw of a class (Jang, Gu, Poole, 2017).

    With ``hard`` the result is one-hot at the largest, while the gradient is that of the soft draw. The draw is a function of key.
    (eps is PyTorch's, where it does nothing either.)
    """
    name = "gumbel_softmax"
    require_arrays(name, logits=logits)
    require_floating(name, logits, "logits")
    _require_key(name, key, "a draw")
    noisy = elementwise.add(logits, gumbel(key, logits.shape, logits.dtype))
    soft = softmax(elementwise.scaled(noisy, 1 / tau), dim)
    if not hard:
        return soft
    dim = canonical_dim(name, dim, soft.ndim)
    at = reduce.spread(reduce.argmax(soft, dim), soft, (dim,))
    one_at = to_dtype(compare.eq(at, create.iota(soft.shape, dim, int64)), soft.dtype)
    return elementwise.add(create.detach(elementwise.sub(one_at, soft)), soft)

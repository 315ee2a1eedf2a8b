"""Update rules of optimizers as pure functions: the formula of each stands here once, for trees of Arrays and for `fl.optim`.

Each rule is a module with ``init(params)``, which makes the state, and ``update(grads, state, params, ...)``, which returns
(new params, new state); params are any pytree. The whole step over all leaves is one op (`sgd_step`, `adam_step`), so it is
one node of a graph, and every transform applies to it: it can be batched over learning rates, or differentiated in them.
"""

from . import adam, sgd
from .adam import adam_step
from .sgd import sgd_step

__all__ = ["adam", "adam_step", "sgd", "sgd_step"]

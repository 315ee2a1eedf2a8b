"""Values whose dimensions are stored in another order than they have, inside one lowering.

XLA's convolutions on the CPU want channels last, and it moves them there and back around each one, which takes longer than the layers
between. So a convolution leaves its result as it came out, and says in which order it lies; the ops that follow take it as it is if they
can. ``order[i]`` is the dimension that stands at place i; None is the usual order. An op can if it works element by element, or if it
has a rule among its traits:

    ordered(values, orders, *params)   -> (value, order), or None where it cannot
    ordering                           -> whether it is asked though all its arguments lie as usual

All others get their arguments moved back. (CNN step of six 3x3 convolutions, batch 32: 0.75 of the time.)
"""

from __future__ import annotations

from jax import lax

USUAL = None


def known(order):
    """The order, or None if it is the usual one."""
    return None if order is None or all(i == d for i, d in enumerate(order)) else tuple(order)


def spelled(order, rank: int):
    """The order as a tuple."""
    return tuple(range(rank)) if order is None else order


def restored(value, order):
    """The value as usual."""
    return moved(value, order, None)


def moved(value, order, to):
    """The value, stored in one order, in another."""
    if order == to:
        return value
    places = spelled(order, value.ndim)
    return lax.transpose(value, tuple([places.index(d) for d in spelled(to, value.ndim)]))


def by_place(order, numbers):
    """Numbers that belong to dimensions, as their places have them."""
    return tuple([numbers[d] for d in order])


def arranged(op, values, orders, params):
    """(value, order) of an op whose arguments are stored in these orders; None if it needs them as usual."""
    if getattr(op.batch, "pointwise", False):
        order = next(o for o in orders if o is not None)
        return op.impl(*[moved(v, o, order) for v, o in zip(values, orders)], *params), order
    rule = op.traits.get("ordered")
    return None if rule is None else rule(values, orders, *params)


# ------------------------------------------------------------------------------------------------------- rules


def per_dim(impl, each: int):
    """The rule of an op whose first ``each`` parameters have a number for each dimension, and which keeps the dimensions. Further
    arguments are scalars."""

    def rule(values, orders, *params):
        parts = [by_place(orders[0], p) for p in params[:each]]
        return impl(*values, *parts, *params[each:]), orders[0]

    return rule


def over(impl):
    """The rule of an op that takes some dimensions away."""

    def rule(values, orders, dims, *params):
        order = orders[0]
        left = [d for d in order if d not in dims]
        ranked = sorted(left)
        return impl(values[0], tuple([order.index(d) for d in dims]), *params), known([ranked.index(d) for d in left])

    return rule


def along(impl):
    """The rule of an op that works along some dimensions, and keeps them all."""

    def rule(values, orders, dims, *params):
        return impl(values[0], tuple([orders[0].index(d) for d in dims]), *params), orders[0]

    return rule


def permuted(values, orders, dims):
    """No work: the dimensions get other names."""
    return values[0], known([dims.index(d) for d in orders[0]])


def concatenated(values, orders, dim):
    order = next(o for o in orders if o is not None)
    return lax.concatenate([moved(v, o, order) for v, o in zip(values, orders)], order.index(dim)), order


def reshaped(values, orders, shape):
    """A dimension splits where it stands; those that merge must stand side by side. Dimensions of size one go to the front."""
    (x,), (order,) = values, orders
    old = [0] * x.ndim
    for place, d in enumerate(order):
        old[d] = x.shape[place]
    groups = _groups([d for d, n in enumerate(old) if n != 1], [d for d, n in enumerate(shape) if n != 1], old, shape)
    if groups is None:
        return None
    left = [d for d in order if old[d] != 1]
    new = [d for d, n in enumerate(shape) if n == 1]
    while left:
        source, target = groups[left[0]] if left[0] in groups else ((), ())
        if not source or left[: len(source)] != source:
            return None
        new += target
        left = left[len(source) :]
    return lax.reshape(x, by_place(new, shape)), known(new)


def _groups(ours, theirs, old, new):
    """The smallest runs of dimensions that become one another, by the first of each run; None if there is no element."""
    if 0 in old or 0 in new:
        return None
    out, ours, theirs = {}, iter(ours), iter(theirs)
    for d in ours:
        source, target, a, b = [d], [], old[d], 1
        while a != b:
            if a > b:
                target.append(next(theirs))
                b *= new[target[-1]]
            else:
                source.append(next(ours))
                a *= old[source[-1]]
        out[d] = source, target
    return out

"""Connectionist temporal classification (Graves et al., 2006): the loss of a sequence of labels whose alignment is not known.

Between the labels, before and behind them stand blanks: an alignment goes through these 2 S + 1 places in order, staying at one or going
to the next, or over a blank between two different labels. The sum over all alignments is a loop over time, in logarithms; its derivative
is derived from that.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.array import asarray
from ..core.dtype import INTEGER, int64
from ..core.face import faced
from ..core.op import Tensor, composite
from ..errors import ConcretizationError
from ..prims import algebra, bits, checks, compare, create, elementwise, index, order, reduce, shape
from ..refs.arguments import accumulator, require, require_arrays, require_floating, require_reduction, shown
from ..refs.loss import reduced, reduced_reference
from ..refs.promotion import to_dtype
from ..transforms.control_flow import scan

_F = "fl.nn.functional"
_NAME = "ctc_loss"


def _least(x):
    return algebra.full_like(x, -math.inf)


def _log_sum_jvp(ans, primals, tangents):
    """By the shares of the terms; 0 where there is no term."""
    nothing = algebra.zeros(ans.aval)
    none = compare.eq(ans, _least(ans))
    top = compare.select(none, nothing, ans)
    terms = []
    for x, t in zip(primals, tangents):
        if t is not None:
            share = elementwise.exp(elementwise.sub(x, top))
            terms.append(elementwise.mul(t, compare.select(none, nothing, share)))
    return algebra.total(terms)


def _log_sum_batch(size, args, dims):
    args, d = algebra.align(size, args, dims)
    return log_sum_of_three(*args), d


@composite(namespace=_F, jvp=_log_sum_jvp, batch=_log_sum_batch, reference=lambda x, y, z: np.logaddexp(np.logaddexp(x, y), z))
def log_sum_of_three(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """log(exp(x) + exp(y) + exp(z)) for arrays of one shape, any of which may be -inf."""
    top = create.detach(compare.maximum(compare.maximum(x, y), z))
    top = compare.select(compare.eq(top, _least(top)), algebra.zeros(top.aval), top)
    terms = [elementwise.exp(elementwise.sub(a, top)) for a in (x, y, z)]
    return elementwise.add(elementwise.log(algebra.total(terms)), top)


def _labels(targets, target_lengths, longest):
    """The labels of each sequence, [N, longest], what is behind a sequence's end being any."""
    if targets.ndim == 2:
        return targets
    n = target_lengths.shape[0]
    starts = elementwise.sub(order.cumsum(target_lengths, 0), target_lengths)
    at = elementwise.add(shape.broadcast(starts, (n, longest), (0,)), create.iota((n, longest), 1, int64))
    if 0 in (targets.shape[0], longest):
        return create.full((n, longest), 0, int64)
    return index.gather(targets, [at], (0,), (0,), mode="clip")


def _with_blanks(labels, blank):
    """Labels [N, S] with blanks around, [N, 2 S + 1]."""
    n, s = labels.shape
    wide = shape.pad(labels, create.full((), blank, labels.dtype), (0, 1), (0, 1 if s else 0), (0, 1 if s else 0))
    return wide if s else create.full((n, 1), blank, labels.dtype)


def _moved(x, by, fill):
    """x [N, L] moved by some places to the right."""
    return shape.part(shape.pad(x, fill, (0, by), (0, 0), (0, 0)), 1, 0, x.shape[1])


def _checked(log_probs, input_lengths, target_lengths, longest):
    """The lengths, in eager mode only if they fit."""
    for name, lengths, most in (("input_lengths", input_lengths, log_probs.shape[0]), ("target_lengths", target_lengths, longest)):
        ok = bits.bitwise_and(compare.ge(lengths, algebra.zeros(lengths.aval)), compare.le(lengths, algebra.full_like(lengths, most)))
        yield checks.expect(lengths, ok, "RuntimeError", f"ctc_loss: expected {name} to have values from 0 to at most {most}")


def _mass(log_probs, input_lengths):
    """The sum of all probabilities of each sequence: of log_softmax a constant. Its derivative is a part of PyTorch's of the loss."""
    steps, _, _ = log_probs.shape
    at = create.iota((steps, input_lengths.shape[0]), 0, int64)
    live = compare.lt(at, shape.broadcast(input_lengths, at.shape, (1,)))
    each = elementwise.exp(log_probs)
    return reduce.reduce_sum(compare.select(shape.broadcast(live, each.shape, (0, 1)), each, algebra.zeros(each.aval)), (0, 2))


def _reference(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False, longest=0):
    """By going through all places at each time, in probabilities."""
    out, start = [], 0
    for n, (t_n, s_n) in enumerate(zip(input_lengths, target_lengths)):
        labels = targets[n, :s_n] if targets.ndim == 2 else targets[start : start + s_n]
        start += s_n
        places = [blank]
        for label in labels:
            places += [label, blank]
        mass = {-1: 1.0}
        for t in range(t_n):
            new = dict.fromkeys(range(len(places)), 0.0)
            for s, m in mass.items():
                skips = s >= 0 and s + 2 < len(places) and places[s + 2] not in (blank, places[s])
                reach = [0, 1] if s < 0 else [s, s + 1, *([s + 2] if skips else [])]
                for to in reach:
                    if to < len(places):
                        new[to] += m * np.exp(log_probs[t, n, places[to]])
            mass = new
        total = (1.0 if not s_n else 0.0) if -1 in mass else sum(mass[s] for s in range(max(len(places) - 2, 0), len(places)))
        with np.errstate(divide="ignore"):
            out.append(-np.log(total))
    loss = np.array(out, log_probs.dtype)
    loss = np.where(np.isinf(loss), 0, loss) if zero_infinity else loss
    loss = loss / np.maximum(target_lengths, 1) if reduction == "mean" else loss
    return reduced_reference(loss.astype(log_probs.dtype), reduction)


@composite(namespace=_F, name=_NAME, reference=_reference)
def _ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
    reduction: str,
    zero_infinity: bool,
    longest: int,
) -> Tensor:
    """See the function of this name; of a batch, with lengths as arrays, and `longest` no less than any target's length."""
    steps, n, classes = log_probs.shape
    input_lengths, target_lengths = _checked(log_probs, input_lengths, target_lengths, longest)
    lp = to_dtype(log_probs, accumulator(log_probs.dtype))
    places = _with_blanks(_labels(targets, target_lengths, longest), blank)
    width = places.shape[1]
    none = create.full((), -1, int64)
    is_label = compare.ne(places, algebra.full_like(places, blank))
    skips = bits.bitwise_and(is_label, compare.ne(places, _moved(places, 2, none)))
    emitted = index.take_along(lp, shape.broadcast(places, (steps, n, width), (1, 2)), 2, "clip")
    minus_inf = create.full((), -math.inf, lp.dtype)
    first = compare.eq(create.iota((n, width), 1, int64), create.full((n, width), 0, int64))
    begin = compare.select(first, create.full((n, width), 0, lp.dtype), create.full((n, width), -math.inf, lp.dtype))

    def step(alpha, row):
        emission, t = row
        over = compare.select(skips, _moved(alpha, 2, minus_inf), _least(alpha))
        new = elementwise.add(log_sum_of_three(alpha, _moved(alpha, 1, minus_inf), over), emission)
        live = compare.lt(shape.broadcast(t, (n,), ()), input_lengths)
        return compare.select(shape.broadcast(live, (n, width), (0,)), new, alpha), None

    alpha = begin if steps == 0 else scan(step, begin, (emitted, create.iota((steps,), 0, int64)))[0]
    end = elementwise.scaled(target_lengths, 2)
    last = index.gather(alpha, [end], (1,), (0,), ((0,), (0,)), mode="clip")
    before = index.gather(alpha, [elementwise.sub(end, algebra.one_like(end))], (1,), (0,), ((0,), (0,)), mode="clip")
    before = compare.select(compare.eq(end, algebra.zeros(end.aval)), _least(before), before)
    loss = elementwise.neg(log_sum_of_three(last, before, _least(last)))
    loss = create.graft(elementwise.add(loss, _mass(lp, input_lengths)), create.detach(loss))
    if zero_infinity:
        loss = compare.select(compare.eq(loss, algebra.full_like(loss, math.inf)), algebra.zeros(loss.aval), loss)
    if reduction == "mean":
        lengths = to_dtype(compare.maximum(target_lengths, algebra.one_like(target_lengths)), loss.dtype)
        loss = elementwise.div(loss, lengths)
    return to_dtype(reduced(_NAME, loss, reduction), log_probs.dtype)


def _lengths(name, lengths, batch):
    """Lengths, which may be a list of ints, as an array [N]."""
    x = asarray(lengths)
    require(x.dtype.category == INTEGER, _NAME, f"{name} must be integers, got {shown(x)}")
    require(x.ndim <= 1 and x.aval.size == batch, _NAME, f"{name} must have an element for each of the {batch} sequences, got {shown(x)}")
    return to_dtype(shape.reshape(x, (batch,)), int64)


def _longest(targets, target_lengths) -> int:
    """What no target is longer than: for targets on end, and under a transform, all of them together."""
    if targets.ndim == 2:
        return targets.shape[1]
    try:
        return int(np.asarray(target_lengths.concrete("the lengths of targets").buffer).max(initial=0))
    except ConcretizationError:
        return targets.shape[0]


@faced
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The connectionist temporal classification loss: -log of the probability of all alignments of targets to log_probs (Graves et al., 2006).

    log_probs [T, N, C] are logarithms of probabilities (or [T, C], of one sequence); targets are class indices, [N, S] or all on end;
    input_lengths and target_lengths [N], arrays or lists of ints, say how many of each count. 'mean' divides each loss by its target's
    length first. A target that cannot be aligned has an infinite loss, or with zero_infinity 0, and no gradient. The derivative is
    PyTorch's, that of log_softmax(log_probs): it has exp(log_probs) more than that by each of log_probs alone. RuntimeError for shapes, classes or lengths
    that do not fit (lengths are unchecked under jit).

    >>> import functorch_lite as fl
    >>> log_probs = fl.full((2, 1, 2), 0.5).log()
    >>> round(fl.nn.functional.ctc_loss(log_probs, fl.asarray([[1]]), [2], [1]).exp().item(), 4)  # three alignments of four
    1.3333
    """
    require_arrays(_NAME, log_probs=log_probs, targets=targets)
    require_reduction(_NAME, reduction)
    require_floating(_NAME, log_probs, "log_probs")
    require(log_probs.ndim in (2, 3), _NAME, f"expected log_probs [T, N, C] or [T, C], got {shown(log_probs)}")
    single = log_probs.ndim == 2
    x = log_probs if not single else shape.reshape(log_probs, (log_probs.shape[0], 1, log_probs.shape[1]))
    n, classes = x.shape[1:]
    require(0 <= blank < classes, _NAME, f"blank must be in label range, from 0 to {classes - 1}, got {blank}")
    ok = targets.dtype.category == INTEGER and (targets.ndim == 1 or (targets.ndim == 2 and targets.shape[0] == n))
    require(ok, _NAME, f"expected integer targets [{n}, S], or one-dimensional, got {shown(targets)}")
    target_lengths = _lengths("target_lengths", target_lengths, n)
    longest = _longest(targets, target_lengths)
    loss = _ctc_loss(
        x, to_dtype(targets, int64), _lengths("input_lengths", input_lengths, n), target_lengths, blank, reduction, zero_infinity, longest
    )
    return shape.reshape(loss, ()) if single and reduction == "none" else loss


ctc_loss.op = _ctc_loss.op

"""Rows of a table by integers: embeddings, bags of them, and integers as rows of 0 and 1."""

from __future__ import annotations

import math

import numpy as np

from ..core.dtype import INTEGER, int32, int64
from ..core.face import faced
from ..core.op import Tensor, composite
from ..errors import ConcretizationError
from ..prims import algebra, bits, checks, compare, create, elementwise, index, order, reduce, scatters, shape
from .arguments import accumulator, require, require_arrays, require_floating, shown
from .promotion import to_dtype
from .reduce import norm

_F = "fl.nn.functional"

# ------------------------------------------------------------------------------------------------- what all do


def _rows(weight, input):
    return index.gather(weight, [input], (0,), (0,), at=0)


def _spread(x, rows):
    """x, an element for each row, along the rows' last dimension."""
    return shape.broadcast(x, rows.shape, tuple(range(x.ndim)))


def _checked(name, input, weight, padding_idx):
    """padding_idx counted from the front, for arguments that fit."""
    require_arrays(name, input=input, weight=weight)
    ok = input.dtype.category == INTEGER
    require(ok, name, f"expected input of an integer dtype (indices), got {shown(input)}")
    require(weight.ndim == 2, name, f"weight must be a matrix [rows, D], got {weight.aval}")
    ok = padding_idx is None or -weight.shape[0] <= padding_idx < weight.shape[0]
    require(ok, name, f"padding_idx must name a row of weight {weight.aval}, got {padding_idx}")
    return None if padding_idx is None else padding_idx % weight.shape[0]


def _renormed(weight, input, max_norm, norm_type):
    """The weight with those of the rows that input names scaled down whose norm is above max_norm."""
    size = norm(weight, norm_type, 1)
    scale = elementwise.div(algebra.full_like(size, max_norm), elementwise.add(size, algebra.full_like(size, 1e-7)))
    named = compare.gt(_counts(input, weight.shape[0]), create.full((weight.shape[0],), 0, int32))
    large = bits.bitwise_and(named, compare.gt(size, algebra.full_like(size, max_norm)))
    scale = compare.select(large, scale, algebra.one_like(scale))
    return elementwise.mul(weight, shape.broadcast(scale, weight.shape, (0,)))


def _counts(input, rows: int):
    """How often each row is named."""
    flat = shape.reshape(input, (input.aval.size,))
    return scatters.scatter_add(create.full((rows,), 0, int32), create.full(flat.shape, 1, int32), [flat], (0,), (0,))


def _looked_at(weight, input, max_norm, norm_type):
    """The weight as it is read: renormed first, which no gradient sees."""
    return weight if max_norm is None else create.graft(weight, _renormed(weight, input, max_norm, norm_type))


def _by_frequency(rows, input, n: int):
    """Rows divided by how often each is named: what scale_grad_by_freq makes of a gradient's."""
    often = to_dtype(_rows(_counts(input, n), input), rows.dtype)
    return elementwise.div(rows, _spread(often, rows))


# ------------------------------------------------------------------------------------------------------ embedding


def _embedding_reference(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    rows = weight[input]
    if max_norm is None:
        return rows
    size = np.linalg.norm(rows, norm_type, -1)[..., None]
    return np.where(size > max_norm, rows * (max_norm / (size + 1e-7)), rows)


def _renewed(args, params):
    """What PyTorch writes: the weight, renormed."""
    (input, weight), (_, max_norm, norm_type, *_) = args, params
    return {} if max_norm is None else {1: _renormed(weight, input, max_norm, norm_type)}


@composite(namespace=_F, reference=_embedding_reference, traits={"writes": _renewed})
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of weight [rows, D] that the integers input [*] name: [*, D]. The row padding_idx gets no gradient.

    With ``max_norm`` a row that is read is first scaled down to that norm_type-norm; of a Tensor also in the weight itself, as in
    PyTorch. ``scale_grad_by_freq`` divides a row's gradient by how often input names it. Gradients are dense, ``sparse`` or not.
    IndexError for a row that is not there (unchecked under jit).

    >>> import functorch_lite as fl
    >>> fl.nn.functional.embedding(fl.asarray([1, 0]), fl.asarray([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[3.0, 4.0], [1.0, 2.0]]
    """
    padding_idx = _checked("embedding", input, weight, padding_idx)
    rows = _rows(_looked_at(weight, input, max_norm, norm_type), input)
    if scale_grad_by_freq:
        rows = create.graft(_by_frequency(rows, input, weight.shape[0]), create.detach(rows))
    if padding_idx is not None:
        at_padding = compare.eq(input, algebra.full_like(input, padding_idx))
        rows = compare.select(_spread(at_padding, rows), create.detach(rows), rows)
    return rows


# ----------------------------------------------------------------------------------------------------------- bags


def _bag_reference(
    input, weight, offsets=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean", sparse=False,
    per_sample_weights=None, include_last_offset=False, padding_idx=None,
):  # fmt: skip
    rows = _embedding_reference(input, weight, None, max_norm, norm_type)
    rows = rows if per_sample_weights is None else rows * per_sample_weights[..., None]
    if offsets is None:
        bags = [range(i * input.shape[1], (i + 1) * input.shape[1]) for i in range(len(input))]
    else:
        ends = offsets[1:] if include_last_offset else [*offsets[1:], len(input)]
        bags = [range(a, b) for a, b in zip(offsets, ends)]
    named, rows = input.reshape(-1), rows.reshape(-1, weight.shape[1])
    out = np.zeros((len(bags), weight.shape[1]), weight.dtype)
    for place, bag in enumerate(bags):
        kept = [i for i in bag if padding_idx is None or named[i] != padding_idx % len(weight)]
        if kept:
            out[place] = getattr(np, mode)(rows[kept], axis=0)
    return out


def _bag_renewed(args, params):
    (input, weight, *_), (max_norm, norm_type, *_) = args, params
    return {} if max_norm is None else {1: _renormed(weight, input, max_norm, norm_type)}


@composite(namespace=_F, reference=_bag_reference, traits={"writes": _bag_renewed})
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of the rows of weight [rows, D] that each bag of integers names: [bags, D]; 0 for an empty bag.

    The bags are the rows of input [bags, n], or, with 1-dim input, stretches of it that begin at ``offsets`` [bags] (of which the first
    is 0; with include_last_offset one more says where the last bag ends). ``per_sample_weights``, of input's shape, scale the rows of
    a sum. Entries of padding_idx count nothing. Other arguments are those of `embedding`.

    >>> import functorch_lite as fl
    >>> table = fl.asarray([[1.0], [2.0], [4.0]])
    >>> fl.nn.functional.embedding_bag(fl.asarray([0, 2, 1]), table, fl.asarray([0, 2]), mode="sum").tolist()
    [[5.0], [2.0]]
    """
    name = "embedding_bag"
    padding_idx = _checked(name, input, weight, padding_idx)
    require_arrays(name, offsets=offsets, per_sample_weights=per_sample_weights)
    require_floating(name, weight, "weight")
    require(mode in ("sum", "mean", "max"), name, f"mode has to be one of 'sum', 'mean' or 'max', got {mode!r}", ValueError)
    require(input.ndim in (1, 2), name, f"input has to be a 1D or 2D Array, got {shown(input)}", ValueError)
    _require_offsets(name, input, offsets, include_last_offset)
    if per_sample_weights is not None:
        ok = per_sample_weights.shape == input.shape
        require(ok, name, f"expected per_sample_weights of input's shape, got {shown(input, per_sample_weights)}", ValueError)
        ok = mode == "sum"
        require(ok, name, f"per_sample_weights is only supported for mode='sum' (got mode={mode!r})", NotImplementedError)
    rows = _rows(_looked_at(weight, input, max_norm, norm_type), input)
    if scale_grad_by_freq:
        rows = create.graft(_by_frequency(rows, input, weight.shape[0]), create.detach(rows))
    wide = to_dtype(rows, accumulator(rows.dtype))
    if per_sample_weights is not None:
        wide = elementwise.mul(wide, _spread(to_dtype(per_sample_weights, wide.dtype), wide))
    live = None if padding_idx is None else compare.ne(input, algebra.full_like(input, padding_idx))
    if offsets is None:
        out = _bags_of_rows(wide, live, mode)
    else:
        out = _bags_of_stretches(wide, live, mode, offsets, offsets.shape[0] - include_last_offset)
    return to_dtype(out, rows.dtype)


def _require_offsets(name, input, offsets, include_last_offset):
    if input.ndim == 2:
        require(offsets is None, name, f"with 2D input {shown(input)}, whose rows are the bags, offsets has to be None", ValueError)
        return
    require(offsets is not None, name, f"1D input {shown(input)} needs offsets, where each bag begins", ValueError)
    ok = offsets.ndim == 1 and offsets.dtype.category == INTEGER
    require(ok, name, f"offsets has to be a 1D Array of integers, got {shown(offsets)}", ValueError)
    require(offsets.shape[0] >= include_last_offset, name, "with include_last_offset offsets must have at least one element")


def _only(live, rows, otherwise: float = 0.0):
    """Rows that are live; `otherwise` in place of the others."""
    return rows if live is None else compare.select(_spread(live, rows), rows, algebra.full_like(rows, otherwise))


def _bags_of_rows(rows, live, mode):
    """rows [bags, n, D], live [bags, n]."""
    bags, n, d = rows.shape
    if n == 0:
        return create.full((bags, d), 0, rows.dtype)
    if mode == "max":
        best = reduce.argmax(create.detach(_only(live, rows, -math.inf)), 1)
        out = index.take_along(rows, shape.reshape(best, (bags, 1, d)), 1, "inside")
        some = None if live is None else reduce.reduce_any(live, (1,))
        return _only(some, shape.reshape(out, (bags, d)))
    total = reduce.reduce_sum(_only(live, rows), (1,))
    if mode == "sum" or live is None:
        return total if mode == "sum" else elementwise.scaled(total, 1 / n)
    return _averaged(total, reduce.reduce_sum(to_dtype(live, rows.dtype), (1,)))


def _averaged(total, count):
    return elementwise.div(total, _spread(compare.maximum(count, algebra.one_like(count)), total))


def _bags_of_stretches(rows, live, mode, offsets, bags):
    """rows [n, D], live [n], with the bags' starts."""
    n, d = rows.shape
    if bags == 0 or n == 0:
        return create.full((bags, d), 0, rows.dtype)
    first = shape.part(offsets, 0, 0, 1)
    zero_first = compare.eq(first, algebra.zeros(first.aval))
    offsets = checks.expect(
        offsets, zero_first, "RuntimeError", "embedding_bag: offsets[0] has to be 0: the first sequence begins the input"
    )
    starts = scatters.scatter_add(create.full((n,), 0, int32), create.full(offsets.shape, 1, int32), [offsets], (0,), (0,), mode="drop")
    bag = elementwise.sub(order.cumsum(starts, 0), create.full((n,), 1, int32))
    if live is not None:  # what counts nothing is in a bag that does not exist
        bag = compare.select(live, bag, algebra.full_like(bag, bags))
    where = (0,), (0,), ((), ()), 0, "drop"
    if mode == "max":
        return _largest(rows, bag, bags, where)
    total = scatters.scatter_add(create.full((bags, d), 0, rows.dtype), rows, [bag], *where)
    if mode == "sum":
        return total
    count = scatters.scatter_add(create.full((bags,), 0, rows.dtype), create.full((n,), 1, rows.dtype), [bag], *where)
    return _averaged(total, count)


def _largest(rows, bag, bags, where):
    """The largest of the rows of each bag, of which the first gets the gradient."""
    n, d = rows.shape
    held = create.detach(rows)
    best = scatters.scatter_max(create.full((bags, d), -math.inf, rows.dtype), held, [bag], *where)
    hit = bits.bitwise_or(compare.eq(held, index.gather(best, [bag], *where)), compare.ne(held, held))
    at = compare.select(hit, create.iota((n, d), 0, int32), create.full((n, d), n, int32))
    at = scatters.scatter_min(create.full((bags, d), n, int32), at, [bag], *where)
    return index.take_along(rows, at, 0, "drop")


# --------------------------------------------------------------------------------------------------------- classes


def _one_hot_reference(input, num_classes=-1):
    return np.eye(num_classes if num_classes > 0 else int(input.max()) + 1, dtype=np.int64)[input]


@composite(namespace=_F, name="one_hot", reference=_one_hot_reference)
def _one_hot(input: Tensor, num_classes: int) -> Tensor:
    """See the function of this name."""
    require(num_classes > 0, "one_hot", f"num_classes must be positive, got {num_classes}")
    target = (*input.shape, num_classes)
    x = to_dtype(input, int64)
    inside = bits.bitwise_and(compare.ge(x, algebra.zeros(x.aval)), compare.lt(x, algebra.full_like(x, num_classes)))
    x = checks.expect(x, inside, "RuntimeError", f"one_hot: class values must be non-negative and smaller than num_classes={num_classes}")
    at = shape.broadcast(x, target, tuple(range(input.ndim)))
    return to_dtype(compare.eq(at, create.iota(target, input.ndim, int64)), int64)


def _classes(input) -> int:
    """How many classes the data asks for."""
    try:
        data = np.asarray(input)
    except ConcretizationError as error:
        raise ConcretizationError(
            f"one_hot: num_classes=-1 counts the classes of input {shown(input)}, which has no data under a transform: give num_classes"
        ) from error
    require(data.size > 0, "one_hot", f"cannot infer the number of classes from an empty input {shown(input)}: give num_classes")
    return max(int(data.max()), 0) + 1


@faced
def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """1 (int64) at position input[*] of a new last dimension of num_classes, else 0.

    Without num_classes (or with -1) there are as many as the largest of input asks for, which reads the data: under a transform
    num_classes must be given. RuntimeError for a class out of range (unchecked under jit).

    >>> import functorch_lite as fl
    >>> fl.nn.functional.one_hot(fl.asarray([0, 2])).tolist()
    [[1, 0, 0], [0, 0, 1]]
    """
    require_arrays("one_hot", input=input)
    require(input.dtype.category == INTEGER, "one_hot", f"input must have an integer dtype, got {shown(input)}")
    return _one_hot(input, _classes(input) if num_classes == -1 else num_classes)


one_hot.op = _one_hot.op

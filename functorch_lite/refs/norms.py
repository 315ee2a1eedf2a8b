"""Norms, powers and products of matrices, as torch.linalg has them."""

from __future__ import annotations

import math

import numpy as np
import opt_einsum

from ..core.dtype import DType
from ..core.op import Dims, Tensor, Tensors, composite
from ..prims import algebra, compare, create, elementwise, linalg, matrix, parts, reduce, shape, spectral
from .arguments import accumulator, require, require_arrays, require_inexact, require_one_dtype, shown
from .equation import einsum
from .linalg import NAMESPACE
from .promotion import canonical_dim, canonical_dims, promoted, to_dtype
from .reduce import kept, nuclear_norm
from .reduce import norm as elementwise_norm
from .systems import inv, solve_square

# ------------------------------------------------------------------------------------------------------------- norms


def _vector_norm_reference(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    return elementwise_norm.op.reference(x, ord, dim, keepdim)


@composite(namespace=NAMESPACE, reference=_vector_norm_reference)
def vector_norm(input: Tensor, ord: float = 2, dim: Dims | None = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """sum(|x|^ord)^(1/ord) over dim (None: all dimensions); the largest |x| for inf, the smallest for -inf, the non-zeros for 0.

    The derivative where all elements are 0 is 0.
    """
    return elementwise_norm(input, ord, dim, keepdim, dtype=dtype)


_ORDERS = ("fro", "nuc", math.inf, -math.inf, 1, -1, 2, -2)


def _matrix_norm_of(x, ord):
    """The norm of matrices in the last two dimensions."""
    rows, columns = x.ndim - 2, x.ndim - 1
    if ord == "nuc":
        return nuclear_norm(x, (rows, columns))
    if ord in (2, -2):
        sizes = spectral.svd(x, False, False)[0]
    else:
        sizes = reduce.reduce_sum(elementwise.abs(x), (columns if math.isinf(ord) else rows,))
    if ord > 0 and sizes.shape[-1] == 0:  # the largest of none; the smallest raises
        return create.full(sizes.shape[:-1], 0, sizes.dtype)
    return (reduce.reduce_max if ord > 0 else reduce.reduce_min)(sizes, (rows,))


def _matrix_norm_reference(x, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    return np.linalg.norm(x, ord, dim, keepdim)


@composite(namespace=NAMESPACE, reference=_matrix_norm_reference)
def matrix_norm(
    input: Tensor, ord: float | str = "fro", dim: Dims = (-2, -1), keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """A norm of the matrices in the two dimensions dim: 'fro' (sum of squares), 'nuc' (sum of singular values), 2 and -2 (largest and
    smallest singular value), inf and -inf (largest and smallest sum of a row's absolute values), 1 and -1 (of a column's)."""
    name = "matrix_norm"
    require_arrays(name, input=input)
    require(ord in _ORDERS, name, f"ord must be one of {', '.join(map(repr, _ORDERS))}, got {ord!r}")
    require(input.ndim >= 2 and dim.__class__ is tuple and len(dim) == 2, name, f"expected two dimensions of {shown(input)}, got dim={dim}")
    if ord == "fro":
        return elementwise_norm(input, 2, dim, keepdim, dtype=dtype)
    x = input if dtype is None else to_dtype(input, dtype)
    require_inexact(name, x)
    rows, columns = (canonical_dim(name, d, x.ndim) for d in dim)
    require(rows != columns, name, f"the two dimensions must differ, got dim={dim}")
    lead = [d for d in range(x.ndim) if d not in (rows, columns)]
    return kept(_matrix_norm_of(shape.permute(x, (*lead, rows, columns)), ord), x, tuple(sorted((rows, columns))), keepdim)


def _norm_reference(x, ord=None, dim=None, keepdim=False, *, dtype=None):
    if ord is None:
        return elementwise_norm.op.reference(x, 2, dim, keepdim)
    return np.linalg.norm(x, ord, dim, keepdim)


@composite(namespace=NAMESPACE, reference=_norm_reference)
def norm(
    input: Tensor, ord: float | str | None = None, dim: Dims | None = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """`vector_norm` of one dimension (or, without ord, of any), `matrix_norm` of two; without dim, that of all dimensions.

    >>> import functorch_lite as fl
    >>> fl.linalg.norm(fl.asarray([[3.0, 0.0], [0.0, 4.0]])).item(), fl.linalg.norm(fl.asarray([[3.0, 0.0], [0.0, 4.0]]), 2).item()
    (5.0, 4.0)
    """
    if ord is None:
        return vector_norm(input, 2, dim, keepdim, dtype=dtype)
    count = input.ndim if dim is None else len(dim) if dim.__class__ is tuple else 1
    require(count in (1, 2), "norm", f"with ord={ord!r} expected one or two dimensions, got {shown(input)} and dim={dim}")
    if count == 2:
        return matrix_norm(input, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    require(not isinstance(ord, str), "norm", f"ord={ord!r} is a norm of matrices, got {shown(input)} and dim={dim}")
    return vector_norm(input, ord, dim, keepdim, dtype=dtype)


@composite(namespace=NAMESPACE, reference=lambda x, p=None: np.linalg.cond(x, p))
def cond(input: Tensor, p: float | str | None = None) -> Tensor:
    """The condition number |A| |A^-1| in the norm p of `matrix_norm`: without p, the quotient of largest and smallest singular value."""
    require_arrays("cond", input=input)
    require(p is None or p in _ORDERS, "cond", f"p must be None or one of {', '.join(map(repr, _ORDERS))}, got {p!r}")
    if 0 in input.shape[-2:]:
        return create.full(input.shape[:-2], 0, input.dtype.to_real())
    if p in (None, 2, -2):
        largest, smallest = (matrix_norm(input, order) for order in (2, -2))
        return elementwise.div(smallest, largest) if p == -2 else elementwise.div(largest, smallest)
    return elementwise.mul(matrix_norm(input, p), matrix_norm(inv(input), p))


def _normalize_reference(x, p=2.0, dim=1, eps=1e-12):
    return x / np.maximum(elementwise_norm.op.reference(x, p, dim, True), eps)


@composite(namespace="fl.nn.functional", reference=_normalize_reference)
def normalize(input: Tensor, p: float = 2.0, dim: Dims = 1, eps: float = 1e-12) -> Tensor:
    """input / max(its p-norm over dim, eps)."""
    require_arrays("normalize", input=input)
    require_inexact("normalize", input)
    size = elementwise_norm(input, p, dim)
    size = compare.maximum(size, algebra.full_like(size, eps))
    dims = canonical_dims("normalize", dim, input.ndim)
    return elementwise.div(input, to_dtype(reduce.spread(size, input, dims), input.dtype))


# ---------------------------------------------------------------------------------------------------------- products


@composite(namespace=NAMESPACE, method=True, reference=np.linalg.matrix_power)
def matrix_power(input: Tensor, n: int) -> Tensor:
    """The n-th power of square matrices by repeated squaring; the identity for n = 0, powers of the inverse for negative n."""
    name = "matrix_power"
    require_arrays(name, input=input)
    require(input.ndim >= 2 and input.shape[-1] == input.shape[-2], name, f"expected square matrices, got {shown(input)}")
    if n < 0:
        input, n = inv(input), -n
    if n == 0:
        return matrix.eye(input)
    out = None
    while n:
        if n % 2:
            out = input if out is None else matrix.matmul(out, input)
        n //= 2
        input = matrix.matmul(input, input) if n else input
    return out


@composite(namespace=NAMESPACE, reference=np.linalg.multi_dot)
def multi_dot(tensors: Tensors) -> Tensor:
    """The product of two or more matrices (the first and last may be vectors), in the order that takes the fewest multiplications."""
    name = "multi_dot"
    require(len(tensors) >= 2, name, f"expected at least 2 arrays, got {len(tensors)}")
    last = len(tensors) - 1
    ok = all(x.ndim == 2 or (x.ndim == 1 and i in (0, last)) for i, x in enumerate(tensors))
    require(ok, name, f"expected matrices, the first and last of which may be vectors, got {shown(*tensors)}")
    fits = all(x.shape[-1] == y.shape[0] for x, y in zip(tensors, tensors[1:]))
    require(fits, name, f"neighbouring sizes must be equal, got {shown(*tensors)}")
    letters = [opt_einsum.get_symbol(i) for i in range(last + 2)]
    terms = [letters[i] + letters[i + 1] for i in range(last + 1)]
    terms[0] = terms[0] if tensors[0].ndim == 2 else terms[0][1]
    terms[last] = terms[last] if tensors[last].ndim == 2 else terms[last][0]
    ends = "".join(t for t, x in ((letters[0], tensors[0]), (letters[last + 1], tensors[last])) if x.ndim == 2)
    require(len(letters) <= 52, name, f"at most 51 arrays, got {len(tensors)}")
    return einsum(",".join(terms) + "->" + ends, *tensors)


def _turned(x, dim, by):
    """x with its three elements along dim turned."""
    return shape.concatenate([shape.part(x, dim, by, 3), shape.part(x, dim, 0, by)], dim)


@composite(namespace=NAMESPACE, reference=lambda a, b, *, dim=-1: np.cross(a, b, axis=dim))
def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product along dim, of size 3; other dimensions broadcast."""
    name = "cross"
    require_arrays(name, input=input, other=other)
    require(input.ndim == other.ndim, name, f"both arguments must have as many dimensions, got {shown(input, other)}")
    a, b = promoted(input, other)
    dim = canonical_dim(name, dim, a.ndim)
    require(input.shape[dim] == other.shape[dim] == 3, name, f"dimension {dim} must have size 3, got {shown(input, other)}")
    first = elementwise.mul(_turned(a, dim, 1), _turned(b, dim, 2))
    return elementwise.sub(first, elementwise.mul(_turned(a, dim, 2), _turned(b, dim, 1)))


@composite(namespace=NAMESPACE, reference=lambda x, y, *, dim=-1: (np.conj(x) * y).sum(dim))
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The inner products sum(conj(x) y) along dim, with broadcasting."""
    require_one_dtype("vecdot", x=x, y=y)
    a, b = (to_dtype(v, accumulator(v.dtype)) for v in promoted(x, y))
    return to_dtype(reduce.reduce_sum(elementwise.mul(parts.conj_of(a), b), (canonical_dim("vecdot", dim, a.ndim),)), x.dtype)


# ------------------------------------------------------------------------------------------------------- exponential

# Numerator coefficients of the [13/13] Padé approximant of exp, over the first of them; the denominator's alternate in sign.
_PADE = tuple(
    [math.factorial(26 - k) * math.factorial(13) / (math.factorial(26) * math.factorial(k) * math.factorial(13 - k)) for k in range(14)]
)
_REACH = 5.37  # up to this 1-norm the approximant is exact to double precision
_SQUARINGS = 20  # which serves norms of up to 2**20 times that; a larger one gives NaN


def _combined(terms):
    return algebra.total([elementwise.scaled(x, c) for c, x in terms])


def _pade(a):
    """(odd part, even part) of the approximant's numerator."""
    one, mm, b = matrix.eye(a), matrix.matmul, _PADE
    a2 = mm(a, a)
    a4 = mm(a2, a2)
    a6 = mm(a4, a2)
    odd = mm(a6, _combined(((b[13], a6), (b[11], a4), (b[9], a2))))
    even = mm(a6, _combined(((b[12], a6), (b[10], a4), (b[8], a2))))
    odd = elementwise.add(odd, _combined(((b[7], a6), (b[5], a4), (b[3], a2), (b[1], one))))
    return mm(a, odd), elementwise.add(even, _combined(((b[6], a6), (b[4], a4), (b[2], a2), (b[0], one))))


def _expm_reference(a):
    from scipy.linalg import expm

    return expm(a)


@composite(namespace=NAMESPACE, method=True, reference=_expm_reference)
def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of square matrices, sum of input^k / k!: scaled by a power of two, approximated, and squared that often.

    (Higham, The scaling and squaring method for the matrix exponential revisited, 2005.) How often depends on the data, so the
    program has 20 squarings, of which each matrix takes those that it needs; a 1-norm beyond 5.6 million gives NaN.

    >>> import functorch_lite as fl
    >>> fl.linalg.matrix_exp(fl.zeros(2, 2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    require_arrays("matrix_exp", input=input)
    linalg.require_matrices("matrix_exp", input.aval, square=True)
    if 0 in input.shape:
        return input
    size = create.detach(matrix_norm(input, 1))
    least = algebra.full_like(size, _REACH)
    times = elementwise.ceil(elementwise.log2(elementwise.div(compare.maximum(size, least), least)))
    along = lambda v: shape.broadcast(v, input.shape, tuple(range(input.ndim - 2)))
    shrink = elementwise.exp2(elementwise.neg(times))
    odd, even = _pade(elementwise.mul(input, along(to_dtype(shrink, input.dtype))))
    out = solve_square(elementwise.sub(even, odd), elementwise.add(even, odd))[0]
    nothing = algebra.zeros(out.aval)
    for k in range(_SQUARINGS):
        more = along(compare.gt(times, algebra.full_like(times, k)))
        base = compare.select(more, out, nothing)  # so that nothing overflows where no square is taken
        out = compare.select(more, matrix.matmul(base, base), out)
    served = along(compare.le(times, algebra.full_like(times, _SQUARINGS)))
    return compare.select(served, out, algebra.full_like(out, math.nan))


__all__ = ["matrix_exp", "matrix_power"]

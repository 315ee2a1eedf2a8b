"""Reductions: sums, means and variances, logic, exponentials and norms. Half-width floats are summed in float32."""

from __future__ import annotations

import math
from numbers import Number
from typing import NamedTuple

import numpy as np

from ..core.array import Array
from ..core.dtype import DType, bool_, int64, uint8
from ..core.op import Dims, Tensor, composite
from ..prims import algebra, bits, compare, create, elementwise, parts, reduce, shape, spectral
from .arguments import accumulator, require, require_inexact, shown
from .compare import truth
from .elementwise import root, sub
from .families import method
from .promotion import array_of, canonical_dims, float_of, to_dtype


def kept(out, x, dims, keepdim: bool):
    """The result of reducing `dims` of x, with those dimensions of size 1 where they are to stay."""
    return shape.reshape(out, tuple([1 if i in dims else n for i, n in enumerate(x.shape)])) if keepdim and x.ndim else out


def _axis(dim):
    """dims as NumPy takes them."""
    return tuple(dim) if isinstance(dim, list) else None if dim == () else dim


def by_numpy(f, **fixed):
    """A reference by NumPy: dim and keepdim by its names; 0-dim arrays have no axis."""

    def reference(x, dim=None, keepdim=False, **rest):
        out = f(x, axis=_axis(dim) if np.ndim(x) else None, keepdims=keepdim, **fixed, **rest)
        return np.asarray(out)

    return reference


# --------------------------------------------------------------------------------------------------- sums, products


def _accumulated(prim, x, dims, dtype: DType):
    """The reduction of x by a prim, in a dtype that is wide enough."""
    return to_dtype(prim(to_dtype(x, accumulator(dtype)), dims), dtype)


def sum_dtype(x, dtype: DType | None) -> DType:
    return dtype or (x.dtype if x.dtype.is_inexact else int64)


def _sum_reference(x, dim=None, keepdim=False, *, dtype=None):
    return by_numpy(np.sum)(x if dtype is None else x.astype(dtype.dtype), dim, keepdim)


@composite(method=True, reference=_sum_reference)
def sum(input: Tensor, dim: Dims | None = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """The sum over dim (an int or several; None: all of them). Integers and bools give int64; ``dtype`` is converted to first.

    >>> import functorch_lite as fl
    >>> fl.sum(fl.asarray([[1, 2], [3, 4]]), dim=1, keepdim=True).tolist()
    [[3], [7]]
    """
    x = array_of(input)
    dims = canonical_dims("sum", dim, x.ndim)
    return kept(_accumulated(reduce.reduce_sum, x, dims, sum_dtype(x, dtype)), x, dims, keepdim)


@composite(method=True, reference=lambda x, dim=None, keepdim=False, *, dtype=None: by_numpy(np.prod)(x, dim, keepdim))
def prod(input: Tensor, dim: Dims | None = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """The product over dim (None: all dimensions). Integers and bools give int64. Its derivative is exact where elements are 0.

    >>> import functorch_lite as fl
    >>> fl.prod(fl.asarray([2, 3, 4])).item()
    24
    """
    x = array_of(input)
    dims = canonical_dims("prod", dim, x.ndim)
    return kept(_accumulated(reduce.reduce_prod, x, dims, sum_dtype(x, dtype)), x, dims, keepdim)


def count(x, dims) -> int:
    return math.prod([x.shape[d] for d in dims])


def _over(total, n):
    return elementwise.div(total, algebra.full_like(total, n))


@composite(method=True, reference=lambda x, dim=None, keepdim=False, *, dtype=None: by_numpy(np.mean)(x, dim, keepdim))
def mean(input: Tensor, dim: Dims | None = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """The mean over dim (None: all dimensions), NaN of no elements. RuntimeError for integers, unless a float dtype is given.

    >>> import functorch_lite as fl
    >>> fl.mean(fl.asarray([1.0, 2.0, 6.0])).item()
    3.0
    """
    x = array_of(input)
    if dtype is None:
        require_inexact("mean", x)
    require((dtype or x.dtype).is_inexact, "mean", f"dtype must be a float or complex one, got {dtype}")
    dims = canonical_dims("mean", dim, x.ndim)
    dtype = dtype or x.dtype
    total = reduce.reduce_sum(to_dtype(x, accumulator(dtype)), dims)
    return kept(to_dtype(_over(total, count(x, dims)), dtype), x, dims, keepdim)


def _isnan(x):
    return compare.ne(x, x)


def _without_nan(x):
    return compare.select(_isnan(x), algebra.zeros(x.aval), x) if x.dtype.is_inexact else x


@composite(method=True, reference=lambda x, dim=None, keepdim=False, *, dtype=None: by_numpy(np.nansum)(x, dim, keepdim))
def nansum(input: Tensor, dim: Dims | None = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """`sum`, NaN counting as 0.

    >>> import functorch_lite as fl
    >>> fl.nansum(fl.asarray([1.0, float("nan")])).item()
    1.0
    """
    return sum(_without_nan(array_of(input)), dim, keepdim, dtype=dtype)


@composite(method=True, reference=lambda x, dim=None, keepdim=False, *, dtype=None: by_numpy(np.nanmean)(x, dim, keepdim))
def nanmean(input: Tensor, dim: Dims | None = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """`mean` of the elements that are not NaN.

    >>> import functorch_lite as fl
    >>> fl.nanmean(fl.asarray([1.0, float("nan"), 3.0])).item()
    2.0
    """
    x = array_of(input)
    require_inexact("nanmean", x)
    total = sum(_without_nan(x), dim, keepdim, dtype=dtype)
    number = sum(bits.bitwise_not(_isnan(x)), dim, keepdim)
    return elementwise.div(total, to_dtype(number, total.dtype))


@composite(method=True, reference=by_numpy(np.count_nonzero))
def count_nonzero(input: Tensor, dim: Dims | None = None) -> Tensor:
    """How many elements over dim (None: all dimensions) are not 0, as int64.

    >>> import functorch_lite as fl
    >>> fl.count_nonzero(fl.asarray([0, 3, 4])).item()
    2
    """
    return sum(truth(input), dim)


# ------------------------------------------------------------------------------------------------------- variances


class VarMean(NamedTuple):
    """What `var_mean` returns."""

    var: Array
    mean: Array


class StdMean(NamedTuple):
    """What `std_mean` returns."""

    std: Array
    mean: Array


def _variance(name, input, dim, correction, keepdim):
    """(variance, mean) over dim, in two passes: the mean, then the mean square of what is left."""
    x = array_of(input)
    require_inexact(name, x)
    dims = canonical_dims(name, dim, x.ndim)
    wide = to_dtype(x, accumulator(x.dtype))
    n = count(x, dims)
    center = _over(reduce.reduce_sum(wide, dims), n)
    rest = elementwise.sub(wide, reduce.spread(center, wide, dims))
    power = parts.real(elementwise.mul(rest, parts.conj(rest))) if x.dtype.is_complex else elementwise.mul(rest, rest)
    spread = _over(reduce.reduce_sum(power, dims), max(n - correction, 0))
    return tuple([kept(to_dtype(y, t), x, dims, keepdim) for y, t in ((spread, x.dtype.to_real()), (center, x.dtype))])


def _var_reference(f):
    def reference(x, dim=None, *, correction=1, keepdim=False):
        return by_numpy(f, ddof=correction)(x, dim, keepdim)

    return reference


def _both(f):
    return lambda x, dim=None, **rest: (_var_reference(f)(x, dim, **rest), by_numpy(np.mean)(x, dim, rest.get("keepdim", False)))


@composite(name="var", reference=_var_reference(np.var))
def _var(input: Tensor, dim: Dims | None = None, *, correction: Number = 1, keepdim: bool = False) -> Tensor:
    """The variance over dim."""
    return _variance("var", input, dim, correction, keepdim)[0]


@composite(name="std", reference=_var_reference(np.std))
def _std(input: Tensor, dim: Dims | None = None, *, correction: Number = 1, keepdim: bool = False) -> Tensor:
    """The standard deviation over dim."""
    return root(_variance("std", input, dim, correction, keepdim)[0])


@composite(name="var_mean", multi=True, returns=VarMean, reference=_both(np.var))
def _var_mean(input: Tensor, dim: Dims | None = None, *, correction: Number = 1, keepdim: bool = False) -> tuple:
    """(variance, mean) over dim."""
    return _variance("var_mean", input, dim, correction, keepdim)


@composite(name="std_mean", multi=True, returns=StdMean, reference=_both(np.std))
def _std_mean(input: Tensor, dim: Dims | None = None, *, correction: Number = 1, keepdim: bool = False) -> tuple:
    """(standard deviation, mean) over dim."""
    spread, center = _variance("std_mean", input, dim, correction, keepdim)
    return root(spread), center


def _spread(name, op, doc, example):
    """PyTorch's two spellings of the divisor: n - correction, or unbiased (correction 1) and not (0)."""

    def f(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
        if dim.__class__ is bool:
            dim, unbiased = None, dim
        if correction is None:
            correction = 1 if unbiased is None else int(unbiased)
        return op(input, dim, correction=correction, keepdim=keepdim)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"{doc} over dim (None: all dimensions): sums are divided by n - correction (1 unless given; ``unbiased=False`` means 0).\n\n"
        f"RuntimeError for integers.\n\n>>> import functorch_lite as fl\n>>> {example}\n"
    )
    f.op = op.op
    return method(f) if name in ("var", "std") else f


var = _spread("var", _var, "The variance", "fl.var(fl.asarray([1.0, 2.0, 3.0])).item()\n1.0")
std = _spread(
    "std", _std, "The standard deviation (whose derivative is 0 where it is 0)", "fl.std(fl.asarray([1.0, 2.0, 3.0])).item()\n1.0"
)
var_mean = _spread("var_mean", _var_mean, "Variance and mean", "fl.var_mean(fl.asarray([1.0, 2.0, 3.0])).mean.item()\n2.0")
std_mean = _spread("std_mean", _std_mean, "Standard deviation and mean", "fl.std_mean(fl.asarray([1.0, 2.0, 3.0])).std.item()\n1.0")

# ------------------------------------------------------------------------------------------------------------ logic


def _logical(name, prim, reference, doc):
    def f(input: Tensor, dim: Dims | None = None, keepdim: bool = False) -> Tensor:
        x = array_of(input)
        dims = canonical_dims(name, dim, x.ndim)
        out = kept(prim(to_dtype(x, bool_), dims), x, dims, keepdim)
        return to_dtype(out, uint8) if x.dtype is uint8 else out

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"Whether {doc} over dim (None: all dimensions) is not 0, as bool (uint8 for uint8)."
    return composite(f, method=True, reference=by_numpy(reference))


any = _logical("any", reduce.reduce_any, np.any, "any element")
all = _logical("all", reduce.reduce_all, np.all, "every element")

# -------------------------------------------------------------------------------------------- exponentials and norms


def _logsumexp_reference(x, dim, keepdim=False):
    from scipy.special import logsumexp

    return np.asarray(logsumexp(x, axis=_axis(dim) if x.ndim else None, keepdims=keepdim))


@composite(method=True, reference=_logsumexp_reference)
def logsumexp(input: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    """log(sum(exp(input))) over dim, without overflow; integers become float32. -inf of no elements.

    >>> import functorch_lite as fl
    >>> fl.logsumexp(fl.asarray([1000.0, 1000.0]), dim=0).item()
    1000.693...
    """
    x = float_of(input)
    dims = canonical_dims("logsumexp", dim, x.ndim)
    if x.aval.size == 0 and count(x, dims) == 0:
        out = create.full(reduce.reduced(x, dims), float("-inf"), x.dtype)
        return kept(out, x, dims, keepdim)
    wide = to_dtype(x, accumulator(x.dtype))
    top = reduce.peak(parts.real(wide) if x.dtype.is_complex else wide, dims)
    top = to_dtype(compare.select(compare.isfinite(top), top, algebra.zeros(top.aval)), wide.dtype)
    total = reduce.reduce_sum(elementwise.exp(elementwise.sub(wide, reduce.spread(top, wide, dims))), dims)
    return kept(to_dtype(elementwise.add(elementwise.log(total), top), x.dtype), x, dims, keepdim)


@logsumexp.defvjp
def _logsumexp_vjp(wanted, ct, ans, x, dim, keepdim):
    """ct * softmax(x): the weights are exp(x - ans), and 0 where ans is -inf."""
    dims = canonical_dims("logsumexp", dim, x.ndim)
    x_float = float_of(x)
    ct, ans = [shape.reshape(y, reduce.reduced(x, dims)) for y in (ct, ans)]
    size = parts.real(ans) if ans.dtype.is_complex else ans
    nothing = compare.eq(size, algebra.full_like(size, float("-inf")))
    ans = compare.select(nothing, algebra.zeros(ans.aval), ans)
    weight = elementwise.exp(elementwise.sub(x_float, reduce.spread(ans, x_float, dims)))
    return (elementwise.mul(reduce.spread(ct, x_float, dims), parts.conj_of(weight)),)


def _norm_reference(x, p="fro", dim=None, keepdim=False, *, dtype=None):
    if p == "nuc":
        return np.asarray(np.linalg.norm(x, "nuc", (0, 1) if dim is None else dim, keepdim))
    x = np.abs(x)
    p = 2 if p == "fro" else p
    if p in (math.inf, -math.inf):
        return by_numpy(np.max if p > 0 else np.min)(x, dim, keepdim)
    return by_numpy(np.sum)(x**p, dim, keepdim) ** (1 / p) if p else by_numpy(np.sum)(x != 0, dim, keepdim).astype(x.dtype)


@composite(method=True, reference=_norm_reference)
def norm(input: Tensor, p: Number = "fro", dim: Dims | None = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """The vector norm over dim (None: all dimensions): sum(|x|**p) ** (1/p), the largest |x| for p = inf, the smallest for -inf, and
    the number of elements that are not 0 for p = 0. 'fro' is p = 2; 'nuc' is the sum of the singular values, of two dimensions.

    Its derivative where all elements are 0 is 0. RuntimeError for integers, unless a dtype is given.

    >>> import functorch_lite as fl
    >>> fl.norm(fl.asarray([3.0, 4.0])).item(), fl.norm(fl.asarray([3.0, -4.0]), p=1).item()
    (5.0, 7.0)
    """
    x = array_of(input)
    x = x if dtype is None else to_dtype(x, dtype)
    require_inexact("norm", x)
    if p == "nuc":
        ok = x.ndim == 2 if dim is None else dim.__class__ is tuple and len(dim) == 2
        require(ok, "norm", f"the nuclear norm is of matrices: expected two dimensions, got {shown(x)} and dim={dim}")
        return kept(nuclear_norm(x, dims := canonical_dims("norm", dim, x.ndim)), x, dims, keepdim)
    p = 2.0 if p is None or p == "fro" else p
    require(isinstance(p, (int, float)), "norm", f"p must be a number or 'fro', got {p!r}")
    dims = canonical_dims("norm", dim, x.ndim)
    wide = to_dtype(x, accumulator(x.dtype))
    return kept(to_dtype(_norm(wide, float(p), dims), x.dtype.to_real()), x, dims, keepdim)


def nuclear_norm(x, dims):
    """The sum of the singular values of the matrices in two dimensions."""
    lead = [d for d in range(x.ndim) if d not in dims]
    return reduce.reduce_sum(spectral.svd(shape.permute(x, (*lead, *dims)), False, False)[0], (len(lead),))


def _norm(x, p, dims):
    if p == 2:
        square = parts.real(elementwise.mul(x, parts.conj(x))) if x.dtype.is_complex else elementwise.mul(x, x)
        return root(reduce.reduce_sum(square, dims))
    size = elementwise.abs(x)
    if p == 1:
        return reduce.reduce_sum(size, dims)
    if math.isinf(p):
        return (reduce.reduce_max if p > 0 else reduce.reduce_min)(size, dims)
    if p == 0:
        return reduce.reduce_sum(to_dtype(compare.ne(size, algebra.zeros(size.aval)), size.dtype), dims)
    return _power(reduce.reduce_sum(_power(size, p), dims), 1 / p)


def _power(x, p):
    """x ** p of x >= 0, with the derivative 0 at 0."""
    zero = compare.eq(x, algebra.zeros(x.aval))
    at_zero = algebra.full_like(x, 0 if p > 0 else math.inf)
    return compare.select(zero, at_zero, elementwise.pow(compare.select(zero, algebra.one_like(x), x), algebra.full_like(x, p)))


@method
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of input - other.

    >>> import functorch_lite as fl
    >>> fl.dist(fl.asarray([3.0, 4.0]), fl.asarray([0.0, 0.0])).item()
    5.0
    """
    return norm(sub(input, other), p)


__all__ = "all any count_nonzero dist logsumexp mean nanmean nansum norm prod std std_mean sum var var_mean".split()

"""Products of vectors, matrices and their batches: one contraction by labels, which every op here spells in its own way."""

from __future__ import annotations

import numpy as np

from ..core.dtype import COMPLEX, FLOAT, bool_, category_of
from ..core.op import Tensor, composite
from ..prims import contract, elementwise, reduce, shape
from .arguments import accumulator, require, require_arrays, require_one_dtype, shown
from .elementwise import add, mul
from .promotion import broadcast_shapes, canonical_dim, expand_to, result_type, to_dtype

# ----------------------------------------------------------------------------------------------- the labelled product


def contracted(x, xs, y, ys, out):
    """The product of x and y, their dimensions labelled by xs and ys, summed over the labels that `out` does not have.

    Dimensions of one label have one size. Labels of both that stay are batches; what only one has is summed before.
    """
    x, xs = summed(x, xs, {*ys, *out})
    y, ys = summed(y, ys, {*xs, *out})
    both = [n for n in xs if n in ys]
    over = [n for n in both if n not in out]
    batch = [n for n in both if n in out]
    free = [n for n in xs if n not in both], [n for n in ys if n not in both]
    if not over:
        return elementwise.mul(_spread(x, xs, y, ys, out), _spread(y, ys, x, xs, out))
    places = [tuple([tuple(map(labels.index, names)) for labels in (xs, ys)]) for names in (over, batch)]
    z = contract.dot_general(x, y, *places)
    return arranged(z, [*batch, *free[0], *free[1]], out)


def summed(x, labels, keep):
    """x summed over the dimensions whose label is not in `keep`, and the labels that are left."""
    gone = tuple([d for d, n in enumerate(labels) if n not in keep])
    if not gone:
        return x, list(labels)
    total = reduce.reduce_sum(to_dtype(x, accumulator(x.dtype)), gone)
    return to_dtype(total, x.dtype), [n for n in labels if n in keep]


def arranged(x, labels, out):
    """x with its dimensions in the order of `out`."""
    order = tuple(map(labels.index, out))
    return x if order == tuple(range(x.ndim)) else shape.permute(x, order)


def _spread(x, xs, y, ys, out):
    """x in the order of `out`, broadcast along the dimensions that only y has."""
    sizes = dict(zip(ys, y.shape)) | dict(zip(xs, x.shape))
    mine = [n for n in out if n in xs]
    target = tuple([sizes[n] for n in out])
    x = arranged(x, xs, mine)
    return x if x.shape == target else shape.broadcast(x, target, tuple(map(list(out).index, mine)))


def without_ones(x, labels, sizes):
    """x without the dimensions of size 1 that broadcast to a larger one, and the labels that are left."""
    kept = [d for d, n in enumerate(labels) if x.shape[d] == sizes[n]]
    if len(kept) == len(labels):
        return x, list(labels)
    return shape.reshape(x, tuple([x.shape[d] for d in kept])), [labels[d] for d in kept]


def size_of_labels(name, operands):
    """The size of each label in [(array, labels)], where 1 broadcasts."""
    sizes: dict = {}
    for x, labels in operands:
        for n, size in zip(labels, x.shape):
            known = sizes.setdefault(n, size)
            if size != known and 1 not in (size, known):
                raise RuntimeError(
                    f"{name}: sizes {known} and {size} do not broadcast, in {shown(*[x for x, _ in operands])}; each must be equal or 1"
                )
            sizes[n] = size if known == 1 else known
    return sizes


# ---------------------------------------------------------------------------------------------------------- matmul


@composite(method=True, reference=np.matmul)
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product of input [..., n, k] and other [..., k, m]; leading dimensions broadcast, and a 1-dim argument is a vector.

    Both have one dtype (float, complex or integer). Raises RuntimeError for 0-dim arguments and for sizes that do not match.

    >>> import functorch_lite as fl
    >>> fl.matmul(fl.asarray([[1, 2], [3, 4]]), fl.asarray([1, 1])).tolist()
    [3, 7]
    """
    require_one_dtype("matmul", input=input, other=other)
    require(input.ndim > 0 and other.ndim > 0, "matmul", f"both arguments need to be at least 1-dimensional, got {shown(input, other)}")
    row = max(other.ndim - 2, 0)
    k, m = input.shape[-1], other.shape[row]
    expected = f"the last dimension of input and dimension {row} of other must be equal"
    require(k == m, "matmul", f"shapes cannot be multiplied ({k} and {m}): {expected}, got {shown(input, other)}")
    if other.ndim <= 2:
        return contract.dot_general(input, other, ((input.ndim - 1,), (row,)), ((), ()))
    xs = [*range(-max(input.ndim - 2, 0), 0), *(["row"] if input.ndim > 1 else []), "sum"]
    ys = [*range(-max(other.ndim - 2, 0), 0), "sum", *(["column"] if other.ndim > 1 else [])]
    sizes = size_of_labels("matmul", [(input, xs), (other, ys)])
    batch = range(-max(input.ndim - 2, other.ndim - 2, 0), 0)
    out = [*batch, *[n for n in ("row", "column") if n in xs or n in ys]]
    return contracted(*without_ones(input, xs, sizes), *without_ones(other, ys, sizes), out)


def _require_products(name, ranks, **named):
    """Two arguments that must have these ranks and fit each other; `named` has them under PyTorch's names."""
    (x, a), (y, b) = named.items()
    require_one_dtype(name, **named)
    kinds = {1: "a vector", 2: "a matrix", 3: "a batch of matrices"}
    expected = f"expected {x} to be {kinds[ranks[0]]} and {y} to be {kinds[ranks[1]]}"
    require((a.ndim, b.ndim) == ranks, name, f"{expected}, got {shown(a, b)}")
    row = max(b.ndim - 2, 0)
    fits = a.shape[: a.ndim - 2] == b.shape[:row] or a.ndim < 3
    require(fits and a.shape[-1] == b.shape[row], name, f"{x} and {y} shapes cannot be multiplied, got {shown(a, b)}")


def _product(name, ranks, **named):
    """matmul of two arguments that must have these ranks."""
    _require_products(name, ranks, **named)
    a, b = named.values()
    row = max(b.ndim - 2, 0)
    lead = tuple(range(a.ndim - 2))
    return contract.dot_general(a, b, ((a.ndim - 1,), (row,)), (lead, lead))


@composite(method=True, reference=np.matmul)
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices, [n, k] and [k, m]: `matmul` without broadcasting."""
    return _product("mm", (2, 2), input=input, mat2=mat2)


@composite(method=True, reference=np.matmul)
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of two batches of matrices, [b, n, k] and [b, k, m]."""
    return _product("bmm", (3, 3), input=input, mat2=mat2)


@composite(method=True, reference=np.matmul)
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix [n, k] and a vector [k]."""
    return _product("mv", (2, 1), input=input, vec=vec)


@composite(method=True, reference=np.dot)
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The sum of products of two vectors [k], without conjugation (see `vdot`)."""
    return _product("dot", (1, 1), input=input, tensor=tensor)


@composite(method=True, reference=np.vdot)
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The inner product of two vectors, input conjugated: sum(conj(input) * other)."""
    require_one_dtype("vdot", input=input, other=other)
    require(input.ndim == other.ndim == 1, "vdot", f"expected two vectors, got {shown(input, other)}")
    return dot(elementwise.conj_of(input), other)


@composite(method=True, reference=np.inner)
def inner(input: Tensor, other: Tensor) -> Tensor:
    """The products of the rows along the last dimensions: out[i..., j...] = sum_k input[i..., k] other[j..., k]; a scalar scales."""
    require_one_dtype("inner", input=input, other=other)
    if input.ndim == 0 or other.ndim == 0:
        return mul(input, other)
    require(input.shape[-1] == other.shape[-1], "inner", f"the last dimensions must have one size, got {shown(input, other)}")
    return contract.dot_general(input, other, ((input.ndim - 1,), (other.ndim - 1,)), ((), ()))


@composite(method=True, reference=np.outer)
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The product of every element of one vector with every one of another: out[i, j] = input[i] vec2[j]."""
    require_arrays("outer", input=input, vec2=vec2)
    require(input.ndim == vec2.ndim == 1, "outer", f"expected two vectors, got {shown(input, vec2)}")
    return mul(shape.reshape(input, (*input.shape, 1)), vec2)


@composite(method=True, reference=np.kron)
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: blocks of `other`, scaled by each element of input. The smaller rank is filled up with ones in front."""
    require_arrays("kron", input=input, other=other)
    ndim = max(input.ndim, other.ndim)
    a, b = [(1,) * (ndim - x.ndim) + x.shape for x in (input, other)]
    wide = mul(shape.reshape(input, tuple([m for n in a for m in (n, 1)])), shape.reshape(other, tuple([m for n in b for m in (1, n)])))
    return shape.reshape(wide, tuple([m * n for m, n in zip(a, b)]))


def _tensordot_reference(a, b, dims=2):
    return np.tensordot(a, b, dims if isinstance(dims, int) else tuple([(d,) if isinstance(d, int) else d for d in dims]))


@composite(reference=_tensordot_reference)
def tensordot(a: Tensor, b: Tensor, dims: object = 2) -> Tensor:
    """The contraction of a and b over dims: an int n (the last n dimensions of a with the first n of b) or two lists that pair dimensions.

    >>> import functorch_lite as fl
    >>> fl.tensordot(fl.ones(2, 3, 4), fl.ones(4, 3, 5), dims=([1, 2], [1, 0])).shape
    (2, 5)
    """
    require_one_dtype("tensordot", a=a, b=b)
    if dims.__class__ is int:
        require(
            0 <= dims <= min(a.ndim, b.ndim),
            "tensordot",
            f"expected 0 <= dims <= the rank of each argument, got dims={dims}, {shown(a, b)}",
        )
        dims_a, dims_b = range(a.ndim - dims, a.ndim), range(dims)
    else:
        require(len(dims) == 2, "tensordot", f"dims must be an int or two lists of dimensions, got {dims}")
        dims_a, dims_b = [(d,) if d.__class__ is int else d for d in dims]
    dims_a = [canonical_dim("tensordot", d, a.ndim) for d in dims_a]
    dims_b = [canonical_dim("tensordot", d, b.ndim) for d in dims_b]
    require(len(dims_a) == len(dims_b), "tensordot", f"both lists of dims must be of one length, got {dims_a} and {dims_b}")
    ok = len(set(dims_a)) == len(dims_a) and len(set(dims_b)) == len(dims_b)
    require(ok, "tensordot", f"a dimension appears twice in dims={dims}")
    xs, ys = list(range(a.ndim)), [100 + d for d in range(b.ndim)]
    for i, j in zip(dims_a, dims_b):
        ys[j] = xs[i]
    sizes = size_of_labels("tensordot", [(a, xs), (b, ys)])
    out = [n for n in xs if n not in ys] + [n for n in ys if n not in xs]
    return contracted(*without_ones(a, xs, sizes), *without_ones(b, ys, sizes), out)


# --------------------------------------------------------------------------------------------- added to a product


def _scalar(name, argument, number, dtype, whole: bool):
    """A factor as a number of this dtype's kind: of integers it is cut to one, or (``whole``) must be one."""
    kind = category_of(number)
    require(kind != COMPLEX or dtype.is_complex, name, f"{argument}={number} cannot be converted to {dtype}")
    if dtype.is_inexact:
        return number
    require(not whole or kind != FLOAT, name, f"for integral arrays, {argument} must not be a floating point number, got {number}")
    return bool(number) if dtype is bool_ else int(number)


def _added(name, product, input, beta, alpha, whole=False, **named):
    """beta * input + alpha * product(...); with beta 0 input is not read at all, so its NaNs do not spread."""
    require_one_dtype(name, input=input, **named)
    beta, alpha = (_scalar(name, n, v, input.dtype, whole) for n, v in (("beta", beta), ("alpha", alpha)))
    out = to_dtype(product(*named.values()), accumulator(input.dtype))  # rounded to half width once, at the end
    out = out if alpha == 1 else mul(out, alpha)
    if beta == 0:
        return to_dtype(out, input.dtype)
    fits = broadcast_shapes(input.shape, out.shape) == out.shape
    require(fits, name, f"input {input.aval} does not broadcast to the product's shape {list(out.shape)}")
    wide = to_dtype(input, out.dtype)
    return to_dtype(add(expand_to(wide if beta == 1 else mul(wide, beta), out.shape), out), input.dtype)


def _added_reference(product):
    return lambda input, a, b, *, beta=1, alpha=1: beta * input + alpha * product(a, b)


@composite(method=True, reference=_added_reference(np.matmul))
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2), input broadcast. With beta=0 input is not read.

    >>> import functorch_lite as fl
    >>> fl.addmm(fl.ones(2), fl.ones(1, 3), fl.ones(3, 2), beta=2).tolist()
    [[5.0, 5.0]]
    """
    return _added("addmm", mm, input, beta, alpha, mat1=mat1, mat2=mat2)


@composite(method=True, reference=_added_reference(np.matmul))
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2), input broadcast. With beta=0 input is not read."""
    return _added("baddbmm", bmm, input, beta, alpha, batch1=batch1, batch2=batch2)


@composite(method=True, reference=_added_reference(lambda a, b: np.matmul(a, b).sum(0)))
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (the sum of the products batch1[i] @ batch2[i]), input broadcast. With beta=0 input is not read."""
    return _added("addbmm", _summed_products, input, beta, alpha, batch1=batch1, batch2=batch2)


def _summed_products(batch1, batch2):
    """The sum of the products of two batches of matrices, as one contraction."""
    _require_products("addbmm", (3, 3), batch1=batch1, batch2=batch2)
    return contract.dot_general(batch1, batch2, ((0, 2), (0, 1)), ((), ()))


@composite(method=True, reference=_added_reference(np.matmul))
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * (mat @ vec), input broadcast. With beta=0 input is not read."""
    return _added("addmv", mv, input, beta, alpha, mat=mat, vec=vec)


@composite(method=True, reference=_added_reference(np.outer))
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2), all promoted to one dtype, input broadcast. With beta=0 input is not read."""
    require_arrays("addr", input=input, vec1=vec1, vec2=vec2)
    dtype = result_type(input, vec1, vec2)
    input, vec1, vec2 = (to_dtype(x, dtype) for x in (input, vec1, vec2))
    return _added("addr", outer, input, beta, alpha, True, vec1=vec1, vec2=vec2)


def _linear_reference(input, weight, bias=None):
    out = input @ weight.T
    return out if bias is None else out + bias


@composite(namespace="fl.nn.functional", reference=_linear_reference)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias, for input [..., in], weight [out, in] (or [in]: no last dimension) and bias [out].

    >>> import functorch_lite as fl
    >>> fl.nn.functional.linear(fl.ones(2, 3), fl.ones(4, 3), fl.ones(4)).tolist()[0]
    [4.0, 4.0, 4.0, 4.0]
    """
    require_one_dtype("linear", input=input, weight=weight, bias=bias)
    require(weight.ndim in (1, 2), "linear", f"weight must be [out, in] or [in], got {weight.aval}")
    ok = input.ndim > 0 and input.shape[-1] == weight.shape[-1]
    require(ok, "linear", f"the last dimensions of input {input.aval} and weight {weight.aval} must be equal")
    out = contract.dot_general(input, weight, ((input.ndim - 1,), (weight.ndim - 1,)), ((), ()))
    if bias is None:
        return out
    ok = bias.shape in ((), weight.shape[:-1], (1,) * (weight.ndim - 1))
    require(ok, "linear", f"bias must be {list(weight.shape[:-1])} for weight {weight.aval}, got {bias.aval}")
    return elementwise.add(out, expand_to(bias, out.shape))


def _bilinear_reference(input1, input2, weight, bias=None):
    out = np.einsum("...i,kij,...j->...k", input1, weight, input2)
    return out if bias is None else out + bias


@composite(namespace="fl.nn.functional", reference=_bilinear_reference)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """out[..., k] = sum_ij input1[..., i] weight[k, i, j] input2[..., j] + bias[k]; leading dimensions of the inputs are equal."""
    require_one_dtype("bilinear", input1=input1, input2=input2, weight=weight, bias=bias)
    ok = input1.ndim == input2.ndim > 0 and input1.shape[:-1] == input2.shape[:-1] and weight.ndim == 3
    ok = ok and weight.shape[1:] == (input1.shape[-1], input2.shape[-1])
    require(ok, "bilinear", f"expected input1 [..., i], input2 [..., j] and weight [out, i, j], got {shown(input1, input2, weight)}")
    lead = list(range(input1.ndim - 1))
    half = contracted(input1, [*lead, "i"], weight, ["k", "i", "j"], [*lead, "k", "j"])
    out = contracted(half, [*lead, "k", "j"], input2, [*lead, "j"], [*lead, "k"])
    return out if bias is None else add(out, bias)


__all__ = ["addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "dot", "inner", "kron", "matmul", "mm", "mv", "outer", "tensordot", "vdot"]

"""What rules of linear algebra are written with. Matrices are the last two dimensions; leading ones are batches."""

from __future__ import annotations

from ..core.dtype import int32
from . import algebra, compare, contract, convert, create, elementwise, parts, reduce, shape
from .parts import conj_of


def matmul(x, y):
    """x @ y, of equal leading dimensions."""
    lead = tuple(range(x.ndim - 2))
    return contract.dot_general(x, y, ((x.ndim - 1,), (x.ndim - 2,)), (lead, lead))


def transposed(x):
    return shape.permute(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def adjoint(x):
    """The conjugate transpose."""
    return conj_of(transposed(x))


def real_of(x):
    return parts.real(x) if x.dtype.is_complex else x


def hermitian(x):
    """(x + x^H) / 2."""
    return elementwise.scaled(elementwise.add(x, adjoint(x)), 0.5)


def keep(x, relation):
    """The elements of x whose column stands in this relation (a comparison) to their row, zero elsewhere.

    ``compare.le`` keeps the lower triangle, ``compare.lt`` the strict one, ``compare.eq`` the diagonal.
    """
    rows, columns = (create.iota(x.shape, d, int32) for d in (x.ndim - 2, x.ndim - 1))
    return compare.select(relation(columns, rows), x, algebra.zeros(x.aval))


def eye(like):
    """The identity in the shape and dtype of `like`, leading dimensions included."""
    return keep(algebra.one_like(like), compare.eq)


def diagonal(x):
    """The diagonal [..., n] of square matrices."""
    return reduce.reduce_sum(keep(x, compare.eq), (x.ndim - 2,))


def along_rows(v, like):
    """v [..., n] as every row of the matrices `like`, converted to their dtype."""
    return shape.broadcast(convert.convert(v, like.dtype), like.shape, (*range(like.ndim - 2), like.ndim - 1))


def along_columns(v, like):
    """v [..., m] as every column of the matrices `like`, converted to their dtype."""
    return shape.broadcast(convert.convert(v, like.dtype), like.shape, (*range(like.ndim - 2), like.ndim - 2))


def block(x, rows: int, columns: int):
    """The leading rows and columns of x."""
    if x.shape[-2:] == (rows, columns):
        return x
    lead = x.shape[:-2]
    return shape.slice_(x, (0,) * x.ndim, (*lead, rows, columns), (1,) * x.ndim)


def padded(x, rows: int, columns: int):
    """x with zeros below and to the right, up to these sizes."""
    m, n = x.shape[-2:]
    if (m, n) == (rows, columns):
        return x
    none = (0,) * x.ndim
    return shape.pad(x, create.full((), 0, x.dtype), none, (*none[2:], rows - m, columns - n), none)


def reciprocal_gaps(v):
    """[..., n, n] of 1 / (v[j] - v[i]) off the diagonal, infinite where two are equal, and 0 on it."""
    whole, n = (*v.shape, v.shape[-1]), v.ndim
    columns, rows = shape.broadcast(v, whole, (*range(n - 1), n)), shape.broadcast(v, whole, tuple(range(n)))
    same = compare.eq(*(create.iota(whole, d, int32) for d in (n - 1, n)))
    return keep(elementwise.reciprocal(compare.select(same, algebra.one_like(columns), elementwise.sub(columns, rows))), compare.ne)

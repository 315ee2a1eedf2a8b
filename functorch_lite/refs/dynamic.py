"""Blocks of known size at starts that are data, by JAX's names and rules. (x[k : k + n] does the same, and checks its range.)"""

from __future__ import annotations

from ..core.array import Operable
from ..core.dtype import NUMBERS
from ..core.op import Shape, Tensor, Tensors, composite
from ..prims import algebra, compare, elementwise
from ..prims import index as prims
from .arguments import require, shown
from .join import unbind
from .promotion import array_of, result_type, to_dtype


def _starts(name: str, x, starts) -> list:
    """The starts as integer scalars that count from the front."""
    require(len(starts) == x.ndim, name, f"expected a start for each dimension of {shown(x)}, got {len(starts)}", TypeError)
    return [_from_front(s, n) for s, n in zip(starts, x.shape)]


def _from_front(start, n: int):
    if start.__class__ in NUMBERS:
        return array_of(start + n if start < 0 else start)
    s = array_of(start)
    if not s.dtype.is_signed or s.ndim:
        return s  # one with dimensions is for the prim to refuse
    return compare.select(compare.lt(s, algebra.zeros(s.aval)), elementwise.add(s, algebra.full_like(s, n)), s)


def _scalars(starts):
    """Starts that came in one array."""
    return unbind(starts) if isinstance(starts, Operable) else starts


def _block(x, starts, sizes):
    """(NumPy) the block as slices."""
    starts = [int(s) + (n if s < 0 else 0) for s, n in zip(starts, x.shape)]
    starts = [min(max(s, 0), n - m) for s, n, m in zip(starts, x.shape, sizes)]
    return tuple([slice(s, s + m) for s, m in zip(starts, sizes)])


@composite(name="dynamic_slice", reference=lambda x, starts, sizes: x[_block(x, starts, sizes)])
def _dynamic_slice(operand: Tensor, start_indices: Tensors, slice_sizes: Shape) -> Tensor:
    """See the function of this name."""
    x = array_of(operand)
    return prims.dynamic_slice(x, _starts("dynamic_slice", x, start_indices), slice_sizes)


def dynamic_slice(operand: Tensor, start_indices: Tensors, slice_sizes: Shape) -> Tensor:
    """The block of these sizes that starts at start_indices (integer scalars, or one 1-dim Array), which may be data.

    Negative starts count from the end; then a block that would leave the operand is moved inside it (JAX's rule, in every mode).

    >>> import functorch_lite as fl
    >>> fl.dynamic_slice(fl.asarray([1, 2, 3, 4]), (1,), (2,)).tolist()
    [2, 3]
    """
    return _dynamic_slice(operand, _scalars(start_indices), slice_sizes)


def _update_reference(x, update, starts):
    out = x.copy()
    out[_block(x, starts, update.shape)] = update
    return out


@composite(name="dynamic_update_slice", reference=_update_reference)
def _dynamic_update_slice(operand: Tensor, update: Tensor, start_indices: Tensors) -> Tensor:
    """See the function of this name."""
    name, x, u = "dynamic_update_slice", array_of(operand), array_of(update)
    ok = result_type(x, u).category <= x.dtype.category
    require(ok, name, f"update {shown(u)} cannot be converted to the dtype of operand {shown(x)}, which it keeps")
    return prims.dynamic_update_slice(x, to_dtype(u, x.dtype), _starts(name, x, start_indices))


def dynamic_update_slice(operand: Tensor, update: Tensor, start_indices: Tensors) -> Tensor:
    """Operand with the block that starts at start_indices replaced by update; starts as in `dynamic_slice`.

    >>> import functorch_lite as fl
    >>> fl.dynamic_update_slice(fl.asarray([1, 2, 3]), fl.asarray([9]), (1,)).tolist()
    [1, 9, 3]
    """
    return _dynamic_update_slice(operand, update, _scalars(start_indices))


__all__ = ["dynamic_slice", "dynamic_update_slice"]

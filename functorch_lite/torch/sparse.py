"""torch.sparse: names only."""

from ..nn.sparse import SparseTensor, spmm
from ..nn.sparse import spmm as mm

__all__ = ["SparseTensor", "mm", "spmm"]

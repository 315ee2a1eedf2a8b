"""Linear algebra by name, as PyTorch's torch.linalg has it. Names only: the ops live in refs/."""

# ruff: noqa: F401  # names only

from .errors import LinAlgError
from .refs.contract import matmul
from .refs.linalg import cholesky, eig, eigh, eigvals, eigvalsh, lu, lu_factor, qr, svd, svdvals
from .refs.norms import cond, cross, matrix_exp, matrix_norm, matrix_power, multi_dot, norm, vecdot, vector_norm
from .refs.rearrange import diagonal
from .refs.systems import det, inv, lstsq, lu_solve, matrix_rank, pinv, slogdet, solve, solve_square, solve_triangular

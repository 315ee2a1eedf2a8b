"""Linear algebra by name, as PyTorch's torch.linalg has it. Names only: the ops live in refs/."""

# ruff: noqa: F401  # names only

from .errors import LinAlgError
from .refs.contract import matmul
from .refs.least_squares import lstsq, matrix_rank, pinv
from .refs.linalg import (
    cholesky,
    cholesky_ex,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    lu,
    lu_factor,
    lu_factor_ex,
    qr,
    svd,
    svdvals,
)
from .refs.matrices import vander_rows as vander
from .refs.norms import cond, cross, matrix_exp, matrix_norm, matrix_power, multi_dot, norm, vecdot, vector_norm
from .refs.packed import householder_product, ldl_factor, ldl_factor_ex, ldl_solve
from .refs.rearrange import diagonal
from .refs.systems import (
    det,
    inv,
    inv_ex,
    lu_solve,
    slogdet,
    solve,
    solve_ex,
    solve_square,
    solve_triangular,
    tensorinv,
    tensorsolve,
)

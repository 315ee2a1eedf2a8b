"""Testing: the op table and its axes, numerical checks of derivatives, and comparison. Public: test your own ops with it."""

from .axes import AXES, Axis
from .cells import Cell, Counts, cells_of, check_op, run_cells
from .compare import assert_close
from .numerical import GradcheckError, gradcheck, gradgradcheck
from .table import TABLE, Row, Sample, array, binary, load_table, row, unary

__all__ = [
    "AXES",
    "TABLE",
    "Axis",
    "Cell",
    "Counts",
    "GradcheckError",
    "Row",
    "Sample",
    "array",
    "assert_close",
    "binary",
    "cells_of",
    "check_op",
    "gradcheck",
    "gradgradcheck",
    "load_table",
    "row",
    "run_cells",
    "unary",
]

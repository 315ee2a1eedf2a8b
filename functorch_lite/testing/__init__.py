"""Testing: the op table and its axes, numerical checks of derivatives, and comparison. Public: test your own ops with it."""

from .axes import AXES, Axis
from .cells import Cell, Counts, cells, check_op, run_cells
from .compare import assert_close
from .table import TABLE, Row, Sample, array, binary, load_table, row, unary

__all__ = ["AXES", "TABLE", "Axis", "Cell", "Counts", "Row", "Sample", "array", "assert_close", "binary", "cells", "check_op", "load_table", "row"]
__all__ += ["run_cells", "unary"]

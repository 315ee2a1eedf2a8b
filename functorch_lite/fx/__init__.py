"""Programs as data: graphs of op calls, to look at, change, print as Python, and run. After torch.fx."""

from .graph import Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node
from .passes import common_subexpressions, eliminate_dead_code, fold_constants
from .patterns import Match, replace_pattern
from .symbolic import PH, symbolic_trace, wrap

__all__ = [
    "PH",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Match",
    "Node",
    "Transformer",
    "common_subexpressions",
    "eliminate_dead_code",
    "fold_constants",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]

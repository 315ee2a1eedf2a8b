"""Interpreter and Transformer: running a graph node by node, with each step open to change."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from ..core import pytree
from ..core.array import Array
from ..core.interpreter import STATE, live
from ..core.op import Op
from .calls import PYTHON, op_of, spell
from .graph import Graph, Node, last_uses
from .graph_module import GraphModule
from .symbolic import Symbolic


class Interpreter:
    """Runs a GraphModule node by node. Override a method to change what a kind of node does.

    `run_node` goes to the method of the node's kind: ``placeholder``, ``get_attr``, ``call_function``,
    ``call_method`` and ``output``, each
    with (target, args, kwargs), where args and kwargs are values as the source of the call would give them, and the target
    of an op call is the op's function. A value is freed after its last use.

    >>> import functorch_lite as fl
    >>> class Swap(fl.fx.Interpreter):
    ...     def call_function(self, target, args, kwargs):
    ...         return super().call_function(fl.cos if target is fl.sin else target, args, kwargs)
    >>> Swap(fl.fx.symbolic_trace(lambda x: fl.sin(x) * 3)).run(fl.asarray(0.0)).item()
    3.0
    """

    def __init__(self, module: GraphModule, garbage_collect_values: bool = True, graph: Graph | None = None):
        self.module, self.graph = module, graph or module.graph
        self.garbage_collect_values = garbage_collect_values
        self.env: dict[Node, Any] = {}
        self.args_iter: Iterator = iter(())

    def run(self, *args, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True, **kwargs) -> Any:
        """The results for these arguments. `initial_env` gives values of nodes that are not run; without `enable_io_processing`
        the arguments are those of the placeholders, and the result is what `output` returns."""
        self.env = dict(initial_env or {})
        self.args_iter = iter(self.module.flatten_inputs(*args, **kwargs) if enable_io_processing else args)
        last = last_uses(self.graph) if self.garbage_collect_values else {}
        for node in self.graph.nodes:
            if node not in self.env:
                try:
                    self.env[node] = self.run_node(node)
                except Exception as error:
                    error.add_note(f"while running {node.format_node()}" + (f", from {node.stack_trace}" if node.line else ""))
                    raise
            if node.op == "output":
                out = self.env[node]
                return self.module.unflatten_outputs(out) if enable_io_processing else out
            for done in last.get(node, ()):
                self.env.pop(done, None)
        raise ValueError("the graph has no output node: call graph.output(...) last")

    def run_node(self, node: Node) -> Any:
        """The value of one node."""
        args, kwargs = self.fetch_args_kwargs_from_env(node)
        target = node.target.function if node.target.__class__ is Op else node.target
        return getattr(self, node.op)(target, args, kwargs)

    def fetch_args_kwargs_from_env(self, node: Node) -> tuple[tuple, dict]:
        """The values that a node takes, positional and by name."""
        values = [self.env[a] if a.__class__ is Node else a for a in node.args]
        if node.target.__class__ is Op:
            positional, keywords = spell(node.target, values, node.params)
            return tuple(positional), keywords
        if node.params:
            return node.params[0].unflatten(values)
        return tuple(values), {}

    def fetch_attr(self, target: str) -> Any:
        """A constant of the module by its name."""
        return operator.attrgetter(target)(self.module)

    def map_nodes_to_values(self, args: Any, node: Node | None = None) -> Any:
        """A tree with the values of its nodes in their places."""
        return pytree.map(lambda a: self.env[a] if a.__class__ is Node else a, args)

    def placeholder(self, target: str, args: tuple, kwargs: dict) -> Any:
        return next(self.args_iter)

    def get_attr(self, target: str, args: tuple, kwargs: dict) -> Any:
        return self.fetch_attr(target)

    def call_function(self, target, args: tuple, kwargs: dict) -> Any:
        return target(*args, **kwargs)

    def call_method(self, target: str, args: tuple, kwargs: dict) -> Any:
        return getattr(args[0], target)(*args[1:], **kwargs)

    def output(self, target: str, args: tuple, kwargs: dict) -> Any:
        return args


class Transformer(Interpreter):
    """An Interpreter whose run makes a new GraphModule: what its methods do is recorded. Call `transform()`.

    >>> import functorch_lite as fl
    >>> class Double(fl.fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         out = super().call_function(target, args, kwargs)
    ...         return fl.mul(out, 2) if target is fl.sin else out
    >>> Double(fl.fx.symbolic_trace(lambda x: fl.sin(x))).transform().graph.print_tabular()
    opcode         name    target  args      kwargs  aval
    -------------  ------  ------  --------  ------  ----
    placeholder    x       x       ()        {}      ?
    call_function  sin     fl.sin  (x,)      {}      ?
    call_function  mul     fl.mul  (sin, 2)  {}      ?
    output         output  output  (mul,)    {}
    """

    def transform(self) -> GraphModule:
        """The module that its methods make of this one."""
        self._recorder = Symbolic(STATE.current, f"{type(self).__name__}.transform")
        with live(self._recorder):
            outs = super().run(enable_io_processing=False)
        graph = self._recorder.finish(outs)
        graph.codec = self.graph.codec
        graph.eliminate_dead_code()  # results of ops with several that nothing takes
        return GraphModule(self._recorder.constants(), graph, self.module.class_name)

    def run_node(self, node: Node) -> Any:
        self._node = node
        return super().run_node(node)

    def placeholder(self, target: str, args: tuple, kwargs: dict) -> Any:
        return self._recorder.input(self._node.aval, target)

    def get_attr(self, target: str, args: tuple, kwargs: dict) -> Any:
        value = super().get_attr(target, args, kwargs)
        if isinstance(value, Array):
            self._recorder.capture(value, target)  # under its old name
        return value

    def call_function(self, target, args: tuple, kwargs: dict) -> Any:
        if op_of(target) is not None or target in PYTHON:
            return super().call_function(target, args, kwargs)
        return self._recorder.leaf(target, args, kwargs, multi=any(u.target is operator.getitem for u in self._node.users))

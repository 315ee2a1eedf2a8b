"""GraphModule: a graph with its constants, as a function."""

from __future__ import annotations

import linecache
import types
from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from ..core.face import read
from .codec import Codec, as_input
from .graph import Graph, evaluate
from .printing import PythonCode, python_code, readable


class GraphModule:
    """A program as a function of the pytrees it was traced with.

    ``root`` holds what the graph's `get_attr` nodes name: a dict, or any object with such attributes; they become attributes
    of this one. Calling it runs the graph at the current interpreter, so every transform applies to it, and edits of
    ``graph`` take effect at once. ``code`` is the program as text, ``forward`` that text compiled.

    >>> import functorch_lite as fl
    >>> gm = fl.fx.symbolic_trace(lambda x: fl.sin(x) + 1)
    >>> for node in gm.graph.find_nodes(op="call_function", target=fl.sin):
    ...     node.target = fl.cos
    >>> gm(fl.asarray(0.0)).item()
    2.0
    """

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule"):
        self.graph, self.class_name = graph, class_name
        self._forward: tuple | None = None  # (text, the function it defines)
        for node in graph.nodes:
            if node.op == "get_attr":
                self._install(node.target, _lookup(root, node.target))

    def _install(self, target: str, value) -> None:
        """Sets a constant; 'a.b' is the attribute b of an attribute a."""
        *way, last = target.split(".")
        place = self
        for step in way:
            place = place.__dict__.setdefault(step, types.SimpleNamespace())
        setattr(place, last, value)

    # ------------------------------------------------------------------------------------------------------ running

    def __call__(self, *args, **kwargs):
        given = self.codec.inputs(args, kwargs, self._names())
        constants = list(self.constants.values())
        outs = evaluate(self.graph, [as_input(x) for x in given], list(map(read, constants)))
        return self.codec.finish(given, outs, constants)

    def flatten_inputs(self, *args, **kwargs) -> list:
        """The arrays of a call, in the order of the graph's placeholders."""
        return self.codec.flatten(args, kwargs, self._names())

    def write_back(self, args: tuple, values: list) -> None:
        """Gives the Tensors among the arguments that the program changes their new values."""
        self.codec.write(self.codec.inputs(args, {}, self._names()), [read(value) for value in values])

    def _names(self) -> list[str]:
        """Those of the parameters, where the codec does not know them."""
        return [n.target for n in self.graph.placeholders] if self.codec.names is None else []

    def unflatten_outputs(self, outs) -> Any:
        """The results in the tree that the program returns."""
        return self.codec.unflatten(outs)

    @property
    def codec(self) -> Codec:
        return self.graph.codec or _FLAT

    @property
    def constants(self) -> dict[str, Any]:
        """What the graph's `get_attr` nodes name, in their order."""
        return {n.target: attrgetter(n.target)(self) for n in self.graph.nodes if n.op == "get_attr"}

    def recompile(self) -> PythonCode:
        """Compiles the text of the graph as it is now, for `forward`; gives the text and what it needs."""
        code = python_code(self.graph)
        self.__dict__.update(code.attributes)
        if self._forward is None or self._forward[0] != code.src:
            filename = f"<functorch_lite {self.class_name} {id(self):#x}>"
            linecache.cache[filename] = (len(code.src), None, code.src.splitlines(True), filename)  # for tracebacks and debuggers
            space = dict(code.globals)
            exec(compile(code.src, filename, "exec"), space)
            self._forward = code.src, space["forward"]
        return code

    def forward(self, *args, **kwargs):
        """Runs the text of the graph, line by line under a debugger: the same results as a call."""
        self.recompile()
        return self._forward[1](self, *args, **kwargs)

    @property
    def code(self) -> str:
        """The program as Python that runs (where `fl`, `prims` and the attributes of self are known)."""
        code = python_code(self.graph)
        self.__dict__.update(code.attributes)
        return code.src

    # ----------------------------------------------------------------------------------------------------- how it looks

    def print_readable(self, print_output: bool = True) -> str:
        """The program as a class, with shapes and the lines of the user's code, and the bodies of its loops and calls below."""
        text = readable(self.graph, self.class_name)
        if print_output:
            print(text)
        return text

    def draw(self) -> str:
        """The graph as a picture: the text of an SVG document."""
        from .display import draw

        return draw(self.graph)

    def __repr__(self) -> str:
        return f"{self.class_name}()\n\n{self.code}"

    def _repr_pretty_(self, p, cycle: bool) -> None:
        p.text(f"{self.class_name}(...)" if cycle else self.print_readable(print_output=False))

    def _repr_html_(self) -> str:
        from .display import html

        return html(self.graph, self.class_name)

    # -------------------------------------------------------------------------------------------- copies and pickles

    def __deepcopy__(self, memo) -> GraphModule:
        """A module with a graph of its own. Constants are immutable and shared."""
        return type(self)(self.constants, self.graph.__deepcopy__(memo), self.class_name)

    def __copy__(self) -> GraphModule:
        return self.__deepcopy__({})

    def __reduce__(self):
        return type(self), (self.constants, self.graph, self.class_name)


_FLAT = Codec()


def _lookup(root, target: str):
    if isinstance(root, Mapping):
        if target in root:
            return root[target]
        raise AttributeError(f"GraphModule: the graph takes the constant {target!r}, which root does not have; it has {sorted(root)}")
    try:
        return attrgetter(target)(root)
    except AttributeError:
        raise AttributeError(
            f"GraphModule: the graph takes the constant {target!r}, which root ({type(root).__name__}) does not have"
        ) from None

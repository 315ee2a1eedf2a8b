"""Graphs as Python that runs."""

from __future__ import annotations

import builtins
import cmath
import importlib
import math
import operator
import sys
from typing import Any

from ..core.dtype import DType
from ..core.op import REGISTRY, Op
from ..core.record import Record
from .calls import INFIX, PREFIX, spell
from .node import Node, show_aval


class PythonCode(Record):
    """``src`` defines the program; it runs where ``globals`` are known, and ``attributes`` are attributes of its `self`."""

    src: str
    globals: dict[str, Any]
    attributes: dict[str, Any]


class Names:
    """A namespace of ops by their qualified names, and behind it the package of that name."""

    def __init__(self, prefix: str):
        self._prefix = prefix

    def __getattr__(self, name: str):
        path = f"{self._prefix}.{name}"
        if path in REGISTRY:
            found = REGISTRY[path].function
        elif any(known.startswith(path + ".") for known in REGISTRY):
            found = Names(path)
        else:
            found = getattr(importlib.import_module("functorch_lite" if self._prefix == "fl" else f"functorch_lite.{self._prefix}"), name)
        self.__dict__[name] = found
        return found

    def __repr__(self) -> str:
        return f"<names of {self._prefix}>"


def python_code(graph, root: str = "self", name: str = "forward", *, verbose: bool = False) -> PythonCode:
    """The program as a function definition. With `verbose`: shapes as annotations, and the lines of the user's code."""
    writer = _Writer(root, verbose)
    return PythonCode("\n".join([*writer.function(graph, name), ""]), writer.globals, writer.attributes)


def readable(graph, class_name: str) -> str:
    """The program as a class: its forward with shapes and lines, and below it the bodies that it calls."""
    writer = _Writer("self", verbose=True)
    parts = [[f"class {class_name}:"], _indented(writer.function(graph, "forward"))]
    shown: set[int] = set()
    while len(shown) < len(writer.attributes):
        for attribute, value in list(writer.attributes.items()):
            if id(value) not in shown:
                shown.add(id(value))
                if _is_body(value):
                    parts.append(
                        ["", *_indented([f"# self.{attribute}: {value!r}", *writer.function(value.graph, attribute, method=False)])]
                    )
    return "\n".join([*[line for part in parts for line in part], ""])


def _must_be_an_array(placeholder: Node) -> bool:
    """Whether an input that may be a Python number goes to an op that takes Arrays only."""
    users = placeholder.users if getattr(placeholder.aval, "weak", False) else ()
    return any(u.target.__class__ is Op and u.target.impl is not None for u in users)


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" if line else line for line in lines]


def _is_body(value) -> bool:
    """A closed program, as ops with bodies hold it."""
    return callable(value) and hasattr(value, "graph") and hasattr(value, "ins")


class _Text(Record):
    """Text that stands for a value."""

    text: str


class _Writer:
    """Writes functions; collects the globals they need, and the attributes that hold what has no literal form."""

    def __init__(self, root: str, verbose: bool):
        self.root, self.verbose = root, verbose
        self.globals: dict[str, Any] = {"fl": Names("fl"), "prims": Names("prims")}
        self.attributes: dict[str, Any] = {}
        self._attribute_of: dict[int, str] = {}

    # ------------------------------------------------------------------------------------------------- functions

    def function(self, graph, name: str, method: bool = True) -> list[str]:
        placeholders = [n for n in graph.nodes if n.op == "placeholder"]
        codec = graph.codec
        lines = []
        if codec is not None and codec.names is not None and (not codec.is_flat or any(map(_must_be_an_array, placeholders))):
            parameters = self.parameters(codec)
            targets = ", ".join(n.name for n in placeholders) + (", = " if len(placeholders) == 1 else " = " if placeholders else "")
            lines.append(f"{targets}{self.root}.flatten_inputs({', '.join(codec.names)})")
        else:
            parameters = [self.typed(n) for n in placeholders]
        head = ", ".join([self.root, *parameters] if method else parameters)
        last_line = None
        for node in graph.nodes:
            if node.op != "placeholder":
                if self.verbose and node.op.startswith("call_") and node.line is not None and node.stack_trace != last_line:
                    last_line = node.stack_trace
                    lines.append(f"# {last_line}")
                if node.op == "output" and codec is not None and codec.writes:
                    parts = [a.name if a.__class__ is Node else self.value(a) for a in node.args[len(node.args) - len(codec.writes) :]]
                    lines.append(f"{self.root}.write_back(({', '.join(codec.names)},), [{', '.join(parts)}])")
                lines.append(self.statement(node, codec))
        return [f"def {name}({head}):", *_indented(lines or ["pass"])]

    def parameters(self, codec) -> list[str]:
        """The parameters, with the defaults that Python's grammar lets them have."""
        out: list[str] = []
        for n in reversed(codec.names):
            optional = n in codec.defaults and (not out or "=" in out[0])
            out.insert(0, f"{n}={self.value(codec.defaults[n])}" if optional else n)
        return out

    def typed(self, node: Node) -> str:
        """The node's name, with its shape as an annotation."""
        return f'{node.name}: "{show_aval(node.aval)}"' if self.verbose and node.aval is not None else node.name

    def statement(self, node: Node, codec) -> str:
        if node.op == "get_attr":
            return f"{self.typed(node)} = {self.root}.{node.target}"
        if node.op == "output":
            return f"return {self.results(node, codec)}"
        return f"{self.typed(node)} = {self.call(node)}"

    def results(self, node: Node, codec) -> str:
        kept = node.args[: len(node.args) - len(codec.writes)] if codec is not None else node.args
        outs = [_Text(a.name) if a.__class__ is Node else a for a in kept]
        if codec is None or codec.out_tree is None:
            return self.value(tuple(outs))
        if self.is_plain(codec.out_tree):
            return self.value(codec.out_tree.unflatten(outs))
        return f"{self.root}.unflatten_outputs({self.value(outs)})"

    def is_plain(self, tree) -> bool:
        """Whether a tree can be written as a display of the language."""
        if tree.type is dict and any(self.literal(k) is None for k in tree.entries()):
            return False
        return tree.type in (None, type(None), tuple, list, dict) and all(self.is_plain(tree.child(i)) for i in range(tree.num_children))

    def call(self, node: Node) -> str:
        target = node.target
        args = [_Text(a.name) if a.__class__ is Node else a for a in node.args]
        if target.__class__ is Op:
            self.globals.setdefault(target.namespace.partition(".")[0], Names(target.namespace.partition(".")[0]))
            positional, keywords = spell(target, args, node.params, brief=True)
            head = target.qualname
        else:
            positional, keywords = node.params[0].unflatten(args) if node.params else (args, {})
            if not keywords and (text := self.as_python(target, positional)) is not None:
                return text
            if node.op == "call_method":
                head, positional = f"{self.value(positional[0])}.{target}", positional[1:]
            else:
                head = self.callee(target)
        texts = [self.value(x) for x in positional] + [f"{k}={self.value(v)}" for k, v in keywords.items()]
        return f"{head}({', '.join(texts)})"

    def as_python(self, target, args) -> str | None:
        """What Python has a sign for: x ** 2, x[0], x.T."""
        texts = [f"({text})" if (text := self.value(x)).startswith("-") else text for x in args]
        if target in INFIX and len(args) == 2:
            return f"{texts[0]} {INFIX[target]} {texts[1]}"
        if target in PREFIX and len(args) == 1:
            return PREFIX[target] + texts[0]
        if target is operator.getitem:
            return f"{texts[0]}[{self.subscript(args[1])}]"
        if target is getattr and len(args) == 2 and args[1].isidentifier():
            return f"{texts[0]}.{args[1]}"
        return None

    def subscript(self, index) -> str:
        """An index as it stands between brackets."""
        if index.__class__ is tuple and index:
            return ", ".join(map(self.subscript, index)) + ("," if len(index) == 1 else "")
        if index.__class__ is not slice:
            return self.value(index)
        start, stop, step = ("" if i is None else self.value(i) for i in (index.start, index.stop, index.step))
        return f"{start}:{stop}" + (f":{step}" if step else "")

    def callee(self, target) -> str:
        """A Python function by its module and name where that finds it, else an attribute."""
        module, name = getattr(target, "__module__", None), getattr(target, "__qualname__", None)
        if module and name and name.isidentifier():
            module = module if module in ("builtins", "__main__") else module.lstrip("_")
            if getattr(sys.modules.get(module), name, None) is target:
                if module == "builtins":
                    return name
                top = module.partition(".")[0]
                if module != "__main__" and self.globals.setdefault(top, sys.modules[top]) is sys.modules[top]:
                    return f"{module}.{name}"
        return self.attribute(target)

    # --------------------------------------------------------------------------------------------------- values

    def value(self, x) -> str:
        """A value as an expression."""
        text = self.literal(x)
        text = self.container(x) if text is None else text
        return self.attribute(x) if text is None else text

    def literal(self, x) -> str | None:
        kind = x.__class__
        if kind is _Text:
            return x.text
        if kind is float:
            return repr(x) if math.isfinite(x) else f'float("{x}")'
        if kind is complex:
            return repr(x) if cmath.isfinite(x) else f"complex({self.literal(x.real)}, {self.literal(x.imag)})"
        if x is None or x is Ellipsis or kind in (bool, int, str, bytes):
            return "..." if x is Ellipsis else repr(x)
        if kind is DType:
            return repr(x)
        if isinstance(x, type) and getattr(builtins, x.__name__, None) is x:
            return x.__name__
        return None

    def container(self, x) -> str | None:
        """A container of the language; None for any other value."""
        kind = x.__class__
        if kind in (tuple, list, set, frozenset):
            items = ", ".join(map(self.value, x)) + ("," if kind is tuple and len(x) == 1 else "")
            if kind is tuple or kind is list:
                return f"({items})" if kind is tuple else f"[{items}]"
            return f"{kind.__name__}([{items}])"
        if kind is dict:
            return "{" + ", ".join(f"{self.value(k)}: {self.value(v)}" for k, v in x.items()) + "}"
        if kind is slice:
            return f"slice({self.value(x.start)}, {self.value(x.stop)}, {self.value(x.step)})"
        return None

    def attribute(self, x) -> str:
        """The attribute of self that holds a value, made if there is none yet."""
        name = self._attribute_of.get(id(x))
        if name is None:
            kind = "body" if _is_body(x) else "function" if callable(x) and hasattr(x, "__name__") else type(x).__name__.strip("_").lower()
            number = sum(n.startswith(f"_{kind}") for n in self.attributes)
            name = self._attribute_of[id(x)] = f"_{kind}{number}"
            self.attributes[name] = x
        return f"{self.root}.{name}"

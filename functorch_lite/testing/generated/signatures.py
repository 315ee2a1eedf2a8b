"""Signatures as stubs spell them: annotations that static tools know, defaults where they are literals."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import NamedTuple

_PLAIN = {n: f"_{n}" for n in "bool bytes complex dict float int list object set slice str tuple".split()}
_KNOWN = _PLAIN | {
    "Tensor": "_ArrayLike",
    "Tensors": "_Sequence[_ArrayLike]",
    "Number": "_complex",
    "Dims": "_Ints",
    "Shape": "_Ints",
    "DType": "_DType | _str | _type",
    "Sequence": "_Sequence",
    "Callable": "_Callable",
    "Any": "_Any",
    "None": "None",
}


class Style(NamedTuple):
    """What a stub calls the arrays that its functions give, and whether they take `out=`."""

    array: str
    out: bool


def parameters(function: Callable, style: Style, first: str = "") -> str:
    """What stands between the parentheses; of a method, with its own name for the first."""
    out, starred = [], False
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return ", ".join(filter(None, (first, "*args: _Any, **kwargs: _Any")))
    for i, p in enumerate(found):
        if first and i == 0:
            out.append(first)
            if p.kind is not p.VAR_POSITIONAL:
                continue
        known = _with_default(annotation(p.annotation, style, argument=True), p.default)
        if p.kind is p.VAR_POSITIONAL:
            starred = True
            known = known.removeprefix("_Sequence[").removesuffix("]") if known.startswith("_Sequence[") else known
            known = "_Any" if known == "_Ints" else known  # sizes one by one, or a sequence of them
            out.append(f"*{p.name}: {known}")
        elif p.kind is p.VAR_KEYWORD:
            out.append(f"**{p.name}: {known}")
        else:
            if p.kind is p.KEYWORD_ONLY and not starred:
                out.append("*")
                starred = True
            out.append(f"{p.name}: {known}" + ("" if p.default is p.empty else f" = {default(p.default)}"))
    return ", ".join(out)


def returned(function: Callable, style: Style, tuples: dict[str, str]) -> str:
    """The annotation of the result. `tuples` collects the named tuples that it needs, spelled out."""
    op = getattr(function, "op", None)
    if op is not None and op.multi:
        if op.returns is None:
            return f"_tuple[{style.array}, ...]"
        if style.array == "_Self":
            return "_Any"
        name = op.returns.__name__
        tuples[name] = "\n".join([f"class {name}(_NamedTuple):", *(f"    {field}: {style.array}" for field in op.returns._fields), ""])
        return name
    if op is not None:
        return style.array
    try:
        return annotation(inspect.signature(function).return_annotation, style, argument=False)
    except (TypeError, ValueError):
        return "_Any"


def annotation(found, style: Style, argument: bool) -> str:
    """An annotation in the names of the stubs; what they do not know is `_Any`."""
    if found is inspect.Parameter.empty:
        return "_Any"
    if found is None:
        return "None"
    text = found if isinstance(found, str) else getattr(found, "__name__", "")
    known = dict(_KNOWN)
    known["Array"] = "_ArrayLike" if argument else style.array
    if not argument:
        known |= {"Tensor": style.array, "Tensors": f"_tuple[{style.array}, ...]", "DType": "_DType"}
    try:
        return ast.unparse(_Renaming(known).visit(ast.parse(text, mode="eval")))
    except (SyntaxError, KeyError):
        return "_Any"


class _Renaming(ast.NodeTransformer):
    def __init__(self, known: dict[str, str]):
        self.known = known

    def visit_Name(self, node: ast.Name):
        return ast.parse(self.known[node.id], mode="eval").body

    def visit_Attribute(self, node: ast.Attribute):
        if ast.unparse(node) == "np.ndarray":
            return ast.parse("_np.ndarray", mode="eval").body
        raise KeyError(ast.unparse(node))

    def visit_Constant(self, node: ast.Constant):
        if node.value is None or node.value is ...:
            return node
        return self.visit(ast.parse(node.value, mode="eval").body) if isinstance(node.value, str) else node


def _with_default(known: str, value) -> str:
    """An annotation that admits the default."""
    if value is None and "None" not in known and known != "_Any":
        return f"{known} | None"
    return "_Any" if isinstance(value, str) and "_str" not in known else known


def default(value) -> str:
    """A default as a literal, or `...`."""
    plain = value is None or value.__class__ in (bool, int, str) or value.__class__ is float and value - value == 0
    return repr(value) if plain else "..."

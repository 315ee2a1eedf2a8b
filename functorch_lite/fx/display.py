"""Graphs as pictures: a layered drawing as SVG, without any other program, and how notebooks show a program."""

from __future__ import annotations

import html as _html

from ..core.dtype import DType
from .calls import show_target
from .graph import Graph
from .layout import Layers, Place, places_of
from .node import Node, show_aval
from .printing import readable

_FILL = {"placeholder": "#d8e9f7", "get_attr": "#e8e2f4", "call_function": "#f6f6f2", "output": "#dcefdc"}
_CHAR, _LINE, _PAD = 6.7, 14, 8  # sizes in pixels
_FEW, _MANY = 40, 400  # nodes; a notebook shows small graphs at once, and draws none that is larger than the second


def draw(graph: Graph) -> str:
    """The graph as the text of an SVG document: inputs on top, each node below those it takes.

    >>> import functorch_lite as fl
    >>> draw(fl.fx.symbolic_trace(lambda x: fl.sin(x)).graph)[:4]
    '<svg'
    """
    nodes = list(graph.nodes)
    labels = {n: _label(n) for n in nodes}
    layers = Layers(nodes)
    size = {n: (max(len(t) for t in labels[n]) * _CHAR + 2 * _PAD, len(labels[n]) * _LINE + 2 * _PAD) for n in nodes}
    places, width, height = places_of(layers, size)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="11">',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
    ]
    for node in nodes:
        for source in node.all_input_nodes:
            parts.append(_edge([places[x] for x in layers.way(source, node)]))
    for node in nodes:
        parts.append(_box(labels[node], places[node], _FILL[node.op], node.stack_trace))
    return "\n".join([*parts, "</svg>"])


def _label(node: Node) -> list[str]:
    if node.op == "output":
        return ["output"]
    lines = [show_target(node.target) if node.op == "call_function" else node.name]
    if node.op == "call_function":
        literals = [_short(a) for a in node.args if a.__class__ is not Node and a is not None]
        lines.append(", ".join([*literals, *_settings(node)]))
    lines.append("" if node.aval is None else show_aval(node.aval))
    return [_cut(line) for line in lines if line]


def _settings(node: Node) -> list[str]:
    return [f"{k}={_short(v)}" for k, v in node.kwargs.items() if isinstance(v, (int, float, complex, str, tuple, DType))]


def _short(value) -> str:
    return _cut(repr(value), 24)


def _cut(text: str, limit: int = 44) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _edge(way: list[Place]) -> str:
    """An arrow: straight down past the boxes of a layer, curved between two layers."""
    first, last = way[0], way[-1]
    path = [f"M{first.x:.1f},{first.bottom:.1f} V{first.floor:.1f}"]
    for a, b in zip(way, way[1:]):
        middle = (a.floor + b.ceiling) / 2
        end = b.ceiling if b is not last else b.ceiling - 5
        path.append(f"C{a.x:.1f},{middle:.1f} {b.x:.1f},{middle:.1f} {b.x:.1f},{end:.1f} V{b.floor if b is not last else b.top - 5:.1f}")
    return (
        f'<path d="{" ".join(path)}" fill="none" stroke="#999"/>'
        f'<path d="M{last.x - 3:.1f},{last.top - 6:.1f} L{last.x + 3:.1f},{last.top - 6:.1f} L{last.x:.1f},{last.top:.1f} Z" fill="#999"/>'
    )


def _box(lines: list[str], place: Place, fill: str, tip: str | None) -> str:
    x, width, height = place.x - place.width / 2, place.width, place.bottom - place.top
    parts = ["<g>"] + ([f"<title>{_html.escape(tip)}</title>"] if tip else [])
    parts.append(f'<rect x="{x:.1f}" y="{place.top:.1f}" width="{width:.1f}" height="{height:.1f}" rx="4" fill="{fill}" stroke="#888"/>')
    for i, text in enumerate(lines):
        color = "#111" if i == 0 else "#667"
        at = place.top + _PAD + _LINE * (i + 0.78)
        parts.append(f'<text x="{place.x:.1f}" y="{at:.1f}" text-anchor="middle" fill="{color}">{_html.escape(text)}</text>')
    return "".join([*parts, "</g>"])


def html(graph: Graph, class_name: str) -> str:
    """How a notebook shows a program: its text, and beside it the drawn graph, to unfold where it is large.

    >>> import functorch_lite as fl
    >>> page = html(fl.fx.symbolic_trace(lambda x: fl.sin(x)).graph, "Sine")
    >>> "class Sine:" in page, "<svg" in page
    (True, True)
    """
    count = len(graph.nodes)
    text = _html.escape(readable(graph, class_name))
    picture = draw(graph) if count <= _MANY else f"<p>{count} nodes: too many to draw here; fl.fx.display.draw gives the picture.</p>"
    return (
        f'<div style="display:flex;flex-wrap:wrap;gap:2em;align-items:flex-start"><pre>{text}</pre>'
        f"<details{' open' if count <= _FEW else ''}><summary>graph ({count} nodes)</summary>"
        f'<div style="overflow:auto">{picture}</div></details></div>'
    )

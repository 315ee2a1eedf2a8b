"""Graphs as pictures: a layered drawing as SVG, without any other program, and how notebooks show a GraphModule."""

from __future__ import annotations

import html as _html

from ..core.dtype import DType
from .calls import show_target
from .graph import Graph
from .node import Node, show_aval
from .printing import readable

_FILL = {"placeholder": "#d8e9f7", "get_attr": "#e8e2f4", "call_function": "#f6f6f2", "output": "#dcefdc"}
_CHAR, _LINE, _PAD, _GAP_X, _GAP_Y = 6.7, 14, 8, 16, 34  # sizes in pixels
_FEW, _MANY = 40, 400  # nodes; a notebook shows small graphs at once, and draws none that is larger than the second


def draw(graph: Graph) -> str:
    """The graph as the text of an SVG document: inputs on top, each node below those it takes.

    >>> import functorch_lite as fl
    >>> draw(fl.fx.symbolic_trace(lambda x: fl.sin(x)).graph)[:4]
    '<svg'
    """
    nodes = list(graph.nodes)
    labels = {n: _label(n) for n in nodes}
    size = {n: (max(len(t) for t in labels[n]) * _CHAR + 2 * _PAD, len(labels[n]) * _LINE + 2 * _PAD) for n in nodes}
    layers = _layers(nodes)
    center, width, height = _places(layers, size)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="11">',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
    ]
    for node in nodes:
        for source in node.all_input_nodes:
            parts.append(_edge(center[source], size[source], center[node], size[node]))
    for node in nodes:
        parts.append(_box(labels[node], center[node], size[node], _FILL[node.op], node.stack_trace))
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


def _layers(nodes: list[Node]) -> list[list[Node]]:
    """Nodes by the longest way from an input; what depends on no input just above where it is taken; neighbours brought together."""
    depth: dict[Node, int] = {}
    fixed: set[Node] = set()  # what depends on an input
    for node in nodes:
        depth[node] = max((depth[a] + 1 for a in node.all_input_nodes), default=0)
        if node.op == "placeholder" or any(a in fixed for a in node.all_input_nodes):
            fixed.add(node)
    for node in reversed(nodes):
        if node not in fixed and node.users:
            depth[node] = min(depth[u] for u in node.users) - 1
    layers: list[list[Node]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node in nodes:
        layers[depth[node]].append(node)
    place = {n: i for layer in layers for i, n in enumerate(layer)}
    for sweep in range(4):  # the barycenter heuristic, downward by inputs and upward by users
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            near = (lambda n: n.all_input_nodes) if sweep % 2 == 0 else (lambda n: list(n.users))
            layer.sort(key=lambda n: sum(place[m] for m in near(n)) / len(near(n)) if near(n) else place[n])  # noqa: B023
            place.update((n, i) for i, n in enumerate(layer))
    return layers


def _places(layers, size) -> tuple[dict[Node, tuple[float, float]], float, float]:
    """The center of each node, and the size of the picture."""
    center: dict[Node, tuple[float, float]] = {}
    widths = [sum(size[n][0] for n in layer) + _GAP_X * (len(layer) - 1) for layer in layers]
    full = max(widths, default=0) + 2 * _GAP_X
    y = float(_GAP_X)
    for layer, width in zip(layers, widths):
        tall = max(size[n][1] for n in layer)
        wanted = [_mean([center[a][0] for a in n.all_input_nodes], full / 2) for n in layer]
        x = min(max(_mean(wanted, full / 2) - width / 2, _GAP_X), full - width - _GAP_X)
        for n in layer:
            center[n] = (x + size[n][0] / 2, y + tall / 2)
            x += size[n][0] + _GAP_X
        y += tall + _GAP_Y
    return center, full, max(y - _GAP_Y + _GAP_X, 2 * _GAP_X)


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _edge(start, start_size, end, end_size) -> str:
    x1, y1, x2, y2 = start[0], start[1] + start_size[1] / 2, end[0], end[1] - end_size[1] / 2
    bend = max((y2 - y1) / 2, 12)
    return (
        f'<path d="M{x1:.1f},{y1:.1f} C{x1:.1f},{y1 + bend:.1f} {x2:.1f},{y2 - bend:.1f} {x2:.1f},{y2 - 5:.1f}" fill="none" stroke="#999"/>'
        f'<path d="M{x2 - 3:.1f},{y2 - 6:.1f} L{x2 + 3:.1f},{y2 - 6:.1f} L{x2:.1f},{y2:.1f} Z" fill="#999"/>'
    )


def _box(lines: list[str], center, size, fill: str, tip: str | None) -> str:
    x, y = center[0] - size[0] / 2, center[1] - size[1] / 2
    parts = ["<g>"] + ([f"<title>{_html.escape(tip)}</title>"] if tip else [])
    parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{size[0]:.1f}" height="{size[1]:.1f}" rx="4" fill="{fill}" stroke="#888"/>')
    for i, text in enumerate(lines):
        color = "#111" if i == 0 else "#667"
        at = y + _PAD + _LINE * (i + 0.78)
        parts.append(f'<text x="{center[0]:.1f}" y="{at:.1f}" text-anchor="middle" fill="{color}">{_html.escape(text)}</text>')
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

"""The layout of a drawn graph: nodes in layers, and arrows that pass a layer beside its boxes.

The usual way (Sugiyama, Tagawa and Toda, 1981): each node is put below those it takes; an arrow over several layers gets a bend in each
of those between, which is placed like a node; each layer is sorted so that neighbours stand near each other; and then moved to them.
"""

from __future__ import annotations

from ..core.record import Record
from .node import Node

_GAP_X, _GAP_Y, _BEND = 16, 34, 4  # pixels between boxes, between layers, and for an arrow that passes
_SWEEPS = 4


class Bend(Record):
    """Where the arrows of a node pass a layer."""

    source: Node
    layer: int


class Place(Record):
    """Where a box stands (its middle, and its upper and lower edge) or an arrow passes, in a layer from ceiling to floor."""

    x: float
    top: float
    bottom: float
    ceiling: float
    floor: float
    width: float


class Layers:
    """Nodes and bends by layer, and what each has above and below it."""

    def __init__(self, nodes: list[Node]):
        self.depth = _depths(nodes)
        self.rows: list[list] = [[] for _ in range(max(self.depth.values(), default=-1) + 1)]
        self.above: dict = {}
        self.below: dict = {}
        for node in nodes:
            self._add(node, self.depth[node])
        for node in nodes:
            for source in node.all_input_nodes:
                way = self.way(source, node)
                for a, b in zip(way, way[1:]):
                    if b not in self.above:
                        self._add(b, b.layer)
                    if a not in self.above[b]:
                        self.above[b].append(a)
                        self.below[a].append(b)
        self._sort()

    def _add(self, item, layer: int) -> None:
        self.rows[layer].append(item)
        self.above[item], self.below[item] = [], []

    def way(self, source: Node, target: Node) -> list:
        """The source, the bends in the layers between, and the target."""
        return [source, *[Bend(source, i) for i in range(self.depth[source] + 1, self.depth[target])], target]

    def sweeps(self):
        """Each layer with what it should be near: those above, downward, and those below, upward, in turns."""
        for sweep in range(_SWEEPS):
            down = sweep % 2 == 0
            for row in self.rows if down else reversed(self.rows):
                yield row, self.above if down else self.below

    def _sort(self) -> None:
        place = {item: i for row in self.rows for i, item in enumerate(row)}
        for row, near in self.sweeps():
            wanted = {item: _mean([place[x] for x in near[item]], place[item]) for item in row}
            row.sort(key=wanted.__getitem__)
            place.update((item, i) for i, item in enumerate(row))


def _depths(nodes: list[Node]) -> dict[Node, int]:
    """The layer of each node: by the longest way from an input; what depends on no input just above where it is taken."""
    depth: dict[Node, int] = {}
    fixed: set[Node] = set()  # what depends on an input
    for node in nodes:
        depth[node] = max((depth[a] + 1 for a in node.all_input_nodes), default=0)
        if node.op == "placeholder" or any(a in fixed for a in node.all_input_nodes):
            fixed.add(node)
    for node in reversed(nodes):
        if node not in fixed and node.users:
            depth[node] = min(depth[u] for u in node.users) - 1
    return depth


def places_of(layers: Layers, size: dict[Node, tuple[float, float]]) -> tuple[dict, float, float]:
    """The place of each node and bend, and the width and height of the picture."""
    width = {item: size[item][0] if item in size else _BEND for row in layers.rows for item in row}
    x: dict = {}
    for row in layers.rows:
        x.update(zip(row, _apart([0.0] * len(row), [width[item] for item in row])))
    for row, near in layers.sweeps():
        wanted = [_mean([x[n] for n in near[item]], x[item]) for item in row]
        x.update(zip(row, _apart(wanted, [width[item] for item in row])))
    left = min((x[item] - width[item] / 2 for item in x), default=0.0) - _GAP_X
    right = max((x[item] + width[item] / 2 for item in x), default=0.0) + _GAP_X
    places, ceiling = {}, float(_GAP_X)
    for row in layers.rows:
        tall = max(size[item][1] for item in row if item in size)
        for item in row:
            half = size[item][1] / 2 if item in size else tall / 2
            middle = ceiling + tall / 2
            places[item] = Place(x[item] - left, middle - half, middle + half, ceiling, ceiling + tall, width[item])
        ceiling += tall + _GAP_Y
    return places, right - left, max(ceiling - _GAP_Y + _GAP_X, 2 * _GAP_X)


def _apart(wanted: list[float], widths: list[float]) -> list[float]:
    """Middles near those wanted, in this order and without overlap: halfway between pushing to the right and to the left."""
    return [(a + b) / 2 for a, b in zip(_pushed(wanted, widths), [-x for x in _pushed([-w for w in wanted[::-1]], widths[::-1])][::-1])]


def _pushed(wanted: list[float], widths: list[float]) -> list[float]:
    out: list[float] = []
    for i, (want, width) in enumerate(zip(wanted, widths)):
        out.append(want if i == 0 else max(want, out[-1] + widths[i - 1] / 2 + _GAP_X + width / 2))
    return out


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise

"""What came of the benchmarks: a table, a picture, and a file of figures."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Sequence

from matplotlib.figure import Figure
from rich.markup import escape
from rich.table import Table

COLORS = {True: "tab:green", False: "tab:red"}


def write(folder: pathlib.Path, entries: Sequence[dict]) -> None:
    """bench.json and bench.png."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bench.json").write_text(json.dumps(list(entries), indent=1) + "\n")
    draw(folder / "bench.png", entries)


def table(entries: Sequence[dict]) -> Table:
    """One line a row and rival."""
    out = Table(title="functorch_lite against what one would use instead: our time by theirs")
    out.add_column("row", max_width=60)
    out.add_column("rival", max_width=26)
    for name in ("ours", "theirs", "ratio", "5% - 95%", "reach", "wall"):
        out.add_column(name, justify="right", no_wrap=True)
    out.add_column("")
    before = None, None
    for e in entries:
        c = e["conditions"]
        name, reason = e["row"], c.get("reason")
        if name == before[0]:
            name, reason = "", "as above" if reason is not None and reason == before[1] else reason
        before = e["row"], c.get("reason")
        if e["ratio"] is None:
            out.add_row(name, e["rival"], "", "", "-", "", f"{e['reach']:g}", "", f"[yellow]{escape(reason)}")
            continue
        wall = f"{c['wall']['ratio']:.2f}" if "wall" in c else ""
        figures = (f"{e['ratio']:.3f}", f"{e['low']:.2f} - {e['high']:.2f}", f"{e['reach']:g}", wall)
        verdict = "[green]ok" if e["ok"] else "[red]missed"
        out.add_row(name, e["rival"], shown(c["ours"], c["unit"]), shown(c["theirs"], c["unit"]), *figures, verdict)
    out.caption = f"{sum(e['ok'] for e in entries)} of {len(entries)} within reach. Medians of paired rounds, CPU time on one core."
    return out


def shown(value: float, unit: str) -> str:
    """A time or an amount of memory with a prefix that suits it."""
    prefixes = (("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0), ("m", 1e-3), ("u", 1e-6), ("n", 1e-9))
    prefix, size = next((p for p in prefixes if value >= p[1]), prefixes[-1])
    return f"{value / size:.3g} {prefix}{unit}"


def draw(path: pathlib.Path, entries: Sequence[dict]) -> None:
    """The ratios with their spread, and a mark where each should be."""
    ran = [e for e in entries if e["ratio"] is not None]
    figure = Figure(figsize=(10, 1.4 + 0.28 * len(ran)), layout="constrained")
    axis = figure.subplots()
    for i, e in enumerate(ran):
        color = COLORS[e["ok"]]
        axis.plot([e["low"], e["high"]], [i, i], color=color, lw=2, alpha=0.5)
        axis.plot(e["ratio"], i, "o", color=color, ms=5)
        axis.plot(e["reach"], i, "|", color="black", ms=11)
    axis.axvline(1.0, color="gray", lw=0.8)
    axis.set_xscale("log")
    axis.set_yticks(range(len(ran)), [f"{e['row']}  /  {e['rival']}" for e in ran], fontsize=8)
    axis.set_ylim(len(ran) - 0.5, -0.5)
    axis.grid(axis="x", which="both", alpha=0.2)
    axis.set_xlabel("our time by theirs; black: to be reached", fontsize=9)
    figure.savefig(path, dpi=120)

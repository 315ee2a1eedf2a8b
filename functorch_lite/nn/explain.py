"""explain: what a compiled function becomes: its program, what that depends on, what broke, and why it was traced again."""

from __future__ import annotations

import html
from collections.abc import Callable

from ..core.record import Record
from ..transforms.jit import Jitted
from ..transforms.program import Program
from .compile import Compiled, CompiledModule, compile


class Explanation(Record):
    """What `explain` found; print it, or show it in a notebook.

    ``program`` is what the call runs (None where it runs as it is written), ``guards`` say what that depends on, ``breaks`` why
    calls run as they are written, and ``recompiles`` why programs were traced again.
    """

    name: str
    program: Program | None
    guards: str
    breaks: list[str]
    recompiles: list[str]

    @property
    def graph(self):
        """The program's `fl.fx.Graph`."""
        return None if self.program is None else self.program.body.graph

    def __str__(self) -> str:
        parts = [f"{self.name}: " + ("it runs as it is written" if self.program is None else "one program")]
        if self.program is not None:
            p = self.program
            flow = "gradients may flow through it: forward and backward are two programs" if p.recorded else "nothing flows back through it"
            parts.append(f"{p.body!r}; {len(p.sources)} cells read, {len(p.writes)} written; {flow}")
            parts.append(str(self.graph))
        for title, lines in (("breaks", self.breaks), ("recompiles", self.recompiles)):
            if lines:
                parts.append("\n".join([f"{title}:", *[f"  {line}" for line in lines]]))
        if self.guards:
            parts.append(f"guards:\n{self.guards}")
        return "\n\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        drawn = self.graph._repr_html_() if hasattr(self.graph, "_repr_html_") else ""
        return f"<details open><summary><b>{html.escape(self.name)}</b></summary>{drawn}<pre>{html.escape(str(self))}</pre></details>"


def explain(f: Callable, *args, **kwargs) -> Explanation:
    """What a call of `f(*args, **kwargs)` becomes when it is compiled, without running it.

    f is a function or module, or what `compile` or `fl.jit` made of it: then its history is told too.

    >>> import functorch_lite as fl
    >>> import functorch_lite.torch as torch
    >>> w = torch.tensor([1.0, 2.0])
    >>> found = fl.explain(lambda x: x * w, torch.tensor([3.0, 4.0]))
    >>> len(found.program.sources), found.breaks
    (1, [])
    """
    if isinstance(f, Jitted):
        program = f.resolve(args, kwargs)[0]
        return Explanation(repr(f), program, "", [], [])
    compiled = f if isinstance(f, (Compiled, CompiledModule)) else compile(f)
    if isinstance(compiled, CompiledModule):
        compiled = compiled.__dict__["_compiled"]
    program, _ = compiled.examine(*args, **kwargs)
    guards = str(program.guards) if program is not None else ""
    return Explanation(repr(compiled), program, guards, list(compiled.breaks.values()), list(compiled.recompiles))

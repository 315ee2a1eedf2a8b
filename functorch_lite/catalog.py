"""`fl.ops`: every op of the library, to search and to print. Everything in it is read off the declarations."""

from __future__ import annotations

import html
import importlib
import inspect
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from functools import cached_property, lru_cache, partial
from pathlib import Path

from .core import pytree
from .core.array import ARRAYS, Operable
from .core.op import REGISTRY, Op
from .decomp import table as decompositions
from .transforms.make_fx import make_fx

SPACES = ("linalg", "fft", "special", "nn.functional", "signal", "masked", "random")  # of public functions, besides fl itself
RULES = ("meta", "jvp", "transpose", "vjp", "batch")  # shape, forward derivative, adjoint, own reverse rule, vmap
_LATER = ("nn", "nn.functional", "optim.rules")  # what declares ops and is not imported with the library
_PARTS = Path(__file__).parent / "decomp" / "parts.json"  # made by `make generated`


class Entry:
    """One op (or function that chooses among several): what it is called, takes and does, and where its rules come from."""

    def __init__(self, name: str, function: Callable, op: Op | None, aliases: tuple[str, ...] = ()):
        self.qualname, self.function, self.op, self.aliases = name, function, op, aliases

    namespace = property(lambda self: self.qualname.rpartition(".")[0], doc="'fl', 'fl.linalg', 'prims' ...")
    name = property(lambda self: self.qualname.rpartition(".")[2], doc="The name in its namespace.")
    doc = property(lambda self: inspect.getdoc(self.function) or "", doc="The docstring.")
    summary = property(lambda self: _sentence(self.doc), doc="The first sentence of the docstring.")

    @property
    def kind(self) -> str:
        """'prim' (has an implementation), 'composite' (is made of smaller ops) or 'function' (calls one op or another)."""
        return "function" if self.op is None else "composite" if self.op.impl is None else "prim"

    @property
    def family(self) -> str:
        """The constructor that declares it: 'elementwise', 'linear', 'bilinear', 'zero', 'general'; '' for one that has none."""
        return "" if self.op is None else self.op.traits.get("family") or self.op.kind or ""

    @cached_property
    def signature(self) -> str:
        """What stands between the parentheses of a call, and what it gives."""
        try:
            return re.sub(r"'([\w.\[\], |]+)'", r"\1", str(inspect.signature(self.function)))
        except (TypeError, ValueError):
            return "(...)"

    @property
    def file(self) -> str:
        """Where it is declared, in the package."""
        return self.op.file if self.op is not None else inspect.getmodule(inspect.unwrap(self.function)).__name__

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods of Array and Tensor that call it."""
        return tuple(sorted(name for name, value in vars(Operable).items() if value is self.function and not name.startswith("__")))

    @cached_property
    def rules(self) -> dict[str, str]:
        """Rule -> where it comes from: 'derived' (of the family), 'given' (to the family, which asks for it), 'own' (written for this
        op), 'body' (that of what it is made of). What it neither has nor needs is left out."""
        if self.op is None:
            return {}
        return {slot: found for slot in RULES if (found := origin(self.op, slot)) is not None}

    @property
    def derived(self) -> bool:
        """Whether no rule of a transform (derivatives, vmap) was written for it."""
        return all(where != "own" for slot, where in self.rules.items() if slot != "meta")

    @property
    def parts(self) -> tuple[str, ...]:
        """The ops that it is made of, as recorded for the samples of the op table; () for a prim."""
        return _parts().get(self.qualname, ())

    def decomposition(self, *args, prims: bool = False, **kwargs):
        """The graph of what a call with these arguments is made of, one step down; down to prims with `prims`. Its inputs are the arrays
        among them. ValueError for a prim."""
        if self.op is not None and self.op.decompose is None:
            raise ValueError(f"{self.qualname} is a prim: it is made of nothing smaller")
        table = decompositions.core_prims if prims else None if self.op is None else decompositions.decompositions([self.op])
        leaves, spec = pytree.flatten((args, kwargs))
        places = [i for i, x in enumerate(leaves) if isinstance(x, ARRAYS)]

        def call(*arrays):
            filled = dict(zip(places, arrays))
            args, kwargs = spec.unflatten([filled.get(i, x) for i, x in enumerate(leaves)])
            return self.function(*args, **kwargs)

        return make_fx(call, table)(*[leaves[i] for i in places])

    def __repr__(self) -> str:
        lines = [f"{self.qualname}{self.signature}", f"  {self.kind}{f' ({self.family})' if self.family else ''}, {self.file}"]
        if self.aliases:
            lines.append(f"  also: {', '.join(self.aliases)}")
        if self.rules:
            lines.append(f"  rules: {', '.join(f'{slot} {where}' for slot, where in self.rules.items())}")
        if self.parts:
            lines.append(f"  made of: {', '.join(self.parts)}")
        return "\n".join([*lines, "", *(f"  {line}".rstrip() for line in self.doc.splitlines())])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"

    def row(self) -> tuple[str, str, str, str]:
        """What a table shows of it."""
        return self.qualname, self.kind, rules_in_short(self.rules), self.summary


def rules_in_short(rules: dict[str, str]) -> str:
    """'all of its body', 'own: jvp, batch' ...: what is particular about rules."""
    own, given = ([s for s, where in rules.items() if where == what and s != "meta"] for what in ("own", "given"))
    words = ([f"own {', '.join(own)}"] if own else []) + ([f"given {', '.join(given)}"] if given else [])
    return "; ".join(words) or ("" if not rules else "of its body" if "body" in rules.values() else "derived")


@lru_cache(maxsize=1)
def _sharers() -> Counter:
    """How many prims have a rule with this code: what a constructor makes for several is nobody's own."""
    return Counter((slot, _code(rule)) for op in REGISTRY.values() for slot in (*RULES, "push") if (rule := getattr(op, slot)) is not None)


def _code(rule: Callable):
    while isinstance(rule, partial):
        rule = rule.func
    return getattr(rule, "__code__", rule)


def origin(op: Op, slot: str) -> str | None:
    """Where a rule of an op comes from (see `Entry.rules`)."""
    rule = getattr(op, slot) or (op.push if slot == "jvp" else None)
    if rule is None:
        if op.decompose is not None and slot != "vjp":
            return "body"
        return "derived" if slot in op.derived else None
    if slot in op.derived or op.kind is not None and _sharers()[slot, _code(rule)] > 1:
        return "derived"
    return "given" if slot == "transpose" and op.kind in ("linear", "bilinear") else "own"


@lru_cache(maxsize=1)
def _parts() -> dict[str, tuple[str, ...]]:
    return {name: tuple(parts) for name, parts in json.loads(_PARTS.read_text()).items()} if _PARTS.exists() else {}


def _sentence(doc: str) -> str:
    text = " ".join(doc.partition("\n\n")[0].partition(">>>")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z`])", text, maxsplit=1)[0]


def _forms(qualname: str) -> list[str]:
    return [qualname, qualname.removeprefix("fl."), qualname.rpartition(".")[2]]


def _whole(e: Entry) -> list[str]:
    return _forms(e.qualname)[:1]


def _short(e: Entry) -> list[str]:
    return _forms(e.qualname)[1:]


class Ops:
    """The ops, or some of them, by name. `fl.ops["softmax"]`, `fl.ops.search("pool")`, `fl.ops.prims`, `for entry in fl.ops`.

    >>> import functorch_lite as fl
    >>> fl.ops["softmax"].qualname, fl.ops["prims.exp"].kind, "fl.linalg.svd" in fl.ops
    ('fl.softmax', 'prim', True)
    >>> fl.ops.search("log softmax").entries[0].qualname
    'fl.log_softmax'
    >>> fl.ops["rms_norm"].decomposition(fl.ones(3), (3,)).graph.find_nodes(op="call_function") != []
    True
    """

    def __init__(self, entries: Iterable[Entry] | None = None):
        self._chosen = None if entries is None else list(entries)

    @property
    def entries(self) -> list[Entry]:
        """All of them: public names first, prims last, by name."""
        return _all() if self._chosen is None else self._chosen

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, name: str) -> bool:
        return self._found(name) is not None

    def __getitem__(self, name: str) -> Entry:
        """By name ('softmax', 'linalg.svd', 'prims.exp', also another name of PyTorch's). KeyError with the names that are near."""
        found = self._found(name)
        if found is None:
            near = get_close_matches(name, [n for e in self for q in (e.qualname, *e.aliases) for n in _forms(q)[2:]], 5, 0.6)
            raise KeyError(f"there is no op {name!r}" + (f"; near: {', '.join(dict.fromkeys(near))}" if near else "; see fl.ops.search"))
        return found

    def _found(self, name: str) -> Entry | None:
        for known in (_whole, _short, lambda e: [form for other in e.aliases for form in _forms(other)]):
            for e in self:
                if name in known(e):
                    return e
        return None

    def search(self, text: str) -> Ops:
        """Those with all of these words in their name, other names or first sentence; names that match come first."""
        words = text.lower().split()
        in_names = [e for e in self if all(w in " ".join((e.qualname, *e.aliases)).lower() for w in words)]
        in_docs = [e for e in self if all(w in f"{e.qualname} {' '.join(e.aliases)} {e.summary}".lower() for w in words)]
        return Ops(dict.fromkeys([*in_names, *in_docs]))

    prims = property(lambda self: Ops(e for e in self if e.kind == "prim"), doc="Those with an implementation.")
    composites = property(lambda self: Ops(e for e in self if e.kind == "composite"), doc="Those made of smaller ops.")

    def share(self) -> dict[str, float]:
        """Of the prims: how many there are; the share for which no rule of a transform was written (their family derives all of them, from
        what it asks for: a partial derivative, the transpose of what is linear); the same where a transpose counts as written too. And of all
        ops: the lines of the files that declare them, for each."""
        prims, ops, home = [e for e in self if e.kind == "prim"], [e for e in self if e.op is not None], Path(__file__).parent
        lines = sum(len((home / f).read_text().splitlines()) for f in {e.file for e in ops} if (home / f).exists())
        strict = [e for e in prims if e.derived and "given" not in e.rules.values()]
        n = max(len(prims), 1)
        return {
            "prims": len(prims),
            "derived": sum(e.derived for e in prims) / n,
            "strictly": len(strict) / n,
            "lines": lines / max(len(ops), 1),
        }

    def __repr__(self) -> str:
        rows = [("op", "kind", "rules", "what it is"), *(e.row() for e in self)]
        widths = [min(max(len(r[i]) for r in rows), 56) for i in range(3)]
        table = [" ".join(f"{c:{w}}" for c, w in zip(r, widths)) + f" {r[3][:90]}" for r in rows]
        return "\n".join([*(line.rstrip() for line in table), f"{len(self)} ops"])

    def _repr_html_(self) -> str:
        head = "".join(f"<th style='text-align:left'>{c}</th>" for c in ("op", "kind", "rules", "what it is"))
        rows = (
            f"<tr title='{html.escape(e.signature, quote=True)}'><td><code>{html.escape(e.qualname)}</code></td>"
            + "".join(f"<td style='text-align:left'>{html.escape(c)}</td>" for c in e.row()[1:])
            for e in self
        )
        return f"<details open><summary>{len(self)} ops</summary><table><tr>{head}</tr>{''.join(rows)}</table></details>"


_seen: tuple[int, list[Entry]] = (-1, [])


def _all() -> list[Entry]:
    """The entries now: made again when ops have been declared since."""
    global _seen
    package = __package__
    for module in _LATER:
        importlib.import_module(f"{package}.{module}")
    if _seen[0] != len(REGISTRY):
        _sharers.cache_clear()
        _seen = len(REGISTRY), _collected(package)
    return _seen[1]


def public(package: str = __package__) -> Iterator[tuple[str, Callable]]:
    """(name with its namespace, function) of every public function that stands for an op or for several."""
    for space in ("", *SPACES):
        module = importlib.import_module(f"{package}.{space}".rstrip("."))
        for name, value in sorted(vars(module).items()):
            inner = inspect.unwrap(value) if callable(value) and not inspect.isclass(value) else None
            home = getattr(getattr(value, "op", None), "file", None) or getattr(inner, "__module__", "") or ""
            if (
                not name.startswith("_")
                and inner is not None
                and (isinstance(getattr(value, "op", None), Op) or f"{package}.refs." in home)
            ):
                yield ".".join(filter(None, ("fl", space, name))), value


def _collected(package: str) -> list[Entry]:
    names: dict[int, list[str]] = {}
    functions: dict[int, Callable] = {}
    for name, function in public(package):
        op = getattr(function, "op", None)
        key = id(op) if isinstance(op, Op) and op.function is function else id(function)
        names.setdefault(key, []).append(name)
        functions[key] = function
    entries, taken = [], set()
    for op in REGISTRY.values():
        others = [n for n in names.pop(id(op), ()) if n != op.qualname]
        entries.append(Entry(op.qualname, op.function, op, tuple(others)))
        taken.add(op.qualname)
    for key, found in names.items():  # what is no op itself; where one of the same name does its work, that stands for it
        free = [n for n in found if n not in taken]
        if free:
            entries.append(Entry(free[0], functions[key], None, tuple(free[1:])))
    rank = {f"fl.{space}": i for i, space in enumerate(SPACES)} | {"fl": -1, "prims": 2 * len(SPACES)}
    return sorted(entries, key=lambda e: (rank.get(e.namespace, len(SPACES)), e.namespace, e.name))


ops = Ops()

"""From op calls and programs to executables: compile options by device and size, and the call itself."""

from __future__ import annotations

import os
import time

import jax
import numpy as np

from ..core.interpreter import Abstract, Traced, live
from . import disk, options
from .fingerprint import fingerprint, sources_digest
from .launch import launcher
from .lower import lower_with

_SMALL = 1 << 14  # elements
ALWAYS_QUICK = os.environ.get("FUNCTORCH_LITE_COMPILE") == "quick"  # for test suites, where compiling is the work


class Executable:
    """A compiled program: flat buffers in, flat buffers out, and what its checks say raised as the exception they name."""

    __slots__ = ("compiled", "avals", "failures", "label", "run")

    def __init__(self, compiled, avals, failures, label):
        self.compiled, self.avals, self.failures, self.label = compiled, avals, failures, label
        self.run = launcher(compiled)

    def __call__(self, buffers):
        outs = self.run(buffers)
        if self.failures:
            notes = np.asarray(outs[-1])
            if not notes[:, 0].all():
                i = int(np.argmin(notes[:, 0]))
                _, error, message, *_ = self.failures[i]
                message = message.replace("{}", str(notes[i, 1]))
                raise error(message if message.startswith(self.label) else f"{self.label}: {message}")
            return outs[:-1]
        return outs


def compile_flat(
    f,
    avals,
    label: str,
    *,
    device=None,
    donate: tuple[int, ...] = (),
    checked: bool = False,
    quick: bool | None = None,
    repeated: bool = False,
    exact: tuple[tuple, tuple] | None = None,
):
    """Compiles f (flat values in and out) for these avals: (what it was lowered to, the executable).

    ``quick``: as if it worked on little data, or not; ``repeated``: it will run often, however little data it works on.
    ``exact`` is (values that say all of f, as `fingerprint` takes them; the avals of its results): then the executable may be found on
    disk without lowering, and the first result is None.
    """
    failures: list | None = [] if checked else None
    out_avals: list = []
    target = device if isinstance(device, jax.Device) else jax.config.jax_default_device or jax.local_devices()[0]
    one = device is None or isinstance(device, jax.Device)
    name = None  # on disk
    if exact is not None and one and disk.directory() is not None:
        parts, outs = exact
        found = fingerprint(label, device is None, checked, tuple(avals), parts)
        if found is not None:
            chosen = options.wanted(target.platform, _tier(quick, repeated, avals, outs))
            name = disk.key_of(f"fingerprint {found}", target, chosen, donate)
            compiled = disk.load(disk.linked(name), len(avals), len(outs), target)
            if compiled is not None:
                return None, Executable(compiled, list(outs), None, label)

    def run(*buffers):
        if failures is not None:
            failures.clear()
        outs = lower_with(lambda *xs: _noting(f(*xs), out_avals), avals, buffers, label, failures, target.platform)
        if failures:
            outs.append(jax.lax.concatenate([_note(ok, *shown) for ok, _, _, *shown in failures], 0))
        return outs

    run.__name__ = run.__qualname__ = "".join(c if c.isalnum() or c in "._" else "_" for c in label)
    with jax.enable_x64(True):
        sharding = None if device is None else jax.sharding.SingleDeviceSharding(device) if isinstance(device, jax.Device) else device
        specs = [jax.ShapeDtypeStruct(a.shape, a.dtype.dtype, sharding=sharding) for a in avals]
        jitted = jax.jit(run, donate_argnums=donate)
        lowered = jitted.lower(*specs)
        tier = _tier(quick, repeated, avals, out_avals)
        chosen = options.known(target.platform, tier)
        name = None if failures else name
        if not one or tier != "full" and name is None:
            compiled = lowered.compile(chosen)
        else:
            compiled = _through_disk(lowered, chosen, target, donate, len(avals), len(out_avals) + bool(failures), name)
    return lowered, Executable(compiled, out_avals, failures, label)


def _tier(quick: bool | None, repeated: bool, avals, outs) -> str:
    """How well a program is compiled (`options.TIERS`): if nobody says, by the data that it works on."""
    small = quick if quick is not None else sum(a.size for a in [*avals, *outs]) <= _SMALL
    return "full" if not small else "repeated" if repeated and not ALWAYS_QUICK else "quick"


def _through_disk(lowered, chosen: dict, device: jax.Device, donate: tuple[int, ...], inputs: int, outputs: int, name: str | None):
    """The executable of a lowered program, compiled here or by an earlier process; from now on it is found by this name too."""
    key = disk.key_of(lowered.as_text(), device, chosen, donate)
    compiled = disk.load(key, inputs, outputs, device)
    if compiled is None:
        start = time.perf_counter()
        compiled = lowered.compile(chosen)
        disk.store(key, compiled, time.perf_counter() - start)
    if name is not None and sources_digest() is not None:  # they have not changed under it
        disk.link(name, key)
    return compiled


def _note(ok, shown=0):
    """A row (whether a check held, the number that its message shows)."""
    return jax.lax.concatenate([jax.lax.reshape(jax.lax.convert_element_type(x, np.int64), (1, 1)) for x in (ok, shown)], 1)


def _noting(outs, out_avals):
    out_avals[:] = [x.aval for x in outs]
    return outs


def compile_call(op, avals, params, device) -> Executable:
    """The executable of one op call; the aval of an absent argument is None."""
    places = [a is not None for a in avals]

    def f(*values):
        supply = iter(values)
        out = op.bind(*[next(supply) if p else None for p in places], params=params)
        return out if op.multi else (out,)

    known, avals = avals, [a for a in avals if a is not None]
    how = {"checked": True} if op.cached else op.traits["compile"](*params) if "compile" in op.traits else {}
    if not op.cached:  # what has a body is a program: worth compiling well, and unchecked unless it says otherwise
        how["quick"] = ALWAYS_QUICK
    if op.ours and not op.inline:
        outs = inferred(op, known, params)
        how["exact"] = (op, params, tuple(places)), outs
    return compile_flat(f, avals, op.name, device=device, **how)[1]


def inferred(op, avals, params) -> tuple:
    """The avals of the results of an op call."""
    with live(Abstract(op.name)) as shapes:
        out = op.infer(tuple([None if a is None else Traced(shapes, a, None) for a in avals]), params)
    return out if op.multi else (out,)

"""Launching: the shortest way from a list of jax arrays through an executable to a list of jax arrays.

jax's own call looks at shardings, layouts and effects each time. Where there is one device none of that can differ, and the
executable is handed the buffers at once, by calls that are half private: they are tried once in a process, and where this jax does not
have them, or an executable needs more (callbacks, several devices), jax's public call does it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import itemgetter

import jax
import numpy as np


def launcher(compiled: jax.stages.Compiled) -> Callable[[list], list]:
    """A function that runs an executable on a list of jax arrays and gives the list of its results.

    The arrays must have the shapes and dtypes it was compiled for and must not be deleted; neither is looked at. What it was
    compiled to take (``donate_argnums``) is deleted by the call.
    """
    parts = _parts(compiled)
    if parts is None:
        return lambda buffers: list(compiled(*buffers))
    execute, consume, handlers, pick = parts
    if pick is not None:
        return lambda buffers: consume(execute(pick(buffers)), handlers)
    return lambda buffers: consume(execute(buffers), handlers)


def keeper(compiled: jax.stages.Compiled) -> Callable[[list, list], None]:
    """Like `launcher`, but ``run(buffers, box)`` appends the list of results to `box`, and where the calls are direct no other Python
    runs in between: a Ctrl-C cannot come after the donated inputs are gone and before the results are somewhere."""
    parts = _parts(compiled)
    if parts is None:
        return lambda buffers, box: box.extend(map(list, map(_called, (compiled,), (buffers,))))
    execute, consume, handlers, pick = parts
    if pick is not None:
        return lambda buffers, box: box.extend(map(consume, map(execute, map(pick, (buffers,))), (handlers,)))
    return lambda buffers, box: box.extend(map(consume, map(execute, (buffers,)), (handlers,)))


def _called(compiled, buffers):
    return compiled(*buffers)


@functools.cache
def one_place() -> bool:
    """Whether arrays can be in one place only."""
    return jax.default_backend() == "cpu" and jax.device_count() == 1


def _parts(compiled):
    """(execute, consume, handlers, which buffers it takes or None for all) with results = consume(execute(buffers), handlers); None
    for an executable that needs more than that."""
    consume = _consume() if one_place() else None
    if consume is None:
        return None
    call = compiled._executable.unsafe_call
    if call.ordered_effects or call.has_unordered_effects or call.has_host_callbacks or call.mut is not None:
        return None
    kept = sorted(call.kept_var_idx)  # jax drops inputs that are not used
    pick = None if len(kept) == compiled.in_tree.num_leaves else _picker(kept)
    return call.xla_executable.execute_sharded, consume, call.out_handler.handlers, pick


def _picker(kept: list[int]):
    if not kept:
        return lambda buffers: []
    get = itemgetter(*kept)
    return (lambda buffers: list(get(buffers))) if len(kept) > 1 else (lambda buffers: [get(buffers)])


@functools.cache
def _consume():
    """What makes jax arrays of what an executable gave; None where this jax has no such calls, or they do something else."""
    x = np.arange(3, dtype=np.float32)
    try:
        call = jax.jit(lambda x, y: (y, x)).lower(x, x).compile()._executable.unsafe_call
        given = call.xla_executable.execute_sharded([jax.device_put(x), jax.device_put(2 * x)])
        consume, handlers = type(given).consume_with_handlers, call.out_handler.handlers
        found = [np.asarray(y).tolist() for y in consume(given, handlers)]
        known = (call.ordered_effects, call.has_unordered_effects, call.has_host_callbacks, call.mut, call.kept_var_idx)
    except (AttributeError, TypeError, ValueError, RuntimeError):  # another version of jax
        return None
    return consume if found == [[0, 2, 4], [0, 1, 2]] and known == ([], False, False, None, {0, 1}) else None

"""backward, grad, and hooks: what the façade asks of the recording under each body (`transforms/ambient.py`)."""

from __future__ import annotations

import weakref
from contextlib import contextmanager

from ..core.array import Array
from ..core.face import read
from ..core.interpreter import STATE, body, boundary, lowered, serial, use
from ..errors import GraphBreak
from ..prims import algebra
from ..refs.promotion import to_dtype
from ..transforms.ambient import Leaf, history
from .grad_mode import no_grad
from .hooks import HookDict, RemovableHandle
from .tensor import Tensor

# ------------------------------------------------------------------------------------------------------------- pulling


def _listed(x) -> list:
    return list(x) if isinstance(x, (tuple, list)) else [x]


def recorded(x: Tensor) -> Array:
    """Its value with its history, also under `no_grad`."""
    before = STATE.stopped
    STATE.stopped = min(before, body(STATE.current).born)
    try:
        return x.read()
    finally:
        STATE.stopped = before


def _roots(name: str, outputs, gradients):
    """(ambient, edges, cotangents) of the outputs."""
    outputs = _listed(outputs)
    gradients = [None] * len(outputs) if gradients is None else _listed(gradients)
    if len(gradients) != len(outputs):
        raise RuntimeError(f"{name}: got {len(outputs)} tensors and {len(gradients)} gradients; give one for each, or None")
    ambient, edges, cotangents = None, [], []
    for i, (y, g) in enumerate(zip(outputs, gradients)):
        if not isinstance(y, Tensor):
            raise TypeError(f"{name}: element {i} must be a Tensor, got {type(y).__name__}; Arrays are differentiated by fl.grad(f)(x)")
        value = recorded(y)
        found = history(value)
        if found is None:
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn (got {y.aval}){_of_a_transform(y)}"
            )
        if found[0] is not STATE.current or ambient is not None and found[0] is not ambient:
            raise RuntimeError(f"{name}: element {i} of tensors was computed in another body than this one, {body(STATE.current).label}")
        ambient = found[0]
        edges.append(found[1])
        cotangents.append(_cotangent(name, value, g))
    return ambient, edges, cotangents


def _cotangent(name: str, value: Array, g):
    if g is None:
        if value.aval.size != 1:
            raise RuntimeError(
                f"grad can be implicitly created only for scalar outputs, got {value.aval}; pass the gradient, or reduce it with .sum()"
            )
        if value.dtype.is_complex:
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {value.dtype}")
        return algebra.full_like(value, 1)
    given = read(g)
    if given.shape != value.shape:
        raise RuntimeError(f"{name}: Mismatch in shape: the gradient has shape {list(given.shape)} and the output {list(value.shape)}")
    if given.dtype.is_complex is not value.dtype.is_complex:
        raise RuntimeError(f"{name}: a gradient of {given.dtype} for an output of {value.dtype}: both must be complex, or both real")
    return to_dtype(given, value.dtype)


class _Hooks:
    """Runs hooks in the body that `ambient` records, recorded there only if the gradients are."""

    def __init__(self, ambient, graph: bool):
        self.ambient, self.graph = ambient, graph

    def __call__(self, edge, c: Array) -> Array:
        """The gradient of an edge after its hooks; a result that keeps its gradient is given it."""
        node, i = edge
        if node.__class__ is Leaf:
            tensor = node.tensor()
            hooks, retained = tensor._hooks if tensor is not None else None, None
        else:
            hooks, retained = node.hooks and node.hooks.get(i), node.retained and node.retained.get(i)
        for hook in list(hooks.values()) if hooks else ():
            c = self._changed(hook, c)
        tensor = retained() if retained else None
        if tensor is not None:
            with self.running():
                old = tensor.grad
                tensor.slot.write(Tensor.over(c) if old is None else old + Tensor.over(c))
        return c

    def _changed(self, hook, c: Array) -> Array:
        with self.running():
            out = hook(Tensor.over(c))
            if out is None:
                return c
            if not isinstance(out, Tensor) or out.aval != c.aval:
                what = out.aval if isinstance(out, Tensor) else type(out).__name__
                raise RuntimeError(f"register_hook: a hook must return a Tensor like the gradient, {c.aval}, or None; got {what}")
            return out.read() if self.graph else lowered(out.read(), self.ambient.parent)

    @contextmanager
    def running(self):
        """The body and the grad mode of a hook: off without ``create_graph``, as in PyTorch, except below a `grad`, which needs them."""
        before = STATE.stopped
        if not self.graph and not self.ambient.born:
            STATE.stopped = serial()
        try:
            with use(self.ambient if self.graph else self.ambient.parent):
                yield
        finally:
            STATE.stopped = before


def _pull(ambient, edges, cotangents, wanted, retain_graph, create_graph, needed=None) -> dict:
    keep = create_graph if retain_graph is None else retain_graph
    seen = _Hooks(ambient, create_graph)
    if create_graph:
        return ambient.pull(edges, cotangents, wanted, graph=True, keep=keep, seen=seen, needed=needed)
    with use(ambient.parent):  # where nothing is recorded for `backward`
        return ambient.pull(edges, [lowered(c, ambient.parent) for c in cotangents], wanted, keep=keep, seen=seen, needed=needed)


def backward(tensors, grad_tensors=None, retain_graph: bool | None = None, create_graph: bool = False, inputs=None) -> None:
    """Adds to `.grad` of each leaf that the tensors were made from (or of `inputs`) the gradient of their sum.

    ``grad_tensors`` are the cotangents; a scalar needs none. What the graph kept is given away unless ``retain_graph``; with
    ``create_graph`` the gradients have history themselves. Raises RuntimeError for a tensor without history, for a second
    backward through a graph that was given away, and inside a transform for leaves from outside it (use autograd.grad there).
    """
    ambient, edges, cotangents = _roots("backward", tensors, grad_tensors)
    leaves = None
    if inputs is not None:
        if not _listed(inputs):
            raise RuntimeError("backward: `inputs` argument to backward() cannot be empty.")
        leaves = {_edge("backward", ambient, x, i): x for i, x in enumerate(_listed(inputs))}
    needed = ambient.reaching(edges, leaves)
    targets = _targets(needed, leaves)
    for tensor in targets.values():
        if not ambient.parent.keeps(tensor.slot):
            what = f"the tensor {tensor.name!r}" if tensor.name else f"a tensor {tensor.aval}"
            raise RuntimeError(
                f"backward: it would change .grad of {what}, which was made outside {body(ambient).label}. Use autograd.grad(loss, tensors), whose "
                "result can be returned, or call backward after the transform"
            )
    found = _pull(ambient, edges, cotangents, leaves, retain_graph, create_graph, needed)
    for edge, c in found.items():
        if edge in targets:
            tensor = targets[edge]
            _accumulate(tensor, c, create_graph)
            for hook in list(tensor.__dict__.get("_after", {}).values()):
                with _Hooks(ambient, create_graph).running():
                    hook(tensor)
    boundary(final=False)


def _targets(needed, leaves) -> dict:
    """The tensors whose `.grad` will change, by edge: the given leaves, or all that are among the nodes."""
    if leaves is not None:
        return leaves
    leaves = [(n, n.tensor()) for n in needed if n.__class__ is Leaf]
    if any(n.outside for n, _ in leaves):
        raise GraphBreak(
            "backward: it reaches the history of a tensor that was computed outside of the compiled function; call backward outside, or compute "
            "that tensor inside"
        )
    return {(n, 0): t for n, t in leaves if t is not None and t._wants}


def _accumulate(tensor: Tensor, c: Array, create_graph: bool) -> None:
    old = tensor.grad
    if old is None:
        tensor.slot.write(Tensor.over(c))
    elif create_graph:
        tensor.slot.write(old + Tensor.over(c))
    else:
        with no_grad():
            old._assign(algebra.add(old.array, c))


def _of_a_transform(x: Tensor) -> str:
    """What to add to a message about a tensor without history for `backward`, if a transform differentiates it."""
    if not x.requires_grad:
        return ""
    return (
        f". Its gradient here is that of {body(STATE.current).label}, which takes it when the function has returned; for one by backward or "
        "autograd.grad inside, call x.requires_grad_() on the inputs first"
    )


def _edge(name: str, ambient, x: Tensor, i: int):
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}: input {i} must be a Tensor, got {type(x).__name__}; Arrays are differentiated by fl.grad(f)(x)")
    found = history(recorded(x))
    if found is None or found[0] is not ambient:
        raise RuntimeError(
            f"{name}: one of the differentiated Tensors does not require grad: input {i}, {x.aval}; call requires_grad_() before it is used"
            f"{_of_a_transform(x)}"
        )
    return found[1]


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the sum of `outputs` with respect to `inputs`, a tuple; nothing is added to `.grad`.

    It works inside `vmap` too, for each sample. ``allow_unused`` gives None (zeros with ``materialize_grads``) for an input that
    does not reach the outputs, which raises RuntimeError otherwise. ``is_grads_batched`` maps over the first dimension of
    ``grad_outputs``.
    """
    if is_grads_batched:
        return _batched(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)
    inputs = _listed(inputs)
    if materialize_grads and allow_unused is False:
        raise ValueError("grad: allow_unused must be True or not given with materialize_grads=True, got allow_unused=False")
    ambient, edges, cotangents = _roots("grad", outputs, grad_outputs)
    wanted = [_edge("grad", ambient, x, i) for i, x in enumerate(inputs)]
    found = _pull(ambient, edges, cotangents, set(wanted), retain_graph, create_graph)
    out = []
    for i, (x, edge) in enumerate(zip(inputs, wanted)):
        c = found.get(edge)
        if c is None:
            if not (allow_unused or materialize_grads):
                raise RuntimeError(
                    f"One of the differentiated Tensors appears to not have been used in the graph (input {i}, {x.aval}). Set allow_unused=True "
                    "if this is the desired behavior."
                )
            c = algebra.zeros(x.aval) if materialize_grads else None
        out.append(None if c is None else Tensor.over(c))
    return tuple(out)


def _batched(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads):
    from ..transforms.vmap import vmap

    if create_graph:
        raise NotImplementedError("grad: is_grads_batched with create_graph is not supported; use fl.vmap over fl.vjp")
    ambient, edges, _ = _roots("grad", outputs, [g[0] for g in _listed(grad_outputs)])
    wanted = [_edge("grad", ambient, x, i) for i, x in enumerate(_listed(inputs))]

    def one(*cts):
        found = ambient.pull(edges, list(cts), set(wanted), keep=True, at=STATE.current)
        return [found.get(e) if e in found else algebra.zeros(x.aval) for e, x in zip(wanted, _listed(inputs))]

    with use(ambient.parent):
        rows = vmap(one)(*[g.array for g in _listed(grad_outputs)])
    return tuple(map(Tensor.over, rows))


# ------------------------------------------------------------------------------------------------------------- hooks


def register_hook(tensor: Tensor, hook) -> RemovableHandle:
    """See `Tensor.register_hook`."""
    if tensor._wants:
        if tensor._hooks is None:
            tensor._hooks = HookDict()
        return RemovableHandle(tensor._hooks, hook)
    found = history(tensor.read())
    if found is None:
        raise RuntimeError(f"cannot register a hook on a tensor that doesn't require gradient{_of_a_transform(tensor)}")
    body(STATE.current).hinder("a hook is registered in it")
    node, i = found[1]
    if node.hooks is None:
        node.hooks = {}
    return RemovableHandle(node.hooks.setdefault(i, HookDict()), hook)


def register_post_accumulate_grad_hook(tensor: Tensor, hook) -> RemovableHandle:
    """See `Tensor.register_post_accumulate_grad_hook`."""
    if not tensor._wants:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return RemovableHandle(tensor.__dict__.setdefault("_after", HookDict()), hook)


def retain_grad(tensor: Tensor) -> None:
    """See `Tensor.retain_grad`."""
    if tensor._wants or tensor.retains_grad:
        return
    if not tensor.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if history(tensor.read()) is None:
        raise RuntimeError(f"retain_grad: the tensor has no history for backward{_of_a_transform(tensor)}")
    body(STATE.current).hinder("retain_grad is called in it")
    node, i = tensor._retains = history(tensor.read())[1]
    if node.retained is None:
        node.retained = {}
    node.retained[i] = weakref.ref(tensor)

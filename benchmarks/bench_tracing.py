"""Tracing: `make_fx(grad(loss))` against `jax.make_jaxpr(jax.grad(loss))`, on one transformer loss written once for both.

Four layers, d 64, 4 heads, 32 tokens, batch 2. Each round traces a fresh function object on both sides (jax caches traces by
function), in turn, in one process; the ratio is of process CPU times.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np

import functorch_lite as fl

LAYERS, D, HEADS, T, BATCH, VOCAB = 4, 64, 4, 32, 2, 128
REACH = 0.4


def parameters() -> dict:
    rng = np.random.default_rng(0)
    w = lambda *shape: (rng.normal(size=shape) * 0.02).astype(np.float32)
    layer = lambda: {
        "norm1": np.ones(D, np.float32),
        "qkv": w(D, 3 * D),
        "proj": w(D, D),
        "norm2": np.ones(D, np.float32),
        "up": w(D, 4 * D),
        "down": w(4 * D, D),
    }
    return {"embed": w(VOCAB, D), "place": w(T, D), "layers": [layer() for _ in range(LAYERS)], "norm": np.ones(D, np.float32)}


def transformer_loss(lib):
    """The loss in the operators that both libraries have; `lib` is functorch_lite or jax.numpy."""
    mean = (lambda x: x.mean(-1, keepdims=True)) if lib is jnp else (lambda x: x.mean(-1, keepdim=True))
    top = (lambda x: x.max(-1, keepdims=True)) if lib is jnp else (lambda x: x.amax(-1, keepdim=True))
    total = (lambda x: x.sum(-1, keepdims=True)) if lib is jnp else (lambda x: x.sum(-1, keepdim=True))
    permute = (lambda x, *d: x.transpose(*d)) if lib is jnp else (lambda x, *d: x.permute(*d))
    stop = jax.lax.stop_gradient if lib is jnp else fl.stop_gradient

    def norm(x, scale):
        centred = x - mean(x)
        return centred * scale / lib.sqrt(mean(centred * centred) + 1e-5)

    def softmax(x):
        e = lib.exp(x - stop(top(x)))
        return e / total(e)

    def gelu(x):
        return 0.5 * x * (1 + lib.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

    def attention(x, p, mask):
        q, k, v = (permute(y.reshape(BATCH, T, HEADS, D // HEADS), 0, 2, 1, 3) for y in split3(x @ p["qkv"]))
        scores = q @ permute(k, 0, 1, 3, 2) / (D // HEADS) ** 0.5
        y = softmax(scores + mask) @ v
        return permute(y, 0, 2, 1, 3).reshape(BATCH, T, D) @ p["proj"]

    def split3(x):
        return x[..., :D], x[..., D : 2 * D], x[..., 2 * D :]

    def loss(p, tokens, targets, mask):
        x = p["embed"][tokens] + p["place"]
        for layer in p["layers"]:
            x = x + attention(norm(x, layer["norm1"]), layer, mask)
            x = x + gelu(norm(x, layer["norm2"]) @ layer["up"]) @ layer["down"]
        logits = norm(x, p["norm"]) @ permute(p["embed"], 1, 0)
        shifted = logits - stop(top(logits))
        log_probability = shifted - lib.log(total(lib.exp(shifted)))
        return -(log_probability * targets).sum() / (BATCH * T)

    return loss


def data():
    rng = np.random.default_rng(1)
    tokens = rng.integers(0, VOCAB, (BATCH, T)).astype(np.int32)
    targets = np.eye(VOCAB, dtype=np.float32)[rng.integers(0, VOCAB, (BATCH, T))]
    return tokens, targets, np.triu(np.full((T, T), -1e9, np.float32), 1)


def timed(f) -> float:
    start = time.process_time()
    f()
    return time.process_time() - start


def main(rounds: int = 25) -> None:
    ours = (fl.tree.map(fl.asarray, parameters()), *map(fl.asarray, data()))
    theirs = (jax.tree.map(jnp.asarray, parameters()), *map(jnp.asarray, data()))
    g, j = fl.grad(transformer_loss(fl))(*ours), jax.grad(transformer_loss(jnp))(*theirs)
    fl.tree.map(lambda a, b: np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-3, atol=1e-6), g, j)
    trace_ours = lambda: fl.make_fx(fl.grad(transformer_loss(fl)))(*ours)
    trace_theirs = lambda: jax.make_jaxpr(jax.grad(transformer_loss(jnp)))(*theirs)
    nodes, equations = len(trace_ours().graph.nodes), len(trace_theirs().eqns)
    for f in (trace_ours, trace_theirs):
        f()
    pairs = [(timed(trace_ours), timed(trace_theirs)) for _ in range(rounds)]
    ratios = sorted(a / b for a, b in pairs)
    ratio, low, high = ratios[rounds // 2], ratios[rounds // 20], ratios[-1 - rounds // 20]
    a, b = (float(np.median(x)) * 1e3 for x in zip(*pairs))
    print(f"functorch_lite  make_fx(grad(loss))            {a:8.2f} ms  {nodes} nodes  {a * 1e3 / nodes:.1f} us a node")
    print(f"jax {jax.__version__:<10}  make_jaxpr(jax.grad(loss))     {b:8.2f} ms  {equations} equations")
    print(f"ratio {ratio:.3f} (5% to 95%: {low:.3f} to {high:.3f}); reach {REACH}: {'ok' if ratio <= REACH else 'MISSED'}")


if __name__ == "__main__":
    main()

"""Bad input: the exception type that a PyTorch (or else JAX) user knows, and a message that says who, what, and the way out."""

import re

import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite.core.interpreter import body, current
from functorch_lite.errors import ConcretizationError, LeakedValueError, NonDifferentiableError, TreeMismatchError
from functorch_lite.xla import EVAL


def ones(*shape, dtype=np.float32):
    return fl.asarray(np.ones(shape, dtype))


def square(x):
    return x * x


def total(x):
    return (x * x).sum()


def leaked():
    kept = []
    fl.grad(lambda x: kept.append(x) or x * x)(1.0)
    return kept[0]


# Each line: what the user did, the type of the exception, and what its message must hold (regular expressions).
OPS = {
    "add: shapes": (lambda: ones(2, 3) + ones(4), RuntimeError, ["add", r"\[2, ?3\]", r"\[4\]", "broadcast"]),
    "matmul: sizes": (lambda: ones(2, 3) @ ones(4, 5), RuntimeError, ["matmul|dot_general", r"\[2, ?3\]", r"\[4, ?5\]"]),
    "matmul: dtypes": (
        lambda: ones(2, 2) @ ones(2, 2, dtype=np.int64),
        RuntimeError,
        ["matmul|dot_general", "float32", "int64", r"\.to\("],
    ),
    "sum: dim": (lambda: ones(2, 3).sum(dim=2), IndexError, ["sum", r"\[-2, 1\]", "2"]),
    "sum: dim twice": (lambda: ones(2, 3).sum(dim=(0, 0)), RuntimeError, ["sum", "twice|multiple"]),
    "sum: dim is no int": (lambda: ones(2, 3).sum(dim=0.5), TypeError, ["sum", "dim", "0.5"]),
    "mean of integers": (lambda: ones(2, dtype=np.int64).mean(), RuntimeError, ["mean", "int64", "float"]),
    "reshape: sizes": (lambda: ones(2, 3).reshape(4), RuntimeError, ["reshape", r"\[4\]", "size 6"]),
    "cat: shapes": (lambda: fl.cat([ones(2, 3), ones(2, 4)]), RuntimeError, ["cat", r"\[2, ?3\]", r"\[2, ?4\]"]),
    "cat: nothing": (lambda: fl.cat([]), (RuntimeError, ValueError), ["cat", "at least one|non-empty|empty"]),
    "argument is no array": (lambda: fl.sin("x"), TypeError, ["sin", "input", "str"]),
    "argument is a list": (lambda: fl.sin({"x": 1}), TypeError, ["sin", "input", "dict"]),
    "unknown keyword": (lambda: fl.sum(ones(2), axes=0), TypeError, ["sum", "axes"]),
    "unknown dtype": (lambda: ones(2).to("float31"), TypeError, ["float31", "float32"]),
    "ragged list": (lambda: fl.asarray([[1.0], [1.0, 2.0]]), ValueError, ["asarray", "one shape"]),
    "index out of range": (lambda: ones(2, 3)[5], IndexError, ["5", "2"]),
    "index out of range in dim 1": (lambda: ones(2, 3)[0, -4], IndexError, ["-4", "3"]),
    "index array out of range": (lambda: ones(3)[fl.asarray([0, 3])], IndexError, ["index|take|gather", "3"]),
    "too many indices": (lambda: ones(3)[0, 0], IndexError, ["too many|dimension", "2"]),
    "gather out of range": (lambda: fl.gather(ones(3), 0, fl.asarray([3])), (IndexError, RuntimeError), ["gather", "3"]),
    "index_select out of range": (lambda: fl.index_select(ones(3), 0, fl.asarray([-4])), IndexError, ["index_select|take|gather"]),
    "update out of range": (lambda: ones(3).at[3].set(1.0), IndexError, ["3"]),
    "bool of many": (lambda: bool(ones(2)), RuntimeError, ["ambiguous|one value|one element", "any|all"]),
    "item of many": (lambda: ones(2).item(), (RuntimeError, ValueError), ["item|one element|scalar", r"\[2\]|2"]),
    "writing into an Array": (lambda: exec("x[0] = 1", {"x": ones(2)}), TypeError, [r"at\[|immutable|assignment"]),
    "reduction of nothing": (lambda: ones(0).max(), (RuntimeError, IndexError, ValueError), ["max", r"\[0\]|empty|numel"]),
}

TRANSFORMS = {
    # grad and its kin
    "grad: not a function": (lambda: fl.grad(3.0), TypeError, [r"^grad", "function", "float", r"grad\(f\)\(x\)"]),
    "grad: loss is no scalar": (
        lambda: fl.grad(square)(ones(3)),
        RuntimeError,
        [r"^grad", "square", "scalar", r"float32\[3\]", "sum", "vjp|jacrev"],
    ),
    "grad: loss is complex": (
        lambda: fl.grad(lambda x: x * 1j)(1.0),
        (RuntimeError, NonDifferentiableError),
        ["grad", "complex64", "real", "abs"],
    ),
    "grad: loss is an integer": (lambda: fl.grad(lambda x: (x > 0).sum())(1.0), RuntimeError, ["grad", "int64", "float"]),
    "grad: loss is a tuple": (lambda: fl.grad(lambda x: (x, x))(1.0), TypeError, ["grad", "tuple", "scalar"]),
    "grad: loss is None": (lambda: fl.grad(lambda x: None)(1.0), TypeError, ["grad", "None", "scalar"]),
    "grad: integer input": (
        lambda: fl.grad(total)(fl.asarray([1, 2])),
        RuntimeError,
        ["grad", "argument 0", "int64", r"\.to\(fl\.float32\)"],
    ),
    "grad: Python int input": (lambda: fl.grad(square)(3), RuntimeError, ["grad", "argument 0", "int", "float"]),
    "grad: argnums too large": (
        lambda: fl.grad(square, argnums=1)(1.0),
        (ValueError, RuntimeError),
        ["grad", "argnums=1", "square", "1 positional"],
    ),
    "grad: argnums is a string": (lambda: fl.grad(square, argnums="x")(1.0), TypeError, ["grad", "argnums", "'x'", "int"]),
    "grad: argnums twice": (lambda: fl.grad(lambda x, y: x * y, argnums=(0, 0))(1.0, 2.0), ValueError, ["grad", "argnums", "twice"]),
    "grad: no arguments": (lambda: fl.grad(square)(), (ValueError, RuntimeError), ["grad", "argnums", "0 positional"]),
    "grad: has_aux without aux": (lambda: fl.grad(square, has_aux=True)(1.0), TypeError, ["grad", "has_aux", "output, aux", "square"]),
    "grad: unknown keyword": (lambda: fl.grad(square)(1.0, y=2.0), TypeError, ["square", "y"]),
    "grad: unknown option": (lambda: fl.grad(square, argnum=1), TypeError, ["grad", "argnum"]),
    "value_and_grad: loss is no scalar": (lambda: fl.value_and_grad(square)(ones(3)), RuntimeError, ["value_and_grad", "scalar"]),
    "vjp: no primals": (lambda: fl.vjp(square), TypeError, ["vjp", "primal"]),
    "vjp: cotangent's shape": (
        lambda: fl.vjp(square, ones(3))[1](ones(2)),
        (ValueError, RuntimeError),
        ["vjp", r"float32\[3\]", r"float32\[2\]"],
    ),
    "vjp: cotangent's dtype": (
        lambda: fl.vjp(square, ones(3))[1](ones(3, dtype=np.float64)),
        (ValueError, RuntimeError),
        ["vjp", r"float32\[3\]", r"float64\[3\]"],
    ),
    "vjp: cotangents' tree": (
        lambda: fl.vjp(lambda x: {"a": x}, 1.0)[1]({"b": 1.0}),
        TreeMismatchError,
        ["vjp", "cotangents", "'a'", "'b'"],
    ),
    "vjp: two cotangents": (lambda: fl.vjp(square, 1.0)[1](1.0, 2.0), TypeError, ["vjp", "one argument", "2"]),
    "vjp: output is a string": (lambda: fl.vjp(lambda x: "loss", 1.0), TypeError, ["vjp", "Arrays", "str", "has_aux"]),
    "jvp: primals no tuple": (lambda: fl.jvp(square, 1.0, 1.0), TypeError, ["jvp", "primals", "tuple", "float", r"\(primals,\)"]),
    "jvp: fewer tangents": (
        lambda: fl.jvp(lambda x, y: x, (1.0, 2.0), (1.0,)),
        (ValueError, TypeError),
        ["jvp", "2 primals", "1 tangents"],
    ),
    "jvp: tangent's shape": (
        lambda: fl.jvp(square, (ones(3),), (ones(2),)),
        (ValueError, RuntimeError),
        ["jvp", r"\[0\]", r"\[3\]", r"\[2\]"],
    ),
    "jvp: tangent's dtype": (
        lambda: fl.jvp(square, (ones(3),), (ones(3, dtype=np.float64),)),
        (ValueError, RuntimeError, TypeError),
        ["jvp", "float32", "float64"],
    ),
    "jvp: tangents' tree": (
        lambda: fl.jvp(lambda p: p["a"], ({"a": 1.0},), ({"b": 1.0},)),
        TreeMismatchError,
        ["jvp", "tangents", "'a'", "'b'"],
    ),
    "jvp: integer primal": (lambda: fl.jvp(square, (3,), (1,)), RuntimeError, ["jvp", "primal 0", "int", "float"]),
    "jacrev: integer input": (lambda: fl.jacrev(square)(fl.asarray([1, 2])), RuntimeError, ["jacrev", "int64", "float"]),
    "jacfwd: argnums": (lambda: fl.jacfwd(square, argnums=2)(ones(2)), (ValueError, RuntimeError), ["jacfwd", "argnums=2"]),
    "jacrev: chunk_size": (lambda: fl.jacrev(square, chunk_size=0)(ones(2)), ValueError, ["jacrev", "chunk_size", "0"]),
    "hessian: argnums": (lambda: fl.hessian(total, argnums=1)(ones(2)), (ValueError, RuntimeError), ["argnums=1"]),
    # vmap
    "vmap: not a function": (lambda: fl.vmap(ones(3)), TypeError, ["vmap", "function", r"vmap\(f\)\(x\)"]),
    "vmap: unequal sizes": (lambda: fl.vmap(lambda x, y: x + y)(ones(2), ones(3)), ValueError, ["vmap", "2", "3", "in_dims"]),
    "vmap: no dimension": (lambda: fl.vmap(square)(ones()), ValueError, ["vmap", "in_dims=0", r"float32\[\]", "None"]),
    "vmap: number": (lambda: fl.vmap(square)(3.0), ValueError, ["vmap", "in_dims=0", "None"]),
    "vmap: dim out of range": (lambda: fl.vmap(square, in_dims=2)(ones(2, 3)), ValueError, ["vmap", "in_dims=2", r"float32\[2,3\]"]),
    "vmap: negative dim out of range": (lambda: fl.vmap(square, in_dims=-3)(ones(2, 3)), ValueError, ["vmap", "in_dims=-3"]),
    "vmap: in_dims of another length": (
        lambda: fl.vmap(square, in_dims=(0, 0))(ones(2)),
        ValueError,
        ["vmap", r"in_dims=\(0, 0\)", "2 entries", "1 positional"],
    ),
    "vmap: in_dims of another tree": (
        lambda: fl.vmap(lambda p: p["a"], in_dims=({"b": 0},))({"a": ones(2)}),
        ValueError,
        ["vmap", "in_dims", "'a'", "'b'"],
    ),
    "vmap: in_dims is a float": (lambda: fl.vmap(square, in_dims=0.5)(ones(2)), (ValueError, TypeError), ["vmap", "in_dims", "0.5"]),
    "vmap: in_dims holds a float": (lambda: fl.vmap(square, in_dims=(0.5,))(ones(2)), (ValueError, TypeError), ["vmap", "in_dims", "0.5"]),
    "vmap: unknown name in in_dims": (lambda: fl.vmap(square, in_dims={"z": 0})(ones(2)), ValueError, ["vmap", "in_dims", "'z'", "'x'"]),
    "vmap: nothing mapped": (lambda: fl.vmap(lambda x: x, in_dims=None)(ones(2)), ValueError, ["vmap", "nothing is mapped|in_dims"]),
    "vmap: no arguments": (lambda: fl.vmap(lambda: 1.0)(), ValueError, ["vmap", "in_dims|no inputs"]),
    "vmap: an empty batch": (lambda: fl.vmap(square)(ones(0, 3)), ValueError, ["vmap", r"float32\[0,3\]", "in_dims=0", "one row", "Skip"]),
    "vmap: an empty batch in a tree": (
        lambda: fl.vmap(lambda s, p: p["a"], in_dims=(None, 1), chunk_size=2)(2, {"a": ones(3, 0)}),
        ValueError,
        ["argument 1", "'p'", "'a'", r"float32\[3,0\]", "in_dims=1"],
    ),
    "vmap: mapped string": (lambda: fl.vmap(lambda x, s: x)(ones(2), "s"), ValueError, ["vmap", "argument", "str", "None"]),
    "vmap: output is a string": (lambda: fl.vmap(lambda x: "s")(ones(2)), ValueError, ["vmap", "Arrays", "str"]),
    "vmap: out_dims out of range": (lambda: fl.vmap(square, out_dims=2)(ones(2)), (IndexError, ValueError), ["vmap", "out_dims=2"]),
    "vmap: out_dims None of a batch": (lambda: fl.vmap(square, out_dims=None)(ones(2)), ValueError, ["vmap", "out_dims=None", "depends"]),
    "vmap: out_dims of another tree": (lambda: fl.vmap(lambda x: (x, x), out_dims=(0, 0, 0))(ones(2)), ValueError, ["vmap", "out_dims"]),
    "vmap: randomness": (lambda: fl.vmap(square, randomness="some")(ones(2)), ValueError, ["vmap", "randomness", "'some'", "'different'"]),
    "vmap: chunk_size": (lambda: fl.vmap(square, chunk_size=0)(ones(2)), ValueError, ["vmap", "chunk_size", "0"]),
    "vmap: shapes inside": (lambda: fl.vmap(lambda x: x + ones(4))(ones(2, 3)), RuntimeError, ["add", r"\[3\]", r"\[4\]"]),
    # jit
    "jit: not a function": (lambda: fl.jit(3.0), TypeError, ["jit", "function", r"jit\(f\)\(x\)"]),
    "jit: static_argnums out of range": (lambda: fl.jit(square, static_argnums=1), ValueError, ["jit", "square", "1", "'x'"]),
    "jit: static_argnames unknown": (lambda: fl.jit(square, static_argnames="n"), ValueError, ["jit", "square", "'n'", "'x'"]),
    "jit: static argument that cannot be hashed": (
        lambda: fl.jit(lambda x, n: x, static_argnums=1)(ones(2), [1, 2]),
        (ValueError, TypeError),
        ["jit", "'n'|1", "hashable", "list", "tuple"],
    ),
    "jit: donate_argnums out of range": (lambda: fl.jit(square, donate_argnums=3), ValueError, ["jit", "square", "3"]),
    "jit: argument of no kind": (lambda: fl.jit(lambda x, y: x)(ones(2), bytearray(b"x")), TypeError, ["jit", "bytearray", "asarray"]),
    "jit: unknown keyword": (lambda: fl.jit(square)(ones(2), z=1.0), TypeError, ["square", "z"]),
    "jit: a branch": (
        lambda: fl.jit(lambda x: x if x > 0 else -x)(1.0),
        ConcretizationError,
        ["jit", r"bool\[\]", "where", "cond", "static_argnums"],
    ),
    "vmap: a branch": (lambda: fl.vmap(lambda x: x if x > 0 else -x)(ones(2)), ConcretizationError, ["vmap", r"bool\[\]", "where", "cond"]),
    "jit: a loop": (
        lambda: fl.jit(lambda n: sum(range(n)))(3),
        (ConcretizationError, TypeError),
        ["jit", "int64", "fori_loop|scan|while_loop"],
    ),
    # control flow
    "scan: carry changes its dtype": (
        lambda: fl.scan(lambda c, x: (c + x, c), 0, ones(3)),
        TypeError,
        ["scan", "carry", "int64", "float32", r"\.to\("],
    ),
    "scan: carry changes its shape": (
        lambda: fl.scan(lambda c, x: (ones(2) * c, c), 0.0, ones(3)),
        TypeError,
        ["scan", "carry", r"\[\]", r"\[2\]"],
    ),
    "scan: carry changes its tree": (
        lambda: fl.scan(lambda c, x: ((c, c), x), 0.0, ones(3)),
        (TypeError, ValueError),
        ["scan", "carry", "tuple"],
    ),
    "scan: no pair": (lambda: fl.scan(lambda c, x: c, 0.0, ones(3)), TypeError, ["scan", r"\(carry, y\)"]),
    "scan: two lengths": (lambda: fl.scan(lambda c, x: (c, x), 0.0, (ones(2), ones(3))), ValueError, ["scan", "2", "3"]),
    "scan: no length": (lambda: fl.scan(lambda c, x: (c, x), 0.0, None), ValueError, ["scan", "length"]),
    "cond: pred is a float": (lambda: fl.cond(ones(), square, square, 1.0), TypeError, ["cond", "pred", "bool", r"float32\[\]"]),
    "cond: pred is no scalar": (lambda: fl.cond(ones(2) > 0, square, square, 1.0), TypeError, ["cond", "pred", r"bool\[2\]", "any|all"]),
    "cond: branches differ": (
        lambda: fl.cond(fl.asarray(True), lambda x: x, lambda x: x > 0, 1.0),
        TypeError,
        ["cond", "float32", "bool", r"\.to\("],
    ),
    "cond: trees differ": (lambda: fl.cond(fl.asarray(True), lambda x: (x, x), square, 1.0), (TypeError, ValueError), ["cond", "tuple"]),
    "switch: no branches": (lambda: fl.switch(0, [], 1.0), ValueError, ["switch", "at least one"]),
    "switch: index is a float": (lambda: fl.switch(1.0, [square, square], 1.0), TypeError, ["switch", "index", "integer", "float32"]),
    "while_loop: reverse mode": (
        lambda: fl.grad(lambda x: fl.while_loop(lambda c: c < 10, lambda c: c * 2, x))(1.0),
        RuntimeError,
        ["while_loop", "reverse", "scan", "fori_loop", "jvp"],
    ),
    "while_loop: test is no bool": (lambda: fl.while_loop(lambda c: c, lambda c: c, 1.0), TypeError, ["while_loop", "bool", "float32"]),
    # trees and leaks
    "tree.map: structures differ": (lambda: fl.tree.map(lambda x, y: x, {"w": 1}, {"v": 1}), ValueError, ["map", "tree 2", "'w'", "'v'"]),
    "a leaked value": (lambda: leaked() + 1, LeakedValueError, ["grad", r"float32\[\]", r"test_bad_input\.py:\d+", "Return it"]),
}

CASES = {f"ops, {k}": v for k, v in OPS.items()} | TRANSFORMS


@pytest.mark.parametrize("case", CASES)
def test_bad_input(case):
    f, kinds, patterns = CASES[case]
    with pytest.raises(kinds) as caught:
        f()
    message = str(caught.value)
    missing = [p for p in patterns if not re.search(p, message)]
    assert not missing, f"the message lacks {missing}: {type(caught.value).__name__}: {message}"
    assert body(current()) is EVAL


def test_no_clamping_of_indices():
    """Out of range raises in eager mode, in both directions, for reading and for writing."""
    x = fl.asarray(np.arange(3.0))
    for i in (3, -4):
        with pytest.raises(IndexError):
            x[i]
        with pytest.raises(IndexError):
            x[fl.asarray([i])]
        with pytest.raises(IndexError):
            x.at[fl.asarray([i])].set(1.0)
    with pytest.raises(IndexError):
        fl.grad(lambda x: x[fl.asarray([3])].sum())(x)
    with pytest.raises(IndexError):
        fl.vmap(lambda x: x[fl.asarray([3])])(x.reshape(1, 3))


def test_what_needs_an_element_says_so_under_vmap():
    with pytest.raises((IndexError, RuntimeError, ValueError), match="max"):
        fl.vmap(lambda x: x.max())(ones(2, 0))


def test_the_op_is_named_inside_transforms_too():
    def bad(x):
        return (x + ones(4)).sum()

    for run in (fl.grad(bad), fl.jit(bad), fl.jit(fl.grad(bad)), lambda x: fl.jvp(bad, (x,), (x,)), fl.checkpoint(bad)):
        with pytest.raises(RuntimeError, match=r"add.*\[3\].*\[4\]"):
            run(ones(3))

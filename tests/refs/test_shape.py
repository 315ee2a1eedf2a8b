"""How shape ops may be called, what they promote, and what bad arguments say."""

import numpy as np
import pytest

import functorch_lite as fl

X = fl.arange(6.0).reshape(2, 3)


def test_methods_take_ints_one_by_one_or_in_one_sequence():
    for a, b in (
        (X.reshape(3, 2), X.reshape((3, 2))),
        (X.view(-1), X.view([-1])),
        (X.permute(1, 0), X.permute((1, 0))),
        (X.expand(4, -1, -1), X.expand([4, -1, -1])),
        (X.repeat(2, 1), X.repeat((2, 1))),
        (X.tile(2), X.tile((2,))),
        (X.flip(0, 1), X.flip((0, 1))),
        (X.reshape(shape=(6,)), fl.reshape(X, (6,))),
        (X.permute(dims=(1, 0)), fl.permute(X, (1, 0))),
        (X.view_as(fl.zeros(3, 2)), X.reshape_as(fl.zeros((3, 2)))),
    ):
        assert a.shape == b.shape and a.tolist() == b.tolist()
    assert X.T.tolist() == X.mT.tolist() == X.t().tolist() == [[0, 3], [1, 4], [2, 5]]
    assert (X + 1j).H.tolist() == (X + 1j).mH.tolist() == [[-1j, 3 - 1j], [1 - 1j, 4 - 1j], [2 - 1j, 5 - 1j]]
    assert fl.zeros(2, 3, 4).T.shape == (4, 3, 2)


def test_iteration_gives_rows():
    assert [row.tolist() for row in X] == [[0, 1, 2], [3, 4, 5]] and len(list(fl.zeros(0, 2))) == 0
    with pytest.raises(TypeError, match="0-d"):
        iter(fl.asarray(1.0))
    a, b = fl.jit(lambda x: list(x))(X)
    assert b.tolist() == [3, 4, 5]


def test_joined_arrays_promote_and_empty_ones_are_skipped():
    out = fl.cat([fl.asarray([1, 2]), fl.asarray([0.5]), fl.zeros(0, dtype=fl.float64)])
    assert out.dtype is fl.float64 and out.tolist() == [1, 2, 0.5]
    assert fl.stack([fl.asarray(1, dtype=fl.int8), fl.asarray(True)]).dtype is fl.int8
    assert fl.cat([X, fl.zeros(0)]).shape == (2, 3)


def test_what_counts_decide():
    x = fl.asarray([1, 2])
    assert x.repeat_interleave(fl.asarray([3, 0])).tolist() == [1, 1, 1] and x.repeat_interleave(2, output_size=4).tolist() == [1, 1, 2, 2]
    with pytest.raises(RuntimeError, match="one entry or one for each of 2"):
        x.repeat_interleave([1, 2, 3])
    with pytest.raises(RuntimeError, match="traced value has no data"):
        fl.jit(lambda x, n: x.repeat_interleave(n))(x, x)


def test_conversions():
    x = fl.asarray([1.75, -1.5, np.nan])
    assert x[:2].to(fl.int64).tolist() == x[:2].long().tolist() == [1, -1] and x.bool().tolist() == [True, True, True]
    assert fl.asarray([300.0, -1.0]).to(fl.uint8).tolist() == [44, 255]
    assert x.to(fl.float32) is x and x.to(x) is x and x.to("cpu") is x and x.to("cpu", fl.float64).dtype is fl.float64
    assert x.type_as(fl.asarray([1j])).dtype is fl.complex64 and fl.asarray([1 + 2j]).to(float).tolist() == [1.0]
    y = x.clone()
    assert y.buffer.unsafe_buffer_pointer() != x.buffer.unsafe_buffer_pointer() and x.contiguous() is x
    g = fl.grad(lambda x: (x.double() * x.to(fl.complex64).real.double()).sum())(fl.asarray([3.0]))
    assert g.dtype is fl.float32 and g.tolist() == [6.0]
    assert X.view(fl.int32).view(fl.float32).tolist() == X.tolist() and X.reshape(3, 2).view(fl.int64).shape == (3, 1)


BAD = (
    (lambda: X.reshape(4, 2), RuntimeError, r"shape \[4, 2\] is invalid for input of size 6"),
    (lambda: X.reshape(4, -1), RuntimeError, r"shape \[4, -1\] is invalid"),
    (lambda: X.reshape(-1, -1), RuntimeError, "only one dimension can be inferred"),
    (lambda: fl.zeros(0, 2).reshape(0, -1), RuntimeError, "cannot infer"),
    (lambda: X.permute(0, 0), RuntimeError, "appears twice"),
    (lambda: X.permute(0), RuntimeError, "for each of 2 dimensions"),
    (lambda: X.transpose(0, 2), IndexError, r"expected to be in \[-2, 1\], but got 2"),
    (lambda: X.expand(3, 3), RuntimeError, r"expanded size \(3\) must match the existing size \(2\) at dimension 0"),
    (lambda: X.expand(-1, 2, 3), RuntimeError, "-1 is not allowed for a new"),
    (lambda: X.flatten(1, 0), RuntimeError, "start_dim must not come after end_dim"),
    (lambda: X.squeeze(5), IndexError, "dimension out of range"),
    (lambda: fl.zeros(2, 3, 4).t(), RuntimeError, "at most 2 dimensions"),
    (lambda: fl.zeros(3).H, RuntimeError, "expected a matrix"),
    (lambda: fl.cat([]), ValueError, "non-empty"),
    (lambda: fl.cat(X), TypeError, "'tensors' must be a tuple or list of Arrays"),
    (lambda: fl.cat([X, fl.zeros(2, 2)]), RuntimeError, r"must match except in dimension 0, got float32\[2,3\], float32\[2,2\]"),
    (lambda: fl.cat([fl.asarray(1.0)]), RuntimeError, r"zero-dimensional array \(at position 0\)"),
    (lambda: fl.stack([X, X.T]), RuntimeError, "equal shape"),
    (lambda: X.split((1, 3), 1), RuntimeError, "must sum exactly to 3"),
    (lambda: X.chunk(0), RuntimeError, "greater than 0"),
    (lambda: fl.hsplit(X, 2), RuntimeError, "not divisible by 2"),
    (lambda: X.repeat(2), RuntimeError, "must not be smaller than the number of dimensions"),
    (lambda: X.roll((1, 2), 0), RuntimeError, "as many entries each"),
    (lambda: X.unfold(1, 4, 1), RuntimeError, "between 0 and 3"),
    (lambda: X.narrow(1, 2, 2), RuntimeError, r"start \(2\) \+ length \(2\) exceeds dimension size \(3\)"),
    (lambda: X.diagonal(0, 1, 1), RuntimeError, "different dimensions"),
    (lambda: fl.pad(X, (1, 1, 1)), RuntimeError, "divisible by 2"),
    (lambda: fl.pad(X, (3, 0), mode="reflect"), RuntimeError, "reflect padding of dimension 1 must be at most 2"),
    (lambda: fl.pad(X, (1, 0), mode="other"), NotImplementedError, "'replicate'"),
    (lambda: fl.gather(X, 1, fl.zeros((3, 1), dtype=fl.int64)), RuntimeError, "no larger than input apart from dimension 1"),
    (lambda: fl.gather(X, 1, X), RuntimeError, "integer dtype"),
    (lambda: fl.scatter_add(X, 0, fl.asarray([[0, 1]]), fl.zeros(1, 1)), RuntimeError, "no larger than src"),
    (lambda: fl.scatter_add(X, 0, fl.asarray([[0]]), fl.zeros((1, 1), dtype=fl.float64)), RuntimeError, "same dtype"),
    (lambda: fl.scatter_reduce(X, 0, fl.asarray([[0]]), X, "median"), RuntimeError, "'amax' or 'amin', got 'median'"),
    (lambda: fl.index_select(X, 0, fl.asarray([2])), IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
    (lambda: fl.index_add(X, 0, fl.asarray([0]), X), RuntimeError, r"source of shape \[1, 3\]"),
    (lambda: fl.masked_scatter(X, X > 0, fl.zeros(2)), IndexError, "out of bounds"),
    (lambda: fl.bincount(fl.asarray([-1])), RuntimeError, "negative"),
)


@pytest.mark.parametrize("f, error, text", BAD, ids=[text for *_, text in BAD])
def test_bad_arguments(f, error, text):
    with pytest.raises(error, match=text):
        f()


def test_shapes_that_depend_on_data_have_a_static_form():
    x = fl.asarray([0.0, 3.0, 0.0, 5.0])
    sized = {
        "nonzero": lambda x: x.nonzero(size=3),
        "masked_select": lambda x: x.masked_select(x > 0, size=3),
        "argwhere": lambda x: x.argwhere(size=3),
    }
    for name, f in sized.items():
        dynamic = getattr(x, name)(x > 0) if name == "masked_select" else getattr(x, name)()
        assert fl.jit(f)(x)[:2].tolist() == dynamic.tolist()
        assert fl.vmap(f)(fl.stack([x, x])).shape[:2] == (2, 3)
        with pytest.raises(RuntimeError, match="size="):
            fl.jit(lambda x: x.masked_select(x > 0) if name == "masked_select" else getattr(x, name)())(x)
    assert fl.jit(lambda i: fl.bincount(i, length=4))(fl.asarray([1, 1, 9])).tolist() == [0, 2, 0, 0]
    with pytest.raises(RuntimeError, match="length="):
        fl.jit(fl.bincount)(fl.asarray([1, 1]))


def test_counts_that_are_traced_need_the_size():
    x, counts = fl.asarray([1.0, 2.0, 3.0]), fl.asarray([2, 0, 1])
    assert fl.jit(lambda x, n: fl.repeat_interleave(x, n, output_size=3))(x, counts).tolist() == [1.0, 1.0, 3.0]
    each = fl.vmap(lambda n: fl.repeat_interleave(x, n, output_size=3))(fl.asarray([[2, 0, 1], [0, 3, 0]]))
    assert each.tolist() == [[1.0, 1.0, 3.0], [2.0, 2.0, 2.0]]
    with pytest.raises(fl.errors.ConcretizationError, match="repeat_interleave"):
        fl.jit(fl.repeat_interleave)(x, counts)

"""x[...] and x.at[...] against NumPy, over generated index expressions; transforms of them; and what bad indices say."""

import numpy as np
import pytest

import functorch_lite as fl
from functorch_lite.errors import ConcretizationError

SEED, COUNT = 20240, 240
SHAPES = ((4, 3, 5), (5,), (2, 3), (1, 4, 2, 3))


def random_slice(rng, n):
    bound = lambda: None if rng.random() < 0.3 else int(rng.integers(-n - 1, n + 2))
    return slice(bound(), bound(), None if rng.random() < 0.5 else int(rng.integers(1, 4)))


def random_index(rng, shape):
    """An index of an array of this shape: any mix of what an index may hold."""
    kinds = ["int", "slice", "slice", "whole", "array", "scalar", "list"]
    if rng.random() < 0.25:
        kinds = ["int", "slice", "whole", "mask"]
    key, d, end = [], 0, rng.integers(0, len(shape) + 1)
    masked = False
    while d < end:
        n, kind = shape[d], rng.choice(kinds)
        if rng.random() < 0.15:
            key.append(None)
        if kind == "int":
            key.append(int(rng.integers(-n, n)))
        elif kind == "slice":
            key.append(random_slice(rng, n))
        elif kind == "whole":
            key.append(slice(None))
        elif kind == "array":
            key.append(rng.integers(-n, n, [(3,), (2, 3), (2, 1), (1,)][rng.integers(4)]))
        elif kind == "scalar":
            key.append(np.asarray(rng.integers(-n, n)))
        elif kind == "list":
            key.append(rng.integers(-n, n, 3).tolist())
        elif masked:
            key.append(slice(None))
        else:
            rank = int(rng.integers(1, end - d + 1))
            key.append(rng.random(shape[d : d + rank]) < 0.5)
            masked, d = True, d + rank - 1
        d += 1
    if not masked and rng.random() < 0.08:
        alone = all(is_scalar(k) or not isinstance(k, (np.ndarray, list)) for k in key)
        key.insert(int(rng.integers(len(key) + 1)), bool(rng.random() < 0.5) or not alone)  # False fits no other array
    if rng.random() < 0.25:
        return (*key, Ellipsis)
    if rng.random() < 0.25 and d < len(shape):
        rest = [random_slice(rng, shape[-1])] if rng.random() < 0.5 else [int(rng.integers(shape[-1]))]
        return (*key, Ellipsis, *rest)
    return key[0] if len(key) == 1 and rng.random() < 0.5 else tuple(key)


def is_scalar(k):
    return isinstance(k, int) and not isinstance(k, bool) or isinstance(k, np.ndarray) and k.ndim == 0 and k.dtype != bool


def by_numpy(a, key):
    """a[key] by PyTorch's rule, in which an integer scalar is taken first and is no index array that others are placed by."""
    key = key if isinstance(key, tuple) else (key,)
    first, then = [], []
    for k in key:
        if is_scalar(k):
            first.append(int(k))
            continue
        then.append(k)
        if isinstance(k, np.ndarray) and k.dtype == bool:
            first += [slice(None)] * k.ndim
        elif k is Ellipsis:
            first.append(k)
        elif k is not None and not isinstance(k, bool):
            first.append(slice(None))
    return a[tuple(first)][tuple(then)]


def cases(shape):
    rng = np.random.default_rng([SEED, *shape])
    return [random_index(rng, shape) for _ in range(COUNT // len(SHAPES))]


def array(shape, seed=0):
    return np.random.default_rng([SEED, seed, *shape]).normal(size=shape)


def show(key):
    return f"seed {SEED}, index {key!r}"


def check(actual, expected, key, what):
    assert actual.shape == expected.shape, f"{what}, {show(key)}: expected shape {expected.shape}, got {actual.shape}"
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=1e-12, atol=1e-12, err_msg=f"{what}, {show(key)}")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values(shape):
    a = array(shape)
    x, keys = fl.asarray(a), cases(shape)
    print(f"seed {SEED}: {len(keys)} indices of {shape}, the first: {keys[:5]}")
    for key in keys:
        check(x[key], by_numpy(a, key), key, "eager")
    for key, out in zip(keys, fl.jit(lambda x: [x[k] for k in keys])(x)):
        check(out, by_numpy(a, key), key, "jit")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradients(shape):
    """The gradient of getitem adds where it has read; the gradient of that reads again."""
    a, keys = array(shape), cases(shape)[::2]
    weights = [array(by_numpy(a, k).shape, 1) for k in keys]

    def gradients(x):
        return [fl.grad(lambda x: (x[k] ** 2 * w).sum())(x) for k, w in zip(keys, weights)]

    for key, w, out in zip(keys, weights, fl.jit(gradients)(fl.asarray(a))):
        expected = np.zeros(a.size)
        np.add.at(expected, by_numpy(np.arange(a.size).reshape(shape), key), 2 * w * by_numpy(a, key))
        check(out, expected.reshape(shape), key, "gradient")
    t = array(shape, 2)
    pushed = fl.jit(lambda x, t: [fl.jvp(lambda x: fl.grad(lambda x: (x[k] ** 3).sum())(x), (x,), (t,))[1] for k in keys])
    for key, out in zip(keys, pushed(fl.asarray(a), fl.asarray(t))):
        expected = np.zeros(a.size)
        np.add.at(expected, by_numpy(np.arange(a.size).reshape(shape), key), 6 * by_numpy(a * t, key))
        check(out, expected.reshape(shape), key, "second derivative")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dim", [0, -1])
def test_vmap(shape, dim):
    rows, keys = array((3, *shape)), cases(shape)[1::2]
    for key, out in zip(keys, fl.jit(fl.vmap(lambda x: [x[k] for k in keys], in_dims=dim))(fl.asarray(np.moveaxis(rows, 0, dim)))):
        check(out, np.stack([by_numpy(a, key) for a in rows]), key, f"vmap over {dim}")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_batched_index_arrays(shape):
    """Rows with index arrays of their own, of one x and of a batch of them."""
    rng, n = np.random.default_rng([SEED, 3, *shape]), shape[0]
    a, i, j = array((3, *shape)), rng.integers(-n, n, (3, 2)), rng.integers(-shape[-1], shape[-1], (3, 2))
    x, i_, j_ = map(fl.asarray, (a, i, j))
    for key_of in (lambda i, j: (i,), lambda i, j: (Ellipsis, j), lambda i, j: (i[0],), lambda i, j: (None, i[1], Ellipsis)):
        expected = np.stack([by_numpy(a[r], key_of(i[r], j[r])) for r in range(3)])
        check(fl.vmap(lambda x, i, j: x[key_of(i, j)])(x, i_, j_), expected, "batched", "vmap of x and index")
        expected = np.stack([by_numpy(a[0], key_of(i[r], j[r])) for r in range(3)])
        check(fl.vmap(lambda i, j: x[0][key_of(i, j)])(i_, j_), expected, "batched", "vmap of the index")
        grads = fl.vmap(fl.grad(lambda x, i, j: (x[key_of(i, j)] ** 2).sum()))(x, i_, j_)
        for r in range(3):
            expected = np.zeros(a[0].size)
            np.add.at(expected, by_numpy(np.arange(a[0].size).reshape(shape), key_of(i[r], j[r])), 2 * by_numpy(a[r], key_of(i[r], j[r])))
            check(grads[r], expected.reshape(shape), "batched", "vmap of grad")


# -------------------------------------------------------------------------------------------------------- x.at[...]

COMBINE = {
    "set": lambda a, v: v,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "min": np.minimum,
    "max": np.maximum,
}


def updated(a, key, value, how):
    """By NumPy, one value after the other where several meet."""
    places, out = by_numpy(np.arange(a.size).reshape(a.shape), key), a.flatten()
    for at, v in zip(np.ravel(places), np.broadcast_to(value, np.shape(places)).ravel()):
        out[at] = COMBINE[how](out[at], v)
    return out.reshape(a.shape)


@pytest.mark.parametrize("dim", range(3))
def test_an_extremum_in_place_of_one_row(dim):
    """Read, combined and written at one traced index in one program: of a gather, max and scatter XLA's CPU compiler made wrong code."""
    a, k = array((4, 3, 5)), 1
    key = (slice(None),) * dim + (k,)
    v = array(a[key].shape, 8)
    x, w = fl.asarray(a), fl.asarray(v)
    for how in ("max", "min", "add"):
        expected = updated(a, key, v, how)
        at = lambda x, w, k: getattr(x.at[(slice(None),) * dim + (k,)], how)(w)
        check(fl.jit(at)(x, w, fl.asarray(k)), expected, key, how)
        rows = lambda x, w, k: getattr(x.at[(slice(None),) * dim + (k[None],)], how)(w.unsqueeze(dim))
        check(fl.jit(rows)(x, w, fl.asarray(k)), expected, key, how)
        by_hand = {"max": fl.maximum, "min": fl.minimum, "add": fl.add}[how]
        apart = lambda x, w, i: x.at[(slice(None),) * dim + (i,)].set(by_hand(x[(slice(None),) * dim + (i,)], w))
        check(fl.jit(apart)(x, w, fl.asarray(k)), expected, key, how)


@pytest.mark.parametrize("how", COMBINE)
def test_updates(how):
    shape = SHAPES[0]
    a = array(shape)
    keys = cases(shape)[list(COMBINE).index(how) :: 3]
    values = [array(by_numpy(a, k).shape, 4) + 3 for k in keys]
    x = fl.asarray(a)
    for key, v in list(zip(keys, values))[:8]:
        check(getattr(x.at[key], how)(v), updated(a, key, v, how), key, f"eager {how}")
        check(getattr(x.at[key], how)(1.5), updated(a, key, 1.5, how), key, f"eager {how} of a number")
    given = [fl.asarray(v) for v in values]
    together = fl.jit(lambda x, given: [getattr(x.at[k], how)(v) for k, v in zip(keys, given)])
    for key, v, out in zip(keys, values, together(x, given)):
        check(out, updated(a, key, v, how), key, f"jit {how}")


def test_updates_differentiate_like_what_they_do():
    """set: the elements that are overwritten get no gradient, the values all of it (the last, where several meet)."""
    a = array((4, 3))
    keys = [1, (slice(1, 4, 2), 0), [0, 2, 0], (slice(None), [1, 1]), np.array([True, False, True, False]), (Ellipsis, None)]
    for key in keys:
        v = array(by_numpy(a, key).shape, 5)
        w = array(a.shape, 6)
        for how in ("set", "add"):
            gx, gv = fl.grad(lambda x, v: (getattr(x.at[key], how)(v) * w).sum(), argnums=(0, 1))(fl.asarray(a), fl.asarray(v))
            places = by_numpy(np.arange(a.size).reshape(a.shape), key)
            kept, last = np.ones(a.size), {at: n for n, at in enumerate(places.ravel())}
            if how == "set":
                kept[places] = 0
            share = np.array([how == "add" or last[at] == n for n, at in enumerate(places.ravel())]).reshape(v.shape)
            check(gx, kept.reshape(a.shape) * w, key, f"gradient of {how} in x")
            check(gv, w.ravel()[places] * share, key, f"gradient of {how} in value")


def test_masks_choose_under_jit_and_vmap():
    a = array((4, 3))
    x, m = fl.asarray(a), a > 0
    expected = np.where(m, -1.0, a)
    np.testing.assert_array_equal(np.asarray(x.at[m].set(-1.0)), expected)
    np.testing.assert_array_equal(np.asarray(fl.jit(lambda x, m: x.at[m].set(-1.0))(x, m)), expected)
    out = fl.vmap(lambda x, m: x.at[m].set(-1.0).at[~m].mul(2.0))(x, fl.asarray(m))
    np.testing.assert_array_equal(np.asarray(out), np.where(m, -1.0, 2 * a))
    rows, v = m[:, 0], array((3,), 7)
    np.testing.assert_array_equal(np.asarray(fl.jit(lambda x, r: x.at[r].set(v))(x, rows)), np.where(rows[:, None], v, a))
    columns = m[0]
    out = fl.jit(lambda x, c: x.at[:, c].add(v[:1]))(x, columns)
    np.testing.assert_array_equal(np.asarray(out), np.where(columns, a + v[0], a))
    each = np.arange(float(m.sum()))
    b = a.copy()
    b[m] = each
    np.testing.assert_array_equal(np.asarray(x.at[m].set(each)), b)
    g = fl.grad(lambda x: (fl.sqrt(x).sum() * 0 + x.at[m].set(2.0)).sum())(x.abs())
    np.testing.assert_array_equal(np.asarray(g), np.where(m, 0.0, 1.0))


def test_the_dtype_is_kept():
    x = fl.asarray([1, 2, 3])
    assert x.at[0].set(5).dtype is fl.int64 and x.at[0].set(fl.asarray(5, dtype=fl.int8)).tolist() == [5, 2, 3]
    assert fl.asarray([1.0], dtype=fl.float64).at[[0]].set([0.1]).item() == 0.1
    assert fl.zeros(2, dtype=fl.float16).at[0].add(fl.ones((), dtype=fl.float64)).dtype is fl.float16
    flags = fl.asarray([True, False])
    assert flags.at[[1, 1]].add(flags).tolist() == [True, True] and flags.at[:].mul(False).tolist() == [False, False]
    for f, text in (
        (lambda: x.at[0].set(1.5), "can't be cast to int64"),
        (lambda: x.at[0].div(2), "quotient"),
        (lambda: flags.at[0].sub(True), "bools"),
        (lambda: x.at[:2].set([1, 2, 3]), r"int64\[3\] cannot be broadcast to the indexing result of shape \[2\]"),
    ):
        with pytest.raises(RuntimeError, match=text):
            f()
    with pytest.raises(TypeError, match="immutable"):
        x[0] = 1
    assert x.at[1:].get().tolist() == [2, 3] and x.at[1:].apply(lambda v: v * v).tolist() == [1, 4, 9]


# ----------------------------------------------------------------------------------------------------- traced bounds


def test_a_traced_scalar_indexes_and_starts_slices():
    a = np.arange(20.0).reshape(2, 10)
    x, k = fl.asarray(a), fl.asarray([3, 5])
    windows = np.stack([a[r, k : k + 2] for r, k in enumerate((3, 5))])
    f = lambda r, k: r[k : k + 2]
    assert fl.vmap(lambda r, k: r[k])(x, k).tolist() == [3.0, 15.0]
    np.testing.assert_array_equal(np.asarray(fl.vmap(f)(x, k)), windows)
    np.testing.assert_array_equal(np.asarray(fl.jit(fl.vmap(f))(x, k)), windows)
    np.testing.assert_array_equal(np.asarray(fl.vmap(fl.jit(f))(x, k)), windows)
    np.testing.assert_array_equal(np.asarray(fl.vmap(f, in_dims=(None, 0))(x[0], k)), np.stack([a[0, 3:5], a[0, 5:7]]))
    for bounds in (
        lambda k: slice(k - 1, k + 3, 2),
        lambda k: slice(2 + k, k * 1 + 4),
        lambda k: slice(2 * k, k + k + 2),
        lambda k: slice(-k - 1, -k + 1),
    ):
        s = bounds(3)
        np.testing.assert_array_equal(np.asarray(fl.jit(lambda r, k: r[bounds(k)])(x[0], 3)), a[0, s], err_msg=str(s))
    out, _ = fl.scan(lambda c, i: (c + x[0, i : i + 3], i), fl.zeros(3, dtype=fl.float64), fl.arange(4))
    np.testing.assert_array_equal(np.asarray(out), sum(a[0, i : i + 3] for i in range(4)))
    g = fl.vmap(fl.grad(lambda r, k: (f(r, k) ** 2).sum()))(x, k)
    expected = np.zeros((2, 10))
    for r, s in enumerate((3, 5)):
        expected[r, s : s + 2] = 2 * a[r, s : s + 2]
    np.testing.assert_array_equal(np.asarray(g), expected)
    out = fl.vmap(lambda r, k: r.at[k : k + 2].set(-1.0))(x, k)
    np.testing.assert_array_equal(np.asarray(out), np.where(expected != 0, -1, a))
    assert x[0, k[0] : k[1]].tolist() == [3.0, 4.0]  # eager bounds are ints


def test_static_indices_lower_to_slices():
    x = fl.zeros((4, 6))
    text = fl.jit(lambda x: (x[1], x[:, 2:4], x[..., None, 1::2], x[1:, -1])).lower(x).stablehlo()
    assert "gather" not in text and "dynamic_slice" not in text and "stablehlo.slice" in text
    text = fl.jit(fl.grad(lambda x: (x[1] * x[2, 0]).sum())).lower(x).stablehlo()
    assert "scatter" not in text and "stablehlo.pad" in text
    text = fl.jit(lambda x, k: x[k], name="at").lower(x, 1).stablehlo()
    assert "gather" in text or "dynamic_slice" in text


def test_one_program_for_all_positions():
    """In eager mode the position of an int or a slice is an input: walking over an array compiles once."""
    from functorch_lite.xla.single import EXECUTABLES

    x = fl.arange(64.0)
    y = [x[i].item() for i in range(2)] + [x[i : i + 5].sum().item() for i in range(1, 3)]
    before = len(EXECUTABLES)
    y += [x[i].item() for i in range(2, 64)] + [x[i : i + 5].sum().item() for i in range(3, 59)]
    assert len(EXECUTABLES) == before
    assert y[2:4] == [15.0, 20.0] and y[4:66] == list(range(2, 64))


# ------------------------------------------------------------------------------------------------------------- errors

BAD = (
    (lambda x: x[2], IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
    (lambda x: x[:, -4], IndexError, "index -4 is out of bounds for dimension 1 with size 3"),
    (lambda x: x[[0, 2]], IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
    (lambda x: x[:, fl.asarray([0, -4])], IndexError, "index -4 is out of bounds for dimension 1 with size 3"),
    (lambda x: x.at[[5]].set(1.0), IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
    (lambda x: x[fl.asarray(7)], IndexError, "index 7 is out of bounds"),
    (lambda x: x[0, 0, 0], IndexError, "too many indices"),
    (lambda x: x[..., 0, ...], IndexError, "single ellipsis"),
    (lambda x: x[1.0], IndexError, "valid indices .got float."),
    (lambda x: x["a"], IndexError, "valid indices .got str."),
    (lambda x: x[fl.asarray([1.0])], IndexError, r"must be integers or bools, got float32\[1\]"),
    (lambda x: x[fl.asarray([1], dtype=fl.uint8)], IndexError, "uint8"),
    (
        lambda x: x[fl.asarray([True, False, True])],
        IndexError,
        r"mask \[3\] at index 0 does not match the shape of the indexed array \[2, 3\]",
    ),
    (lambda x: x[[0, 1], [0, 1, 2]], IndexError, r"broadcast together with shapes \[2\], \[3\]"),
    (lambda x: x[::-1], ValueError, "step must be greater than zero"),
    (lambda x: x[::0], ValueError, "step must be greater than zero"),
    (lambda x: x[0.5:], TypeError, "slice indices must be integers"),
)


@pytest.mark.parametrize("f, error, text", BAD, ids=[text for *_, text in BAD])
def test_bad_indices(f, error, text):
    with pytest.raises(error, match=text):
        f(fl.zeros((2, 3)))


def test_an_index_out_of_range_is_found_under_transforms_too():
    x, i = fl.zeros((2, 3)), fl.asarray([[0], [9]])
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        fl.vmap(lambda r, i: r[i])(x, i)
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        fl.grad(lambda x: x[i].sum())(x)
    with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 0 with size 3"):
        fl.jit(lambda x: x[0][5])(x)


def test_shapes_that_depend_on_traced_data_say_what_to_do():
    x, m = fl.zeros((2, 3)), fl.asarray([True, False])
    for f in (lambda x, m: x[m], lambda x, m: x[:, fl.stack([m.any(), m.any(), m.all()])]):
        with pytest.raises(ConcretizationError, match=r"fl\.where.*masked_select.*size="):
            fl.jit(f)(x, m)
    with pytest.raises(ConcretizationError, match=r"fl\.where"):
        fl.vmap(lambda r, m: r[m], in_dims=(None, 0))(x[0], fl.asarray([[True, False, True]]))
    with pytest.raises(ConcretizationError, match=r"fl\.where.*masked_scatter"):
        fl.jit(lambda x, m: x.at[m].set(fl.ones((1, 3))[fl.asarray([0, 0])]))(x, m)
    for f in (lambda x, k: x[k:], lambda x, k: x[:k], lambda x, k: x[k : 2 * k]):
        with pytest.raises(ConcretizationError, match=r"fl\.dynamic_slice"):
            fl.jit(f)(x, 1)
    with pytest.raises(IndexError, match="3 elements .* does not fit"):
        fl.jit(lambda x, k: x[k : k + 3])(x, 0)

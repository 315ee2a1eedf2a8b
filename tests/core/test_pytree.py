"""Pytrees: order, None, registration, matching by key, and errors that name the path."""

import collections
import copy
import dataclasses
import pickle
import random
import threading

import attrs
import numpy as np
import optree
import pytest

from functorch_lite import tree
from functorch_lite.core import pytree
from functorch_lite.core.statics import Statics, static_key
from functorch_lite.errors import TreeMismatchError

Point = collections.namedtuple("Point", "x y")


@tree.register
@dataclasses.dataclass(frozen=True)
class Scaled:
    value: object
    factor: float = dataclasses.field(default=1.0, metadata={"static": True})


class Pair:
    """Registered by functions, with an __init__ that would fail on anything but numbers."""

    def __init__(self, first, second, tag):
        self.first, self.second, self.tag = first + 0, second + 0, tag


def _rebuild(tag, children):
    pair = object.__new__(Pair)
    pair.first, pair.second = children
    pair.tag = tag
    return pair


tree.register(Pair, lambda p: ((p.first, p.second), p.tag, ("first", "second")), _rebuild)


def random_tree(rng, depth):
    """A tree over every kind of container, whose leaves are distinct ints counted by `rng.count`."""
    kind = rng.choice(["leaf", "none", "dict", "ordered", "list", "tuple", "point", "scaled", "deque"]) if depth else "leaf"
    if kind == "leaf":
        rng.count += 1
        return rng.count
    if kind == "none":
        return None
    if kind == "point":
        return Point(random_tree(rng, depth - 1), random_tree(rng, depth - 1))
    if kind == "scaled":
        return Scaled(random_tree(rng, depth - 1), rng.random())
    children = [random_tree(rng, depth - 1) for _ in range(rng.randrange(4))]
    keys = rng.sample(["b", "a", 3, "z", (1, 2), "c"], len(children))
    match kind:
        case "dict":
            return dict(zip(keys, children))
        case "ordered":
            return collections.OrderedDict(zip(keys, children))
        case "list":
            return children
        case "tuple":
            return tuple(children)
        case "deque":
            return collections.deque(children)


@pytest.fixture
def rng(request):
    seed = random.randrange(10**6)
    print("seed", seed)
    rng = random.Random(seed)
    rng.count = 0
    return rng


def test_random_trees_come_back_and_keep_order(rng):
    for _ in range(200):
        rng.count = 0
        t = random_tree(rng, 4)
        leaves, spec = tree.flatten(t)
        assert leaves == list(range(1, rng.count + 1))  # they were counted from left to right
        assert spec.unflatten(leaves) == t == tree.map(lambda x: x, t)
        assert tree.leaves(t) == leaves and tree.structure(t) == spec and hash(tree.structure(t)) == hash(spec)
        assert [leaf for _, leaf in tree.leaves_with_path(t)] == leaves
        assert tree.all_equal(t, spec.unflatten(leaves)) and (not leaves or not tree.all_equal(t, spec.unflatten([0] * len(leaves))))


def test_paths_lead_to_their_leaves(rng):
    for _ in range(100):
        t = random_tree(rng, 4)
        for path, leaf in tree.leaves_with_path(t):
            assert eval("t" + str(path), {"t": t}) == leaf
            node = t
            for entry in path:
                node = getattr(node, entry) if isinstance(node, (Scaled, Point)) else node[entry]
            assert node == leaf


def test_dicts_keep_insertion_order_with_keys_of_any_kind():
    t = {"z": 1, "a": None, 3: {"y": 2, "x": 3}}
    assert tree.leaves(t) == [1, 2, 3]
    out = tree.map(lambda v: v + 1, t)
    assert list(out) == ["z", "a", 3] and list(out[3]) == ["y", "x"] and out["a"] is None
    assert tree.structure({"a": 1, "b": 2}) != tree.structure({"b": 1, "a": 2})  # else a compiled program would swap them


def test_the_order_is_our_namespace_s_alone():
    assert optree.tree_leaves({"z": 1, "a": 2}) == [2, 1]
    assert optree.tree_leaves(Scaled(1)) == [Scaled(1)]


def test_map_matches_dicts_by_key():
    assert tree.map(lambda a, b: (a, b), {"z": 1, "a": 2}, {"a": 20, "z": 10}) == {"z": (1, 10), "a": (2, 20)}
    ordered = collections.OrderedDict(a=20, z=10)
    assert tree.map(lambda a, b: a + b, {"z": 1, "a": 2}, ordered) == {"z": 11, "a": 22}


def test_map_takes_deeper_trees_and_is_leaf():
    assert tree.map(lambda a, b: (a, b), [1, 2], [(3, 4), {"k": 5}]) == [(1, (3, 4)), (2, {"k": 5})]
    assert tree.map(len, {"a": [1, 2], "b": [3]}, is_leaf=lambda x: isinstance(x, list)) == {"a": 2, "b": 1}


def test_none_stands_for_a_subtree_on_either_side():
    params = {"w": 3.0, "step": 7, "inner": {"a": 1.0, "b": 2.0}}
    grads = {"inner": None, "w": 1.0, "step": None}
    updated = tree.map(lambda p, g: p if g is None else p - g, params, grads)
    assert updated == {"w": 2.0, "step": 7, "inner": {"a": 1.0, "b": 2.0}} and list(updated) == list(params)
    assert tree.map(lambda g, p: p - g, grads, params) == {"inner": None, "w": 2.0, "step": None}


def test_map_with_path():
    t = {"layers": [Scaled(1.0), Point(2.0, 3.0)]}
    names = tree.map_with_path(lambda path, x, y: f"{path}:{x}{y}", t, tree.map(lambda x: -x, t))
    assert tree.leaves(names) == ["['layers'][0].value:1.0-1.0", "['layers'][1].x:2.0-2.0", "['layers'][1].y:3.0-3.0"]
    path = tree.leaves_with_path(t)[0][0]
    assert path == ("layers", 0, "value") and ".".join(str(e) for e in path) == "layers.0.value"
    assert str(pickle.loads(pickle.dumps(path))) == str(copy.deepcopy(path)) == str(path)


@pytest.mark.parametrize(
    "first, second, message",
    [
        ({"a": [1]}, {"b": [1]}, r"at its root: expected dict with keys \['a'\], got dict with keys \['b'\]"),
        ({"a": [1]}, {"a": (1,)}, r"at \['a'\]: expected list of length 1, got tuple of length 1"),
        ({"a": [1, 2]}, {"a": [1]}, r"at \['a'\]: expected list of length 2, got list of length 1"),
        ([{"w": (1, 2)}], [{"w": np.zeros((2, 3), "f4")}], r"at \[0\]\['w'\]: expected tuple of length 2, got ndarray float32\[2,3\]"),
        ([Point(1, 2)], [(1, 2)], r"at \[0\]: expected Point, got tuple of length 2"),
        ([Scaled({"k": 1})], [Scaled([1])], r"at \[0\].value: expected dict with keys \['k'\], got list of length 1"),
        (
            [Scaled(1, 2.0)],
            [Scaled(1, 3.0)],
            r"at \[0\]: expected Scaled, got one with other static fields: .* factor=2.0, got factor=3.0",
        ),
        ([Pair(1, 2, "t")], [Pair(1, 2, "u")], r"at \[0\]: expected Pair, got one with other static data: 'u'"),
    ],
)
def test_a_mismatch_names_the_path_and_both_types(first, second, message):
    with pytest.raises(TreeMismatchError, match=r"map: tree 2 " + message) as error:
        tree.map(lambda a, b: a, first, second)
    assert isinstance(error.value, ValueError)


def test_match_exactly():
    spec = tree.structure({"b": 0, "a": (0, None)})
    assert pytree.match(spec, {"a": (1, None), "b": 2}, exact=True) == [2, 1]
    for other, message in [
        ({"b": [1], "a": (1, None)}, r"carry at \['b'\]: expected a leaf, got list of length 1"),
        ({"b": None, "a": (1, None)}, r"carry at \['b'\]: expected a leaf, got None"),
        ({"b": 1, "a": (1, 2)}, r"carry at \['a'\]\[1\]: expected None, got int"),
        ({"b": 1, "a": None}, r"carry at \['a'\]: expected tuple of length 2, got None"),
    ]:
        with pytest.raises(TreeMismatchError, match=message):
            pytree.match(spec, other, "carry", exact=True)


def test_registration_by_functions_runs_no_init():
    leaves, spec = tree.flatten([Pair(1, 2, "tag")])
    assert leaves == [1, 2]
    odd = spec.unflatten([None, object()])[0]
    assert odd.first is None and odd.tag == "tag"
    assert [str(path) for path, _ in tree.leaves_with_path([Pair(1, 2, "tag")])] == ["[0].first", "[0].second"]


def test_registration_of_dataclasses_and_attrs_in_a_line():
    @dataclasses.dataclass(slots=True)
    class Slotted:
        a: int
        b: int
        name: str

        def __post_init__(self):
            assert isinstance(self.a, int)

    @attrs.frozen
    class Attrs:
        a: int
        b: int = attrs.field(metadata={"static": True})

    assert tree.register(Slotted, static=["name"]) is Slotted and tree.register(Attrs) is Attrs
    out = tree.map(str, Slotted(1, 2, "n"))
    assert (out.a, out.b, out.name) == ("1", "2", "n")
    assert tree.map(str, Attrs(1, 2)) == Attrs("1", 2)


@pytest.mark.parametrize(
    "args, options, kind, message",
    [
        ((3,), {}, TypeError, "expected a class, got 3"),
        ((type("Plain", (), {}),), {}, TypeError, r"register\(Plain\): neither a dataclass nor an attrs class; say how"),
        ((Pair, len), {}, TypeError, "flatten and unflatten are given together"),
        (
            (dataclasses.make_dataclass("D", ["a"]),),
            {"static": ["b"]},
            ValueError,
            r"names \['b'\] are no fields; the fields are \['a'\]",
        ),
        ((Scaled,), {}, ValueError, "already registered"),
    ],
)
def test_bad_registrations(args, options, kind, message):
    with pytest.raises(kind, match=message):
        tree.register(*args, **options)


def test_static_data_are_compared_by_type_and_bits():
    def spec(factor):
        return tree.structure(Scaled(0, factor))

    assert spec(1) != spec(1.0) and spec(1) != spec(True) and spec(0.0) != spec(-0.0) and spec((1,)) != spec((1.0,))
    assert spec(float("nan")) == spec(float("nan")) and len({spec(2.0), spec(2.0), spec(3.0)}) == 2
    assert static_key(1j) != static_key(1 + 0j) and pickle.loads(pickle.dumps(spec(len))) == spec(len)
    assert repr(Statics(("a", "b"), (1, "x"))) == "a=1, b='x'"


def test_broadcast_prefix():
    args = ({"a": 1, "b": [2, 3]}, 4, None)
    assert tree.broadcast_prefix(0, args) == [0, 0, 0, 0]
    assert tree.broadcast_prefix(None, args) == [None] * 4
    assert tree.broadcast_prefix((None, 1, 5), args) == [None, None, None, 1]  # an empty subtree takes nothing
    assert tree.broadcast_prefix(({"b": 2, "a": None}, 1, None), args) == [None, 2, 2, 1]  # keys in another order
    assert tree.broadcast_prefix({"b": 1, "a": [0, None]}, {"a": [7, 7], "b": 7}) == [0, None, 1]
    assert tree.broadcast_prefix([0, None], [(1, 2), 3]) == [0, 0, None] and tree.broadcast_prefix((), ()) == []
    with pytest.raises(TreeMismatchError, match=r"in_dims at \['a'\]: expected tuple of length 2, got ndarray float64\[3\]"):
        tree.broadcast_prefix({"a": (0, 1)}, {"a": np.zeros(3)}, "in_dims")
    with pytest.raises(TreeMismatchError, match=r"in_dims at \[0\]\['b'\]: expected list of length 3, got list of length 2"):
        tree.broadcast_prefix(({"a": 0, "b": [1, 2, 3]}, 1, 0), args, "in_dims")


def test_unflatten_checks():
    spec = tree.structure([0, 0])
    assert tree.unflatten(spec, iter("ab")) == ["a", "b"]
    for leaves in ([1], [1, 2, 3]):
        with pytest.raises(ValueError, match="leaves for PyTreeSpec"):
            tree.unflatten(spec, leaves)
    with pytest.raises(TypeError, match="the first argument is a structure"):
        tree.unflatten([1, 2], spec)


def test_transpose_reduce_all():
    outer, inner = tree.structure([0, 0, 0]), tree.structure({"a": 0, "b": (0,)})
    rows = [{"b": (10 * i,), "a": i} for i in range(3)]
    assert tree.transpose(outer, inner, rows) == {"a": [0, 1, 2], "b": ([0, 10, 20],)}
    assert tree.transpose(tree.structure([]), inner, []) == {"a": [], "b": ([],)}
    with pytest.raises(TreeMismatchError, match="an inner tree"):
        tree.transpose(outer, inner, [1, 2, 3])
    assert tree.reduce(lambda a, b: a * b, rows, 1.5) == 0 and tree.reduce(max, rows) == 20
    assert tree.all({"a": [1, 2]}) and not tree.all([1, 0]) and tree.all(None)


def test_all_equal():
    a = {"x": np.array([1.0, np.nan]), "y": 1}
    b = {"y": 1, "x": np.array([1.0, np.nan])}
    assert not tree.all_equal(a, b) and tree.all_equal(a, b, equal_nan=True) and tree.all_equal(a)
    assert not tree.all_equal([np.float32(1)], [np.float64(1)]) and not tree.all_equal([1], [True])
    assert not tree.all_equal([np.zeros(2)], [np.zeros((1, 2))]) and not tree.all_equal([1, None], [1, 2])
    assert tree.all_equal([float("nan")], [float("nan")], equal_nan=True) and not tree.all_equal([1], [1], [2])


def test_threads_see_insertion_order():
    seen = []

    def work():
        seen.append([tree.leaves({"z": 1, "a": 2}) for _ in range(200)] == [[1, 2]] * 200)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert seen == [True] * 4

"""@struct: fields and static fields, immutability, construction, and surgery on trees."""

from __future__ import annotations  # annotations are then strings, as in most users' files

import abc
import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any, ClassVar, Generic, Literal, Optional, TypeVar

import attrs
import numpy as np
import pytest

from functorch_lite import tree
from functorch_lite.core.struct import field, replace, struct
from functorch_lite.core.surgery import combine, filter, partition, tree_at
from functorch_lite.errors import TreeMismatchError

T = TypeVar("T")


def relu(x):
    return np.maximum(x, 0)


@struct
class Linear:
    weight: Any
    bias: Any = None
    activation: Callable[[SomeArray], SomeArray] | None = None  # noqa: F821  a name that only a type checker knows
    size: tuple = field(static=True, default=(), converter=tuple)

    def __call__(self, x):
        y = x @ self.weight + self.bias
        return y if self.activation is None else self.activation(y)


@struct
class Model:
    layers: list[Linear]
    scale: float = field(default=1.0, converter=float, validator=attrs.validators.gt(0))
    name: str = "model"


def model():
    rng = np.random.default_rng(0)
    return Model([Linear(rng.normal(size=(i, o)), np.zeros(o), relu, [i, o]) for i, o in ((3, 4), (4, 2))])


@struct
class Own:
    """A class with an __init__ of its own."""

    weight: Any
    count: int = field(static=True, validator=attrs.validators.instance_of(int))
    rate: float = field(converter=float, default=0.5)

    def __init__(self, n):
        self.weight = np.ones(n)
        self.count = n


# ---------------------------------------------------------------------------------------------------------- as a pytree


def test_leaves_structure_and_methods():
    m = model()
    leaves, spec = tree.flatten(m)
    assert [str(path) for path, _ in tree.leaves_with_path(m)] == [f".layers[{i}].{n}" for i in (0, 1) for n in ("weight", "bias")] + [
        ".scale"
    ]
    back = spec.unflatten(leaves)
    assert type(back) is Model and back.name == "model" and back.layers[1].activation is relu and back.layers[1].size == (4, 2)
    doubled = tree.map(lambda x: x * 2, m)
    np.testing.assert_array_equal(doubled.layers[0](np.ones(3)), relu(np.ones(3) @ (m.layers[0].weight * 2)))


def test_rebuilding_runs_neither_converters_nor_validators():
    m = model()
    for leaf in (None, -1.0, object(), "text"):
        out = tree.map(lambda _, leaf=leaf: leaf, m)
        assert out.scale is leaf and out.layers[0].weight is leaf


def test_structures_tell_static_fields_apart():
    def spec(**changes):
        return tree.structure(replace(Linear(0.0), **changes))

    assert spec() == spec(weight=5.0) and hash(spec()) == hash(spec())
    assert spec(size=(1,)) != spec(size=(2,)) and spec(size=(1,)) != spec(size=(1.0,)) and spec(activation=relu) != spec(activation=abs)
    with pytest.raises(TreeMismatchError, match=r"map: tree 2 at \[0\]: expected Linear, .*expected size=\(1,\), got size=\(2,\)"):
        tree.map(lambda a, b: a, [Linear(0, size=[1])], [Linear(0, size=[2])])


def test_what_is_static_by_its_annotation():
    @struct
    class Annotated:
        a: str
        b: Callable
        c: Callable[[int], int]
        d: Optional[Callable]  # noqa: UP045
        e: str | None
        f: type
        g: Literal["x", "y"]
        h: int
        i: Any
        j: Nowhere | None  # noqa: F821
        k: "nowhere.Array[int, 3]"  # noqa: F821, UP037
        l: str = field(static=False)
        m: list[str] = field(factory=list)

    static = {a.name for a in attrs.fields(Annotated) if a.metadata["static"]}
    assert static == set("abcdefg")


def test_the_same_without_strings():
    namespace = {"__annotations__": {"f": Callable[[int], int], "s": Optional[str], "x": Any, "t": type[int]}, "__module__": __name__}  # noqa: UP045
    cls = struct(type("Made", (), namespace))
    assert [a.metadata["static"] for a in attrs.fields(cls)] == [True, True, False, True]


def test_static_fields_must_be_hashable_and_free_of_arrays():
    @struct
    class Static:
        a: Any = field(static=True)
        act: Callable = abs

    with pytest.raises(TypeError, match=r"Static.a is static and must be hashable.* got dict with keys \['k'\]"):
        Static({"k": 1})
    for bad in (np.zeros(3), (1, np.zeros(3)), Linear(np.zeros(3))):
        with pytest.raises(TypeError, match="Static.a is static and cannot hold arrays"):
            Static(bad)
    with pytest.raises(TypeError, match=r"Static.act is static and cannot hold arrays, got Linear: declare it with field\(static=False\)"):
        Static(1, Linear(np.zeros(3)))
    with pytest.raises(TypeError, match="must be hashable"):
        replace(Static(1), a=[1])
    assert Static(np.float32(1)).a == 1 and tree.leaves(Static(np.dtype("f4"))) == []


# ------------------------------------------------------------------------------------------- construction, immutability


def test_converters_validators_defaults_keywords():
    m = Model([], scale="2.5")
    assert m.scale == 2.5
    with pytest.raises(ValueError, match="'scale' must be > 0"):
        Model([], scale=-1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'sclae'"):
        Model([], sclae=1)

    @struct(kw_only=True)
    class Keywords:
        a: int = 1
        b: int

    assert Keywords(b=2).a == 1
    with pytest.raises(TypeError, match="positional"):
        Keywords(1, 2)
    with pytest.raises(ValueError, match=r"Shared.a: a list as default would be shared by all objects: field\(factory=list\)"):

        @struct
        class Shared:
            a: list = []  # noqa: RUF012


def test_immutable():
    for obj in (model(), Own(2)):
        name = attrs.fields(type(obj))[0].name
        with pytest.raises(AttributeError, match=rf"cannot be set: a struct is immutable. Make a changed copy: replace\(obj, {name}=...\)"):
            setattr(obj, name, 1)
        with pytest.raises(dataclasses.FrozenInstanceError):
            obj.new = 1
        with pytest.raises(dataclasses.FrozenInstanceError):
            delattr(obj, name)


def test_an_init_of_its_own():
    o = Own(3)
    assert o.weight.shape == (3,) and o.count == 3 and o.rate == 0.5
    assert set(vars(o)) == {"weight", "count", "rate"}
    with pytest.raises(TypeError, match="'count' must be"):
        Own((2, 2))
    assert replace(o, rate="0.25").rate == 0.25 and o.rate == 0.5

    @struct
    class Forgets:
        a: int
        b: int

        def __init__(self):
            self.a = 1

    with pytest.raises(TypeError, match="Forgets.__init__ did not set the field 'b'"):
        Forgets()

    @struct
    class Strays:
        a: int

        def __init__(self):
            self.count = 1

    with pytest.raises(AttributeError, match="Strays has no field 'count': annotate it"):
        Strays()

    @struct
    class Deferring:
        a: int = field(converter=int)

        def __init__(self, text):
            self.__attrs_init__(text.strip())

    assert Deferring(" 7 ").a == 7


def test_post_init_may_derive_fields():
    @struct
    class Derived:
        a: int
        twice: int = field(init=False)

        def __attrs_post_init__(self):
            self.twice = self.a * 2

    assert Derived(2).twice == 4 and replace(Derived(2), a=5).twice == 10


def test_statics_seen_while_filling_are_not_kept():
    @struct
    class Late:
        n: int = field(static=True)
        x: float = 0.0

        def __init__(self, n):
            self.n = 0
            self.x = 1.0
            tree.structure(self)
            self.n = n

    assert tree.structure(Late(1)) != tree.structure(Late(2)) and tree.map(lambda x: x, Late(5)).n == 5


def test_subclassing():
    @struct
    class Residual(Linear):
        skip: float = 1.0

        def __call__(self, x):
            return super().__call__(x) + self.skip * x

    r = Residual(np.zeros((2, 2)), np.zeros(2), size=[2])
    np.testing.assert_array_equal(r(np.ones(2)), np.ones(2))
    assert isinstance(r, Linear) and len(tree.leaves(r)) == 3 and tree.map(lambda x: x, r).size == (2,)

    @struct
    class More(Own):  # no new field: the parent's __init__ says all
        def norm(self):
            return self.weight.sum()

    assert More(4).norm() == 4 and type(tree.map(lambda x: x, More(4))) is More

    @struct
    class Extended(Own):
        extra: int = 0

        def __init__(self, n):
            super().__init__(n)
            self.extra = n + 1

    assert (Extended(2).count, Extended(2).extra, Extended(2).rate) == (2, 3, 0.5)

    class Undecorated(Linear):
        pass

    with pytest.raises(TypeError, match="Undecorated is a subclass of the struct Linear and no struct itself: write @struct above it"):
        Undecorated(1.0)


def test_abstract_generic_and_class_variables():
    @struct
    class Layer(abc.ABC, Generic[T]):
        count: ClassVar[int] = 3
        w: T

        @abc.abstractmethod
        def run(self): ...

        @property
        def double(self):
            return self.w * 2

    @struct
    class Concrete(Layer[float]):
        def run(self):
            return self.w

    with pytest.raises(TypeError, match="abstract"):
        Layer(1.0)
    assert Concrete(2.0).run() == 2.0 and Concrete(2.0).double == 4.0 and tree.leaves(Concrete(2.0)) == [2.0] and Concrete.count == 3


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)), lambda m: tree.map(lambda x: x, m)])
def test_equality_hash_and_copies(again):
    m = model()
    for _ in range(2):  # before and after the structure has been asked for
        assert again(m) == m and hash(again(m)) == hash(m) and tree.structure(again(m)) == tree.structure(m)
    assert m != replace(m, scale=2.0) and m != replace(m, name="other") and m != 3
    assert m != tree_at(lambda m: m.layers[0].bias, m, np.ones(4)) and len({Linear(1.0), Linear(1.0), Linear(1.0, size=[1])}) == 2


def test_a_class_s_own_dunders_are_kept():
    @struct
    class Loud:
        a: int

        def __repr__(self):
            return "loud"

        def __eq__(self, other):
            return True

    @struct
    class Louder(Loud):
        b: int = 0

    assert repr(Loud(1)) == repr(Louder(1)) == "loud" and Loud(1) == 7 and Louder(1) == 7


def test_repr_shows_shapes_and_breaks_lines():
    assert repr(Linear(np.zeros((2, 3), np.float32), activation=relu)) == "Linear(weight=float32[2,3], bias=None, activation=relu, size=())"
    text = repr(model())
    assert "\n    Linear(weight=float64[3,4], bias=float64[4], activation=relu, size=(3, 4)),\n" in text and text.endswith(
        "name='model',\n)"
    )

    @struct
    class Secret:
        key: str = field(repr=False)
        n: int = field(repr=lambda n: f"<{n}>")

    assert repr({"s": Secret("k", 3)}) == "{'s': Secret(n=<3>)}"


def test_bad_uses():
    with pytest.raises(TypeError, match="struct decorates a class, got 3"):
        struct(3)
    with pytest.raises(TypeError, match="must not have __slots__"):

        @struct
        class Slotted:
            __slots__ = ("a",)

    with pytest.raises(TypeError, match=r"replace: Model has no field 'lyers'; its fields are layers, scale, name"):
        replace(model(), lyers=[])
    with pytest.raises(TypeError, match="replace: expected a struct, a dataclass or an attrs object, got int"):
        replace(3, a=1)


# ------------------------------------------------------------------------------------------------------------- surgery


def test_tree_at_leaves_subtrees_and_none():
    m = model()
    one = tree_at(lambda m: m.layers[0].weight, m, "new")
    assert one.layers[0].weight == "new" and m.layers[0].weight.shape == (3, 4) and one.layers[1] == m.layers[1]
    both = tree_at(lambda m: (m.layers[1], m.scale), m, ("sub", None))
    assert both.layers[1] == "sub" and both.scale is None and both.layers[0].activation is relu
    assert tree_at(lambda t: t["n"], {"n": None, "m": None}, 3) == {"n": 3, "m": None}
    assert tree_at(lambda t: t["l"], {"l": (1, 2)}, 3) == {"l": 3}  # a tuple that is a node is one node
    assert tree_at(lambda t: t, {"a": 1}, 3) == 3
    assert tree_at(lambda t: [t[0], t[2]], [1, 2, 1], replace_fn=lambda x: x * 10) == [10, 2, 10]
    assert tree_at(lambda m: m.layers, m, replace_fn=lambda layers: layers[::-1]).layers[0].size == (4, 2)
    shared = [1, 2]
    assert tree_at(lambda t: t[1], [shared, shared], 0) == [[1, 2], 0]


def test_tree_at_bad_where():
    m = model()
    with pytest.raises(ValueError, match=r"returned tuple of length 2. A static field is no node: change it with replace"):
        tree_at(lambda m: [m.layers[0].size], m, [1])
    with pytest.raises(TypeError, match=r"`where` reached a leaf \(ndarray float64\[3,4\]\) and tried to index it with 0"):
        tree_at(lambda m: m.layers[0].weight[0], m, 1)
    with pytest.raises(AttributeError, match=r"reached a leaf \(ndarray float64\[4\]\) and tried to read its attribute 'T'"):
        tree_at(lambda m: m.layers[0].bias.T, m, 1)
    with pytest.raises(ValueError, match="returns 2 nodes, so replace must be as many, got int"):
        tree_at(lambda m: (m.scale, m.layers), m, 1)
    with pytest.raises(ValueError, match="the same node twice"):
        tree_at(lambda m: (m.scale, m.scale), m, (1, 2))
    with pytest.raises(TypeError, match="either replace or replace_fn"):
        tree_at(lambda m: m.scale, m)


def test_partition_combine_filter():
    m = model()

    def is_array(x):
        return isinstance(x, np.ndarray)

    arrays, others = partition(m, is_array)
    assert tree.leaves(others) == [1.0] and len(tree.leaves(arrays)) == 4 and arrays.layers[0].activation is relu
    assert combine(arrays, others) == combine(others, arrays) == m
    assert filter(m, is_array) == arrays and filter(m, is_array, inverse=True) == others
    frozen = filter(m, tree_at(lambda m: (m.layers, m.scale), m, ([True, False], False)))
    assert frozen.layers[0] == m.layers[0] and frozen.layers[1].weight is None and frozen.scale is None
    assert filter([1, -2, 3], [True, lambda x: x > 0, False]) == [1, None, None]
    assert combine([1, None, None], [5, None, 6]) == [1, None, 6]
    with pytest.raises(TypeError, match="a predicate is a function of a leaf, or a tree of bools"):
        filter([1, 2], [1, True])
    with pytest.raises(TreeMismatchError, match="expected list of length 3, got list of length 2"):
        filter([1, 2], [True, True, False])
    with pytest.raises(TreeMismatchError, match="combine: tree 2 at its root"):
        combine([1, None], [1])


def test_replace_on_other_classes():
    @dataclasses.dataclass
    class Data:
        a: int

    @attrs.define
    class Attrs:
        _a: int

    assert replace(Data(1), a=2) == Data(2) and replace(Attrs(1), _a=2) == Attrs(2)

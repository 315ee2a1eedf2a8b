"""Records: arguments, defaults, equality, and that they do not change."""

import copy
import pickle
from dataclasses import FrozenInstanceError

import pytest

from functorch_lite.core.record import Record


class Point(Record):
    x: int
    y: int = 0


class Place(Point):
    name: str = ""


class Itself(Record, eq=False):
    x: int


def test_arguments_by_place_by_name_and_by_default():
    assert (Point(1, 2).x, Point(1, 2).y) == (1, 2)
    assert Point(y=2, x=1) == Point(1, 2)
    assert Point(1).y == 0
    assert Place(1, name="a") == Place(1, 0, "a")
    assert repr(Place(1)) == "Place(x=1, y=0, name='')"


@pytest.mark.parametrize(
    ("args", "named", "words"),
    [
        ((), {}, "Point needs x"),
        ((1, 2, 3), {}, "takes x, y, got 3"),
        ((1,), {"z": 2}, "z by name"),
        ((1,), {"x": 2}, "x by name"),
        ((), {"y": 1}, "needs x"),
    ],
)
def test_wrong_arguments_are_named(args, named, words):
    with pytest.raises(TypeError, match=words):
        Point(*args, **named)


def test_equality_is_that_of_the_fields_and_the_class():
    assert Point(1, 2) == Point(1, 2)
    assert hash(Point(1, 2)) == hash(Point(1, 2))
    assert Point(1, 2) != Point(1, 3)
    assert Point(1) != Place(1)
    one = Itself(1)
    assert one == one and one != Itself(1)
    assert len({one, Itself(1)}) == 2


def test_it_does_not_change():
    point = Point(1)
    with pytest.raises(FrozenInstanceError, match="Point.x cannot be set"):
        point.x = 2
    with pytest.raises(FrozenInstanceError, match="Point.x"):
        del point.x
    assert point.but(y=5) == Point(1, 5)
    assert point == Point(1)


def test_copies_and_pickles():
    for copied in (copy.copy(Place(1, 2, "a")), copy.deepcopy(Place(1, 2, "a")), pickle.loads(pickle.dumps(Place(1, 2, "a")))):
        assert copied == Place(1, 2, "a")

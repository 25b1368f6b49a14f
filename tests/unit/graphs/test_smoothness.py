import math
import pickle  # noqa: TID251 - is what is tested

import numpy as np
import pytest
from tests.oracles import grids as oracle

from credo.exceptions import InputError, ShapeError
from credo.graphs import GridField, Ising, Potts, TruncatedLinear, TruncatedQuadratic

ALL = [Ising, Potts, TruncatedLinear, TruncatedQuadratic]
TRUNCATED = [TruncatedLinear, TruncatedQuadratic]


@pytest.mark.parametrize("limit", [math.inf, 2.0, 0.5])
@pytest.mark.parametrize("kind", ALL)
def test_a_unit_table_follows_the_definition(kind, limit):
    k = 2 if kind is Ising else 5
    smoothness = kind(3.0, limit) if kind in TRUNCATED else kind(3.0)
    unit = oracle.UNITS[kind.__name__]
    expected = [[unit(a, b, limit) for b in range(k)] for a in range(k)]
    table = smoothness.unit_table(k)
    np.testing.assert_array_equal(table, expected)
    assert table.dtype == np.float64
    np.testing.assert_array_equal(smoothness.units(k), expected[0])


@pytest.mark.parametrize("kind", ALL)
class TestAStrength:
    def test_is_a_number(self, kind):
        assert kind(2).strength == 2.0
        assert isinstance(kind(np.float32(2)).strength, float)

    def test_is_a_tuple_of_numbers_per_axis(self, kind):
        assert kind([1, 0.5]).strength == (1.0, 0.5)
        assert kind(np.array([1, 0.5])).strength == (1.0, 0.5)

    def test_is_a_tuple_of_read_only_copies_per_edge(self, kind):
        down, right = np.ones((1, 3), np.float32), np.zeros((2, 2))
        strength = kind([down, right]).strength
        down[:] = 7
        np.testing.assert_array_equal(strength[0], np.ones((1, 3)))
        assert strength[0].dtype == np.float64
        assert not strength[0].flags.writeable

    def test_may_mix_numbers_and_arrays(self, kind):
        strength = kind([0.5, np.ones((2, 2))]).strength
        assert strength[0] == 0.5
        assert strength[1].shape == (2, 2)

    @pytest.mark.parametrize("wrong", [math.nan, math.inf, "much", [1.0, math.nan]], ids=repr)
    def test_must_be_finite_numbers(self, kind, wrong):
        with pytest.raises(InputError, match=kind.__name__):
            kind(wrong)

    def test_needs_an_entry(self, kind):
        with pytest.raises(InputError, match="one entry per axis"):
            kind([])

    def test_must_be_rectangular(self, kind):
        with pytest.raises(InputError, match="rectangular"):
            kind([[[1.0], [1.0, 2.0]], 1.0])


@pytest.mark.parametrize("kind", [Ising, Potts])
def test_a_coupling_may_be_negative(kind):
    assert kind(-1.5).coupling == -1.5


@pytest.mark.parametrize("kind", TRUNCATED)
class TestATruncatedPenalty:
    def test_has_a_slope_of_at_least_zero(self, kind):
        assert kind(0.0).slope == 0.0
        with pytest.raises(InputError, match="slope of Truncated.* at least 0. Got -1"):
            kind(-1.0)
        with pytest.raises(InputError, match="at least 0. Got -0.5"):
            kind([1.0, np.array([[1.0, -0.5]])])

    def test_has_no_limit_unless_given(self, kind):
        assert kind(1.0).limit == math.inf
        assert kind(1.0, limit=3).limit == 3.0

    @pytest.mark.parametrize("limit", [0, -1.0, math.nan, [1.0, 2.0], "far", None], ids=repr)
    def test_has_a_limit_above_zero(self, kind, limit):
        with pytest.raises(InputError, match="limit"):
            kind(1.0, limit)

    def test_differs_by_its_limit(self, kind):
        assert kind(1.0, 2.0) == kind(1.0, 2)
        assert kind(1.0, 2.0) != kind(1.0)


def test_ising_is_for_two_labels_and_says_what_to_use():
    with pytest.raises(InputError, match="two labels. Got 3. Use Potts with twice the coupling"):
        Ising(1.0).unit_table(3)
    with pytest.raises(InputError, match="two labels"):
        GridField(np.zeros((2, 2, 3)), Ising(1.0))


@pytest.mark.parametrize("count", [0, -1, 2.5, True])
def test_a_number_of_labels_is_a_whole_number(count):
    with pytest.raises(InputError, match="number of labels"):
        Potts(1.0).unit_table(count)


def test_equal_ones_are_equal_and_hash_alike():
    per_edge = [np.ones((1, 2)), np.ones((2, 1))]
    assert Potts(per_edge) == Potts([each.copy() for each in per_edge])
    assert hash(Potts(per_edge)) == hash(Potts(per_edge))
    assert Potts(per_edge) != Potts([np.ones((1, 2)), np.zeros((2, 1))])
    assert Potts(1.0) != Potts((1.0, 1.0))
    assert Potts(1.0) != Ising(1.0)
    assert Potts(1.0) != 1.0
    assert len({Potts(1.0), Potts(1), Ising(1.0)}) == 2


@pytest.mark.parametrize("kind", ALL)
def test_none_can_be_changed(kind):
    with pytest.raises(AttributeError):
        kind(1.0).limit = 2.0


@pytest.mark.parametrize(
    "smoothness",
    [Ising(0.5), Potts([0.5, np.ones((2, 2))]), TruncatedLinear(1.0, 2.0), TruncatedQuadratic(3)],
    ids=repr,
)
def test_one_survives_the_way_to_another_process(smoothness):
    twin = pickle.loads(pickle.dumps(smoothness))  # noqa: S301 - our own bytes
    assert twin == smoothness
    assert twin is not smoothness
    entries = twin.strength if isinstance(twin.strength, tuple) else ()
    assert not any(e.flags.writeable for e in entries if isinstance(e, np.ndarray))


def test_a_text_shows_numbers_and_the_shape_of_arrays():
    assert repr(TruncatedLinear(0.5, 3)) == "TruncatedLinear(0.5, limit=3)"
    assert repr(TruncatedQuadratic((1, 2))) == "TruncatedQuadratic((1, 2))"
    assert repr(Potts([0.5, np.ones((2, 3))])) == "Potts((0.5, <array (2, 3)>))"


class TestStrengthsOfAField:
    def test_are_repeated_for_each_axis(self):
        assert GridField(np.zeros((2, 3, 2)), Potts(0.5), neighbours=8).strengths == (0.5,) * 4

    def test_must_have_an_entry_for_each_axis(self):
        with pytest.raises(ShapeError, match=r"each of the 4 axes \(1, 0\), .* Got 2"):
            GridField(np.zeros((2, 3, 2)), Potts((0.5, 1.0)), neighbours=8)

    def test_must_have_an_entry_for_each_edge(self):
        wrong = [np.ones((2, 3)), np.ones((3, 2))]
        text = r"\(2, 3\) along \(1, 0\), \(3, 2\) along \(0, 1\), .*Got shape \(3, 3\)"
        with pytest.raises(ShapeError, match=text):
            GridField(
                np.zeros((3, 3, 2)),
                Potts([*wrong, np.ones((2, 2)), np.ones((3, 3))]),
                neighbours=8,
            )

    def test_are_laid_at_the_lower_pixels(self):
        down, right = np.arange(1.0, 4.0).reshape(1, 3), np.arange(4.0, 8.0).reshape(2, 2)
        falling, rising = np.array([[8.0, 9.0]]), np.array([[10.0, 11.0]])
        smoothness = Potts([down, right, falling, rising])
        field = GridField(np.zeros((2, 3, 2)), smoothness, neighbours=8)
        expected = [
            [[1, 2, 3], [0, 0, 0]],
            [[4, 5, 0], [6, 7, 0]],
            [[8, 9, 0], [0, 0, 0]],
            [[0, 10, 11], [0, 0, 0]],
        ]
        for axis in range(4):
            np.testing.assert_array_equal(field.strength_plane(axis), expected[axis])

    @pytest.mark.parametrize("axis", [2, -1, "down"])
    def test_are_asked_for_by_the_number_of_the_axis(self, axis):
        field = GridField(np.zeros((2, 3, 2)), Potts(0.5))
        with pytest.raises(InputError, match=r"axes 0 to 1: \(1, 0\), \(0, 1\)"):
            field.strength_plane(axis)

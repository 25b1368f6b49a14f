import math
import tracemalloc

import numpy as np
import pytest
from tests.oracles import grid_fields as oracle

from credo.exceptions import InputError, LabelError, ShapeError
from credo.graphs import GridField, Ising, MarkovNetwork, Potts, TruncatedLinear

RNG = np.random.default_rng(7)
LOGS = RNG.normal(size=(3, 4, 3))


class TestWhatAFieldIs:
    def test_is_a_markov_network_of_its_pixels(self):
        field = GridField(LOGS, Potts(0.5), labels=["sky", "sea", "sand"])
        assert isinstance(field, MarkovNetwork)
        assert field.shape == (3, 4)
        assert field.labels == ("sky", "sea", "sand")
        assert field.n_labels == 3
        assert field.neighbours == 4
        assert field.axes == ((1, 0), (0, 1))
        assert field.smoothness == Potts(0.5)
        np.testing.assert_array_equal(field.log_potentials, LOGS)
        assert len(field) == 12

    @pytest.mark.parametrize(
        ("shape", "neighbours", "axes"),
        [
            ((2, 2), None, ((1, 0), (0, 1))),
            ((2, 2), 4, ((1, 0), (0, 1))),
            ((2, 2), 8, ((1, 0), (0, 1), (1, 1), (1, -1))),
            ((2, 2, 2), None, ((1, 0, 0), (0, 1, 0), (0, 0, 1))),
            ((2, 2, 2), 6, ((1, 0, 0), (0, 1, 0), (0, 0, 1))),
        ],
    )
    def test_has_the_axes_of_its_neighbourhood(self, shape, neighbours, axes):
        field = GridField.ising(np.zeros(shape), 1.0, neighbours=neighbours)
        assert field.axes == axes
        assert field.neighbours == 2 * len(axes)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_keeps_the_precision_of_its_potentials(self, dtype):
        planes = GridField(LOGS.astype(dtype), Potts(0.5)).log_potentials
        field = GridField.ising(LOGS[..., 0].astype(dtype), 0.5)
        assert planes.dtype == field.log_potentials.dtype == field.log_odds.dtype == dtype

    @pytest.mark.parametrize("dtype", [np.int16, np.float16, ">f8", bool])
    def test_takes_other_numbers_as_float64(self, dtype):
        assert GridField.ising(np.ones((2, 2), dtype), 0.5).log_odds.dtype == np.float64

    def test_takes_swapped_float32_as_float32(self):
        swapped = LOGS.astype(">f4")
        held = GridField(swapped, Potts(0.5)).log_potentials
        np.testing.assert_array_equal(held, swapped)
        assert held.dtype.isnative

    def test_is_not_changed_through_what_it_was_made_of(self):
        logs = LOGS.copy()
        field = GridField(logs, Potts(0.5))
        logs[:] = 0
        np.testing.assert_array_equal(field.log_potentials, LOGS)
        with pytest.raises(ValueError, match="read-only"):
            field.log_potentials[0, 0, 0] = 1

    def test_is_not_changed_through_what_a_read_only_view_shows(self):
        logs = LOGS.copy()
        view = logs[:]
        view.flags.writeable = False
        field = GridField(view, Potts(0.5))
        logs[:] = 0
        np.testing.assert_array_equal(field.log_potentials, LOGS)

    def test_holds_read_only_potentials_as_they_are(self):
        logs = LOGS.copy()
        logs.flags.writeable = False
        assert GridField(logs, Potts(0.5)).log_potentials is logs

    def test_says_what_it_is(self):
        text = repr(GridField.ising(np.zeros((2, 3, 4)), 0.5))
        assert text == "<GridField: 2x3x4 pixels, 2 labels, 6 neighbours, Ising(0.5)>"


class TestIsing:
    def test_has_log_potentials_of_minus_and_plus_h(self):
        h = RNG.normal(size=(3, 2))
        field = GridField.ising(h, 0.5)
        assert field.labels == (-1, 1)
        assert field.smoothness == Ising(0.5)
        np.testing.assert_array_equal(field.log_potentials, np.stack([-h, h], axis=-1))
        np.testing.assert_array_equal(field.log_odds, 2 * h)

    def test_has_a_certain_label_where_h_is_infinite(self):
        field = GridField.ising([[np.inf, -np.inf, 1.0]], 0.5)
        np.testing.assert_array_equal(field.log_potentials, [[[-np.inf, 0], [0, -np.inf], [-1, 1]]])
        np.testing.assert_array_equal(field.log_odds, [[np.inf, -np.inf, 2]])

    def test_takes_float32_numbers_beyond_the_range_of_their_odds(self):
        field = GridField.ising(np.full((1, 2), 3e38, np.float32), 0.5)
        np.testing.assert_array_equal(field.log_odds, np.full((1, 2), np.inf))

    def test_refuses_nan_and_names_the_pixel(self):
        with pytest.raises(InputError, match=r"GridField.ising is NaN at pixel \(1, 0\)"):
            GridField.ising([[0.0, 1.0], [np.nan, 1.0]], 0.5)

    @pytest.mark.parametrize("shape", [(3,), (2, 2, 2, 2), (0, 3), (3, 0), ()])
    def test_refuses_what_is_no_picture(self, shape):
        with pytest.raises(ShapeError, match=r"\(height, width\)"):
            GridField.ising(np.zeros(shape), 0.5)

    def test_refuses_other_than_two_labels(self):
        with pytest.raises(ShapeError, match="potentials of 2 labels. Got 3 names"):
            GridField.ising(np.zeros((2, 2)), 0.5, labels=["a", "b", "c"])


class TestWhatIsRefused:
    @pytest.mark.parametrize("shape", [(), (3,), (3, 3), (0, 3, 2), (3, 3, 0), (2, 2, 2, 2, 2)])
    def test_potentials_of_another_shape(self, shape):
        with pytest.raises(ShapeError, match=r"\(height, width, n_labels\).*Got shape"):
            GridField(np.zeros(shape), Potts(0.5))

    @pytest.mark.parametrize("wrong", [np.nan, np.inf])
    def test_potentials_that_are_nan_or_infinite(self, wrong):
        logs = LOGS.copy()
        logs[1, 2, 1] = wrong
        text = rf"Got {wrong:g} at pixel \(1, 2\), label number 1"
        with pytest.raises(InputError, match=text):
            GridField(logs, Potts(0.5))

    def test_a_pixel_that_allows_no_label(self):
        logs = LOGS.copy()
        logs[2, 3] = -np.inf
        with pytest.raises(InputError, match=r"pixel \(2, 3\) allows no label"):
            GridField(logs, Potts(0.5))

    def test_potentials_that_are_no_numbers(self):
        with pytest.raises(InputError, match="log potentials of GridField must be numbers"):
            GridField([[["a", "b"]]], Potts(0.5))

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_potentials_that_are_masked(self, dtype):
        masked = np.ma.masked_less(LOGS.astype(dtype), 0)
        with pytest.raises(InputError, match="masked"):
            GridField(masked, Potts(0.5))

    @pytest.mark.parametrize("smoothness", [0.5, None, Potts, "potts"], ids=repr)
    def test_what_is_no_smoothness(self, smoothness):
        with pytest.raises(InputError, match=r"such as Potts\(0.5\)"):
            GridField(LOGS, smoothness)

    def test_labels_that_repeat(self):
        with pytest.raises(InputError, match="'a' occurs more than once"):
            GridField(LOGS, Potts(0.5), labels=["a", "b", "a"])

    def test_another_number_of_labels(self):
        with pytest.raises(ShapeError, match="potentials of 3 labels. Got 2 names: 'a', 'b'"):
            GridField(LOGS, Potts(0.5), labels=["a", "b"])

    @pytest.mark.parametrize(
        ("shape", "neighbours", "known"),
        [((2, 2), 6, "4 or 8"), ((2, 2), True, "4 or 8"), ((2, 2, 2), 4, "6"), ((2, 2), "4", "4")],
    )
    def test_neighbours_of_another_dimension(self, shape, neighbours, known):
        text = f"in {len(shape)} dimensions needs {known}.*neighbours. Got {neighbours!r}"
        with pytest.raises(InputError, match=text):
            GridField.ising(np.zeros(shape), 0.5, neighbours=neighbours)

    def test_log_odds_of_three_labels(self):
        with pytest.raises(InputError, match="two labels. This one has 3"):
            _ = GridField(LOGS, Potts(0.5)).log_odds


class TestEnergy:
    @pytest.mark.parametrize("epsilon", [0.05, 0.1, 0.15, 0.2])
    def test_is_that_of_the_lecture(self, epsilon):
        x = np.where(RNG.random((9, 7)) < 0.5, -1, 1)
        y = np.where(RNG.random((9, 7)) < epsilon, -x, x)
        field = GridField.from_flips(y, epsilon, 0.8)
        expected = oracle.lecture_energy(x, y, 0.8, epsilon)
        assert field.energy(x) == pytest.approx(expected, rel=1e-13)

    def test_is_larger_for_the_more_probable_map(self):
        field = GridField.ising(np.full((3, 3), 0.5), 1.0)
        assert field.energy(np.ones((3, 3))) > field.energy(-np.ones((3, 3)))

    def test_counts_nothing_for_a_certain_pixel_that_agrees(self):
        certain = GridField.ising([[np.inf, 0.25, -np.inf]], 1.0)
        assert certain.energy([[1, 1, -1]]) == 0.25
        assert certain.energy([[1, -1, -1]]) == -0.25

    @pytest.mark.parametrize("picture", [[[-1, 1, -1]], [[1, 1, 1]], [[-1, 1, 1]]])
    def test_is_minus_infinity_if_a_certain_pixel_disagrees(self, picture):
        assert GridField.ising([[np.inf, 0.25, -np.inf]], 1.0).energy(picture) == -math.inf

    def test_is_that_of_the_log_potentials_also_if_some_are_certain(self):
        plane = GridField.ising([[np.inf, 0.25, -np.inf]], 1.0)
        planes = GridField(plane.log_potentials, Ising(1.0), labels=(-1, 1))
        for picture in ([[1, 1, -1]], [[1, -1, -1]], [[-1, -1, -1]]):
            assert plane.energy(picture) == planes.energy(picture)

    def test_is_summed_in_double_precision(self):
        h = np.full((400, 500), 0.1, np.float32)
        energy = GridField.ising(h, 0.0).energy(np.ones(h.shape))
        assert energy == pytest.approx(200_000 * float(np.float32(0.1)), rel=1e-14)

    def test_does_not_wrap_around_many_levels(self):
        n = 300
        field = GridField(np.zeros((1, 2, n)), TruncatedLinear(1.0))
        assert field.energy([[0, n - 1]]) == field.energy([[n - 1, 0]]) == -(n - 1)

    @pytest.mark.parametrize(
        ("labels", "dtype"),
        [
            ((0, 1), np.uint8),
            ((0, 1), bool),
            ((-1, 1), np.int8),
            ((0.0, 0.5), np.float32),
            ((3, 1, 2), np.int64),
            ((0, 128, 255), np.uint8),
            ((10**12, 0, -5), np.int64),
            ((0.5, 0.25, 1), np.float64),
            (("sky", "sea"), str),
            (("b", "a", "c"), str),
            (("b", "a", "c"), object),
            ((0, "a", None), object),
        ],
    )
    def test_finds_labels_of_every_kind(self, labels, dtype):
        k = len(labels)
        logs = RNG.normal(size=(3, 4, k))
        positions = RNG.integers(k, size=(3, 4))
        picture = np.array([[labels[p] for p in row] for row in positions], dtype=dtype)
        expected = oracle.energy(positions, logs, "Potts", 0.5)
        field = GridField(logs, Potts(0.5), labels=labels)
        assert field.energy(picture) == pytest.approx(expected, rel=1e-13)
        assert field.energy(picture.tolist()) == pytest.approx(expected, rel=1e-13)

    @pytest.mark.parametrize(
        ("labels", "unknown"),
        [
            ((-1, 1), 0),
            ((0, 1, 2), 7),
            ((0, 1, 2), -1),
            ((0, 2, 4), 1),
            ((0.0, 0.5, 1.0), 0.25),
            ((0.0, 0.5, 1.0), np.nan),
            ((0, 10**9, 5), 10**10),
            (("a", "b"), "c"),
            (("a", "b", "c"), "bb"),
        ],
    )
    def test_names_the_pixel_of_an_unknown_label(self, labels, unknown):
        picture = np.full((2, 3), labels[0], dtype=np.array([*labels, unknown]).dtype)
        picture[1, 2] = unknown
        field = GridField(np.zeros((2, 3, len(labels))), Potts(0.5), labels=labels)
        text = rf"GridField.energy has no label {picture[1, 2].item()!r} \(pixel \(1, 2\)\)"
        with pytest.raises(LabelError, match=text):
            field.energy(picture)

    def test_does_not_take_a_text_for_a_number(self):
        field = GridField(np.zeros((1, 2, 2)), Potts(0.5))
        with pytest.raises(LabelError, match="'1' of type str: use the same"):
            field.energy([["1", "0"]])

    def test_refuses_a_map_with_holes(self):
        picture = np.ma.masked_equal(np.array([[0, 1]]), 1)
        with pytest.raises(InputError, match="label at every pixel. Some are masked"):
            GridField(np.zeros((1, 2, 2)), Potts(0.5)).energy(picture)

    def test_refuses_rows_of_different_lengths(self):
        with pytest.raises(InputError, match="rectangular"):
            GridField(np.zeros((2, 2, 2)), Potts(0.5)).energy([[0, 1], [0]])

    def test_refuses_a_map_of_another_shape(self):
        with pytest.raises(ShapeError, match=r"map of shape \(3, 4\). Got shape \(4, 3\)"):
            GridField(LOGS, Potts(0.5)).energy(np.zeros((4, 3)))


class TestLargePictures:
    def test_cost_one_copy(self):
        h = np.zeros((2048, 2048), np.float32)
        tracemalloc.start()
        field = GridField.ising(h, 0.5)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert field.shape == h.shape
        assert peak < 1.1 * h.nbytes

    def test_show_what_they_are_without_being_laid_out(self):
        field = GridField.ising(np.zeros((2048, 2048), np.float32), 0.5)
        tracemalloc.start()
        assert "2048x2048" in repr(field)
        assert len(field) == 2048**2
        assert field.names[-1] == (2047, 2047)
        assert field.variables[5].name == (0, 5)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 100_000

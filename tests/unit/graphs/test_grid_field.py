"""Fields on grids: what they hold, how smooth they are, and that every engine takes them."""

import copy
import math
import pickle  # noqa: TID251 - is what is tested
import tracemalloc

import numpy as np
import pytest
from scipy import stats
from tests.oracles import grids as oracle, joint as graph_oracle

import credo
from credo.exceptions import ImpossibleEvidence, InputError, LabelError, ShapeError
from credo.graphs import GridField, Ising, MarkovNetwork, Potts, TruncatedLinear, TruncatedQuadratic
from credo.posterior import Posterior, PosteriorMap

RNG = np.random.default_rng(7)
LOGS = RNG.normal(size=(3, 4, 3))
POTTS = Potts(0.5)
HOLLOW = np.zeros((2, 2))
PAIR = GridField(np.zeros((1, 2, 2)), POTTS)
ROWS = Posterior.from_probabilities(np.full((12, 3), 1 / 3), ["a", "b", "c"])


def assert_same_up_to_a_constant_per_pixel(logs, expected):
    shift = logs - expected
    np.testing.assert_allclose(shift, np.broadcast_to(shift[..., :1], shift.shape), atol=1e-12)


class TestWhatAFieldIs:
    def test_is_a_markov_network_of_its_pixels(self):
        field = GridField(LOGS, POTTS, labels=["sky", "sea", "sand"])
        assert isinstance(field, MarkovNetwork)
        assert field.shape == (3, 4)
        assert field.labels == ("sky", "sea", "sand")
        assert field.n_labels == 3
        assert field.n_neighbours == 4
        assert field.axes == ((1, 0), (0, 1))
        assert field.smoothness == POTTS
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
        assert field.n_neighbours == 2 * len(axes)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_keeps_the_precision_of_its_potentials(self, dtype):
        planes = GridField(LOGS.astype(dtype), POTTS).log_potentials
        field = GridField.ising(LOGS[..., 0].astype(dtype), 0.5)
        assert planes.dtype == field.log_potentials.dtype == field.log_odds.dtype == dtype

    def test_is_not_changed_through_what_it_was_made_of_nor_through_a_view_of_it(self):
        for is_view in (False, True):
            logs = LOGS.copy()
            view = logs[:]
            view.flags.writeable = not is_view
            field = GridField(view if is_view else logs, POTTS)
            logs[:] = 0
            np.testing.assert_array_equal(field.log_potentials, LOGS)
            with pytest.raises(ValueError, match="read-only"):
                field.log_potentials[0, 0, 0] = 1

    def test_holds_read_only_potentials_as_they_are(self):
        logs = LOGS.copy()
        logs.flags.writeable = False
        assert GridField(logs, POTTS).log_potentials is logs

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


class TestFlips:
    def test_give_the_likelihood_of_what_is_seen(self):
        image = RNG.integers(2, size=(3, 4))
        flip = RNG.uniform(0.01, 0.99, size=(3, 4))
        field = GridField.from_flips(image, flip, 0.8)
        right = np.stack([image == 0, image == 1], axis=-1)
        expected = np.log(np.where(right, 1 - flip[..., None], flip[..., None]))
        assert_same_up_to_a_constant_per_pixel(field.log_potentials, expected)

    @pytest.mark.parametrize(
        ("image", "labels"),
        [
            (np.array([[0, 255]], np.uint8), (0, 255)),
            (np.array([[True, False]]), (False, True)),
            (np.array([[1.0, 0.5]]), (0.5, 1.0)),
            (np.array([["b", "a"]]), ("a", "b")),
            ([[1, -1]], (-1, 1)),
        ],
    )
    def test_find_the_two_values_in_order(self, image, labels):
        assert GridField.from_flips(image, 0.1, 1.0).labels == labels

    def test_take_labels_in_the_order_given(self):
        field = GridField.from_flips([[0, 0]], 0.1, 1.0, labels=(1, 0))
        assert field.labels == (1, 0)
        assert (field.log_odds > 0).all()

    def test_are_certain_at_zero_and_one_and_say_nothing_at_a_half(self):
        field = GridField.from_flips([[0, 1, 0, 1, 1]], [[0, 0, 1, 1, 0.5]], 1.0)
        np.testing.assert_array_equal(field.log_odds, [[-np.inf, np.inf, np.inf, -np.inf, 0.0]])


class TestGaussianNoise:
    @pytest.mark.parametrize("sigma", [2.0, RNG.uniform(0.5, 3.0, size=(3, 4))], ids=["one", "map"])
    def test_gives_log_densities(self, sigma):
        image = RNG.normal(10, 5, size=(3, 4))
        field = GridField.from_gaussian(image, [0, 10, 20], sigma, POTTS)
        spread = np.broadcast_to(sigma, image.shape)[..., None]
        expected = stats.norm(np.array([0, 10, 20]), spread).logpdf(image[..., None])
        assert_same_up_to_a_constant_per_pixel(field.log_potentials, expected)

    def test_names_labels_by_their_levels(self):
        field = GridField.from_gaussian([[1.0]], np.array([0, 10]), 1.0, POTTS)
        assert field.labels == (0, 10)
        assert all(type(label) is int for label in field.labels)
        named = GridField.from_gaussian([[1.0]], [0, 10], 1.0, POTTS, labels=["lo", "hi"])
        assert named.labels == ("lo", "hi")

    def test_says_nothing_where_nothing_was_seen(self):
        field = GridField.from_gaussian([[1.0, np.nan]], [0, 10], 1.0, POTTS)
        np.testing.assert_array_equal(field.log_potentials[0, 1], [0, 0])
        assert (field.log_potentials[0, 0] < 0).all()

    def test_keeps_float32(self):
        image = RNG.normal(size=(3, 4)).astype(np.float32)
        field = GridField.from_gaussian(image, [0, 1], np.full((3, 4), 0.5), POTTS)
        assert field.log_potentials.dtype == np.float32
        wide = GridField.from_gaussian(image.astype(float), [0, 1], 0.5, POTTS)
        np.testing.assert_allclose(field.log_potentials, wide.log_potentials, rtol=1e-5)


class TestConfusion:
    TABLE = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.0, 0.5, 0.5]])

    def test_gives_the_log_probability_of_what_is_seen(self):
        image = np.array([["a", "b"], ["c", "a"]])
        field = GridField.from_confusion(image, self.TABLE, POTTS, labels=["a", "b", "c"])
        np.testing.assert_allclose(
            np.exp(field.log_potentials),
            [[[0.7, 0.1, 0.0], [0.2, 0.8, 0.5]], [[0.1, 0.1, 0.5], [0.7, 0.1, 0.0]]],
            rtol=1e-15,
        )

    def test_may_show_values_that_are_no_labels(self):
        erased = [[0.8, 0.0, 0.2], [0.1, 0.7, 0.2]]
        field = GridField.from_confusion(
            [[0, 1, "?"]], erased, POTTS, labels=[0, 1], observed=[0, 1, "?"]
        )
        np.testing.assert_allclose(field.log_odds, [[np.log(1 / 8), np.inf, 0]], rtol=1e-14)


class TestPosterior:
    P = RNG.dirichlet([1, 2, 3], size=(3, 4))

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_of_a_map_gives_its_logs_and_labels(self, dtype):
        p = PosteriorMap(self.P.astype(dtype), ["a", "b", "c"])
        field = GridField.from_posterior(p, POTTS, neighbours=8)
        assert field.labels == ("a", "b", "c")
        assert field.n_neighbours == 8
        assert field.log_potentials.dtype == dtype
        np.testing.assert_array_equal(field.log_potentials, np.log(p.probabilities))

    def test_of_rows_takes_them_in_row_major_order(self):
        rows = Posterior.from_probabilities(self.P.reshape(12, 3), ["a", "b", "c"])
        field = GridField.from_posterior(rows, POTTS, shape=(3, 4))
        assert field.labels == ("a", "b", "c")
        np.testing.assert_allclose(field.log_potentials, np.log(self.P), rtol=1e-13)

    def test_of_rows_keeps_what_is_too_small_for_a_probability(self):
        rows = Posterior.from_log_joint([[0.0, -2000.0]], [0, 1])
        field = GridField.from_posterior(rows, POTTS, shape=(1, 1))
        assert field.log_odds[0, 0] == -2000

    def test_of_an_array_numbers_the_labels(self):
        field = GridField.from_posterior(self.P, POTTS)
        assert field.labels == (0, 1, 2)
        np.testing.assert_array_equal(field.log_potentials, np.log(self.P))

    def test_may_be_that_of_a_volume(self):
        p = RNG.dirichlet([1, 1], size=(2, 3, 4))
        by_map = GridField.from_posterior(p, Ising(0.5))
        by_rows = GridField.from_posterior(p.reshape(-1, 2), Ising(0.5), shape=[2, 3, 4])
        assert by_map.shape == by_rows.shape == (2, 3, 4)
        np.testing.assert_allclose(by_map.log_odds, by_rows.log_odds, rtol=1e-12, atol=1e-14)

    @pytest.mark.parametrize("priors", [[0.2, 0.3, 0.5], {2: 0.5, 0: 0.2, 1: 0.3}], ids=str)
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_is_divided_by_priors(self, priors, dtype):
        p = self.P.astype(dtype)
        field = GridField.from_posterior(p, POTTS, priors=priors)
        assert field.log_potentials.dtype == dtype
        expected = np.log(self.P / [0.2, 0.3, 0.5])
        np.testing.assert_allclose(
            field.log_potentials, expected, rtol=1e-13 if dtype is np.float64 else 1e-5, atol=1e-6
        )

    def test_takes_a_prior_of_zero_for_a_label_that_is_impossible(self):
        field = GridField.from_posterior([[[1.0, 0.0]]], POTTS, priors=[1.0, 0.0])
        np.testing.assert_array_equal(field.log_potentials, [[[0, -np.inf]]])

    def test_of_a_map_may_be_given_its_own_shape_only(self):
        p = PosteriorMap(self.P, range(3))
        assert GridField.from_posterior(p, POTTS, shape=(3, 4)).shape == (3, 4)
        with pytest.raises(ShapeError, match=r"a map of \(3, 4\) for a picture of shape \(4, 3\)"):
            GridField.from_posterior(p, POTTS, shape=(4, 3))


class TestWhatIsRefused:
    @pytest.mark.parametrize("shape", [(), (3,), (3, 3), (0, 3, 2), (3, 3, 0), (2, 2, 2, 2, 2)])
    def test_potentials_of_another_shape(self, shape):
        with pytest.raises(ShapeError, match=r"\(height, width, n_labels\).*Got shape"):
            GridField(np.zeros(shape), POTTS)

    @pytest.mark.parametrize("shape", [(3,), (2, 2, 2, 2), (0, 3), (3, 0), ()])
    def test_a_field_or_an_image_that_is_no_picture(self, shape):
        with pytest.raises(ShapeError, match=r"field of GridField.ising .*\(height, width\)"):
            GridField.ising(np.zeros(shape), 0.5)
        with pytest.raises(ShapeError, match=r"image of GridField.from_flips .*\(height, width\)"):
            GridField.from_flips(np.zeros(shape), 0.1, 1.0)

    @pytest.mark.parametrize(
        ("logs", "error", "message"),
        [
            ([[[0, 0], [np.nan, 0]]], InputError, r"Got nan at pixel \(0, 1\), label number 0"),
            ([[[0, 0], [0, np.inf]]], InputError, r"Got inf at pixel \(0, 1\), label number 1"),
            ([[[0, 0]], [[-np.inf] * 2]], InputError, r"pixel \(1, 0\) allows no label"),
            ([[["a", "b"]]], InputError, "log potentials of GridField must be numbers"),
            (np.ma.masked_less(LOGS, 0), InputError, "masked"),
            (np.ma.masked_less(LOGS.astype(np.float32), 0), InputError, "masked"),
        ],
        ids=range(6),
    )
    def test_potentials_that_are_none(self, logs, error, message):
        with pytest.raises(error, match=message):
            GridField(logs, POTTS)

    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            *(({"smoothness": s}, InputError, r"such as Potts\(0.5\)") for s in (0.5, None, Potts)),
            ({"labels": ["a", "b", "a"]}, InputError, "'a' occurs more than once"),
            ({"labels": ["a", "b"]}, ShapeError, "potentials of 3 labels. Got 2 names: 'a', 'b'"),
            ({"neighbours": 6}, InputError, "in 2 dimensions needs 4 or 8 neighbours. Got 6"),
            ({"neighbours": True}, InputError, "4 or 8 neighbours. Got True"),
            ({"neighbours": "4"}, InputError, "4 or 8 neighbours. Got '4'"),
        ],
        ids=range(8),
    )
    def test_what_does_not_fit_the_potentials(self, options, error, message):
        with pytest.raises(error, match=message):
            GridField(LOGS, **({"smoothness": POTTS} | options))

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (lambda: GridField.ising([[0.0], [np.nan]], 0.5), InputError, r"nan at pixel \(1, 0\)"),
            (lambda: GridField.ising(HOLLOW, 0.5, labels="abc"), InputError, "single string"),
            (lambda: GridField.ising(HOLLOW, 0.5, labels=[*"abc"]), ShapeError, "Got 3 names"),
            (lambda: GridField.ising(HOLLOW[None], 0.5, neighbours=4), InputError, "needs 6 neigh"),
            (lambda: GridField(LOGS, POTTS).log_odds, InputError, "two labels. This one has 3"),
            (lambda: GridField(LOGS, POTTS).energy(np.zeros((4, 3))), ShapeError, r"\(3, 4\). Got"),
            (lambda: PAIR.energy([["1", "0"]]), LabelError, "'1' of type str: use the same"),
            (lambda: PAIR.energy(np.ma.masked_equal([[0, 1]], 1)), InputError, "Some are masked"),
            (lambda: PAIR.energy([[0, 1], [0]]), InputError, "rectangular"),
        ],
        ids=range(9),
    )
    def test_what_makes_no_sense(self, call, error, message):
        with pytest.raises(error, match=message):
            call()

    @pytest.mark.parametrize(
        ("image", "flip", "labels", "error", "message"),
        [
            (np.ones((2, 2)), 0.1, None, InputError, r"two values. Got 1: .*labels=\(0, 1\)"),
            ([[0, 1, 2]], 0.1, None, LabelError, r"no label 1 \(pixel \(0, 1\)\). Known: 0, 2"),
            ([["a", "b", "c"]], 0.1, None, InputError, "two values. Got 3: 'a', 'b', 'c'"),
            ([[0.0, np.nan, 1.0]], 0.1, None, InputError, "NaN"),
            ([[0, 1, 2]], 0.1, (0, 1, 2), InputError, "needs two labels. Got 3"),
            ([[0, 1]], -0.1, None, InputError, "between 0 and 1. Got -0.1.$"),
            ([[0, 1]], np.nan, None, InputError, "between 0 and 1. Got nan.$"),
            ([[0, 1]], [[0.1, 1.1]], None, InputError, r"Got 1.1 at pixel \(0, 1\)"),
            ([[0, 1]], [0.1, 0.2], None, ShapeError, r"map of shape \(1, 2\). Got shape \(2,\)"),
        ],
        ids=range(9),
    )
    def test_flips_that_are_none(self, image, flip, labels, error, message):
        with pytest.raises(error, match=message):
            GridField.from_flips(image, flip, 1.0, labels=labels)

    @pytest.mark.parametrize(
        ("image", "levels", "sigma", "error", "message"),
        [
            ([[1.0, np.inf]], [0, 1], 1.0, InputError, r"unobserved. Got inf at pixel \(0, 1\)"),
            *(([[1.0]], [0, 1], s, InputError, "above 0 and finite") for s in (0.0, -1.0, np.nan)),
            ([[1.0]], [0, 10], 1e-200, InputError, "allows no label"),
            ([[1.0]], [], 1.0, ShapeError, "GridField.from_gaussian"),
            ([[1.0]], [[0, 1]], 1.0, ShapeError, "GridField.from_gaussian"),
            ([[1.0]], [0, np.nan], 1.0, InputError, "GridField.from_gaussian"),
            ([[1.0]], [1, 1], 1.0, InputError, "GridField.from_gaussian"),
        ],
        ids=range(9),
    )
    def test_gaussian_noise_that_is_none(self, image, levels, sigma, error, message):
        with pytest.raises(error, match=message):
            GridField.from_gaussian(image, levels, sigma, POTTS)

    @pytest.mark.parametrize(
        ("image", "table", "error", "message"),
        [
            (
                [[0]],
                [[0.9, 0.1], [0.2, 0.9]],
                InputError,
                "row 1 sums to 1.1, not to 1. A row is p",
            ),
            ([[0]], np.eye(3), ShapeError, r"shape \(2, 2\): .* Got shape \(3, 3\)"),
            ([[0, 1]], [[1.0, 0.0]] * 2, InputError, r"pixel \(0, 1\) allows no label"),
            ([[0, 5]], np.eye(2), LabelError, r"no label 5 \(pixel \(0, 1\)\)"),
        ],
        ids=range(4),
    )
    def test_a_confusion_that_is_none(self, image, table, error, message):
        with pytest.raises(error, match=message):
            GridField.from_confusion(image, table, POTTS, labels=[0, 1])

    @pytest.mark.parametrize(
        ("posterior", "options", "error", "message"),
        [
            ([[[1.0, 0.5]]], {}, InputError, r"pixel \(0, 0\) sums to 1.5"),
            ([[[0.5, 0.5]]], {"priors": [0.5, 0.6]}, InputError, "sum to 1"),
            ([[[0.5, 0.5]]], {"priors": [1.0, 0.0]}, InputError, "prior of 1 is 0, yet"),
            ([[0.5, 0.5]], {}, InputError, r"1 of them. Pass shape=\(height, width\)"),
            (np.full((3, 4, 2), 0.5), {"shape": (4, 3)}, ShapeError, r"got a map of \(3, 4\)"),
            (ROWS, {}, InputError, r"12 of them.*shape=\(height, width\)"),
            (ROWS, {"shape": (3, 3)}, ShapeError, r"12 rows .* \(3, 3\), which has 9 pixels"),
            *(
                (ROWS, {"shape": shape}, InputError, "GridField.from_posterior")
                for shape in (12, (12,), (3, 4.0), (3, -4), (0, 12))
            ),
        ],
        ids=range(12),
    )
    def test_a_posterior_that_is_none(self, posterior, options, error, message):
        with pytest.raises(error, match=message):
            GridField.from_posterior(posterior, POTTS, **options)


class TestEnergy:
    def test_counts_nothing_for_a_certain_pixel_unless_it_disagrees(self):
        certain = GridField.ising([[np.inf, 0.25, -np.inf]], 1.0)
        pictures = [[1, 1, -1], [1, -1, -1], [-1, 1, -1], [1, 1, 1], [-1, 1, 1]]
        found = [certain.energy([picture]) for picture in pictures]
        assert found == [0.25, -0.25, -math.inf, -math.inf, -math.inf]

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
            ((3, 1, 2), np.int64),
            ((0, 128, 255), np.uint8),
            ((10**12, 0, -5), np.int64),
            ((0.5, 0.25, 1), np.float64),
            (("sky", "sea"), str),
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
        field = GridField(logs, POTTS, labels=labels)
        assert field.energy(picture) == pytest.approx(expected, rel=1e-13)
        assert field.energy(picture.tolist()) == pytest.approx(expected, rel=1e-13)

    @pytest.mark.parametrize(
        ("labels", "unknown"),
        [
            ((-1, 1), 0),
            ((0, 1, 2), 7),
            ((0.0, 0.5, 1.0), np.nan),
            ((0, 10**9, 5), 10**10),
            (("a", "b"), "c"),
            (("a", "b", "c"), "bb"),
        ],
    )
    def test_names_the_pixel_of_an_unknown_label(self, labels, unknown):
        picture = np.full((2, 3), labels[0], dtype=np.array([*labels, unknown]).dtype)
        picture[1, 2] = unknown
        field = GridField(np.zeros((2, 3, len(labels))), POTTS, labels=labels)
        text = rf"GridField.energy has no label {picture[1, 2].item()!r} \(pixel \(1, 2\)\)"
        with pytest.raises(LabelError, match=text):
            field.energy(picture)


class TestLargePictures:
    def test_cost_one_copy(self):
        h = np.zeros((1024, 1024), np.float32)
        tracemalloc.start()
        field = GridField.ising(h, 0.5)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert field.shape == h.shape
        assert peak < 1.1 * h.nbytes


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


@pytest.mark.parametrize("kind", TRUNCATED)
class TestATruncatedPenalty:
    def test_has_a_slope_of_at_least_zero(self, kind):
        assert kind(0.0).slope == 0.0
        with pytest.raises(InputError, match="slope of Truncated.* at least 0. Got -1"):
            kind(-1.0)
        with pytest.raises(InputError, match="at least 0. Got -0.5"):
            kind([1.0, np.array([[1.0, -0.5]])])

    @pytest.mark.parametrize("limit", [0, -1.0, math.nan, [1.0, 2.0], "far", None], ids=repr)
    def test_has_a_limit_above_zero(self, kind, limit):
        with pytest.raises(InputError, match="limit"):
            kind(1.0, limit)


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

    @pytest.mark.parametrize("axis", [2, -1, "down"])
    def test_are_asked_for_by_the_number_of_the_axis(self, axis):
        field = GridField(np.zeros((2, 3, 2)), Potts(0.5))
        with pytest.raises(InputError, match=r"axes 0 to 1: \(1, 0\), \(0, 1\)"):
            field.strength_plane(axis)


@pytest.mark.parametrize("kind", ALL)
class TestAStrength:
    def test_is_a_number_or_numbers_per_axis_or_read_only_copies_per_edge(self, kind):
        assert kind(2).strength == 2.0
        assert isinstance(kind(np.float32(2)).strength, float)
        assert kind([1, 0.5]).strength == kind(np.array([1, 0.5])).strength == (1.0, 0.5)
        down = np.ones((1, 3), np.float32)
        strength = kind([down, 0.5]).strength
        down[:] = 7
        np.testing.assert_array_equal(strength[0], np.ones((1, 3)))
        assert strength[0].dtype == np.float64
        assert not strength[0].flags.writeable
        assert strength[1] == 0.5

    @pytest.mark.parametrize(
        ("wrong", "words"),
        [
            *[(each, "of {0}") for each in (math.nan, math.inf, "much", [1.0, math.nan])],
            ([], "one entry per axis"),
            ([[[1.0], [1.0, 2.0]], 1.0], "rectangular"),
        ],
        ids=repr,
    )
    def test_must_be_finite_numbers(self, kind, wrong, words):
        with pytest.raises(InputError, match=words.format(kind.__name__)):
            kind(wrong)


SMALL = RNG.normal(size=(2, 3, 2))


class TestTheLayout:
    def test_has_pixels_in_row_major_order_then_edges_axis_by_axis(self):
        field = GridField(SMALL, Potts(0.5), neighbours=8)
        scopes = [tuple(v.name for v in factor.variables) for factor in field.factors]
        pixels = [((r, c),) for r in range(2) for c in range(3)]
        edges = [(a, b) for along in oracle.edges((2, 3), 8) for _, a, b in along]
        assert scopes == pixels + edges

    def test_holds_one_table_per_axis_of_one_strength(self):
        wiring = GridField(SMALL, Potts((0.5, 0.25))).compile()
        assert wiring.table.tolist() == [0, 1, 2, 3, 4, 5, 7, 7, 7, 6, 6, 6, 6]
        assert wiring.values.size == SMALL.size + 2 * 4

    def test_holds_equal_tables_once(self):
        wiring = GridField(SMALL, Potts([np.full((1, 3), 0.5), 0.5])).compile()
        assert wiring.table.tolist() == [0, 1, 2, 3, 4, 5] + 7 * [6]

    def test_of_a_certain_pixel_has_the_table_of_zero_and_one(self):
        wiring = GridField.ising([[np.inf, -np.inf, 400.0]], 1.0).compile()
        assert wiring.values[:4].tolist() == [0.0, 1.0, 1.0, 0.0]
        assert wiring.log_scale[:3].tolist() == [0.0, 0.0, 400.0]

    def test_carries_logs_that_are_too_wide(self):
        field = GridField.ising([[500.0, -500.0]], 1.0)
        assert credo.infer(field).log_evidence == pytest.approx(1000 - 1, rel=1e-15)


class TestEveryEngine:
    FIELD = GridField(RNG.normal(size=(3, 3, 3)), Potts(0.4), labels=["a", "b", "c"])

    def test_gives_the_map_of_the_largest_energy(self):
        joint = oracle.joint(np.asarray(self.FIELD.log_potentials), "Potts", 0.4)
        best = credo.mpe(self.FIELD)
        picture = np.reshape([best[name] for name in self.FIELD], (3, 3))
        assert best.log_score == pytest.approx(np.log(joint.max()), rel=1e-12)
        assert self.FIELD.energy(picture) == pytest.approx(best.log_score, rel=1e-12)

    def test_honours_a_certain_pixel(self):
        field = GridField.ising([[np.inf, 0.0], [0.0, 0.0]], 0.5)
        free = GridField.ising(np.zeros((2, 2)), 0.5)
        assert credo.infer(field)[0, 0][1] == 1.0
        given = credo.infer(free, {(0, 0): 1})
        np.testing.assert_allclose(
            credo.infer(field)[1, 1].probabilities, given[1, 1].probabilities, rtol=1e-13
        )
        with pytest.raises(ImpossibleEvidence):
            credo.infer(field, {(0, 0): -1})


class TestAFieldIsComplete:
    def test_and_takes_no_nodes_or_edges(self):
        field = GridField(SMALL, Potts(0.5))
        for add in (
            lambda: field.node("lamp", 2),
            lambda: field.edge((0, 0), (1, 1), np.ones((2, 2))),
        ):
            with pytest.raises(InputError, match=r"complete: .* network = field.copy\(\)"):
                add()
        assert len(field) == 6

    def test_and_is_not_made_of_a_list_of_edges(self):
        with pytest.raises(InputError, match="Use MarkovNetwork.from_arrays"):
            GridField.from_arrays([[0.5, 0.5]], [], np.ones((2, 2)))

    def test_but_its_copy_is_an_open_network(self):
        field = GridField(SMALL, Potts(0.5))
        network = field.copy()
        assert type(network) is MarkovNetwork
        network.node("lamp", ["off", "on"], [0.2, 0.8])
        network.edge("lamp", (0, 1), [[2.0, 1.0], [1.0, 2.0]])
        assert len(network) == 7
        assert len(field) == 6
        whole = graph_oracle.of_wiring(network.compile())
        joint = graph_oracle.of_wiring(field.compile())
        lamp = [[0.2 * 2, 0.2 * 1], [0.8 * 1, 0.8 * 2]]  # by lamp, then by pixel (0, 1)
        expected = np.einsum("abcdef,lb->abcdefl", joint, lamp)
        np.testing.assert_allclose(whole, expected, rtol=1e-12)


class TestAFieldTravels:
    FIELDS = (
        GridField(SMALL, Potts([0.5, np.ones((2, 2))]), labels=["a", "b"]),
        GridField.ising(SMALL[..., 0].astype(np.float32), 0.5, neighbours=8),
    )

    @pytest.mark.parametrize("field", FIELDS, ids=["planes", "plane"])
    @pytest.mark.parametrize(
        "travel",
        [lambda field: pickle.loads(pickle.dumps(field)), copy.copy, copy.deepcopy],  # noqa: S301
        ids=["pickle", "copy", "deepcopy"],
    )
    def test_and_arrives_as_it_was(self, field, travel):
        twin = travel(field)
        assert type(twin) is GridField
        assert repr(twin) == repr(field)
        assert twin.labels == field.labels
        assert twin.smoothness == field.smoothness
        np.testing.assert_array_equal(twin.log_potentials, field.log_potentials)
        assert twin.log_potentials.dtype == field.log_potentials.dtype
        assert not twin.log_potentials.flags.writeable
        assert not twin.log_odds.flags.writeable
        picture = np.full(field.shape, field.labels[1])
        assert twin.energy(picture) == field.energy(picture)


class TestTheNamesOfPixels:
    @pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (1, 1)])
    def test_are_coordinates_in_row_major_order(self, shape):
        field = GridField.ising(np.zeros(shape), 0.5)
        names, pixels = field.names, list(np.ndindex(*shape))
        assert list(field) == list(names) == pixels == [names[i] for i in range(len(names))]
        assert [field.compile().index(pixel) for pixel in pixels] == list(range(len(pixels)))
        assert list(names[::-2]) == pixels[::-2]
        assert names[-1] == tuple(size - 1 for size in shape)

    def test_find_variables_without_a_search(self):
        names = GridField.ising(np.zeros((1024, 1024), np.float32), 0.5).names
        assert names.index((1023, np.int8(5))) == 1023 * 1024 + 5
        assert names.index((1, 0), 1024) == 1024
        for span in ((1025,), (0, 1024)):
            with pytest.raises(ValueError, match="is not a pixel"):
                names.index((1, 0), *span)
        assert repr(names) == "<1048576 pixels of (1024, 1024)>"

    @pytest.mark.parametrize(
        "other", [(2, 0), (0, 3), (-1, 0), (0,), (0, 0, 0), 5, "ab", (0.5, 0), None], ids=repr
    )
    def test_are_nothing_else(self, other):
        field = GridField(SMALL, Potts(0.5), labels=["a", "b"])
        assert (1, 2) in field
        assert field[1, 2].states == ("a", "b")
        assert other not in field
        with pytest.raises(LabelError, match="no variable"):
            _ = field[other]

import numpy as np
import pytest
from scipy import stats

from credo.exceptions import InputError, LabelError, ShapeError
from credo.graphs import GridField, Ising, Potts, TruncatedLinear
from credo.posterior import Posterior, PosteriorMap

RNG = np.random.default_rng(11)


def assert_same_up_to_a_constant_per_pixel(logs, expected):
    shift = logs - expected
    np.testing.assert_allclose(shift, np.broadcast_to(shift[..., :1], shift.shape), atol=1e-12)


class TestFlips:
    def test_give_the_likelihood_of_what_is_seen(self):
        image = RNG.integers(2, size=(3, 4))
        flip = RNG.uniform(0.01, 0.99, size=(3, 4))
        field = GridField.from_flips(image, flip, 0.8)
        right = np.stack([image == 0, image == 1], axis=-1)
        expected = np.log(np.where(right, 1 - flip[..., None], flip[..., None]))
        assert_same_up_to_a_constant_per_pixel(field.log_potentials, expected)

    def test_are_h_of_the_lecture(self):
        y = np.array([[-1, 1], [1, 1]])
        field = GridField.from_flips(y, 0.1, 0.8)
        np.testing.assert_allclose(field.log_potentials[..., 1], y * np.log(9) / 2, rtol=1e-15)
        assert field.smoothness == Ising(0.8)

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

    def test_take_any_smoothness_and_neighbourhood(self):
        field = GridField.from_flips([[0, 1]], 0.1, TruncatedLinear(0.5), neighbours=8)
        assert field.smoothness == TruncatedLinear(0.5)
        assert field.neighbours == 8
        assert GridField.from_flips([[0, 1]], 0.1, [0.5, 1.0]).strengths == (0.5, 1.0)

    def test_are_certain_at_zero_and_one_and_say_nothing_at_a_half(self):
        field = GridField.from_flips([[0, 1, 0, 1, 1]], [[0, 0, 1, 1, 0.5]], 1.0)
        np.testing.assert_array_equal(field.log_odds, [[-np.inf, np.inf, np.inf, -np.inf, 0.0]])

    def test_keep_the_precision_of_their_probabilities(self):
        flip = np.full((1, 2), 0.1, np.float32)
        assert GridField.from_flips([[0, 1]], flip, 1.0).log_odds.dtype == np.float32

    def test_of_one_value_need_labels(self):
        with pytest.raises(InputError, match=r"two values. Got 1: .*labels=\(0, 1\)"):
            GridField.from_flips(np.ones((2, 2)), 0.1, 1.0)

    def test_of_three_values_are_refused(self):
        with pytest.raises(LabelError, match=r"no label 1 \(pixel \(0, 1\)\). Known: 0, 2"):
            GridField.from_flips([[0, 1, 2]], 0.1, 1.0)
        with pytest.raises(InputError, match="two values. Got 3: 'a', 'b', 'c'"):
            GridField.from_flips([["a", "b", "c"]], 0.1, 1.0)

    def test_of_nan_are_refused(self):
        with pytest.raises(InputError, match="NaN"):
            GridField.from_flips([[0.0, np.nan, 1.0]], 0.1, 1.0)

    def test_with_three_labels_are_refused(self):
        with pytest.raises(InputError, match="needs two labels. Got 3"):
            GridField.from_flips([[0, 1, 2]], 0.1, 1.0, labels=(0, 1, 2))

    @pytest.mark.parametrize("wrong", [-0.1, 1.1, np.nan])
    def test_need_probabilities(self, wrong):
        with pytest.raises(InputError, match=f"between 0 and 1. Got {wrong:g}.$"):
            GridField.from_flips([[0, 1]], wrong, 1.0)
        with pytest.raises(InputError, match=rf"Got {wrong:g} at pixel \(0, 1\)"):
            GridField.from_flips([[0, 1]], [[0.1, wrong]], 1.0)

    def test_need_a_probability_for_each_pixel(self):
        with pytest.raises(ShapeError, match=r"map of shape \(1, 2\). Got shape \(2,\)"):
            GridField.from_flips([[0, 1]], [0.1, 0.2], 1.0)

    @pytest.mark.parametrize("shape", [(4,), (0, 2)])
    def test_need_a_picture(self, shape):
        with pytest.raises(ShapeError, match="image of GridField.from_flips"):
            GridField.from_flips(np.zeros(shape), 0.1, 1.0)


class TestGaussianNoise:
    @pytest.mark.parametrize("sigma", [2.0, RNG.uniform(0.5, 3.0, size=(3, 4))], ids=["one", "map"])
    def test_gives_log_densities(self, sigma):
        image = RNG.normal(10, 5, size=(3, 4))
        field = GridField.from_gaussian(image, [0, 10, 20], sigma, Potts(0.5))
        spread = np.broadcast_to(sigma, image.shape)[..., None]
        expected = stats.norm(np.array([0, 10, 20]), spread).logpdf(image[..., None])
        assert_same_up_to_a_constant_per_pixel(field.log_potentials, expected)

    def test_names_labels_by_their_levels(self):
        field = GridField.from_gaussian([[1.0]], np.array([0, 10]), 1.0, Potts(0.5))
        assert field.labels == (0, 10)
        assert all(type(label) is int for label in field.labels)
        named = GridField.from_gaussian([[1.0]], [0, 10], 1.0, Potts(0.5), labels=["lo", "hi"])
        assert named.labels == ("lo", "hi")

    def test_says_nothing_where_nothing_was_seen(self):
        field = GridField.from_gaussian([[1.0, np.nan]], [0, 10], 1.0, Potts(0.5))
        np.testing.assert_array_equal(field.log_potentials[0, 1], [0, 0])
        assert (field.log_potentials[0, 0] < 0).all()

    def test_keeps_float32(self):
        image = RNG.normal(size=(3, 4)).astype(np.float32)
        field = GridField.from_gaussian(image, [0, 1], np.full((3, 4), 0.5), Potts(0.5))
        assert field.log_potentials.dtype == np.float32
        wide = GridField.from_gaussian(image.astype(float), [0, 1], 0.5, Potts(0.5))
        np.testing.assert_allclose(field.log_potentials, wide.log_potentials, rtol=1e-5)

    def test_takes_bytes(self):
        field = GridField.from_gaussian(np.array([[0, 255]], np.uint8), [0, 255], 51, Potts(0.5))
        np.testing.assert_allclose(field.log_potentials, [[[0, -12.5], [-12.5, 0]]])

    def test_of_an_infinite_pixel_is_refused(self):
        with pytest.raises(InputError, match=r"NaN if unobserved. Got inf at pixel \(0, 1\)"):
            GridField.from_gaussian([[1.0, np.inf]], [0, 10], 1.0, Potts(0.5))

    @pytest.mark.parametrize("sigma", [0.0, -1.0, np.inf, np.nan])
    def test_needs_a_positive_sigma(self, sigma):
        with pytest.raises(InputError, match="sigma .* above 0 and finite"):
            GridField.from_gaussian([[1.0]], [0, 10], sigma, Potts(0.5))

    def test_so_weak_that_no_level_is_possible_is_refused(self):
        with pytest.raises(InputError, match="allows no label"):
            GridField.from_gaussian([[1.0]], [0, 10], 1e-200, Potts(0.5))

    @pytest.mark.parametrize(
        ("levels", "error"),
        [([], ShapeError), ([[0, 1]], ShapeError), ([0, np.nan], InputError), ([1, 1], InputError)],
    )
    def test_needs_levels_that_differ(self, levels, error):
        with pytest.raises(error, match="GridField.from_gaussian"):
            GridField.from_gaussian([[1.0]], levels, 1.0, Potts(0.5))

    def test_needs_a_label_for_each_level(self):
        with pytest.raises(ShapeError, match="potentials of 2 labels. Got 1"):
            GridField.from_gaussian([[1.0]], [0, 10], 1.0, Potts(0.5), labels=["lo"])


class TestConfusion:
    TABLE = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.0, 0.5, 0.5]])

    def test_gives_the_log_probability_of_what_is_seen(self):
        image = np.array([["a", "b"], ["c", "a"]])
        field = GridField.from_confusion(image, self.TABLE, Potts(0.5), labels=["a", "b", "c"])
        np.testing.assert_allclose(
            np.exp(field.log_potentials),
            [[[0.7, 0.1, 0.0], [0.2, 0.8, 0.5]], [[0.1, 0.1, 0.5], [0.7, 0.1, 0.0]]],
            rtol=1e-15,
        )

    def test_of_two_labels_is_that_of_flips(self):
        image = RNG.integers(2, size=(3, 4))
        table = [[0.9, 0.1], [0.1, 0.9]]
        confused = GridField.from_confusion(image, table, Ising(0.5), labels=[0, 1])
        flipped = GridField.from_flips(image, 0.1, 0.5)
        np.testing.assert_allclose(confused.log_odds, flipped.log_odds, rtol=1e-14)

    def test_may_show_values_that_are_no_labels(self):
        erased = [[0.8, 0.0, 0.2], [0.1, 0.7, 0.2]]
        field = GridField.from_confusion(
            [[0, 1, "?"]], erased, Potts(0.5), labels=[0, 1], observed=[0, 1, "?"]
        )
        np.testing.assert_allclose(field.log_odds, [[np.log(1 / 8), np.inf, 0]], rtol=1e-14)

    def test_with_a_row_that_does_not_sum_to_one_is_refused(self):
        with pytest.raises(InputError, match="row 1 sums to 1.1, not to 1. A row is p"):
            GridField.from_confusion([[0]], [[0.9, 0.1], [0.2, 0.9]], Potts(0.5), labels=[0, 1])

    def test_of_another_shape_is_refused(self):
        with pytest.raises(ShapeError, match=r"shape \(2, 2\): .* Got shape \(3, 3\)"):
            GridField.from_confusion([[0]], self.TABLE, Potts(0.5), labels=[0, 1])

    def test_of_a_value_that_cannot_be_seen_is_refused(self):
        table = [[1.0, 0.0], [1.0, 0.0]]
        with pytest.raises(InputError, match=r"pixel \(0, 1\) allows no label"):
            GridField.from_confusion([[0, 1]], table, Potts(0.5), labels=[0, 1])

    def test_of_an_unknown_value_is_refused(self):
        with pytest.raises(LabelError, match=r"no label 5 \(pixel \(0, 1\)\)"):
            GridField.from_confusion([[0, 5]], np.eye(2), Potts(0.5), labels=[0, 1])


class TestPosterior:
    P = RNG.dirichlet([1, 2, 3], size=(3, 4))

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_of_a_map_gives_its_logs_and_labels(self, dtype):
        p = PosteriorMap(self.P.astype(dtype), ["a", "b", "c"])
        field = GridField.from_posterior(p, Potts(0.5), neighbours=8)
        assert field.labels == ("a", "b", "c")
        assert field.neighbours == 8
        assert field.log_potentials.dtype == dtype
        np.testing.assert_array_equal(field.log_potentials, np.log(p.probabilities))

    def test_of_rows_takes_them_in_row_major_order(self):
        rows = Posterior.from_probabilities(self.P.reshape(12, 3), ["a", "b", "c"])
        field = GridField.from_posterior(rows, Potts(0.5), shape=(3, 4))
        assert field.labels == ("a", "b", "c")
        np.testing.assert_allclose(field.log_potentials, np.log(self.P), rtol=1e-13)

    def test_of_rows_keeps_what_is_too_small_for_a_probability(self):
        rows = Posterior.from_log_joint([[0.0, -2000.0]], [0, 1])
        field = GridField.from_posterior(rows, Potts(0.5), shape=(1, 1))
        assert field.log_odds[0, 0] == -2000

    def test_of_an_array_numbers_the_labels(self):
        field = GridField.from_posterior(self.P, Potts(0.5))
        assert field.labels == (0, 1, 2)
        np.testing.assert_array_equal(field.log_potentials, np.log(self.P))

    def test_of_an_array_of_rows_needs_a_shape(self):
        field = GridField.from_posterior(self.P.reshape(12, 3), Potts(0.5), shape=(3, 4))
        np.testing.assert_allclose(field.log_potentials, np.log(self.P), rtol=1e-13)
        with pytest.raises(ShapeError, match="Got shape \\(12, 3\\)"):
            GridField.from_posterior(self.P.reshape(12, 3), Potts(0.5))

    def test_may_be_that_of_a_volume(self):
        p = RNG.dirichlet([1, 1], size=(2, 3, 4))
        by_map = GridField.from_posterior(p, Ising(0.5))
        by_rows = GridField.from_posterior(p.reshape(-1, 2), Ising(0.5), shape=[2, 3, 4])
        assert by_map.shape == by_rows.shape == (2, 3, 4)
        np.testing.assert_allclose(by_map.log_odds, by_rows.log_odds, rtol=1e-12, atol=1e-14)

    def test_may_be_certain(self):
        field = GridField.from_posterior([[[1.0, 0.0], [0.5, 0.5]]], Potts(0.5))
        np.testing.assert_array_equal(field.log_odds, [[-np.inf, 0]])

    @pytest.mark.parametrize("priors", [[0.2, 0.3, 0.5], {2: 0.5, 0: 0.2, 1: 0.3}], ids=str)
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_is_divided_by_priors(self, priors, dtype):
        p = self.P.astype(dtype)
        field = GridField.from_posterior(p, Potts(0.5), priors=priors)
        assert field.log_potentials.dtype == dtype
        expected = np.log(self.P / [0.2, 0.3, 0.5])
        np.testing.assert_allclose(
            field.log_potentials, expected, rtol=1e-13 if dtype is np.float64 else 1e-5, atol=1e-6
        )

    def test_made_with_its_priors_is_the_likelihood(self):
        likelihood = RNG.random((3, 4, 3))
        priors = np.array([0.2, 0.3, 0.5])
        p = likelihood * priors
        p /= p.sum(axis=-1, keepdims=True)
        field = GridField.from_posterior(p, Potts(0.5), priors=priors)
        assert_same_up_to_a_constant_per_pixel(field.log_potentials, np.log(likelihood))

    def test_takes_a_prior_of_zero_for_a_label_that_is_impossible(self):
        field = GridField.from_posterior([[[1.0, 0.0]]], Potts(0.5), priors=[1.0, 0.0])
        np.testing.assert_array_equal(field.log_potentials, [[[0, -np.inf]]])
        with pytest.raises(InputError, match="prior of 1 is 0, yet"):
            GridField.from_posterior([[[0.5, 0.5]]], Potts(0.5), priors=[1.0, 0.0])

    def test_needs_probabilities(self):
        with pytest.raises(InputError, match=r"pixel \(0, 0\) sums to 1.5"):
            GridField.from_posterior([[[1.0, 0.5]]], Potts(0.5))

    def test_needs_priors_that_sum_to_one(self):
        with pytest.raises(InputError, match="sum to 1"):
            GridField.from_posterior(self.P, Potts(0.5), priors=[0.5, 0.5, 0.5])

    def test_of_rows_needs_a_shape(self):
        rows = Posterior.from_probabilities(self.P.reshape(12, 3), ["a", "b", "c"])
        with pytest.raises(InputError, match=r"the 12 rows .*shape=\(height, width\)"):
            GridField.from_posterior(rows, Potts(0.5))
        with pytest.raises(ShapeError, match=r"12 rows .* shape \(3, 3\), which has 9 pixels"):
            GridField.from_posterior(rows, Potts(0.5), shape=(3, 3))

    @pytest.mark.parametrize("shape", [12, (12,), (3, 4.0), (3, -4), (0, 12)], ids=str)
    def test_needs_a_shape_of_a_picture(self, shape):
        rows = Posterior.from_probabilities(self.P.reshape(12, 3), ["a", "b", "c"])
        with pytest.raises(InputError, match="GridField.from_posterior"):
            GridField.from_posterior(rows, Potts(0.5), shape=shape)

    def test_of_a_map_may_be_given_its_own_shape_only(self):
        p = PosteriorMap(self.P, range(3))
        assert GridField.from_posterior(p, Potts(0.5), shape=(3, 4)).shape == (3, 4)
        with pytest.raises(ShapeError, match=r"shape \(4, 3\) for a map of shape \(3, 4\)"):
            GridField.from_posterior(p, Potts(0.5), shape=(4, 3))

    def test_of_an_array_with_a_shape_is_one_of_rows(self):
        with pytest.raises(ShapeError, match=r"\(n_pixels, n_labels\). Got shape \(3, 4, 3\)"):
            GridField.from_posterior(self.P, Potts(0.5), shape=(3, 4))

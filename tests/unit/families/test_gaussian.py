"""Gaussian, DiagonalGaussian and MultivariateGaussian, next to SciPy and sums of many digits."""

from functools import reduce
from itertools import product

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from tests.oracles import families as oracle

from credo.decisions import bayes_error, bhattacharyya_bound
from credo.exceptions import InputError, NumericalError, ShapeError
from credo.families import DiagonalGaussian, Gaussian, Laplace, MultivariateGaussian


def test_it_agrees_with_scipy_far_into_the_tails():
    x = np.array([-40.0, -3.0, 0.5, 3.0, 40.0])
    ours, peer = Gaussian(0.5, 4.0), norm(0.5, 2.0)
    for name in ("pdf", "logpdf", "cdf", "sf", "logcdf"):
        np.testing.assert_allclose(getattr(ours, name)(x), getattr(peer, name)(x), rtol=1e-12)
    q = np.array([1e-300, 0.1, 0.5, 1 - 1e-16])
    np.testing.assert_allclose(ours.ppf(q), peer.ppf(q), rtol=1e-12)
    assert ours.scale == 2.0


@pytest.mark.parametrize(
    ("family", "parameters", "message"),
    [
        (Gaussian, (0, -1), "must be positive. Got -1. It is the square"),
        (Gaussian, (np.nan, 1), "mean of Gaussian must be finite"),
        (Gaussian, ([0, 1], [1, 1, 1]), "do not fit together"),
        (Gaussian, (1e160, 1), "squares are no longer numbers. Rescale"),
        (Gaussian, (0, 1e308), "squares are no longer numbers. Rescale"),
        (Gaussian, (0, 1e-320), "squares are no longer numbers. Rescale"),
        (DiagonalGaussian, (0.0, 1.0), "last axis of features.*use Gaussian"),
        (MultivariateGaussian, (0.0, 1.0), "needs a mean of shape"),
        (MultivariateGaussian, ([0.0, 1.0], [1.0, 1.0]), "needs a mean of shape"),
        (MultivariateGaussian, ([0.0, 1.0], np.eye(3)), "needs a mean of shape"),
        (MultivariateGaussian, ([0.0], np.eye(2)), "needs a mean of shape"),
        (MultivariateGaussian, (np.zeros((2, 0)), np.zeros((0, 0))), "needs a mean of shape"),
        (MultivariateGaussian, (np.zeros((3, 2)), [2 * np.eye(2)] * 2), "do not fit together"),
    ],
)
def test_bad_parameters_are_refused(family, parameters, message):
    with pytest.raises((InputError, ShapeError), match=message):
        family(*parameters)


# --- as a family -----------------------------------------------------------------------------


@pytest.mark.parametrize("family", [Gaussian, DiagonalGaussian, MultivariateGaussian])
@pytest.mark.parametrize("pieces", [1, 2, 7, 50])
def test_a_mean_of_a_hundred_million_costs_no_digits_of_the_variance(family, pieces):
    rng = np.random.default_rng(3)
    rows = 1e8 + rng.normal(size=(200, 2)) @ [[1.0, 0.3], [0.0, 1e-2]]
    weight = rng.uniform(0.1, 3.0, 200)
    parts = zip(np.array_split(rows, pieces), np.array_split(weight, pieces), strict=True)
    summaries = [family.summarise(x, w) for x, w in parts]
    fitted = family.estimate(reduce(lambda left, right: right.merge(left), reversed(summaries)))
    for column in range(2):
        mean, scatter = oracle.weighted_moments(rows[:, column], weight)
        assert fitted.mean[column] == pytest.approx(mean, rel=1e-15)
        assert fitted.variance[column] == pytest.approx(scatter / weight.sum(), rel=1e-12)
    if family is MultivariateGaussian:
        # x y = ((x + y)² - (x - y)²) / 4, with sums of the rows that are exact
        x, y = (rows - 1e8).T
        plus, minus = (oracle.weighted_moments(x + sign * y, weight)[1] for sign in (1, -1))
        cross = (plus - minus) / 4 / weight.sum()
        assert fitted.covariance[0, 1] == pytest.approx(cross, rel=1e-10)


def test_the_estimate_is_that_of_numpy_and_scipy():
    rows = np.random.default_rng(0).gamma(2.0, size=(50, 4))
    fitted = Gaussian.fit(rows)
    np.testing.assert_allclose(fitted.mean, rows.mean(axis=0), rtol=1e-15)
    np.testing.assert_allclose(fitted.variance, rows.var(axis=0), rtol=1e-14)
    assert norm.fit(rows[:, 0]) == pytest.approx((fitted.mean[0], fitted.scale[0]))


def test_a_feature_that_is_missing_is_left_out_of_the_sum():
    normal = DiagonalGaussian([0.0, 1.0, 2.0], [1.0, 4.0, 9.0])
    row = [0.3, np.nan, -5.0]
    expected = norm.logpdf([0.3, -5.0], [0.0, 2.0], [1.0, 3.0]).sum()
    assert normal.log_density(row) == pytest.approx(expected, rel=1e-14)
    assert normal.log_density([np.nan, np.inf, 0.0]) == -np.inf


@pytest.mark.parametrize("family", [Gaussian, Laplace])
def test_values_that_differ_by_rounding_only_are_constant(family):
    with pytest.raises(InputError, match="all values are equal, up to rounding"):
        family.fit([0.1 + 0.2, 0.3, 0.3])
    family.fit([0.3, 0.3 + 1e-10])
    with pytest.raises(InputError, match="up to 1e\\+100.*Got 1e\\+120 in row 1. Rescale"):
        family.fit([0.0, 1e120])


@pytest.mark.parametrize("family", [Gaussian, DiagonalGaussian, MultivariateGaussian])
def test_units_do_not_matter_until_squares_are_no_numbers(family):
    """Powers of two are exact; the variance must be within 1e-150 and 1e150."""
    rows = np.random.default_rng(0).normal(3.0, 1.0, (40, 2))
    fitted = family.fit(rows)
    for unit in (2.0**-200, 2.0**200):
        np.testing.assert_array_equal(family.fit(rows * unit).variance, fitted.variance * unit**2)
    for unit in (1e-90, 1e-170, 1e-300):
        halves = [family.summarise(part * unit) for part in np.array_split(rows, 2)]
        for summary in (family.summarise(rows * unit), halves[0].merge(halves[1])):
            with pytest.raises(InputError, match="squares are no longer numbers. Rescale the unit"):
                family.estimate(summary)


# --- with correlations -----------------------------------------------------------------------


def _covariance(size, seed=0):
    root = np.random.default_rng(seed).normal(size=(size, size + 2))
    return root @ root.T


def _normal(size, seed=0):
    mean = np.random.default_rng(seed + 1).normal(size=size)
    return MultivariateGaussian(mean, _covariance(size, seed))


# --- density ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_row_is_scored_by_what_is_observed_of_it_whatever_the_pattern(size):
    normal = _normal(size)
    full = np.random.default_rng(3).normal(size=size)
    patterns = np.array(list(product([False, True], repeat=size)))
    rows = np.where(patterns, np.nan, full)
    for missing, log in zip(patterns, normal.log_density(rows), strict=True):
        seen = ~missing
        sub = normal.covariance[np.ix_(seen, seen)]
        expected = (
            multivariate_normal.logpdf(full[seen], normal.mean[seen], sub) if seen.any() else 0
        )
        assert log == pytest.approx(expected, rel=1e-12, abs=0)


def test_patterns_differ_between_the_entries_of_a_batch():
    rng = np.random.default_rng(0)
    covariances = np.array([_covariance(4, seed) for seed in range(6)]).reshape(2, 3, 4, 4)
    batch = MultivariateGaussian(rng.normal(size=(2, 3, 4)), covariances)
    rows = rng.normal(size=(25, 2, 3, 4))
    rows[rng.random(rows.shape) < 0.4] = np.nan
    rows[0, 0, 0] = np.nan
    logs = batch.log_density(rows)
    for index in np.ndindex(2, 3):
        single = MultivariateGaussian(batch.mean[index], batch.covariance[index])
        here = (slice(None), *index)
        np.testing.assert_allclose(logs[here], single.log_density(rows[here]), rtol=1e-13)
    assert logs[0, 0, 0] == 0
    shared = batch.log_density(rows[:, :1, :1])
    np.testing.assert_allclose(shared[:, 0, 0], logs[:, 0, 0], rtol=1e-13)
    assert shared.shape == (25, 2, 3)


@pytest.mark.parametrize("far", [np.inf, -np.inf, 1e308])
def test_far_away_the_log_density_is_minus_infinity(far):
    normal = MultivariateGaussian([0.0, 0.0, 0.0], 1e-4 * (np.eye(3) + 1.0))
    for row in ([far, 0.0, 1.0], [far, -far, far], [far, np.nan, 0.0], [np.nan, far, far]):
        assert normal.log_density(row) == -np.inf
    near = normal.log_density([[far, 0.0, 1.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(near[1], normal.log_density([0.0, 0.0, 0.0]), rtol=1e-14)


def test_units_of_the_features_do_not_matter():
    """Scaling by powers of two is exact, and moves the log density by their logarithms."""
    normal, scale = _normal(3), np.array([2.0**60, 1.0, 2.0**-60])
    other = MultivariateGaussian(normal.mean * scale, normal.covariance * np.outer(scale, scale))
    rows = np.random.default_rng(0).normal(size=(9, 3))
    rows[4:, 1] = np.nan
    expected = normal.log_density(rows) - np.log(scale).sum()
    np.testing.assert_allclose(other.log_density(rows * scale), expected, rtol=1e-13)
    np.testing.assert_allclose(other.sample(9, 1), normal.sample(9, 1) * scale, rtol=1e-13)


# --- parts -----------------------------------------------------------------------------------


def test_the_joint_density_is_the_marginal_times_the_conditional():
    normal = _normal(5)
    row = np.random.default_rng(8).normal(size=5)
    for pattern in product([False, True], repeat=5):
        missing = np.array(pattern)
        if not missing.any():
            continue
        given = np.where(missing, np.nan, row)
        conditional = normal.condition(given)
        total = conditional.log_density(row[missing])
        if not missing.all():
            total += normal.marginal(np.flatnonzero(~missing)).log_density(row[~missing])
        assert total == pytest.approx(float(normal.log_density(row)), rel=1e-12)


def test_a_nearly_certain_feature_keeps_a_small_variance():
    r = np.sqrt(1 - 2.0**-39)
    normal = MultivariateGaussian([0.0, 0.0], [[1.0, r], [r, 1.0]])
    left = (1 - r) * (1 + r)  # exact to rounding, where 1 - r² has the rounding of 1
    found = normal.condition([1.0, np.nan]).variance[0]
    assert found == pytest.approx(left, abs=2.0**-51)


def test_a_marginal_keeps_the_order_it_is_asked_for_and_the_batch():
    batch = MultivariateGaussian(np.tile([0.0, 1.0, 2.0], (2, 1)), _covariance(3))
    part = batch.marginal([2, 0])
    assert part.batch_shape == (2,)
    np.testing.assert_array_equal(part.mean[1], [2.0, 0.0])
    np.testing.assert_array_equal(part.covariance[1], _covariance(3)[np.ix_([2, 0], [2, 0])])
    with pytest.raises(ShapeError, match=r"a single distribution. Got a batch of shape \(2,\)"):
        batch.condition([0.0, np.nan, 0.0])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([], "needs a list of columns, at least one"),
        ([0.0], "must be whole numbers"),
        (1, "needs a list of columns"),
        ([True, False, True], "must be whole numbers"),
        ([0, 3], r"from 0 to 2. Got 3 at index \[1\]"),
        ([-1], "from 0 to 2"),
        ([1, 1], "each once"),
    ],
)
def test_columns_that_are_none_are_refused(columns, message):
    with pytest.raises(InputError, match=f"MultivariateGaussian.marginal .*{message}"):
        _normal(3).marginal(columns)


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([1.0, 2.0, 3.0], InputError, "Got no NaN"),
        ([np.inf, np.nan, 0.0], InputError, "Got infinity"),
        ([np.nan, 0.0], ShapeError, r"one value per feature, 3.*Got shape \(2,\)"),
        ([[np.nan, 0.0, 1.0]], ShapeError, r"Got shape \(1, 3\)"),
        (["a", "b", "c"], InputError, "must be numbers"),
    ],
)
def test_values_that_leave_nothing_open_or_fit_nothing_are_refused(values, error, message):
    with pytest.raises(error, match=message):
        _normal(3).condition(values)


# --- parameters ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        ([[1.0, 0.5], [0.0, 1.0]], "must be symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], "positive definite. That of features 0 and 1 exceeds"),
        ([[1.0, 1.0], [1.0, 1.0]], "positive definite. With unit variances its least eigenvalue"),
        ([[1.0, 1 / 3], [1 / 3, 1 / 9]], "must be positive definite"),
        ([[1.0, 0.0], [0.0, 0.0]], "variance of MultivariateGaussian must be positive. Got 0"),
        ([[1.0, 0.0], [0.0, -1.0]], "variance of MultivariateGaussian must be positive. Got -1"),
        ([[1e-200, 0.0], [0.0, 1.0]], "Rescale the unit"),
        ([[1.0, 1e308], [1e308, 1.0]], "must be positive definite"),
        ([[1.0, 1e308], [-1e308, 1.0]], "must be symmetric"),
        ([[1.0, np.nan], [np.nan, 1.0]], "covariance of MultivariateGaussian must be finite"),
        (1.9 * np.eye(3) - 0.9, "least eigenvalue is -0.8"),  # 1 - 2 · 0.9
    ],
)
def test_what_is_no_covariance_is_refused(covariance, message):
    size = len(covariance)
    for given in (covariance, np.stack([np.eye(size), covariance])):
        with pytest.raises(InputError, match=message):
            MultivariateGaussian(np.zeros(size), given)


def test_asymmetry_within_rounding_is_evened_out():
    matrix = _covariance(4)
    matrix[0, 1] *= 1 + 4e-16
    normal = MultivariateGaussian(np.zeros(4), matrix)
    np.testing.assert_array_equal(normal.covariance, normal.covariance.T)


# --- samples ---------------------------------------------------------------------------------


def test_samples_have_the_covariance():
    n, batch = 40_000, MultivariateGaussian([[0.0, 5.0], [1.0, 2.0]], [_covariance(2), np.eye(2)])
    draws = batch.sample(n, 3) - batch.mean
    cross = (draws[..., 0] * draws[..., 1]).mean(axis=0)
    # The product of two Gaussians has variance v0 v1 + c²; five standard errors are allowed.
    spread = batch.variance.prod(axis=-1) + batch.covariance[:, 0, 1] ** 2
    assert (np.abs(cross - batch.covariance[:, 0, 1]) < 5 * np.sqrt(spread / n)).all()


# --- learning --------------------------------------------------------------------------------


def test_rows_with_missing_entries_are_refused_with_their_number_and_a_way_out():
    rows = np.random.default_rng(0).normal(size=(9, 2))
    rows[4, 1] = np.nan
    message = "summarise needs rows without missing values. Got NaN in row 4.*GaussianClassifier"
    with pytest.raises(InputError, match=message):
        MultivariateGaussian.fit(rows)
    weight = np.ones(9)
    weight[:3] = 0
    with pytest.raises(InputError, match="in row 4"):
        MultivariateGaussian.fit(rows, weight)
    weight[4] = 0
    assert MultivariateGaussian.summarise(rows, weight).weight == 5
    with pytest.raises(InputError, match=r"in row 3, column \[1\]"):
        MultivariateGaussian.fit(np.where(np.arange(36).reshape(9, 2, 2) == 15, np.nan, 1.0))


def test_columns_that_are_combinations_of_others_are_named():
    rows = np.random.default_rng(0).normal(size=(40, 4)) * [1.0, 1e6, 1e-6, 1.0]
    rows[:, 3] = rows[:, 1] - 1e12 * rows[:, 2]
    message = r"column (1|2|3) is, to rounding, a combination of .*1 of 4 columns"
    with pytest.raises(NumericalError, match=message) as caught:
        MultivariateGaussian.fit(rows)
    assert "MultivariateGaussian.estimate: the covariance of 'the rows' is singular" in str(
        caught.value
    )
    assert "a combination of 0" not in str(caught.value)
    assert "fit a credo.GaussianClassifier, which can shrink." in str(caught.value)
    groups = np.zeros(40, dtype=int)
    with pytest.raises(NumericalError, match=r"the covariance of 'index \[0\]' is singular"):
        MultivariateGaussian.estimate(MultivariateGaussian.summarise(rows, groups=groups))


def test_too_few_rows_are_refused_and_told_how_many_are_needed():
    rows = np.random.default_rng(0).normal(size=(4, 4))
    with pytest.raises(NumericalError, match=r"add rows \(at least 5 are needed\)"):
        MultivariateGaussian.fit(rows)
    assert MultivariateGaussian.fit(np.vstack([rows, rows[0] ** 2])).batch_shape == ()


# --- as classes ------------------------------------------------------------------------------


def test_classes_given_as_distributions_have_the_errors_of_their_means_and_covariances():
    pairs = {"a": ([0.0, 0.0], np.eye(2)), "b": ([0.0, 2.0], np.eye(2))}
    normals = {name: MultivariateGaussian(*pair) for name, pair in pairs.items()}
    exact = bayes_error(normals, [0.5, 0.5])
    assert exact == bayes_error(pairs, [0.5, 0.5])
    assert exact.value == pytest.approx(norm.cdf(-1.0), rel=1e-13)
    # Equal covariances: the distance is d² / 8, and the bound half of exp(-d² / 8).
    assert bhattacharyya_bound(normals, [0.5, 0.5]) == pytest.approx(0.5 * np.exp(-0.5), rel=1e-13)


def test_a_batch_is_no_class():
    batch = MultivariateGaussian(np.zeros((2, 2)), np.eye(2))
    with pytest.raises(ShapeError, match=r"'b' needs a mean of shape \(d,\)"):
        bayes_error({"a": MultivariateGaussian(np.zeros(2), np.eye(2)), "b": batch}, [0.5, 0.5])

"""Gaussian vectors with a full covariance, next to SciPy's and to sums with many digits."""

from functools import reduce
from itertools import product

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from tests.oracles import families as oracle
from tests.oracles.families import MULTIVARIATE
from tests.unit.families import test_contract as contract

from credo.decisions import bayes_error, bhattacharyya_bound
from credo.exceptions import InputError, NumericalError, ShapeError
from credo.families import DiagonalGaussian, Gaussian, MultivariateGaussian

#: What holds for every family and needs no missing entries in a summary.
LAWS = [
    contract.test_the_log_density_is_that_of_scipy,
    contract.test_values_are_broadcast_against_the_batch,
    contract.test_a_batch_may_have_several_axes,
    contract.test_a_missing_value_contributes_nothing,
    contract.test_the_log_density_is_never_nan_and_never_warns,
    contract.test_values_that_do_not_fit_are_refused,
    contract.test_the_natural_form_gives_the_log_density,
    contract.test_statistics_of_values_outside_are_refused_and_of_missing_ones_missing,
    contract.test_mean_and_variance_are_those_of_scipy,
    contract.test_samples_have_the_moments_of_the_distribution,
    contract.test_samples_follow_the_seed,
    contract.test_a_distribution_does_not_change,
    contract.test_what_was_passed_in_is_copied,
    contract.test_distributions_and_summaries_can_be_copied,
    contract.test_the_estimate_matches_the_mean_of_the_statistics,
    contract.test_a_summary_is_made_by_the_same_family_and_merges_with_its_like,
    contract.test_a_summary_does_not_change,
    contract.test_no_rows_at_all_are_a_summary_that_changes_nothing,
    contract.test_values_outside_of_the_support_are_named_with_their_row,
    contract.test_a_row_of_weight_zero_may_hold_anything,
    contract.test_weights_and_groups_must_be_one_per_row,
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__.removeprefix("test_"))
def test_the_contract_of_families_holds(law):
    law(MULTIVARIATE)


def _covariance(size, seed=0):
    root = np.random.default_rng(seed).normal(size=(size, size + 2))
    return root @ root.T


def _normal(size, seed=0):
    mean = np.random.default_rng(seed + 1).normal(size=size)
    return MultivariateGaussian(mean, _covariance(size, seed))


# --- density ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_log_density_is_that_of_scipy_in_any_number_of_features(size):
    normal = _normal(size)
    rows = 3 * np.random.default_rng(5).normal(size=(50, size))
    expected = multivariate_normal.logpdf(rows, normal.mean, normal.covariance)
    np.testing.assert_allclose(normal.log_density(rows), expected, rtol=1e-12)


def test_a_row_is_scored_by_what_is_observed_of_it_whatever_the_pattern():
    normal = _normal(4)
    full = np.random.default_rng(3).normal(size=4)
    patterns = np.array(list(product([False, True], repeat=4)))
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


def test_the_observed_entries_have_the_density_that_integrating_the_others_out_gives():
    normal = MultivariateGaussian([0.5, -1.0], [[2.0, 0.9], [0.9, 1.0]])
    line = np.linspace(-12.0, 10.0, 20_001)
    density = np.exp(normal.log_density(np.column_stack([np.full_like(line, 1.3), line])))
    integral = np.trapezoid(density, line)
    assert normal.log_density([1.3, np.nan]) == pytest.approx(np.log(integral), rel=1e-12)


@pytest.mark.parametrize("far", [np.inf, -np.inf, 1e308])
def test_far_away_the_log_density_is_minus_infinity(far):
    normal = MultivariateGaussian([0.0, 0.0, 0.0], 1e-4 * (np.eye(3) + 1.0))
    for row in ([far, 0.0, 1.0], [far, -far, far], [far, np.nan, 0.0], [np.nan, far, far]):
        assert normal.log_density(row) == -np.inf
    near = normal.log_density([[far, 0.0, 1.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(near[1], normal.log_density([0.0, 0.0, 0.0]), rtol=1e-14)


def test_a_diagonal_covariance_gives_the_diagonal_family():
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(size=3), rng.uniform(0.1, 4.0, 3)
    rows = rng.normal(size=(20, 3))
    rows[rng.random(rows.shape) < 0.3] = np.nan
    np.testing.assert_allclose(
        MultivariateGaussian(mean, np.diag(variance)).log_density(rows),
        DiagonalGaussian(mean, variance).log_density(rows),
        rtol=1e-13,
        atol=1e-14,
    )


def test_units_of_the_features_do_not_matter():
    """Scaling by powers of two is exact, and moves the log density by their logarithms."""
    normal, scale = _normal(3), np.array([2.0**60, 1.0, 2.0**-60])
    other = MultivariateGaussian(normal.mean * scale, normal.covariance * np.outer(scale, scale))
    rows = np.random.default_rng(0).normal(size=(9, 3))
    rows[4:, 1] = np.nan
    expected = normal.log_density(rows) - np.log(scale).sum()
    np.testing.assert_allclose(other.log_density(rows * scale), expected, rtol=1e-13)
    np.testing.assert_allclose(other.sample(9, 1), normal.sample(9, 1) * scale, rtol=1e-13)


# --- natural form ----------------------------------------------------------------------------


def test_the_log_partition_rises_by_the_mean_of_the_statistics():
    """Along any change of parameters dA = dη · E[T], by differences over ±1e-5 of each."""
    normal = _normal(3)
    mean, covariance = normal.mean, normal.covariance
    statistics = np.r_[mean, (covariance + np.outer(mean, mean)).ravel()]
    changes = [(np.eye(3)[i], np.zeros((3, 3))) for i in range(3)]
    for i, j in zip(*np.tril_indices(3), strict=True):
        unit = np.zeros((3, 3))
        unit[i, j] = unit[j, i] = 1.0
        changes.append((np.zeros(3), unit))
    for dm, dc in changes:
        up, down = (MultivariateGaussian(mean + h * dm, covariance + h * dc) for h in (1e-5, -1e-5))
        slope = float(up.log_partition - down.log_partition)
        moved = (up.natural_parameters - down.natural_parameters) @ statistics
        assert moved == pytest.approx(slope, rel=1e-7, abs=1e-12)


def test_the_natural_parameters_hold_the_precision():
    normal = _normal(3)
    precision = np.linalg.inv(normal.covariance)
    expected = np.r_[precision @ normal.mean, -0.5 * precision.ravel()]
    np.testing.assert_allclose(normal.natural_parameters, expected, rtol=1e-12)


def test_the_number_of_free_parameters_is_that_of_a_symmetric_matrix_and_a_vector():
    assert _normal(1).n_parameters == 2
    assert _normal(4).n_parameters == 14
    assert MultivariateGaussian(np.zeros((3, 2, 4)), np.eye(4)).n_parameters == 6 * 14


# --- parts -----------------------------------------------------------------------------------


def test_the_joint_density_is_the_marginal_times_the_conditional():
    normal = _normal(5)
    row = np.random.default_rng(8).normal(size=5)
    for pattern in product([False, True], repeat=5):
        missing = np.array(pattern)
        if missing.all() or not missing.any():
            continue
        given = np.where(missing, np.nan, row)
        conditional = normal.condition(given)
        marginal = normal.marginal(np.flatnonzero(~missing))
        total = conditional.log_density(row[missing]) + marginal.log_density(row[~missing])
        assert total == pytest.approx(float(normal.log_density(row)), rel=1e-12)


def test_a_conditional_has_the_mean_and_covariance_of_the_formula():
    normal = _normal(4)
    conditional = normal.condition([np.nan, 2.0, np.nan, -1.0])
    m, o = [0, 2], [1, 3]
    weights = normal.covariance[np.ix_(m, o)] @ np.linalg.inv(normal.covariance[np.ix_(o, o)])
    mean = normal.mean[m] + weights @ ([2.0, -1.0] - normal.mean[o])
    covariance = normal.covariance[np.ix_(m, m)] - weights @ normal.covariance[np.ix_(o, m)]
    np.testing.assert_allclose(conditional.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(conditional.covariance, covariance, rtol=1e-11)


def test_conditioning_in_two_steps_is_conditioning_at_once():
    normal = _normal(4)
    at_once = normal.condition([1.0, np.nan, -2.0, np.nan])
    in_steps = normal.condition([1.0, np.nan, np.nan, np.nan]).condition([np.nan, -2.0, np.nan])
    np.testing.assert_allclose(at_once.mean, in_steps.mean, rtol=1e-12)
    np.testing.assert_allclose(at_once.covariance, in_steps.covariance, rtol=1e-12)


def test_conditioning_on_nothing_changes_nothing():
    normal = _normal(3)
    again = normal.condition([np.nan] * 3)
    np.testing.assert_array_equal(again.covariance, normal.covariance)
    np.testing.assert_array_equal(again.mean, normal.mean)


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


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([], "at least one"),
        ([0.0], "whole numbers"),
        (1, "whole numbers"),
        ([True, False, True], "whole numbers"),
        ([0, 3], r"from 0 to 2, each once. Got \[0, 3\]"),
        ([-1], "from 0 to 2"),
        ([1, 1], "each once"),
    ],
)
def test_columns_that_are_none_are_refused(columns, message):
    with pytest.raises(InputError, match=f"MultivariateGaussian.marginal needs .*{message}"):
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


def test_a_batch_has_no_conditional():
    batch = MultivariateGaussian(np.zeros((2, 3)), np.eye(3))
    with pytest.raises(ShapeError, match=r"a single distribution. Got a batch of shape \(2,\)"):
        batch.condition([0.0, np.nan, 0.0])


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
    ],
)
def test_what_is_no_covariance_is_refused(covariance, message):
    with pytest.raises(InputError, match=message):
        MultivariateGaussian([0.0, 0.0], covariance)
    batch = np.stack([np.eye(2), covariance])
    with pytest.raises(InputError, match=message):
        MultivariateGaussian([0.0, 0.0], batch)


def test_an_indefinite_covariance_is_refused_with_its_eigenvalue():
    """Three correlations of -0.9 cannot be: the least eigenvalue is 1 - 2 · 0.9."""
    matrix = 1.9 * np.eye(3) - 0.9
    with pytest.raises(InputError, match=r"least eigenvalue is -0.8"):
        MultivariateGaussian(np.zeros(3), matrix)


def test_asymmetry_within_rounding_is_evened_out():
    matrix = _covariance(4)
    matrix[0, 1] *= 1 + 4e-16
    normal = MultivariateGaussian(np.zeros(4), matrix)
    np.testing.assert_array_equal(normal.covariance, normal.covariance.T)


@pytest.mark.parametrize(
    ("mean", "covariance"),
    [
        (0.0, 1.0),
        ([0.0, 1.0], [1.0, 1.0]),
        ([0.0, 1.0], np.eye(3)),
        ([0.0], np.eye(2)),
        (np.zeros((2, 0)), np.zeros((0, 0))),
        (np.zeros((3, 2)), np.ones((2, 2, 2)) + np.eye(2)),
    ],
)
def test_shapes_that_do_not_fit_are_refused(mean, covariance):
    with pytest.raises(ShapeError, match="MultivariateGaussian"):
        MultivariateGaussian(mean, covariance)


@pytest.mark.parametrize("name", ["mean", "covariance"])
def test_a_parameter_that_is_not_finite_is_named(name):
    parameters = {"mean": np.zeros(2), "covariance": np.eye(2)}
    parameters[name] = np.full_like(parameters[name], np.nan)
    with pytest.raises(InputError, match=f"The {name} of MultivariateGaussian must be finite"):
        MultivariateGaussian(**parameters)


def test_one_covariance_serves_many_means():
    batch = MultivariateGaussian(np.arange(6.0).reshape(3, 2), _covariance(2))
    assert batch.batch_shape == (3,)
    assert batch.covariance.shape == (3, 2, 2)
    with pytest.raises(ValueError, match="read-only"):
        batch.covariance[0] = 1.0


# --- samples ---------------------------------------------------------------------------------


def test_samples_have_the_covariance():
    n, batch = 40_000, MultivariateGaussian([[0.0, 5.0], [1.0, 2.0]], [_covariance(2), np.eye(2)])
    draws = batch.sample(n, 3) - batch.mean
    cross = (draws[..., 0] * draws[..., 1]).mean(axis=0)
    # The product of two Gaussians has variance v0 v1 + c²; five standard errors are allowed.
    spread = batch.variance.prod(axis=-1) + batch.covariance[:, 0, 1] ** 2
    assert (np.abs(cross - batch.covariance[:, 0, 1]) < 5 * np.sqrt(spread / n)).all()


# --- learning --------------------------------------------------------------------------------


def test_the_estimate_is_that_of_numpy():
    rng = np.random.default_rng(0)
    rows, weight = rng.gamma(2.0, size=(60, 4)) @ rng.normal(size=(4, 4)), rng.uniform(0, 2, 60)
    for w in (None, weight):
        fitted = MultivariateGaussian.fit(rows, w)
        expected = np.cov(rows.T, ddof=0, aweights=w)
        np.testing.assert_allclose(fitted.mean, np.average(rows, axis=0, weights=w), rtol=1e-13)
        np.testing.assert_allclose(fitted.covariance, expected, rtol=1e-12)


def test_no_nearby_parameters_are_more_likely_than_the_estimate():
    rows = MULTIVARIATE.rows(np.random.default_rng(0), (40, 3))
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 40)
    fitted = MultivariateGaussian.fit(rows, weight)

    def log_likelihood(normal):
        return (weight[:, None] * normal.log_density(rows)).sum(axis=0)

    best = log_likelihood(fitted)
    for factor in (0.999, 1.001):
        for i in range(2):
            mean = fitted.mean.copy()
            mean[:, i] *= factor
            assert (log_likelihood(MultivariateGaussian(mean, fitted.covariance)) < best).all()
        for i, j in ((0, 0), (1, 0), (1, 1)):
            covariance = fitted.covariance.copy()
            covariance[:, i, j] *= factor
            covariance[:, j, i] = covariance[:, i, j]
            assert (log_likelihood(MultivariateGaussian(fitted.mean, covariance)) < best).all()


@pytest.mark.parametrize("pieces", [1, 2, 7, 50])
def test_a_far_mean_costs_no_digits_merged_or_not(pieces):
    rng = np.random.default_rng(0)
    rows = 1e8 + rng.normal(size=(200, 2)) @ [[1.0, 0.3], [0.0, 1e-2]]
    weight = rng.uniform(0.1, 3.0, 200)
    parts = zip(np.array_split(rows, pieces), np.array_split(weight, pieces), strict=True)
    summaries = [MultivariateGaussian.summarise(x, w) for x, w in parts]
    merged = reduce(lambda left, right: right.merge(left), reversed(summaries))
    fitted = MultivariateGaussian.estimate(merged)
    for j in range(2):
        mean, scatter = oracle.weighted_moments(rows[:, j], weight)
        assert fitted.mean[j] == pytest.approx(mean, rel=1e-15)
        assert fitted.variance[j] == pytest.approx(scatter / weight.sum(), rel=1e-12)
    # x y = ((x + y)² - (x - y)²) / 4, with sums of the rows that are exact
    gaps = rows - 1e8
    plus, minus = (
        oracle.weighted_moments(gaps[:, 0] + sign * gaps[:, 1], weight)[1] for sign in (1, -1)
    )
    cross = (plus - minus) / 4 / weight.sum()
    assert fitted.covariance[0, 1] == pytest.approx(cross, rel=1e-10)


def test_the_diagonal_of_the_scatter_is_that_of_the_diagonal_family():
    rows = np.random.default_rng(0).normal(3.0, 2.0, (30, 2, 3))
    groups = np.arange(30) % 4
    full = MultivariateGaussian.summarise(rows, groups=groups, n_groups=5)
    diagonal = DiagonalGaussian.summarise(rows, groups=groups, n_groups=5)
    assert full.weight.shape == (5, 2)
    assert full.scatter.shape == (5, 2, 3, 3)
    np.testing.assert_array_equal(full.mean, diagonal.mean)
    np.testing.assert_allclose(
        np.diagonal(full.scatter, axis1=-2, axis2=-1), diagonal.scatter, rtol=1e-13
    )


def test_events_of_another_length_do_not_merge():
    two, three = (MultivariateGaussian.summarise(np.eye(d)) for d in (2, 3))
    with pytest.raises(ShapeError, match="events have the same length"):
        two.merge(three)


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


def test_a_group_without_rows_is_named():
    rows = np.random.default_rng(0).normal(size=(20, 2))
    summary = MultivariateGaussian.summarise(rows, groups=np.repeat([0, 2], 10), n_groups=3)
    with pytest.raises(InputError, match=r"total weight is 0 at index \[1\]"):
        MultivariateGaussian.estimate(summary)


def test_constant_columns_are_refused_by_index():
    rows = np.random.default_rng(0).normal(size=(20, 3))
    rows[:, 2] = 1 / 3
    for summary in (
        MultivariateGaussian.summarise(rows),
        MultivariateGaussian.summarise(rows[:7]).merge(MultivariateGaussian.summarise(rows[7:])),
    ):
        with pytest.raises(InputError, match=r"all values at index \[2\].* are equal"):
            MultivariateGaussian.estimate(summary)
    with pytest.raises(InputError, match="are equal"):
        MultivariateGaussian.fit(rows[:1])


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


def test_a_single_feature_is_a_gaussian():
    rows = np.random.default_rng(0).gamma(2.0, size=50)
    vector, number = MultivariateGaussian.fit(rows[:, None]), Gaussian.fit(rows)
    np.testing.assert_allclose(vector.variance[0], number.variance, rtol=1e-14)
    logs = norm.logpdf(rows, number.mean, number.scale)
    np.testing.assert_allclose(vector.log_density(rows[:, None]), logs, rtol=1e-12)


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

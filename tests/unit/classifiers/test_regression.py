"""``GaussianRegressor`` against least squares, the book and its own density."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.covariance import ledoit_wolf
from sklearn.datasets import load_diabetes
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LinearRegression

from credo import GaussianRegressor, decide_value, load
from credo.decisions import Pinball
from credo.exceptions import InputError, NumericalError, ShapeError, SingularWarning

X, Y = load_diabetes(return_X_y=True)
RNG = np.random.default_rng(7)
HOLES = np.where(RNG.random(X.shape) < 0.3, np.nan, X)
HOLES[0] = np.nan
HOLES[1] = X[1]


def conditional(mean, covariance, row):
    """Mean and variance of the last entry given those of the row that are not NaN, by the book."""
    o = np.append(~np.isnan(row), False)
    inverse = np.linalg.inv(covariance[np.ix_(o, o)])
    cross = covariance[-1, o]
    return mean[-1] + cross @ inverse @ (row[o[:-1]] - mean[o]), (
        covariance[-1, -1] - cross @ inverse @ cross
    )


def joint_moments(x, t):
    table = np.column_stack([x, t])
    return table.mean(axis=0), np.cov(table.T, bias=True)


@pytest.mark.parametrize("weights", [None, RNG.exponential(size=len(X))], ids=["equal", "weighted"])
def test_the_coefficients_are_those_of_least_squares(weights):
    model = GaussianRegressor().fit(X, Y, weights)
    peer = LinearRegression().fit(X, Y, weights)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, rtol=1e-9)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=1e-9)
    residuals = Y - peer.predict(X)
    np.testing.assert_allclose(model.variance_, np.average(residuals**2, weights=weights), 1e-9)
    assert model.score(X, Y) == pytest.approx(peer.score(X, Y), rel=1e-9)


def test_mean_and_covariance_are_maximum_likelihood():
    model = GaussianRegressor().fit(X, Y)
    mean, covariance = joint_moments(X, Y)
    np.testing.assert_allclose(model.mean_, mean, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(model.covariance_, covariance, rtol=1e-9, atol=1e-12)
    assert model.n_parameters_ == 11 + 11 * 12 // 2
    assert model.shrinkage_ == 0
    assert model.n_iter_ == 1


@pytest.mark.parametrize("noise", [1e-2, 1e-4])
def test_missing_features_keep_their_digits_among_nearly_collinear_ones(noise):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(500, 4))
    x[:, 1] = x[:, 0] + noise * x[:, 1]
    t = x @ [1.0, 2.0, -1.0, 0.5] + rng.normal(size=500)
    model = GaussianRegressor().fit(x, t)
    digits = 4 / noise**2 * np.finfo(np.float64).eps  # by the condition of the correlations
    for gone in product([False, True], repeat=4):
        seen = np.column_stack([np.ones(500), x[:, ~np.array(gone)]])
        residuals = t - seen @ np.linalg.lstsq(seen, t)[0]
        mean, std = model.predict(np.where(gone, np.nan, x), return_std=True)
        np.testing.assert_allclose(mean, t - residuals, rtol=0, atol=10 * digits)
        np.testing.assert_allclose(std**2, np.mean(residuals**2), rtol=10 * digits)


def test_the_log_density_is_the_joint_over_the_marginal():
    rows, holes = 1600 * X, 1600 * HOLES  # in the unit of the target, or the peer loses digits
    model = GaussianRegressor().fit(rows, Y)
    mean, covariance = joint_moments(rows, Y)

    def log_density(row):
        o = ~np.isnan(row)
        return multivariate_normal.logpdf(row[o], mean[o], covariance[np.ix_(o, o)])

    table = np.column_stack([holes, Y])[1:]
    features = np.where(np.arange(11) < 10, table, np.nan)
    expected = [log_density(both) - log_density(x) for both, x in zip(table, features, strict=True)]
    np.testing.assert_allclose(model.log_density(holes[1:], Y[1:]), expected, rtol=1e-9)


@pytest.mark.parametrize("shrinkage", [None, 0.3])
def test_the_log_likelihood_is_that_of_the_joint_density(shrinkage):
    model = GaussianRegressor(shrinkage=shrinkage).fit(X, Y, weights := RNG.exponential(size=442))
    table = np.column_stack([X, Y])
    densities = multivariate_normal.logpdf(table, model.mean_, model.covariance_)
    assert model.log_likelihood_ == pytest.approx(weights @ densities, rel=1e-10)
    assert model.log_likelihood_trace_.tolist() == [model.log_likelihood_]
    assert model.converged_


def test_many_rows_go_through_in_blocks():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4000, 100))
    t = x @ rng.normal(size=100) + rng.normal(size=4000)
    model = GaussianRegressor().fit(x, t)
    np.testing.assert_allclose(model.coef_, LinearRegression().fit(x, t).coef_, rtol=1e-9)
    x[rng.random(x.shape) < 0.02] = np.nan
    mean, std = model.predict(x, return_std=True)
    for i in (0, 1999, 3999):
        row = conditional(model.mean_, model.covariance_, x[i])
        np.testing.assert_allclose([mean[i], std[i] ** 2], row, rtol=1e-9)


def test_the_median_and_the_quantile_are_best_under_absolute_and_pinball_loss():
    model = GaussianRegressor().fit(X, Y)
    mean, std = model.predict(HOLES, return_std=True)
    median = decide_value(model.predictive(HOLES), "absolute")
    np.testing.assert_allclose(median.value, mean, rtol=1e-12)
    np.testing.assert_allclose(median.expected_loss, std * np.sqrt(2 / np.pi), rtol=1e-9)
    high = decide_value(model.predictive(HOLES), Pinball(0.9))
    np.testing.assert_allclose(high.value, norm.ppf(0.9, mean, std), rtol=1e-9)


def test_an_exactly_linear_target_is_predicted_without_spread():
    x = np.arange(10.0)[:, None]
    model = GaussianRegressor().fit(x, 2 * x[:, 0] + 1)
    mean, std = model.predict([[20.0]], return_std=True)
    assert mean == pytest.approx([41.0])
    assert std.tolist() == [0.0]
    assert model.variance_ == 0
    assert model.log_likelihood_ == np.inf
    with pytest.raises(NumericalError, match="row 1 is 0, and a density needs a positive one"):
        model.predictive([[np.nan], [3.0]])
    with pytest.raises(NumericalError, match="Use predict, or fit more rows, or pass shrinkage"):
        model.log_density([[3.0]], [7.0])
    assert model.predictive([[np.nan]]).variance[0] == pytest.approx(np.var(2 * x))


@pytest.mark.parametrize("n_gone", [1, 3], ids=["few missing", "most missing"])
def test_a_feature_that_does_not_matter_may_be_missing_from_an_exact_fit(n_gone):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(50, 4))
    model = GaussianRegressor().fit(x, 3 * x[:, 0])
    x[:, 4 - n_gone :] = np.nan
    mean, std = model.predict(x, return_std=True)
    np.testing.assert_allclose(mean, 3 * x[:, 0], rtol=0, atol=1e-13)
    assert not std.any()


@pytest.mark.parametrize("seed", range(5))
def test_an_exact_fit_is_seen_through_rounding(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(200, 6)) * 10.0 ** rng.uniform(-5, 5, 6)
    x[:, 1] = x[:, 0] + 1e-5 * x[:, 0].std() * rng.normal(size=200)
    t = x @ (rng.normal(size=6) / x.std(axis=0))
    assert GaussianRegressor().fit(x, t).variance_ == 0
    noisy = t + 1e-5 * t.std() * rng.normal(size=200)
    assert GaussianRegressor().fit(x, noisy).variance_ > 0


def test_a_constant_target_is_predicted_as_it_is():
    model = GaussianRegressor().fit(X, np.full(len(X), 3.1))
    assert model.coef_.tolist() == [0.0] * 10
    assert model.predict(HOLES).tolist() == pytest.approx([3.1] * len(X), rel=1e-15)
    assert model.variance_ == 0
    assert model.n_parameters_ == 10 + 55
    features = GaussianRegressor().fit(X[:, 1:], X[:, 0])
    assert model.log_likelihood_ == pytest.approx(features.log_likelihood_, rel=1e-9)


def test_constant_features_are_ignored():
    wide = np.column_stack([X, np.full(len(X), 0.1)])
    model = GaussianRegressor().fit(wide, Y)
    assert np.flatnonzero(model.constant_features_).tolist() == [10]
    assert model.coef_[10] == 0
    assert model.covariance_[10].tolist() == [0.0] * 12
    plain = GaussianRegressor().fit(X, Y)
    np.testing.assert_allclose(model.predict(wide), plain.predict(X), rtol=1e-12)
    assert model.log_likelihood_ == pytest.approx(plain.log_likelihood_, rel=1e-12)
    holes = np.column_stack([HOLES, np.full(len(X), np.nan)])
    for mine, theirs in zip(
        model.predict(holes, return_std=True), plain.predict(HOLES, return_std=True), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


@pytest.mark.parametrize("target", [Y[:4], np.full(4, 2.0)], ids=["varying", "constant"])
def test_without_a_feature_that_varies_the_mean_is_all_there_is(target):
    model = GaussianRegressor().fit(np.ones((4, 2)), target)
    mean, std = model.predict([[1.0, 1.0], [np.nan, 5.0]], return_std=True)
    np.testing.assert_allclose(mean, target.mean())
    np.testing.assert_allclose(std, target.std())


def test_the_amount_is_that_of_scikit_learn_on_standardised_columns():
    table = np.column_stack([X, Y])[:40]
    standard = (table - table.mean(axis=0)) / table.std(axis=0)
    peer = ledoit_wolf(standard, assume_centered=True)[1]
    model = GaussianRegressor(shrinkage="auto").fit(X[:40], Y[:40])
    assert model.shrinkage_ == pytest.approx(peer, rel=1e-9)


def equation_23(table):
    """OAS as in Chen et al. 2010, of which scikit-learn leaves out the terms 2/p."""
    n, p = table.shape
    r = np.corrcoef(table.T)
    trace = np.trace(r @ r)
    return ((1 - 2 / p) * trace + p**2) / ((n + 1 - 2 / p) * (trace - p))


def test_em_maximises_the_likelihood_of_what_was_observed():
    model = GaussianRegressor().fit(HOLES, Y)
    table = np.column_stack([HOLES, Y])

    def likelihood(mean, covariance):
        total = 0.0
        for row in table:
            o = ~np.isnan(row)
            total += multivariate_normal.logpdf(row[o], mean[o], covariance[np.ix_(o, o)])
        return total

    best = likelihood(model.mean_, model.covariance_)
    assert model.log_likelihood_ == pytest.approx(best, rel=1e-9)
    assert (np.diff(model.log_likelihood_trace_) > -1e-9 * len(Y)).all()
    assert model.converged_
    assert model.summary_ is None
    scale = np.sqrt(np.diag(model.covariance_))
    for _ in range(5):
        step = 0.01 * RNG.normal(size=11)
        assert likelihood(model.mean_ + step * scale, model.covariance_) < best
        moved = model.covariance_ * np.outer(1 + step, 1 + step)
        assert likelihood(model.mean_, moved) < best
    expected = np.array([conditional(model.mean_, model.covariance_, row) for row in HOLES])
    np.testing.assert_allclose(model.predict(HOLES), expected[:, 0], rtol=1e-9)


def test_em_can_shrink_and_leaves_constant_columns_out():
    wide = np.column_stack([HOLES, np.where(np.arange(len(Y)) % 2, 7.0, np.nan)])
    model = GaussianRegressor(shrinkage="oas").fit(wide, Y)
    assert model.shrinkage_ > 0
    assert model.coef_[10] == 0
    constant = GaussianRegressor().fit(HOLES, np.full(len(Y), 5.0))
    assert constant.predict(HOLES[:2]).tolist() == [5.0, 5.0]
    assert constant.variance_ == 0


def test_em_refuses_what_has_no_maximum():
    x = np.column_stack([X[:, 0], X[:, 1]])
    t = x @ [1.0, 2.0]
    x[::3, 0] = np.nan
    with pytest.raises(NumericalError, match="to rounding, a combination .* without NaN alone"):
        GaussianRegressor(singular="error").fit(x, t)
    x[:, 0] = np.nan
    with pytest.raises(InputError, match="no value is observed in column 0, .* Drop the column"):
        GaussianRegressor(singular="error").fit(x, t)
    auto, oas_amount = (GaussianRegressor(shrinkage=s).fit(HOLES, Y) for s in ("auto", "oas"))
    assert auto.shrinkage_ == oas_amount.shrinkage_ > 0


def test_partial_fit_tells_what_is_lacking_until_it_has_come():
    model = GaussianRegressor(singular="error").partial_fit(X[:1], Y[:1])
    with pytest.raises(NumericalError, match="no covariance. Add rows"):
        model.predict(X)
    model.partial_fit(X[1:8], Y[1:8])
    with pytest.raises(NumericalError, match="8 rows are too few for 10 features.*'oas'"):
        model.predict(X)
    assert not hasattr(model, "coef_")
    model.partial_fit(X[8:], Y[8:])
    np.testing.assert_allclose(
        model.coef_, GaussianRegressor(singular="error").fit(X, Y).coef_, rtol=1e-9
    )
    assert model.summary_.counts.tolist() == [442]


def test_summaries_have_no_missing_values_and_no_fourth_moments():
    with pytest.raises(InputError, match="X contains NaN, .* Use fit"):
        GaussianRegressor().partial_fit(HOLES, Y)
    with pytest.raises(InputError, match="fitted to missing values by EM"):
        GaussianRegressor().fit(HOLES, Y).partial_fit(X, Y)
    with pytest.raises(InputError, match="fitted to missing values by EM"):
        GaussianRegressor().fit(X, Y).merge(GaussianRegressor().fit(HOLES, Y))
    with pytest.raises(InputError, match="'auto' .* which a summary does not give"):
        GaussianRegressor(shrinkage="auto").partial_fit(X, Y)


def test_columns_that_depend_on_each_other_are_named():
    frame = pd.DataFrame(X[:, :3], columns=["age", "sex", "bmi"])
    frame["twice"] = frame["age"] + 2 * frame["bmi"]
    with pytest.raises(NumericalError, match="a combination of '.*', '.*'; 1 of 4") as caught:
        GaussianRegressor(singular="error").fit(frame, Y)
    assert all(f"'{name}'" in str(caught.value) for name in ("age", "bmi", "twice"))
    assert "'sex'" not in str(caught.value)
    assert str(caught.value).endswith(
        "Drop columns, add rows, or pass shrinkage='auto' or singular='repair'."
    )


def test_a_column_of_targets_is_flattened_with_a_warning():
    with pytest.warns(DataConversionWarning, match="column-vector"):
        model = GaussianRegressor().fit(X, Y[:, None])
    assert model.coef_.shape == (10,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": X[:1], "y": Y[:1]}, "at least 2 rows of positive weight"),
        ({"sample_weight": np.arange(442) == 5}, "at least 2 rows of positive weight"),
        ({"X": np.ones((2, 30000)), "y": [0.0, 1.0]}, "needs 6.7 GiB, above 4 GiB"),
        ({"y": np.where(Y > 300, np.inf, Y)}, "infinity"),
        ({"y": np.where(Y > 300, np.nan, Y)}, "NaN"),
        ({"y": np.array(["a"] * 442)}, "The targets y of GaussianRegressor must be numbers"),
        ({"y": np.zeros((442, 2, 2))}, "array with dim 3"),
    ],
)
def test_wrong_rows_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        GaussianRegressor().fit(**({"X": X, "y": Y} | change))


@pytest.mark.parametrize("fitted", [False, True])
def test_too_few_rows_are_refused_with_the_remedy_and_leave_the_regressor_as_it_was(fitted):
    model = GaussianRegressor(singular="error")
    if fitted:
        model.fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(NumericalError, match="6 rows are too few for 10 features.*'auto'"):
        model.fit(X[:6], Y[:6])
    with pytest.raises(InputError):
        model.partial_fit(HOLES, Y)
    assert vars(model) == before


def test_a_prediction_that_is_not_a_number_is_refused():
    model = GaussianRegressor().fit(X, Y)
    rows = np.vstack([X[:2], np.full((1, 10), 1e307)])
    with pytest.raises(InputError, match="Row 2 of X is so far"):
        model.predict(rows)


def test_log_density_needs_one_finite_target_per_row():
    model = GaussianRegressor().fit(X, Y)
    with pytest.raises(ShapeError, match="one target per row, 442. Got 5"):
        model.log_density(X, Y[:5])
    with pytest.raises(InputError, match="must be finite"):
        model.log_density(X[:1], [np.nan])


def test_too_few_rows_are_repaired_with_a_warning_that_tells_the_amount():
    with pytest.warns(SingularWarning, match="8 rows are too few .* Repaired with shrinkage 0."):
        model = GaussianRegressor().fit(X[:8], Y[:8])
    expected = equation_23(np.column_stack([X, Y])[:8])
    assert model.shrinkage_ == pytest.approx(expected, rel=1e-12)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("rows", [X, HOLES], ids=["complete", "missing"])
def test_rows_of_weight_zero_are_absent_whatever_they_hold(rows):
    rows = rows.copy()
    rows[:2] = np.inf
    rows[2] = np.nan
    weights = np.ones(len(rows))
    weights[:3] = 0
    model = GaussianRegressor().fit(rows, Y, weights)
    plain = GaussianRegressor().fit(rows[3:], Y[3:])
    np.testing.assert_array_equal(model.covariance_, plain.covariance_)
    assert model.log_likelihood_ == plain.log_likelihood_


TWO = np.column_stack([Y, np.sqrt(Y) + 30 * X[:, 2], -Y + 300 * RNG.normal(size=442)])


@pytest.mark.parametrize("shrinkage", [None, 0.2])
def test_several_targets_are_the_joint_gaussian_given_what_is_seen(shrinkage):
    rows = HOLES[:60]
    model = GaussianRegressor(shrinkage=shrinkage).fit(X, TWO)
    belief = model.predictive(rows)
    mean, covariance = model.mean_, model.covariance_
    if shrinkage is None:
        np.testing.assert_allclose(mean, np.c_[X, TWO].mean(axis=0), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(
            covariance, np.cov(np.c_[X, TWO].T, bias=True), rtol=1e-9, atol=1e-11
        )
    t = np.arange(10, 13)
    for i, row in enumerate(rows):
        o = np.flatnonzero(~np.isnan(row))
        pull = np.linalg.solve(covariance[np.ix_(o, o)], covariance[np.ix_(o, t)]).T
        expected = mean[t] + pull @ (row[o] - mean[o])
        left = covariance[np.ix_(t, t)] - pull @ covariance[np.ix_(o, t)]
        np.testing.assert_allclose(belief.mean[i], expected, rtol=1e-8)
        np.testing.assert_allclose(belief.covariance[i], left, rtol=1e-7, atol=1e-7)
    best = decide_value(belief, "squared")
    found, std = model.predict(rows, return_std=True)
    np.testing.assert_array_equal(best.value, found)
    np.testing.assert_allclose(best.expected_loss, (std**2).sum(axis=1), rtol=1e-12)


def test_each_of_several_targets_is_predicted_as_if_alone():
    model = GaussianRegressor().fit(X, TWO)
    alone = [GaussianRegressor().fit(X, TWO[:, m]) for m in range(3)]
    expected = np.column_stack([one.predict(HOLES) for one in alone])
    np.testing.assert_allclose(model.predict(HOLES), expected, rtol=1e-9)
    np.testing.assert_allclose(model.coef_, [one.coef_ for one in alone], rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, [one.intercept_ for one in alone], rtol=1e-9)
    np.testing.assert_allclose(np.diagonal(model.variance_), [one.variance_ for one in alone])
    peer = LinearRegression().fit(X, TWO)
    assert model.score(X, TWO) == pytest.approx(peer.score(X, TWO), rel=1e-9)
    assert model.coef_.shape == peer.coef_.shape


def test_the_densities_of_several_targets_sum_to_the_log_likelihood():
    rows = 1600 * X  # in the unit of the targets, or the peer loses digits
    model = GaussianRegressor().fit(rows, TWO)
    table = np.column_stack([rows, TWO])
    densities = multivariate_normal.logpdf(table, model.mean_, model.covariance_)
    assert model.log_likelihood_ == pytest.approx(densities.sum(), rel=1e-10)
    features = multivariate_normal.logpdf(rows, model.mean_[:10], model.covariance_[:10, :10])
    np.testing.assert_allclose(model.log_density(rows, TWO), densities - features, rtol=1e-7)
    assert model.n_parameters_ == 13 + 13 * 14 // 2


def test_several_targets_are_learned_in_batches_merged_and_stored(tmp_path):
    model = GaussianRegressor().fit(X, TWO)
    batches = GaussianRegressor().partial_fit(X[:200], TWO[:200]).partial_fit(X[200:], TWO[200:])
    halves = (
        GaussianRegressor()
        .fit(X[:200], TWO[:200])
        .merge(GaussianRegressor().fit(X[200:], TWO[200:]))
    )
    for other in (batches, halves):
        np.testing.assert_allclose(other.predict(HOLES), model.predict(HOLES), rtol=1e-9)
    model.save(tmp_path / "several.credo")
    stored = load(tmp_path / "several.credo")
    np.testing.assert_array_equal(stored.predict(HOLES), model.predict(HOLES))
    np.testing.assert_array_equal(stored.variance_, model.variance_)
    more = stored.partial_fit(X[:50], TWO[:50])
    whole = GaussianRegressor().fit(np.r_[X, X[:50]], np.r_[TWO, TWO[:50]])
    np.testing.assert_allclose(more.predict(X), whole.predict(X), rtol=1e-9)


def test_several_targets_are_learned_from_rows_with_gaps():
    holes = 1600 * HOLES
    model = GaussianRegressor(tol=1e-10).fit(holes, TWO)
    assert model.converged_
    assert (np.diff(model.log_likelihood_trace_) > -1e-6).all()
    table = np.column_stack([holes, TWO])
    total = 0.0
    for row in table:
        o = ~np.isnan(row)
        total += multivariate_normal.logpdf(row[o], model.mean_[o], model.covariance_[np.ix_(o, o)])
    assert model.log_likelihood_ == pytest.approx(total, rel=1e-6)


def test_a_target_that_others_determine_has_no_density():
    doubled = np.column_stack([Y, 2 * Y])
    model = GaussianRegressor().fit(X, doubled)
    np.testing.assert_allclose(model.predict(X)[:, 1], 2 * model.predict(X)[:, 0], rtol=1e-9)
    assert model.log_likelihood_ == np.inf
    with pytest.raises(NumericalError, match="linear function of the features"):
        model.predictive(X)
    exact = GaussianRegressor().fit(X, np.column_stack([X @ np.arange(10.0), Y]))
    assert exact.variance_[0].tolist() == [0.0, 0.0]
    assert exact.variance_[1, 1] == pytest.approx(GaussianRegressor().fit(X, Y).variance_)


def test_several_targets_are_checked():
    model = GaussianRegressor().fit(X, TWO)
    with pytest.raises(
        ShapeError, match=r"one target per row and column, shape \(442, 3\). Got \(442,\)"
    ):
        model.log_density(X, Y)
    with pytest.raises(InputError, match="NaN or infinity, in row 7"):
        model.fit(X, np.where(np.arange(442)[:, None] == 7, np.nan, TWO))
    with pytest.raises(InputError, match="442 rows and y has 5"):
        model.fit(X, TWO[:5])
    with pytest.raises(ShapeError, match="cannot be merged|columns"):
        model.partial_fit(X, Y)

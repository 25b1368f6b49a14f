import numpy as np
import pytest
from tests.oracles import gaussians as oracle

from credo.exceptions import InputError
from credo.families import em
from credo.families.covariances import Names
from credo.families.em import fit_missing
from credo.families.covariances import Recipe
from credo.families.reduction import Rows

X, Y = oracle.rows_of(60, counts=(30, 35, 40))
HOLES = oracle.with_holes(X, 61)
WEIGHTS = np.random.default_rng(62).uniform(0.2, 3.0, len(Y))
NAMES = Names("Owner", ("x", "y", "z"), ("a", "b", "c"))


def run(rows, shape, weights=None, y=Y, **options):
    n_classes = len(set(y))
    recipe = Recipe(shape, options.pop("shrinkage", None), options.pop("repair", False))
    settings = {"tol": 1e-9, "max_iter": 1000} | options
    names = Names("Owner", NAMES.classes[:n_classes], NAMES.features)
    return fit_missing(Rows(rows, y, weights, n_classes), recipe, names, **settings)


def as_model(result):
    model = result.found.model
    covariances = [model.covariance_of(k) for k in range(model.n_classes)]
    return oracle.Model(
        list(range(model.n_classes)), np.ones(model.n_classes), list(model.means), covariances
    )


def start_of(rows, shape, weights=None):
    """Independent features with the observed means and variances, as the fit begins."""
    found = {}
    for k, (_, mean, scatter) in oracle.observed_variances(rows, Y, weights).items():
        seen = oracle.observed_variances(rows, Y, weights)[k][0]
        total = (np.ones(len(Y)) if weights is None else weights)[k == Y].sum()
        count = int((k == Y).sum())
        found[k] = oracle.Moments(count, total, mean, np.diag(scatter / seen) * total)
    means = [m.mean for m in found.values()]
    return oracle.Model(list(found), np.ones(3), means, oracle.covariances_of(found, shape))


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("shape", oracle.CORRELATED)
def test_each_step_is_that_of_a_loop_over_rows(shape, weights):
    expected = start_of(HOLES, shape, weights)
    for steps in range(1, 4):
        before = oracle.log_likelihood(HOLES, Y, expected, weights)
        expected = oracle.em_step(HOLES, Y, expected, shape, weights)
        result = run(HOLES, shape, weights, max_iter=steps, tol=0)
        assert not result.converged
        assert len(result.trace) == steps + 1
        assert result.trace[-2] == pytest.approx(before, rel=1e-6)
        found = as_model(result)
        rtol = 1e-4 if shape == "proportional" else 1e-9  # the twin is found by a search
        np.testing.assert_allclose(found.means, expected.means, rtol=rtol, atol=rtol)
        np.testing.assert_allclose(found.covariances, expected.covariances, rtol=rtol, atol=rtol)
        after = oracle.log_likelihood(HOLES, Y, found, weights)
        assert result.trace[-1] == pytest.approx(after, rel=1e-10)


@pytest.mark.parametrize("shape", oracle.CORRELATED)
@pytest.mark.parametrize("seed", range(3))
def test_the_trace_never_falls(shape, seed):
    trace = run(oracle.with_holes(X, seed, 0.4), shape, max_iter=100, tol=0).trace
    assert len(trace) > 10
    assert (np.diff(trace) >= -1e-10 * np.abs(trace).max()).all()


@pytest.mark.parametrize("shape", ["full", "tied"])
def test_no_search_finds_a_higher_likelihood(shape):
    rows, y = oracle.rows_of(63, counts=(20, 25), n_features=2)
    rows = oracle.with_holes(rows, 64, 0.3)
    result = run(rows, shape, y=y, tol=1e-13)
    found = as_model(result)
    best = oracle.maximise_observed(rows, y, shape, found)
    ours, theirs = (oracle.log_likelihood(rows, y, m) for m in (found, best))
    assert ours >= theirs - 1e-8
    np.testing.assert_allclose(found.means, best.means, atol=1e-4)
    np.testing.assert_allclose(found.covariances, best.covariances, atol=1e-3)


def test_a_monotone_pattern_has_its_closed_form():
    """Column 1 missing in some rows: regress it on column 0 (Little and Rubin, section 7.2)."""
    rows, _ = oracle.rows_of(65, counts=(40,), n_features=2)
    rows[25:, 1] = np.nan
    result = run(rows, "full", y=np.zeros(40, dtype=np.intp), tol=1e-14)
    a, b = rows[:25].T
    slope = np.cov(a, b, bias=True)[0, 1] / a.var()
    mean_a, var_a = rows[:, 0].mean(), rows[:, 0].var()
    mean_b = b.mean() + slope * (mean_a - a.mean())
    rest = np.mean((b - b.mean() - slope * (a - a.mean())) ** 2)
    expected = [[var_a, slope * var_a], [slope * var_a, rest + slope**2 * var_a]]
    np.testing.assert_allclose(result.found.model.means[0], [mean_a, mean_b], atol=1e-6)
    np.testing.assert_allclose(result.found.model.covariances[0], expected, atol=1e-6)


@pytest.mark.parametrize("shape", oracle.CORRELATED)
def test_rows_that_are_entirely_missing_change_no_mean_or_covariance(shape):
    rows = np.vstack([HOLES, np.full((6, 3), np.nan)])
    y = np.concatenate([Y, [0, 0, 0, 1, 1, 2]])
    with_them, without = run(rows, shape, y=y, tol=1e-13), run(HOLES, shape, tol=1e-13)
    np.testing.assert_allclose(
        with_them.found.model.means, without.found.model.means, rtol=1e-4, atol=1e-4
    )
    for k in range(3):
        np.testing.assert_allclose(
            with_them.found.model.covariance_of(k),
            without.found.model.covariance_of(k),
            rtol=1e-3,
            atol=1e-3,
        )
    assert with_them.weights.tolist() == [33, 37, 41]


@pytest.mark.parametrize("shape", oracle.CORRELATED)
def test_blocks_do_not_change_the_fit(shape, monkeypatch):
    whole = run(HOLES, shape)
    monkeypatch.setattr(em, "_HELD_BYTES", 8 * 3 * 4)
    parts = run(HOLES, shape)
    np.testing.assert_allclose(parts.trace, whole.trace, rtol=1e-12)
    np.testing.assert_allclose(parts.found.model.means, whole.found.model.means, rtol=1e-9)


@pytest.mark.parametrize("shape", oracle.CORRELATED)
def test_every_row_may_lack_something(shape):
    rows = HOLES.copy()
    full_rows = np.flatnonzero(~np.isnan(rows).any(axis=1))
    rows[full_rows, full_rows % 3] = np.nan
    result = run(rows, shape, max_iter=60, tol=0)
    assert (np.diff(result.trace) > 0).all()
    assert result.trace[-1] == pytest.approx(
        oracle.log_likelihood(rows, Y, as_model(result)), rel=1e-10
    )


@pytest.mark.parametrize("shape", oracle.CORRELATED)
def test_it_stands_still_where_the_likelihood_is_highest(shape):
    result = run(HOLES, shape, tol=1e-13)
    model = as_model(result)
    again = oracle.em_step(HOLES, Y, model, shape)
    np.testing.assert_allclose(again.means, model.means, atol=1e-5)
    np.testing.assert_allclose(again.covariances, model.covariances, atol=1e-4)


@pytest.mark.parametrize("shape", oracle.CORRELATED)
def test_weights_are_repetitions_and_weight_zero_is_absence(shape):
    times = np.random.default_rng(66).integers(0, 3, len(Y))
    times[:6] = 0
    rows = HOLES.copy()
    rows[0] = np.inf
    rows[1, 0] = 1e200
    weighted = run(rows, shape, times.astype(float))
    repeated = run(np.repeat(HOLES, times, axis=0), shape, y=np.repeat(Y, times))
    np.testing.assert_allclose(weighted.trace, repeated.trace, rtol=1e-9)
    np.testing.assert_allclose(
        weighted.found.model.means, repeated.found.model.means, rtol=1e-7, atol=1e-9
    )


def test_a_mean_of_a_hundred_million_keeps_its_digits():
    near, far = run(HOLES, "full"), run(HOLES + 1e8, "full")
    # adding 1e8 rounds the rows themselves to 1.5e-8
    np.testing.assert_allclose(far.found.model.covariances, near.found.model.covariances, atol=1e-5)
    np.testing.assert_allclose(far.found.model.means - 1e8, near.found.model.means, atol=1e-5)


def test_a_class_that_never_showed_a_column_is_named_with_it():
    rows = HOLES.copy()
    rows[Y == 1, 2] = np.nan
    with pytest.raises(InputError, match="Owner: class 'y' has no observed value in column 'c'"):
        run(rows, "full")


def test_progress_is_told_at_every_step():
    told = []
    result = run(HOLES, "tied", progress=lambda step, value: told.append((step, value)))
    assert told == list(enumerate(result.trace.tolist()))


def test_columns_that_are_constant_take_no_part():
    rows = np.column_stack([HOLES[:, 0], np.full(len(Y), 0.1), HOLES[:, 1:]])
    rows[5, 1] = np.nan
    recipe, names = Recipe("full"), Names("Owner", ("x", "y", "z"), ("a", "flat", "b", "c"))
    result = fit_missing(Rows(rows, Y, None, 3), recipe, names, tol=1e-9, max_iter=1000)
    plain = run(HOLES, "full")
    assert result.found.model.active.tolist() == [True, False, True, True]
    np.testing.assert_allclose(result.trace[-1], plain.trace[-1], rtol=1e-7)

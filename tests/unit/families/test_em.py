import numpy as np
import pytest
from tests.oracles import gaussians as oracle

from credo.exceptions import InputError
from credo.families import em
from credo.families.covariances import Names, Recipe, SingularCovarianceError
from credo.families.em import fit_missing
from credo.families.moments import Rows

X, Y = oracle.rows_of(60, counts=(30, 35, 40))
HOLES = oracle.with_holes(X, 61)
WEIGHTS = np.random.default_rng(62).uniform(0.2, 3.0, len(Y))
shapes = pytest.mark.parametrize("shape", oracle.CORRELATED)


def run(rows, shape, weights=None, y=Y, **options):
    n_classes = len(set(y))
    names = Names("Owner", ("x", "y", "z")[:n_classes], tuple("abcd"[: rows.shape[1]]))
    return fit_missing(Rows(rows, y, weights, n_classes), Recipe(shape, **options), names)


def as_model(fit):
    model = fit.model
    covariances = [oracle.covariance_of(model, k) for k in range(model.n_classes)]
    return oracle.Model(
        list(range(model.n_classes)), np.ones(model.n_classes), list(model.means), covariances
    )


def assert_alike(one, other, tolerance):
    for name in ("means", "covariances"):
        found, expected = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def start_of(rows, shape, weights=None):
    """Independent features with the observed means and variances, as the fit begins."""
    found = {}
    for k, (seen, mean, scatter) in oracle.observed_variances(rows, Y, weights).items():
        total = (np.ones(len(Y)) if weights is None else weights)[k == Y].sum()
        count = int((k == Y).sum())
        found[k] = oracle.Moments(count, total, mean, np.diag(scatter / seen) * total)
    means = [m.mean for m in found.values()]
    return oracle.Model(list(found), np.ones(3), means, oracle.covariances_of(found, shape))


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@shapes
def test_each_step_is_that_of_a_loop_over_rows(shape, weights):
    expected = start_of(HOLES, shape, weights)
    for steps in range(1, 4):
        before = oracle.log_likelihood(HOLES, Y, expected, weights)
        expected = oracle.em_step(HOLES, Y, expected, shape, weights)
        fit = run(HOLES, shape, weights, max_iter=steps, tol=0)
        assert not fit.converged
        assert len(fit.trace) == steps + 1
        assert fit.trace[-2] == pytest.approx(before, rel=1e-6)
        found = as_model(fit)
        # the twin of the proportional shape is found by a search
        assert_alike(found, expected, 1e-4 if shape == "proportional" else 1e-9)
        after = oracle.log_likelihood(HOLES, Y, found, weights)
        assert fit.trace[-1] == pytest.approx(after, rel=1e-10)


@shapes
@pytest.mark.parametrize("seed", range(3))
def test_the_trace_never_falls(shape, seed):
    rows = oracle.with_holes(X, seed, 0.4)
    if seed == 0:  # every row may lack something
        whole = np.flatnonzero(~np.isnan(rows).any(axis=1))
        rows[whole, whole % 3] = np.nan
    fit = run(rows, shape, max_iter=100, tol=0)
    assert len(fit.trace) > 10
    assert (np.diff(fit.trace) >= -1e-10 * np.abs(fit.trace).max()).all()
    expected = oracle.log_likelihood(rows, Y, as_model(fit))
    assert fit.trace[-1] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("shape", ["full", "tied"])
def test_no_search_finds_a_higher_likelihood(shape):
    rows, y = oracle.rows_of(63, counts=(20, 25), n_features=2)
    rows = oracle.with_holes(rows, 64, 0.3)
    found = as_model(run(rows, shape, y=y, tol=1e-13))
    best = oracle.maximise_observed(rows, y, shape, found)
    ours, theirs = (oracle.log_likelihood(rows, y, m) for m in (found, best))
    assert ours >= theirs - 1e-8
    assert_alike(found, best, 1e-3)


def test_a_monotone_pattern_has_its_closed_form():
    """Column 1 missing in some rows: regress it on column 0 (Little and Rubin, section 7.2)."""
    rows, _ = oracle.rows_of(65, counts=(40,), n_features=2)
    rows[25:, 1] = np.nan
    model = run(rows, "full", y=np.zeros(40, dtype=np.intp), tol=1e-14).model
    a, b = rows[:25].T
    slope = np.cov(a, b, bias=True)[0, 1] / a.var()
    mean_a, var_a = rows[:, 0].mean(), rows[:, 0].var()
    mean_b = b.mean() + slope * (mean_a - a.mean())
    rest = np.mean((b - b.mean() - slope * (a - a.mean())) ** 2)
    expected = [[var_a, slope * var_a], [slope * var_a, rest + slope**2 * var_a]]
    np.testing.assert_allclose(model.means[0], [mean_a, mean_b], atol=1e-6)
    np.testing.assert_allclose(model.covariances[0], expected, atol=1e-6)


@shapes
def test_it_stands_still_where_the_likelihood_is_highest(shape):
    fit = run(HOLES, shape, tol=1e-13)
    assert fit.converged
    assert_alike(oracle.em_step(HOLES, Y, as_model(fit), shape), as_model(fit), 1e-4)
    rows = np.vstack([HOLES, np.full((6, 3), np.nan)])  # entirely missing: they tell nothing
    again = run(rows, shape, y=np.concatenate([Y, [0, 0, 0, 1, 1, 2]]), tol=1e-13)
    assert_alike(as_model(again), as_model(fit), 1e-3)
    assert again.weights.tolist() == [33, 37, 41]


@shapes
def test_blocks_do_not_change_the_fit(shape, monkeypatch):
    whole = run(HOLES, shape)
    monkeypatch.setattr(em.check, "block_rows", lambda _: 4)
    parts = run(HOLES, shape)
    np.testing.assert_allclose(parts.trace, whole.trace, rtol=1e-12)
    np.testing.assert_allclose(parts.model.means, whole.model.means, rtol=1e-9)


@shapes
def test_weights_are_repetitions_and_weight_zero_is_absence(shape):
    times = np.random.default_rng(66).integers(0, 3, len(Y))
    times[:6] = 0
    rows = HOLES.copy()
    rows[0] = np.inf
    rows[1, 0] = 1e200
    weighted = run(rows, shape, times.astype(float))
    repeated = run(np.repeat(HOLES, times, axis=0), shape, y=np.repeat(Y, times))
    np.testing.assert_allclose(weighted.trace, repeated.trace, rtol=1e-9)
    np.testing.assert_allclose(weighted.model.means, repeated.model.means, rtol=1e-7, atol=1e-9)


def test_neither_a_large_mean_nor_small_units_cost_digits():
    near, far = run(HOLES, "full").model, run(HOLES + 1e8, "full").model
    # adding 1e8 rounds the rows themselves to 1.5e-8
    np.testing.assert_allclose(far.covariances, near.covariances, atol=1e-5)
    np.testing.assert_allclose(far.means - 1e8, near.means, atol=1e-5)
    small = run(HOLES * 2.0**-500, "full").model
    np.testing.assert_allclose(small.covariances * 2.0**1000, near.covariances, rtol=1e-9)
    with pytest.raises(InputError, match="Owner: column 'a' varies so little"):
        run(HOLES * 2.0**-560, "full")


def test_progress_is_told_at_every_step():
    told = []
    fit = run(HOLES, "tied", progress=lambda step, value: told.append((step, value)))
    assert told == list(enumerate(fit.trace.tolist()))


def test_columns_that_are_constant_take_no_part_or_are_refused():
    rows = np.column_stack([HOLES[:, 0], np.full(len(Y), 0.1), HOLES[:, 1:]])
    rows[5, 1] = np.nan
    fit = run(rows, "full", repair=True)
    assert fit.model.active.tolist() == [True, False, True, True]
    np.testing.assert_allclose(fit.trace[-1], run(HOLES, "full").trace[-1], rtol=1e-7)
    with pytest.raises(SingularCovarianceError, match="constant in all rows: 'b'"):
        run(rows, "full")

import numpy as np
import pytest
from credo.families.gaussians.missing import Factors, MissingScorer
from credo.families.gaussians.patterns import MissingRows, by_pattern, keys_of
from tests.oracles import gaussians as oracle

GAPS = [1.5, 1000.0]
SIZE = 5


def setting(shape, gap=1.5, seed=30):
    """A model by the formulas, its scorer, and rows of every pattern sorted by pattern."""
    X, y = oracle.rows_of(seed, counts=(20, 25, 30), n_features=SIZE, gap=gap)
    model = oracle.fit(X, y, shape)
    every = np.array([[(p >> j) & 1 for j in range(SIZE)] for p in range(2**SIZE)], dtype=bool)
    x = np.where(np.tile(every, (2, 1)), np.nan, X[: 2 ** (SIZE + 1)])
    keys = keys_of(x)
    order = by_pattern(keys)
    rows = MissingRows.of(x[order], keys[order])
    return model, MissingScorer(oracle.as_class_gaussians(model, shape)), rows


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_missing_entries_are_marginalised(shape, gap):
    model, scorer, rows = setting(shape, gap)
    expected = oracle.table(rows.x, model, oracle.log_density).T
    np.testing.assert_allclose(scorer.log_densities(rows), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_distances_are_those_of_the_observed_entries(shape, gap):
    model, scorer, rows = setting(shape, gap)
    expected = oracle.table(rows.x, model, oracle.distance).T
    np.testing.assert_allclose(scorer.distances(rows), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_discriminants_differ_by_a_term_of_the_row(shape, gap):
    model, scorer, rows = setting(shape, gap)
    expected = oracle.table(rows.x, model, oracle.log_density).T
    found = scorer.discriminants(rows)
    np.testing.assert_allclose(found - found[0], expected - expected[0], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_a_row_without_entries_has_density_one(shape):
    _, scorer, _ = setting(shape)
    x = np.full((2, SIZE), np.nan)
    rows = MissingRows.of(x, keys_of(x))
    np.testing.assert_array_equal(scorer.log_densities(rows), 0.0)
    np.testing.assert_array_equal(scorer.distances(rows), 0.0)
    found = scorer.discriminants(rows)
    np.testing.assert_array_equal(found - found[0], 0.0)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_filled_entries_are_conditional_means_with_their_spread(shape, gap):
    model, scorer, rows = setting(shape, gap)
    weights = np.random.default_rng(1).uniform(0.1, 2.0, len(rows.x))
    for k in range(3):
        pairs = [oracle.conditional(x, model.means[k], model.covariances[k]) for x in rows.x]
        found = scorer.filled(rows, k, weights)
        np.testing.assert_allclose(found.values, [f for f, _ in pairs], rtol=1e-8, atol=1e-8)
        spread = sum(w * left for w, (_, left) in zip(weights, pairs, strict=True))
        np.testing.assert_allclose(found.spread, spread, rtol=1e-8, atol=1e-8)
        expected = oracle.table(rows.x, model, oracle.log_density)[:, k]
        np.testing.assert_allclose(found.log_density, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_the_rows_stay_as_they_are(shape):
    _, scorer, rows = setting(shape)
    before = rows.x.copy()
    scorer.log_densities(rows)
    scorer.filled(rows, 0, np.ones(len(rows.x)))
    np.testing.assert_array_equal(rows.x, before)


# --- strong correlations ---------------------------------------------------------------------


def ridge(correlation, size=4):
    """Two features that are nearly the same, and others of another unit."""
    rng = np.random.default_rng(2)
    mixer = rng.normal(size=(size, size))
    covariance = mixer @ mixer.T + np.eye(size)
    covariance[1] = correlation * covariance[0]
    covariance[:, 1] = correlation * covariance[:, 0]
    covariance[1, 1] = covariance[0, 0]
    scale = np.array([1.0, 1.0, 1e-4, 1e5])[:size]
    return covariance * np.outer(scale, scale), scale


@pytest.mark.parametrize("near", [1e-3, 1e-5, 1e-7, 1e-9])
@pytest.mark.parametrize("shape", ["full", "tied"])
def test_a_correlation_near_one_costs_few_digits(near, shape):
    """Against exact fractions, to 1e-9 of the distances that a row of this size can have."""
    covariance, scale = ridge(1 - near)
    covariance = 0.5 * (covariance + covariance.T)
    means = [np.zeros(4), 0.5 * scale]
    model = oracle.Model([0, 1], np.array([0.5, 0.5]), means, [covariance] * 2)
    scorer = MissingScorer(oracle.as_class_gaussians(model, shape))
    rng = np.random.default_rng(3)
    x = (np.linalg.cholesky(covariance) @ rng.normal(size=(4, 30))).T
    patterns = [[3], [2], [1], [0], [2, 3], [1, 2, 3], [0, 2], [1, 3], [0, 1]]
    for i, row in enumerate(x):
        row[patterns[i % len(patterns)]] = np.nan
    keys = keys_of(x)
    order = by_pattern(keys)
    rows = MissingRows.of(x[order], keys[order])
    expected = [[oracle.exact_log_density(r, m, covariance) for r in rows.x] for m in means]
    np.testing.assert_allclose(scorer.log_densities(rows), expected, rtol=1e-7, atol=1e-7)
    filled = scorer.filled(rows, 0, np.ones(30)).values
    exact = np.array([oracle.exact_parts(r, means[0], covariance)[2] for r in rows.x])
    np.testing.assert_allclose(filled / scale, exact / scale, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("near", "stable"), [(1e-2, True), (1e-9, False)])
def test_the_route_depends_on_the_condition_of_the_correlations(near, stable):
    covariance, _ = ridge(1 - near)
    model = oracle.Model([0], np.ones(1), [np.zeros(4)], [0.5 * (covariance + covariance.T)])
    factors = Factors.of(oracle.as_class_gaussians(model, "full"), 0)
    assert factors.stable == stable
    assert factors.log_determinant == pytest.approx(np.linalg.slogdet(covariance)[1], rel=1e-6)

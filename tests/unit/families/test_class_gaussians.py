from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2
from tests.oracles import gaussians as oracle

from credo.exceptions import InputError
from credo.families.covariances import detail_for
from credo.families.moments import ClassMoments

SIZE = 4
#: Distance between the classes: expanded into products if near, one by one if far.
GAPS = [1.5, 1000.0]
PATTERNS = np.array([[(p >> j) & 1 for j in range(SIZE)] for p in range(2**SIZE)], dtype=bool)
shapes = pytest.mark.parametrize("shape", oracle.SHAPES)
gaps = pytest.mark.parametrize("gap", GAPS)


def setting(shape, gap=1.5, seed=20, counts=(20, 25, 30), size=SIZE):
    """A model by the formulas, the same of ours, and its rows."""
    X, y = oracle.rows_of(seed, counts=counts, n_features=size, gap=gap)
    model = oracle.fit(X, y, shape)
    return model, oracle.as_class_gaussians(model, shape), X


def with_every_pattern(X):
    """Rows of which four each have the same entries missing, complete ones among them."""
    return np.where(np.repeat(PATTERNS, 4, axis=0), np.nan, X[: 4 * len(PATTERNS)])


# --- scores ----------------------------------------------------------------------------------


@gaps
@shapes
def test_scores_are_those_of_a_loop_over_observed_entries(shape, gap):
    model, ours, X = setting(shape, gap)
    assert ours.are_near == (gap < 100) or shape == "full"
    for rows in (X, with_every_pattern(X)):
        densities = oracle.table(rows, model, oracle.log_density).T
        np.testing.assert_allclose(ours.scores(rows, "densities"), densities, rtol=1e-8, atol=1e-8)
        distances = oracle.table(rows, model, oracle.distance).T
        np.testing.assert_allclose(ours.scores(rows, "distances"), distances, rtol=1e-8, atol=1e-8)
        found = ours.scores(rows, "discriminants")
        scale = 1e-13 * np.abs(densities).max()
        np.testing.assert_allclose(
            found - found[0], densities - densities[0], rtol=1e-7, atol=1e-7 + scale
        )


@shapes
def test_rows_without_entries_tell_nothing(shape):
    _, ours, _ = setting(shape)
    rows = np.full((2, SIZE), np.nan)
    np.testing.assert_array_equal(ours.scores(rows, "densities"), 0.0)
    np.testing.assert_array_equal(ours.scores(rows, "distances"), 0.0)
    found = ours.scores(rows, "discriminants")
    np.testing.assert_array_equal(found - found[0], 0.0)
    assert ours.scores(rows[:0], "densities").shape == (3, 0)


@shapes
def test_a_row_at_the_mean_has_no_distance(shape):
    _, ours, _ = setting(shape)
    own = np.diagonal(ours.distances(ours.means))
    assert (own >= 0).all()
    np.testing.assert_allclose(own, 0, atol=1e-12)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.int32, np.bool_])
@shapes
def test_rows_of_any_type_and_layout_are_scored_in_double_precision(shape, kind):
    model, ours, X = setting(shape)
    rows = (3 * X).astype(kind)
    before = rows.copy()
    expected = oracle.table(rows.astype(np.float64), model, oracle.log_density).T
    for same in (rows, np.asfortranarray(rows), np.repeat(rows, 2, axis=0)[::2]):
        found = ours.log_densities(same)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_array_equal(rows, before)


@shapes
@pytest.mark.parametrize("size", [1, 2, 9])
def test_any_number_of_features_and_classes_works(shape, size):
    model, ours, X = setting(shape, counts=(15, 20), size=size)
    expected = oracle.table(X, model, oracle.log_density).T
    np.testing.assert_allclose(ours.log_densities(X), expected, rtol=1e-9)
    assert (ours.n_classes, ours.n_features) == (2, size)


@shapes
def test_the_matrices_of_a_class_are_one_anothers_inverse(shape):
    model, ours, _ = setting(shape)
    for k in range(3):
        covariance, w = model.covariances[k], ours.whitener_of(k)
        w = w if w.ndim == 2 else np.diag(w)
        np.testing.assert_allclose(ours.precision_of(k) @ covariance, np.eye(SIZE), atol=1e-9)
        np.testing.assert_allclose(w @ covariance @ w.T, np.eye(SIZE), atol=1e-10)


@shapes
def test_a_mean_of_a_hundred_million_keeps_ten_digits(shape):
    _, ours, X = setting(shape)
    X = np.round(X * 2**20) / 2**20  # 1e8 needs 27 bits: adding it is exact
    means = np.round(ours.means * 2**20) / 2**20
    near, far = replace(ours, means=means), replace(ours, means=means + 1e8)
    for rows in (X, with_every_pattern(X)):
        expected = near.scores(rows, "densities")
        np.testing.assert_allclose(far.scores(rows + 1e8, "densities"), expected, rtol=1e-10)


@pytest.mark.parametrize("kind", ["densities", "discriminants", "distances"])
@shapes
def test_infinity_is_refused_with_its_row_and_column(shape, kind):
    _, ours, X = setting(shape)
    for value in (np.inf, -np.inf):
        rows = X.copy()
        rows[11] = [0.0, np.nan, value, 1.0]
        with pytest.raises(InputError, match="infinity, in row 111, column 2"):
            ours.scores(rows, kind, first_row=100)


@shapes
def test_rows_far_away_are_scored_until_their_squares_are_no_numbers(shape):
    model, ours, _ = setting(shape)
    rows = np.array([[1e8, -1e8, 3e8, 1e8], [1e8, np.nan, 1e8, 1.0]])
    expected = oracle.table(rows, model, oracle.log_density).T
    np.testing.assert_allclose(ours.scores(rows, "densities"), expected, rtol=1e-9)
    with pytest.raises(InputError, match="Row 1 is so far from a class"):
        ours.scores(np.vstack([rows[0], np.full(SIZE, 1e200)]), "densities")


@pytest.mark.parametrize("shape", oracle.LINEAR)
def test_rows_far_away_keep_their_odds_by_what_is_observed(shape):
    """Linear scores need no squares of the rows, which would swamp the difference."""
    model, ours, _ = setting(shape)
    row = np.array([[1e9, np.nan, -2e9, 3e9]])
    seen = [0, 2, 3]
    inverse = np.linalg.inv(model.covariances[0][np.ix_(seen, seen)])
    a, b = (model.means[k][seen] for k in (0, 1))
    expected = (a - b) @ inverse @ (row[0, seen] - (a + b) / 2)
    found = ours.scores(row, "discriminants")
    assert found[0, 0] - found[1, 0] == pytest.approx(expected, rel=1e-11)


# --- missing entries -------------------------------------------------------------------------


@gaps
@shapes
def test_filled_entries_are_conditional_means_with_their_spread(shape, gap):
    model, ours, X = setting(shape, gap)
    rows = with_every_pattern(X)
    before = rows.copy()
    for k in range(3):
        pairs = [oracle.conditional(x, model.means[k], model.covariances[k]) for x in rows]
        met = np.zeros(len(rows), dtype=int)
        for part, values, columns, spread, logs in ours.filled(rows, k):
            met[part] += 1
            np.testing.assert_allclose(values, [pairs[i][0] for i in part], rtol=1e-8, atol=1e-8)
            left = [pairs[i][1][np.ix_(c, c)] for i, c in zip(part, columns, strict=True)]
            np.testing.assert_allclose(spread, left, rtol=1e-8, atol=1e-8)
            expected = oracle.table(rows[part], model, oracle.log_density)[:, k]
            np.testing.assert_allclose(logs, expected, rtol=1e-8, atol=1e-8)
        assert (met == 1).all()
    np.testing.assert_array_equal(rows, before)


@shapes
def test_features_without_part_stay_out_and_are_filled_with_their_mean(shape):
    if "spherical" in shape:
        return
    model, inner, X = setting(shape)
    where = np.array([0, 1, 3, 4])
    active = np.isin(np.arange(5), where)
    means, rows = np.full((3, 5), 7.5), np.full((64, 5), np.nan)
    means[:, where], rows[:, where] = inner.means, with_every_pattern(X)
    rows[::2, 2] = 99.0

    def widened(array):
        matrix = shape in oracle.CORRELATED
        wide = np.zeros((*array.shape[: -2 if matrix else -1], *((5, 5) if matrix else (5,))))
        wide[(..., *np.ix_(where, where)) if matrix else (..., where)] = array
        return wide

    ours = replace(
        inner,
        means=means,
        covariances=widened(inner.covariances),
        whiteners=widened(inner.whiteners),
        active=active,
    )
    expected = oracle.table(rows[:, where], model, oracle.log_density).T
    np.testing.assert_allclose(ours.scores(rows, "densities"), expected, rtol=1e-8, atol=1e-8)
    for part, values, columns, _, _ in ours.filled(rows, 1):
        np.testing.assert_array_equal(values[:, 2], np.where(part % 2, 7.5, 99.0))
        assert 2 not in columns
    drawn, _ = ours.sample(np.full(3, 1 / 3), 50, np.random.default_rng(4))
    assert (drawn[:, 2] == 7.5).all()
    assert (drawn[:, where].std(axis=0) > 0.1).all()


@pytest.mark.parametrize("near", [1e-3, 1e-5, 1e-7, 1e-9])
@pytest.mark.parametrize("shape", ["full", "tied"])
def test_a_correlation_near_one_costs_few_digits(near, shape):
    """Against exact fractions: two features nearly the same, and others of another unit."""
    rng = np.random.default_rng(2)
    mixer = rng.normal(size=(4, 4))
    covariance = mixer @ mixer.T + np.eye(4)
    covariance[1] = (1 - near) * covariance[0]
    covariance[:, 1] = (1 - near) * covariance[:, 0]
    covariance[1, 1] = covariance[0, 0]
    scale = np.array([1.0, 1.0, 1e-4, 1e5])
    covariance = 0.5 * (covariance + covariance.T) * np.outer(scale, scale)
    means = [np.zeros(4), 0.5 * scale]
    model = oracle.Model([0, 1], np.array([0.5, 0.5]), means, [covariance] * 2)
    ours = oracle.as_class_gaussians(model, shape)
    rows = (np.linalg.cholesky(covariance) @ rng.normal(size=(4, 30))).T
    patterns = [[3], [2], [1], [0], [2, 3], [1, 2, 3], [0, 2], [1, 3], [0, 1]]
    for i, row in enumerate(rows):
        row[patterns[i % len(patterns)]] = np.nan
    expected = [[oracle.exact_log_density(r, m, covariance) for r in rows] for m in means]
    np.testing.assert_allclose(ours.scores(rows, "densities"), expected, rtol=1e-7, atol=1e-7)
    for part, values, *_ in ours.filled(rows, 0):
        exact = np.array([oracle.exact_parts(rows[i], means[0], covariance)[2] for i in part])
        np.testing.assert_allclose(values / scale, exact / scale, rtol=1e-6, atol=1e-6)


def test_patterns_of_more_features_than_bits_in_a_word_are_told_apart():
    rng = np.random.default_rng(5)
    size = 70
    mixer = rng.normal(size=(size, size)) / 9 + np.eye(size)
    model = oracle.Model([0], np.ones(1), [np.zeros(size)], [mixer @ mixer.T])
    rows = rng.normal(size=(12, size))
    for i, j in enumerate([0, 1, 63, 64, 69, 0, 1, 63, 64, 69, 0, 1]):
        rows[i, j] = np.nan
    found = oracle.as_class_gaussians(model, "full").scores(rows, "densities")
    expected = oracle.table(rows, model, oracle.log_density).T
    np.testing.assert_allclose(found, expected, rtol=1e-9)


# --- likelihood and samples ------------------------------------------------------------------


@shapes
def test_moments_are_enough_for_the_log_likelihood_of_any_rows(shape):
    model, ours, X = setting(shape)
    model = replace(model, priors=np.ones(3))
    y = oracle.rows_of(20, counts=(20, 25, 30), n_features=SIZE)[1]
    weights = np.random.default_rng(51).uniform(0.2, 3.0, len(y))
    for rows in (X, oracle.rows_of(52, counts=(20, 25, 30), n_features=SIZE)[0]):
        for detail in {"full", detail_for(shape)}:
            found = ours.log_likelihood(ClassMoments.of(rows, y, weights, 3, detail))
            expected = oracle.log_likelihood(rows, y, model, weights)
            assert found == pytest.approx(expected, rel=1e-10)
    if shape not in oracle.CORRELATED:
        holes = oracle.with_holes(X, 53)
        found = ours.log_likelihood(ClassMoments.of(holes, y, weights, 3, "diagonal"))
        assert found == pytest.approx(oracle.log_likelihood(holes, y, model, weights), rel=1e-10)


@shapes
def test_rows_are_drawn_from_their_class(shape):
    """Six standard errors: of a mean √(v/n), of a covariance √((v_i v_j + c_ij²)/n)."""
    model, ours, _ = setting(shape, size=3)
    n_all, priors = 40_000, np.array([0.2, 0.0, 0.8])
    rows, codes = ours.sample(priors, n_all, np.random.default_rng(0))
    assert set(codes) == {0, 2}
    for k in (0, 2):
        own, covariance = rows[codes == k], model.covariances[k]
        n, variances = len(own), np.diag(covariance)
        assert n == pytest.approx(n_all * priors[k], abs=6 * np.sqrt(n_all * 0.16))
        wrong = np.abs(own.mean(axis=0) - model.means[k]) / np.sqrt(variances / n)
        assert wrong.max() < 6
        error = np.sqrt((np.outer(variances, variances) + covariance**2) / n)
        assert (np.abs(np.cov(own.T, bias=True) - covariance) / error).max() < 6
        distances = ours.distances(own)[k]
        for q in (0.05, 0.5, 0.95):
            share = (distances <= chi2.ppf(q, 3)).mean()
            assert share == pytest.approx(q, abs=6 * np.sqrt(q * (1 - q) / n))
    again = ours.sample(priors, n_all, np.random.default_rng(0))
    np.testing.assert_array_equal(again[0], rows)
    np.testing.assert_array_equal(again[1], codes)


def test_factors_belong_to_the_proportional_shape_alone():
    for shape in ("full", "proportional"):
        ours = setting(shape)[1]
        ours._check()
        wrong = np.ones(3) if ours.factors is None else None
        with pytest.raises(InputError, match="factors of the covariances"):
            replace(ours, factors=wrong)._check()

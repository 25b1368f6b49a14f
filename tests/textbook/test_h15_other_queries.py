"""H15: what else a generative model answers: one feature given others, and outliers by a level."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import credo
from credo.exceptions import InputError, LabelError
from credo.families import (
    Bernoulli,
    Categorical,
    Dirichlet,
    Gaussian,
    Multinomial,
    MultivariateGaussian,
    Poisson,
)

PRIORS = np.array([0.3, 0.7])
PAIR = {"a": ([0.0, 1.0], [[1.0, 0.6], [0.6, 2.0]]), "b": ([2.0, -1.0], [[1.0, -0.3], [-0.3, 1.0]])}
MIXED = credo.NaiveBayes.from_parameters(
    {
        "x": {"a": Gaussian(0.0, 1.0), "b": Gaussian(2.0, 4.0)},
        "yes": {"a": Bernoulli(0.1), "b": Bernoulli(0.8)},
        "town": {"a": Categorical([0.7, 0.2, 0.1]), "b": Categorical([0.1, 0.2, 0.7])},
        "n": {"a": Poisson(1.0), "b": Poisson(4.0)},
    },
    {"a": 0.3, "b": 0.7},
    categories={"town": ["Bonn", "Köln", "Ulm"]},
)
WORDS = ["win cash now", "cash prize win win", "lunch at noon", "see you at lunch", "win a prize"]
TOPICS = ["spam", "spam", "ham", "ham", "spam"]


def row(**cells):
    return pd.DataFrame([{"x": np.nan, "yes": np.nan, "town": None, "n": np.nan} | cells])


def kolmogorov(p):
    """The largest distance of p-values from the uniform distribution."""
    return stats.kstest(p, "uniform").statistic


# --- one feature given others --------------------------------------------------------------------


def test_one_feature_of_naive_bayes_given_others_is_mixed_by_the_posterior():
    given = row(x=1.0, town="Ulm")
    weights = PRIORS * stats.norm([0, 2], [1, 2]).pdf(1.0) * [0.1, 0.7]
    share = weights / weights.sum()
    found = MIXED.conditional(given)
    visits = share @ [1.0, 4.0]
    np.testing.assert_allclose(found.mean[0, [0, 1, 3]], [1.0, share @ [0.1, 0.8], visits])
    # The law of total variance: within the classes, and between them.
    within, between = share @ [1.0, 4.0], share @ (np.array([1.0, 4.0]) - visits) ** 2
    np.testing.assert_allclose(found.covariance[0, 3, 3], within + between, rtol=1e-12)
    both = share @ ((np.array([0.1, 0.8]) - share @ [0.1, 0.8]) * ([1.0, 4.0] - visits))
    np.testing.assert_allclose(found.covariance[0, 1, 3], both, rtol=1e-12)
    assert found.covariance[0, 0, 3] == 0.0
    assert np.isnan(found.mean[0, 2])
    assert np.isnan(found.covariance[0, 2]).all()
    np.testing.assert_array_equal(found.categories["town"].probabilities, [[0.0, 0.0, 1.0]])


def test_a_category_given_others_is_a_posterior_to_decide_by():
    weights = PRIORS * [0.1, 0.8] * stats.poisson([1, 4]).pmf(3)
    share = weights / weights.sum()
    found = MIXED.conditional(row(yes=1, n=3)).categories["town"]
    expected = share @ [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]]
    np.testing.assert_allclose(found.probabilities[0], expected, rtol=1e-12)
    loss = credo.Loss.zero_one(["Bonn", "Köln", "Ulm"])
    assert credo.decide(found, loss).acts[0] == "Ulm"
    of_one = MIXED.conditional(row(yes=1, n=3), "a").categories["town"]
    np.testing.assert_allclose(of_one.probabilities, [[0.7, 0.2, 0.1]])


def test_missing_cells_become_expected_numbers_and_the_most_probable_category():
    rows = pd.concat([row(yes=1, n=5), row(x=0.5, yes=0, town="Aachen", n=0)], ignore_index=True)
    full = MIXED.impute(rows)
    assert isinstance(full, pd.DataFrame)
    assert full["town"].tolist() == ["Ulm", "Aachen"]  # an unknown one is not missing
    assert full["x"].tolist() == [pytest.approx(MIXED.conditional(rows).mean[0, 0]), 0.5]
    assert MIXED.impute(rows, "a")["x"].tolist() == [0.0, 0.5]
    with pytest.raises(LabelError, match="impute"):
        MIXED.impute(rows, "c")


def test_a_correlated_group_of_naive_bayes_is_filled_in_as_by_the_gaussian_classifier():
    gauss = credo.GaussianClassifier.from_parameters(
        {k: m for k, (m, _) in PAIR.items()}, {k: s for k, (_, s) in PAIR.items()}, PRIORS
    )
    group = {k: MultivariateGaussian(*PAIR[k]) for k in "ab"}
    bayes = credo.NaiveBayes.from_parameters({(0, 1): group}, dict(zip("ab", PRIORS, strict=True)))
    rows = np.array([[0.4, np.nan], [np.nan, 1.5], [np.nan, np.nan], [1.0, 2.0]])
    for label in (None, "a", "b"):
        one, other = bayes.conditional(rows, label), gauss.conditional(rows, label)
        np.testing.assert_allclose(one.mean, other.mean, rtol=1e-12)
        np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(bayes.impute(rows, label), one.mean)


def test_what_is_filled_in_averages_what_is_drawn_with_the_same_cells():
    rows, y = MIXED.sample(200_000, random_state=3)
    alike = rows[(rows["yes"] == 1) & (rows["town"] == "Bonn")]
    found = MIXED.conditional(row(yes=1, town="Bonn"))
    n = len(alike)
    assert found.mean[0, 0] == pytest.approx(alike["x"].mean(), abs=4 * alike["x"].std() / n**0.5)
    assert found.covariance[0, 0, 0] == pytest.approx(alike["x"].var(), rel=0.06)
    drawn = MIXED.conditional(row(), "b").mean[0, 3]
    assert drawn == pytest.approx(rows["n"][y == "b"].mean(), abs=0.03)


def test_groups_that_the_others_do_not_determine_are_refused():
    shares = credo.NaiveBayes.from_parameters({(0, 1): {"a": Dirichlet([2.0, 3.0])}})
    with pytest.raises(InputError, match="row 1 lacks a value of the dirichlet group 0, 1"):
        shares.impute([[0.4, 0.6], [0.4, np.nan]])
    np.testing.assert_array_equal(shares.impute([[0.4, 0.6]]), [[0.4, 0.6]])


# --- drawn by label -------------------------------------------------------------------------------


def test_documents_of_a_class_are_drawn_with_the_probabilities_of_its_words():
    model = credo.TextClassifier("multinomial").fit(WORDS, TOPICS)
    texts, labels = model.sample(4000, random_state=0, total=5, label="ham")
    assert set(labels) == {"ham"}
    assert {len(text.split()) for text in texts} == {5}
    shares = [" ".join(texts).split().count(word) / 20_000 for word in model.words_]
    np.testing.assert_allclose(shares, np.exp(model.log_probabilities_[0]), atol=0.012)
    some = credo.TextClassifier("bernoulli").fit(WORDS, TOPICS)
    texts, labels = some.sample(6000, random_state=1)
    assert np.mean(labels == "spam") == pytest.approx(0.6, abs=0.02)
    wins = np.mean(["win" in t.split() for t, k in zip(texts, labels, strict=True) if k == "spam"])
    assert wins == pytest.approx(4 / 5, abs=0.03)  # (3 + 1) / (3 + 2)


def test_models_without_a_density_have_nothing_to_draw_from():
    with pytest.raises(InputError, match="complement model has no distribution of documents"):
        credo.TextClassifier().fit(WORDS, TOPICS).sample(2)
    hashed = credo.TextClassifier("multinomial", hashing=16).fit(WORDS, TOPICS)
    with pytest.raises(InputError, match="hashed words cannot be written"):
        hashed.sample(2)
    with pytest.raises(InputError, match="no density"):
        credo.TextClassifier().fit(WORDS, TOPICS).outlier_p_values(WORDS)


# --- outliers by a level --------------------------------------------------------------------------


def test_the_p_value_of_one_gaussian_is_that_of_chi_square():
    model = credo.GaussianClassifier.from_parameters(
        {k: m for k, (m, _) in PAIR.items()}, {k: s for k, (_, s) in PAIR.items()}, PRIORS
    )
    rows = np.array([[0.0, 1.0], [3.0, 0.0], [np.nan, 4.0], [np.nan, np.nan]])
    squares = model.mahalanobis(rows)[:, 0]
    expected = [1.0, stats.chi2(2).sf(squares[1]), stats.chi2(1).sf(9 / 2), 1.0]
    found = model.outlier_p_values(rows, "a")
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    far = model.outlier_p_values([[15.0, 0.0]], "a")
    assert 0 < far[0] < 1e-40


def test_the_p_value_of_two_gaussians_on_a_line_is_the_mass_of_lower_density():
    model = credo.GaussianClassifier.from_parameters([0.0, 4.0], [1.0, 1.0], [0.5, 0.5])
    x = 2.0  # the valley between the peaks: as improbable as -1.27 and 5.27 are
    axis = np.linspace(-9.0, 13.0, 220_001)
    density = 0.5 * (stats.norm.pdf(axis) + stats.norm.pdf(axis - 4))
    level = stats.norm.pdf(x)
    expected = density[density <= level].sum() * (axis[1] - axis[0])
    found = model.outlier_p_values([[x]], n_samples=40_000)[0]
    assert found == pytest.approx(expected, abs=4 * np.sqrt(expected / 40_000))
    np.testing.assert_array_equal(found, model.outlier_p_values([[x]], n_samples=40_000)[0])


@pytest.mark.parametrize("shape", ["full", "tied", "diagonal"])
def test_p_values_of_rows_from_the_model_are_uniform_whatever_is_missing(shape):
    X = np.random.default_rng(0).normal(size=(60, 3)) * [1, 2, 3]
    model = credo.GaussianClassifier(shape).fit(X, np.arange(60) % 3)
    rows, _ = model.sample(3000, random_state=5)
    rows[::3, 1] = np.nan
    rows[1::3, [0, 2]] = np.nan
    p = model.outlier_p_values(rows)
    for part in (p[::3], p[1::3], p[2::3]):
        assert kolmogorov(part) < 1.95 / np.sqrt(len(part))  # 0.1 %
    assert kolmogorov(model.outlier_p_values(model.sample(3000, 6, label=1)[0], 1)) < 0.036


def test_p_values_of_naive_bayes_are_never_too_small_and_uniform_where_rows_do_not_tie():
    rows, _ = MIXED.sample(3000, random_state=8)
    gone = rows.mask(np.random.default_rng(1).random(rows.shape) < 0.2)
    for table in (rows, gone):
        p = MIXED.outlier_p_values(table)
        assert p.min() > 0
        for level in (0.01, 0.05, 0.3):
            assert (p <= level).mean() <= level + 3.5 * np.sqrt(level * (1 - level) / len(p))
    assert kolmogorov(MIXED.outlier_p_values(rows.assign(yes=None, town=None, n=None))) < 0.036


def test_an_impossible_combination_is_an_outlier_though_each_cell_is_common():
    rows = pd.concat([row(x=2.0, yes=1, town="Ulm", n=4), row(x=-2.5, yes=1, town="Bonn", n=9)])
    common, odd = MIXED.outlier_p_values(rows)
    assert common > 0.3
    assert odd < 0.01


def test_counts_are_compared_with_counts_of_the_same_total():
    votes = {"a": Multinomial([0.5, 0.5]), "b": Multinomial([0.5, 0.5])}
    model = credo.NaiveBayes.from_parameters({(0, 1): votes})
    found = model.outlier_p_values([[5, 5], [50, 50], [9, 1], [0, 0]], n_samples=40_000)
    expected = [1.0, 1.0, stats.binomtest(9, 10).pvalue, 1.0]
    np.testing.assert_allclose(found, expected, atol=0.004)


def test_documents_have_p_values_too():
    model = credo.TextClassifier("bernoulli").fit(WORDS, TOPICS)
    drawn, _ = model.sample(1500, random_state=2)
    p = model.outlier_p_values(drawn)
    assert (p <= 0.05).mean() <= 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / 1500)
    counts = credo.TextClassifier("multinomial").fit(WORDS, TOPICS)
    usual, odd = counts.outlier_p_values(["lunch at noon", "now now now now now"])
    assert usual > 0.2
    assert odd < 0.001

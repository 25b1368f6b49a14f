"""Textbook part D: naive Bayes with any family, smoothing, and the linear text models."""

from itertools import product
from math import exp, factorial, lgamma, log, pi

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit

from credo import NaiveBayes

#: Seven letters of two kinds, with three words that are in them or not.
BITS = np.array([[1, 0, 1], [1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 0], [0, 0, 1]])
KINDS = np.array(["spam", "spam", "spam", "ham", "ham", "ham", "ham"])
#: The same letters by how often each word is in them.
COUNTS = np.array([[3, 0, 1], [1, 2, 0], [2, 0, 0], [0, 1, 0], [0, 4, 2], [1, 1, 0], [0, 0, 2]])
FORMS = pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])


# --- D1 --------------------------------------------------------------------------------------


@FORMS
def test_d1_maximum_likelihood_counts(form):
    """The two words that are in some but not all letters of both kinds."""
    model = NaiveBayes("bernoulli", smoothing=0).fit(form(BITS[:, 1:]), KINDS)
    np.testing.assert_allclose(model.priors_, [4 / 7, 3 / 7])
    spam = np.array([1 / 3, 1 / 3])
    ham = np.array([3 / 4, 2 / 4])
    for x in product([0, 1], repeat=2):
        likelihoods = [
            np.prod(p ** np.array(x) * (1 - p) ** (1 - np.array(x))) for p in (ham, spam)
        ]
        joint = np.array([4 / 7, 3 / 7]) * likelihoods
        np.testing.assert_allclose(np.exp(model.log_joint(form(np.array([x]))))[0], joint)
        np.testing.assert_allclose(
            model.predict_proba(form(np.array([x])))[0], joint / joint.sum(), rtol=1e-13
        )


@FORMS
def test_d1_the_log_odds_are_linear_with_weights_from_the_counts(form):
    model = NaiveBayes("bernoulli", smoothing=0).fit(form(BITS[:, 1:]), KINDS)
    w, w0 = model.log_odds_weights("spam", "ham")
    # log(p / (1 - p)) of spam less that of ham
    np.testing.assert_allclose(w, [log(1 / 2) - log(3), log(1 / 2) - log(1)], rtol=1e-13)
    # log (2/3 · 2/3) / (1/4 · 1/2), and the prior 3 to 4
    assert w0 == pytest.approx(log((4 / 9) / (1 / 8)) + log(3 / 4), rel=1e-13)


@FORMS
def test_d1_the_posterior_is_the_logistic_sigmoid_of_the_log_odds(form):
    model = NaiveBayes("bernoulli", smoothing=0).fit(form(BITS[:, 1:]), KINDS)
    w, w0 = model.log_odds_weights("spam", "ham")
    space = np.array(list(product([0, 1], repeat=2)))
    a = space @ w + w0
    np.testing.assert_allclose(model.predict_proba(form(space))[:, 1], expit(a), rtol=1e-13)
    np.testing.assert_allclose(model.decision_function(form(space)), a, rtol=1e-12, atol=1e-14)


@FORMS
def test_d1_without_smoothing_a_word_of_all_spam_rules_out_letters_without_it(form):
    """The first word is in all three spam letters and in one of four others."""
    model = NaiveBayes("bernoulli", smoothing=0).fit(form(BITS), KINDS)
    assert model.predict_proba(form(np.array([[0, 0, 1]]))).tolist() == [[1.0, 0.0]]
    p = model.predict_proba(form(np.array([[1, 0, 1]])))[0]
    joint = 4 / 7 * (1 / 4 * 1 / 4 * 1 / 2), 3 / 7 * (1 * 2 / 3 * 1 / 3)
    np.testing.assert_allclose(p, np.array(joint) / sum(joint), rtol=1e-13)


# --- D2 --------------------------------------------------------------------------------------


@FORMS
@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0])
def test_d2_bernoulli_smoothing(form, alpha):
    model = NaiveBayes("bernoulli", smoothing=alpha).fit(form(BITS), KINDS)
    spam = (np.array([3, 1, 1]) + alpha) / (3 + 2 * alpha)
    ham = (np.array([1, 3, 2]) + alpha) / (4 + 2 * alpha)
    x = np.array([[1, 1, 0]])
    joint = [
        4 / 7 * ham[0] * ham[1] * (1 - ham[2]),
        3 / 7 * spam[0] * spam[1] * (1 - spam[2]),
    ]
    np.testing.assert_allclose(np.exp(model.log_joint(form(x)))[0], joint, rtol=1e-13)


@FORMS
@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0])
def test_d2_multinomial_smoothing(form, alpha):
    model = NaiveBayes("multinomial", smoothing=alpha).fit(form(COUNTS), KINDS)
    spam = (np.array([6, 2, 1]) + alpha) / (9 + 3 * alpha)
    ham = (np.array([1, 6, 4]) + alpha) / (11 + 3 * alpha)
    w, w0 = model.log_odds_weights("spam", "ham")
    np.testing.assert_allclose(w, np.log(spam / ham), rtol=1e-13)
    assert w0 == pytest.approx(log(3 / 4), rel=1e-13)


@FORMS
def test_d2_smoothing_is_adding_artificial_observations(form):
    """α = 1: in each class one letter with every word and one with none, at the same priors."""
    more = np.vstack([BITS, [[1, 1, 1], [0, 0, 0]] * 2])
    kinds = np.append(KINDS, ["spam", "spam", "ham", "ham"])
    smoothed = NaiveBayes("bernoulli", smoothing=1).fit(form(BITS), KINDS)
    added = NaiveBayes("bernoulli", smoothing=0, priors=[4 / 7, 3 / 7]).fit(form(more), kinds)
    space = form(np.array(list(product([0, 1], repeat=3))))
    np.testing.assert_allclose(added.log_joint(space), smoothed.log_joint(space), rtol=1e-13)


@FORMS
def test_d2_for_counts_it_is_one_letter_with_every_word_once(form):
    more = np.vstack([COUNTS, [[1, 1, 1]] * 2])
    smoothed = NaiveBayes("multinomial", smoothing=1).fit(form(COUNTS), KINDS)
    added = NaiveBayes("multinomial", smoothing=0, priors=[4 / 7, 3 / 7])
    added.fit(form(more), np.append(KINDS, ["spam", "ham"]))
    np.testing.assert_allclose(
        added.log_joint(form(COUNTS)), smoothed.log_joint(form(COUNTS)), rtol=1e-13
    )


def test_d2_for_categories_it_is_one_row_of_each():
    rows, y = [["x"], ["x"], ["y"], ["z"], ["y"]], [0, 0, 0, 1, 1]
    smoothed = NaiveBayes(smoothing=1, unknown="ignore").fit(rows, y)
    added = NaiveBayes(smoothing=0, unknown="ignore", priors=[3 / 5, 2 / 5])
    added.fit(rows + [["x"], ["y"], ["z"]] * 2, [*y, 0, 0, 0, 1, 1, 1])
    np.testing.assert_allclose(added.log_joint(rows), smoothed.log_joint(rows), rtol=1e-13)


@FORMS
def test_d2_smoothing_towards_the_unconditional_words(form):
    """Weight α D shared out as in all letters: 7, 8 and 5 of 20 words, each smoothed by α."""
    alpha = 2.0
    model = NaiveBayes("multinomial", smoothing=alpha, smoothing_target="marginal")
    model.fit(form(COUNTS), KINDS)
    unconditional = (np.array([7, 8, 5]) + alpha) / (20 + 3 * alpha)
    spam = (np.array([6, 2, 1]) + 3 * alpha * unconditional) / (9 + 3 * alpha)
    ham = (np.array([1, 6, 4]) + 3 * alpha * unconditional) / (11 + 3 * alpha)
    w, _ = model.log_odds_weights("spam", "ham")
    np.testing.assert_allclose(w, np.log(spam / ham), rtol=1e-13)


@FORMS
def test_d2_smoothing_towards_the_unconditional_presence_of_words(form):
    alpha = 2.0
    model = NaiveBayes("bernoulli", smoothing=alpha, smoothing_target="marginal")
    model.fit(form(BITS), KINDS)
    t = (np.array([4, 4, 3]) + alpha) / (7 + 2 * alpha)
    spam = (np.array([3, 1, 1]) + 2 * alpha * t) / (3 + 2 * alpha)
    ham = (np.array([1, 3, 2]) + 2 * alpha * t) / (4 + 2 * alpha)
    w, w0 = model.log_odds_weights("spam", "ham")
    odds = spam / (1 - spam) / (ham / (1 - ham))
    np.testing.assert_allclose(w, np.log(odds), rtol=1e-12)
    assert w0 == pytest.approx(log(3 / 4) + np.log((1 - spam) / (1 - ham)).sum(), rel=1e-12)


# --- D4 --------------------------------------------------------------------------------------


def letters(total, words=3):
    return np.array([x for x in product(range(total + 1), repeat=words) if sum(x) == total])


@FORMS
@pytest.mark.parametrize("total", [1, 2, 6])
def test_d4_densities_sum_to_one_over_all_letters_of_a_length(form, total):
    model = NaiveBayes("multinomial").fit(form(COUNTS), KINDS)
    joint = np.exp(model.log_joint(form(letters(total))))
    np.testing.assert_allclose(joint.sum(axis=0), model.priors_, rtol=1e-12)
    assert np.exp(model.log_density(form(letters(total)))).sum() == pytest.approx(1, rel=1e-12)


@FORMS
def test_d4_the_coefficient_counts_the_orders_of_the_words(form):
    model = NaiveBayes("multinomial", smoothing=0).fit(form(COUNTS), KINDS)
    spam = np.array([6, 2, 1]) / 9
    x = np.array([2, 1, 3])
    orders = factorial(6) / (factorial(2) * factorial(1) * factorial(3))
    expected = log(3 / 7) + log(orders) + float(x @ np.log(spam))
    assert model.log_joint(form(x[None]))[0, 1] == pytest.approx(expected, rel=1e-13)


@FORMS
@pytest.mark.parametrize(("family", "rows"), [("bernoulli", BITS), ("multinomial", COUNTS)])
def test_d4_both_text_models_are_linear_classifiers(form, family, rows):
    model = NaiveBayes(family).fit(form(rows), KINDS)
    w, w0 = model.log_odds_weights("spam", "ham")
    space = np.array(list(product([0, 1], repeat=3)))
    space = space if family == "bernoulli" else np.vstack([space, letters(5)])
    np.testing.assert_allclose(
        model.decision_function(form(space)), space @ w + w0, rtol=1e-11, atol=1e-13
    )
    np.testing.assert_array_equal(
        model.predict(form(space)), np.where(space @ w + w0 > 0, "spam", "ham")
    )


# --- D5 --------------------------------------------------------------------------------------

FIRST, SECOND = np.array([1.0, 2.0, 4.0, 5.0]), np.array([3.0, 6.0, 7.0, 10.0])
POINTS = np.array([[0.4], [2.5], [6.0], [11.0]])


def of_two(family, first, second, **options):
    """A model of one column with these values in the classes a and b."""
    X = np.append(first, second)[:, None]
    return NaiveBayes(family, **options).fit(X, ["a"] * len(first) + ["b"] * len(second))


def assert_linear(model, points):
    w, w0 = model.log_odds_weights("b", "a")
    T = model.sufficient_statistics(points)
    np.testing.assert_allclose(T @ w + w0, model.decision_function(points), rtol=1e-9, atol=1e-10)
    return w, w0


def test_d5_poisson_weights_are_the_logarithm_of_the_ratio_of_rates():
    model = of_two("poisson", [1, 2, 3], [4, 6, 8], smoothing=0)
    w, w0 = assert_linear(model, np.array([[0], [3], [9]]))
    np.testing.assert_allclose(w, [log(6 / 2)], rtol=1e-13)
    assert w0 == pytest.approx(2 - 6, rel=1e-13)


def test_d5_exponential_weights_are_the_difference_of_rates():
    model = of_two("exponential", [1.0, 3.0], [4.0, 6.0], smoothing=0)
    w, w0 = assert_linear(model, POINTS)
    np.testing.assert_allclose(w, [1 / 2 - 1 / 5], rtol=1e-13)
    assert w0 == pytest.approx(log((1 / 5) / (1 / 2)), rel=1e-13)


def test_d5_gaussians_of_equal_variances_are_linear_in_x():
    """Means 3 and 6.5, variance 2.5: w = 3.5 / 2.5 on x and nothing on x²."""
    shift = 3.5
    model = of_two("gaussian", FIRST, FIRST + shift)
    w, w0 = assert_linear(model, POINTS)
    variance = np.var(FIRST)
    assert w[0] == pytest.approx(shift / variance, rel=1e-12)
    assert w[1] == pytest.approx(0.0, abs=1e-14)
    assert w0 == pytest.approx((3.0**2 - 6.5**2) / (2 * variance), rel=1e-12)


def test_d5_gaussians_of_other_variances_are_linear_in_x_and_its_square():
    model = of_two("gaussian", FIRST, SECOND)
    w, w0 = assert_linear(model, POINTS)
    (m, n), (v, u) = (FIRST.mean(), SECOND.mean()), (FIRST.var(), SECOND.var())
    np.testing.assert_allclose(w, [n / u - m / v, 1 / (2 * v) - 1 / (2 * u)], rtol=1e-12)
    assert w0 == pytest.approx(m * m / (2 * v) - n * n / (2 * u) + log(v / u) / 2, rel=1e-11)


def test_d5_categorical_weights_are_log_ratios_of_probabilities():
    model = NaiveBayes(smoothing=0, unknown="ignore")
    model.fit([["x"], ["x"], ["y"], ["x"], ["y"], ["y"], ["y"]], list("aaabbbb"))
    w, w0 = assert_linear(model, [["x"], ["y"]])
    np.testing.assert_allclose(w, [log((1 / 4) / (2 / 3)), log((3 / 4) / (1 / 3))], rtol=1e-13)
    assert w0 == pytest.approx(log(4 / 3), rel=1e-13)


def test_d5_gamma_weights_are_differences_of_shapes_and_rates():
    model = of_two("gamma", FIRST, SECOND)
    w, w0 = assert_linear(model, POINTS)
    # the score equations: log x and x have the means of the rows in each class
    space = np.linspace(1e-6, 80, 400_001)[:, None]
    joint = np.exp(model.log_joint(space)) * 2
    step = space[1, 0] - space[0, 0]
    for k, rows in enumerate((FIRST, SECOND)):
        assert (joint[:, k] * space[:, 0]).sum() * step == pytest.approx(rows.mean(), rel=1e-5)
        mean_log = (joint[:, k] * np.log(space[:, 0])).sum() * step
        assert mean_log == pytest.approx(np.log(rows).mean(), rel=1e-4)
    # mean = shape / rate in both classes, so that two weights and w0 fix the four parameters
    assert np.isfinite([*w, w0]).all()


def test_d5_beta_and_dirichlet_of_two_shares_are_the_same_model():
    first, second = np.array([0.2, 0.3, 0.5, 0.4]), np.array([0.6, 0.9, 0.7, 0.8])
    beta = of_two("beta", first, second)
    x = np.append(first, second)
    shares = NaiveBayes("dirichlet").fit(np.column_stack([x, 1 - x]), list("aaaabbbb"))
    w, w0 = assert_linear(beta, x[:, None])
    v, v0 = assert_linear(shares, np.column_stack([x, 1 - x]))
    np.testing.assert_allclose(w, v, rtol=1e-9)
    assert w0 == pytest.approx(v0, rel=1e-9)
    # w is the difference of the parameters, and w0 that of the logarithms of the beta functions
    T = np.column_stack([np.log(x), np.log(1 - x)])
    np.testing.assert_allclose(beta.sufficient_statistics(x[:, None]), T, rtol=1e-13)


def test_d5_dirichlet_normaliser_by_hand():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.dirichlet([2, 3, 4], 30), rng.dirichlet([4, 1, 2], 30)])
    model = NaiveBayes("dirichlet").fit(X, ["a"] * 30 + ["b"] * 30)
    w, w0 = assert_linear(model, X)
    uniform = np.full((1, 3), 1 / 3)
    a = float(model.log_joint(uniform)[0, 1] - model.log_joint(uniform)[0, 0])
    assert a == pytest.approx(w.sum() * log(1 / 3) + w0, rel=1e-10)


def test_d5_multivariate_gaussians_are_linear_in_x_and_its_products():
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) @ [[1, 0.5], [0, 2]] + 1])
    model = NaiveBayes("multivariate_gaussian").fit(X, ["a"] * 30 + ["b"] * 30)
    w, w0 = assert_linear(model, X)
    means = X[:30].mean(axis=0), X[30:].mean(axis=0)
    inverses = [np.linalg.inv(np.cov(part.T, bias=True)) for part in (X[:30], X[30:])]
    np.testing.assert_allclose(w[:2], inverses[1] @ means[1] - inverses[0] @ means[0], rtol=1e-9)
    np.testing.assert_allclose(w[2:], (inverses[0] - inverses[1]).ravel() / 2, rtol=1e-9)
    logs = [np.linalg.slogdet(inverse)[1] for inverse in inverses]
    squares = [m @ i @ m for m, i in zip(means, inverses, strict=True)]
    assert w0 == pytest.approx((logs[1] - logs[0] + squares[0] - squares[1]) / 2, rel=1e-9)


def test_d5_a_laplace_class_conditional_has_a_posterior_of_kinked_lines():
    """|x - m| has a natural parameter for known m only, so there are no weights."""
    model = of_two("laplace", [1.0, 2.0, 6.0], [5.0, 9.0, 10.0])
    # medians 2 and 9; mean deviations 5/3 and 5/3
    for x in (0.0, 4.0, 12.0):
        expected = (abs(x - 2) - abs(x - 9)) / (5 / 3)
        assert model.decision_function([[x]])[0] == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="not a generalised linear model"):
        model.log_odds_weights("a", "b")


def test_d5_columns_of_several_families_add_their_log_odds():
    """A Gaussian, a count and a bit, by the formulas."""
    X = [[1.0, 2, 1], [3.0, 4, 0], [2.0, 0, 1], [6.0, 5, 0], [4.0, 7, 1], [8.0, 3, 0]]
    model = NaiveBayes({0: "gaussian", 1: "poisson", 2: "bernoulli"}, smoothing=0)
    model.fit(X, list("aaabbb"))
    x, n = 5.0, 3
    densities = []
    for mean, variance, rate, p in ((2.0, 2 / 3, 2.0, 2 / 3), (6.0, 8 / 3, 5.0, 1 / 3)):
        gaussian = -((x - mean) ** 2) / (2 * variance) - log(2 * pi * variance) / 2
        densities.append(gaussian + n * log(rate) - rate - lgamma(n + 1) + log(p))
    a = densities[1] - densities[0]
    assert model.decision_function([[x, n, 1]])[0] == pytest.approx(a, rel=1e-12)
    assert model.predict_proba([[x, n, 1]])[0, 1] == pytest.approx(1 / (1 + exp(-a)), rel=1e-12)
    assert_linear(model, X)
